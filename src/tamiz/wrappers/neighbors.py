"""Nearest neighbours without refits: squared distances add up over columns.

What it costs, for m rows tested against n learned from and c sets of columns: sets that add to one parent of s columns, m n (s + 2)
for the distances by the parent and their order, and then a few hundred rows for each set and row tested, as none is near that is
far by the parent alone. One column alone, m c times the neighbours asked for, after n log n. Sets that only share columns, m n for
every column of the tree that they make (`tamiz.wrappers.neighbor_sets`), log2(c) of them for each set where each leaves one of c
columns out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from tamiz import parallel
from tamiz.candidates import Candidates
from tamiz.exceptions import DataError
from tamiz.kernels import subset_neighbors as kernels
from tamiz.kernels import votes
from tamiz.statistics.base import Floats
from tamiz.wrappers.base import Columns, Task, Way
from tamiz.wrappers.fold_rows import Fitted
from tamiz.wrappers.neighbor_sets import Numbers, SetTree, trees

# Rows tested that one piece of work takes: what it makes ready of the rows learned from pays.
_TESTED = 512
# Numbers of neighbours held at a time.
_HELD = 2**16
# Sets that are scored at a time, as each has its counts.
_SETS = 1024
# Pairs of rows by sets below which another thread is not worth waking: about a millisecond.
_PAIRS = 1_000_000


class Found(NamedTuple):
    """Neighbours of some of the rows that a fold tests, from number `first` on, by the sets of numbers `where`.

    `nearest` and `weights` have the shape (n_rows, n_sets, n_neighbors), `tied` (n_rows, n_sets).
    """

    first: int
    where: NDArray[np.intp]
    nearest: Numbers
    weights: Floats
    tied: NDArray[np.bool_]


class _Sought(NamedTuple):
    """Sets by how they are searched: the coordinate of those that have one, with their numbers, and trees of the others."""

    lines: Numbers
    where: NDArray[np.intp]
    trees: list[SetTree]

    @classmethod
    def of(cls, candidates: Candidates) -> _Sought:
        alone = candidates.sizes() == 1
        where = np.flatnonzero(alone)
        lines = np.ascontiguousarray(np.nonzero(candidates[where].masks())[1], dtype=np.int64)
        return cls(lines, where, list(trees(candidates, np.flatnonzero(~alone))))


class NeighborsWay(Way):
    """The nearest rows, equally near ones by the lower row, by sums of squared differences."""

    how: ClassVar[str] = (
        "squared distances are added up column by column, and rows too far by some of the columns are passed over"
    )

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self.n_neighbors = int(task.estimator.n_neighbors)
        for number, fold in enumerate(task.folds, start=1):
            if self.n_neighbors > len(fold.train):
                raise DataError(
                    f"Fold {number} of {len(task.folds)} has {len(fold.train)} rows to learn from, and {task.name} asks for the "
                    f"{self.n_neighbors} nearest; lower n_neighbors, or ask for folds that learn from more rows."
                )
        self._whole = _whole(task)

    @classmethod
    def declines(cls, task: Task) -> str | None:
        """Return which parameter asks for other neighbours than the Euclidean ones."""
        of = task.estimator
        if of.metric not in ("minkowski", "euclidean") or of.metric_params is not None:
            return "only Euclidean distances add up over columns"
        if of.metric == "minkowski" and of.p != 2:
            return f"only Euclidean distances add up over columns, and p is {of.p!r}"
        if of.weights not in ("uniform", "distance"):
            return "its weights are a function of all distances"
        if isinstance(of.n_neighbors, bool) or not isinstance(of.n_neighbors, int | np.integer) or of.n_neighbors < 1:
            return f"n_neighbors is {of.n_neighbors!r}"
        return None

    def most_bytes(self) -> float:
        """Return the bytes that a thread works in: the rows that a fold learns from, twice, and neighbours."""
        n_train = max(len(fold.train) for fold in self.task.folds)
        return parallel.n_threads() * 8.0 * (2 * n_train * (self.task.points.n_coordinates + 2) + 4 * _HELD)

    def effort(self) -> float:
        """Return the microseconds that a set takes, between those that add to a parent and those of which nothing is known."""
        return sum(len(fold.test) * (0.5 + 2e-4 * len(fold.train)) for fold in self.task.folds)

    def about(self, columns: Columns) -> list[str]:
        """Return how many rows have more than one choice of neighbours."""
        share = self.tied_share(columns)
        if not share:
            return []
        return [
            f"By the columns chosen, {max(share, 0.001):.1%} of the rows tested have other rows as near as the last of their "
            f"{self.n_neighbors} neighbours; those that come first in the table count."
        ]

    def tied_share(self, columns: Columns) -> float:
        """Return the share of tested rows whose last neighbour is as near, by these columns, as a row left out."""
        n_folds = len(self.task.folds)
        return sum(int(found.tied.sum()) for f in range(n_folds) for found in self._of_one(columns, f)) / len(
            self.task.tested
        )

    def neighbors(self, columns: Columns, fold: int) -> tuple[Numbers, Floats]:
        """Return the neighbours of the rows that a fold tests, as positions among those it learns from, and their weights."""
        parts = self._of_one(columns, fold)
        return np.concatenate([part.nearest[:, 0] for part in parts]), np.concatenate(
            [part.weights[:, 0] for part in parts]
        )

    def _sums(
        self, candidates: Candidates, shape: tuple[int, ...], add: Callable[[int, Found, Floats], None]
    ) -> Floats:
        """Return sums over the rows tested, of shape (n_candidates, n_folds, *shape), of what add(fold, found, sums) adds."""
        folds = self.task.folds
        items = [(f, *span) for f, fold in enumerate(folds) for span in parallel.spans(len(fold.test), _TESTED)]
        sums = np.zeros((len(candidates), len(folds), *shape))
        for first, stop in parallel.spans(len(candidates), _SETS):
            part = self.task.points.translated(candidates[np.arange(first, stop)])
            sought = _Sought.of(part)

            def work(item: tuple[int, int, int], n_sets: int = len(part), sought: _Sought = sought) -> Floats:
                own = np.zeros((n_sets, *shape))
                for found in self._found(sought, *item):
                    add(item[0], found, own)
                return own

            n_pairs = sum(len(fold.test) * len(fold.train) for fold in folds) * (stop - first)
            done = map(work, items) if n_pairs < _PAIRS else parallel.map_blocks(work, items)
            for (fold, *_), own in zip(items, done, strict=True):
                sums[first:stop, fold] += own
        return sums

    def _of_one(self, columns: Columns, fold: int) -> list[Found]:
        """Return the neighbours of all rows that a fold tests, by one set of columns."""
        mask = np.zeros(len(self.task.points.coordinates), dtype=bool)
        mask[columns] = True
        sought = _Sought.of(self.task.points.translated(Candidates.of(mask)))
        return list(self._found(sought, fold, 0, len(self.task.folds[fold].test)))

    def _found(self, sought: _Sought, fold: int, first: int, stop: int) -> Iterator[Found]:
        """Yield the neighbours of the rows first .. stop that a fold tests, some sets and rows at a time."""
        part, points = self.task.folds[fold], self.task.points
        values = np.ascontiguousarray(points.train(part).T)
        queries = np.ascontiguousarray(points.test(part)[first:stop])
        for chosen in parallel.spans(len(sought.lines), max(1, _HELD // (len(queries) * self.n_neighbors))):
            yield self._on_lines(values, queries, sought.lines[slice(*chosen)], sought.where[slice(*chosen)], first)
        for tree in sought.trees:
            for begin, end in parallel.spans(len(queries), max(1, _HELD // (len(tree.where) * self.n_neighbors))):
                yield self._by_tree(values, queries[begin:end], tree, first + begin)

    def _on_lines(self, values: Floats, queries: Floats, lines: Numbers, where: Columns, first: int) -> Found:
        nearest, tied = self._room(len(queries), len(lines))
        for place, j in enumerate(lines.tolist()):
            order = np.argsort(values[j], kind="stable")
            kernels.nearest_on_a_line(values[j], order, np.ascontiguousarray(queries[:, j]), place, nearest, tied)
        weights = self._weights(values, queries, np.arange(len(lines) + 1), lines, nearest)
        return Found(first, where, nearest, weights, tied)

    def _by_tree(self, values: Floats, queries: Floats, tree: SetTree, first: int) -> Found:
        nearest, tied = self._room(len(queries), len(tree.where))
        whole = np.logical_and.reduceat(self._whole[tree.set_columns], tree.set_starts[:-1])
        kernels.nearest_by_sets(
            values,
            queries,
            tree.guide,
            tree.common,
            tree.depth,
            tree.ends,
            tree.above,
            tree.starts,
            tree.columns,
            tree.complete,
            tree.set_starts,
            tree.set_columns,
            whole,
            nearest,
            tied,
        )
        weights = self._weights(values, queries, tree.set_starts, tree.set_columns, nearest)
        return Found(first, tree.where, nearest, weights, tied)

    def _weights(
        self, values: Floats, queries: Floats, set_starts: Numbers, set_columns: Numbers, nearest: Numbers
    ) -> Floats:
        """Return the neighbours' weights, and put neighbours in an order that depends on the set alone."""
        weights = np.ones(nearest.shape)
        if self.task.estimator.weights == "distance":
            kernels.weigh(values, queries, set_starts, set_columns, nearest, weights)
        elif not self.task.has_classes:
            # Votes are counted in any order; numbers are added up in this one.
            nearest.sort(axis=2)
        return weights

    def _room(self, n_rows: int, n_sets: int) -> tuple[Numbers, NDArray[np.bool_]]:
        return np.empty((n_rows, n_sets, self.n_neighbors), dtype=np.int64), np.empty((n_rows, n_sets), dtype=bool)


class KNeighborsClassifierWay(NeighborsWay):
    """The class with the most votes among the nearest rows, the first of equals."""

    kind: ClassVar[type] = KNeighborsClassifier

    def fitted(self, columns: Columns, fold: int) -> Fitted:
        """Return a classifier that knows the votes on the rows tested, which are its rows."""
        nearest, weights = self.neighbors(columns, fold)
        codes = self.task.codes[self.task.folds[fold].train][nearest]
        counts = np.zeros((len(nearest), len(self.task.classes)))
        for t in range(self.n_neighbors):
            counts[np.arange(len(counts)), codes[:, t]] += weights[:, t]
        learned = np.unique(self.task.codes[self.task.folds[fold].train])
        shares = counts[:, learned] / weights.sum(axis=1, keepdims=True)
        return Fitted(_KnownShares(self.task.classes[learned], counts[:, learned], shares), np.arange(len(shares)))

    def confusion(self, candidates: Candidates) -> Floats:
        """Return the numbers of tested rows by class and predicted class."""
        task = self.task

        def add(fold: int, found: Found, counts: Floats) -> None:
            part = task.folds[fold]
            truth = task.codes[part.test[found.first :]]
            votes.count_votes(found.nearest, found.weights, task.codes[part.train], truth, found.where, counts)

        return self._sums(candidates, (len(task.classes), len(task.classes)), add)


class KNeighborsRegressorWay(NeighborsWay):
    """The weighted mean of the nearest rows."""

    kind: ClassVar[type] = KNeighborsRegressor

    def fitted(self, columns: Columns, fold: int) -> Fitted:
        """Return a regressor that knows the means on the rows tested, which are its rows."""
        nearest, weights = self.neighbors(columns, fold)
        labels = self.task.labels[self.task.folds[fold].train][nearest]
        means = (labels * weights).sum(axis=1) / weights.sum(axis=1)
        return Fitted(_KnownMeans(means), np.arange(len(means)))

    def squares(self, candidates: Candidates) -> Floats:
        """Return the sums of the tested rows' squared errors."""
        task = self.task

        def add(fold: int, found: Found, squares: Floats) -> None:
            part = task.folds[fold]
            truth = task.labels[part.test[found.first :]]
            votes.add_squares(found.nearest, found.weights, task.labels[part.train], truth, found.where, squares)

        return self._sums(candidates, (), add)


class _KnownShares(ClassifierMixin, BaseEstimator):
    """A classifier whose votes on some rows are known; rows are given by their numbers."""

    def __init__(self, classes: NDArray[Any], votes: Floats, shares: Floats) -> None:
        self.classes_ = classes
        self._votes = votes
        self._shares = shares

    def predict(self, rows: Columns) -> NDArray[Any]:
        """Return the class with the most votes."""
        return self.classes_[self._votes[rows].argmax(axis=1)]

    def predict_proba(self, rows: Columns) -> Floats:
        """Return the shares of the votes."""
        return self._shares[rows]


class _KnownMeans(RegressorMixin, BaseEstimator):
    """A regressor whose predictions for some rows are known; rows are given by their numbers."""

    def __init__(self, means: Floats) -> None:
        self._means = means

    def predict(self, rows: Columns) -> Floats:
        """Return the means."""
        return self._means[rows]


def _whole(task: Task) -> NDArray[np.bool_]:
    """Return in which coordinates squares add up exactly in any order, as those of whole numbers do that are not too large."""
    points = task.points
    whole = np.ones(points.n_coordinates, dtype=bool)
    # What a sum takes of a key is what the number of a row leaves.
    n_bits = 52 - max(len(fold.train) for fold in task.folds).bit_length()
    table = points.by_column()
    for values in (
        (table.T,) if table is not None else (of(fold) for fold in task.folds for of in (points.train, points.test))
    ):
        reach = 2 * np.abs(values).max(axis=0)
        whole &= (reach * reach < 2.0**n_bits / len(whole)) & (values == np.rint(values)).all(axis=0)
    return whole

"""Fold backends for scikit-learn's k-nearest neighbours: squared distances are sums over columns.

A `SubsetTree` groups column sets by the columns that they share, so that a shared column is added to the distances once. The cost
for m test rows, n training rows and c column sets is:

- sets that add columns to one parent of s columns: m n (s + 2) for the distances by the parent and their order, then a few hundred
  rows for each set and test row, because a row that is far by the parent alone cannot be near;
- sets of a single column: n log n to sort, then m c n_neighbors;
- sets that only share columns: m n for every column of the tree, about log2(c) columns for each set that leaves out one of c
  columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from tamiz.arrays import Floats, Indices, Masks
from tamiz.exceptions import DataError
from tamiz.kernels import read_only, subset_neighbors
from tamiz.kernels.subset_neighbors import SubsetTree
from tamiz.models.backends import CountsPredictions, FittedFold, FoldBackend, HasSetNotes, SumsErrors
from tamiz.models.design_matrix import EncodedMatrix
from tamiz.models.task import CVTask
from tamiz.runtime import parallel
from tamiz.search.base import Candidates

Int64Array = NDArray[np.int64]

# Sets in one tree: the distances of all of them fit in the cache.
_MAX_SETS = 256
# Test rows in one batch: the preparation of the training rows is amortised.
_TEST_ROWS_PER_BATCH = 512
# Neighbours in memory at a time.
_NEIGHBORS_PER_BATCH = 2**16
# Sets scored at a time, as each has its own sums.
_SETS_PER_BATCH = 1024
# Row pairs times sets per thread: about a millisecond.
_PAIRS_PER_THREAD = 1_000_000


def build_subset_tree(masks: Masks, matrix: EncodedMatrix) -> SubsetTree:
    """Build the tree of some sets by recursive bisection of the sets, sorted by their columns so that neighbours share many."""
    packed = np.packbits(masks, axis=1)
    order = sorted(range(len(masks)), key=lambda c: packed[c].tobytes())
    ordered = masks[order]
    common = np.asarray(ordered.all(axis=0))
    # Node 0 is the root with the columns common to all sets; they are not in `added`.
    depth, above, complete = [0], [0], [-1]
    ends = [0]
    added: list[Indices] = [np.empty(0, dtype=np.intp)]

    def grow(first: int, stop: int, in_path: Masks, node: int) -> None:
        shared = np.asarray(ordered[first:stop].all(axis=0)) & ~in_path
        single = stop - first == 1
        new_node = len(depth)
        is_node = single or bool(shared.any())
        if is_node:
            depth.append(depth[node] + 1)
            above.append(node)
            complete.append(order[first] if single else -1)
            added.append(np.flatnonzero(shared))
            ends.append(0)
            in_path, node = in_path | shared, new_node
        if not single:
            middle = (first + stop) // 2
            grow(first, middle, in_path, node)
            grow(middle, stop, in_path, node)
        if is_node:
            ends[new_node] = len(depth)

    grow(0, len(masks), common, 0)
    ends[0] = len(depth)
    starts, columns = _flatten_lists(added)
    coordinates, widths = masks[:, matrix.column_of], np.array(list(map(len, matrix.coordinates)))
    first = np.array([own[0] if len(own) else 0 for own in matrix.coordinates])
    majority, shared = (
        np.flatnonzero(at) for at in (2 * coordinates.sum(axis=0) > len(masks), common[matrix.column_of])
    )
    sets = _flatten_lists([np.flatnonzero(mask) for mask in coordinates])
    arrays = (majority, shared, depth, ends, above, complete, starts, columns, first, first + widths, *sets)
    return SubsetTree(*(read_only(np.ascontiguousarray(each, dtype=np.int64)) for each in arrays))


class _NumberedTree(NamedTuple):
    """A tree of some of the candidates, and their numbers among all."""

    set_numbers: Indices
    sets: SubsetTree


def _subset_trees(candidates: Candidates, matrix: EncodedMatrix, set_numbers: Indices) -> Iterator[_NumberedTree]:
    """Yield trees of candidates: those that only add to one parent, those that also remove columns, and all others."""
    masks = candidates.masks()[set_numbers]
    parent = candidates.parent_index[set_numbers]
    flips = np.diff(candidates.starts)[set_numbers] > 0
    kind = np.where((masks >= candidates.parents[parent]).all(axis=1), 1, 2)
    # A parent with a single candidate forms no family.
    family = np.where(flips & (np.bincount(parent)[parent] > 1), 2 * parent.astype(np.int64) + kind, 0)
    packed = np.packbits(masks, axis=1)
    for one in np.unique(family):
        mine = np.array(sorted(np.flatnonzero(family == one), key=lambda c: packed[c].tobytes()))
        for first in range(0, len(mine), _MAX_SETS):
            part = mine[first : first + _MAX_SETS]
            yield _NumberedTree(set_numbers[part], build_subset_tree(masks[part], matrix))


def _flatten_lists(lists: list[Indices]) -> tuple[Int64Array, Int64Array]:
    """Return the start of each list in the concatenation, and the concatenation."""
    return np.cumsum([0, *map(len, lists)], dtype=np.int64), np.concatenate(lists).astype(np.int64)


class NeighborBatch(NamedTuple):
    """Neighbours of test rows of a fold, from number `first_row` on, for the sets with numbers `set_numbers`.

    `nearest` and `weights` have the shape (n_rows, n_sets, n_neighbors), `has_tie` the shape (n_rows, n_sets).
    """

    first_row: int
    set_numbers: Indices
    nearest: Int64Array
    weights: Floats
    has_tie: Masks


class _SearchPlan(NamedTuple):
    """Sets by search method: the coordinates and numbers of the sets of one coordinate, and trees of the others."""

    single_columns: Int64Array
    single_numbers: Indices
    trees: list[_NumberedTree]

    @classmethod
    def of(cls, candidates: Candidates, matrix: EncodedMatrix) -> _SearchPlan:
        coordinates = matrix.to_coordinates(candidates)
        is_single = coordinates.sizes() == 1
        numbers = np.flatnonzero(is_single)
        columns = np.ascontiguousarray(np.nonzero(coordinates[numbers].masks())[1], dtype=np.int64)
        return cls(columns, numbers, list(_subset_trees(candidates, matrix, np.flatnonzero(~is_single))))


class NeighborsBackend(FoldBackend, HasSetNotes):
    """The nearest training rows by sums of squared differences; of equally near rows, those with the lower number."""

    method: ClassVar[str] = (
        "squared distances are added up column by column, and rows that some of the columns show to be too far are skipped"
    )

    def __init__(self, task: CVTask) -> None:
        super().__init__(task)
        self.n_neighbors = int(task.estimator.n_neighbors)
        for number, fold in enumerate(task.folds, start=1):
            if self.n_neighbors > len(fold.train):
                raise DataError(
                    f"Fold {number} of {len(task.folds)} has {len(fold.train)} training rows, and {task.estimator_name} needs "
                    f"{self.n_neighbors}; lower n_neighbors, or use folds with more training rows."
                )
        self._is_exact = _exact_coordinates(task)

    @classmethod
    def unsupported_reason(cls, task: CVTask) -> str | None:
        """Return which parameter requires other neighbours than the Euclidean ones."""
        model = task.estimator
        if model.metric not in ("minkowski", "euclidean") or model.metric_params is not None:
            return "only Euclidean distances add up over columns"
        if model.metric == "minkowski" and model.p != 2:
            return f"only Euclidean distances add up over columns, and p is {model.p!r}"
        if model.weights not in ("uniform", "distance"):
            return "its weights are a function of all distances"
        n = model.n_neighbors
        return f"n_neighbors is {n!r}" if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1 else None

    def max_bytes(self) -> float:
        """Return the bytes of all threads: two copies of the training rows of a fold, and neighbours."""
        n_train = max(len(fold.train) for fold in self.task.folds)
        return (
            parallel.n_threads() * 8.0 * (2 * n_train * (self.task.matrix.n_coordinates + 2) + 4 * _NEIGHBORS_PER_BATCH)
        )

    def evaluation_cost(self) -> float:
        """Return the approximate microseconds per set, between sets that add to a parent and sets that share nothing."""
        return sum(len(fold.test) * (0.5 + 2e-4 * len(fold.train)) for fold in self.task.folds)

    def subset_notes(self, columns: Indices) -> list[str]:
        share = self.tie_share(columns)
        if not share:
            return []
        return [
            f"With these columns, {max(share, 0.001):.1%} of the test rows have other rows at the distance of the last of their "
            f"{self.n_neighbors} neighbours; the rows with the lower numbers are used."
        ]

    def tie_share(self, columns: Indices) -> float:
        """Return the share of test rows for which a row that is not a neighbour is as near as the last neighbour."""
        n_folds = len(self.task.folds)
        return sum(
            int(found.has_tie.sum()) for f in range(n_folds) for found in self._neighbors_of_set(columns, f)
        ) / len(self.task.test_rows)

    def neighbors(self, columns: Indices, fold: int) -> tuple[Int64Array, Floats]:
        """Return the neighbours of the test rows of a fold, as positions among the training rows, and their weights."""
        parts = self._neighbors_of_set(columns, fold)
        return np.concatenate([part.nearest[:, 0] for part in parts]), np.concatenate(
            [part.weights[:, 0] for part in parts]
        )

    def _sum_over_rows(
        self, candidates: Candidates, shape: tuple[int, ...], add: Callable[[int, NeighborBatch, Floats], None]
    ) -> Floats:
        """Return sums over the test rows, of shape (n_candidates, n_folds, *shape); add(fold, found, sums) adds a batch."""
        folds = self.task.folds
        items = [
            (f, *span)
            for f, fold in enumerate(folds)
            for span in parallel.block_ranges(len(fold.test), _TEST_ROWS_PER_BATCH)
        ]
        sums = np.zeros((len(candidates), len(folds), *shape))
        for first, stop in parallel.block_ranges(len(candidates), _SETS_PER_BATCH):
            plan = _SearchPlan.of(candidates[np.arange(first, stop)], self.task.matrix)

            def work(item: tuple[int, int, int], n_sets: int = stop - first, plan: _SearchPlan = plan) -> Floats:
                own = np.zeros((n_sets, *shape))
                for found in self._search(plan, *item):
                    add(item[0], found, own)
                return own

            n_pairs = sum(len(fold.test) * len(fold.train) for fold in folds) * (stop - first)
            done = map(work, items) if n_pairs < _PAIRS_PER_THREAD else parallel.map_blocks(work, items)
            for (fold, *_), own in zip(items, done, strict=True):
                sums[first:stop, fold] += own
        return sums

    def _neighbors_of_set(self, columns: Indices, fold: int) -> list[NeighborBatch]:
        mask = np.zeros(len(self.task.matrix.coordinates), dtype=bool)
        mask[columns] = True
        plan = _SearchPlan.of(Candidates.from_masks(mask), self.task.matrix)
        return list(self._search(plan, fold, 0, len(self.task.folds[fold].test)))

    def _search(self, plan: _SearchPlan, fold: int, first: int, stop: int) -> Iterator[NeighborBatch]:
        """Yield the neighbours of the test rows first .. stop of a fold, in batches of sets and rows."""
        part, matrix = self.task.folds[fold], self.task.matrix
        values = np.ascontiguousarray(matrix.train_rows(part).T)
        queries = np.ascontiguousarray(matrix.test_rows(part)[first:stop])
        for span in parallel.block_ranges(
            len(plan.single_columns), max(1, _NEIGHBORS_PER_BATCH // (len(queries) * self.n_neighbors))
        ):
            yield self._search_single_columns(
                values, queries, plan.single_columns[slice(*span)], plan.single_numbers[slice(*span)], first
            )
        for tree in plan.trees:
            for begin, end in parallel.block_ranges(
                len(queries), max(1, _NEIGHBORS_PER_BATCH // (len(tree.set_numbers) * self.n_neighbors))
            ):
                yield self._search_tree(values, queries[begin:end], tree, first + begin)

    def _search_single_columns(
        self, values: Floats, queries: Floats, single_columns: Int64Array, single_numbers: Indices, first: int
    ) -> NeighborBatch:
        nearest, tied = self._empty_results(len(queries), len(single_columns))
        for number, j in enumerate(single_columns.tolist()):
            order = np.argsort(values[j], kind="stable")
            subset_neighbors.nearest_by_column(
                values[j], order, np.ascontiguousarray(queries[:, j]), number, nearest, tied
            )
        weights = self._neighbor_weights(values, queries, np.arange(len(single_columns) + 1), single_columns, nearest)
        return NeighborBatch(first, single_numbers, nearest, weights, tied)

    def _search_tree(self, values: Floats, queries: Floats, tree: _NumberedTree, first: int) -> NeighborBatch:
        set_numbers, sets = tree
        nearest, tied = self._empty_results(len(queries), len(set_numbers))
        is_exact = np.logical_and.reduceat(self._is_exact[sets.set_columns], sets.set_starts[:-1])
        subset_neighbors.nearest_by_sets(values, queries, sets, is_exact, nearest, tied)
        weights = self._neighbor_weights(values, queries, sets.set_starts, sets.set_columns, nearest)
        return NeighborBatch(first, set_numbers, nearest, weights, tied)

    def _neighbor_weights(
        self, values: Floats, queries: Floats, set_starts: Int64Array, set_columns: Int64Array, nearest: Int64Array
    ) -> Floats:
        """Return the weights of the neighbours, and sort neighbours into an order that depends on the set alone."""
        weights = np.ones(nearest.shape)
        if self.task.estimator.weights == "distance":
            subset_neighbors.fill_distance_weights(values, queries, set_starts, set_columns, nearest, weights)
        elif not self.task.has_classes:
            # Sums of numbers depend on the order; counts of votes do not.
            nearest.sort(axis=2)
        return weights

    def _empty_results(self, n_rows: int, n_sets: int) -> tuple[Int64Array, Masks]:
        return np.empty((n_rows, n_sets, self.n_neighbors), dtype=np.int64), np.empty((n_rows, n_sets), dtype=bool)


class KNeighborsClassifierBackend(NeighborsBackend, CountsPredictions):
    """The class with the most votes among the nearest rows; of equal classes the first."""

    estimator_class: ClassVar[type] = KNeighborsClassifier

    def fit_fold(self, columns: Indices, fold: int) -> FittedFold:
        """Return a classifier with the votes on the test rows, which are passed to it by number."""
        nearest, weights = self.neighbors(columns, fold)
        counts = self._votes(fold, nearest, weights)
        learned = np.unique(self.task.codes[self.task.folds[fold].train])
        shares = counts[:, learned] / weights.sum(axis=1, keepdims=True)
        return FittedFold(
            _VoteClassifier(self.task.classes[learned], counts[:, learned], shares), np.arange(len(shares))
        )

    def _votes(self, fold: int, nearest: Int64Array, weights: Floats) -> Floats:
        """Return the votes of neighbours, which are on the last axis, for every class."""
        codes = self.task.codes[self.task.folds[fold].train][nearest]
        votes = np.zeros((*nearest.shape[:-1], len(self.task.classes)))
        at = np.indices(nearest.shape[:-1], sparse=True)
        for t in range(self.n_neighbors):
            votes[(*at, codes[..., t])] += weights[..., t]
        return votes

    def confusion_counts(self, candidates: Candidates) -> Floats:
        task = self.task

        def add(fold: int, found: NeighborBatch, counts: Floats) -> None:
            part = task.folds[fold]
            truth = task.codes[part.test[found.first_row :]][: len(found.nearest), None]
            chosen = self._votes(fold, found.nearest, found.weights).argmax(axis=2)
            np.add.at(counts, (found.set_numbers, truth, chosen), 1.0)

        return self._sum_over_rows(candidates, (len(task.classes), len(task.classes)), add)


class KNeighborsRegressorBackend(NeighborsBackend, SumsErrors):
    estimator_class: ClassVar[type] = KNeighborsRegressor

    def fit_fold(self, columns: Indices, fold: int) -> FittedFold:
        """Return a regressor with the means on the test rows, which are passed to it by number."""
        nearest, weights = self.neighbors(columns, fold)
        labels = self.task.target[self.task.folds[fold].train][nearest]
        means = (labels * weights).sum(axis=1) / weights.sum(axis=1)
        return FittedFold(_MeanRegressor(means), np.arange(len(means)))

    def squared_errors(self, candidates: Candidates) -> Floats:
        task = self.task

        def add(fold: int, found: NeighborBatch, squares: Floats) -> None:
            part = task.folds[fold]
            truth = task.target[part.test[found.first_row :]]
            subset_neighbors.add_squared_errors(
                found.nearest, found.weights, task.target[part.train], truth, found.set_numbers, squares
            )

        return self._sum_over_rows(candidates, (), add)


class _VoteClassifier(ClassifierMixin, BaseEstimator):
    """A classifier with stored votes; rows are passed by number."""

    def __init__(self, classes: NDArray[Any], votes: Floats, shares: Floats) -> None:
        self.classes_ = classes
        self._votes = votes
        self._shares = shares

    def predict(self, rows: Indices) -> NDArray[Any]:
        return self.classes_[self._votes[rows].argmax(axis=1)]

    def predict_proba(self, rows: Indices) -> Floats:
        return self._shares[rows]


class _MeanRegressor(RegressorMixin, BaseEstimator):
    """A regressor with stored predictions; rows are passed by number."""

    def __init__(self, means: Floats) -> None:
        self._means = means

    def predict(self, rows: Indices) -> Floats:
        return self._means[rows]


def _exact_coordinates(task: CVTask) -> Masks:
    """Return the coordinates whose squared differences add up exactly in any order: whole numbers that are not too large."""
    matrix = task.matrix
    is_exact = np.ones(matrix.n_coordinates, dtype=bool)
    # The kernel packs a square and a row number into one float64 key: these bits remain for the square. The distances of the
    # squares m and m + 1 are no tie up to m = 2^25.
    n_bits = min(25, 52 - max(len(fold.train) for fold in task.folds).bit_length())
    table = matrix.transposed_values()
    for values in (
        (table.T,)
        if table is not None
        else (of(fold) for fold in task.folds for of in (matrix.train_rows, matrix.test_rows))
    ):
        reach = 2 * np.abs(values).max(axis=0)
        is_exact &= (reach * reach < 2.0**n_bits / len(is_exact)) & (values == np.rint(values)).all(axis=0)
    return is_exact

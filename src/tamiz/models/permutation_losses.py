"""What columns are worth to a model on rows that it has not seen: the score that is lost when their values change places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamiz.exceptions import DataError
from tamiz.models.base import ColumnIndices, CVTask, FoldBackend
from tamiz.models.score_functions import confusion_scorer, squared_error_scorer
from tamiz.runtime import parallel
from tamiz.statistics.base import Floats
from tamiz.subsets.evaluator import Unit

Permutation = NDArray[np.intp]
# Columns by their places in rows, and the order that their values are put in.
ColumnPermutation = tuple[NDArray[np.intp], Permutation]

# Values that are predicted from at a time: most of what a call takes does not depend on how many rows it is of.
_VALUES_PER_BATCH = 2**20


def permutation_losses(
    backend: FoldBackend, columns: ColumnIndices, units: Sequence[Unit], fold: int, n_repeats: int
) -> Floats:
    """Return what the score of a fold loses by each exchange of values in each unit of columns, of shape (n_units, n_repeats).

    Parameters
    ----------
    backend : Way
        Its rows are the tested ones themselves, as arrays or frames: values cannot change places in rows that are numbers of rows.
    columns : ndarray
        The set, ascending.
    units : list of ndarray
        Columns of the set whose values go to another row together.
    fold : int
    n_repeats : int
        Exchanges. All units see the same ones, so that units, not lots, make the difference.
    """
    task = backend.task
    fitted = backend.fit_fold(columns, fold)
    places = dict(zip(columns.tolist(), _column_positions(task, columns), strict=True))
    unit_places = [np.concatenate([places[j] for j in unit.tolist()]) for unit in units]
    orders = _draw_permutations(task, columns, fold, n_repeats)
    # Of one value there is nothing to exchange: the loss is 0 to the bit.
    worth = [u for u, at in enumerate(unit_places) if any(_varies(fitted.test_rows, place) for place in at.tolist())]
    exchanges = [(unit_places[u], order) for u in worth for order in orders]
    found = np.empty(len(exchanges))
    scores = _TestScorer(task, fitted.estimator, fold)
    for start, stop in parallel.block_ranges(
        len(exchanges), max(1, _VALUES_PER_BATCH // max(1, int(np.prod(fitted.test_rows.shape))))
    ):
        found[start:stop] = scores.permuted_scores(fitted.test_rows, exchanges[start:stop])
    lost = np.zeros((len(units), n_repeats))
    # The rows as they are come last: an estimator told to spare the copy may write into what it predicts from.
    lost[worth] = scores.original_score(fitted.test_rows) - found.reshape(len(worth), n_repeats)
    return lost


class _TestScorer:
    """Scores of one fitted estimator on the tested rows of a fold, exchanged in many ways."""

    def __init__(self, task: CVTask, estimator: Any, fold: int) -> None:
        tested = task.folds[fold].test
        self._task = task
        self._estimator = estimator
        self._labels, self._weight = task.target_at(tested), task.weight_at(tested)
        self._score_predictions = _prediction_score(task, fold)

    def permuted_scores(self, rows: Any, permutations: Sequence[ColumnPermutation]) -> Floats:
        """Return the score after every exchange."""
        if self._score_predictions is not None:
            found = self._score_predictions(self._estimator.predict(permute_columns(rows, permutations)))
            if found is not None:
                return found
        return np.array([self._score(permute_columns(rows, [exchange])) for exchange in permutations])

    def original_score(self, rows: Any) -> float:
        """Return the score of the rows as they are."""
        if self._score_predictions is not None:
            found = self._score_predictions(self._estimator.predict(rows))
            if found is not None:
                return float(found[0])
        return self._score(rows)

    def _score(self, rows: Any) -> float:
        return self._task.scoring.score(self._estimator, rows, self._labels, self._weight)


def _prediction_score(task: CVTask, fold: int) -> Callable[[NDArray[Any]], Floats | None] | None:
    """Return the score as a function of predictions, of the tested rows again and again; None where it reads more than these.

    It returns one score for each time that the rows come, None for a class that no row is of, or a prediction that is no number.
    """
    if not task.has_target:
        return None
    tested = task.folds[fold].test
    codes, weights, classes = task.codes[tested], task.weight_or_ones[tested], task.classes
    by_counts, by_squares = confusion_scorer(task), squared_error_scorer(task)
    if by_counts is not None:

        def of_classes(predicted: NDArray[Any]) -> Floats | None:
            n = len(classes)
            found = np.minimum(np.searchsorted(classes, predicted), n - 1)
            if (classes[found] != predicted).any():
                return None
            cells = n * codes + found.reshape(-1, len(tested))
            m = len(cells)
            cells += n * n * np.arange(m)[:, None]
            counts = np.bincount(cells.ravel(), np.tile(weights, m), n * n * m)
            return by_counts(counts.reshape(m, n, n).astype(np.float64, copy=False))

        return of_classes
    if by_squares is not None:

        def of_numbers(predicted: NDArray[Any]) -> Floats | None:
            if not np.isfinite(predicted).all():
                return None
            squares = (task.target[tested] - predicted.reshape(-1, len(tested))) ** 2 @ weights
            return by_squares(np.repeat(squares[:, None], len(task.folds), axis=1))[:, fold]

        return of_numbers
    return None


def permute_columns(rows: Any, permutations: Sequence[ColumnPermutation]) -> Any:
    """Return rows, an array, a sparse matrix or a frame of any library, again and again, each time after another exchange."""
    if sparse.issparse(rows):
        return sparse.vstack([_permute_sparse(rows.tocoo(), *exchange) for exchange in permutations], format="csr")
    n = len(rows)
    again = np.tile(np.arange(n), len(permutations))
    taken = {place: again.copy() for at, _ in permutations for place in at.tolist()}
    for k, (at, order) in enumerate(permutations):
        for place in at.tolist():
            taken[place][k * n : (k + 1) * n] = order
    if isinstance(rows, np.ndarray):
        changed = rows[again]
        for place, numbers in taken.items():
            changed[:, place] = rows[numbers, place]
        return changed
    frame = nw.from_native(rows, eager_only=True)
    # By position: not every frame's names are text.
    return frame[again, :].with_columns(*(frame[:, place][numbers] for place, numbers in taken.items())).to_native()


def _permute_sparse(rows: Any, at: NDArray[np.intp], order: Permutation) -> sparse.coo_array:
    """Return sparse rows with the values of some columns in another order."""
    row, column = rows.row, rows.col
    # Of the type of the other numbers of rows: some estimators refuse sparse rows with numbers of 64 bits.
    place = np.empty(len(order), dtype=row.dtype)
    place[order] = np.arange(len(order))
    return sparse.coo_array((rows.data, (np.where(np.isin(column, at), place[row], row), column)), shape=rows.shape)


def check_permutable(task: CVTask) -> None:
    """Refuse folds of one row: there is nothing to exchange its values with."""
    if all(len(fold.test) < 2 for fold in task.folds):
        raise DataError(
            f"Each of the {len(task.folds):,} folds tests 1 row, and its values can change places with no other's; importances "
            "need folds of at least 2 rows: ask for fewer folds."
        )


def _varies(rows: Any, position: int) -> bool:
    """Return whether a column holds more than one value."""
    if sparse.issparse(rows):
        rows, position = rows[:, [position]].toarray(), 0
    if not isinstance(rows, np.ndarray):
        return bool(nw.from_native(rows, eager_only=True)[:, position].n_unique() > 1)
    values = rows[:, position]
    # A gap equals no other.
    return bool((values != values[0]).any())


def _draw_permutations(task: CVTask, columns: ColumnIndices, fold: int, n_repeats: int) -> list[Permutation]:
    """Return the orders that tested rows are put in: by the task's seed, the set and the fold, whatever was drawn before."""
    rng = np.random.default_rng([task.seed, fold, *columns.tolist()])
    return [rng.permutation(len(task.folds[fold].test)) for _ in range(n_repeats)]


def _column_positions(task: CVTask, columns: ColumnIndices) -> list[NDArray[np.intp]]:
    """Return where each column of a set lies in the rows of its refit: encoded, a column of categories is several."""
    if not task.encode:
        return [np.array([k]) for k in range(len(columns))]
    widths = [len(task.matrix.coordinates[j]) for j in columns.tolist()]
    return np.split(np.arange(sum(widths)), np.cumsum(widths)[:-1])

"""Permutation losses: how much a fold's test score drops when the values of columns are permuted among the test rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import narwhals as nw
import numpy as np
from scipy import sparse

from tamiz.arrays import Floats, Indices
from tamiz.exceptions import DataError
from tamiz.models.base import CVTask, FoldBackend
from tamiz.models.score_functions import confusion_scorer, roc_areas, squared_error_scorer
from tamiz.runtime import parallel
from tamiz.subsets.evaluator import Unit

Permutation = Indices
# Column positions in the test rows, and the permutation of their values.
ColumnPermutation = tuple[Indices, Permutation]

# Values that are predicted from at a time: several permutations share the overhead of one call of predict.
_VALUES_PER_BATCH = 2**20


def permutation_losses(
    backend: FoldBackend, columns: Indices, units: Sequence[Unit], fold: int, n_repeats: int
) -> tuple[float, Floats]:
    """Return a fold's score, and its loss by each permutation of each unit of columns, of shape (n_units, n_repeats).

    Parameters
    ----------
    backend : FoldBackend
        One whose `test_rows` are values in an array or a frame, not row numbers: a `RefitBackend`.
    columns : ndarray
        The column set, ascending.
    units : list of ndarray
        Columns of the set that are permuted together.
    fold : int
    n_repeats : int
        Number of permutations. All units share the same ones, so that random draws do not add to their differences.
    """
    task = backend.task
    fitted = backend.fit_fold(columns, fold)
    positions = dict(zip(columns.tolist(), column_positions(task, columns), strict=True))
    unit_positions = [np.concatenate([positions[j] for j in unit.tolist()]) for unit in units]
    orders = _draw_permutations(task, columns, fold, n_repeats)
    # The loss of a constant column is exactly 0.
    varying = [u for u, at in enumerate(unit_positions) if any(_varies(fitted.test_rows, k) for k in at.tolist())]
    permutations = [(unit_positions[u], order) for u in varying for order in orders]
    found = np.empty(len(permutations))
    scorer = _TestScorer(task, fitted.estimator, fold)
    for start, stop in parallel.block_ranges(
        len(permutations), max(1, _VALUES_PER_BATCH // max(1, int(np.prod(fitted.test_rows.shape))))
    ):
        found[start:stop] = scorer.permuted_scores(fitted.test_rows, permutations[start:stop])
    losses = np.zeros((len(units), n_repeats))
    # The original rows are scored last: an estimator with copy=False may write into the rows that it predicts from.
    score = scorer.original_score(fitted.test_rows)
    losses[varying] = score - found.reshape(len(varying), n_repeats)
    return score, losses


class _TestScorer:
    """Scores one fitted estimator on permuted test rows of a fold."""

    def __init__(self, task: CVTask, estimator: Any, fold: int) -> None:
        rows = task.folds[fold].test
        self._task = task
        self._estimator = estimator
        self._of_rows = task.target_at(rows), task.weight_at(rows), task.metadata_at(rows)
        self._score_responses = _response_score(task, fold)

    def permuted_scores(self, rows: Any, permutations: Sequence[ColumnPermutation]) -> Floats:
        if self._score_responses is not None:
            found = self._score_responses(self._estimator, permute_columns(rows, permutations))
            if found is not None:
                return found
        return np.array([self._score(permute_columns(rows, [one])) for one in permutations])

    def original_score(self, rows: Any) -> float:
        if self._score_responses is not None:
            found = self._score_responses(self._estimator, rows)
            if found is not None:
                return float(found[0])
        return self._score(rows)

    def _score(self, rows: Any) -> float:
        return self._task.scoring.score(self._estimator, rows, *self._of_rows)


def _response_score(task: CVTask, fold: int) -> Callable[[Any, Any], Floats | None] | None:
    """Return the score as a function of an estimator and repeated copies of the test rows; None where only the scorer computes it.

    The function returns one score per copy, and None if a prediction is an unknown class or not finite.
    """
    if not task.has_target or task.scoring.requests:
        return None
    tested = task.folds[fold].test
    codes, weights, classes = task.codes[tested], task.weight_or_ones[tested], task.classes
    by_counts, by_squares = confusion_scorer(task), squared_error_scorer(task)
    if by_counts is not None:

        def of_classes(estimator: Any, rows: Any) -> Floats | None:
            predicted, n = estimator.predict(rows), len(classes)
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

        def of_numbers(estimator: Any, rows: Any) -> Floats | None:
            predicted = estimator.predict(rows)
            if not np.isfinite(predicted).all():
                return None
            # A matrix product may round a row differently beside other rows, and equal predictions must have a loss of exactly 0.
            squares = ((task.target[tested] - predicted.reshape(-1, len(tested))) ** 2 * weights).sum(axis=1)
            return by_squares(np.repeat(squares[:, None], len(task.folds), axis=1))[:, fold]

        return of_numbers
    if task.scoring.is_sklearn and task.scoring.name == "roc_auc" and len(classes) == 2 and np.ptp(codes) == 1:
        positive = np.where(codes == 1, weights, 0.0)

        def of_ranks(estimator: Any, rows: Any) -> Floats | None:
            if not np.array_equal(estimator.classes_, classes):
                return None
            by_margin = hasattr(estimator, "decision_function")
            response = estimator.decision_function(rows) if by_margin else estimator.predict_proba(rows)[:, 1]
            found = np.asarray(response, dtype=np.float64).reshape(-1, len(tested))
            return roc_areas(found, positive, weights - positive) if np.isfinite(found).all() else None

        return of_ranks
    return None


def permute_columns(rows: Any, permutations: Sequence[ColumnPermutation]) -> Any:
    """Return copies of rows (array, sparse matrix or frame of any library), one after each permutation, in one table."""
    if sparse.issparse(rows):
        return sparse.vstack([_permute_sparse(rows.tocoo(), *one) for one in permutations], format="csr")
    n = len(rows)
    repeated = np.tile(np.arange(n), len(permutations))
    sources = {position: repeated.copy() for at, _ in permutations for position in at.tolist()}
    for k, (at, order) in enumerate(permutations):
        for position in at.tolist():
            sources[position][k * n : (k + 1) * n] = order
    if isinstance(rows, np.ndarray):
        permuted = np.tile(rows, (len(permutations), 1))
        for position, numbers in sources.items():
            permuted[:, position] = rows[numbers, position]
        return permuted
    frame = nw.from_native(rows, eager_only=True)
    # By position: the names of a frame need not be text.
    columns = (frame[:, position][numbers] for position, numbers in sources.items())
    return frame[repeated, :].with_columns(*columns).to_native()


def _permute_sparse(rows: Any, at: Indices, order: Permutation) -> sparse.coo_array:
    row, column = rows.row, rows.col
    # The index type of the matrix: some estimators refuse sparse rows with 64-bit indices.
    inverse = np.empty(len(order), dtype=row.dtype)
    inverse[order] = np.arange(len(order))
    return sparse.coo_array((rows.data, (np.where(np.isin(column, at), inverse[row], row), column)), shape=rows.shape)


def check_permutable(task: CVTask) -> None:
    """Raise DataError if all folds have a single test row, which cannot be permuted."""
    if all(len(fold.test) < 2 for fold in task.folds):
        raise DataError(
            f"Each of the {len(task.folds):,} folds has 1 test row, and permutation importance needs at least 2: use fewer folds."
        )


def _varies(rows: Any, position: int) -> bool:
    if sparse.issparse(rows):
        rows, position = rows[:, [position]].toarray(), 0
    if not isinstance(rows, np.ndarray):
        return bool(nw.from_native(rows, eager_only=True)[:, position].n_unique() > 1)
    values = rows[:, position]
    # NaN differs from every value, also from NaN.
    return bool((values != values[0]).any())


def _draw_permutations(task: CVTask, columns: Indices, fold: int, n_repeats: int) -> list[Permutation]:
    """Return permutations of the test rows that depend only on the task's seed, the set and the fold."""
    rng = np.random.default_rng([task.seed, fold, *columns.tolist()])
    return [rng.permutation(len(task.folds[fold].test)) for _ in range(n_repeats)]


def column_positions(task: CVTask, columns: Indices) -> list[Indices]:
    """Return the positions of each column in the rows of a refit; an encoded categorical column has several."""
    if not task.is_encoded:
        return [np.array([k]) for k in range(len(columns))]
    at = task.encoder.coordinates_of(columns)
    return [np.searchsorted(at, task.encoder.coordinates[j]) for j in columns.tolist()]

"""Cross-validated scores of column sets as merits, by a fold backend or by refits, and the importances of columns in the models.

`WrapperEvaluator` scores a model, `ClassIndicatorEvaluator` ridge regression on class indicators.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from types import CodeType, FunctionType, MethodType
from typing import Any

import narwhals as nw
import numpy as np
from scipy import sparse
from sklearn import config_context, get_config
from sklearn.linear_model import Ridge

from tamiz.arrays import Floats, Indices, Masks, divide_or_zero, is_missing
from tamiz.exceptions import DataError
from tamiz.models.backends import (
    FittedFold,
    FoldBackend,
    FoldRows,
    HasLikelihoods,
    HasSetNotes,
    RefitBackend,
    SharesProducts,
    choose_backend,
    confusion_scorer,
    likelihood_scorer,
    roc_areas,
    squared_error_scorer,
)
from tamiz.models.estimators import model_importances
from tamiz.models.fold_scorer import FoldScorer
from tamiz.models.folds import Fold, Folds
from tamiz.models.scoring import PREDICTION_SCORER, resolve_scoring
from tamiz.models.task import CVTask, DegenerateSetError, FitWarnings, error_context
from tamiz.runtime import parallel, progress
from tamiz.runtime.user_warnings import quote_name
from tamiz.runtime.verdicts import Verdict
from tamiz.search.base import (
    Candidates,
    Evaluator,
    HasFolds,
    HasImportances,
    HasSubsetNotes,
    HasSubsetWarnings,
    ImportanceGetter,
    MeritInfo,
    Unit,
)

# Microseconds per fold of a ROC AUC or log loss from joint log-likelihoods, dominated by numpy calls.
_LIKELIHOOD_COST = 250.0
# Where one of two classes has a larger share of the rows, a good model may predict no row of the other.
_LARGE_CLASS_SHARE = 0.9
# Equal losses differ in their last bits where they are summed in another order: they are rounded to this share of the largest, and
# the importances of a model to as many significant digits.
_IMPORTANCE_DIGITS = 12
# Coefficients of columns whose standard deviations differ by a larger factor are compared with a note.
_MAX_STD_RATIO = 10.0
# Memory addresses in reprs differ between processes.
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
# Values that are predicted from at a time: several permutations share the overhead of one call of predict.
_VALUES_PER_BATCH = 2**20

Permutation = Indices
# Column positions in the test rows, and the permutation of their values.
ColumnPermutation = tuple[Indices, Permutation]


class WrapperEvaluator(Evaluator, HasFolds, HasImportances, HasSubsetNotes, HasSubsetWarnings):
    """Mean cross-validation score of column sets; `method` is a sentence on how they are computed.

    The score of the empty set is the baseline score on the same folds: that of class frequencies or of the mean. Without a target
    the empty set scores minus infinity.
    """

    def __init__(self, task: CVTask, backend: FoldBackend, method: str) -> None:
        self.task = task
        self.backend = backend
        self._method = method
        self.scorer = FoldScorer(task, backend)
        # The error of the first set without a score, and the number of such sets.
        self._first_unscored, self._n_unscored = "", 0
        self._unit_notes: list[Verdict] = []
        self._has_no_importances = False

    @cached_property
    def info(self) -> MeritInfo:
        task, cost = self.task, self.backend.evaluation_cost()
        from_sums = confusion_scorer(task) or squared_error_scorer(task)
        if not from_sums and isinstance(self.backend, HasLikelihoods) and likelihood_scorer(task) is not None:
            cost = max(cost, _LIKELIHOOD_COST * len(task.folds))
        name = f"{task.scoring.name.replace('_', ' ')} of {task.label}"
        return MeritInfo(name, self._method, cost, self.backend.max_bytes())

    def evaluate(self, candidates: Candidates) -> Floats:
        return self.fold_scores(candidates).mean(axis=1)

    def fold_scores(self, candidates: Candidates, needed: Masks | None = None) -> Floats:
        """Return the score of every candidate in every fold, or in those needed, of shape (n_candidates, n_folds).

        It is minus infinity for a set on which a fit fails because columns are constant or dependent in the rows of a fold.
        """
        try:
            return self.scorer.scores(candidates, needed)[0]
        except DegenerateSetError as error:
            n = len(candidates)
            if n == 1:
                self._first_unscored, self._n_unscored = self._first_unscored or str(error), self._n_unscored + 1
                return np.full((1, len(self.task.folds)), -np.inf)
            halves = np.array_split(np.arange(n), 2)
            parts = [(candidates[half], None if needed is None else needed[half]) for half in halves]
            return np.concatenate([self.fold_scores(*part) for part in parts])

    def scores_in_fold(self, fold: int, masks: Masks) -> Floats:
        """Return the score of every set in one fold; minus infinity if a fit fails on a constant column."""
        needed = np.zeros((len(masks), len(self.task.folds)), dtype=bool)
        needed[:, fold] = True
        return self.fold_scores(Candidates.from_masks(masks), needed)[:, fold]

    def importances(
        self, mask: Masks, units: Sequence[Unit], n_repeats: int, getter: ImportanceGetter = "auto"
    ) -> Floats:
        """Return the importances of units in the model of all rows.

        Where the getter is "permutation", or is "auto" and the model has no importances of its own, they are the mean losses of
        score, over folds and repeats, when each unit is permuted in the test rows.
        """
        if getter != "permutation" and units and not (getter == "auto" and self._has_no_importances):
            found = self._all_rows.importances(mask, units, n_repeats, getter)
            if found is not None:
                return found
            self._has_no_importances = True
        losses = self.permutation_losses(mask, units, n_repeats)[1].mean(axis=2).mean(axis=0)
        largest = np.abs(losses).max(initial=0.0)
        return np.round(losses / largest, _IMPORTANCE_DIGITS) if largest else losses

    def permutation_losses(
        self, mask: Masks, units: Sequence[Unit], n_repeats: int, *, show_progress: bool = False
    ) -> tuple[Floats, Floats]:
        """Return the score of each fold, and its loss by each permutation, of shape (n_folds, n_units, n_repeats)."""
        folds = self.task.folds
        if all(len(fold.test) < 2 for fold in folds):
            raise DataError(
                f"Each of the {len(folds):,} folds has 1 test row, and permutation importance needs at least 2: use fewer folds."
            )
        refits, columns = self._refit_backend, np.flatnonzero(mask)
        if not units:
            return np.zeros(len(folds)), np.empty((len(folds), 0, n_repeats))

        # scikit-learn's configuration is local to this thread.
        config = get_config()

        def of_fold(fold: int) -> tuple[float, Floats]:
            in_fold = error_context(self.task, columns, fold, self.task.label)
            with config_context(**config), self.task.fit_warnings.record_fit(), in_fold:
                return permutation_losses(refits, columns, units, fold, n_repeats)

        with self.task.fit_warnings.capture():
            found = parallel.map_blocks(of_fold, range(len(folds)))
            if show_progress:
                found = progress.track_progress("Permuting columns in folds", found, len(folds))
            scores, losses = zip(*found, strict=True)
        return np.array(scores), np.array(losses)

    def identity_fields(self) -> dict[str, Any]:
        return _task_identity_fields(self.task)

    def subset_notes(self, mask: Masks) -> list[str]:
        """Return notes about the score of a set and about the folds."""
        found = []
        if isinstance(self.backend, HasSetNotes) and mask.any():
            found = self.backend.subset_notes(np.flatnonzero(mask))
        return [*found, *self.task.folds.fold_notes]

    def subset_warnings(self, mask: Masks, free: Masks) -> list[Verdict]:  # noqa: ARG002 - the accuracy concerns the set as a whole
        """Return why no column raises the accuracy, for the empty set where one of two classes has nearly all rows."""
        task = self.task
        if mask.any() or not task.has_target or len(task.classes) != 2 or task.scoring.name != "accuracy":
            return []
        share = (np.bincount(task.codes, task.weight_or_ones, 2) / task.weight_or_ones.sum()).max()
        if share < _LARGE_CLASS_SHARE:
            return []
        sentence = (
            f"The accuracy of a constant prediction is {share:.4g}, the share of the larger class: a column can predict the target "
            "and not raise the accuracy. Use scoring='roc_auc' (--scoring roc_auc)."
        )
        return [Verdict("TZ305", sentence)]

    def notes(self) -> list[Verdict]:
        """Return warnings about the folds, notes on the encoding, warnings of refits, and the number of sets without a score."""
        found = [*self.task.folds.fold_warnings, *self.task.folds.overlap_warnings, *self._unit_notes]
        found += self.task.encoder.notes() if self.task.is_encoded else []
        found += self.task.fit_warnings.notes(self.task.label)
        if self._n_unscored:
            sets = "1 set has" if self._n_unscored == 1 else f"{self._n_unscored:,} sets have"
            found.append(Verdict("TZ503", f"{sets} no score and cannot be selected. {self._first_unscored}"))
        return found

    @cached_property
    def _refit_backend(self) -> RefitBackend:
        return RefitBackend(self.task)

    @cached_property
    def _all_rows(self) -> FoldImportances:
        """The models of all rows; their test row is not used."""
        rows = np.arange(self.task.table.schema.n_rows)
        task = replace(self.task, folds=Folds((Fold(rows, rows[:1]),), "all rows"))
        return FoldImportances(RefitBackend(task), 0, self.task.fit_warnings, self._unit_notes)

    def fold_importances(self, fold: int) -> FoldImportances:
        """Return the importances of the models of a fold's training rows, which also have a score on its test rows."""
        return FoldImportances(self._refit_backend, fold, self.task.fit_warnings, [], self.scorer)


class FoldImportances(HasImportances):
    """The importances that the models of a fold have themselves, and with a scorer the score of each model.

    Warnings of the fits are added to `fit_warnings`, and a note on the units of columns once to `notes`.
    """

    def __init__(
        self,
        backend: RefitBackend,
        fold: int,
        fit_warnings: FitWarnings,
        notes: list[Verdict],
        scorer: FoldScorer | None = None,
    ) -> None:
        self._backend, self._fold, self._notes, self._scorer = backend, fold, notes, scorer
        self._fit_warnings = fit_warnings
        self._config = get_config()
        # The scores by the bytes of the mask, and the last model.
        self._scores: dict[bytes, float] = {}
        self._found: tuple[bytes, FittedFold] | None = None
        self._units_checked = False

    def importances(
        self,
        mask: Masks,
        units: Sequence[Unit],
        n_repeats: int,  # noqa: ARG002 - a model's own importances are not random
        getter: ImportanceGetter = "auto",
    ) -> Floats | None:
        """Return the importances of units in the model of a set, None where "auto" finds none in the model."""
        task, columns = self._backend.task, np.flatnonzero(mask)
        fitted = self._fit(mask, columns)
        positions = task.column_positions(columns)
        with error_context(task, columns, self._fold, task.label):
            found = model_importances(fitted.estimator, getter, sum(map(len, positions)))
        if found is None:
            return None
        values, per_unit = found
        if per_unit and not task.is_encoded and not self._units_checked:
            self._units_checked = True
            self._notes += [] if self._notes else _unit_notes(task)
        own = dict(zip(columns.tolist(), positions, strict=True))
        sums = np.array([sum(values[own[j]].sum() for j in unit.tolist()) for unit in units])
        mantissa, exponent = np.frexp(sums)
        return np.ldexp(np.round(mantissa, _IMPORTANCE_DIGITS), exponent)

    def score(self, mask: Masks) -> float:
        if mask.tobytes() not in self._scores:
            self._fit(mask, np.flatnonzero(mask))
        return self._scores[mask.tobytes()]

    @cached_property
    def _fold_rows(self) -> FoldRows:
        return self._backend.fold_rows(self._backend.task.table.schema.used, self._fold)

    def _fit(self, mask: Masks, columns: Indices) -> FittedFold:
        """Return the model of a set, and score it; the last one is kept."""
        key = mask.tobytes()
        if self._found is not None and self._found[0] == key:
            return self._found[1]
        task = self._backend.task
        with config_context(**self._config), self._fit_warnings.capture(), self._fit_warnings.record_fit():
            with error_context(task, columns, self._fold, task.label):
                fitted = self._fold_rows.refit(task.estimator, columns)
            if self._scorer is not None:
                (self._scores[key],) = self._scorer.score_fitted(fitted, columns, self._fold, [0])
        self._found = key, fitted
        return fitted


class ClassIndicatorEvaluator(Evaluator, HasFolds, HasSubsetNotes):
    """The share of the class indicators' variance that ridge regression explains on test rows.

    .. math:: R^2_f = 1 - \\frac{\\sum_k \\sum_{i \\in f} (z_{ik} - \\hat z_{ik})^2}
        {\\sum_k \\sum_{i \\in f} (z_{ik} - \\bar z_{fk})^2}

    for the indicators :math:`z_{ik}` of the classes k in the test rows i of fold f. The merit is the mean over the folds. The
    predictions are the decision values of scikit-learn's RidgeClassifier, scored by squared error instead of by the predicted
    class: where 1 row of 20 is in a class, accuracy is often the same for informative columns and for none.

    The task is that of a RidgeClassifier.

    References
    ----------
    Hastie, Tibshirani and Buja (1994), Flexible discriminant analysis by optimal scoring, JASA 89.
    """

    def __init__(self, task: CVTask) -> None:
        self.task = task
        # With two classes one indicator is the complement of the other.
        codes = range(len(task.classes)) if len(task.classes) > 2 else [1]
        tasks = [_indicator_task(task, code) for code in codes]
        self._evaluators = [WrapperEvaluator(one, *choose_backend(one)) for one in tasks]
        leader = self._evaluators[0].backend
        if isinstance(leader, SharesProducts) and all(type(one.backend) is type(leader) for one in self._evaluators):
            leader.share_products([one.backend for one in self._evaluators[1:]])
        self._total_squares = np.array([_total_squares(one) for one in tasks])

    @cached_property
    def info(self) -> MeritInfo:
        parts = [one.info for one in self._evaluators]
        return MeritInfo(
            "R2 of ridge regression on the classes",
            parts[0].method,
            sum(one.cost for one in parts),
            sum(one.max_bytes for one in parts),
        )

    def evaluate(self, candidates: Candidates) -> Floats:
        return self.fold_scores(candidates).mean(axis=1)

    def fold_scores(self, candidates: Candidates) -> Floats:
        """Return the score of every candidate in every fold, of shape (n_candidates, n_folds)."""
        errors = sum(
            (1 - part.fold_scores(candidates)) * squares
            for part, squares in zip(self._evaluators, self._total_squares, strict=True)
        )
        total = self._total_squares.sum(axis=0)
        return 1 - divide_or_zero(errors, total)

    def identity_fields(self) -> dict[str, Any]:
        return self._evaluators[0].identity_fields()

    def notes(self) -> list[Verdict]:
        """Return the warnings of refits, and notes about the folds and the encoding."""
        return list(dict.fromkeys(note for part in self._evaluators for note in part.notes()))

    def subset_notes(self, mask: Masks) -> list[str]:
        return self._evaluators[0].subset_notes(mask)


def _indicator_task(task: CVTask, code: int) -> CVTask:
    made = replace(
        task,
        estimator=Ridge(task.estimator.alpha),
        target=(task.codes == code).astype(np.float64),
        scoring=resolve_scoring("r2", has_classes=False),
    )
    # All classes share one design matrix.
    vars(made)["encoder"] = task.encoder
    if not task.reads_in_passes:
        vars(made)["matrix"] = task.matrix
    return made


def _total_squares(task: CVTask) -> list[float]:
    """Return the weighted sum of squares of the indicator about its mean in the test rows of every fold."""
    tested = [(task.target[fold.test], task.weight_or_ones[fold.test]) for fold in task.folds]
    return [float(weight @ (y - np.average(y, weights=weight)) ** 2) for y, weight in tested]


def _unit_notes(task: CVTask) -> list[Verdict]:
    """Return a note where the columns of a table have very different standard deviations."""
    schema = task.table.schema
    numbers = [j for j in schema.used.tolist() if schema.columns[j].is_number]
    std = np.empty(len(numbers))
    for k, j in enumerate(numbers):
        values = task.table.column(j)
        std[k] = values[~is_missing(values)].std()
    numbers, std = [j for j, s in zip(numbers, std.tolist(), strict=True) if s > 0], std[std > 0]
    if not len(std) or std.max() <= _MAX_STD_RATIO * std.min():
        return []
    (smallest, at_least), (largest, at_most) = (
        (schema.names[numbers[k]], float(std[k])) for k in (int(std.argmin()), int(std.argmax()))
    )
    sentence = (
        f"Coefficients are per unit of a column, and standard deviations range from {at_least:.3g} ({quote_name(smallest)}) to "
        f"{at_most:.3g} ({quote_name(largest)}): in other units other columns are dropped. Standardise with encode=True or a "
        "StandardScaler in a pipeline."
    )
    return [Verdict("TZ211", sentence, (smallest, largest))]


def permutation_losses(
    backend: RefitBackend, columns: Indices, units: Sequence[Unit], fold: int, n_repeats: int
) -> tuple[float, Floats]:
    """Return a fold's score, and its loss by each permutation of each unit of columns, of shape (n_units, n_repeats).

    All units share the same permutations, so that random draws do not add to their differences.
    """
    task = backend.task
    fitted = backend.fit_fold(columns, fold)
    positions = dict(zip(columns.tolist(), task.column_positions(columns), strict=True))
    unit_positions = [np.concatenate([positions[j] for j in unit.tolist()]) for unit in units]
    orders = _draw_permutations(task, columns, fold, n_repeats)
    # The loss of a constant column is exactly 0.
    varying = [u for u, at in enumerate(unit_positions) if any(_varies(fitted.test_rows, k) for k in at.tolist())]
    permutations = [(unit_positions[u], order) for u in varying for order in orders]
    respond, known = _response_score(task, fold), task.scored_rows(task.folds[fold].test)

    def score_rows(rows: Any) -> float:
        found = None if respond is None else respond(fitted.estimator, rows)
        return task.scoring.score(fitted.estimator, rows, *known) if found is None else float(found[0])

    permuted = np.empty(len(permutations))
    for start, stop in parallel.block_ranges(
        len(permutations), max(1, _VALUES_PER_BATCH // max(1, int(np.prod(fitted.test_rows.shape))))
    ):
        batch = permutations[start:stop]
        found = None if respond is None else respond(fitted.estimator, permute_columns(fitted.test_rows, batch))
        permuted[start:stop] = (
            [score_rows(permute_columns(fitted.test_rows, [one])) for one in batch] if found is None else found
        )
    losses = np.zeros((len(units), n_repeats))
    # The original rows are scored last: an estimator with copy=False may write into the rows that it predicts from.
    score = score_rows(fitted.test_rows)
    losses[varying] = score - permuted.reshape(len(varying), n_repeats)
    return score, losses


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


def _task_identity_fields(task: CVTask) -> dict[str, Any]:
    """Return the estimator with all parameters (including seeds), the score, and a hash of the folds."""
    digest = hashlib.sha256()
    for fold in task.folds:
        for rows in (fold.train_in_order, fold.test):
            # The user's row numbers, after their count, so that different folds cannot produce the same bytes.
            digest.update(np.int64(len(rows)).tobytes())
            digest.update(task.table.row_numbers[rows].astype(np.int64).tobytes())
    # A target of one column is part of the table's own identity.
    outputs = {"outputs": stable_repr(task.target)} if task.is_multioutput else {}
    return {
        **outputs,
        "estimator": stable_repr(task.estimator),
        "scoring": stable_repr(task.scoring.scorer),
        "encoding": task.encoding,
        "impute": task.impute,
        "folds": digest.hexdigest(),
    }


def stable_repr(value: Any, ancestors: tuple[int, ...] = ()) -> str:
    """Return a text that identifies a value and is the same in every process; arrays and code are hashed.

    `ancestors` are the ids of the functions and objects that contain the value, to stop at circular references.
    """

    def part(value: Any) -> str:
        return stable_repr(value, ancestors)

    if isinstance(value, np.ndarray):
        array = value.astype(str) if value.dtype.kind == "O" else value
        content = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
        return f"array({value.dtype}, {value.shape}, {content})"
    if not isinstance(value, type) and callable(getattr(value, "get_params", None)):
        parameters = sorted(value.get_params(deep=False).items())
        return f"{_qualified_name(type(value))}({', '.join(f'{name}={part(one)}' for name, one in parameters)})"
    if isinstance(value, PREDICTION_SCORER):
        return f"{_qualified_name(type(value))}({part(vars(value))})"
    if isinstance(value, partial):
        return f"partial({part(value.func)}, {part(value.args)}, {part(value.keywords)})"
    if isinstance(value, MethodType):
        return f"{part(value.__func__)} of {part(value.__self__)}"
    if isinstance(value, FunctionType):
        return _function_repr(value, ancestors)
    if isinstance(value, dict):
        return f"{{{', '.join(sorted(f'{part(key)}: {part(one)}' for key, one in value.items()))}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(part, value))}]"
    if isinstance(value, set | frozenset):
        return f"{{{', '.join(sorted(map(part, value)))}}}"
    if hasattr(value, "__qualname__"):
        return _qualified_name(value)
    if getattr(type(value), "__repr__", None) is object.__repr__ and hasattr(value, "__dict__"):
        # The default repr has only the address, not the content.
        name = _qualified_name(type(value))
        return name if id(value) in ancestors else f"{name}({stable_repr(vars(value), (*ancestors, id(value)))})"
    return _ADDRESS.sub("", repr(value))


def _function_repr(function: FunctionType, ancestors: tuple[int, ...]) -> str:
    """Return a function's name and a hash of its code; names alone are ambiguous, as for lambdas."""
    name = _qualified_name(function)
    # scikit-learn's functions are identified by name: their bytecode differs between Python versions.
    if name.startswith("sklearn.") or id(function) in ancestors:
        return name
    inner = (*ancestors, id(function))
    captured = [cell.cell_contents for cell in function.__closure__ or () if _is_filled(cell)]
    # Include the functions that it calls by name.
    called = [function.__globals__.get(word) for word in function.__code__.co_names]
    called = [one for one in called if isinstance(one, FunctionType)]
    parts = (function.__defaults__, function.__kwdefaults__, captured, called)
    words = _code_repr(function.__code__) + stable_repr(parts, inner)
    return f"{name}[{hashlib.sha256(words.encode()).hexdigest()}]"


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018 - reading an empty cell raises
    except ValueError:
        return False
    return True


def _code_repr(code: CodeType) -> str:
    """Return code as text, without file names and line numbers."""
    constants = [_code_repr(one) if isinstance(one, CodeType) else stable_repr(one) for one in code.co_consts]
    return f"{code.co_code.hex()} {constants} {code.co_names} {code.co_varnames} {code.co_freevars}"


def _qualified_name(value: Any) -> str:
    return f"{value.__module__}.{value.__qualname__}"

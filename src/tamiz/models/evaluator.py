"""Cross-validated scores of column sets, by a fold backend or by refits."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import cached_property, partial
from types import CodeType, FunctionType, MethodType
from typing import Any

import numpy as np
from sklearn import config_context, get_config

from tamiz.arrays import Floats, Indices, Masks, is_missing
from tamiz.models.base import CVTask, FittedFold, FoldBackend
from tamiz.models.estimators import model_importances
from tamiz.models.fit_errors import DegenerateSetError, error_context
from tamiz.models.fit_warnings import FitWarnings
from tamiz.models.fold_scorer import FoldScorer
from tamiz.models.folds import Fold, Folds
from tamiz.models.permutation_losses import check_permutable, column_positions, permutation_losses
from tamiz.models.refits import RefitBackend
from tamiz.models.score_functions import confusion_scorer, likelihood_scorer, squared_error_scorer
from tamiz.models.scoring import PREDICTION_SCORER
from tamiz.models.task import overlap_warnings
from tamiz.runtime import parallel, progress
from tamiz.runtime.user_warnings import quote_name
from tamiz.runtime.verdicts import Verdict
from tamiz.subsets.candidates import Candidates
from tamiz.subsets.evaluator import Evaluator, ImportanceGetter, MeritProperties, Unit

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


class WrapperEvaluator(Evaluator):
    """Mean cross-validation score of column sets.

    The score of the empty set is the baseline score on the same folds: that of class frequencies or of the mean. Without a target
    the empty set scores minus infinity.

    Parameters
    ----------
    task : CVTask
    backend : FoldBackend
    method : str
        A sentence on how scores are computed.
    """

    def __init__(self, task: CVTask, backend: FoldBackend, method: str) -> None:
        self.task = task
        self.backend = backend
        self._method = method
        self._scorer = FoldScorer(task, backend)
        # The error of the first set without a score, and the number of such sets.
        self._first_unscored, self._n_unscored = "", 0
        self._unit_notes: list[Verdict] = []
        self._has_no_importances = False

    @property
    def name(self) -> str:
        return f"{self.task.scoring.name.replace('_', ' ')} of {self.task.label}"

    @property
    def method(self) -> str:
        return self._method

    @property
    def evaluation_cost(self) -> float:
        cost, sum_scorer = (
            self.backend.evaluation_cost(),
            confusion_scorer(self.task) or squared_error_scorer(self.task),
        )
        if sum_scorer is None and self.backend.has_likelihoods and likelihood_scorer(self.task) is not None:
            return max(cost, _LIKELIHOOD_COST * len(self.task.folds))
        return cost

    def evaluate(self, candidates: Candidates) -> Floats:
        return self.fold_scores(candidates).mean(axis=1)

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
        check_permutable(self.task)
        refits, columns = self._refit_backend, np.flatnonzero(mask)
        if not units:
            return np.zeros(len(self.task.folds)), np.empty((len(self.task.folds), 0, n_repeats))

        # scikit-learn's configuration is local to this thread.
        config = get_config()

        def of_fold(fold: int) -> tuple[float, Floats]:
            in_fold = error_context(self.task, columns, fold, self.task.label)
            with config_context(**config), self.task.fit_warnings.record_fit(), in_fold:
                return permutation_losses(refits, columns, units, fold, n_repeats)

        with self.task.fit_warnings.capture():
            n_folds = len(self.task.folds)
            found = parallel.map_blocks(of_fold, range(n_folds))
            if show_progress:
                found = progress.track_progress("Permuting columns in folds", found, n_folds)
            scores, losses = zip(*found, strict=True)
        return np.array(scores), np.array(losses)

    def max_bytes(self) -> float:
        return self.backend.max_bytes()

    def identity_fields(self) -> dict[str, Any]:
        """Return what the scores depend on beyond the columns and the data, so that no search resumes with another task."""
        return _task_identity_fields(self.task)

    def subset_notes(self, mask: Masks) -> list[str]:
        """Return notes about the score of a set and about the folds."""
        return [*(self.backend.subset_notes(np.flatnonzero(mask)) if mask.any() else []), *self.task.folds.fold_notes]

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
        encoding_notes = self.task.encoder.notes() if self.task.is_encoded else []
        unscored = []
        if self._n_unscored:
            sets = "1 set has" if self._n_unscored == 1 else f"{self._n_unscored:,} sets have"
            unscored = [Verdict("TZ503", f"{sets} no score and cannot be selected. {self._first_unscored}")]
        return [
            *self.task.folds.fold_warnings,
            *overlap_warnings(self.task.folds),
            *self._unit_notes,
            *encoding_notes,
            *self.task.fit_warnings.notes(self.task.label),
            *unscored,
        ]

    def fold_scores(self, candidates: Candidates, needed: Masks | None = None) -> Floats:
        """Return the score of every candidate in every fold, or in those needed, of shape (n_candidates, n_folds).

        It is minus infinity for a set on which a fit fails because columns are constant or dependent in the rows of a fold.
        """
        try:
            return self._scorer.scores(candidates, needed)[0]
        except DegenerateSetError as error:
            n = len(candidates)
            if n == 1:
                self._count_unscored(error)
                return np.full((1, len(self.task.folds)), -np.inf)
            halves = np.array_split(np.arange(n), 2)
            parts = [(candidates[half], None if needed is None else needed[half]) for half in halves]
            return np.concatenate([self.fold_scores(*part) for part in parts])

    def scores_in_fold(self, fold: int, masks: Masks) -> Floats:
        """Return the score of every set in one fold; minus infinity if a fit fails on a constant column."""
        if isinstance(self.backend, RefitBackend):
            return self._refit_scores_in_fold(fold, masks)
        needed = np.zeros((len(masks), len(self.task.folds)), dtype=bool)
        needed[:, fold] = True
        return self.fold_scores(Candidates.from_masks(masks), needed)[:, fold]

    def _refit_scores_in_fold(self, fold: int, masks: Masks) -> Floats:
        scorer, sets = self._scorer, [np.flatnonzero(mask) for mask in masks]
        config, refit = get_config(), self.backend.fold_refitter(np.flatnonzero(masks.any(axis=0)), fold)

        def of_set(columns: Indices) -> float | DegenerateSetError:
            try:
                return (
                    scorer.score_set(columns, fold, refit, config)
                    if len(columns)
                    else float(scorer.baseline_scores[0, fold])
                )
            except DegenerateSetError as error:
                return error

        with self.task.fit_warnings.capture(), parallel.single_threaded() if scorer.has_few_rows else nullcontext():
            found = list(parallel.map_blocks(of_set, sets))
        for error in (one for one in found if isinstance(one, DegenerateSetError)):
            self._count_unscored(error)
        return np.array([-np.inf if isinstance(one, DegenerateSetError) else one for one in found])

    def _count_unscored(self, error: DegenerateSetError) -> None:
        self._first_unscored, self._n_unscored = self._first_unscored or str(error), self._n_unscored + 1

    @cached_property
    def _refit_backend(self) -> RefitBackend:
        return RefitBackend(self.task)

    @cached_property
    def _all_rows(self) -> FoldImportances:
        """The models of all rows; their test row is not used."""
        rows = np.arange(self.task.table.schema.n_rows)
        task = replace(self.task, folds=Folds((Fold(rows, rows[:1]),), "all rows"))
        return FoldImportances(RefitBackend(task), 0, self.task.fit_warnings, self._unit_notes)

    @property
    def has_few_rows(self) -> bool:
        """Whether threads slow each other down in refits."""
        return self._scorer.has_few_rows

    def fold_importances(self, fold: int) -> FoldImportances:
        """Return the importances of the models of a fold's training rows, which also have a score on its test rows."""
        return FoldImportances(self._refit_backend, fold, self.task.fit_warnings, [], self._scorer)


class FoldImportances(MeritProperties):
    """The importances that the models of a fold have themselves.

    Parameters
    ----------
    backend : RefitBackend
    fold : int
    fit_warnings : FitWarnings
        Warnings of the fits are added.
    notes : list of Verdict
        A note on the units of columns is added once.
    scorer : FoldScorer, default=None
        Scores each model for whose set importances are computed.

    Attributes
    ----------
    scores : dict of bytes to float
        By the bytes of the mask.
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
        self.scores: dict[bytes, float] = {}
        self._found: tuple[bytes, FittedFold] | None = None
        self._units_checked = False

    @cached_property
    def _refit(self) -> Callable[[Indices], FittedFold]:
        return self._backend.fold_refitter(self._backend.task.table.schema.used, self._fold)

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
        positions = column_positions(task, columns)
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
        if mask.tobytes() not in self.scores:
            self._fit(mask, np.flatnonzero(mask))
        return self.scores[mask.tobytes()]

    def _fit(self, mask: Masks, columns: Indices) -> FittedFold:
        """Return the model of a set, and score it; the last one is kept."""
        key = mask.tobytes()
        if self._found is not None and self._found[0] == key:
            return self._found[1]
        task = self._backend.task
        with config_context(**self._config), self._fit_warnings.capture(), self._fit_warnings.record_fit():
            with error_context(task, columns, self._fold, task.label):
                fitted = self._refit(columns)
            if self._scorer is not None:
                self.scores[key] = self._scorer.score_fitted(fitted, columns, self._fold)
        self._found = key, fitted
        return fitted


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

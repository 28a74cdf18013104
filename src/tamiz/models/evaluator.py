"""Cross-validated scores of column sets, by a fold backend or by refits."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from contextlib import nullcontext
from functools import cached_property, partial
from types import CodeType, FunctionType, MethodType
from typing import Any

import numpy as np
from sklearn import get_config

from tamiz.models.base import ColumnIndices, CVTask, FoldBackend
from tamiz.models.fit_errors import DegenerateSetError, error_context
from tamiz.models.fold_scorer import FoldScorer
from tamiz.models.permutation_losses import check_permutable, permutation_losses
from tamiz.models.refits import RefitBackend
from tamiz.models.score_functions import confusion_scorer, likelihood_scorer, squared_error_scorer
from tamiz.models.scoring import PREDICTION_SCORER
from tamiz.models.task import overlap_warnings
from tamiz.runtime import parallel, progress
from tamiz.statistics.base import Floats
from tamiz.subsets.candidates import Candidates, Masks
from tamiz.subsets.evaluator import Evaluator, Unit

# Microseconds per fold of a ROC AUC or log loss from joint log-likelihoods, dominated by numpy calls.
_LIKELIHOOD_COST = 250.0
# Where one of two classes has a larger share of the rows, a good model may predict no row of the other.
_LARGE_CLASS_SHARE = 0.9
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

    @property
    def name(self) -> str:
        """The name of the merit."""
        return f"{self.task.scoring.name.replace('_', ' ')} of {self.task.label}"

    @property
    def method(self) -> str:
        """How a score is computed."""
        return self._method

    @property
    def evaluation_cost(self) -> float:
        """The approximate microseconds per column set."""
        cost, sum_scorer = (
            self.backend.evaluation_cost(),
            confusion_scorer(self.task) or squared_error_scorer(self.task),
        )
        if sum_scorer is None and self.backend.has_likelihoods and likelihood_scorer(self.task) is not None:
            return max(cost, _LIKELIHOOD_COST * len(self.task.folds))
        return cost

    def evaluate(self, candidates: Candidates) -> Floats:
        """Return the mean over the folds for every candidate."""
        return self.fold_scores(candidates).mean(axis=1)

    def importances(self, mask: Masks, units: Sequence[Unit], n_repeats: int) -> Floats:
        """Return the mean loss of score, over folds and repeats, when each unit of columns is permuted in the test rows."""
        return self.permutation_losses(mask, units, n_repeats)[1].mean(axis=2).mean(axis=0)

    def permutation_losses(
        self, mask: Masks, units: Sequence[Unit], n_repeats: int, *, show_progress: bool = False
    ) -> tuple[Floats, Floats]:
        """Return the score of each fold, and its loss by each permutation, of shape (n_folds, n_units, n_repeats)."""
        check_permutable(self.task)
        refits, columns = self._refit_backend, np.flatnonzero(mask)
        if not units:
            return np.zeros(len(self.task.folds)), np.empty((len(self.task.folds), 0, n_repeats))

        def of_fold(fold: int) -> tuple[float, Floats]:
            with self.task.fit_warnings.record_fit(), error_context(self.task, columns, fold, self.task.label):
                return permutation_losses(refits, columns, units, fold, n_repeats)

        with self.task.fit_warnings.capture():
            n_folds = len(self.task.folds)
            found = parallel.map_blocks(of_fold, range(n_folds))
            if show_progress:
                found = progress.track_progress("Permuting columns in folds", found, n_folds)
            scores, losses = zip(*found, strict=True)
        return np.array(scores), np.array(losses)

    def max_bytes(self) -> float:
        """Return the bytes of memory that the backend needs."""
        return self.backend.max_bytes()

    def identity_fields(self) -> dict[str, Any]:
        """Return what the scores depend on beyond the columns and the data, so that no search resumes with another task."""
        return _task_identity_fields(self.task)

    def subset_notes(self, mask: Masks) -> list[str]:
        """Return notes about the score of a set and about the folds."""
        return [*(self.backend.subset_notes(np.flatnonzero(mask)) if mask.any() else []), *self.task.folds.fold_notes]

    def subset_warnings(self, mask: Masks, free: Masks) -> list[str]:  # noqa: ARG002 - the accuracy concerns the set as a whole
        """Return why no column raises the accuracy, for the empty set where one of two classes has nearly all rows."""
        task = self.task
        if mask.any() or not task.has_target or len(task.classes) != 2 or task.scoring.name != "accuracy":
            return []
        share = (np.bincount(task.codes, task.weight_or_ones, 2) / task.weight_or_ones.sum()).max()
        if share < _LARGE_CLASS_SHARE:
            return []
        return [
            f"The accuracy of a constant prediction is {share:.4g}, the share of the larger class: a column can predict the target "
            "and not raise the accuracy. Use scoring='roc_auc' (--scoring roc_auc)."
        ]

    def notes(self) -> list[str]:
        """Return warnings about the folds, notes on the encoding, warnings of refits, and the number of sets without a score."""
        encoding_notes = self.task.matrix.notes() if self.task.is_encoded else []
        unscored = []
        if self._n_unscored:
            sets = "1 set has" if self._n_unscored == 1 else f"{self._n_unscored:,} sets have"
            unscored = [f"{sets} no score and cannot be selected. {self._first_unscored}"]
        return [
            *self.task.folds.fold_warnings,
            *overlap_warnings(self.task.folds),
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

        def of_set(columns: ColumnIndices) -> float | DegenerateSetError:
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


def _task_identity_fields(task: CVTask) -> dict[str, Any]:
    """Return the estimator with all parameters (including seeds), the score, and a hash of the folds."""
    digest = hashlib.sha256()
    for fold in task.folds:
        for rows in (fold.train_in_order, fold.test):
            # The user's row numbers, after their count, so that different folds cannot produce the same bytes.
            digest.update(np.int64(len(rows)).tobytes())
            digest.update(task.source.row_numbers[rows].astype(np.int64).tobytes())
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

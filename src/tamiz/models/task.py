"""`CVTask`: the cross-validation of one estimator over many sets of columns, checked once, and the errors and warnings of fits."""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.compose import ColumnTransformer

from tamiz.arrays import Floats, Indices, is_missing
from tamiz.exceptions import DataError
from tamiz.kernels import LabelledRows, read_only
from tamiz.models.design_matrix import (
    N_FOLD_MATRICES,
    DesignEncoder,
    EncodedMatrix,
    RowRoles,
    fit_encodings,
    has_repeated_rows,
)
from tamiz.models.estimators import (
    MatrixEncoding,
    check_accepts_columns,
    check_accepts_weights,
    check_is_predictive,
    missing_phrase,
    nested_estimators,
    non_numeric_kind,
    requested_metadata,
    set_random_state,
    unwrap_estimator,
)
from tamiz.models.folds import Folds, resolve_folds
from tamiz.models.multioutput import MultiOutputTarget
from tamiz.models.named_models import Model
from tamiz.models.scoring import Scoring, check_scoring_target, resolve_scoring, resolve_unsupervised_scoring
from tamiz.runtime.memory import free_memory
from tamiz.runtime.user_warnings import list_names
from tamiz.runtime.verdicts import Verdict
from tamiz.table.base import Table, weight_array
from tamiz.table.schema import Column
from tamiz.table.views import has_all_rows, metadata_at, n_original_rows, positive_weight_row_numbers, select_rows
from tamiz.table.worker_tasks import find_worker_block

# Longer first lines of warnings are cut.
_MAX_CHARACTERS = 200
# Numpy's floating-point warnings, and what they mean for a fit.
_NUMPY_WARNING = re.compile(r"(divide by zero|overflow|underflow|invalid value) encountered in ")
_NUMPY_ACTIONS = {
    "divide by zero": "divided by 0 or took the logarithm of 0",
    "overflow": "computed numbers beyond the largest one",
    "underflow": "computed numbers below the smallest one",
    "invalid value": "computed NaN, such as 0 / 0",
}
_SCORE_ADVICE = "Every set must have a score in every fold: change the estimator, the score or the folds"
# The warnings of the refit that runs in this thread.
_thread_state = threading.local()


class _WarningFilters:
    """Process-wide warning filters with a reference count: the first user installs them, the last one restores the old filters."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_active = 0
        self._exit_stack = ExitStack()

    @contextmanager
    def intercept(self) -> Iterator[None]:
        with self._lock:
            self._n_active += 1
            if self._n_active == 1:
                self._install()
        try:
            yield
        finally:
            with self._lock:
                self._n_active -= 1
                if self._n_active == 0:
                    self._exit_stack.close()

    def _install(self) -> None:
        self._exit_stack.enter_context(warnings.catch_warnings())
        before = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            mine = getattr(_thread_state, "warnings", None)
            if mine is None:
                before(message, category, *where, **more)
            else:
                mine.setdefault(category, str(message))

        warnings.simplefilter("always")
        warnings.showwarning = show


_filters = _WarningFilters()


class FitWarnings:
    """The number of refits that warned, by category."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_fits = 0
        # By category: the number of refits, and the alphabetically first text, which does not depend on the order of refits.
        self._counts: dict[type[Warning], int] = {}
        self._texts: dict[type[Warning], str] = {}

    @contextmanager
    def capture(self) -> Iterator[None]:
        """Capture the warnings of refits inside the block, whatever the user's filters; those of other threads are shown."""
        with _filters.intercept():
            yield

    @contextmanager
    def record_fit(self) -> Iterator[dict[type[Warning], str]]:
        """Count the warnings of a refit, each category once, and yield the first text of every category."""
        found: dict[type[Warning], str] = {}
        _thread_state.warnings = found
        try:
            yield found
        finally:
            _thread_state.warnings = None
            self.add_fit(found)

    def add_fit(self, found: dict[type[Warning], str]) -> None:
        """Add the warnings of a refit in this process or in a worker."""
        with self._lock:
            self._n_fits += 1
            for category, text in found.items():
                self._counts[category] = self._counts.get(category, 0) + 1
                self._texts[category] = min(text, self._texts.get(category, text))

    def messages(self) -> list[Verdict]:
        """Return every category with its text, whatever the user's filters."""
        return [
            Verdict("TZ506", f"{kind.__name__}: {_first_line(self._texts[kind])}")
            for kind in sorted(self._counts, key=str)
        ]

    def notes(self, name: str) -> list[Verdict]:
        """Return a sentence for every category that the user's filters show; numpy's floating-point warnings are explained."""
        found = []
        for kind in sorted(filter(self._is_shown, self._counts), key=lambda kind: kind.__name__):
            text = self._texts[kind]
            where = f"{self._counts[kind]:,} of {self._n_fits:,} fit{'s' * (self._n_fits != 1)}"
            met = _NUMPY_WARNING.match(text) if issubclass(kind, RuntimeWarning) else None
            if met is None:
                found.append(Verdict("TZ506", f"{name} warned in {where}: {kind.__name__}: {_first_line(text)}"))
                continue
            sentence = (
                f"{name} {_NUMPY_ACTIONS[met[1]]} in {where}, as for columns that are constant in training rows or have very large "
                "or very small values; scores of sets with such columns may be unreliable."
            )
            found.append(Verdict("TZ504", sentence))
        return found

    def _is_shown(self, kind: type[Warning]) -> bool:
        with warnings.catch_warnings(record=True) as shown:
            try:
                warnings.warn_explicit(self._texts[kind], kind, "", 0, registry={})
            except Warning:
                return True
        return bool(shown)


def _first_line(text: str) -> str:
    first = text.strip().splitlines()[0]
    return first if len(first) <= _MAX_CHARACTERS else f"{first[:_MAX_CHARACTERS]}..."


@dataclass(frozen=True)
class CVTask:
    """Cross-validation of an estimator over columns of one table."""

    # Not fitted; backends fit clones. Every random_state is set.
    estimator: Any
    # Without rows of weight 0, and without those that are in no fold.
    table: Table
    folds: Folds
    # As the estimator receives it: the user's labels, or float64; of shape (n_rows, n_outputs) for several targets and (n_rows, 0)
    # for none.
    target: NDArray[Any]
    weight: Floats | None
    scoring: Scoring
    # With "none" refits get the rows in the user's type.
    encoding: MatrixEncoding
    # Whether the standard encoding imputes missing values.
    impute: bool
    # The readable name of the estimator.
    label: str
    seed: int

    @cached_property
    def estimator_name(self) -> str:
        return type(unwrap_estimator(self.estimator)).__name__

    @cached_property
    def has_classes(self) -> bool:
        return bool(is_classifier(self.estimator))

    @property
    def has_target(self) -> bool:
        return self.target.ndim == 1 or self.target.shape[1] > 0

    @property
    def is_multioutput(self) -> bool:
        """Whether several targets are predicted at once."""
        return self.target.ndim == 2 and self.has_target

    @cached_property
    def classes(self) -> NDArray[Any]:
        """The labels that occur, ascending."""
        return np.unique(self.target)

    @cached_property
    def codes(self) -> NDArray[np.int64]:
        """The labels as positions in `classes`."""
        return np.searchsorted(self.classes, self.target).astype(np.int64)

    @cached_property
    def weight_or_ones(self) -> Floats:
        return np.ones(len(self.target)) if self.weight is None else self.weight

    @property
    def is_encoded(self) -> bool:
        """Whether refits get encoded rows instead of those in the user's type."""
        return self.encoding != "none"

    @cached_property
    def reads_in_passes(self) -> bool:
        """Whether sums over the rows are computed in passes over the table: workers read it, or it does not fit in memory."""
        schema = self.table.schema
        n_bytes = (1 + N_FOLD_MATRICES) * 8.0 * schema.n_rows * len(schema.used)
        if n_bytes <= free_memory() and find_worker_block(self.table.workers, self.table.blocks()) is None:
            return False
        return not has_repeated_rows(self.folds)

    @cached_property
    def matrix(self) -> EncodedMatrix:
        """The design matrix, for backends that compute with numbers."""
        return EncodedMatrix(self.table, self.folds, self.encoding, impute=self.impute)

    @cached_property
    def encoder(self) -> DesignEncoder:
        if not self.reads_in_passes:
            return self.matrix
        made = DesignEncoder(self.table.schema, self.encoding, impute=self.impute)
        if self.encoding == "standard":
            fit_encodings(made, self.table, self.row_roles)
        return made

    @cached_property
    def row_roles(self) -> RowRoles:
        """In which folds each row is a training or test row, for passes over the table."""
        return RowRoles.of(self.table, self.folds)

    @cached_property
    def test_rows(self) -> Indices:
        """The test rows, fold after fold; those of fold f are test_rows[test_starts[f] : test_starts[f + 1]]."""
        return np.concatenate([fold.test for fold in self.folds])

    @cached_property
    def test_starts(self) -> NDArray[np.int64]:
        """Where each fold begins in `test_rows`, and the total number: of shape (n_folds + 1,)."""
        return np.cumsum([0, *(len(fold.test) for fold in self.folds)]).astype(np.int64)

    @cached_property
    def labelled_test_rows(self) -> LabelledRows:
        """The classes and weights of the test rows as a parameter of kernels."""
        rows = self.test_rows
        return LabelledRows(*map(read_only, (self.codes[rows], self.weight_or_ones[rows], self.test_starts)))

    @cached_property
    def fit_warnings(self) -> FitWarnings:
        return FitWarnings()

    def target_at(self, rows: Indices) -> NDArray[Any] | None:
        return self.target[rows] if self.has_target else None

    def weight_at(self, rows: Indices) -> Floats | None:
        return None if self.weight is None else self.weight[rows]

    @cached_property
    def fit_requests(self) -> dict[str, str]:
        """The parameters of the estimator's fit that are metadata of the rows, with the names of the metadata."""
        return requested_metadata(self.estimator, "fit", {name: name for name in self.table.metadata})

    def metadata_at(self, rows: Indices) -> dict[str, Any]:
        return metadata_at(self.table.metadata, rows, len(self.target))

    def scored_rows(self, rows: Indices) -> tuple[NDArray[Any] | None, Floats | None, dict[str, Any]]:
        """Return the target, the weights and the metadata of rows, as `Scoring.score` receives them."""
        return self.target_at(rows), self.weight_at(rows), self.metadata_at(rows)

    def column_positions(self, columns: Indices) -> list[Indices]:
        """Return the positions of each column in the rows of a refit; an encoded categorical column has several."""
        if not self.is_encoded:
            return [np.array([k]) for k in range(len(columns))]
        at = self.encoder.coordinates_of(columns)
        return [np.searchsorted(at, self.encoder.coordinates[j]) for j in columns.tolist()]


def make_task(
    model: Model, table: Table, outputs: MultiOutputTarget | None = None, *, cv: Any, scoring: Any, seed: int
) -> CVTask:
    """Return the task of cross-validating a model on a table; `outputs` replaces the target if there are several."""
    estimator = model.estimator
    has_target, has_classes = outputs is not None or table.schema.target is not None, is_classifier(estimator)
    if has_target:
        check_is_predictive(estimator)
    n_rows, is_whole = n_original_rows(table), has_all_rows(table)
    positive = positive_weight_row_numbers(table)
    if len(positive) < table.schema.n_rows:
        cv = cv.among(positive) if isinstance(cv, Folds) else cv
        table = select_rows(table, positive)
    weight = weight_array(table)
    if has_target:
        scorer = resolve_scoring(scoring, has_classes=has_classes, multioutput=outputs is not None)
    else:
        scorer = resolve_unsupervised_scoring(scoring, estimator)
    if outputs is None:
        target = _estimator_target(estimator, table)
    else:
        target = outputs.target_for(unwrap_estimator(estimator), table.row_numbers)
    check_accepts_weights(estimator, table.schema)
    scorer.check_weights(table.schema)
    if model.encoding == "none":
        check_accepts_columns(estimator, table.schema)
    folds = cv
    if not isinstance(cv, Folds):
        split = table if outputs is None else outputs.with_combined_target(table)
        folds = resolve_folds(cv, split, target, n_rows, seed, has_classes=has_classes, is_whole=is_whole)
    if folds.splits and len(rows := folds.used_rows) < len(target):
        # Drop the rows that are in no fold, so that models and checks do not see the classes that are left out.
        table, target, weight = select_rows(table, rows), target[rows], None if weight is None else weight[rows]
        folds = folds.among(rows)
    check_scoring_target(scorer, table.schema, target)
    folds.check(target, has_classes=has_classes)
    return CVTask(
        set_random_state(clone(model.estimator_for(min(len(fold.train) for fold in folds))), seed),
        table,
        folds,
        target,
        weight,
        scorer.with_requests(table.metadata),
        model.encoding,
        model.impute,
        model.label,
        seed,
    )


def _estimator_target(estimator: Any, table: Table) -> NDArray[Any]:
    """Return the target in the form for the estimator; raise DataError if the kinds differ."""
    schema, name = table.schema, type(unwrap_estimator(estimator)).__name__
    if schema.target is None:
        return np.empty((schema.n_rows, 0))
    labels = table.target_values()
    if is_classifier(estimator) and not schema.has_classes:
        raise DataError(
            f"{name} predicts classes, and the target {schema.target.name!r} is a number; pass a regressor, or "
            "set the kind of the target (kinds=)."
        )
    if not is_classifier(estimator) and schema.has_classes:
        if labels.dtype.kind not in "iuf":
            raise DataError(
                f"{name} predicts numbers, and the target {schema.target.name!r} is classes; pass a classifier."
            )
        return labels.astype(np.float64)
    return labels


class DegenerateSetError(DataError):
    """A fit failed on columns that are constant, or depend on each other, in training rows; other column sets may have a score."""


@contextmanager
def error_context(task: CVTask, columns: Indices, fold: int, label: str) -> Iterator[None]:
    """Add the fold, the columns, the model or score (`label`), and advice to an error of a refit or a score."""
    try:
        yield
    except Exception as error:
        degenerate = _degenerate_advice(task, columns, fold, error)
        schema = task.table.schema
        names = [schema.names[j] for j in columns.tolist()]
        which = f"column{'s' * (len(names) != 1)} {list_names(names)}" if names else "no column"
        first = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        reason = first if isinstance(error, ValueError) else f"{type(error).__name__}: {first}"
        if label == task.scoring.name:
            # The fit succeeded, so advice about columns would mislead.
            advice = f"{_SCORE_ADVICE}."
        else:
            advice = degenerate or _advice(task, [schema.columns[j] for j in columns.tolist()])
        message = f"Fold {fold + 1} of {len(task.folds)}, {which}, {label}: {reason}. {advice}"
        raise (DegenerateSetError if degenerate else DataError)(message) from error


def _degenerate_advice(task: CVTask, columns: Indices, fold: int, error: Exception) -> str:
    """Return advice if the error is due to constant or dependent columns, and no explicit ValueError; else ""."""
    is_singular = isinstance(error, np.linalg.LinAlgError)
    if isinstance(error, ValueError) and not is_singular:
        return ""
    train = task.folds[fold].train
    values = {task.table.schema.columns[j].name: task.table.column(j)[train] for j in columns.tolist()}
    classes = task.codes[train] if task.has_classes else np.zeros(0, dtype=np.intp)
    for where, groups in (
        ("", [np.arange(len(train))]),
        ("a class of ", [classes == k for k in np.unique(classes)]),
    ):
        if constant := [name for name, one in values.items() if any(_is_constant(one[rows]) for rows in groups)]:
            several = len(constant) > 1
            which = f"Columns {list_names(constant)} are" if several else f"Column {constant[0]} is"
            out = f"leave {'them' if several else 'it'} out (excluded=, --exclude)"
            return f"{which} constant in {where}the training rows of the fold: {out}."
    return (
        "Columns depend linearly on each other in the training rows of the fold: leave one out." if is_singular else ""
    )


def _is_constant(values: NDArray[Any]) -> bool:
    present = values[~is_missing(values)]
    return bool((present == present[:1]).all())


def _advice(task: CVTask, columns: Sequence[Column]) -> str:
    names = {column.name for column in columns}
    for named in _named_columns(task.estimator):
        if named not in names:
            return (
                f"A step requires the column {named!r} by name and fails on sets without it: select columns by "
                "make_column_selector."
            )
    if not task.is_encoded:
        for column in columns:
            if not column.is_number_like:
                kind = non_numeric_kind(column)
                return f"Column {column.name!r} contains {kind}: pass encode=True, or a pipeline that encodes."
        for column in columns:
            if column.n_missing:
                return f"Column {column.name!r} has {missing_phrase(column)}: pass encode=True, or a pipeline that imputes."
    return f"{_SCORE_ADVICE}{', or leave these columns out' if columns else ''}."


def _named_columns(estimator: Any) -> list[str]:
    found: list[str] = []
    for part in nested_estimators(estimator):
        if isinstance(part, ColumnTransformer):
            for _, _, wanted in part.transformers:
                found += [wanted] if isinstance(wanted, str) else []
                found += [one for one in wanted if isinstance(one, str)] if isinstance(wanted, list | tuple) else []
    return found

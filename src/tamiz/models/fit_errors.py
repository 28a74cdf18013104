"""Errors of refits and scores: where they occurred, what went wrong, and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer

from tamiz.arrays import Indices, is_missing
from tamiz.exceptions import DataError
from tamiz.models.base import CVTask
from tamiz.models.estimators import missing_phrase, nested_estimators, non_numeric_kind
from tamiz.models.native_table import is_number_like
from tamiz.runtime.user_warnings import list_names
from tamiz.table.schema import Column

_SCORE_ADVICE = "Every set must have a score in every fold: change the estimator, the score or the folds"


class DegenerateSetError(DataError):
    """A fit failed on columns that are constant, or depend on each other, in training rows; other column sets may have a score."""


@contextmanager
def error_context(task: CVTask, columns: Indices, fold: int, label: str) -> Iterator[None]:
    """Add the fold, the columns, the model or score, and advice to an error."""
    try:
        yield
    except Exception as error:
        kind = DegenerateSetError if _degenerate_advice(task, columns, fold, error) else DataError
        raise kind(failure_message(task, columns, fold, label, error)) from error


def failure_message(task: CVTask, columns: Indices, fold: int, label: str, error: Exception) -> str:
    """Return the message for a refit or a score that raised an error."""
    schema = task.table.schema
    names = [schema.names[j] for j in columns.tolist()]
    which = f"column{'s' * (len(names) != 1)} {list_names(names)}" if names else "no column"
    first = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
    reason = first if isinstance(error, ValueError) else f"{type(error).__name__}: {first}"
    where = f"Fold {fold + 1} of {len(task.folds)}, {which}, {label}: {reason}."
    if label == task.scoring.name:
        # The fit succeeded, so advice about columns would mislead.
        return f"{where} {_SCORE_ADVICE}."
    advice = _degenerate_advice(task, columns, fold, error) or _advice(
        task, [schema.columns[j] for j in columns.tolist()]
    )
    return f"{where} {advice}"


def _degenerate_advice(task: CVTask, columns: Indices, fold: int, error: Exception) -> str:
    """Return advice if the error is due to constant or dependent columns, and no explicit ValueError; else ""."""
    is_singular = isinstance(error, np.linalg.LinAlgError)
    if isinstance(error, ValueError) and not is_singular:
        return ""
    classes = task.codes[task.folds[fold].train] if task.has_classes else np.zeros(0, dtype=np.intp)
    values = {task.table.schema.columns[j].name: _training_values(task, j, fold) for j in columns.tolist()}
    for where, groups in (
        ("", [np.arange(len(task.folds[fold].train))]),
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


def _training_values(task: CVTask, column: int, fold: int) -> NDArray[Any]:
    return task.table.column(column)[task.folds[fold].train]


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
            if not is_number_like(column):
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

"""Errors of refits and scores: where they occurred, what went wrong, and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer

from tamiz.exceptions import DataError
from tamiz.models.base import ColumnIndices, CVTask
from tamiz.models.estimators import missing_phrase, nested_estimators, non_numeric_kind
from tamiz.models.native_table import is_number_like
from tamiz.runtime.user_warnings import list_names
from tamiz.sources.schema import Column

_SCORE_ADVICE = "Every set must have a score in every fold: change the estimator, the score or the folds"


class ConstantInFoldError(DataError):
    """A fit failed on a column that is constant in the training rows of a fold; other column sets may have a score."""


@contextmanager
def error_context(task: CVTask, columns: ColumnIndices, fold: int, label: str) -> Iterator[None]:
    """Add the fold, the columns, the model or score, and advice to an error."""
    try:
        yield
    except Exception as error:
        kind = ConstantInFoldError if _constant_advice(task, columns, fold, error) else DataError
        raise kind(failure_message(task, columns, fold, label, error)) from error


def failure_message(task: CVTask, columns: ColumnIndices, fold: int, label: str, error: Exception) -> str:
    """Return the message for a refit or a score that raised an error."""
    schema = task.source.schema
    names = [schema.names[j] for j in columns.tolist()]
    which = f"column{'s' * (len(names) != 1)} {list_names(names)}" if names else "no column"
    first = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
    reason = first if isinstance(error, ValueError) else f"{type(error).__name__}: {first}"
    where = f"Fold {fold + 1} of {len(task.folds)}, {which}, {label}: {reason}."
    if label == task.scoring.name:
        # The fit succeeded, so advice about columns would mislead.
        return f"{where} {_SCORE_ADVICE}."
    advice = _constant_advice(task, columns, fold, error) or _advice(
        task, [schema.columns[j] for j in columns.tolist()]
    )
    return f"{where} {advice}"


def _constant_advice(task: CVTask, columns: ColumnIndices, fold: int, error: Exception) -> str:
    """Return advice if the columns include constant ones and the error is not an explicit ValueError; else ""."""
    if isinstance(error, ValueError) and not isinstance(error, np.linalg.LinAlgError):
        return ""
    constant = [task.source.schema.columns[j].name for j in columns.tolist() if _is_constant(task, j, fold)]
    if not constant:
        return ""
    several = len(constant) > 1
    which = f"Columns {list_names(constant)} are" if several else f"Column {constant[0]} is"
    out = f"leave {'them' if several else 'it'} out (excluded=, --exclude)"
    return f"{which} constant in the training rows of the fold: {out}."


def _is_constant(task: CVTask, column: int, fold: int) -> bool:
    values = np.concatenate([block.column(column) for block in task.source.blocks([column])])[task.folds[fold].train]
    return bool((values == values[0]).all())


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
    """Return the columns that steps select by name."""
    found: list[str] = []
    for part in nested_estimators(estimator):
        if isinstance(part, ColumnTransformer):
            for _, _, wanted in part.transformers:
                found += [wanted] if isinstance(wanted, str) else []
                found += [one for one in wanted if isinstance(one, str)] if isinstance(wanted, list | tuple) else []
    return found

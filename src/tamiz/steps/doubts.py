"""Columns whose kind was guessed and may as well be another one."""

from __future__ import annotations

from typing import Any

import numpy as np

from tamiz.sources.schema import Column, Kind, Schema
from tamiz.statistics.base import Floats

# Whole numbers of so few values, each in several rows, may be codes; two values are the same either way.
_MIN_CODES, _MAX_CODES = 3, 12
_MIN_ROWS_PER_CODE = 5
_CODES_REASON = "whole numbers with few values may be codes"
_AMOUNTS_REASON = "classes that are whole numbers may be amounts"


def suggest_kind(column: Column, distinct: Floats | None, n_rows: int) -> dict[str, Any] | None:
    """Return the other kind that a column may be of, and why; None where nothing speaks for another.

    Parameters
    ----------
    column : Column
    distinct : ndarray or None
        Its distinct values, where it is a number of few.
    n_rows : int
    """
    if column.exclusion_reason is not None:
        return _suggest_excluded_kind(column)
    if column.date_part is not None:
        # What it is is known, and kinds are of columns of the user's table.
        return None
    if column.kind != "numeric" or distinct is None or not _MIN_CODES <= len(distinct) <= _MAX_CODES:
        return None
    if n_rows < _MIN_ROWS_PER_CODE * len(distinct) or not np.all(distinct == np.floor(distinct)):
        return None
    return _kind_suggestion("categorical", _CODES_REASON)


def suggest_target_kind(schema: Schema) -> dict[str, Any] | None:
    """Return the other kind that the target may be of, and why.

    Parameters
    ----------
    schema : Schema
    """
    target = schema.target
    if target is None or target.kind != "categorical" or len(target.levels) < _MIN_CODES:
        return None
    return _kind_suggestion("numeric", _AMOUNTS_REASON) if all(map(_is_whole, target.levels)) else None


def _suggest_excluded_kind(column: Column) -> dict[str, Any] | None:
    """Return what a column taken for an id or for text would be otherwise: a category that names every row says nothing."""
    reason = column.exclusion_reason or ""
    if column.kind == "id" and ("it numbers the rows" in reason or "its name says" in reason):
        return _kind_suggestion("numeric", "numbers that differ in every row may be measured")
    if column.kind == "text" and "different values" in reason:
        return _kind_suggestion("categorical", "text with many values may be a category")
    return None


def _kind_suggestion(kind: Kind, why: str) -> dict[str, Any]:
    return {"kind": kind, "why": why}


def _is_whole(level: str) -> bool:
    return level.removeprefix("-").isdecimal()

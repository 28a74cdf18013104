"""Columns whose kind was guessed and may as well be another one."""

from __future__ import annotations

from typing import Any

import numpy as np

from tamiz.sources.schema import Column, Kind, Schema
from tamiz.statistics.base import Floats

# Whole numbers of so few values, each in several rows, may be codes; two values are the same either way.
_FEWEST_CODES, _MOST_CODES = 3, 12
_ROWS_A_CODE = 5
_CODES = "whole numbers with few values may be codes"
_NUMBERS = "classes that are whole numbers may be amounts"


def doubt_of(column: Column, distinct: Floats | None, n_rows: int) -> dict[str, Any] | None:
    """Return the other kind that a column may be of, and why; None where nothing speaks for another.

    Parameters
    ----------
    column : Column
    distinct : ndarray or None
        Its distinct values, where it is a number of few.
    n_rows : int
    """
    if column.left_out is not None:
        return _of_left_out(column)
    if column.part_of is not None:
        # What it is is known, and kinds are of columns of the user's table.
        return None
    if column.kind != "numeric" or distinct is None or not _FEWEST_CODES <= len(distinct) <= _MOST_CODES:
        return None
    if n_rows < _ROWS_A_CODE * len(distinct) or not np.all(distinct == np.floor(distinct)):
        return None
    return _doubt("categorical", _CODES)


def doubt_of_target(schema: Schema) -> dict[str, Any] | None:
    """Return the other kind that the target may be of, and why.

    Parameters
    ----------
    schema : Schema
    """
    target = schema.target
    if target is None or target.kind != "categorical" or len(target.levels) < _FEWEST_CODES:
        return None
    return _doubt("numeric", _NUMBERS) if all(map(_is_whole, target.levels)) else None


def _of_left_out(column: Column) -> dict[str, Any] | None:
    """Return what a column taken for an id or for text would be otherwise: a category that names every row says nothing."""
    reason = column.left_out or ""
    if column.kind == "id" and ("it numbers the rows" in reason or "its name says" in reason):
        return _doubt("numeric", "numbers that differ in every row may be measured")
    if column.kind == "text" and "different values" in reason:
        return _doubt("categorical", "text with many values may be a category")
    return None


def _doubt(kind: Kind, why: str) -> dict[str, Any]:
    return {"kind": kind, "why": why}


def _is_whole(level: str) -> bool:
    return level.removeprefix("-").isdecimal()

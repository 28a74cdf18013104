"""Columns that other columns of the table determine exactly: duplicates and linear dependencies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats, Indices, Masks, divide_or_zero, is_missing
from tamiz.statistics.cross_products import ROUNDING, StepwiseRegression

# Standardised coefficients of an exact relation below this are rounding errors.
_MIN_COEFFICIENT = 1e-6


def find_collinear(columns: Sequence[NDArray[Any]], scores: Floats) -> Masks:
    """Return which columns are part of an exact dependency.

    Parameters
    ----------
    columns : list of ndarray of shape (n_rows,)
        Numbers, NaN where missing, or codes of levels, -1 where missing.
    scores : ndarray of shape (n_rows, n_columns)
        Normal scores of the columns, equal for columns that are increasing functions of each other.

    Notes
    -----
    A dependency is a linear one, of the numbers or of the scores, or two categorical columns whose levels correspond
    one to one. A linear one contains the columns that a basis determines, and the columns of the basis that determine
    them: in exact arithmetic the same columns for every basis. `RedundancyFilter` has the same definition of an exact
    relation, with the columns that it prefers as basis. With no more rows than columns every column is a linear
    function of the others, and only pairs of columns are compared. Cost O(n p^2 + p^3).
    """
    numbers = [k for k, values in enumerate(columns) if values.dtype.kind == "f"]
    found = _find_dependent(scores)
    if numbers:
        found[numbers] |= _find_dependent(np.column_stack([_standardized(columns[k]) for k in numbers]))
    return found | _find_relabelled(columns)


def select_basis(scores: Floats) -> Indices:
    """Return columns, ascending, of which all others are linear functions."""
    regression = StepwiseRegression(_correlations(scores))
    regression.add_basis()
    return np.sort(np.array(regression.columns, dtype=np.intp))


def _standardized(values: NDArray[Any]) -> Floats:
    """Return numbers with mean 0 and standard deviation 1, missing ones at the mean."""
    present = ~is_missing(values)
    deviations = np.zeros(len(values))
    # Divided first: squares of very large or very small numbers overflow or underflow.
    here = values[present].astype(np.float64)
    here = here / np.abs(here).max()
    deviations[present] = here - here.mean()
    std = np.sqrt((deviations**2).mean())
    return deviations / std if std > 0 else deviations


def _correlations(columns: Floats) -> Floats:
    """Return the correlations of columns with mean 0; a column without variance has 0 with every column, and itself."""
    products = columns.T @ columns
    norms = np.sqrt(products.diagonal())
    inverse = divide_or_zero(1.0, norms)
    correlations: Floats = products * inverse[:, None] * inverse
    np.fill_diagonal(correlations, norms > 0)
    return correlations


def _find_dependent(columns: Floats) -> Masks:
    """Return which columns with mean 0 are part of an exact linear relation."""
    n_rows, n_columns = columns.shape
    correlations = _correlations(columns)
    if n_rows <= n_columns + 1:
        pairs = 1 - np.abs(correlations) < ROUNDING
        np.fill_diagonal(pairs, val=False)
        return np.asarray(pairs.any(axis=0))
    regression = StepwiseRegression(correlations)
    regression.add_basis()
    found = np.ones(n_columns, dtype=bool)
    found[regression.columns] = False
    relations = np.abs(regression.coefficients(np.flatnonzero(found))) > _MIN_COEFFICIENT
    found[regression.columns] = relations.any(axis=1)
    return found


def _find_relabelled(columns: Sequence[NDArray[Any]]) -> Masks:
    """Return the categorical columns that equal another one but for the names of the levels."""
    found = np.zeros(len(columns), dtype=bool)
    first_column: dict[bytes, int] = {}
    for k, values in enumerate(columns):
        if values.dtype.kind != "f":
            _, first_rows, codes = np.unique(values, return_index=True, return_inverse=True)
            # Levels are numbered in the order in which they occur; a missing value is a level.
            content = np.argsort(np.argsort(first_rows))[codes].tobytes() + is_missing(values).tobytes()
            other = first_column.setdefault(content, k)
            if other != k:
                found[[k, other]] = True
    return found

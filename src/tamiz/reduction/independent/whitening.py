"""Whitening by principal components: their number, and the rank of a table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tamiz.arrays import Floats
from tamiz.exceptions import DataError
from tamiz.reduction.independent.white_rows import WhiteRows
from tamiz.reduction.principal.base import CentredRows
from tamiz.reduction.principal.decomposition import PrincipalComponents, decompose
from tamiz.reduction.principal.parallel_analysis import IndependentColumns, compare_with_null
from tamiz.runtime.random import make_rng
from tamiz.runtime.user_warnings import warn
from tamiz.runtime.validation import check_integer, check_memory

# A direction whose variance is at most this share of the largest has none: the covariance of rows of float64 is exact to about
# 1e-15 of it, and whitening divides by the square root of the variance. Rows of float32 are multiplied in float32.
_RANK_TOLERANCE, _FLOAT32_RANK_TOLERANCE = 1e-10, 1e-6
# Operations and random tables of parallel analysis.
_NULL_OPERATIONS, _MIN_NULL_TABLES, _MAX_NULL_TABLES = 1e9, 5, 100


@dataclass(frozen=True)
class Whitening:
    """White rows, and the linear functions between them and coordinates.

    Attributes
    ----------
    rows : WhiteRows
    forward : ndarray of shape (k, n_coordinates)
        White rows are coordinates times its transpose.
    backward : ndarray of shape (n_coordinates, k)
        The pseudo-inverse of `forward`.
    """

    rows: WhiteRows
    forward: Floats
    backward: Floats


def whiten(rows: CentredRows, n_components: int | None, *, standardized: bool, is_float32: bool) -> Whitening:
    """Return rows of unit covariance, with n, along the first principal components.

    Parameters
    ----------
    rows : CentredRows
    n_components : int or None
        None is the number of components that parallel analysis finds, at least 1.
    standardized : bool
        Whether the numeric coordinates are divided by their standard deviations.
    is_float32 : bool
        Whether the rows are multiplied in float32.

    Raises
    ------
    DataError
        When all coordinates are constant.
    ValueError
        When n_components exceeds the rank.
    """
    upper = min(rows.n_rows, rows.n_coordinates)
    wanted = upper if n_components is None else check_integer("n_components", n_components, low=1)
    found = decompose(rows, min(wanted, upper), "auto")
    tolerance = _FLOAT32_RANK_TOLERANCE if is_float32 else _RANK_TOLERANCE
    rank = int((found.variances > tolerance * found.variances[0]).sum())
    if rank == 0:
        raise DataError("No column has a variance above 0, so that there is no component. Pass columns that vary.")
    if n_components is None:
        wanted = min(_count_components(rows, found, standardized=standardized), rank)
    elif wanted > rank:
        advice = "" if standardized else ", or set standardize=True if the columns have very different units"
        raise ValueError(
            f"n_components must be at most the rank of the table = {rank:,}, got {wanted:,}: directions with at most "
            f"{tolerance:g} of the largest variance do not count. Lower n_components{advice}."
        )
    check_memory(
        8.0 * 3 * rows.n_rows * wanted, f"{rows.n_rows:,} rows of {wanted:,} components", "Ask for fewer components."
    )
    directions = found.directions[:wanted]
    deviations = np.sqrt(found.variances[:wanted] * ((rows.total_weight - 1) / rows.total_weight))[:, None]
    unmixed = directions / deviations
    if is_float32 and np.abs(unmixed).max() > np.finfo(np.float32).max:
        raise DataError(
            f"A principal component has the standard deviation {deviations.min():.2g}, by which float32 cannot divide. "
            "Change the unit of the columns, or pass float64."
        )
    # The second transformation corrects rounding in the covariance, which float32 or a small variance makes noticeable.
    white, correction = WhiteRows.from_points(rows.project(unmixed))
    backward = (directions * deviations).T @ np.linalg.inv(correction)
    return Whitening(white, correction @ unmixed, backward)


def _count_components(rows: CentredRows, found: PrincipalComponents, *, standardized: bool) -> int:
    """Return the number of components of parallel analysis, at least 1; warn if it finds none."""
    size = min(rows.n_rows, rows.n_coordinates)
    n_draws = int(np.clip(_NULL_OPERATIONS / (size**2 * rows.n_coordinates), _MIN_NULL_TABLES, _MAX_NULL_TABLES))
    null = IndependentColumns.from_encoder(rows.encoder, rows.variances, rows.total_weight, standardized=standardized)
    drawn = null.draw_eigenvalues(len(found.variances), n_draws, make_rng(0))
    n = compare_with_null(found.variances, drawn, None).n_components
    if n == 0:
        warn(
            "TZ403",
            "ICA: no principal component has more variance than in tables of independent columns, so that one component "
            "is kept. Set n_components to keep more.",
        )
    return max(n, 1)

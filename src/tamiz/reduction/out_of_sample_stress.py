"""New rows placed against fixed points by the stress of their dissimilarities to these, each row by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from tamiz.exceptions import DataError
from tamiz.kernels.out_of_sample_stress import fill_starts, fit_rows
from tamiz.reduction.base import check_finite_embedding
from tamiz.reduction.dissimilarities import Dissimilarities
from tamiz.reduction.majorization.transformations import DisparityCurve
from tamiz.runtime import parallel
from tamiz.statistics.base import Floats

# MERGED: New rows in a map by stress.
# Dissimilarities that are there at a time.
_DISSIMILARITIES_IN_MEMORY = 2**20


@dataclass(frozen=True)
class MappedRows:
    """New rows in a map.

    Attributes
    ----------
    embedding : ndarray of shape (n_new, n_components)
    stress : ndarray of shape (n_new,)
        Kruskal's stress-1 of each row against all rows of fit.
    reliability : ndarray of shape (n_new,)
        The share of the rows of fit that are placed no better, in [0, 1]: near 0 a row has no place in this map.
    """

    embedding: Floats
    stress: Floats
    reliability: Floats


@dataclass(frozen=True)
class FittedMap:
    """A map that rows are placed in.

    Attributes
    ----------
    dissimilarities : Dissimilarities
        The rows of fit.
    curve : DisparityCurve
        What dissimilarities over the unit are turned into.
    unit : float
    embedding : ndarray of shape (n, n_components)
    stress_per_point : ndarray of shape (n,)
    """

    dissimilarities: Dissimilarities
    curve: DisparityCurve
    unit: float
    embedding: Floats
    stress_per_point: Floats

    def map_rows(self, queries: Any) -> MappedRows:
        """Return the places of new rows, each by itself; a row that is equal to one of fit gets the place of that."""
        n_new, n = queries.n_samples, self.dissimilarities.points.n_samples
        equal, points = self.dissimilarities.points.match_rows(queries)
        queries = self.dissimilarities.copy_self_values(queries, equal, points)
        embedding, stress = np.empty((n_new, self.embedding.shape[1])), np.empty(n_new)
        embedding[equal], stress[equal] = self.embedding[points], self.stress_per_point[points]
        others = np.setdiff1d(np.arange(n_new), equal)
        self.dissimilarities.require_distances(others)
        for start, stop in parallel.block_ranges(len(others), max(1, _DISSIMILARITIES_IN_MEMORY // n)):
            some = others[start:stop]
            with np.errstate(over="ignore", invalid="ignore"):
                embedding[some], stress[some] = self._map_unequal_rows(queries.take(some), some)
        check_finite_embedding(embedding)
        better = np.searchsorted(np.sort(self.stress_per_point), stress, side="left")
        return MappedRows(embedding, stress, 1.0 - better / n)

    def _map_unequal_rows(self, queries: Any, row_numbers: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """Return the places of rows that are equal to none of fit, and their stress."""
        wanted = self.curve(self.dissimilarities.distances(queries, 0, queries.n_samples) / self.unit)
        known = ~np.isnan(wanted)
        if not known.any(axis=1).all():
            row = row_numbers[int(np.argmin(known.any(axis=1)))]
            raise DataError(
                f"Row {row} has no distance to any row of fit, and so no place. Measure one, or leave the row out."
            )
        fitted = self.embedding / self.unit
        places = minimize_row_stress_multistart(fitted, wanted).positions
        distances = np.where(known, cdist(places, fitted), 0.0)
        squares = (distances**2).sum(axis=1)
        left = (np.where(known, wanted - distances, 0.0) ** 2).sum(axis=1)
        stress = np.sqrt(np.divide(left, squares, out=np.zeros(len(places)), where=squares > 0))
        return places * self.unit, stress


# Points that a row's descent starts from, beside the place by squared distances.
_NEAREST_STARTS = 4
# Dissimilarities of one piece of work.
_DISSIMILARITIES_PER_TASK = 2**15


@dataclass(frozen=True)
class RowPlacements:
    """Places of rows among fixed points.

    Attributes
    ----------
    positions : ndarray of shape (q, m)
    stress : ndarray of shape (q,)
        For each row sqrt(sum (delta - d)^2 / sum delta^2) over its dissimilarities that are present: 0 where all are met,
        infinite where all are 0 and the points are apart.
    n_iter : ndarray of shape (q,)
        Evaluations of the stress on the way from the start that led there.
    converged : ndarray of shape (q,)
        Whether its last step was short enough.
    """

    positions: Floats
    stress: Floats
    n_iter: NDArray[np.int64]
    converged: NDArray[np.bool_]


def minimize_row_stress(
    points: Floats, dissimilarities: Floats, initial_positions: Floats, *, max_iter: int = 300, tol: float = 1e-9
) -> RowPlacements:
    """Place each row at a local minimum of its stress, down from its start.

    Parameters
    ----------
    points : ndarray of shape (n, m)
    dissimilarities : ndarray of shape (q, n)
        From each row to all points, NaN where missing, at least 0.
    initial_positions : ndarray of shape (q, m)
    max_iter : int, default=300
        Evaluations of the stress after which a row is left where it is.
    tol : float, default=1e-9
        Length of a step, next to the largest of the row's dissimilarities and of the points' coordinates, below which it is placed.

    Returns
    -------
    Placed

    Raises
    ------
    DataError
        When a row has no dissimilarity that is present; the message names the row.

    Notes
    -----
    The stress never rises. A step is Newton's where the stress is convex and it falls, else a shorter one, at worst that of
    majorisation, y <- mean over j of x_j + delta_j (y - x_j) / |y - x_j|; at a saddle the row leaves downwards. Cost O(n m^2) an
    evaluation, mostly 5 to 15 of them. The same bits for a row whatever rows come with it.

    References
    ----------
    de Leeuw (1977), Applications of convex analysis to multidimensional scaling, in Recent Developments in Statistics.
    """
    return _minimize_in_spans(
        points, dissimilarities, lambda start, stop: initial_positions[start:stop, None, :], max_iter, tol
    )


def minimize_row_stress_multistart(
    points: Floats, dissimilarities: Floats, *, max_iter: int = 300, tol: float = 1e-9
) -> RowPlacements:
    """Place each row at the best of the minima that its several `starts` lead down to, the first of equal ones.

    Parameters
    ----------
    points, dissimilarities, max_iter, tol
        As for `place`.

    Returns
    -------
    Placed

    Raises
    ------
    DataError
        When a row has no dissimilarity that is present; the message names the row.
    """

    def some(start: int, stop: int) -> Floats:
        return initial_positions(points, dissimilarities[start:stop])

    return _minimize_in_spans(points, dissimilarities, some, max_iter, tol)


def initial_positions(points: Floats, dissimilarities: Floats) -> Floats:
    """Return places to start each row from: the one by squared distances, then those of the nearest points, nearest first.

    Parameters
    ----------
    points : ndarray of shape (n, m)
    dissimilarities : ndarray of shape (q, n)

    Returns
    -------
    ndarray of shape (q, s, m)
        s is 5, or fewer where there are fewer points. The place by squared distances is exact where all dissimilarities are
        distances of one place from points that span the space.
    """
    out = np.empty((len(dissimilarities), 1 + min(_NEAREST_STARTS, len(points)), points.shape[1]))
    fill_starts(_contiguous_axes(points), np.ascontiguousarray(dissimilarities), out)
    return out


def _minimize_in_spans(
    points: Floats, dissimilarities: Floats, positions_of: Callable[[int, int], Floats], max_iter: int, tol: float
) -> RowPlacements:
    """Place rows in pieces, from the starts of each piece."""
    is_empty = np.isnan(dissimilarities).all(axis=1)
    if is_empty.any():
        raise DataError(
            f"Row {int(np.argmax(is_empty))} has no dissimilarity to any of the {len(points):,} points; a place needs at least "
            "one. Measure one or leave the row out."
        )
    turned = _contiguous_axes(points)
    q, m = len(dissimilarities), points.shape[1]
    places, stress, told = np.empty((q, m)), np.empty(q), np.empty((q, 2), dtype=np.int64)

    def piece(span: tuple[int, int]) -> None:
        here = slice(*span)
        some = np.ascontiguousarray(dissimilarities[here], dtype=np.float64)
        from_here = np.ascontiguousarray(positions_of(*span), dtype=np.float64)
        fit_rows(turned, some, from_here, max_iter, tol, places[here], stress[here], told[here])

    for _ in parallel.map_blocks(piece, parallel.block_ranges(q, max(1, _DISSIMILARITIES_PER_TASK // len(points)))):
        pass
    return RowPlacements(places, stress, told[:, 0].copy(), told[:, 1] == 1)


def _contiguous_axes(points: Floats) -> Floats:
    return np.ascontiguousarray(points.T, dtype=np.float64)

"""The leading eigenvectors of the inner products that distances stand for: classical scaling's problem, and its solutions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from tamiz.reduction.additive_constant import CORRECTIONS
from tamiz.reduction.dissimilarities import Dissimilarities
from tamiz.reduction.inner_products import InnerProducts, Squares, along
from tamiz.reduction.krylov import Leading, leading, power_of_two
from tamiz.reduction.negative_share import ROUNDING, NegativeShare
from tamiz.reduction.placement import ByColumns, BySums, Placement
from tamiz.statistics.base import Floats
from tamiz.statistics.signs import signs
from tamiz.validation import check_memory

# Up to so many rows the whole matrix is decomposed: all eigenvalues are known then.
_WHOLE = 500
# So it is where more than one vector in so many is wanted: a search would hold and turn as much.
_MANY = 4
# n x n matrices that are there at a time when one is made and decomposed.
_DENSE = 5
# Residuals, next to the largest eigenvalue, at which the search ends: eigenvalues are then right to their squares.
_TOL = 1e-6


@dataclass(frozen=True)
class Scaling:
    """A map by classical scaling.

    Attributes
    ----------
    placement : Placement
    embedding : ndarray of shape (n, k)
    values, residuals : ndarray of shape (k,)
    total, least : float
        The sum of all eigenvalues and the smallest.
    share : NegativeShare
    constant : float
        Of the correction.
    told : tuple of str
        What the user is to know of the search, a sentence each.
    """

    placement: Placement
    embedding: Floats
    values: Floats
    residuals: Floats
    total: float
    least: float
    share: NegativeShare
    constant: float = 0.0
    told: tuple[str, ...] = ()

    @property
    def goodness_of_fit(self) -> Floats:
        """The sum of the positive `values` over that of all eigenvalues without signs, and over that of the positive ones."""
        kept = float(np.maximum(self.values, 0.0).sum())
        return np.minimum(np.divide(kept, self._wholes, out=np.zeros(2), where=self._wholes > 0), 1.0)

    @property
    def goodness_of_fit_error(self) -> Floats:
        """The standard errors of the two: the first whole has the negative eigenvalues' error twice, the second once."""
        errors = np.array([2.0, 1.0]) * self.share.negative_error
        return self.goodness_of_fit * np.divide(errors, self._wholes, out=np.zeros(2), where=self._wholes > 0)

    @property
    def _wholes(self) -> Floats:
        return np.array([self.share.whole, (1.0 - self.share.value) * self.share.whole])


def by_columns(values: Floats, k: int) -> Scaling:
    """Decompose p x p: the cross products of centred columns have the eigenvalues of B that are not 0."""
    centre: Floats = values.mean(axis=0)
    check_memory(16.0 * values.size, f"The centred copy of {len(values):,} rows", "Keep fewer columns first.")
    centred = values - centre
    found, vectors = linalg.eigh(centred.T @ centred)
    found, vectors = found[::-1], vectors[:, ::-1]
    m = min(k, len(found))
    eigenvalues = _without_rounding(np.concatenate([found[:m], np.zeros(k - m)]), 0.0)
    directions = np.zeros((k, values.shape[1]))
    directions[:m] = vectors[:, :m].T
    images = centred @ directions.T
    images[:, eigenvalues <= 0] = 0.0
    directions = directions * signs(images)[:, None] * (eigenvalues > 0)[:, None]
    # In units of its own, so that squares stay finite.
    along = np.divide(images, power_of_two(float(np.abs(images).max())))
    left = centred @ (centred.T @ along) - along * eigenvalues
    unit = power_of_two(float(np.abs(left).max()))
    lengths = np.linalg.norm(along, axis=0)
    residuals = np.divide(np.linalg.norm(left / unit, axis=0), lengths, out=np.zeros(k), where=lengths > 0) * unit
    placement, total = ByColumns(centre, directions), float(found.sum())
    return Scaling(placement, placement.of(values), eigenvalues, residuals, total, 0.0, NegativeShare(0.0, 0.0, total))


def by_distances(rows: Dissimilarities, k: int, correction: str | None) -> Scaling:
    """Decompose n x n, by products alone where that is large."""
    squares, constant, told = Squares.of(rows), 0.0, []
    B = InnerProducts(rows, squares)
    top, found = _decomposed(B, k)
    if correction is not None and top.least < -rows.rounding * top.values[0]:
        added = CORRECTIONS[correction](rows, B, B.n <= _WHOLE, top.least)
        if added.residual > added.wanted:
            told.append(
                f"the constant {added.value:.6g} is not exact: an eigenvector has the residual "
                f"{added.residual:.2g}, and should have {added.wanted:.2g}."
            )
        constant, squares = added.value, added.squares
        B = InnerProducts(rows, squares)
        top, found = _decomposed(B, k)
    worst = float(top.residuals.max())
    if worst > _TOL * max(abs(float(top.values[0])), abs(top.least)):
        told.append(f"an eigenvector has the residual {worst:.2g} beside the eigenvalue {top.values[0]:.4g}.")
    values = _without_rounding(top.values, top.least)
    # y = 1/2 L^-1 Z' (r - d^2) with Z = V L^1/2 and r the means of d^2: Gower's formula, which gives every row of fit its own
    # place. What is a number of the new row's own in d^2, such as its similarity to itself, drops out: columns of Z sum to 0.
    roots = np.sqrt(np.maximum(values, 0.0))
    scale = np.divide(0.5, roots, out=np.zeros(k), where=roots > 0)
    directions = np.ascontiguousarray(top.vectors * (signs(top.vectors.T) * scale)[:, None])
    # A vector of ones among the directions: the means take no reading of their own.
    sums = along(rows, squares, rows.points, np.vstack([directions, np.ones(B.n)]))
    means = sums[:, k] / B.n
    placement = BySums(squares, directions, directions @ means)
    total = B.total(means)
    share = NegativeShare.of(found) if found is not None else NegativeShare.estimated(top.seen, B.n, total)
    embedding = placement.of_fit(rows, sums[:, :k])
    return Scaling(placement, embedding, values, top.residuals, total, top.least, share, constant, tuple(told))


def _without_rounding(values: Floats, least: float) -> Floats:
    floor = ROUNDING * max(abs(float(values[0])), abs(least))
    return np.where(np.abs(values) > floor, values, 0.0)


def _decomposed(B: InnerProducts, k: int) -> tuple[Leading, Floats | None]:
    """Return the leading pairs, and all eigenvalues where the whole matrix is decomposed."""
    if B.n > _WHOLE and _MANY * k <= B.n:
        return leading(B, B.n, k, tol=_TOL), None
    check_memory(
        8.0 * _DENSE * B.n**2,
        f"The decomposition of {B.n:,} x {B.n:,} inner products",
        f"Ask for at most {B.n // _MANY:,} coordinates." if B.n > _WHOLE else "Pass fewer rows.",
    )
    dense = B.dense()
    unit = power_of_two(float(np.abs(dense).max()))
    dense /= unit
    found, vectors = linalg.eigh(dense)
    found, vectors = found[::-1], vectors[:, ::-1][:, :k]
    residuals = np.linalg.norm(dense @ vectors - vectors * found[:k], axis=0)
    return Leading(found[:k] * unit, vectors.T, residuals * unit, float(found[-1]) * unit), found * unit

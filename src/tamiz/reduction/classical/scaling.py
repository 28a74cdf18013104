"""The leading eigenvectors of the inner products that distances stand for: classical scaling's problem, and its solutions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from tamiz.reduction.classical.additive_constant import CORRECTIONS
from tamiz.reduction.classical.extension import Extension, GowerExtension, LinearProjection
from tamiz.reduction.classical.inner_products import InnerProducts, SquaredDistances, project_squared_distances
from tamiz.reduction.dissimilarities import Dissimilarities
from tamiz.reduction.krylov import LeadingEigenpairs, Quadrature, leading_eigenpairs, power_of_two
from tamiz.runtime.validation import check_memory
from tamiz.statistics.base import Floats
from tamiz.statistics.eigenvector_signs import eigenvector_signs

# MERGED: How much of a spectrum lies below 0.
# An eigenvalue below this share of the largest is 0 to rounding.
EIGENVALUE_ROUNDING = 1e-12


@dataclass(frozen=True)
class NegativeShare:
    """The sum of the negative eigenvalues over the sum of all, both without signs.

    Attributes
    ----------
    value : float
        In [0, 1].
    error : float
        Its standard error, 0 where all eigenvalues are known.
    absolute_sum : float
        The sum of all eigenvalues without signs.
    negative_error : float
        The standard error of the sum of the negative ones.
    """

    value: float
    error: float
    absolute_sum: float
    negative_error: float = 0.0

    @classmethod
    def exact(cls, values: Floats) -> NegativeShare:
        """Return it for all eigenvalues."""
        sizes = np.abs(values)
        sizes[sizes <= EIGENVALUE_ROUNDING * sizes.max()] = 0.0
        whole = float(sizes.sum())
        return cls(float(sizes[values < 0].sum()) / whole if whole else 0.0, 0.0, whole)

    @classmethod
    def estimate(cls, quadratures: tuple[Quadrature, ...], n: int, total: float) -> NegativeShare:
        """Return it from what random directions saw of n eigenvalues whose sum is known.

        The error is that of the mean over the directions, and what the last product changed: nodes are few around 0, where the
        sum has its bend.
        """
        before, last = (n * _negative_sums(quadrature) for quadrature in quadratures)
        negative = float(last.mean())
        # All sizes: the sum with signs, and the negative ones twice.
        whole = total + 2 * negative
        if not negative or whole <= 0:
            return cls(0.0, 0.0, total)
        error = np.hypot(last.std(ddof=1) / np.sqrt(len(last)), negative - before.mean())
        return cls(negative / whole, float(abs(total) / whole * (error / whole)), whole, float(error))


def _negative_sums(quadrature: Quadrature) -> Floats:
    """Return what each direction sees of the negative eigenvalues' sizes."""
    floor = EIGENVALUE_ROUNDING * np.abs(quadrature.nodes).max()
    return quadrature.weights @ np.where(quadrature.nodes < -floor, -quadrature.nodes, 0.0)


# Up to so many rows the whole matrix is decomposed: all eigenvalues are known then.
_MAX_DENSE_ROWS = 500
# So it is where more than one vector in so many is wanted: a search would hold and turn as much.
_DENSE_COMPONENT_RATIO = 4
# n x n matrices that are there at a time when one is made and decomposed.
_DENSE_COPIES = 5
# Residuals, next to the largest eigenvalue, at which the search ends: eigenvalues are then right to their squares.
_TOL = 1e-6


@dataclass(frozen=True)
class ClassicalSolution:
    """A map by classical scaling.

    Attributes
    ----------
    extension : Extension
    embedding : ndarray of shape (n, k)
    eigenvalues, residuals : ndarray of shape (k,)
    eigenvalue_sum, smallest_eigenvalue : float
        The sum of all eigenvalues and the smallest.
    negative_share : NegativeShare
    additive_constant : float
        Of the correction.
    warnings : tuple of str
        What the user is to know of the search, a sentence each.
    """

    extension: Extension
    embedding: Floats
    eigenvalues: Floats
    residuals: Floats
    eigenvalue_sum: float
    smallest_eigenvalue: float
    negative_share: NegativeShare
    additive_constant: float = 0.0
    warnings: tuple[str, ...] = ()

    @property
    def goodness_of_fit(self) -> Floats:
        """The sum of the positive `eigenvalues` over that of all eigenvalues without signs, and over that of the positive ones."""
        kept = float(np.maximum(self.eigenvalues, 0.0).sum())
        return np.minimum(np.divide(kept, self._absolute_sums, out=np.zeros(2), where=self._absolute_sums > 0), 1.0)

    @property
    def goodness_of_fit_error(self) -> Floats:
        """The standard errors of the two: the first whole has the negative eigenvalues' error twice, the second once."""
        errors = np.array([2.0, 1.0]) * self.negative_share.negative_error
        return self.goodness_of_fit * np.divide(
            errors, self._absolute_sums, out=np.zeros(2), where=self._absolute_sums > 0
        )

    @property
    def _absolute_sums(self) -> Floats:
        return np.array(
            [self.negative_share.absolute_sum, (1.0 - self.negative_share.value) * self.negative_share.absolute_sum]
        )


def scale_coordinates(coordinates: Floats, k: int) -> ClassicalSolution:
    """Decompose p x p: the cross products of centred columns have the eigenvalues of B that are not 0."""
    centre: Floats = coordinates.mean(axis=0)
    check_memory(16.0 * coordinates.size, f"The centred copy of {len(coordinates):,} rows", "Keep fewer columns first.")
    centred = coordinates - centre
    found, vectors = linalg.eigh(centred.T @ centred)
    found, vectors = found[::-1], vectors[:, ::-1]
    m = min(k, len(found))
    eigenvalues = _zero_rounding(np.concatenate([found[:m], np.zeros(k - m)]), 0.0)
    directions = np.zeros((k, coordinates.shape[1]))
    directions[:m] = vectors[:, :m].T
    images = centred @ directions.T
    images[:, eigenvalues <= 0] = 0.0
    directions = directions * eigenvector_signs(images)[:, None] * (eigenvalues > 0)[:, None]
    # In units of its own, so that squares stay finite.
    along = np.divide(images, power_of_two(float(np.abs(images).max())))
    left = centred @ (centred.T @ along) - along * eigenvalues
    unit = power_of_two(float(np.abs(left).max()))
    lengths = np.linalg.norm(along, axis=0)
    residuals = np.divide(np.linalg.norm(left / unit, axis=0), lengths, out=np.zeros(k), where=lengths > 0) * unit
    placement, total = LinearProjection(centre, directions), float(found.sum())
    return ClassicalSolution(
        placement,
        placement.project_rows(coordinates),
        eigenvalues,
        residuals,
        total,
        0.0,
        NegativeShare(0.0, 0.0, total),
    )


def scale_distances(dissimilarities: Dissimilarities, k: int, correction: str | None) -> ClassicalSolution:
    """Decompose n x n, by products alone where that is large."""
    squares, constant, told = SquaredDistances.uncorrected(dissimilarities), 0.0, []
    B = InnerProducts(dissimilarities, squares)
    top, found = _decompose(B, k)
    if correction is not None and top.smallest_value < -dissimilarities.rounding_tolerance * top.values[0]:
        added = CORRECTIONS[correction](dissimilarities, B, B.n <= _MAX_DENSE_ROWS, top.smallest_value)
        if added.residual > added.tolerance:
            told.append(
                f"the constant {added.value:.6g} is not exact: an eigenvector has the residual "
                f"{added.residual:.2g}, and should have {added.tolerance:.2g}."
            )
        constant, squares = added.value, added.squared_distances
        B = InnerProducts(dissimilarities, squares)
        top, found = _decompose(B, k)
    worst = float(top.residuals.max())
    if worst > _TOL * max(abs(float(top.values[0])), abs(top.smallest_value)):
        told.append(f"an eigenvector has the residual {worst:.2g} beside the eigenvalue {top.values[0]:.4g}.")
    values = _zero_rounding(top.values, top.smallest_value)
    # y = 1/2 L^-1 Z' (r - d^2) with Z = V L^1/2 and r the means of d^2: Gower's formula, which gives every row of fit its own
    # place. What is a number of the new row's own in d^2, such as its similarity to itself, drops out: columns of Z sum to 0.
    roots = np.sqrt(np.maximum(values, 0.0))
    scale = np.divide(0.5, roots, out=np.zeros(k), where=roots > 0)
    directions = np.ascontiguousarray(top.vectors * (eigenvector_signs(top.vectors.T) * scale)[:, None])
    # A vector of ones among the directions: the means take no reading of their own.
    sums = project_squared_distances(
        dissimilarities, squares, dissimilarities.points, np.vstack([directions, np.ones(B.n)])
    )
    means = sums[:, k] / B.n
    placement = GowerExtension(squares, directions, directions @ means)
    total = B.eigenvalue_sum(means)
    share = NegativeShare.exact(found) if found is not None else NegativeShare.estimate(top.quadratures, B.n, total)
    embedding = placement.embed_training_rows(dissimilarities, sums[:, :k])
    return ClassicalSolution(
        placement, embedding, values, top.residuals, total, top.smallest_value, share, constant, tuple(told)
    )


def _zero_rounding(values: Floats, smallest_eigenvalue: float) -> Floats:
    floor = EIGENVALUE_ROUNDING * max(abs(float(values[0])), abs(smallest_eigenvalue))
    return np.where(np.abs(values) > floor, values, 0.0)


def _decompose(B: InnerProducts, k: int) -> tuple[LeadingEigenpairs, Floats | None]:
    """Return the leading pairs, and all eigenvalues where the whole matrix is decomposed."""
    if B.n > _MAX_DENSE_ROWS and _DENSE_COMPONENT_RATIO * k <= B.n:
        return leading_eigenpairs(B, B.n, k, tol=_TOL), None
    check_memory(
        8.0 * _DENSE_COPIES * B.n**2,
        f"The decomposition of {B.n:,} x {B.n:,} inner products",
        f"Ask for at most {B.n // _DENSE_COMPONENT_RATIO:,} coordinates."
        if B.n > _MAX_DENSE_ROWS
        else "Pass fewer rows.",
    )
    dense = B.to_dense()
    unit = power_of_two(float(np.abs(dense).max()))
    dense /= unit
    found, vectors = linalg.eigh(dense)
    found, vectors = found[::-1], vectors[:, ::-1][:, :k]
    residuals = np.linalg.norm(dense @ vectors - vectors * found[:k], axis=0)
    return LeadingEigenpairs(found[:k] * unit, vectors.T, residuals * unit, float(found[-1]) * unit), found * unit

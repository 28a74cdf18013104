"""Classical scaling: the leading eigenpairs of the centred inner products, and the share of negative eigenvalues."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from tamiz.arrays import Floats
from tamiz.reduction.classical.additive_constant import CORRECTIONS
from tamiz.reduction.classical.extension import Extension, GowerExtension, LinearProjection
from tamiz.reduction.classical.inner_products import InnerProducts, SquaredDistances, project_squared_distances
from tamiz.reduction.dissimilarities import Dissimilarities
from tamiz.reduction.krylov import LeadingEigenpairs, Quadrature, leading_eigenpairs, power_of_two
from tamiz.runtime.user_warnings import warn
from tamiz.runtime.validation import check_memory
from tamiz.runtime.verdicts import Verdict
from tamiz.statistics.eigenvector_signs import eigenvector_signs

# Eigenvalues below this share of the largest are rounding errors.
EIGENVALUE_ROUNDING = 1e-12
# Up to this many rows the matrix is decomposed, which yields all eigenvalues.
_MAX_DENSE_ROWS = 500
# It is also decomposed for more components than n over this ratio, where an iterative search would cost as much.
_DENSE_COMPONENT_RATIO = 4
# n x n matrices in memory during a dense decomposition.
_DENSE_COPIES = 5
# Residual norm at convergence, relative to the largest eigenvalue; eigenvalues then have about the squared relative error.
_TOL = 1e-6


@dataclass(frozen=True)
class NegativeShare:
    """The share of negative eigenvalues: their absolute sum over the absolute sum of all eigenvalues.

    Attributes
    ----------
    value : float
        In [0, 1].
    error : float
        Standard error; 0 if all eigenvalues are computed.
    absolute_sum : float
        The absolute sum of all eigenvalues.
    negative_error : float
        The standard error of the absolute sum of the negative eigenvalues.
    """

    value: float
    error: float
    absolute_sum: float
    negative_error: float = 0.0

    @classmethod
    def exact(cls, values: Floats) -> NegativeShare:
        sizes = np.abs(values)
        sizes[sizes <= EIGENVALUE_ROUNDING * sizes.max()] = 0.0
        whole = float(sizes.sum())
        return cls(float(sizes[values < 0].sum()) / whole if whole else 0.0, 0.0, whole)

    @classmethod
    def estimate(cls, quadratures: tuple[Quadrature, ...], n: int, total: float) -> NegativeShare:
        """Estimate the share from quadratures of n eigenvalues with a known sum.

        The error combines the standard error over the random directions and the change by the last product: the quadrature has few
        nodes near 0, where |x| is not smooth.
        """
        before, last = (n * _negative_sums(quadrature) for quadrature in quadratures)
        negative = float(last.mean())
        # The absolute sum is the signed sum plus twice the absolute sum of the negative ones.
        whole = total + 2 * negative
        if not negative or whole <= 0:
            return cls(0.0, 0.0, total)
        error = np.hypot(last.std(ddof=1) / np.sqrt(len(last)), negative - before.mean())
        return cls(negative / whole, float(abs(total) / whole * (error / whole)), whole, float(error))


def _negative_sums(quadrature: Quadrature) -> Floats:
    """Return the estimate of the mean absolute negative eigenvalue from each direction."""
    floor = EIGENVALUE_ROUNDING * np.abs(quadrature.nodes).max()
    return quadrature.weights @ np.where(quadrature.nodes < -floor, -quadrature.nodes, 0.0)


@dataclass(frozen=True)
class ClassicalSolution:
    """A solution of classical scaling.

    Attributes
    ----------
    extension : Extension
    embedding : ndarray of shape (n, k)
    eigenvalues, residuals : ndarray of shape (k,)
    eigenvalue_sum, smallest_eigenvalue : float
        The sum of all eigenvalues, and the smallest one.
    negative_share : NegativeShare
    additive_constant : float
        The constant of the correction.
    warnings : tuple of Verdict
        Warnings about convergence.
    """

    extension: Extension
    embedding: Floats
    eigenvalues: Floats
    residuals: Floats
    eigenvalue_sum: float
    smallest_eigenvalue: float
    negative_share: NegativeShare
    additive_constant: float = 0.0
    warnings: tuple[Verdict, ...] = ()

    @property
    def goodness_of_fit(self) -> Floats:
        """The sum of the positive `eigenvalues` over the absolute sum of all, and over the sum of all positive eigenvalues."""
        kept = float(np.maximum(self.eigenvalues, 0.0).sum())
        return np.minimum(np.divide(kept, self._absolute_sums, out=np.zeros(2), where=self._absolute_sums > 0), 1.0)

    @property
    def goodness_of_fit_error(self) -> Floats:
        """Standard errors: the first denominator contains the error of the negative sum twice, the second once."""
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
    """Scale Euclidean coordinates by the p x p cross products of centred columns, with the nonzero eigenvalues of B."""
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
    # Divided by a power of two, so that squares do not overflow.
    along = np.divide(images, power_of_two(float(np.abs(images).max())))
    residual = centred @ (centred.T @ along) - along * eigenvalues
    unit = power_of_two(float(np.abs(residual).max()))
    lengths = np.linalg.norm(along, axis=0)
    residuals = np.divide(np.linalg.norm(residual / unit, axis=0), lengths, out=np.zeros(k), where=lengths > 0) * unit
    extension, total = LinearProjection(centre, directions), float(found.sum())
    return ClassicalSolution(
        extension,
        extension.project_rows(coordinates),
        eigenvalues,
        residuals,
        total,
        0.0,
        NegativeShare(0.0, 0.0, total),
    )


def scale_distances(
    dissimilarities: Dissimilarities, k: int, correction: str | None, *, tol: float = _TOL
) -> ClassicalSolution:
    """Scale dissimilarities by the eigenpairs of B, computed densely or, for many rows, from products alone.

    `tol` is the residual norm, relative to the largest eigenvalue, at which products end. A warning reports residuals above 1e-6.
    """
    squares, constant = SquaredDistances.uncorrected(dissimilarities), 0.0
    warnings: list[Verdict] = []
    B = InnerProducts(dissimilarities, squares)
    top, found = _decompose(B, k, tol)
    if correction is not None and top.smallest_value < -dissimilarities.rounding_tolerance * top.values[0]:
        added = CORRECTIONS[correction](dissimilarities, B, B.n <= _MAX_DENSE_ROWS, top.smallest_value)
        if added.residual > added.tolerance:
            warnings.append(
                Verdict(
                    "TZ501",
                    f"the additive constant {added.value:.6g} did not converge: an eigenvector has the residual "
                    f"{added.residual:.2g}, above the tolerance {added.tolerance:.2g}.",
                )
            )
        constant, squares = added.value, added.squared_distances
        B = InnerProducts(dissimilarities, squares)
        top, found = _decompose(B, k, tol)
    worst = float(top.residuals.max())
    if worst > _TOL * max(abs(float(top.values[0])), abs(top.smallest_value)):
        warnings.append(
            Verdict(
                "TZ501",
                f"an eigenvector did not converge: its residual is {worst:.2g}, and the largest eigenvalue {top.values[0]:.4g}.",
            )
        )
    values = _zero_rounding(top.values, top.smallest_value)
    # Gower's formula y = 1/2 L^-1 Z' (r - d^2), with Z = V L^1/2 and the row means r of d^2, reproduces the training rows.
    # Terms of d^2 that depend only on the new row, such as its self-similarity, vanish, because the columns of Z sum to 0.
    roots = np.sqrt(np.maximum(values, 0.0))
    scale = np.divide(0.5, roots, out=np.zeros(k), where=roots > 0)
    directions = np.ascontiguousarray(top.vectors * (eigenvector_signs(top.vectors.T) * scale)[:, None])
    # A row of ones among the directions yields the row means in the same pass.
    sums = project_squared_distances(
        dissimilarities, squares, dissimilarities.points, np.vstack([directions, np.ones(B.n)])
    )
    means = sums[:, k] / B.n
    extension = GowerExtension(squares, directions, directions @ means)
    total = B.eigenvalue_sum(means)
    share = NegativeShare.exact(found) if found is not None else NegativeShare.estimate(top.quadratures, B.n, total)
    embedding = extension.embed_training_rows(dissimilarities, sums[:, :k])
    return ClassicalSolution(
        extension, embedding, values, top.residuals, total, top.smallest_value, share, constant, tuple(warnings)
    )


def _zero_rounding(values: Floats, smallest_eigenvalue: float) -> Floats:
    floor = EIGENVALUE_ROUNDING * max(abs(float(values[0])), abs(smallest_eigenvalue))
    return np.where(np.abs(values) > floor, values, 0.0)


def _decompose(B: InnerProducts, k: int, tol: float) -> tuple[LeadingEigenpairs, Floats | None]:
    """Return the leading eigenpairs, and all eigenvalues after a dense decomposition, else None."""
    if B.n > _MAX_DENSE_ROWS and _DENSE_COMPONENT_RATIO * k <= B.n:
        return leading_eigenpairs(B, B.n, k, tol=tol), None
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


def format_negative_share(share: float, error: float) -> str:
    """Return the share of negative eigenvalues in percent, with its standard error where it is an estimate."""
    percent = f"{100 * share:.3g} %"
    return percent if not error else f"about {percent} (+- {100 * error:.1g} %)"


def warn_of_zero_coordinates(method: str, eigenvalues: Floats) -> None:
    """Warn of coordinates that are 0 because their eigenvalue is not above 0."""
    n = int((eigenvalues > 0).sum())
    if n < len(eigenvalues):
        values = "eigenvalue is" if n == 1 else "eigenvalues are"
        warn("TZ403", f"{method}: {n:,} {values} above 0, and the other {len(eigenvalues) - n:,} coordinates are 0.")

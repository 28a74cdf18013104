"""Classical scaling: the leading eigenpairs of the centred inner products, additive constants, and the extension to new rows.

The centred inner products B = -1/2 C D^(2) C are an operator that never stores the squared distances.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import linalg

from tamiz.arrays import Floats, eigenvector_signs
from tamiz.kernels.matrix_products import multiply_squares, project_rows, project_squares
from tamiz.reduction.dissimilarities import Dissimilarities
from tamiz.reduction.krylov import (
    LeadingEigenpairs,
    Quadrature,
    Subspace,
    leading_eigenpairs,
    orthonormalize,
    power_of_two,
    random_orthonormal,
)
from tamiz.runtime import parallel
from tamiz.runtime.user_warnings import warn
from tamiz.runtime.validation import check_memory
from tamiz.runtime.verdicts import Verdict
from tamiz.storage.invariants import FloatArray, InstanceOf, Invariants, Number

CORRECTIONS = ("lingoes", "cailliez")
# Eigenvalues below this share of the largest are rounding errors.
_EIGENVALUE_ROUNDING = 1e-12
# Up to this many rows the matrix is decomposed, which yields all eigenvalues.
_MAX_DENSE_ROWS = 500
# It is also decomposed for more components than n over this ratio, where an iterative search would cost as much.
_DENSE_COMPONENT_RATIO = 4
# n x n matrices in memory during a dense decomposition.
_DENSE_COPIES = 5
# Residual norm at convergence, relative to the largest eigenvalue; eigenvalues then have about the squared relative error.
_TOL = 1e-6
# Of additive constants: residual norm at convergence, relative to the smallest eigenvalue of B; the constant then has about the
# squared relative error. Relative imaginary part below which an eigenvalue counts as real.
_CONSTANT_TOL, _IMAGINARY_TOLERANCE = 1e-5, 1e-6
# Vectors of one product, and largest number of products.
_BLOCK_SIZE, _MAX_PRODUCTS = 8, 200
# Values of one parallel task, and vectors that a kernel multiplies at a time.
_VALUES_PER_TASK, _PRODUCT_WIDTH, _PROJECTION_WIDTH = 2**20, 8, 4


@dataclass(frozen=True)
class SquaredDistances:
    """Coefficients of squared distances: quadratic b^2 + linear b, plus `off_diagonal` off the diagonal.

    b is the distance if `uses_distances`, else the number that `Dissimilarities.block` returns.
    """

    quadratic: float
    linear: float
    off_diagonal: float = 0.0
    uses_distances: bool = False

    invariants: ClassVar[Invariants] = {
        "quadratic": Number(),
        "linear": Number(),
        "off_diagonal": Number(),
        "uses_distances": InstanceOf(bool),
    }

    def block_reader(self, dissimilarities: Dissimilarities) -> Callable[[Any, int, int], Floats]:
        return dissimilarities.distances if self.uses_distances else dissimilarities.block


class InnerProducts:
    """The operator B = -1/2 C W C, with the squared distances W and the centring matrix C."""

    def __init__(self, dissimilarities: Dissimilarities, squared_distances: SquaredDistances) -> None:
        self._dissimilarities, self._squared_distances = dissimilarities, squared_distances
        self.n = dissimilarities.points.n_samples

    def eigenvalue_sum(self, row_means: Floats) -> float:
        """Return the sum of the eigenvalues of B, given the mean of each row of W without `off_diagonal`."""
        form = self._squared_distances
        trace = 0.0 if form.uses_distances else self._dissimilarities.trace
        return (self.n * float(row_means.mean()) - trace + form.off_diagonal * (self.n - 1)) / 2

    def __call__(self, X: Floats) -> Floats:
        X = X - X.mean(axis=1, keepdims=True)
        Y = self._multiply(X)
        Y *= -0.5
        # -1/2 C (c (1 1' - I)) C = c / 2 C for the off-diagonal constant c.
        Y -= Y.mean(axis=1, keepdims=True)
        if self._squared_distances.off_diagonal:
            Y += self._squared_distances.off_diagonal / 2 * X
        return Y

    def to_dense(self) -> Floats:
        """Return B as a matrix, for few rows."""
        B = self(np.eye(self.n))
        return (B + B.T) / 2

    def _multiply(self, X: Floats) -> Floats:
        """Return X W, block by block without storing W."""
        form, block = self._squared_distances, self._squared_distances.block_reader(self._dissimilarities)
        columns = _pad_rows(X, _PRODUCT_WIDTH)
        out = np.empty(columns.shape)

        def multiply(span: tuple[int, int]) -> None:
            b = block(self._dissimilarities.points, *span)
            products = np.empty((_PRODUCT_WIDTH, len(b)))
            for start in range(0, len(columns), _PRODUCT_WIDTH):
                multiply_squares(b, form.quadratic, form.linear, columns[start : start + _PRODUCT_WIDTH], products)
                out[start : start + _PRODUCT_WIDTH, slice(*span)] = products

        parallel.run_blocks(multiply, parallel.block_ranges(self.n, max(2, _VALUES_PER_TASK // self.n)))
        return out[: len(X)]


def _pad_rows(X: Floats, multiple: int) -> Floats:
    """Return X with rows of zeros, so that their number is a multiple."""
    out = np.zeros((-(-len(X) // multiple) * multiple, X.shape[1]))
    out[: len(X)] = X
    return out


def project_squared_distances(
    dissimilarities: Dissimilarities, squared_distances: SquaredDistances, queries: Any, directions: Floats
) -> Floats:
    """Return for each query the sums of its squared distances, without `off_diagonal`, times directions of shape (k, n).

    The result for a query does not depend, to the bit, on the other queries.
    """
    k, n = directions.shape
    padded = _pad_rows(directions, _PROJECTION_WIDTH)
    block, form = squared_distances.block_reader(dissimilarities), squared_distances
    out = np.empty((queries.n_samples, k))

    def project(span: tuple[int, int]) -> None:
        b = block(queries, *span)
        sums = np.empty((_PROJECTION_WIDTH, len(b)))
        for start in range(0, k, _PROJECTION_WIDTH):
            stop = min(start + _PROJECTION_WIDTH, k)
            project_squares(b, form.quadratic, form.linear, padded[start : start + _PROJECTION_WIDTH], sums)
            out[slice(*span), start:stop] = sums[: stop - start].T

    parallel.run_blocks(project, parallel.block_ranges(len(out), max(1, _VALUES_PER_TASK // n)))
    return out


@dataclass(frozen=True)
class LinearProjection:
    """Projection of numeric rows on directions, of shape (k, n_columns), from a centre."""

    centre: Floats
    directions: Floats

    invariants: ClassVar[Invariants] = {"centre": FloatArray("d"), "directions": FloatArray("k", "d")}

    def accepts(self, dissimilarities: Dissimilarities) -> bool:
        """Return whether rows have as many coordinates as the directions."""
        return dissimilarities.points.n_coordinates == len(self.centre)

    def transform(self, dissimilarities: Dissimilarities, queries: Any, embedding: Floats) -> Floats:  # noqa: ARG002
        """Return the coordinates of new rows, each independently of the others."""
        return self.project_rows(queries.euclidean_values())

    def project_rows(self, values: Floats) -> Floats:
        out = np.empty((len(values), len(self.directions)))
        project_rows(np.ascontiguousarray(values - self.centre), self.directions, out)
        return out


@dataclass(frozen=True)
class GowerExtension:
    """Gower's formula: coordinates from the squared distances to the training rows, by directions of shape (k, n_samples)."""

    squared_distances: SquaredDistances
    directions: Floats
    offsets: Floats

    invariants: ClassVar[Invariants] = {
        "squared_distances": InstanceOf(SquaredDistances),
        "directions": FloatArray("k", "n"),
        "offsets": FloatArray("k"),
    }

    def accepts(self, dissimilarities: Dissimilarities) -> bool:
        """Return whether the directions have one entry for each training row."""
        return dissimilarities.n_points == self.directions.shape[1]

    def transform(self, dissimilarities: Dissimilarities, queries: Any, embedding: Floats) -> Floats:
        """Return the coordinates of new rows, each independently of the others, given those of the training rows."""
        form = self.squared_distances
        if not form.off_diagonal:
            return self.offsets - project_squared_distances(dissimilarities, form, queries, self.directions)
        # The constant is not added to the distance 0 of a row to itself, so rows equal to a training row get its coordinates.
        equal, points = dissimilarities.points.match_rows(queries)
        queries = dissimilarities.copy_self_values(queries, equal, points)
        out = self.offsets - project_squared_distances(dissimilarities, form, queries, self.directions)
        out[equal] = embedding[points]
        return out


Extension = LinearProjection | GowerExtension


def principal_axes_rotation(points: Floats) -> LinearProjection:
    """Return the projection of points to their principal axes about their mean, with a fixed choice of signs."""
    centre: Floats = points.mean(axis=0)
    centred = points - centre
    centred /= power_of_two(float(np.abs(centred).max()))
    _, vectors = linalg.eigh(centred.T @ centred)
    axes = vectors[:, ::-1]
    axes *= eigenvector_signs(centred @ axes)
    return LinearProjection(centre, np.ascontiguousarray(axes.T))


@dataclass(frozen=True)
class NegativeShare:
    """The share of negative eigenvalues: their absolute sum over the absolute sum of all eigenvalues.

    `error` is its standard error, and `negative_error` that of the absolute sum of the negative ones; 0 if all are computed.
    """

    value: float
    error: float
    absolute_sum: float
    negative_error: float = 0.0

    @classmethod
    def exact(cls, values: Floats) -> NegativeShare:
        sizes = np.abs(values)
        sizes[sizes <= _EIGENVALUE_ROUNDING * sizes.max()] = 0.0
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
    floor = _EIGENVALUE_ROUNDING * np.abs(quadrature.nodes).max()
    return quadrature.weights @ np.where(quadrature.nodes < -floor, -quadrature.nodes, 0.0)


@dataclass(frozen=True)
class ClassicalSolution:
    """A solution of classical scaling: k coordinates, eigenvalues and residuals, and warnings about convergence."""

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
        return np.minimum(self._over_absolute_sums(float(np.maximum(self.eigenvalues, 0.0).sum())), 1.0)

    @property
    def goodness_of_fit_error(self) -> Floats:
        """Standard errors: the first denominator contains the error of the negative sum twice, the second once."""
        errors = np.array([2.0, 1.0]) * self.negative_share.negative_error
        return self.goodness_of_fit * self._over_absolute_sums(errors)

    def _over_absolute_sums(self, values: Floats | float) -> Floats:
        share = self.negative_share
        sums = np.array([share.absolute_sum, (1.0 - share.value) * share.absolute_sum])
        return np.divide(values, sums, out=np.zeros(2), where=sums > 0)


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
    embedding = extension.project_rows(coordinates)
    return ClassicalSolution(extension, embedding, eigenvalues, residuals, total, 0.0, NegativeShare(0.0, 0.0, total))


def scale_distances(
    dissimilarities: Dissimilarities, k: int, correction: str | None, *, tol: float = _TOL
) -> ClassicalSolution:
    """Scale dissimilarities by the eigenpairs of B, computed densely or, for many rows, from products alone.

    `tol` is the residual norm, relative to the largest eigenvalue, at which products end. A warning reports residuals above 1e-6.
    """
    squares, constant = SquaredDistances(dissimilarities.quadratic, dissimilarities.linear), 0.0
    warnings: list[Verdict] = []
    B = InnerProducts(dissimilarities, squares)
    top, found = _decompose(B, k, tol)
    if correction is not None and top.smallest_value < -dissimilarities.rounding_tolerance * top.values[0]:
        find_constant = _lingoes_constant if correction == "lingoes" else _cailliez_constant
        added = find_constant(dissimilarities, B, B.n <= _MAX_DENSE_ROWS, top.smallest_value)
        if added.residual > added.tolerance:
            sentence = (
                f"the additive constant {added.value:.6g} did not converge: an eigenvector has the residual "
                f"{added.residual:.2g}, above the tolerance {added.tolerance:.2g}."
            )
            warnings.append(Verdict("TZ501", sentence))
        constant, squares = added.value, added.squared_distances
        B = InnerProducts(dissimilarities, squares)
        top, found = _decompose(B, k, tol)
    worst = float(top.residuals.max())
    if worst > _TOL * max(abs(float(top.values[0])), abs(top.smallest_value)):
        sentence = f"an eigenvector did not converge: its residual is {worst:.2g}, and the largest eigenvalue {top.values[0]:.4g}."
        warnings.append(Verdict("TZ501", sentence))
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
    embedding = extension.offsets - sums[:, :k]
    if squares.off_diagonal:
        embedding += squares.off_diagonal * directions.T
        embedding = embedding[dissimilarities.points.first_occurrences()]
    total = B.eigenvalue_sum(means)
    share = NegativeShare.exact(found) if found is not None else NegativeShare.estimate(top.quadratures, B.n, total)
    return ClassicalSolution(
        extension, embedding, values, top.residuals, total, top.smallest_value, share, constant, tuple(warnings)
    )


def _zero_rounding(values: Floats, smallest_eigenvalue: float) -> Floats:
    floor = _EIGENVALUE_ROUNDING * max(abs(float(values[0])), abs(smallest_eigenvalue))
    return np.where(np.abs(values) > floor, values, 0.0)


def _decompose(B: InnerProducts, k: int, tol: float) -> tuple[LeadingEigenpairs, Floats | None]:
    """Return the leading eigenpairs, and all eigenvalues after a dense decomposition, else None."""
    if B.n > _MAX_DENSE_ROWS and _DENSE_COMPONENT_RATIO * k <= B.n:
        return leading_eigenpairs(B, B.n, k, tol=tol), None
    fewer = f"Ask for at most {B.n // _DENSE_COMPONENT_RATIO:,} coordinates."
    check_memory(
        8.0 * _DENSE_COPIES * B.n**2,
        f"The decomposition of {B.n:,} x {B.n:,} inner products",
        fewer if B.n > _MAX_DENSE_ROWS else "Pass fewer rows.",
    )
    dense = B.to_dense()
    unit = power_of_two(float(np.abs(dense).max()))
    dense /= unit
    found, vectors = linalg.eigh(dense)
    found, vectors = found[::-1], vectors[:, ::-1][:, :k]
    residuals = np.linalg.norm(dense @ vectors - vectors * found[:k], axis=0)
    return LeadingEigenpairs(found[:k] * unit, vectors.T, residuals * unit, float(found[-1]) * unit), found * unit


@dataclass(frozen=True)
class AdditiveConstant:
    """An additive constant, and the squared distances with it.

    The residual |B v| for the unit vector v of the smallest eigenvalue, with B of the corrected distances, should be 0; it is 0
    after a dense decomposition.
    """

    value: float
    residual: float
    tolerance: float
    squared_distances: SquaredDistances


def _lingoes_constant(
    dissimilarities: Dissimilarities, B: InnerProducts, dense: bool, smallest_eigenvalue: float
) -> AdditiveConstant:
    """Return the smallest c >= 0 that makes d^2 + 2 c Euclidean: minus the smallest eigenvalue of B (Lingoes 1971)."""
    value, residual = -smallest_eigenvalue, 0.0
    if not dense:
        found = leading_eigenpairs(
            lambda X: -B(X), B.n, 1, tol=_CONSTANT_TOL, floor=_EIGENVALUE_ROUNDING, max_vectors=_basis_size(B.n)
        )
        value, residual = float(found.values[0]), float(found.residuals[0])
    corrected = SquaredDistances(dissimilarities.quadratic, dissimilarities.linear, 2.0 * value)
    return AdditiveConstant(value, residual, _CONSTANT_TOL * value, corrected)


def _cailliez_constant(
    dissimilarities: Dissimilarities, B: InnerProducts, dense: bool, smallest_eigenvalue: float
) -> AdditiveConstant:
    """Return the smallest c >= 0 such that d + c' is Euclidean for all c' >= c (Cailliez 1983).

    It is the largest real c for which some centred unit vector v satisfies v' B v + 2 c v' A v + c^2 / 2 = 0, with A computed from
    distances as B is from squared distances: the largest real eigenvalue of [[0, 2 B], [-I, -4 A]].
    """
    A = InnerProducts(dissimilarities, SquaredDistances(0.0, 1.0, uses_distances=True))
    tol = _CONSTANT_TOL * abs(smallest_eigenvalue)
    value, residual = (_largest_root(B.to_dense(), A.to_dense()), 0.0) if dense else _cailliez_by_krylov(B, A, tol)
    # (d + c)^2 off the diagonal is d^2 + 2 c d, which is 0 on it, and c^2 more.
    corrected = SquaredDistances(1.0, 2.0 * value, value**2, uses_distances=True)
    return AdditiveConstant(value, residual, tol, corrected)


def _basis_size(n: int) -> int:
    """Return the size of the basis: a larger one needs fewer products; n / 10 vectors use a tenth of the memory of B."""
    return min(max(n // 10, 12 * _BLOCK_SIZE), 80 * _BLOCK_SIZE)


def _largest_root(B: Floats, A: Floats) -> float:
    n = len(B)
    linear = np.block([[np.zeros((n, n)), 2.0 * B], [-np.eye(n), -4.0 * A]])
    found = linalg.eigvals(linear)
    real = found.real[np.abs(found.imag) <= _IMAGINARY_TOLERANCE * np.abs(found)]
    return max(float(real.max(initial=0.0)), 0.0)


def _cailliez_by_krylov(B: InnerProducts, A: InnerProducts, tol: float) -> tuple[float, float]:
    """Return the constant and its residual, from a subspace that is extended by the residuals of the smallest eigenpairs.

    The larger root c of v' B v + 2 c v' A v + c^2 / 2 is maximal for the null vector v of the corrected B. The maximum over a
    subspace grows with the subspace, and its error is the square of the error of the vector.
    """
    basis_size = _basis_size(B.n)
    space = Subspace(B.n, basis_size + _BLOCK_SIZE, B, A)
    new = random_orthonormal(B.n, _BLOCK_SIZE)
    new = orthonormalize(new - new.mean(axis=1, keepdims=True))
    constant, residual = 0.0, np.inf
    for _ in range(_MAX_PRODUCTS):
        space.add(new)
        of_squares, of_distances = space.projected(0), space.projected(1)
        if space.size <= 8 * _BLOCK_SIZE:
            # Global search while the subspace is small; later only local refinement.
            constant = max(constant, _largest_root(of_squares, of_distances))
        constant, values, Y = _refine_root(of_squares, of_distances, constant)
        least = Y[:, :_BLOCK_SIZE].T
        vectors = least @ space.basis
        images = least @ space.images_of(0) + 2 * constant * (least @ space.images_of(1)) + constant**2 / 2 * vectors
        residual = float(np.linalg.norm(images[0]))
        if residual <= tol:
            break
        new = space.orthogonal_part(images - values[:_BLOCK_SIZE, None] * vectors)
        if not len(new):
            break
        if space.size + len(new) > space.capacity:
            space.restrict_to(Y[:, : basis_size // 2])
    return constant, residual


def _refine_root(of_squares: Floats, of_distances: Floats, constant: float) -> tuple[float, Floats, Floats]:
    """Refine the constant within a subspace; also return the eigenpairs of the corrected matrix there, ascending."""
    for _ in range(50):
        values, Y = linalg.eigh(of_squares + 2 * constant * of_distances + constant**2 / 2 * np.eye(len(of_squares)))
        v = Y[:, 0]
        b, b_1 = float(v @ of_squares @ v), float(v @ of_distances @ v)
        if 4 * b_1**2 < 2 * b:
            break
        raised = -2 * b_1 + np.sqrt(4 * b_1**2 - 2 * b)
        if raised <= constant * (1 + 1e-13):
            break
        constant = raised
    return constant, values, Y


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

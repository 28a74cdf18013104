"""Classical multidimensional scaling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy import linalg
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from tamiz import parallel
from tamiz.exceptions import DataError
from tamiz.kernels.projection import project
from tamiz.reduction.additive_constant import CORRECTIONS
from tamiz.reduction.base import MapFacts, Reducer
from tamiz.reduction.dissimilarities import NAMES, Dissimilarities, read
from tamiz.reduction.inner_products import InnerProducts, Squares, along
from tamiz.reduction.krylov import Leading, leading
from tamiz.reduction.negative_share import ROUNDING, NegativeShare
from tamiz.sources.features import compare, remember
from tamiz.sources.schema import Schema
from tamiz.statistics.base import Floats
from tamiz.statistics.signs import signs
from tamiz.validation import check_choice, check_integer, check_memory
from tamiz.warn import tell

if TYPE_CHECKING:
    from tamiz.graphs.graph import Graph

# Up to so many rows the whole matrix is decomposed: all eigenvalues are known then.
_WHOLE = 500
# Residuals, next to the largest eigenvalue, at which the search ends: eigenvalues are then right to their squares.
_TOL = 1e-6


class ClassicalMDS(Reducer):
    """Points whose inner products are nearest to those that the distances of the rows stand for (principal coordinates).

    .. math:: B = -\\tfrac12 C D^{(2)} C

    with the squared distances D^(2) and the centring C; the coordinates are its leading eigenvectors times the roots of their
    eigenvalues.

    Parameters
    ----------
    n_components : int, default=2
        Number of coordinates.
    dissimilarity : {"euclidean", "precomputed", "similarity", "gower"}, default="euclidean"
        What rows are apart by: their Euclidean distance (categories are indicators divided by the square root of their share),
        the distances that X holds, those that the similarities in X stand for (d_ij^2 = s_ii + s_jj - 2 s_ij, so that B = C S C),
        or Gower's distance of mixed columns with gaps.
    correction : {None, "lingoes", "cailliez"}, default=None
        What is done to distances that are not Euclidean: nothing, or the least constant c that makes them so is added to every one
        but those of a row and itself, as d^2 + 2 c (Lingoes) or as d + c (Cailliez).

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Columns of mean 0, orthogonal, their sums of squares the eigenvalues, the largest entry of each positive; 0 where there is
        no eigenvalue above 0. Under a correction rows that are equal share the place of the first of them.
    eigenvalues_ : ndarray of shape (n_components,)
        The largest ones of B, descending, in the square of the unit of the distances; with a correction of the corrected ones.
    residuals_ : ndarray of shape (n_components,)
        |B v - lambda v| for unit vectors v.
    total_ : float
        The sum of all eigenvalues of B, negative ones with their sign.
    least_ : float
        The smallest eigenvalue of B, or the smallest that was seen where not all were computed. Below 0 the distances are no
        Euclidean ones.
    negative_share_ : float
        The sum of the negative eigenvalues over the sum of all, both without signs, in [0, 1].
    negative_share_error_ : float
        Its standard error; 0 where all eigenvalues were computed, up to 500 rows or at Euclidean distances.
    constant_ : float
        The constant c of the correction, in the unit of the distances (Cailliez) or of their squares (Lingoes); 0 where the
        distances are Euclidean without, and with no correction.

    Raises
    ------
    DataError
        When the distances are not square, symmetric, finite, at least 0 and 0 on the diagonal, or the similarities not square,
        symmetric, finite and at most the mean of those of their two rows to themselves.
    ValueError
        When there are not more rows than coordinates.
    MemoryError
        When a copy is needed and does not fit.

    Notes
    -----
    Cost O(n p^2) for n rows of p < n coordinates at Euclidean distances; O(n^3) for up to 500 rows of other distances, O(n^2) a
    reading of more, of which it takes seven to twelve. Distances and similarities given as float64 or float32 are read where they
    lie; beside them memory is O(n). Eigenvectors are sought until their residuals are below 1e-6 of the largest eigenvalue:
    eigenvalues are then right to 1e-12 of it over the gap to the next one. Above 500 rows the share of negative eigenvalues is
    estimated, by Gauss quadrature from the search's random start, and a constant takes one (Lingoes) or two readings a step, tens
    of steps, until its residual is below 1e-5 of the least eigenvalue; a warning tells where it does not come to that.

    A new row is placed by Gower's formula, from its distances to the rows of fit. Its similarity to itself is not needed, and under
    Lingoes's correction neither; Cailliez's can place rows by similarities only where they are equal to rows of fit.

    References
    ----------
    Torgerson (1952), Multidimensional scaling: I. Theory and method, Psychometrika 17; Gower (1966), Some distance properties of
    latent root and vector methods used in multivariate analysis, Biometrika 53; Gower (1968), Adding a point to vector diagrams in
    multivariate analysis, Biometrika 55; Lingoes (1971), Some boundary conditions for a monotone analysis of symmetric matrices,
    Psychometrika 36; Cailliez (1983), The analytical solution of the additive constant problem, Psychometrika 48.

    Examples
    --------
    >>> from tamiz.reduction import ClassicalMDS
    >>> distances = [[0.0, 3.0, 5.0], [3.0, 0.0, 4.0], [5.0, 4.0, 0.0]]
    >>> ClassicalMDS(2, dissimilarity="precomputed").fit(distances).eigenvalues_.round(4)
    array([12.9641,  3.7025])

    From similarities, here the inner products of three points on a line:

    >>> similarities = [[1.0, 2.0, 4.0], [2.0, 4.0, 8.0], [4.0, 8.0, 16.0]]
    >>> ClassicalMDS(1, dissimilarity="similarity").fit(similarities).embedding_.ravel().round(4)
    array([-1.3333, -0.3333,  1.6667])

    Two rows at 3 from each other that are both at 1 from a third are in no space; with 1 more to each distance they lie on a line:

    >>> distances = [[0.0, 1.0, 3.0], [1.0, 0.0, 1.0], [3.0, 1.0, 0.0]]
    >>> mapped = ClassicalMDS(1, dissimilarity="precomputed", correction="cailliez").fit(distances)
    >>> round(mapped.constant_, 6), mapped.embedding_.ravel().round(4) + 0.0
    (1.0, array([ 2.,  0., -2.]))
    """

    def __init__(
        self, n_components: int = 2, *, dissimilarity: str = "euclidean", correction: str | None = None
    ) -> None:
        self.n_components = n_components
        self.dissimilarity = dissimilarity
        self.correction = correction

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.dissimilarity in ("precomputed", "similarity")
        tags.input_tags.allow_nan = not tags.input_tags.pairwise
        tags.input_tags.sparse = self.dissimilarity == "euclidean"
        return tags

    @classmethod
    def for_study(cls, schema: Schema, graph: Graph | None = None) -> Self | None:  # noqa: ARG003
        """Return None: at the Euclidean distances of a table's rows this is PCA."""
        return None

    def facts(self) -> MapFacts:
        """Return the eigenvalues and what they leave out."""
        notes = []
        if self.constant_:
            added = (
                f"{self.constant_:.6g} was added to every distance, by Cailliez's rule"
                if self.correction == "cailliez"
                else f"{2 * self.constant_:.6g} was added to every squared distance, by Lingoes's rule"
            )
            notes.append(f"{added}, so that the distances are Euclidean.")
        note = "The sum of squares along each coordinate."
        if self._is_beyond_rounding():
            note += f" The distances are not Euclidean: {self._share()} of the sum of absolute eigenvalues is negative."
        return MapFacts(
            [f"Coordinate {k + 1}" for k in range(self.embedding_.shape[1])],
            notes,
            nearness="Points near each other are rows at small distances.",
            spectrum_label="Eigenvalue",
            spectrum=self.eigenvalues_.tolist(),
            spectrum_note=note,
            residuals=self.residuals_.tolist(),
        )

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Find the coordinates.

        Parameters
        ----------
        X : array, data frame or Source
            Rows, their distances or their similarities.
        y : ignored
        """
        metric = check_choice("dissimilarity", self.dissimilarity, NAMES)
        if self.correction is not None:
            check_choice("correction, where it is not None,", self.correction, tuple(CORRECTIONS))
        k = check_integer("n_components", self.n_components, low=1)
        with parallel.session():
            rows, self._reading = read(X, metric)
            n = rows.points.n_samples
            if k >= n:
                raise ValueError(f"n_components must be below the number of rows = {n:,}, got {k:,}.")
            self._rows, self._squares = rows, Squares.of(rows)
            self.constant_ = 0.0
            values = rows.columns()
            if values is not None:
                self._solve_columns(values, k)
            else:
                self._solve_rows(rows, k)
        remember(self, X)
        self._tell()
        return self

    def _is_beyond_rounding(self) -> bool:
        """Return whether there is an eigenvalue below 0 that is not for the rounding of the distances."""
        return self.least_ < -self._rows.rounding * float(self.eigenvalues_[0])

    def _tell(self) -> None:
        """Warn of what the coordinates do not show."""
        k, largest = len(self.eigenvalues_), float(self.eigenvalues_[0])
        positive = int((self.eigenvalues_ > 0).sum())
        if positive < k:
            ones = "eigenvalue is" if positive == 1 else "eigenvalues are"
            tell([f"ClassicalMDS: {positive:,} {ones} above 0, and the other {k - positive:,} coordinates are 0."])
        if self.correction is None and self._is_beyond_rounding():
            tell(
                [
                    f"ClassicalMDS: the distances are not Euclidean: {self._share()} of the sum of absolute eigenvalues is "
                    f"negative, the least {self.least_:.4g} beside the largest {largest:.4g}, and no coordinate shows it. "
                    "correction='cailliez' or correction='lingoes' makes them Euclidean."
                ]
            )

    def _share(self) -> str:
        exact = f"{100 * self.negative_share_:.3g} %"
        return (
            exact if not self.negative_share_error_ else f"about {exact} (+- {100 * self.negative_share_error_:.1g} %)"
        )

    def _solve_columns(self, values: Floats, k: int) -> None:
        """Decompose p x p: the cross products of centred columns have the eigenvalues of B that are not 0."""
        self._centre: Floats = values.mean(axis=0)
        check_memory(16.0 * values.size, f"The centred copy of {len(values):,} rows", "Keep fewer columns first.")
        centred = values - self._centre
        found, vectors = linalg.eigh(centred.T @ centred)
        found, vectors = found[::-1], vectors[:, ::-1]
        m = min(k, len(found))
        self._hold(np.concatenate([found[:m], np.zeros(k - m)]), 0.0)
        self.total_, self.negative_share_, self.negative_share_error_ = float(found.sum()), 0.0, 0.0
        directions = np.zeros((k, values.shape[1]))
        directions[:m] = vectors[:, :m].T
        images = centred @ directions.T
        images[:, self.eigenvalues_ <= 0] = 0.0
        self._directions: Floats = directions * signs(images)[:, None] * (self.eigenvalues_ > 0)[:, None]
        self._offsets: Floats | None = None
        self.residuals_ = np.linalg.norm(centred @ (centred.T @ images) - images * self.eigenvalues_, axis=0)
        lengths = np.linalg.norm(images, axis=0)
        self.residuals_ = np.divide(self.residuals_, lengths, out=np.zeros(k), where=lengths > 0)
        self.embedding_ = self._placed_by_columns(values)

    def _solve_rows(self, rows: Dissimilarities, k: int) -> None:
        """Decompose n x n, by products alone where that is large."""
        B = InnerProducts(rows, self._squares)
        top, found = _decomposed(B, k)
        if self.correction is not None and top.least < -rows.rounding * top.values[0]:
            constant = CORRECTIONS[self.correction](rows, B, B.n <= _WHOLE, top.least)
            if constant.residual > constant.wanted:
                tell(
                    [
                        f"ClassicalMDS: the constant {constant.value:.6g} is not exact: an eigenvector has the residual "
                        f"{constant.residual:.2g}, and should have {constant.wanted:.2g}."
                    ]
                )
            self.constant_, self._squares = constant.value, constant.squares
            B = InnerProducts(rows, self._squares)
            top, found = _decomposed(B, k)
        worst = float(top.residuals.max())
        if worst > _TOL * max(abs(float(top.values[0])), abs(top.least)):
            tell(
                [
                    f"ClassicalMDS: an eigenvector has the residual {worst:.2g} beside the eigenvalue {top.values[0]:.4g}."
                ]
            )
        self._hold(top.values, top.least)
        self.residuals_ = top.residuals
        # y = 1/2 L^-1 Z' (r - d^2) with Z = V L^1/2 and r the means of d^2: Gower's formula, which gives every row of fit its own
        # place. What is a number of the new row's own in d^2, such as its similarity to itself, drops out: columns of Z sum to 0.
        roots = np.sqrt(np.maximum(self.eigenvalues_, 0.0))
        scale = np.divide(0.5, roots, out=np.zeros(k), where=roots > 0)
        self._directions = np.ascontiguousarray(top.vectors * (signs(top.vectors.T) * scale)[:, None])
        # A vector of ones among the directions: the means take no reading of their own.
        sums = along(rows, self._squares, rows.points, np.vstack([self._directions, np.ones(B.n)]))
        means = sums[:, k] / B.n
        self._offsets = self._directions @ means
        same = rows.points.first_equal() if self._squares.step else None
        self.embedding_ = self._placed_by_sums(sums[:, :k], np.arange(B.n), same)
        self.total_ = B.total(means)
        share = NegativeShare.of(found) if found is not None else NegativeShare.estimated(top.seen, B.n, self.total_)
        self.negative_share_, self.negative_share_error_ = share.value, share.error

    def _hold(self, values: Floats, least: float) -> None:
        floor = ROUNDING * max(abs(float(values[0])), abs(least))
        self.eigenvalues_: Floats = np.where(np.abs(values) > floor, values, 0.0)
        self.least_ = least

    def _placed_by_columns(self, values: Floats) -> Floats:
        """Return the places of rows of numbers, each by itself."""
        out = np.empty((len(values), len(self._directions)))
        project(np.ascontiguousarray(values - self._centre), self._directions, out)
        return out

    def _placed_by_sums(self, sums: Floats, equal: Any, points: Any) -> Floats:
        """Return the places of rows whose squared distances along the directions are known.

        Parameters
        ----------
        sums : ndarray of shape (n, k)
        equal, points : ndarray of int, or None
            Rows that are equal to rows of fit, and the lowest such row of each; read under a correction only.
        """
        assert self._offsets is not None
        out = self._offsets - sums
        if self._squares.step:
            # The constant is not added to the distance of a row and itself: without it a row of fit would not get its place.
            out[equal] += self._squares.step * self._directions[:, points].T
        return out

    def fit_transform(self, X: Any, y: Any = None) -> Floats:
        """Fit and return the coordinates of the rows."""
        return self.fit(X, y).embedding_

    def transform(self, X: Any) -> Floats:
        """Return the places of new rows, each by itself: of rows like those of fit, or of their distances to all of these.

        Parameters
        ----------
        X : array, data frame or Source
            New rows; with "precomputed" and "similarity" of shape (n_new, n_samples).
        """
        check_is_fitted(self)
        compare(self, X)
        with parallel.session():
            rows = self._rows
            queries = rows.points.like(self._reading.rows(X))
            if queries.n_samples == 0:
                raise DataError("X has 0 samples (rows); there is nothing to place.")
            if self._offsets is None:
                return self._placed_by_columns(queries.euclidean())
            equal = points = None
            if self._squares.step:
                equal, points = rows.points.equal_to(queries)
                queries = rows.known(queries, equal, points)
            sums = along(rows, self._squares, queries, self._directions)
            return self._placed_by_sums(sums, equal, points)


def _decomposed(B: InnerProducts, k: int) -> tuple[Leading, Floats | None]:
    """Return the leading pairs, and all eigenvalues where there are few rows."""
    if B.n > _WHOLE:
        return leading(B, B.n, k, tol=_TOL), None
    dense = B.dense()
    found, vectors = linalg.eigh(dense)
    found, vectors = found[::-1], vectors[:, ::-1][:, :k]
    residuals = np.linalg.norm(dense @ vectors - vectors * found[:k], axis=0)
    return Leading(found[:k], vectors.T, residuals, float(found[-1])), found

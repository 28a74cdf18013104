"""Classical multidimensional scaling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy import linalg
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from tamiz import parallel
from tamiz.exceptions import DataError
from tamiz.graphs.builder import read_points
from tamiz.graphs.points import Points
from tamiz.kernels.projection import project
from tamiz.kernels.squares import squares_times
from tamiz.reduction.base import MapFacts, Reducer
from tamiz.reduction.krylov import Leading, leading
from tamiz.sources.features import compare, remember
from tamiz.sources.schema import Schema
from tamiz.statistics.base import Floats
from tamiz.statistics.signs import signs
from tamiz.validation import check_choice, check_integer, check_memory
from tamiz.warn import tell

if TYPE_CHECKING:
    from tamiz.graphs.graph import Graph

DISSIMILARITIES = ("euclidean", "precomputed", "gower")

# Up to so many rows the whole matrix is decomposed: all eigenvalues are known then.
_WHOLE = 500
# Residuals, next to the largest eigenvalue, at which the search ends: eigenvalues are then right to their squares.
_TOL = 1e-7
# Distances of one piece of work.
_PIECE = 2**18
# An eigenvalue below this share of the largest is 0 to rounding.
_ROUNDING = 1e-12


class ClassicalMDS(Reducer):
    """Points whose inner products are nearest to those that the distances of the rows stand for (principal coordinates).

    .. math:: B = -\\tfrac12 C D^{(2)} C

    with the squared distances D^(2) and the centring C; the coordinates are its leading eigenvectors times the roots of their
    eigenvalues.

    Parameters
    ----------
    n_components : int, default=2
        Number of coordinates.
    dissimilarity : {"euclidean", "precomputed", "gower"}, default="euclidean"
        What rows are apart by: their Euclidean distance (categories are indicators divided by the square root of their share),
        the distances that X holds, or Gower's distance of mixed columns with gaps.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Columns of mean 0, orthogonal, their sums of squares the eigenvalues, the largest entry of each positive; 0 where there is
        no eigenvalue above 0.
    eigenvalues_ : ndarray of shape (n_components,)
        The largest ones of B, descending, in the square of the unit of the distances.
    residuals_ : ndarray of shape (n_components,)
        |B v - lambda v| for unit vectors v.
    total_ : float
        The sum of all eigenvalues of B, negative ones with their sign.
    least_ : float
        The smallest eigenvalue of B, or the smallest that was seen where not all were computed. Below 0 the distances are no
        Euclidean ones.

    Raises
    ------
    DataError
        When the distances are not square, symmetric, finite, at least 0 and 0 on the diagonal.
    ValueError
        When there are not more rows than coordinates.

    Notes
    -----
    Cost O(n p^2) for n rows of p < n coordinates at Euclidean distances; O(n^2) a reading of other distances, of which it takes
    five to ten. Distances given as float64 or float32 are read where they lie. A new row is placed by Gower's formula, from its
    distances to the rows of fit.

    References
    ----------
    Torgerson (1952), Multidimensional scaling: I. Theory and method, Psychometrika 17; Gower (1966), Some distance properties of
    latent root and vector methods used in multivariate analysis, Biometrika 53; Gower (1968), Adding a point to vector diagrams in
    multivariate analysis, Biometrika 55.

    Examples
    --------
    >>> from tamiz.reduction import ClassicalMDS
    >>> distances = [[0.0, 3.0, 5.0], [3.0, 0.0, 4.0], [5.0, 4.0, 0.0]]
    >>> ClassicalMDS(2, dissimilarity="precomputed").fit(distances).eigenvalues_.round(4)
    array([12.9641,  3.7025])
    """

    def __init__(self, n_components: int = 2, *, dissimilarity: str = "euclidean") -> None:
        self.n_components = n_components
        self.dissimilarity = dissimilarity

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.dissimilarity == "precomputed"
        tags.input_tags.sparse = self.dissimilarity == "euclidean"
        return tags

    @classmethod
    def for_study(cls, schema: Schema, graph: Graph | None = None) -> Self | None:  # noqa: ARG003
        """Return None: at the Euclidean distances of a table's rows this is PCA."""
        return None

    def facts(self) -> MapFacts:
        """Return the eigenvalues and what they leave out."""
        return MapFacts(
            [f"Coordinate {k + 1}" for k in range(self.embedding_.shape[1])],
            nearness="Points near each other are rows at small distances.",
            spectrum_label="Eigenvalue",
            spectrum=self.eigenvalues_.tolist(),
            spectrum_note="The sum of squares along each coordinate.",
            residuals=self.residuals_.tolist(),
        )

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Find the coordinates.

        Parameters
        ----------
        X : array, data frame or Source
            Rows, or their distances.
        y : ignored
        """
        metric = check_choice("dissimilarity", self.dissimilarity, DISSIMILARITIES)
        k = check_integer("n_components", self.n_components, low=1)
        with parallel.session():
            points, self._reading = read_points(X, metric, fill=True)
            n = points.n_samples
            if k >= n:
                raise ValueError(f"n_components must be below the number of rows = {n:,}, got {k:,}.")
            self._points = points
            values = points.euclidean()
            if values is not None and values.shape[1] < n:
                self._solve_columns(values, k)
            else:
                self._solve_rows(points, k)
            self.embedding_ = self._placed(points)
        remember(self, X)
        positive = int((self.eigenvalues_ > 0).sum())
        if positive < k:
            ones = "eigenvalue is" if positive == 1 else "eigenvalues are"
            tell([f"ClassicalMDS: {positive:,} {ones} above 0, and the other {k - positive:,} coordinates are 0."])
        return self

    def _solve_columns(self, values: Floats, k: int) -> None:
        """Decompose p x p: the cross products of centred columns have the eigenvalues of B that are not 0."""
        self._centre: Floats = values.mean(axis=0)
        check_memory(16.0 * values.size, f"The centred copy of {len(values):,} rows", "Keep fewer columns first.")
        centred = values - self._centre
        found, vectors = linalg.eigh(centred.T @ centred)
        found, vectors = found[::-1], vectors[:, ::-1]
        m = min(k, len(found))
        self._hold(np.concatenate([found[:m], np.zeros(k - m)]), float(found.sum()), 0.0)
        directions = np.zeros((k, values.shape[1]))
        directions[:m] = vectors[:, :m].T
        images = centred @ directions.T
        images[:, self.eigenvalues_ <= 0] = 0.0
        self._directions: Floats = directions * signs(images)[:, None] * (self.eigenvalues_ > 0)[:, None]
        self._rows_mean: Floats | None = None
        self.residuals_ = np.linalg.norm(centred @ (centred.T @ images) - images * self.eigenvalues_, axis=0)
        lengths = np.linalg.norm(images, axis=0)
        self.residuals_ = np.divide(self.residuals_, lengths, out=np.zeros(k), where=lengths > 0)

    def _solve_rows(self, points: Points, k: int) -> None:
        """Decompose n x n, by products alone where that is large."""
        n = points.n_samples
        means = self._products(points, np.ones((n, 1)))[:, 0] / n

        def product(X: Floats) -> Floats:
            Y = -0.5 * self._products(points, X - X.mean(axis=0))
            return Y - Y.mean(axis=0)

        if n <= _WHOLE:
            B = product(np.eye(n))
            found, vectors = linalg.eigh((B + B.T) / 2)
            found, vectors = found[::-1], vectors[:, ::-1][:, :k]
            residuals = np.linalg.norm(B @ vectors - vectors * found[:k], axis=0)
            top = Leading(found[:k], vectors, residuals, float(found[-1]))
        else:
            top = leading(product, n, k, tol=_TOL)
            worst = float(top.residuals.max())
            if worst > _TOL * max(abs(float(top.values[0])), abs(top.least)):
                tell(
                    [
                        f"ClassicalMDS: an eigenvector has the residual {worst:.2g} beside the eigenvalue {top.values[0]:.4g}."
                    ]
                )
        self._hold(top.values, n * float(means.mean()) / 2, top.least)
        self.residuals_ = top.residuals
        # y = 1/2 L^-1 Z' (r - d^2) with Z = V L^1/2: Gower's formula, which gives every row of fit its own place.
        scale = np.divide(0.5, np.sqrt(self.eigenvalues_), out=np.zeros(k), where=self.eigenvalues_ > 0)
        self._directions = np.ascontiguousarray((top.vectors * signs(top.vectors) * scale).T)
        self._rows_mean = means

    def _hold(self, values: Floats, total: float, least: float) -> None:
        floor = _ROUNDING * max(abs(float(values[0])), abs(least))
        self.eigenvalues_: Floats = np.where(np.abs(values) > floor, values, 0.0)
        self.total_, self.least_ = total, least

    def _products(self, points: Points, X: Floats) -> Floats:
        """Return the squared distances times X; the squares are never written down."""
        n, width = X.shape
        columns = np.zeros((-(-width // 8) * 8, n))
        columns[:width] = X.T
        out = np.empty(columns.shape)

        def piece(span: tuple[int, int]) -> None:
            D = points.block(points, *span)
            some = np.empty((8, len(D)))
            for start in range(0, len(columns), 8):
                squares_times(D, columns[start : start + 8], some)
                out[start : start + 8, slice(*span)] = some

        for _ in parallel.map_blocks(piece, parallel.spans(n, max(2, _PIECE // n))):
            pass
        return np.ascontiguousarray(out[:width].T)

    def _placed(self, queries: Points) -> Floats:
        """Return the places of rows, each by itself."""
        out = np.empty((queries.n_samples, len(self._directions)))
        if self._rows_mean is None:
            values = queries.euclidean()
            assert values is not None
            project(np.ascontiguousarray(values - self._centre), self._directions, out)
            return out
        means = self._rows_mean

        def piece(span: tuple[int, int]) -> None:
            D = self._points.block(queries, *span)
            project(np.ascontiguousarray(means - D * D), self._directions, out[slice(*span)])

        for _ in parallel.map_blocks(piece, parallel.spans(len(out), max(1, _PIECE // self._points.n_samples))):
            pass
        return out

    def fit_transform(self, X: Any, y: Any = None) -> Floats:
        """Fit and return the coordinates of the rows."""
        return self.fit(X, y).embedding_

    def transform(self, X: Any) -> Floats:
        """Return the places of new rows, each by itself: of rows like those of fit, or of their distances to all of these.

        Parameters
        ----------
        X : array, data frame or Source
            New rows; with "precomputed", of shape (n_new, n_samples).
        """
        check_is_fitted(self)
        compare(self, X)
        with parallel.session():
            queries = self._points.like(self._reading.rows(X))
            if queries.n_samples == 0:
                raise DataError("X has 0 samples (rows); there is nothing to place.")
            return self._placed(queries)

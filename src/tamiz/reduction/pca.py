"""Principal component analysis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn.utils.validation import check_array, check_is_fitted

from tamiz import parallel
from tamiz.kernels.projection import project
from tamiz.reduction.base import MapFacts, Reducer
from tamiz.sources.base import Source
from tamiz.sources.conform import conform
from tamiz.sources.encoding import Encoding
from tamiz.sources.features import compare, remember
from tamiz.sources.open import as_source
from tamiz.sources.schema import Schema
from tamiz.statistics.base import Block, Floats
from tamiz.statistics.cross_products import SLAB_ROWS, CrossProducts
from tamiz.statistics.signs import signs
from tamiz.validation import check_integer, check_memory
from tamiz.warn import tell

if TYPE_CHECKING:
    from tamiz.graphs.graph import Graph


class PCA(Reducer):
    """Directions of largest variance, from the cross products of the columns.

    Parameters
    ----------
    n_components : int or None, default=2
        Number of directions; None is all of them, min(n_samples, n_coordinates).
    standardize : bool, default=False
        Divide numeric columns by their standard deviation. Centred they are always.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_coordinates)
        Unit vectors, the largest entry of each positive.
    explained_variance_ : ndarray of shape (n_components,)
        Variance along each, with n - 1.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Share of the total variance of all coordinates, kept or not.
    loadings_ : ndarray of shape (n_coordinates, n_components)
        Components times the standard deviation along them.
    mean_, scale_ : ndarray of shape (n_coordinates,)
        A coordinate is (x - mean) / scale.
    coordinate_names_ : list of str
        Numeric columns by name, then "column=level" for the categories.
    embedding_ : ndarray of shape (n_samples, n_components)
    n_components_ : int

    Raises
    ------
    DataError
        When no column can be used or there is one row only.
    MemoryError
        When the cross products do not fit.

    Notes
    -----
    Cost O(n q^2 + q^3) for q coordinates, in memory O(q^2) beyond the rows: the rows are read block by block, twice, so
    the table may be larger than memory. Categories become indicators divided by the square root of their share. A missing value
    counts as its column's mean, and a warning says how many did.

    References
    ----------
    Pearson (1901), On lines and planes of closest fit to systems of points in space, Philosophical Magazine 2; Jolliffe (2002),
    Principal Component Analysis.

    Examples
    --------
    >>> from tamiz.reduction import PCA
    >>> rows = [[2.5, 2.4], [0.5, 0.7], [2.2, 2.9], [1.9, 2.2], [3.1, 3.0], [2.3, 2.7], [2, 1.6], [1, 1.1], [1.5, 1.6], [1.1, 0.9]]
    >>> PCA(2).fit(rows).explained_variance_.round(8)
    array([1.28402771, 0.0490834 ])
    """

    def __init__(self, n_components: int | None = 2, *, standardize: bool = False) -> None:
        self.n_components = n_components
        self.standardize = standardize

    @classmethod
    def for_study(cls, schema: Schema, graph: Graph | None = None) -> Self:  # noqa: ARG003 - lines need no graph
        """Return the ten leading directions of the standardised columns."""
        return cls(min(10, len(schema.used), schema.n_rows), standardize=True)

    def facts(self) -> MapFacts:
        """Return the shares of variance and the loadings."""
        notes = ["Numeric columns divided by their standard deviation."] if self.standardize else []
        if self._encoding.levels:
            notes.append("Every category is a column of 0 and 1, divided by the square root of its share.")
        if self._encoding.n_missing:
            values = "missing value counts" if self._encoding.n_missing == 1 else "missing values count"
            notes.append(f"{self._encoding.n_missing:,} {values} as the mean of the column.")
        return MapFacts(
            [f"PC {k + 1}" for k in range(self.n_components_)],
            notes,
            spectrum_label="Share of the total variance",
            spectrum=self.explained_variance_ratio_.tolist(),
            cumulative=np.cumsum(self.explained_variance_ratio_).tolist(),
            loading_names=self.coordinate_names_,
            loadings=self.loadings_.tolist(),
        )

    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None, groups: Any = None) -> Self:  # noqa: ARG002
        """Find the directions.

        Parameters
        ----------
        X : array, data frame or Source
        y : ignored
        sample_weight : array of shape (n_samples,), default=None
            A weight of 2 counts as the row twice.
        groups : ignored
        """
        with parallel.session():
            source = as_source(X, None, sample_weight)
            self._schema = source.schema
            self._encoding = encoding = Encoding.fit(source, standardize=self.standardize)
            self.n_components_ = self._n_components(source.schema.n_rows, len(encoding.names))
            check_memory(
                8.0 * source.schema.n_rows * self.n_components_,
                f"{source.schema.n_rows:,} points of {self.n_components_:,} components",
                "Ask for fewer components.",
            )
            self._decompose(source)
            self.embedding_ = self._project(source)
        remember(self, X)
        tell(source.schema.left_out)
        if encoding.n_missing:
            values = "missing value was" if encoding.n_missing == 1 else "missing values were"
            tell([f"PCA: {encoding.n_missing:,} {values} given the mean of the column."])
        if not self.explained_variance_.any():
            tell(["PCA: no column varies in what is present, so that every component is 0."])
        return self

    def _n_components(self, n_rows: int, n_coordinates: int) -> int:
        most = min(n_rows, n_coordinates)
        return most if self.n_components is None else check_integer("n_components", self.n_components, low=1, high=most)

    def _decompose(self, source: Source) -> None:
        encoding = self._encoding
        q = len(encoding.names)
        # One for each piece that is under way, and those that the decomposition works on.
        check_memory(
            8.0 * q * q * (2 * parallel.n_threads() + 6),
            f"The cross products of {q:,} coordinates",
            "Keep fewer columns first, with RankSelector.",
        )
        (products,) = source.reduce(CrossProducts(encoding.numeric, encoding.levels, encoding.centre))
        covariance = products.matrix / np.outer(encoding.scale, encoding.scale) / (encoding.total - 1)
        total = float(np.trace(covariance))
        values, vectors = linalg.eigh(covariance, subset_by_index=(q - self.n_components_, q - 1))
        vectors = vectors[:, ::-1].T
        # A direction has no sign of its own, and those of a whole decomposition are exact to nearly all digits.
        self.components_ = vectors * signs(vectors.T, equal=1e-9)[:, None]
        self.explained_variance_ = np.maximum(values[::-1], 0.0)
        self.explained_variance_ratio_ = self.explained_variance_ / total if total > 0 else np.zeros(self.n_components_)
        self.loadings_ = (self.components_ * np.sqrt(self.explained_variance_)[:, None]).T
        self.mean_, self.scale_ = encoding.centre, encoding.scale
        self.coordinate_names_ = encoding.names

    def _project(self, source: Source) -> Floats:
        directions = np.ascontiguousarray(self.components_)

        def along(piece: Block) -> Floats:
            out = np.empty((len(piece.rows), len(directions)))
            project(np.ascontiguousarray(self._encoding.rows(piece)), directions, out)
            return out

        pieces = (piece for block in source.blocks() for piece in block.pieces(SLAB_ROWS))
        return np.concatenate(list(parallel.map_blocks(along, pieces)))

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Floats:
        """Find the directions and return the rows along them."""
        return self.fit(X, y, **fit_params).embedding_

    def transform(self, X: Any) -> Floats:
        """Return new rows along the directions, each row by itself.

        A level that was not there in fit counts as missing, and missing values as the mean.
        """
        check_is_fitted(self)
        compare(self, X)
        with parallel.session():
            return self._project(conform(X, self._schema))

    def inverse_transform(self, X: Any) -> NDArray[np.float64]:
        """Return the coordinates that points along the directions stand for, in the units of the columns.

        Parameters
        ----------
        X : array of shape (n_samples, n_components)

        Returns
        -------
        ndarray of shape (n_samples, n_coordinates)
        """
        check_is_fitted(self)
        points = check_array(X, dtype=np.float64)
        if points.shape[1] != self.n_components_:
            raise ValueError(f"X has {points.shape[1]} columns, but {self.n_components_} components were fitted.")
        return np.asarray(points @ self.components_ * self.scale_ + self.mean_)

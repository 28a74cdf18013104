"""Isomap: classical scaling of the distances along a neighbour graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from tamiz.arrays import Floats, Indices, Masks
from tamiz.graphs.builders import GraphBuilder
from tamiz.graphs.edges import Binary
from tamiz.graphs.graph import Graph
from tamiz.graphs.shortest_paths import Output, ShortestPaths
from tamiz.kernels.matrix_products import project_squares
from tamiz.kernels.shortest_paths import add_distance_moments, distances_by_neighbors
from tamiz.neighbors.base import Neighbors
from tamiz.neighbors.precomputed import PrecomputedDistances
from tamiz.reduction.classical_scaling import (
    GowerExtension,
    NegativeShare,
    format_negative_share,
    scale_distances,
    warn_of_zero_coordinates,
)
from tamiz.reduction.description import MapDescription
from tamiz.reduction.dissimilarities import Dissimilarities
from tamiz.reduction.graph_reducer import DISCONNECTED_CHOICES, SpectralReducer, split_rows
from tamiz.reduction.krylov import power_of_two
from tamiz.runtime import parallel
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.user_warnings import warn_user
from tamiz.runtime.validation import check_choice, check_integer, check_memory
from tamiz.runtime.verdicts import Verdict
from tamiz.storage.invariants import Condition, FloatArray, InstanceOf, IntegerArray, Invariants, ListOf, Number
from tamiz.table.factory import record_features

# Residual norm of eigenvectors, relative to the largest eigenvalue.
_TOL = 1e-11
# Values of one parallel task.
_VALUES_PER_TASK = 2**18
# Directions that a kernel multiplies at a time.
_PROJECTION_WIDTH = 4
# Variances below this share of the mean square are rounding errors.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class GeodesicExtension:
    """The formula of landmark MDS for rows of a graph: coordinates from geodesic distances to landmarks.

    The geodesic distances of the rows of the fit are divided by `unit`, a power of two near the longest edge; their relative error
    in float32 is at most 6e-8.
    """

    geodesics: NDArray[np.float32]
    unit: float
    directions: Floats
    offsets: Floats

    invariants: ClassVar[Invariants] = {
        "geodesics": (
            FloatArray("n", "l", low=0.0, allow_float32=True),
            Condition(lambda it: it.geodesics.dtype == np.float32, "is not of float32"),
        ),
        "unit": Number(0.0),
        "directions": FloatArray("k", "l"),
        "offsets": FloatArray("k"),
    }

    def extend(self, near: Neighbors) -> Floats:
        """Return the coordinates of new rows from their neighbours among the rows of the fit.

        The geodesic distance to a landmark is the least sum of the distance to a neighbour and the neighbour's geodesic distance.
        """

        def read(start: int, stop: int) -> Floats:
            out = np.empty((stop - start, self.geodesics.shape[1]))
            distances_by_neighbors(
                near.indptr, near.indices, near.distances, self.geodesics, self.unit, start, stop, out
            )
            return out

        return self._map_blocks(read, near.n_rows)

    def embed_rows(self) -> Floats:
        def read(start: int, stop: int) -> Floats:
            return self.geodesics[start:stop].astype(np.float64) * self.unit

        return self._map_blocks(read, len(self.geodesics))

    def _map_blocks(self, read: Callable[[int, int], Floats], n: int) -> Floats:
        spans = parallel.block_ranges(n, max(1, _VALUES_PER_TASK // self.geodesics.shape[1]))
        return np.concatenate(list(parallel.map_blocks(lambda span: self._project(read(*span)), spans)))

    def _project(self, distances: Floats) -> Floats:
        """Return the coordinates of rows with these geodesic distances; those of a row do not depend on the others, to the bit."""
        k, n_landmarks = self.directions.shape
        out, sums = np.empty((len(distances), k)), np.empty((_PROJECTION_WIDTH, len(distances)))
        for start, stop in parallel.block_ranges(k, _PROJECTION_WIDTH):
            four = np.zeros((_PROJECTION_WIDTH, n_landmarks))
            four[: stop - start] = self.directions[start:stop]
            project_squares(distances, 1.0, 0.0, four, sums)
            out[:, start:stop] = self.offsets[start:stop] - sums[: stop - start].T
        return out


@dataclass(frozen=True)
class GeodesicScaling:
    """The map of the rows of one component of a graph, with the attributes of `Isomap`."""

    extension: GeodesicExtension
    embedding: Floats
    eigenvalues: Floats
    residual_variances: Floats
    negative_share: NegativeShare
    warnings: tuple[Verdict, ...] = ()

    @classmethod
    def fit(cls, paths: ShortestPaths, rows: Indices, landmarks: Indices, k: int) -> GeodesicScaling:
        """Scale more than k landmarks, some or all of the rows of a component, and map all rows, which ascend."""
        n, n_landmarks = len(rows), len(landmarks)
        if n == 1:
            nothing = np.zeros((0, 1))
            extension = GeodesicExtension(np.zeros((1, 1), dtype=np.float32), 1.0, nothing, nothing[:, 0])
            return cls(extension, nothing.T, nothing[:, 0], nothing[:, 0], NegativeShare(0.0, 0.0, 0.0))
        check_memory(
            4.0 * n * n_landmarks + 8.0 * n_landmarks**2,
            f"The geodesic distances of {n:,} rows and {n_landmarks:,} landmarks",
            "Lower n_landmarks.",
        )
        landmarks = paths.sort(landmarks)
        geodesics, among = np.empty((n, n_landmarks), dtype=np.float32), np.empty((n_landmarks, n_landmarks))
        unit = power_of_two(paths.longest_edge)
        paths.fill(landmarks, Output(rows, geodesics, unit), Output(landmarks, among))
        everything = np.arange(n_landmarks)
        points = PrecomputedDistances.from_state({"distances": among, "rows": everything, "columns": everything})
        classical = scale_distances(Dissimilarities(points), k, None, tol=_TOL)
        gower = classical.extension
        assert isinstance(gower, GowerExtension)
        extension = GeodesicExtension(geodesics, unit, gower.directions, gower.offsets)
        embedding = np.empty((n, k)) if n_landmarks == n else extension.embed_rows()
        # The geodesic distances among landmarks are not rounded to float32.
        embedding[np.searchsorted(rows, landmarks)] = classical.embedding
        variances = _residual_variances(geodesics, embedding / unit, classical.embedding / unit)
        return cls(extension, embedding, classical.eigenvalues, variances, classical.negative_share, classical.warnings)


def _residual_variances(geodesics: NDArray[np.float32], points: Floats, landmarks: Floats) -> Floats:
    """Return 1 - R^2 over all pairs of a landmark and another row; NaN if all geodesics are equal, 1 if all points are."""
    (n, n_landmarks), k = geodesics.shape, points.shape[1]
    columns = np.ascontiguousarray(landmarks.T)

    def moments(span: tuple[int, int]) -> Floats:
        out = np.zeros((k + 1, 3))
        add_distance_moments(geodesics, points, columns, *span, np.empty(n_landmarks), out)
        return out

    spans = parallel.block_ranges(n, max(1, _VALUES_PER_TASK // n_landmarks))
    # A landmark and itself add 0 to every sum.
    means = sum(parallel.map_blocks(moments, spans), np.zeros((k + 1, 3))) / (n * n_landmarks - n_landmarks)
    variance = means[0, 1] - means[0, 0] ** 2
    if variance <= _ROUNDING * means[0, 1]:
        return np.full(k, np.nan)
    on_map = means[1:, 1] - means[1:, 0] ** 2
    covariance = means[1:, 2] - means[1:, 0] * means[0, 0]
    explained = np.divide(covariance**2, on_map * variance, out=np.zeros(k), where=on_map > _ROUNDING * means[1:, 1])
    return np.asarray(np.clip(1.0 - explained, 0.0, 1.0))


# Up to this many rows all are landmarks by default; above, this many, and at least so many for each coordinate.
_MAX_EXACT_ROWS, _DEFAULT_LANDMARKS, _LANDMARKS_PER_COORDINATE = 5_000, 1_000, 20


def _is_share_of_each(shares: Any, eigenvalues: Floats) -> bool:
    """Return whether there is one number from 0 to 1, or one for every row of eigenvalues."""
    return np.shape(shares) == eigenvalues.shape[:-1] and bool(0.0 <= np.min(shares) <= np.max(shares) <= 1.0)


class Isomap(SpectralReducer):
    """Isomap: distances on the map are the lengths of shortest paths between rows along a neighbour graph.

    .. math:: B = -\\tfrac12 C D^{(2)} C

    with the squares D^(2) of the geodesic distances, the lengths of the shortest paths in the graph, and the centring matrix C. The
    coordinates are the leading eigenvectors of B times the square roots of their eigenvalues.

    Parameters
    ----------
    n_components : int, default=2
        Number of coordinates.
    graph : GraphBuilder or Graph, default=None
        A graph builder, or a built graph whose edges have lengths. None is KNearest(15), with fewer neighbours for 15 rows or less.
        Weights are not used. Edges of a directed graph are passed in both directions.
    n_landmarks : int, "all" or None, default=None
        Rows whose geodesic distances to all rows are computed, drawn at random; "all" is the exact method. None is all rows up to
        5,000, else max(1000, 20 n_components); with disconnected="per_component" for each component.
    disconnected : {"error", "connect", "per_component"}, default="error"
        Handling of a graph with several components: raise an error, add the shortest edges that connect them, or compute separate
        coordinates for each component.
    random_state : int, Generator or None, default=None
        Draws the landmarks, if not all rows are landmarks.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        In the unit of the edge lengths. Over the landmarks, columns have the mean 0 and are uncorrelated. Equal rows have the
        coordinates of the first of them. Columns of eigenvalues that are not above 0 are 0.
    eigenvalues_ : ndarray of shape (n_components,), or (n_parts, n_components) with "per_component"
        The largest eigenvalues of B for the landmarks, descending, in squared units of length; NaN for components with too few
        rows.
    residual_variances_ : ndarray of the same shape
        1 - R^2, from 0 to 1, of the geodesic distances and the distances in the first 1, 2, ... coordinates, over all pairs of a
        landmark and another row; NaN also if all geodesic distances are equal.
    negative_share_, negative_share_error_ : float, or ndarray of shape (n_parts,) with "per_component"
        The absolute sum of the negative eigenvalues of B over the absolute sum of all, and its standard error; 0 if all are
        computed, as for up to 500 landmarks. Above 0 no map has these distances exactly.
    landmark_rows_ : ndarray of shape (n_landmarks,)
        Row numbers of the landmarks, ascending.
    component_labels_ : ndarray of shape (n_samples,)
        With "per_component" the component of every row, numbered in the order of their first rows; else 0.
    graph_ : Graph

    Raises
    ------
    DataError
        When the graph has several components and disconnected="error", or edges without lengths.
    ValueError
        Unless n_components < n_landmarks <= number of rows.
    MemoryError
        When the geodesic distances do not fit in memory.

    Notes
    -----
    Cost of the graph, O(l (E + n)) for the geodesic distances of n rows from l landmarks along E edges, and several passes over the
    l^2 distances among landmarks, as for `ClassicalMDS`. Memory 4 n l bytes, also of the fitted map, and another 8 l^2 bytes during
    the fit.

    Landmarks are scaled by geodesic distances in float64. Other rows are mapped by the formula of landmark MDS from their geodesic
    distances to the landmarks in float32, whose relative error is 6e-8. For `transform`, the geodesic distance of a new row to a
    landmark is the least sum of the distance to one of its neighbours, found by the rule of the graph in the component of
    the nearest, and that neighbour's geodesic distance.

    An edge between rows that are far apart along the manifold shortens many paths: compare several numbers of neighbours. vegan's
    `isomap(dist, ndim, k=)` in R is the exact method with the graph `KNearest(k, metric="precomputed")`; neighbours at equal
    distances may differ.

    References
    ----------
    Tenenbaum, de Silva and Langford (2000), A global geometric framework for nonlinear dimensionality reduction, Science 290;
    de Silva and Tenenbaum (2002), Global versus local methods in nonlinear dimensionality reduction, NIPS 15.

    Examples
    --------
    >>> from sklearn.datasets import make_swiss_roll
    >>> from tamiz.graphs import KNearest
    >>> from tamiz.reduction import Isomap
    >>> X, along = make_swiss_roll(1000, random_state=0)
    >>> mapped = Isomap(3, graph=KNearest(10)).fit(X)
    >>> mapped.residual_variances_.round(3)
    array([0.016, 0.001, 0.001])
    """

    _extensions: list[GeodesicExtension]
    invariants: ClassVar[Invariants] = {
        "landmark_rows_": IntegerArray("l", below="n"),
        "_extensions": ListOf(InstanceOf(GeodesicExtension)),
        "component_labels_": (
            IntegerArray("n"),
            Condition(
                lambda it: (
                    [len(one.geodesics) for one in it._extensions] == np.bincount(it.component_labels_).tolist()
                    and all(len(one.offsets) <= it.embedding_.shape[1] for one in it._extensions)
                ),
                "does not name the rows of the geodesic distances",
            ),
        ),
        "eigenvalues_": Condition(
            lambda it: (
                np.atleast_2d(it.eigenvalues_).shape == (len(it._extensions), it.embedding_.shape[1])
                and it.eigenvalues_.dtype == np.float64
            ),
            "does not have one number for every coordinate",
        ),
        "residual_variances_": Condition(
            lambda it: it.residual_variances_.shape == it.eigenvalues_.shape, "is not of the shape of the eigenvalues"
        ),
        "negative_share_": Condition(
            lambda it: _is_share_of_each(it.negative_share_, it.eigenvalues_), "is not a share for every component"
        ),
        "negative_share_error_": Condition(
            lambda it: (
                np.shape(it.negative_share_error_) == it.eigenvalues_.shape[:-1]
                and np.min(it.negative_share_error_) >= 0.0
            ),
            "is not a number for every component",
        ),
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        graph: GraphBuilder | Graph | None = None,
        n_landmarks: int | str | None = None,
        disconnected: str = "error",
        random_state: Seed = None,
    ) -> None:
        self.n_components = n_components
        self.graph = graph
        self.n_landmarks = n_landmarks
        self.disconnected = disconnected
        self.random_state = random_state

    @property
    def quadratic_cost(self) -> bool:
        """Whether all rows are landmarks for any number of rows."""
        return self.n_landmarks == "all"

    def _default_builder(self, n_samples: int) -> GraphBuilder:
        # A heat kernel would remove edges that are much longer than others.
        return super()._default_builder(n_samples).set_params(weight=Binary())

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Build the graph and compute the coordinates.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Table, default=None
            Input of the graph builder. For a built Graph the rows that it was built from, or None.
        y : array of shape (n_samples,), default=None
            Classes, for graphs that connect rows by class; else ignored.
        """
        check_choice("disconnected", self.disconnected, DISCONNECTED_CHOICES)
        k = check_integer("n_components", self.n_components, low=1)
        if self.n_landmarks is not None and self.n_landmarks != "all":
            check_integer("n_landmarks, unless it is None or 'all',", self.n_landmarks, low=k + 1)
        rng = make_rng(self.random_state)
        with parallel.thread_session():
            graph = self._build_graph_by_choice(X, y)
            n, separate = graph.n_samples, self.disconnected == "per_component"
            if not separate:
                self._check_sizes(n, k)
            labels = self._part_labels(graph.components)
            paths = ShortestPaths(graph)
            members = split_rows(labels)
            chosen = [self._choose_landmarks(rows, k, rng) for rows in members]
            parts = [
                GeodesicScaling.fit(paths, rows, landmarks, min(k, len(rows) - 1))
                for rows, landmarks in zip(members, chosen, strict=True)
            ]
        embedding = np.zeros((n, k))
        values, variances = np.full((2, len(parts), k), np.nan)
        for rows, part, own_values, own_variances in zip(members, parts, values, variances, strict=True):
            m = part.embedding.shape[1]
            embedding[rows, :m], own_values[:m], own_variances[:m] = (
                part.embedding,
                part.eigenvalues,
                part.residual_variances,
            )
        embedding = self._match_dtype(embedding[graph.first_occurrences()], X)
        # Attributes are set last: a failed fit leaves the estimator unchanged.
        record_features(self, X)
        self.graph_, self.component_labels_, self.embedding_ = graph, labels, embedding
        self.landmark_rows_: Indices = np.sort(np.concatenate(chosen))
        self._extensions = [part.extension for part in parts]
        self.eigenvalues_ = values if separate else values[0]
        self.residual_variances_: Floats = variances if separate else variances[0]
        shares, errors = np.array([(part.negative_share.value, part.negative_share.error) for part in parts]).T
        self.negative_share_ = shares if separate else float(shares[0])
        self.negative_share_error_ = errors if separate else float(errors[0])
        self._warn_about_solution(parts)
        return self

    def _check_sizes(self, n: int, k: int) -> None:
        """Raise ValueError unless there are more than k rows, and at least as many as landmarks."""
        if k >= n:
            raise ValueError(f"n_components must be below the number of rows = {n:,}, got {k:,}.")
        if isinstance(self.n_landmarks, Integral) and self.n_landmarks > n:
            raise ValueError(f"n_landmarks must be at most the number of rows = {n:,}, got {self.n_landmarks:,}.")

    def _choose_landmarks(self, rows: Indices, k: int, rng: np.random.Generator) -> Indices:
        """Return the landmarks of a component, ascending."""
        n = len(rows)
        if self.n_landmarks is None:
            wanted = n if n <= _MAX_EXACT_ROWS else max(_DEFAULT_LANDMARKS, _LANDMARKS_PER_COORDINATE * k)
        else:
            wanted = int(self.n_landmarks) if isinstance(self.n_landmarks, Integral) else n
        return rows if wanted >= n else np.sort(rng.choice(rows, size=wanted, replace=False))

    def _warn_about_solution(self, parts: Sequence[GeodesicScaling]) -> None:
        """Warn about missing convergence, and about zero coordinates in the largest component."""
        warn_user(one.with_sentence(f"Isomap: {one}") for part in parts for one in part.warnings)
        warn_of_zero_coordinates("Isomap", max(parts, key=lambda part: len(part.embedding)).eigenvalues)

    def describe(self) -> MapDescription:
        """Describe the residual variance, the landmarks and the spectrum; with "per_component" those of the largest component."""
        check_is_fitted(self)
        part = int(np.argmax(np.bincount(self.component_labels_)))
        share, error = (np.atleast_1d(of)[part] for of in (self.negative_share_, self.negative_share_error_))
        variances = self._spectrum_values("residual_variances_")
        n, n_landmarks = len(self.component_labels_), len(self.landmark_rows_)
        sampled = n_landmarks < n
        rows = f" All rows are mapped by their distances to {n_landmarks:,} of them, the landmarks." if sampled else ""
        notes = [
            f"The distance of two rows is the length of the shortest path between them along the neighbour graph.{rows}"
        ]
        if variances:
            k, shown = len(variances), ", ".join(f"{variance:.3g}" for variance in variances)
            notes.append(
                f"{'The first coordinate leaves' if k == 1 else f'The first 1 to {k} coordinates leave'} {shown} of the variance "
                "of these distances unexplained (residual variance, 1 - R²). The number of coordinates at which it stops falling "
                "is an estimate of the dimension of the data."
            )
        note = f"The sum of squares {'of the landmarks ' if sampled else ''}along each coordinate."
        if share:
            negative = format_negative_share(share, error)
            note += f" {negative} of the sum of absolute eigenvalues is negative: no map has exactly these distances."
        proximity = "The distance of two points approximates the length of the shortest path between their rows."
        return self._describe(notes, proximity, spectrum_note=note)

    def _map_new_rows(self, X: Any) -> tuple[Floats, Indices]:
        attached = self.graph_.attach(X)
        near, labels = attached.neighbors, self.component_labels_
        embedding = np.zeros((near.n_rows, self.embedding_.shape[1]))
        parts = labels[near.indices[near.indptr[:-1]]]
        for part in np.unique(parts):
            rows = np.flatnonzero(parts == part)
            own = self._extensions[part].extend(_neighbors_within(near, rows, labels == part))
            embedding[rows, : own.shape[1]] = own
        return embedding, attached.duplicate_of

    def geodesic_distances(self, rows: ArrayLike) -> Floats:
        """Return the lengths of the shortest paths from some rows of the fit to all rows.

        Parameters
        ----------
        rows : array-like of shape (m,)
            Row numbers of the fit, counted from 0.

        Returns
        -------
        ndarray of shape (m, n_samples)
            In the unit of the edge lengths, computed anew in float64; infinite between components.
        """
        check_is_fitted(self)
        n = self.graph_.n_samples
        sources = np.atleast_1d(np.asarray(rows))
        if sources.ndim != 1 or sources.dtype.kind not in "iu":
            raise TypeError(f"rows must be a list of row numbers, got {rows!r}.")
        if sources.size and not (sources.min() >= 0 and sources.max() < n):
            raise ValueError(f"rows must be from 0 to {n - 1:,}, got {sources.min():,} to {sources.max():,}.")
        check_memory(16.0 * n * len(sources), f"The distances from {len(sources):,} rows to {n:,}", "Pass fewer rows.")
        with parallel.thread_session():
            return ShortestPaths(self.graph_).distances(sources.astype(np.intp))


def _neighbors_within(near: Neighbors, rows: Indices, is_member: Masks) -> Neighbors:
    """Return the neighbours of some rows that are members, numbered among the members."""
    place = np.cumsum(is_member, dtype=np.int32) - np.int32(1)
    wanted = np.zeros(near.n_rows, dtype=bool)
    wanted[rows] = True
    kept = wanted[near.rows] & is_member[near.indices]
    counts = np.bincount(near.rows[kept], minlength=near.n_rows)[rows]
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return Neighbors(indptr, place[near.indices[kept]], near.distances[kept], int(is_member.sum()))

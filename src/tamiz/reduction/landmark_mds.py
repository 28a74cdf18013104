"""Landmark MDS: classical scaling of landmarks, with all other rows mapped by their distances to these."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tamiz.arrays import Floats, Indices
from tamiz.kernels.primitives import distance_keys
from tamiz.reduction.classical_scaling import (
    ClassicalSolution,
    GowerExtension,
    LinearProjection,
    principal_axes_rotation,
    warn_of_zero_coordinates,
)
from tamiz.reduction.description import MapDescription
from tamiz.reduction.dissimilarities import DissimilarityReducer
from tamiz.reduction.landmarks import LandmarkScaling, RowSubsets, create_subsets, default_n_landmarks, random_landmarks
from tamiz.reduction.stress import SampledPairs
from tamiz.runtime import parallel
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.user_warnings import warn, warn_user
from tamiz.runtime.validation import check_choice, check_integer, check_memory
from tamiz.storage.invariants import Condition, FloatArray, InstanceOf, IntegerArray, Invariants, Number
from tamiz.table.factory import record_features


def farthest_first(subsets: RowSubsets, n_landmarks: int, rng: np.random.Generator) -> Indices:
    """Return rows by farthest-first traversal from a random row; ties go to the lowest row number."""
    chosen = np.empty(n_landmarks, dtype=np.intp)
    nearest = np.full(subsets.n, np.inf)
    row = int(rng.integers(subsets.n))
    for at in range(n_landmarks):
        chosen[at] = row
        np.minimum(nearest, subsets.distances_from(row), out=nearest)
        # Below 0, so that no row is chosen twice when all others are duplicates of chosen ones.
        nearest[row] = -1.0
        row = int(np.argmax(distance_keys(nearest)))
    return chosen


LANDMARK_RULES: dict[str, Callable[[RowSubsets, int, np.random.Generator], Indices]] = {
    "random": random_landmarks,
    "maxmin": farthest_first,
}


class LandmarkMDS(DissimilarityReducer):
    """Classical scaling of a few rows, the landmarks; all rows are mapped by their distances to the landmarks.

    .. math:: y = \\tfrac12 L^{-1/2} V' (\\bar r - r)

    with the squared distances r of a row to the landmarks, their mean :math:`\\bar r` over the landmarks, and the leading
    eigenpairs V, L of the centred inner products of the landmarks. The coordinates are rotated to the principal axes of all rows.

    Parameters
    ----------
    n_components : int, default=2
        Number of coordinates.
    n_landmarks : int, default=None
        Number of landmarks, above n_components; None is max(500, 20 n_components), at most all rows.
    dissimilarity : {"euclidean", "seuclidean", "cityblock", "cosine", "gower", "precomputed", "similarity"}, default="euclidean"
        As for `ClassicalMDS`.
    landmarks : {"random", "maxmin"}, default="random"
        Random rows, or farthest-first traversal from a random row, which spreads few landmarks better but prefers outliers.
    random_state : int, Generator or None, default=None
        Draws the landmarks and the pairs of the sampled stress.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Uncorrelated columns of mean 0 with descending variance; the largest absolute entry of each is positive.
    landmarks_ : ndarray of shape (n_landmarks,)
        Row numbers; with "maxmin" in the order of selection.
    eigenvalues_ : ndarray of shape (n_components,)
        The largest eigenvalues of the centred inner products of the landmarks, descending, in squared units of distance.
    smallest_eigenvalue_ : float
        The smallest eigenvalue, or its estimate. Below 0 the distances of the landmarks are not Euclidean.
    negative_share_, negative_share_error_ : float
        The absolute sum of the negative eigenvalues over the absolute sum of all, and its standard error; 0 if all are computed, as
        for up to 500 landmarks.
    sampled_stress_ : float
        sqrt(sum (delta - b d)^2 / sum delta^2) in [0, 1] over random pairs of rows, with the dissimilarities delta, the distances d
        on the map, and the scale b that minimises it.
    sampled_stress_error_ : float
        Its standard error as an estimate for all pairs; 0 up to 1,024 rows, where all pairs are used.

    Raises
    ------
    DataError
        When the distances or similarities are invalid, as for `ClassicalMDS`, or a Table has weights.
    ValueError
        Unless n_components < n_landmarks <= number of rows.
    MemoryError
        When a required copy does not fit.

    Notes
    -----
    Cost O(l^2) distances among l landmarks, O(l^3) for their decomposition, and O(n l) distances of n rows; for Euclidean rows the
    extension costs only O(n p) for each component. "maxmin" computes another n l distances. Memory O(n m) for m components.
    Precomputed matrices are validated in one pass; after that only the columns of the landmarks are read.

    The map is exact for Euclidean distances in at most m dimensions that the landmarks span. Otherwise it is an estimate from the
    landmarks, whose error decreases with their number. The coordinates ignore negative eigenvalues; a warning reports them.
    `transform` applies the same formula to each new row, so that a row of the fit gets its own coordinates.

    References
    ----------
    de Silva and Tenenbaum (2004), Sparse multidimensional scaling using landmark points, Stanford University; Gower (1968), Adding
    a point to vector diagrams in multivariate analysis, Biometrika 55.

    Examples
    --------
    >>> import numpy as np
    >>> from tamiz.reduction import LandmarkMDS
    >>> X = np.random.default_rng(0).normal(size=(2000, 2)) @ [[1.0, 0.0, 2.0], [0.0, 1.0, 0.5]]
    >>> mapped = LandmarkMDS(2, n_landmarks=20, random_state=0).fit(X)
    >>> mapped.sampled_stress_ < 1e-7
    True
    """

    invariants: ClassVar[Invariants] = {
        "landmarks_": IntegerArray("l", below="n"),
        "_extension": (
            InstanceOf(LinearProjection, GowerExtension),
            Condition(lambda it: it._extension.accepts(it._dissimilarities), "does not map such rows"),
        ),
        "_extension.directions": FloatArray("k", "m"),
        "_rotation": InstanceOf(LinearProjection),
        "_rotation.directions": FloatArray("k", "k"),
        "eigenvalues_": FloatArray("k"),
        "smallest_eigenvalue_": Number(),
        "negative_share_": Number(0.0, 1.0),
        "negative_share_error_": Number(0.0),
        "sampled_stress_": Number(0.0),
        "sampled_stress_error_": Number(0.0),
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_landmarks: int | None = None,
        dissimilarity: str = "euclidean",
        landmarks: str = "random",
        random_state: Seed = None,
    ) -> None:
        self.n_components = n_components
        self.n_landmarks = n_landmarks
        self.dissimilarity = dissimilarity
        self.landmarks = landmarks
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Select landmarks, scale them and map all rows.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Table
            Rows, their distances or their similarities. A failed fit leaves the estimator unchanged.
        y : ignored
        """
        metric = check_choice("dissimilarity", self.dissimilarity, self.dissimilarities)
        rule = LANDMARK_RULES[check_choice("landmarks", self.landmarks, tuple(LANDMARK_RULES))]
        k = check_integer("n_components", self.n_components, low=1)
        rng = make_rng(self.random_state)
        with parallel.thread_session():
            rows, encoder = self._read_rows(X, k)
            subsets = create_subsets(rows, metric)
            chosen = rule(subsets, self._count_landmarks(subsets.n, k), rng)
            check_memory(
                32.0 * subsets.n * k,
                f"The coordinates of {subsets.n:,} rows in {k:,} dimensions",
                "Lower n_components.",
            )
            found = LandmarkScaling.fit(subsets, chosen, k)
            rotation = principal_axes_rotation(found.embedding)
            embedding = rotation.project_rows(found.embedding)
            stress = SampledPairs(subsets, rng).stress(embedding)
        embedding = self._match_dtype(embedding, X)
        # Attributes are set last: a failed fit leaves the estimator unchanged.
        record_features(self, X)
        scaling = found.solution
        self._dissimilarities, self._row_encoder = found.landmark_dissimilarities, encoder
        self._extension, self._rotation = scaling.extension, rotation
        self.embedding_, self.landmarks_ = embedding, chosen
        self.eigenvalues_: Floats = scaling.eigenvalues
        self.smallest_eigenvalue_ = scaling.smallest_eigenvalue
        self.negative_share_, self.negative_share_error_ = scaling.negative_share.value, scaling.negative_share.error
        self.sampled_stress_, self.sampled_stress_error_ = stress.value, stress.error
        self._warn_about_solution(scaling)
        return self

    def _count_landmarks(self, n: int, k: int) -> int:
        """Return the number of landmarks; raise ValueError unless k < n_landmarks <= n."""
        if self.n_landmarks is None:
            return default_n_landmarks(n, k)
        n_landmarks = check_integer("n_landmarks", self.n_landmarks, low=1)
        if not k < n_landmarks <= n:
            raise ValueError(
                f"n_landmarks must be above n_components = {k:,} and at most the number of rows = {n:,}, got "
                f"{n_landmarks:,}."
            )
        return n_landmarks

    def _warn_about_solution(self, solution: ClassicalSolution) -> None:
        """Warn about missing convergence, zero coordinates and negative eigenvalues."""
        warn_user(one.with_sentence(f"LandmarkMDS: {one}") for one in solution.warnings)
        warn_of_zero_coordinates("LandmarkMDS", solution.eigenvalues)
        largest = float(solution.eigenvalues[0])
        if solution.smallest_eigenvalue < -self._dissimilarities.rounding_tolerance * largest:
            about = "about " if solution.negative_share.error else ""
            warn(
                "TZ402",
                f"LandmarkMDS: the distances of the landmarks are not Euclidean: {about}"
                f"{100 * solution.negative_share.value:.3g} % of the sum of absolute eigenvalues is negative (smallest "
                f"{solution.smallest_eigenvalue:.4g}, largest {largest:.4g}), and the coordinates do not show this part.",
            )

    def describe(self) -> MapDescription:
        """Describe the eigenvalues of the landmarks and the sampled stress."""
        check_is_fitted(self)
        error = self.sampled_stress_error_
        notes = (
            f"All rows are mapped by their distances to {len(self.landmarks_):,} landmarks.",
            f"Stress {self.sampled_stress_:.3g}{f' +- {error:.1g}, over random pairs of rows' if error else ''}.",
        )
        note = "The sum of squares of the landmarks along each of their coordinates."
        proximity = "Rows with similar distances to the landmarks are near each other."
        return self._describe(notes, proximity, spectrum_note=note)

    def _map_new_rows(self, queries: Any) -> Floats:
        mapped = self._extension.transform(self._dissimilarities, queries, self.embedding_)
        return self._rotation.project_rows(mapped)

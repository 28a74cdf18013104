"""Classical scaling of a few landmarks, and all other rows placed by their distances to these."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from tamiz.exceptions import ConvergenceWarning
from tamiz.neighbors.metric_registry import metric_tags
from tamiz.neighbors.row_encoders import RowEncoder
from tamiz.reduction.base import MapDescription, MapVariant, Reducer
from tamiz.reduction.classical.extension import Extension, LinearProjection, principal_axes_rotation
from tamiz.reduction.classical.scaling import ClassicalSolution
from tamiz.reduction.dissimilarities import DISSIMILARITIES, Dissimilarities, read_dissimilarities, read_new_rows
from tamiz.reduction.landmarks import (
    LandmarkScaling,
    RowIndices,
    RowSubsets,
    create_subsets,
    default_n_landmarks,
    random_landmarks,
)
from tamiz.reduction.sampled_stress import SampledPairs
from tamiz.runtime import parallel
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.user_warnings import warn_user
from tamiz.runtime.validation import check_choice, check_integer, check_memory
from tamiz.sources.feature_checks import check_features, record_features
from tamiz.sources.schema import Schema
from tamiz.statistics.base import Floats
from tamiz.storage.invariants import Condition, FloatArray, InstanceOf, IntegerArray, Invariants, Number


def farthest_first(subsets: RowSubsets, n_landmarks: int, rng: np.random.Generator) -> RowIndices:
    """Return rows of which each is the farthest from those before it, the lowest of equals; the first is drawn."""
    chosen = np.empty(n_landmarks, dtype=np.intp)
    nearest = np.full(subsets.n, np.inf)
    row = int(rng.integers(subsets.n))
    for at in range(n_landmarks):
        chosen[at] = row
        np.minimum(nearest, subsets.distances_from(row), out=nearest)
        # Below 0, so that none comes twice where all others are equal to one.
        nearest[row] = -1.0
        row = int(np.argmax(nearest))
    return chosen


LANDMARK_RULES: dict[str, Callable[[RowSubsets, int, np.random.Generator], RowIndices]] = {
    "random": random_landmarks,
    "maxmin": farthest_first,
}


class LandmarkMDS(Reducer):
    """Classical scaling of a few rows, the landmarks, and every row at the place that its distances to these give it.

    .. math:: y = \\tfrac12 L^{-1/2} V' (\\bar r - r)

    with the squared distances r of a row to the landmarks, their mean among the landmarks, and the leading eigenpairs V, L of the
    landmarks' centred inner products; the coordinates are turned to the principal axes of all rows.

    Parameters
    ----------
    n_components : int, default=2
        Number of coordinates.
    n_landmarks : int, default=None
        Number of landmarks, above the number of coordinates; None is 500 or 20 a coordinate, whichever is more, at most all rows.
    dissimilarity : {"euclidean", "seuclidean", "cityblock", "cosine", "gower", "precomputed", "similarity"}, default="euclidean"
        What rows are apart by, as for `ClassicalMDS`.
    landmarks : {"random", "maxmin"}, default="random"
        Rows drawn at random, or each the farthest from those before it, the first drawn: better spread where there are few, and
        outliers first.
    random_state : int, Generator or None, default=None
        Seed of the landmarks and of the pairs that the stress is measured on.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Columns of mean 0, uncorrelated, the largest spread first, the largest entry of each positive.
    landmarks_ : ndarray of shape (n_landmarks,)
        Row numbers; with "maxmin" in the order in which they were chosen.
    eigenvalues_ : ndarray of shape (n_components,)
        The largest ones of the landmarks' centred inner products, descending, in the square of the unit of the distances.
    smallest_eigenvalue_ : float
        The smallest of these, or the smallest that was seen. Below 0 the landmarks' distances are no Euclidean ones.
    negative_share_, negative_share_error_ : float
        The sum of the landmarks' negative eigenvalues over the sum of all, both without signs, and its standard error; 0 where all
        are known, as for up to 500 landmarks.
    sampled_stress_ : float
        sqrt(sum (delta - b d)^2 / sum delta^2) over random pairs of rows, with the dissimilarities delta, the distances d of the
        map, and the scale b at which it is least, in [0, 1].
    sampled_stress_error_ : float
        Its standard error as the stress of all pairs; 0 where it is that, with up to 1,024 rows.

    Raises
    ------
    DataError
        When the distances or similarities are not such, as for `ClassicalMDS`, or a Source has weights.
    ValueError
        When there are not more rows, or landmarks, than coordinates, or more landmarks than rows.
    MemoryError
        When a copy that is needed does not fit.

    Notes
    -----
    Cost O(l^2) distances among l landmarks, O(l^3) to decompose them, and O(n l) distances of n rows, where Euclidean rows of
    p < n coordinates need only O(n p) a coordinate; "maxmin" measures n l distances more. Memory O(n m) for m coordinates, and the
    distances in blocks. A table of distances or similarities is looked through once for faults; else only its columns of
    landmarks are read.

    The map is exact for Euclidean distances of rows of at most m dimensions whose landmarks span these. Else it loses what the
    landmarks do not show: coordinates are those of a sample, and their errors shrink with its size. Negative eigenvalues are told
    of, and no coordinate shows them. A new row is placed by the same formula, by itself, and a row of fit gets its place.

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

    # At the Euclidean distances of a table's rows this is PCA of some of them.
    variants: ClassVar = (MapVariant(is_default=False),)
    dissimilarities: ClassVar = DISSIMILARITIES
    invariants: ClassVar[Invariants] = {
        "_landmark_dissimilarities": InstanceOf(Dissimilarities),
        "_row_encoder": (
            InstanceOf(RowEncoder),
            Condition(
                lambda it: it._landmark_dissimilarities.matches_encoder(it._row_encoder),
                "does not read the rows of fit",
            ),
        ),
        "landmarks_": IntegerArray("l", below="n"),
        "_extension": (
            InstanceOf(Extension),
            Condition(lambda it: it._extension.accepts(it._landmark_dissimilarities), "does not place such rows"),
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

    def __sklearn_tags__(self) -> Tags:
        return metric_tags(super().__sklearn_tags__(), self.dissimilarity)

    @classmethod
    def for_study(cls, schema: Schema, variant: str, dissimilarity: str) -> Self:  # noqa: ARG003
        """Return the map of the study's distances."""
        return cls(max(1, min(2, schema.n_rows - 1)), dissimilarity=dissimilarity, random_state=0)

    def _describe(self) -> MapDescription:
        """Return the landmarks' eigenvalues and how far the map's distances are from those of the rows."""
        error = f" +- {self.sampled_stress_error_:.1g}" if self.sampled_stress_error_ else ""
        return MapDescription(
            [f"Coordinate {k + 1}" for k in range(self.embedding_.shape[1])],
            [
                f"All rows are placed by their distances to {len(self.landmarks_):,} of them.",
                f"Stress {self.sampled_stress_:.3g}{error}, over random pairs of rows."
                if error
                else f"Stress {self.sampled_stress_:.3g}.",
            ],
            proximity_note="Points near each other are rows at like distances from the landmarks.",
            stress=float(self.sampled_stress_),
            spectrum_label="Eigenvalue",
            spectrum=self.eigenvalues_.tolist(),
            spectrum_note="The landmarks' sum of squares along each of their coordinates.",
        )

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Choose landmarks, scale them and place all rows.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Source
            Rows, their distances or their similarities. A fit that fails leaves the model as it was.
        y : ignored
        """
        metric = check_choice("dissimilarity", self.dissimilarity, self.dissimilarities)
        rule = LANDMARK_RULES[check_choice("landmarks", self.landmarks, tuple(LANDMARK_RULES))]
        k = check_integer("n_components", self.n_components, low=1)
        rng = make_rng(self.random_state)
        with parallel.thread_session():
            rows, reading = read_dissimilarities(X, metric, "LandmarkMDS")
            table = create_subsets(rows, metric)
            if k >= table.n:
                raise ValueError(f"n_components must be below the number of rows = {table.n:,}, got {k:,}.")
            chosen = rule(table, self._count_landmarks(table.n, k), rng)
            check_memory(32.0 * table.n * k, f"The places of {table.n:,} rows in {k:,} dimensions", "Ask for fewer.")
            found = LandmarkScaling.fit(table, chosen, k)
            turn = principal_axes_rotation(found.embedding)
            embedding = turn.project_rows(found.embedding)
            stress = SampledPairs(table, rng).stress(embedding)
        # All at the end: a fit that fails leaves the model as it was.
        record_features(self, X)
        scaling = found.solution
        self._landmark_dissimilarities, self._row_encoder = found.landmark_dissimilarities, reading
        self._extension, self._rotation = scaling.extension, turn
        self.embedding_, self.landmarks_ = self._match_dtype(embedding, X), chosen
        self.eigenvalues_: Floats = scaling.eigenvalues
        self.smallest_eigenvalue_ = scaling.smallest_eigenvalue
        self.negative_share_, self.negative_share_error_ = scaling.negative_share.value, scaling.negative_share.error
        self.sampled_stress_, self.sampled_stress_error_ = stress.value, stress.error
        self._warn_about_solution(scaling)
        return self

    def _count_landmarks(self, n: int, k: int) -> int:
        """Return how many landmarks there are to be."""
        if self.n_landmarks is None:
            return default_n_landmarks(n, k)
        n_landmarks = check_integer("n_landmarks", self.n_landmarks, low=1)
        if not k < n_landmarks <= n:
            raise ValueError(
                f"n_landmarks must be above the number of coordinates = {k:,} and at most the number of rows = {n:,}, got "
                f"{n_landmarks:,}."
            )
        return n_landmarks

    def _warn_about_solution(self, solution: ClassicalSolution) -> None:
        """Warn of what the landmarks' spectrum leaves out."""
        warn_user((f"LandmarkMDS: {sentence}" for sentence in solution.warnings), ConvergenceWarning)
        k, largest = len(solution.eigenvalues), float(solution.eigenvalues[0])
        positive = int((solution.eigenvalues > 0).sum())
        if positive < k:
            ones = "eigenvalue is" if positive == 1 else "eigenvalues are"
            warn_user([f"LandmarkMDS: {positive:,} {ones} above 0, and the other {k - positive:,} coordinates are 0."])
        if solution.smallest_eigenvalue < -self._landmark_dissimilarities.rounding_tolerance * largest:
            about = "about " if solution.negative_share.error else ""
            warn_user(
                [
                    f"LandmarkMDS: the landmarks' distances are not Euclidean: {about}{100 * solution.negative_share.value:.3g} % of the sum "
                    f"of absolute eigenvalues is negative, the least {solution.smallest_eigenvalue:.4g} beside the largest {largest:.4g}, and no "
                    "coordinate shows it."
                ]
            )

    def fit_transform(self, X: Any, y: Any = None) -> NDArray[Any]:
        """Fit and return the coordinates of the rows."""
        return self.fit(X, y).embedding_

    def transform(self, X: Any) -> NDArray[Any]:
        """Return the places of new rows, each by itself.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Source
            New rows; with "precomputed" and "similarity" of shape (n_new, n_samples), of which the columns of landmarks are read.
        """
        check_is_fitted(self)
        check_features(self, X)
        with parallel.thread_session():
            queries = read_new_rows(self._landmark_dissimilarities, self._row_encoder, X)
            places = self._rotation.project_rows(
                self._extension.transform(self._landmark_dissimilarities, queries, self.embedding_)
            )
        return self._match_dtype(places, X)

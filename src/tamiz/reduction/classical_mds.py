"""Classical multidimensional scaling."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from numpy.typing import NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from tamiz.exceptions import ConvergenceWarning
from tamiz.neighbors.metric_registry import metric_tags
from tamiz.neighbors.row_encoders import RowEncoder
from tamiz.reduction.base import MAX_STUDY_ROWS, MapDescription, MapVariant, Reducer
from tamiz.reduction.classical.additive_constant import CORRECTIONS
from tamiz.reduction.classical.extension import Extension
from tamiz.reduction.classical.scaling import ClassicalSolution, scale_coordinates, scale_distances
from tamiz.reduction.dissimilarities import DISSIMILARITIES, Dissimilarities, read_dissimilarities, read_new_rows
from tamiz.runtime import parallel
from tamiz.runtime.user_warnings import warn_user
from tamiz.runtime.validation import check_choice, check_integer
from tamiz.sources.feature_checks import check_features, record_features
from tamiz.sources.schema import Schema
from tamiz.statistics.base import Floats
from tamiz.storage.invariants import Condition, FloatArray, InstanceOf, Integer, Invariants, Number


class ClassicalMDS(Reducer):
    """Points whose inner products are nearest to those that the distances of the rows stand for (principal coordinates).

    .. math:: B = -\\tfrac12 C D^{(2)} C

    with the squared distances D^(2) and the centring C; the coordinates are its leading eigenvectors times the roots of their
    eigenvalues.

    Parameters
    ----------
    n_components : int, default=2
        Number of coordinates.
    dissimilarity : {"euclidean", "seuclidean", "cityblock", "cosine", "gower", "precomputed", "similarity"}, default="euclidean"
        What rows are apart by: their Euclidean distance (categories are indicators divided by the square root of their share),
        that of standardised columns, their city block distance, one less the cosine of their angle, Gower's distance of mixed
        columns with gaps, the distances that X holds, or those that the similarities in X stand for (d_ij^2 = s_ii + s_jj -
        2 s_ij, so that B = C S C).
    correction : {None, "lingoes", "cailliez"}, default=None
        What is done to distances that are not Euclidean: nothing, or the least constant c that makes them so is added to every one
        but those of a row and itself, as d^2 + 2 c (Lingoes) or as d + c (Cailliez).

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Columns of mean 0, orthogonal, their sums of squares the eigenvalues, the largest entry of each positive; 0 where there is
        no eigenvalue above 0. Where a constant was added, rows that are equal share the place of the first of them.
    eigenvalues_ : ndarray of shape (n_components,)
        The largest ones of B, descending, in the square of the unit of the distances; with a correction of the corrected ones.
    residuals_ : ndarray of shape (n_components,)
        The length :math:`|B v - \\lambda v|` for unit vectors v.
    eigenvalue_sum_ : float
        The sum of all eigenvalues of B, negative ones with their sign.
    smallest_eigenvalue_ : float
        The smallest eigenvalue of B, or the smallest that was seen where not all were computed. Below 0 the distances are no
        Euclidean ones.
    negative_share_ : float
        The sum of the negative eigenvalues over the sum of all, both without signs, in [0, 1].
    negative_share_error_ : float
        Its standard error; 0 where all eigenvalues are known: up to 500 rows, at more coordinates than a quarter of the rows, and
        at the Euclidean distances of rows of p < n coordinates.
    goodness_of_fit_ : ndarray of shape (2,)
        What R's `cmdscale` returns as GOF: the sum of the positive `eigenvalues_` over the sum of all eigenvalues of B without
        their signs, and over the sum of the positive ones, both in [0, 1].
    goodness_of_fit_error_ : ndarray of shape (2,)
        Their standard errors; 0 where `negative_share_error_` is.
    additive_constant_ : float
        The constant c of the correction, in the unit of the distances (Cailliez) or of their squares (Lingoes); 0 where the
        distances are Euclidean without, and with no correction.

    Raises
    ------
    DataError
        When the distances are not square, symmetric, finite, at least 0 and 0 on the diagonal, or the similarities not square,
        symmetric, finite and at most the mean of those of their two rows to themselves, or when a Source has weights.
    ValueError
        When there are not more rows than coordinates.
    MemoryError
        When a copy that is needed, the vectors of the search or a matrix that is decomposed do not fit.

    Notes
    -----
    Cost O(n p^2) for n rows of p < n coordinates at Euclidean distances. Else O(n^3) for up to 500 rows or more coordinates than a
    quarter of the rows, which decompose the whole matrix with memory O(n^2); for others a number of readings of all distances, for
    a few coordinates mostly seven to twelve. A reading takes O(n^2) where they are given; Euclidean distances of p >= n coordinates
    and Gower's of p columns are measured again each time, in O(n^2 p). Distances and similarities given as float64 or float32 are
    read where they lie; beside them a search takes memory O(n) for each coordinate.

    Eigenvectors are sought until their residuals are below 1e-6 of the largest eigenvalue: eigenvalues are then right to 1e-12 of
    it over the gap to the next one. Where not all are known the share of negative eigenvalues is estimated, by Gauss quadrature
    from the search's random start. Above 500 rows a constant takes one (Lingoes) or two readings a step, tens of steps, until its
    residual is below 1e-5 of the least eigenvalue; a warning tells where it does not come to that.

    A new row is placed by Gower's formula, from its distances to the rows of fit. Where a constant was added, a row that is equal
    to one of fit gets the place of that: rows of given distances or similarities are equal where these are but for the rounding
    that is accepted between a pair's two numbers, 1e-10 of them (1e-5 in float32), others where they are to the bit. A new row's
    similarity to itself is not needed, and under Lingoes's correction neither; Cailliez's can place rows by similarities only where
    they are equal to rows of fit. All rows count as much: there is no weighted form.

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
    >>> round(mapped.additive_constant_, 6), mapped.embedding_.ravel().round(4) + 0.0
    (1.0, array([ 2.,  0., -2.]))
    """

    # At the Euclidean distances of a table's rows this is PCA.
    variants: ClassVar = (MapVariant(is_default=False),)
    dissimilarities: ClassVar = DISSIMILARITIES
    invariants: ClassVar[Invariants] = {
        "_dissimilarities": InstanceOf(Dissimilarities),
        "_dissimilarities.points.n_samples": Integer(low=1, size="n"),
        "_row_encoder": (
            InstanceOf(RowEncoder),
            Condition(lambda it: it._dissimilarities.matches_encoder(it._row_encoder), "does not read the rows of fit"),
        ),
        "_extension": (
            InstanceOf(Extension),
            Condition(lambda it: it._extension.accepts(it._dissimilarities), "does not place such rows"),
        ),
        "_extension.directions": FloatArray("k", "m"),
        "eigenvalues_": FloatArray("k"),
        "residuals_": FloatArray("k"),
        "eigenvalue_sum_": Number(),
        "smallest_eigenvalue_": Number(),
        "additive_constant_": Number(),
        "negative_share_": Number(0.0, 1.0),
        "negative_share_error_": Number(0.0),
        "goodness_of_fit_": FloatArray(2, low=0.0, high=1.0),
        "goodness_of_fit_error_": FloatArray(2, low=0.0),
    }

    def __init__(
        self, n_components: int = 2, *, dissimilarity: str = "euclidean", correction: str | None = None
    ) -> None:
        self.n_components = n_components
        self.dissimilarity = dissimilarity
        self.correction = correction

    def __sklearn_tags__(self) -> Tags:
        return metric_tags(super().__sklearn_tags__(), self.dissimilarity)

    @classmethod
    def for_study(cls, schema: Schema, variant: str, dissimilarity: str) -> Self:  # noqa: ARG003
        """Return the map of the study's distances."""
        return cls(max(1, min(2, schema.n_rows - 1)), dissimilarity=dissimilarity)

    @property
    def max_study_rows(self) -> int | None:
        """Rows that a study fits the map on at most; all at Euclidean distances, which are not measured."""
        return None if self.dissimilarity == "euclidean" else MAX_STUDY_ROWS

    def _describe(self) -> MapDescription:
        """Return the eigenvalues and what they leave out."""
        notes = []
        if self.additive_constant_:
            added = (
                f"{self.additive_constant_:.6g} was added to every distance, by Cailliez's rule"
                if self.correction == "cailliez"
                else f"{2 * self.additive_constant_:.6g} was added to every squared distance, by Lingoes's rule"
            )
            notes.append(f"{added}, so that the distances are Euclidean.")
        note = "The sum of squares along each coordinate."
        if self._is_non_euclidean():
            note += f" The distances are not Euclidean: {self._format_negative_share()} of the sum of absolute eigenvalues is negative."
        return MapDescription(
            [f"Coordinate {k + 1}" for k in range(self.embedding_.shape[1])],
            notes,
            proximity_note="Points near each other are rows at small distances.",
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
            Rows, their distances or their similarities. A fit that fails leaves the model as it was.
        y : ignored
        """
        metric = check_choice("dissimilarity", self.dissimilarity, self.dissimilarities)
        if self.correction is not None:
            check_choice("correction, where it is not None,", self.correction, tuple(CORRECTIONS))
        k = check_integer("n_components", self.n_components, low=1)
        with parallel.thread_session():
            rows, reading = read_dissimilarities(X, metric, "ClassicalMDS")
            n = rows.points.n_samples
            if k >= n:
                raise ValueError(f"n_components must be below the number of rows = {n:,}, got {k:,}.")
            values = rows.euclidean_coordinates()
            found = scale_distances(rows, k, self.correction) if values is None else scale_coordinates(values, k)
        # All at the end: a fit that fails leaves the model as it was.
        record_features(self, X)
        self._dissimilarities, self._row_encoder, self._extension = rows, reading, found.extension
        self.embedding_ = self._match_dtype(found.embedding, X)
        self._set_fitted(found)
        self._warn_about_solution(found)
        return self

    def _set_fitted(self, solution: ClassicalSolution) -> None:
        self.eigenvalues_: Floats = solution.eigenvalues
        self.residuals_: Floats = solution.residuals
        self.eigenvalue_sum_, self.smallest_eigenvalue_, self.additive_constant_ = (
            solution.eigenvalue_sum,
            solution.smallest_eigenvalue,
            solution.additive_constant,
        )
        self.negative_share_, self.negative_share_error_ = solution.negative_share.value, solution.negative_share.error
        self.goodness_of_fit_: Floats = solution.goodness_of_fit
        self.goodness_of_fit_error_: Floats = solution.goodness_of_fit_error

    def _is_non_euclidean(self) -> bool:
        """Return whether there is an eigenvalue below 0 that is not for the rounding of the distances."""
        return self.smallest_eigenvalue_ < -self._dissimilarities.rounding_tolerance * float(self.eigenvalues_[0])

    def _warn_about_solution(self, solution: ClassicalSolution) -> None:
        """Warn of what the search did not reach, and of what the coordinates do not show."""
        warn_user((f"ClassicalMDS: {sentence}" for sentence in solution.warnings), ConvergenceWarning)
        k, largest = len(self.eigenvalues_), float(self.eigenvalues_[0])
        positive = int((self.eigenvalues_ > 0).sum())
        if positive < k:
            ones = "eigenvalue is" if positive == 1 else "eigenvalues are"
            warn_user([f"ClassicalMDS: {positive:,} {ones} above 0, and the other {k - positive:,} coordinates are 0."])
        if self.correction is None and self._is_non_euclidean():
            warn_user(
                [
                    f"ClassicalMDS: the distances are not Euclidean: {self._format_negative_share()} of the sum of absolute eigenvalues is "
                    f"negative, the least {self.smallest_eigenvalue_:.4g} beside the largest {largest:.4g}, and no coordinate shows it. "
                    "correction='cailliez' or correction='lingoes' makes them Euclidean."
                ]
            )

    def _format_negative_share(self) -> str:
        exact = f"{100 * self.negative_share_:.3g} %"
        return (
            exact if not self.negative_share_error_ else f"about {exact} (+- {100 * self.negative_share_error_:.1g} %)"
        )

    def fit_transform(self, X: Any, y: Any = None) -> NDArray[Any]:
        """Fit and return the coordinates of the rows."""
        return self.fit(X, y).embedding_

    def transform(self, X: Any) -> NDArray[Any]:
        """Return the places of new rows, each by itself: of rows like those of fit, or of their distances to all of these.

        Parameters
        ----------
        X : array, data frame or Source
            New rows; with "precomputed" and "similarity" of shape (n_new, n_samples). Weights of a Source are not read.
        """
        check_is_fitted(self)
        check_features(self, X)
        with parallel.thread_session():
            rows = self._dissimilarities
            queries = read_new_rows(rows, self._row_encoder, X)
            return self._match_dtype(self._extension.transform(rows, queries, self.embedding_), X)

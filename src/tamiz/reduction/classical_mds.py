"""Classical multidimensional scaling."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from sklearn.utils.validation import check_is_fitted

from tamiz.arrays import Floats
from tamiz.reduction.classical_scaling import (
    CORRECTIONS,
    ClassicalSolution,
    GowerExtension,
    LinearProjection,
    format_negative_share,
    scale_coordinates,
    scale_distances,
    warn_of_zero_coordinates,
)
from tamiz.reduction.description import MapDescription
from tamiz.reduction.dissimilarities import DissimilarityReducer
from tamiz.runtime import parallel
from tamiz.runtime.user_warnings import warn, warn_user
from tamiz.runtime.validation import check_choice, check_integer
from tamiz.storage.invariants import Condition, FloatArray, InstanceOf, Integer, Invariants, Number
from tamiz.table.factory import record_features


class ClassicalMDS(DissimilarityReducer):
    """Classical multidimensional scaling (principal coordinates analysis).

    .. math:: B = -\\tfrac12 C D^{(2)} C

    with the squared distances D^(2) and the centring matrix C. The coordinates are the leading eigenvectors of B times the square
    roots of their eigenvalues, the least-squares approximation of B.

    Parameters
    ----------
    n_components : int, default=2
        Number of coordinates.
    dissimilarity : {"euclidean", "seuclidean", "cityblock", "cosine", "gower", "precomputed", "similarity"}, default="euclidean"
        Euclidean distance (categories are indicators divided by the square root of their share), Euclidean distance of
        standardised columns, city block distance, one minus the cosine similarity, Gower's distance for mixed columns with missing
        values, precomputed distances in X, or similarities in X (d_ij^2 = s_ii + s_jj - 2 s_ij, so that B = C S C).
    correction : {None, "lingoes", "cailliez"}, default=None
        Correction of distances that are not Euclidean: none, or the smallest constant c that makes them Euclidean is added off the
        diagonal, as d^2 + 2 c (Lingoes) or d + c (Cailliez).

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Orthogonal columns of mean 0 whose sums of squares are the eigenvalues; the largest absolute entry of each is positive.
        Columns of eigenvalues that are not above 0 are 0. With an additive constant, equal rows have the coordinates of the first.
    eigenvalues_ : ndarray of shape (n_components,)
        The largest eigenvalues of B, descending, in squared units of distance; with a correction, of the corrected distances.
    residuals_ : ndarray of shape (n_components,)
        The length :math:`|B v - \\lambda v|` for unit vectors v.
    eigenvalue_sum_ : float
        The sum of all eigenvalues of B, negative ones with their sign.
    smallest_eigenvalue_ : float
        The smallest eigenvalue of B, or its estimate if not all were computed. Below 0 the distances are not Euclidean.
    is_euclidean_ : bool
        Whether the smallest eigenvalue is below 0 by no more than the rounding of the distances.
    negative_share_ : float
        The absolute sum of the negative eigenvalues over the absolute sum of all, in [0, 1].
    negative_share_error_ : float
        Its standard error; 0 if all eigenvalues are computed: up to 500 rows, for more components than a quarter of the rows, and
        for Euclidean distances of rows with p < n coordinates.
    goodness_of_fit_ : ndarray of shape (2,)
        GOF of R's `cmdscale`: the sum of the positive `eigenvalues_` over the absolute sum of all eigenvalues of B, and over the
        sum of all positive eigenvalues, both in [0, 1].
    goodness_of_fit_error_ : ndarray of shape (2,)
        Their standard errors; 0 if `negative_share_error_` is 0.
    additive_constant_ : float
        The constant c of the correction, in units of distance (Cailliez) or squared distance (Lingoes); 0 without correction or if
        the distances are Euclidean.

    Raises
    ------
    DataError
        When the matrix of distances is not square, symmetric, finite, nonnegative and 0 on the diagonal; when the matrix of
        similarities is not square, symmetric and finite with s_ij <= (s_ii + s_jj) / 2; or when a Table has weights.
    ValueError
        When n_components is not below the number of rows.
    MemoryError
        When a copy, the basis of the eigensolver or a dense matrix does not fit.

    Notes
    -----
    Cost O(n p^2) for Euclidean distances of n rows with p < n coordinates. Else O(n^3) with memory O(n^2) for up to 500 rows or
    more components than a quarter of the rows, by a dense decomposition. Otherwise an iterative eigensolver passes several times
    over all distances, typically 7 to 12 times for a few components. A pass costs O(n^2) for precomputed distances; other
    distances of p columns are computed anew in each pass, in O(n^2 p). Precomputed float64 or float32 matrices are not copied; the
    eigensolver uses O(n) memory for each component.

    The eigensolver stops when residuals are below 1e-6 of the largest eigenvalue; the relative error of eigenvalues is then about
    1e-12 divided by their relative distance to the next one. If not all eigenvalues are computed, the share of negative ones is
    estimated by Gauss quadrature from the random start of the solver. Above 500 rows an additive constant takes tens of steps, with
    one (Lingoes) or two (Cailliez) passes each, until its residual is below 1e-5 of the smallest eigenvalue; a warning reports if
    it does not converge.

    `transform` maps new rows by Gower's formula from their distances to the rows of the fit. With an additive constant, a row that
    is equal to a row of the fit gets its coordinates. Rows of precomputed matrices count as equal within the symmetry tolerance,
    1e-10 (1e-5 in float32), other rows if they are equal to the bit. New rows do not need their similarity to themselves, except
    with Cailliez's correction, which can map new rows by similarities only if they are equal to rows of the fit. Sample weights are
    not supported.

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

    Distances that violate the triangle inequality; adding 1 to each makes them distances on a line:

    >>> distances = [[0.0, 1.0, 3.0], [1.0, 0.0, 1.0], [3.0, 1.0, 0.0]]
    >>> mapped = ClassicalMDS(1, dissimilarity="precomputed", correction="cailliez").fit(distances)
    >>> round(mapped.additive_constant_, 6), mapped.embedding_.ravel().round(4) + 0.0
    (1.0, array([ 2.,  0., -2.]))
    """

    eigenvalues_: Floats
    invariants: ClassVar[Invariants] = {
        "_dissimilarities.points.n_samples": Integer(low=1, size="n"),
        "_extension": (
            InstanceOf(LinearProjection, GowerExtension),
            Condition(lambda it: it._extension.accepts(it._dissimilarities), "does not map such rows"),
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

    @property
    def quadratic_cost(self) -> bool:
        """Whether a fit reads all pairs of rows: for all but Euclidean distances, which need only the rows."""
        return self.dissimilarity != "euclidean"

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Compute the coordinates.

        Parameters
        ----------
        X : array, data frame or Table
            Rows, their distances or their similarities. A failed fit leaves the estimator unchanged.
        y : ignored
        """
        check_choice("dissimilarity", self.dissimilarity, self.dissimilarities)
        if self.correction is not None:
            check_choice("correction, where it is not None,", self.correction, CORRECTIONS)
        k = check_integer("n_components", self.n_components, low=1)
        with parallel.thread_session():
            rows, encoder = self._read_rows(X, k)
            values = rows.euclidean_coordinates()
            found = scale_distances(rows, k, self.correction) if values is None else scale_coordinates(values, k)
        embedding = self._match_dtype(found.embedding, X)
        # Attributes are set last: a failed fit leaves the estimator unchanged.
        record_features(self, X)
        self._dissimilarities, self._row_encoder, self._extension = rows, encoder, found.extension
        self.embedding_ = embedding
        self.eigenvalues_, self.residuals_ = found.eigenvalues, found.residuals
        self.eigenvalue_sum_, self.smallest_eigenvalue_ = found.eigenvalue_sum, found.smallest_eigenvalue
        self.negative_share_, self.negative_share_error_ = found.negative_share.value, found.negative_share.error
        self.goodness_of_fit_, self.goodness_of_fit_error_ = found.goodness_of_fit, found.goodness_of_fit_error
        self.additive_constant_ = found.additive_constant
        self._warn_about_solution(found)
        return self

    @property
    def is_euclidean_(self) -> bool:
        """Whether the smallest eigenvalue is below 0 by no more than the rounding of the distances."""
        check_is_fitted(self)
        tolerance = self._dissimilarities.rounding_tolerance * float(self.eigenvalues_[0])
        return bool(self.smallest_eigenvalue_ >= -tolerance)

    def _warn_about_solution(self, solution: ClassicalSolution) -> None:
        """Warn about missing convergence, zero coordinates and negative eigenvalues."""
        warn_user(one.with_sentence(f"ClassicalMDS: {one}") for one in solution.warnings)
        warn_of_zero_coordinates("ClassicalMDS", self.eigenvalues_)
        if self.correction is None and not self.is_euclidean_:
            share = format_negative_share(self.negative_share_, self.negative_share_error_)
            warn(
                "TZ402",
                f"ClassicalMDS: the distances are not Euclidean: {share} of the sum of absolute eigenvalues is negative "
                f"(smallest {self.smallest_eigenvalue_:.4g}, largest {self.eigenvalues_[0]:.4g}), and the coordinates do not show "
                "this part. correction='cailliez' or correction='lingoes' makes them Euclidean.",
            )

    def describe(self) -> MapDescription:
        """Describe the eigenvalues, the additive constant and the share of negative eigenvalues."""
        check_is_fitted(self)
        notes = []
        if constant := self.additive_constant_:
            added = (
                f"{constant:.6g} was added to every distance, by Cailliez's rule"
                if self.correction == "cailliez"
                else f"{2 * constant:.6g} was added to every squared distance, by Lingoes's rule"
            )
            notes.append(f"{added}, so that the distances are Euclidean.")
        note = "The sum of squares along each coordinate."
        if not self.is_euclidean_:
            share = format_negative_share(self.negative_share_, self.negative_share_error_)
            note += f" The distances are not Euclidean: {share} of the sum of absolute eigenvalues is negative."
        proximity = "The distance of two points approximates the distance of their rows in the table."
        return self._describe(notes, proximity, spectrum_note=note)

    def _map_new_rows(self, queries: Any) -> Floats:
        return self._extension.transform(self._dissimilarities, queries, self.embedding_)

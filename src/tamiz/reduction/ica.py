"""Independent component analysis."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from tamiz.arrays import Floats, Indices
from tamiz.exceptions import DataError
from tamiz.reduction.base import Reducer
from tamiz.reduction.description import MapDescription, MapSpectrum
from tamiz.reduction.independent.gaussianity import contrast, gaussian_p_values
from tamiz.reduction.independent.solvers import SOLVERS, Solution, random_rotation, solve
from tamiz.reduction.independent.stability import ComponentStability, component_stability
from tamiz.reduction.independent.white_rows import WhiteRows
from tamiz.reduction.independent.whitening import whiten
from tamiz.reduction.principal.base import CentredRows, CoordinateEncoder
from tamiz.reduction.principal.sparse_table import SparseTableRows
from tamiz.reduction.principal.table_rows import TableRows
from tamiz.runtime import parallel
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.user_warnings import list_names, warn, warn_user
from tamiz.runtime.validation import check_choice, check_integer, check_positive
from tamiz.statistics.eigenvector_signs import eigenvector_signs
from tamiz.storage.invariants import BoolArray, FloatArray, InstanceOf, Integer, Invariants, Number, OneOf, Strings
from tamiz.table.base import Table
from tamiz.table.factory import as_table
from tamiz.table.feature_checks import check_features as compare_columns
from tamiz.table.feature_checks import float_dtype, record_features

# Probability below which a component is not Gaussian, and the largest number of components named in a warning.
GAUSSIAN_LEVEL, _MAX_NAMED = 0.01, 8
# A skewness below this is 0 up to rounding, and does not determine a sign.
_NO_SKEWNESS = 1e-9


class ICA(Reducer):
    """Independent component analysis: the linear coordinates that are as independent, and as far from normal, as possible.

    .. math:: s = W K (x - \\bar x), \\qquad \\max_{W' W = I} \\sum_k \\sigma_k E[-\\log \\cosh s_k]

    The rows K (x - mean) of the first principal components are white, that is of unit covariance. The sign of a
    component is 1 for a super-Gaussian source, with heavy tails, and -1 for a sub-Gaussian one.

    Parameters
    ----------
    n_components : int, default=None
        Number of principal components that are rotated. None is the number that parallel analysis finds, at least 1.
    solver : {"picard", "fastica"}, default="picard"
        Picard-O: L-BFGS over rotations, with an approximate Hessian. Or the parallel fixed-point iteration of
        FastICA, whose fixed points are the same, and which needs more iterations unless the sources are independent.
    standardize : bool, default=False
        Divide numeric columns by their standard deviation first. It changes which principal components are the first.
    tol : float, default=1e-6
        The iterations end when the gradient norm is at most this.
    max_iter : int, default=500
        Iterations over all rows, without those of the start.
    random_state : int, Generator or None, default=None
        Seed of the random rotation from which the iterations start. None is another seed in every fit.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_coordinates)
        Unmixing matrix W K: the sources are `(x - mean_) / scale_` times its transpose.
    mixing_ : ndarray of shape (n_coordinates, n_components)
        The pseudo-inverse of `components_`: what one unit of a source adds to the coordinates `(x - mean_) / scale_`.
    mean_, scale_ : ndarray of shape (n_coordinates,)
    coordinate_names_ : list of str
        Numeric columns by name, then "column=level" for the categories.
    embedding_ : ndarray of shape (n_samples, n_components)
        The sources, uncorrelated and of variance 1, with n; float32 if all numeric columns are float32.
    negentropy_ : ndarray of shape (n_components,)
        :math:`(E \\log \\cosh s - E \\log \\cosh \\nu)^2` with a standard normal :math:`\\nu`, descending: 0 for a
        normal variable.
    super_gaussian_ : ndarray of shape (n_components,), bool
        Whether the sign of a component is 1.
    gaussian_p_values_ : ndarray of shape (n_components,)
        Probability that normal rows have a direction of this negentropy, among as many dimensions as there are
        components from this one on; at most 0.01 for components that are not Gaussian.
    log_likelihood_ : float
        Mean over the rows of the sum of log p(s), in nats, with the densities p(s) = 1 / (pi cosh s) for super-Gaussian components,
        and :math:`\\cosh(s) e^{-(s^2 + 1) / 2} / \\sqrt{2 \\pi}` for sub-Gaussian ones.
    gradient_norm_ : float
        Largest of :math:`|\\sigma_k E[\\tanh(s_k) s_l] - \\sigma_l E[\\tanh(s_l) s_k]| / 2`.
    n_iter_ : int
        Iterations over all rows, at least 1, without those of the start: Picard-O starts with up to 30 iterations for
        super-Gaussian sources, and 3 to 15 of FastICA, which end when the likelihood rises little.
    converged_ : bool
        Whether the gradient norm is at most `tol`.

    Raises
    ------
    DataError
        When no column can be used, all are constant, there is only one row, or a Table has weights.
    ValueError
        When n_components exceeds the rank of the table: the number of principal components with more than 1e-10 of
        the largest variance, or 1e-6 for float32.

    Warns
    -----
    ConvergenceWarning
        When `converged_` is false.
    TamizWarning
        When components are indistinguishable from Gaussian ones, so that no direction among them is preferred, or
        when parallel analysis finds no component.

    Notes
    -----
    Components are in the order of their negentropy; the skewness of each is positive.

    Whitening is a PCA with balanced categories and imputed means. Cost O(n q^2 + q^3) for q coordinates, and O(n k^2)
    in each iteration; the white rows are in memory. If there are at least 8,000 rows and 16 k^2, the iterations start on
    a sample. With at least 131,072 values, iterations are in float32 until the gradient norm is `tol`, or 5e-7, and in
    float64 from there on; `gradient_norm_` is that of float64. Blocks of rows have a fixed size and are summed in a
    fixed order: the bits are the same for any number of threads.

    The objective has several maxima where no sources are independent, as in most tables of measurements. Picard-O
    starts with the signs of super-Gaussian sources, which leads to higher likelihoods. `stability` shows which
    components other starts find.

    For normal rows all directions are equally good. The test compares the contrast :math:`E \\log \\cosh s` of a
    component with the largest contrast of any direction in normal rows, whose distribution is approximated by the
    expected Euler characteristic of a Gaussian field on the sphere. It is valid for many rows: about 50 for each
    component.

    References
    ----------
    Hyvarinen (1999), Fast and robust fixed-point algorithms for independent component analysis, IEEE Transactions on
    Neural Networks 10; Ablin, Cardoso and Gramfort (2018), Faster ICA under orthogonal constraint, ICASSP; Adler and
    Taylor (2007), Random fields and geometry; Himberg and Hyvarinen (2003), Icasso, IEEE Workshop on Neural Networks
    for Signal Processing.

    Examples
    --------
    >>> import numpy as np
    >>> from tamiz.reduction import ICA
    >>> rng = np.random.default_rng(0)
    >>> sources = np.column_stack([rng.laplace(size=2000), rng.uniform(-1, 1, size=2000)])
    >>> ica = ICA(2, random_state=0).fit(sources @ [[1, 2], [1, 1]])
    >>> abs(np.corrcoef(ica.embedding_.T, sources.T)[:2, 2:]).round(1)
    array([[1., 0.],
           [0., 1.]])
    >>> ica.super_gaussian_
    array([ True, False])
    """

    axis_label: ClassVar = "IC"
    invariants: ClassVar[Invariants] = {
        "components_": FloatArray("k", "d"),
        "mixing_": FloatArray("d", "k"),
        "_row_encoder": InstanceOf(CoordinateEncoder),
        "_row_encoder.names": Strings("d"),
        "mean_": FloatArray("d"),
        "scale_": FloatArray("d"),
        "coordinate_names_": Strings("d"),
        "negentropy_": FloatArray("k", low=0.0),
        "super_gaussian_": BoolArray("k"),
        "gaussian_p_values_": FloatArray("k", low=0.0, high=1.0),
        "log_likelihood_": Number(),
        "gradient_norm_": Number(0.0),
        "n_iter_": Integer(),
        "converged_": InstanceOf(bool),
        "solver": OneOf(*SOLVERS),
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        solver: str = "picard",
        standardize: bool = False,
        tol: float = 1e-6,
        max_iter: int = 500,
        random_state: Seed = None,
    ) -> None:
        self.n_components = n_components
        self.solver = solver
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Whiten the rows, and rotate them to independent components.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Table
        y : ignored
        """
        solver, tol, max_iter = self._check_parameters()
        rng = make_rng(self.random_state)
        with parallel.thread_session():
            rows = self._read_rows(X)
            white = whiten(
                rows,
                self.n_components,
                standardized=bool(self.standardize),
                is_float32=float_dtype(X) == np.float32,
            )
            start = random_rotation(white.rows.n_components, rng)
            found = solve(white.rows, start, solver, tol, max_iter)
            order = np.argsort(-np.abs(contrast(found.moments.log_cosh)), kind="stable")
            rotation = found.rotation[order]
            unmixing, mixing = rotation @ white.forward, white.backward @ rotation.T
            embedding = rows.project(unmixing)
            signs = _skewness_signs(embedding, mixing)
            embedding = self._match_dtype(embedding * signs.astype(embedding.dtype), X)
        record_features(self, X)
        encoder = rows.encoder
        self._row_encoder, self.embedding_ = encoder, embedding
        self.mean_, self.scale_, self.coordinate_names_ = encoder.mean, encoder.scale, encoder.names
        self.components_ = np.ascontiguousarray(unmixing * signs[:, None])
        self.mixing_ = np.ascontiguousarray(mixing * signs)
        self._set_solution(found, order)
        warn_user(rows.collect_warnings())
        self._warn_of_solution()
        return self

    def _check_parameters(self) -> tuple[str, float, int]:
        """Check the parameters; return `solver`, `tol` and `max_iter`."""
        if not isinstance(self.standardize, bool | np.bool_):
            raise TypeError(f"standardize must be True or False, got {self.standardize!r}.")
        return (
            check_choice("solver", self.solver, SOLVERS),
            check_positive("tol", self.tol),
            check_integer("max_iter", self.max_iter, low=1),
        )

    def _read_rows(self, X: Any) -> CentredRows:
        standardize = bool(self.standardize)
        if sparse.issparse(X):
            return SparseTableRows(X, None, standardize=standardize)
        if isinstance(X, Table) and X.schema.weight is not None:
            raise DataError(
                f"ICA does not support sample weights, and the table has the weights {X.schema.weight!r}; open it without weight."
            )
        return TableRows(as_table(X), standardize=standardize, missing="mean", categories="balanced", method="ICA")

    def _set_solution(self, found: Solution, order: Indices) -> None:
        """Set the attributes of the components in an order, and of the convergence."""
        log_cosh = found.moments.log_cosh[order]
        self.negentropy_ = contrast(log_cosh) ** 2
        self.super_gaussian_ = found.moments.signs[order] > 0.0
        self.gaussian_p_values_ = gaussian_p_values(log_cosh, len(self.embedding_))
        self.log_likelihood_ = found.moments.log_likelihood
        self.gradient_norm_, self.n_iter_, self.converged_ = found.gradient_norm, max(found.n_iter, 1), found.converged

    def _warn_of_solution(self) -> None:
        """Warn of a missing convergence and of Gaussian components."""
        if not self.converged_:
            reached = (
                f"ICA: not converged after {self.n_iter_:,} iterations: the gradient norm is {self.gradient_norm_:.2g}"
            )
            advice = (
                "Raise the number of iterations (max_iter)"
                if self.n_iter_ >= self.max_iter
                else "Rounding allows no further step: raise the tolerance (tol)"
            )
            warn("TZ501", f"{reached}, and the tolerance is {self.tol:g}. {advice}.")
        gaussian = [
            name for name, p in zip(self.axis_names_, self.gaussian_p_values_, strict=True) if p > GAUSSIAN_LEVEL
        ]
        if not gaussian:
            return
        named = list_names(gaussian, limit=_MAX_NAMED)
        consequence = (
            "no direction among them is preferred to any other"
            if len(gaussian) > 1
            else "the other components determine its direction"
        )
        warn(
            "TZ403",
            f"ICA: {named} cannot be distinguished from Gaussian noise (p-value above {GAUSSIAN_LEVEL:g}): "
            f"{consequence}.",
        )

    def describe(self) -> MapDescription:
        """Describe the number of components, their test, the convergence, and the negentropy of every component."""
        check_is_fitted(self)
        k, n_gaussian = len(self.components_), int((self.gaussian_p_values_ > GAUSSIAN_LEVEL).sum())
        notes = [
            f"The first {k:,} principal components, scaled to variance 1 and rotated to be as independent as possible."
            if k > 1
            else "The first principal component, scaled to variance 1."
        ]
        if self.standardize:
            notes.append("Numeric columns are divided by their standard deviation.")
        if n_gaussian > 1:
            notes.append(
                f"{n_gaussian:,} of the components cannot be distinguished from noise, and their directions are arbitrary."
            )
        if not self.converged_:
            notes.append(f"The rotation was still changing after {self.n_iter_:,} iterations.")
        return self._describe(
            notes,
            "Rows with similar sources are near each other; every source has the same variance.",
            spectrum=MapSpectrum(
                label="Negentropy value",
                values=tuple(self.negentropy_.tolist()),
                note="How far the distribution of each coordinate is from normal; 0 for a normal distribution.",
            ),
        )

    def stability(self, n_starts: int = 20, *, random_state: Seed = None) -> ComponentStability:
        """Return how stable each component is over random starts (Icasso).

        All components of all starts are clustered by average linkage on 1 - \\|r\\| into n_components clusters, with
        r the correlation of two components. The index of a cluster is the mean \\|r\\| of the pairs within it, less
        the mean \\|r\\| of its members with all other components: 1 for a component that every start finds, unlike
        any other. Each component of the fit has the index of its cluster.

        Parameters
        ----------
        n_starts : int, default=20
            Starts, of which the fit is the first.
        random_state : int, Generator or None, default=None
            Seed of the starts.

        Returns
        -------
        ComponentStability
            `index`, `share` of the starts with a component in the same cluster, `cluster` of each component, and
            `log_likelihoods` of the starts. A component that only the fit found has a high index and a small share.

        References
        ----------
        Himberg and Hyvarinen (2003), Icasso: software for investigating the reliability of ICA estimates by
        clustering and visualization, IEEE Workshop on Neural Networks for Signal Processing.
        """
        check_is_fitted(self)
        n = check_integer("n_starts", n_starts, low=2)
        solver, tol, max_iter = self._check_parameters()
        with parallel.thread_session():
            rows, _ = WhiteRows.from_points(self.embedding_)
            return component_stability(rows, n, solver, tol, max_iter, make_rng(random_state))

    def transform(self, X: Any) -> NDArray[Any]:
        """Return the sources of new rows, each independently of the others.

        Missing values and levels that are unknown in fit count as the mean of the column.
        """
        check_is_fitted(self)
        compare_columns(self, X)
        with parallel.thread_session():
            sources = self._row_encoder.project(self._row_encoder.read(X), self.components_)
        return self._match_dtype(sources, X)

    def inverse_transform(self, X: Any) -> NDArray[Any]:
        """Return the rows that sources mix to, in the units of the columns.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_components)
            Sources as `transform` returns them. The columns of a frame are matched by name.

        Returns
        -------
        ndarray of shape (n_samples, n_coordinates)
            float32 where X is.
        """
        check_is_fitted(self)
        sources = self._read_coordinates(X)
        return np.asarray((sources @ self.mixing_.T) * self.scale_ + self.mean_, dtype=sources.dtype)


def _skewness_signs(embedding: NDArray[Any], mixing: Floats) -> Floats:
    """Return the signs that make the skewness of each source positive, or its largest weight if it has no skewness."""
    cubes = embedding * embedding
    cubes *= embedding
    skewness = cubes.mean(axis=0, dtype=np.float64)
    return np.where(np.abs(skewness) > _NO_SKEWNESS, np.sign(skewness), eigenvector_signs(mixing))

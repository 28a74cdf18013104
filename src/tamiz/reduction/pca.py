"""Principal component analysis."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from itertools import compress
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from tamiz.arrays import Floats
from tamiz.exceptions import DataError
from tamiz.reduction.base import N_STUDY_COMPONENTS, ImageSet, Reducer
from tamiz.reduction.description import MapDescription, MapSpectrum
from tamiz.reduction.parallel_analysis import (
    IndependentColumns,
    ParallelAnalysis,
    affordable_draws,
    parallel_analysis,
)
from tamiz.reduction.principal_components import (
    SOLVERS,
    CentredRows,
    CentredSparse,
    CentredTable,
    ImputedRows,
    PrincipalComponents,
    check_n_components,
    decompose,
    decompose_covariance,
    decomposition_warnings,
)
from tamiz.runtime import parallel
from tamiz.runtime.random import Seed
from tamiz.runtime.user_warnings import list_names, warn, warn_user
from tamiz.runtime.validation import check_choice, check_integer, check_memory, check_real
from tamiz.runtime.verdicts import Verdict
from tamiz.storage.invariants import FloatArray, InstanceOf, Integer, Invariants, Nullable, Number, Strings
from tamiz.table.encode import INDICATOR_MEANS, CoordinateEncoder
from tamiz.table.factory import as_table, check_features, record_features
from tamiz.table.matrix_rows import read_covariance
from tamiz.table.schema import Schema

MISSING_CHOICES = ("mean", "pairwise", "iterative")
CATEGORY_WEIGHTS = ("balanced", "famd")
# Differences of means and variances of coordinates that count as rounding, in units of the precision: ten times the largest of
# 3,000 random tables.
_ROUNDING_STEPS = 200.0
# Largest number of components shown as images, and numbers of components for reconstructions.
_MAX_IMAGES, _RECONSTRUCTION_STEPS = 15, (1, 5, 20, 50, 100)
# Fewest random tables of `parallel_analysis_`, and the operations of one above which it is omitted.
_MIN_NULL_TABLES, _MAX_NULL_COST = 3, 1.5e9


class ProjectionReducer(Reducer):
    """Base class of maps whose coordinates are the projections of centred rows on `components_`."""

    components_: NDArray[Any]
    _row_encoder: CoordinateEncoder

    invariants: ClassVar[Invariants] = {
        "_row_encoder": InstanceOf(CoordinateEncoder),
        "_row_encoder.encoding.names": Strings("d"),
        "mean_": FloatArray("d"),
        "scale_": FloatArray("d"),
        "coordinate_names_": Strings("d"),
    }

    def _set_encoder(self, encoder: CoordinateEncoder) -> None:
        encoding = encoder.encoding
        self._row_encoder = encoder
        self.mean_, self.scale_, self.coordinate_names_ = encoding.centre, encoding.scale, encoding.names

    def transform(self, X: Any) -> NDArray[Any]:
        """Return the coordinates of new rows, each independently of the others.

        Levels that are unknown in fit are missing values, and missing values count as the mean of the column. With
        missing="pairwise" and "iterative", PCA projects incomplete rows by least squares on their present values.
        """
        check_is_fitted(self)
        check_features(self, X)
        return self._project(self._row_encoder.read(X), X)

    def _project(self, rows: Any, X: Any) -> NDArray[Any]:
        """Return the coordinates of rows in the form of the encoder, in the float type of X."""
        with parallel.thread_session():
            return self._match_dtype(self._row_encoder.project(rows, self.components_), X)


class PCA(ProjectionReducer):
    """Principal component analysis: the directions of largest variance.

    .. math:: C w = \\lambda w, \\qquad C = \\frac{1}{n - 1} \\sum_i (x_i - \\bar x)(x_i - \\bar x)'

    Parameters
    ----------
    n_components : int, float or None, default=2
        Number of components. A float in (0, 1] selects the fewest components that explain this share of the total variance; None
        keeps all, min(n_samples, n_coordinates).
    standardize : bool, default=False
        Divide numeric columns by their standard deviation. Columns are always centred.
    categories : {"balanced", "famd"}, default="balanced"
        Weight of a categorical column with K levels relative to standardised numeric columns of variance 1. "famd" divides each
        indicator by the square root of its level's share: the column's total variance is K - 1, as in factor analysis of mixed
        data (FAMD), and columns with many levels dominate. "balanced" also divides by the square root of K - 1, so that every
        column has total variance 1.
    missing : {"mean", "pairwise", "iterative"}, default="mean"
        Treatment of missing values. "mean" imputes the mean of the column; "pairwise" computes each covariance over the rows with
        both values; "iterative" estimates missing values and components together by least squares. With the last two, incomplete
        rows are projected by least squares on their present values.
    solver : {"auto", "covariance", "svd", "randomized"}, default="auto"
        Eigenvectors of the covariance, singular vectors of the rows, or block Krylov iteration from a random start, until
        residuals are below 1e-7 of the largest variance (1e-6 for float32). "auto" chooses the one with the fewest operations.
    whiten : bool, default=False
        Divide the coordinates of the embedding by their standard deviation, so that each has variance 1. Components without
        variance stay 0.
    image_shape : tuple of two int, default=None
        Height and width in pixels, if the columns are the pixels of an image, row by row. `image_sets` then returns the mean and
        the components as images.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_coordinates)
        Unit vectors; the largest absolute entry of each is positive.
    explained_variance_ : ndarray of shape (n_components,)
        Variance along each component, with n - 1.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Share of the total variance of all coordinates.
    singular_values_ : ndarray of shape (n_components,)
        Singular values of the centred rows times the square roots of their weights; NaN after `fit_covariance` without n_samples.
    noise_variance_ : float
        Mean variance of the discarded directions, of min(n_samples, n_coordinates); 0 if none is discarded.
    loadings_ : ndarray of shape (n_coordinates, n_components)
        Components times the standard deviation along them.
    mean_, scale_ : ndarray of shape (n_coordinates,)
        A coordinate is (x - mean) / scale.
    coordinate_names_ : list of str
        Numeric columns by name, then "column=level" for the categories.
    coordinate_variances_ : ndarray of shape (n_coordinates,)
        Variance of every coordinate; their sum is the total variance.
    level_spans_ : list of tuple (int, int)
        The coordinates start : stop that are the indicators of a categorical column, for each such column.
    n_missing_ : int
        Number of missing values in the rows of the fit.
    parallel_analysis_ : ParallelAnalysis or None
        `parallel_analysis` with up to 100 random tables, computed at first use; None where it would take more than about a second.
    embedding_ : ndarray of shape (n_samples, n_components)
        Coordinates of the rows; float32 if all numeric columns are float32. They are computed when they are first read, saved or
        pickled; until then the estimator keeps the rows of the fit, which must not be changed: a warning reports coordinates whose
        mean is not 0 or whose variances are not those of the fit, up to rounding. Missing values with "pairwise" and "iterative"
        have them computed in fit. Not set by `fit_covariance`.
    n_components_ : int
    solver_ : {"covariance", "svd", "randomized"}
        The solver used.
    residuals_ : ndarray of shape (n_components,)
        The norm :math:`|C w - \\lambda w|` for the randomized solver, else 0.

    Raises
    ------
    DataError
        When no column can be used, there is only one row, or image_shape does not match the columns.
    MemoryError
        When the cross products do not fit in memory.
    ValueError
        When n_components exceeds min(n_samples, n_coordinates).

    Notes
    -----
    Cost O(n q^2 + q^3) for q coordinates by the covariance, in memory O(q^2) beyond the rows: they are read block by block, once
    for the cross products and once for `embedding_`, so the table may be larger than memory. O(n^2 q) by singular vectors;
    O(n q k) for each of about fifteen passes of block Krylov. Rows of float32 are multiplied in float32, with relative errors of
    variances of about 1e-6. Categories become indicators, weighted by `categories`. With standardize=True and categories="famd"
    variances and axes are those of FAMD, and rows those of programs that standardise with n (prince, FactoMineR), times the square
    root of (n - 1) / n. The distances of nearest neighbours, MDS and graphs always use FAMD's weights. Sparse rows stay sparse
    except with "svd". "iterative" keeps all rows in memory, and converges when a step changes the missing values by less than
    1e-7 of their norm.

    References
    ----------
    Pages (2004), Analyse factorielle de donnees mixtes, Revue de Statistique Appliquee 52.
    Pearson (1901), On lines and planes of closest fit to systems of points in space, Philosophical Magazine 2; Jolliffe (2002),
    Principal Component Analysis; Kiers (1997), Weighted least squares fitting using ordinary least squares algorithms,
    Psychometrika 62; Musco and Musco (2015), Randomized block Krylov methods, NIPS; Horn (1965), A rationale and test for the
    number of factors in factor analysis, Psychometrika 30.

    Examples
    --------
    >>> from tamiz.reduction import PCA
    >>> rows = [[2.5, 2.4], [0.5, 0.7], [2.2, 2.9], [1.9, 2.2], [3.1, 3.0], [2.3, 2.7], [2, 1.6], [1, 1.1], [1.5, 1.6], [1.1, 0.9]]
    >>> PCA(2).fit(rows).explained_variance_.round(8)
    array([1.28402771, 0.0490834 ])
    >>> PCA(0.9).fit(rows).n_components_
    1
    """

    axis_label: ClassVar = "PC"
    invariants: ClassVar[Invariants] = {
        "embedding_": Nullable(FloatArray("n", "k", allow_float32=True, any_order=True)),
        "components_": FloatArray("k", "d", allow_float32=True, any_order=True),
        "_total_weight": Number(allow_missing=True),
        "_parallel_analysis": Nullable(InstanceOf(ParallelAnalysis)),
        "coordinate_variances_": FloatArray("d"),
        "explained_variance_": FloatArray("k"),
        "explained_variance_ratio_": FloatArray("k"),
        # Unknown for a covariance without its number of rows.
        "singular_values_": FloatArray("k", allow_missing=True),
        "noise_variance_": Number(0.0),
        "loadings_": FloatArray("d", "k", allow_float32=True, any_order=True),
        "residuals_": FloatArray("k"),
        "n_components_": Integer(size="k"),
        "solver_": InstanceOf(str),
    }

    def __init__(
        self,
        n_components: int | float | None = 2,
        *,
        standardize: bool = False,
        categories: str = "balanced",
        missing: str = "mean",
        solver: str = "auto",
        whiten: bool = False,
        image_shape: tuple[int, int] | None = None,
    ) -> None:
        self.n_components = n_components
        self.standardize = standardize
        self.categories = categories
        self.missing = missing
        self.solver = solver
        self.whiten = whiten
        self.image_shape = image_shape

    def study_settings(self, schema: Schema, variant: str) -> dict[str, Any]:  # noqa: ARG002
        """Return the parameters in a study: standardised columns, and components whose spectrum shows how many more there are."""
        return {"n_components": min(N_STUDY_COMPONENTS, len(schema.used), schema.n_rows), "standardize": True}

    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None, groups: Any = None) -> Self:  # noqa: ARG002
        """Compute the components.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Table
        y : ignored
        sample_weight : array of shape (n_samples,), default=None
            A weight of 2 counts as the row twice.
        groups : ignored
        """
        with parallel.thread_session():
            rows = self._read_rows(X, sample_weight)
            check_image_shape(self.image_shape, rows.n_coordinates, rows.schema)
            wanted = check_n_components(self.n_components, min(rows.n_rows, rows.n_coordinates))
            found = decompose(rows, wanted, "covariance" if self.missing == "pairwise" else self.solver)
        # Attributes are set last: a failed fit leaves the estimator unchanged.
        record_features(self, X)
        self._set_fitted(found, rows.encoder, rows.total_weight, rows.variances)
        self.noise_variance_ = found.noise_variance(max(rows.n_rows, rows.total_weight))
        self._unread_rows = (rows.table, X, rows.weights())
        warn_user(rows.collect_warnings())
        warn_user(_constant_column_warnings(rows.encoder, rows.variances, standardize=self.standardize))
        warn_user(decomposition_warnings(found, "" if rows.semidefinite else "; missing='iterative' avoids this"))
        if self.missing != "mean" and self.n_missing_:
            # Projections of incomplete rows have other moments, so that a later change of X could not be recognised.
            self._compute_embedding()
        return self

    def _check_parameters(self) -> tuple[str, str]:
        """Check the parameters; return `missing` and `solver`."""
        for name in ("standardize", "whiten"):
            if not isinstance(value := getattr(self, name), bool | np.bool_):
                raise TypeError(f"{name} must be True or False, got {value!r}.")
        check_choice("categories", self.categories, CATEGORY_WEIGHTS)
        return check_choice("missing", self.missing, MISSING_CHOICES), check_choice("solver", self.solver, SOLVERS)

    def _read_rows(self, X: Any, sample_weight: Any) -> CentredRows:
        """Return the centred rows with the treatment of missing values."""
        missing, solver = self._check_parameters()
        if missing == "pairwise" and solver not in ("auto", "covariance"):
            raise ValueError(f"missing='pairwise' requires solver='covariance' or 'auto', got {solver!r}.")
        if sparse.issparse(X):
            return CentredSparse(X, sample_weight, standardize=self.standardize)
        opened = as_table(X, None, sample_weight)
        table = CentredTable(opened, standardize=self.standardize, missing=missing, categories=self.categories)
        if missing != "iterative" or not table.n_missing:
            return table
        wanted = check_n_components(self.n_components, min(table.n_rows, table.n_coordinates))
        if isinstance(wanted, float):
            raise ValueError(
                f"missing='iterative' needs a whole number of components, and n_components={wanted} is a share of the "
                "variance."
            )
        return ImputedRows(table, wanted)

    def fit_covariance(self, covariance: Any, *, mean: Any = None, n_samples: int | None = None) -> Self:
        """Compute the components from a covariance, without rows; `embedding_` is not set and `solver` is ignored.

        Parameters
        ----------
        covariance : array-like or data frame of shape (n_features, n_features)
        mean : array-like of shape (n_features,), default=None
            Centre of the columns; required to transform rows, which must be complete.
        n_samples : int, default=None
            The number of rows of the covariance, required by `parallel_analysis`.

        Examples
        --------
        >>> from tamiz.reduction import PCA
        >>> PCA(2).fit_covariance([[0.616556, 0.615444], [0.615444, 0.716556]]).explained_variance_.round(5)
        array([1.28403, 0.04908])
        """
        self._check_parameters()
        given = read_covariance(covariance, mean, n_samples, standardize=self.standardize)
        check_image_shape(self.image_shape, len(given.covariance), None)
        wanted = check_n_components(self.n_components, len(given.covariance))
        with parallel.thread_session():
            found = decompose_covariance(given.covariance, wanted)
        self._set_fitted(found, given.encoder, given.n_rows, np.diag(given.covariance).copy())
        self.noise_variance_ = found.noise_variance(given.n_rows)
        self.n_features_in_ = len(given.covariance)
        self.__dict__.pop("feature_names_in_", None)
        if given.has_names:
            self.feature_names_in_ = np.array(given.encoder.encoding.names, dtype=object)
        warn_user(decomposition_warnings(found))
        return self

    def _set_fitted(
        self,
        components: PrincipalComponents,
        encoder: CoordinateEncoder,
        total_weight: float,
        variances: Floats,
    ) -> None:
        self._set_encoder(encoder)
        self._total_weight, self.coordinate_variances_ = total_weight, variances
        self._parallel_analysis: ParallelAnalysis | None = None
        for name in ("embedding_", "_unread_rows"):
            self.__dict__.pop(name, None)
        self.components_, self.explained_variance_ = components.directions, components.variances
        share = (
            components.variances / components.total_variance
            if components.total_variance > 0
            else np.zeros(len(components.variances))
        )
        self.explained_variance_ratio_ = share
        self.singular_values_ = np.sqrt(components.variances * (total_weight - 1))
        self.loadings_ = (components.directions * np.sqrt(components.variances)[:, None]).T
        self.n_components_, self.solver_, self.residuals_ = len(share), components.solver, components.residuals

    @property
    def level_spans_(self) -> list[tuple[int, int]]:
        """The coordinates start : stop that are the indicators of a categorical column, for each such column."""
        check_is_fitted(self)
        return self._row_encoder.encoding.level_spans

    @property
    def n_missing_(self) -> int:
        """Number of missing values in the rows of the fit."""
        check_is_fitted(self)
        return self._row_encoder.encoding.n_missing

    def image_sets(self) -> list[ImageSet]:
        """Return the mean, the components and reconstructed rows as images; an empty list without `image_shape`.

        The rows are those at the ends and in the middle of the first component, each reconstructed from more and more components.
        """
        check_is_fitted(self)
        if self.image_shape is None:
            return []
        shape = (int(self.image_shape[0]), int(self.image_shape[1]))
        shown = min(self.n_components_, _MAX_IMAGES)
        names = [f"PC {k + 1} ({self.explained_variance_ratio_[k]:.1%})" for k in range(shown)]
        note = "Changes along each component: light pixels become lighter, dark pixels darker, and grey pixels do not change."
        pixels = (self.components_[:shown] * self.scale_).tolist()
        found = [
            ImageSet("The mean", shape, ["Mean"], [self.mean_.tolist()], note="The average of every pixel."),
            ImageSet("The components", shape, names, pixels, signed=True, note=note),
        ]
        embedding = getattr(self, "embedding_", None)
        return found if embedding is None else found + self._reconstructed_rows(shape, embedding)

    def _reconstructed_rows(self, shape: tuple[int, int], embedding: NDArray[Any]) -> list[ImageSet]:
        """Return reconstructions from more and more components, of the rows at the ends and the middle of the first component."""
        n_components = embedding.shape[1]
        order = np.argsort(embedding[:, 0], kind="stable")
        steps = [*(k for k in _RECONSTRUCTION_STEPS if 2 * k <= n_components), n_components]
        names = [f"{k} component{'s' * (k > 1)}" for k in steps]
        note = "The reconstruction from the mean and this number of components."
        shown = []
        for row in sorted({int(order[0]), int(order[len(order) // 2]), int(order[-1])}):
            points = np.where(np.arange(n_components) < np.array(steps)[:, None], embedding[row], 0.0)
            images = self.inverse_transform(points).tolist()
            shown.append(ImageSet(f"Row {row + 1} reconstructed", shape, names, images, shows_rows=True, note=note))
        return shown

    def describe(self) -> MapDescription:
        """Describe the preprocessing, the shares of variance, the null model and the loadings."""
        check_is_fitted(self)
        spectrum = MapSpectrum(
            label="Share of the total variance",
            values=tuple(self.explained_variance_ratio_.tolist()),
            cumulative=tuple(np.cumsum(self.explained_variance_ratio_).tolist()),
        )
        if (chance := self.parallel_analysis_) is not None:
            spectrum = replace(
                spectrum,
                reference=tuple((chance.reference / float(self.coordinate_variances_.sum())).tolist()),
                chance_title=chance.title,
                chance_note="Chance: the mean over random tables of the same size with independent columns (parallel analysis, "
                "Horn 1965).",
            )
        return self._describe(tuple(self._preprocessing_notes()), spectrum=spectrum)

    def _preprocessing_notes(self) -> Iterator[str]:
        """Yield notes on scaling, categories, missing values and the solver."""
        levels, variances, n_missing = self.level_spans_, self.coordinate_variances_, self.n_missing_
        if self.standardize and sum(stop - start for start, stop in levels) < len(variances):
            yield "Numeric columns are divided by their standard deviation."
        if levels:
            yield self._category_note()
        if n_missing:
            values, was = ("missing value", "was") if n_missing == 1 else ("missing values", "were")
            treatment = {
                "mean": f"imputed with the mean of the column{INDICATOR_MEANS if levels else ''}",
                "pairwise": "excluded pairwise: each covariance uses the rows with both values",
                "iterative": "imputed by the components, by least squares",
            }
            yield f"{n_missing:,} {values} {was} {treatment[self.missing]}."
        if self.solver_ == "randomized":
            residual = float(self.residuals_.max())
            yield f"Directions found by block Krylov from a random start: residuals up to {residual:.1g}."
        if self.whiten:
            yield "Each coordinate is divided by its standard deviation (whitened)."

    def _category_note(self) -> str:
        """Return a note on the weights of categorical columns; with FAMD weights also their share of the total variance."""
        levels, variances = self.level_spans_, self.coordinate_variances_
        indicator = "A categorical column with K levels becomes K indicators (0 or 1), each divided by sqrt("
        if self.categories == "balanced":
            count = sum(bool(variances[start:stop].any()) for start, stop in levels)
            count += int((variances[: levels[0][0]] > 0).sum())
            total = (
                f"; the total variance is {count:,}, the number of columns" if self.standardize and count > 1 else ""
            )
            return f"{indicator}p (K - 1)), where p is the share of its level, so that the column has a total variance of 1{total}."
        every = float(variances.sum())
        share = sum(float(variances[start:stop].sum()) for start, stop in levels) / every if every > 0 else 0.0
        return (
            f"{indicator}p), where p is the share of its level (FAMD): the total variance of the column is K - 1, and categorical "
            f"columns account for {share:.1%} of the total; categories='balanced' gives each column total variance 1."
        )

    @cached_property
    def embedding_(self) -> NDArray[Any]:  # type: ignore[override]  # computed when it is first read
        """Coordinates of the rows of the fit."""
        check_is_fitted(self)
        if "_unread_rows" not in vars(self):
            raise AttributeError("PCA was fitted on a covariance: pass rows to transform to get their coordinates.")
        weight = self._unread_rows[-1]
        embedding = self._compute_embedding()
        if self._moments_differ(embedding, weight):
            text = "X was changed after fit, and embedding_ contains the coordinates of its present rows"
            warn("TZ205", f"PCA: {text}. Read embedding_ before X is changed, or fit again.")
        return embedding

    def _compute_embedding(self) -> NDArray[Any]:
        """Set and return `embedding_`, and forget the rows of the fit."""
        rows, X, _ = self._unread_rows
        n, k = rows.shape[0] if sparse.issparse(rows) else rows.schema.n_rows, self.n_components_
        check_memory(8.0 * n * k, f"{n:,} points of {k:,} components", "Ask for fewer components.")
        self.embedding_ = self._project(rows, X)
        self.__dict__.pop("_unread_rows", None)
        return self.embedding_

    def _moments_differ(self, embedding: NDArray[Any], weight: Floats | None) -> bool:
        """Return whether the coordinates of the rows differ from those of the fit, by the mean and variance of their sums.

        The sums of the rows of the fit have the mean 0 and the sum of the variances of the components, up to rounding.
        """
        lengths = np.ones(self.n_components_)
        if self.whiten:
            lengths = standard_deviations(self.explained_variance_, self.components_.shape[1])
            lengths[np.isinf(lengths)] = 0.0
        sums = np.asarray(embedding @ lengths.astype(embedding.dtype), dtype=np.float64)
        weighted = sums if weight is None else weight * sums
        mean, square = float(weighted.sum()) / self._total_weight, float(weighted @ sums) / (self._total_weight - 1)
        spread = np.sqrt(self.coordinate_variances_.sum())
        single, double = np.finfo(embedding.dtype).eps, np.finfo(np.float64).eps
        # Sums of sparse rows are not pairwise: their rounding grows with the number of rows.
        rounding = max(single, double * np.sqrt(len(sums))) * spread
        rounding += double * np.linalg.norm(self.mean_ / self.scale_)
        rounding *= _ROUNDING_STEPS * np.sqrt(len(lengths))
        return bool(abs(mean) > rounding or abs(square - self.explained_variance_.sum()) > spread * rounding)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state with the embedding instead of the rows from which it is computed."""
        if "_unread_rows" in vars(self):
            _ = self.embedding_
        state: dict[str, Any] = super().__getstate__()
        return state

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> NDArray[Any]:
        """Fit and return the coordinates of the rows."""
        self.fit(X, y, **fit_params)
        return self._compute_embedding() if "_unread_rows" in vars(self) else self.embedding_

    def _project(self, rows: Any, X: Any) -> NDArray[Any]:
        with parallel.thread_session():
            coordinates = self._row_encoder.project(rows, self.components_)
        if self.whiten:
            scale = standard_deviations(self.explained_variance_, self.components_.shape[1])
            coordinates /= scale.astype(coordinates.dtype)
        return self._match_dtype(coordinates, X)

    def inverse_transform(self, X: Any) -> NDArray[Any]:
        """Return the reconstruction of points on the components, in the units of the columns.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_components)
            Coordinates as `transform` returns them. The columns of a frame are matched by name.

        Returns
        -------
        ndarray of shape (n_samples, n_coordinates)
            float32 where X is.
        """
        check_is_fitted(self)
        points = self._read_coordinates(X)
        lengths = np.sqrt(self.explained_variance_)[:, None] if self.whiten else 1.0
        found = points @ (self.components_ * lengths) * self.scale_ + self.mean_
        return np.asarray(found, dtype=points.dtype)

    def reconstruct(self, X: Any, n_components: int | None = None) -> Floats:
        """Return the reconstruction of rows from the first components, in the units of the columns.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Table
            Rows like those of fit.
        n_components : int, default=None
            Number of components used; None is all fitted components, 0 returns the mean.

        Returns
        -------
        ndarray of shape (n_samples, n_coordinates)
        """
        check_is_fitted(self)
        k = self.n_components_
        k = k if n_components is None else check_integer("n_components", n_components, low=0, high=k)
        points = np.array(self.transform(X), dtype=np.float64)
        points[:, k:] = 0.0
        return self.inverse_transform(points)

    @property
    def parallel_analysis_(self) -> ParallelAnalysis | None:
        """Parallel analysis with up to 100 random tables, as many as about a second allows; computed at first use.

        None for very many rows and columns, for a covariance without the number of rows, and where all columns are constant.
        """
        check_is_fitted(self)
        q = len(self.coordinate_variances_)
        size = min(self._total_weight, q) if np.isfinite(self._total_weight) else np.inf
        if size**2 * q > _MAX_NULL_COST or not self.coordinate_variances_.sum() > 0:
            return None
        if self._parallel_analysis is None:
            draws = affordable_draws(self._total_weight, q, _MIN_NULL_TABLES)
            self._parallel_analysis = self.parallel_analysis(n_draws=draws, random_state=0)
        return self._parallel_analysis

    def parallel_analysis(
        self, *, n_draws: int = 100, quantile: float | None = None, random_state: Seed = 0
    ) -> ParallelAnalysis:
        """Compare the variances with those of random tables of independent normal columns (Horn's parallel analysis).

        Random columns have the observed variances, and the indicators of a category keep their dependence. Standardised columns are
        standardised in every random table. Random tables have no missing values, so that the reference is slightly too small for
        missing="pairwise".

        Parameters
        ----------
        n_draws : int, default=100
        quantile : float, default=None
            None compares with the mean over the random tables, as Horn does; 0.95 with their 95 % quantile.
        random_state : int, Generator or None, default=0

        Returns
        -------
        ParallelAnalysis
            `explained_variance`, `reference`, both of shape (n_components,), and `n_components`: the number of components
            before the first that is not above its reference.

        Notes
        -----
        Cost O(q^3) for each table, for any number of rows, because a square root of the cross products is drawn.

        References
        ----------
        Horn (1965), A rationale and test for the number of factors in factor analysis, Psychometrika 30; Bartlett (1933), On the
        theory of statistical regression, Proceedings of the Royal Society of Edinburgh 53.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from tamiz.reduction import PCA
        >>> PCA(4, standardize=True).fit(load_iris().data).parallel_analysis().n_components
        1
        """
        check_is_fitted(self)
        if not np.isfinite(self._total_weight):
            raise ValueError("parallel_analysis needs the number of rows: pass n_samples to fit_covariance.")
        draws = check_integer("n_draws", n_draws, low=1)
        if quantile is not None and not 0 < check_real("quantile", quantile, low=0.0) < 1:
            raise ValueError(f"quantile must be between 0 and 1, got {quantile}.")
        standardized = bool(self.standardize)
        null = IndependentColumns.from_encoding(
            self._row_encoder.encoding, self.coordinate_variances_, self._total_weight, standardized=standardized
        )
        return parallel_analysis(self.explained_variance_, null, draws, quantile=quantile, seed=random_state)

    def get_covariance(self) -> Floats:
        """Return the covariance of the coordinates under the model, of shape (n_coordinates, n_coordinates).

        Of the coordinates (x - mean) / scale: of standardised columns where `standardize`, and of weighted indicators of
        categories. Whitening divides the embedding and does not change it.
        """
        check_is_fitted(self)
        self._check_covariance_memory()
        above = np.maximum(self.explained_variance_ - self.noise_variance_, 0.0)
        covariance = (self.components_.T * above) @ self.components_
        np.fill_diagonal(covariance, covariance.diagonal() + self.noise_variance_)
        return np.asarray(covariance)

    def get_precision(self) -> Floats:
        """Return the inverse of `get_covariance`.

        Raises
        ------
        ValueError
            When it has none: a direction has no variance.
        """
        check_is_fitted(self)
        self._check_covariance_memory()
        along, beside, which = self._model_variances()
        if which:
            raise ValueError(
                f"The covariance has no inverse, because {which} no variance. Take fewer components, or leave columns out that "
                "others determine."
            )
        noise = 1.0 / beside[0] if len(beside) else 0.0
        precision = (self.components_.T * (1.0 / along - noise)) @ self.components_
        np.fill_diagonal(precision, precision.diagonal() + noise)
        return np.asarray(precision)

    def score_samples(self, X: Any) -> Floats:
        """Return the log-likelihood of each row under the model, in nats, of shape (n_samples,).

        Parameters
        ----------
        X : array, data frame, sparse matrix or Table
            Rows like those of fit. The density is that of the coordinates (x - mean) / scale.

        Raises
        ------
        ValueError
            When there are categorical columns, whose indicators have no normal density, or when a row has a missing value and
            `missing` is not "mean".
        """
        check_is_fitted(self)
        check_features(self, X)
        schema = self._row_encoder.table_schema()
        if schema is not None and schema.categorical:
            column = schema.columns[schema.categorical[0]].name
            raise ValueError(
                f"Indicators of categories have no normal density, and column {column} is categorical: leave such columns out of "
                "fit to score rows."
            )
        along, beside, which = self._model_variances()
        if which:
            warn(
                "TZ504",
                f"PCA: {which} no variance but rounding, and the likelihood of rows has no limit; it is computed with what "
                "rounding leaves. Take fewer components, or leave columns out that others determine.",
            )
        constant = float(np.log(2.0 * np.pi * np.append(along, beside)).sum())
        with parallel.thread_session():
            rows = self._row_encoder.read(X)
            parts = [
                self._mahalanobis_squares(points, along, beside[:1]) for points in self._row_encoder.coordinates(rows)
            ]
        squares = np.concatenate(parts)
        if np.isnan(squares).any():
            row = int(np.flatnonzero(np.isnan(squares))[0])
            raise DataError(
                f"Row {row} has a missing value: fill it in, or fit with missing='mean', which counts it as the mean of its column."
            )
        return -0.5 * (squares + constant)

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002
        """Return the mean log-likelihood of rows under the model, in nats; larger is better.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Table
            Rows like those of fit.
        y : ignored
        """
        return float(self.score_samples(X).mean())

    def _mahalanobis_squares(self, points: Floats, component_variances: Floats, noise: Floats) -> Floats:
        """Return the squared lengths of points in the metric of the precision."""
        scores = points @ self.components_.T
        residual = points - scores @ self.components_
        return scores**2 @ (1.0 / component_variances) + (residual**2).sum(axis=1) * (1.0 / noise).sum()

    def _model_variances(self) -> tuple[Floats, Floats, str]:
        """Return the variances along the components and in each other direction, all above 0, and a text on those that were 0."""
        k, q = self.components_.shape
        least = max(rounding_variance(self.explained_variance_, q), np.finfo(np.float64).tiny)
        along, beside = np.maximum(self.explained_variance_, self.noise_variance_), np.full(q - k, self.noise_variance_)
        n_along = int((along <= least).sum())
        which = ""
        if n_along:
            which = "1 component has" if n_along == 1 else f"{n_along:,} components have"
        elif k < q and self.noise_variance_ <= least:
            which = (
                "the direction beside the components has" if q - k == 1 else "the directions beside the components have"
            )
        return np.maximum(along, least), np.maximum(beside, least), which

    def _check_covariance_memory(self) -> None:
        q = self.components_.shape[1]
        check_memory(
            8.0 * 2 * q * q, f"A covariance of {q:,} coordinates", "Keep fewer columns first, with RankSelector."
        )

    @property
    def _n_features_out(self) -> int:
        return self.n_components_


def rounding_variance(variances: Floats, n_coordinates: int) -> float:
    """Return the rounding error of a variance of 0 in a decomposition of this number of coordinates."""
    return float(np.finfo(np.float64).eps * n_coordinates * variances.max(initial=0.0))


def standard_deviations(variances: Floats, n_coordinates: int) -> Floats:
    """Return the standard deviations of components, infinite for variances at rounding level."""
    return np.where(variances > rounding_variance(variances, n_coordinates), np.sqrt(variances), np.inf)


def _constant_column_warnings(encoder: CoordinateEncoder, variances: Floats, *, standardize: bool) -> list[Verdict]:
    """Return a warning about constant columns if they matter."""
    is_constant = ~(variances > 0)
    constant = list(compress(encoder.encoding.names, is_constant))
    columns = dict.fromkeys(compress(encoder.columns, is_constant))
    if is_constant.all():
        return [Verdict("TZ210", "PCA: all columns are constant, so that every component is 0.", columns)]
    if not constant or not standardize:
        return []
    verb = "is" if len(constant) == 1 else "are"
    text = f"PCA: {list_names(constant)} {verb} constant and cannot be standardised; the coordinates are 0."
    return [Verdict("TZ210", text, columns)]


def check_image_shape(shape: Any, n_coordinates: int, schema: Schema | None) -> None:
    """Raise an error if the columns are not the pixels of an image of this shape."""
    if shape is None:
        return
    if np.shape(shape) != (2,):
        raise TypeError(f"image_shape must be two numbers, rows and columns of pixels such as (28, 28), got {shape!r}.")
    height, width = (check_integer("image_shape", side, low=1) for side in shape)
    if schema is not None and (schema.categorical or len(schema.used) < schema.n_columns):
        left = next(c.name for c in schema.columns if c.exclusion_reason is not None or not c.is_number)
        raise DataError(
            f"image_shape needs numeric columns, and column {left} is not numeric. Remove the column or image_shape."
        )
    if height * width != n_coordinates:
        raise DataError(
            f"image_shape={(height, width)} is {height * width:,} pixels, and there are {n_coordinates:,} columns."
        )

"""The normal distribution that principal components describe (probabilistic PCA): its covariance and its likelihood."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tamiz.arrays import Floats
from tamiz.exceptions import DataError
from tamiz.reduction.principal.base import CoordinateEncoder
from tamiz.runtime import parallel
from tamiz.runtime.user_warnings import warn
from tamiz.runtime.validation import check_memory
from tamiz.table.feature_checks import check_features


class LikelihoodMixin:
    """The normal distribution that a fitted PCA describes.

    Coordinates have the variance of each component along it, and `noise_variance_` in every other direction.

    References
    ----------
    Tipping and Bishop (1999), Probabilistic principal component analysis, Journal of the Royal Statistical Society B 61.
    """

    components_: Floats
    explained_variance_: Floats
    noise_variance_: float
    _row_encoder: CoordinateEncoder

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


def rounding_variance(variances: Floats, n_coordinates: int) -> float:
    """Return the rounding error of a variance of 0 in a decomposition of this number of coordinates."""
    return float(np.finfo(np.float64).eps * n_coordinates * variances.max(initial=0.0))

"""Errors of reconstructions: of each row and each column, and those of principal components on the same rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tamiz.arrays import Floats
from tamiz.reduction.autoencoding.losses import ReconstructionLoss
from tamiz.reduction.autoencoding.network import Network
from tamiz.reduction.autoencoding.table import EncodedRows, TableEncoder
from tamiz.reduction.pca import PCA
from tamiz.runtime import parallel
from tamiz.runtime.user_warnings import capture_warnings

# Most coordinates for which PCA is computed from the covariance, block by block; else the coordinates of all rows are stored.
MAX_COVARIANCE = 1_500
# Values of the coordinates of a task.
_VALUES_PER_TASK = 2**20


def row_errors(errors: Floats, encoder: TableEncoder) -> Floats:
    """Return the squared errors of each row, divided by the sum of the variances of its present columns; NaN if there are none.

    Parameters
    ----------
    errors : ndarray of shape (n_rows, n_columns)
        Squared errors, NaN for missing values.
    encoder : TableEncoder
    """
    present = ~np.isnan(errors)
    variances = np.where(present, encoder.variances, 0.0).sum(axis=1)
    total = np.where(present, errors, 0.0).sum(axis=1)
    return np.divide(total, variances, out=np.full(len(errors), np.nan), where=variances > 0)


class ErrorSummary:
    """Shares of the variance of the columns that reconstructions lose.

    Attributes
    ----------
    total : float
        The share of all present values together.
    by_column : ndarray of shape (n_columns,)
        In the order of the encoded table; 0 for a constant column, NaN for one without a present value.
    """

    def __init__(self, encoder: TableEncoder, rows: EncodedRows, errors_of: Callable[[EncodedRows], Floats]) -> None:
        size = max(1, _VALUES_PER_TASK // encoder.n_coordinates)

        def add(span: tuple[int, int]) -> tuple[Floats, Floats]:
            errors = errors_of(rows.take(slice(*span)))
            present = ~np.isnan(errors)
            return np.where(present, errors, 0.0).sum(axis=0), present.sum(axis=0)

        sums, counts = np.zeros(len(encoder.variances)), np.zeros(len(encoder.variances))
        for part, n_present in parallel.map_blocks(add, parallel.block_ranges(len(rows), size)):
            sums += part
            counts += n_present
        variances = counts * encoder.variances
        self.total = float(sums.sum() / variances.sum()) if variances.any() else 0.0
        shares = np.where(counts > 0, 0.0, np.nan)
        self.by_column = np.divide(sums, variances, out=shares, where=variances > 0)


def network_errors(network: Network, encoder: TableEncoder, rows: EncodedRows) -> ErrorSummary:
    loss = ReconstructionLoss(encoder)

    def errors_of(part: EncodedRows) -> Floats:
        outputs = network.decode(network.encode(encoder.coordinates(part).astype(np.float64)))
        return loss.squared_errors(outputs, part)

    return ErrorSummary(encoder, rows, errors_of)


def pca_errors(encoder: TableEncoder, train: EncodedRows, rows: EncodedRows, n_components: int) -> ErrorSummary:
    """Return the errors of the reconstructions from principal components of the coordinates of training rows.

    Their number is that of the rows or coordinates where it is less than `n_components`.
    """
    k = min(n_components, len(train), encoder.n_coordinates)
    mean, directions = _principal_components(encoder, train, k)
    loss = ReconstructionLoss(encoder)

    def errors_of(part: EncodedRows) -> Floats:
        points = encoder.coordinates(part) - mean
        return loss.coordinate_errors(points @ directions.T @ directions + mean, part)

    return ErrorSummary(encoder, rows, errors_of)


def _principal_components(encoder: TableEncoder, rows: EncodedRows, k: int) -> tuple[Floats, Floats]:
    """Return the mean of the coordinates of rows, and the k directions of largest variance."""
    d = encoder.n_coordinates
    spans = parallel.block_ranges(len(rows), max(1, _VALUES_PER_TASK // d))

    with capture_warnings():
        if d > MAX_COVARIANCE:
            fitted = PCA(k).fit(encoder.coordinates(rows))
            return fitted.mean_, fitted.components_.astype(np.float64)

        def points_of(span: tuple[int, int]) -> Floats:
            return encoder.coordinates(rows.take(slice(*span))).astype(np.float64)

        mean = sum(parallel.map_blocks(lambda span: points_of(span).sum(axis=0), spans), np.zeros(d)) / len(rows)

        def products(span: tuple[int, int]) -> Floats:
            centred = points_of(span) - mean
            return np.asarray(centred.T @ centred)

        covariance = sum(parallel.map_blocks(products, spans), np.zeros((d, d))) / (len(rows) - 1)
        return mean, PCA(k).fit_covariance(covariance, mean=np.zeros(d)).components_

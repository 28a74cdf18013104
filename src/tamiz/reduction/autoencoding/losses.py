"""The loss of reconstructions: squared errors of numbers and cross entropies of levels, without missing values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats
from tamiz.reduction.autoencoding.table import EncodedRows, TableEncoder

# The smallest share whose logarithm is an initial bias: a level that does not occur has none.
_MIN_SHARE = 1e-6


class ReconstructionLoss:
    """The loss of a row: squared errors of its numbers, plus the cross entropy of each category over the entropy of its shares.

    It is divided by the sum of the variances of the columns, where a categorical column counts as 1: means and shares in place of
    the values have the mean loss 1. A missing value adds nothing.

    Parameters
    ----------
    encoder : TableEncoder
    """

    def __init__(self, encoder: TableEncoder) -> None:
        self._encoder, self._n_numbers = encoder, len(encoder.mean)
        self._total = float(encoder.variances.sum())
        self._level_weights = [1.0 / table.entropy if table.variance > 0 else 0.0 for table in encoder.levels]

    def initial_biases(self) -> Floats:
        """Return biases of the output layer for which the reconstructions are the means and the shares of the levels."""
        shares = [np.log(np.maximum(table.shares, _MIN_SHARE)) for table in self._encoder.levels]
        return np.concatenate([np.zeros(self._n_numbers), *shares])

    def differentiate(self, outputs: NDArray[Any], rows: EncodedRows, n_batch: int) -> float:
        """Return the sum of the losses of rows, and replace the outputs by the derivatives of this sum divided by n_batch.

        Parameters
        ----------
        outputs : ndarray of shape (n_rows, n_coordinates)
            Overwritten.
        rows : EncodedRows
            The targets.
        n_batch : int
        """
        unit = outputs.dtype.type(1.0 / (self._total * n_batch))
        residuals = outputs[:, : self._n_numbers]
        residuals -= rows.numbers
        if rows.present is not None:
            residuals *= rows.present
        loss = float(np.square(residuals).sum(dtype=np.float64))
        residuals *= 2 * unit
        for k, (weight, span) in enumerate(zip(self._level_weights, self._encoder.level_spans, strict=True)):
            present = np.flatnonzero(rows.codes[:, k] >= 0)
            codes = rows.codes[present, k]
            probabilities, entropies = _softmax(outputs[present, span], codes)
            loss += weight * float(entropies.sum(dtype=np.float64))
            probabilities[np.arange(len(present)), codes] -= 1
            probabilities *= unit * outputs.dtype.type(weight)
            outputs[:, span] = 0.0
            outputs[present, span] = probabilities
        return loss / self._total

    def squared_errors(self, outputs: Floats, rows: EncodedRows) -> Floats:
        """Return the squared error of each value, in units in which `variances` of the encoder are those of the columns.

        The error of a category is the sum over its levels of the squared differences between indicator and probability, divided by
        the total variance of the indicators.

        Parameters
        ----------
        outputs : ndarray of shape (n_rows, n_coordinates)
        rows : EncodedRows

        Returns
        -------
        ndarray of shape (n_rows, n_columns)
            NaN for a missing value.
        """
        points = outputs.copy()
        for table, span in zip(self._encoder.levels, self._encoder.level_spans, strict=True):
            if table.variance > 0:
                probabilities, _ = _softmax(outputs[:, span].copy(), np.zeros(len(outputs), dtype=np.int32))
                points[:, span] = (probabilities - table.shares) / np.sqrt(table.variance)
        return self.coordinate_errors(points, rows)

    def coordinate_errors(self, points: Floats, rows: EncodedRows) -> Floats:
        """Return the squared error of each value, as `squared_errors` does, from reconstructed coordinates."""
        encoder = self._encoder
        errors = np.empty((len(points), len(encoder.variances)))
        numbers = points[:, : self._n_numbers] - rows.numbers
        errors[:, : self._n_numbers] = numbers**2
        if rows.present is not None:
            errors[:, : self._n_numbers][~rows.present] = np.nan
        for k, (table, span) in enumerate(zip(encoder.levels, encoder.level_spans, strict=True)):
            differences = points[:, span] - table.coordinates[rows.codes[:, k]]
            own = np.square(differences).sum(axis=1)
            own[rows.codes[:, k] < 0] = np.nan
            errors[:, self._n_numbers + k] = own
        errors[:, encoder.variances == 0] *= 0.0
        return errors


def _softmax(logits: NDArray[Any], codes: NDArray[np.int32]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Replace logits by probabilities; return these and the cross entropy of the level `codes` of each row."""
    logits -= logits.max(axis=1, keepdims=True)
    chosen = logits[np.arange(len(logits)), codes]
    np.exp(logits, out=logits)
    sums = logits.sum(axis=1)
    logits /= sums[:, None]
    return logits, np.log(sums) - chosen

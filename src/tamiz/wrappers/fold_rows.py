"""The rows of a fold as an estimator takes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from tamiz.statistics.base import Floats
from tamiz.wrappers.estimators import fit_weighted
from tamiz.wrappers.given import NativeRows

ColumnIndices = NDArray[np.intp]


@dataclass(frozen=True)
class FittedFold:
    """An estimator as fitted on some columns and the rows that a fold learns from.

    Attributes
    ----------
    estimator : estimator
    test_rows : array or frame
        The rows tested, as it takes them.
    """

    estimator: Any
    test_rows: Any


@dataclass(frozen=True)
class EncodedRows:
    """Encoded rows, of which the coordinates of columns are taken.

    Attributes
    ----------
    rows : Part
    columns, widths : ndarray
        The columns, ascending, and how many coordinates each has.
    """

    rows: NativeRows
    columns: ColumnIndices
    widths: NDArray[np.intp]

    def select(self, columns: ColumnIndices) -> Any:
        """Return the coordinates of some of the columns, as a copy."""
        starts = np.cumsum(self.widths) - self.widths
        places = np.searchsorted(self.columns, columns).tolist()
        return self.rows.select(np.concatenate([starts[k] + np.arange(self.widths[k]) for k in places]))


@dataclass(frozen=True)
class FoldRows:
    """The rows of a fold, for refits on sets of columns in this process or another.

    Attributes
    ----------
    train, test : Part or Coordinates
    train_target, test_target : ndarray or None
        The target of both.
    train_weight, test_weight : ndarray or None
    """

    train: NativeRows | EncodedRows
    test: NativeRows | EncodedRows
    train_target: NDArray[Any] | None
    test_target: NDArray[Any] | None
    train_weight: Floats | None
    test_weight: Floats | None

    def refit(self, estimator: Any, columns: ColumnIndices) -> FittedFold:
        """Fit a copy of an estimator on a set of columns."""
        fitted = fit_weighted(clone(estimator), self.train.select(columns), self.train_target, self.train_weight)
        return FittedFold(fitted, self.test.select(columns))

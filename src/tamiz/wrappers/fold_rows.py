"""The rows of a fold as an estimator takes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from tamiz.statistics.base import Floats
from tamiz.wrappers.estimators import fit_weighted
from tamiz.wrappers.given import Part

Columns = NDArray[np.intp]


@dataclass(frozen=True)
class Fitted:
    """An estimator as fitted on some columns and the rows that a fold learns from.

    Attributes
    ----------
    estimator : estimator
    rows : array or frame
        The rows tested, as it takes them.
    """

    estimator: Any
    rows: Any


@dataclass(frozen=True)
class Coordinates:
    """Encoded rows, of which the coordinates of columns are taken.

    Attributes
    ----------
    rows : Part
    columns, widths : ndarray
        The columns, ascending, and how many coordinates each has.
    """

    rows: Part
    columns: Columns
    widths: NDArray[np.intp]

    def of(self, columns: Columns) -> Any:
        """Return the coordinates of some of the columns, as a copy."""
        starts = np.cumsum(self.widths) - self.widths
        places = np.searchsorted(self.columns, columns).tolist()
        return self.rows.of(np.concatenate([starts[k] + np.arange(self.widths[k]) for k in places]))


@dataclass(frozen=True)
class FoldRows:
    """The rows of a fold, for refits on sets of columns in this process or another.

    Attributes
    ----------
    train, test : Part or Coordinates
    labels, tested : ndarray or None
        The target of both.
    weight, tested_weight : ndarray or None
    """

    train: Part | Coordinates
    test: Part | Coordinates
    labels: NDArray[Any] | None
    tested: NDArray[Any] | None
    weight: Floats | None
    tested_weight: Floats | None

    def refit(self, estimator: Any, columns: Columns) -> Fitted:
        """Fit a copy of an estimator on a set of columns."""
        fitted = fit_weighted(clone(estimator), self.train.of(columns), self.labels, self.weight)
        return Fitted(fitted, self.test.of(columns))

"""Rows that a metric cannot measure, named."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tamiz.exceptions import DataError
from tamiz.graphs.reading import named_rows


def refuse_not_finite(rows: NDArray[np.intp]) -> None:
    """Refuse the rows named."""
    if len(rows):
        raise DataError(
            f"{named_rows(rows)} a NaN or an infinite value; distances need finite ones. "
            "Fill such values in or leave such rows out."
        )


def refuse_no_direction(rows: NDArray[np.intp]) -> None:
    """Refuse the rows named."""
    if len(rows):
        raise DataError(
            f"{named_rows(rows)} only zeros and so no direction, which is what the cosine distance compares. "
            "Leave such rows out, or use the Euclidean distance."
        )


def refuse_other_columns(n_given: int, n_fitted: int) -> None:
    """Refuse new rows of another number of columns."""
    if n_given != n_fitted:
        raise DataError(f"X has {n_given} features, but {n_fitted} were there in fit.")

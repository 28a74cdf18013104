"""A column as it is read, before its kind is inferred."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tamiz.table.schema import Kind

# Larger integers are not represented exactly by float64.
LARGEST_EXACT_INTEGER = 2**53


@dataclass(frozen=True)
class RawColumn:
    """The values of a column and what its table declares about them.

    Attributes
    ----------
    name : str
    values : ndarray or pyarrow.Array
        float64 or float32 with NaN for missing; or an Arrow array, with null for missing, of strings, a dictionary of strings,
        booleans, dates, timestamps, integers, decimals or floats. Integers beyond 2**53 are never floats, because all digits matter
        for labels, groups and columns that are copied to the output.
    categories : tuple of str or None
        The words of the codes if `values` are codes (integers, -1 for missing); None if they are numbers.
    kind : Kind or None
        The kind that the table declares (category of a data frame, nominal of ARFF); None to infer it.
    ordered : bool
        Whether `categories` or the dictionary have an order that the table declares.
    original : ndarray or series, or None
        The values in their original type, for the labels of classes; None if `values` have it, or if the table has no types.
    """

    name: str
    values: NDArray[Any] | pa.Array
    kind: Kind | None = None
    categories: tuple[str | None, ...] | None = None
    ordered: bool = False
    original: Any = None

    def take(self, rows: NDArray[Any]) -> RawColumn:
        """Return some rows of the column; `rows` are row numbers or a boolean mask."""
        if isinstance(self.values, np.ndarray):
            return replace(self, values=self.values[rows], original=None)
        index = np.flatnonzero(rows) if rows.dtype == bool else rows
        return replace(self, values=self.values.take(pa.array(index)), original=None)

    def __len__(self) -> int:
        return len(self.values)

"""A column as a reader hands it over, before it has a kind."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tamiz.sources.schema import Kind

# Of whole numbers beyond this one, several may be one as float64.
LARGEST_EXACT_INTEGER = 2**53


@dataclass(frozen=True)
class RawColumn:
    """Values and what the source itself declares about them.

    Attributes
    ----------
    name : str
    values : ndarray or pyarrow.Array
        float64 or float32 with NaN for missing; or an Arrow array: string, dictionary of strings, bool, date or timestamp,
        whole (integer or decimal) or floating point, null for missing. Whole numbers beyond 2**53 are never floats, for as labels,
        groups or columns that are carried along every digit counts.
    categories : tuple of str or None
        What codes stand for, where `values` are codes (whole numbers, -1 for missing) and not numbers.
    kind : Kind or None
        The kind that the source declares (a data frame's category, ARFF's nominal), None where it is to be guessed.
    ordered : bool
        Whether the source declares an order of the levels, in which `categories` or the dictionary have them.
    original : ndarray or series, or None
        The values in the type that they came in, for labels of classes; None where `values` tell it, or no type was said.
    """

    name: str
    values: NDArray[Any] | pa.Array
    kind: Kind | None = None
    categories: tuple[str | None, ...] | None = None
    ordered: bool = False
    original: Any = None

    def take(self, rows: NDArray[Any]) -> RawColumn:
        """Return the column with some of its rows; `rows` are numbers, or booleans as long as the column."""
        if isinstance(self.values, np.ndarray):
            return replace(self, values=self.values[rows], original=None)
        index = np.flatnonzero(rows) if rows.dtype == bool else rows
        return replace(self, values=self.values.take(pa.array(index)), original=None)

    def __len__(self) -> int:
        return len(self.values)

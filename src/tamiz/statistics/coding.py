"""Columns as codes: levels as they are, numbers by their cut points."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.kernels.tables import bin_values
from tamiz.statistics.base import Block, Codes, Floats


@dataclass(frozen=True, eq=False)
class Coding:
    """How each source column turns into codes 0 .. size - 1, with -1 for missing.

    Attributes
    ----------
    sizes : mapping of column to int
        How many values a coded column has; the schema's `n_columns` stands for the target.
    edges : mapping of column to ndarray
        Ascending cut points of the columns that are numbers; a value equal to a cut goes left.
    """

    sizes: Mapping[int, int]
    edges: Mapping[int, Floats]

    def encode(self, block: Block, column: int) -> Codes:
        """Return the codes of a column in the rows of a block."""
        values = block.column(column)
        if column not in self.edges:
            return values
        codes = np.empty(len(values), dtype=np.int32)
        bin_values(values, self.edges[column], codes)
        return codes

    def stored_codes(self, block: Block, column: int) -> NDArray[np.signedinteger[Any]]:
        """Return the codes of a column as they are held, in one, two or four bytes."""
        return self.encode(block, column) if column in self.edges else block.values.get(column, block.y)  # type: ignore[arg-type]  # a target is there

    @cached_property
    def fingerprint(self) -> tuple[tuple[int, int, bytes], ...]:
        """What the codes depend on, hashable."""
        none = np.empty(0)
        return tuple((c, n, self.edges.get(c, none).tobytes()) for c, n in sorted(self.sizes.items()))

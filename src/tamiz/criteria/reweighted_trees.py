"""Trees of the same rows under many weights, from columns that were coded once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.criteria.model_rows import ModelRows
from tamiz.kernels.histogram_trees import grow
from tamiz.statistics.base import Floats

# Codes of one byte.
_MOST_CODES = 2**8


class TreeRegrowth:
    """What trees on fixed sets of columns tell of the target when the rows have other weights.

    Parameters
    ----------
    rows : ModelRows
        Their weights are not read.
    points : ndarray of shape (n_rows, n_coordinates), float32
    columns : list of ndarray
        The coordinates of every column.
    sets : list of ndarray
        The columns that every tree may ask for.
    max_depth : int

    Notes
    -----
    A coordinate of up to 256 values is split between any two of them; of more, neighbouring values that hold about 1 / 256 of the
    rows stay together. Of equally good splits the tree takes that of the column which is first in its set.
    """

    def __init__(
        self,
        rows: ModelRows,
        points: NDArray[Any],
        columns: Sequence[NDArray[np.intp]],
        sets: Sequence[NDArray[np.intp]],
        max_depth: int,
    ) -> None:
        order = np.concatenate(columns)
        coded = [_coded(points[:, j]) for j in order.tolist()]
        self._codes = np.array([codes for codes, _ in coded])
        self._n_codes = np.array([n for _, n in coded], dtype=np.int64)
        self._first = np.concatenate([[0], np.cumsum([len(one) for one in columns])]).astype(np.int64)
        self._target = np.ascontiguousarray(rows.target, dtype=np.float64)
        self._n_classes = rows.n_classes
        self._sets = np.concatenate(sets).astype(np.int64)
        self._starts = np.concatenate([[0], np.cumsum([len(one) for one in sets])]).astype(np.int64)
        self._max_depth = max_depth

    @property
    def work(self) -> float:
        """How many sums one round of trees takes for one weighting, about."""
        questions = 2**self._max_depth * self._n_codes.sum() * max(self._n_classes, 2)
        return float(self._codes.size * self._max_depth / 4 + questions / 2)

    def told(self, weight: Floats) -> Floats:
        """Return the sum over the trees of what each column tells, under weights of shape (n_rows,)."""
        out = np.zeros(len(self._first) - 1)
        # Of two classes the indicator of one says all.
        is_number, n_sums = self._n_classes <= 2, max(self._n_classes, 2)
        forest = self._sets, self._starts, self._max_depth
        grow(
            self._codes, self._n_codes, self._first, self._target, is_number, n_sums, weight, *forest, out,
        )  # fmt: skip
        return out


def _coded(values: NDArray[Any]) -> tuple[NDArray[np.uint8], int]:
    """Return the codes of a coordinate and how many there are."""
    distinct, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    if len(distinct) > _MOST_CODES:
        place = (np.cumsum(counts) - counts) * _MOST_CODES // len(values)
        codes = np.unique(place, return_inverse=True)[1][codes]
    return codes.astype(np.uint8), int(codes.max()) + 1

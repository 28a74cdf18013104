"""Trees of the same rows under many weights, from columns that were coded once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.criteria.model_rows import TrainingData
from tamiz.kernels.histogram_trees import add_tree_importances
from tamiz.statistics.base import Floats

# Codes of one byte.
_MAX_CODES = 2**8


class ReweightedTrees:
    """What trees on fixed sets of columns tell of the target when the rows have other weights.

    Parameters
    ----------
    data : TrainingData
        Their weights are not read.
    features : ndarray of shape (n_rows, n_coordinates), float32
    columns : list of ndarray
        The coordinates of every column.
    column_sets : list of ndarray
        The columns that every tree may ask for.
    max_depth : int

    Notes
    -----
    A coordinate of up to 256 values is split between any two of them; of more, neighbouring values that hold about 1 / 256 of the
    rows stay together. Of equally good splits the tree takes that of the column which is first in its set.
    """

    def __init__(
        self,
        data: TrainingData,
        features: NDArray[Any],
        columns: Sequence[NDArray[np.intp]],
        column_sets: Sequence[NDArray[np.intp]],
        max_depth: int,
    ) -> None:
        order = np.concatenate(columns)
        coded = [_bin_codes(features[:, j]) for j in order.tolist()]
        self._codes = np.array([codes for codes, _ in coded])
        self._n_codes = np.array([n for _, n in coded], dtype=np.int64)
        self._first = np.concatenate([[0], np.cumsum([len(one) for one in columns])]).astype(np.int64)
        self._target = np.ascontiguousarray(data.target, dtype=np.float64)
        self._n_classes = data.n_classes
        self._column_sets = np.concatenate(column_sets).astype(np.int64)
        self._starts = np.concatenate([[0], np.cumsum([len(one) for one in column_sets])]).astype(np.int64)
        self._max_depth = max_depth

    @property
    def cost_per_round(self) -> float:
        """How many sums one round of trees takes for one weighting, about."""
        questions = 2**self._max_depth * self._n_codes.sum() * max(self._n_classes, 2)
        return float(self._codes.size * self._max_depth / 4 + questions / 2)

    def importance_sums(self, weight: Floats) -> Floats:
        """Return the sum over the trees of what each column tells, under weights of shape (n_rows,)."""
        out = np.zeros(len(self._first) - 1)
        # Of two classes the indicator of one says all.
        is_number, n_sums = self._n_classes <= 2, max(self._n_classes, 2)
        forest = self._column_sets, self._starts, self._max_depth
        add_tree_importances(
            self._codes, self._n_codes, self._first, self._target, is_number, n_sums, weight, *forest, out,
        )  # fmt: skip
        return out


def _bin_codes(values: NDArray[Any]) -> tuple[NDArray[np.uint8], int]:
    """Return the codes of a coordinate and how many there are."""
    distinct, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    if len(distinct) > _MAX_CODES:
        place = (np.cumsum(counts) - counts) * _MAX_CODES // len(values)
        codes = np.unique(place, return_inverse=True)[1][codes]
    return codes.astype(np.uint8), int(codes.max()) + 1

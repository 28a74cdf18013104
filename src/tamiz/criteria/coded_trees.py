"""Trees on columns that were coded once: under other weights of the rows, and beside permuted copies of the columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats, Indices
from tamiz.criteria.model_relevance import TrainingData
from tamiz.kernels.histogram_trees import add_tree_importances
from tamiz.runtime import parallel

# Number of sets that a round splits the columns into.
_N_COLUMN_SETS = 3
# Codes of one byte.
_MAX_CODES = 2**8
# Deep nodes have few rows, and scanning their histograms is most of the work; 64 bins confirm the same columns as 256.
_MAX_SHADOW_CODES = 2**6
# Rounds of trees that one task grows: it counts the histograms of all rows once.
_TASK_ROUNDS = 5


def split_columns(n_columns: int, rng: np.random.Generator) -> list[Indices]:
    """Return the columns in three random sets; in fewer sets where a set would have a single column, without competition."""
    return np.array_split(rng.permutation(n_columns), max(1, min(_N_COLUMN_SETS, n_columns // 2)))


@dataclass(frozen=True)
class CodedColumns:
    """Columns of a table as codes of one byte.

    Attributes
    ----------
    codes : ndarray of shape (n_coordinates, n_rows), uint8
    n_codes : ndarray of shape (n_coordinates,)
        The number of codes of each coordinate.
    first : ndarray of shape (n_columns + 1,)
        The first coordinate of each column.

    Notes
    -----
    A coordinate with up to `max_codes` values, by default 256, can be split between any two of them; one with more values is binned
    into about as many bins of equally many rows.
    """

    codes: NDArray[np.uint8]
    n_codes: NDArray[np.int64]
    first: NDArray[np.int64]

    @classmethod
    def from_features(
        cls, features: NDArray[Any], columns: Sequence[Indices], max_codes: int = _MAX_CODES
    ) -> CodedColumns:
        """Code features of shape (n_rows, n_coordinates), given the coordinates of every column."""
        coded = [_bin_codes(features[:, j], max_codes) for j in np.concatenate(columns).tolist()]
        first = np.concatenate([[0], np.cumsum([len(one) for one in columns])]).astype(np.int64)
        return cls(np.array([codes for codes, _ in coded]), np.array([n for _, n in coded], dtype=np.int64), first)

    def with_shadows(self, columns: Indices, copied: Indices, rng: np.random.Generator) -> CodedColumns:
        """Return some columns, and after them copies of columns, each with its rows in a random order of its own."""
        coordinates = [np.arange(self.first[k], self.first[k + 1]) for k in [*columns.tolist(), *copied.tolist()]]
        order = np.concatenate(coordinates)
        codes = self.codes[order]
        first = np.concatenate([[0], np.cumsum([len(one) for one in coordinates])]).astype(np.int64)
        for k in range(len(columns), len(coordinates)):
            # The coordinates of one column stay together: a row has one level.
            codes[first[k] : first[k + 1]] = codes[first[k] : first[k + 1], rng.permutation(codes.shape[1])]
        return CodedColumns(codes, self.n_codes[order], first)


class ShadowTrees:
    """Importances of columns and of permuted copies of them, from trees in which all compete: a `ShadowScorer`.

    Parameters
    ----------
    data : TrainingData
    columns : list of ndarray
        The coordinates of every distinct column.
    distinct_index : mapping of int to int
        The index in `columns` of each column of the table; constant columns are not in it and score 0.
    n_rounds : int
        The number of trees that contain each column.
    max_depth : int
    """

    def __init__(
        self,
        data: TrainingData,
        columns: Sequence[Indices],
        distinct_index: Mapping[int, int],
        n_rounds: int,
        max_depth: int,
    ) -> None:
        self._coded = CodedColumns.from_features(data.features.astype(np.float32), columns, _MAX_SHADOW_CODES)
        self._distinct_index = distinct_index
        self._target = np.ascontiguousarray(data.target, dtype=np.float64)
        self._n_classes = data.n_classes
        self._weight = np.ones(len(self._target)) if data.weight is None else data.weight
        self._n_rounds, self._max_depth = n_rounds, max_depth

    def __call__(self, columns: Indices, copied: Indices, rng: np.random.Generator) -> Floats:
        """Return the importances of columns and, after them, of permuted copies of columns."""
        index = [self._distinct_index.get(j, -1) for j in [*columns.tolist(), *copied.tolist()]]
        of_columns, of_copies = np.array(index[: len(columns)]), np.array(index[len(columns) :])
        distinct, position = np.unique(of_columns[of_columns >= 0], return_inverse=True)
        is_present = of_copies >= 0
        coded = self._coded.with_shadows(distinct, of_copies[is_present], rng)
        n = len(coded.first) - 1
        scores = np.zeros(len(index))
        if not n:
            return scores
        rounds = [split_columns(n, rng) for _ in range(self._n_rounds)]
        tasks = (rounds[start:stop] for start, stop in parallel.block_ranges(len(rounds), _TASK_ROUNDS))
        sums = parallel.map_blocks(lambda task: self._grow(coded, [one for sets in task for one in sets]), tasks)
        importances = np.sum(list(sums), axis=0) / self._n_rounds
        scores[: len(columns)][of_columns >= 0] = importances[position]
        scores[len(columns) :][is_present] = importances[len(distinct) :]
        return scores

    def _grow(self, coded: CodedColumns, column_sets: Sequence[Indices]) -> Floats:
        target = self._target, self._n_classes
        return _grow_trees(coded, *target, self._weight, *_flatten_sets(column_sets), self._max_depth)


class ReweightedTrees:
    """Importances of trees on fixed sets of columns under other row weights; the columns are coded once.

    Parameters
    ----------
    data : TrainingData
        Its weights are not read.
    features : ndarray of shape (n_rows, n_coordinates), float32
    columns : list of ndarray
        The coordinates of every column.
    column_sets : list of ndarray
        The columns of every tree.
    max_depth : int

    Notes
    -----
    Coordinates are binned as in `CodedColumns`. Among equally good splits the tree uses the one of the first column in its set.
    """

    def __init__(
        self,
        data: TrainingData,
        features: NDArray[Any],
        columns: Sequence[Indices],
        column_sets: Sequence[Indices],
        max_depth: int,
    ) -> None:
        self._coded = CodedColumns.from_features(features, columns)
        self._target = np.ascontiguousarray(data.target, dtype=np.float64)
        self._n_classes = data.n_classes
        self._column_sets, self._starts = _flatten_sets(column_sets)
        self._max_depth = max_depth

    @property
    def cost_per_round(self) -> float:
        """Approximate number of sums of one round of trees for one weighting."""
        n_splits = 2**self._max_depth * self._coded.n_codes.sum() * max(self._n_classes, 2)
        return float(self._coded.codes.size * self._max_depth / 4 + n_splits / 2)

    def importance_sums(self, weight: Floats) -> Floats:
        """Return the sum of the importances of each column over the trees, under weights of shape (n_rows,)."""
        target = self._target, self._n_classes
        return _grow_trees(self._coded, *target, weight, self._column_sets, self._starts, self._max_depth)


def _flatten_sets(column_sets: Sequence[Indices]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the columns of all trees, one tree after the other, and where each tree starts."""
    starts = np.concatenate([[0], np.cumsum([len(one) for one in column_sets])]).astype(np.int64)
    return np.concatenate(column_sets).astype(np.int64), starts


def _grow_trees(
    coded: CodedColumns,
    target: Floats,
    n_classes: int,
    weight: Floats,
    column_sets: NDArray[np.int64],
    starts: NDArray[np.int64],
    max_depth: int,
) -> Floats:
    out = np.zeros(len(coded.first) - 1)
    # For two classes one indicator suffices.
    is_number, n_sums = n_classes <= 2, max(n_classes, 2)
    columns = coded.codes, coded.n_codes, coded.first
    add_tree_importances(*columns, target, is_number, n_sums, weight, column_sets, starts, max_depth, out)
    return out


def _bin_codes(values: NDArray[Any], max_codes: int) -> tuple[NDArray[np.uint8], int]:
    distinct, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    if len(distinct) > max_codes:
        bins = (np.cumsum(counts) - counts) * max_codes // len(values)
        codes = np.unique(bins, return_inverse=True)[1][codes]
    return codes.astype(np.uint8), int(codes.max()) + 1

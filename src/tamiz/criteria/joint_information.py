"""Mutual information of columns with the target, and of pairs of columns over all rows and within the classes of the target."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats
from tamiz.criteria.base import GatherFunction
from tamiz.criteria.chance_information import ExpectedInformation
from tamiz.criteria.discretization import ColumnCoder
from tamiz.criteria.entropies import check_table_sizes
from tamiz.kernels import contingency as kernels
from tamiz.runtime import parallel
from tamiz.statistics.contingency import CodedRows
from tamiz.table.schema import Schema
from tamiz.table.worker_tasks import map_code_columns, map_pairs

_Bits: TypeAlias = "tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64]]"
_PairCounter: TypeAlias = "Callable[[NDArray[Any], NDArray[Any]], Floats]"

# Up to this many values of both columns, counting bits is faster than counting rows.
_MAX_BIT_VALUES = 14
# Rows times columns, or times pairs, of one block: for less, a thread costs more than it saves.
_BLOCK_ROWS, _BLOCK_PAIR_ROWS = 2**20, 2**23


class PairInformation(NamedTuple):
    """What is known of pairs of columns i and j, in bits; each an array of shape (n_pairs,).

    Attributes
    ----------
    relevances : ndarray
        I(i; Y) + I(j; Y).
    redundancies : ndarray
        I(i; j).
    conditional : ndarray
        I(i; j | Y).
    joint_entropies : ndarray
        H(i, j, Y).
    """

    relevances: Floats
    redundancies: Floats
    conditional: Floats
    joint_entropies: Floats


def read_coded_rows(coder: ColumnCoder, gather: GatherFunction, schema: Schema, *, conditional: bool) -> CodedRows:
    """Return the rows of the used columns and, last, of the target as codes.

    Parameters
    ----------
    coder : ColumnCoder
        Codes the columns and the target.
    gather : callable
        Returns filled copies of statistics.
    schema : Schema
    conditional : bool
        Whether pairs will be counted within the classes, in a table for each class.
    """
    coding = coder.gather_coding(gather)
    check_table_sizes(coding, schema, coding.sizes[schema.n_columns] if conditional else 1)
    rows = CodedRows((*map(int, schema.used), schema.n_columns), coding)
    n_bits = sum(coding.sizes[c] + 1 for c in rows.columns if coding.sizes[c] <= _MAX_BIT_VALUES)
    # Two copies, in blocks and concatenated, and the bits.
    rows.work_bytes = 2.0 * rows.row_bytes + n_bits / 8
    (rows,) = gather(rows)
    return rows


class JointInformation:
    """Information of the columns of one table and of their pairs, in bits.

    A missing value is a category, or its count is distributed over the present values in each table of two columns: of a column and
    the target, of a pair, and of a pair within every class.

    Parameters
    ----------
    rows : CodedRows
        The last column is the target.
    distribute : bool
        Whether counts of missing values are distributed.
    conditional : bool
        Whether pairs are also counted within the classes; otherwise the conditional information of pairs is that of all rows.
    correct : bool
        Whether the expectation under independence is subtracted from the information of columns and pairs.
    sampled : bool
        Whether the rows have sampling weights.

    Attributes
    ----------
    relevances : ndarray of shape (n_columns,)
        I(j; Y) of every column of the schema, 0 for a column that is not used.
    max_entropy : float
        The largest entropy of a column; no information of a pair is larger.
    """

    def __init__(
        self, rows: CodedRows, *, distribute: bool, conditional: bool, correct: bool, sampled: bool = False
    ) -> None:
        columns, rules = list(rows.columns[:-1]), (distribute, conditional)
        n_columns, n_classes = rows.columns[-1], rows.coding.sizes[rows.columns[-1]]
        self._rows, self._rules = rows, rules
        labels = rows.select([n_columns]).codes[0]
        weight = np.asarray(rows.weight)
        sizes = np.array([rows.coding.sizes[c] for c in columns], dtype=np.int64)
        # The values of column c, missing last, have the rows [starts[c], starts[c + 1]) of the counts.
        self._starts = _bounds(sizes + 1)
        tables = _class_tables(rows)
        entropies = np.zeros((len(columns), 3))
        kernels.stacked_entropies(tables, self._starts, distribute, entropies)
        self.relevances = np.zeros(n_columns)
        self.relevances[columns] = entropies[:, 2]
        self.max_entropy = float(entropies[:, 0].max(initial=0.0))
        shares = np.bincount(labels, weight if len(weight) else None, n_classes).astype(np.float64)
        shares = shares[shares > 0] / shares.sum()
        self._target_entropy = float((shares * -np.log2(shares)).sum())
        self._position = np.zeros(n_columns, dtype=np.int64)
        self._position[columns] = np.arange(len(columns))
        self._labels = labels if conditional else np.zeros_like(labels)
        self._class_counts = np.ascontiguousarray(tables[:, :-1])
        self._counts = self._class_counts if conditional else tables.sum(axis=1, keepdims=True)
        self._class_weights = self._counts[: self._starts[1]].sum(axis=0) if len(columns) else np.zeros(1)
        self._sizes = sizes
        self._by_bits = (sizes <= _MAX_BIT_VALUES) & (len(weight) == 0)
        self._expected: ExpectedInformation | None = None
        if correct:
            squares = _class_tables(rows, squared=True)[:, :-1] if sampled else None
            self._expected = ExpectedInformation(
                self._class_counts, self._starts, conditional=conditional, class_squares=squares
            )
            self.relevances[columns] -= self._expected.relevances

    def class_counts(self, column: int) -> Floats:
        """Return the weights of the values of a column in each class, without those of missing values if they are distributed."""
        c = self._position[column]
        counts: Floats = self._class_counts[self._starts[c] : self._starts[c + 1]]
        return counts[:-1] if self._rules[0] else counts

    @cached_property
    def _bits(self) -> _Bits:
        """The columns with few values as bits, the first word of each value of a column, and the first word of each class."""
        has_missing = self._counts[self._starts[1:] - 1].any(axis=1)
        value_words = _bounds(np.where(self._by_bits, self._sizes + has_missing, 0))
        # Every class starts with a word of its own.
        class_rows = np.bincount(self._labels, minlength=len(self._class_weights))
        class_words = _bounds(-(-class_rows // 64))
        by_class = np.argsort(self._labels, kind="stable")
        positions = np.empty(len(self._labels), dtype=np.int64)
        first_rows = np.cumsum(class_rows) - class_rows
        positions[by_class] = np.arange(len(positions)) + np.repeat(64 * class_words[:-1] - first_rows, class_rows)
        words = np.zeros((int(value_words[-1]), int(class_words[-1])), dtype=np.uint64)
        codes = self._rows.codes
        pack = kernels.pack_class_bits_8 if codes.dtype == np.uint8 else kernels.pack_class_bits_16

        def pack_columns(span: tuple[int, int]) -> None:
            for c in range(*span):
                if self._by_bits[c]:
                    pack(codes[c], positions, words[value_words[c] : value_words[c + 1]])

        _run_columns(pack_columns, self._rows)
        return words, value_words, class_words

    def of_pairs(self, i: NDArray[Any], j: NDArray[Any]) -> PairInformation:
        if self._rows.workers is None:
            found = self.count_pairs(i, j)
        else:
            found = map_pairs(self._rows, partial(_count_pairs, *self._rules), i, j, (self._rows.columns[-1],))
        if self._expected is not None:
            found[:, :2] -= self._expected.of_pairs(self._position[i], self._position[j])
        return PairInformation(
            self.relevances[i] + self.relevances[j], found[:, 0], found[:, 1], found[:, 2] + self._target_entropy
        )

    def count_pairs(self, i: NDArray[Any], j: NDArray[Any]) -> Floats:
        """Return I(i; j), I(i; j | Y) and H(i, j | Y) of pairs, without a correction, of shape (n_pairs, 3)."""
        first, second = self._position[i], self._position[j]
        found = np.empty((len(first), 3))
        by_bits = self._by_bits[first] & self._by_bits[second]
        # The bits are made here, and not by several threads at once.
        for where, count in ((by_bits, partial(self._count_bits, self._bits)), (~by_bits, self._count_rows)):
            self._fill(found, np.flatnonzero(where), first, second, count)
        return found

    def _fill(
        self, out: Floats, where: NDArray[Any], first: NDArray[Any], second: NDArray[Any], count: _PairCounter
    ) -> None:
        size = 1 + _BLOCK_PAIR_ROWS // (1 + len(self._labels))
        parts = [where[start:stop] for start, stop in parallel.block_ranges(len(where), size)]
        for part, values in zip(parts, parallel.map_blocks(lambda p: count(first[p], second[p]), parts), strict=True):
            out[part] = values

    def _count_bits(self, bits: _Bits, first: NDArray[Any], second: NDArray[Any]) -> Floats:
        out = np.empty((len(first), 3))
        counts = self._counts, self._class_weights, self._starts
        kernels.pair_information_by_bits(*bits, *counts, first, second, self._rules[0], out)
        return out

    def _count_rows(self, first: NDArray[Any], second: NDArray[Any]) -> Floats:
        out = np.empty((len(first), 3))
        codes = self._rows.codes[:-1]
        rows = codes, self._labels, self._rows.weight, self._class_weights, self._starts
        count = kernels.pair_information_by_counting_8
        if codes.dtype != np.uint8:
            count = kernels.pair_information_by_counting_16
        count(*rows, first, second, self._rules[0], out)
        return out


def _count_pairs(distribute: bool, conditional: bool, rows: CodedRows, i: NDArray[Any], j: NDArray[Any]) -> Floats:
    return JointInformation(rows, distribute=distribute, conditional=conditional, correct=False).count_pairs(i, j)


def _class_tables(rows: CodedRows, *, squared: bool = False) -> Floats:
    """Return the weights of the values of every column, missing last, in every class, or the sums of their squares.

    No row is in the last class, of missing values.
    """
    target = rows.columns[-1]
    if rows.workers is not None:
        return np.concatenate(map_code_columns(rows, partial(_class_tables, squared=squared), (target,)))
    codes, labels, n_classes = rows.codes, rows.codes[-1], rows.coding.sizes[target]
    weight = np.square(rows.weight) if squared else rows.weight
    starts = _bounds(np.array([rows.coding.sizes[c] + 1 for c in rows.columns[:-1]], dtype=np.int64))
    tables = np.zeros((int(starts[-1]), n_classes + 1))
    count = kernels.count_class_weights_8 if labels.dtype == np.uint8 else kernels.count_class_weights_16

    def count_columns(span: tuple[int, int]) -> None:
        for c in range(*span):
            count(codes[c], labels, weight, tables[starts[c] : starts[c + 1]])

    _run_columns(count_columns, rows)
    return tables


def _run_columns(function: Any, rows: CodedRows) -> None:
    """Call a function with ranges of columns, without the target."""
    n_columns, n_rows = rows.codes.shape
    parallel.run_blocks(function, parallel.block_ranges(n_columns - 1, 1 + _BLOCK_ROWS // (1 + n_rows)))


class MeanInformation:
    """The means over the outputs of a target of the information of columns and of their pairs, in bits.

    Parameters
    ----------
    tables : list of CodedRows
        The same columns, and in each table another output as the target. With MDL the codes of the columns differ, too.
    distribute : bool
        Whether counts of missing values are distributed.
    conditional : bool
        Whether pairs are also counted within the classes. Otherwise pairs are counted once where the codes of the columns and the
        weights of the rows are the same for all outputs.
    correct : bool
        Whether the expectation under independence is subtracted from the information of columns and pairs.
    sampled : bool
        Whether the rows have sampling weights.

    Attributes
    ----------
    relevances : ndarray of shape (n_columns,)
        The mean of I(j; Y) of every column of the schema, 0 for a column that is not used.
    max_entropy : float
        The largest entropy of a column; no information of a pair is larger.
    """

    def __init__(
        self,
        tables: Sequence[CodedRows],
        *,
        distribute: bool,
        conditional: bool,
        correct: bool,
        sampled: bool = False,
    ) -> None:
        rules = {"distribute": distribute, "conditional": conditional, "correct": correct, "sampled": sampled}
        outputs = [JointInformation(rows, **rules) for rows in tables]
        self._outputs = outputs
        self.relevances = np.mean([one.relevances for one in outputs], axis=0)
        self.max_entropy = max(one.max_entropy for one in outputs)
        count_once = not conditional and all(_same_columns(tables[0], rows) for rows in tables[1:])
        self._counted = outputs[:1] if count_once else outputs

    def class_counts(self, column: int) -> list[Floats]:
        """Return the weights of the present values of a column in the classes of each output."""
        return [one.class_counts(column) for one in self._outputs]

    def is_constant(self, column: int) -> bool:
        """Whether the present values of a column have one code for every output."""
        return all((counts.sum(axis=1) > 0).sum() < 2 for counts in self.class_counts(column))

    def of_pairs(self, i: NDArray[Any], j: NDArray[Any]) -> PairInformation:
        found = [one.of_pairs(i, j) for one in self._counted]
        _, redundancies, conditional, joint_entropies = np.mean(found, axis=0)
        return PairInformation(self.relevances[i] + self.relevances[j], redundancies, conditional, joint_entropies)


def _same_columns(a: CodedRows, b: CodedRows) -> bool:
    """Whether two tables have the same weights, and the same codes of all columns but the target."""
    if a.workers is not None:
        return a.coding.fingerprint[:-1] == b.coding.fingerprint[:-1] and np.array_equal(a.weight, b.weight)
    return np.array_equal(a.weight, b.weight) and np.array_equal(a.codes[:-1], b.codes[:-1])


def _bounds(sizes: NDArray[Any]) -> NDArray[np.int64]:
    """Return the first numbers of consecutive ranges of these sizes, and the end of the last one."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

"""Coded rows, counts of pairs of columns, and mutual information of columns with the target and of pairs of columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats
from tamiz.criteria.base import GatherFunction
from tamiz.criteria.chance_information import ExpectedInformation
from tamiz.criteria.discretization import ColumnCoder
from tamiz.exceptions import DataError
from tamiz.kernels import contingency as kernels
from tamiz.runtime import parallel
from tamiz.runtime.validation import check_memory
from tamiz.statistics.contingency import MAX_CODES, CodedRows, Coding
from tamiz.table.schema import Schema
from tamiz.table.worker_tasks import map_code_columns, map_pairs

# Up to this many values of both columns, counting bits is faster than counting rows.
_MAX_BIT_VALUES = 14
# Rows times columns, or times pairs, of one block: for less, a thread costs more than it saves.
_BLOCK_ROWS, _BLOCK_PAIR_ROWS = 2**20, 2**23


def read_coded_rows(
    coder: ColumnCoder, gather: GatherFunction, schema: Schema, *, conditional: bool = False
) -> CodedRows:
    """Return the rows of the used columns and, last, of the target as codes.

    `conditional` is whether pairs will be counted within the classes, in a table for each class.
    """
    coding = coder.gather_coding(gather)
    target = () if schema.target is None else (schema.n_columns,)
    _check_table_sizes(coding, schema, target, coding.sizes[schema.n_columns] if conditional else 1)
    rows = CodedRows((*map(int, schema.used), *target), coding)
    n_bits = sum(coding.sizes[c] + 1 for c in rows.columns if coding.sizes[c] <= _MAX_BIT_VALUES)
    # Two copies, in blocks and concatenated, and the bits.
    rows.work_bytes = 2.0 * rows.row_bytes + n_bits / 8
    (rows,) = gather(rows)
    return rows


def _check_table_sizes(coding: Coding, schema: Schema, target: tuple[int, ...], n_tables: int) -> None:
    """Raise an error for columns with more values than codes, and for pairs whose contingency tables exceed the memory."""
    largest = sorted(schema.used.tolist(), key=lambda j: -coding.sizes[j])[:2]
    for j in largest:
        if coding.sizes[j] > MAX_CODES:
            raise DataError(
                f"Column {schema.columns[j].name} has {coding.sizes[j]:,} values; pairs of columns are counted for up to "
                f"{MAX_CODES:,}. Exclude it: kinds={{{schema.columns[j].name!r}: 'text'}}."
            )
    sizes = sorted((coding.sizes[j] + 1 for j in (*largest, *target)), reverse=True)
    check_memory(
        8.0 * n_tables * sizes[0] * sizes[min(1, len(sizes) - 1)] * 2 * parallel.n_threads(),
        f"The contingency table of columns with {sizes[0]:,} and {sizes[min(1, len(sizes) - 1)]:,} values",
        "Exclude columns with very many values, through kinds.",
    )


class PairCounter:
    """Counts pairs of coded columns, those of few values by bit sets.

    Parameters
    ----------
    n_columns : int
        The first columns of the rows are counted.
    labels : ndarray of shape (n_rows,)
        The class of each row.
    counts : ndarray of shape (n_values, n_classes)
        The weights of the values of all columns, one column after the other, missing last.
    rule : int
        The rule of the kernels for missing values.
    use_bits : bool, default=True
        Packing a column as bits takes as long as counting it three times.
    """

    def __init__(
        self, rows: CodedRows, n_columns: int, labels: NDArray[Any], counts: Floats, rule: int, *, use_bits: bool = True
    ) -> None:
        self._rows, self._labels, self._counts, self._rule = rows, labels, counts, rule
        self._codes, self._starts = rows.codes[:n_columns], _value_starts(rows)[: n_columns + 1]
        self._class_weights = counts[: self._starts[1]].sum(axis=0) if n_columns else np.zeros(1)
        self.by_bits = (np.diff(self._starts) <= _MAX_BIT_VALUES + 1) & (len(rows.weight) == 0) & use_bits

    def count(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> Floats:
        """Return I(i; j), I(i; j | Y), H(i, j | Y) and H(i) + H(j) of pairs of positions of columns, of shape (n_pairs, 4)."""
        found = np.empty((len(first), 4))
        by_bits = self.by_bits[first] & self.by_bits[second]
        shared = self._class_weights, self._starts
        if by_bits.any():
            # The bits are made here, and not by several threads at once.
            count = partial(kernels.pair_information_by_bits, *self._bits, self._counts, *shared)
            self._fill(found, by_bits, first, second, count)
        count = partial(kernels.pair_information_by_counting, self._codes, self._labels, self._rows.weight, *shared)
        self._fill(found, ~by_bits, first, second, count)
        return found

    def _fill(
        self, out: Floats, where: Any, first: NDArray[Any], second: NDArray[Any], count: Callable[..., None]
    ) -> None:
        chosen = np.flatnonzero(where)

        def fill(span: tuple[int, int]) -> None:
            part = chosen[slice(*span)]
            found = np.empty((len(part), 4))
            count(first[part], second[part], self._rule, found)
            out[part] = found

        size = 1 + _BLOCK_PAIR_ROWS // (1 + len(self._labels))
        parallel.run_blocks(fill, parallel.block_ranges(len(chosen), size))

    @cached_property
    def _bits(self) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64]]:
        """The columns with few values as bits, the first word of each value of a column, and the first word of each class."""
        has_missing = self._counts[self._starts[1:] - 1].any(axis=1)
        value_words = _bounds(np.where(self.by_bits, np.diff(self._starts) - 1 + has_missing, 0))
        # Every class starts with a word of its own.
        class_rows = np.bincount(self._labels, minlength=len(self._class_weights))
        class_words = _bounds(-(-class_rows // 64))
        by_class = np.argsort(self._labels, kind="stable")
        positions = np.empty(len(self._labels), dtype=np.int64)
        first_rows = np.cumsum(class_rows) - class_rows
        positions[by_class] = np.arange(len(positions)) + np.repeat(64 * class_words[:-1] - first_rows, class_rows)
        words = np.zeros((int(value_words[-1]), int(class_words[-1])), dtype=np.uint64)

        def pack(c: int) -> None:
            if self.by_bits[c]:
                kernels.pack_class_bits(self._codes[c], positions, words[value_words[c] : value_words[c + 1]])

        _run_columns(pack, *self._codes.shape)
        return words, value_words, class_words


def count_values(rows: CodedRows, n_columns: int, labels: NDArray[Any], n_labels: int, weight: Floats) -> Floats:
    """Return the weights of the values of the first columns, one column after the other, by label: (n_values, n_labels)."""
    starts = _value_starts(rows)
    table = np.zeros((int(starts[n_columns]), n_labels))

    def count(c: int) -> None:
        kernels.count_class_weights(rows.codes[c], labels, weight, table[starts[c] : starts[c + 1]])

    _run_columns(count, n_columns, len(labels))
    return table


def _run_columns(function: Callable[[int], None], n_columns: int, n_rows: int) -> None:
    def run(span: tuple[int, int]) -> None:
        for c in range(*span):
            function(c)

    parallel.run_blocks(run, parallel.block_ranges(n_columns, 1 + _BLOCK_ROWS // (1 + n_rows)))


def _value_starts(rows: CodedRows) -> NDArray[np.int64]:
    """Return where the values of each column begin, one column after the other, missing last."""
    return _bounds(np.array([rows.coding.sizes[c] + 1 for c in rows.columns], dtype=np.int64))


def _bounds(sizes: NDArray[Any]) -> NDArray[np.int64]:
    """Return the first numbers of consecutive ranges of these sizes, and the end of the last one."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _class_tables(rows: CodedRows, *, squared: bool = False) -> Floats:
    """Return the weights, or the sums of their squares, of the values of every column in every class of the target.

    The target is the last column; no row is in the last class, of missing values.
    """
    target = rows.columns[-1]
    if rows.workers is not None:
        return np.concatenate(map_code_columns(rows, partial(_class_tables, squared=squared), (target,)))
    weight = np.square(rows.weight) if squared else rows.weight
    return count_values(rows, len(rows.columns) - 1, rows.codes[-1], rows.coding.sizes[target] + 1, weight)


class PairInformation(NamedTuple):
    """I(i; Y) + I(j; Y), I(i; j), I(i; j | Y) and H(i, j, Y) of pairs of columns i and j, in bits."""

    relevances: Floats
    redundancies: Floats
    conditional: Floats
    joint_entropies: Floats


class CountingRules(NamedTuple):
    """How information is computed from counts.

    `distribute` is whether counts of missing values are distributed over the present values in each table of two columns, and
    `conditional` whether pairs are also counted within the classes; otherwise their conditional information is that of all rows.
    With `correct` the expectation under independence is subtracted; `sampled` rows have sampling weights.
    """

    distribute: bool
    conditional: bool
    correct: bool = False
    sampled: bool = False


class JointInformation:
    """Information of the columns of one table and of their pairs, in bits; the last column of the rows is the target.

    Attributes
    ----------
    relevances : ndarray of shape (n_columns,)
        I(j; Y) of every column of the schema, 0 for a column that is not used.
    max_entropy : float
        The largest entropy of a column; no information of a pair is larger.
    """

    def __init__(self, rows: CodedRows, rules: CountingRules) -> None:
        columns, n_columns = list(rows.columns[:-1]), rows.columns[-1]
        self._rows, self._rules = rows, rules
        labels = rows.select([n_columns]).codes[0]
        # The values of column c, missing last, have the rows [starts[c], starts[c + 1]) of the counts.
        self._starts = _value_starts(rows)[:-1]
        tables = _class_tables(rows)
        entropies = np.zeros((len(columns), 3))
        kernels.stacked_entropies(tables, self._starts, rules.distribute, entropies)
        self.relevances = np.zeros(n_columns)
        self.relevances[columns] = entropies[:, 2]
        self.max_entropy = float(entropies[:, 0].max(initial=0.0))
        weight = np.asarray(rows.weight)
        shares = np.bincount(labels, weight if len(weight) else None, tables.shape[1] - 1).astype(np.float64)
        shares = shares[shares > 0] / shares.sum()
        self._target_entropy = float((shares * -np.log2(shares)).sum())
        self._position = np.zeros(n_columns, dtype=np.int64)
        self._position[columns] = np.arange(len(columns))
        self._class_counts = np.ascontiguousarray(tables[:, :-1])
        self._counter: PairCounter | None = None
        if rows.workers is None:
            self._counter = PairCounter(
                rows,
                len(columns),
                labels if rules.conditional else np.zeros_like(labels),
                self._class_counts if rules.conditional else tables.sum(axis=1, keepdims=True),
                int(rules.distribute),
            )
        self._expected: ExpectedInformation | None = None
        if rules.correct:
            squares = _class_tables(rows, squared=True)[:, :-1] if rules.sampled else None
            self._expected = ExpectedInformation(
                self._class_counts, self._starts, conditional=rules.conditional, class_squares=squares
            )
            self.relevances[columns] -= self._expected.relevances

    def is_constant(self, column: int) -> bool:
        """Whether the values of a column have one code, without missing values if these are distributed."""
        c = self._position[column]
        counts = self._class_counts[self._starts[c] : self._starts[c + 1] - self._rules.distribute]
        return bool((counts.sum(axis=1) > 0).sum() < 2)

    def of_pairs(self, i: NDArray[Any], j: NDArray[Any]) -> PairInformation:
        if self._counter is not None:
            found = self._counter.count(self._position[i], self._position[j])
        else:
            found = map_pairs(self._rows, partial(_count_pairs, self._rules), i, j, (self._rows.columns[-1],))
        if self._expected is not None:
            found[:, :2] -= self._expected.of_pairs(self._position[i], self._position[j])
        return PairInformation(
            self.relevances[i] + self.relevances[j], found[:, 0], found[:, 1], found[:, 2] + self._target_entropy
        )


def _count_pairs(rules: CountingRules, rows: CodedRows, i: NDArray[Any], j: NDArray[Any]) -> Floats:
    information = JointInformation(rows, rules._replace(correct=False))
    assert information._counter is not None
    return information._counter.count(information._position[i], information._position[j])


class MeanInformation:
    """The means over the outputs of a target of the information of columns and of their pairs, in bits.

    The tables have the same columns, and each another output as the target; with MDL the codes of the columns differ, too. Without
    conditional information pairs are counted once if the codes of the columns and the weights are the same for all outputs.
    `relevances` and `max_entropy` are as in `JointInformation`.
    """

    def __init__(self, tables: Sequence[CodedRows], rules: CountingRules) -> None:
        self._outputs = outputs = [JointInformation(rows, rules) for rows in tables]
        self.relevances = np.mean([one.relevances for one in outputs], axis=0)
        self.max_entropy = max(one.max_entropy for one in outputs)
        count_once = not rules.conditional and all(_same_columns(tables[0], rows) for rows in tables[1:])
        self._counted = outputs[:1] if count_once else outputs

    def is_constant(self, column: int) -> bool:
        """Whether the present values of a column have one code for every output."""
        return all(one.is_constant(column) for one in self._outputs)

    def of_pairs(self, i: NDArray[Any], j: NDArray[Any]) -> PairInformation:
        found = [one.of_pairs(i, j) for one in self._counted]
        _, redundancies, conditional, joint_entropies = np.mean(found, axis=0)
        return PairInformation(self.relevances[i] + self.relevances[j], redundancies, conditional, joint_entropies)


def _same_columns(a: CodedRows, b: CodedRows) -> bool:
    """Whether two tables have the same weights, and the same codes of all columns but the target."""
    if a.workers is not None:
        return a.coding.fingerprint[:-1] == b.coding.fingerprint[:-1] and np.array_equal(a.weight, b.weight)
    return np.array_equal(a.weight, b.weight) and np.array_equal(a.codes[:-1], b.codes[:-1])

"""Information of columns and of their pairs, from counts of coded rows; its expectation by chance, and warnings of chance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import random_table

from tamiz.arrays import Floats, Masks
from tamiz.criteria.base import GatherFunction
from tamiz.criteria.discretization import ColumnCoder
from tamiz.exceptions import DataError
from tamiz.kernels import contingency, expected_information
from tamiz.runtime import parallel
from tamiz.runtime.random import make_rng
from tamiz.runtime.user_warnings import list_names
from tamiz.runtime.validation import check_memory
from tamiz.runtime.verdicts import Verdict
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
            count = partial(contingency.pair_information_by_bits, *self._bits, self._counts, *shared)
            self._fill(found, by_bits, first, second, count)
        count = partial(contingency.pair_information_by_counting, self._codes, self._labels, self._rows.weight, *shared)
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
                contingency.pack_class_bits(self._codes[c], positions, words[value_words[c] : value_words[c + 1]])

        _run_columns(pack, *self._codes.shape)
        return words, value_words, class_words


def count_values(rows: CodedRows, n_columns: int, labels: NDArray[Any], n_labels: int, weight: Floats) -> Floats:
    """Return the weights of the values of the first columns, one column after the other, by label: (n_values, n_labels)."""
    starts = _value_starts(rows)
    table = np.zeros((int(starts[n_columns]), n_labels))

    def count(c: int) -> None:
        contingency.count_class_weights(rows.codes[c], labels, weight, table[starts[c] : starts[c + 1]])

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
        contingency.stacked_entropies(tables, self._starts, rules.distribute, entropies)
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


InformationCorrection = Literal["none", "chance"]
INFORMATION_CORRECTIONS: tuple[InformationCorrection, ...] = ("none", "chance")

# Columns with more values are compared with chance: numbers are cut into at most so many intervals of equal frequency.
FEW_VALUES = 10
# Random tables of a permutation test. The p-value is (1 + tables that reach the observed information) / 200, 0.05 for nine tables.
_N_TABLES, _MAX_REACHED = 199, 9
# Relative to the information, smaller differences are rounding errors.
_ROUNDING = 1e-9
_BLOCK_COLUMNS, _BLOCK_PAIRS = 16, 256
# Cells of random tables that are drawn at a time.
_BLOCK_CELLS = 2**18


class ExpectedInformation:
    r"""Expected mutual information under independence of columns and a target, and of pairs of columns, in bits.

    .. math::
        E[I] = \frac{1}{n} \sum_{ij} \sum_x x \log_2 \frac{x n}{a_i b_j}
        \binom{b_j}{x} \binom{n - b_j}{a_i - x} \Big/ \binom{n}{a_i}

    with the numbers of rows :math:`a_i`, :math:`b_j` of the values: the mean over all orders of the rows of one column.

    With sampling weights :math:`a_i`, :math:`b_j` and n are effective sample sizes, :math:`(\sum w)^2 / \sum w^2` over the rows of
    a value and over all rows, rounded to whole numbers. The term of two values with the shares :math:`p_i` and :math:`q_j` of the
    weights is multiplied by :math:`p_i q_j n^2 / (a_i b_j)`, which is 1 for equal weights.

    Parameters
    ----------
    class_counts : ndarray of shape (n_values, n_classes)
        The weights of the values of all columns, one column after the other, in each class of the target.
    starts : ndarray of shape (n_columns + 1,)
        The values of column c are the rows [starts[c], starts[c + 1]).
    conditional : bool
        Whether pairs are also permuted within the classes; otherwise their conditional information is that of all rows.
    class_squares : ndarray of shape (n_values, n_classes), default=None
        The sums of the squares of sampling weights. None for weights that are numbers of rows.

    Attributes
    ----------
    relevances : ndarray of shape (n_columns,)
        The expected I(j; Y).

    Raises
    ------
    DataError
        When a number of rows is not whole, without `class_squares`.

    References
    ----------
    Vinh, Epps and Bailey (2010), Information theoretic measures for clusterings comparison: variants, properties, normalization and
    correction for chance, JMLR 11.
    """

    def __init__(
        self,
        class_counts: Floats,
        starts: NDArray[np.int64],
        *,
        conditional: bool,
        class_squares: Floats | None = None,
    ) -> None:
        if class_squares is None and not _are_whole(class_counts):
            raise DataError(
                "correction='chance' needs rows that count as whole numbers or have sampling weights, but those of groups count as "
                "fractions. Use correction='none' (--correction none)."
            )
        self._starts = starts
        # A row of a whole number of rows has a weight of 1, and so has its square.
        class_squares = class_counts if class_squares is None else class_squares
        end = starts[:2][-1]

        def in_groups(table: Floats) -> Floats:
            """Return the sums in all rows, and in each class or again in all rows: shape (1 + n_groups, n_values)."""
            own = table.sum(axis=1)
            return np.ascontiguousarray(np.vstack([own, table.T if conditional else own]))

        weights, squares = in_groups(class_counts), in_groups(class_squares)
        self._weights = weights[:, :end].sum(axis=1)
        self._n_rows = _effective_sizes(self._weights, squares[:, :end].sum(axis=1))
        self._sizes, self._units = _margins(weights, squares, self._weights, self._n_rows)
        for c in range(len(starts) - 1):
            here = slice(starts[c], starts[c + 1])
            order = self._sizes[:, here].argsort(axis=1, kind="stable")
            for array in (self._sizes, self._units):
                array[:, here] = np.take_along_axis(array[:, here], order, axis=1)
        of_classes = class_counts[None, :end].sum(axis=1), class_squares[None, :end].sum(axis=1)
        (sizes,), (units,) = _margins(*of_classes, self._weights[:1], self._n_rows[:1])
        order = sizes.argsort(kind="stable")
        classes = sizes[order], units[order]
        self._logs = np.log2(np.maximum(np.arange(self._n_rows.max(initial=0) + 1), 1))
        self.relevances = np.zeros(len(starts) - 1)

        def fill(span: tuple[int, int]) -> None:
            for c in range(*span):
                own = self._sizes[0, starts[c] : starts[c + 1]], self._units[0, starts[c] : starts[c + 1]]
                self.relevances[c] = expected_information.expected_information(
                    *own, *classes, self._n_rows[0], self._logs
                )

        parallel.run_blocks(fill, parallel.block_ranges(len(self.relevances), _BLOCK_COLUMNS))

    def of_pairs(self, first: NDArray[Any], second: NDArray[Any]) -> Floats:
        """Return the expected I(i; j) and I(i; j | Y) of pairs of columns, of shape (n_pairs, 2)."""
        out = np.empty((len(first), 2))

        def fill(span: tuple[int, int]) -> None:
            here = slice(*span)
            groups = self._sizes, self._units, self._n_rows, self._weights
            expected_information.expected_pair_information(
                *groups, self._starts, first[here], second[here], self._logs, out[here]
            )

        parallel.run_blocks(fill, parallel.block_ranges(len(first), _BLOCK_PAIRS))
        return out


def uninformative_warnings(label: str, mask: Masks, unrelated: Sequence[int], schema: Schema) -> list[Verdict]:
    """Return a warning where some but not all columns without association with the target are selected.

    `unrelated` are the columns without association that could be selected.
    """
    varied = [j for j in unrelated if not schema.columns[j].constant]
    selected = [j for j in varied if mask[j]]
    n_selected, n_others = int(mask.sum()), len(varied) - len(selected)
    if not selected or not n_others:
        return []
    names = [schema.names[j] for j in selected]
    named = list_names(names, as_text=repr)
    n_related = n_selected - len(selected)
    advice = (
        f"Select at most {n_related:,} column{'s' * (n_related > 1)}." if n_related else "No selected column has one."
    )
    return [
        Verdict(
            "TZ302",
            f"{label} finds no association of {named} with the target, {len(selected):,} of {n_selected:,} selected "
            f"column{'s' * (n_selected > 1)}, nor of {n_others:,} other{'s' * (n_others > 1)}: the choice among them is "
            f"arbitrary. {advice}",
            names,
        )
    ]


class ChanceLevel(NamedTuple):
    """A column whose information is not above chance: its number of values, its information and the expected one, in bits."""

    column: int
    n_values: int
    information: float
    expected: float


def find_chance_level_columns(tables: dict[int, list[Floats]]) -> list[ChanceLevel]:
    """Return the columns of many values whose information with the target is not above chance.

    A column of more than ten values is returned if, with every output of the target, its information is at most the 95 % point of
    its distribution under independence: a permutation test of 199 random tables with the margins of the observed one has p > 0.05.
    Its draws depend only on the table. No column is returned where the counts are not whole numbers, as with weights of 1 / the
    rows of a group. `tables` has for each column the counts of its values in the classes of every output, without missing values
    where these are distributed.
    """
    return [level for j, outputs in tables.items() if (level := _chance_level(j, outputs)) is not None]


def chance_level_warnings(
    label: str, tables: dict[int, list[Floats]], names: Sequence[str], remedy: str
) -> list[Verdict]:
    """Return a warning on columns of many values whose information with the target is not above chance; none without such columns.

    `tables` is as in `find_chance_level_columns`, and `remedy` what the user can do other than to exclude the columns.
    """
    found = find_chance_level_columns(tables)
    if not found:
        return []
    described = list_names(
        [
            f"{names[one.column]!r} ({one.n_values:,} values, {one.information:.3g} bits, {one.expected:.3g} expected)"
            for one in found
        ],
        as_text=str,
    )
    return [
        Verdict(
            "TZ302",
            f"{label}: the information about the target of {described} is not above chance, the 95 % point under "
            f"independence. Information from counts is high for columns of many values: exclude such columns, or {remedy}.",
            [names[one.column] for one in found],
        )
    ]


def _chance_level(column: int, tables: Sequence[Floats]) -> ChanceLevel | None:
    """Return the information of a column of many values whose information is not above chance, None for another column."""
    sizes = [(table.sum(axis=1) > 0).sum() for table in tables]
    if max(sizes) <= FEW_VALUES or not all(_are_whole(table) for table in tables):
        return None
    counts = [table[table.sum(axis=1) > 0].astype(np.int64) for table in tables]
    if any(_is_above_chance(table) for table in counts):
        return None
    expected = [
        float(ExpectedInformation(table * 1.0, np.array([0, len(table)]), conditional=False).relevances[0])
        for table in counts
    ]
    information = [_information(table) for table in counts]
    return ChanceLevel(column, int(max(sizes)), float(np.mean(information)), float(np.mean(expected)))


def _is_above_chance(table: NDArray[np.int64]) -> bool:
    """Whether the information of a table is in the largest 5 % of that of random tables with its margins."""
    draw, rng = random_table(table.sum(axis=1), table.sum(axis=0)), make_rng(0)
    counts = np.arange(table.sum() + 1)
    # For fixed margins the information is an increasing function of this sum.
    terms = counts * np.log2(np.maximum(counts, 1))
    observed = float(terms[table].sum()) * (1 - _ROUNDING)
    n_reached = 0
    for start, stop in parallel.block_ranges(_N_TABLES, 1 + _BLOCK_CELLS // table.size):
        drawn = draw.rvs(stop - start, random_state=rng).astype(np.int64)
        n_reached += int((terms[drawn].sum(axis=(1, 2)) >= observed).sum())
        if n_reached > _MAX_REACHED:
            return False
    return True


def _information(table: NDArray[np.int64]) -> float:
    """Return the mutual information of a table of counts in bits."""
    found = np.zeros(3)
    contingency.entropies(table.astype(np.float64), float(table.sum()), found)
    return float(found[2])


def _effective_sizes(weights: Floats, squares: Floats) -> NDArray[np.int64]:
    """Return the effective sample sizes of rows, from sums of their weights and of the squares of these, as whole numbers."""
    sizes = np.divide(weights * weights, squares, out=np.zeros_like(weights), where=squares > 0)
    # Half a row is rounded down, whatever the scale of the weights was. Squares of very small weights are 0.
    return np.maximum(np.floor(sizes + (0.5 - 1e-9)), weights > 0).astype(np.int64)


def _margins(
    weights: Floats, squares: Floats, totals: Floats, n_rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], Floats]:
    """Return the numbers of rows of values, and their units, in groups of rows: shape (n_groups, n_values)."""
    sizes = np.minimum(_effective_sizes(weights, squares), n_rows[:, None])
    units = weights * n_rows[:, None]
    return sizes, np.divide(units, totals[:, None] * sizes, out=np.zeros_like(units), where=sizes > 0)


def _are_whole(counts: Floats) -> bool:
    return bool((counts == np.floor(counts)).all())

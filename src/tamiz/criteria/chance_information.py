"""Information by chance: its expectation under independence, and columns whose information about the target is not above it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import random_table

from tamiz.arrays import Floats, Masks
from tamiz.exceptions import DataError
from tamiz.kernels import expected_information as kernels
from tamiz.kernels.contingency import entropies
from tamiz.runtime import parallel
from tamiz.runtime.random import make_rng
from tamiz.runtime.user_warnings import list_names
from tamiz.runtime.verdicts import Verdict
from tamiz.table.schema import Schema

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
                self.relevances[c] = kernels.expected_information(*own, *classes, self._n_rows[0], self._logs)

        parallel.run_blocks(fill, parallel.block_ranges(len(self.relevances), _BLOCK_COLUMNS))

    def of_pairs(self, first: NDArray[Any], second: NDArray[Any]) -> Floats:
        """Return the expected I(i; j) and I(i; j | Y) of pairs of columns, of shape (n_pairs, 2)."""
        out = np.empty((len(first), 2))

        def fill(span: tuple[int, int]) -> None:
            here = slice(*span)
            groups = self._sizes, self._units, self._n_rows, self._weights
            kernels.expected_pair_information(*groups, self._starts, first[here], second[here], self._logs, out[here])

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
    entropies(table.astype(np.float64), float(table.sum()), found)
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

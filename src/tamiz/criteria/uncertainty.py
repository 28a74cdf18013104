"""Symmetric uncertainty of a column and the target, and of any two columns."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tamiz.arrays import Floats, Indices, divide_or_zero
from tamiz.criteria.base import Association, GatherFunction, PairwiseAssociations
from tamiz.criteria.entropy_relevance import MISSING_RULES, EntropyRelevance, MissingRule
from tamiz.exceptions import DataError
from tamiz.kernels import contingency as kernels
from tamiz.runtime import parallel
from tamiz.runtime.validation import check_choice, check_memory
from tamiz.statistics.contingency import MAX_CODES, CodedRows, Coding
from tamiz.table.in_memory import code_vector, weight_vector
from tamiz.table.schema import Schema
from tamiz.table.worker_tasks import map_pairs

_Kernel: TypeAlias = "Callable[[NDArray[Any], NDArray[Any]], Floats]"

# Up to this many values, counting bits is faster than counting rows.
_MAX_BIT_VALUES = 14
# Pairs for each column from which on bits are faster than counts.
_MIN_BIT_USES = 3
# Rows times pairs of one block: for less, a thread costs more than it saves.
_BLOCK_ROWS = 2**24


class SymmetricUncertainty(EntropyRelevance, Association):
    """Mutual information of a column and the target, divided by the mean of their entropies; in [0, 1].

    .. math:: SU(X, Y) = 2 I(X; Y) / (H(X) + H(Y))

    Parameters
    ----------
    missing : {"distribute", "category"}, default="distribute"
        Distribute the counts of missing values in proportion to the present values, or treat missing as a category of its own.
    discretization : MDL, EqualFrequency or EqualWidth, default=None
        How numeric columns and a numeric target are cut into intervals. None is MDL, which requires classes.

    Raises
    ------
    DataError
        When there is no target, or a numeric one with MDL.

    Notes
    -----
    Cost as InformationGain. It is 0 where both columns are constant. It is the default association of CFS; pairs of columns with
    few values are counted by bit sets.

    References
    ----------
    Press, Teukolsky, Vetterling and Flannery (1992), Numerical Recipes in C, section 14.4.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz import RankSelector
    >>> from tamiz.criteria import SymmetricUncertainty
    >>> iris = load_iris(as_frame=True)
    >>> RankSelector(SymmetricUncertainty()).fit(iris.data, iris.target).scores_.round(3)
    array([0.409, 0.245, 0.806, 0.871])
    """

    unit: ClassVar[str] = ""

    def _score(self, column: Floats, target: Floats, mutual: Floats) -> Floats:
        return np.minimum(divide_or_zero(2 * mutual, column + target), 1.0)

    def pairwise(self, gather: GatherFunction, schema: Schema, *, complete: bool = False) -> PairwiseAssociations:
        """Return the associations of one table, after coding its rows; pairs of columns need no target.

        With `complete`, each pair is compared on the rows with both values, whatever `missing` is.
        """
        if schema.target is not None:
            self.check(schema)
        check_choice("missing", self.missing, MISSING_RULES)
        coding = self._coder(schema).gather_coding(gather)
        check_table_sizes(coding, schema)
        rows = CodedRows((*map(int, schema.used), *_target_columns(schema)), coding)
        # Three copies: in blocks, concatenated, and as bits.
        rows.work_bytes = 3.0 * rows.row_bytes
        (rows,) = gather(rows)
        rule = kernels.LEFT_OUT if complete else int(self.missing == "distribute")
        return _PairwiseUncertainties(rows, rule) if rows.workers is None else _UncertaintiesOnWorkers(rows, rule)


def _target_columns(schema: Schema) -> tuple[int, ...]:
    """Return the column number of the target, nothing where there is none."""
    return () if schema.target is None else (schema.n_columns,)


def check_table_sizes(coding: Coding, schema: Schema, n_tables: int = 1) -> None:
    """Raise an error for columns with more values than codes, and for pairs whose contingency tables exceed the memory.

    Parameters
    ----------
    coding : Coding
    schema : Schema
    n_tables : int, default=1
        Number of tables of a pair, such as one for every class.
    """
    largest = sorted(schema.used.tolist(), key=lambda j: -coding.sizes[j])[:2]
    for j in largest:
        if coding.sizes[j] > MAX_CODES:
            raise DataError(
                f"Column {schema.columns[j].name} has {coding.sizes[j]:,} values; pairs of columns are counted for up to "
                f"{MAX_CODES:,}. Exclude it: kinds={{{schema.columns[j].name!r}: 'text'}}."
            )
    sizes = sorted((coding.sizes[j] + 1 for j in (*largest, *_target_columns(schema))), reverse=True)
    check_memory(
        8.0 * n_tables * sizes[0] * sizes[min(1, len(sizes) - 1)] * 2 * parallel.n_threads(),
        f"The contingency table of columns with {sizes[0]:,} and {sizes[min(1, len(sizes) - 1)]:,} values",
        "Exclude columns with very many values, through kinds.",
    )


class _PairwiseUncertainties(PairwiseAssociations):
    """Symmetric uncertainties of pairs of coded columns."""

    def __init__(self, rows: CodedRows, rule: int, *, by_bits: bool = True) -> None:
        self._rule = rule
        self._rows = rows
        self._sizes = np.array([rows.coding.sizes[c] for c in rows.columns], dtype=np.int64)
        # The index of each column of the table among the coded columns.
        self._position = np.zeros(max(rows.columns) + 1, dtype=np.int64)
        self._position[list(rows.columns)] = np.arange(len(rows.columns))
        self._by_bits = (self._sizes <= _MAX_BIT_VALUES) & (len(rows.weight) == 0) & by_bits
        if self._by_bits.any():
            self._pack_bits()

    def _pack_bits(self) -> None:
        codes, n = self._rows.codes, self._rows.codes.shape[1]
        has_missing = np.array([bool(size <= np.iinfo(codes.dtype).max and (row == size).any())
                                for row, size in zip(codes, self._sizes, strict=True)])  # fmt: skip
        sizes = np.where(self._by_bits, self._sizes + has_missing, 0)
        starts = np.cumsum(sizes) - sizes
        words = np.zeros((int(sizes.sum()), (n + 63) // 64), dtype=np.uint64)
        pack = kernels.pack_bits_8 if codes.dtype == np.uint8 else kernels.pack_bits_16

        def pack_columns(span: tuple[int, int]) -> None:
            for c in range(*span):
                if self._by_bits[c]:
                    pack(codes[c], words[starts[c] : starts[c] + sizes[c]])

        parallel.run_blocks(pack_columns, parallel.block_ranges(len(codes), 1 + _BLOCK_ROWS // (8 * n + 1)))
        counts = np.bitwise_count(words).sum(axis=1, dtype=np.int64)
        self._bits = words, starts, sizes, counts, has_missing

    def associations(self, i: Indices, j: Indices) -> Floats:
        first, second = self._position[i], self._position[j]
        out = np.empty(len(first))
        by_bits = self._by_bits[first] & self._by_bits[second]
        self._fill(out, np.flatnonzero(by_bits), first, second, self._count_bits)
        self._fill(out, np.flatnonzero(~by_bits), first, second, self._count_rows)
        return out

    def _fill(
        self, out: Floats, where: NDArray[Any], first: NDArray[Any], second: NDArray[Any], kernel: _Kernel
    ) -> None:
        parts = [
            where[start:stop]
            for start, stop in parallel.block_ranges(len(where), 1 + _BLOCK_ROWS // (1 + self._rows.codes.shape[1]))
        ]
        for part, values in zip(parts, parallel.map_blocks(lambda p: kernel(first[p], second[p]), parts), strict=True):
            out[part] = values

    def _count_bits(self, first: NDArray[Any], second: NDArray[Any]) -> Floats:
        out = np.empty(len(first))
        kernels.uncertainties_by_bits(*self._bits, first, second, self._rule, out)
        return out

    def _count_rows(self, first: NDArray[Any], second: NDArray[Any]) -> Floats:
        out = np.empty(len(first))
        codes = self._rows.codes
        count = kernels.uncertainties_by_counting_8 if codes.dtype == np.uint8 else kernels.uncertainties_by_counting_16
        count(codes, self._rows.weight, self._sizes, first, second, self._rule, out)
        return out


class _UncertaintiesOnWorkers(PairwiseAssociations):
    """Symmetric uncertainties of pairs of columns that workers have coded."""

    def __init__(self, rows: CodedRows, rule: int) -> None:
        self._rows, self._rule = rows, rule

    def associations(self, i: Indices, j: Indices) -> Floats:
        return map_pairs(self._rows, partial(_associate, self._rule), i, j)


def _associate(rule: int, rows: CodedRows, i: Indices, j: Indices) -> Floats:
    # To pack a column as bits takes as long as to count it three times.
    by_bits = len(i) > _MIN_BIT_USES * len(rows.columns)
    return _PairwiseUncertainties(rows, rule, by_bits=by_bits).associations(i, j)


def symmetric_uncertainty(
    a: ArrayLike, b: ArrayLike, *, sample_weight: ArrayLike | None = None, missing: MissingRule = "distribute"
) -> float:
    """Return the symmetric uncertainty of two categorical columns, in [0, 1].

    Parameters
    ----------
    a, b : array-like of shape (n_samples,)
        Values of any type, each a category; None and NaN are missing.
    sample_weight : array-like of shape (n_samples,), default=None
    missing : {"distribute", "category"}, default="distribute"
        Distribute the counts of missing values in proportion to the present values, or treat missing as a category of its own.

    Returns
    -------
    float
        :math:`2 I(A; B) / (H(A) + H(B))`, and 0 where both are constant.

    Notes
    -----
    Cost O(n) plus the product of the numbers of values.

    References
    ----------
    Press, Teukolsky, Vetterling and Flannery (1992), Numerical Recipes in C, section 14.4.

    Examples
    --------
    >>> from tamiz.criteria import symmetric_uncertainty
    >>> symmetric_uncertainty(["a", "a", "b", "b"], [1, 1, 2, 2])
    1.0
    """
    check_choice("missing", missing, MISSING_RULES)
    first, size_a = code_vector(a, "a")
    second, size_b = code_vector(b, "b")
    if len(first) != len(second):
        raise ValueError(f"a has {len(first)} values and b {len(second)}; they must have equally many.")
    table = np.zeros((size_a + 1, size_b + 1))
    kernels.add_pair_weights(first, second, weight_vector(sample_weight, len(first)), table)
    return float(kernels.symmetric_uncertainty(table, missing == "distribute", np.zeros(3)))

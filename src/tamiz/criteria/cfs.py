"""Correlation-based feature selection (CFS): the merit, sums of associations over sets, and an upper bound for exact searches."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.optimize import nnls

from tamiz.arrays import Floats, Indices, Masks
from tamiz.criteria.base import Association, GatherFunction, Merit, PairwiseAssociations
from tamiz.criteria.entropies import MISSING_RULES, EntropyRelevance, MissingRule, SymmetricUncertainty
from tamiz.criteria.information import chance_level_warnings, uninformative_warnings
from tamiz.kernels import subset_merits as kernels
from tamiz.runtime.validation import check_choice, check_memory
from tamiz.runtime.verdicts import Verdict
from tamiz.search.base import (
    Candidates,
    Evaluator,
    HasBounds,
    HasQuadraticForm,
    HasSubsetNotes,
    HasSubsetWarnings,
    Integers,
    MeritInfo,
)
from tamiz.statistics.contingency import Coding, LevelCounts
from tamiz.statistics.cross_products import LevelIndicators, ScatterMatrix
from tamiz.statistics.cuts import EqualFrequency
from tamiz.statistics.exact_sums import SplitNumbers, power_of_two_scale, round_to_scale, splitter
from tamiz.table.base import Table
from tamiz.table.schema import Schema
from tamiz.table.views import weight_groups_equally

Convention = Literal["hall", "weka"]
# A merit above 1 by more than this is not due to rounding.
_ROUNDING = 1e-9
# The smallest eigenvalue of the matrix B of `ConeBound`, and the margin of a bound for rounding errors, relative to the bound.
_MIN_EIGENVALUE, _ROUNDING_MARGIN = 1e-6, 1e-9


class CFS(Merit):
    """Correlation-based feature selection: high for columns that are associated with the target and not with each other.

    .. math:: M(S) = \\frac{\\sum_{j \\in S} U(A_j, C)}{\\sqrt{\\sum_{i \\in S} \\sum_{j \\in S} U(A_i, A_j)}}, \\quad U(A, A) = 1

    Parameters
    ----------
    association : Association, default=None
        The measure U. None is SymmetricUncertainty(); for a numeric target, target and numeric columns are cut into 10 intervals of
        equal frequency.
    missing : {"distribute", "category"}, default="distribute"
        How symmetric uncertainty treats missing values. An `association` has its own rule; `missing` must then be "distribute".
    convention : {"hall", "weka"}, default="hall"
        "hall" is the formula. "weka" reproduces three deviations of Weka's CfsSubsetEval: a U of 0 between two columns counts as 1,
        correlations are rounded to single precision, and for a numeric target U is the absolute value of Pearson's correlation,
        weighted by the standard deviations of the columns.

    Raises
    ------
    DataError
        When there is no target.

    Notes
    -----
    Cost O(n) for each pair of columns that a search needs, k p pairs where it keeps k of p columns; each candidate then costs an
    update of its parent's sums. The merit of the empty set is 0.

    The merit can exceed 1. Let A be the matrix of the :math:`U(A_i, A_j)` of the set, c the vector of the :math:`U(A_j, C)`, and R
    the matrix [[A, c], [c', 1]]. The quadratic form of R at :math:`(1 / \\sqrt{1^T A 1}, -1)` is :math:`2 (1 - M)`. So
    :math:`M \\le 1` for every set where R is positive semidefinite, as a correlation matrix is: the merit is then Ghiselli's
    correlation of the sum of the columns with the target. A matrix of symmetric uncertainties need not be. Two independent fair
    bits a and b, their exclusive or, and the target (a, b) have U = 0 between columns and 2/3 with the target: the determinant of R
    is -1/3, and the merit of all three is :math:`2 / \\sqrt{3} = 1.155`. With all :math:`2^k - 1` sums modulo 2 of k bits it is
    :math:`2 \\sqrt{2^k - 1} / (k + 1)`: there is no upper bound, and a merit compares sets of one table only.

    References
    ----------
    Hall (1999), Correlation-based feature selection for machine learning, PhD thesis, University of Waikato.
    Ghiselli (1964), Theory of Psychological Measurement: the correlation of a composite with an outside variable.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz import SubsetSelector
    >>> from tamiz.criteria import CFS
    >>> from tamiz.search import BestFirst
    >>> iris = load_iris(as_frame=True)
    >>> selector = SubsetSelector(CFS(), BestFirst()).fit(iris.data, iris.target)
    >>> selector.get_feature_names_out().tolist(), round(selector.merit_, 4)
    (['petal length (cm)', 'petal width (cm)'], 0.8874)
    """

    needs_target: ClassVar[bool] = True

    def __init__(
        self,
        association: Association | None = None,
        *,
        missing: MissingRule = "distribute",
        convention: Convention = "hall",
    ) -> None:
        self.association = association
        self.missing = missing
        self.convention = convention

    def check(self, schema: Schema) -> None:
        """Raise DataError for a table without a target, or with a target that the association does not accept."""
        super().check(schema)
        check_choice("convention", self.convention, ("hall", "weka"))
        check_choice("missing", self.missing, MISSING_RULES)
        if self.association is not None and self.missing != "distribute":
            raise ValueError(
                f"missing={self.missing!r} applies to the default association only; set it on the association that you pass."
            )
        if self.association is not None and not isinstance(self.association, Association):
            raise TypeError(
                f"association must be an Association such as SymmetricUncertainty(), got {self.association!r}."
            )
        self._choose_association(schema).check(schema)

    def _choose_association(self, schema: Schema) -> Association:
        if self.convention == "weka" and not schema.has_classes:
            return WekaCorrelation()
        rule = None if schema.has_classes else EqualFrequency(10)
        association = self.association or SymmetricUncertainty(missing=self.missing, discretization=rule)
        return WekaUncertainty(association) if self.convention == "weka" else association

    def bind(self, table: Table, rng: np.random.Generator) -> Evaluator:  # noqa: ARG002 - nothing is drawn
        """Return the evaluator for one table."""
        schema = table.schema
        self.check(schema)
        return _CFSEvaluator(table, self._choose_association(schema))


class _CFSEvaluator(Evaluator, HasQuadraticForm, HasBounds, HasSubsetNotes, HasSubsetWarnings):
    """Merits from sums of associations; their bits depend only on the set (`SetSums`)."""

    def __init__(self, table: Table, association: Association) -> None:
        n_columns, used = table.schema.n_columns, table.schema.used
        associations = association.pairwise(weight_groups_equally(table).reduce, table.schema)
        target = np.zeros(n_columns)
        target[used] = associations.associations(used, np.full(len(used), n_columns))
        self._sums = SetSums(target, AssociationMatrix(associations, n_columns, used))
        self._table = table
        self._association = association.association if isinstance(association, WekaUncertainty) else association

    @property
    def info(self) -> MeritInfo:
        return MeritInfo("CFS", max_bytes=8.0 * self._table.schema.n_columns**2)

    def evaluate(self, candidates: Candidates) -> Floats:
        relevances, totals = self._sums.evaluate(candidates)
        usable = (candidates.sizes() > 0) & (totals > 0)
        return np.divide(relevances, np.sqrt(np.abs(totals)), out=np.zeros(len(candidates)), where=usable)

    def subset_notes(self, mask: Masks) -> list[str]:
        """Return a note on a merit above 1, which may look like an error."""
        (merit,) = self.evaluate(Candidates.from_masks(mask[None])).tolist()
        if merit <= 1 + _ROUNDING:
            return []
        return [
            "A CFS merit can exceed 1, because symmetric uncertainties need not form a correlation matrix; compare it only with "
            "merits on the same table."
        ]

    def subset_warnings(self, mask: Masks, free: Masks) -> list[Verdict]:
        """Return warnings on columns without association with the target, and on those of many values that have it by chance."""
        unrelated = np.flatnonzero(free & (self._sums.relevances == 0)).tolist()
        found = uninformative_warnings("CFS", mask, unrelated, self._table.schema)
        if not isinstance(self._association, EntropyRelevance):
            return found
        counts = self._association.count_classes([self._table], np.flatnonzero(mask).tolist())
        remedy = "search by a merit with correction='chance' (--merit jmi --correction chance)"
        return found + chance_level_warnings("CFS", counts, self._table.schema.names, remedy)

    def quadratic_form(self) -> tuple[Floats, Floats] | None:
        """Return c and A of merit = c'x / sqrt(x'Ax), None where their sums are not exact."""
        return (self._sums.relevances, self._sums.matrix.to_dense()) if self._sums.matrix.exact else None

    def upper_bounds(self, masks: Masks) -> Floats | None:
        """Return upper bounds over the subsets where sums are not exact; None where `quadratic_form` allows tighter ones."""
        return None if self._sums.matrix.exact else self._cone_bound.upper_bounds(masks)

    @cached_property
    def _cone_bound(self) -> ConeBound:
        return ConeBound(self._sums.relevances, self._sums.matrix.to_dense())


# Sums are not exact where a diagonal element of A is smaller than this share of the largest: too many of its digits would be lost.
_MIN_DIAGONAL_SHARE = 2.0**-16


class SetSums:
    """The sums of the relevances of the columns of a set, and of the associations of its pairs.

    Sums are exact (`tamiz.statistics.exact_sums`), so their bits depend only on the set, neither on the parent nor on earlier
    evaluations. Where the associations differ too much in size for exact sums, every set is summed anew, in column order: updates
    of the parent's sums would leave rounding errors of dropped columns.
    """

    def __init__(self, relevances: Floats, matrix: AssociationMatrix) -> None:
        self.matrix = matrix
        self._relevances = SplitNumbers.from_values(relevances, power_of_two_scale(relevances) if matrix.exact else 0.0)

    @property
    def relevances(self) -> Floats:
        """The relevances, rounded to the resolution of the sums."""
        relevances: Floats = self._relevances.value
        return relevances

    def evaluate(self, candidates: Candidates) -> tuple[Floats, Floats]:
        """Return for every candidate x the sum of its relevances, and its total x'Ax."""
        if not self.matrix.exact:
            candidates = Candidates.from_masks(candidates.masks())
        relevances, totals = np.empty((2, len(candidates)))
        whole = np.diff(candidates.starts) == 0
        if whole.any():
            masks = candidates.parents[candidates.parent_index[whole]]
            relevances[whole] = SplitNumbers(masks @ self._relevances.head, masks @ self._relevances.tail).value
            totals[whole] = self.matrix.totals(masks)
        for parent in np.unique(candidates.parent_index[~whole]).tolist():
            mask = candidates.parents[parent]
            relevance, sums = self._relevances[mask].sum(), self.matrix.column_sums(mask)
            for where, columns in candidates.flips_by_width(parent):
                if columns.shape[1]:
                    signs = np.where(mask[columns], -1.0, 1.0)
                    change = SplitNumbers(
                        (self._relevances.head[columns] * signs).sum(axis=1),
                        (self._relevances.tail[columns] * signs).sum(axis=1),
                    )
                    relevances[where] = (relevance + change).value
                    totals[where] = self.matrix.totals_after_flips(mask, sums, columns, signs)
        return relevances, totals


class AssociationMatrix:
    """The matrix A of associations of the used columns of one table; its rows are computed on demand, and sums over them are exact.

    `bound` is an upper bound of the absolute values of all associations; None is the largest association of a column with itself.
    Sums are not `exact` where the associations of columns with themselves differ by a factor of more than 2^16, such as variances
    of columns in different units.
    """

    def __init__(
        self,
        associations: PairwiseAssociations,
        n_columns: int,
        used: NDArray[np.intp],
        bound: float | None = None,
    ) -> None:
        self._associations = associations
        self._used = used
        own = np.zeros(n_columns)
        own[used] = associations.self_associations(used)
        scale = power_of_two_scale(own if bound is None else np.array([bound]))
        self.exact = bool((own[own > 0] > _MIN_DIAGONAL_SHARE * scale).all())
        self._scale = scale if self.exact else 0.0
        self._large = splitter(self._scale)
        self._diagonal = round_to_scale(own, self._scale)
        self._diagonal_parts = SplitNumbers.from_values(own, self._scale)
        self._matrix = np.empty((0, n_columns))
        # The row of `_matrix` of each column, -1 while it is not computed.
        self._row_index = np.full(n_columns, -1, dtype=np.int64)
        self._computed_columns = np.empty(0, dtype=np.intp)

    def column_sums(self, mask: Masks) -> SplitNumbers:
        heads, tails = np.zeros((2, len(mask)))
        self._compute_rows(mask)
        kernels.add_split_rows(self._matrix, self._row_index[mask], self._large, heads, tails)
        return SplitNumbers(heads, tails)

    def totals(self, masks: Masks) -> Floats:
        """Return x'Ax of every set: the sum over all pairs of its columns, each column with itself included."""
        self._compute_rows(np.logical_or.reduce(masks))
        members = np.nonzero(masks)[1].astype(np.int64)
        starts = np.concatenate([[0], np.cumsum(masks.sum(axis=1))]).astype(np.int64)
        out = np.empty((len(masks), 2))
        kernels.subset_pair_sums(self._matrix, self._row_index, self._diagonal, starts, members, self._large, out)
        return SplitNumbers(out[:, 0], out[:, 1]).value

    def totals_after_flips(self, mask: Masks, sums: SplitNumbers, columns: Integers, signs: Floats) -> Floats:
        """Return the totals of one set with each row of `columns` flipped; a sign is 1 for an addition, -1 for a drop."""
        total = sums[mask].sum()
        for w in range(columns.shape[1]):
            flipped, sign = columns[:, w], signs[:, w]
            total = total + sums[flipped] * (2 * sign) + self._diagonal_parts[flipped]
            for earlier in range(w):
                between = SplitNumbers.from_values(
                    self._rounded_associations(columns[:, earlier], flipped), self._scale
                )
                total = total + between * (2 * sign * signs[:, earlier])
        return total.value

    def rows(self, mask: Masks) -> tuple[Floats, NDArray[np.int64]]:
        """Return a matrix with the rows of the columns of a set, and for every column the number of its row, -1 without one."""
        self._compute_rows(mask)
        return self._matrix, self._row_index

    def to_dense(self) -> Floats:
        self._compute_rows(np.isin(np.arange(len(self._row_index)), self._used))
        matrix = np.zeros((len(self._row_index), len(self._row_index)))
        matrix[self._computed_columns] = self._matrix[: len(self._computed_columns)]
        return matrix

    def _compute_rows(self, mask: Masks) -> None:
        """Compute the rows of a set that are not computed yet."""
        pending = np.flatnonzero(mask & (self._row_index < 0))
        if not len(pending):
            return
        self._reserve_rows(len(self._computed_columns) + len(pending))
        for column in pending.tolist():
            self._add_row(column)

    def _reserve_rows(self, n_rows: int) -> None:
        if n_rows <= len(self._matrix):
            return
        # The capacity doubles, so that a long search does not copy the matrix at every step.
        capacity = min(max(n_rows, 2 * len(self._matrix)), len(self._used))
        check_memory(
            8.0 * capacity * len(self._row_index),
            f"{capacity:,} rows of {len(self._row_index):,} associations",
            "Keep fewer columns first, with RankSelector, or search forward.",
        )
        matrix = np.empty((capacity, len(self._row_index)))
        matrix[: len(self._computed_columns)] = self._matrix[: len(self._computed_columns)]
        self._matrix = matrix

    def _add_row(self, column: int) -> None:
        n_rows = len(self._computed_columns)
        row = self._matrix[n_rows]
        row[:] = 0.0
        row[column] = self._diagonal[column]
        row[self._computed_columns] = self._matrix[:n_rows, column]
        rest = self._used[(self._row_index[self._used] < 0) & (self._used != column)]
        row[rest] = self._rounded_associations(np.full(len(rest), column), rest)
        self._row_index[column] = n_rows
        self._computed_columns = np.append(self._computed_columns, column)

    def _rounded_associations(self, i: NDArray[Any], j: NDArray[Any]) -> Floats:
        # Always in the order (lower column, higher column): the two orders can differ in the last bit.
        return round_to_scale(self._associations.associations(np.minimum(i, j), np.maximum(i, j)), self._scale)


# Weka treats numbers that differ by less than this as equal.
_ZERO_TOLERANCE = 1e-6


class WekaUncertainty(Association):
    """An association rounded to single precision, in which 0 between two columns counts as 1."""

    def __init__(self, association: Association) -> None:
        self.association = association

    def check(self, schema: Schema) -> None:
        self.association.check(schema)

    def pairwise(self, gather: GatherFunction, schema: Schema) -> PairwiseAssociations:
        return _WekaUncertainties(self.association.pairwise(gather, schema), schema.n_columns)


class _WekaUncertainties(PairwiseAssociations):
    def __init__(self, associations: PairwiseAssociations, target: int) -> None:
        self._exact = associations
        self._target = target

    def associations(self, i: Indices, j: Indices) -> Floats:
        """Return the associations in single precision, 1 in place of 0 between two columns."""
        values = self._exact.associations(i, j).astype(np.float32).astype(np.float64)
        inner = (i != self._target) & (j != self._target)
        return np.where(inner & (values < _ZERO_TOLERANCE), 1.0, values)


class WekaCorrelation(Association):
    """Absolute Pearson correlation, times the standard deviations of the columns, for a numeric target.

    The correlation of a categorical column is the mean absolute correlation of the indicators of its levels, weighted by their
    shares. A missing number is replaced by the mean, a missing level by the most frequent one.
    """

    def pairwise(self, gather: GatherFunction, schema: Schema) -> PairwiseAssociations:
        (levels,) = gather(LevelCounts(schema.categorical, Coding(schema.n_levels, {})))
        modes = [int(np.argmax(counts[:-1])) for counts in levels.counts]
        indicators = [
            LevelIndicators(j, schema.n_levels[j], mode) for j, mode in zip(schema.categorical, modes, strict=True)
        ]
        n = len(schema.numeric) + 1 + sum(column.n_levels for column in indicators)
        check_memory(ScatterMatrix.work_bytes(n), f"{n:,} x {n:,} cross products", "Use convention='hall'.")
        incomplete = tuple(j for j in schema.numeric if schema.columns[j].n_missing)
        (products,) = gather(ScatterMatrix((*schema.numeric, schema.n_columns), tuple(indicators), incomplete))
        return _WekaCorrelations(products, schema)


class _WekaCorrelations(PairwiseAssociations):
    def __init__(self, products: ScatterMatrix, schema: Schema) -> None:
        matrix = products.matrix
        squares = np.diag(matrix).copy()
        # Each column is scaled by a power of two, so that no product overflows or underflows.
        exponent = np.frexp(squares)[1] // 2
        matrix = np.ldexp(matrix, -(exponent[:, None] + exponent))
        scaled = np.diag(matrix)
        scale = np.sqrt(np.outer(scaled, scaled))
        self._target = schema.n_columns
        # NaN marks a pair with a constant column.
        self._correlation = np.divide(np.abs(matrix), scale, out=np.full_like(matrix, np.nan), where=scale > 0)
        self._positions: dict[int, slice] = {c: slice(k, k + 1) for k, c in enumerate(products.numeric)}
        self._shares: dict[int, Floats] = {c: np.ones(1) for c in products.numeric}
        start = len(products.numeric)
        for column, n_levels, _ in products.categorical:
            self._positions[column] = slice(start, start + n_levels)
            self._shares[column] = products.mean[self._positions[column]]
            start += n_levels
        std = {
            c: np.sqrt((self._shares[c] * squares[part]).sum() / products.total_weight)
            for c, part in self._positions.items()
        }
        self._std = {c: value if value > 0 else 1.0 for c, value in std.items()}

    def associations(self, i: Indices, j: Indices) -> Floats:
        """Return the correlation times the standard deviations of the columns, that of the target left out."""
        return np.array([self._weighted_correlation(a, b) for a, b in zip(i.tolist(), j.tolist(), strict=True)])

    def self_associations(self, columns: Indices) -> Floats:
        return np.array([self._std[column] ** 2 for column in columns.tolist()])

    def _weighted_correlation(self, a: int, b: int) -> float:
        inner = self._target not in (a, b)
        scale = (self._std[a] if a != self._target else 1.0) * (self._std[b] if b != self._target else 1.0)
        block: Any = self._correlation[self._positions[a], self._positions[b]]
        weighted = np.outer(self._shares[a], self._shares[b]) * np.where(np.isnan(block), 1.0 if inner else 0.0, block)
        value = float(np.float32(weighted.sum()))
        return float(scale) * (1.0 if inner and value == 0.0 else value)


class ConeBound:
    """Upper bounds of c'x / sqrt(x'Ax) over the subsets x of a set, for A with elements >= 0 and a diagonal > 0.

    With z_j = x_j sqrt(A_jj) the merit is r'z / sqrt(z'Rz), where R has a unit diagonal. The bound holds for all z >= 0, so it does
    not depend on the scales of the columns. B is R with its off-diagonal elements scaled down until it is positive definite, so
    z'Rz >= z'Bz. For any w >= r, the Cauchy-Schwarz inequality gives r'z <= w'z <= sqrt(w'B^-1 w) sqrt(z'Bz): sqrt(w'B^-1 w) is an
    upper bound. It is smallest for w = Bz at the z >= 0 that is nearest to B^-1 r in the norm of B: non-negative least squares.
    A column of zeros of A represents a column that is in no set.
    """

    def __init__(self, c: Floats, A: Floats) -> None:
        own = np.diagonal(A)
        root = np.sqrt(np.where(own > 0, own, 1.0))
        # R, and then B.
        matrix = A / np.outer(root, root)
        np.fill_diagonal(matrix, 1.0)
        least = float(np.linalg.eigvalsh(matrix)[0])
        matrix *= min(1.0, (1.0 - _MIN_EIGENVALUE) / max(1.0 - least, _MIN_EIGENVALUE))
        np.fill_diagonal(matrix, 1.0)
        self._B = matrix
        self._r = c / root

    def upper_bounds(self, masks: Masks) -> Floats:
        return np.array([self._upper_bound(mask) for mask in masks])

    def _upper_bound(self, mask: Masks) -> float:
        if not mask.any():
            return 0.0
        B, r = self._B[np.ix_(mask, mask)], self._r[mask]
        L = np.linalg.cholesky(B)
        z, _ = nnls(L.T, solve_triangular(L, r, lower=True), maxiter=100 * len(r))
        w = np.maximum(B @ z, r)
        return float(np.linalg.norm(solve_triangular(L, w, lower=True))) * (1.0 + _ROUNDING_MARGIN)

"""Redundancy: the symmetric uncertainty of every pair of columns, and groups of columns that are nearly equivalent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, leaves_list, linkage, optimal_leaf_ordering
from scipy.spatial.distance import squareform

from tamiz._study.budget import DEFAULT_BUDGET, Budget
from tamiz._study.sampling import sample_including
from tamiz.criteria.column_pairs import (
    MIN_COMMON_ROWS,
    chance_corrected_uncertainties,
    count_common_rows,
    pair_association,
    pair_uncertainties,
    target_uncertainties,
)
from tamiz.criteria.discretization import EqualFrequency
from tamiz.criteria.entropy_relevance import MissingRule
from tamiz.criteria.uncertainty import SymmetricUncertainty
from tamiz.exceptions import DataError
from tamiz.report.records.codec import Named
from tamiz.report.records.columns import RankingRecord, RedundancyRecord, RedundantGroup
from tamiz.runtime.random import make_rng
from tamiz.runtime.user_warnings import warn_user
from tamiz.sources.base import Source
from tamiz.sources.schema import Schema
from tamiz.sources.views import select_columns, select_rows
from tamiz.statistics.base import Floats


def complete_linkage_groups(
    similarities: Floats, uncertainties: Floats, n_columns: int, threshold: float
) -> list[tuple[NDArray[np.intp], float]]:
    """Return the complete-linkage groups of two or more columns, each with the smallest uncertainty of its pairs.

    Parameters
    ----------
    similarities : ndarray of shape (n_pairs,)
        The similarities that are clustered, of the pairs (0, 1), (0, 2), ..
    uncertainties : ndarray of shape (n_pairs,)
        The values that are reported.
    n_columns : int
    threshold : float
        The smallest similarity of a pair in a group.
    """
    # Only the few columns with a similar other column can be in a group.
    whole = squareform(similarities, checks=False)
    some = np.flatnonzero((whole >= threshold).any(axis=1))
    if not len(some):
        return []
    distances = 1 - whole[np.ix_(some, some)]
    np.fill_diagonal(distances, 0.0)
    # 1e-12 covers rounding: 1 - (1 - threshold) may differ from the threshold in the last bit.
    labels = fcluster(linkage(squareform(distances, checks=False), "complete"), 1 - threshold + 1e-12, "distance")
    groups = [some[labels == label] for label in np.unique(labels)]
    return [(group, _min_pair_value(uncertainties, group, n_columns)) for group in groups if len(group) > 1]


def _min_pair_value(values: Floats, group: NDArray[np.intp], n_columns: int) -> float:
    first, second = np.triu_indices(len(group), 1)
    low, high = group[first], group[second]
    return float(values[low * n_columns - low * (low + 1) // 2 + high - low - 1].min())


def leaf_order(similarities: Floats, max_columns: int) -> NDArray[np.intp]:
    """Return columns in an order that puts similar ones side by side: all, or those with the largest similarities.

    Parameters
    ----------
    similarities : ndarray of shape (n_pairs,)
        In [0, 1].
    max_columns : int
    """
    whole = squareform(similarities, checks=False)
    strongest = whole.max(axis=1)
    kept = np.sort(np.argsort(-strongest, kind="stable")[:max_columns])
    if len(kept) < 3:
        return kept
    square = 1 - whole[np.ix_(kept, kept)]
    np.fill_diagonal(square, 0.0)
    distances = squareform(square, checks=False)
    tree = optimal_leaf_ordering(linkage(distances, "average"), distances)
    return kept[leaves_list(tree)]


# The smallest symmetric uncertainty of a pair in a group. Two normal columns reach it from a correlation of 0.994 on; the radius,
# the perimeter and the area of one nucleus (breast cancer) have 0.73 to 0.92.
REDUNDANCY_THRESHOLD = 0.7
# Limits: columns that are compared (the best of more), and pairs times rows (a sample of more). A pair of 2,000 rows takes 3
# microseconds, so the maximum takes six seconds of one core.
_MAX_COLUMNS, _MAX_WORK, _MIN_ROWS = 2000, 4_000_000_000, 1_000
# Columns of a selected subset that are compared, and pairs that are named.
_MAX_CHOSEN, _MAX_NAMED = 1000, 3
# Columns of the matrix in the report.
_MAX_DRAWN = 100


@dataclass(frozen=True)
class ColumnPairs:
    """The symmetric uncertainty of every pair of some columns.

    Attributes
    ----------
    columns : ndarray of column numbers, sorted by name
        The order does not depend on the order of the table.
    uncertainties : ndarray of shape (n_pairs,)
        Of the pairs (0, 1), (0, 2), .. of `columns`.
    source : Source
        The rows that were used.
    association : SymmetricUncertainty
        The measure.
    """

    columns: NDArray[np.intp]
    uncertainties: Floats
    source: Source
    association: SymmetricUncertainty

    def chance_corrected(self, threshold: float) -> Floats:
        """Return the uncertainties, those from the threshold on corrected for chance where cells have few rows."""
        first, second = (self.columns[side] for side in np.triu_indices(len(self.columns), 1))
        return chance_corrected_uncertainties(
            self.source, self.association, first, second, self.uncertainties, threshold
        )


def describe_redundancy(
    source: Source, ranking: RankingRecord | None, missing: MissingRule, budget: Budget = DEFAULT_BUDGET
) -> RedundancyRecord | None:
    """Return the matrix of the most redundant columns and the groups among all columns; None if there are fewer than two.

    Parameters
    ----------
    source : Source
    ranking : RankingRecord or None
    missing : {"distribute", "category"}
        How the association with the target treats missing values; two columns are compared on the rows with both values.
    budget : Budget

    Notes
    -----
    Numbers are cut into intervals of equal frequency, without the target: MDL leaves some columns in one interval, where even a
    column and its copy have a symmetric uncertainty of 0. A group is a complete-linkage cluster: *every* pair of it has at least
    `REDUNDANCY_THRESHOLD`. The column with the largest symmetric uncertainty with the target is kept, the first of equals.
    """
    schema = source.schema
    varied = [j for j in schema.used.tolist() if not schema.columns[j].constant]
    if len(varied) < 2:
        return None
    relevance = _target_relevance(source, ranking, missing)
    selected = _columns_to_compare(varied, relevance, schema, max_compared_columns(len(varied), budget))
    try:
        compared = compare_column_pairs(source, selected, budget)
    except (DataError, MemoryError) as error:
        warn_user([f"The redundancy of the columns is left out: {error}"])
        return None
    names = schema.names
    columns, values = compared.columns, compared.uncertainties
    corrected = compared.chance_corrected(REDUNDANCY_THRESHOLD)
    groups = complete_linkage_groups(corrected, values, len(columns), REDUNDANCY_THRESHOLD)
    drawn = leaf_order(values, _MAX_DRAWN)
    numbered = [(sorted(columns[group].tolist()), least) for group, least in groups]
    return RedundancyRecord(
        measure=Named(id="symmetric_uncertainty", label="Symmetric uncertainty"),
        columns=tuple(names[columns[k]] for k in drawn),
        pair_steps=_encode_pairs(values, drawn, len(columns)),
        groups=tuple(
            RedundantGroup(
                columns=tuple(names[j] for j in group),
                keep=names[min(group, key=lambda j: (-relevance[j], j))],
                min_value=least,
            )
            for group, least in sorted(numbered, key=lambda group: (-len(group[0]), group[0]))
        ),
        threshold=REDUNDANCY_THRESHOLD,
        n_columns=len(columns),
        n_not_compared=len(varied) - len(columns),
        n_rows=compared.source.schema.n_rows,
        method=_comparison_method(compared),
    )


def redundant_pair_notes(source: Source, chosen_names: Sequence[str], budget: Budget = DEFAULT_BUDGET) -> list[str]:
    """Return a sentence on pairs of selected columns above `REDUNDANCY_THRESHOLD`; an empty list if there are none.

    Parameters
    ----------
    source : Source
    chosen_names : sequence of str
        The selected columns; of more than 1,000 the first ones are compared.
    budget : Budget

    Notes
    -----
    The measure is that of `describe_redundancy`: the symmetric uncertainty of at most 10 intervals of equal frequency, corrected
    for chance if cells have few rows.
    """
    schema, chosen = source.schema, set(chosen_names)
    columns = [j for j in schema.used.tolist() if schema.names[j] in chosen and not schema.columns[j].constant]
    columns = columns[:_MAX_CHOSEN]
    if len(columns) < 2:
        return []
    try:
        compared = compare_column_pairs(source, columns, budget)
        corrected = compared.chance_corrected(REDUNDANCY_THRESHOLD)
    except (DataError, MemoryError) as error:
        warn_user([f"The redundancy of the selected columns was not computed: {error}"])
        return []
    first, second = (compared.columns[side] for side in np.triu_indices(len(columns), 1))
    pairs = [
        (float(corrected[at]), min(i, j), max(i, j))
        for at, i, j in zip(range(len(corrected)), first.tolist(), second.tolist(), strict=True)
        if corrected[at] > REDUNDANCY_THRESHOLD
    ]
    if not pairs:
        return []
    pairs.sort(key=lambda pair: (-pair[0], pair[1:]))
    named = [f"{schema.names[i]!r} and {schema.names[j]!r} ({value:.2f})" for value, i, j in pairs[:_MAX_NAMED]]
    more = f", and {len(pairs) - _MAX_NAMED:,} more" if len(pairs) > _MAX_NAMED else ""
    number = "1 pair" if len(pairs) == 1 else f"{len(pairs):,} pairs"
    return [
        f"{number} of selected columns with a symmetric uncertainty above {REDUNDANCY_THRESHOLD:g}, where 1 is equal information: "
        f"{', '.join(named)}{more}. One column of a pair may be enough."
    ]


def max_compared_columns(n_columns: int, budget: Budget) -> int:
    """Return the number of columns that are compared with each other."""
    return min(n_columns, max(budget.scale_quadratic(_MAX_COLUMNS, n_columns), 2))


def n_compared_rows(n_columns: int, n_rows: int, budget: Budget) -> int:
    """Return the number of rows over which all pairs of `n_columns` columns are compared."""
    n_pairs = n_columns * (n_columns - 1) // 2
    return min(n_rows, max(_MIN_ROWS, budget.scale_linear(_MAX_WORK / max(n_pairs, 1), n_rows)))


def compare_column_pairs(source: Source, columns: list[int], budget: Budget = DEFAULT_BUDGET) -> ColumnPairs:
    """Return the symmetric uncertainty of every pair of columns, on the rows with both values.

    Parameters
    ----------
    source : Source
    columns : list of column numbers
    budget : Budget
    """
    names = source.schema.names
    by_name = np.array(sorted(columns, key=lambda j: names[j]), dtype=np.intp)
    n = source.schema.n_rows
    size = n_compared_rows(len(columns), n, budget)
    table = select_columns(source, columns)
    if size < n:
        table = select_rows(table, sample_including(np.arange(0), n, size, make_rng(0)))
    association = pair_association(table.schema.n_effective)
    first, second = np.triu_indices(len(columns), 1)
    values = pair_uncertainties(table, association, by_name[first], by_name[second])
    return ColumnPairs(by_name, values, table, association)


def _target_relevance(source: Source, ranking: RankingRecord | None, missing: MissingRule) -> Floats:
    """Return the symmetric uncertainty of every column with the target, 0 without a target."""
    schema = source.schema
    if schema.target is None:
        return np.zeros(schema.n_columns)
    known = None if ranking is None else ranking.scores.get("symmetric_uncertainty")
    if known is not None:
        return np.array([0.0 if score is None else score for score in known])
    return target_uncertainties(source, missing)


def _columns_to_compare(varied: list[int], relevance: Floats, schema: Schema, max_columns: int) -> list[int]:
    """Return the columns to compare: all, or the most relevant ones for the target."""
    if len(varied) <= max_columns:
        return varied
    which = f"first {max_columns:,}"
    if schema.target is not None:
        which = f"{max_columns:,} most relevant for {schema.target.name!r}"
    warn_user([f"Of {len(varied):,} columns, redundancy was computed among the {which}."])
    return sorted(sorted(varied, key=lambda j: (-relevance[j], j))[:max_columns])


def _encode_pairs(values: Floats, order: NDArray[np.intp], n_columns: int) -> bytes:
    """Return the values of the pairs in display order, as bytes (value times 255)."""
    i, j = np.triu_indices(len(order), 1)
    low, high = np.minimum(order[i], order[j]), np.maximum(order[i], order[j])
    steps = np.floor(255 * values[low * n_columns - low * (low + 1) // 2 + high - low - 1] + 0.5).astype(np.uint8)
    return steps.tobytes()


def _comparison_method(pairs: ColumnPairs) -> str:
    rule, schema = pairs.association.discretization, pairs.source.schema
    words = []
    if schema.numeric:
        assert isinstance(rule, EqualFrequency)
        words.append(f"Numbers are cut into {rule.n_bins} intervals of equal frequency.")
    if any(schema.columns[j].n_missing for j in schema.used.tolist()):
        n_common = count_common_rows(pairs.source, pairs.columns.tolist())
        words.append(
            f"Two columns are compared on the {n_common.min():,} to {n_common.max():,} rows with both values, and with fewer than "
            f"{MIN_COMMON_ROWS} of these count as independent."
        )
    return " ".join(words)

"""Rows of one group in a ranking: how much they count together, and columns that identify the group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.runtime import parallel
from tamiz.sources.base import Source
from tamiz.sources.views import target_array, weight_array, with_weight
from tamiz.statistics.base import Codes

# The share of the groups with several rows that a column must set apart to identify the group.
_MAX_MIXED_SHARE = 0.1
# The share of a column's variation that lies between groups, where it is a property of the group rather than of the row.
_MIN_BETWEEN_SHARE = 0.9
# Of fewer groups a column sets each apart by chance.
_MIN_GROUPS = 10
_MAX_NAMED = 5


def weight_groups_equally(source: Source) -> Source:
    """Return the table as a criterion of counts reads it: where the target is one per group, each group counts as one row.

    Rows of a group whose target is constant in every group repeat one observation of the target. Each row is weighted by 1 over the
    number of rows of its group, times its own weight, so that cut points and scores are those of as many independent rows as there
    are groups: the effective number of rows at an intraclass correlation of 1, which overstates nothing. The source itself is
    returned where it has no groups of several rows, no target, or a target that varies within a group.

    Parameters
    ----------
    source : Source

    References
    ----------
    Kish (1965), Survey Sampling, section 5.4: the design effect 1 + (m - 1) rho of clusters of m rows.
    """
    groups = source.groups
    if groups is None or not _has_repeated_groups(groups) or not _is_group_level_target(source, groups):
        return source
    weight = 1.0 / np.bincount(groups)[groups]
    own = weight_array(source)
    name = f"1 / rows of {source.schema.groups!r}"
    return with_weight(source, weight if own is None else weight * own, name)


def group_warnings(source: Source) -> list[str]:
    """Return how rows of one group count in a ranking, and which columns identify the group; none without groups.

    Parameters
    ----------
    source : Source
    """
    groups, schema = source.groups, source.schema
    if groups is None or not _has_repeated_groups(groups):
        return []
    n_groups, named = len(np.unique(groups)), schema.groups or "group"
    found = _inspect_columns(source, groups)
    sentences = []
    if schema.target is not None and _is_group_level_target(source, groups):
        sentences.append(
            f"The target {schema.target.name!r} has one value in each of the {n_groups:,} groups of {named!r}: scores from counts, "
            f"their cut points and CFS weight each of the {schema.n_rows:,} rows by 1 / the number of rows of its group, so that "
            "each group counts once. Scores of models and of neighbours read all rows alike."
        )
    elif schema.target is not None and (
        constant := [schema.columns[one.column].name for one in found if one.is_group_level]
    ):
        sentences.append(
            f"The target {schema.target.name!r} varies within groups of {named!r}, so every row counts in the ranking. Scores of "
            f"columns that are constant within groups, or nearly so, are overstated, for the table has {n_groups:,} independent "
            f"values of them: {_join_names(constant)}. The score with whole groups held out (--assess) is not overstated."
        )
    if identify := [schema.columns[one.column].name for one in found if one.identifies]:
        verb = "identifies" if len(identify) == 1 else "identify"
        sentences.append(
            f"{_join_names(identify)} {verb} the group {named!r}: in at least {1 - _MAX_MIXED_SHARE:.0%} of the groups all values differ "
            "from those of every other group. A model can learn the group from it by heart, which helps with no new group."
        )
    return sentences


@dataclass(frozen=True)
class _GroupedColumn:
    column: int
    identifies: bool
    is_group_level: bool


def _has_repeated_groups(groups: Codes) -> bool:
    return bool(np.bincount(groups).max() > 1)


def _is_group_level_target(source: Source, groups: Codes) -> bool:
    """Whether the target has one value in every group."""
    if source.schema.target is None:
        return False
    y = target_array(source)
    one = np.empty(int(groups.max()) + 1, y.dtype)
    one[groups] = y
    return bool((y == one[groups]).all())


def _inspect_columns(source: Source, groups: Codes) -> list[_GroupedColumn]:
    schema = source.schema
    wanted = [j for j in schema.used.tolist() if not schema.columns[j].constant]

    def look(j: int) -> _GroupedColumn:
        values = np.concatenate([block.column(j) for block in source.blocks([j])])
        present = ~np.isnan(values) if schema.columns[j].is_number else values >= 0
        some, of = values[present], np.unique(groups[present], return_inverse=True)[1]
        if not len(some):
            return _GroupedColumn(j, False, False)
        between = between_group_share(some, of, is_number=schema.columns[j].is_number)
        return _GroupedColumn(j, identifies_groups(some, of), between >= _MIN_BETWEEN_SHARE)

    return list(parallel.map_blocks(look, wanted))


def identifies_groups(values: NDArray[Any], groups: NDArray[Any]) -> bool:
    """Return whether nearly every group of several rows has values of its own: an interval that holds no value of another group.

    Parameters
    ----------
    values : ndarray of shape (n_rows,)
        Numbers or codes, none missing.
    groups : ndarray of shape (n_rows,)
        Codes from 0 on, each in some row.
    """
    order = np.lexsort((groups, values))
    value, group = values[order], groups[order]
    changes = np.flatnonzero(group[1:] != group[:-1]) + 1
    starts, ends = np.concatenate([[0], changes]), np.concatenate([changes, [len(group)]])
    size = np.bincount(groups)
    # A run apart: between values of other groups, none of them equal to its own.
    below = np.concatenate([[True], value[starts[1:]] > value[starts[1:] - 1]])
    above = np.concatenate([below[1:], [True]])
    whole = (ends - starts == size[group[starts]]) & below & above
    several = size > 1
    if np.count_nonzero(several) < _MIN_GROUPS:
        return False
    apart = np.zeros(len(size), dtype=bool)
    apart[group[starts[whole]]] = True
    return bool(np.count_nonzero(apart & several) >= (1 - _MAX_MIXED_SHARE) * np.count_nonzero(several))


def between_group_share(values: NDArray[Any], groups: NDArray[Any], *, is_number: bool) -> float:
    """Return the share of the variance (of codes: of Gini's impurity) that lies between groups, adjusted for their number.

    Parameters
    ----------
    values : ndarray of shape (n_rows,)
        None missing.
    groups : ndarray of shape (n_rows,)
        Codes from 0 on, each in some row.
    is_number : bool
    """
    n, size = len(values), np.bincount(groups)
    if n <= len(size):
        return 0.0
    if is_number:
        centred = values - values.mean()
        total = float(centred @ centred)
        within = total - float((np.bincount(groups, centred) ** 2 / size).sum())
    else:
        _, codes = np.unique(values, return_inverse=True)
        total = n - float((np.bincount(codes).astype(float) ** 2).sum()) / n
        cells, counts = np.unique(groups * (int(codes.max()) + 1) + codes, return_counts=True)
        squares = counts.astype(float) ** 2
        within = n - float((squares / size[cells // (int(codes.max()) + 1)]).sum())
    return 1 - (within / (n - len(size))) / (total / (n - 1)) if total > 0 else 0.0


def _join_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MAX_NAMED:,} more" if len(names) > _MAX_NAMED else ""
    return ", ".join(map(repr, names[:_MAX_NAMED])) + more

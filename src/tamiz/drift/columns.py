"""The columns that two tables share, and how the distribution of each differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tamiz.arrays import Floats, Masks, is_missing
from tamiz.drift.result import FDR_LEVEL, MIN_NEW, ColumnDrift
from tamiz.runtime import parallel
from tamiz.statistics.independence import adjust_p_values
from tamiz.statistics.two_samples import (
    MIN_UNIT_DISTANCE,
    bin_numbers,
    compare_counts,
    compare_numbers,
    count_levels,
    merge_rare,
    new_level_p_value,
    power_of_ten,
    share_p_value,
    stability_index,
)
from tamiz.table.base import Table, target_array
from tamiz.table.kinds import ID_NAME_REASON, ROW_NUMBER_REASON, WHOLE_NUMBER_REASON, RawColumn
from tamiz.table.known_columns import match_levels, missing_column
from tamiz.table.schema import Column, Kind, Schema

# Stability indices above their expected value (the convention of credit scoring), and differences of the share of missing values,
# from which on a significant change is stated.
SMALL_CHANGE, LARGE_CHANGE, MIN_MISSING = 0.1, 0.25, 0.05
_LEVELS_NAMED = 3
_HASH_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_NUMBER_IDS = (ROW_NUMBER_REASON, ID_NAME_REASON, WHOLE_NUMBER_REASON)


@dataclass(frozen=True)
class SharedColumn:
    """A column of both tables: numbers, or codes of the levels of both, those of the first table first."""

    name: str
    kind: Kind
    is_target: bool
    levels: tuple[str, ...]
    values: tuple[NDArray[Any], NDArray[Any]]

    @property
    def is_number(self) -> bool:
        return self.kind in ("numeric", "date")

    def describe(self, values: NDArray[Any]) -> Column:
        n_missing = int(np.count_nonzero(is_missing(values)))
        constant = not n_missing and bool((values == values[:1]).all())
        return Column(self.name, self.kind, self.levels, n_missing, constant)


def kinds_of_second(first: Schema, second: Schema, declared: Mapping[str, Kind]) -> dict[str, Kind]:
    """Return the kinds of columns of the second table that were inferred differently only because its rows are others.

    Numbers may be levels that happen to be digits, and numbers or levels that all differ an id.
    """
    own = {column.name: column for column in second.columns}
    found = {name: kind for name, kind in declared.items() if name in own}
    for column in (*first.columns, first.target):
        other = None if column is None or column.name in found else own.get(column.name)
        if column is None or other is None or _family(other) == _family(column):
            continue
        reason = other.exclusion_reason or ""
        is_number_id = other.kind == "id" and any(known in reason for known in _NUMBER_IDS)
        if column.kind in ("id", "text"):
            found[column.name] = column.kind
        elif not column.is_number:
            found[column.name] = "categorical"
        elif _is_empty(other, second) or (column.kind == "numeric" and is_number_id):
            found[column.name] = column.kind
    return found


def _family(column: Column) -> str:
    return "levels" if column.kind in ("categorical", "boolean") else column.kind


def _is_empty(column: Column, schema: Schema) -> bool:
    return column.n_missing == schema.n_rows


def share_columns(
    first: Table, second: Table, inferred: Mapping[str, str]
) -> tuple[list[SharedColumn], dict[str, tuple[str, str]], dict[str, str]]:
    """Return the columns of both tables, those of other kinds, and those that cannot be compared with the reason.

    `inferred` are the kinds of the second table before those of the first were declared.
    """
    shared, other_kinds, not_compared = [], dict[str, tuple[str, str]](), dict[str, str]()
    position = {column.name: j for j, column in enumerate(second.schema.columns)}
    for j, column in enumerate((*first.schema.columns, first.schema.target)):
        if column is None or column.name not in position:
            continue
        k = position[column.name]
        other = second.schema.columns[k]
        empty = _is_empty(column, first.schema), _is_empty(other, second.schema)
        name, is_target = column.name, j == first.schema.n_columns
        if column.kind in ("id", "text") or all(empty) or (is_target and empty[1]):
            not_compared[name] = column.exclusion_reason or "no value is present"
            continue
        described = other if empty[0] else column
        if not any(empty) and _family(column) != _family(other):
            other_kinds[name] = (column.kind, inferred[name])
            continue
        own = target_array(first) if is_target else _values(first, j, described)
        values = own, _values(second, k, described)
        levels = described.levels
        if not described.is_number and not any(empty):
            levels, recoded = _merge_levels(column, other, values[1])
            if len(levels) == len(column.levels) + len(other.levels) and (is_target or inferred[name] != other.kind):
                other_kinds[name] = (column.kind, inferred[name])
                continue
            values = values[0], recoded
        if described.is_number:
            values = values[0].astype(np.float64), values[1].astype(np.float64)
        shared.append(SharedColumn(name, described.kind, is_target, levels, values))
    return shared, other_kinds, not_compared


def _values(table: Table, j: int, described: Column) -> NDArray[Any]:
    """Return the values of a column; those of one without values are not stored."""
    n = table.schema.n_rows
    if table.schema.columns[j].exclusion_reason is None:
        return table.column(j)
    return missing_column(described, n)


def _merge_levels(first: Column, second: Column, codes: NDArray[Any]) -> tuple[tuple[str, ...], NDArray[Any]]:
    """Return the levels of both, and codes of the second as codes of these; spellings such as 1 and 1.0 are one level."""
    known = match_levels(RawColumn(second.name, pa.array(second.levels, pa.string())), first.levels).codes
    new = [level for level, code in zip(second.levels, known.tolist(), strict=True) if code < 0]
    places = known.astype(np.intp)
    places[known < 0] = len(first.levels) + np.arange(len(new))
    return (*first.levels, *new), np.append(places, -1)[codes]


def compare_columns(shared: Sequence[SharedColumn], weight: tuple[Floats, Floats]) -> list[ColumnDrift]:
    """Return how each column differs, the largest change first.

    The weights of the rows have the sums of the numbers of rows that they count as.
    """
    found = list(parallel.map_blocks(lambda one: _compare(one, weight), shared))
    parts = ("p_value", "missing_p_value", "new_p_value")
    tests = [[getattr(one, name) for one in found] for name in parts]
    adjusted = np.reshape(adjust_p_values(np.ravel(tests)), (len(parts), len(found)))
    evaluated = [_evaluate(one, tuple(own.tolist())) for one, own in zip(found, adjusted.T, strict=True)]
    order = {"large": 0, "small": 1, "none": 2}
    return sorted(evaluated, key=lambda one: (order[one.change], one.expected_psi - one.psi))


def _evaluate(one: ColumnDrift, adjusted: tuple[float, ...]) -> ColumnDrift:
    """Return the comparison with its adjusted p-value and what it amounts to: a change is significant and has a size."""
    excess, (p, missing_p, new_p) = one.psi - one.expected_psi, adjusted
    least = min(p, missing_p, new_p)
    is_missing_changed = missing_p <= FDR_LEVEL and abs(one.missing[1] - one.missing[0]) >= MIN_MISSING
    is_new = new_p <= FDR_LEVEL and one.new_share >= MIN_NEW
    if one.kind == "date":
        # Later rows have later dates.
        return replace(one, adjusted=least)
    size = "large" if excess >= LARGE_CHANGE else "small" if excess >= SMALL_CHANGE else "none"
    change: Any = size if least <= FDR_LEVEL else "none"
    if change == "none" and (is_missing_changed or is_new):
        change = "small"
    return replace(one, adjusted=least, change=change)


def repeated_rows(shared: Sequence[SharedColumn]) -> tuple[int, float]:
    """Return how many rows of the second table equal a row of the first, and the share of such rows within the first table."""
    hashes = [np.zeros(len(values), dtype=np.uint64) for values in shared[0].values]
    for one in shared:
        for k, values in enumerate(one.values):
            numbers = np.where(is_missing(values), -np.inf, values) + 0.0
            hashes[k] = (hashes[k] ^ numbers.view(np.uint64)) * _HASH_FACTOR
            hashes[k] ^= hashes[k] >> np.uint64(29)
    _, counts = np.unique(hashes[0], return_counts=True)
    return int(np.isin(hashes[1], hashes[0]).sum()), float(counts[counts > 1].sum() / len(hashes[0]))


def _compare(one: SharedColumn, weight: tuple[Floats, Floats]) -> ColumnDrift:
    totals = [float(w.sum()) for w in weight]
    present = [~is_missing(values) for values in one.values]
    absent = [float(w[~here].sum()) for w, here in zip(weight, present, strict=True)]
    if one.is_number:
        distance, p = compare_numbers(one.values, weight, totals)
        counts = bin_numbers(one.values, weight)
        facts = _describe_numbers(one, weight, present)
        if distance >= MIN_UNIT_DISTANCE and one.kind == "numeric":
            facts["power"] = power_of_ten(one.values)
    else:
        counts = count_levels(one.values, weight, len(one.levels))
        distance, p = compare_counts(counts[:, :-1])
        facts = _describe_levels(one.levels, counts[:, :-1])
        counts = merge_rare(counts)
    psi, expected = stability_index(counts)
    return ColumnDrift(
        name=one.name,
        kind=one.kind,
        is_target=one.is_target,
        change="none",
        psi=psi,
        expected_psi=expected,
        distance=distance,
        p_value=p,
        adjusted=1.0,
        missing=(absent[0] / totals[0], absent[1] / totals[1]),
        missing_p_value=share_p_value((absent[0], totals[0]), (absent[1], totals[1])),
        **facts,
    )


def _describe_numbers(one: SharedColumn, weight: tuple[Floats, Floats], present: Sequence[Masks]) -> dict[str, Any]:
    if not all(w[here].any() for w, here in zip(weight, present, strict=True)):
        return {}
    means: list[float] = []
    deviations: list[float] = []
    for values, w, here in zip(one.values, weight, present, strict=True):
        mean = float(np.average(values[here], weights=w[here]))
        means.append(mean)
        deviations.append(float(np.sqrt(np.average((values[here] - mean) ** 2, weights=w[here]))))
    return {"mean": tuple(means), "deviation": tuple(deviations)}


def _describe_levels(levels: tuple[str, ...], counts: Floats) -> dict[str, Any]:
    """Return the most frequent level of both tables, and the levels of one table alone, the most frequent first."""
    totals = counts.sum(axis=1)
    if not totals.all():
        return {}
    most = [(levels[int(row.argmax())], float(row.max() / row.sum())) for row in counts]
    alone = [np.flatnonzero((counts[k] > 0) & (counts[1 - k] == 0)) for k in range(2)]
    lost, new = (at[np.argsort(-counts[k, at], kind="stable")] for k, at in enumerate(alone))
    return {
        "level": tuple(most),
        "new_levels": tuple(levels[k] for k in new[:_LEVELS_NAMED].tolist()),
        "n_new_levels": len(new),
        "lost_levels": tuple(levels[k] for k in lost[:_LEVELS_NAMED].tolist()),
        "n_lost_levels": len(lost),
        "new_share": float(counts[1, new].sum() / totals[1]),
        "new_p_value": new_level_p_value(counts),
    }

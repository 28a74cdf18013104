"""Why each column is in the subset or out of it: what the merit is when this one column is flipped, and what it repeats."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.candidates import Candidates
from tamiz.criteria.discretization import EqualFrequency
from tamiz.criteria.uncertainty import SymmetricUncertainty
from tamiz.exceptions import DataError
from tamiz.search.base import Problem
from tamiz.selection import SubsetSelector
from tamiz.sources.base import Source
from tamiz.sources.group_rows import weight_groups_equally
from tamiz.sources.views import select_rows
from tamiz.steps.merits import merits_within_effort
from tamiz.warn import warn_user

_MAX_SIMILAR = 2
# Rows that are counted for each pair of columns: beyond it, two digits of an uncertainty no longer change.
_MAX_ROWS = 100_000
# Rows of all pairs of columns together: a second or two.
_MAX_WORK = 5_000_000_000
_MIN_ROWS = 1_000


def describe_reasons(selector: SubsetSelector, source: Source) -> list[dict[str, Any]]:
    """Return what there is to say of every column that takes part, in column order.

    Returns
    -------
    list of dict
        "name", "chosen"; "role", "fixed" or "excluded" where the user said so; "same_as", the column that it repeats exactly and
        that was searched in its place, None for others; "together", the other columns of its group;
        "other_merit" and "other_size", those of the chosen set with this column (and its group) flipped, the merit None where it
        was not asked for; "relevance", its symmetric uncertainty with the target; "repeats", the other chosen columns with the
        largest symmetric uncertainties with it: one for a column that is in, two for one that is out.
    """
    schema, support = source.schema, selector.support_
    if not len(schema.used):
        return []
    problem = selector.search_.make_problem(schema.names, schema.used, selector.n_features)
    units = _column_groups(problem, schema.used)
    merits = dict(zip(schema.used.tolist(), _flipped_merits(selector, source, units), strict=True))
    size = int(support.sum())
    relevances, repeats = _similar_columns(
        source, np.flatnonzero(support), selector.criterion_.get_params().get("missing")
    )
    return [
        {
            "name": schema.names[j],
            "chosen": bool(support[j]),
            "role": "fixed" if problem.fixed[j] else "excluded" if problem.excluded[j] else None,
            "same_as": selector.duplicates_.get(schema.names[j]),
            "together": [schema.names[i] for i in units[j].tolist() if i != j],
            "other_merit": merits[j],
            "other_size": size - int(support[units[j]].sum()) + int((~support[units[j]]).sum()),
            "relevance": relevances.get(j),
            "repeats": [[schema.names[i], value] for i, value in repeats.get(j, [])],
        }
        for j in schema.used.tolist()
    ]


def _column_groups(problem: Problem, used: NDArray[np.intp]) -> dict[int, NDArray[np.intp]]:
    """Return for every column the columns that move with it, itself among them."""
    alone = {int(j): np.array([j]) for j in used}
    return alone | {int(j): unit for unit in problem.units for j in unit}


def _flipped_merits(
    selector: SubsetSelector, source: Source, column_groups: dict[int, NDArray[np.intp]]
) -> list[float | None]:
    """Return the merit of the chosen set with each column flipped, those that are in looked at first."""
    support, used = selector.support_, source.schema.used
    first = np.concatenate([used[support[used]], used[~support[used]]])
    flipped = Candidates.from_flips(support, [column_groups[j] for j in first.tolist()])
    found = merits_within_effort(selector, source, flipped, "sets of one column more or less")
    merits = {int(j): None if np.isnan(merit) else float(merit) for j, merit in zip(first, found, strict=True)}
    return [merits[j] for j in used.tolist()]


def _similar_columns(
    source: Source, chosen: NDArray[np.intp], missing: Any
) -> tuple[dict[int, float], dict[int, list[tuple[int, float]]]]:
    """Return what every column tells of the target, and which of the chosen columns it is most like, by symmetric uncertainty."""
    schema, used = source.schema, source.schema.used
    if schema.target is None:
        return {}, {}
    seen = _sample_rows(source, len(used) * (len(chosen) + 1))
    rule = None if schema.has_classes else EqualFrequency(10)
    measure = SymmetricUncertainty(missing=missing or "distribute", discretization=rule)
    try:
        pairs = measure.pairwise(weight_groups_equally(seen).reduce, seen.schema)
        # A sample may hold no value of a column.
        counted = seen.schema.used
        with_target = pairs.associations(counted, np.full(len(counted), schema.n_columns))
        among = np.intersect1d(chosen, counted)
        first, second = (side.ravel() for side in np.meshgrid(counted, among, indexing="ij"))
        values = pairs.associations(first, second).reshape(len(counted), len(among))
    except (DataError, MemoryError) as error:
        warn_user([f"Which columns repeat each other is not told: {error}"])
        return {}, {}
    # A column does not repeat itself.
    values[counted[:, None] == among] = -1.0
    order = np.argsort(-values, axis=1, kind="stable")
    is_in = set(chosen.tolist())
    repeats = {
        j: [
            (int(among[k]), float(values[row, k]))
            for k in order[row, : 1 if j in is_in else _MAX_SIMILAR].tolist()
            if values[row, k] > 0
        ]
        for row, j in enumerate(counted.tolist())
    }
    return dict(zip(counted.tolist(), with_target.tolist(), strict=True)), repeats


def _sample_rows(source: Source, n_pairs: int) -> Source:
    """Return the table, or evenly spaced rows of a long one."""
    n = source.schema.n_rows
    most = max(min(_MAX_ROWS, _MAX_WORK // n_pairs), _MIN_ROWS)
    if n <= most:
        return source
    warn_user([f"Which columns repeat each other is told by {most:,} of the {n:,} rows, evenly spaced."])
    return select_rows(source, np.linspace(0, n - 1, most).astype(np.intp))

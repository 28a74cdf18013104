"""The record of the subset of a fitted selector.

The merit of the subset with one column flipped is read from the archive of the search, or computed if that is cheap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats, Indices
from tamiz.criteria import registry as criteria
from tamiz.criteria.entropies import SymmetricUncertainty
from tamiz.exceptions import DataError
from tamiz.runtime.codec import Named
from tamiz.runtime.registry import method_label
from tamiz.runtime.user_warnings import warn
from tamiz.search import registry as searches
from tamiz.search.base import Candidates, Problem
from tamiz.selection.subset_record import (
    BestOfSize,
    ColumnReason,
    Lattice,
    SearchStep,
    SetPoints,
    SimilarColumn,
    SubsetRecord,
)
from tamiz.statistics.cuts import EqualFrequency
from tamiz.table.base import Table
from tamiz.table.views import select_rows, weight_groups_equally

if TYPE_CHECKING:
    from tamiz.selection.subset_selector import SubsetSelector


# The lattice is drawn for at most 64 subsets; 128 cannot be distinguished on a page.
_MAX_COLUMNS = 6
_MIN_COLUMNS = 2


def describe_lattice(selector: SubsetSelector, table: Table) -> Lattice | None:
    """Return the merits of all subsets of the searched columns; None if there are too many, or the work is too much.

    The best of equal subsets is the smaller, then the one with earlier columns. The search may have been restricted to fewer.
    """
    schema = table.schema
    used = np.array([j for j in schema.used.tolist() if schema.names[j] not in selector.duplicates_], dtype=np.intp)
    n = len(used)
    if not _MIN_COLUMNS <= n <= _MAX_COLUMNS:
        return None
    members = (np.arange(2**n)[:, None] >> np.arange(n)) & 1 > 0
    masks = np.zeros((2**n, schema.n_columns), dtype=bool)
    masks[:, used] = members
    merits = merits_within_effort(selector, table, Candidates.from_masks(masks), "sets of columns")
    if np.isnan(merits).any():
        return None
    best = min(range(2**n), key=lambda k: (-merits[k], members[k].sum(), (~members[k]).tolist()))
    return Lattice(columns=tuple(schema.names[j] for j in used.tolist()), merits=tuple(merits.tolist()), best=best)


# Work limit in units of `merit_cost_` (about a microsecond): counted, not timed, so that every machine gives the same result.
_MAX_EFFORT = 4_000_000.0
# Sets, and bytes of their masks.
_MAX_SETS, _MAX_BYTES = 5_000, 25_000_000


def merits_within_effort(selector: SubsetSelector, table: Table, candidates: Candidates, description: str) -> Floats:
    """Return the merits of sets, from the archive of the search or computed in order within a work limit.

    A merit that is not computed, or does not exist, is NaN, with a warning in which `description` names the sets.
    """
    merits = selector.archive_.known_merits(candidates)
    missing = np.flatnonzero(np.isnan(merits))
    by_memory = max(_MAX_BYTES // table.schema.n_columns, 1)
    room = min(int(_MAX_EFFORT / max(selector.merit_cost_, 1.0)), _MAX_SETS, by_memory)
    if room < len(missing):
        warn(
            "TZ503",
            f"Of {len(candidates):,} {description}, the merits of {len(missing) - room:,} were not computed: they would take "
            "too long.",
        )
    if len(missing[:room]):
        try:
            merits[missing[:room]] = selector.merits(candidates[missing[:room]].masks(), table)
        except DataError as error:
            warn("TZ503", f"{len(missing):,} of {len(candidates):,} {description} have no merit: {error}")
    # -inf marks a set that the model cannot be fitted on.
    return np.where(np.isneginf(merits), np.nan, merits)


# Similar selected columns that are named for a column that is out.
_MAX_SIMILAR = 2
# Rows that are counted for each pair of columns: with more, two digits of an uncertainty no longer change.
_MAX_ROWS = 100_000
# Rows times pairs of columns: one or two seconds.
_MAX_WORK = 5_000_000_000
_MIN_ROWS = 1_000


def describe_reasons(selector: SubsetSelector, table: Table) -> tuple[ColumnReason, ...]:
    """Return why every used column is in the subset or out of it, in column order.

    The alternative merit is None if it was not computed. One similar column is named for a column that is in, two for one that is
    out.
    """
    schema, support = table.schema, selector.support_
    if not len(schema.used):
        return ()
    problem = selector.search_.make_problem(schema.names, schema.used, selector.n_features)
    units = _column_groups(problem, schema.used)
    merits = dict(zip(schema.used.tolist(), _flipped_merits(selector, table, units), strict=True))
    size = int(support.sum())
    relevances, similar = similar_columns(
        table, np.flatnonzero(support), selector.criterion_.get_params().get("missing")
    )
    return tuple(
        ColumnReason(
            name=schema.names[j],
            chosen=bool(support[j]),
            role="fixed" if problem.fixed[j] else "excluded" if problem.excluded[j] else None,
            same_as=selector.duplicates_.get(schema.names[j]),
            group=tuple(schema.names[i] for i in units[j].tolist() if i != j),
            alternative_merit=merits[j],
            alternative_size=size - int(support[units[j]].sum()) + int((~support[units[j]]).sum()),
            relevance=relevances.get(j),
            similar=similar.get(j, ()),
        )
        for j in schema.used.tolist()
    )


def _column_groups(problem: Problem, used: Indices) -> dict[int, Indices]:
    """Return the column group of every column, which contains the column itself."""
    alone = {int(j): np.array([j]) for j in used}
    return alone | {int(j): unit for unit in problem.units for j in unit}


def _flipped_merits(selector: SubsetSelector, table: Table, column_groups: dict[int, Indices]) -> list[float | None]:
    support, used = selector.support_, table.schema.used
    first = np.concatenate([used[support[used]], used[~support[used]]])
    flipped = Candidates.from_flips(support, [column_groups[j] for j in first.tolist()])
    found = merits_within_effort(selector, table, flipped, "sets of one column more or less")
    merits = {int(j): None if np.isnan(merit) else float(merit) for j, merit in zip(first, found, strict=True)}
    return [merits[j] for j in used.tolist()]


def similar_columns(
    table: Table, chosen: Indices, missing: Any
) -> tuple[dict[int, float], dict[int, tuple[SimilarColumn, ...]]]:
    """Return the symmetric uncertainty of every column with the target, and the selected columns that are most similar to it."""
    schema, used = table.schema, table.schema.used
    if schema.target is None:
        return {}, {}
    seen = _sample_rows(table, len(used) * (len(chosen) + 1))
    rule = None if schema.has_classes else EqualFrequency(10)
    measure = SymmetricUncertainty(missing=missing or "distribute", discretization=rule)
    try:
        pairs = measure.pairwise(weight_groups_equally(seen).reduce, seen.schema)
        # In a sample, all values of a column may be missing.
        counted = seen.schema.used
        with_target = pairs.associations(counted, np.full(len(counted), schema.n_columns))
        among = np.intersect1d(chosen, counted)
        first, second = (side.ravel() for side in np.meshgrid(counted, among, indexing="ij"))
        values = pairs.associations(first, second).reshape(len(counted), len(among))
    except (DataError, MemoryError) as error:
        warn("TZ503", f"The similarity of columns to the selected ones was not computed: {error}")
        return {}, {}
    # A column does not repeat itself.
    values[counted[:, None] == among] = -1.0
    order = np.argsort(-values, axis=1, kind="stable")
    is_in = set(chosen.tolist())
    similar = {
        j: tuple(
            SimilarColumn(name=schema.names[among[k]], uncertainty=float(values[row, k]))
            for k in order[row, : 1 if j in is_in else _MAX_SIMILAR].tolist()
            if values[row, k] > 0
        )
        for row, j in enumerate(counted.tolist())
    }
    return dict(zip(counted.tolist(), with_target.tolist(), strict=True)), similar


def _sample_rows(table: Table, n_pairs: int) -> Table:
    """Return the table, or evenly spaced rows of a long table."""
    n = table.schema.n_rows
    most = max(min(_MAX_ROWS, _MAX_WORK // n_pairs), _MIN_ROWS)
    if n <= most:
        return table
    warn(
        "TZ502",
        f"The similarity of columns to the selected ones was computed on {most:,} of the {n:,} rows, evenly spaced.",
    )
    return select_rows(table, np.linspace(0, n - 1, most).astype(np.intp))


# Sets in the chart, sizes on its line, and columns that are named of a set.
_MAX_DRAWN = 3000
_MAX_SIZES = 500
_MAX_NAMED = 20


def describe_subset(selector: SubsetSelector) -> SubsetRecord:
    """Return the record of the subset, without reasons and lattice."""
    archive, names = selector.archive_, np.array(selector.schema_.names, dtype=object)
    # After Ctrl-C, a partly written last entry is ignored.
    merits, sizes = archive.merits, archive.sizes
    best, worst = _best_and_worst_by_size(sizes, merits, archive.best)
    drawn = _sets_to_draw(sizes, merits, np.concatenate([best, worst]))
    # A set that the model cannot be fitted on has no finite merit.
    best, drawn, course = (np.asarray(some)[np.isfinite(merits[some])] for some in (best, drawn, archive.improvements))
    return SubsetRecord(
        merit=Named(id=method_label(criteria, selector.criterion_)["id"], label=selector.merit_name_),
        scoring_note=selector.merit_method_,
        search=Named(**method_label(searches, selector.search_)),
        sizes=_requested_sizes(selector),
        min_gain=float(selector.search_.min_gain),
        columns=tuple(names[selector.support_].tolist()),
        value=selector.merit_,
        n_evaluations=archive.n_evaluations,
        n_recorded=len(archive),
        bound=None if selector.certificate_ is None else float(selector.certificate_.bound),
        stopped=archive.stop_reason,
        course=tuple(
            SearchStep(
                evaluation=number + 1,
                merit=float(merits[number]),
                columns=tuple(names[archive.mask(number)].tolist()),
            )
            for number in course.tolist()
        ),
        points=SetPoints(sizes=tuple(sizes[drawn].tolist()), merits=tuple(merits[drawn].tolist())),
        frontier=tuple(
            BestOfSize(
                size=int(sizes[number]),
                merit=float(merits[number]),
                columns=tuple(names[archive.mask(number)][:_MAX_NAMED].tolist()),
            )
            for number in best.tolist()
        ),
    )


def _requested_sizes(selector: SubsetSelector) -> tuple[int, int] | None:
    """Return the smallest and the largest requested size, None if no size was requested."""
    if selector.n_features is None:
        return None
    schema = selector.schema_
    problem = selector.search_.make_problem(schema.names, schema.used, selector.n_features)
    return problem.min_size, problem.max_size


def _best_and_worst_by_size(sizes: NDArray[Any], merits: Floats, chosen: int | None) -> tuple[Indices, Indices]:
    """Return one best and one worst set of every size, or of some of very many sizes; the selected set if it is a best one."""
    found = np.arange(len(sizes))
    if chosen is not None:
        found[chosen] = -1
    order = np.lexsort((-found, merits, sizes))
    ends = np.flatnonzero(np.diff(sizes[order], append=-1))
    starts = np.concatenate([[0], ends[:-1] + 1])
    some = np.unique(np.linspace(0, len(ends) - 1, min(len(ends), _MAX_SIZES)).astype(np.intp))
    if chosen is not None:
        some = np.union1d(some, np.flatnonzero(sizes[order[ends]] == sizes[chosen]))
    return order[ends[some]], order[starts[some]]


def _sets_to_draw(sizes: NDArray[Any], merits: Floats, required: Indices) -> Indices:
    """Return the sets to draw: all, or the required ones and others evenly spaced by size and, within a size, by merit."""
    n = len(sizes)
    if n <= _MAX_DRAWN:
        return np.arange(n)
    order = np.lexsort((merits, sizes))
    room = max(_MAX_DRAWN - len(np.unique(required)), 0)
    return np.union1d(required, order[np.linspace(0, n - 1, room).astype(np.intp)])

"""The subset of a study: the columns chosen, the course of the search, and merits against sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.criteria.discretization import EqualFrequency
from tamiz.criteria.uncertainty import SymmetricUncertainty
from tamiz.exceptions import DataError
from tamiz.runtime.user_warnings import warn_user
from tamiz.search.base import Problem
from tamiz.selection import SubsetSelector
from tamiz.sources.base import Source
from tamiz.sources.row_groups import weight_groups_equally
from tamiz.sources.views import select_rows
from tamiz.subsets.candidates import Candidates

# MERGED: The merit of every set of columns, where these are so few that all of them can be drawn.
# 64 sets can be told apart on a page, 128 cannot.
_MAX_COLUMNS = 6
_MIN_COLUMNS = 2


def describe_lattice(selector: SubsetSelector, source: Source) -> dict[str, Any] | None:
    """Return the merits of all sets of the columns searched; None where there are too many columns, or it is too much work.

    Returns
    -------
    dict or None
        "columns", their names; "merits", by the number whose bit k is set where column k is in the set; "best", the number of the
        best set of all, of equal ones the smaller, then the one of earlier columns. The search may have been told to choose among
        fewer.
    """
    schema = source.schema
    used = np.array([j for j in schema.used.tolist() if schema.names[j] not in selector.duplicates_], dtype=np.intp)
    n = len(used)
    if not _MIN_COLUMNS <= n <= _MAX_COLUMNS:
        return None
    members = (np.arange(2**n)[:, None] >> np.arange(n)) & 1 > 0
    masks = np.zeros((2**n, schema.n_columns), dtype=bool)
    masks[:, used] = members
    merits = merits_within_effort(selector, source, Candidates.from_masks(masks), "sets of columns")
    if np.isnan(merits).any():
        return None
    places = sorted(range(2**n), key=lambda k: (-merits[k], members[k].sum(), (~members[k]).tolist()))
    return {
        "columns": [schema.names[j] for j in used.tolist()],
        "merits": merits.tolist(),
        "best": places[0],
    }


# MERGED: Merits of sets that a reader asks about: those of the search where it came to them, and the others as far as they are cheap.
# As much work as a reader does not wait for, in microseconds or so: by counts alone, so that every machine tells the same.
_MAX_EFFORT = 4_000_000.0
# Masks of so many sets, and bytes of masks: of 5,000 columns these are as many sets.
_MAX_SETS, _MAX_BYTES = 5_000, 25_000_000


def merits_within_effort(
    selector: SubsetSelector, source: Source, candidates: Candidates, description: str
) -> NDArray[np.float64]:
    """Return the merits of sets, those first in order first; NaN where they are much work or none, and why is told.

    Parameters
    ----------
    selector : SubsetSelector
        Fitted.
    source : Source
    candidates : Candidates
        The sets.
    description : str
        What the sets are, for the sentence: "sets of one column more or less".
    """
    merits = np.full(len(candidates), np.nan)
    archive = selector.archive_
    numbers = archive.lookup(archive.keys(candidates))
    merits[numbers >= 0] = archive.merits_at(numbers[numbers >= 0])
    missing = np.flatnonzero(numbers < 0)
    by_memory = max(_MAX_BYTES // source.schema.n_columns, 1)
    room = min(int(_MAX_EFFORT / max(selector.merit_cost_, 1.0)), _MAX_SETS, by_memory)
    if room < len(missing):
        warn_user(
            [
                f"Of {len(candidates):,} {description} the merits of {len(missing) - room:,} were not asked for: each is much work, or "
                "there are many of them."
            ]
        )
    if len(missing[:room]):
        try:
            merits[missing[:room]] = selector.merits(candidates[missing[:room]].masks(), source)
        except DataError as error:
            warn_user([f"Of {len(missing):,} of {len(candidates):,} {description} there is no merit: {error}"])
    # A set that a model cannot be fitted on has none.
    return np.where(np.isneginf(merits), np.nan, merits)


# MERGED: Why each column is in the subset or out of it: what the merit is when this one column is flipped, and what it repeats.
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


# Sets drawn, sizes of sets on a line, columns named of one: what a reader can still take in.
_MAX_DRAWN = 3000
_MAX_SIZES = 500
_MAX_NAMED = 20


def describe_subset(selector: SubsetSelector, merit: dict[str, str], search: dict[str, str]) -> dict[str, Any]:
    """Return the chosen columns, the course of the search, and merits against sizes."""
    archive, names = selector.archive_, np.array(selector.schema_.names, dtype=object)
    # What Ctrl-C cut off while it was written down is not counted.
    merits, sizes = archive.merits, archive.sizes
    best, worst = _best_and_worst_by_size(sizes, merits, archive.best)
    drawn = _sets_to_draw(sizes, merits, np.concatenate([best, worst]))
    # A set that a model cannot be fitted on has no merit to draw.
    best, drawn, course = (np.asarray(some)[np.isfinite(merits[some])] for some in (best, drawn, archive.improvements))
    certificate = selector.certificate_
    return {
        "merit": merit,
        "how": selector.merit_method_,
        "search": search,
        "sizes": _requested_sizes(selector),
        "min_gain": float(selector.search_.min_gain),
        "columns": names[selector.support_].tolist(),
        "value": selector.merit_,
        "n_evaluations": archive.n_evaluations,
        "n_written": len(archive),
        "certificate": None
        if certificate is None
        else {
            "bound": float(certificate.bound),
            "optimality_gap": float(certificate.optimality_gap),
            "proven": bool(certificate.is_optimal),
        },
        "stopped": archive.stop_reason,
        "course": [
            {"evaluation": number + 1, "merit": float(merits[number]), "columns": names[archive.mask(number)].tolist()}
            for number in course.tolist()
        ],
        "points": {"size": sizes[drawn].tolist(), "merit": merits[drawn].tolist()},
        "frontier": [
            {
                "size": int(sizes[number]),
                "merit": float(merits[number]),
                "columns": names[archive.mask(number)][:_MAX_NAMED].tolist(),
            }
            for number in best.tolist()
        ],
    }


def explain_subset(selector: SubsetSelector, source: Source) -> dict[str, Any]:
    """Return why each column is in or out, and the merits of all sets where there are few."""
    return {"reasons": describe_reasons(selector, source), "lattice": describe_lattice(selector, source)}


def _requested_sizes(selector: SubsetSelector) -> list[int] | None:
    """Return the least and the largest size that was asked for."""
    if selector.n_features is None:
        return None
    schema = selector.schema_
    problem = selector.search_.make_problem(schema.names, schema.used, selector.n_features)
    return [problem.min_size, problem.max_size]


def _best_and_worst_by_size(
    sizes: NDArray[Any], merits: NDArray[np.float64], chosen: int | None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return one of the best sets of every size, the chosen where it is one, and one of the worst; of very many sizes some."""
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


def _sets_to_draw(sizes: NDArray[Any], merits: NDArray[np.float64], required: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return sets to draw: all, or those to be kept and others evenly spaced by size and, within a size, by merit."""
    n = len(sizes)
    if n <= _MAX_DRAWN:
        return np.arange(n)
    order = np.lexsort((merits, sizes))
    room = max(_MAX_DRAWN - len(np.unique(required)), 0)
    return np.union1d(required, order[np.linspace(0, n - 1, room).astype(np.intp)])

"""The subset of a study: the columns chosen, the course of the search, and merits against sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.selection import SubsetSelector
from tamiz.sources.base import Source
from tamiz.steps.lattice import describe_lattice
from tamiz.steps.reasons import describe_reasons

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
            "gap": float(certificate.optimality_gap),
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

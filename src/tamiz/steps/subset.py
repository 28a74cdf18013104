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
_MOST_DRAWN = 3000
_MOST_SIZES = 500
_MOST_NAMED = 20


def describe_subset(selector: SubsetSelector, merit: dict[str, str], search: dict[str, str]) -> dict[str, Any]:
    """Return the chosen columns, the course of the search, and merits against sizes."""
    archive, names = selector.archive_, np.array(selector.schema_.names, dtype=object)
    # What Ctrl-C cut off while it was written down is not counted.
    merits, sizes = archive.merits, archive.sizes
    best, worst = _extremes(sizes, merits, archive.best)
    drawn = _thinned(sizes, merits, np.concatenate([best, worst]))
    # A set that a model cannot be fitted on has no merit to draw.
    best, drawn, course = (np.asarray(some)[np.isfinite(merits[some])] for some in (best, drawn, archive.course))
    certificate = selector.certificate_
    return {
        "merit": merit,
        "how": selector.merit_how_,
        "search": search,
        "sizes": _sizes(selector),
        "min_gain": float(selector.search_.min_gain),
        "columns": names[selector.support_].tolist(),
        "value": selector.merit_,
        "n_evaluations": archive.n_evaluations,
        "n_written": len(archive),
        "certificate": None
        if certificate is None
        else {"bound": float(certificate.bound), "gap": float(certificate.gap), "proven": bool(certificate.proven)},
        "stopped": archive.stopped,
        "course": [
            {"evaluation": number + 1, "merit": float(merits[number]), "columns": names[archive.mask(number)].tolist()}
            for number in course.tolist()
        ],
        "points": {"size": sizes[drawn].tolist(), "merit": merits[drawn].tolist()},
        "frontier": [
            {
                "size": int(sizes[number]),
                "merit": float(merits[number]),
                "columns": names[archive.mask(number)][:_MOST_NAMED].tolist(),
            }
            for number in best.tolist()
        ],
    }


def explain_subset(selector: SubsetSelector, source: Source) -> dict[str, Any]:
    """Return why each column is in or out, and the merits of all sets where there are few."""
    return {"reasons": describe_reasons(selector, source), "lattice": describe_lattice(selector, source)}


def _sizes(selector: SubsetSelector) -> list[int] | None:
    """Return the least and the largest size that was asked for."""
    if selector.n_features is None:
        return None
    schema = selector.schema_
    problem = selector.search_.problem(schema.names, schema.used, selector.n_features)
    return [problem.least, problem.most]


def _extremes(
    sizes: NDArray[Any], merits: NDArray[np.float64], chosen: int | None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return one of the best sets of every size, the chosen where it is one, and one of the worst; of very many sizes some."""
    found = np.arange(len(sizes))
    if chosen is not None:
        found[chosen] = -1
    order = np.lexsort((-found, merits, sizes))
    ends = np.flatnonzero(np.diff(sizes[order], append=-1))
    starts = np.concatenate([[0], ends[:-1] + 1])
    some = np.unique(np.linspace(0, len(ends) - 1, min(len(ends), _MOST_SIZES)).astype(np.intp))
    if chosen is not None:
        some = np.union1d(some, np.flatnonzero(sizes[order[ends]] == sizes[chosen]))
    return order[ends[some]], order[starts[some]]


def _thinned(sizes: NDArray[Any], merits: NDArray[np.float64], kept: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return sets to draw: all, or those to be kept and others evenly spaced by size and, within a size, by merit."""
    n = len(sizes)
    if n <= _MOST_DRAWN:
        return np.arange(n)
    order = np.lexsort((merits, sizes))
    room = max(_MOST_DRAWN - len(np.unique(kept)), 0)
    return np.union1d(kept, order[np.linspace(0, n - 1, room).astype(np.intp)])

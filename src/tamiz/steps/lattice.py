"""The merit of every set of columns, where these are so few that all of them can be drawn."""

from __future__ import annotations

from typing import Any

import numpy as np

from tamiz.candidates import Candidates
from tamiz.selection import SubsetSelector
from tamiz.sources.base import Source
from tamiz.steps.merits import merits_within_effort

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

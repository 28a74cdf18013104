"""What permutations of the data say of a number that was found."""

from __future__ import annotations

import numpy as np

from tamiz.statistics.base import Floats

# Numbers that are equal but for the order of their sums count as equal.
_ROUNDING = 1e-10


def p_value(n_as_extreme: int, n_permutations: int) -> float:
    """Return (1 + the permutations as extreme as what was found) / (1 + all): what was found is one of them."""
    return (1 + n_as_extreme) / (1 + n_permutations)


def share_at_most(drawn: Floats, found: float) -> float:
    """Return the p-value of a number that is remarkable when it is small."""
    return p_value(int(np.sum(drawn <= found * (1.0 + _ROUNDING))), len(drawn))


def share_at_least(drawn: Floats, found: float) -> float:
    """Return the p-value of a number that is remarkable when it is large."""
    return p_value(int(np.sum(drawn >= found * (1.0 - _ROUNDING))), len(drawn))

"""What permutations of the data say of a number that was found."""

from __future__ import annotations

import numpy as np

from tamiz.statistics.base import Floats

# Numbers that are equal but for the order of their sums count as equal.
_TIE_TOLERANCE = 1e-10


def permutation_p_value(n_as_extreme: int, n_permutations: int) -> float:
    """Return (1 + the permutations as extreme as what was found) / (1 + all): what was found is one of them."""
    return (1 + n_as_extreme) / (1 + n_permutations)


def lower_p_value(null_values: Floats, observed: float) -> float:
    """Return the p-value of a number that is remarkable when it is small."""
    return permutation_p_value(int(np.sum(null_values <= observed * (1.0 + _TIE_TOLERANCE))), len(null_values))


def upper_p_value(null_values: Floats, observed: float) -> float:
    """Return the p-value of a number that is remarkable when it is large."""
    return permutation_p_value(int(np.sum(null_values >= observed * (1.0 - _TIE_TOLERANCE))), len(null_values))

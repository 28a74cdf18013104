"""P-values of permutation tests."""

from __future__ import annotations

import numpy as np

from tamiz.arrays import Floats

# Values that differ only by the rounding of sums in another order count as equal.
_TIE_TOLERANCE = 1e-10


def permutation_p_value(n_as_extreme: int, n_permutations: int) -> float:
    """Return (1 + n_as_extreme) / (1 + n_permutations), which counts the observed value as one of the permutations."""
    return (1 + n_as_extreme) / (1 + n_permutations)


def lower_p_value(null_values: Floats, observed: float) -> float:
    return permutation_p_value(int(np.sum(null_values <= observed * (1.0 + _TIE_TOLERANCE))), len(null_values))


def upper_p_value(null_values: Floats, observed: float) -> float:
    return permutation_p_value(int(np.sum(null_values >= observed * (1.0 - _TIE_TOLERANCE))), len(null_values))

"""Seeds. One generator is made here and handed down; child seeds are drawn before work is split."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

Seed: TypeAlias = "int | np.random.Generator | np.random.RandomState | None"


def generator(random_state: Seed) -> np.random.Generator:
    """Return a generator for a seed, a generator as it is, or fresh entropy for None."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**32, size=4, dtype=np.uint32))
    return np.random.default_rng(random_state)

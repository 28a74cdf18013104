"""Random generators from seeds. A fit makes one generator, and draws the seeds of parallel tasks before it starts them."""

from __future__ import annotations

from numbers import Integral
from typing import TypeAlias

import numpy as np

Seed: TypeAlias = "int | np.random.Generator | np.random.RandomState | None"


def make_rng(random_state: Seed) -> np.random.Generator:
    """Return a generator: from a seed, a given one unchanged, or one with fresh entropy for None."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**32, size=4, dtype=np.uint32))
    if random_state is None or isinstance(random_state, np.random.Generator):
        return np.random.default_rng(random_state)
    if isinstance(random_state, bool) or not isinstance(random_state, Integral) or random_state < 0:
        raise ValueError(
            f"random_state must be a whole number of at least 0, a Generator or None, got {random_state!r}."
        )
    return np.random.default_rng(int(random_state))

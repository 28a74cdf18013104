"""Random generators from seeds, and samples of rows. A fit makes one generator, and draws the seeds of parallel tasks first."""

from __future__ import annotations

from numbers import Integral
from typing import TypeAlias

import numpy as np

from tamiz.arrays import Indices

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


def integer_seed(random_state: Seed) -> int | None:
    """Return the seed that the user passed, None for a generator."""
    return int(random_state) if isinstance(random_state, Integral) else None


def sample_rows(n_rows: int, size: int, rng: np.random.Generator) -> Indices:
    return np.arange(n_rows) if n_rows <= size else np.sort(rng.choice(n_rows, size, replace=False))


def sample_including(preferred: Indices, n_rows: int, size: int, rng: np.random.Generator) -> Indices:
    """Return a sorted sample of `size` of all rows that contains the preferred ones (ascending), or only these if they are more."""
    if size <= len(preferred):
        return np.sort(rng.choice(preferred, size, replace=False))
    others = np.setdiff1d(np.arange(n_rows), preferred, assume_unique=True)
    return np.sort(np.concatenate([preferred, rng.choice(others, size - len(preferred), replace=False)]))

"""The index of subsets, against a dictionary."""

import numpy as np

from tamiz.search.archive import SubsetIndex, first_occurrences
from tamiz.search.base import Candidates


def random_candidates(rng, n_columns, n):
    """Candidates of few parents with zero, one or three flips each; many sets are equal."""
    parents = rng.random((3, n_columns)) < 0.5
    widths = rng.choice([0, 1, 3], n)
    flipped = np.concatenate([rng.permutation(n_columns)[:width] for width in widths]).astype(np.intp)
    return Candidates(parents, rng.integers(0, 3, n), np.concatenate([[0], np.cumsum(widths)]), flipped)


def test_sets_have_the_numbers_in_which_they_came():
    for n_columns in (3, 8, 9, 21):
        rng = np.random.default_rng(n_columns)
        seen, numbers = SubsetIndex(n_columns), {}
        for _ in range(40):
            batch = random_candidates(rng, n_columns, 100)
            names = [mask.tobytes() for mask in batch.masks()]
            keys = seen.keys(batch)
            assert seen.lookup(keys).tolist() == [numbers.get(name, -1) for name in names]
            assert first_occurrences(keys).tolist() == [names.index(name) for name in names]
            new = [c for c, name in enumerate(names) if name not in numbers and names.index(name) == c]
            assert np.flatnonzero(seen.are_new(keys)).tolist() == new
            seen.add(keys[new])
            for c in new:
                numbers[names[c]] = len(numbers)
            assert len(seen) == len(numbers)


def test_many_sets_are_found_again_after_the_table_grew():
    rng = np.random.default_rng(0)
    seen = SubsetIndex(60)
    batches = [Candidates.from_masks(rng.random((1500, 60)) < 0.5) for _ in range(8)]
    for batch in batches:
        seen.add(seen.keys(batch))
    for k, batch in enumerate(batches):
        assert seen.lookup(seen.keys(batch)).tolist() == list(range(1500 * k, 1500 * (k + 1)))

"""Candidates as flips of parents, against the masks that they represent."""

import numpy as np

from tamiz.search.base import Candidates


def random_candidates(seed, p=11):
    rng = np.random.default_rng(seed)
    parents = rng.random((4, p)) < 0.5
    flips = [rng.choice(p, rng.integers(0, 5), replace=False) for _ in range(15)]
    starts = np.concatenate([[0], np.cumsum([len(flip) for flip in flips])]).astype(np.intp)
    parent = rng.integers(0, 4, 15)
    masks = parents[parent].copy()
    for mask, flip in zip(masks, flips, strict=True):
        mask[flip] = ~mask[flip]
    return Candidates(parents, parent, starts, np.concatenate(flips).astype(np.intp)), masks, flips


def test_masks_are_parents_with_columns_flipped():
    for seed in range(50):
        candidates, masks, _ = random_candidates(seed)
        before = candidates.parents.copy()
        np.testing.assert_array_equal(candidates.masks(), masks)
        np.testing.assert_array_equal(candidates.parents, before)


def test_sizes_are_the_sums_of_the_masks():
    for seed in range(50):
        candidates, masks, _ = random_candidates(seed)
        assert candidates.sizes().tolist() == masks.sum(axis=1).tolist()


def test_some_of_the_candidates_are_the_same_sets():
    for seed in range(50):
        candidates, masks, _ = random_candidates(seed)
        chosen = np.random.default_rng(seed).integers(0, len(candidates), 7)
        np.testing.assert_array_equal(candidates[chosen].masks(), masks[chosen])
        assert len(candidates[chosen[:0]]) == 0


def test_flips_of_a_parent_come_by_width_and_cover_each_of_its_candidates_once():
    for seed in range(50):
        candidates, _, flips = random_candidates(seed)
        seen = []
        for parent in range(4):
            for where, columns in candidates.flips_by_width(parent):
                assert set(candidates.parent_index[where]) == {parent}
                for c, flipped in zip(where, columns, strict=True):
                    assert flipped.tolist() == flips[c].tolist()
                seen += where.tolist()
        assert sorted(seen) == list(range(len(candidates)))


def test_sets_as_they_are_flip_nothing():
    masks = np.array([[True, False, True], [False, False, False]])
    candidates = Candidates.from_masks(masks)
    np.testing.assert_array_equal(candidates.masks(), masks)
    assert candidates.sizes().tolist() == [2, 0]
    assert len(Candidates.from_masks(masks[0])) == 1


def test_flips_of_one_parent_give_a_candidate_a_unit():
    candidates = Candidates.from_flips(np.array([True, False, False]), [np.array([0]), np.array([1, 2])])
    assert candidates.masks().tolist() == [[False, False, False], [True, True, True]]
    assert len(Candidates.from_flips(np.array([True]), [])) == 0

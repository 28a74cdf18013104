"""The archive of a search: order, best set, ties, improvements."""

import tracemalloc

import numpy as np
import pytest

from tamiz.search.archive import Archive
from tamiz.search.base import Candidates


def record(archive, *sets_with_merits):
    """Record sets as one step; a set is a string of 0 and 1."""
    masks = np.array([[c == "1" for c in mask] for mask, _ in sets_with_merits])
    candidates = Candidates.from_masks(masks)
    archive.record(
        candidates, archive.index.keys(candidates), np.array([float(merit) for _, merit in sets_with_merits])
    )
    archive.end_step()
    return archive


def names_of(archive, candidates):
    return {tuple(key) for key in archive.index.keys(candidates).tolist()}


def test_sets_and_merits_are_in_the_order_of_evaluation():
    archive = Archive(3)
    record(archive, ("000", 0), ("110", 2))
    record(archive, ("011", 1))
    assert archive.masks.astype(int).tolist() == [[0, 0, 0], [1, 1, 0], [0, 1, 1]]
    assert archive.merits.tolist() == [0, 2, 1]
    assert archive.sizes.tolist() == [0, 2, 2]
    assert len(archive) == 3
    assert archive.mask(2).astype(int).tolist() == [0, 1, 1]
    with pytest.raises(IndexError, match="There is no evaluation 3; there are 3"):
        archive.mask(3)


def test_an_archive_of_nothing_has_no_best():
    archive = Archive(4)
    assert archive.best is None
    assert len(archive) == 0
    assert archive.masks.shape == (0, 4)
    assert archive.merits.tolist() == []


def test_a_mask_is_found_in_a_batch_of_flips():
    archive = Archive(10)
    parent = np.arange(10) < 4
    candidates = Candidates.from_flips(parent, [np.array([j]) for j in range(10)])
    archive.record(candidates, archive.index.keys(candidates), np.arange(10.0))
    for number in range(10):
        np.testing.assert_array_equal(archive.mask(number), candidates.masks()[number])
    (batch,) = archive.batches()
    np.testing.assert_array_equal(batch.masks(), candidates.masks())


@pytest.mark.parametrize(
    ("sets", "best"),
    [
        ([("110", 1), ("001", 2)], "001"),
        ([("110", 1), ("001", 1)], "001"),
        ([("001", 1), ("110", 1)], "001"),
        ([("011", 1), ("101", 1), ("110", 1)], "110"),
        ([("110", 1), ("101", 1), ("011", 1)], "110"),
        ([("000", 0), ("100", 0)], "000"),
        ([("100", -2), ("010", -1)], "010"),
    ],
)
def test_of_equal_sets_the_smaller_is_best_then_the_one_of_earlier_columns(sets, best):
    together, apart = record(Archive(3), *sets), Archive(3)
    for one in sets:
        record(apart, one)
    for archive in (together, apart):
        assert "".join(map(str, archive.mask(archive.best).astype(int))) == best


def test_a_set_is_better_only_by_more_than_min_gain():
    archive = record(Archive(3, min_gain=0.1), ("111", 1.0), ("110", 1.05), ("100", 1.2), ("010", 1.25), ("001", 1.251))
    assert archive.best == 2
    assert archive.improvements == [2]


def test_only_sets_of_an_allowed_size_are_best():
    archive = record(Archive(3, min_size=1, max_size=2), ("000", 9), ("111", 8))
    assert archive.best is None
    record(archive, ("110", 1), ("100", 2), ("111", 7))
    assert archive.best == 3
    assert archive.best_merit == 2


def test_the_history_contains_every_set_that_was_best_at_its_time():
    rng = np.random.default_rng(0)
    archive, best, course = Archive(12), -np.inf, []
    masks = np.unique(rng.random((200, 12)) < 0.5, axis=0)
    for number, mask in enumerate(masks):
        merit = rng.random()
        candidates = Candidates.from_masks(mask)
        archive.record(candidates, archive.index.keys(candidates), np.array([merit]))
        if merit > best:
            best = merit
            course.append(number)
    assert archive.improvements == course
    assert archive.best == course[-1]


def test_a_set_has_one_key_however_it_is_proposed():
    rng = np.random.default_rng(0)
    archive = Archive(40)
    target = rng.random(40) < 0.5
    keys = set()
    for _ in range(20):
        parent = rng.random(40) < 0.5
        flips = rng.permutation(np.flatnonzero(parent != target))
        starts = np.array([0, len(flips)])
        keys.update(names_of(archive, Candidates(parent[None], np.array([0]), starts, flips)))
    assert keys == names_of(archive, Candidates.from_masks(target))


def test_different_sets_have_different_keys():
    archive = Archive(12)
    masks = (np.arange(2**12)[:, None] >> np.arange(12) & 1).astype(bool)
    assert len(names_of(archive, Candidates.from_masks(masks))) == 2**12


def test_merits_are_recalled_by_set():
    archive = record(Archive(3), ("100", 1), ("110", 2))
    candidates = Candidates.from_masks(np.array([[1, 1, 0], [0, 1, 0], [1, 0, 0]], dtype=bool))
    assert archive.index.lookup(archive.index.keys(candidates)).tolist() == [1, -1, 0]
    assert archive.merits_at(np.array([1, 0])).tolist() == [2, 1]


def test_steps_without_gain_and_the_last_gain_are_counted_by_step():
    archive = record(Archive(3), ("000", 1))
    assert (archive.n_steps_without_gain, archive.last_gain) == (0, None)
    record(archive, ("100", 0.5), ("010", 0.75))
    assert (archive.n_steps_without_gain, archive.last_gain) == (1, -0.25)
    record(archive, ("001", 1.5))
    assert (archive.n_steps_without_gain, archive.last_gain) == (0, 0.5)
    # Nothing new was recorded.
    archive.end_step()
    assert (archive.n_steps_without_gain, archive.last_gain) == (1, 0)


def test_a_step_before_the_requested_size_is_without_gain():
    archive = record(Archive(3, min_size=2), ("110", 1))
    record(archive, ("111", 3))
    record(archive, ("100", 9), ("010", 8))
    assert (archive.n_steps_without_gain, archive.last_gain) == (1, 2)


def test_a_set_without_a_score_is_never_the_best():
    archive = record(Archive(3), ("110", -np.inf), ("100", -np.inf))
    assert archive.best is None
    assert archive.best_size is None
    assert record(archive, ("111", -5), ("001", -np.inf)).best == 2


def test_of_equal_sets_the_one_of_earlier_columns_is_best_beyond_a_byte():
    sets = ["0" * 8 + "0110", "0" * 8 + "1001", "0" * 8 + "0101"]
    archive = record(Archive(12), *((one, 1.0) for one in sets))
    assert archive.best == 1


@pytest.mark.parametrize("order", [1, -1])
def test_sets_of_very_many_columns_are_recorded_in_little_memory(order):
    n_columns = 20_000
    flips = [np.array([column]) for column in range(n_columns)][::order]
    candidates = Candidates.from_flips(np.zeros(n_columns, dtype=bool), flips)
    archive = Archive(n_columns)
    keys, merits = archive.index.keys(candidates), np.zeros(n_columns)
    tracemalloc.start()
    archive.record(candidates, keys, merits)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.flatnonzero(archive.mask(archive.best)).tolist() == [0]
    assert peak < n_columns**2 / 8


def test_masks_in_any_order_of_memory_have_the_same_keys():
    masks = np.random.default_rng(0).random((20, 50)) < 0.5
    archive = Archive(50)
    np.testing.assert_array_equal(
        archive.index.keys(Candidates.from_masks(np.asfortranarray(masks))),
        archive.index.keys(Candidates.from_masks(masks)),
    )


def test_a_batch_interrupted_by_control_c_is_not_recorded(monkeypatch):
    archive = record(Archive(3), ("100", 1), ("110", 2))

    def interrupted(keys):
        raise KeyboardInterrupt

    monkeypatch.setattr(archive.index, "add", interrupted)
    with pytest.raises(KeyboardInterrupt):
        record(archive, ("001", 3))
    assert len(archive) == len(archive.merits) == len(archive.sizes) == len(archive.masks) == 2
    assert (archive.best, archive.best_merit, archive.best_size) == (1, 2, 2)
    again = Archive.from_state(archive.get_state())
    assert again.masks.tolist() == archive.masks.tolist()

"""Folds respect classes, groups and times, and no row is both in training and in test rows."""

import numpy as np
import pytest

from tamiz import open_table
from tamiz.models.folds import Fold, Folds, make_folds

N = 60


def opened(y, **roles):
    return open_table(np.random.default_rng(0).normal(size=(len(y), 2)), y, **roles)


def classes(*sizes):
    return np.repeat([f"c{k}" for k in range(len(sizes))], sizes)


def check_parts(folds, n, *, all_tested=True):
    for fold in folds.splits:
        assert len(np.intersect1d(fold.train, fold.test)) == 0
        assert (np.diff(fold.train) > 0).all()
        assert (np.diff(fold.test) > 0).all()
    tested = np.concatenate([fold.test for fold in folds.splits])
    assert len(np.unique(tested)) == len(tested)
    if all_tested:
        assert sorted(tested.tolist()) == list(range(n))
        assert all(len(fold.train) + len(fold.test) == n for fold in folds.splits)


def test_every_fold_has_its_share_of_every_class():
    y = classes(40, 15, 5)
    folds = make_folds(opened(y), 5, 0)
    check_parts(folds, N)
    assert folds.description == "5 stratified folds"
    for fold in folds.splits:
        assert np.unique(y[fold.test], return_counts=True)[1].tolist() == [8, 3, 1]
    assert folds.variance_factor == pytest.approx(1 / 5 + 12 / 48)


def test_folds_of_numbers_are_drawn():
    folds = make_folds(opened(np.random.default_rng(0).normal(size=N)), 7, 0)
    check_parts(folds, N)
    assert {len(fold.test) for fold in folds.splits} == {8, 9}


def test_the_same_seed_makes_the_same_folds_and_another_others():
    table = opened(classes(30, 30))
    one, again, other = (make_folds(table, 5, seed) for seed in (1, 1, 2))
    assert all(np.array_equal(a.test, b.test) for a, b in zip(one.splits, again.splits, strict=True))
    assert not all(np.array_equal(a.test, b.test) for a, b in zip(one.splits, other.splits, strict=True))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("numbers", [False, True])
def test_groups_are_kept_whole_and_no_fold_is_empty(seed, numbers):
    rng = np.random.default_rng(seed)
    groups = np.minimum(rng.geometric(0.15, 200), 9)
    y = rng.normal(size=200) if numbers else rng.integers(0, 3, 200)
    for n in (2, 5, len(np.unique(groups))):
        folds = make_folds(opened(y, groups=groups), n, seed)
        check_parts(folds, 200)
        assert len(folds) == n
        for fold in folds.splits:
            assert len(fold.test)
            assert not set(groups[fold.train]) & set(groups[fold.test])


def test_whole_groups_share_the_classes_out_as_far_as_they_can():
    groups = np.arange(N) // 3
    y = classes(30, 30)
    for fold in make_folds(opened(y, groups=groups), 5, 0).splits:
        assert np.unique(y[fold.test], return_counts=True)[1].tolist() == [6, 6]


def test_with_times_training_rows_precede_test_rows():
    rng = np.random.default_rng(0)
    time = rng.integers(0, 25, N)
    folds = make_folds(opened(rng.integers(0, 2, N), time=time), 4, 0)
    check_parts(folds, N, all_tested=False)
    assert folds.description == "4 folds forward in time (time)"
    for before, fold in zip((None, *folds.splits), folds.splits, strict=False):
        assert time[fold.train].max() < time[fold.test].min()
        assert 5 <= len(fold.test) <= 19
        if before is not None:
            assert fold.train.tolist() == sorted([*before.train.tolist(), *before.test.tolist()])
    assert len(folds.splits[-1].train) + len(folds.splits[-1].test) == N


def test_blocks_of_different_times_are_of_equal_size():
    order = np.random.default_rng(0).permutation(N)
    folds = make_folds(opened(np.arange(N) % 2, time=order), 5, 0)
    assert [len(fold.test) for fold in folds.splits] == [10] * 5
    assert len(folds.splits[0].train) == 10


@pytest.mark.parametrize("counts", [[2, 1, 1, 56], [57, 1, 1, 1], [30, 1, 28, 1], [29, 29, 2]])
def test_equal_times_stay_together_however_many_they_are(counts):
    time = np.repeat(np.arange(len(counts)), counts)
    folds = make_folds(opened(np.arange(N) % 2, time=time), 10, 0)
    assert len(folds) == len(counts) - 1
    assert [np.unique(time[fold.test]).tolist() for fold in folds.splits] == [[k] for k in range(1, len(counts))]
    assert folds.fold_warnings == (f"{len(folds)} folds in place of 10: 'time' has {len(counts)} different times.",)


@pytest.mark.filterwarnings("ignore:The least populated class")
@pytest.mark.parametrize("seed", range(60))
def test_no_fold_is_too_small_however_groups_and_times_are_spread(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 40))
    numbers = seed % 2 == 0
    y = rng.normal(size=n) if numbers else rng.permutation(np.arange(n) % 3)
    values = np.minimum(rng.geometric(rng.uniform(0.1, 0.6), n), n - 4)
    values[:6] = [1, 1, 2, 2, 3, 3]
    for roles in ({"groups": values}, {"time": values}):
        folds = make_folds(opened(y, **roles), 8, seed)
        check_parts(folds, n, all_tested="groups" in roles)
        assert 2 <= len(folds) <= 8
        assert all(len(fold.train) >= 2 and len(fold.test) >= 1 + numbers for fold in folds.splits)
        assert len(folds.fold_warnings) == (len(folds) < 8)
        for fold in folds.splits:
            if "time" in roles:
                assert values[fold.train].max() < values[fold.test].min()
            else:
                assert not set(values[fold.train]) & set(values[fold.test])


def test_a_fold_that_stratification_leaves_empty_is_left_out_and_reported():
    groups = np.repeat(np.arange(6), [8, 5, 6, 2, 5, 26])
    y = groups % 2
    folds = make_folds(opened(y, groups=groups), 8, 2284)
    check_parts(folds, 52)
    assert folds.description == "5 folds of whole groups (group)"
    assert folds.fold_warnings == ("5 folds in place of 8: with more folds some would have too few rows.",)


def test_times_are_cut_where_every_block_has_rows_enough():
    # The cut nearest to a third of the rows would leave 1 row to the next block.
    time = np.repeat(np.arange(5), [20, 1, 1, 1, 1])
    folds = make_folds(opened(np.random.default_rng(0).normal(size=24), time=time), 2, 0)
    assert [(len(fold.train), len(fold.test)) for fold in folds.splits] == [(20, 2), (22, 2)]


@pytest.mark.parametrize(
    ("y", "roles", "n", "note"),
    [
        (classes(56, 4), {}, 4, r"4 folds in place of 10: class 'c1' has 4 rows."),
        (np.arange(7) / 3, {}, 3, r"3 folds in place of 10: the table has 7 rows."),
        (classes(30, 30), {"groups": np.arange(N) % 3}, 3, r"3 folds in place of 10: 'group' has 3 groups."),
        (classes(3, 3), {"groups": np.arange(6)}, 3, "3 folds in place of 10: no class has more than 3 rows."),
        (
            np.arange(15) / 3,
            {"groups": np.arange(15)},
            7,
            "7 folds in place of 10: with more folds some would have too few rows.",
        ),
        (
            np.arange(15) / 3,
            {"time": np.arange(15)},
            6,
            "6 folds in place of 10: with more folds some would have too few rows.",
        ),
        (
            np.arange(15) % 2,
            {"time": np.arange(15)},
            10,
            None,
        ),
    ],
)
def test_fewer_folds_are_reported(y, roles, n, note):
    folds = make_folds(opened(y, **roles), 10, 0)
    assert len(folds) == n
    assert folds.fold_warnings == ((note,) if note else ())


@pytest.mark.parametrize(
    ("y", "roles", "message"),
    [
        (
            classes(59, 1),
            {},
            r"^Class 'c1' has 1 row; every class needs at least 2, one for training and one for testing\.",
        ),
        (np.array([1.5, 2.0, 2.5]), {}, r"^The table has 3 rows; cross-validation needs at least 4"),
        (
            classes(30, 30),
            {"groups": ["ward"] * N},
            r"^All rows are in one group, 'ward' in 'group'; at least 2 groups",
        ),
        (
            np.arange(15) / 3,
            {"groups": [1] + [2] * 14},
            r"^The 2 groups of 'group' .* 2 folds: each needs at least 2 rows for training and 2 rows for testing\.$",
        ),
        (
            classes(5, 5),
            {"groups": [1] + [2] * 9},
            r"^The 2 groups of 'group' .* 2 folds: each needs at least 2 rows for training and 1 row for testing\.$",
        ),
        (classes(1, 1, 1), {"groups": [1, 2, 3]}, r"^No class has more than 1 row; every class needs at least 2"),
        (
            np.arange(15) / 3,
            {"time": [1] * 13 + [2, 3]},
            r"^The 3 different times of 'time' .* 2 folds: each needs at least 2 rows for training and 2 rows",
        ),
        (classes(30, 30), {"time": np.ones(N)}, r"^'time' has 1 time; at least 3 are needed"),
        (classes(30, 30), {"time": np.arange(N) < 9}, r"^'time' has 2 different times; at least 3 are needed"),
        (
            classes(30, 30),
            {"time": np.arange(N), "groups": np.arange(N)},
            r"^Groups \('group'\) and time \('time'\) cannot be combined",
        ),
    ],
)
def test_rows_that_cannot_be_divided_are_refused(y, roles, message):
    with pytest.raises(ValueError, match=message):
        make_folds(opened(y, **roles), 10, 0)


def test_one_fold_is_refused():
    with pytest.raises(ValueError, match=r"^n_splits must be at least 2, got 1\.$"):
        make_folds(opened(classes(30, 30)), 1, 0)


def test_folds_among_some_rows_have_their_positions_and_the_order_of_the_splitter():
    train, test = np.array([1, 3, 4, 7]), np.array([0, 2, 5])
    folds = Folds((Fold(train, test, np.array([7, 1, 4, 3])),), "by hand", seeds=(3,))
    (found,) = folds.among(np.array([1, 2, 3, 5, 7]))
    assert (found.train.tolist(), found.test.tolist()) == ([0, 2, 4], [1, 3])
    assert found.train_in_order.tolist() == [4, 0, 2]
    assert folds.among(np.arange(8)).seeds == (3,)

"""Permuted targets: within groups, along time, and the p-value that follows from them."""

import numpy as np
import pytest

from tamiz import open_source
from tamiz.selection.permutation_null import PermutationNull, default_n_permutations, target_shuffle

N = 90
X = np.random.default_rng(0).normal(size=(N, 2))


def drawn(y, **roles):
    way = target_shuffle(open_source(X, y, **roles))
    return way.description, way.draw(np.random.default_rng(1))


def test_rows_are_exchanged_with_any_other():
    y = np.arange(N) / 7
    how, shuffled = drawn(y)
    assert how == "shuffled among all rows"
    assert sorted(shuffled.tolist()) == y.tolist()
    assert np.mean(shuffled == y) < 0.1


def test_rows_are_exchanged_within_their_group():
    groups = np.arange(N) % 9
    y = np.arange(N) / 7
    how, shuffled = drawn(y, groups=groups)
    assert how == "shuffled within groups"
    for group in range(9):
        assert sorted(shuffled[groups == group].tolist()) == y[groups == group].tolist()
    assert np.mean(shuffled == y) < 0.3


def test_groups_of_one_class_each_exchange_theirs():
    sizes = np.random.default_rng(0).integers(1, 12, 30)
    groups = np.repeat(np.arange(30), sizes)[:N]
    y = groups % 3
    how, shuffled = drawn(y, groups=groups)
    assert how == "exchanged among whole groups"
    found = [np.unique(shuffled[groups == group]).tolist() for group in np.unique(groups)]
    assert all(len(values) == 1 for values in found)
    assert sorted(found) == sorted([y[groups == group][0]] for group in np.unique(groups))


def test_groups_that_are_nearly_of_one_class_exchange_what_they_have():
    groups = np.arange(N) // 5
    y = groups % 2
    y[0] = 1
    how, shuffled = drawn(y, groups=groups)
    assert how == "exchanged among whole groups"
    # The group with a row of the other class goes somewhere as it is.
    assert sorted(shuffled.reshape(-1, 5).tolist()) == sorted(y.reshape(-1, 5).tolist())
    assert not np.array_equal(shuffled, y)


def test_a_group_of_another_size_receives_a_time_course_of_the_same_shape():
    groups = np.repeat([0, 1, 2], [12, 6, 3])
    # Three levels, and within each group three steps, of as many rows as its size allows.
    step = np.repeat([0, 1, 2, 0, 1, 2, 0, 1, 2], [4, 4, 4, 2, 2, 2, 1, 1, 1])
    y = 10 * groups + step + 0.5
    source = open_source(X[:21], y, groups=groups)
    seen = set()
    for seed in range(20):
        shuffled = target_shuffle(source).draw(np.random.default_rng(seed))
        base = [float(shuffled[groups == group][0]) for group in range(3)]
        assert sorted(base) == [0.5, 10.5, 20.5]
        assert (shuffled - np.array(base)[groups]).tolist() == step.tolist()
        seen.add(tuple(base))
    assert len(seen) == 6


def test_rows_are_exchanged_within_groups_where_these_differ_less_than_rows_do():
    rng = np.random.default_rng(0)
    groups = np.arange(N) // 9
    for size, how in ((0.3, "shuffled within groups"), (3.0, "exchanged among whole groups")):
        assert drawn(size * rng.normal(size=10)[groups] + rng.normal(size=N), groups=groups)[0] == how


def test_no_target_drawn_is_constant():
    groups = np.concatenate([np.zeros(6, dtype=int), np.arange(1, 9)])
    y = np.where(groups == 0, 1, 0)
    y[2] = 0
    way = target_shuffle(open_source(X[:14], y, groups=groups))
    assert way.description == "exchanged among whole groups"
    y[3:5] = 0
    for target in (y, 1 - y):
        way = target_shuffle(open_source(X[:14], target, groups=groups))
        assert all(np.ptp(way.draw(np.random.default_rng(seed))) == 1 for seed in range(50))


def remarkable(X, y, rng, **roles):
    """Whether at most one in twenty shuffled targets goes as well with a column as the target does."""
    way = target_shuffle(open_source(X, y, **roles))
    assert way.description == "exchanged among whole groups"
    Z = (X - X.mean(axis=0)) / X.std(axis=0)

    def best(target):
        return float(np.abs((target - target.mean()) @ Z).max() / target.std())

    found = best(y)
    return sum(best(way.draw(rng)) >= found - 1e-9 for _ in range(19)) == 0


@pytest.mark.parametrize("sizes", [np.full(30, 5), np.r_[40, 30, 20, np.full(15, 5), np.full(15, 2)]])
def test_one_in_twenty_tables_of_noise_with_groups_is_remarkable(sizes):
    groups = np.repeat(np.arange(len(sizes)), sizes)
    n_remarkable = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        columns = rng.normal(size=(len(sizes), 3))[groups] + 0.3 * rng.normal(size=(len(groups), 3))
        y = (rng.normal(size=len(sizes)) > 0).astype(int)[groups] ^ (rng.random(len(groups)) < 0.03)
        n_remarkable += remarkable(columns, y, rng, groups=groups)
    # Of 100, 5 expected; 13 or more in 1 of 700 cases.
    assert 1 <= n_remarkable <= 12


def test_one_row_that_differs_from_its_group_does_not_hide_an_effect():
    groups = np.arange(200) // 5
    y = groups % 2
    y[0] = 1 - y[0]
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(200, 5)) + 3 * (groups % 2)[:, None] * (np.arange(5) == 0)
    assert remarkable(columns, y, rng, groups=groups)


def test_a_time_course_is_shifted_as_a_whole():
    time = np.random.default_rng(0).permutation(N)
    how, shuffled = drawn(time / 7, time=time)
    assert how == "moved on in time"
    course = (shuffled[np.argsort(time)] * 7).round().astype(int)
    assert (np.diff(course) % N == 1).all()
    assert course[0] != 0


def test_p_counts_the_target_as_it_is_among_those_shuffled():
    null = PermutationNull(
        np.array([0.1, 0.2, 0.3, 0.3, 0.5, 0.1, 0.1, 0.1, 0.1]), 0.3, "merit", "shuffled among all rows"
    )
    assert null.p_value == 4 / 10
    assert null.median == pytest.approx(0.1)
    assert PermutationNull(np.zeros(19), 0.1, "merit", "").p_value == 1 / 20


def test_small_tables_are_shuffled_more_often_than_large_ones():
    assert default_n_permutations(open_source(np.random.default_rng(0).normal(size=(200, 1000))).schema) == 99
    assert default_n_permutations(open_source(np.random.default_rng(0).normal(size=(201, 1000))).schema) == 19

"""Permuted targets: within groups, along time, and the p-value that follows from them."""

import warnings

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine

from tamiz import SubsetSelector, open_table
from tamiz.assessment import recommend_columns, selection_report
from tamiz.exceptions import TamizWarning
from tamiz.selection import subset_selector
from tamiz.selection.permutation_null import chance_null, default_n_permutations, has_significant_column, target_shuffle
from tamiz.selection.subset_record import PermutationNull

N = 90
X = np.random.default_rng(0).normal(size=(N, 2))


def drawn(y, **roles):
    way = target_shuffle(open_table(X, y, **roles))
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
    table = open_table(X[:21], y, groups=groups)
    seen = set()
    for seed in range(20):
        shuffled = target_shuffle(table).draw(np.random.default_rng(seed))
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
    way = target_shuffle(open_table(X[:14], y, groups=groups))
    assert way.description == "exchanged among whole groups"
    y[3:5] = 0
    for target in (y, 1 - y):
        way = target_shuffle(open_table(X[:14], target, groups=groups))
        assert all(np.ptp(way.draw(np.random.default_rng(seed))) == 1 for seed in range(50))


def remarkable(X, y, rng, **roles):
    """Whether at most one in twenty shuffled targets goes as well with a column as the target does."""
    way = target_shuffle(open_table(X, y, **roles))
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
    assert default_n_permutations(open_table(np.random.default_rng(0).normal(size=(200, 1000))).schema) == 99
    assert default_n_permutations(open_table(np.random.default_rng(0).normal(size=(201, 1000))).schema) == 19


def chance_warnings(X, y, **parameters):
    """Return whether the default search selects any column, and the warnings that the selection may be chance."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        selector = SubsetSelector(**parameters).fit(X, y)
    return selector.support_.any(), [str(one.message) for one in found if "may be chance" in str(one.message)]


def noise(seed, n, p, kind):
    """Return columns and a target, classes with shares or numbers, that are independent."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    if kind == "numbers":
        return X, rng.normal(size=n)
    return X, np.array([*"abc"])[np.searchsorted(np.cumsum(kind), rng.permutation(n) / n, side="right")]


BALANCED, THREE, RARE = (0.5, 0.5), (0.34, 0.33, 0.33), (0.95, 0.05)
SHAPES = [(300, 25), (100, 500), (60, 2_000), (60, 20_000)]


@pytest.mark.parametrize(
    ("n", "p", "kind", "merit"),
    [(60, 200, BALANCED, None), (60, 1_000, RARE, None), (60, 20, "numbers", None), (60, 20, BALANCED, "wrapper:knn")],
)
def test_noise_that_is_selected_may_be_chance(n, p, kind, merit):
    X, y = noise(3, n, p, kind)
    selected, found = chance_warnings(X, y, merit=merit, search="forward")
    assert selected
    assert len(found) == 1
    assert "shuffled among all rows" in found[0]
    # The same draws in every fit.
    assert chance_warnings(X, y, merit=merit, search="forward")[1] == found


@pytest.mark.slow
@pytest.mark.parametrize("kind", [BALANCED, THREE, RARE, "numbers"])
@pytest.mark.parametrize(("n", "p"), SHAPES)
def test_noise_is_found_to_be_chance_in_95_percent_of_the_tables(n, p, kind):
    # A fit takes seconds where there are very many columns, or ridge regression is repeated on hundreds.
    n_tables = 40 if p < 2_000 and (kind != "numbers" or p < 500) else 10
    results = [chance_warnings(*noise(seed, n, p, kind)) for seed in range(n_tables)]
    n_selected = sum(selected for selected, _ in results)
    # Fewer are found with probability 0.01 where each is found with probability 0.95.
    assert sum(bool(found) for _, found in results) >= stats.binom.ppf(0.01, n_selected, 0.95)


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer, load_diabetes])
def test_columns_that_predict_the_target_are_not_chance(load):
    assert chance_warnings(*load(return_X_y=True)) == (True, [])


@pytest.mark.parametrize("kind", ["classes", "numbers", "weak effects of all"])
def test_five_relevant_columns_of_25_are_not_chance(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 25))
    effects = np.full(25, 0.15) if kind == "weak effects of all" else np.repeat([1.0, 0.0], [5, 20])
    y = X @ effects + rng.normal(size=300)
    assert chance_warnings(X, (y > 0).astype(str) if kind == "classes" else y) == (True, [])


def test_groups_that_share_values_are_exchanged_whole():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(40), 3)
    X = rng.normal(size=(40, 300))[groups] + 0.01 * rng.normal(size=(120, 300))
    with pytest.warns(TamizWarning, match="may be chance. .* exchanged among whole groups"):
        SubsetSelector().fit(X, rng.permutation(np.arange(40) % 2)[groups].astype(str), groups=groups)


def test_a_fit_that_is_a_part_of_another_computation_is_not_compared_with_chance(monkeypatch):
    def fail(*_):
        raise AssertionError

    monkeypatch.setattr(subset_selector, "search_null", fail)
    X, y = noise(0, 60, 50, BALANCED)
    selection_report(SubsetSelector(), X, y, n_splits=2, n_permutations=1)
    recommend_columns(X, y, candidates={"cfs": SubsetSelector()}, models=["naive_bayes"], n_splits=2)


@pytest.mark.parametrize(
    ("observed", "merits", "n"),
    [(1.0, [0.0, 0.2, 1.0, 0.3], 3), (1.0, [0.1, 0.2, 0.1, 0.2, 0.1, 0.2], None), (0.3, [0.1, 0.2, 0.1, 0.2, 0.1], 5)],
)
def test_shuffled_targets_are_searched_until_one_reaches_the_merit_or_it_is_clearly_above(observed, merits, n):
    values = iter(merits)
    shuffle = target_shuffle(open_table(X, np.arange(N) / 7))
    null = chance_null(observed, lambda *_: (next(values), 1), shuffle, len(merits))
    assert (None if null is None else null.null_values.tolist()) == (None if n is None else merits[:n])


@pytest.mark.parametrize("classes", [False, True])
def test_rows_of_groups_are_tested_by_one_row_of_each(classes):
    found = {0.0: 0, 0.8: 0}
    for effect in found:
        for seed in range(100):
            rng = np.random.default_rng(seed)
            group = np.repeat(np.arange(60), 8)
            x = rng.normal(size=60)
            y = (effect * x + rng.normal(size=60))[group] + 0.1 * rng.normal(size=480)
            y = np.where(y > np.median(y), "high", "low") if classes else y
            X = np.column_stack([x[group] + 0.1 * rng.normal(size=480), rng.normal(size=480)])
            table = open_table(X, y, groups=group)
            found[effect] += has_significant_column(table, np.array([0, 1]), 0.05 / 2)
    # The standard error of a share of .05 of 100 tables is .022.
    assert found[0.0] <= 11
    assert found[0.8] >= (85 if classes else 97)
    assert not has_significant_column(open_table(X, y, time=np.arange(480.0)), np.array([0, 1]), 0.9)

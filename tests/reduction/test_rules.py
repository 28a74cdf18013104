"""Rules of the clusters of a map: what is planted is found, noise has no rule, and shares are those of held-out rows."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal

from tamiz import open_table
from tamiz.exceptions import DataError, TamizWarning
from tamiz.reduction import PCA, cluster_rules
from tamiz.reduction.rules import (
    MAX_COLUMNS,
    MIN_GAIN,
    Condition,
    RuleSearch,
    find_clusters,
    number_by_size,
    select_rows_of_rule,
)
from tamiz.table.schema import Column

from ..reference.rules import best_single_score, f1

N = 600


@pytest.fixture(scope="module")
def animals():
    """A table like that of the penguins: the heavy and male are one group, the islands another matter."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "flipper": rng.normal(200, 14, N).round(),
            "sex": rng.choice(["female", "male"], N),
            "island": rng.choice(["Biscoe", "Dream", "Torgersen"], N),
            "noise": rng.normal(size=N),
        }
    )
    frame["group"] = np.where((frame["flipper"] > 206) & (frame["sex"] == "male"), "large", "other")
    return frame


@pytest.fixture(scope="module")
def points(animals):
    rng = np.random.default_rng(1)
    return rng.normal(size=(N, 2)) + np.where(animals["group"] == "large", 12.0, 0.0)[:, None]


def test_the_planted_rule_of_a_visible_cluster_is_found(animals, points):
    found = cluster_rules(animals.drop(columns="group"), points)
    n_large = int((animals["group"] == "large").sum())
    other, large = found.rules
    assert (large.cluster, large.label, large.n_rows) == (2, "2", n_large)
    assert sorted(large.text.split(" and ")) == ["flipper > 206", "sex = male"]
    assert (large.precision, large.coverage) == (1.0, 1.0)
    # Half of the rows of every cluster are held out.
    assert (large.n_test, large.n_fulfilling) == (n_large // 2, n_large // 2)
    assert other.n_rows == N - n_large
    assert large.center == pytest.approx(np.median(points[animals["group"] == "large"], axis=0))
    np.testing.assert_array_equal(found.numbers == 2, animals["group"] == "large")


def test_precision_and_coverage_are_those_of_held_out_rows(animals):
    rng = np.random.default_rng(2)
    # A tenth of the labels are wrong: no honest share is much above 0.9 or what it implies.
    wrong = rng.random(N) < 0.1
    truth = (animals["flipper"] > 206) & (animals["sex"] == "male")
    labels = np.where(truth ^ wrong, "large", "other")
    found = cluster_rules(animals.drop(columns="group"), rng.normal(size=(N, 2)), clusters=labels)
    large = next(one for one in found.rules if one.label == "large")
    expected_coverage = (truth & (labels == "large")).sum() / (labels == "large").sum()
    assert large.precision == pytest.approx(0.9, abs=0.1)
    assert large.coverage == pytest.approx(expected_coverage, abs=0.12)


def test_noise_has_no_simple_rule():
    rng = np.random.default_rng(0)
    rules = []
    for _ in range(10):
        X = pd.DataFrame(rng.normal(size=(200, 6))).rename(columns=str)
        X["kind"] = rng.choice(list("abcdef"), 200)
        labels = rng.choice([0, 1, 2], 200, p=[0.6, 0.3, 0.1])
        rules += cluster_rules(X, rng.normal(size=(200, 2)), clusters=labels).rules
    assert len(rules) == 30
    assert {one.text for one in rules} == {"no simple rule"}
    assert {(one.precision, one.coverage, one.n_fulfilling, one.conditions) for one in rules} == {(None, None, 0, ())}


def test_a_large_cluster_does_not_have_the_rule_all_rows():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], [950, 50])
    found = cluster_rules(rng.normal(size=(1000, 4)), rng.normal(size=(1000, 2)), clusters=labels)
    assert [one.text for one in found.rules] == ["no simple rule"] * 2


def test_a_rare_cluster_has_its_rule():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 4))
    labels = (X[:, 2] > 2).astype(int)
    rare = cluster_rules(X, rng.normal(size=(2000, 2)), clusters=labels).rules[1]
    assert (rare.n_rows, [one.column for one in rare.conditions]) == (labels.sum(), ["x2"])
    assert min(rare.precision, rare.coverage) > 0.9


def test_one_cloud_has_no_rules(animals):
    found = cluster_rules(animals, np.random.default_rng(0).normal(size=(N, 2)))
    assert (found.rules, found.numbers.tolist()) == ((), [0] * N)


def test_the_target_weights_and_groups_of_a_table_are_not_in_rules(animals, points):
    frame = animals.assign(weight=1.0 + (animals["group"] == "large"), litter=animals["group"])
    table = open_table(frame, target="group", weight="weight")
    found = cluster_rules(table, points)
    assert found.columns == ["flipper", "sex", "island", "noise", "litter"]
    table = open_table(frame.drop(columns="litter"), target="group", weight="weight")
    assert sorted(cluster_rules(table, points).rules[1].text.split(" and ")) == ["flipper > 206", "sex = male"]


def test_rows_of_a_group_are_in_one_half():
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(40), 10)
    # An identifier of the group: on rows of other groups it predicts nothing.
    labels = rng.permutation(np.repeat([0, 1], 20))[group]
    X = pd.DataFrame({"station": group.astype(float) + 0.5 * rng.random(400), "visit": group})
    by_rows = cluster_rules(X[["station"]], rng.normal(size=(400, 2)), clusters=labels, max_conditions=1)
    grouped = open_table(X, groups="visit")
    by_groups = cluster_rules(grouped, rng.normal(size=(400, 2)), clusters=labels, max_conditions=1)
    assert by_groups.columns == ["station"]
    assert sum(one.n_test for one in by_groups.rules) == 200
    for one in by_groups.rules:
        assert one.n_test % 10 == 0
    assert [one.n_test for one in by_rows.rules] == [100, 100]


def test_the_order_of_the_rows_is_of_no_account(animals, points):
    order = np.argsort(animals["group"].to_numpy(), kind="stable")
    X = animals.drop(columns="group")
    (_, one), (_, other) = cluster_rules(X, points).rules, cluster_rules(X.iloc[order], points[order]).rules
    assert sorted(one.text.split(" and ")) == sorted(other.text.split(" and "))


def test_duplicate_and_constant_columns(animals, points):
    X = animals.drop(columns="group").assign(constant=1.0, flipper_again=animals["flipper"], sex_again=animals["sex"])
    assert sorted(cluster_rules(X, points).rules[1].text.split(" and ")) == ["flipper > 206", "sex = male"]


def test_missing_values_can_be_the_rule():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 3)), columns=list("abc"))
    X.loc[:99, "b"] = np.nan
    found = cluster_rules(X, rng.normal(size=(300, 2)), clusters=np.arange(300) < 100)
    rules = {one.label: one for one in found.rules}
    assert rules["True"].text == "b is missing"
    assert rules["True"].conditions[0].kind == "missing"


def test_rows_of_no_cluster_are_never_in_a_cluster_but_count_as_others():
    x = np.arange(300.0)
    labels = np.where(x < 100, 3, np.where(x < 200, 5, -1))
    found = cluster_rules(x[:, None], x[:, None], clusters=labels)
    assert [(one.label, one.n_rows) for one in found.rules] == [("3", 100), ("5", 100)]
    assert np.bincount(found.numbers).tolist() == [100, 100, 100]
    # 5 is between 100 and 199: the rows above belong to no cluster.
    assert found.rules[1].conditions[0].kind == "between"
    text_labels = [None if label < 0 else f"c{label}" for label in labels]
    assert [one.label for one in cluster_rules(x[:, None], x[:, None], clusters=text_labels).rules] == ["c3", "c5"]


def test_weights_count_as_repeated_rows():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=400), "w": rng.choice([0.0, 1.0, 50.0], 400)})
    labels = (frame["x"] > 0.5).to_numpy() ^ (frame["w"].to_numpy() == 0)
    found = cluster_rules(open_table(frame, weight="w"), rng.normal(size=(400, 2)), clusters=labels)
    # Rows of weight 0 have the other label, and do not count.
    assert min(one.precision for one in found.rules) > 0.95
    assert sum(one.n_test for one in found.rules) == (frame["w"] > 0).sum() // 2


def test_frames_and_seeds_repeat(animals, points):
    X = animals.drop(columns="group")
    one, again, polars = (cluster_rules(table, points, random_state=3) for table in (X, X, pl.from_pandas(X)))
    other = cluster_rules(X, points, random_state=4)
    assert one.rules == again.rules == polars.rules
    np.testing.assert_array_equal(one.numbers, other.numbers)


def test_of_a_wide_table_the_columns_that_explain_the_axes_are_considered():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 300))
    X[:, 250] += np.repeat([0.0, 9.0], 100)
    found = cluster_rules(X, np.column_stack([X[:, 250], rng.normal(size=200)]))
    assert len(found.columns) == MAX_COLUMNS
    assert [one.conditions[0].column for one in found.rules] == ["x250", "x250"]


def test_many_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30_000, 3))
    labels = X[:, 0] > 1
    found = cluster_rules(X, X[:, :2], clusters=labels)
    assert sum(one.n_rows for one in found.rules) == 30_000
    assert sum(one.n_test for one in found.rules) in range(9_998, 10_001)
    assert {one.conditions[0].column for one in found.rules} == {"x0"}


def test_a_cluster_of_one_row_has_no_rule():
    x = np.arange(50.0)
    found = cluster_rules(x[:, None], x[:, None], clusters=x == 49)
    assert [(one.n_rows, one.text) for one in found.rules if one.label == "True"] == [(1, "no simple rule")]


def test_rules_of_a_map_of_iris_separate_setosa():
    from sklearn.datasets import load_iris

    iris = load_iris(as_frame=True)
    found = cluster_rules(iris.data, PCA(2).fit_transform(iris.data))
    np.testing.assert_array_equal(found.numbers == 2, iris.target == 0)
    assert found.rules[1].text == "petal length (cm) ≤ 2"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"embedding": np.zeros((4, 2))}, r"embedding has 4 rows and X has 30"),
        ({"clusters": [1, 2]}, r"clusters has 2 labels and X has 30 rows"),
    ],
)
def test_rows_that_do_not_match_are_refused(arguments, message):
    X = np.random.default_rng(0).normal(size=(30, 2))
    with pytest.raises(DataError, match=message):
        cluster_rules(X, **{"embedding": X} | arguments)


def test_max_conditions_below_one_is_refused_and_excluded_columns_are_reported():
    X = pd.DataFrame({"x": np.arange(40.0) % 7, "id": [f"row {k} of the table" for k in range(40)]})
    with pytest.raises(ValueError, match="max_conditions must be at least 1, got 0"):
        cluster_rules(X, X[["x"]], max_conditions=0)
    with pytest.warns(TamizWarning, match="1 of 2 columns is excluded: id"):
        assert cluster_rules(X, X[["x"]]).columns == ["x"]


def find(points, seed=0):
    return find_clusters(np.asarray(points, dtype=float), np.random.default_rng(seed))


def ring(rng, n, radius, width):
    angle = rng.random(n) * 2 * np.pi
    return radius * np.column_stack([np.cos(angle), np.sin(angle)]) + width * rng.normal(size=(n, 2))


CLOUDS = {
    "normal": lambda rng, n: rng.normal(size=(n, 2)),
    "elongated": lambda rng, n: rng.normal(size=(n, 2)) * [5, 1],
    "square": lambda rng, n: rng.random((n, 2)),
    "skewed": lambda rng, n: np.exp(0.6 * rng.normal(size=(n, 2))),
    "heavy tails": lambda rng, n: rng.standard_t(3, size=(n, 2)),
    "ring": lambda rng, n: ring(rng, n, 1.0, 0.1),
    "line": lambda rng, n: rng.random((n, 1)),
    "normal on a line": lambda rng, n: rng.normal(size=(n, 1)),
    "a line in two axes": lambda rng, n: rng.normal(size=(n, 1)) * [1.0, 0.0],
    "one point": lambda rng, n: np.ones((n, 2)),
}


@pytest.mark.parametrize("n", [60, 500, 1500])
@pytest.mark.parametrize("cloud", CLOUDS)
def test_one_cloud_has_no_separate_clusters(cloud, n):
    assert not find(CLOUDS[cloud](np.random.default_rng(0), n)).any()


@pytest.mark.slow
@pytest.mark.parametrize("cloud", CLOUDS)
def test_one_cloud_has_no_separate_clusters_whatever_the_seed(cloud):
    found = [find(CLOUDS[cloud](np.random.default_rng(seed), 344), seed).any() for seed in range(40)]
    assert sum(found) <= 1


@pytest.mark.slow
def test_a_strongly_skewed_cloud_is_rarely_split():
    found = [find(np.exp(np.random.default_rng(seed).normal(size=(344, 2))), seed).any() for seed in range(40)]
    assert sum(found) <= 4


def agreement(found, truth):
    """The share of rows in the right cluster, with clusters numbered by size."""
    return np.mean(found == truth)


def test_two_far_clusters_are_found_whatever_the_scale_of_the_map():
    rng = np.random.default_rng(0)
    truth = np.repeat([1, 2], [300, 200])
    points = rng.normal(size=(500, 2)) + np.where(truth == 1, 0.0, 12.0)[:, None]
    for scale in (1.0, 1e-300, 1e300):
        assert agreement(find(scale * points), truth) == 1


def test_a_tiny_cluster_is_found_beside_two_large_ones():
    rng = np.random.default_rng(0)
    truth = np.repeat([1, 2, 3], [400, 300, 25])
    centers = np.array([[0, 0], [12, 0], [6, 8]])[truth - 1]
    points = centers + rng.normal(size=(725, 2)) * np.where(truth == 3, 0.3, 1.0)[:, None]
    assert agreement(find(points), truth) > 0.99


def test_a_ring_around_a_blob_is_two_clusters():
    rng = np.random.default_rng(0)
    points = np.concatenate([ring(rng, 300, 4.0, 0.2), 0.5 * rng.normal(size=(200, 2))])
    assert agreement(find(points), np.repeat([1, 2], [300, 200])) == 1


def test_clusters_of_different_densities_are_found():
    rng = np.random.default_rng(0)
    truth = np.repeat([1, 2, 3], [202, 201, 200])
    points = (
        np.array([[0, 0], [6, 0], [20, 0]])[truth - 1]
        + rng.normal(size=(603, 2)) * np.array([0.3, 1, 3])[truth - 1][:, None]
    )
    assert agreement(find(points), truth) > 0.97


def test_equal_points_are_a_cluster_each():
    truth = np.repeat([1, 2, 3, 4], [90, 80, 70, 60])
    assert agreement(find(np.column_stack([truth % 2, truth // 2])), truth) == 1


def test_clusters_on_a_single_axis_are_found():
    rng = np.random.default_rng(0)
    truth = np.repeat([1, 2], [120, 100])
    assert agreement(find(rng.normal(size=(220, 1)) + 12.0 * truth[:, None]), truth) == 1


def test_the_order_of_the_rows_changes_nothing_but_the_borders():
    rng = np.random.default_rng(0)
    truth = np.repeat([1, 2], [300, 200])
    points = rng.normal(size=(500, 2)) + np.where(truth == 1, 0.0, 12.0)[:, None]
    order = rng.permutation(500)
    np.testing.assert_array_equal(find(points[order]), find(points)[order])


def test_of_many_rows_a_sample_is_clustered_and_the_others_join_the_nearest():
    rng = np.random.default_rng(0)
    truth = np.repeat([1, 2, 3], [12_000, 7_000, 1_000])
    points = rng.normal(size=(20_000, 2)) + np.array([[0, 0], [14, 0], [0, 14]])[truth - 1]
    assert agreement(find(points), truth) > 0.999


def test_a_lattice_of_equal_points_is_no_cluster_for_each_point_that_has_more_rows_by_chance():
    found = [find(np.random.default_rng(seed).integers(0, 10, (1500, 2))).any() for seed in range(5)]
    assert not any(found)


def test_a_few_rows_are_not_clustered():
    assert not find(np.repeat([0.0, 9.0], 9)[:, None]).any()
    assert find(np.repeat([0.0, 9.0], [11, 10])[:, None]).tolist() == [1] * 11 + [2] * 10


def test_clusters_are_numbered_by_size_and_equal_ones_by_label():
    assert number_by_size(np.array([0, 1, 1, -1, 2, 2, 3])).tolist() == [3, 1, 1, 0, 2, 2, 4]
    assert number_by_size(np.array([-1, -1])).tolist() == [0, 0]


NUMBER = Column("x", "numeric")


def category(n_levels):
    return Column("c", "categorical", tuple("abcdefgh"[:n_levels]))


def random_columns(rng, n):
    coarse = rng.integers(0, 12, n).astype(float)
    with_missing = np.where(rng.random(n) < 0.2, np.nan, np.round(rng.normal(size=n), 1))
    codes = rng.integers(-1, 6, n).astype(np.int8)
    columns = [coarse, with_missing, codes, (coarse > 5).astype(np.int8)]
    return columns, [NUMBER, NUMBER, category(6), category(2)]


def score(conditions, columns, inside, weight):
    n_values = sum(
        len(one.levels) or 1 if one.levels or one.missing else int(np.isfinite([one.low, one.high]).sum())
        for one in conditions
    )
    return f1(select_rows_of_rule(conditions, columns, len(inside)), inside, weight) - MIN_GAIN * n_values


@pytest.mark.parametrize("seed", range(40))
def test_the_best_single_condition_is_that_of_the_definition(seed):
    rng = np.random.default_rng(seed)
    columns, schema = random_columns(rng, 80)
    weight = rng.integers(1, 4, 80).astype(float) if seed % 2 else np.ones(80)
    noise = rng.random(80)
    inside = [columns[0] > 7, (columns[0] > 2) & (columns[0] < 6), np.isnan(columns[1]), columns[2] >= 4][seed % 4] ^ (
        noise < 0.15
    )
    found = RuleSearch(columns, schema, weight).find_rule(inside, 1)
    assert len(found) <= 1
    assert score(found, columns, inside, weight) == pytest.approx(
        best_single_score(columns, inside, weight, MIN_GAIN), abs=1e-12
    )


def test_many_distinct_values_are_cut_near_the_best_threshold():
    rng = np.random.default_rng(0)
    columns = [rng.normal(size=3000), rng.normal(size=3000)]
    inside = (columns[1] > 2.0) ^ (rng.random(3000) < 0.005)
    found = RuleSearch(columns, [NUMBER] * 2, np.ones(3000)).find_rule(inside, 1)
    best = best_single_threshold(columns[1], inside)
    assert score(found, columns, inside, np.ones(3000)) >= best - 0.01


def best_single_threshold(values, inside):
    return max(f1(values > cut, inside, np.ones(len(values))) for cut in values) - MIN_GAIN


def test_a_planted_conjunction_of_three_conditions_is_found():
    rng = np.random.default_rng(0)
    n = 1000
    columns = [rng.normal(size=n), rng.integers(0, 3, n).astype(np.int8), rng.random(n), rng.normal(size=n)]
    inside = (columns[0] > 0.25) & (columns[1] == 2) & (columns[2] <= 0.75)
    found = RuleSearch(columns, [NUMBER, category(3), NUMBER, NUMBER], np.ones(n)).find_rule(inside, 3)
    assert sorted(one.column for one in found) == [0, 1, 2]
    assert (select_rows_of_rule(found, columns, n) == inside).mean() > 0.99


def test_a_conjunction_of_two_levels_is_found_among_other_columns():
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, 2, 400).astype(np.int8) for _ in range(6)]
    inside = (columns[2] == 1) & (columns[4] == 0)
    found = RuleSearch(columns, [category(2)] * 6, np.ones(400)).find_rule(inside, 2)
    assert [(one.column, one.levels) for one in sorted(found, key=lambda one: one.column)] == [(2, (1,)), (4, (0,))]


def test_a_condition_must_add_its_gain():
    # The second condition would raise F1 from 2 * 98 / (98 + 100) = 0.990 to 1.
    values, other = np.repeat([0.0, 1.0], 100), np.zeros(200)
    other[100:102] = 1.0
    inside = (values == 1) & (other == 0)
    found = RuleSearch([values, other], [NUMBER] * 2, np.ones(200)).find_rule(inside, 3)
    assert [one.column for one in found] == [0]


def test_of_equal_columns_the_first_is_used():
    values = np.random.default_rng(0).normal(size=100)
    found = RuleSearch([np.ones(100), values, values, values], [NUMBER] * 4, np.ones(100)).find_rule(values > 1, 3)
    assert [one.column for one in found] == [1]


def test_constant_and_empty_columns_are_no_conditions():
    columns = [np.ones(50), np.full(50, np.nan), np.zeros(50, dtype=np.int8), np.full(50, -1, dtype=np.int8)]
    schema = [NUMBER, NUMBER, category(1), category(3)]
    assert RuleSearch(columns, schema, np.ones(50)).find_rule(np.arange(50) < 20, 3) == ()


def test_a_missing_value_fulfils_no_condition_but_missing():
    numbers, codes = np.array([np.nan, 1.0, 2.0]), np.array([-1, 0, 1], dtype=np.int8)
    assert Condition(0, low=1.0).select(numbers).tolist() == [False, False, True]
    assert Condition(0, high=1.0).select(numbers).tolist() == [False, True, False]
    assert Condition(0, levels=(0, 1)).select(codes).tolist() == [False, True, True]
    for values in (numbers, codes):
        assert Condition(0, missing=True).select(values).tolist() == [True, False, False]


def test_integer_weights_equal_repeated_rows():
    rng = np.random.default_rng(0)
    columns, schema = random_columns(rng, 60)
    inside, weight = rng.random(60) < 0.2 + 0.05 * columns[0], rng.integers(1, 5, 60)
    repeated = [np.repeat(values, weight) for values in columns]
    assert RuleSearch(columns, schema, weight.astype(float)).find_rule(inside, 3) == RuleSearch(
        repeated, schema, np.ones(weight.sum())
    ).find_rule(np.repeat(inside, weight), 3)


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (206.0, 207.0, "x > 206"),
        (205.0, 206.0, "x > 205"),
        (-1.0, 3.0, "x > 0"),
        (0.123, 0.131, "x > 0.13"),
        (1234.4, 1899.0, "x > 1600"),
        (-5.25, -5.0, "x > -5.1"),
        (1e300, 3e300, "x > 2e+300"),
        (0.1, np.nextafter(0.1, 1), "x > 0.1"),
    ],
)  # fmt: skip
def test_thresholds_have_the_fewest_digits_that_separate_the_rows(low, high, text):
    values = np.repeat([low, high], 10)
    (found,) = RuleSearch([values], [NUMBER], np.ones(20)).find_rule(values == high, 1)
    assert found.describe(NUMBER).text == text
    assert_array_equal(found.select(values), values == high)


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        ("2020-03-01", "2022-05-01", "when > 2021-01-01"),
        ("2021-03-02", "2021-05-01", "when > 2021-04-01"),
        ("2021-03-02", "2021-03-04", "when > 2021-03-03"),
        ("2021-03-02T10", "2021-03-02T14", "when > 2021-03-02 12:00"),
    ],
)
def test_thresholds_of_dates_are_dates(low, high, text):
    values = np.repeat(np.array([low, high], dtype="datetime64[s]").astype(float), 10)
    column = Column("when", "date")
    (found,) = RuleSearch([values], [column], np.ones(20)).find_rule(values == values[-1], 1)
    assert found.describe(column).text == text


def test_conditions_in_words():
    sizes = Column("size", "categorical", ("s", "m", "l"))
    described = [
        Condition(0, low=1.5).describe(NUMBER),
        Condition(0, high=1.5).describe(NUMBER),
        Condition(0, low=-1, high=1e6).describe(NUMBER),
        Condition(0, low=3, high=3).describe(NUMBER),
        Condition(0, levels=(2,)).describe(sizes),
        Condition(0, levels=(0, 1, 2)).describe(sizes),
        Condition(0, missing=True).describe(sizes),
    ]
    assert [(one.kind, one.values, one.text) for one in described] == [
        ("above", (1.5,), "x > 1.5"),
        ("below", (1.5,), "x ≤ 1.5"),
        ("between", (-1, 1e6), "-1 < x ≤ 1000000"),
        ("equals", (3,), "x = 3"),
        ("equals", ("l",), "size = l"),
        ("one of", ("s", "m", "l"), "size = s, m or l"),
        ("missing", (), "size is missing"),
    ]

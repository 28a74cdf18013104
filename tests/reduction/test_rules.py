"""Rules of the clusters of a map: what is planted is found, noise has no rule, and shares are those of held-out rows."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from tamiz import open_table
from tamiz.exceptions import DataError, TamizWarning
from tamiz.reduction import PCA, cluster_rules
from tamiz.reduction.rules import MAX_COLUMNS

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

"""The distributions of columns by class, by thirds of a numeric target, and of all rows, as numpy counts them."""

import numpy as np
import pandas as pd
import pytest

from tamiz import open_table, study
from tamiz.assessment.associations import describe_distributions
from tamiz.criteria import FisherScore, Variance

pytestmark = pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    n = 400
    return pd.DataFrame(
        {
            "x": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
            "tail": rng.normal(size=n) ** 9,
            "few": rng.integers(0, 5, n) * 2.0,
            "level": rng.choice([f"l{k:02}" for k in range(12)], n, p=np.arange(12, 0, -1) / 78),
        }
    )


def described(frame, y=None, **options):
    table = open_table(frame, y, **options)
    return describe_distributions(table, table.schema.used.tolist())


def shares(values, edges):
    return np.histogram(np.clip(values[~np.isnan(values)], edges[0], edges[-1]), edges)[0]


def test_classes_are_counted_in_intervals_between_the_ends_of_most_values(frame):
    y = np.where(frame["tail"] > 0, "up", "down")
    found = described(frame, y)
    assert [(one.name, one.levels) for one in found.groups] == [("down", (0,)), ("up", (1,))]
    columns = {one.name: one for one in found.columns}
    for name in ("x", "tail"):
        values = frame[name].to_numpy()
        ends = np.nanquantile(values, [0.005, 0.995])
        np.testing.assert_allclose(columns[name].edges, np.linspace(*ends, 13))
        for label, counts in zip(("down", "up"), columns[name].counts, strict=True):
            np.testing.assert_array_equal(counts, shares(values[y == label], np.array(columns[name].edges)))
    assert np.sum(columns["x"].counts) == frame["x"].notna().sum()


def test_a_heavy_tail_of_positive_numbers_is_counted_in_intervals_of_equal_ratio():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"pay": np.exp(2 * rng.normal(size=500)), "age": rng.uniform(18, 90, 500)})
    pay, age = described(frame).columns
    ends = np.quantile(frame["pay"], [0.005, 0.995])
    np.testing.assert_allclose(pay.edges, np.geomspace(*ends, 13))
    np.testing.assert_array_equal(pay.counts[0], shares(frame["pay"].to_numpy(), np.array(pay.edges)))
    assert (pay.is_logarithmic, age.is_logarithmic) == (True, False)


def test_few_numbers_are_levels_and_rare_levels_are_one(frame):
    (few, level) = (one for one in described(frame).columns if one.name in ("few", "level"))
    assert (few.edges, few.levels) == ((), ("0", "2", "4", "6", "8"))
    assert few.counts == (tuple(frame["few"].value_counts().sort_index().astype(float)),)
    counts = frame["level"].value_counts()
    most = sorted(counts.sort_values(ascending=False, kind="stable").index[:8])
    assert level.levels == (*most, "4 other levels")
    assert level.counts == ((*counts[most].astype(float), float(counts.drop(most).sum())),)


def test_a_numeric_target_is_split_into_thirds_and_weights_count(frame):
    y = frame["tail"].rank().to_numpy()
    found = described(frame[["x", "few"]], y)
    assert [one.name for one in found.groups] == ["lowest third", "middle third", "highest third"]
    thirds = pd.qcut(y, 3, labels=False)
    few = found.columns[1]
    expected = [[((frame["few"] == 2 * k) & (thirds == group)).sum() for k in range(5)] for group in range(3)]
    np.testing.assert_array_equal(few.counts, expected)
    weight = np.random.default_rng(1).integers(1, 4, len(frame))
    weighted = described(frame[["few"]].assign(w=weight), weight="w").columns[0]
    np.testing.assert_array_equal(weighted.counts[0], np.bincount((frame["few"] / 2).astype(int), weight))


def test_of_many_classes_the_smallest_are_one_group():
    rng = np.random.default_rng(0)
    y = rng.choice([f"c{k}" for k in range(9)], 900, p=np.arange(9, 0, -1) / 45)
    found = described(pd.DataFrame({"x": rng.normal(size=900)}), y)
    assert [one.name for one in found.groups] == ["c0", "c1", "c2", "c3", "c4", "4 other classes"]
    assert found.groups[-1].levels == (5, 6, 7, 8)
    assert np.sum(found.columns[0].counts[-1]) == np.isin(y, [f"c{k}" for k in range(5, 9)]).sum()


def test_a_study_describes_the_columns_that_rank_first(monkeypatch):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(100, 30))).add_prefix("x")
    y = np.where(X["x7"] + X["x20"] > 0, "up", "down")
    monkeypatch.setattr("tamiz._study.ranking._MAX_COLUMNS", 10)
    record = study(X, y, assess=False, maps=[], relevances=[FisherScore()]).record
    order, _ = record.ranking.best_first()
    assert {one.name for one in record.distributions.columns} == {record.ranking.columns[j] for j in order[:10]}
    alone = study(X, assess=False, maps=[], relevances=[Variance()]).record
    assert [one.name for one in alone.distributions.groups] == ["all rows"]

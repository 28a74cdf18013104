"""ReliefF, RReliefF and MultiSURF against plain definitions, Weka and scikit-rebate, and their properties."""

import json
from itertools import pairwise, product

import numpy as np
import pandas as pd
import pytest
from tests.reference import relief as plain
from tests.reference.tables import HERE, shared, weka_case

from tamiz import RankSelector, open_table
from tamiz.criteria import FisherScore, InformationGain, MultiSURF, ReliefF, relief
from tamiz.exceptions import DataError, TamizWarning
from tamiz.runtime import parallel
from tamiz.table.factory import as_table
from tamiz.table.views import with_target

from ..statistics.mixed_tables import make_mixed

quiet = pytest.mark.filterwarnings("ignore:.*ReliefF. .* fewer than")
BOTH = pytest.mark.parametrize("relevance", [ReliefF(3), MultiSURF()], ids=["ReliefF", "MultiSURF"])
WEKA = json.loads((HERE / "weka_relief.json").read_text())["datasets"]


@pytest.fixture(autouse=True)
def one_session():
    with parallel.thread_session(1):
        yield


def scores_of(relevance, X, y, **options):
    return RankSelector(relevance).fit(X, y, **options).scores_


def as_frame(columns, nominal):
    return pd.DataFrame(
        {
            f"c{j}": pd.Categorical.from_codes(column, [*"abcdefghijklmnopqrstuvwxyz"]) if is_nominal else column
            for j, (column, is_nominal) in enumerate(zip(columns, nominal, strict=True))
        }
    )


# ---------------------------------------------------------------- other systems


def weka_parameters(options):
    values = dict(pairwise(options))
    return {"k": int(values.get("-K", 10)), "sigma": float(values["-A"]) if "-A" in options else None}


def weka_rank(name):
    ranks = WEKA[name] if name in WEKA else json.loads(shared("reference/weka.json").read_text())["datasets"][name]
    table, _ = weka_case(name)
    return table, [one for one in ranks["rank"] if one["evaluator"] == "ReliefFAttributeEval"]


# No rows of these tables are at equal distances where it matters; of other tables, Weka's order of such rows is tested below.
@quiet
@pytest.mark.parametrize("name", ["mixed_numeric_target", "weather.numeric", "diabetes"])
def test_scores_are_those_of_weka(name):
    table, ranks = weka_rank(name)
    y = table.columns[-1]
    target = y.astype(str) if table.nominal[-1] else y
    assert ranks
    for rank in ranks:
        parameters = weka_parameters(rank["options"])
        relevance = ReliefF(parameters["k"], sigma=parameters["sigma"])
        ours = scores_of(relevance, as_frame(table.columns[:-1], table.nominal[:-1]), target)
        np.testing.assert_allclose(ours, [*rank["scores"].values()], atol=1e-12, err_msg=str(rank["options"]))


@pytest.mark.parametrize("name", ["cpu", "mixed_missing"])
def test_the_plain_scores_with_wekas_order_of_equally_distant_rows_are_those_of_weka(name):
    table, ranks = weka_rank(name)
    # Weka counts the declared levels; "never" of colour does not occur.
    n_levels = {"mixed_missing": [None, None, 4, 3, 2]}.get(name)
    for rank in ranks:
        parameters = weka_parameters(rank["options"])
        # The influence by rank depends on Weka's unstable sorting of equal distances.
        if parameters["sigma"] is None:
            ours = plain.relieff(
                table.columns[:-1], table.nominal[:-1], table.columns[-1], table.nominal[-1], k=parameters["k"],
                n_levels=n_levels, nearest=plain.weka_nearest_rows,
            )  # fmt: skip
            np.testing.assert_allclose(ours, [*rank["scores"].values()], atol=1e-12, err_msg=str(rank["options"]))


# feature_importances_ of MultiSURF of scikit-rebate 0.8.4, with its `categorical_features`, on the tables of `rebate_table`: by the
# kind of the columns, the share of missing values, and the kind of the target.
REBATE = {
    ("numbers", 0, "classes"): [0.17423471792762216, -0.016242158032658334, -0.03821218603634854, -0.036865949275964316,
                                -0.04350486310649186],
    ("numbers", 0.15, "number"): [0.09214007246682204, 0.005459788607719073, -0.007144106819118033, -0.024724132629337196,
                                  -0.027303268607732294],
    ("levels", 0, "number"): [0.39271449003066644, 0.0573385818974054, -0.1486673266820326, -0.10812272966684733,
                              -0.16257632345867642],
    ("levels", 0.15, "classes"): [0.3330359710951816, 0.037912860416730386, -0.07396575646575648, -0.06471537721537723,
                                  -0.09228958541458544],
}  # fmt: skip


def rebate_table(kind, missing, target):
    rng = np.random.default_rng(3)
    X = rng.random((60, 5)) if kind == "numbers" else rng.integers(0, 3, (60, 5)).astype(float)
    if missing:
        X[rng.random((60, 5)) < missing] = np.nan
    present = np.nan_to_num(X, nan=0.5)
    if target == "classes":
        y = (present[:, 0] + present[:, 1] * rng.random(60) > present.mean() * 1.3).astype(str)
    else:
        y = present[:, 0] + present[:, 1] * rng.random(60)
    columns = [np.where(np.isnan(column), -1, column).astype(int) if kind == "levels" else column for column in X.T]
    return as_frame(columns, [kind == "levels"] * 5), y


@pytest.mark.parametrize("case", REBATE, ids=str)
def test_scores_are_those_of_scikit_rebate(case):
    np.testing.assert_allclose(scores_of(MultiSURF(), *rebate_table(*case)), REBATE[case], atol=1e-12)


# ---------------------------------------------------------------- definitions


@quiet
@pytest.mark.parametrize("sigma", [None, 2.5])
@pytest.mark.parametrize("seed", range(4))
def test_relieff_is_the_plain_one_on_mixed_tables_with_ties_and_missing_values(seed, sigma):
    table = make_mixed(seed, n=40)
    nominal = [False] * 3 + [True] * 3
    rng = np.random.default_rng(seed)
    k, numbers = int(rng.integers(1, 8)), rng.normal(size=40).round(1)
    for (y, classes), weight in product(((table.target(), True), (numbers, False)), (None, rng.lognormal(size=40))):
        expected = plain.relieff(table.columns(), nominal, y, classes, k=k, sigma=sigma, w=weight)
        scores = scores_of(ReliefF(k, sigma=sigma), table.frame(), y, sample_weight=weight)
        np.testing.assert_allclose(scores, expected, atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_multisurf_is_the_plain_one_on_mixed_tables_with_ties_and_missing_values(seed):
    table = make_mixed(seed, n=40, missing=0.4)
    nominal = [False] * 3 + [True] * 3
    rng = np.random.default_rng(seed)
    numbers, weights = rng.normal(size=40).round(1), (None, rng.lognormal(size=40))
    for (y, classes), weight in product(((table.target(), True), (numbers, False)), weights):
        expected = plain.multisurf(table.columns(), nominal, y, classes, weight)
        scores = scores_of(MultiSURF(), table.frame(), y, sample_weight=weight)
        np.testing.assert_allclose(scores, expected, atol=1e-12)


def test_tables_of_several_tiles_of_rows_and_columns_are_scored_as_defined():
    rng = np.random.default_rng(0)
    X, classes = rng.random((600, 67)), rng.integers(0, 2, 600)
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    distances = sum(np.abs(x[:, None] - x) for x in X.T)
    np.fill_diagonal(distances, np.inf)
    others = np.where(np.isinf(distances), np.nan, distances)
    thresholds = np.nanmean(others, axis=1) - np.nanstd(others, axis=1) / 2
    is_hit = classes[:, None] == classes
    near, nearest = distances < thresholds[:, None], np.zeros((2, 600, 600), dtype=bool)
    for group, part in enumerate((is_hit, ~is_hit)):
        order = np.argsort(np.where(part, distances, np.inf), axis=1)[:, :4]
        np.put_along_axis(nearest[group], order, True, axis=1)
    for relevance, hits, misses in ((ReliefF(4), *nearest), (MultiSURF(), near & is_hit, near & ~is_hit)):
        weights = misses / misses.sum(axis=1, keepdims=True) - hits / hits.sum(axis=1, keepdims=True)
        expected = [np.sum(weights * np.abs(x[:, None] - x)) / 600 for x in X.T]
        np.testing.assert_allclose(scores_of(relevance, X, classes.astype(str)), expected, atol=1e-12)


def test_relieff_of_four_rows_by_hand():
    # Every row has a hit at 0.1, and a miss at 0.9, 0.8, 0.8 and 0.9.
    X, y = np.array([[0.0], [0.1], [0.9], [1.0]]), [*"aabb"]
    with pytest.warns(TamizWarning, match=r"2 classes of the target have fewer than 3 rows \(a, b\)"):
        scores_of(ReliefF(2), X, y)
    assert scores_of(ReliefF(1), X, y) == pytest.approx([0.75])


def test_rrelieff_of_three_rows_by_hand():
    # With two neighbours of influence 1/2 each, the sums are: targets 2, differences with the targets 1.5, differences 2.
    X = np.array([[0.0], [0.5], [1.0]])
    table = open_table(X, [10.0, 15.0, 20.0], kinds={"target": "numeric"})
    assert ReliefF(2).score(table) == pytest.approx([1.5 / 2 - (2 - 1.5) / (3 - 2)])


def test_multisurf_of_four_rows_by_hand():
    # The thresholds are 0.47 and 0.42: the only near row is at 0.1.
    X = np.array([[0.0], [0.1], [0.9], [1.0]])
    assert scores_of(MultiSURF(), X, [*"aabb"]) == pytest.approx([-0.1])
    assert scores_of(MultiSURF(), X, [*"abab"]) == pytest.approx([0.1])


@BOTH
def test_columns_that_interact_are_found_where_single_columns_tell_nothing(relevance):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 8))
    y = np.where(X[:, 2] * X[:, 5] > 0, "same sign", "other sign")
    ours = RankSelector(relevance).fit(X, y)
    assert set(ours.ranking_[:2].tolist()) == {2, 5}
    assert not scores_of(InformationGain(), X, y)[[2, 5]].any()
    assert scores_of(FisherScore(), X, y)[[2, 5]].max() < 0.02


# ---------------------------------------------------------------- properties


@BOTH
@pytest.mark.parametrize("classes", [True, False])
def test_the_order_and_the_units_of_rows_and_columns_do_not_matter(relevance, classes):
    rng = np.random.default_rng(5)
    X, order = rng.normal(size=(80, 6)), rng.permutation(80)
    y = rng.integers(0, 3, 80).astype(str) if classes else X[:, 0] + rng.normal(size=80)
    expected = scores_of(relevance, X, y)
    np.testing.assert_allclose(scores_of(relevance, X[order], y[order]), expected, atol=1e-12)
    np.testing.assert_allclose(scores_of(relevance, X[:, ::-1], y)[::-1], expected, atol=1e-12)
    np.testing.assert_allclose(scores_of(relevance, X * 2.0**40 - 1, y if classes else 3 * y + 7), expected, atol=1e-9)


@BOTH
def test_the_bits_are_the_same_at_any_number_of_threads(relevance):
    rng = np.random.default_rng(6)
    X, y = rng.random((300, 9)), rng.integers(0, 2, 300).astype(str)
    serial = scores_of(relevance, X, y)
    parallel._pool.set(None)
    with parallel.thread_session(3):
        np.testing.assert_array_equal(scores_of(relevance, X, y), serial)


@BOTH
@pytest.mark.parametrize("target", [[*"ab"] * 20, np.arange(40) ** 1.5], ids=["classes", "number"])
@pytest.mark.filterwarnings("ignore:.* excluded: ")
def test_a_column_with_one_value_scores_0_and_changes_no_other(relevance, target):
    rng = np.random.default_rng(7)
    frame = pd.DataFrame(rng.normal(size=(40, 3)), columns=[*"xyz"])
    frame.iloc[3, 1] = np.nan
    some = rng.random(40) < 0.5
    more = frame.assign(
        number=4.2,
        level="same",
        some=np.where(some, 1.5, np.nan),
        missing_level=np.where(some, "one", None),
        none=np.nan,
    )
    scores = scores_of(relevance, more, target)
    assert scores[3:].tolist() == [0] * 5
    np.testing.assert_array_equal(scores[:3], scores_of(relevance, frame, target))


@BOTH
def test_equal_columns_score_equally_and_repeated_rows_are_near_hits(relevance):
    rng = np.random.default_rng(8)
    X, y = rng.normal(size=(50, 3)), rng.integers(0, 2, 50).astype(str)
    twice = scores_of(relevance, np.hstack([X, X]), y)
    np.testing.assert_allclose(twice[:3], twice[3:], atol=1e-15)
    # Every row has an equal one of its class at distance 0, so that no hit differs.
    assert (scores_of(ReliefF(1), np.vstack([X, X]), np.concatenate([y, y])) > 0).all()


DEGENERATE = {
    "columns of missing values only": (pd.DataFrame({"x": [np.nan] * 4, "y": [None] * 4}), [*"abab"]),
    "a class for every row": (pd.DataFrame({"x": [1.0, 2, 3, 4], "y": [*"ppqq"]}), [*"abcd"]),
    "two rows": (pd.DataFrame({"x": [1.0, 2.0], "y": [*"pq"]}), [*"ab"]),
    "two rows with numbers": (pd.DataFrame({"x": [1.0, 2.0], "y": [*"pq"]}), [0.5, 1.5]),
    "two equal rows": (pd.DataFrame({"x": [1.0, 1.0], "y": [*"pp"]}), [*"ab"]),
    "no pair of rows with a common value": (pd.DataFrame({"x": [1, 2, np.nan], "y": [None, None, "p"]}), [*"aba"]),
    "tiny numbers": (pd.DataFrame({"x": [1e-320, 2e-320, 3e-320, 5e-320]}), [*"aabb"]),
    "huge numbers": (pd.DataFrame({"x": [1e149, -1e149, 2e149, 5e149]}), [*"aabb"]),
}


@pytest.mark.filterwarnings("ignore:.*the values differ by less than 1e-150")
@BOTH
@quiet
@pytest.mark.filterwarnings("ignore:.* excluded: ", "ignore:.*ReliefF. the table has")
@pytest.mark.parametrize("name", DEGENERATE)
def test_scores_of_degenerate_tables_are_finite(relevance, name):
    frame, y = DEGENERATE[name]
    assert np.isfinite(scores_of(relevance, frame, y)).all()


def test_rows_at_equal_distances_are_no_near_rows_of_multisurf():
    # All distances of three rows with three levels are equal, but for rounding errors of their sum.
    frame = pd.DataFrame({f"c{j}": [*"pqr"] for j in range(7)})
    assert scores_of(MultiSURF(), frame, [*"aab"]).tolist() == [0] * 7


@pytest.mark.filterwarnings("ignore:.*the values differ by less than 1e-150")
@BOTH
def test_scores_do_not_depend_on_the_unit_of_a_numeric_target(relevance):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = X[:, 0] + rng.normal(size=40)
    expected = scores_of(relevance, X, y)
    for unit in (2.0**-900, 2.0**400):
        np.testing.assert_allclose(scores_of(relevance, X, y * unit), expected, rtol=1e-12)


def test_a_constant_numeric_target_scores_0():
    X = np.random.default_rng(0).random((30, 2))
    for relevance in (ReliefF(), MultiSURF()):
        table = with_target(as_table(X, np.arange(30) / 7), np.full(30, 2.5))
        assert relevance.score(table).tolist() == [0, 0]


# ---------------------------------------------------------------- parameters


def test_a_small_class_is_named_and_uses_the_rows_that_it_has():
    rng = np.random.default_rng(9)
    X, y = rng.random((31, 3)), np.array(["rare"] + ["few"] * 5 + ["many"] * 25)
    with pytest.warns(TamizWarning, match=r"2 classes of the target have fewer than 11 rows \(few, rare\)"):
        scores = scores_of(ReliefF(), X, y)
    np.testing.assert_allclose(scores, plain.relieff([*X.T], [False] * 3, y, True), atol=1e-12)
    with pytest.warns(TamizWarning, match="the table has 8 rows, so each row has 7 neighbours instead of 10"):
        scores_of(ReliefF(), X[:8], X[:8, 0])


def test_n_samples_compares_the_rows_drawn_with_all_rows():
    rng = np.random.default_rng(10)
    X, y = rng.random((60, 4)), np.repeat([*"ab"], 30)
    drawn = np.random.default_rng(4).choice(60, 13, replace=False).tolist()
    expected = plain.relieff([*X.T], [False] * 4, y, True, k=5, queries=drawn)
    np.testing.assert_allclose(scores_of(ReliefF(5, n_samples=13, random_state=4), X, y), expected, atol=1e-12)
    np.testing.assert_array_equal(scores_of(ReliefF(5, n_samples=99), X, y), scores_of(ReliefF(5), X, y))


@BOTH
def test_max_rows_reads_a_sample_of_the_rows(relevance):
    rng = np.random.default_rng(11)
    X, y = rng.random((120, 3)), np.tile([*"ab"], 60)
    rows = np.sort(np.random.default_rng(2).choice(120, 50, replace=False))
    sampled = RankSelector(type(relevance)(**{**relevance.get_params(), "max_rows": 50, "random_state": 2}))
    with pytest.warns(TamizWarning, match="reads 50 of the 120 rows, drawn at random"):
        sampled.fit(X, y)
    np.testing.assert_array_equal(sampled.scores_, scores_of(relevance, X[rows], y[rows]))


@BOTH
def test_max_rows_is_set_by_the_cost_where_the_relevance_is_chosen_by_name(relevance, monkeypatch):
    X, y = np.random.default_rng(12).random((700, 4)), np.tile([*"ab"], 350)
    schema = as_table(X, y).schema
    assert relevance.adapt_to(schema).max_rows is None
    monkeypatch.setattr(relief, "_MAX_STUDY_DIFFERENCES", 4 * 600**2)
    assert relevance.adapt_to(schema).max_rows == 600
    assert ReliefF(n_samples=100).adapt_to(schema).max_rows is None
    assert ReliefF(max_rows=650).adapt_to(schema).max_rows == 650
    with pytest.warns(TamizWarning, match=f"{type(relevance).__name__} reads 600 of the 700 rows"):
        RankSelector(type(relevance).__name__.lower()).fit(X, y)


@BOTH
def test_whole_weights_repeat_rows_and_rows_of_weight_0_are_no_neighbours(relevance):
    rng = np.random.default_rng(0)
    X, y, weight = rng.random((40, 2)), rng.choice([*"ab"], 40), rng.integers(0, 3, 40)
    weighted = scores_of(relevance, X, y, sample_weight=weight)
    np.testing.assert_array_equal(weighted, scores_of(relevance, X.repeat(weight, axis=0), y.repeat(weight)))
    present = weight > 0
    np.testing.assert_array_equal(
        scores_of(relevance, X, y, sample_weight=weight / 7),
        scores_of(relevance, X[present], y[present], sample_weight=weight[present] / 7),
    )
    with pytest.raises(DataError, match="requires y"):
        RankSelector(relevance).fit(X)


@pytest.mark.parametrize(
    ("parameters", "error", "match"),
    [
        ({"n_neighbors": 0}, ValueError, "n_neighbors must be at least 1, got 0"),
        ({"n_neighbors": 2.5}, TypeError, "n_neighbors must be a whole number"),
        ({"n_samples": 0}, ValueError, "n_samples must be at least 1"),
        ({"sigma": 0}, ValueError, "sigma must be above 0"),
        ({"max_rows": 1}, ValueError, "max_rows must be at least 2"),
    ],
)
def test_bad_parameters_are_refused(parameters, error, match):
    with pytest.raises(error, match=match):
        scores_of(ReliefF(**parameters), np.random.default_rng(0).random((30, 2)), [*"ab"] * 15)


def test_a_rare_class_lets_noise_score_above_zero_with_a_warning():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=2000), "noise": rng.integers(5, size=2000).astype(str)})
    rare = np.where(frame["x"] + rng.normal(size=2000) > 3.2, "rare", "usual")
    with pytest.warns(TamizWarning, match=r"ReliefF: class 'usual' has 1,9\d\d of the 2,000 rows, .* or use MultiSURF"):
        scores = RankSelector(ReliefF()).fit(frame, rare).scores_
    assert scores[1] > 0.1
    by_distance = RankSelector(MultiSURF()).fit(frame, rare).scores_
    assert by_distance[1] < 0 < by_distance[0]
    # Without a warning.
    RankSelector(ReliefF()).fit(frame, frame["x"] > 1.5)

"""Properties of relevances from fitted models, up to rounding and the random draws of the model."""

import numpy as np
import pandas as pd
import pytest

from tamiz import RankSelector, open_table
from tamiz.criteria import LinearCoefficient, TreeImportance
from tamiz.runtime import parallel
from tamiz.table.views import select_rows

from ..statistics.mixed_tables import make_mixed
from .test_relevance_properties import DEGENERATE

RELEVANCES = [
    TreeImportance(),
    LinearCoefficient(),
    TreeImportance(max_depth=2, n_rounds=3, missing="category"),
    LinearCoefficient(0.1, missing="category"),
]
SEEDS = range(12)

pytestmark = [
    pytest.mark.parametrize("relevance", RELEVANCES, ids=repr),
    pytest.mark.filterwarnings("ignore:.*Criteria that fit a model"),
]


@pytest.fixture(autouse=True)
def one_session():
    with parallel.thread_session(1):
        yield


def scores_of(relevance, table):
    return RankSelector(relevance).fit(table).scores_


def numbers(table):
    """The table with a numeric target."""
    return table.classes + 0.25 * np.nan_to_num(table.numbers[:, 0]) + 0.125


@pytest.mark.parametrize("target", ["classes", "number"])
def test_integer_weights_are_repeated_rows_and_rows_of_weight_0_are_not_there(relevance, target):
    for seed in SEEDS:
        table = make_mixed(seed)
        weight = np.random.default_rng(seed).integers(0, 4, len(table.classes))
        weight[:2] = 1
        y = table.target() if target == "classes" else numbers(table)
        repeated = np.repeat(np.arange(len(weight)), weight)
        weighted = open_table(table.frame(), y, weight=weight.astype(float))
        # Rows repeated by a view keep the levels and kinds of the whole table.
        rows = scores_of(relevance, select_rows(open_table(table.frame(), y), repeated))
        np.testing.assert_allclose(scores_of(relevance, weighted), rows, rtol=1e-6, atol=1e-7, err_msg=str(seed))


def test_the_order_of_rows_does_not_matter(relevance):
    for seed in SEEDS:
        table = make_mixed(seed)
        order = np.random.default_rng(seed).permutation(len(table.classes))
        ours = scores_of(relevance, table.rows(order).table())
        np.testing.assert_allclose(ours, scores_of(relevance, table.table()), rtol=1e-6, atol=1e-7)


def test_the_names_of_classes_do_not_matter(relevance):
    for seed in SEEDS:
        table = make_mixed(seed)
        renamed = np.random.default_rng(seed).permutation([*"abcdef"])[table.classes]
        ours = scores_of(relevance, table.table(target=renamed))
        np.testing.assert_allclose(ours, scores_of(relevance, table.table()), rtol=1e-6, atol=1e-7)


def test_a_constant_column_and_one_of_one_value_and_missing_values_score_0_and_change_nothing(relevance):
    for seed in SEEDS:
        table = make_mixed(seed)
        n = len(table.classes)
        missing = np.arange(n) % 3 == 1
        frame = table.frame().assign(
            number=4.2,
            level="same",
            flag=True,
            incomplete=np.where(missing, np.nan, 0.1),
            level_incomplete=np.where(missing, None, "same"),
        )
        if relevance.missing == "category":
            frame = frame.drop(columns=["incomplete", "level_incomplete"])
        scores = scores_of(relevance, open_table(frame, table.target()))
        assert scores[len(table.columns()) :].tolist() == [0] * (len(frame.columns) - len(table.columns()))
        np.testing.assert_allclose(scores[: len(table.columns())], scores_of(relevance, table.table()), rtol=1e-9)


def test_equal_columns_score_equally(relevance):
    for seed in SEEDS:
        table = make_mixed(seed)
        frame = table.frame()
        twice = pd.concat([frame, frame.add_suffix(" again")], axis=1)
        scores = scores_of(relevance, open_table(twice, table.target()))
        n = len(frame.columns)
        np.testing.assert_allclose(scores[:n], scores[n:], rtol=1e-7, atol=1e-9)


@pytest.mark.filterwarnings("ignore:.* excluded: ")
@pytest.mark.filterwarnings("ignore:.*the values differ by less than 1e-150")
@pytest.mark.parametrize("name", DEGENERATE)
def test_scores_of_degenerate_tables_are_finite(relevance, name):
    frame, y = DEGENERATE[name]
    for sample_weight in (None, np.linspace(0, 2, len(y))):
        scores = RankSelector(relevance).fit(frame, y, sample_weight=sample_weight).scores_
        assert scores.shape == (frame.shape[1],)
        assert np.isfinite(scores).all()
        assert (scores >= 0).all()


def test_a_constant_target_gives_every_column_the_score_0(relevance):
    X = make_mixed(0).frame()
    for y in ([0.5] * len(X), ["a"] * len(X)):
        table = select_rows(open_table(X, [*y[:-1], 1.5 if y[0] == 0.5 else "b"]), np.arange(len(X) - 1))
        assert scores_of(relevance, table).tolist() == [0] * X.shape[1]


def test_huge_and_tiny_numbers_to_predict_are_scored_as_any_other(relevance):
    table = make_mixed(5)
    usual = scores_of(relevance, open_table(table.frame(), numbers(table)))
    for scale in (1e-120, 1e120):
        ours = scores_of(relevance, open_table(table.frame(), scale * numbers(table)))
        np.testing.assert_allclose(ours, usual, rtol=1e-6, atol=1e-9)


def test_a_missing_value_that_predicts_the_class_is_used_where_missing_is_a_category(relevance):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    frame = pd.DataFrame(
        {
            "number": np.where(y == 1, np.nan, rng.normal(size=200)),
            "level": np.where(y == 1, None, "t"),
            "noise": rng.normal(size=200),
        }
    )
    scores = scores_of(relevance, open_table(frame, y))
    if relevance.missing == "category":
        assert scores[:2].min() > 5 * scores[2]
    else:
        assert scores[1] == 0

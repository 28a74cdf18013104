"""Errors of discretization with advice, and columns that are discretized block by block."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from tamiz import RankSelector, open_table
from tamiz.criteria import MDL, Entropy, EqualFrequency, GainRatio, InformationGain, SymmetricUncertainty, cut_points
from tamiz.criteria.base import gather_statistics
from tamiz.exceptions import DataError
from tamiz.statistics.cuts import CutPoints
from tamiz.table import Table

from ..statistics.mixed_tables import make_mixed

NUMBERS = pd.DataFrame({"x": np.arange(30.0) % 7, "level": [*"abc"] * 10})
A_NUMBER = np.linspace(0, 1, 30) ** 2


@pytest.mark.parametrize("relevance", [InformationGain, GainRatio, SymmetricUncertainty])
def test_mdl_refuses_a_numeric_target_and_names_the_way_out(relevance):
    sentence = (
        rf"^{relevance.__name__} cuts numeric columns by MDL, which needs a target with classes, but the target 'target' is "
        r"numeric\. Pass discretization=EqualFrequency\(10\), or kinds=\{'<target>': 'categorical'\}\.$"
    )
    with pytest.raises(DataError, match=sentence):
        RankSelector(relevance()).fit(NUMBERS, A_NUMBER)


def test_mdl_refuses_a_numeric_target_even_where_every_column_is_categorical():
    with pytest.raises(DataError, match="InformationGain cuts numeric columns by MDL"):
        RankSelector(InformationGain()).fit(NUMBERS[["level"]], A_NUMBER)


def test_entropy_by_mdl_needs_a_target():
    with pytest.raises(DataError, match="Entropy cuts numeric columns by MDL, which needs a target with classes, but "
                                        "there is no target"):  # fmt: skip
        RankSelector(Entropy(discretization=MDL())).fit(NUMBERS)


def test_entropy_by_mdl_of_categories_alone_needs_no_target():
    scores = RankSelector(Entropy(discretization=MDL())).fit(NUMBERS[["level"]]).scores_
    np.testing.assert_allclose(scores, [np.log2(3)], rtol=1e-14)


@pytest.mark.parametrize("relevance", [InformationGain, GainRatio, SymmetricUncertainty])
def test_a_relevance_of_the_target_refuses_a_table_without_one(relevance):
    with pytest.raises(DataError, match=f"{relevance.__name__} requires y to be passed, but the target y is None"):
        RankSelector(relevance()).fit(NUMBERS)


@pytest.mark.parametrize("relevance", [InformationGain, Entropy])
def test_an_unknown_rule_for_missing_values_is_refused_with_the_known_ones(relevance):
    with pytest.raises(ValueError, match="missing must be one of 'distribute', 'category', got 'Category'"):
        RankSelector(relevance(missing="Category")).fit(NUMBERS, NUMBERS["level"])


@pytest.mark.parametrize("relevance", [InformationGain(), GainRatio(), SymmetricUncertainty()])
def test_a_study_of_a_numeric_target_cuts_it_into_ten_intervals(relevance):
    schema = open_table(NUMBERS, A_NUMBER).schema
    suited = relevance.adapt_to(schema)
    assert repr(suited.discretization) == repr(EqualFrequency(10))
    assert relevance.discretization is None
    assert relevance.adapt_to(open_table(NUMBERS).schema) is None
    assert relevance.adapt_to(open_table(NUMBERS, NUMBERS["level"].to_numpy()).schema) is relevance


def test_criteria_share_their_passes():
    table = make_mixed(2).table()
    passes = []

    def gather(*statistics):
        passes.append(len(statistics))
        return table.reduce(*statistics)

    gather_statistics([InformationGain(), GainRatio(), SymmetricUncertainty()], gather, table.schema)
    assert passes == [1, 1]


@pytest.mark.parametrize(
    "X",
    [
        np.arange(8.0),
        np.arange(8.0)[:, None],
        list(range(8)),
        pd.Series(np.arange(8.0)),
        pd.DataFrame({"x0": np.arange(8.0)}),
        pl.Series(np.arange(8.0)),
        open_table(np.arange(8.0)[:, None], [*"aaaabbbb"]),
    ],
    ids=["vector", "column", "list", "pandas Series", "pandas frame", "polars Series", "table"],
)
def test_cut_points_are_those_of_mdl_for_whatever_a_column_is_given_as(X):
    y = None if isinstance(X, Table) else [*"aaaabbbb"]
    assert {name: points.tolist() for name, points in cut_points(X, y).items()} == {"x0": [3.5]}


def test_cut_points_are_those_that_the_criterion_counts_with():
    table = make_mixed(0).table()
    points = cut_points(table)
    (counted,) = table.reduce(CutPoints(table.schema.numeric, MDL(), table.schema.n_classes))
    assert [*points] == [table.schema.columns[j].name for j in table.schema.numeric]
    for values, expected in zip(points.values(), counted.edges.values(), strict=True):
        np.testing.assert_array_equal(values, expected)


def test_cut_points_weigh_rows_and_name_a_series():
    x, weight = pd.Series([1.0, 2.0, 3.0, 4.0], name="age"), [3, 1, 1, 1]
    points = cut_points(x, discretization=EqualFrequency(2), sample_weight=weight)
    assert {name: cuts.tolist() for name, cuts in points.items()} == {"age": [1.5]}
    assert cut_points(x, discretization=EqualFrequency(2))["age"].tolist() == [2.5]


def test_cut_points_by_mdl_without_classes_are_refused():
    with pytest.raises(DataError, match="cut_points cuts numeric columns by MDL, which needs a target with classes"):
        cut_points(NUMBERS[["x"]])


def test_a_rule_asked_for_the_cuts_of_an_array_names_the_function_that_cuts_tables():
    with pytest.raises(
        TypeError, match=r"MDL\.cuts requires a SortedColumn, got ndarray\. tamiz\.criteria\.cut_points\(X, y"
    ):
        MDL().cuts(np.arange(8.0))

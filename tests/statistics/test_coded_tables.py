"""Statistics of weighted coded columns equal those of a table with repeated rows."""

import numpy as np
import pandas as pd
import pytest

from tamiz import RankSelector, open_table
from tamiz.criteria import (
    MDL,
    Entropy,
    EqualFrequency,
    EqualWidth,
    FisherScore,
    GainRatio,
    InformationGain,
    SymmetricUncertainty,
    Variance,
)
from tamiz.kernels.coded_tables import mdl_cell_cuts
from tamiz.statistics import coded_tables
from tamiz.statistics.base import Statistic
from tamiz.statistics.coded_tables import CodedTable, UnsupportedStatisticError, sample_log_table
from tamiz.statistics.cuts import SortedColumn

KINDS = {"flag": "boolean", "level": "categorical"}


@pytest.fixture(scope="module")
def mixed():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 200)
    return pd.DataFrame(
        {
            "good": y + 0.3 * rng.normal(size=200),
            "fair": np.where(rng.random(200) < 0.1, np.nan, y + rng.normal(size=200)).round(1),
            "level": np.array([*"abcd"])[np.where(rng.random(200) < 0.5, y, 3)],
            "noise": 1e6 + rng.normal(size=200),
            "flag": rng.random(200) < 0.5,
            "same": 2.0,
            "kind": np.array([*"uvw"])[y],
            "size": y + rng.normal(size=200),
        }
    )


def coded(table):
    schema = table.schema
    n_classes = schema.n_classes if schema.has_classes else 0
    return CodedTable(table.blocks(), schema.numeric, schema.n_levels, schema.n_columns, n_classes)


@pytest.mark.parametrize(
    ("target", "other", "relevances"),
    [
        (
            "kind",
            "size",
            [
                InformationGain(),
                GainRatio(),
                SymmetricUncertainty(missing="category"),
                FisherScore(),
                Entropy(),
                Variance(),
                InformationGain(discretization=EqualFrequency(7)),
                InformationGain(discretization=EqualWidth(7)),
            ],
        ),
        ("size", "kind", [InformationGain(discretization=EqualFrequency(10)), Variance()]),
    ],
)
def test_scores_under_row_counts_are_those_of_repeated_rows(mixed, target, other, relevances):
    frame, n, rng = mixed.drop(columns=other), len(mixed), np.random.default_rng(1)
    opened = open_table(frame, target, kinds=KINDS)
    table = coded(opened)
    for _ in range(3):
        counts = np.bincount(rng.integers(0, n, n), minlength=n)
        sample = table.with_weights(counts.astype(float), sample_log_table(None, n))
        again = open_table(frame.iloc[np.repeat(np.arange(n), counts)].reset_index(drop=True), target, kinds=KINDS)
        for relevance in relevances:
            expected = RankSelector(relevance).fit(again).scores_
            np.testing.assert_allclose(
                relevance.reweighted_scores(sample, opened.schema), expected, rtol=1e-9, atol=1e-12
            )


@pytest.mark.parametrize("n_classes", [2, 5])
def test_cells_are_cut_where_sorted_rows_are(n_classes):
    rng = np.random.default_rng(n_classes)
    for _ in range(30):
        values = np.sort(rng.normal(size=300).round(rng.integers(1, 4)))
        labels = np.clip((values > rng.normal()) + (rng.random(300) < 0.1), 0, 1) + (n_classes - 2) * (values > 1)
        labels = labels.astype(np.int32)
        cuts = MDL().cuts(SortedColumn(values, labels, np.ones(300), n_classes, np.empty(0)))
        distinct, cell = np.unique(values, return_inverse=True)
        table, found = np.zeros((len(distinct), n_classes)), np.empty(len(distinct), dtype=np.int64)
        np.add.at(table, (cell, labels), 1.0)
        n = mdl_cell_cuts(table, np.ones(len(distinct)), np.empty(0), found)
        after = np.sort(found[:n])
        np.testing.assert_array_equal(np.searchsorted(distinct, cuts), after + 1)


def test_ranges_of_values_give_about_the_scores_of_the_values(monkeypatch):
    monkeypatch.setattr(coded_tables, "_MAX_CELLS", 512)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 20_000)
    table = open_table((y[:, None] * [0.0, 0.1, 0.3, 1.0] + rng.normal(size=(20_000, 4))), y)
    sample = coded(table).with_weights(np.ones(20_000), sample_log_table(None, 20_000))
    exact = RankSelector(InformationGain()).fit(table).scores_
    assert exact[0] == 0
    assert (exact[1:] > 0).all()
    np.testing.assert_allclose(InformationGain().reweighted_scores(sample, table.schema), exact, rtol=0.05, atol=1e-4)


def test_a_column_that_is_constant_in_a_sample_scores_nothing():
    x, y = np.zeros(60), np.arange(60) % 2
    x[:1] = 1e8
    table = open_table(x[:, None] + 1e5, y)
    weight = np.ones(60)
    weight[0] = 0
    sample = coded(table).with_weights(weight, np.empty(0))
    assert FisherScore().reweighted_scores(sample, table.schema).tolist() == [0]
    assert Variance().reweighted_scores(sample, table.schema).tolist() == [0]


def test_a_statistic_of_another_kind_is_refused_by_name(mixed):
    class Other(Statistic):
        key = "other"

        def empty(self):
            return self

        update = merge = empty

    sample = coded(open_table(mixed, "kind", kinds=KINDS)).with_weights(np.ones(200), np.empty(0))
    with pytest.raises(UnsupportedStatisticError, match="Other"):
        sample.gather(Other())

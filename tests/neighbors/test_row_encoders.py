"""New rows are encoded as the rows of the graph: one rule for missing values, and errors for what is no table."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from tamiz import open_table
from tamiz.exceptions import DataError, TamizWarning
from tamiz.graphs import KNearest
from tamiz.reduction import LaplacianEigenmaps
from tamiz.table.factory import as_array, count_rows, row_numbers

N = 40


def numbers(seed=0, n=N):
    return pd.DataFrame(np.random.default_rng(seed).normal(size=(n, 3)), columns=["a", "b", "c"])


def mixed(seed=0, n=N):
    return numbers(seed, n).assign(d=np.random.default_rng(seed).choice(["x", "y"], n))


def new_rows(table):
    """Five rows with two gaps in their numbers."""
    new = table(1, 5)
    new.loc[2, "b"] = new.loc[4, "c"] = np.nan
    return new


CASES = [(numbers, "euclidean"), (numbers, "seuclidean"), (numbers, "cosine"), (mixed, "euclidean"), (mixed, "cosine")]


@pytest.mark.parametrize(("table", "metric"), CASES)
def test_missing_values_of_new_rows_are_filled_and_reported_where_the_graph_was_built_so(table, metric):
    train, new = table(), new_rows(table)
    graph = KNearest(5, metric=metric).build(train, fill_missing=True)
    with pytest.warns(TamizWarning, match=r"2 missing values of new rows were replaced by column means") as told:
        filled = graph.attach(new)
    assert len(told) == 1
    by_hand = graph.attach(new.fillna({"b": train["b"].mean(), "c": train["c"].mean()}))
    np.testing.assert_array_equal(filled.neighbors.indices, by_hand.neighbors.indices)
    np.testing.assert_allclose(filled.neighbors.distances, by_hand.neighbors.distances, rtol=1e-12)


@pytest.mark.parametrize(("table", "metric"), CASES)
def test_missing_values_of_new_rows_are_refused_by_name_where_the_graph_was_built_without_filling(table, metric):
    graph = KNearest(5, metric=metric).build(table())
    with pytest.raises(
        DataError,
        match=r"^Rows 2, 4 have a missing value, the first in column b; the graph was built without any\. Fill them in, leave "
        r"the rows out, or build the graph with fill_missing=True\.$",
    ):
        graph.attach(new_rows(table))
    assert graph.attach(new_rows(table).iloc[:2]).neighbors.n_rows == 2


def test_missing_values_of_new_rows_are_filled_as_those_of_the_graphs_were():
    train = numbers()
    train.loc[3, "a"] = np.nan
    with pytest.warns(TamizWarning, match=r"1 missing value was replaced by column means before computing distances"):
        graph = KNearest(5).build(train, fill_missing=True)
    new = numbers(1, 2)
    new.loc[1, "a"] = np.nan
    with pytest.warns(TamizWarning, match=r"1 missing value of new rows was replaced by column means"):
        filled = graph.attach(new)
    by_hand = graph.attach(new.fillna({"a": train["a"].mean()}))
    np.testing.assert_allclose(filled.neighbors.distances, by_hand.neighbors.distances, rtol=1e-12)


def test_a_missing_value_is_given_the_weighted_mean_where_rows_have_weights():
    train, weight = numbers(), np.random.default_rng(2).random(N) * 5
    graph = KNearest(5).build(open_table(train, weight=weight), fill_missing=True)
    new = numbers(1, 1)
    gap = new.assign(a=np.nan)
    with pytest.warns(TamizWarning, match="1 missing value of new rows"):
        filled = graph.attach(gap)
    by_hand = graph.attach(new.assign(a=np.average(train["a"], weights=weight)))
    np.testing.assert_allclose(filled.neighbors.distances, by_hand.neighbors.distances, rtol=1e-12)


def test_an_unknown_level_is_missing_and_reported_or_refused():
    train, new = mixed(), mixed(1, 3)
    new.loc[1, "d"] = "unheard"
    with (
        pytest.warns(TamizWarning, match=r"1 missing value or unknown level of new rows was replaced by column means"),
        pytest.warns(
            TamizWarning,
            match=r"Column d: 1 level in 1 row was not present in fit: 'unheard'; these values are treated as",
        ),
    ):
        filled = KNearest(5).build(train, fill_missing=True).attach(new)
    share = (train["d"] == "x").mean(), (train["d"] == "y").mean()
    indicators = (
        np.where(train["d"] == "x", 1 / np.sqrt(share[0]), 0),
        np.where(train["d"] == "y", 1 / np.sqrt(share[1]), 0),
    )
    squared = ((train[["a", "b", "c"]] - new.loc[1, ["a", "b", "c"]].astype(float)) ** 2).sum(axis=1)
    squared += (indicators[0] - np.sqrt(share[0])) ** 2 + (indicators[1] - np.sqrt(share[1])) ** 2
    near = slice(filled.neighbors.indptr[1], filled.neighbors.indptr[2])
    np.testing.assert_allclose(filled.neighbors.distances[near], np.sort(np.sqrt(squared))[:5], rtol=1e-12)
    with (
        pytest.warns(TamizWarning, match="'unheard'"),
        pytest.raises(
            DataError,
            match=r"^Row 1 has a missing value or an unknown level, in column d; the graph was built without any\.",
        ),
    ):
        KNearest(5).build(train).attach(new)


def test_new_rows_of_a_table_are_named_by_their_numbers_in_the_users_table():
    graph = KNearest(5).build(numbers())
    new = new_rows(numbers).assign(y=[None, "p", "q", "p", "q"])
    with pytest.raises(DataError, match=r"^Rows 2, 4 have a missing value, the first in column b"):
        graph.attach(open_table(new, "y"))
    far = numbers(1, 5).assign(y=[None, "p", "q", "p", "q"], a=["1", "1", "1", "1e200", "1"])
    with pytest.raises(DataError, match=r"^row 3, column a: 1e\+200 is too large to be squared"):
        graph.attach(open_table(far, "y", kinds={"a": "categorical"}))


def test_new_sparse_rows_are_placed_as_dense_ones_are():
    mapped = LaplacianEigenmaps(2).fit(numbers().to_numpy())
    new = numbers(1, 3).to_numpy()
    np.testing.assert_array_equal(mapped.transform(sparse.csr_array(new)), mapped.transform(new))


def test_a_table_contains_no_precomputed_distances():
    with pytest.raises(
        TypeError,
        match=r"^metric='precomputed' requires an array of distances, got a Table of 40 rows and 3 columns\.",
    ):
        KNearest(5, metric="precomputed").build(open_table(numbers()))


def test_rows_are_counted_of_whatever_is_a_table():
    frame = mixed()
    tables = [frame, pl.from_pandas(frame), pl.from_pandas(frame).lazy(), pa.Table.from_pandas(frame)]
    tables += [
        open_table(frame),
        numbers().to_numpy(),
        numbers().to_numpy().tolist(),
        pd.DataFrame(numbers().to_numpy()),
    ]
    tables += [sparse.coo_array(numbers().to_numpy()), np.ma.masked_less(numbers().to_numpy(), 0.0)]
    assert [count_rows(table) for table in tables] == [N] * len(tables)


@pytest.mark.parametrize(
    ("given", "error", "sentence"),
    [
        (
            "data.csv",
            TypeError,
            r"^X must be a table, got the name 'data\.csv': fit on open_table\('data\.csv', target=",
        ),
        (
            {"a": [1, 2]},
            TypeError,
            r"^A table must be an array or a data frame, got a dict; .*pandas\.DataFrame\(data\)",
        ),
        (pd.Series([1.0, 2.0]), ValueError, r"^Expected a table, got a Series, which is one column"),
        (object(), ValueError, r"^Expected 2D array, got 0D array instead"),
        (np.ones(3), ValueError, r"^Expected 2D array, got 1D array instead: shape \(3,\)\."),
    ],
)
def test_an_object_that_is_no_table_has_no_number_of_rows(given, error, sentence):
    for count in (count_rows, LaplacianEigenmaps(2).fit):
        with pytest.raises(error, match=sentence):
            count(given)


def test_a_missing_table_is_refused_with_the_advice_to_pass_a_graph():
    with pytest.raises(ValueError, match=r"^Expected 2D array, got 0D array instead"):
        count_rows(None)
    with pytest.raises(
        ValueError, match=r"^X is None, and fit requires rows to build a graph of; without them pass graph="
    ):
        LaplacianEigenmaps(2).fit(None)


def test_a_lazy_frame_is_taken_where_a_frame_is():
    frame = pl.from_pandas(numbers())
    eager, lazy = LaplacianEigenmaps(2).fit(frame), LaplacianEigenmaps(2).fit(frame.lazy())
    np.testing.assert_array_equal(lazy.embedding_, eager.embedding_)
    assert lazy.feature_names_in_.tolist() == ["a", "b", "c"]
    new = pl.from_pandas(numbers(1, 4))
    np.testing.assert_array_equal(lazy.transform(new.lazy()), eager.transform(new))
    with pytest.raises(ValueError, match="feature names should match"):
        lazy.transform(new.rename({"a": "z"}).lazy())


def test_the_numbers_of_rows_are_those_of_a_table():
    assert row_numbers(open_table(numbers(), ["p", None] * (N // 2 - 1) + ["q", "q"])).tolist()[:3] == [0, 2, 4]
    assert row_numbers(numbers()) is None


def test_an_array_is_handed_on_without_a_copy():
    X = numbers().to_numpy()
    assert as_array(X, "it takes an array") is X

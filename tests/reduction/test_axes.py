"""Columns that explain the axes of a map: against SciPy, the definition, and properties."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kruskal, rankdata, spearmanr

from tamiz import open_table
from tamiz.exceptions import DataError, TamizWarning
from tamiz.reduction import PCA, axis_correlations
from tamiz.reduction.axes import correlate_columns

from ..reference.axes import correlation_ratio

RNG = np.random.default_rng(0)
N = 300


@pytest.fixture(scope="module")
def table():
    frame = pd.DataFrame({"smooth": RNG.normal(size=N), "tied": RNG.integers(0, 6, N).astype(float)})
    frame["gappy"] = np.where(RNG.random(N) < 0.3, np.nan, frame["smooth"] + RNG.normal(size=N))
    frame["kind"] = np.where(frame["smooth"] > 0.5, "high", np.where(RNG.random(N) < 0.5, "low", "middle"))
    frame["gappy_kind"] = frame["kind"].where(RNG.random(N) > 0.2)
    frame["flag"] = frame["tied"] > 2
    return frame


@pytest.fixture(scope="module")
def points(table):
    noise = RNG.normal(size=(N, 3))
    return np.column_stack([table["smooth"] + noise[:, 0], np.round(noise[:, 1], 1), noise[:, 2] - table["tied"]])


def test_numbers_have_spearmans_correlation_with_ties_and_without_their_missing_values(table, points):
    found = axis_correlations(table, points)
    assert found.columns == list(table.columns)
    for j, name in enumerate(("smooth", "tied", "gappy")):
        expected = [spearmanr(table[name], axis, nan_policy="omit").statistic for axis in points.T]
        np.testing.assert_allclose(found.values[j], expected, rtol=1e-13)
    assert found.n_rows.tolist() == table.notna().sum().tolist()


def test_categories_have_the_correlation_ratio_of_the_ranks_without_their_missing_values(table, points):
    found = axis_correlations(table, points)
    for j, name in enumerate(table.columns[3:], start=3):
        codes = pd.factorize(table[name])[0]
        for k, axis in enumerate(points.T):
            ranks = np.zeros(N)
            ranks[codes >= 0] = rankdata(axis[codes >= 0])
            assert found.values[j, k] == pytest.approx(correlation_ratio(codes, ranks), rel=1e-13)
    assert found.kinds == ["numeric"] * 3 + ["categorical"] * 2 + ["boolean"]


def test_the_ratio_is_the_root_of_kruskal_and_walliss_h(table, points):
    H = kruskal(*(points[table["kind"] == level, 0] for level in ("high", "low", "middle"))).statistic
    assert axis_correlations(table[["kind"]], points).values[0, 0] ** 2 == pytest.approx(H / (N - 1), rel=1e-12)


def test_two_levels_have_the_size_of_the_rank_correlation(table, points):
    by_level = axis_correlations(table[["flag"]], points).values[0]
    by_number = axis_correlations(table[["flag"]].astype(float), points).values[0]
    np.testing.assert_allclose(by_level, np.abs(by_number), rtol=1e-13)


def test_monotone_columns_have_a_correlation_of_exactly_one():
    axis = RNG.normal(size=1001)
    X = np.column_stack([np.exp(axis), -(axis**3), axis])
    assert axis_correlations(X, axis[:, None]).values.tolist() == [[1.0], [-1.0], [1.0]]


def test_constant_columns_explain_nothing_and_constant_axes_are_not_explained(table, points):
    X = table.assign(constant=3.0, one=pd.Categorical(["a"] * N))
    found = axis_correlations(X, np.column_stack([points[:, 0], np.full(N, 2.0)]))
    assert found.values[:, 1].tolist() == [0.0] * 8
    assert [found.values[found.columns.index(name), 0] for name in ("constant", "one")] == [0.0, 0.0]
    # Two rows have both, and in them the column does not vary.
    few = pd.DataFrame({"x": [1.0, 1.0, np.nan, np.nan], "y": [1.0, np.nan, np.nan, np.nan], "z": [1.0, 2, 3, 4]})
    assert axis_correlations(few, [[1.0], [2.0], [3.0], [4.0]]).values.tolist() == [[0.0], [0.0], [1.0]]


def test_integer_weights_are_repeated_rows(table, points):
    weight = RNG.integers(0, 4, N)
    weighted = axis_correlations(table, points, sample_weight=weight)
    again = np.repeat(np.arange(N), weight)
    np.testing.assert_allclose(
        weighted.values, axis_correlations(table.iloc[again], points[again]).values, rtol=1e-12, atol=1e-14
    )
    with pytest.warns(TamizWarning, match=r"300 rows count as 4\.\d+e\+99\. If they correct a sampling design"):
        large = axis_correlations(table, points, sample_weight=weight * 1e97)
    np.testing.assert_allclose(large.values, weighted.values, rtol=1e-12, atol=1e-14)


def test_chance_is_what_columns_of_no_meaning_reach():
    X = pd.DataFrame({"number": RNG.normal(size=60), "many": RNG.integers(0, 20, 60).astype(str)})
    drawn = [axis_correlations(X, RNG.normal(size=(60, 200))) for _ in range(5)]
    squares = np.mean([np.mean(found.values**2, axis=1) for found in drawn], axis=0)
    np.testing.assert_allclose(np.sqrt(squares), drawn[0].chance_level, rtol=0.06)


def test_a_table_a_frame_and_an_array_agree_and_a_target_takes_no_part(table, points):
    numbers = table[["smooth", "tied", "gappy"]]
    by_frame = axis_correlations(numbers, points)
    by_array = axis_correlations(numbers.to_numpy(), points)
    assert by_array.columns == ["x0", "x1", "x2"]
    np.testing.assert_array_equal(by_array.values, by_frame.values)
    opened = open_table(table, "kind")
    assert axis_correlations(opened, points).columns == ["smooth", "tied", "gappy", "gappy_kind", "flag"]


def test_float32_coordinates_are_taken_as_they_are(table, points):
    single = points.astype(np.float32)
    np.testing.assert_array_equal(
        axis_correlations(table, single).values, axis_correlations(table, single.astype(np.float64)).values
    )


def test_the_groups_and_pieces_that_columns_are_read_in_change_nothing(table, points, monkeypatch):
    whole = axis_correlations(table, points)
    monkeypatch.setattr("tamiz.reduction.axes._VALUES_IN_MEMORY", 2 * N)
    monkeypatch.setattr("tamiz.reduction.axes._VALUES_PER_TASK", 1)
    for jobs in ("1", "2"):
        monkeypatch.setenv("OMP_NUM_THREADS", jobs)
        np.testing.assert_array_equal(axis_correlations(table, points).values, whole.values)


def test_some_rows_are_compared_as_a_table_of_them_would_be(table, points):
    rows = np.sort(RNG.choice(N, 80, replace=False))
    expected = axis_correlations(table.iloc[rows], points[rows])
    opened = open_table(table, weight=np.arange(N) % 5 + 1.0)
    weighted = axis_correlations(table.iloc[rows], points[rows], sample_weight=rows % 5 + 1.0)
    np.testing.assert_array_equal(correlate_columns(open_table(table), points[rows], rows).values, expected.values)
    np.testing.assert_array_equal(correlate_columns(opened, points[rows], rows).values, weighted.values)


def test_the_first_component_of_standardised_columns_is_explained_by_its_loadings():
    X = RNG.normal(size=(2000, 2)) @ np.array([[3.0, 1, 0, 0], [0, 0, 2, 1]]) + RNG.normal(size=(2000, 4))
    pca = PCA(2, standardize=True).fit(X)
    # For normal columns Pearson's correlation is 2 sin(pi / 6 * Spearman's).
    np.testing.assert_allclose(
        2 * np.sin(np.pi / 6 * axis_correlations(X, pca.embedding_).values), pca.loadings_, atol=0.04
    )


@pytest.mark.parametrize(
    ("embedding", "sentence"),
    [
        (np.zeros((3, 2)), r"^embedding has 3 rows and X has 300; give the coordinates of the rows of X\.$"),
        (np.zeros(N), "Expected 2D array, got 1D array"),
        (np.full((N, 1), np.nan), "Input contains NaN"),
    ],
)
def test_coordinates_that_do_not_fit_are_refused(table, embedding, sentence):
    with pytest.raises(ValueError, match=sentence):
        axis_correlations(table, embedding)


def test_rows_without_a_target_have_no_coordinates(table, points):
    opened = open_table(table, "gappy_kind")
    with pytest.raises(DataError, match=r"^embedding has 300 rows and X has \d+; give"):
        axis_correlations(opened, points)


def test_columns_that_take_no_part_are_reported_and_a_table_of_none_is_refused():
    frame = pd.DataFrame({"rank": range(12), "x": np.random.default_rng(0).normal(size=12)})
    with pytest.warns(TamizWarning, match="1 of 2 columns is excluded: rank"):
        assert axis_correlations(frame, frame[["x"]]).columns == ["x"]
    with pytest.raises(DataError, match="No column can be used: rank"):
        axis_correlations(frame[["rank"]], frame[["x"]])


def test_chance_counts_a_weight_of_two_as_two_rows():
    X = np.random.default_rng(0).normal(size=(20, 2))
    weighted = axis_correlations(X, X[:, :1], sample_weight=np.full(20, 2.0))
    np.testing.assert_allclose(
        weighted.chance_level, axis_correlations(X.repeat(2, axis=0), X[:, :1].repeat(2, axis=0)).chance_level
    )

"""RedundancyFilter: the plain loop over the columns, closed examples, mixed kinds, weights, and files."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from tests.reference import redundancy as plain

from tamiz import RedundancyFilter, load, open_table, save
from tamiz.criteria import FisherScore, Variance
from tamiz.exceptions import DataError, TamizWarning
from tamiz.runtime import parallel
from tamiz.runtime.user_warnings import capture_warnings
from tamiz.selection.redundancy_filter import _MEASURES

CANCER = load_breast_cancer(as_frame=True).data


@pytest.fixture(autouse=True)
def one_session():
    with parallel.thread_session(1):
        yield


def redundant_table(seed, n=60):
    """Twelve columns of full rank, of which some nearly depend on others, in random order."""
    rng = np.random.default_rng(seed)
    own = rng.normal(size=(n, 5)) * [1, 1e3, 1e-3, 1, 1] + [0, 1e4, 0, 5, 0]
    scale = np.array([1, 1e3, 1e-3, 1, 1])
    mixed = (own / scale) @ rng.normal(size=(5, 4)) + rng.choice([0.05, 0.3, 1.0], 4) * rng.normal(size=(n, 4))
    copies = own[:, :3] + 0.2 * scale[:3] * rng.normal(size=(n, 3))
    return rng.permutation(np.hstack([own, mixed, copies]), axis=1)


@pytest.mark.parametrize("measure", ["pearson", "linear"])
@pytest.mark.parametrize("threshold", [0.5, 0.9, 0.95, 0.99])
def test_the_columns_kept_are_those_of_the_plain_loop(measure, threshold):
    for seed in range(8):
        X = redundant_table(seed)
        found = RedundancyFilter(measure, threshold=threshold).fit(X)
        kept, values = plain.redundancy_filter(X, measure, threshold)
        assert found.get_support(indices=True).tolist() == kept
        np.testing.assert_allclose(found.associations_, values, rtol=1e-9, atol=1e-9)
        for name, by in found.determined_by_.items():
            columns, j = [int(one[1:]) for one in by], int(name[1:])
            assert set(columns) <= set(kept)
            assert plain.association(X, columns, j, measure) >= threshold - 1e-9
            # None of them can be left out.
            for k in range(len(columns) if len(columns) > 1 else 0):
                assert plain.association(X, columns[:k] + columns[k + 1 :], j, measure) < threshold


def test_correlated_columns_are_those_of_feature_engine():
    # feature-engine 1.9.4, DropCorrelatedFeatures(threshold=0.95) and 0.8, which visits the columns in the order of their names.
    table = CANCER[sorted(CANCER)]
    for threshold, dropped in (
        (0.95, [0, 2, 10, 20, 22, 23]),
        (0.8, [0, 3, 6, 7, 10, 12, 16, 19, 20, 21, 22, 23, 24, 25, 26, 27]),
    ):
        found = RedundancyFilter("pearson", threshold=threshold).fit(table)
        assert sorted(found.determined_by_) == sorted(CANCER.columns[dropped])


def test_sums_are_found_with_their_parts():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(80, 4)), columns=[*"abcd"])
    table["total"] = table["a"] + table["b"] - 2 * table["d"]
    # It is correlated with the total, but not needed to explain it.
    table.insert(0, "near", table["total"] + rng.normal(size=80))
    table["mean"] = table[["a", "total"]].mean(axis=1)
    for threshold in (0.95, 1.0):
        found = RedundancyFilter("linear", threshold=threshold).fit(table)
        assert found.determined_by_ == {"total": ("a", "b", "d"), "mean": ("a", "b", "d")}
    assert RedundancyFilter("pearson", threshold=0.99).fit(table).determined_by_ == {}


def test_a_threshold_of_1_drops_only_what_is_determined_exactly():
    rng = np.random.default_rng(1)
    X = 1e6 + rng.normal(size=(500, 3))
    X = np.column_stack([X, X.sum(axis=1), X[:, 0] * 1e-9, X[:, 1] + 1e-3 * rng.normal(size=500)])
    assert RedundancyFilter("linear", threshold=1.0).fit(X).get_support(indices=True).tolist() == [0, 1, 2, 5]
    assert RedundancyFilter("pearson", threshold=1.0).fit(X).get_support(indices=True).tolist() == [0, 1, 2, 3, 5]


@pytest.mark.parametrize("measure", _MEASURES)
def test_mixed_columns(measure):
    rng = np.random.default_rng(2)
    level = rng.choice([*"abcd"], 400)
    number = rng.normal(size=400)
    table = pd.DataFrame(
        {
            "level": level,
            "number": number,
            "again": pd.Series(level).map({"a": "north", "b": "south", "c": "west", "d": "east"}),
            "code": np.select([level == one for one in "abcd"], [0.0, 7.0, 1.0, 2.0]),
            "constant": "same",
            "cents": -100 * number,
            "rare": np.where(np.arange(400) < 3, 1.0, 0.0),
            "other": rng.choice([*"xyz"], 400),
        }
    )
    table["rare copy"] = table["rare"]
    found = RedundancyFilter(measure).fit(table)
    assert found.determined_by_ == {
        "again": ("level",),
        "code": ("level",),
        "constant": (),
        "cents": ("number",),
        "rare copy": ("rare",),
    }
    kept = found.transform(table)
    assert kept.columns.tolist() == ["level", "number", "rare", "other"]
    assert kept.dtypes.tolist() == table[kept.columns].dtypes.tolist()
    assert found.associations_[[0, 2, 3, 4, 8]].tolist() == [0, 1, 1, 1, 1]


def test_the_symmetric_uncertainty_finds_relations_of_any_form():
    x = np.random.default_rng(3).normal(size=2000)
    X = np.column_stack([x, np.exp(3 * x), np.random.default_rng(4).normal(size=2000)])
    found = RedundancyFilter("symmetric_uncertainty").fit(X)
    assert found.determined_by_ == {"x1": ("x0",)}
    assert RedundancyFilter("pearson").fit(X).determined_by_ == {}
    assert RedundancyFilter().fit(X).determined_by_ == {"x1": ("x0",)}


def test_a_column_is_dropped_only_for_one_that_determines_it():
    rng = np.random.default_rng(0)
    town = rng.integers(0, 12, 400)
    table = pd.DataFrame(
        {"country": [f"c{k // 4}" for k in town], "town": [f"t{k}" for k in town], "code": 7 * town % 12}
    )
    table["noise"] = rng.normal(size=400)
    found = RedundancyFilter().fit(table)
    assert found.determined_by_ == {"code": ("town",)}
    assert RedundancyFilter().fit(table[["code", "town", "country"]]).determined_by_ == {
        "town": ("code",),
        "country": ("code",),
    }


def test_columns_of_many_values_do_not_determine_each_other_by_chance():
    rng = np.random.default_rng(5)
    table = pd.DataFrame({"ticket": rng.integers(0, 90, 100), "cabin": rng.integers(0, 90, 100)}).astype(str) + "x"
    table["copy"] = table["ticket"]
    opened = open_table(table, kinds=dict.fromkeys(table, "categorical"))
    found = RedundancyFilter("symmetric_uncertainty", threshold=0.7).fit(opened)
    assert found.determined_by_ == {"copy": ("ticket",)}


def test_the_most_relevant_column_is_kept_then_the_most_complete_one():
    rng = np.random.default_rng(6)
    y = np.arange(200) % 2
    good = y + rng.normal(size=200)
    table = pd.DataFrame({"poor": good + 0.3 * rng.normal(size=200), "good": good})
    assert RedundancyFilter(threshold=0.9).fit(table).determined_by_ == {"good": ("poor",)}
    assert RedundancyFilter(threshold=0.9).fit(table, y).determined_by_ == {"poor": ("good",)}
    for unusable in (np.c_[y, y], np.zeros(200)):
        assert RedundancyFilter(threshold=0.9).fit(table, unusable).determined_by_ == {"good": ("poor",)}
    relevance = RedundancyFilter(threshold=0.9, relevance=FisherScore())
    assert relevance.fit(table, y).determined_by_ == {"poor": ("good",)}
    assert RedundancyFilter(threshold=0.9, relevance="fisher-score").fit(table, y).determined_by_ == {"poor": ("good",)}
    table.loc[3, "good"] = np.nan
    assert relevance.fit(table, y).determined_by_ == {"poor": ("good",)}
    # Without a target the more complete one.
    assert RedundancyFilter(threshold=0.9).fit(table[["good", "poor"]]).determined_by_ == {"good": ("poor",)}
    with pytest.raises(DataError, match="FisherScore requires y to be passed"):
        relevance.fit(table)
    table["scaled"] = 10 * table["poor"]
    assert RedundancyFilter(relevance=Variance()).fit(table[["poor", "scaled"]]).determined_by_ == {"poor": ("scaled",)}


@pytest.mark.parametrize("measure", ["pearson", "linear"])
def test_integer_weights_are_repeated_rows(measure):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, weight = redundant_table(seed), rng.integers(0, 4, 60)
        X[rng.random(X.shape) < 0.02] = np.nan
        X[:, 3] = np.where(weight == 0, 1.0, 2.0)
        weighted = RedundancyFilter(measure, threshold=0.8).fit(X, sample_weight=weight)
        repeated = RedundancyFilter(measure, threshold=0.8).fit(np.repeat(X, weight, axis=0))
        assert weighted.determined_by_ == repeated.determined_by_
        np.testing.assert_allclose(weighted.associations_, repeated.associations_, atol=1e-9)


@pytest.mark.parametrize("share", [0.05, 0.35])
def test_columns_are_compared_on_the_rows_with_both_values(share):
    X = redundant_table(7)
    X[np.random.default_rng(7).random(X.shape) < share] = np.nan
    X[:, 3:5] = redundant_table(7)[:, 3:5]
    order = np.argsort(np.isnan(X).sum(axis=0), kind="stable")
    for measure in ("pearson", "linear"):
        found = RedundancyFilter(measure, threshold=0.8).fit(X)
        kept, values = plain.redundancy_filter(X, measure, 0.8, order)
        assert found.get_support(indices=True).tolist() == kept
        np.testing.assert_allclose(found.associations_, values, atol=1e-9)


@pytest.mark.parametrize("measure", _MEASURES)
@pytest.mark.parametrize("share", [0.1, 0.3, 0.6])
def test_missing_values_do_not_hide_copies(measure, share):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": 1e4 + rng.normal(size=1000), "level": rng.choice([*"abc"], 1000)})
    table["copy"], table["again"] = 5 + 2 * table["x"], table["level"].map({"a": "u", "b": "v", "c": "w"})
    table["noise"] = rng.normal(size=1000)
    table = table.mask(rng.random(table.shape) < share)
    found = RedundancyFilter(measure).fit(table)
    dropped = found.determined_by_
    assert {frozenset((one, *by)) for one, by in dropped.items()} == {
        frozenset({"x", "copy"}),
        frozenset({"level", "again"}),
    }
    for one, (by,) in dropped.items():
        assert found.n_common_rows_[one] == (table[one].notna() & table[by].notna()).sum()
        assert found.associations_[table.columns.get_loc(one)] == pytest.approx(1.0)


@pytest.mark.parametrize("measure", _MEASURES)
def test_few_common_rows_make_no_copies(measure):
    x = np.random.default_rng(1).normal(size=40)
    for n_common, is_copy in ((3, False), (9, False), (20, True)):
        first, second = x.copy(), x.copy()
        first[: 20 - n_common // 2], second[20 - n_common // 2 + n_common :] = np.nan, np.nan
        found = RedundancyFilter(measure).fit(np.column_stack([first, second]))
        assert len(found.determined_by_) == is_copy
    # A column that is constant in the common rows is no copy of another one.
    constant = np.where(np.arange(40) < 20, 1e6, x)
    X = np.column_stack([constant, np.where(np.arange(40) < 20, x, np.nan)])
    assert RedundancyFilter(measure).fit(X).determined_by_ == {}


def test_exact_relations_stay_exact_where_other_columns_have_missing_values():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 6))
    X[:, 5] = X[:, 0] + X[:, 1]
    X[rng.random(60) < 0.7, 2] = np.nan
    X[rng.random(60) < 0.7, 3] = np.nan
    found = RedundancyFilter("linear", threshold=1.0).fit(X)
    assert found.determined_by_ == {"x5": ("x0", "x1")}


@pytest.mark.parametrize("measure", _MEASURES)
@pytest.mark.parametrize("has_target", [True, False])
def test_the_order_of_the_columns_does_not_matter(measure, has_target):
    rng = np.random.default_rng(3)
    y = rng.normal(size=150) if has_target else None
    table = pd.DataFrame(rng.normal(size=(150, 4)), columns=[*"abcd"])
    for k, name in enumerate("abcd"):
        near = table[name] + 0.1 * rng.normal(size=150)
        table[f"{name} near"] = near.mask(rng.permutation(150) < 5 * k + 3)
        table[f"{name} copy"] = (10 * table[name]).mask(rng.permutation(150) < 5 * k + 5)
    kept = {
        frozenset(RedundancyFilter(measure, threshold=0.6).fit(table[order], y).get_feature_names_out())
        for order in (rng.permutation(table.columns) for _ in range(4))
    }
    assert len(kept) == 1


@pytest.mark.filterwarnings("ignore:.* excluded: ")
def test_excluded_columns_are_dropped_and_nothing_determines_them():
    text = [f"a sentence of its own, number {k}, and more words" for k in range(60)]
    table = pd.DataFrame({"text": text, "x": np.random.default_rng(8).normal(size=60)})
    found = RedundancyFilter().fit(table)
    assert found.support_.tolist() == [False, True]
    assert found.determined_by_ == {}
    assert found.associations_.tolist() == [0, 0]


def test_sparse_rows_are_filtered_as_dense_ones():
    rng = np.random.default_rng(9)
    X = rng.poisson(0.4, (80, 6)).astype(float)
    X[:, 4] = X[:, 0] + X[:, 1]
    for measure in ("pearson", "linear", "symmetric_uncertainty"):
        dense, thin = (RedundancyFilter(measure).fit(table) for table in (X, sparse.csr_array(X)))
        assert dense.determined_by_ == thin.determined_by_
        np.testing.assert_allclose(dense.associations_, thin.associations_, atol=1e-12)


def test_numbers_of_any_size():
    X = load_iris().data
    X = np.column_stack([X, 2 * X[:, 0], X[:, 0]])
    for factor in (1e-100, 1e100):
        assert RedundancyFilter().fit(X * [factor, 1, 1, 1, factor, factor]).determined_by_ == {
            "x3": ("x2",),
            "x4": ("x0",),
            "x5": ("x0",),
        }
    # Their squares underflow to 0, so only duplicates are found among these.
    with pytest.warns(TamizWarning, match="Columns 'x0', 'x4', 'x5': the values differ by less than 1e-150"):
        tiny = RedundancyFilter("linear").fit(X * [1e-200, 1, 1, 1, 1e-200, 1e-200])
    assert "x4" not in tiny.determined_by_
    assert tiny.determined_by_["x5"] == ("x0",)


def test_a_table_without_varying_columns_keeps_none():
    found = RedundancyFilter().fit(np.ones((5, 2)))
    assert found.determined_by_ == {"x0": (), "x1": ()}
    assert found.associations_.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("n_rows", "advice"),
    [(4, r"1 dropped column is .* Use more rows\."), (7, r"\(--measure pearson\), or more rows\.")],
)
def test_pearson_is_no_remedy_where_single_correlations_are_large_by_chance(n_rows, advice):
    X = np.random.default_rng(0).normal(size=(n_rows, n_rows))
    with pytest.warns(TamizWarning, match=advice):
        RedundancyFilter("linear", threshold=0.95).fit(X)


def test_relations_by_chance_in_few_rows_are_a_warning():
    X = np.random.default_rng(0).normal(size=(30, 40))
    with pytest.warns(
        TamizWarning, match="because 28 numeric columns are kept and there are 30 rows; 12 dropped columns are"
    ):
        RedundancyFilter("linear").fit(X)
    # The probability that a column of noise would be dropped, by simulation.
    rows = np.random.default_rng(1)
    share = np.mean([plain.r2(rows.normal(size=(30, 26)), rows.normal(size=30)) >= 0.95 for _ in range(2000)])
    X = X[:, :26].copy()
    X = np.column_stack([X, X[:, 0] + X[:, 1]])
    with pytest.warns(TamizWarning, match="A column of noise has an R2 of at least 0.95 with probability") as caught:
        RedundancyFilter("linear").fit(X)
    assert float(str(caught[0].message).split("probability ")[1].split(",")[0]) == pytest.approx(share, abs=0.03)
    # One kept column of a pair determines the other without a regression, and there is no warning.
    assert len(RedundancyFilter("linear", threshold=1.0).fit(np.column_stack([X[:, :10], X[:, 0]])).determined_by_) == 1


def test_it_works_in_a_pipeline_and_is_read_from_a_file_as_it_was_saved(tmp_path):
    X, y = load_breast_cancer(return_X_y=True)
    pipeline = make_pipeline(RedundancyFilter("linear"), LogisticRegression(max_iter=5000)).fit(X[:, :10], y)
    found = pipeline[0]
    assert pipeline[1].n_features_in_ == found.support_.sum() < 10
    save(found, tmp_path / "filter.tamiz")
    again = load(tmp_path / "filter.tamiz")
    assert again.determined_by_ == found.determined_by_
    np.testing.assert_array_equal(again.transform(X[:, :10]), found.transform(X[:, :10]))


def test_bad_parameters_are_refused():
    for parameters, message in (
        ({"measure": "spearman"}, "measure must be"),
        ({"threshold": 0}, "threshold must be above 0"),
        ({"threshold": 1.5}, "threshold must be at most 1"),
        ({"relevance": "nothing"}, "nothing"),
    ):
        with pytest.raises(ValueError, match=message):
            RedundancyFilter().set_params(**parameters).fit(load_iris().data)


@pytest.mark.parametrize("measure", ["pearson", "linear"])
def test_two_rows_determine_every_number_which_is_a_warning(measure):
    message = (
        r"with probability 1, because there are 2 rows; 11 dropped columns are determined by one kept column\. Use more"
    )
    with pytest.warns(TamizWarning, match=message):
        assert RedundancyFilter(measure).fit(np.random.default_rng(0).normal(size=(2, 12))).support_.sum() == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("measure", "n_rows"), [("pearson", 4), ("linear", 5), ("symmetric_uncertainty", 6), ("symmetric_uncertainty", 7)]
)
def test_the_chance_that_noise_is_dropped_for_one_kept_column_is_that_of_a_simulation(measure, n_rows):
    kept, *noise = np.random.default_rng(3).normal(size=(301, n_rows))
    fitted = RedundancyFilter(measure, threshold=0.9)
    with pytest.warns(TamizWarning, match="1 dropped column is determined by one kept column") as caught:
        fitted.fit(np.column_stack([kept, 2 * kept]))
    stated = float(str(caught[0].message).split("probability ")[1].split(",")[0])
    with capture_warnings():
        share = np.mean([not fitted.fit(np.column_stack([kept, column])).support_[1] for column in noise])
    assert stated == pytest.approx(share, abs=0.06)


def test_pairs_of_many_rows_are_no_warning():
    X = np.random.default_rng(0).normal(size=(30, 20))
    for measure in ("pearson", "linear", "symmetric_uncertainty"):
        assert RedundancyFilter(measure).fit(np.column_stack([X, X[:, 0]])).determined_by_ == {"x20": ("x0",)}


def test_one_row_of_positive_weight_is_refused():
    # Every column would be constant, and dropped.
    with pytest.raises(DataError, match=r"The table has 1 sample \(row\); at least 2 are needed"):
        RedundancyFilter().fit(np.eye(3), sample_weight=[0, 2, 0])

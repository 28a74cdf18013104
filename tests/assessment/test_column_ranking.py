"""`tamiz.rank`: the scores of `RankSelector`, what is kept, intervals, frames, charts, and refusals."""

import importlib.util
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.stats import f_oneway
from sklearn.datasets import load_breast_cancer, load_iris

import tamiz
from tamiz import RankSelector
from tamiz.assessment import ranking_stability
from tamiz.criteria import FisherScore, IndependenceTest, LaplacianScore
from tamiz.exceptions import DataError
from tamiz.graphs import Binary, KNearest, row_graph
from tamiz.runtime.user_warnings import collect_warnings


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True, as_frame=True)


def test_scores_and_order_are_those_of_the_selector_and_of_the_f_statistic(iris):
    X, y = iris
    found = tamiz.rank(X, y, "fisher-score", n_features=2)
    expected = RankSelector(FisherScore(), n_features=2).fit(X, y)
    assert found.columns == tuple(X.columns[expected.ranking_])
    assert found.scores == tuple(expected.scores_[expected.ranking_].tolist())
    assert [name for name, kept in zip(found.columns, found.kept, strict=True) if kept] == list(
        found.selector.get_feature_names_out()
    )
    # The variance between the classes over that within them.
    ratio = f_oneway(*(X[y == k] for k in range(3))).statistic * 2 / 147
    np.testing.assert_allclose(found.scores, np.sort(ratio / (1 + ratio))[::-1])


@pytest.mark.parametrize("convert", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_frames_of_every_library_have_one_ranking_and_return_frames(iris, convert):
    X, y = iris
    found = tamiz.rank(convert(X), y.to_numpy(), n_features=2)
    expected = tamiz.rank(tamiz.open_table(X.assign(kind=y.map(str)), "kind"), n_features=2)
    assert (found.columns, found.scores, found.kept) == (expected.columns, expected.scores, expected.kept)
    in_pandas = found.to_frame("pandas")
    assert in_pandas.columns.tolist() == ["column", "score", "kept"]
    assert in_pandas["kept"].tolist() == [True, True, False, False]
    for frame, kind in ((found.to_frame("polars").to_pandas(), pl), (found.to_frame("pyarrow").to_pandas(), pa)):
        pd.testing.assert_frame_equal(frame, in_pandas, check_dtype=kind is pl)


def test_the_default_frame_is_of_pandas_or_of_pyarrow_without_it(iris, monkeypatch):
    found = tamiz.rank(*iris)
    assert isinstance(found.to_frame(), pd.DataFrame)
    monkeypatch.setattr("tamiz.runtime.result_tables.find_spec", lambda name: importlib.util.find_spec(f"no_{name}"))
    assert isinstance(found.to_frame(), pa.Table)
    with pytest.raises(ValueError, match="library must be one of 'pandas', 'polars', 'pyarrow', got 'arrow'"):
        found.to_frame("arrow")


def test_fdr_keeps_what_the_adjusted_p_values_allow():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    X = pd.DataFrame(rng.normal(size=(200, 20)), columns=[f"x{j}" for j in range(20)])
    X["x3"] += y
    found = tamiz.rank(X, y, fdr=0.05, correction="holm")
    assert (found.relevance, found.to_dict()["correction"]) == ("independence-test", "holm")
    assert found.columns[0] == "x3"
    assert found.kept == tuple(p <= 0.05 for p in found.adjusted_p_values)
    # Holm's p-value of the smallest of m is m times as large.
    assert found.adjusted_p_values[0] == pytest.approx(20 * found.p_values[0])
    expected = RankSelector(IndependenceTest(), fdr=0.05, correction="holm").fit(X, y)
    assert found.p_values[0] == expected.p_values_[3]


def test_intervals_of_the_ranks_are_those_of_ranking_stability(iris):
    X, y = iris
    found = tamiz.rank(X, y, FisherScore(), n_features=2, n_bootstrap=30)
    expected = ranking_stability(X, y, FisherScore(), n_bootstrap=30, top=2)
    frame = found.to_frame("pandas").set_index("column").loc[list(expected.names)]
    np.testing.assert_array_equal(frame["rank"], expected.ranks)
    np.testing.assert_array_equal(frame[["rank_low", "rank_high"]], expected.rank_intervals)
    np.testing.assert_array_equal(frame["top_share"], expected.top_shares)
    assert expected.method in repr(found)


def test_more_columns_than_there_are_keep_all(iris):
    assert tamiz.rank(*iris, n_features=9).kept == (True,) * 4
    assert sum(tamiz.rank(*iris, n_features=0.5).kept) == 2


def test_a_graph_may_be_named_and_is_the_same_as_its_builder(iris):
    X, _ = iris
    graph = KNearest(5, weight=Binary(), metric="seuclidean")
    named, built = (tamiz.rank(X, graph=one) for one in ("knn:5", graph))
    expected = RankSelector(LaplacianScore(graph=graph)).fit(X).scores_
    assert named.relevance == "laplacian-score"
    assert named.scores == built.scores == tuple(np.sort(expected)[::-1].tolist())


@pytest.mark.filterwarnings("ignore:TZ502")
def test_the_default_graph_of_a_long_table_joins_a_sample_with_a_warning(monkeypatch):
    monkeypatch.setattr(row_graph, "_MAX_GRAPH_ROWS", 2100)
    found = tamiz.rank(np.random.default_rng(0).normal(size=(2300, 2)), relevance="laplacian-score")
    assert any(one.code == "TZ502" and "joins 2,100 of the 2,300 rows" in one for one in found.warnings)


@pytest.mark.filterwarnings("ignore:TZ203", "ignore:TZ204")
def test_notes_are_in_the_result_and_reach_an_outer_collection(iris):
    X, y = iris
    table = X.assign(row_id=np.arange(len(X)))
    with collect_warnings() as messages:
        found = tamiz.rank(table, y)
    assert "row_id" not in found.columns
    assert [one for one in found.warnings if one.code == "TZ203"] == [one for one in messages if one.code == "TZ203"]
    assert any("row_id (it is a row number)" in one for one in found.warnings)
    assert found.to_dict()["warnings"] == [one.to_dict() for one in found.warnings]


def test_missing_values_may_be_a_category_for_a_name_and_the_default():
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    gone = (y == 1) & (rng.random(300) < 0.8)
    gaps = pd.DataFrame({"a": np.where(gone, None, "word"), "b": rng.permutation(y).astype(str)})
    found = [tamiz.rank(gaps, y, missing=rule).to_frame("pandas") for rule in ("distribute", "category")]
    shared, own = (frame.set_index("column")["score"] for frame in found)
    assert own["a"] > 0.4 > 0.1 > shared["a"]


def test_a_notebook_shows_the_best_twenty_columns_and_text_shows_thirty():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = pd.concat([X, np.round(X, 1).add_prefix("rounded ")], axis=1)
    found = tamiz.rank(X, y, n_features=7)
    html = found._repr_html_()
    svg = ElementTree.fromstring(html[html.index("<svg") : html.index("</svg>") + 6])
    texts = [text.text for text in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert [name for name in texts if name in X.columns] == list(found.columns[:20])
    assert "the first 20 of 60 columns" in texts
    lines = repr(found).splitlines()
    assert lines[0] == "Ranking of 60 columns by Information gain (bits): 7 kept"
    assert [line.split()[-1] for line in lines[2:10]] == ["yes"] * 7 + ["no"]
    assert lines[-1] == "and 30 more columns"


@pytest.mark.filterwarnings("ignore:TZ203")
def test_a_table_without_a_column_to_rank_has_an_empty_ranking():
    frame = pd.DataFrame({"id": [f"n{k}" for k in range(30)], "y": ["a", "b"] * 15})
    found = tamiz.rank(tamiz.open_table(frame, "y", kinds={"id": "id"}))
    assert (found.columns, found.kept) == ((), ())
    assert "<svg" not in found._repr_html_()


@pytest.mark.parametrize(
    ("arguments", "kind", "sentence"),
    [
        ({"relevance": "gain-rato"}, ValueError, "'gain-rato' is no relevance"),
        ({"relevance": "entropy", "fdr": 0.05}, ValueError, "fdr needs p-values, and Entropy has none"),
        ({"relevance": "gain-ratio", "graph": "knn:5"}, ValueError, "GainRatio uses no graph"),
        (
            {"relevance": LaplacianScore(graph=KNearest(3)), "graph": "knn:5"},
            ValueError,
            "has its own: leave out graph",
        ),
        ({"graph": "knn:2.5"}, ValueError, "knn requires a whole number, such as knn:15, got 2.5"),
        ({"graph": "kn:5"}, ValueError, "'kn' is no graph .did you mean 'knn'"),
        ({"n_features": 0}, ValueError, "n_features must be"),
        ({"n_bootstrap": 1}, ValueError, "n_bootstrap must be"),
        ({"correction": "none"}, ValueError, "correction must be one of"),
        ({"y": None, "relevance": "fisher-score"}, DataError, "FisherScore requires y to be passed"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_name(iris, arguments, kind, sentence):
    X, y = iris
    with pytest.raises(kind, match=sentence):
        tamiz.rank(**{"X": X, "y": y, **arguments})

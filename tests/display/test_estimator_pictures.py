"""What a notebook shows of a fitted estimator, below scikit-learn's diagram."""

import numpy as np
import pytest
from matplotlib import pyplot
from sklearn import config_context
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline

from tamiz import RankSelector, RedundancyFilter, SubsetSelector
from tamiz.reduction import PCA


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True, as_frame=True)


def test_a_selector_shows_its_columns_and_its_scores_or_merit(iris):
    X, y = iris
    ranked = RankSelector("fisher-score", n_features=2).fit(X, y)
    for html in (ranked._repr_mimebundle_()["text/html"], ranked._repr_html_()):
        assert "2 of 4 columns selected: petal length (cm), petal width (cm)." in html
        assert html.count("<svg") == 1
        assert ">sepal width (cm)</text>" in html
    searched = SubsetSelector().fit(X, y)
    html = searched._repr_mimebundle_()["text/html"]
    assert f"CFS {searched.merit_:.4g} by best-first search, {searched.n_evaluations_} evaluations" in html
    assert ">Columns in the set</text>" in html
    assert pyplot.get_fignums() == []


def test_a_selector_without_a_chart_shows_its_columns(iris):
    X, _ = iris
    html = RedundancyFilter(threshold=0.95).fit(X)._repr_mimebundle_()["text/html"]
    assert "3 of 4 columns selected" in html
    assert "Dropped: petal width (cm) (determined by petal length (cm), association 0.9629)." in html
    assert "<figure>" in html
    assert 'role="img"' not in html


def test_a_map_shows_at_most_5_000_rows(iris):
    X, _ = iris
    assert "<p>PCA of 150 rows.</p>" in PCA().fit(X)._repr_mimebundle_()["text/html"]
    html = PCA().fit(np.random.default_rng(0).normal(size=(6000, 3)))._repr_mimebundle_()["text/html"]
    assert "<p>PCA of 5,000 of its 6,000 rows.</p>" in html
    assert len(html) < 300_000


def test_nothing_is_added_to_an_unfitted_estimator_a_map_without_rows_and_plain_text(iris):
    X, _ = iris
    for estimator in (PCA(), SubsetSelector(), PCA(1).fit_covariance(np.eye(2), mean=[0, 0])):
        assert "<figure>" not in estimator._repr_mimebundle_()["text/html"]
    with config_context(display="text"):
        assert list(PCA().fit(X)._repr_mimebundle_()) == ["text/plain"]
    assert "<figure>" not in make_pipeline(PCA(), PCA(1)).fit(X)._repr_html_()

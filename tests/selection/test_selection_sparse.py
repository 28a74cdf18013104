"""Selectors have the same results for sparse and dense matrices."""

from typing import ClassVar

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import LinearSVC

from tamiz import RankSelector, SubsetSelector, criteria, open_table, selection_report
from tamiz.criteria import CFS, CrossValidated, LaplacianScore, PermutationImportance, laplacian_score
from tamiz.graphs import KNearest
from tamiz.reduction import LaplacianEigenmaps
from tamiz.search import Forward

RELEVANCES = [entry.name for entry in criteria.registry.of_kind("relevance")]


def words(n=120, n_words=40):
    """Counts of words in two kinds of text: the first five words come mostly in the second kind."""
    rng = np.random.default_rng(5)
    kind = np.arange(n) % 2
    counts = rng.poisson(0.15, (n, n_words))
    counts[:, :5] += rng.poisson(0.7, (n, 5)) * kind[:, None]
    return counts.astype(np.float64), np.where(kind, "sport", "trade")


@pytest.mark.filterwarnings("ignore:.*(the place in the table decided|is arbitrary)")
@pytest.mark.parametrize("name", RELEVANCES)
def test_scores(name):
    table, y = words()
    dense, from_sparse = (RankSelector(name, n_features=5).fit(X, y) for X in (table, sparse.csr_array(table)))
    # The Laplacian score and SPEC add up the numbers that are not 0, and they alone.
    rtol = 1e-12 if name in ("laplacian_score", "spec") else 0
    np.testing.assert_allclose(from_sparse.scores_, dense.scores_, rtol=rtol)
    kept = from_sparse.transform(sparse.csr_array(table))
    assert sparse.issparse(kept)
    np.testing.assert_array_equal(kept.toarray(), dense.transform(table))


@pytest.mark.parametrize(
    "merit",
    [
        CFS(),
        CFS(convention="weka"),
        *(
            CrossValidated(model, cv=3)
            for model in (
                "naive_bayes",
                "knn",
                LogisticRegression(),
                BernoulliNB(),
                GaussianNB(),
                make_pipeline(MaxAbsScaler(), LinearSVC()),
            )
        ),
    ],
    ids=str,
)
def test_subsets(merit):
    table, y = words()
    table = table[:, :5]
    dense, from_sparse = (SubsetSelector(merit, Forward()).fit(X, y) for X in (table, sparse.csc_array(table)))
    np.testing.assert_array_equal(from_sparse.get_support(), dense.get_support())
    assert from_sparse.merit_ == dense.merit_


class RecordsSparsity(ClassifierMixin, BaseEstimator):
    """A classifier that records whether its rows were sparse, for all clones."""

    seen: ClassVar[list[bool]] = []

    def __init__(self, *, sparse=False):
        self.sparse = sparse

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.sparse
        return tags

    def fit(self, X, y):
        self.seen.append(sparse.issparse(X))
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        self.seen.append(sparse.issparse(X))
        return self.classes_[np.zeros(X.shape[0], dtype=int)]

    def predict_proba(self, X):
        self.seen.append(sparse.issparse(X))
        return np.tile([0.6, 0.4], (X.shape[0], 1))


@pytest.mark.parametrize("accepts", [False, True])
@pytest.mark.parametrize(
    "select",
    [
        lambda model, X, y: SubsetSelector(CrossValidated(model, cv=2), Forward(), n_features=1).fit(X, y),
        lambda model, X, y: RankSelector(PermutationImportance(model, cv=2, n_repeats=2)).fit(X, y),
        lambda model, X, y: selection_report(
            RankSelector("fisher", n_features=2),
            X,
            y,
            model=model,
            scoring="accuracy",
            n_splits=2,
            n_permutations=2,
        ),
    ],
    ids=["wrapper", "permutation", "report"],
)
def test_an_estimator_receives_sparse_rows_where_its_tags_accept_them(select, accepts):
    table, y = words(40, 6)
    RecordsSparsity.seen.clear()
    select(RecordsSparsity(sparse=accepts), sparse.csr_array(table), y)
    assert RecordsSparsity.seen
    assert set(RecordsSparsity.seen) == {accepts}


def test_a_wrapper_scores_what_scikit_learn_scores():
    table, y = words()
    from_sparse = sparse.csr_array(table)
    selector = SubsetSelector(CrossValidated(BernoulliNB(), cv=StratifiedKFold(4)), Forward(), n_features=3).fit(
        from_sparse, y
    )
    assert (
        selector.merit_
        == cross_val_score(BernoulliNB(), from_sparse[:, selector.get_support()], y, cv=StratifiedKFold(4)).mean()
    )


def test_permutation_importance():
    table, y = words()
    for model in (BernoulliNB(), GaussianNB()):
        relevance = PermutationImportance(model, n_repeats=3, random_state=0)
        dense, from_sparse = (RankSelector(relevance).fit(X, y) for X in (table, sparse.csr_array(table)))
        np.testing.assert_array_equal(from_sparse.scores_, dense.scores_)
        assert from_sparse.scores_[:5].min() > np.median(from_sparse.scores_)


@pytest.mark.filterwarnings("ignore:.*(the place in the table decided|is arbitrary)")
def test_text_in_a_pipeline():
    texts = [
        "the team won the cup",
        "shares fell as rates rose",
        "a goal in the last minute",
        "the bank cut its rates",
    ] * 5
    y = ["sport", "trade"] * 10
    model = make_pipeline(TfidfVectorizer(), RankSelector("information-gain", n_features=4), LinearSVC()).fit(texts, y)
    assert model.score(texts, y) == 1
    chosen = model[0].get_feature_names_out()[model[1].get_support()]
    assert "rates" in chosen


def test_the_graph_of_a_wide_sparse_table_is_that_of_its_rows():
    rng = np.random.default_rng(2)
    from_sparse = sparse.random_array((300, 2_000), density=0.01, random_state=rng, format="csr")
    scores = RankSelector(LaplacianScore(graph=KNearest(5))).fit(from_sparse).scores_
    np.testing.assert_allclose(
        scores, 1 - laplacian_score(from_sparse, KNearest(5).build(from_sparse.toarray())), rtol=1e-9
    )
    mapped = LaplacianEigenmaps(2, disconnected="connect", graph=KNearest(5)).fit(open_table(from_sparse))
    np.testing.assert_array_equal(mapped.transform(open_table(from_sparse[:4])), mapped.transform(from_sparse[:4]))

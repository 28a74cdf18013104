"""No estimator lets warnings of numpy about overflow or invalid operations through to the user."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from tamiz import MixedNB, RankSelector, SubsetSelector, cluster, criteria, reduction
from tamiz.criteria import CFS, CrossValidated
from tamiz.error_control import KnockoffSelector
from tamiz.exceptions import DataError
from tamiz.reduction import MDS, PCA, Autoencoder, ClassicalMDS, StochasticMDS
from tamiz.search import Exhaustive, Forward

N = 24
NORMAL = np.random.default_rng(0).normal(size=(N, 3))
HALVES = np.arange(N) % 2
NUMBER = NORMAL[:, 0] + np.random.default_rng(1).normal(size=N)
TABLES = {
    "a constant column": (np.column_stack([NORMAL, np.full(N, 3.0)]), HALVES),
    "constant columns only": (np.full((N, 3), 2.0), HALVES),
    "constant within the classes": (np.column_stack([HALVES * 1.0, NORMAL[:, 0], HALVES * 2.0 + 1]), HALVES),
    "too large to be squared": (np.column_stack([NORMAL, np.sign(NORMAL[:, 0]) * 1e308]), HALVES),
    "nearly too large": (NORMAL * 2.5e148, HALVES),
    "nearly too large, float32": ((NORMAL * 2.5e37).astype(np.float32), HALVES),
    "squares of 0": (NORMAL * 1e-200, HALVES),
    "denormal": (NORMAL * 1e-320, HALVES),
    "denormal, float32": ((NORMAL * 1e-44).astype(np.float32), HALVES),
    "large and small": (NORMAL * [1e149, 1e-320, 1.0], HALVES),
    "one row a class": (NORMAL[:6], np.arange(6)),
    "one row of a class": (NORMAL, np.arange(N) == 0),
    "categories": (pd.DataFrame({"a": HALVES, "b": ["z"] * N, "c": NORMAL[:, 0] * 1e149}), HALVES),
    "a large number as the target": (NORMAL, NUMBER * 1e149),
    "a small number as the target": (NORMAL, NUMBER * 1e-320),
    "large columns for a number": (NORMAL * 2.5e148, NUMBER),
}
NEW = (NORMAL * 2.5e148, NORMAL * 1e-320, np.zeros((N, 3)))
MODELS = (GaussianNB(), MixedNB(), KNeighborsClassifier(2), LinearDiscriminantAnalysis(), Ridge(), "ridge")
ESTIMATORS = {
    **{entry.name: RankSelector(entry.load()()) for entry in criteria.registry.of_kind("relevance")},
    **{
        f"CFS by {convention}": SubsetSelector(CFS(convention=convention), Exhaustive())
        for convention in ("hall", "weka")
    },
    **{
        f"wrapper of {model}": SubsetSelector(CrossValidated(model, cv=2), Forward(), random_state=0)
        for model in MODELS
    },
    "wrapper by areas": SubsetSelector(CrossValidated(MixedNB(), cv=2, scoring="roc_auc"), Forward(), random_state=0),
    "knockoffs": KnockoffSelector(random_state=0),
    "MixedNB": MixedNB(),
    **{entry.name: entry.load()() for entry in reduction.registry.of_kind("map")},
    "autoencoder": Autoencoder(max_epochs=20),
    "whitened": PCA(2, standardize=True, whiten=True),
    "ordinal": MDS(2, kind="ordinal"),
    "city block": MDS(2, dissimilarity="cityblock"),
    "standardised": StochasticMDS(2, dissimilarity="seuclidean", random_state=0),
    "corrected": ClassicalMDS(2, dissimilarity="cityblock", correction="cailliez"),
    **{entry.name: entry.load()(2) for entry in cluster.registry if isinstance(entry.load(), type)},
}


def use(fitted, X, sentences):
    """Call every prediction method on rows, and collect the messages of errors."""
    for method in ("predict", "predict_proba", "transform"):
        if hasattr(fitted, method):
            try:
                found = getattr(fitted, method)(X)
            except ValueError as error:
                sentences.append(str(error))
                continue
            if getattr(found, "dtype", np.dtype(object)).kind == "f":
                assert np.isfinite(found).all()


LONG = ("tsne", "umap", "ica", "knockoffs", "permutation_importance", "standardised", "wrapper by areas")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in ESTIMATORS]
)
def test_no_warning_of_numpy_leaves_an_estimator(name):
    n_fitted, sentences = 0, []
    for X, y in TABLES.values():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", RuntimeWarning)
            warnings.filterwarnings("error", message=".*encountered in")
            try:
                fitted = clone(ESTIMATORS[name]).fit(X, y)
            except ValueError as error:
                sentences.append(str(error))
                continue
            n_fitted += 1
            for rows in (X, *(new for new in NEW if fitted.n_features_in_ == 3)):
                use(fitted, rows, sentences)
    # Models for a numeric target accept at least the tables with one.
    assert n_fitted >= 3
    # Errors that were made of warnings have these words.
    assert not [sentence for sentence in sentences if "encountered in" in sentence]


def test_a_row_far_beyond_all_others_has_no_place_and_is_named():
    # Squared differences divided by a variance of 1e-88 overflow.
    small = (NORMAL * 1e-44).astype(np.float32)
    rows = np.vstack([small[:2], [[1e149, 0, 0]]])
    for map_ in (ClassicalMDS(2, dissimilarity="cityblock"), MDS(2, dissimilarity="seuclidean")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = map_.fit(small)
            with pytest.raises(DataError, match=r"^The coordinates of row 2 overflow, .* Remove the row"):
                fitted.transform(rows)


def test_a_row_far_beyond_all_classes_has_equal_probabilities():
    small = (NORMAL * 1e-44).astype(np.float32)
    fitted = MixedNB().fit(small, HALVES)
    probabilities = fitted.predict_proba(np.vstack([small[:1], [[1e149, 1e149, 1e149]]]))
    assert probabilities[1].tolist() == [0.5, 0.5]
    assert probabilities[0].sum() == pytest.approx(1.0)


def test_weka_correlations_do_not_depend_on_the_unit():
    X, y = np.column_stack([NORMAL, NORMAL[:, 0] + NORMAL[:, 1] / 2]), NUMBER
    found = [
        SubsetSelector(CFS(convention="weka"), Exhaustive()).fit(X * unit, y * unit)
        for unit in (1.0, 2.0**480, 2.0**-400)
    ]
    assert len({tuple(one.get_support()) for one in found}) == 1
    assert len({one.merit_ for one in found}) == 1

"""Fitted estimators in files of skops, which creates trusted types only."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import check_is_fitted

import tamiz
from tamiz import cluster, error_control, reduction
from tamiz.criteria import CFS, CrossValidated, FisherScore, InformationGain
from tamiz.graphs import KNearest
from tamiz.neighbors import KDTree
from tamiz.reduction import Autoencoder, LaplacianEigenmaps

skops = pytest.importorskip("skops.io", reason="skops is not installed")

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4))
Y = np.repeat(["a", "b"], 30)
X[:, 2] += 2 * (Y == "a")
MIXED = pd.DataFrame(
    {"size": np.where(rng.random(60) < 0.2, np.nan, X[:, 2]), "colour": list("rgb") * 20, "y": X[:, 1]}
)
OWN_SETTINGS = {
    "RankSelector": lambda: tamiz.RankSelector(InformationGain(), n_features=2),
    "SubsetSelector": lambda: tamiz.SubsetSelector(CFS()),
    "SizeSearchCV": lambda: tamiz.SizeSearchCV(tamiz.RankSelector(FisherScore()), LogisticRegression()),
    "BorutaSelector": lambda: error_control.BorutaSelector(max_iter=5, random_state=0),
    "Autoencoder": lambda: Autoencoder(hidden_sizes=(4,), max_epochs=5),
}
MODELS = {
    **{
        entry.attribute: OWN_SETTINGS.get(entry.attribute, entry.load())
        for package in (tamiz, cluster, error_control, reduction)
        for entry in package.registry
        if entry.kind in ("estimator", "selector", "map", "clusterer") and hasattr(entry.load(), "fit")
    },
    "wrapper": lambda: tamiz.SubsetSelector(CrossValidated(LogisticRegression())),
    "k-d tree": lambda: LaplacianEigenmaps(graph=KNearest(12, search=KDTree())),
    "Gower": lambda: LaplacianEigenmaps(graph=KNearest(12, metric="gower")),
}


@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
@pytest.mark.parametrize("table", [X, pytest.param(MIXED, marks=pytest.mark.slow)], ids=["array", "mixed"])
@pytest.mark.parametrize("name", MODELS)
def test_every_estimator_comes_back_from_trusted_types(name, table):
    model = MODELS[name]()
    try:
        model.fit(table, Y)
    except (tamiz.exceptions.DataError, ValueError) as error:
        pytest.skip(f"not for this table: {error}")
    file = skops.dumps(model)
    assert set(skops.get_untrusted_types(data=file)) <= set(tamiz.skops_trusted_types())
    loaded = skops.loads(file, trusted=tamiz.skops_trusted_types())
    check_is_fitted(loaded)
    for method in ("transform", "predict_proba"):
        if hasattr(model, method):
            before, after = (pd.DataFrame(getattr(one, method)(table)) for one in (model, loaded))
            pd.testing.assert_frame_equal(before, after, check_exact=True)

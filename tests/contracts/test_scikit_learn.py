"""Every public estimator keeps scikit-learn's manners, by scikit-learn's own checks."""

import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from tamiz import RankSelector, SubsetSelector
from tamiz.cluster import SpectralClustering
from tamiz.cluster import registry as clusters
from tamiz.criteria import CFS, CrossValidated
from tamiz.criteria import registry as criteria
from tamiz.reduction import PCA, LaplacianEigenmaps
from tamiz.reduction import registry as reduction
from tamiz.search import Evaluations, Forward
from tamiz.search import registry as searches

# One that adds up, one that is refitted, one that looks for neighbours.
MODELS = (GaussianNB(), DecisionTreeClassifier(max_depth=2, random_state=0), "knn")
ESTIMATORS = [
    *(RankSelector(entry.load()()) for entry in criteria.of_kind("relevance")),
    *(SubsetSelector(CFS(), entry.load()()) for entry in searches.of_kind("search")),
    SubsetSelector(CFS(convention="weka"), Forward(), n_features=1, stop=Evaluations(50)),
    *(SubsetSelector(CrossValidated(model, cv=2), Forward(), stop=Evaluations(5)) for model in MODELS),
    *(entry.load()() for entry in reduction.of_kind("map") if entry.name != "laplacian_eigenmaps"),
    *(PCA(1, missing=missing) for missing in ("pairwise", "iterative")),
    *(PCA(1, solver=solver) for solver in ("svd", "randomized")),
    # One of the checks fits on iris, whose graph of neighbours is in two pieces: an error unless something is said of that.
    LaplacianEigenmaps(disconnected="connect"),
    LaplacianEigenmaps(disconnected="per_component"),
    *(entry.load()() for entry in clusters.of_kind("clustering")),
    SpectralClustering(2, assign="cluster_qr"),
]


@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learns_check(estimator, check):
    check(estimator)

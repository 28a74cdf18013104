"""fit accepts exactly the inputs that the tags of an estimator declare."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils import get_tags

from tamiz import RankSelector
from tamiz.cluster import SpectralClustering
from tamiz.criteria import PermutationImportance
from tamiz.graphs import ConnectedRadius, KNearest, Radius
from tamiz.neighbors.metrics import METRICS
from tamiz.reduction import MDS, ClassicalMDS, Isomap, LandmarkMDS, LaplacianEigenmaps, StochasticMDS
from tamiz.reduction.stochastic_mds import KERNEL_METRICS

from .test_scikit_learn import ESTIMATORS, VARIANTS

MEASURED = [
    *(cls(dissimilarity=name) for cls in (ClassicalMDS, LandmarkMDS) for name in [*METRICS, "similarity"]),
    *(MDS(dissimilarity=name, max_iter=5, random_state=0, tol=1.0) for name in [*METRICS, "similarity"]),
    *(StochasticMDS(dissimilarity=name, n_rounds=5, tol=10.0) for name in KERNEL_METRICS),
    *(LaplacianEigenmaps(graph=KNearest(5, metric=name), disconnected="connect") for name in METRICS),
    *(LaplacianEigenmaps(1, graph=Radius(100.0, metric=name)) for name in METRICS),
    *(LaplacianEigenmaps(graph=ConnectedRadius(metric=name)) for name in METRICS),
    *(Isomap(graph=KNearest(5, metric=name), disconnected="connect") for name in METRICS),
    *(SpectralClustering(2, graph=KNearest(5, metric=name)) for name in METRICS),
]
SCORED = [
    *(RankSelector(PermutationImportance(LogisticRegression(), cv=2, encode=encode)) for encode in (True, "auto")),
    RankSelector(PermutationImportance("logistic", cv=2)),
]
ROWS, CLASSES = np.abs(np.random.default_rng(0).normal(size=(40, 5))).round(2), np.arange(40) % 2


def table_of(estimator):
    """Rows, distances or similarities, as the tags and parameters of the estimator require."""
    if not get_tags(estimator).input_tags.pairwise:
        return ROWS
    return ROWS @ ROWS.T if estimator.get_params().get("dissimilarity") == "similarity" else cdist(ROWS, ROWS)


def fits(estimator, X):
    try:
        clone(estimator).fit(X, CLASSES)
    except (ValueError, TypeError):
        return False
    return True


@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
@pytest.mark.parametrize(
    "estimator",
    [*ESTIMATORS, *(pytest.param(variant, marks=pytest.mark.slow) for variant in VARIANTS), *MEASURED, *SCORED],
    ids=repr,
)
def test_sparse_rows_missing_values_and_distances_are_accepted_as_the_tags_declare(estimator):
    tags, X = get_tags(estimator).input_tags, table_of(estimator)
    assert fits(estimator, X)
    assert fits(estimator, sparse.csr_array(X)) == tags.sparse
    incomplete = X.copy()
    incomplete[2, 3] = incomplete[3, 2] = np.nan
    assert fits(estimator, incomplete) == tags.allow_nan
    # A matrix that is not square cannot be distances.
    assert fits(estimator, X[:, :4]) != tags.pairwise

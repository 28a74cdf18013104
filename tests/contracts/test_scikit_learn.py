"""Every public estimator keeps scikit-learn's manners, by scikit-learn's own checks."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from tamiz import RankSelector, SubsetSelector
from tamiz.criteria import CFS
from tamiz.criteria import registry as criteria
from tamiz.reduction import registry as reduction
from tamiz.search import Evaluations, Forward
from tamiz.search import registry as searches

ESTIMATORS = [
    *(RankSelector(entry.load()()) for entry in criteria.of_kind("relevance")),
    *(SubsetSelector(CFS(), entry.load()()) for entry in searches.of_kind("search")),
    SubsetSelector(CFS(convention="weka"), Forward(), n_features=1, stop=Evaluations(50)),
    *(entry.load()() for entry in reduction.of_kind("map")),
]


@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learns_check(estimator, check):
    check(estimator)

"""Every public estimator passes the checks of scikit-learn, but for the exceptions that the documentation lists."""

import inspect
import re
from pathlib import Path

import pytest
import sklearn
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

import tamiz
from tamiz import RankSelector, RedundancyFilter, SizeSearchCV, SubsetSelector
from tamiz.cluster import SpectralClustering
from tamiz.cluster import registry as clusters
from tamiz.criteria import CFS, JMI, CrossValidated, PermutationImportance
from tamiz.criteria import registry as criteria
from tamiz.error_control import BorutaSelector, KnockoffSelector, StabilitySelector
from tamiz.models import MixedNB
from tamiz.reduction import PCA, Autoencoder, Isomap, LaplacianEigenmaps, LocallyLinearEmbedding
from tamiz.reduction import registry as reduction
from tamiz.search import Evaluations, Forward
from tamiz.search import registry as searches

# One with a fold backend, and one that is refitted; k-nearest neighbours and discriminants do not support weights.
MODELS = (GaussianNB(), DecisionTreeClassifier(max_depth=2, random_state=0))
# The other relevances share their scikit-learn interface, which is checked among the variants.
MAIN_RELEVANCES = ("laplacian_score", "relieff")
# The tables of the checks are small.
RELEVANCES = {"permutation_importance": PermutationImportance(cv=2)}
# Recursive elimination needs a merit with importances.
MERITS = {"recursive_elimination": CrossValidated("gaussian_nb", cv=2)}
# A short training.
MAPS = {"autoencoder": Autoencoder(hidden_sizes=(8,), max_epochs=10)}
RANKINGS = {
    entry.name: RankSelector(RELEVANCES.get(entry.name, entry.load()())) for entry in criteria.of_kind("relevance")
}
ESTIMATORS = [
    *(RANKINGS[name] for name in MAIN_RELEVANCES),
    RankSelector(),
    SubsetSelector(),
    SubsetSelector(CrossValidated(MODELS[0], cv=2), Forward(), stop=Evaluations(5)),
    SizeSearchCV(SubsetSelector(CFS(), Forward()), GaussianNB(), cv=2, sizes=[1], rule="one_standard_error"),
    RedundancyFilter(),
    MixedNB(),
    BorutaSelector(),
    StabilitySelector(n_features=2, n_pairs=5),
    KnockoffSelector("tree-importance", random_state=0),
    *(MAPS.get(entry.name, entry.load()()) for entry in reduction.of_kind("map")),
    *(entry.load()() for entry in clusters.of_kind("clustering")),
]
# The same classes with other parameters.
VARIANTS = [
    *(ranking for name, ranking in RANKINGS.items() if name not in MAIN_RELEVANCES),
    *(SubsetSelector(MERITS.get(entry.name, CFS()), entry.load()()) for entry in searches.of_kind("search")),
    SubsetSelector("cfs", "best-first:backward"),
    SubsetSelector(JMI(), Forward(), n_features=1),
    SubsetSelector(CFS(convention="weka"), Forward(), n_features=1, stop=Evaluations(50)),
    SubsetSelector(CrossValidated(MODELS[1], cv=2), Forward(), stop=Evaluations(5)),
    *(SizeSearchCV(RankSelector(), model, cv=2) for model in MODELS),
    *(RedundancyFilter(measure) for measure in ("pearson", "linear", "symmetric_uncertainty")),
    RedundancyFilter(relevance="symmetric-uncertainty"),
    BorutaSelector("information-gain", max_iter=5),
    StabilitySelector(SubsetSelector(CFS(), Forward()), n_features=1, n_pairs=2),
    KnockoffSelector(random_state=0),
    KnockoffSelector("tree-importance", n_draws=2, method="equicorrelated", random_state=0),
    *(PCA(1, missing=missing) for missing in ("pairwise", "iterative")),
    *(PCA(1, solver=solver) for solver in ("svd", "randomized")),
    *(LaplacianEigenmaps(disconnected=handled) for handled in ("connect", "per_component")),
    *(Isomap(disconnected=handled) for handled in ("connect", "per_component")),
    # Two of the checks have too few distinct rows for the neighbourhoods of "hessian" and "ltsa".
    LocallyLinearEmbedding(1, disconnected="per_component"),
    LocallyLinearEmbedding(1, method="modified", disconnected="per_component"),
    SpectralClustering(2, assign_labels="cluster_qr"),
]
# The table of exceptions in the documentation: an estimator, the checks that it fails, and the reason.
PAGE = Path(__file__).parents[2] / "docs" / "scikit-learn.md"
EXCEPTIONS = {
    estimator: dict.fromkeys(re.findall(r"`(check_\w+)`", checks), reason)
    for estimator, checks, reason in re.findall(
        r"^\| `(.*)` \| (`check_.*) \| (.*) \|$", PAGE.read_text("utf-8"), re.MULTILINE
    )
}


def exceptions(estimator):
    """Return the checks that an estimator must fail, with their reasons."""
    failed = dict(EXCEPTIONS.get(repr(estimator), {}))
    tags = get_tags(estimator).input_tags
    if sklearn.__version__ == "1.7.0" and tags.categorical and not tags.allow_nan:
        failed["check_positive_only_tag_during_fit"] = "scikit-learn 1.7.0 subtracts a mean from whole numbers in place"
    return failed


@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=exceptions)
def test_scikit_learns_check(estimator, check):
    check(estimator)


def test_every_public_estimator_is_checked():
    registries = [
        tamiz.registry,
        *(getattr(tamiz, name).registry for name in ("cluster", "error_control", "reduction")),
    ]
    public = {entry.load() for registry in registries for entry in registry}
    estimators = {member for member in public if isinstance(member, type) and issubclass(member, BaseEstimator)}
    assert estimators == {type(estimator) for estimator in ESTIMATORS}
    assert set(EXCEPTIONS) <= set(map(repr, ESTIMATORS))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
@parametrize_with_checks(VARIANTS, expected_failed_checks=exceptions)
def test_scikit_learns_check_with_other_parameters(estimator, check):
    check(estimator)


def use(estimator, name):
    """Read a property, or call a method on two rows."""
    member = getattr(estimator, name)
    needed = [p for p in inspect.signature(member).parameters.values() if p.default is p.empty]
    return member(*([[0.0, 1.0], [1.0, 3.0]] for _ in needed))


# Methods that fit or need no fit, and class attributes.
BEFORE_FIT = (
    *("fit", "partial_fit", "get_params", "get_metadata_routing", "graph_builder", "make_evaluator", "plan", "set_"),
    *("axis_label", "quadratic_cost", "dissimilarities", "invariants", "variants", "max_study_rows", "study_settings"),
    *("default_relevance", "without_equivalents"),
)


@pytest.mark.parametrize("estimator", [*ESTIMATORS, *VARIANTS], ids=repr)
def test_methods_and_properties_of_an_unfitted_estimator_raise_not_fitted_error(estimator):
    for name in dir(type(estimator)):
        if not name.startswith(("_", *BEFORE_FIT)):
            with pytest.raises(NotFittedError):
                use(clone(estimator), name)

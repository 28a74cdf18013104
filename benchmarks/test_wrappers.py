"""Wrappers against the selectors that refit: the same folds, the same estimator, every system on two cores."""

from functools import partial

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, make_classification, make_regression
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB

from . import processes, wrapper_work

timed = partial(processes.timed, work="wrapper_work.py", patience=900, jobs=2)
SYSTEMS = ["tamiz", "scikit-learn", "mlxtend"]


def table(name):
    """Return rows, target and how many columns are asked for."""
    if name == "breast cancer":
        return *load_breast_cancer(return_X_y=True), 10
    if name == "digits":
        return *load_digits(return_X_y=True), 15
    if name == "5,000 x 100 numbers":
        return *make_regression(5000, 100, n_informative=15, noise=50.0, random_state=0), 10
    if name == "5,000 x 30":
        return *make_classification(5000, 30, n_informative=8, random_state=0), 4
    return *make_classification(5000, 100, n_informative=15, flip_y=0.1, random_state=0), 10


def forward(benchmark, tmp_path, model, name, system):
    X, y, size = table(name)
    repeats = 5 if system == "tamiz" else 1
    found = timed(benchmark, tmp_path, system=system, X=X, y=y, size=size, model=model, repeats=repeats)
    if found is not None:
        estimator = wrapper_work.MODELS[model]()
        score = cross_val_score(estimator, X[:, found["mask"]], y, cv=wrapper_work.FOLDS).mean()
        benchmark.extra_info["form"] = f"score {score:.4f}"


def of(model, *names):
    """Give a test every table and system."""
    groups = [
        pytest.param(model, name, system, marks=pytest.mark.benchmark(group=f"{model}, forward, {name}"))
        for name in names
        for system in SYSTEMS
    ]
    return pytest.mark.parametrize(("model", "name", "system"), groups)


@of("gaussian_nb", "breast cancer", "digits", "5,000 x 100")
def test_gaussian_naive_bayes(benchmark, tmp_path, model, name, system):
    forward(benchmark, tmp_path, model, name, system)


@of("knn", "breast cancer", "digits", "5,000 x 100")
def test_nearest_neighbours(benchmark, tmp_path, model, name, system):
    forward(benchmark, tmp_path, model, name, system)


@of("linear", "5,000 x 100 numbers")
def test_least_squares(benchmark, tmp_path, model, name, system):
    forward(benchmark, tmp_path, model, name, system)


@of("ridge", "5,000 x 100 numbers")
def test_ridge_regression(benchmark, tmp_path, model, name, system):
    forward(benchmark, tmp_path, model, name, system)


@of("lda", "5,000 x 100")
def test_linear_discriminants(benchmark, tmp_path, model, name, system):
    forward(benchmark, tmp_path, model, name, system)


@of("logistic", "breast cancer", "5,000 x 30")
def test_logistic_regression_is_refitted(benchmark, tmp_path, model, name, system):
    forward(benchmark, tmp_path, model, name, system)


@of("tree", "breast cancer", "5,000 x 30")
def test_a_tree_is_refitted(benchmark, tmp_path, model, name, system):
    forward(benchmark, tmp_path, model, name, system)


def rare_class(n_rows=5822, n_columns=85):
    """Small whole numbers with shared factors, as of an insurance, standardised; 6 % of the rows are of the class."""
    rng = np.random.default_rng(0)
    loadings = rng.normal(size=(12, n_columns)) * (rng.random((12, n_columns)) < 0.3)
    latent = rng.normal(size=(n_rows, 12)) @ loadings + rng.normal(size=(n_rows, n_columns))
    risk = latent[:, ::15] @ [0.5, -0.4, 0.35, 0.3, -0.3, 0.4] + rng.logistic(size=n_rows)
    X = np.clip(np.round(1.5 * latent + 3), 0, 9)
    return (X - X.mean(axis=0)) / X.std(axis=0), (risk > np.quantile(risk, 0.94)).astype(int)


@pytest.mark.parametrize(
    ("score", "system"),
    [
        pytest.param(
            k, system, marks=pytest.mark.benchmark(group=f"logistic, recursive elimination in every fold, {name}")
        )
        for k, name in wrapper_work.ELIMINATION_SCORES.items()
        for system in wrapper_work.ELIMINATION
    ],
)
def test_recursive_elimination(benchmark, tmp_path, score, system):
    X, y = rare_class()
    found = timed(benchmark, tmp_path, system=system, X=X, y=y, size=score, model="logistic", repeats=3)
    if found is not None:
        benchmark.extra_info["form"] = f"{system}: {int(found['mask'].sum())} columns"


@pytest.mark.benchmark(group="gaussian_nb, all 2^16 sets of breast cancer's first 16 columns")
def test_all_sets(benchmark, tmp_path):
    benchmark.extra_info["target_seconds"] = 5
    X, y, _ = table("breast cancer")
    timed(benchmark, tmp_path, system="tamiz", X=X[:, :16], y=y, size=0, model="gaussian_nb", repeats=3)


@pytest.mark.benchmark(group="gaussian_nb, genetic, 1,200 sets of breast cancer's columns")
@pytest.mark.parametrize("system", ["tamiz genetic", "sklearn-genetic-opt"])
def test_genetic(benchmark, tmp_path, system):
    X, y, _ = table("breast cancer")
    repeats = 5 if system.startswith("tamiz") else 1
    found = timed(benchmark, tmp_path, system=system, X=X, y=y, size=1200, model="gaussian_nb", repeats=repeats)
    score = cross_val_score(GaussianNB(), X[:, found["mask"].astype(bool)], y, cv=wrapper_work.FOLDS).mean()
    benchmark.extra_info["form"] = f"score {score:.4f}"

"""`--merit wrapper:NAME`: columns selected by the score of a model."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import Result
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB

from tamiz import open_table
from tamiz.models import registry as wrappers
from tamiz.models.folds import make_folds

COLUMNS = ("sepal_length", "sepal_width", "petal_length", "petal_width")


def score(columns: Iterable[int], n_folds: int, scoring: str = "accuracy") -> float:
    """Return the score of naive Bayes on the folds that the seed 0 shuffles."""
    X, y = load_iris(return_X_y=True)
    seed = int(np.random.default_rng(0).integers(2**31))
    folds = [(fold.train, fold.test) for fold in make_folds(open_table(X, y), n_folds, seed).splits]
    return float(cross_val_score(GaussianNB(), X[:, list(columns)], y, cv=folds, scoring=scoring).mean())


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """Numbers, categories and gaps, a class and a number that they tell of."""
    rng = np.random.default_rng(0)
    n = 120
    job = rng.choice(["baker", "miller", "smith"], n)
    age = rng.normal(40, 10, n).round(1)
    pay = age / 2 + 20 * (job == "smith") + rng.normal(0, 2, n)
    table = pd.DataFrame({"job": job, "age": age, "noise": rng.normal(size=n), "pay": pay.round(2)})
    table["class"] = np.where(pay > np.median(pay), "high", "low")
    table.loc[::17, "age"] = np.nan
    table.loc[::13, "job"] = None
    path = tmp_path / "mixed.csv"
    table.to_csv(path, index=False)
    return path


def test_a_wrapper_scores_the_model_of_its_name(tamiz: Callable[..., Result], iris: Path) -> None:
    arguments = ["select", iris, "-t", "species", "--merit", "wrapper:gaussian_nb", "--search", "exhaustive", "--json"]
    shown = json.loads(tamiz(*arguments, "-k", 2).stdout)
    columns = [list(COLUMNS).index(name) for name in shown["columns"]]
    assert len(columns) == 2
    assert shown["merit"] == pytest.approx(score(columns, 10), abs=1e-12)


def test_score_and_folds_are_options(tamiz: Callable[..., Result], iris: Path) -> None:
    arguments = ["select", iris, "-t", "species", "--merit", "wrapper:gaussian-nb", "--search", "exhaustive", "-k", 4]
    shown = json.loads(tamiz(*arguments, "--scoring", "f1_macro", "--folds", 5, "--json").stdout)
    assert shown["merit"] == pytest.approx(score(range(4), 5, "f1_macro"), abs=1e-12)


@pytest.mark.parametrize("name", [entry.name for entry in wrappers.of_kind("model")])
def test_every_model_takes_a_mixed_table_of_classes(tamiz: Callable[..., Result], mixed: Path, name: str) -> None:
    done = tamiz(
        "select", mixed, "-t", "class", "--exclude", "pay", "--merit", f"wrapper:{name}", "--search", "forward", "--folds", 3,
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    assert "job" in done.stdout.split()


@pytest.mark.parametrize("name", ["knn", "linear", "ridge", "tree", pytest.param("forest", marks=pytest.mark.slow)])
def test_models_of_numbers_take_a_mixed_table(tamiz: Callable[..., Result], mixed: Path, name: str) -> None:
    done = tamiz(
        "select", mixed, "-t", "pay", "--exclude", "class", "--merit", f"wrapper:{name}", "--search", "forward"
    )
    assert done.exit_code == 0, done.stderr
    assert set(done.stdout.split()) >= {"job", "age"}, done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--merit", "wrapper"], 2, "a wrapper needs a model: wrapper:NAME with one of gaussian-nb,"),
        (["--merit", "wrapper:gausian"], 2, "'gausian' is no model (did you mean 'gaussian-nb'?)"),
        (["--merit", "cfs", "--scoring", "r2"], 2, "use --merit wrapper:MODEL or --assess."),
        (["--scoring", "roc_auc"], 2, "use --merit wrapper:MODEL or --assess."),
        (["--scoring", "auc", "--assess"], 2, "(did you mean 'roc_auc'?)"),
        (
            ["--scoring", "roc_auc", "--assess"],
            1,
            "roc_auc scores two classes, and the target 'species' has 3; use roc_auc_ovr",
        ),
        (["--scoring", "r2", "--assess"], 1, "r2 scores numbers, and the target 'species' is classes; use accuracy,"),
        (["--merit", "wrapper:knn", "--scoring", "acuracy"], 2, "(did you mean 'accuracy'?)"),
        (["--folds", 3], 2, "--folds applies to wrappers only: use --merit wrapper:MODEL, or leave out --folds."),
        (["--merit", "knn"], 2, "'knn' is a model, not a merit; use wrapper:knn."),
        (["--merit", "kfs"], 2, "'kfs' is no merit (did you mean 'cfs'?)"),
        (["--merit", "wrapper:knn", "--folds", 1], 2, "--folds"),
    ],
)
def test_an_invalid_wrapper_is_an_error_of_one_sentence(
    tamiz: Callable[..., Result], iris: Path, arguments: list[Any], code: int, said: str
) -> None:
    done = tamiz("select", iris, "-t", "species", *arguments)
    assert done.exit_code == code
    assert said in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_naive_bayes_of_a_number_is_refused_with_the_way_out(tamiz: Callable[..., Result], mixed: Path) -> None:
    done = tamiz("select", mixed, "-t", "pay", "--merit", "wrapper:naive_bayes")
    assert done.exit_code == 1
    assert "Naive Bayes needs classes, and the target 'pay' is a number; use 'knn', 'ridge' or 'tree'." in " ".join(
        done.stderr.split()
    )


def test_a_score_of_classes_is_refused_for_a_number(tamiz: Callable[..., Result], mixed: Path) -> None:
    for more in (["--assess", "--merit", "cfs"], ["--merit", "wrapper:ridge"]):
        done = tamiz("select", mixed, "-t", "pay", "--exclude", "class", "--scoring", "accuracy", *more)
        assert done.exit_code == 1
        assert "accuracy scores classes, and the target 'pay' is a number; use r2" in " ".join(done.stderr.split())


def test_the_plan_states_whether_models_are_refitted(tamiz: Callable[..., Result], iris: Path) -> None:
    for name, said in (("gaussian_nb", "GaussianNB is not refitted"), ("tree", "is refitted for every set and fold")):
        assert said in tamiz("select", iris, "-t", "species", "--merit", f"wrapper:{name}", "--dry-run").stdout


@pytest.mark.usefixtures("few_models")
@pytest.mark.slow
def test_a_study_states_the_score_and_assesses_it_by_the_same_model(tamiz: Callable[..., Result], iris: Path) -> None:
    arguments = ["study", iris, "-t", "species", "--merit", "wrapper:gaussian_nb", "--reduce", "pca", "--assess", "-q"]
    numbers = json.loads(tamiz(*arguments, "--json", "-").stdout)
    assert numbers["subset"]["merit"]["label"] == "accuracy of Gaussian naive Bayes"
    assert "not refitted" in numbers["subset"]["scoring_note"]
    # The merit was given no score: the assessment's is its own.
    assert (numbers["assessment"]["model"], numbers["assessment"]["scoring"]) == (
        "Gaussian naive Bayes",
        "roc_auc_ovr_weighted",
    )


def test_ridge_regression_of_classes_has_its_merit_by_r2(tamiz: Callable[..., Result], iris: Path) -> None:
    done = tamiz("select", iris, "-t", "species", "--merit", "wrapper:ridge", "--search", "forward")
    assert done.exit_code == 0, done.stderr
    assert "R2 of ridge regression on the classes 0." in done.stderr
    by_score = tamiz(
        "select", iris, "-t", "species", "--merit", "wrapper:ridge", "--scoring", "accuracy", "--search", "forward"
    )
    assert "accuracy of " in by_score.stderr


def test_a_number_is_predicted_by_ridge_regression_and_a_forward_search_by_default(
    tamiz: Callable[..., Result], mixed: Path
) -> None:
    usual, named = (
        tamiz("select", mixed, "-t", "pay", "--exclude", "class", *more, "--json")
        for more in ((), ("--merit", "wrapper:ridge", "--search", "forward"))
    )
    assert usual.exit_code == 0, usual.stderr
    assert json.loads(usual.stdout)["merit_name"] == "r2 of ridge regression"
    assert json.loads(usual.stdout)["columns"] == json.loads(named.stdout)["columns"]

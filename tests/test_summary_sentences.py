"""Every sentence of a report's summary agrees with scikit-learn and plain arithmetic on the same table.

With the folder of `benchmarks/recommended_columns.py` in the variable PUBLIC_TABLES, its 24 public tables are read, too.
"""

import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine, make_classification
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.feature_selection import f_classif
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.contradictions import contradictions, public_names, read_public

import tamiz
from tamiz import open_table
from tamiz.models.folds import draw_folds
from tamiz.report import registry

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")]

DATA = Path(__file__).parents[2] / "shared" / "data"
SHARED = {
    "penguins.csv": "species",
    "Hitters.csv": "Salary",
    "College.csv": "Private",
    "diabetes.arff": "class",
    "credit-g.arff": "class",
    "cpu.arff": "class",
}
PUBLIC = os.environ.get("PUBLIC_TABLES")
BOOSTING = {"max_iter": 60, "max_leaf_nodes": 15, "learning_rate": 0.15, "early_stopping": False}
NUMBER = r"(−?\d+\.\d+)%?"


def frames():
    rng = np.random.default_rng(0)
    rare, y = make_classification(900, 8, n_informative=3, weights=[0.93], flip_y=0.02, random_state=1)
    return {
        "iris": load_iris(return_X_y=True, as_frame=True),
        "wine": load_wine(return_X_y=True, as_frame=True),
        "breast cancer": load_breast_cancer(return_X_y=True, as_frame=True),
        "diabetes": load_diabetes(return_X_y=True, as_frame=True),
        "imbalanced": (pd.DataFrame(rare).add_prefix("x"), pd.Series(y, name="rare")),
        "noise": (
            pd.DataFrame(rng.normal(size=(200, 6))).add_prefix("x"),
            pd.Series(rng.integers(0, 2, 200), name="y"),
        ),
    }


class Studied:
    """A study, the first sentences of its sections, and the table as numpy where it is numbers alone."""

    def __init__(self, name):
        if name in SHARED:
            if not (DATA / name).exists():
                pytest.skip(f"{name} of ../shared/data is not here")
            given = DATA / name, SHARED[name]
        elif PUBLIC and name in public_names():
            given = read_public(name, Path(PUBLIC))
        else:
            given = frames()[name]
        self.table = open_table(*given)
        result = tamiz.study(*given, maps=["pca"])
        self.found, self.record = result.to_dict(), result.record
        sections = {entry.name: entry.load()(result.record) for entry in registry.of_kind("section")}
        self.sections = {name: shown for name, shown in sections.items() if shown is not None}
        self.sections["ranking"] = self.sections["columns"]["ranking"]
        numeric = all(
            column["kind"] == "numeric" and not column["n_missing"] for column in self.found["table"]["columns"]
        )
        self.X, self.y = (
            (frames()[name][0].to_numpy(), frames()[name][1].to_numpy())
            if numeric and name in frames()
            else (None, None)
        )
        self.folds = draw_folds(self.table, self.found_folds(), np.random.default_rng(0))

    def found_folds(self):
        return len(self.found["recommendation"]["score"]["values"])

    def lead(self, section):
        shown = self.sections[section]
        return f"{shown['kept']} {shown['measured']}" if section == "recommendation" else shown["lead"]


@pytest.fixture(scope="module", params=[*frames(), *SHARED, *(public_names() if PUBLIC else ())])
def studied(request):
    return Studied(request.param)


def fold_scores(found, candidate, model):
    """Return the scores of a model in every fold on a candidate's columns, by the scorer that decides."""
    return found["candidates"][candidate]["scores"][model][found["scorings"][0]]["values"]


def area(model, X, y):
    chances = model.predict_proba(X)
    if chances.shape[1] == 2:
        return roc_auc_score(y, chances[:, 1])
    return roc_auc_score(y, chances, multi_class="ovr", average="weighted")


def folded(studied, models):
    """Return the scores of scikit-learn's models on all columns, fold by fold."""
    scores = []
    for model in models:
        of_model = []
        for fold in studied.folds:
            fitted = model.fit(studied.X[fold.train], studied.y[fold.train])
            score = area if hasattr(fitted, "predict_proba") else lambda m, X, y: r2_score(y, m.predict(X))
            of_model.append(score(fitted, studied.X[fold.test], studied.y[fold.test]))
        scores.append(of_model)
    return np.array(scores)


def test_no_section_contradicts_another(studied):
    assert contradictions(studied.record, studied.table) == []


def test_the_table_is_counted(studied):
    rows, columns = (
        int(n.replace(",", "")) for n in re.findall(r"([\d,]+) (?:rows|columns)", studied.lead("table"))[:2]
    )
    table = studied.found["table"]
    assert (rows, columns) == (table["n_rows"], len(table["columns"]))
    assert rows == studied.table.schema.n_rows + studied.table.schema.n_dropped


def test_scores_on_all_columns_are_those_of_scikit_learn_on_the_same_folds(studied):
    if studied.X is None:
        pytest.skip("mixed columns are encoded otherwise by scikit-learn")
    if studied.found["table"]["classes"]:
        forest = RandomForestClassifier(30, min_samples_leaf=2, max_features="sqrt", random_state=0)
        models = [make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)), GaussianNB()]
        models += [make_pipeline(StandardScaler(), KNeighborsClassifier(5)), forest]
        models.append(HistGradientBoostingClassifier(**BOOSTING))
    else:
        forest = RandomForestRegressor(30, min_samples_leaf=2, max_features=1 / 3, random_state=0)
        models = [make_pipeline(StandardScaler(), model) for model in (Ridge(), KNeighborsRegressor(5))] + [forest]
        models.append(HistGradientBoostingRegressor(**BOOSTING))
    found = studied.found["recommendation"]
    ours = [fold_scores(found, "all_columns", model) for model in found["models"]]
    # Standardised by n - 1 here and by n there; naive Bayes is smoothed otherwise.
    tolerance = [5e-3 if isinstance(model, GaussianNB) else 2e-3 for model in models]
    assert (np.abs(np.subtract(ours, folded(studied, models))) <= np.array(tolerance)[:, None]).all()


def test_the_recommendation_follows_its_rule_and_states_its_scores(studied):
    found = studied.found["recommendation"]
    lead = studied.lead("recommendation")
    means = {model: np.mean(fold_scores(found, "all_columns", model)) for model in found["models"]}
    assert means[found["deciding_model"]] == max(means.values())
    folds = studied.folds
    inflation = 1 / len(folds) + np.mean([len(fold.test) / len(fold.train) for fold in folds])
    every = found["candidates"]["all_columns"]["columns"]
    sets = [(tuple(every), np.array(fold_scores(found, "all_columns", found["deciding_model"])))]
    sets += [
        (tuple(columns), np.array(score["values"]))
        for path in found["paths"].values()
        for columns, score in zip(path["columns"], path["scores"], strict=True)
    ]
    gains = [scores - sets[0][1] for _, scores in sets]
    best = max(range(len(sets)), key=lambda k: gains[k].mean())
    reference = best if gains[best].mean() > np.sqrt(inflation * gains[best].var(ddof=1)) else 0
    margin = max(0.05 * (1 - sets[reference][1].mean()), 0.01)
    assert found["margin"] == pytest.approx(margin)

    def is_good(scores):
        loss = sets[reference][1] - scores
        return loss.mean() + np.sqrt(inflation * loss.var(ddof=1)) <= margin + 1e-12

    if found["chance"]:
        assert lead.startswith("No columns are recommended, because the selection may be chance.")
    else:
        good = [len(columns) for columns, scores in sets if is_good(scores)]
        kept = tuple(found["columns"])
        assert lead.startswith(
            f"Keep all {len(kept):,}" if found["recommended"] == "all_columns" else f"Keep {len(kept):,} of"
        )
        assert found["recommended"] == "all_columns" or any(one == kept and is_good(scores) for one, scores in sets)
        refused = [note for note in found["notes"] if "not recommended" in note]
        assert len(kept) == min(good) or (refused and len(kept) > min(good))
    stated = [float(number.replace("−", "-")) for number in re.findall(NUMBER, lead)]
    assert any(value == pytest.approx(found["score"]["mean"], abs=6e-4) for value in stated)
    assert stated[-1] == pytest.approx(np.mean(found["baseline"][found["scorings"][0]]["values"]), abs=6e-4)
    assert f"{found['n_samples']:,} rows" in lead


def test_changes_are_differences_of_folds_with_the_corrected_interval(studied):
    found = studied.found["recommendation"]
    if found["recommended"] == "all_columns" or found["chance"]:
        pytest.skip("all columns are kept, or none is recommended")
    inflation = 1 / len(studied.folds) + np.mean([len(fold.test) / len(fold.train) for fold in studied.folds])
    sentence = studied.sections["recommendation"]["cost"]
    for model in found["models"]:
        change = np.subtract(*(fold_scores(found, name, model) for name in (found["recommended"], "all_columns")))
        half = stats.t.ppf(0.975, len(change) - 1) * np.sqrt(inflation * change.var(ddof=1))
        ends = change.mean() - half, change.mean() + half
        score = np.mean(fold_scores(found, found["recommended"], model))
        worded = [f"{abs(value):.3f}" for value in (score, change.mean(), *ends)]
        assert re.search(rf"{worded[0]}, [−+]?{worded[1]} \([−+]?{worded[2]} to [−+]?{worded[3]}\)", sentence)


def test_the_first_column_has_the_least_mean_rank_and_its_interval_contains_it(studied):
    ranking, combined = studied.found["ranking"], studied.found["ranking"]["mean_rank"]
    scores = np.array([[np.nan if s is None else s for s in ranking["scores"][name]] for name in combined["criteria"]])
    used = ~np.isnan(scores[0])
    ranks = np.mean([stats.rankdata(-np.round(row[used], 12)) for row in scores], axis=0)
    np.testing.assert_allclose(ranks, np.array(combined["ranks"], dtype=float)[used], atol=1e-9)
    first = np.array(ranking["columns"], dtype=object)[used][np.argmin(ranks)]
    assert str(first) in studied.lead("ranking")
    for rank, interval in zip(combined["ranks"], combined["intervals"], strict=True):
        assert interval is None or interval[0] <= rank <= interval[1]


def test_columns_without_a_cut_point_are_tested_as_scipy_tests_them(studied):
    uncut = studied.found["ranking"]["uncut"]
    if studied.X is None or uncut is None or uncut["rule"] != "mdl":
        pytest.skip("no numeric column without a cut point")
    adjusted = stats.false_discovery_control(f_classif(studied.X, studied.y)[1])
    names = studied.found["ranking"]["columns"]
    significant = sum(adjusted[names.index(name)] <= 0.05 for name in uncut["columns"])
    assert f"{significant} of {len(uncut['columns'])} column" in studied.sections["ranking"]["uncut"]


def test_the_verdict_is_that_of_nested_cross_validation_by_hand(studied):
    lead, found = studied.lead("assessment"), studied.found["recommendation"]
    nested, baseline = (
        np.array(scores["values"]) for scores in (found["score"], found["baseline"][found["scorings"][0]])
    )
    inflation = 1 / len(studied.folds) + np.mean([len(fold.test) / len(fold.train) for fold in studied.folds])
    gain = nested - baseline
    half = stats.t.ppf(0.975, len(gain) - 1) * np.sqrt(inflation * gain.var(ddof=1))
    helps = gain.mean() - half > 0
    assert ("The selected columns predict better than none" in lead) == helps
    assert bool(re.search("no gain over the baseline|the gain in score is within its error", lead)) == (not helps)
    # The score of each fold is that of a set that the other folds may have chosen.
    every = fold_scores(found, "all_columns", found["deciding_model"])
    others = [score["values"] for path in found["paths"].values() for score in path["scores"]]
    for k, score in enumerate(nested):
        assert score in [every[k], *(folds[k] for folds in others)]
    shares = [share * len(nested) for share in found["frequencies"].values()]
    assert all(abs(share - round(share)) < 1e-9 for share in shares)

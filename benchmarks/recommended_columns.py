"""Recommended columns held against rows that were not seen, beside those of other methods, on the tables of `public_tables`.

    python benchmarks/recommended_columns.py FOLDER [TABLE ...] [--splits 3] [--jobs 2]

Columns are selected and models trained on 70 % of the rows, at most 4,000, and tested on the other 30 %, whole groups together. A
file in FOLDER for each table and split is kept, so that an interrupted run continues. `--show` prints the table of all files,
`--write` puts it into a page.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
from public_tables import TABLES, read_table
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LassoCV, LogisticRegression, LogisticRegressionCV, RidgeCV
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit, StratifiedShuffleSplit
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from tamiz import RankSelector, SubsetSelector
from tamiz.assessment import recommend_columns
from tamiz.criteria import CFS, MRMR, MutualInformation
from tamiz.error_control import BorutaSelector
from tamiz.search import BestFirst, Forward

MAX_TRAIN, MAX_TEST = 4_000, 6_000
MARKS = ("<!-- written by benchmarks/recommended_columns.py -->", "<!-- end -->")
# The judges and the models whose changes a recommendation states.
STATED_AS = {"logistic": "linear", "ridge": "linear", "knn": "knn", "forest": "forest", "gradient_boosting": "boosting"}
METHODS = ("recommended", "cfs", "mrmr", "boruta", "l1", "mutual_information")


def make_encoder(X: pd.DataFrame, *, ordinal: bool) -> ColumnTransformer:
    """Return the encoding of mixed columns: numbers standardised, categories as indicators, or as codes for trees."""
    numbers = [name for name in X if pd.api.types.is_numeric_dtype(X[name])]
    others = [name for name in X if name not in numbers]
    if ordinal:
        levels = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan, max_categories=200)
        return ColumnTransformer([("numbers", "passthrough", numbers), ("levels", levels, others)])
    scaled = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    levels = OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=50, sparse_output=False)
    return ColumnTransformer([("numbers", scaled, numbers), ("levels", levels, others)])


def make_models(*, classes: bool) -> dict[str, object]:
    """Return the models that judge."""
    if classes:
        return {
            "linear": LogisticRegression(max_iter=2000),
            "knn": KNeighborsClassifier(5),
            "forest": RandomForestClassifier(200, min_samples_leaf=2, random_state=0),
            "boosting": HistGradientBoostingClassifier(max_iter=100, learning_rate=0.1, random_state=0),
        }
    return {
        "linear": RidgeCV(np.logspace(-3, 3, 13)),
        "knn": KNeighborsRegressor(5),
        "forest": RandomForestRegressor(200, min_samples_leaf=2, random_state=0),
        "boosting": HistGradientBoostingRegressor(max_iter=100, learning_rate=0.1, random_state=0),
    }


def score_columns(
    train: pd.DataFrame, test: pd.DataFrame, columns: list[str], target: str, *, classes: bool
) -> dict[str, float]:
    """Return the score on the test rows of every model that is trained on some columns."""
    found = {}
    for name, model in make_models(classes=classes).items():
        if not columns:
            found[name] = 0.5 if classes else 0.0
            continue
        made = make_pipeline(make_encoder(train[columns], ordinal=name == "boosting"), model)
        made.fit(train[columns], train[target])
        if not classes:
            found[name] = float(r2_score(test[target], made.predict(test[columns])))
            continue
        shares = made.predict_proba(test[columns])
        shares = shares[:, 1] if shares.shape[1] == 2 else shares
        found[name] = float(roc_auc_score(test[target], shares, multi_class="ovr", average="weighted"))
    return found


def select_by_l1(X: pd.DataFrame, y: pd.Series, *, classes: bool) -> list[str]:
    """Return the columns with a coefficient in a cross-validated L1-penalised linear model."""
    encoder = make_encoder(X, ordinal=False)
    matrix = encoder.fit_transform(X)
    if classes:
        model = LogisticRegressionCV(
            Cs=8,
            l1_ratios=(1,),
            solver="saga",
            max_iter=300,
            scoring="roc_auc_ovr_weighted",
            use_legacy_attributes=False,
        )
    else:
        model = LassoCV(alphas=30)
    weights = np.abs(np.atleast_2d(model.fit(matrix, y).coef_)).max(axis=0)
    names = encoder.get_feature_names_out()
    kept = [name for name, weight in zip(names, weights, strict=True) if weight > 1e-8]
    return [c for c in X if any(k.split("__", 1)[1] == c or k.split("__", 1)[1].startswith(f"{c}_") for k in kept)]


def measure(key: str, split: int, folder: Path) -> dict[str, object]:
    """Return the scores of all selections of a table and split."""
    one, table = TABLES[key], read_table(key, folder / "tables")
    classes = not pd.api.types.is_numeric_dtype(table[one.target])
    y, groups = table[one.target], None if one.groups is None else table[one.groups]
    X = table.drop(columns=[one.target, *([one.groups] if one.groups else [])])
    kind = GroupShuffleSplit if groups is not None else StratifiedShuffleSplit if classes else ShuffleSplit
    train, test = next(kind(1, test_size=0.3, random_state=split).split(X, y, groups))
    if groups is not None:
        # Whole groups in random order; other rows are in random order already.
        order = np.random.default_rng(split).permutation(groups.nunique())[pd.factorize(groups)[0]]
        train, test = (rows[np.argsort(order[rows], kind="stable")] for rows in (train, test))
    train, test = np.sort(train[:MAX_TRAIN]), np.sort(test[:MAX_TEST])
    of_train = None if groups is None else groups.iloc[train]
    started = time.process_time()
    found = recommend_columns(
        X.iloc[train], y.iloc[train], groups=of_train, max_rows=3000, random_state=split, n_jobs=1
    )
    seconds = time.process_time() - started
    changes = {
        STATED_AS[model]: found.score_change(found.recommended, model).interval
        for model in found.models
        if model in STATED_AS
    }
    change = found.score_change(found.recommended, found.deciding_model)
    n = max(len(found.columns), 1)
    fitted = {"groups": of_train} if of_train is not None else {}
    A, b = X.iloc[train], y.iloc[train]
    cfs = SubsetSelector(CFS(), BestFirst()).fit(A, b, **fitted)
    chosen = {
        "all": list(X),
        "recommended": list(found.columns),
        "cfs": cfs.get_feature_names_out().tolist(),
        "mrmr": SubsetSelector(MRMR(), Forward(), n_features=n).fit(A, b, **fitted).get_feature_names_out().tolist(),
        "boruta": BorutaSelector(random_state=0, n_jobs=1)
        .fit(A.iloc[:2000], b.iloc[:2000])
        .get_feature_names_out()
        .tolist(),
        "l1": select_by_l1(A, b, classes=classes),
        "mutual_information": RankSelector(MutualInformation(), n_features=n)
        .fit(A, b)
        .get_feature_names_out()
        .tolist(),
    }
    both = [table.iloc[rows] for rows in (train, test)]
    return {
        "table": key,
        "split": split,
        "classes": classes,
        "seconds": seconds,
        "deciding": found.deciding_model,
        "stated": {"change": change.mean, "interval": change.interval, "margin": found.margin, "intervals": changes},
        "score": {"mean": found.score.mean, "interval": found.score.interval},
        "columns": chosen,
        "scores": {
            name: score_columns(*both, columns, one.target, classes=classes) for name, columns in chosen.items()
        },
    }


def results_table(folder: Path) -> str:
    """Return the differences of the best models, selected minus all columns, by table, and a line for each method."""
    found = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    best = [{name: max(scores.values()) for name, scores in one["scores"].items()} for one in found]
    frame = pd.DataFrame(
        {
            "table": [one["table"] for one in found],
            "all columns": [one["all"] for one in best],
            **{name: [one[name] - one["all"] for one in best] for name in METHODS},
            "of": [len(one["columns"]["all"]) for one in found],
            **{f"n_{name}": [len(one["columns"][name]) for one in found] for name in METHODS},
        }
    )
    lines = [
        f"| table | all columns | {' | '.join(METHODS)} |".replace("_", " "),
        "|---|---|" + "---|" * len(METHODS),
    ]
    for table, rows in frame.groupby("table"):
        mean = rows.mean(numeric_only=True)
        cells = [f"{mean[name]:+.3f} ({mean[f'n_{name}']:.0f})" for name in METHODS]
        lines.append(f"| {table} | {mean['all columns']:.3f} ({mean['of']:.0f}) | {' | '.join(cells)} |")
    summaries = {
        "median": lambda name: f"{frame[name].median():+.4f}",
        "worst": lambda name: f"{frame[name].min():+.3f}",
        f"loss above .03, of {len(frame)}": lambda name: f"{(frame[name] < -0.03).sum()}",
        "mean share of the columns": lambda name: f"{(frame[f'n_{name}'] / frame['of']).mean():.0%}",
    }
    for label, of in summaries.items():
        lines.append(f"| *{label}* | | {' | '.join(of(name) for name in METHODS)} |")
    large = [k for k in range(len(frame)) if frame["recommended"][k] < -0.03]
    stated = 0
    for k in large:
        scores = found[k]["scores"]["all"]
        model = max(scores, key=scores.get)
        stated += found[k]["stated"]["intervals"][model][0] <= found[k]["scores"]["recommended"][model] - scores[model]
    return "\n".join(
        [
            *lines,
            "",
            "Losses of the recommended columns above .03 that lie in the interval that is stated for the best model: "
            f"{stated} of {len(large)}.",
        ]
    )


def write_table(folder: Path, page: Path) -> None:
    """Write the table into a page, between its two marks."""
    text = page.read_text()
    start, end = text.index(MARKS[0]) + len(MARKS[0]), text.index(MARKS[1])
    page.write_text(f"{text[:start]}\n{results_table(folder)}\n{text[end:]}")


def main() -> None:
    """Measure the tables that have no file yet, each in a process of its own, or show what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("tables", nargs="*")
    parser.add_argument("--splits", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--write", type=Path, help="the page into which the table is written")
    parser.add_argument("--here", action="store_true", help="in this process")
    asked = parser.parse_args()
    if asked.write:
        write_table(asked.folder, asked.write)
        return
    if asked.show:
        print(results_table(asked.folder))
        return
    tasks = [
        (key, split)
        for split in asked.splits
        for key in (asked.tables or TABLES)
        if not (asked.folder / f"{key}-{split}.json").exists()
    ]
    if asked.here:
        warnings.simplefilter("ignore")
        for key, split in tasks:
            made = json.dumps(measure(key, split, asked.folder))
            (asked.folder / f"{key}-{split}.json").write_text(made)
        return

    def run(task: tuple[str, int]) -> None:
        command = [sys.executable, __file__, str(asked.folder), task[0], "--splits", str(task[1]), "--here"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        print(*task, "done" if not done.returncode else done.stderr[-500:], flush=True)

    with ThreadPoolExecutor(asked.jobs) as pool:
        list(pool.map(run, tasks))


if __name__ == "__main__":
    main()

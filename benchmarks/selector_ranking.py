"""Which selectors choose the columns with which a model predicts best, on real tables with extra columns of noise.

    python benchmarks/selector_ranking.py run records.jsonl [--rows 1500] [--folds 3] [--seeds 1] [--tables NAME ...]
    python benchmarks/selector_ranking.py table records.jsonl

Every selector chooses as many columns as the table had before the noise (`noise_tables.py`), from the training rows of each
fold. Two models are fitted to these columns: ridge or logistic regression, and a random forest. Their score on the test rows
is the area under the ROC curve for two classes, accuracy for more, and R2 for a numeric target. Selectors are ranked by the
mean over the folds within each table, kind of noise and model; equal scores have their mean rank. The table shows mean ranks,
with their standard errors over tables, and the share of original columns among the chosen ones. The critical difference is
that of Nemenyi's test at 5 % with tables as the independent units (Demsar 2006, JMLR 7). "all columns", "original columns"
and "random columns" are references, and are not ranked.

tamiz reads the table as it is. Peers read numbers: categories are codes of their levels in alphabetical order, and missing
values are medians of the training rows. The models read categories as indicators and the same medians. Peers that are not installed
are left out. `run` appends to a file of JSON lines, and does not repeat what the file has.
"""

import argparse
import json
import math
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from noise_tables import NOISES, Table, available, read_table
from scipy.stats import rankdata, studentized_range
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.feature_selection import RFE, f_classif, f_regression, mutual_info_classif, mutual_info_regression
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, r2_score, roc_auc_score
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.preprocessing import StandardScaler

from tamiz import RankSelector, SubsetSelector
from tamiz.criteria import CFS, CMIM, JMI, MRMR
from tamiz.error_control import BorutaSelector, KnockoffSelector, StabilitySelector
from tamiz.search import Forward

MODELS = ("linear", "forest")
N_TREES = 50


class Rows(NamedTuple):
    """The training rows of a fold: the table, the same as numbers, and the target."""

    X: pd.DataFrame
    numbers: np.ndarray
    y: np.ndarray
    has_classes: bool


Choice = Callable[[Rows, int], np.ndarray]


class Method(NamedTuple):
    """A selector: a function of training rows and a number of columns that returns their places, and the package it needs."""

    choose: Choice
    needs: str = "tamiz"


def largest(scores: np.ndarray, k: int) -> np.ndarray:
    return np.argsort(-np.nan_to_num(scores, nan=-np.inf), kind="stable")[:k]


def relevance(name: str) -> Choice:
    return lambda rows, k: RankSelector(name, n_features=k).fit(rows.X, rows.y).get_support(indices=True)


def forward(merit: type) -> Choice:
    return lambda rows, k: (
        SubsetSelector(merit(), Forward(), n_features=k).fit(rows.X, rows.y).get_support(indices=True)
    )


def by_boruta(rows: Rows, k: int) -> np.ndarray:
    """Rank by the number of hits, and by the mean score of equal ones."""
    found = BorutaSelector(random_state=0, max_iter=50).fit(rows.X, rows.y)
    means = np.nanmean(found.importance_history_, axis=0)
    return np.lexsort((-means, -found.hits_))[:k]


def by_knockoffs(rows: Rows, k: int) -> np.ndarray:
    return largest(KnockoffSelector(random_state=0).fit(rows.X, rows.y).statistics_[0], k)


def by_stability(rows: Rows, k: int) -> np.ndarray:
    found = StabilitySelector("independence-test", n_features=k, threshold=0.9, random_state=0).fit(rows.X, rows.y)
    return largest(found.selection_frequencies_, k)


def by_f(rows: Rows, k: int) -> np.ndarray:
    return largest((f_classif if rows.has_classes else f_regression)(rows.numbers, rows.y)[0], k)


def by_mutual_info(rows: Rows, k: int) -> np.ndarray:
    estimate = mutual_info_classif if rows.has_classes else mutual_info_regression
    return largest(estimate(rows.numbers, rows.y, random_state=0), k)


def by_forest(rows: Rows, k: int) -> np.ndarray:
    forest = (RandomForestClassifier if rows.has_classes else RandomForestRegressor)(100, random_state=0)
    return largest(forest.fit(rows.numbers, rows.y).feature_importances_, k)


def by_elimination(rows: Rows, k: int) -> np.ndarray:
    model = LogisticRegression(max_iter=1000) if rows.has_classes else Ridge()
    return (
        RFE(model, n_features_to_select=k)
        .fit(StandardScaler().fit_transform(rows.numbers), rows.y)
        .get_support(indices=True)
    )


def by_mrmr_selection(rows: Rows, k: int) -> np.ndarray:
    from mrmr import mrmr_classif, mrmr_regression

    select = mrmr_classif if rows.has_classes else mrmr_regression
    X, y = pd.DataFrame(rows.numbers), pd.Series(rows.y)
    return np.array(select(X=X, y=y, K=k, show_progress=False, n_jobs=1))


def by_skrebate(name: str) -> Choice:
    def choose(rows: Rows, k: int) -> np.ndarray:
        import skrebate

        y = np.unique(rows.y, return_inverse=True)[1] if rows.has_classes else rows.y
        return largest(getattr(skrebate, name)(n_jobs=1).fit(rows.numbers, y).feature_importances_, k)

    return choose


METHODS = {
    "IndependenceTest": Method(relevance("independence-test")),
    "InformationGain": Method(relevance("information-gain")),
    "SymmetricUncertainty": Method(relevance("symmetric-uncertainty")),
    "MutualInformation": Method(relevance("mutual-information")),
    "ReliefF": Method(relevance("relieff")),
    "MultiSURF": Method(relevance("multisurf")),
    "TreeImportance": Method(relevance("tree-importance")),
    "LinearCoefficient": Method(relevance("linear-coefficient")),
    "CFS, forward": Method(forward(CFS)),
    "MRMR, forward": Method(forward(MRMR)),
    "JMI, forward": Method(forward(JMI)),
    "CMIM, forward": Method(forward(CMIM)),
    "Boruta hits": Method(by_boruta),
    "knockoff statistics": Method(by_knockoffs),
    "stability frequencies": Method(by_stability),
    "scikit-learn F": Method(by_f, "sklearn"),
    "scikit-learn mutual information": Method(by_mutual_info, "sklearn"),
    "scikit-learn forest": Method(by_forest, "sklearn"),
    "scikit-learn RFE, linear": Method(by_elimination, "sklearn"),
    "mrmr_selection": Method(by_mrmr_selection, "mrmr"),
    "skrebate ReliefF": Method(by_skrebate("ReliefF"), "skrebate"),
    "skrebate MultiSURF": Method(by_skrebate("MultiSURF"), "skrebate"),
}
REFERENCES = ("all columns", "original columns", "random columns")


class Fold:
    """The rows of a fold as the selectors and the models read them, and the scores of the column sets that were fitted before."""

    def __init__(self, table: Table, train: np.ndarray, test: np.ndarray) -> None:
        self.table, self.train, self.test = table, train, test
        codes = [x if x.dtype.kind in "fiu" else x.cat.codes.replace(-1, np.nan) for _, x in table.X.items()]
        numbers = np.column_stack([np.asarray(x, dtype=float) for x in codes])
        numbers = np.where(np.isnan(numbers), np.nanmedian(numbers[train], axis=0), numbers)
        self.numbers = numbers
        self.is_category = np.array([x.dtype.kind not in "fiu" for _, x in table.X.items()])
        X = table.X.iloc[train].reset_index(drop=True)
        self.rows = Rows(X, numbers[train], table.y[train], table.has_classes)
        self._scores: dict[tuple[int, ...], dict[str, float]] = {}

    def scores(self, chosen: np.ndarray) -> dict[str, float]:
        """Return the score of each model on the chosen columns."""
        key = tuple(sorted(int(j) for j in chosen))
        if key not in self._scores:
            features = self._features(key)
            self._scores[key] = {name: self._score(model, features) for name, model in self._models().items()}
        return self._scores[key]

    def _models(self) -> dict[str, Any]:
        if self.table.has_classes:
            return dict(
                zip(
                    MODELS,
                    (LogisticRegression(max_iter=500), RandomForestClassifier(N_TREES, random_state=0)),
                    strict=True,
                )
            )
        return dict(zip(MODELS, (Ridge(), RandomForestRegressor(N_TREES, random_state=0)), strict=True))

    def _features(self, columns: tuple[int, ...]) -> np.ndarray:
        parts = []
        for j in columns:
            values = self.numbers[:, j]
            parts.append(values[:, None] == np.unique(values) if self.is_category[j] else values[:, None])
        features = np.hstack(parts).astype(float)
        return StandardScaler().fit(features[self.train]).transform(features)

    def _score(self, model: Any, features: np.ndarray) -> float:
        y = self.table.y
        model.fit(features[self.train], y[self.train])
        if not self.table.has_classes:
            return float(r2_score(y[self.test], model.predict(features[self.test])))
        if len(model.classes_) == 2:
            return float(
                roc_auc_score(y[self.test] == model.classes_[1], model.predict_proba(features[self.test])[:, 1])
            )
        return float(accuracy_score(y[self.test], model.predict(features[self.test])))


def reference_columns(name: str, table: Table, fold: int) -> np.ndarray:
    p, k = len(table.is_original), int(table.is_original.sum())
    if name == "original columns":
        return np.flatnonzero(table.is_original)
    return np.arange(p) if name == "all columns" else np.random.default_rng(fold).choice(p, k, replace=False)


def folds(table: Table, n_folds: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    kind = StratifiedKFold if table.has_classes else KFold
    yield from kind(n_folds, shuffle=True, random_state=0).split(np.zeros(len(table.y)), table.y)


def run(path: Path, tables: list[str], asked: argparse.Namespace) -> None:
    """Append the scores of each selector in each fold; the file is for one number of rows and folds."""
    done = {(*place(record), record["method"]) for record in read(path)} if path.exists() else set()
    methods = {name: method for name, method in METHODS.items() if find_spec(method.needs)}
    with path.open("a") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(asked.seeds):
            for name in tables:
                for noise in NOISES:
                    table = read_table(name, noise, seed, asked.rows)
                    for number, (train, test) in enumerate(folds(table, asked.folds)):
                        where = {"table": name, "noise": noise, "seed": seed, "fold": number}
                        fold = Fold(table, train, test)
                        for method in [m for m in (*REFERENCES, *methods) if (*where.values(), m) not in done]:
                            record = {**where, "method": method, **measure(fold, method, number)}
                            file.write(json.dumps(record) + "\n")
                            file.flush()


def measure(fold: Fold, method: str, number: int) -> dict[str, float]:
    """Return the scores of the models, the share of original columns, and the seconds of the selection."""
    k = int(fold.table.is_original.sum())
    begun = time.perf_counter()
    if method in REFERENCES:
        chosen = reference_columns(method, fold.table, number)
    else:
        chosen = METHODS[method].choose(fold.rows, k)
        if len(chosen) != k:
            raise RuntimeError(f"{method} chose {len(chosen)} columns instead of {k}.")
    seconds = time.perf_counter() - begun
    share = float(fold.table.is_original[chosen].sum() / k)
    return {**fold.scores(chosen), "original": share, "seconds": round(seconds, 4)}


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


class Ranking(NamedTuple):
    """Mean ranks of selectors: over all tables, and their values by table."""

    methods: list[str]
    by_table: dict[str, np.ndarray]

    def mean(self) -> np.ndarray:
        return np.mean(list(self.by_table.values()), axis=0)

    def error(self) -> np.ndarray:
        values = list(self.by_table.values())
        return (
            np.std(values, axis=0, ddof=1) / math.sqrt(len(values))
            if len(values) > 1
            else np.full(len(self.methods), math.nan)
        )

    def critical_difference(self) -> float:
        """Return the difference of two mean ranks that Nemenyi's test calls significant at 5 %."""
        k, n = len(self.methods), len(self.by_table)
        return float(studentized_range.ppf(0.95, k, np.inf) / math.sqrt(2) * math.sqrt(k * (k + 1) / (6 * n)))


def rank(records: list[dict[str, Any]], noises: tuple[str, ...], keys: tuple[str, ...]) -> Ranking:
    """Rank the selectors within every table, noise, seed and key that all of them have, 1 for the best."""
    values: dict[tuple[Any, ...], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        if record["noise"] in noises and record["method"] not in REFERENCES:
            for key in keys:
                values[record["table"], record["noise"], record["seed"], key][record["method"]].append(record[key])
    methods = [name for name in METHODS if any(record["method"] == name for record in records)]
    ranks: dict[str, list[np.ndarray]] = defaultdict(list)
    for (table, *_), scores in values.items():
        if set(scores) == set(methods):
            ranks[table].append(rankdata([-round(float(np.mean(scores[m])), 9) for m in methods]))
    return Ranking(methods, {table: np.mean(found, axis=0) for table, found in ranks.items()})


def complete(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the records of the folds that all methods have, so that their means are of the same folds."""
    methods = {record["method"] for record in records}
    present: dict[tuple[Any, ...], set[str]] = defaultdict(set)
    for record in records:
        present[place(record)].add(record["method"])
    return [record for record in records if present[place(record)] == methods]


def place(record: dict[str, Any]) -> tuple[Any, ...]:
    return record["table"], record["noise"], record["seed"], record["fold"]


def print_table(records: list[dict[str, Any]]) -> None:
    """Print a line for each selector, best mean rank first, and the references."""
    records = complete(records)
    noises = tuple(noise for noise in NOISES if any(r["noise"] == noise for r in records))
    overall = rank(records, noises, MODELS)
    columns = {model: rank(records, noises, (model,)).mean() for model in MODELS}
    columns |= {noise: rank(records, (noise,), MODELS).mean() for noise in noises}
    mean, error = overall.mean(), overall.error()
    print(f"{len(overall.by_table)} tables; critical difference of mean ranks {overall.critical_difference():.1f}")
    print(
        f"{'':32}{'mean rank':>14}"
        + "".join(f"{name:>14}" for name in columns)
        + f"{'original':>10}{'score':>8}{'s':>8}"
    )
    for i in np.argsort(mean):
        line = f"{overall.methods[i]:32}{f'{mean[i]:.1f} ± {error[i]:.1f}':>14}"
        print(line + "".join(f"{values[i]:14.1f}" for values in columns.values()) + means(records, overall.methods[i]))
    for name in REFERENCES:
        print(f"{name:32}" + " " * 14 * (1 + len(columns)) + means(records, name))


def means(records: list[dict[str, Any]], method: str) -> str:
    """Return the share of original columns, the mean score of both models, and the median seconds."""
    own = [r for r in records if r["method"] == method]
    original = np.mean([r["original"] for r in own])
    score = np.mean([[r[model] for model in MODELS] for r in own])
    return f"{original:10.3f}{score:8.3f}{np.median([r['seconds'] for r in own]):8.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("action", choices=["run", "table"])
    parser.add_argument("records", type=Path, help="a file of JSON lines")
    parser.add_argument("--rows", type=int, default=1500, help="the most rows of a table, random ones")
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=1, help="number of draws of the rows and the noise")
    parser.add_argument("--tables", nargs="*", choices=available(), help="all by default")
    asked = parser.parse_args()
    if asked.action == "run":
        run(asked.records, asked.tables or available(), asked)
    else:
        print_table(read(asked.records))


if __name__ == "__main__":
    main()

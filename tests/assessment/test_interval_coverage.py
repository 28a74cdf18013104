"""The 95 % intervals of nested scores and of recommended columns contain the truth in about 95 % of tables."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tamiz import RankSelector, selection_report
from tamiz.assessment import recommend_columns
from tamiz.criteria import FisherScore, LinearCoefficient

N_TABLES = 150


def drawn(seed, n, effect, *, classes):
    """Return 10 columns, of which the first 3 have to do with the target."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 10))
    if not classes:
        return X, X[:, :3].sum(axis=1) * effect + rng.normal(size=n)
    y = rng.permutation(np.arange(n) % 2)
    X[:, :3] += effect * (2 * y[:, None] - 1)
    return X, y


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "n_splits", "effect", "classes"),
    [(100, 5, 0.4, True), (100, 10, 0.4, True), (300, 5, 0.2, True), (100, 5, 0.5, False)],
)
def test_the_interval_of_the_nested_score_contains_its_expectation_in_92_to_98_of_100_tables(
    n, n_splits, effect, classes
):
    selector = RankSelector(FisherScore() if classes else LinearCoefficient(), n_features=3)
    scores = [
        selection_report(
            selector,
            *drawn(seed, n, effect, classes=classes),
            n_splits=n_splits,
            n_permutations=0,
            model=None if classes else "ridge",
            random_state=seed,
        ).nested
        for seed in range(N_TABLES)
    ]
    ends = np.array([score.interval for score in scores])
    # The mean over the tables is the expected score of the recipe on as many rows as the folds learn from.
    expected = np.mean([score.mean for score in scores])
    covered = np.mean((ends[:, 0] <= expected) & (expected <= ends[:, 1]))
    print(f"{n} rows, {n_splits} folds: expected {expected:.3f}, covered {covered:.3f}")  # noqa: T201 - for the documentation
    # A share of 150 tables has a standard error of .018.
    assert 0.92 <= covered <= 0.985


def correlated(rng, n, *, classes):
    """Return 10 columns: one strong, one that goes with it, four weaker ones, the others of noise."""
    X = rng.normal(size=(n, 10))
    X[:, 3] = 0.7 * X[:, 0] + 0.7 * X[:, 3]
    signal = X @ [0.8, 0.5, 0.3, 0, 0.15, 0.1, 0, 0, 0, 0]
    return X, rng.random(n) < 1 / (1 + np.exp(-1.5 * signal)) if classes else signal + rng.normal(size=n)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
@pytest.mark.parametrize("classes", [True, False])
def test_the_interval_of_the_recommended_columns_covers_their_score_on_new_rows_with_the_choice_included(classes):
    unseen, truth = correlated(np.random.default_rng(99), 40_000, classes=classes)
    model = make_pipeline(StandardScaler(), LogisticRegression() if classes else Ridge())
    covered, changes, n_tables = [], [], 60
    for seed in range(n_tables):
        X, y = correlated(np.random.default_rng(seed), 300, classes=classes)
        found = recommend_columns(X, y, models=["logistic" if classes else "ridge"], random_state=seed)
        scores = []
        for columns in ([int(name[1:]) for name in found.columns], list(range(10))):
            fitted = model.fit(X[:, columns], y)
            scores.append(
                roc_auc_score(truth, fitted.predict_proba(unseen[:, columns])[:, 1])
                if classes
                else r2_score(truth, fitted.predict(unseen[:, columns]))
            )
        low, high = found.score.interval
        covered.append(low <= scores[0] <= high)
        low, high = found.score_change(found.recommended, found.deciding_model).interval
        changes.append(low <= scores[0] - scores[1] <= high)
    print(f"score {np.mean(covered):.3f}, change {np.mean(changes):.3f}")  # noqa: T201 - for the documentation
    # A share of 60 tables has a standard error of .028.
    assert np.mean(covered) >= 0.88
    assert np.mean(changes) >= 0.88

"""The 95 % interval of a nested cross-validation score contains the expected score in about 95 % of tables."""

import numpy as np
import pytest

from tamiz import RankSelector, selection_report
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

"""Slope, intercept and Brier score of predicted probabilities, by independent fits."""

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss
from sklearn.model_selection import cross_val_predict

from tamiz import open_table
from tamiz.assessment import calibration
from tamiz.assessment.rate_calibration import _compare
from tamiz.exceptions import DataError
from tamiz.statistics.two_samples import WeightedRows

NAMES = ("model", "target", "yes")


def table(seed, n=1500, rate=-3.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    return X, np.where(rng.random(n) < expit(X[:, 0] + 0.5 * X[:, 1] + rate), "yes", "no")


def test_slope_and_intercept_are_those_of_logistic_regression():
    rng = np.random.default_rng(0)
    p = expit(2 * rng.normal(size=3000) - 3)
    y = rng.random(3000) < expit(0.6 * logit(p) - 0.2)
    found = _compare(p, y, WeightedRows(np.ones(3000)), NAMES)
    exact = LogisticRegression(C=np.inf, tol=1e-10).fit(logit(p)[:, None], y)
    assert found.slope == pytest.approx(exact.coef_[0, 0], rel=1e-4)
    assert found.brier == pytest.approx(brier_score_loss(y, p))
    assert found.slope_interval[1] < 1
    assert "are too extreme (slope 0.6" in found.sentence
    # Of ten bins each has a tenth of the rows.
    assert len(found.bins) == 10
    order = np.argsort(p)
    assert found.bins[9].observed == pytest.approx(y[order[-300:]].mean())
    assert found.bins[9].predicted == pytest.approx(p[order[-300:]].mean())


@pytest.mark.parametrize("weighted", [False, True])
def test_intervals_cover_a_calibrated_rare_class(weighted):
    hits = []
    for seed in range(120):
        rng = np.random.default_rng(seed)
        p = expit(rng.normal(size=600) - 3.2)
        y = rng.random(600) < p
        rows = WeightedRows(np.ones(600))
        if weighted:
            # Five equal rows are one.
            at = np.repeat(np.arange(600), 5)
            p, y, rows = p[at], y[at], WeightedRows(np.ones(3000), at)
        found = _compare(p, y, rows, NAMES)
        hits.append((
            found.slope_interval[0] <= 1 <= found.slope_interval[1],
            found.intercept_interval[0] <= 0 <= found.intercept_interval[1],
        ))  # fmt: skip
    assert np.all(np.abs(np.mean(hits, axis=0) - 0.95) < 0.05)


def test_frequency_weights_equal_repeated_rows():
    rng = np.random.default_rng(1)
    p = expit(rng.normal(size=300))
    y, w = rng.random(300) < p, rng.integers(1, 4, 300)
    one = _compare(p, y, WeightedRows(w.astype(float)), NAMES)
    at = np.repeat(np.arange(300), w)
    other = _compare(p[at], y[at], WeightedRows(np.ones(len(at))), NAMES)
    for name in ("slope", "slope_interval", "intercept", "intercept_interval", "brier", "n_class"):
        assert getattr(one, name) == pytest.approx(getattr(other, name))


def test_models_are_calibrated_outside_the_fit():
    X, y = table(2)
    found = calibration(X, y)
    assert (found.of_class, found.n_rows, found.n_class) == ("yes", 1500, np.sum(y == "yes"))
    assert found.slope_interval[0] < 1 < found.slope_interval[1]
    assert found.brier < found.brier_of_rate
    # Probabilities of other folds of scikit-learn are as good.
    p = cross_val_predict(LogisticRegression(), X, y, method="predict_proba")[:, 1]
    assert found.brier == pytest.approx(brier_score_loss(y == "yes", p), abs=0.002)
    assert calibration(X, y, of_class="no").slope == pytest.approx(found.slope, rel=1e-6)


def test_naive_bayes_of_copies_is_too_extreme():
    X, y = table(3, rate=-1.0)
    found = calibration(np.tile(X[:, :2], 5), y, model="naive_bayes")
    assert found.slope_interval[1] < 0.5
    assert "too extreme" in found.sentence


def test_errors_name_what_is_missing():
    X, y = table(4, n=100, rate=0.0)
    with pytest.raises(DataError, match="classes"):
        calibration(X, X[:, 0])
    with pytest.raises(DataError, match="'maybe' is no class of 'target': no, yes"):
        calibration(open_table(X, y), of_class="maybe")
    with pytest.raises(DataError, match="ridge regression provides no probabilities"):
        calibration(X, y, model="ridge")

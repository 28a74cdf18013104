import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import GaussianNB
from tests.reference.naive_bayes import log_shares

from tamiz import open_source
from tamiz.assessment import naive_bayes
from tamiz.assessment.naive_bayes import MixedNaiveBayes
from tamiz.sources.views import rows_of, target_of
from tamiz.wrappers.labels import labels_of

# The outlook and the humidity of 14 days, and whether one plays: Weka's weather.nominal.
WEATHER = """sunny high no;sunny high no;overcast high yes;rainy high yes;rainy normal yes;rainy normal no;overcast normal yes
sunny high no;sunny normal yes;rainy normal yes;sunny normal yes;overcast high yes;overcast normal yes;rainy high no"""


def mixed(seed, n=60):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=n) + y,
            "b": rng.integers(0, 3, n) * (y > 0),
            "same": 4.0,
            "colour": pd.Categorical.from_codes(rng.integers(0, 4, n), ["p", "q", "r", "s"]),
            "flag": rng.random(n) < 0.2 + 0.3 * y,
        }
    )
    frame.loc[rng.random(n) < 0.2, "a"] = np.nan
    frame.loc[rng.random(n) < 0.2, "colour"] = None
    return frame, y


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("weighted", [False, True])
def test_every_row_gets_the_probabilities_of_the_plain_version(seed, weighted):
    frame, y = mixed(seed)
    # One row of the last class only, and none of it in the rows learned from on even seeds.
    y[np.flatnonzero(y == 2)[seed % 2 :]] = 0
    weight = np.random.default_rng(9).integers(1, 4, len(y)) / 2 if weighted else np.ones(len(y))
    source = open_source(frame, y, weight=weight if weighted else None)
    numbers = frame[["a", "b", "same"]].to_numpy(float)
    codes = np.column_stack([frame["colour"].cat.codes, frame["flag"].astype(int)])
    model = MixedNaiveBayes().fit(source)
    found = model.predict_proba(source)
    for row in range(len(y)):
        classes, told = log_shares(numbers, codes, [4, 2], target_of(source), weight, numbers[row], codes[row])
        share = np.exp(told - told.max())
        assert model.classes_.tolist() == classes
        np.testing.assert_allclose(found[row], share / share.sum(), rtol=1e-9, atol=1e-12)
    assert model.predict(source).tolist() == model.classes_[found.argmax(axis=1)].tolist()


def test_on_numbers_without_gaps_it_is_gaussian():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 50)
    X = rng.normal(size=(150, 5)) + y[:, None] * rng.normal(size=5)
    ours = MixedNaiveBayes().fit(open_source(X, y))
    theirs = GaussianNB(var_smoothing=0).fit(X, y)
    # Equal classes have equal priors, with or without the count added.
    np.testing.assert_allclose(ours.predict_proba(open_source(X, y)), theirs.predict_proba(X), rtol=1e-9, atol=1e-12)


def left_one_out(source):
    n = source.schema.n_rows
    hits = [
        MixedNaiveBayes().fit(rows_of(source, np.delete(np.arange(n), k))).predict(rows_of(source, np.array([k])))[0]
        == labels_of(source)[k]
        for k in range(n)
    ]
    return float(np.mean(hits))


def test_the_weather_left_one_out():
    table = np.array([row.split() for row in WEATHER.replace("\n", ";").split(";")], dtype=object)
    assert left_one_out(open_source(table[:, :2], table[:, 2])) == pytest.approx(0.785714, abs=1e-6)


def test_integer_weights_are_rows_repeated():
    frame, y = mixed(1)
    weight = np.random.default_rng(2).integers(1, 4, len(y))
    again = np.repeat(np.arange(len(y)), weight)
    weighted = MixedNaiveBayes().fit(open_source(frame, y, weight=weight))
    repeated = MixedNaiveBayes().fit(open_source(frame.iloc[again], y[again]))
    source = open_source(frame, y)
    np.testing.assert_allclose(weighted.predict_proba(source), repeated.predict_proba(source), rtol=1e-9)


def test_what_is_learned_and_told_piece_by_piece_is_the_same(monkeypatch):
    frame, y = mixed(3)
    source = open_source(frame, y)
    whole = MixedNaiveBayes().fit(source).predict_proba(source)
    monkeypatch.setattr(naive_bayes, "_PIECE_VALUES", 35)
    assert np.array_equal(MixedNaiveBayes().fit(source).predict_proba(source), whole)


def test_a_class_without_spread_gives_probabilities_and_a_constant_says_nothing():
    table = np.array([[0.0, 7.0, 1.0], [0.0, 7.0, 2.0], [1e6, 7.0, 3.0], [5e5, 7.0, np.nan]])
    shares = MixedNaiveBayes().fit(source := open_source(table, ["a", "a", "b", "b"])).predict_proba(source)
    assert shares[:, 0].round(3).tolist() == [1, 1, 0, 0]
    constant = MixedNaiveBayes().fit(view := open_source(table[:, 1:2], ["a", "b", "b", "b"])).predict_proba(view)
    np.testing.assert_allclose(constant[:, 0], 2 / 6)

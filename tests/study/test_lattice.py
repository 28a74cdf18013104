"""The merits of all sets of few columns, against the formula and Weka's table."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from tamiz import SubsetSelector, open_table
from tamiz.criteria import CFS, CrossValidated, symmetric_uncertainty
from tamiz.exceptions import TamizWarning
from tamiz.search import BestFirst, Forward
from tamiz.selection import subset_report
from tamiz.selection.subset_report import describe_lattice

from ..reference.cfs import merit

WEATHER = {
    "outlook": "sunny sunny overcast rainy rainy rainy overcast sunny sunny rainy sunny overcast overcast rainy",
    "temperature": "hot hot hot mild cool cool cool mild cool mild mild mild hot mild",
    "humidity": "high high high high normal normal normal high normal normal normal high normal high",
    "windy": "f t f f f t t f f f t t f t",
    "play": "no no yes yes yes no yes no yes yes yes yes yes no",
}


def lattice_of(columns, target, selector):
    table = pd.DataFrame({name: values.split() for name, values in columns.items()})
    opened = open_table(table, target)
    return describe_lattice(selector.fit(opened), opened)


def test_the_weather_has_the_merits_of_the_formula():
    words = {name: values.split() for name, values in WEATHER.items()}
    names = [name for name in words if name != "play"]
    with_target = [symmetric_uncertainty(words[name], words["play"]) for name in names]
    between = np.array([[symmetric_uncertainty(words[a], words[b]) for b in names] for a in names])
    found = lattice_of(WEATHER, "play", SubsetSelector(CFS(), BestFirst()))
    assert list(found.columns) == names
    assert len(found.merits) == 16
    for size in range(5):
        for members in combinations(range(4), size):
            assert found.merits[sum(1 << j for j in members)] == pytest.approx(merit(members, with_target, between))
    assert found.best == 0b0101
    assert found.merits[0b0101] == pytest.approx(0.2472872, abs=1e-7)


def test_the_lattice_does_not_depend_on_the_search():
    lattices = [
        lattice_of(WEATHER, "play", SubsetSelector(CFS(), search, n_features=size))
        for search, size in ((BestFirst(), None), (Forward(), 1), (Forward(excluded=["outlook"]), 2))
    ]
    assert lattices[0] == lattices[1] == lattices[2]


def test_of_equal_sets_the_smaller_is_the_best_and_then_the_earlier_columns():
    same = "a a b b a b a b"
    found = lattice_of(
        {"one": same, "two": same, "y": same}, "y", SubsetSelector(CFS(), BestFirst(), allow_duplicates=True)
    )
    assert found.merits[1] == found.merits[2] == found.merits[3] == 1.0
    assert found.best == 0b01


def test_a_wrapper_has_one_too():
    X, y = load_iris(return_X_y=True, as_frame=True)
    table = open_table(X, y)
    selector = SubsetSelector(CrossValidated("gaussian_nb"), Forward(), random_state=0).fit(table)
    found = describe_lattice(selector, table)
    kept = sum(1 << j for j in np.flatnonzero(selector.support_))
    assert found.merits[kept] == selector.merit_
    assert max(found.merits) == found.merits[found.best]


@pytest.mark.parametrize("n", [1, 7])
def test_one_column_and_more_than_six_have_none(n):
    rng = np.random.default_rng(0)
    table = open_table(rng.normal(size=(30, n)), rng.integers(0, 2, 30).astype(str))
    with pytest.warns(TamizWarning):
        selector = SubsetSelector(CFS(), BestFirst()).fit(table)
    assert describe_lattice(selector, table) is None


def test_a_costly_lattice_is_skipped_with_a_note(monkeypatch):
    monkeypatch.setattr(subset_report, "_MAX_EFFORT", 1.0)
    with pytest.warns(TamizWarning, match="Of 16 sets of columns, the merits of 1 were not computed"):
        assert lattice_of(WEATHER, "play", SubsetSelector(CFS(), BestFirst())) is None

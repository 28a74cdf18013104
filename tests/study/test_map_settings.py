"""The settings of the maps of a study, and maps of a class that someone wrote."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

import tamiz
from tamiz.reduction import MDS, PCA, Autoencoder, LandmarkMDS
from tamiz.reduction.base import Reducer
from tamiz.reduction.named_maps import find_map_method, list_variants
from tamiz.runtime.registry import Entry
from tamiz.table.factory import as_table

X = np.random.default_rng(0).normal(size=(60, 3)).round(3)


class FirstColumns(Reducer):
    """A map that someone wrote: the first columns. It has mathematics only, and no word for a report."""

    def __init__(self, n_components=2, random_state=None):
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X, y=None):
        self.schema = as_table(X).schema
        self.embedding_ = self.transform(X)
        return self

    def transform(self, X):
        blocks = [
            np.column_stack([block.column(j) for j in range(self.n_components)]) for block in as_table(X).blocks()
        ]
        return np.concatenate(blocks)

    @property
    def schema_(self):
        return self.schema


class Scaled(FirstColumns):
    """Such a map with a stress, eigenvalues and loadings."""

    quadratic_cost = True

    def fit(self, X, y=None):
        super().fit(X)
        self.stress_, self.eigenvalues_, self.residuals_ = 0.125, np.array([2.0, 1.0]), np.array([1e-9, 0.0])
        self.coordinate_names_, self.loadings_ = ["a", "b"], np.eye(2)
        return self


def test_a_map_needs_no_method_for_a_study():
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    plain, scaled = tamiz.study(table, maps=[FirstColumns(), Scaled()], assess=False).to_dict()["maps"]
    assert (plain["id"], plain["axes"], plain["points"]) == (
        "FirstColumns",
        ["Coordinate 1", "Coordinate 2"],
        X[:, :2].tolist(),
    )
    assert plain["notes"] == plain["galleries"] == plain["spectrum"]["values"] == plain["loadings"]["columns"] == []
    assert plain["explanation"]["columns"] == ["a", "b", "c"]
    assert scaled["notes"] == ["Stress 0.125."]
    assert (scaled["spectrum"]["label"], scaled["spectrum"]["values"]) == ("Eigenvalue", [2.0, 1.0])
    assert scaled["spectrum"]["residuals"] == [1e-9, 0.0]
    assert scaled["loadings"] == {"columns": ["a", "b"], "values": [[1.0, 0.0], [0.0, 1.0]]}


def test_a_registered_map_without_own_settings_gets_those_of_every_map(monkeypatch: Any):
    entry = Entry("first_columns", "tests", "nowhere", "FirstColumns", "map", "First columns")
    monkeypatch.setattr(Entry, "load", lambda _: FirstColumns)
    (method,) = list_variants(entry)
    assert (method.id, method.label) == ("first_columns", "First columns")
    reducer = method.make_reducer(as_table(X[:2]).schema, "seuclidean")
    assert reducer.get_params() == {"n_components": 1, "random_state": 0}
    assert (FirstColumns().max_study_rows, Scaled().max_study_rows) == (None, 2000)


def test_the_settings_of_a_study_are_those_of_the_method():
    schema = as_table(X).schema
    for name, expected in [
        ("pca", PCA(3, standardize=True)),
        ("mds:ordinal", MDS(kind="ordinal", dissimilarity="gower", random_state=0)),
        ("landmark_mds", LandmarkMDS(dissimilarity="gower", random_state=0)),
    ]:
        assert repr(find_map_method(name).make_reducer(schema, "gower")) == repr(expected)


def test_an_autoencoder_is_trained_on_a_sample_of_many_rows():
    assert Autoencoder().max_study_rows == 20_000


def test_a_class_that_derives_from_a_method_is_fitted_on_as_many_rows_as_the_method():
    class Own(MDS):
        """MDS under another name."""

    assert Own(kind="ordinal").max_study_rows == MDS(kind="ordinal").max_study_rows == 1000

"""What a study reports of a map: sentences, spectra and images from the numbers of the fitted map."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits, load_wine

import tamiz
from tamiz._study.map_descriptions.methods import describe_reducer
from tamiz.exceptions import TamizWarning
from tamiz.graphs import Graph, KNearest
from tamiz.reduction import MDS, PCA, Autoencoder, Isomap, LandmarkMDS, StochasticMDS, registry
from tamiz.reduction.base import Reducer
from tamiz.reduction.named_maps import MapVariant, make_reducer, map_variants, max_fitted_rows
from tamiz.reduction.principal.parallel_analysis import compare_with_null
from tamiz.runtime.registry import Entry
from tamiz.table.factory import as_table

X = np.random.default_rng(0).normal(size=(60, 3)).round(3)
TEN_POINTS = np.array(
    [[2.5, 2.4], [0.5, 0.7], [2.2, 2.9], [1.9, 2.2], [3.1, 3.0], [2.3, 2.7], [2, 1.6], [1, 1.1], [1.5, 1.6], [1.1, 0.9]]
)


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
    assert map_variants(entry) == (MapVariant(),)
    schema = as_table(X[:2]).schema
    reducer = make_reducer(entry, schema, "", "seuclidean")
    assert reducer.get_params() == {"n_components": 1, "random_state": 0}
    assert (max_fitted_rows(FirstColumns()), max_fitted_rows(Scaled())) == (None, 2000)


def test_the_settings_of_a_study_are_those_of_the_method():
    schema = as_table(X).schema
    for name, variant, expected in [
        ("pca", "", PCA(3, standardize=True)),
        ("mds", "ordinal", MDS(kind="ordinal", dissimilarity="gower", random_state=0)),
        ("landmark_mds", "", LandmarkMDS(dissimilarity="gower", random_state=0)),
    ]:
        assert repr(make_reducer(registry[name], schema, variant, "gower")) == repr(expected)


def test_the_note_on_categories_states_what_their_weight_means():
    table = pd.DataFrame(
        {
            "age": [23.0, 31, 38, 45, 52, 29, 61, 34, 47, 55, 26, 40],
            "income": [21.0, 35, 30, 52, 48, 26, 60, 39, 41, 66, 24, 37],
            "region": list("abcabdcabdca"),
            "owner": ["no", "no", "yes", "yes", "yes", "no", "yes", "no", "yes", "yes", "no", "no"],
        }
    )
    balanced = describe_reducer(PCA(2, standardize=True).fit(table)).notes
    famd = describe_reducer(PCA(2, standardize=True, categories="famd").fit(table)).notes
    assert any("K - 1" in note and "the total variance is 4, the number of columns" in note for note in balanced)
    assert any("FAMD" in note and "66.7%" in note for note in famd)


def test_pca_is_described_by_the_shares_and_loadings_of_the_fit():
    pca = PCA(2).fit(TEN_POINTS)
    facts = describe_reducer(pca)
    assert facts.axis_names == ["PC 1", "PC 2"]
    assert facts.spectrum == pca.explained_variance_ratio_.tolist()
    assert facts.cumulative[-1] == pytest.approx(1, abs=1e-12)
    assert facts.loadings == pca.loadings_.tolist()


def test_the_heading_of_parallel_analysis_counts_the_components_above_chance():
    pca = PCA(4, standardize=True).fit(load_wine().data)
    facts = describe_reducer(pca)
    assert len(facts.chance_spectrum) == 4
    np.testing.assert_allclose(facts.chance_spectrum, pca.parallel_analysis().reference / 13, rtol=0.05)
    assert (
        facts.chance_title
        == "The first 3 components explain more variance than expected by chance; component 4 does not"
    )
    every = describe_reducer(PCA(13, standardize=True).fit(load_wine().data))
    assert every.chance_title == facts.chance_title
    assert facts.chance_note.startswith("Chance: the mean over random tables of the same size")
    for seed in range(5):
        pca = PCA(2, standardize=True).fit(np.random.default_rng(seed).normal(size=(2, 3)))
        title = describe_reducer(pca).chance_title
        assert title == "The first component explains no more variance than expected by chance"
    assert describe_reducer(PCA(2).fit_covariance(np.cov(X.T))).chance_spectrum == []


def test_a_component_above_chance_after_one_that_is_not_is_not_counted(monkeypatch):
    pca = PCA(4, standardize=True).fit(load_wine().data)
    first, second, third, fourth = pca.explained_variance_
    above_at_1_and_3 = np.array([[first - 1, second + 1, third - 0.1, fourth + 1]])
    chance = compare_with_null(pca.explained_variance_, above_at_1_and_3, None)
    assert (chance.explained_variance > chance.reference).tolist() == [True, False, True, False]
    monkeypatch.setattr(pca, "_parallel_analysis", chance)
    title = describe_reducer(pca).chance_title
    assert title == "The first component explains more variance than expected by chance; component 2 does not"


def test_images_of_pca_have_an_explanation():
    pca = PCA(3, image_shape=(8, 8)).fit(load_digits().data[:50])
    mean, components, *rows = describe_reducer(pca).galleries
    assert (mean.note, mean.images) == ("The average of every pixel.", [pca.mean_.tolist()])
    assert components.note.startswith("Changes along each component")
    assert {gallery.note for gallery in rows} == {"The reconstruction from the mean and this number of components."}


def test_the_stress_of_maps_that_have_one():
    assert describe_reducer(PCA(2).fit(X)).stress is None
    mds = MDS(random_state=0).fit(X)
    assert describe_reducer(mds).stress == mds.stress_
    landmark = LandmarkMDS(random_state=0).fit(X)
    assert describe_reducer(landmark).stress == landmark.sampled_stress_


def test_the_sampled_stress_of_many_rows_has_an_error():
    many = np.random.default_rng(0).normal(size=(3000, 6)) * [5, 3, 2, 2, 1, 1]
    mapped = LandmarkMDS(2, random_state=0).fit(many)
    assert describe_reducer(mapped).notes == [
        "All rows are mapped by their distances to 500 landmarks.",
        f"Stress {mapped.sampled_stress_:.3g} +- {mapped.sampled_stress_error_:.1g}, over random pairs of rows.",
    ]
    mapped = LandmarkMDS(2, random_state=0).fit(many[:300])
    assert describe_reducer(mapped).notes[1] == f"Stress {mapped.sampled_stress_:.3g}."
    rows = np.random.default_rng(0).normal(size=(2000, 6)) * np.linspace(3, 1, 6)
    found = StochasticMDS(2, random_state=0, n_rounds=60, tol=1.0).fit(rows)
    assert describe_reducer(found).notes == [
        "Distances on the map approximate the dissimilarities (60 rounds of stochastic descent). Kruskal's stress-1 is "
        f"{found.sampled_stress_:.3g} +- {found.sampled_stress_error_:.1g}, over random pairs of rows."
    ]
    found = StochasticMDS(2, random_state=0, n_rounds=60, tol=1.0).fit(rows[:200])
    assert describe_reducer(found).notes[0].endswith(f"stress-1 is {found.sampled_stress_:.3g}.")


def test_isomap_is_described_by_what_its_distances_are_and_what_its_coordinates_leave():
    grid = np.array([(a, b) for a in range(12) for b in range(5)], dtype=float)
    exact = Isomap(3, graph=KNearest(4)).fit(grid)
    described = describe_reducer(exact)
    shown = ", ".join(f"{variance:.3g}" for variance in exact.residual_variances_)
    assert described.notes[0].endswith("shortest path between them along the neighbour graph.")
    assert described.notes[1].startswith(f"The first 1 to 3 coordinates leave {shown} of the variance")
    assert described.spectrum == exact.eigenvalues_.tolist()
    assert f"{100 * exact.negative_share_:.3g} % of the sum" in described.spectrum_note
    few = describe_reducer(Isomap(1, graph=KNearest(4), n_landmarks=20, random_state=0).fit(grid))
    assert "to 20 of them, the landmarks" in few.notes[0]
    assert few.notes[1].startswith("The first coordinate leaves")
    # Two components, the larger one on a line; rows at equal distances have no residual variance.
    parts = Graph.from_edges([0, 1, 2, 4], [1, 2, 3, 5], lengths=[1.0, 2.0, 1.0, 9.0])
    described = describe_reducer(Isomap(1, graph=parts, disconnected="per_component").fit())
    assert described.spectrum == pytest.approx([10.0])
    assert "negative" not in described.spectrum_note
    pair = Isomap(1, graph=Graph.from_edges([0], [1], lengths=[1.0])).fit()
    assert len(describe_reducer(pair).notes) == 1


def test_a_class_that_derives_from_a_method_is_described_as_the_method():
    class Own(MDS):
        """Ordinal MDS under another name."""

    own, mds = Own(kind="ordinal", random_state=0), MDS(kind="ordinal", random_state=0)
    assert max_fitted_rows(own) == max_fitted_rows(mds) == 1000
    assert describe_reducer(own.fit(X[:20])) == describe_reducer(mds.fit(X[:20]))


def test_an_autoencoder_is_described_by_its_errors_beside_pca_and_the_columns_that_it_loses():
    t = np.linspace(-2, 2, 200)
    rng = np.random.default_rng(0)
    known = {"t": t, "square": t**2, "growth": np.exp(t), "cube": t**3}
    table = pd.DataFrame({**known, "noise": rng.normal(size=200), "same": 1.0})
    fitted = Autoencoder(1, hidden_sizes=(16, 8), learning_rate=0.01, random_state=0).fit(table)
    facts = describe_reducer(fitted)
    errors = dict(zip(table.columns, fitted.column_errors_, strict=True))
    assert facts.notes == [
        "A network with 2 layers of 16 and 8 units before the coordinates and as many after them reconstructs the rows from the "
        f"coordinates. The reconstructions lose {fitted.error_:.1%} of the variance of 20 rows that it was not trained on, and "
        f"those of PCA from the first principal component {fitted.pca_error_:.1%}.",
        "Columns with the smallest loss of variance: "
        + ", ".join(f"{name} ({errors[name]:.0%})" for name in sorted(known, key=errors.get))
        + ".",
        f"Columns of which the coordinates lose at least half of the variance: noise ({errors['noise']:.0%}).",
        f"The training converged within {fitted.n_epochs_:,} epochs.",
    ]
    assert not facts.comparable_axes
    linear = Autoencoder(2, hidden_sizes=(), validation_share=0, max_epochs=2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TamizWarning)
        notes = describe_reducer(linear.fit(table)).notes
    assert "A network with linear layers" in notes[0]
    assert "of the rows that it was trained on, and those of PCA from the first 2 principal components" in notes[0]
    assert notes[-1] == "The training was still improving after 2 epochs."


def test_an_autoencoder_is_no_default_map_and_is_trained_on_a_sample_of_many_rows():
    assert [one.is_default for one in map_variants(registry["autoencoder"])] == [False]
    assert max_fitted_rows(Autoencoder()) == 20_000

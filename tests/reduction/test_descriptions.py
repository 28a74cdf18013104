"""Descriptions of fitted maps: sentences, spectra and loadings from the numbers of the fit."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits, load_wine

from tamiz.exceptions import TamizWarning
from tamiz.graphs import Graph, KNearest
from tamiz.reduction import MDS, PCA, Autoencoder, Isomap, LandmarkMDS, StochasticMDS
from tamiz.reduction.parallel_analysis import compare_with_null

X = np.random.default_rng(0).normal(size=(60, 3)).round(3)
TEN_POINTS = np.array(
    [[2.5, 2.4], [0.5, 0.7], [2.2, 2.9], [1.9, 2.2], [3.1, 3.0], [2.3, 2.7], [2, 1.6], [1, 1.1], [1.5, 1.6], [1.1, 0.9]]
)


def test_the_note_on_categories_states_what_their_weight_means():
    table = pd.DataFrame(
        {
            "age": [23.0, 31, 38, 45, 52, 29, 61, 34, 47, 55, 26, 40],
            "income": [21.0, 35, 30, 52, 48, 26, 60, 39, 41, 66, 24, 37],
            "region": list("abcabdcabdca"),
            "owner": ["no", "no", "yes", "yes", "yes", "no", "yes", "no", "yes", "yes", "no", "no"],
        }
    )
    balanced = PCA(2, standardize=True).fit(table).describe().notes
    famd = PCA(2, standardize=True, categories="famd").fit(table).describe().notes
    assert any("K - 1" in note and "the total variance is 4, the number of columns" in note for note in balanced)
    assert any("FAMD" in note and "66.7%" in note for note in famd)


def test_pca_is_described_by_the_shares_and_loadings_of_the_fit():
    pca = PCA(2).fit(TEN_POINTS)
    facts = pca.describe()
    assert facts.axes == ("PC 1", "PC 2")
    assert facts.spectrum.values == tuple(pca.explained_variance_ratio_)
    assert facts.spectrum.cumulative[-1] == pytest.approx(1, abs=1e-12)
    assert facts.loadings.values == tuple(map(tuple, pca.loadings_))
    assert json.loads(json.dumps(facts.to_dict()))["spectrum"]["values"] == list(pca.explained_variance_ratio_)


def test_the_heading_of_parallel_analysis_counts_the_components_above_chance():
    pca = PCA(4, standardize=True).fit(load_wine().data)
    facts = pca.describe().spectrum
    assert len(facts.reference) == 4
    np.testing.assert_allclose(facts.reference, pca.parallel_analysis().reference / 13, rtol=0.05)
    assert (
        facts.chance_title
        == "The first 3 components explain more variance than expected by chance; component 4 does not"
    )
    every = PCA(13, standardize=True).fit(load_wine().data).describe().spectrum
    assert every.chance_title == facts.chance_title
    assert facts.chance_note.startswith("Chance: the mean over random tables of the same size")
    for seed in range(5):
        pca = PCA(2, standardize=True).fit(np.random.default_rng(seed).normal(size=(2, 3)))
        title = pca.describe().spectrum.chance_title
        assert title == "The first component explains no more variance than expected by chance"
    assert PCA(2).fit_covariance(np.cov(X.T)).describe().spectrum.reference == ()


def test_a_component_above_chance_after_one_that_is_not_is_not_counted(monkeypatch):
    pca = PCA(4, standardize=True).fit(load_wine().data)
    first, second, third, fourth = pca.explained_variance_
    above_at_1_and_3 = np.array([[first - 1, second + 1, third - 0.1, fourth + 1]])
    chance = compare_with_null(pca.explained_variance_, above_at_1_and_3, None)
    assert (chance.explained_variance > chance.reference).tolist() == [True, False, True, False]
    monkeypatch.setattr(pca, "_parallel_analysis", chance)
    title = pca.describe().spectrum.chance_title
    assert title == "The first component explains more variance than expected by chance; component 2 does not"


def test_images_of_pca_have_an_explanation():
    pca = PCA(3, image_shape=(8, 8)).fit(load_digits().data[:50])
    mean, components, *rows = pca.image_sets()
    assert (mean.note, mean.images) == ("The average of every pixel.", [pca.mean_.tolist()])
    assert components.note.startswith("Changes along each component")
    assert {gallery.note for gallery in rows} == {"The reconstruction from the mean and this number of components."}


def test_the_stress_of_maps_that_have_one():
    assert PCA(2).fit(X).describe().stress is None
    mds = MDS(random_state=0).fit(X)
    assert mds.describe().stress == mds.stress_
    landmark = LandmarkMDS(random_state=0).fit(X)
    assert landmark.describe().stress == landmark.sampled_stress_


def test_the_sampled_stress_of_many_rows_has_an_error():
    many = np.random.default_rng(0).normal(size=(3000, 6)) * [5, 3, 2, 2, 1, 1]
    mapped = LandmarkMDS(2, random_state=0).fit(many)
    assert mapped.describe().notes == (
        "All rows are mapped by their distances to 500 landmarks.",
        f"Stress {mapped.sampled_stress_:.3g} +- {mapped.sampled_stress_error_:.1g}, over random pairs of rows.",
    )
    mapped = LandmarkMDS(2, random_state=0).fit(many[:300])
    assert mapped.describe().notes[1] == f"Stress {mapped.sampled_stress_:.3g}."
    rows = np.random.default_rng(0).normal(size=(2000, 6)) * np.linspace(3, 1, 6)
    found = StochasticMDS(2, random_state=0, n_rounds=60, tol=1.0).fit(rows)
    assert found.describe().notes == (
        "Distances on the map approximate the dissimilarities (60 rounds of stochastic descent). Kruskal's stress-1 is "
        f"{found.sampled_stress_:.3g} +- {found.sampled_stress_error_:.1g}, over random pairs of rows.",
    )
    found = StochasticMDS(2, random_state=0, n_rounds=60, tol=1.0).fit(rows[:200])
    assert found.describe().notes[0].endswith(f"stress-1 is {found.sampled_stress_:.3g}.")


def test_isomap_is_described_by_what_its_distances_are_and_what_its_coordinates_leave():
    grid = np.array([(a, b) for a in range(12) for b in range(5)], dtype=float)
    exact = Isomap(3, graph=KNearest(4)).fit(grid)
    described = exact.describe()
    shown = ", ".join(f"{variance:.3g}" for variance in exact.residual_variances_)
    assert described.notes[0].endswith("shortest path between them along the neighbour graph.")
    assert described.notes[1].startswith(f"The first 1 to 3 coordinates leave {shown} of the variance")
    assert described.spectrum.values == tuple(exact.eigenvalues_)
    assert f"{100 * exact.negative_share_:.3g} % of the sum" in described.spectrum.note
    few = Isomap(1, graph=KNearest(4), n_landmarks=20, random_state=0).fit(grid).describe()
    assert "to 20 of them, the landmarks" in few.notes[0]
    assert few.notes[1].startswith("The first coordinate leaves")
    # Two components, the larger one on a line; rows at equal distances have no residual variance.
    parts = Graph.from_edges([0, 1, 2, 4], [1, 2, 3, 5], lengths=[1.0, 2.0, 1.0, 9.0])
    described = Isomap(1, graph=parts, disconnected="per_component").fit().describe()
    assert described.spectrum.values == pytest.approx([10.0])
    assert "negative" not in described.spectrum.note
    pair = Isomap(1, graph=Graph.from_edges([0], [1], lengths=[1.0])).fit()
    assert len(pair.describe().notes) == 1


def test_a_class_that_derives_from_a_method_is_described_as_the_method():
    class Own(MDS):
        """Ordinal MDS under another name."""

    own, mds = Own(kind="ordinal", random_state=0), MDS(kind="ordinal", random_state=0)
    assert own.fit(X[:20]).describe() == mds.fit(X[:20]).describe()


def test_an_autoencoder_is_described_by_its_errors_beside_pca_and_the_columns_that_it_loses():
    t = np.linspace(-2, 2, 200)
    rng = np.random.default_rng(0)
    known = {"t": t, "square": t**2, "growth": np.exp(t), "cube": t**3}
    table = pd.DataFrame({**known, "noise": rng.normal(size=200), "same": 1.0})
    fitted = Autoencoder(1, hidden_sizes=(16, 8), learning_rate=0.01, random_state=0).fit(table)
    facts = fitted.describe()
    errors = dict(zip(table.columns, fitted.column_errors_, strict=True))
    assert facts.notes == (
        "A network with 2 layers of 16 and 8 units before the coordinates and as many after them reconstructs the rows from the "
        f"coordinates. The reconstructions lose {fitted.error_:.1%} of the variance of 20 rows that it was not trained on, and "
        f"those of PCA from the first principal component {fitted.pca_error_:.1%}.",
        "Columns with the smallest loss of variance: "
        + ", ".join(f"{name} ({errors[name]:.0%})" for name in sorted(known, key=errors.get))
        + ".",
        f"Columns of which the coordinates lose at least half of the variance: noise ({errors['noise']:.0%}).",
        f"The training converged within {fitted.n_epochs_:,} epochs.",
    )
    assert not facts.comparable_axes
    linear = Autoencoder(2, hidden_sizes=(), validation_share=0, max_epochs=2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TamizWarning)
        notes = linear.fit(table).describe().notes
    assert "A network with linear layers" in notes[0]
    assert "of the rows that it was trained on, and those of PCA from the first 2 principal components" in notes[0]
    assert notes[-1] == "The training was still improving after 2 epochs."

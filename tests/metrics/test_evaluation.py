"""quality(): exact values, estimates with their standard errors, representations."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_iris
from tests.metrics.example_maps import MAPS, scattered

from tamiz.exceptions import DataError
from tamiz.metrics import (
    continuity,
    kruskal_stress,
    label_accuracy,
    mean_relative_rank_errors,
    neighborhood_recall,
    normalized_stress,
    quality,
    rank_agreement,
    shepard,
    trustworthiness,
)
from tamiz.reduction import PCA

LABELS = np.arange(60) % 3


def single(X, Y, k):
    """The measures from the single functions."""
    diagram, errors = shepard(X, Y), mean_relative_rank_errors(X, Y, n_neighbors=k)
    return {
        "normalized_stress": normalized_stress(X, Y),
        "kruskal_stress": kruskal_stress(X, Y),
        "correlation": diagram.correlation,
        "rank_correlation": diagram.rank_correlation,
        "trustworthiness": trustworthiness(X, Y, n_neighbors=k),
        "continuity": continuity(X, Y, n_neighbors=k),
        "neighborhood_recall": neighborhood_recall(X, Y, n_neighbors=k),
        "map_rank_error": errors.of_map_neighbors,
        "data_rank_error": errors.of_data_neighbors,
        "rank_agreement": rank_agreement(X, Y).area,
    }


@pytest.mark.parametrize("name", MAPS)
def test_quality_has_the_numbers_of_the_functions(name):
    X, Y = MAPS[name]
    measured = quality(X, Y, n_neighbors=7)
    assert {m.name: m.value for m in measured.measures} == pytest.approx(single(X, Y, 7), rel=1e-13)
    assert all(m.error == 0.0 for m in measured.measures)
    assert measured.is_exact


def test_labels_add_one_measure():
    X, Y = scattered()
    measured = quality(X, Y, labels=LABELS, n_neighbors=4)
    assert measured["label_accuracy"].value == label_accuracy(Y, LABELS, n_neighbors=4)
    assert measured.measures[-1].name == "label_accuracy"


def test_a_sample_of_all_rows_is_exact():
    X, Y = scattered()
    whole, drawn = quality(X, Y, labels=LABELS), quality(X, Y, labels=LABELS, sample=60)
    assert whole.to_dict() == drawn.to_dict()


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "gower", "precomputed"])
def test_rows_that_were_drawn_have_their_exact_numbers(metric):
    X, Y = MAPS["duplicates"]
    if metric == "precomputed":
        X = np.linalg.norm(X[:, None] - X[None], axis=2)
    whole, drawn = (quality(X, Y, metric=metric, n_neighbors=9, sample=m) for m in (None, 20))
    at = drawn.points.rows
    assert len(at) == 20
    for name in ("trustworthiness", "continuity", "recall", "rank_agreement"):
        np.testing.assert_allclose(getattr(drawn.points, name), getattr(whole.points, name)[at], rtol=1e-13)


@pytest.mark.slow
def test_standard_errors_are_as_large_as_estimates_differ():
    X, Y = scattered(200, 10)
    Y[:50] = Y[np.random.default_rng(0).permutation(50)]
    labels = np.random.default_rng(1).integers(0, 2, size=200)
    whole = {m.name: m.value for m in quality(X, Y, labels=labels).measures}
    differences = {name: [] for name in whole}
    errors = {name: [] for name in whole}
    for seed in range(50):
        for m in quality(X, Y, labels=labels, sample=40, random_state=seed).measures:
            differences[m.name].append(m.value - whole[m.name])
            errors[m.name].append(m.error)
    for name in whole:
        spread, stated = np.sqrt(np.mean(np.square(differences[name]))), np.sqrt(np.mean(np.square(errors[name])))
        assert 0.6 < stated / spread < 1.7, (name, stated, spread)
        assert abs(np.mean(differences[name])) < 0.6 * spread, name


def test_the_same_seed_draws_the_same_rows():
    X, Y = scattered(100)
    first, again, other = (quality(X, Y, sample=30, random_state=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.points.rows, again.points.rows)
    assert first.to_dict() == again.to_dict()
    assert (first.points.rows != other.points.rows).any()


@pytest.mark.slow
def test_more_than_ten_thousand_rows_are_sampled_and_reported():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_001, 3))
    measured = quality(X, X[:, :2])
    assert not measured.is_exact
    assert measured["trustworthiness"].error > 0
    assert repr(measured).startswith(
        "Quality of a map: 1,000 rows sampled of 10,001, each compared with all; 15 neighbours, "
    )
    assert np.isnan(measured.point_values("stress")).sum() == 9_001


def test_numbers_of_points_colour_the_map():
    X, Y = scattered()
    measured = quality(X, Y)
    np.testing.assert_array_equal(measured.point_values("recall"), measured.points.recall)
    assert measured.points.trustworthiness.mean() == pytest.approx(measured["trustworthiness"].value, abs=1e-15)
    with pytest.raises(ValueError, match=r"^name must be one of stress, trustworthiness, .*, got 'area'\.$"):
        measured.point_values("area")


def test_the_quality_prints_as_an_aligned_table():
    X, species = load_iris(return_X_y=True)
    measured = quality(X, PCA(2).fit_transform(X), labels=species)
    head, *lines = repr(measured).splitlines()
    assert head == ("Quality of a map: 150 rows, each compared with all; 15 neighbours, euclidean distances")
    assert len(lines) == 11
    assert lines[0].split()[:2] == ["normalized_stress", "0.0418"]
    assert len({line.index("is better") for line in lines if "larger" in line}) == 1
    html = measured._repr_html_()
    assert html.count("<tr>") == 11
    assert "<td>trustworthiness</td>" in html


def test_errors_are_printed_beside_estimates():
    X, Y = scattered(100)
    measured = quality(X, Y, sample=50)
    measure = measured["trustworthiness"]
    assert f"{measure.value:.4f} ± {measure.error:.4f}" in repr(measured)


def test_the_quality_as_a_dictionary_is_json():
    X, Y = scattered()
    restored = json.loads(json.dumps(quality(X, Y).to_dict()))
    assert restored["n_rows"] == restored["n_samples"] == 60
    assert restored["measures"][4]["name"] == "trustworthiness"
    assert restored["measures"][4]["larger_is_better"] is True


def test_an_unknown_measure_is_refused_with_the_known_ones():
    X, Y = scattered()
    with pytest.raises(
        KeyError, match=r"There is no measure 'stress'; the measures are normalized_stress, kruskal_stress"
    ):
        quality(X, Y)["stress"]


def test_invalid_samples_are_refused():
    X, Y = scattered()
    with pytest.raises(ValueError, match=r"^sample must be from 2 to 60, got 61\.$"):
        quality(X, Y, sample=61)
    with pytest.raises(ValueError, match=r"^sample must be from 2 to 60, got 1\.$"):
        quality(X, Y, sample=1)
    with pytest.raises(DataError, match=r"^There are 59 labels for 60 rows; pass one label for each row\.$"):
        quality(X, Y, labels=LABELS[:-1])

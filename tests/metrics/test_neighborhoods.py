"""Trustworthiness and related measures against dense references, closed forms and scikit-learn."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits
from sklearn.manifold import trustworthiness as theirs
from tests.metrics.example_maps import MAPS, distances, scattered
from tests.reference import quality as reference

from tamiz import metrics, open_table
from tamiz.exceptions import DataError
from tamiz.metrics import (
    continuity,
    label_accuracy,
    mean_relative_rank_errors,
    neighborhood_recall,
    quality,
    trustworthiness,
)
from tamiz.runtime import parallel

NEIGHBORS = (1, 5, 15)


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("k", NEIGHBORS)
def test_numbers_are_those_of_dense_ranks(name, k):
    X, Y = MAPS[name]
    D, E = distances(X, Y)
    assert trustworthiness(X, Y, n_neighbors=k) == pytest.approx(reference.trustworthiness(D, E, k).mean(), abs=1e-14)
    assert continuity(X, Y, n_neighbors=k) == pytest.approx(reference.trustworthiness(E, D, k).mean(), abs=1e-14)
    assert neighborhood_recall(X, Y, n_neighbors=k) == pytest.approx(reference.recall(D, E, k).mean(), abs=1e-14)
    errors = mean_relative_rank_errors(X, Y, n_neighbors=k)
    assert errors.of_map_neighbors == pytest.approx(reference.rank_errors(D, E, k).mean(), abs=1e-14)
    assert errors.of_data_neighbors == pytest.approx(reference.rank_errors(E, D, k).mean(), abs=1e-14)


@pytest.mark.parametrize("k", NEIGHBORS)
@pytest.mark.parametrize("columns", [3, 64])
def test_trustworthiness_is_scikit_learns_on_untied_distances(k, columns):
    X = load_digits().data[:500, :columns] + np.random.default_rng(0).normal(size=(500, columns)) * 0.3
    Y = X[:, :2] + X[:, 1:3]
    # Of 250,000 pairs a few have distances that agree in 8 digits, which are a tie here; each changes a rank by 1.
    one_rank = 2 / (500 * k * (2 * 500 - 3 * k - 1))
    assert trustworthiness(X, Y, n_neighbors=k) == pytest.approx(theirs(X, Y, n_neighbors=k), abs=3 * one_rank)
    assert continuity(X, Y, n_neighbors=k) == pytest.approx(theirs(Y, X, n_neighbors=k), abs=3 * one_rank)


@pytest.mark.parametrize("name", MAPS)
def test_the_rows_themselves_are_a_perfect_map(name):
    X, _ = MAPS[name]
    assert trustworthiness(X, X) == 1.0
    assert continuity(X, X) == 1.0
    assert neighborhood_recall(X, X) == 1.0
    errors = mean_relative_rank_errors(X, X)
    assert (errors.of_map_neighbors, errors.of_data_neighbors) == (0.0, 0.0)


def test_the_reversed_order_has_the_worst_ranks():
    # About row 0 of the data the others are 1 .. n - 1 in order, on the map n - 1 .. 1.
    n, k = 9, 4
    D = np.abs(np.subtract.outer(np.arange(n), np.arange(n))).astype(float)
    E = (n - D) * (D > 0)
    got = reference.rank_errors(D, E, k)[0]
    assert got == pytest.approx(1.0)
    assert reference.trustworthiness(D, E, k)[0] == pytest.approx(0.0)


def test_all_neighbours_of_every_row_are_found():
    X, Y = scattered(12)
    assert neighborhood_recall(X, Y, n_neighbors=11) == 1.0


@pytest.mark.parametrize("metric", ["seuclidean", "cityblock", "cosine", "gower"])
def test_other_metrics_are_those_of_their_distances(metric):
    X, Y = scattered(40)
    within = {
        "seuclidean": X / X.std(axis=0, ddof=1),
        "cosine": X / np.linalg.norm(X, axis=1, keepdims=True),
    }
    if metric in ("gower", "cityblock"):
        D = (np.abs(X[:, None] - X[None]) / (np.ptp(X, axis=0) if metric == "gower" else 1.0)).mean(axis=2)
    else:
        D, _ = distances(within[metric], Y)
    _, E = distances(Y, Y)
    got = trustworthiness(X, Y, metric=metric), continuity(X, Y, metric=metric)
    wanted = reference.trustworthiness(D, E, 5).mean(), reference.trustworthiness(E, D, 5).mean()
    assert got == pytest.approx(wanted, abs=1e-14)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_given_distances_are_read_as_they_are(dtype):
    X, Y = MAPS["lattice"]
    D, E = distances(X, Y)
    D = D.astype(dtype)
    wanted = reference.trustworthiness(D, E, 5).mean(), reference.trustworthiness(E, D, 5).mean()
    got = trustworthiness(D, Y, metric="precomputed"), continuity(D, Y, metric="precomputed")
    assert got == pytest.approx(wanted, abs=1e-14)
    recall = neighborhood_recall(D, Y, metric="precomputed")
    assert recall == pytest.approx(reference.recall(D, E, 5).mean(), abs=1e-14)
    errors = mean_relative_rank_errors(D, Y, metric="precomputed")
    assert errors.of_map_neighbors == pytest.approx(reference.rank_errors(D, E, 5).mean(), abs=1e-14)


@pytest.mark.filterwarnings("ignore:.*the values differ by less than 1e-150")
@pytest.mark.parametrize("unit", [2.0**490, 1e-150, 2.0**-900])
def test_the_unit_does_not_matter(unit):
    X, Y = scattered(40)
    wanted = trustworthiness(X, Y), continuity(X, Y)
    assert (trustworthiness(X * unit, Y), continuity(X * unit, Y)) == wanted
    assert (trustworthiness(X, Y * unit), continuity(X, Y * unit)) == wanted


def test_a_shift_far_beyond_the_spread_leaves_ranks_exact():
    X, Y = MAPS["lattice"]
    assert trustworthiness(X + 2.0**40, Y) == trustworthiness(X, Y)


def test_frames_are_taken_on_both_sides():
    X, Y = scattered(30)
    assert trustworthiness(pd.DataFrame(X), pd.DataFrame(Y)) == trustworthiness(X, Y)


@pytest.mark.parametrize("metric", ["euclidean", "gower"])
def test_any_number_of_threads_gives_the_same_bits(metric):
    X, Y = scattered(700, 20)
    found = []
    for n_jobs in (1, 2):
        with parallel.thread_session(n_jobs):
            card = quality(X, Y, metric=metric, sample=400)
        found.append(np.concatenate([[m.value for m in card.measures], [m.error for m in card.measures]]))
        found[-1] = np.concatenate([found[-1], card.agreement.r_nx, card.points.stress])
    np.testing.assert_array_equal(*found)


def test_labels_are_predicted_by_majority_of_neighbours():
    _, Y = MAPS["lattice"]
    labels = np.random.default_rng(0).choice(["a", "b", "c"], size=len(Y)).tolist()
    _, E = distances(Y, Y)
    for k in (1, 2, 6):
        assert label_accuracy(Y, labels, n_neighbors=k) == reference.votes(E, labels, k).mean()


def test_labels_of_separated_groups_are_predicted_without_error():
    _X, Y = scattered(40)
    assert label_accuracy(Y + 100.0 * (np.arange(40)[:, None] % 2), np.arange(40) % 2) == 1.0


@pytest.mark.parametrize("function", [trustworthiness, continuity, quality])
def test_half_of_the_rows_as_neighbours_are_refused(function):
    X, Y = scattered(10)
    sentence = r"^n_neighbors must be below n_samples / 2 = 5, got 5\. Lower n_neighbors or pass more rows\.$"
    with pytest.raises(ValueError, match=sentence):
        function(X, Y, n_neighbors=5)


def test_two_rows_have_no_ranks_that_differ():
    with pytest.raises(DataError, match=r"^X has 2 rows; ranks need at least 3 to differ\.$"):
        mean_relative_rank_errors([[0.0], [1.0]], [[0.0], [1.0]], n_neighbors=1)


@pytest.mark.parametrize("function", [neighborhood_recall, mean_relative_rank_errors])
def test_all_rows_as_neighbours_are_refused(function):
    X, Y = scattered(10)
    sentence = r"^n_neighbors must be below n_samples = 10, got 10\. Lower n_neighbors or pass more rows\.$"
    with pytest.raises(ValueError, match=sentence):
        function(X, Y, n_neighbors=10)
    with pytest.raises(ValueError, match=r"^n_neighbors must be at least 1, got 0\.$"):
        function(X, Y, n_neighbors=0)
    with pytest.raises(TypeError, match=r"^n_neighbors must be a whole number, got 2\.5\.$"):
        function(X, Y, n_neighbors=2.5)


def test_two_rows_have_no_trustworthiness():
    with pytest.raises(ValueError, match=r"^n_neighbors must be below n_samples / 2 = 1, got 1\. "):
        trustworthiness([[0.0], [1.0]], [[0.0], [1.0]], n_neighbors=1)


EVERY = [getattr(metrics, name) for name in metrics.__all__ if name != "label_accuracy"]


@pytest.mark.parametrize("function", EVERY, ids=lambda function: function.__name__)
def test_coordinates_that_do_not_match_the_rows_are_refused(function):
    X, Y = scattered(40)
    with pytest.raises(
        DataError, match=r"^embedding has 39 rows and X has 40; give the coordinates of the rows of X\.$"
    ):
        function(X, Y[:-1])
    with pytest.raises(DataError, match=r"^Row 3 of the embedding contains a NaN or an infinite number\. Remove rows"):
        function(X, np.where(np.arange(40)[:, None] == 3, np.inf, Y))
    with pytest.raises(TypeError, match=r"^embedding must contain real numbers, got <U1\.$"):
        function(X, np.full((40, 2), "a"))
    with pytest.raises(ValueError, match=r"^metric must be one of 'euclidean', .*, got 'euclid' \(did you mean"):
        function(X, Y, metric="euclid")


def test_weights_are_refused():
    X, Y = scattered(20)
    table = open_table(pd.DataFrame(X).assign(w=1.0), weight="w")
    with pytest.raises(
        DataError,
        match=r"^Map quality is not defined for weighted rows, and the table has the weights 'w'; open it without",
    ):
        trustworthiness(table, Y)


def test_labels_that_do_not_fit_are_refused():
    _, Y = scattered(20)
    with pytest.raises(DataError, match=r"^There are 19 labels for 20 rows; pass one label for each row\.$"):
        label_accuracy(Y, np.zeros(19))
    with pytest.raises(DataError, match=r"^Row 4 has no label; remove the row, or pass no labels\.$"):
        label_accuracy(Y, [None if i == 4 else "a" for i in range(20)])

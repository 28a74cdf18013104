"""The choice of a neighbour search, and the errors of one that does not support the points."""

import re

import numpy as np
import pytest

from tamiz.exceptions import DataError
from tamiz.graphs import builders
from tamiz.graphs.builders import choose_search
from tamiz.neighbors.exact_search import BruteForce, KDTree, choose_exact_search
from tamiz.neighbors.nn_descent import NNDescent
from tamiz.neighbors.points import EuclideanPoints
from tamiz.neighbors.precomputed import PrecomputedDistances


def points(n, p):
    return EuclideanPoints(np.random.default_rng(0).normal(size=(n, p)))


@pytest.mark.parametrize(
    ("search", "refused", "sentence"),
    [
        (KDTree(), points(500, 20), "KDTree requires 1 to 15 columns, got 20. Use BruteForce()."),
        (NNDescent(), points(500, 3), "NNDescent requires at least 2,000 rows, got 500. Use BruteForce()."),
        (
            KDTree(),
            PrecomputedDistances(np.zeros((4, 4))),
            "KDTree requires dense rows of numbers at Euclidean or cosine distances, got PrecomputedDistances. Use BruteForce().",
        ),
    ],
)
def test_a_search_that_does_not_support_the_rows_is_refused_with_its_limit_and_the_way_out(search, refused, sentence):
    with pytest.raises(DataError, match=f"^{re.escape(sentence)}$"):
        choose_search(search, refused)


def test_a_search_that_can_do_is_taken_as_it_is():
    for search in (KDTree(), BruteForce()):
        assert choose_search(search, points(50, 3)) is search


def test_without_a_search_an_exact_one_is_taken_where_it_takes_seconds(monkeypatch):
    assert isinstance(choose_search(None, points(20_000, 2)), KDTree)
    assert isinstance(choose_search(None, points(3000, 30)), BruteForce)
    assert isinstance(choose_search(None, PrecomputedDistances(np.zeros((4, 4)))), BruteForce)
    monkeypatch.setattr(builders, "_MAX_EXACT_SECONDS", 1e-9)
    assert isinstance(choose_search(None, points(3000, 30)), NNDescent)
    assert isinstance(choose_search(None, points(1999, 30)), BruteForce)


def test_the_exact_search_of_least_time_is_that_by_a_tree_in_few_columns():
    assert isinstance(choose_exact_search(points(100_000, 3)), KDTree)
    assert isinstance(choose_exact_search(points(3000, 16)), BruteForce)

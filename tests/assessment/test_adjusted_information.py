"""Adjusted mutual information against scikit-learn, and numbers of codings by enumeration."""

import itertools

import numpy as np
import pytest
from sklearn.metrics import adjusted_mutual_info_score

from tamiz.assessment.leaks import adjusted_mutual_information, entropy, log2_partitions
from tamiz.criteria import symmetric_uncertainty


@pytest.mark.parametrize("sizes", [(2, 2), (3, 40), (60, 60), (1, 5), (120, 4)])
def test_it_is_that_of_scikit_learn(sizes):
    rng = np.random.default_rng(0)
    for n in (20, 120, 500):
        a, b = (rng.integers(0, size, n) for size in sizes)
        related = np.where(rng.random(n) < 0.8, a, b)
        for other in (b, related):
            expected = adjusted_mutual_info_score(a, other)
            assert adjusted_mutual_information(a, other) == pytest.approx(expected, abs=1e-10)


def test_it_is_the_symmetric_uncertainty_less_that_of_shuffled_rows():
    rng = np.random.default_rng(1)
    a = rng.integers(0, 12, 80)
    b = np.where(rng.random(80) < 0.7, a, rng.integers(0, 12, 80))
    by_chance = np.mean([symmetric_uncertainty(a, rng.permutation(b)) for _ in range(400)])
    corrected = (symmetric_uncertainty(a, b) - by_chance) / (1 - by_chance)
    assert adjusted_mutual_information(a, b) == pytest.approx(corrected, abs=0.01)


def test_codings_without_anything_to_explain_score_0():
    rows = np.arange(30)
    assert adjusted_mutual_information(rows, rows[::-1]) == 0.0
    assert adjusted_mutual_information(np.zeros(30, dtype=int), np.zeros(30, dtype=int)) == 0.0


@pytest.mark.parametrize("sizes", [(3, 2), (2, 2, 2), (4, 1, 1), (1, 1, 1, 1), (6,)])
def test_codings_are_counted_as_they_are_listed(sizes):
    rows = np.repeat(np.arange(len(sizes)), sizes)
    splits = {frozenset(frozenset(np.flatnonzero(np.array(order) == k).tolist()) for k in range(len(sizes)))
              for order in itertools.permutations(rows.tolist())}  # fmt: skip
    assert 2 ** log2_partitions(np.array([*sizes, 0])) == pytest.approx(len(splits))


def test_the_entropy_of_a_fair_coin_is_one_bit():
    assert entropy(np.array([7, 0, 7])) == 1.0
    assert entropy(np.array([9])) == 0.0

"""Bounds on false selections, against values of R's stabs and a search over extreme distributions."""

import numpy as np
import pytest

from tamiz.error_control.stability import (
    choose_n_selected,
    choose_threshold,
    false_selection_bound,
    max_tail_probability,
)

from ..reference.r_concave import largest_tail

# Printed by R's stabs in the expected output of its regression tests: stabsel_parameters(cutoff = 0.6, q = 1 .. 10, p = 100) with
# 50 complementary pairs.
UNIMODAL = [0.0263, 0.105, 0.237, 0.421, 0.658, 0.947, 1.29, 1.68, 2.13, 2.63]
R_CONCAVE = [0.00697, 0.0334, 0.0869, 0.164, 0.261, 0.382, 0.53, 0.704, 0.908, 1.14]
NONE = [0.05, 0.2, 0.45, 0.8, 1.25, 1.8, 2.45, 3.2, 4.05, 5.0]


@pytest.mark.parametrize(("assumption", "expected"), [("unimodal", UNIMODAL), ("r_concave", R_CONCAVE), ("none", NONE)])
def test_bounds_are_those_of_stabs(assumption, expected):
    found = [false_selection_bound(q, 100, 0.6, 50, assumption) for q in range(1, 11)]
    # stabs prints three digits; its numeric maximisation is up to 0.4 % below the maximum.
    np.testing.assert_allclose(found, expected, rtol=5e-3)


@pytest.mark.parametrize(
    ("q", "p", "threshold", "expected"), [(30, 100, 0.6, 16.2), (10, 100, 0.37, 4.99), (7, 200, 0.62, 0.196)]
)
def test_r_concave_bounds_of_stabs_at_other_thresholds(q, p, threshold, expected):
    assert false_selection_bound(q, p, threshold, 50, "r_concave") == pytest.approx(expected, rel=5e-3)


def test_the_unimodal_bound_above_three_quarters():
    # stabs: 0.176 for q = 3, p = 10 and a cutoff of 0.96.
    assert false_selection_bound(3, 10, 0.96, 50) == pytest.approx(0.176, rel=3e-3)


@pytest.mark.parametrize(("mean", "start", "n", "r"), [(1e-4, 10, 50, -0.5), (0.04, 8, 20, -0.5), (0.1, 20, 20, -0.25)])
def test_the_tail_is_the_largest_of_all_extreme_distributions(mean, start, n, r):
    assert max_tail_probability(mean, start, n, r) == pytest.approx(largest_tail(mean, start, n, r), rel=1e-9)


def test_thresholds_and_sizes_are_those_of_stabs():
    # optimal_q(p = 200, cutoff = 0.6, PFER = 0.2, B = 50), and optimal_cutoff(p = 200, q = 7, PFER = 0.2, B = 50).
    assert [choose_n_selected(0.2, 200, 0.6, 50, a) for a in ("r_concave", "unimodal")] == [6, 3]
    assert [choose_threshold(0.2, 7, 200, 50, a) for a in ("r_concave", "unimodal")] == [0.62, 0.81]


def test_without_the_conditions_of_a_theorem_the_bound_is_that_without_assumption_and_never_above_all_columns():
    assert false_selection_bound(70, 100, 0.9, 50) == false_selection_bound(70, 100, 0.9, 50, "none")
    assert false_selection_bound(10, 100, 0.51, 50) == pytest.approx(50.0)
    for assumption in ("unimodal", "none", "r_concave"):
        assert false_selection_bound(90, 100, 0.5, 50, assumption) == 100
    assert false_selection_bound(0, 100, 0.8, 50, "r_concave") == 0


def test_a_threshold_counts_as_the_next_frequency():
    at = [false_selection_bound(5, 100, threshold, 10) for threshold in (0.7, 0.701, 0.75)]
    assert at[0] > at[1] == at[2]


def test_a_bound_out_of_reach_is_an_error():
    with pytest.raises(ValueError, match=r"max_false=0\.001 cannot be reached with threshold=0\.6: .* is 0\.0263"):
        choose_n_selected(0.001, 100, 0.6, 50, "unimodal")
    with pytest.raises(ValueError, match=r"max_false=0\.001 cannot be reached with 50 of 100 columns from each half"):
        choose_threshold(0.001, 50, 100, 50, "unimodal")

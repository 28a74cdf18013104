"""The knockoff filter and e-BH against their definitions and worked examples."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamiz.error_control.knockoff_selector import (
    estimated_proportions,
    knockoff_e_values,
    knockoff_threshold,
    select_by_e_values,
)

from ..reference import knockoffs as plain

STATISTICS = st.lists(st.integers(-8, 8).map(float), min_size=1, max_size=40).map(np.array)
BOUNDS = st.sampled_from([0.05, 0.1, 0.2, 0.3, 0.5])


@given(STATISTICS, BOUNDS, st.sampled_from([0, 1]))
@settings(max_examples=150, deadline=None)
def test_the_threshold_is_the_smallest_that_satisfies_the_bound(statistics, fdr, offset):
    assert knockoff_threshold(statistics, fdr, offset=offset) == plain.threshold(statistics, fdr, offset)


@given(STATISTICS, BOUNDS)
@settings(max_examples=150, deadline=None)
def test_e_values_and_their_selection_follow_their_definitions(statistics, fdr):
    found, threshold = knockoff_e_values(statistics, fdr)
    np.testing.assert_allclose(found, plain.e_values(statistics, fdr))
    np.testing.assert_array_equal(select_by_e_values(found, fdr), plain.e_bh(found, fdr))
    # With one draw the e-BH procedure selects what the filter selects.
    np.testing.assert_array_equal(select_by_e_values(found, fdr), statistics >= threshold)


# knockpy 1.3.5: knockpy.knockoff_stats.data_dependent_threshhold(W, fdr, offset).
W = np.array([3.2, -0.4, 2.8, 2.5, 0.0, 2.2, -2.0, 1.9, 1.7, 0.3, 1.2, -0.9, 1.1, 0.8, 2.6])
KNOCKPY = {(0.1, 1): np.inf, (0.2, 1): 2.2, (0.3, 1): 0.8, (0.5, 1): 0.3, (0.1, 0): 2.2, (0.2, 0): 0.8}


@pytest.mark.parametrize(("fdr", "offset"), KNOCKPY)
def test_thresholds_are_those_of_knockpy(fdr, offset):
    assert knockoff_threshold(W, fdr, offset=offset) == KNOCKPY[fdr, offset]


def test_the_filter_needs_one_over_fdr_positive_statistics():
    assert knockoff_threshold(np.arange(1.0, 10.0), 0.1) == np.inf
    assert knockoff_threshold(np.arange(1.0, 11.0), 0.1) == 1.0
    assert knockoff_threshold(np.arange(1.0, 10.0), 0.1, offset=0) == 1.0


def test_an_estimate_that_equals_the_bound_but_for_rounding_is_accepted():
    # 3 / 30 selections with 0.1, whose product 0.1 * 30 is above 3 in float64.
    statistics = np.concatenate([np.full(30, 2.0), np.full(2, -2.0)])
    assert knockoff_threshold(statistics, 0.1) == 2.0
    assert select_by_e_values(knockoff_e_values(statistics, 0.1)[0], 0.1).sum() == 30


def test_statistics_of_zero_are_no_threshold():
    thresholds, estimates = estimated_proportions(np.array([0.0, 0.0, 2.0]))
    assert (thresholds.tolist(), estimates.tolist()) == ([2.0], [1.0])
    assert knockoff_threshold(np.zeros(30), 0.5) == np.inf

"""Weights of edges: the range of lengths and widths with exact weights, and the errors and warnings outside it."""

import math
import warnings

import numpy as np
import pytest

from tamiz.exceptions import DataError, TamizWarning
from tamiz.graphs import HeatKernel, KNearest
from tamiz.graphs.edges import MIN_WEIGHT


@pytest.fixture(autouse=True)
def no_warning_of_numpy():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


@pytest.mark.parametrize("exponent", [-1060, -700, -3, 0, 4, 700, 1000])
def test_the_unit_of_lengths_changes_no_bit_of_a_weight(exponent):
    lengths = np.array([0.0, 0.1, 1.0, 2.5, 20.0])
    t = math.ldexp(1.5, exponent)
    unit = math.ldexp(1.0, exponent // 2)
    weights = HeatKernel(t).edge_weights(lengths * unit, None)
    even = 1.5 * 2 ** (exponent % 2)
    np.testing.assert_allclose(weights, np.exp(-(lengths**2) / even), rtol=1e-15)
    assert weights.tobytes() == HeatKernel(even).edge_weights(lengths, None).tobytes()
    far = HeatKernel(t).relative_weights(lengths * unit, np.full(5, 0.05 * unit))
    np.testing.assert_allclose(far, np.exp(-(lengths**2 - 0.0025) / even), rtol=1e-14)


def test_the_width_by_default_is_the_mean_square_at_any_length_whose_square_is_a_number():
    lengths = np.array([1.0, 2.0, 3.0])
    for unit in (2.0**-500, 1.0, 2.0**500):
        kernel = HeatKernel().resolve_parameters(lengths * unit)
        assert kernel.t == 14 / 3 * unit**2
        np.testing.assert_allclose(
            kernel.edge_weights(lengths * unit, None), np.exp(-(lengths**2) * 3 / 14), rtol=1e-15
        )
    assert HeatKernel().resolve_parameters(np.zeros(3)).t == np.inf
    assert HeatKernel().resolve_parameters(np.zeros(0)).t == np.inf


@pytest.mark.parametrize(("unit", "told"), [(1e160, r"3e\+160"), (1e-160, "3e-160"), (1e-200, "3e-200")])
def test_lengths_whose_mean_square_is_no_number_are_refused(unit, told):
    sentence = (
        rf"The longest edge has the length {told}, and the mean squared length, which is t by default, must be from "
        r"2\.23e-308 to 1\.8e\+308; pass the rows in another unit, or use Binary\(\)\."
    )
    with pytest.raises(DataError, match=sentence):
        HeatKernel().resolve_parameters(np.array([1.0, 2.0, 3.0]) * unit)


def test_an_infinite_width_makes_every_weight_one():
    for unit in (1e-200, 1.0, 1e200):
        assert HeatKernel(np.inf).edge_weights(np.array([0.0, unit]), None).tolist() == [1.0, 1.0]


@pytest.mark.filterwarnings("ignore:.*the values differ by less than 1e-150")
def test_a_table_in_tiny_numbers_is_refused_and_not_weighed_as_if_all_were_equally_near():
    X = np.random.default_rng(0).normal(size=(30, 3)) * 1e-200
    with pytest.raises(DataError, match=r"The longest edge has the length .*e-200, and the mean squared length"):
        KNearest(5).build(X)


@pytest.mark.parametrize("t", [5e-324, 1e-300, 1e-9])
def test_a_width_at_which_all_weights_vanish_is_refused_without_a_warning_of_numpy(t):
    X = np.random.default_rng(1).normal(size=(30, 3))
    with pytest.raises(ValueError, match=rf"t={t:g} makes the weight of every edge 0: .* keeps all weights above 0"):
        KNearest(5, weight=HeatKernel(t)).build(X)


def test_a_weight_below_the_least_is_lost_and_the_reported_width_keeps_it():
    lengths = np.array([1.0, np.sqrt(667.0), np.sqrt(668.0), np.sqrt(700.0), np.sqrt(740.0)])
    kernel = HeatKernel(1.0)
    weights = kernel.edge_weights(lengths, None)
    np.testing.assert_allclose(weights, [np.exp(-1), np.exp(-667.0), 0, 0, 0], rtol=1e-12)
    assert weights[1] > MIN_WEIGHT > math.exp(-668.0)
    with pytest.warns(
        TamizWarning, match=r"t=1 makes the weight of 3 of 5 edges 0, .* t=1\.11 or more keeps all weights above 0"
    ):
        kernel.check_weights(lengths, weights)
    assert HeatKernel(1.11).edge_weights(lengths, None).min() > MIN_WEIGHT
    assert HeatKernel(1.10).edge_weights(lengths, None).min() == 0.0


@pytest.mark.parametrize(("length", "way_out"), [(1e200, "t=inf"), (1e-155, r"t=2\.23e-308")])
def test_a_width_is_reported_at_any_length(length, way_out):
    kernel = HeatKernel(5e-324)
    lengths = np.array([length])
    with pytest.raises(
        ValueError, match=rf"the shortest is 1e[+-]\d+ long\. {way_out} or more keeps all weights above 0"
    ):
        kernel.check_weights(lengths, kernel.edge_weights(lengths, None))


def test_no_graph_contains_a_weight_below_the_least():
    X = np.array([[0.0], [1.0], [27.2], [1000.0]])
    with pytest.warns(TamizWarning) as told:
        graph = KNearest(1, weight=HeatKernel(1.0)).build(X)
    assert "t=1 makes the weight of 2 of 3 edges 0" in str(told[0].message)
    assert graph.n_edges == 1
    assert graph.adjacency.data.min() >= MIN_WEIGHT

"""Graph builders by their names."""

import numpy as np
import pytest

from tamiz.graphs import Binary, ConnectedRadius, HeatKernel, KNearest, Radius, SameClass
from tamiz.graphs.named_builders import NamedBuilder, resolve_graph


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("knn", KNearest(15, weight=Binary(), metric="seuclidean")),
        ("knn: 7", KNearest(7, weight=Binary(), metric="seuclidean")),
        ("radius:0.5", Radius(0.5, weight=Binary(), metric="seuclidean")),
        ("connected_radius", ConnectedRadius(weight=Binary(), metric="seuclidean")),
        ("same-class", SameClass()),
    ],
)
def test_a_name_is_a_builder_on_standardised_columns(name, expected):
    assert repr(resolve_graph(name)) == repr(expected)


def test_a_kernel_width_sets_the_weights_and_a_graph_is_unchanged():
    assert repr(NamedBuilder.parse("knn:3").make(np.inf).weight) == repr(HeatKernel(np.inf))
    graph = KNearest(2).build(np.arange(10.0)[:, None])
    assert resolve_graph(graph) is graph


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("nearest", "'nearest' is no graph"),
        ("knn:", "'knn:': the value after the colon must be a number above 0, got ''"),
        ("knn:-1", "must be a number above 0, got '-1'"),
        ("radius:nan", "must be a number above 0, got 'nan'"),
        ("knn:2.5", "knn requires a whole number, such as knn:15, got 2.5"),
        ("radius", "radius needs a number after a colon, such as radius:0.8"),
        ("connected-radius:3", "connected-radius accepts no number"),
    ],
)
def test_a_name_or_number_that_is_none_is_refused(name, sentence):
    with pytest.raises(ValueError, match=sentence):
        resolve_graph(name)

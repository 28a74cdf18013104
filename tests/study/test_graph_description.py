"""The builder of a study's graph in words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris

from tamiz._study.maps import describe_graph
from tamiz.graphs import (
    Binary,
    ConnectedRadius,
    Graph,
    HeatKernel,
    InverseClassSize,
    KNearest,
    Radius,
    SameClass,
    registry,
)
from tamiz.graphs.builders import GraphBuilder
from tamiz.graphs.row_graph import build_row_graph
from tamiz.runtime.codec import Named
from tamiz.table.factory import open_table

IRIS = load_iris(as_frame=True)


class Wider(KNearest):
    """A builder that derives from one of the package."""


class Own(GraphBuilder):
    """A builder that someone wrote, without a description."""

    def __init__(self, weight: Any = None) -> None:
        self.weight = weight

    def _build(self, X: Any, classes: Any, *, fill_missing: bool) -> Graph:
        return KNearest(3).build(X, fill_missing=fill_missing)


EITHER = " (a row is joined also to the rows that have it among their nearest)"


def description_of(builder: Any) -> str:
    table = open_table(IRIS.data, IRIS.target)
    row_graph = build_row_graph(table, builder, np.arange(150), np.random.default_rng(0))
    found = describe_graph(row_graph, Named(id="", label=""))
    assert found is not None
    return found.description


@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
@pytest.mark.parametrize(
    ("builder", "words"),
    [
        (
            KNearest(15, metric="seuclidean", weight=Binary()),
            f"15 nearest neighbours{EITHER}, Euclidean distance of standardised columns, unweighted edges",
        ),
        (KNearest(1), f"1 nearest neighbour{EITHER}, Euclidean distance, edges weighted by a heat kernel"),
        (
            KNearest(4, metric="gower", symmetry="mutual", weight=HeatKernel(np.inf)),
            "4 nearest neighbours, mutual ones only, Gower's dissimilarity, unweighted edges",
        ),
        (
            KNearest(4, metric="cityblock", within_class=True, weight=InverseClassSize()),
            f"4 nearest neighbours of the same class{EITHER}, city-block distance, edges weighted by the inverse of the class size",
        ),
        (
            Radius(0.75, metric="cosine"),
            "All rows within the distance 0.75, cosine distance, edges weighted by a heat kernel",
        ),
        (
            ConnectedRadius(weight=Binary()),
            "All rows within the smallest distance that connects the graph, Euclidean distance, unweighted edges",
        ),
        (SameClass(), "All rows of the same class, edges weighted by the inverse of the class size"),
        (
            SameClass(weight=HeatKernel()),
            "All rows of the same class, Euclidean distance, edges weighted by a heat kernel",
        ),
        (Wider(3), f"3 nearest neighbours{EITHER}, Euclidean distance, edges weighted by a heat kernel"),
        (Own(), ""),
    ],
)
def test_a_builder_is_described_by_its_rows_distance_and_weights(builder: Any, words: str) -> None:
    assert description_of(builder) == words


@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
def test_every_registered_builder_has_a_description() -> None:
    for entry in registry.of_kind("builder"):
        builder = entry.load()
        assert description_of(builder(0.5) if builder is Radius else builder()), entry.name

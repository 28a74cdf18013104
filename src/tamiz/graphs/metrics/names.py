"""The metrics by name: what reads a table as points, one line each."""

from __future__ import annotations

from tamiz.registry import Registry

registry = Registry(
    __package__,
    """
    euclidean    reading:euclidean     metric  Euclidean
    seuclidean   reading:standardized  metric  Euclidean, of standardised columns
    cityblock    reading:cityblock     metric  City block
    cosine       reading:cosine        metric  Cosine
    gower        reading:gower         metric  Gower
    precomputed  reading:precomputed   metric  Distances that are given
    """,
)

"""The metrics by name: what reads a table as points, one line each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tamiz.registry import Registry

if TYPE_CHECKING:
    from sklearn.utils import Tags

# Sparse rows are measured as they are.
SPARSE = ("euclidean", "cosine")
# A sparse X is accepted: Gower's distance reads it column by column.
_ACCEPT_SPARSE = (*SPARSE, "gower")
# X holds a number for every two rows.
PAIRWISE = ("precomputed", "similarity")

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


def metric_tags(tags: Tags, metric: str) -> Tags:
    """Return an estimator's tags with what X may be where its rows are measured by a metric."""
    tags.input_tags.sparse = metric in _ACCEPT_SPARSE
    tags.input_tags.pairwise = metric in PAIRWISE
    if tags.input_tags.pairwise:
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = False
    return tags

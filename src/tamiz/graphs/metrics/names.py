"""The metrics by name: what reads a table as points, one line each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tamiz.registry import Registry

if TYPE_CHECKING:
    from sklearn.utils import Tags

# Sparse rows are measured as they are.
SPARSE_METRICS = ("euclidean", "cosine")
# A sparse X is accepted: Gower's distance reads it column by column.
_SPARSE_INPUT_METRICS = (*SPARSE_METRICS, "gower")
# X holds a number for every two rows.
PAIRWISE_METRICS = ("precomputed", "similarity")

registry = Registry(
    __package__,
    """
    euclidean    reading:euclidean_points     metric  Euclidean
    seuclidean   reading:standardized_points  metric  Euclidean, of standardised columns
    cityblock    reading:cityblock_points     metric  City block
    cosine       reading:cosine_points        metric  Cosine
    gower        reading:gower_points         metric  Gower
    precomputed  reading:precomputed_points  metric  Precomputed distances
    """,
)


def metric_tags(tags: Tags, metric: str) -> Tags:
    """Return an estimator's tags with what X may be where its rows are measured by a metric."""
    tags.input_tags.sparse = metric in _SPARSE_INPUT_METRICS
    tags.input_tags.pairwise = metric in PAIRWISE_METRICS
    if tags.input_tags.pairwise:
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = False
    return tags

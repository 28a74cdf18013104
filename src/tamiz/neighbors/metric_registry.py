"""The registry of metrics: a function for each name that reads a table as points."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tamiz.runtime.registry import Registry

if TYPE_CHECKING:
    from sklearn.utils import Tags

# Metrics that are computed on sparse rows without making them dense.
SPARSE_METRICS = ("euclidean", "cosine")
# Metrics that accept a sparse X; Gower's dissimilarity reads it column by column.
_SPARSE_INPUT_METRICS = (*SPARSE_METRICS, "gower")
# Metrics for which X is a matrix with a number for every pair of rows.
PAIRWISE_METRICS = ("precomputed", "similarity")

registry = Registry(
    __package__,
    """
    euclidean    metric_points:euclidean_points     metric  Euclidean
    seuclidean   metric_points:standardized_points  metric  Euclidean, of standardised columns
    cityblock    metric_points:cityblock_points     metric  City block
    cosine       metric_points:cosine_points        metric  Cosine
    gower        metric_points:gower_points         metric  Gower
    precomputed  metric_points:precomputed_points  metric  Precomputed distances
    """,
)


def metric_tags(tags: Tags, metric: str) -> Tags:
    """Return an estimator's tags with its input tags set for a metric."""
    tags.input_tags.sparse = metric in _SPARSE_INPUT_METRICS
    tags.input_tags.pairwise = metric in PAIRWISE_METRICS
    if tags.input_tags.pairwise:
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = False
    return tags

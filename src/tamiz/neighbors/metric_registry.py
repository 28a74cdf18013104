"""The names of metrics, each with the class of its points and its description; nothing heavy is imported."""

from tamiz.runtime.registry import Registry

registry = Registry(
    __package__,
    """
    euclidean    points:EuclideanPoints            metric  Euclidean distance
    seuclidean   points:EuclideanPoints            metric  Euclidean distance of standardised columns
    cityblock    points:CityBlockPoints            metric  city-block distance
    cosine       points:CosinePoints               metric  cosine distance
    gower        points:GowerPoints                metric  Gower's dissimilarity
    precomputed  precomputed:PrecomputedDistances  metric  precomputed distances
    """,
)

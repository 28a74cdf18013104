"""Rows that no search can compare as numbers."""

from tamiz.neighbors.points import EuclideanPoints


class OnlyDistances(EuclideanPoints):
    """Rows that tell nothing but their distances."""

    metric = "plain"

    def euclidean_values(self):
        return None

"""Rows that no search can compare as numbers."""

from tamiz.graphs.points import Rows


class OnlyDistances(Rows):
    """Rows that tell nothing but their distances."""

    metric = "plain"

    def euclidean(self):
        return None

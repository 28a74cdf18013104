"""Points with distances but without coordinates."""

from tamiz.neighbors.points import EuclideanPoints


class OnlyDistances(EuclideanPoints):
    """Rows that tell nothing but their distances."""

    metric = "plain"

    def euclidean_values(self):
        return None

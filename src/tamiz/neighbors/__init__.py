"""Neighbour search: metrics, exact and approximate search, the minimum spanning tree."""

from tamiz.runtime.registry import Registry

registry = Registry(
    __name__,
    """
    brute_force  exact_search:BruteForce  neighbors  Brute force
    kd_tree      exact_search:KDTree      neighbors  Exact search by a k-d tree
    nn_descent   nn_descent:NNDescent     neighbors  Nearest-neighbour descent
    """,
)

__getattr__, __dir__, __all__ = registry.lazy_module()

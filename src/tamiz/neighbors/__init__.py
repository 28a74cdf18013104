"""Neighbour search: metrics, exact and approximate search, the minimum spanning tree."""

from tamiz.runtime.registry import Registry

registry = Registry(
    __name__,
    """
    brute_force  brute_force:BruteForce  neighbors  Brute force
    kd_tree      kd_tree:KDTree          neighbors  Exact search by a k-d tree
    nn_descent   nn_descent:NNDescent    neighbors  Nearest-neighbour descent
    """,
)

__getattr__, __dir__, __all__ = registry.lazy_module()

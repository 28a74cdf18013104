"""Graphs of rows: builders, edge weights, and the graph that neighbour-based methods share."""

from tamiz.runtime.registry import Registry

registry = Registry(
    __name__,
    """
    knn                 k_nearest:KNearest        builder  Nearest neighbours
    radius              radius:Radius             builder  Radius
    connected_radius    radius:ConnectedRadius    builder  Smallest connecting radius
    same_class          same_class:SameClass      builder  Same class
    heat_kernel         weights:HeatKernel        weight   Heat kernel
    binary              weights:Binary            weight   Binary
    inverse_class_size  weights:InverseClassSize  weight   Inverse class size
    graph               graph:Graph               graph    Graph
    """,
)

__getattr__, __dir__, __all__ = registry.lazy_module()

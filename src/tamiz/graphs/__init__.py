"""Graphs of rows: builders, edge weights, and the graph that neighbour-based methods share."""

from tamiz.runtime.registry import Registry

registry = Registry(
    __name__,
    """
    knn                 builders:KNearest         builder  Nearest neighbours
    radius              builders:Radius           builder  Radius
    connected_radius    builders:ConnectedRadius  builder  Smallest connecting radius
    same_class          builders:SameClass        builder  Same class
    heat_kernel         edges:HeatKernel          weight   Heat kernel
    binary              edges:Binary              weight   Binary
    inverse_class_size  edges:InverseClassSize    weight   Inverse class size
    graph               graph:Graph               graph    Graph
    """,
)

__getattr__, __dir__, __all__ = registry.lazy_module()

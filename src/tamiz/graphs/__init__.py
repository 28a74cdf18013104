"""The graph of rows that lie near each other: built once, reused by every method that lives on it."""

from tamiz.registry import Registry

registry = Registry(
    __name__,
    """
    knn               k_nearest:KNearest                builder  Nearest neighbours
    radius            radius:Radius                     builder  All within a radius
    connected_radius  connected_radius:ConnectedRadius  builder  All within the smallest connecting radius
    same_class        same_class:SameClass              builder  All of a class
    heat_kernel       weights:HeatKernel                weight   Heat kernel
    binary            weights:Binary                    weight   Binary
    class_share       weights:ClassShare                weight   Share of the class
    exact             search.exact:Exact                neighbors  Exact, by blocks of products
    tree              search.tree:Tree                  neighbors  Exact, by a k-d tree
    descent           search.descent:Descent            neighbors  Approximate, by nearest-neighbour descent
    graph             graph:Graph                       graph    Graph
    """,
)

__getattr__, __dir__, __all__ = registry.lazy_module()

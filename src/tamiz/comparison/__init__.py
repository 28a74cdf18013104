"""Maps of one table beside each other."""

from tamiz.registry import Registry

registry = Registry(
    __name__,
    """
    eigenmap_grid         grid:eigenmap_grid               function  Laplacian eigenmaps by neighbours and width
    procrustes            alignment:procrustes             function  One map moved onto another
    procrustes_test       protest:procrustes_test          function  Are two maps alike by more than chance
    stress_by_dimensions  dimensions:stress_by_dimensions  function  Stress in every number of dimensions
    stress_test           goodness:stress_test             function  Is a stress lower than by chance
    """,
)

__getattr__, __dir__, __all__ = registry.lazy_module()

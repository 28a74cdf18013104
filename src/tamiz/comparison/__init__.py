"""Maps of one table beside each other."""

from tamiz.registry import Registry

registry = Registry(
    __name__,
    """
    eigenmap_grid  grid:eigenmap_grid  function  Laplacian eigenmaps by neighbours and width
    """,
)

__getattr__, __dir__, __all__ = registry.lazy_module()

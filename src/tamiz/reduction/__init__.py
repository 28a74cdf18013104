"""What the rows look like in few dimensions."""

from tamiz.registry import Registry

registry = Registry(
    __name__,
    """
    pca  pca:PCA  map  PCA
    """,
)

__getattr__, __dir__, __all__ = registry.lazy_module()

"""Pictures of what was fitted, by matplotlib."""

from tamiz.registry import Registry

registry = Registry(
    __name__,
    """
    embedding    embedding:EmbeddingDisplay      display  Embedding
    eigenvalues  eigenvalues:EigenvalueDisplay   display  Eigenvalues
    images       images:ImageDisplay             display  Images
    """,
)

__getattr__, __dir__, __all__ = registry.lazy_module()

"""Clustering of rows."""

from tamiz.runtime.registry import Registry

registry = Registry(
    __name__,
    """
    spectral  spectral_clustering:SpectralClustering  clustering  Spectral clustering
    """,
)

__getattr__, __dir__, __all__ = registry.lazy_module()

"""Dimensionality reduction: maps of rows to few coordinates, and the correlations of columns with their axes."""

from tamiz.runtime.registry import Registry

registry = Registry(
    __name__,
    """
    pca                  pca:PCA                                 map       PCA
    classical_mds        classical_mds:ClassicalMDS              map       Classical MDS
    mds                  mds:MDS                                 map       MDS
    landmark_mds         landmark_mds:LandmarkMDS                map       Landmark MDS
    stochastic_mds       stochastic_mds:StochasticMDS            map       Stochastic MDS
    laplacian_eigenmaps  laplacian_eigenmaps:LaplacianEigenmaps  map       Laplacian eigenmaps
    isomap               isomap:Isomap                           map       Isomap
    tsne                 tsne:TSNE                               map       t-SNE
    umap                 umap:UMAP                               map       UMAP
    ica                  ica:ICA                                 map       ICA
    autoencoder          autoencoder:Autoencoder                 map       Autoencoder
    locally_linear_embedding  locally_linear_embedding:LocallyLinearEmbedding  map  Locally linear embedding
    axis_correlations    axes:axis_correlations                  function  Rank correlations of columns and axes
    cluster_rules        rules:cluster_rules                     function  Rules of the clusters of a map
    """,
)

__getattr__, __dir__, __all__ = registry.lazy_module()

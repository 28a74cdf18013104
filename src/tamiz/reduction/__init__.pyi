from tamiz.runtime.registry import Registry
from tamiz.reduction.autoencoder import Autoencoder as Autoencoder
from tamiz.reduction.axes import axis_correlations as axis_correlations
from tamiz.reduction.classical_mds import ClassicalMDS as ClassicalMDS
from tamiz.reduction.ica import ICA as ICA
from tamiz.reduction.isomap import Isomap as Isomap
from tamiz.reduction.landmark_mds import LandmarkMDS as LandmarkMDS
from tamiz.reduction.laplacian_eigenmaps import LaplacianEigenmaps as LaplacianEigenmaps
from tamiz.reduction.locally_linear_embedding import LocallyLinearEmbedding as LocallyLinearEmbedding
from tamiz.reduction.mds import MDS as MDS
from tamiz.reduction.pca import PCA as PCA
from tamiz.reduction.rules import cluster_rules as cluster_rules
from tamiz.reduction.stochastic_mds import StochasticMDS as StochasticMDS
from tamiz.reduction.tsne import TSNE as TSNE
from tamiz.reduction.umap import UMAP as UMAP

registry: Registry

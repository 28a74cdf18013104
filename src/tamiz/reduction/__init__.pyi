from tamiz.registry import Registry
from tamiz.reduction.axes import axis_correlations as axis_correlations
from tamiz.reduction.classical_mds import ClassicalMDS as ClassicalMDS
from tamiz.reduction.laplacian_eigenmaps import LaplacianEigenmaps as LaplacianEigenmaps
from tamiz.reduction.pca import PCA as PCA

registry: Registry

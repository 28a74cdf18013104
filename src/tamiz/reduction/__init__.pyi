from tamiz.registry import Registry
from tamiz.reduction.pca import PCA as PCA

registry: Registry

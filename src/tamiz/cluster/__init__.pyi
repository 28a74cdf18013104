from tamiz.registry import Registry
from tamiz.cluster.spectral import SpectralClustering as SpectralClustering

registry: Registry

from tamiz.runtime.registry import Registry
from tamiz.cluster.spectral_clustering import SpectralClustering as SpectralClustering

registry: Registry

"""The smallest eigenpairs of a graph's Laplacian, and of other sparse semidefinite matrices."""

from tamiz.spectral.eigenpairs import Spectrum, smallest_eigenpairs

__all__ = ["Spectrum", "smallest_eigenpairs"]

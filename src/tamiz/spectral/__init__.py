"""The smallest eigenpairs of a graph's Laplacian, and of the matrices of locally linear embedding."""

from tamiz.spectral.eigenpairs import Spectrum, smallest_eigenpairs

__all__ = ["Spectrum", "smallest_eigenpairs"]

"""The smallest eigenpairs of a graph's Laplacian."""

from tamiz.spectral.eigenpairs import Spectrum, smallest_eigenpairs

__all__ = ["Spectrum", "smallest_eigenpairs"]

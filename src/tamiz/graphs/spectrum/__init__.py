"""The smallest eigenpairs of a graph's Laplacian."""

from tamiz.graphs.spectrum.smallest import Spectrum, smallest

__all__ = ["Spectrum", "smallest"]

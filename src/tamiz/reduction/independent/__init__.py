"""Independent component analysis: whitened rows, the solvers Picard-O and FastICA, the test of Gaussianity, and stability."""

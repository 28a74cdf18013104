"""Classical scaling: inner products of dissimilarities, their eigenvectors, and the out-of-sample extension."""

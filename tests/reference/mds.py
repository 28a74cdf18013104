"""Classical scaling with every matrix written out, for a few hundred rows."""

import numpy as np


def classical(D, n_components):
    """All eigenvalues of B, descending, and the coordinates of the leading ones."""
    n = len(D)
    C = np.eye(n) - 1 / n
    values, vectors = np.linalg.eigh(-0.5 * C @ (D**2) @ C)
    values, vectors = values[::-1], vectors[:, ::-1]
    return values, vectors[:, :n_components] * np.sqrt(np.maximum(values[:n_components], 0.0))

"""Classical scaling with every matrix written out, for a few hundred rows."""

import numpy as np


def inner_products(D):
    """B = -1/2 C D C, for D the squared distances or anything in their place."""
    C = np.eye(len(D)) - 1 / len(D)
    return -0.5 * C @ D @ C


def classical(D, n_components):
    """All eigenvalues of B, descending, and the coordinates of the leading ones."""
    values, vectors = np.linalg.eigh(inner_products(D**2))
    values, vectors = values[::-1], vectors[:, ::-1]
    return values, vectors[:, :n_components] * np.sqrt(np.maximum(values[:n_components], 0.0))


def negative_share(values):
    """The sum of negative eigenvalues over the sum of all, without signs."""
    return np.abs(values[values < 0]).sum() / np.abs(values).sum()


def constant(D, rule):
    """Lingoes's or Cailliez's constant, as their papers define them."""
    B, n = inner_products(D**2), len(D)
    if rule == "lingoes":
        return -np.linalg.eigvalsh(B)[0]
    found = np.linalg.eigvals(np.block([[np.zeros((n, n)), 2 * B], [-np.eye(n), -4 * inner_products(D)]]))
    return found.real[np.abs(found.imag) < 1e-8 * np.abs(found)].max()


def corrected(D, rule, c):
    """The distances with a constant, the diagonal without."""
    return (np.sqrt(D**2 + 2 * c) if rule == "lingoes" else D + c) * (1 - np.eye(len(D)))


def map_new_rows(D, new, n_components):
    """Gower's formula: the places of rows at distances `new` from those of D."""
    values, places = classical(D, n_components)
    return 0.5 * ((D**2).mean(axis=0) - new**2) @ places / values[:n_components]

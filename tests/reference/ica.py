"""Independent component analysis in plain loops: moments of sources, the gradient, and the Amari distance."""

import math

import numpy as np


def log_cosh(y):
    """Return log cosh y without overflow."""
    return abs(y) + math.log1p(math.exp(-2.0 * abs(y))) - math.log(2.0)


def moments(sources):
    """Return the means of log cosh y_i, of tanh'(y_i) and of tanh(y_i) y_j, of rows of sources."""
    n, k = sources.shape
    contrast, slope, products = np.zeros(k), np.zeros(k), np.zeros((k, k))
    for row in sources:
        for i in range(k):
            contrast[i] += log_cosh(row[i]) / n
            slope[i] += (1.0 - math.tanh(row[i]) ** 2) / n
            for j in range(k):
                products[i, j] += math.tanh(row[i]) * row[j] / n
    return contrast, slope, products


def log_likelihood(sources):
    """Return the mean log-likelihood of rows, each source with the density of its sign."""
    total = 0.0
    contrast, slope, products = moments(sources)
    for i in range(sources.shape[1]):
        if slope[i] >= products[i, i]:
            total += -math.log(math.pi) - contrast[i]
        else:
            total += contrast[i] - 0.5 * math.log(2.0 * math.pi) - 0.5 - 0.5 * np.mean(sources[:, i] ** 2)
    return total


def gradient_norm(sources):
    """Return the largest difference from symmetry of the signed products."""
    _, slope, products = moments(sources)
    signed = np.where(slope >= products.diagonal(), 1.0, -1.0)[:, None] * products
    return np.abs(signed - signed.T).max() / 2.0


def amari_distance(unmixing, mixing):
    """Return the Amari distance of an estimated unmixing matrix and the true mixing matrix, from 0 to 1.

    0 if their product is a permutation with scales (Amari, Cichocki and Yang 1996).
    """
    product = np.abs(unmixing @ mixing)
    k = len(product)
    rows = (product.sum(axis=1) / product.max(axis=1) - 1.0).sum()
    columns = (product.sum(axis=0) / product.max(axis=0) - 1.0).sum()
    return (rows + columns) / (2.0 * k * (k - 1))


def stability_index(similarities, labels, cluster):
    """Return the mean similarity within a cluster less that to all other estimates."""
    inside = [i for i, label in enumerate(labels) if label == cluster]
    outside = [i for i, label in enumerate(labels) if label != cluster]
    within = np.mean([similarities[i][j] for i in inside for j in inside])
    return within - np.mean([similarities[i][j] for i in inside for j in outside])

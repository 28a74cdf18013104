"""Isomap with dense matrices, from Tenenbaum, de Silva and Langford (2000), for a few hundred rows."""

import numpy as np


def length_matrix(graph):
    """Return the lengths of the edges of a graph in either direction, infinite where there is no edge and 0 on the diagonal."""
    lengths = np.full((graph.n_samples, graph.n_samples), np.inf)
    lengths[graph.edges.rows, graph.edges.indices] = graph.edges.lengths
    lengths = np.minimum(lengths, lengths.T)
    np.fill_diagonal(lengths, 0.0)
    return lengths


def geodesics(lengths):
    """Return the lengths of the shortest paths by the algorithm of Floyd and Warshall."""
    D = lengths.copy()
    for k in range(len(D)):
        D = np.minimum(D, D[:, k, None] + D[k])
    return D


def scale(D, k):
    """Return the coordinates, the k largest eigenvalues and the share of the negative ones."""
    n = len(D)
    C = np.eye(n) - 1 / n
    values, vectors = np.linalg.eigh(-0.5 * C @ D**2 @ C)
    values, vectors = values[::-1], vectors[:, ::-1]
    share = -values[values < 0].sum() / np.abs(values).sum()
    return vectors[:, :k] * np.sqrt(np.maximum(values[:k], 0)), values[:k], share


def place(D_landmarks, embedding, values, distances):
    """Return the coordinates of rows from their distances to the landmarks, of shape (n_rows, n_landmarks)."""
    return -0.5 * (distances**2 - (D_landmarks**2).mean(axis=0)) @ (embedding / values)


def residual_variances(D, landmark_points, points, is_pair):
    """Return 1 - R^2 in the first 1, 2, ... coordinates over the pairs of a landmark (row of D) and a row (column of D)."""
    found = []
    for k in range(1, points.shape[1] + 1):
        on_map = np.sqrt(((landmark_points[:, None, :k] - points[None, :, :k]) ** 2).sum(axis=2))
        found.append(1 - np.corrcoef(D[is_pair], on_map[is_pair])[0, 1] ** 2)
    return np.array(found)

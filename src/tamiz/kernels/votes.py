"""What neighbours say of a row: the class with the most votes, or the mean of their numbers."""

from __future__ import annotations

import numpy as np
from numba.types import float64, int64, void

from tamiz.kernels import jit, ro, rw


@jit(void(ro(int64, 3), ro(float64, 3), ro(int64), ro(int64), ro(int64), rw(float64, 3)))
def vote_confusion(nearest, weights, codes, truth, set_index, confusion):
    """Count every query by its class and the one that has the most votes, the first of equals; set c is where[c] there."""
    votes = np.empty(confusion.shape[1])
    for i in range(nearest.shape[0]):
        for c in range(nearest.shape[1]):
            votes[:] = 0.0
            for t in range(nearest.shape[2]):
                votes[codes[nearest[i, c, t]]] += weights[i, c, t]
            best = 0
            for k in range(1, votes.shape[0]):
                if votes[k] > votes[best]:
                    best = k
            confusion[set_index[c], truth[i], best] += 1.0


@jit(void(ro(int64, 3), ro(float64, 3), ro(float64), ro(float64), ro(int64), rw(float64)))
def add_squared_errors(nearest, weights, labels, truth, set_index, squared_errors):
    """Add the squared error of every query, predicted by the weighted mean of its neighbours; set c is where[c] there."""
    for i in range(nearest.shape[0]):
        for c in range(nearest.shape[1]):
            total, weight = 0.0, 0.0
            for t in range(nearest.shape[2]):
                total += labels[nearest[i, c, t]] * weights[i, c, t]
                weight += weights[i, c, t]
            error = truth[i] - total / weight
            squared_errors[set_index[c]] += error * error

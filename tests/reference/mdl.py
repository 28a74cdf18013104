"""Fayyad and Irani's recursive entropy cuts; the better encoding counts candidate cuts interval by interval."""

import numpy as np


def mdl_cuts(values, classes, weight=None):
    """Ascending cut points; a value at most the cut goes left. Missing values (NaN) take no part."""
    weight = np.ones(len(values)) if weight is None else np.asarray(weight, dtype=float)
    present = ~np.isnan(values)
    return split(np.asarray(values)[present], np.asarray(classes)[present], weight[present])


def split(values, classes, weight):
    distinct = np.unique(values)
    candidates = (distinct[:-1] + distinct[1:]) / 2
    if len(candidates) == 0:
        return []
    total = weight.sum()
    h = class_entropy(classes, weight)
    best_cut, best_rest = None, np.inf
    for cut in candidates:
        left = values <= cut
        rest = sum(weight[s].sum() / total * class_entropy(classes[s], weight[s]) for s in (left, ~left))
        if rest < best_rest - 1e-12:  # the first best on ties
            best_cut, best_rest = cut, rest
    left = values <= best_cut
    k, k1, k2 = (len(np.unique(classes[s])) for s in (slice(None), left, ~left))
    h1, h2 = (class_entropy(classes[s], weight[s]) for s in (left, ~left))
    price = np.log2(len(candidates)) + np.log2(3.0**k - 2) - (k * h - k1 * h1 - k2 * h2)
    if h - best_rest <= price / total:
        return []
    return [
        *split(values[left], classes[left], weight[left]),
        float(best_cut),
        *split(values[~left], classes[~left], weight[~left]),
    ]


def class_entropy(classes, weight):
    shares = np.array([weight[classes == c].sum() for c in np.unique(classes)]) / weight.sum()
    return float(-(shares * np.log2(shares)).sum())

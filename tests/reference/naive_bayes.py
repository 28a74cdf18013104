"""Naive Bayes written plainly, a row and a column at a time."""

import math

import numpy as np


def log_shares(numbers, codes, sizes, y, weight, new_numbers, new_codes):
    """The logarithms of the classes' probabilities for one new row, not normalised; NaN and -1 are missing."""
    classes = sorted(set(y[weight > 0].tolist()))
    found = []
    for c in classes:
        mine = y == c
        total = math.log((weight[mine].sum() + 1) / (weight.sum() + len(classes)))
        for j, value in enumerate(new_numbers):
            present = ~np.isnan(numbers[:, j])
            x, w = numbers[mine & present, j], weight[mine & present]
            all_x, all_w = numbers[present, j], weight[present]
            if math.isnan(value) or len(set(all_x[all_w > 0])) < 2:
                continue
            mean_of_all = np.average(all_x, weights=all_w)
            spread = np.average((all_x - mean_of_all) ** 2, weights=all_w)
            if w.sum() < 2:
                mean, variance = mean_of_all, spread
            else:
                mean = np.average(x, weights=w)
                variance = max(np.average((x - mean) ** 2, weights=w), 1e-9 * spread)
            total += -((value - mean) ** 2) / (2 * variance) - math.log(variance) / 2
        for j, code in enumerate(new_codes):
            if code >= 0:
                present = mine & (codes[:, j] >= 0)
                count = weight[present & (codes[:, j] == code)].sum()
                total += math.log((count + 1) / (weight[present].sum() + sizes[j]))
        found.append(total)
    return classes, np.array(found)

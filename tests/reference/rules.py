"""The best single condition of a rule by its definition: every threshold, every interval, every set of levels."""

from itertools import combinations

import numpy as np


def f1(fulfils, inside, weight):
    """The harmonic mean of precision and coverage."""
    hits = weight[fulfils & inside].sum()
    return 2 * hits / (weight[inside].sum() + weight[fulfils].sum()) if hits > 0 else 0.0


def best_single_score(columns, inside, weight, min_gain):
    """The largest F1 less `min_gain` for each threshold and level; numbers are float with NaN, categories codes with -1."""
    scores = [f1(np.ones(len(inside), dtype=bool), inside, weight)]
    for values in columns:
        for n_values, fulfils in conditions(values):
            scores.append(f1(fulfils, inside, weight) - min_gain * n_values)
    return max(scores)


def conditions(values):
    """Every condition on a column as its number of values and the rows that fulfil it."""
    if values.dtype.kind == "f":
        distinct = np.unique(values[~np.isnan(values)])
        for cut in distinct[:-1]:
            yield 1, values > cut
            yield 1, values <= cut
        for low, high in combinations(distinct[:-1], 2):
            yield 2, (values > low) & (values <= high)
        yield 1, np.isnan(values)
    else:
        for size in (1, 2, 3):
            for levels in combinations(np.unique(values[values >= 0]), size):
                yield size, np.isin(values, levels)
        yield 1, values < 0

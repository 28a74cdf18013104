"""ReliefF, RReliefF and MultiSURF as loops over rows, with Weka's differences of missing values or with pairs left out.

With weights w every mean over rows is weighted: over all rows, over the neighbours of one, and of distances.
"""

import numpy as np

from .ties import tie_keys


def differences(column, nominal, n_levels=None, skip_missing=False):
    """The matrix of the differences of all pairs of rows in a column of floats with NaN, or of codes with -1."""
    n = len(column)
    missing = column < 0 if nominal else np.isnan(column)
    present = column[~missing]
    if len(set(present.tolist())) < 2:
        return None
    levels = (n_levels or len(set(present.tolist()))) if nominal else None
    scaled = column if nominal else (column - present.min()) / (present.max() - present.min())
    found = np.zeros((n, n))
    for i in range(n):
        for r in range(n):
            if missing[i] or missing[r]:
                if skip_missing:
                    found[i, r] = np.nan
                elif nominal:
                    found[i, r] = 1 - 1 / levels
                elif missing[i] and missing[r]:
                    found[i, r] = 1
                else:
                    x = scaled[r] if missing[i] else scaled[i]
                    found[i, r] = max(x, 1 - x)
            else:
                found[i, r] = (scaled[i] != scaled[r]) if nominal else abs(scaled[i] - scaled[r])
    return found


def nearest_rows(distances, candidates, k):
    """The k nearest candidates, of ties the first."""
    keys = tie_keys(distances)
    return sorted(candidates, key=lambda r: (keys[r], r))[:k]


def weka_nearest_rows(distances, candidates, k):
    """Weka's list: a nearer row replaces the first of the farthest rows in the list; the order of the list means nothing."""
    listed = list(candidates[:k])
    for r in candidates[k:]:
        farthest = max(range(k), key=lambda t: (distances[listed[t]], -t))
        if distances[r] < distances[listed[farthest]]:
            listed[farthest] = r
    return listed


def relieff(
    columns, nominal, y, classes, *, k=10, sigma=None, n_levels=None, nearest=nearest_rows, queries=None, w=None
):
    """The scores of all columns; `classes` is whether y has classes, `n_levels` the number of levels of every column."""
    n, n_levels, w = len(y), n_levels or [None] * len(columns), np.ones(len(y)) if w is None else w
    delta = [differences(*column) for column in zip(columns, nominal, n_levels, strict=True)]
    distances = np.zeros((n, n))
    for one in delta:
        distances = distances if one is None else distances + one
    influence = np.ones(k) if sigma is None else np.exp(-((np.arange(k) / sigma) ** 2))
    tau = None if classes else np.abs(y[:, None] - y[None, :]) / (y.max() - y.min())
    queries = list(range(n)) if queries is None else queries
    scores, total_weight = np.zeros(len(columns)), w[queries].sum()
    n_tau, with_tau, total = 0.0, np.zeros(len(columns)), np.zeros(len(columns))
    for i in queries:
        for group in np.unique(y) if classes else [None]:
            candidates = [r for r in range(n) if r != i and (group is None or y[r] == group)]
            rows = nearest(distances[i], candidates, k)
            v = influence[: len(rows)] * w[rows]
            v = w[i] * v / v.sum()
            for j, one in enumerate(delta):
                if one is None or not rows:
                    continue
                if classes:
                    share = 1.0 if group == y[i] else -w[y == group].sum() / w[y != y[i]].sum()
                    scores[j] -= share * (v @ one[i, rows]) / total_weight
                else:
                    with_tau[j] += (v * tau[i, rows]) @ one[i, rows]
                    total[j] += v @ one[i, rows]
            if not classes:
                n_tau += v @ tau[i, rows]
    return scores if classes else with_tau / n_tau - (total - with_tau) / (total_weight - n_tau)


def multisurf(columns, nominal, y, classes, w=None):
    """The scores of all columns, as Urbanowicz et al. define them, with class shares as weights of the near misses."""
    n, w = len(y), np.ones(len(y)) if w is None else w
    # The variance of reliability weights: sum(w^2) / sum(w) is 1 without weights.
    radius = None if classes else np.sqrt(w @ (y - np.average(y, weights=w)) ** 2 / (w.sum() - w @ w / w.sum()))
    delta = [differences(*column, None, True) for column in zip(columns, nominal, strict=True)]
    stacked = np.array([one for one in delta if one is not None])
    scores = np.zeros(len(columns))
    for i in range(n):
        distance = [np.nan if np.isnan(stacked[:, i, r]).all() else np.nanmean(stacked[:, i, r]) for r in range(n)]
        distance[i] = np.nan
        known = ~np.isnan(distance)
        mean = np.average(np.array(distance)[known], weights=w[known])
        spread = np.sqrt(np.average((np.array(distance)[known] - mean) ** 2, weights=w[known]))
        near = np.flatnonzero(np.array(distance) < (mean - spread / 2) * (1 - 2.0**-26))
        for j, one in enumerate(delta):
            if one is None:
                continue
            rows = [r for r in near if not np.isnan(one[i, r])]
            hit = [y[r] == y[i] if classes else abs(y[r] - y[i]) < radius for r in rows]
            hits = [r for r, same in zip(rows, hit, strict=True) if same]
            misses = {}
            for r, same in zip(rows, hit, strict=True):
                if not same:
                    misses.setdefault(y[r] if classes else None, []).append(r)
            shares = {group: w[y == group].sum() if classes else 1.0 for group in misses}
            if misses:
                means = [shares[group] * np.average(one[i, of], weights=w[of]) for group, of in misses.items()]
                scores[j] += w[i] / w.sum() * sum(means) / sum(shares.values())
            if hits:
                scores[j] -= w[i] / w.sum() * np.average(one[i, hits], weights=w[hits])
    return scores

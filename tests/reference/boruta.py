"""The decisions of Boruta, iteration by iteration, from the scores."""

import numpy as np
from scipy.stats import binom


def bonferroni(p_values, n_columns, n_iter, alpha):
    """R's p.adjust(method="bonferroni") over all columns."""
    return [min(p * n_columns, 1) < alpha for p in p_values]


def two_step(p_values, n_columns, n_iter, alpha):
    """Benjamini and Hochberg over the columns, and Bonferroni over the iterations."""
    order = np.argsort(p_values)
    m = len(p_values)
    rejected = [False] * m
    for rank in range(m, 0, -1):
        if p_values[order[rank - 1]] <= alpha * rank / m:
            for k in order[:rank]:
                rejected[k] = True
            break
    return [one and p <= alpha / n_iter for one, p in zip(rejected, p_values, strict=True)]


def decide(history, shadow_max, alpha, correction):
    """Return the status of each column and its number of hits; the columns of the first iteration are tested."""
    n_columns = history.shape[1]
    used = [j for j in range(n_columns) if not np.isnan(history[0, j])]
    status = dict.fromkeys(used, "tentative")
    hits = dict.fromkeys(used, 0)
    for t, (scores, limit) in enumerate(zip(history, shadow_max, strict=True), start=1):
        active = [j for j in used if status[j] != "rejected"]
        assert [j for j in used if not np.isnan(scores[j])] == active
        for j in active:
            hits[j] += scores[j] > limit
        above = correction([binom.sf(hits[j] - 1, t, 0.5) for j in active], len(used), t, alpha)
        below = correction([binom.cdf(hits[j], t, 0.5) for j in active], len(used), t, alpha)
        for j, confirms, rejects in zip(active, above, below, strict=True):
            if status[j] == "tentative" and (confirms or rejects):
                status[j] = "confirmed" if confirms else "rejected"
    return [status.get(j, "rejected") for j in range(n_columns)], [hits.get(j, 0) for j in range(n_columns)]

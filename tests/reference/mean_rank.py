"""The mean rank and its interval, one table after the other: every criterion by its selector, ranks by pandas."""

import numpy as np
import pandas as pd
from scipy.stats import norm

from tamiz import RankSelector, open_table


def mean_ranks(scores):
    """The mean rank of every column over criteria."""
    # What models find by steps is equal up to the ninth digit.
    ranks = [(pd.Series(one) / max(np.abs(one).max(), 1e-300)).round(9).rank(ascending=False) for one in scores]
    return np.mean(ranks, axis=0)


def intervals(frame, target, relevances, n_resamples, seed, kinds=None):
    """The mean ranks plus and minus 1.96 standard deviations of those of tables of repeated rows."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(n_resamples):
        rows = np.sort(rng.integers(0, len(frame), len(frame)))
        table = open_table(frame.iloc[rows].reset_index(drop=True), target, kinds=kinds)
        found.append(mean_ranks([RankSelector(relevance).fit(table).scores_ for relevance in relevances]))
    whole = open_table(frame, target, kinds=kinds)
    ranks = mean_ranks([RankSelector(relevance).fit(whole).scores_ for relevance in relevances])
    reach = norm.ppf(0.975) * np.std(found, axis=0, ddof=1)
    return np.clip(np.column_stack([ranks - reach, ranks + reach]), 1, len(ranks))

"""The stability of a ranking, one table after the other: rows repeated as often as they are drawn, ranked by a new selector."""

import numpy as np
import pandas as pd
from scipy.stats import kendalltau, spearmanr

from tamiz import RankSelector, open_table


def draw_bootstrap(n, rng):
    """Row numbers drawn with replacement."""
    return rng.integers(0, n, n)


def draw_half(n, rng):
    """Half of the row numbers: every second one of a random order."""
    return rng.permutation(n)[: n // 2 * 2 : 2]


def ranks_of(scores):
    """Ranks, 1 for the largest, to nine digits."""
    return (pd.Series(scores) / max(np.abs(scores).max(), 1e-300)).round(9).rank(ascending=False).to_numpy()


def rank_samples(frame, target, kinds, relevance, draw, n_samples, seed):
    """The scores of the table, and those of every sample, of shape (n_samples, n_columns)."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(n_samples):
        rows = frame.iloc[np.sort(draw(len(frame), rng))].reset_index(drop=True)
        found.append(RankSelector(relevance).fit(open_table(rows, target, kinds=kinds)).scores_)
    return RankSelector(relevance).fit(open_table(frame, target, kinds=kinds)).scores_, np.array(found)


def stability_of(scores, sampled, factor):
    """Standard errors of scores and ranks, and the mean correlations of the ranks with Spearman's rho and Kendall's tau."""
    ranks = np.array([ranks_of(one) for one in sampled])
    own = ranks_of(scores)
    return {
        "score_errors": factor * sampled.std(axis=0, ddof=1),
        "rank_errors": factor * ranks.std(axis=0, ddof=1),
        "spearman": np.mean([spearmanr(own, one).statistic for one in ranks]),
        "kendall": np.mean([kendalltau(own, one).statistic for one in ranks]),
    }

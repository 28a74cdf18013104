"""The result of `ranking_stability`, as numbers, text and HTML."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from tamiz.arrays import Floats
from tamiz.runtime.result_tables import align_columns, html_table

# Lines of the printed table.
_MAX_PRINTED = 30
_HEADER = ("column", "score", "95% interval", "rank", "95% interval", "in the top")


@dataclass(frozen=True, repr=False)
class RankingStability:
    """Scores and ranks of columns with their standard errors and intervals, and the agreement of the rankings of samples.

    Arrays have an entry for every column of `names`.

    Attributes
    ----------
    relevance, unit : str
        The label of the relevance and the unit of its scores.
    n_rows : int
        The rows of positive weight.
    groups, time : str or None
        The names of the groups or the time, if samples respect them.
    names : tuple of str
        The columns that are not excluded, in the order of the table.
    scores, score_errors : ndarray of shape (n_columns,)
        The scores of the table, as `RankSelector` computes them, and their standard errors.
    score_intervals : ndarray of shape (n_columns, 2)
        The scores plus and minus 1.96 standard errors.
    ranks, rank_errors : ndarray of shape (n_columns,)
        The ranks by these scores and their standard errors: 1 for the largest score; equal scores share the mean of their ranks.
        Constant columns share the last ranks.
    rank_intervals : ndarray of shape (n_columns, 2)
        The ranks plus and minus 1.96 standard errors, cut at the first and the last rank.
    top : int
        The number of columns in the top set of a sample.
    top_shares : ndarray of shape (n_columns,)
        The share of the samples in which the column is in the top set.
    spearman, kendall : float
        The means over the samples of Spearman's correlation and Kendall's tau-b of the ranks of a sample with those of the table;
        0 for a sample in which all columns score equally, NaN if they do so in the table. Constant columns do not count.
    top_stability : float
        The stability of the top sets (Nogueira, Sechidis and Brown 2018): 1 if they are all equal, 0 if they agree as random sets.
    n_bootstrap : int
        The number of samples.
    method : str
        How samples were drawn and scored, in a sentence.
    notes : tuple of str
    seed : int or None
    """

    relevance: str
    unit: str
    n_rows: int
    groups: str | None
    time: str | None
    names: tuple[str, ...]
    scores: Floats
    score_errors: Floats
    score_intervals: Floats
    ranks: Floats
    rank_errors: Floats
    rank_intervals: Floats
    top: int
    top_shares: Floats
    spearman: float
    kendall: float
    top_stability: float
    n_bootstrap: int
    method: str
    notes: tuple[str, ...]
    seed: int | None

    @property
    def sentence(self) -> str:
        """The agreement of the samples, in words."""
        which = "the best column" if self.top == 1 else f"the best {self.top} columns"
        text = f"tability of {which}: {self.top_stability:.2f} (1: the same in all samples, 0: no more agreement than random sets)."
        if np.isnan(self.spearman):
            return f"S{text}"
        return (
            f"Mean correlation of the ranks of a sample with those of the table: {self.spearman:.2f} (Spearman), "
            f"{self.kendall:.2f} (Kendall); s{text}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON types, with an entry for every column in the order of the table."""
        values = {
            "name": list(self.names),
            "score": self.scores.tolist(),
            "score_error": self.score_errors.tolist(),
            "score_interval": self.score_intervals.tolist(),
            "rank": self.ranks.tolist(),
            "rank_error": self.rank_errors.tolist(),
            "rank_interval": self.rank_intervals.tolist(),
            "top_share": self.top_shares.tolist(),
        }
        return {
            "relevance": self.relevance,
            "unit": self.unit,
            "n_rows": self.n_rows,
            "groups": self.groups,
            "time": self.time,
            "columns": [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)],
            "top": self.top,
            "spearman": None if np.isnan(self.spearman) else self.spearman,
            "kendall": None if np.isnan(self.kendall) else self.kendall,
            "top_stability": self.top_stability,
            "n_bootstrap": self.n_bootstrap,
            "method": self.method,
            "notes": list(self.notes),
            "seed": self.seed,
        }

    def _heading(self) -> str:
        unit = f", {self.unit}" if self.unit else ""
        return f"Ranking stability: {self.relevance}{unit}, {len(self.names):,} columns of {self.n_rows:,} rows"

    def _lines(self) -> list[tuple[str, ...]]:
        order = np.argsort(self.ranks, kind="stable").tolist()
        return [
            (
                self.names[j],
                f"{self.scores[j]:.4g}",
                "{:.4g} to {:.4g}".format(*self.score_intervals[j]),
                f"{self.ranks[j]:g}",
                "{:.1f} to {:.1f}".format(*self.rank_intervals[j]),
                f"{self.top_shares[j]:.0%}",
            )
            for j in order[:_MAX_PRINTED]
        ]

    def _closing(self) -> list[str]:
        n_more = len(self.names) - _MAX_PRINTED
        more = [f"and {n_more:,} more {'column' if n_more == 1 else 'columns'}"] if n_more > 0 else []
        return [*more, self.sentence, self.method, *self.notes]

    def __repr__(self) -> str:
        header = (*_HEADER[:-1], f"{_HEADER[-1]} {self.top}")
        lines = [header, *self._lines()]
        return "\n".join([self._heading(), *align_columns(lines), *self._closing()])

    def _repr_html_(self) -> str:
        paragraphs = "".join(f"<p>{escape(sentence)}</p>" for sentence in self._closing())
        return html_table(self._heading(), self._lines(), (*_HEADER[:-1], f"{_HEADER[-1]} {self.top}")) + paragraphs

"""Columns ranked one by one, as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_array, check_is_fitted

from tamiz.criteria import registry as criteria
from tamiz.display import figures, palette
from tamiz.display.coloring import escape_text
from tamiz.exceptions import DataError
from tamiz.validation import check_integer

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# Names below each other are then read without touching.
_INCHES_PER_NAME = 0.2


class RankingDisplay:
    """The columns with the largest scores, the best one on top; what is kept is dark, what is left out is pale.

    Parameters
    ----------
    scores : array-like of shape (n_columns,)
        Larger is better.
    names : list of str, default=None
        One for every column; None is the number of the column.
    ranking : array-like of shape (n_columns,), default=None
        Column numbers, best first; None is by the scores, equal ones in column order.
    support : array-like of shape (n_columns,), bool, default=None
        None keeps all.
    n_columns : int, default=20
        How many are drawn.
    score_label : str, default="Score"

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    points_ : list of matplotlib Line2D
        The scores of the columns that are kept, and of those left out where any is drawn.
    columns_ : ndarray of shape (n_drawn,)
        The numbers of the columns drawn, best first.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz import RankSelector
    >>> from tamiz.criteria import InformationGain
    >>> from tamiz.display import RankingDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> selector = RankSelector(InformationGain(), n_features=2).fit(X, y)
    >>> display = RankingDisplay.from_estimator(selector)
    >>> display.columns_, [name.get_text() for name in display.ax_.get_yticklabels()][0]
    (array([2, 3, 0, 1]), 'petal length (cm)')
    """

    def __init__(
        self,
        scores: ArrayLike,
        *,
        names: Sequence[str] | None = None,
        ranking: ArrayLike | None = None,
        support: ArrayLike | None = None,
        n_columns: int = 20,
        score_label: str = "Score",
    ) -> None:
        self.scores = scores
        self.names = names
        self.ranking = ranking
        self.support = support
        self.n_columns = n_columns
        self.score_label = score_label

    @classmethod
    def from_estimator(cls, estimator: Any, *, n_columns: int = 20, ax: Axes | None = None) -> Self:
        """Draw what a fitted `RankSelector` ranked.

        Parameters
        ----------
        estimator : RankSelector
            Fitted.
        n_columns : int, default=20
            How many are drawn.
        ax : matplotlib Axes, default=None
            Where to draw; None is a new figure.

        Returns
        -------
        RankingDisplay
        """
        check_is_fitted(estimator)
        if "ranking_" not in vars(estimator):
            raise TypeError(f"{type(estimator).__name__} holds no ranking_; give a RankSelector.")
        display = cls(
            estimator.scores_,
            names=estimator.schema_.names,
            ranking=estimator.ranking_,
            support=estimator.get_support(),
            n_columns=n_columns,
            score_label=_score_label(estimator.relevance),
        )
        return display.plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None is a new figure.

        Returns
        -------
        RankingDisplay
        """
        most = check_integer("n_columns", self.n_columns, low=1)
        scores = check_array(np.asarray(self.scores), dtype=np.float64, ensure_2d=False, input_name="scores").ravel()
        names = list(map(str, range(len(scores)))) if self.names is None else [str(name) for name in self.names]
        kept = np.ones(len(scores), dtype=bool) if self.support is None else np.asarray(self.support, dtype=bool)
        ranking = np.argsort(-scores, kind="stable") if self.ranking is None else np.asarray(self.ranking)
        for what, given in (("names", names), ("places", ranking), ("answers of what is kept", kept)):
            if len(given) != len(scores):
                raise DataError(f"There are {len(given)} {what} for {len(scores)} scores; give one for each.")
        self.columns_ = ranking[:most]
        drawn, heights, dark = scores[self.columns_], np.arange(len(self.columns_)), kept[self.columns_]
        panel = figures.get_panel(ax, height=max(figures.PANEL_HEIGHT, _INCHES_PER_NAME * len(drawn)))
        panel.hlines(heights, 0.0, drawn, color=palette.RULE, linewidth=1.0)
        looks = [(dark, palette.STRONG, "kept"), (~dark, palette.FAINT, "left out")]
        self.points_ = [
            panel.plot(drawn[which], heights[which], "o", color=color, markersize=6, label=label)[0]
            for which, color, label in looks
            if which.any()
        ]
        panel.set_yticks(heights, [escape_text(names[column]) for column in self.columns_])
        panel.invert_yaxis()
        panel.set(xlabel=escape_text(self.score_label), ylabel="Column" if self.names is None else "")
        if drawn.min() >= 0:
            panel.set_xlim(left=0.0)
        if len(scores) > most:
            title = f"the first {most:,} of {len(scores):,} columns"
            panel.set_title(title, loc="left", fontsize="small", color=palette.MUTED)
        if len(self.points_) > 1:
            panel.legend(loc="lower right", frameon=False, labelcolor=palette.INK, fontsize="small")
        self.ax_, self.figure_ = panel, panel.figure
        return self


def _score_label(relevance: Any) -> str:
    """Return what a relevance is called, and its unit: the label of its line in the registry, where it has one."""
    name = type(relevance).__name__
    called = next((entry.label for entry in criteria if entry.attribute == name), name)
    return f"{called}, in {relevance.unit}" if relevance.unit else called

"""Plots of rankings, of subset searches, and of recommended columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from tamiz.criteria import registry as criteria
from tamiz.display import figures
from tamiz.display.figures import PanelDisplay, check_one_each, escape_text, read_fitted, read_names, read_vector
from tamiz.exceptions import DataError
from tamiz.runtime.validation import check_integer

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Height of a panel per column, so that names do not overlap.
_INCHES_PER_NAME = 0.2
# More points are drawn smaller and rasterized, so that vector files stay small.
_MAX_VECTOR_POINTS = 2000
# More paths of sets would overlap.
_MAX_PATHS = 3


@dataclass(eq=False, repr=False)
class RankingDisplay(PanelDisplay):
    """Scores of the best columns, the best one on top; kept columns are dark, the others pale.

    Parameters
    ----------
    scores : array-like of shape (n_columns,)
        Score of each column; larger is better.
    names : list of str, default=None
        Names of the columns; None shows their numbers.
    ranking : array-like of shape (n_columns,), default=None
        Column numbers, best first; None ranks by the scores, equal ones in column order.
    support : array-like of shape (n_columns,), bool, default=None
        Which columns are kept; None keeps all.
    n_columns : int, default=20
        Number of columns shown.
    score_label : str, default="Score"

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    points_ : list of matplotlib Line2D
        Scores of the kept columns, then those of the other columns shown, if any.
    columns_ : ndarray of shape (n_drawn,)
        Numbers of the columns shown, best first.

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

    scores: ArrayLike
    _: KW_ONLY
    names: Sequence[str] | None = None
    ranking: ArrayLike | None = None
    support: ArrayLike | None = None
    n_columns: int = 20
    score_label: str = "Score"

    @classmethod
    def from_estimator(cls, estimator: Any, *, n_columns: int = 20, ax: Axes | None = None) -> Self:
        """Draw the ranking of a fitted `RankSelector`.

        Parameters
        ----------
        estimator : RankSelector
            A fitted selector.
        n_columns : int, default=20
            Number of columns shown.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.

        Returns
        -------
        RankingDisplay
        """
        fitted = read_fitted(estimator, "ranking_", "pass a fitted RankSelector")
        display = cls(
            estimator.scores_,
            names=estimator.schema_.names,
            ranking=fitted["ranking_"],
            support=estimator.get_support(),
            n_columns=n_columns,
            score_label=_score_label(estimator.relevance_),
        )
        return display.plot(ax)

    def _draw(self, panel: Axes) -> None:
        scores = read_vector("scores", self.scores)
        names = read_names(self.names, len(scores), "score")
        kept = np.ones(len(scores), dtype=bool) if self.support is None else np.asarray(self.support, dtype=bool)
        ranking = np.argsort(-scores, kind="stable") if self.ranking is None else np.asarray(self.ranking)
        check_one_each("ranking", ranking, len(scores), "score")
        check_one_each("support", kept, len(scores), "score")
        self.columns_ = ranking[: self.n_columns]
        drawn, heights, dark = scores[self.columns_], np.arange(len(self.columns_)), kept[self.columns_]
        figures.draw_stems(panel, drawn, [escape_text(names[column]) for column in self.columns_])
        styles = [(dark, figures.STRONG, "kept"), (~dark, figures.FAINT, "left out")]
        self.points_ = [
            panel.plot(drawn[which], heights[which], "o", color=color, markersize=6, label=label)[0]
            for which, color, label in styles
            if which.any()
        ]
        panel.set(xlabel=escape_text(self.score_label), ylabel="Column" if self.names is None else "")
        if drawn.min() >= 0:
            panel.set_xlim(left=0.0)
        if len(scores) > len(drawn):
            figures.add_note(panel, f"the first {len(drawn):,} of {len(scores):,} columns")
        if len(self.points_) > 1:
            figures.add_legend(panel, loc="lower right")

    def _height(self) -> float:
        n_drawn = min(check_integer("n_columns", self.n_columns, low=1), np.size(self.scores))
        return max(figures.PANEL_HEIGHT, _INCHES_PER_NAME * n_drawn)


@dataclass(eq=False, repr=False)
class SearchDisplay(PanelDisplay):
    """Merit of every evaluated subset against its size; a line joins the best of each size, a ring marks the selected one.

    Parameters
    ----------
    sizes : array-like of shape (n_sets,), int
        Number of columns of each subset.
    merits : array-like of shape (n_sets,)
        Merit of each subset; larger is better.
    best : int, default=None
        Index of the selected subset; None is the largest merit, of equal merits the first of the smallest subsets.
    merit_label : str, default="Merit"
    note : str, default=""
        Text above the panel.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    points_ : matplotlib Line2D
        All subsets.
    line_ : matplotlib Line2D
        The best subset of each size.
    best_ : matplotlib Line2D
        The selected subset.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz import SubsetSelector
    >>> from tamiz.criteria import CFS
    >>> from tamiz.display import SearchDisplay
    >>> from tamiz.search import BestFirst
    >>> X, y = load_iris(return_X_y=True)
    >>> display = SearchDisplay.from_estimator(SubsetSelector(CFS(), BestFirst()).fit(X, y))
    >>> display.best_.get_xydata().round(4)
    array([[2.    , 0.8874]])
    """

    sizes: ArrayLike
    merits: ArrayLike
    _: KW_ONLY
    best: int | None = None
    merit_label: str = "Merit"
    note: str = ""

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> Self:
        """Draw the evaluated subsets of a fitted `SubsetSelector`.

        Parameters
        ----------
        estimator : SubsetSelector
            A fitted selector.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.

        Returns
        -------
        SearchDisplay
        """
        archive = read_fitted(estimator, "archive_", "pass a fitted SubsetSelector")["archive_"]
        n_sets = estimator.n_evaluations_
        note = f"{n_sets:,} {'set' if n_sets == 1 else 'sets'} of columns: {archive.stop_reason}"
        name = estimator.merit_name_
        label = name[:1].upper() + name[1:]
        return cls(archive.sizes, archive.merits, best=archive.best, merit_label=label, note=note).plot(ax)

    def _draw(self, panel: Axes) -> None:
        sizes = read_vector("sizes", self.sizes, np.intp)
        merits = read_vector("merits", self.merits)
        check_one_each("sizes", sizes, len(merits), "merit")
        first = int(np.lexsort((sizes, -merits))[0])
        best = first if self.best is None else check_integer("best", self.best, low=0, high=len(merits) - 1)
        many = len(merits) > _MAX_VECTOR_POINTS
        style: dict[str, Any] = {"color": figures.FAINT, "markersize": 2 if many else 4, "rasterized": many}
        (self.points_,) = panel.plot(sizes, merits, "o", label="a set of columns", **style)
        each = np.unique(sizes)
        tops = [merits[sizes == size].max() for size in each]
        (self.line_,) = panel.plot(each, tops, label="the best of its size", **figures.line_style(len(each)))
        chosen = f"chosen: {sizes[best]:,} {'column' if sizes[best] == 1 else 'columns'}"
        self.best_ = figures.draw_ring(panel, sizes[best], merits[best], chosen)
        panel.set(xlabel="Columns in the set", ylabel=escape_text(self.merit_label))
        figures.use_integer_ticks(panel.xaxis)
        figures.add_note(panel, self.note)
        figures.add_legend(panel, loc="lower right")


@dataclass(eq=False, repr=False)
class RecommendationDisplay(PanelDisplay):
    """Held-out score by number of columns: a line for each compared path of sets, and a ring around the recommended set.

    Parameters
    ----------
    paths : dict of str to array-like of shape (n_sets, 4)
        By name of a path: the number of columns of each set, its score, and both ends of the interval of this score.
    recommended : tuple of str and int, default=None
        The name of the path and the number of columns of the recommended set; None marks no set.
    all_columns : tuple of int and float, default=None
        The number of all columns and their score, drawn as a line.
    baseline : float, default=None
        The score without columns, drawn as a dashed line.
    score_label : str, default="Score"

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : list of matplotlib Line2D
        The path of the recommended set, then those with the best scores, a single set last; at most three.
    recommended_ : matplotlib Line2D or None
        The ring.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from tamiz.assessment import recommend_columns
    >>> from tamiz.display import RecommendationDisplay
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> found = recommend_columns(X, y, models=["naive_bayes"], n_splits=3)
    >>> display = RecommendationDisplay.from_recommendation(found)
    >>> [line.get_label() for line in display.lines_]
    ['Importance', 'MRMR', 'Wrapper']
    >>> display.recommended_.get_xydata().round(3)
    array([[3.   , 0.995]])
    """

    paths: Mapping[str, ArrayLike]
    _: KW_ONLY
    recommended: tuple[str, int] | None = None
    all_columns: tuple[int, float] | None = None
    baseline: float | None = None
    score_label: str = "Score"

    @classmethod
    def from_recommendation(cls, recommendation: Any, *, ax: Axes | None = None) -> Self:
        """Draw the scores of the compared sets, by the model and the score that decide.

        Parameters
        ----------
        recommendation : Recommendation
            What `tamiz.assessment.recommend_columns` returned.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.

        Returns
        -------
        RecommendationDisplay
        """
        found, scoring = recommendation, recommendation.scorings[0]
        labels = {name: one.label for name, one in found.candidates.items()}
        every = found.candidates["all_columns"]
        path = found.paths.get(found.recommended)
        display = cls(
            {
                labels[name]: [
                    (len(columns), score.mean, *score.interval)
                    for columns, score in zip(one.columns, one.scores, strict=True)
                ]
                for name, one in found.paths.items()
            },
            recommended=None if path is None else (labels[found.recommended], len(found.columns)),
            all_columns=(len(every.columns), every.scores[found.deciding_model, scoring].mean),
            baseline=found.baseline[scoring].mean,
            score_label=f"{scoring} of {found.models[found.deciding_model]}",
        )
        return display.plot(ax)

    def _draw(self, panel: Axes) -> None:
        paths = {name: np.asarray(sets, dtype=np.float64) for name, sets in self.paths.items()}
        if not paths or any(sets.ndim != 2 or sets.shape[1] != 4 or not len(sets) for sets in paths.values()):
            raise DataError("A path must have at least one set, each with its number of columns, score, low and high.")
        first, n_kept = self.recommended or (None, 0)
        if first is not None and n_kept not in paths.get(first, np.empty((0, 1)))[:, 0]:
            raise DataError(f"No path {first!r} has a set of {n_kept} columns to recommend.")
        order = sorted(paths, key=lambda name: (name != first, len(paths[name]) == 1, -paths[name][:, 1].max()))[
            :_MAX_PATHS
        ]
        self.lines_, self.recommended_ = [], None
        for k, name in enumerate(order):
            sizes, scores, low, high = paths[name].T
            color = figures.CLASS_COLORS[k]
            if k == 0:
                panel.fill_between(sizes, low, high, color=color, alpha=0.15, linewidth=0.0)
            style: dict[str, Any] = {"marker": figures.SHAPES[k], "markersize": 4, "linewidth": 1.8 if k == 0 else 1.2}
            # The most important line is on top.
            self.lines_ += panel.plot(sizes, scores, color=color, label=escape_text(name), zorder=3 - 0.1 * k, **style)
        references: list[tuple[float, str, dict[str, Any]]] = []
        if self.baseline is not None:
            references.append((self.baseline, "without columns", figures.REFERENCE_LINE))
        if self.all_columns is not None:
            n_all, score = self.all_columns
            references.append((score, f"all {n_all:,} columns", figures.REFERENCE_LINE | {"linestyle": "-"}))
        for value, text, line in references:
            panel.axhline(value, zorder=1, **line)
            _write_beside(panel, (1.0, value), text, (-2, 3), transform=panel.get_yaxis_transform())
        if first is not None:
            sets = paths[first]
            n, score = sets[sets[:, 0] == n_kept][0, :2].tolist()
            self.recommended_ = figures.draw_ring(panel, n, score, "_")
            # The text is beside the ring where there is more room.
            is_left = n <= max(sets[:, 0].max() for sets in paths.values()) / 2
            text = f"recommended: {n:,.0f} column{'' if n == 1 else 's'}"
            _write_beside(panel, (n, score), text, (9 if is_left else -9, -15), side="left" if is_left else "right")
        panel.set(xlabel="Number of columns", ylabel=escape_text(self.score_label))
        # Room for the text above the line of all columns.
        low, high = panel.get_ylim()
        panel.set_ylim(low, high + 0.08 * (high - low))
        figures.use_integer_ticks(panel.xaxis)
        # Above the text of the baseline.
        figures.add_legend(panel, loc="lower right", bbox_to_anchor=(1.0, 0.12))


def _write_beside(
    panel: Axes,
    place: tuple[float, float],
    text: str,
    offset: tuple[int, int],
    *,
    side: str = "right",
    transform: Any = "data",
) -> None:
    style: dict[str, Any] = {"textcoords": "offset points", "color": figures.INK, "fontsize": "small"}
    panel.annotate(text, place, offset, transform, ha=side, **style)


def _score_label(relevance: Any) -> str:
    """Return the label of a relevance in the registry, or the name of its class, with the unit."""
    name = type(relevance).__name__
    label = next((entry.label for entry in criteria if entry.attribute == name), name)
    return f"{label}, in {relevance.unit}" if relevance.unit else label

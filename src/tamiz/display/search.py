"""The sets of columns that a search looked at, as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_array, check_is_fitted

from tamiz.display import figures, palette
from tamiz.display.coloring import escape_text
from tamiz.exceptions import DataError
from tamiz.validation import check_integer

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# More points than these are drawn smaller and as one picture, so that a saved page stays small.
_MAX_VECTOR_POINTS = 2000


class SearchDisplay:
    """The merit of every set of columns against its size: the best of each size as a line, the chosen one in a ring.

    Parameters
    ----------
    sizes : array-like of shape (n_sets,), int
        How many columns each set has.
    merits : array-like of shape (n_sets,)
        Larger is better.
    best : int, default=None
        The number of the chosen set, from 0; None is the one with the largest merit, of equal ones the first of the smallest.
    merit_label : str, default="Merit"
    note : str, default=""
        Told over the panel.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    points_ : matplotlib Line2D
        Every set.
    line_ : matplotlib Line2D
        The best of each size.
    best_ : matplotlib Line2D
        The chosen set.

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

    def __init__(
        self,
        sizes: ArrayLike,
        merits: ArrayLike,
        *,
        best: int | None = None,
        merit_label: str = "Merit",
        note: str = "",
    ) -> None:
        self.sizes = sizes
        self.merits = merits
        self.best = best
        self.merit_label = merit_label
        self.note = note

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> Self:
        """Draw the sets that a fitted `SubsetSelector` holds in its archive.

        Parameters
        ----------
        estimator : SubsetSelector
            Fitted.
        ax : matplotlib Axes, default=None
            Where to draw; None is a new figure.

        Returns
        -------
        SearchDisplay
        """
        check_is_fitted(estimator)
        if "archive_" not in vars(estimator):
            raise TypeError(f"{type(estimator).__name__} holds no archive_; give a SubsetSelector.")
        archive, n_sets = estimator.archive_, estimator.n_evaluations_
        note = f"{n_sets:,} {'set' if n_sets == 1 else 'sets'} of columns: {archive.stop_reason}"
        display = cls(
            archive.sizes, archive.merits, best=archive.best, merit_label=_capitalize(estimator.merit_name_), note=note
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
        SearchDisplay
        """
        sizes = check_array(np.asarray(self.sizes), dtype=np.intp, ensure_2d=False, input_name="sizes").ravel()
        merits = check_array(np.asarray(self.merits), dtype=np.float64, ensure_2d=False, input_name="merits").ravel()
        if len(sizes) != len(merits):
            raise DataError(f"There are {len(sizes)} sizes for {len(merits)} merits; give one for each.")
        first = int(np.lexsort((sizes, -merits))[0])
        best = first if self.best is None else check_integer("best", self.best, low=0, high=len(merits) - 1)
        panel = figures.get_panel(ax)
        many = len(merits) > _MAX_VECTOR_POINTS
        (self.points_,) = panel.plot(
            sizes,
            merits,
            "o",
            color=palette.FAINT,
            markersize=2 if many else 4,
            label="a set of columns",
            rasterized=many,
        )
        each = np.unique(sizes)
        tops = [merits[sizes == size].max() for size in each]
        marker = "o" if len(each) <= figures.MAX_MARKERS else ""
        (self.line_,) = panel.plot(
            each, tops, color=palette.STRONG, marker=marker, markersize=4, linewidth=1.5, label="the best of its size"
        )
        (self.best_,) = panel.plot(
            sizes[best], merits[best], "o", markersize=13, markerfacecolor="none", markeredgecolor=palette.INK,
            label=f"chosen: {sizes[best]:,} {'column' if sizes[best] == 1 else 'columns'}",
        )  # fmt: skip
        panel.set(xlabel="Columns in the set", ylabel=escape_text(self.merit_label))
        panel.xaxis.set_major_locator(figures.import_matplotlib("matplotlib.ticker").MaxNLocator(integer=True))
        if self.note:
            panel.set_title(self.note, loc="left", fontsize="small", color=palette.MUTED)
        panel.legend(loc="lower right", frameon=False, labelcolor=palette.INK, fontsize="small")
        self.ax_, self.figure_ = panel, panel.figure
        return self


def _capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]

"""The points that a map places worst, as a picture."""

from __future__ import annotations

from collections.abc import Sequence
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


class PointStressDisplay:
    """The points with the most stress, largest first, beside the mean of all: those the map does not show as they are.

    Parameters
    ----------
    stress : array-like of shape (n_samples,)
        Of every point.
    names : list of str, default=None
        One for every point; None is the number of the row.
    n_points : int, default=15
        How many are drawn.
    value_label : str, default="Stress of the point"

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    points_ : matplotlib Line2D
    mean_ : matplotlib Line2D
    rows_ : ndarray of shape (n_drawn,)
        The rows drawn, the one with the most stress first.

    Examples
    --------
    >>> from tamiz.display import PointStressDisplay
    >>> display = PointStressDisplay([0.1, 0.4, 0.2], names=["Athens", "Barcelona", "Brussels"], n_points=2).plot()
    >>> display.rows_
    array([1, 2])
    """

    def __init__(
        self,
        stress: ArrayLike,
        *,
        names: Sequence[str] | None = None,
        n_points: int = 15,
        value_label: str = "Stress of the point",
    ) -> None:
        self.stress = stress
        self.names = names
        self.n_points = n_points
        self.value_label = value_label

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, names: Sequence[str] | None = None, n_points: int = 15, ax: Axes | None = None
    ) -> Self:
        """Draw what a fitted map holds as `stress_per_point_`.

        Parameters
        ----------
        estimator : MDS or another that holds it
            Fitted.
        names, n_points
            As in the class.
        ax : matplotlib Axes, default=None
            Where to draw; None is a new figure.

        Returns
        -------
        PointStressDisplay
        """
        check_is_fitted(estimator)
        fitted = vars(estimator)
        if "stress_per_point_" not in fitted:
            raise TypeError(f"{type(estimator).__name__} holds no stress_per_point_; give an MDS.")
        return cls(fitted["stress_per_point_"], names=names, n_points=n_points).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None is a new figure.
        """
        n_points = check_integer("n_points", self.n_points, low=1)
        stress = check_array(np.asarray(self.stress), dtype=np.float64, ensure_2d=False, input_name="stress").ravel()
        names = list(map(str, range(len(stress)))) if self.names is None else [str(name) for name in self.names]
        if len(names) != len(stress):
            raise DataError(f"There are {len(names)} names for {len(stress)} points; give one for each.")
        panel = figures.get_panel(ax)
        self.rows_ = np.argsort(-stress, kind="stable")[:n_points]
        largest, heights = stress[self.rows_], np.arange(len(self.rows_))
        panel.hlines(heights, 0.0, largest, color=palette.RULE, linewidth=1.0)
        (self.points_,) = panel.plot(largest, heights, "o", color=palette.STRONG, markersize=6)
        mean = float(stress.mean())
        self.mean_ = panel.axvline(
            mean, color=palette.MUTED, linestyle="--", linewidth=1.2, label=f"mean of {len(stress):,} points"
        )
        panel.set_yticks(heights, [escape_text(names[row]) for row in self.rows_])
        panel.invert_yaxis()
        panel.set(xlabel=self.value_label, ylabel="Row" if self.names is None else "")
        panel.set_xlim(left=0.0)
        panel.legend(loc="lower right", frameon=False, labelcolor=palette.INK, fontsize="small")
        self.ax_, self.figure_ = panel, panel.figure
        return self

"""The stress of a map as a picture: over its iterations, or against the number of dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_array, check_is_fitted

from tamiz.display import figures
from tamiz.display.coloring import escape_text
from tamiz.exceptions import DataError
from tamiz.runtime.validation import check_integer
from tamiz.statistics.base import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# MERGED: The points that a map places worst, as a picture.
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
        panel.hlines(heights, 0.0, largest, color=figures.RULE, linewidth=1.0)
        (self.points_,) = panel.plot(largest, heights, "o", color=figures.STRONG, markersize=6)
        mean = float(stress.mean())
        self.mean_ = panel.axvline(
            mean, color=figures.MUTED, linestyle="--", linewidth=1.2, label=f"mean of {len(stress):,} points"
        )
        panel.set_yticks(heights, [escape_text(names[row]) for row in self.rows_])
        panel.invert_yaxis()
        panel.set(xlabel=self.value_label, ylabel="Row" if self.names is None else "")
        panel.set_xlim(left=0.0)
        panel.legend(loc="lower right", frameon=False, labelcolor=figures.INK, fontsize="small")
        self.ax_, self.figure_ = panel, panel.figure
        return self


class StressDisplay:
    """Stress in the order of dimensions or iterations, smaller is better: a bend says how many dimensions are worth their while.

    Parameters
    ----------
    stress : array-like of shape (n_values,)
    numbers : array-like of shape (n_values,), default=None
        Of dimensions, or of iterations; None counts from 1.
    reference : array-like of shape (n_values,) or (n_draws, n_values), default=None
        What the stress would be without structure. It is drawn dashed; of several draws the mean, in a band from the least to the
        largest.
    number_label : str, default="Dimensions"
    value_label : str, default="Kruskal's stress-1"
    note : str, default=""
        Told over the panel.
    from_zero : bool, default=True
        Whether the axis begins at a stress of 0.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    line_ : matplotlib Line2D
    reference_ : matplotlib Line2D or None

    Examples
    --------
    >>> from tamiz.display import StressDisplay
    >>> display = StressDisplay([0.21, 0.08, 0.07], chance=[0.45, 0.3, 0.2]).plot()
    >>> display.line_.get_xdata()
    array([1., 2., 3.])
    """

    def __init__(
        self,
        stress: ArrayLike,
        *,
        numbers: ArrayLike | None = None,
        reference: ArrayLike | None = None,
        number_label: str = "Dimensions",
        value_label: str = "Kruskal's stress-1",
        note: str = "",
        from_zero: bool = True,
    ) -> None:
        self.stress = stress
        self.numbers = numbers
        self.reference = reference
        self.number_label = number_label
        self.value_label = value_label
        self.note = note
        self.from_zero = from_zero

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> Self:
        """Draw the course of the stress of a fitted map, which holds it as `stress_history_`: of its start and after each iteration.

        Parameters
        ----------
        estimator : MDS or another that holds it
            Fitted.
        ax : matplotlib Axes, default=None
            Where to draw; None is a new figure.

        Returns
        -------
        StressDisplay
        """
        check_is_fitted(estimator)
        fitted = vars(estimator)
        if "stress_history_" not in fitted:
            raise TypeError(
                f"{type(estimator).__name__} has no stress_history_; it was not fitted by steps that lower a stress."
            )
        course, n_iter = fitted["stress_history_"], len(fitted["stress_history_"]) - 1
        ending = "converged" if fitted["converged_"] else "not converged"
        note = f"{ending} after {n_iter:,} iterations at {course[-1]:.4g}"
        display = cls(course, numbers=range(n_iter + 1), number_label="Iteration", note=note, from_zero=False)
        return display.plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None is a new figure.
        """
        panel = figures.get_panel(ax)
        stress = _as_vector("stress", self.stress)
        numbers = np.arange(1.0, len(stress) + 1) if self.numbers is None else _as_vector("numbers", self.numbers)
        if len(numbers) != len(stress):
            raise DataError(f"There are {len(numbers)} numbers for {len(stress)} values of stress; give one for each.")
        order = np.argsort(numbers, kind="stable")
        marker = "o" if len(stress) <= figures.MAX_MARKERS else ""
        (self.line_,) = panel.plot(
            numbers[order],
            stress[order],
            color=figures.STRONG,
            marker=marker,
            markersize=5,
            linewidth=1.5,
            label="this map",
        )
        self.reference_ = None if self.reference is None else self._draw_reference(panel, numbers, order)
        panel.set(xlabel=self.number_label, ylabel=self.value_label)
        panel.xaxis.set_major_locator(figures.import_matplotlib("matplotlib.ticker").MaxNLocator(integer=True))
        if self.from_zero:
            panel.set_ylim(bottom=0.0)
        if self.note:
            panel.set_title(self.note, loc="left", fontsize="small", color=figures.MUTED)
        self.ax_, self.figure_ = panel, panel.figure
        return self

    def _draw_reference(self, panel: Axes, numbers: Floats, order: NDArray[np.intp]) -> Any:
        draws = check_array(np.atleast_2d(np.asarray(self.reference)), dtype=np.float64, input_name="chance")
        if draws.shape[1] != len(numbers):
            raise DataError(
                f"There are {draws.shape[1]} values by chance for {len(numbers)} of stress; give one for each."
            )
        numbers, draws = numbers[order], draws[:, order]
        if len(draws) > 1:
            panel.fill_between(
                numbers, draws.min(axis=0), draws.max(axis=0), color=figures.FAINT, alpha=0.35, linewidth=0.0
            )
        label = "by chance" if len(draws) == 1 else f"by chance ({len(draws):,} permutations)"
        (line,) = panel.plot(
            numbers, draws.mean(axis=0), color=figures.MUTED, linestyle="--", linewidth=1.2, label=label
        )
        panel.legend(frameon=False, labelcolor=figures.INK, fontsize="small")
        return line


def _as_vector(name: str, values: ArrayLike) -> Floats:
    """Return values of one line."""
    given = check_array(np.asarray(values), dtype=np.float64, ensure_2d=False, input_name=name)
    if given.ndim != 1:
        raise DataError(f"{name} must be a list of numbers, got an array of shape {given.shape}.")
    return given

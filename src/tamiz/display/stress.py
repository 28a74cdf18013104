"""Plots of stress: against iterations or the number of dimensions, and of single points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_array

from tamiz.arrays import Floats, Indices
from tamiz.display import figures
from tamiz.display.base import PanelDisplay, check_one_each, read_fitted, read_names, read_vector
from tamiz.display.coloring import escape_text
from tamiz.runtime.validation import check_integer

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False, repr=False)
class StressDisplay(PanelDisplay):
    """Stress against the number of dimensions or iterations; smaller is better.

    An elbow suggests a number of dimensions: more of them lower the stress only a little.

    Parameters
    ----------
    stress : array-like of shape (n_values,)
    numbers : array-like of shape (n_values,), default=None
        Numbers of dimensions or iterations; None counts from 1.
    reference : array-like of shape (n_values,) or (n_draws, n_values), default=None
        Stress of data without structure, drawn dashed. Of several draws the mean is drawn, in a band from the smallest to the
        largest value.
    number_label : str, default="Dimensions"
    value_label : str, default="Kruskal's stress-1"
    note : str, default=""
        Text above the panel.
    from_zero : bool, default=True
        Start the axis at a stress of 0.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    line_ : matplotlib Line2D
    reference_ : matplotlib Line2D or None

    Examples
    --------
    >>> from tamiz.display import StressDisplay
    >>> display = StressDisplay([0.21, 0.08, 0.07], reference=[0.45, 0.3, 0.2]).plot()
    >>> display.line_.get_xdata()
    array([1., 2., 3.])
    """

    stress: ArrayLike
    _: KW_ONLY
    numbers: ArrayLike | None = None
    reference: ArrayLike | None = None
    number_label: str = "Dimensions"
    value_label: str = "Kruskal's stress-1"
    note: str = ""
    from_zero: bool = True

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> Self:
        """Draw `stress_history_` of a fitted map: the stress of the initial coordinates and after each iteration.

        Parameters
        ----------
        estimator : MDS or another estimator with this attribute
            A fitted estimator.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.

        Returns
        -------
        StressDisplay
        """
        fitted = read_fitted(estimator, "stress_history_", "pass a map fitted by iterative minimisation of stress")
        history, n_iter = fitted["stress_history_"], len(fitted["stress_history_"]) - 1
        ending = "converged" if fitted["converged_"] else "not converged"
        note = f"{ending} after {n_iter:,} iterations at {history[-1]:.4g}"
        display = cls(history, numbers=range(n_iter + 1), number_label="Iteration", note=note, from_zero=False)
        return display.plot(ax)

    def _draw(self, panel: Axes) -> None:
        stress = read_vector("stress", self.stress)
        numbers = np.arange(1.0, len(stress) + 1) if self.numbers is None else read_vector("numbers", self.numbers)
        check_one_each("numbers", numbers, len(stress), "value of stress")
        order = np.argsort(numbers, kind="stable")
        style = figures.line_style(len(stress))
        (self.line_,) = panel.plot(numbers[order], stress[order], label="this map", **style)
        self.reference_ = None if self.reference is None else self._draw_reference(panel, numbers, order)
        panel.set(xlabel=self.number_label, ylabel=self.value_label)
        figures.use_integer_ticks(panel.xaxis)
        if self.from_zero:
            panel.set_ylim(bottom=0.0)
        figures.add_note(panel, self.note)

    def _draw_reference(self, panel: Axes, numbers: Floats, order: Indices) -> Any:
        draws = check_array(np.atleast_2d(np.asarray(self.reference)), dtype=np.float64, input_name="reference")
        check_one_each("reference", draws.T, len(numbers), "value of stress")
        numbers, draws = numbers[order], draws[:, order]
        if len(draws) > 1:
            panel.fill_between(
                numbers, draws.min(axis=0), draws.max(axis=0), color=figures.FAINT, alpha=0.35, linewidth=0.0
            )
        label = "by chance" if len(draws) == 1 else f"by chance ({len(draws):,} permutations)"
        (line,) = panel.plot(numbers, draws.mean(axis=0), label=label, **figures.REFERENCE_LINE)
        figures.add_legend(panel)
        return line


@dataclass(eq=False, repr=False)
class PointStressDisplay(PanelDisplay):
    """The points with the largest stress, which the map represents worst, and the mean stress of all points.

    Parameters
    ----------
    stress : array-like of shape (n_samples,)
        Stress of each point.
    names : list of str, default=None
        Names of the points; None shows the row numbers.
    n_points : int, default=15
        Number of points shown.
    value_label : str, default="Stress of the point"

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    points_ : matplotlib Line2D
    mean_ : matplotlib Line2D
    rows_ : ndarray of shape (n_drawn,)
        Row numbers of the points shown, the largest stress first.

    Examples
    --------
    >>> from tamiz.display import PointStressDisplay
    >>> display = PointStressDisplay([0.1, 0.4, 0.2], names=["Athens", "Barcelona", "Brussels"], n_points=2).plot()
    >>> display.rows_
    array([1, 2])
    """

    stress: ArrayLike
    _: KW_ONLY
    names: Sequence[str] | None = None
    n_points: int = 15
    value_label: str = "Stress of the point"

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, names: Sequence[str] | None = None, n_points: int = 15, ax: Axes | None = None
    ) -> Self:
        """Draw `stress_per_point_` of a fitted map.

        Parameters
        ----------
        estimator : MDS or another estimator with this attribute
            A fitted estimator.
        names, n_points
            As in the class.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.

        Returns
        -------
        PointStressDisplay
        """
        fitted = read_fitted(estimator, "stress_per_point_", "pass a fitted MDS")
        return cls(fitted["stress_per_point_"], names=names, n_points=n_points).plot(ax)

    def _draw(self, panel: Axes) -> None:
        n_points = check_integer("n_points", self.n_points, low=1)
        stress = read_vector("stress", self.stress)
        names = read_names(self.names, len(stress), "point")
        self.rows_ = np.argsort(-stress, kind="stable")[:n_points]
        largest = stress[self.rows_]
        figures.draw_stems(panel, largest, [escape_text(names[row]) for row in self.rows_])
        (self.points_,) = panel.plot(largest, np.arange(len(largest)), "o", color=figures.STRONG, markersize=6)
        mean = float(stress.mean())
        self.mean_ = panel.axvline(mean, label=f"mean of {len(stress):,} points", **figures.REFERENCE_LINE)
        panel.set(xlabel=self.value_label, ylabel="Row" if self.names is None else "")
        panel.set_xlim(left=0.0)
        figures.add_legend(panel, loc="lower right")

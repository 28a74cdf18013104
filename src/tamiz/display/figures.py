"""The one place that imports matplotlib, and how a figure of ours looks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tamiz.display.palette import MUTED, RULE, SCALE
from tamiz.optional import optional

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEAST_MATPLOTLIB = "3.8"

# Of a panel, in inches.
HEIGHT = 4.4

# More marks than these on a line would make it a thick one.
MOST_MARKED = 40

# A shape for every colour of a class, as matplotlib calls them.
SHAPES = ["o", "s", "D", "^", "P", "p", "*", "v", "X", "h"]


def matplotlib(module: str) -> Any:
    """Return a module of matplotlib."""
    return optional(module, feature="Drawing", package="matplotlib", least=LEAST_MATPLOTLIB, extra="plot")


def panels(n_rows: int, n_columns: int, *, width: float, height: float) -> tuple[Figure, Any]:
    """Return a new figure and its panels, an array of shape (n_rows, n_columns), of a width and a height in inches each."""
    figure, axes = matplotlib("matplotlib.pyplot").subplots(
        n_rows, n_columns, figsize=(n_columns * width, n_rows * height), squeeze=False, layout="constrained"
    )
    for ax in axes.flat:
        soften(ax)
    return figure, axes


def one_panel(ax: Axes | None, *, height: float = HEIGHT) -> Axes:
    """Return the panel that was given, or the one of a new figure, of a height in inches."""
    matplotlib("matplotlib")
    if ax is not None:
        return ax
    _, axes = panels(1, 1, width=5.6, height=height)
    return axes[0, 0]


def soften(ax: Axes) -> None:
    """Draw the frame and the numbers of a panel so that the points come first."""
    ax.spines[["left", "right", "top", "bottom"]].set_color(RULE)
    ax.tick_params(colors=MUTED, color=RULE, labelsize="small")
    ax.xaxis.label.set_color(MUTED)
    ax.yaxis.label.set_color(MUTED)


def scale() -> Any:
    """Return the colours of numbers, from low to high."""
    return matplotlib("matplotlib.colors").LinearSegmentedColormap.from_list("tamiz", SCALE)

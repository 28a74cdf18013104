"""The one place that imports matplotlib, and how a figure of ours looks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tamiz.runtime.optional_imports import import_optional

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# MERGED: The colours of points on light paper.
# Three of Okabe and Ito's, then each the farthest from those before it to a normal eye and to the three kinds of
# colour blindness, dark enough for white paper; the shapes of the points tell the classes apart a second time.
CLASS_COLORS = [
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#990000",
    "#ccbbdd",
    "#663355",
    "#55dd77",
    "#cc6622",
    "#9988ff",
    "#883333",
]
# Viridis, its yellow darkened until it is seen on white.
GRADIENT = ["#440154", "#3b528b", "#21918c", "#5ec962", "#d2c51e"]
INK, MUTED, FAINT, RULE, STRONG = "#20272c", "#5d6970", "#a3adb3", "#c6ccce", "#3f7f9f"


MIN_MATPLOTLIB = "3.8"

# Of a panel, in inches.
PANEL_HEIGHT = 4.4

# More marks than these on a line would make it a thick one.
MAX_MARKERS = 40

# A shape for every colour of a class, as matplotlib calls them.
SHAPES = ["o", "s", "D", "^", "P", "p", "*", "v", "X", "h"]


def import_matplotlib(module: str) -> Any:
    """Return a module of matplotlib."""
    return import_optional(module, feature="Drawing", package="matplotlib", min_version=MIN_MATPLOTLIB, extra="plot")


def make_panels(n_rows: int, n_columns: int, *, width: float, height: float) -> tuple[Figure, Any]:
    """Return a new figure and its panels, an array of shape (n_rows, n_columns), of a width and a height in inches each."""
    figure, axes = import_matplotlib("matplotlib.pyplot").subplots(
        n_rows, n_columns, figsize=(n_columns * width, n_rows * height), squeeze=False, layout="constrained"
    )
    for ax in axes.flat:
        style_panel(ax)
    return figure, axes


def get_panel(ax: Axes | None, *, height: float = PANEL_HEIGHT) -> Axes:
    """Return the panel that was given, or the one of a new figure, of a height in inches."""
    import_matplotlib("matplotlib")
    if ax is not None:
        return ax
    _, axes = make_panels(1, 1, width=5.6, height=height)
    return axes[0, 0]


def style_panel(ax: Axes) -> None:
    """Draw the frame and the numbers of a panel so that the points come first."""
    ax.spines[["left", "right", "top", "bottom"]].set_color(RULE)
    ax.tick_params(colors=MUTED, color=RULE, labelsize="small")
    ax.xaxis.label.set_color(MUTED)
    ax.yaxis.label.set_color(MUTED)


def colormap() -> Any:
    """Return the colours of numbers, from low to high."""
    return import_matplotlib("matplotlib.colors").LinearSegmentedColormap.from_list("tamiz", GRADIENT)

"""Import of matplotlib, colours, and the style of all figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tamiz.runtime.optional_imports import import_optional

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tamiz.statistics.base import Floats

# The first three are of Okabe and Ito. Each further colour is the farthest from those before it in normal vision and in the
# three kinds of colour blindness, among those dark enough for white paper.
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
# Viridis, with its yellow darkened to be visible on white.
GRADIENT = ["#440154", "#3b528b", "#21918c", "#5ec962", "#d2c51e"]
INK, MUTED, FAINT, RULE, STRONG = "#20272c", "#5d6970", "#a3adb3", "#c6ccce", "#3f7f9f"


MIN_MATPLOTLIB = "3.8.4"

# In inches.
PANEL_HEIGHT = 4.4

# Lines with more points are drawn without markers, which would overlap.
MAX_MARKERS = 40

# Style of a line to compare with: values by chance, a mean.
REFERENCE_LINE: dict[str, Any] = {"color": MUTED, "linestyle": "--", "linewidth": 1.2}

# Markers of matplotlib for the colours of classes.
SHAPES = ["o", "s", "D", "^", "P", "p", "*", "v", "X", "h"]


def import_matplotlib(module: str) -> Any:
    """Return a module of matplotlib; raise an ImportError with the install command where it is absent or too old."""
    return import_optional(module, feature="Drawing", package="matplotlib", min_version=MIN_MATPLOTLIB, extra="plot")


def make_panels(n_rows: int, n_columns: int, *, width: float, height: float) -> tuple[Figure, Any]:
    """Return a new figure and its panels, an array of shape (n_rows, n_columns); `width` and `height` of a panel are in inches."""
    figure, axes = import_matplotlib("matplotlib.pyplot").subplots(
        n_rows, n_columns, figsize=(n_columns * width, n_rows * height), squeeze=False, layout="constrained"
    )
    for ax in axes.flat:
        style_panel(ax)
    return figure, axes


def get_panel(ax: Axes | None, *, height: float = PANEL_HEIGHT) -> Axes:
    """Return `ax`, or the panel of a new figure with a height in inches."""
    import_matplotlib("matplotlib")
    if ax is not None:
        return ax
    _, axes = make_panels(1, 1, width=5.6, height=height)
    return axes[0, 0]


def style_panel(ax: Axes) -> None:
    """Draw the frame and the tick labels of a panel in muted colours."""
    ax.spines[["left", "right", "top", "bottom"]].set_color(RULE)
    ax.tick_params(colors=MUTED, color=RULE, labelsize="small")
    ax.xaxis.label.set_color(MUTED)
    ax.yaxis.label.set_color(MUTED)


def add_legend(panel: Axes, *handles_and_names: Any, **options: Any) -> Any:
    """Add a legend without a frame, with the options of matplotlib, and return it."""
    return panel.legend(*handles_and_names, frameon=False, labelcolor=INK, fontsize="small", **options)


def add_note(panel: Axes, text: str) -> None:
    """Write text above a panel, at its left end."""
    if text:
        panel.set_title(text, loc="left", fontsize="small", color=MUTED)


def use_integer_ticks(axis: Any) -> None:
    """Label whole numbers only, on an axis of a panel."""
    axis.set_major_locator(import_matplotlib("matplotlib.ticker").MaxNLocator(integer=True))


def draw_stems(panel: Axes, values: Floats, names: Sequence[str]) -> None:
    """Draw a horizontal line from 0 to every value at the heights 0, 1, 2, ..., the first on top, and name the lines."""
    heights = range(len(names))
    panel.hlines(heights, 0.0, values, color=RULE, linewidth=1.0)
    panel.set_yticks(heights, names)
    panel.invert_yaxis()


def colormap() -> Any:
    """Return the colormap of numbers."""
    return import_matplotlib("matplotlib.colors").LinearSegmentedColormap.from_list("tamiz", GRADIENT)

"""The style of all figures, panels that displays draw on, and checks of what is drawn; matplotlib is imported when one is drawn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from html import escape
from io import StringIO
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tamiz.arrays import Floats
from tamiz.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence, Sized

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Each has a contrast of at least 3 to white paper, and any two are told apart in normal vision and in the three kinds of colour
# blindness.
CLASS_COLORS = [
    "#0072b2",
    "#b86e00",
    "#007a5a",
    "#880011",
    "#aa66ff",
    "#ff2277",
    "#770066",
    "#000088",
    "#3311ff",
    "#331122",
]
# Viridis, with its light end darkened to a contrast of 3 to white paper.
GRADIENT = ["#440154", "#414487", "#2a788e", "#1d8f6f", "#3a8f2e", "#8a8200"]
INK, MUTED, FAINT, RULE, STRONG = "#20272c", "#5d6970", "#a3adb3", "#c6ccce", "#3f7f9f"


_MAX_NAME_LENGTH = 40
# More points of a class are pixels in an SVG.
_MAX_VECTOR_POINTS = 300

# In inches.
PANEL_HEIGHT = 4.4

# Lines with more points are drawn without markers, which would overlap.
_MAX_MARKERS = 40

# Style of a line to compare with: values by chance, a mean.
REFERENCE_LINE: dict[str, Any] = {"color": MUTED, "linestyle": "--", "linewidth": 1.2}

# Of the histogram of a null distribution: the most bars, and the height of the panel as a multiple of the tallest.
_MAX_BINS, _HEADROOM = 40, 1.25

# Markers of matplotlib for the colours of classes.
SHAPES = ["o", "s", "D", "^", "P", "p", "*", "v", "X", "h"]


def make_panels(n_rows: int, n_columns: int, *, width: float, height: float) -> tuple[Figure, Any]:
    """Return a new figure and its panels, an array of shape (n_rows, n_columns); `width` and `height` of a panel are in inches."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(
        n_rows, n_columns, figsize=(n_columns * width, n_rows * height), squeeze=False, layout="constrained"
    )
    for ax in axes.flat:
        style_panel(ax)
    return figure, axes


def get_panel(ax: Axes | None, *, height: float = PANEL_HEIGHT) -> Axes:
    """Return `ax`, or the panel of a new figure with a height in inches."""
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


def close(figure: Any) -> None:
    """Close a figure that `make_panels` made."""
    from matplotlib import pyplot

    pyplot.close(figure)


def write_svg(figure: Any, description: str) -> str:
    """Return a figure of matplotlib as an SVG element with text as text, and close it; `description` is for screen readers."""
    from matplotlib import rc_context
    from matplotlib.collections import PathCollection

    for points in figure.findobj(PathCollection):
        points.set_rasterized(len(points.get_offsets()) > _MAX_VECTOR_POINTS)
    written = StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": description}):
        figure.savefig(written, format="svg", dpi=150, metadata={"Date": None, "Creator": None})
    close(figure)
    svg = written.getvalue()
    return svg[svg.index("<svg") :].replace("<svg", f'<svg role="img" aria-label="{escape(description)}"', 1)


def add_legend(panel: Axes, *handles_and_names: Any, **options: Any) -> Any:
    """Add a legend without a frame, with the options of matplotlib, and return it."""
    return panel.legend(*handles_and_names, frameon=False, labelcolor=INK, fontsize="small", **options)


def add_note(panel: Axes, text: str) -> None:
    """Write text above a panel, at its left end."""
    if text:
        panel.set_title(text, loc="left", fontsize="small", color=MUTED)


def use_integer_ticks(axis: Any) -> None:
    """Label whole numbers only, on an axis of a panel."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(integer=True))


def draw_stems(panel: Axes, values: Floats, names: Sequence[str]) -> None:
    """Draw a horizontal line from 0 to every value at the heights 0, 1, 2, ..., the first on top, and name the lines."""
    heights = range(len(names))
    panel.hlines(heights, 0.0, values, color=RULE, linewidth=1.0)
    panel.set_yticks(heights, names)
    panel.invert_yaxis()


def line_style(n_points: int) -> dict[str, Any]:
    """Return the style of a line, with markers where they do not overlap."""
    return {"color": STRONG, "marker": "o" if n_points <= _MAX_MARKERS else "", "markersize": 4, "linewidth": 1.5}


def draw_ring(panel: Axes, x: float, y: float, label: str) -> Any:
    """Draw a ring around a point, and return it."""
    (ring,) = panel.plot(x, y, "o", markersize=13, markerfacecolor="none", markeredgecolor=INK, label=label, zorder=4)
    return ring


def colormap() -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("tamiz", GRADIENT)


def draw_null_histogram(
    null_values: Floats, observed: float, label: str, p_value: float, ax: Axes | None = None
) -> Axes:
    """Draw a histogram of the permutation null distribution and a line at the observed value; ax=None creates a new figure."""
    panel = get_panel(ax)
    n_bins = int(np.clip(np.sqrt(len(null_values)), 5, _MAX_BINS))
    heights, _, _ = panel.hist(
        null_values, bins=n_bins, color=FAINT, label=f"by chance ({len(null_values):,} permutations)"
    )
    panel.axvline(observed, color=STRONG, linewidth=2.0, label=f"found: {observed:.4g}")
    panel.set(xlabel=label, ylabel="Permutations")
    use_integer_ticks(panel.yaxis)
    add_note(panel, f"p = {p_value:.3g}")
    # The legend is above the bars, on the side without the line.
    panel.set_ylim(top=_HEADROOM * float(np.max(heights)))
    add_legend(panel, loc="upper left" if observed > null_values.mean() else "upper right")
    return panel


def can_share_scale(points: ArrayLike) -> bool:
    """Whether both axes of a map can have one scale: with an aspect ratio above 4, the points would look like a line."""
    spans = np.ptp(np.asarray(points, dtype=np.float64), axis=0) if np.size(points) else np.ones(2)
    return bool(0 < spans.max() <= 4 * spans.min())


def escape_text(text: str) -> str:
    """Return text for matplotlib: on one line, at most 40 characters, without mathematics.

    Dollar signs are escaped, and a leading underscore is preceded by a space because matplotlib hides such labels.
    """
    line = "".join(char if char.isprintable() else " " for char in text)
    short = line if len(line) <= _MAX_NAME_LENGTH else line[: _MAX_NAME_LENGTH - 1] + "…"
    return (" " if short.startswith("_") else "") + short.replace("$", r"\$")


class PanelDisplay(ABC):
    """A plot on one panel; a subclass draws it."""

    ax_: Axes
    figure_: Any

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.
        """
        panel = get_panel(ax, height=self._height())
        try:
            self._draw(panel)
        except Exception:
            # A notebook would show the empty figure.
            if ax is None:
                close(panel.figure)
            raise
        self.ax_, self.figure_ = panel, panel.figure
        return self

    def _height(self) -> float:
        return PANEL_HEIGHT

    @abstractmethod
    def _draw(self, panel: Axes) -> None:
        """Check what is shown, and draw it."""


def read_fitted(estimator: Any, attribute: str, advice: str) -> dict[str, Any]:
    """Return the attributes of a fitted estimator; TypeError with the advice if it lacks one."""
    # Imported late: colours are read without scikit-learn.
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(estimator)
    fitted = vars(estimator)
    if attribute not in fitted:
        raise TypeError(f"{type(estimator).__name__} has no {attribute}; {advice}.")
    return fitted


def read_vector(name: str, values: ArrayLike, dtype: type[np.generic] = np.float64) -> NDArray[Any]:
    """Return values as a one-dimensional array of finite numbers; `name` is that of the parameter, for messages."""
    from sklearn.utils.validation import check_array

    vector: NDArray[Any] = check_array(np.asarray(values), dtype=dtype, ensure_2d=False, input_name=name)
    if vector.ndim != 1:
        raise DataError(f"{name} must be a list of numbers, got an array of shape {vector.shape}.")
    return vector


def check_one_each(name: str, values: Sized, n: int, thing: str) -> None:
    """Raise DataError unless there is one value for each of n things, such as "point"."""
    if len(values) != n:
        raise DataError(f"{name} must have one value per {thing}: got {len(values):,} for {n:,}.")


def read_names(names: Sequence[Any] | None, n: int, thing: str) -> list[str]:
    found = [str(name) for name in (range(n) if names is None else names)]
    check_one_each("names", found, n, thing)
    return found

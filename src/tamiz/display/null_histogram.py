"""A number beside those that chance gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tamiz.display import figures
from tamiz.statistics.base import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MAX_BINS = 40
# The height of the panel next to that of the tallest bar.
_HEADROOM = 1.25


def draw_null_histogram(
    null_values: Floats, observed: float, label: str, p_value: float, ax: Axes | None = None
) -> Axes:
    """Draw a histogram of the numbers drawn by chance and a line where the one found is.

    Parameters
    ----------
    null_values : ndarray of shape (n_draws,)
    observed : float
    label : str
        What the numbers are.
    p_value : float
        Told over the panel.
    ax : matplotlib Axes, default=None
        Where to draw; None is a new figure.
    """
    panel = figures.get_panel(ax)
    n_bins = int(np.clip(np.sqrt(len(null_values)), 5, _MAX_BINS))
    heights, _, _ = panel.hist(
        null_values, bins=n_bins, color=figures.FAINT, label=f"by chance ({len(null_values):,} permutations)"
    )
    panel.axvline(observed, color=figures.STRONG, linewidth=2.0, label=f"found: {observed:.4g}")
    panel.set(xlabel=label, ylabel="Permutations")
    panel.yaxis.set_major_locator(figures.import_matplotlib("matplotlib.ticker").MaxNLocator(integer=True))
    panel.set_title(f"p = {p_value:.3g}", loc="left", fontsize="small", color=figures.MUTED)
    # Over the bars, on the side where the line is not.
    panel.set_ylim(top=_HEADROOM * float(np.max(heights)))
    panel.legend(
        loc="upper left" if observed > null_values.mean() else "upper right",
        frameon=False,
        labelcolor=figures.INK,
        fontsize="small",
    )
    return panel

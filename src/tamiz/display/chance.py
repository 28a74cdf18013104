"""A number beside those that chance gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tamiz.display import figures, palette
from tamiz.statistics.base import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_BINS = 40
# The height of the panel next to that of the tallest bar.
_ROOM = 1.25


def draw_chance(drawn: Floats, found: float, label: str, p_value: float, ax: Axes | None = None) -> Axes:
    """Draw a histogram of the numbers drawn by chance and a line where the one found is.

    Parameters
    ----------
    drawn : ndarray of shape (n_draws,)
    found : float
    label : str
        What the numbers are.
    p_value : float
        Told over the panel.
    ax : matplotlib Axes, default=None
        Where to draw; None is a new figure.
    """
    panel = figures.one_panel(ax)
    n_bins = int(np.clip(np.sqrt(len(drawn)), 5, _MOST_BINS))
    heights, _, _ = panel.hist(
        drawn, bins=n_bins, color=palette.FAINT, label=f"by chance ({len(drawn):,} permutations)"
    )
    panel.axvline(found, color=palette.STRONG, linewidth=2.0, label=f"found: {found:.4g}")
    panel.set(xlabel=label, ylabel="Permutations")
    panel.yaxis.set_major_locator(figures.matplotlib("matplotlib.ticker").MaxNLocator(integer=True))
    panel.set_title(f"p = {p_value:.3g}", loc="left", fontsize="small", color=palette.MUTED)
    # Over the bars, on the side where the line is not.
    panel.set_ylim(top=_ROOM * float(np.max(heights)))
    panel.legend(
        loc="upper left" if found > drawn.mean() else "upper right",
        frameon=False,
        labelcolor=palette.INK,
        fontsize="small",
    )
    return panel

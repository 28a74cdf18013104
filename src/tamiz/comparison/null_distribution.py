"""P-values of permutation tests, and the histogram of a permutation null distribution with the observed value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tamiz.display import figures
from tamiz.statistics.base import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Values that differ only by the rounding of sums in another order count as equal.
_TIE_TOLERANCE = 1e-10
_MAX_BINS = 40
# Height of the panel as a multiple of the tallest bar.
_HEADROOM = 1.25


def permutation_p_value(n_as_extreme: int, n_permutations: int) -> float:
    """Return (1 + n_as_extreme) / (1 + n_permutations), which counts the observed value as one of the permutations."""
    return (1 + n_as_extreme) / (1 + n_permutations)


def lower_p_value(null_values: Floats, observed: float) -> float:
    """Return the p-value of a statistic for which small values are extreme."""
    return permutation_p_value(int(np.sum(null_values <= observed * (1.0 + _TIE_TOLERANCE))), len(null_values))


def upper_p_value(null_values: Floats, observed: float) -> float:
    """Return the p-value of a statistic for which large values are extreme."""
    return permutation_p_value(int(np.sum(null_values >= observed * (1.0 - _TIE_TOLERANCE))), len(null_values))


def draw_null_histogram(
    null_values: Floats, observed: float, label: str, p_value: float, ax: Axes | None = None
) -> Axes:
    """Draw a histogram of the permutation null distribution and a line at the observed value.

    Parameters
    ----------
    null_values : ndarray of shape (n_draws,)
    observed : float
    label : str
        Label of the value axis.
    p_value : float
        Shown above the panel.
    ax : matplotlib Axes, default=None
        Axes to draw on; None creates a new figure.
    """
    panel = figures.get_panel(ax)
    n_bins = int(np.clip(np.sqrt(len(null_values)), 5, _MAX_BINS))
    heights, _, _ = panel.hist(
        null_values, bins=n_bins, color=figures.FAINT, label=f"by chance ({len(null_values):,} permutations)"
    )
    panel.axvline(observed, color=figures.STRONG, linewidth=2.0, label=f"found: {observed:.4g}")
    panel.set(xlabel=label, ylabel="Permutations")
    figures.use_integer_ticks(panel.yaxis)
    figures.add_note(panel, f"p = {p_value:.3g}")
    # The legend is above the bars, on the side without the line.
    panel.set_ylim(top=_HEADROOM * float(np.max(heights)))
    figures.add_legend(panel, loc="upper left" if observed > null_values.mean() else "upper right")
    return panel

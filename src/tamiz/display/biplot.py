"""Arrows of columns drawn over points by matplotlib, their names where there is room."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tamiz.display import palette
from tamiz.display.arrows import MAX_ARROWS, Arrow
from tamiz.display.coloring import escape_text
from tamiz.statistics.base import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FONT_SIZE = 8.5
# Of a letter and of a line, in parts of the size of the font.
_LETTER_WIDTH, _LINE_HEIGHT = 0.58, 1.35
# Half lines up and down, for as many names as there are arrows.
_LABEL_OFFSETS = np.array([0, *(step for k in range(1, 2 * MAX_ARROWS) for step in (k, -k))])
_LABEL_BOX = {"facecolor": "white", "alpha": 0.7, "edgecolor": "none", "pad": 0.6}


def draw_arrows(panel: Axes, drawn: Sequence[Arrow], names: Sequence[str]) -> list[Any]:
    """Draw arrows from 0, each with its name beyond the tip, and return what was drawn.

    A name that would cover another is moved up or down.
    """
    # Names stand beyond the tips.
    panel.update_datalim([(1.12 * arrow.x, 1.12 * arrow.y) for arrow in drawn])
    panel.autoscale_view()
    panel.apply_aspect()
    points = 72.0 / panel.figure.dpi
    low, high = panel.get_window_extent().get_points() * points
    origin = panel.transData.transform((0.0, 0.0)) * points
    taken: list[tuple[float, float, float]] = []
    made = []
    for arrow in drawn:
        name = escape_text(names[arrow.column])
        tip = panel.transData.transform((arrow.x, arrow.y)) * points
        along = (tip - origin) / (float(np.hypot(*(tip - origin))) or 1.0)
        half = np.array([0.5 * _LETTER_WIDTH * _FONT_SIZE * len(name) + 2, 0.5 * _LINE_HEIGHT * _FONT_SIZE])
        x, y = np.clip(tip + along * (half + 3), low + half, high - half)
        place = next((at for at in y + half[1] * _LABEL_OFFSETS if _is_free(float(x), at, half, taken)), y)
        taken.append((float(x), float(place), half[0]))
        panel.annotate(
            "", (arrow.x, arrow.y), (0.0, 0.0),
            arrowprops={"arrowstyle": "-|>", "color": palette.INK, "linewidth": 1.0, "shrinkA": 0, "shrinkB": 0},
        )  # fmt: skip
        made.append(
            panel.annotate(
                name,
                (arrow.x, arrow.y),
                (x - tip[0], place - tip[1]),
                textcoords="offset points",
                ha="center",
                va="center",
                fontsize=_FONT_SIZE,
                color=palette.INK,
                bbox=_LABEL_BOX,
            )
        )
    return made


def _is_free(x: float, y: float, half: Floats, taken: Sequence[tuple[float, float, float]]) -> bool:
    return all(abs(x - at) >= half[0] + half_x or abs(y - level) >= 2 * half[1] for at, level, half_x in taken)

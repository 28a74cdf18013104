"""The lattice of all subsets of a few columns: one point per subset, by size, joined to subsets with one column more or less."""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING, Any

from tamiz.display import figures
from tamiz.display.figures import escape_text
from tamiz.report.drawing import Chart
from tamiz.report.text import format_number, join_column_names, shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from tamiz.selection.subset_record import Lattice, SubsetRecord

# By the number of columns: the characters of a name that fit (0: numbers instead of names), and the pixels of a subset.
_NAME_LENGTHS = {2: 24, 3: 20, 4: 16, 5: 14, 6: 0}
_WIDTH = {2: 150, 3: 130, 4: 110, 5: 92, 6: 46}
_LINE, _LEVEL_SPACING = 15, 26
_MAX_PRINTED_COLUMNS = 4
_MAX_SPACING = 1.7


def collect_lattice(subset: SubsetRecord) -> dict[str, Any] | None:
    """Return the chart, its title and the table of all subsets; None if there are too many.

    Parameters
    ----------
    subset : SubsetRecord
    """
    lattice = subset.lattice
    if lattice is None:
        return None
    names, merits = lattice.columns, lattice.merits
    kept = _set_code(subset.columns, names)
    order = sorted(range(len(merits)), key=lambda k: (-merits[k], k.bit_count(), _members(k, len(names))))
    return {
        "title": _title(subset, lattice, kept),
        "chart": _chart(lattice, kept, [_set_code(step.columns, names) for step in subset.course]),
        # A crowded chart is not printed; its table is.
        "crowded": len(names) > _MAX_PRINTED_COLUMNS,
        "key": [] if _NAME_LENGTHS[len(names)] else names,
        "sets": [
            {"names": _set_name(k, names), "size": k.bit_count(), "merit": merits[k], "kept": k == kept} for k in order
        ],
    }


def _set_code(columns: Sequence[str], names: Sequence[str]) -> int:
    return sum(1 << j for j, name in enumerate(names) if name in columns)


def _members(set_code: int, n: int) -> list[int]:
    return [j for j in range(n) if set_code >> j & 1]


def _set_name(set_code: int, names: Sequence[str]) -> str:
    return join_column_names([names[j] for j in _members(set_code, len(names))]) or "no column"


def _title(subset: SubsetRecord, lattice: Lattice, kept: int) -> str:
    merits, best = lattice.merits, lattice.best
    if merits[best] <= merits[kept]:
        return f"None of all {len(merits)} subsets is better than the selected one"
    restricted = any(reason.role is not None or reason.group for reason in subset.reasons)
    why = (
        "its size was not requested" if subset.sizes is not None
        else "not every subset was permitted" if restricted
        else "the gain is below the minimum gain of the search" if merits[best] - merits[kept] <= subset.min_gain
        else "the search did not evaluate it"
    )  # fmt: skip
    return f"{_set_name(best, lattice.columns)} would be better ({format_number(merits[best])}): {why}"


def _chart(lattice: Lattice, kept: int, course: Sequence[int]) -> Chart:
    names, merits = lattice.columns, lattice.merits
    places, height = _node_positions(len(names))

    def draw(axes: Axes) -> None:
        for k, (x, y) in places.items():
            for j in range(len(names)):
                if not k >> j & 1:
                    other = places[k | 1 << j]
                    axes.plot([x, other[0]], [y, other[1]], color=figures.RULE, linewidth=0.8, zorder=1)
        axes.plot(*zip(*(places[k] for k in course), strict=True), color=figures.CLASS_COLORS[1], linewidth=3, zorder=2)
        span = (max(merits) - min(merits)) or 1.0
        for k, (x, y) in places.items():
            shade = 0.15 + 0.85 * (merits[k] - min(merits)) / span
            axes.plot([x], [y], "o", color=figures.STRONG, alpha=shade, markersize=9, zorder=3)
            lines = [*(_label_lines(k, names) or ["none"]), format_number(merits[k], digits=3)]
            for line, text in enumerate(lines):
                place: dict[str, Any] = {"xytext": (0, -8 - 11 * line), "textcoords": "offset points", "va": "top"}
                axes.annotate(text, (x, y), ha="center", color=figures.INK, fontsize="small", zorder=4, **place)
        axes.plot(*places[kept], "o", markersize=14, markerfacecolor="none", markeredgecolor=figures.INK, zorder=4)
        axes.set_axis_off()
        axes.set_ylim(-0.9, len(names) + 0.3)

    width = 40 + _WIDTH[len(names)] * math.comb(len(names), len(names) // 2)
    described = f"All {len(merits)} subsets of {len(names)} columns by their size, shaded by merit."
    return Chart("lattice", draw, described, width=width, height=height)


def _node_positions(n: int) -> tuple[dict[int, tuple[float, float]], int]:
    """Return the position of each set by its size, and the height of the chart in pixels; the empty set is at the bottom."""
    places: dict[int, tuple[float, float]] = {}
    for size in range(n + 1):
        level = [sum(1 << j for j in members) for members in combinations(range(n), size)]
        # Levels with few sets are spread out.
        spacing = min(math.comb(n, n // 2) / len(level), _MAX_SPACING)
        places |= {k: (spacing * (i - (len(level) - 1) / 2), float(size)) for i, k in enumerate(level)}
    # The names of a set are below its point, one per line, followed by its merit.
    return places, (n + 1) * (_LEVEL_SPACING + _LINE * (1 + (n if _NAME_LENGTHS[n] else 1)))


def _label_lines(set_code: int, names: Sequence[str]) -> list[str]:
    """Return the lines that name the columns of a set, numbered if two shortened names are equal."""
    members, limit = _members(set_code, len(names)), _NAME_LENGTHS[len(names)]
    if not limit:
        return [" ".join(str(j + 1) for j in members)] if members else []
    short = [escape_text(shorten(name, limit)) for name in names]
    if len(set(short)) < len(short):
        short = [f"{j + 1} {escape_text(shorten(name, limit - 2))}" for j, name in enumerate(names)]
    return [short[j] for j in members]

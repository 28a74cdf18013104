"""Small pictures as inline SVG: a dot with its interval, and the points of a map. Colours are classes of the style sheet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup

if TYPE_CHECKING:
    from tamiz.assessment.findings import ColumnDistribution, DistributionsRecord, TargetGroup
    from tamiz.report.records.maps import ColorColumn

# Colours of categories; further levels share the last.
N_COLORS = 10
# Steps of the gradient of numbers.
_N_SHADES = 6
# The width and height of the picture of a distribution.
_WIDE, _TALL = 120, 24
# The width, height and margin of the picture of a map, and its largest number of points.
_WIDTH, _HEIGHT, _MARGIN, _MAX_POINTS = 1000, 600, 14, 2_000
# Stacks of the points of a single coordinate.
_STACKS = 60
# The share of the points at each end of an axis that may be beyond it, farther from the others than half of their width.
_FAR_SHARE, _FAR = 0.005, 0.5


@dataclass(frozen=True)
class Scale:
    """Positions between two values, from 0 to 1."""

    low: float
    high: float

    @classmethod
    def around(cls, values: Sequence[float]) -> Scale:
        low, high = min(values), max(values)
        margin = 0.04 * (high - low) or 0.5
        return cls(low - margin, high + margin)

    def at(self, value: float) -> float:
        return min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)

    def mark(self, value: float, interval: Sequence[float] | None = None) -> Markup:
        """Return a dot at a value, on the line of its interval."""

        def place(one: float) -> str:
            # In percent of the width, with room for half a dot at both ends.
            return f"{2 + 96 * self.at(one):.1f}%"

        parts = ['<line class="rule" x1="2%" x2="98%" y1="7" y2="7"/>']
        if interval:
            parts.append(f'<line class="range" x1="{place(interval[0])}" x2="{place(interval[1])}" y1="7" y2="7"/>')
        parts.append(f'<circle class="dot" cx="{place(value)}" cy="7" r="4"/>')
        return Markup(f'<svg class="mark" aria-hidden="true">{"".join(parts)}</svg>')


def group_colors(groups: Sequence[TargetGroup]) -> list[str]:
    """Return the class of the colour of each group of the target: that of its class on the maps."""
    if len(groups) < 2:
        return ["all"] * len(groups)
    if not any(one.levels for one in groups):
        return ["s0", "s3", "s5"]
    return [color_class(one.levels[0] if len(one.levels) == 1 else None) for one in groups]


def distribution_pictures(found: DistributionsRecord | None) -> dict[str, Markup]:
    """Return the picture of the distribution of each column that has one, by name."""
    if found is None:
        return {}
    colors = group_colors(found.groups)
    return {one.name: distribution_picture(one, colors) for one in found.columns}


def distribution_picture(column: ColumnDistribution, colors: Sequence[str]) -> Markup:
    """Return the shares of each group of the target in the intervals of a column, as areas, or at its levels, as bars."""
    shares = [[one / (sum(row) or 1.0) for one in row] for row in column.counts]
    most = max((share for row in shares for share in row), default=0.0)
    if not most:
        return Markup("")
    parts = []
    for k, (row, color) in enumerate(zip(shares, colors, strict=True)):
        heights = [share / most for share in row]
        drawn = _area(heights) if column.edges else _bars(heights, k, len(shares))
        parts += [f'<path class="{color}" d="{drawn}"/>'] if any(row) else []
    box = f'viewBox="0 0 {_WIDE} {_TALL}" preserveAspectRatio="none"'
    return Markup(f'<svg class="spread" {box} aria-hidden="true">{"".join(parts)}</svg>')


def _area(heights: Sequence[float]) -> str:
    width = _WIDE / len(heights)
    steps = "".join(f"V{_TALL * (1 - height):.1f}H{width * (k + 1):.1f}" for k, height in enumerate(heights))
    return f"M0 {_TALL}{steps}V{_TALL}Z"


def _bars(heights: Sequence[float], group: int, n_groups: int) -> str:
    slot = _WIDE / len(heights)
    width = 0.84 * slot / n_groups
    return "".join(
        f"M{slot * (k + 0.08) + width * group:.1f} {_TALL}v{-_TALL * height:.1f}h{width:.1f}V{_TALL}Z"
        for k, height in enumerate(heights)
        if height
    )


def share_bar(shares: Sequence[tuple[float, str]]) -> Markup:
    """Return a bar that is divided by shares, which sum to 1, each with the class of its colour."""
    parts, start = [], 0.0
    for share, name in shares:
        place = f'x="{100 * start:.2f}%" width="{100 * share:.2f}%"'
        parts.append(f'<rect class="{name}" {place} height="10"/>')
        start += share
    return Markup(f'<svg class="balance" aria-hidden="true">{"".join(parts)}</svg>')


def map_extent(points: Sequence[Sequence[float]]) -> list[tuple[float, float]]:
    """Return the ends of both axes of a map: those of all points, or, where a few are far from all others, of the others."""
    ends = []
    for values in (sorted(point[axis] for point in points) for axis in range(2)):
        low, high = values[0], values[-1]
        inner = [values[int(share * (len(values) - 1))] for share in (_FAR_SHARE, 1 - _FAR_SHARE)]
        room = _FAR * (inner[1] - inner[0])
        # Without the far points the others have more than half of the axis.
        if inner[1] > inner[0] and high - low > 2 * (min(high, inner[1] + room) - max(low, inner[0] - room)):
            low, high = max(low, inner[0] - room), min(high, inner[1] + room)
        ends.append((low, high))
    return ends


def can_share_scale(points: Sequence[Sequence[float]]) -> bool:
    """Return whether both axes can have one scale: with an aspect ratio above 4, the shorter one would be unreadable."""
    spans = [max(values) - min(values) for values in zip(*points, strict=True)] if points else [1.0, 1.0]
    return min(spans) > 0 and max(spans) <= 4 * min(spans)


def stack_points(values: Sequence[float], color: ColorColumn | None) -> list[tuple[float, float]]:
    """Return points above a single coordinate, stacked as in a histogram, those of one colour together."""
    low, width = min(values), (max(values) - min(values)) or 1.0
    codes = [0.0] * len(values) if color is None else [-1.0 if code is None else code for code in color.values]
    heights, found = Counter[int](), [(value, 0.0) for value in values]
    for row in sorted(range(len(values)), key=lambda row: codes[row]):
        place = int((_STACKS - 1) * (values[row] - low) / width)
        found[row] = (values[row], float(heights[place]))
        heights[place] += 1
    return found


def point_picture(
    points: Sequence[Sequence[float]], values: Sequence[float | None] | None, n_levels: int, *, one_scale: bool
) -> Markup:
    """Return the points of a map, coloured by levels (their numbers) or, with `n_levels` 0, by numbers."""
    (left, right), (low, high) = map_extent(points)
    rows = [
        i
        for i in range(0, len(points), -(-len(points) // _MAX_POINTS))
        if left <= points[i][0] <= right and low <= points[i][1] <= high
    ]
    xs, ys = ([points[i][k] for i in rows] for k in range(2))
    width, height = (right - left) or 1.0, (high - low) or 1.0
    x_scale, y_scale = (_WIDTH - 2 * _MARGIN) / width, (_HEIGHT - 2 * _MARGIN) / height
    if one_scale:
        x_scale = y_scale = min(x_scale, y_scale)
    start, top = _WIDTH / 2 - x_scale * (left + width / 2), _HEIGHT / 2 + y_scale * (low + height / 2)
    classes = ["c0"] * len(rows) if values is None else _classes([values[i] for i in rows], n_levels)
    paths: dict[str, list[str]] = {}
    for x, y, name in zip(xs, ys, classes, strict=True):
        paths.setdefault(name, []).append(f"M{round(start + x_scale * x)} {round(top - y_scale * y)}h0")
    drawn = "".join(f'<path class="{name}" d="{"".join(marks)}"/>' for name, marks in sorted(paths.items()))
    return Markup(f'<svg class="points" viewBox="0 0 {_WIDTH} {_HEIGHT}" aria-hidden="true">{drawn}</svg>')


def map_picture(points: Sequence[Sequence[float]], color: ColorColumn | None, *, one_scale: bool) -> Markup:
    if color is None:
        return point_picture(points, None, 0, one_scale=one_scale)
    return point_picture(points, color.values, len(color.levels), one_scale=one_scale)


def color_class(code: int | None) -> str:
    """Return the class of a level, or of what is no level."""
    return "none" if code is None else f"c{min(code, N_COLORS - 1)}"


def _classes(values: Sequence[float | None], n_levels: int) -> list[str]:
    """Return the class of each value; missing ones have their own."""
    if n_levels:
        return [color_class(None if value is None else int(value)) for value in values]
    known = sorted(value for value in values if value is not None)
    # Steps of equal numbers of rows: one outlier would make all others look equal.
    edges = [known[len(known) * k // _N_SHADES] for k in range(1, _N_SHADES)] if known else []
    return ["none" if value is None else f"s{sum(value >= edge for edge in edges)}" for value in values]

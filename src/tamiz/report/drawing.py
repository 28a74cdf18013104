"""Charts of matplotlib as inline SVG: text stays text, colours are those of the page in both themes, and marks are few elements."""

from __future__ import annotations

import itertools
import math
import re
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, Any, TypeAlias
from xml.etree import ElementTree

from markupsafe import Markup, escape

from tamiz.display import figures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tamiz.assessment.findings import ColumnDistribution, DistributionsRecord, TargetGroup
    from tamiz.report.records import ColorColumn


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


# Labels and notes of a display are "small", 12 pixels.
_STYLE: dict[str, Any] = {"svg.fonttype": "none", "font.size": 9 / 0.833, "axes.labelsize": 9, "axes.linewidth": 0.8}
_VARIABLES = {
    figures.INK: "var(--ink)",
    figures.MUTED: "var(--muted)",
    figures.FAINT: "var(--faint)",
    figures.RULE: "var(--rule)",
    figures.STRONG: "var(--chart)",
    **{color: f"var(--c{k})" for k, color in enumerate(figures.CLASS_COLORS)},
}
_LEAST_OPACITY = 0.6
# The style sheet's style of text in a chart.
_TEXT_STYLE: dict[str, Any] = {"font-size": "9px", "fill": figures.MUTED}
# More lines of a legend stand below the chart.
_MAX_INSIDE, _WIDEST_NAME = 2, 18
# A chart grows up to this factor on a wide screen.
_GROWTH = 1.3
_SVG, _LINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")


@dataclass(frozen=True)
class Chart:
    """A chart that is drawn when the page is written: `draw` draws on axes, `described` is for readers who do not see it."""

    name: str
    draw: Callable[[Axes], object]
    described: str
    width: int = 358
    height: int = 240

    @property
    def widest(self) -> int:
        return round(_GROWTH * self.width)

    def figure(self, background: str = "none") -> Figure:
        from matplotlib import style
        from matplotlib.figure import Figure

        with style.context(["default", _STYLE]):
            size = (self.width / 96, self.height / 96)
            figure = Figure(figsize=size, dpi=2 * 96, layout="constrained", facecolor=background)
            axes = figure.add_subplot(facecolor="none")
            figures.style_panel(axes)
            axes.spines[["top", "right"]].set_visible(False)
            axes.tick_params(length=0)
            self.draw(axes)
            _place_texts(figure, axes)
        return figure

    def svg(self) -> Markup:
        # Imported when a chart is drawn: a result is read and summarised without matplotlib.
        from matplotlib import style
        from matplotlib.backends.backend_svg import FigureCanvasSVG

        written = StringIO()
        with (
            style.context(["default", _STYLE, {"svg.hashsalt": self.name}]),
            warnings.catch_warnings(),
        ):
            # The browser has the letters that matplotlib's font lacks.
            warnings.filterwarnings("ignore", message=r"Glyph \d+")
            # `savefig` would draw twice.
            canvas: Any = FigureCanvasSVG(self.figure())
            canvas.print_svg(written, metadata={"Date": None, "Creator": None})
        root = ElementTree.fromstring(written.getvalue())
        markers = {path.attrib["id"]: path.attrib for path in root.iter(f"{_SVG}path") if "id" in path.attrib}
        marks = list(_merge(_flatten(root, markers)))
        used = {attributes.get("clip-path") for _, attributes, _ in marks}
        body = [_write(*mark) for mark in marks]
        for clip in root.iter(f"{_SVG}clipPath"):
            if f"url(#{clip.attrib['id']})" in used:
                shapes = "".join(_write("rect", dict(part.attrib), "") for part in clip)
                body.append(_write("clipPath", {"id": clip.attrib["id"]}, Markup(shapes)))
        view = {"viewBox": root.attrib["viewBox"], "class": "chart", "role": "img", "aria-label": self.described}
        return Markup(_write("svg", view, Markup("".join(body))))


def _place_texts(figure: Figure, axes: Axes) -> None:
    """Write the label of the vertical axis above it, and a legend of more lines than fit beside them below the chart."""
    label, note = axes.get_ylabel(), axes.get_title(loc="left")
    axes.set_ylabel("")
    axes.set_title("\n".join(filter(None, [note, label])), loc="left", fontsize="small", color=figures.MUTED)
    legend = axes.get_legend()
    if legend is None or len(legend.get_texts()) <= _MAX_INSIDE:
        return
    handles = list(filter(None, legend.legend_handles))
    names = [text.get_text() for text in legend.get_texts()]
    legend.remove()
    n_columns = 2 if max(map(len, names)) <= _WIDEST_NAME else 1
    figure.set_figheight(figure.get_figheight() + 0.18 * math.ceil(len(names) / n_columns))
    figure.legend(
        handles,
        names,
        loc="outside lower left",
        ncols=n_columns,
        frameon=False,
        fontsize="small",
        labelcolor=figures.INK,
    )


# The kind, the attributes and the text of an element.
_Mark: TypeAlias = tuple[str, dict[str, str], str]


def _flatten(parent: ElementTree.Element, markers: Mapping[str, dict[str, str]], clip: str = "") -> Iterator[_Mark]:
    """Yield the visible marks of a document of matplotlib without its groups."""
    for part in parent:
        kind, attributes = part.tag.removeprefix(_SVG), part.attrib
        if kind == "g":
            yield from _flatten(part, markers, attributes.get("clip-path", clip))
        elif kind == "use":
            yield "path", {"clip-path": clip} | _marker(attributes, markers[attributes[_LINK].removeprefix("#")]), ""
        elif kind == "text" or (kind == "path" and re.search(r"(fill|stroke): (?!none)", attributes.get("style", ""))):
            yield kind, {"clip-path": clip} | _attributes(kind, attributes), part.text or ""
        elif kind == "image":
            # The clipping path of its group would be moved by its own transform.
            yield kind, _attributes(kind, attributes), ""


def _marker(use: dict[str, str], shape: dict[str, str]) -> dict[str, str]:
    """Return a marker as a path of its own: a filled circle is a dot, the round end of a line without length."""
    x, y = float(use.get("x", 0)), float(use.get("y", 0))
    style = _declarations(shape.get("style", "")) | _declarations(use.get("style", ""))
    if "C" in shape["d"] and style.get("fill") not in (None, "none") and style.get("fill-opacity") != "0":
        edge = 0.0 if style.get("stroke") in (None, "none") else float(style.get("stroke-width", 1))
        width = 2 * max(map(abs, map(float, _NUMBER.findall(shape["d"])))) + edge
        dot = {"fill": "none", "stroke": style["fill"], "stroke-width": f"{width}", "stroke-linecap": "round"}
        if "fill-opacity" in style:
            # Dots that are one path do not add up to darker ones where they overlap.
            dot["stroke-opacity"] = f"{max(float(style['fill-opacity']), _LEAST_OPACITY)}"
        return {"style": _joined(dot), "d": f"M{x} {y}h0"}
    offsets = itertools.cycle((x, y))
    moved = _NUMBER.sub(lambda number: f"{float(number[0]) + next(offsets)}", shape["d"])
    return {"style": _joined(style), "d": moved}


def _merge(marks: Iterable[_Mark]) -> Iterator[_Mark]:
    """Yield marks; neighbouring paths of one style are one path."""
    for key, run in itertools.groupby(marks, lambda one: (one[0], one[1].get("style"), one[1].get("clip-path"))):
        if key[0] != "path":
            yield from run
            continue
        paths = [attributes for _, attributes, _ in run]
        yield "path", paths[0] | {"d": "".join(one["d"] for one in paths)}, ""


def _attributes(kind: str, attributes: dict[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in attributes.items() if name not in ("id", "style", _LINK)}
    style = _declarations(attributes.get("style", ""))
    if kind == "image":
        return kept | {"href": attributes[_LINK], "style": _joined(style)}
    if kind == "text":
        style = {k: v for k, v in style.items() if k != "font-family" and _TEXT_STYLE.get(k) != v}
        if kept.get("transform", "").startswith("rotate(-0 "):
            del kept["transform"]
    return kept | {"style": _joined(style)}


def _declarations(style: str) -> dict[str, str]:
    return {
        name.strip(): value.strip() for name, _, value in (part.partition(":") for part in style.split(";")) if value
    }


def _joined(style: dict[str, str]) -> str:
    return "; ".join(f"{name}: {_VARIABLES.get(value, value)}" for name, value in style.items())


def _write(kind: str, attributes: dict[str, str], text: str) -> str:
    """Return an element whose coordinates have one decimal; text is escaped unless it is markup."""
    written = []
    for name, value in attributes.items():
        if name in ("d", "x", "y", "width", "height", "transform"):
            value = _NUMBER.sub(lambda number: f"{float(number[0]):.1f}".removesuffix(".0"), value).replace("\n", "")
        written.append(f' {name}="{escape(value)}"' if value else "")
    return f"<{kind}{''.join(written)}>{escape(text)}</{kind}>"

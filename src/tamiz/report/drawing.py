"""Charts of matplotlib as inline SVG: text stays text, colours are those of the page in both themes, and marks are few elements."""

from __future__ import annotations

import math
import re
import warnings
from dataclasses import dataclass
from io import StringIO
from itertools import groupby
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from markupsafe import Markup, escape
from matplotlib import style
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from tamiz.display import figures

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes

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
    """A chart that is drawn when the page is written.

    Attributes
    ----------
    name : str
        Its name on the page, and the id of its element.
    draw : callable
        Draws on axes, such as the `plot` of a display.
    described : str
        What it shows, for readers who do not see it.
    width, height : int
        Its size in pixels on a narrow screen; on a wide one it is larger.
    """

    name: str
    draw: Callable[[Axes], object]
    described: str
    width: int = 358
    height: int = 240

    @property
    def widest(self) -> int:
        """The width in pixels on a wide screen."""
        return round(_GROWTH * self.width)

    def figure(self, background: str = "none") -> Figure:
        """Return the chart as a figure."""
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
        """Return the chart as an SVG element."""
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
        drawing = _Elements(root)
        body = "".join(_write(kind, attributes, text) for kind, attributes, text in drawing.compact())
        view = {"viewBox": root.attrib["viewBox"], "class": "chart", "role": "img", "aria-label": self.described}
        return Markup(_write("svg", view, body + drawing.clips(), escaped=True))


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


class _Elements:
    """The marks of an SVG document of matplotlib without its groups; each is a kind, attributes and text."""

    def __init__(self, root: ElementTree.Element) -> None:
        self._clips = {clip.attrib["id"]: clip for clip in root.iter(f"{_SVG}clipPath")}
        in_clips = {part for clip in self._clips.values() for part in clip}
        self._markers = {
            path.attrib["id"]: path.attrib
            for path in root.iter(f"{_SVG}path")
            if "id" in path.attrib and path not in in_clips
        }
        self.found: list[tuple[str, dict[str, str], str]] = []
        self._collect(root, {})

    def _collect(self, parent: ElementTree.Element, inherited: dict[str, str]) -> None:
        for part in parent:
            kind = part.tag.removeprefix(_SVG)
            if kind == "g":
                clip = {k: v for k, v in part.attrib.items() if k == "clip-path"}
                self._collect(part, inherited | clip)
            elif kind == "use":
                self.found.append(self._marker(part.attrib, inherited))
            elif kind in ("path", "text"):
                self.found.append((kind, inherited | _attributes(kind, part.attrib), part.text or ""))
            elif kind == "image":
                # The clipping path of its group would be moved by its own transform.
                self.found.append((kind, _attributes(kind, part.attrib), ""))

    def _marker(self, use: dict[str, str], inherited: dict[str, str]) -> tuple[str, dict[str, str], str]:
        """Return a marker as a path of its own: a filled circle is a dot, the round end of a line without length."""
        shape = self._markers[use[_LINK].removeprefix("#")]
        x, y = float(use.get("x", 0)), float(use.get("y", 0))
        style = _declarations(shape.get("style", "")) | _declarations(use.get("style", ""))
        is_filled = style.get("fill") not in (None, "none") and style.get("fill-opacity") != "0"
        if "C" in shape["d"] and is_filled:
            edge = 0.0 if style.get("stroke") in (None, "none") else float(style.get("stroke-width", 1))
            radius = max(map(abs, map(float, _NUMBER.findall(shape["d"]))))
            dot = {
                "fill": "none",
                "stroke": style["fill"],
                "stroke-width": f"{2 * radius + edge}",
                "stroke-linecap": "round",
            }
            if "fill-opacity" in style:
                # Dots that are one path do not add up to darker ones where they overlap.
                dot["stroke-opacity"] = f"{max(float(style['fill-opacity']), _LEAST_OPACITY)}"
            return "path", inherited | {"style": _joined(dot), "d": f"M{_short(x)} {_short(y)}h0"}, ""
        places = iter(_NUMBER.findall(shape["d"]))
        moved = _NUMBER.sub(lambda _: "{}", shape["d"]).replace("\n", "")
        numbers = [float(value) + (y if k % 2 else x) for k, value in enumerate(places)]
        return "path", inherited | {"style": _joined(style), "d": moved.format(*map(_short, numbers))}, ""

    def compact(self) -> list[tuple[str, dict[str, str], str]]:
        """Return the visible marks; neighbouring paths of one style are one path."""
        visible = [
            one
            for one in self.found
            if one[0] != "path" or re.search(r"(fill|stroke): (?!none)", one[1].get("style", ""))
        ]
        merged: list[tuple[str, dict[str, str], str]] = []
        for key, run in groupby(visible, lambda one: (one[0], one[1].get("style"), one[1].get("clip-path"))):
            marks = list(run)
            if key[0] != "path":
                merged += marks
                continue
            merged.append(("path", marks[0][1] | {"d": "".join(mark[1]["d"] for mark in marks)}, ""))
        return merged

    def clips(self) -> str:
        """Return the clipping paths that a mark uses."""
        used = {mark.get("clip-path", "") for _, mark, _ in self.found}
        return "".join(
            _write(
                "clipPath", {"id": name}, "".join(_write("rect", dict(part.attrib), "") for part in clip), escaped=True
            )
            for name, clip in self._clips.items()
            if f"url(#{name})" in used
        )


def _attributes(kind: str, attributes: dict[str, str]) -> dict[str, str]:
    """Return the attributes of a mark that change how it looks."""
    kept = {name: value for name, value in attributes.items() if name not in ("id", "style", _LINK)}
    style = _declarations(attributes.get("style", ""))
    if kind == "image":
        return kept | {"href": attributes[_LINK], "style": _joined(style)}
    if kind == "text":
        style = {k: v for k, v in style.items() if k != "font-family" and _TEXT_STYLE.get(k) != v}
        if kept.get("transform", "").startswith("rotate(-0 "):
            del kept["transform"]
    if "d" in kept:
        kept["d"] = _NUMBER.sub(lambda number: _short(float(number[0])), kept["d"]).replace("\n", "")
    return kept | {"style": _joined(style)}


def _declarations(style: str) -> dict[str, str]:
    return {
        name.strip(): value.strip() for name, _, value in (part.partition(":") for part in style.split(";")) if value
    }


def _joined(style: dict[str, str]) -> str:
    """Return declarations with the colours of the page."""
    return "; ".join(f"{name}: {_VARIABLES.get(value, value)}" for name, value in style.items())


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _write(kind: str, attributes: dict[str, str], text: str, *, escaped: bool = False) -> str:
    named = "".join(f' {name}="{escape(_shortened(name, value))}"' for name, value in attributes.items() if value)
    return f"<{kind}{named}>{text if escaped else escape(text)}</{kind}>"


def _shortened(name: str, value: str) -> str:
    if name in ("x", "y", "width", "height", "transform"):
        return _NUMBER.sub(lambda number: _short(float(number[0])), value)
    return value


def draw_bars(axes: Axes, starts: Sequence[float], counts: Sequence[float], width: float) -> None:
    """Draw bars of counts from their left ends.

    Parameters
    ----------
    axes : matplotlib Axes
    starts, counts : sequence of float
    width : float
    """
    axes.bar(starts, counts, 0.92 * width, align="edge", color=figures.STRONG)
    for axis in (axes.xaxis, axes.yaxis):
        figures.use_integer_ticks(axis)

"""Charts of matplotlib as inline SVG: text stays text, colours are those of the page in both themes, and marks are few elements."""

from __future__ import annotations

import itertools
import math
import re
import warnings
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, Any, TypeAlias
from xml.etree import ElementTree

from markupsafe import Markup, escape
from matplotlib import style
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from tamiz.display import figures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

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

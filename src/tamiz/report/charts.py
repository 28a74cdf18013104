"""Plotly charts without colours, and the light and the dark theme that the page applies to them.

A chart is a dictionary of plotly's `data`, `layout` and `config`. Every label in it is escaped by `text.chart_label`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from tamiz.display import figures
from tamiz.report.text import chart_label, count_with_noun, format_number, format_percent, round_coordinate, shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tamiz.report.records.maps import Histogram, SpectrumRecord

_CONFIG = {
    "displaylogo": False,
    "responsive": True,
    # An allowlist: plotly's default buttons include one that uploads the chart with its data to plotly's server.
    "modeBarButtons": [["toImage"], ["zoom2d", "pan2d", "resetScale2d"]],
    "showSendToCloud": False,
    "plotlyServerURL": "",
    "topojsonURL": "",
}

# Lighter variants of the colours on white.
_CLASS_COLORS_DARK = (
    ["#4aa8e8", "#f0b23e", "#2fc79b", "#bb5533", "#eeddff", "#aaff99", "#887799", "#6666dd", "#ff6677", "#22ffbb"]
)  # fmt: skip
# Half the width of the number above a bar, in distances of bars.
_LABEL_EDGE = 0.25
# With more bars, the numbers above them would overlap.
_MAX_LABELLED_BARS = 12
# More points are too slow as SVG elements: the page draws them on a canvas.
MAX_SVG_POINTS = 4000
SHAPES = ["circle", "square", "diamond", "triangle-up", "cross", "pentagon", "star", "triangle-down", "x", "hexagon"]
_GRADIENT_DARK = ["#6a4fb3", "#4a7bc0", "#2bb0a5", "#7fd65a", "#fde725"]


def _theme(colors: dict[str, str], class_colors: Sequence[str], gradient: Sequence[str]) -> dict[str, Any]:
    axis = {
        "gridcolor": colors["rule"],
        "linecolor": colors["axis"],
        "zerolinecolor": colors["axis"],
        "zerolinewidth": 1,
        "ticks": "",
        "automargin": True,
        "title": {"standoff": 10, "font": {"size": 13, "color": colors["muted"]}},
    }
    shades = [[i / (len(gradient) - 1), color] for i, color in enumerate(gradient)]
    layout = go.Layout(
        font={"family": 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif', "size": 13, "color": colors["ink"]},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        colorway=[colors[name] for name in ("faint", "strong", "ink", "faint", "faint")],
        annotationdefaults={"font": {"size": 12, "color": colors["ink"]}, "bgcolor": colors["veil"], "borderpad": 1},
        # The same scale for all signs: the middle of a diverging scale is as pale as the page.
        colorscale={"sequential": shades, "sequentialminus": shades, "diverging": shades},
        hoverlabel={
            "bgcolor": colors["paper"],
            "bordercolor": colors["axis"],
            "font": {"color": colors["ink"]},
            "align": "left",
            # plotly would truncate names, possibly inside an entity.
            "namelength": -1,
        },
        hovermode="closest",
        dragmode=False,
        modebar={"bgcolor": "rgba(0,0,0,0)", "color": colors["muted"], "activecolor": colors["ink"]},
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        xaxis=axis,
        yaxis=axis,
        legend={"title": {"font": {"size": 13, "color": colors["muted"]}}},
    )
    title = {"font": {"size": 13, "color": colors["muted"]}}
    bar = go.Bar(
        marker={"color": colors["bar"], "line": {"width": 0}},
        insidetextfont={"color": colors["paper"]},
        outsidetextfont={"color": colors["ink"]},
    )
    scatter = go.Scatter(
        marker={"colorbar": {"outlinewidth": 0, "thickness": 12, "ticks": "", "len": 0.8, "title": title}}
    )
    data = {"bar": [bar.to_plotly_json()], "scatter": [scatter.to_plotly_json()]}
    return {
        "template": {"layout": layout.to_plotly_json(), "data": data},
        "levels": list(class_colors),
        "scale": list(gradient),
        "missing": colors["faint"],
        "arrow": colors["ink"],
    }


def themes() -> dict[str, Any]:
    """Return the plotly templates, class colours and gradients for a light and a dark page."""
    light = {
        "ink": "#20272c", "muted": "#5d6970", "faint": "#a3adb3", "rule": "#e8eae8", "axis": "#c6ccce",
        "paper": "#ffffff", "bar": "#3f7f9f", "strong": "#c2571a", "veil": "rgba(252,252,251,0.55)",
    }  # fmt: skip
    dark = {
        "ink": "#e3e8ea", "muted": "#9aa6ad", "faint": "#6b777e", "rule": "#272e33", "axis": "#465057",
        "paper": "#1d2327", "bar": "#5fa5c6", "strong": "#f09a5b", "veil": "rgba(20,24,27,0.55)",
    }  # fmt: skip
    return {
        "light": _theme(light, figures.CLASS_COLORS, figures.GRADIENT),
        "dark": _theme(dark, _CLASS_COLORS_DARK, _GRADIENT_DARK),
        "shapes": SHAPES,
    }


def make_chart(traces: Sequence[Any], *, buttons: bool = False, **layout: Any) -> dict[str, Any]:
    """Return a chart of traces; `buttons` shows plotly's zoom buttons."""
    figure = go.Figure(list(traces), layout=go.Layout(template="none", **layout)).to_plotly_json()
    figure["layout"].pop("template", None)
    config = {**_CONFIG, "displayModeBar": "hover" if buttons else False}
    return {"data": figure["data"], "layout": figure["layout"], "config": config}


def class_shares_chart(names: Sequence[str], weights: Sequence[float], *, noun: str) -> dict[str, Any]:
    """Return bars of classes, the first on top, each with its count and its share of the whole."""
    total = sum(weights) or 1.0
    text = [f"{count_with_noun(w, noun)} ({format_percent(w / total)})" for w in weights]
    return make_chart(
        [
            go.Bar(
                x=list(weights),
                y=list(range(len(names))),
                orientation="h",
                text=[f"{format_number(w)} ({format_percent(w / total)})" for w in weights],
                textposition="auto",
                insidetextanchor="end",
                customdata=[[chart_label(name, 80), count] for name, count in zip(names, text, strict=True)],
                hovertemplate="%{customdata[0]}: %{customdata[1]}<extra></extra>",
            )
        ],
        height=46 + 30 * len(names),
        bargap=0.35,
        xaxis={"range": [0, max(weights, default=1.0)], "visible": False, "fixedrange": True},
        yaxis={
            "tickvals": list(range(len(names))),
            "ticktext": [chart_label(name) for name in names],
            "autorange": "reversed",
            "ticks": "outside",
            "ticklen": 6,
            "tickcolor": "rgba(0,0,0,0)",
            "showgrid": False,
            "zeroline": False,
            "fixedrange": True,
        },
    )


def map_chart(
    n_points: int,
    axes: Sequence[str],
    share_texts: Sequence[str],
    arrows: Sequence[dict[str, Any]],
    centers: Sequence[Sequence[float]],
    *,
    one_scale: bool,
) -> dict[str, Any]:
    """Return the axes, the arrows and the cluster numbers of a map; the page adds the points in the chosen colouring."""
    titles = [f"{chart_label(axis, 40)}{share}" for axis, share in zip(axes, share_texts, strict=True)]
    y_axis: dict[str, Any] = {"title": {"text": titles[1]}}
    if one_scale:
        y_axis |= {"scaleanchor": "x", "scaleratio": 1}
    spec = make_chart(
        [],
        buttons=True,
        height=580,
        # Room for the buttons above the points and the legend.
        margin={"t": 36},
        legend={"itemsizing": "constant"},
        xaxis={"title": {"text": titles[0]}},
        yaxis=y_axis,
    )
    over = [
        {
            "x": round_coordinate(arrow["x"]),
            "y": round_coordinate(arrow["y"]),
            "name": chart_label(arrow["name"]),
            "text": f"{chart_label(arrow['name'], 80)}: {arrow['text']}",
            "length": len(shorten(arrow["name"], 24)),
        }
        for arrow in arrows
    ]
    numbered = [[round_coordinate(x), round_coordinate(y)] for x, y in centers]
    return {**spec, "marker": _marker(n_points), "arrows": over, "clusters": numbered}


def _marker(n_points: int) -> dict[str, float]:
    """Return the size and the opacity of points: smaller and fainter for many points, so that density is visible."""
    if n_points <= 1000:
        return {"size": 7, "opacity": 0.8}
    return {"size": 5, "opacity": 0.6} if n_points <= MAX_SVG_POINTS else {"size": 3, "opacity": 0.5}


def can_share_scale(points: Sequence[Sequence[float]]) -> bool:
    """Return whether both axes can have one scale: with an aspect ratio above 4, the shorter one would be unreadable."""
    spans = [max(values) - min(values) for values in zip(*points, strict=True)] if points else [1.0, 1.0]
    return min(spans) > 0 and max(spans) <= 4 * min(spans)


def neighbour_histogram(bins: Histogram) -> dict[str, Any]:
    """Return the histogram of the numbers of neighbours."""
    start, width = bins.start, bins.width
    firsts = [start + width * k for k in range(len(bins.rows))]
    spans = [
        count_with_noun(first, "neighbour") if width == 1 else f"{first:,} to {first + width - 1:,}" for first in firsts
    ]
    return make_chart(
        [
            go.Bar(
                x=[first + (width - 1) / 2 for first in firsts],
                y=bins.rows,
                width=width,
                customdata=[[span, count_with_noun(n, "row")] for span, n in zip(spans, bins.rows, strict=True)],
                hovertemplate="%{customdata[0]}: %{customdata[1]}<extra></extra>",
            )
        ],
        height=260,
        bargap=0.1,
        xaxis={"title": {"text": "Neighbours of a row"}, "showgrid": False, "zeroline": False, "fixedrange": True},
        yaxis={"title": {"text": "Rows"}, "tickformat": ",d", "fixedrange": True},
    )


def eigenvalue_chart(spectrum: SpectrumRecord, n_shown: int) -> dict[str, Any]:
    """Return eigenvalues as bars, with their residuals on hover."""
    numbers = list(range(1, n_shown + 1))
    values = spectrum.values[:n_shown]
    name = chart_label(spectrum.label, 40)
    residuals = [f", residual {format_number(r, digits=2)}" for r in spectrum.residuals[:n_shown]] or [""] * n_shown
    return make_chart(
        [
            go.Bar(
                x=numbers,
                y=[round_coordinate(v) for v in values],
                customdata=[
                    [name, f"{format_number(v)}{residual}"] for v, residual in zip(values, residuals, strict=True)
                ],
                hovertemplate="%{customdata[0]} %{x}: %{customdata[1]}<extra></extra>",
            )
        ],
        height=320,
        bargap=0.3,
        xaxis={"title": {"text": "Coordinate"}, "showgrid": False, "tickformat": "d", "dtick": 1 + n_shown // 15},
        yaxis={"title": {"text": name}, "rangemode": "tozero"},
    )


def scree_chart(spectrum: SpectrumRecord, names: Sequence[str]) -> dict[str, Any]:
    """Return the share of each component as bars, and the cumulative share as a line."""
    numbers = list(range(1, len(names) + 1))
    values, cumulative = (
        [round_coordinate(v) for v in part[: len(names)]] for part in (spectrum.values, spectrum.cumulative)
    )
    labels = [chart_label(name) for name in names]
    # Up to 1 if the line gets near it; a lower line would look flat on that scale.
    top = 1.04 if cumulative[-1] > 0.5 else 1.1 * max(cumulative[-1], 1e-6)
    return make_chart(
        [
            go.Bar(
                x=numbers,
                y=values,
                name="This component",
                customdata=[[name, format_percent(v)] for name, v in zip(labels, values, strict=True)],
                hovertemplate="%{customdata[0]}: %{customdata[1]}<extra></extra>",
            ),
            go.Scatter(
                x=numbers,
                y=cumulative,
                mode="lines+markers",
                name="All components up to this one",
                customdata=[[name, format_percent(v)] for name, v in zip(labels, cumulative, strict=True)],
                hovertemplate="Up to %{customdata[0]}: %{customdata[1]}<extra></extra>",
            ),
        ],
        height=320,
        bargap=0.3,
        xaxis={"title": {"text": "Component"}, "showgrid": False, "tickformat": "d", "dtick": 1 + len(numbers) // 15},
        yaxis={"title": {"text": chart_label(spectrum.label, 40)}, "tickformat": ".0%", "range": [0, top]},
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
    )


def parallel_analysis_chart(spectrum: SpectrumRecord, names: Sequence[str]) -> dict[str, Any]:
    """Return the share of each component as bars, and its share by chance as a line.

    The cumulative share is shown on hover: a line of it would need another scale, on which bars and chance cannot be compared.
    """
    n = len(names)
    numbers = list(range(1, n + 1))
    values, cumulative = ([round_coordinate(v) for v in part[:n]] for part in (spectrum.values, spectrum.cumulative))
    reference = [round_coordinate(v) for v in spectrum.reference[:n]]
    m = len(reference)
    chance = [f", by chance {format_percent(v)}" for v in reference] + [""] * (n - m)
    rows = zip(map(chart_label, names), values, chance, cumulative, strict=True)
    # A number is placed above its bar and above the line, which is highest at the left edge of the number.
    at_left = [now + _LABEL_EDGE * (before - now) for before, now in pairwise([*reference[:1], *reference])]
    tops = [max(v, by_chance) for v, by_chance in zip(values, [*at_left, *[0.0] * (n - m)], strict=True)]
    highest = max(*tops, 1e-6)
    written = n if n <= _MAX_LABELLED_BARS else 0
    return make_chart(
        [
            go.Bar(
                x=numbers,
                y=values,
                name="This table",
                customdata=[
                    [name, f"{format_percent(v)}{by_chance}", format_percent(c)] for name, v, by_chance, c in rows
                ],
                hovertemplate="%{customdata[0]}: %{customdata[1]}<br>All up to it: %{customdata[2]}<extra></extra>",
            ),
            go.Scatter(
                # From edge to edge of the bars, so that a single component has a line as well.
                x=[0.65, *numbers[:m], m + 0.35],
                y=[reference[0], *reference, reference[-1]],
                mode="lines",
                line={"dash": "dash", "width": 2.5},
                name="By chance (parallel analysis)",
                hoverinfo="skip",
            ),
            go.Scatter(
                x=numbers[:written],
                y=[round_coordinate(top + 0.025 * highest) for top in tops[:written]],
                mode="text",
                text=[format_percent(v) for v in values],
                textposition="top center",
                hoverinfo="skip",
                showlegend=False,
                cliponaxis=False,
            ),
        ],
        height=320,
        bargap=0.3,
        xaxis={"title": {"text": "Component"}, "showgrid": False, "tickformat": "d", "dtick": 1 + n // 15},
        yaxis={
            "title": {"text": chart_label(spectrum.label, 40)},
            "tickformat": ".0%",
            "range": [0, 1.12 * highest],
        },
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
    )

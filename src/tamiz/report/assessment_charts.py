"""Charts of an assessment: the scores on one scale, and the merits that chance gives."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from tamiz.report.charts import make_chart
from tamiz.report.text import counted, label, number, rounded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tamiz.report.trust import Told

_BARS = 14


def scores(compared: Sequence[tuple[str, Mapping[str, Any]]], told: Told) -> dict[str, Any]:
    """Return the scores on one scale, a row each from the top; the second is the honest one, with its folds and interval.

    Parameters
    ----------
    compared : list of tuple
        What each is, and its score.
    told : Told
        How scores are written.
    """
    top = len(compared) - 1
    honest = compared[1][1]
    means = [told.drawn(score["mean"]) for _, score in compared]
    ends = [told.drawn(end) for end in told.interval(honest)]
    every = [*means, *ends, *map(told.drawn, honest["folds"])]
    low, high = min(every), max(every)
    span = (high - low) or 1.0
    chart = make_chart(
        [
            _folds(honest["folds"], top - 1, told),
            _held(honest, top - 1, told),
            _others([one for k, one in enumerate(compared) if k != 1], [top, *range(top - 2, -1, -1)], told),
            # What the promise has too much, and down through all rows what no column gives.
            _line([means[1], means[0]], [top, top], "dot"),
            _line([means[-1], means[-1]], [-0.35, top + 0.3], "dash"),
        ],
        height=80 + 62 * len(compared),
        showlegend=False,
        margin={"l": 8, "r": 20, "t": 8, "b": 8},
        xaxis={
            "range": [rounded(low - 0.06 * span), rounded(high + 0.06 * span)],
            "zeroline": False,
            "fixedrange": True,
            "nticks": 6,
            **told.ticks(low, high),
        },
        yaxis={"range": [-0.5, top + 0.75], "visible": False, "fixedrange": True},
    )
    chart["layout"]["annotations"] = [
        {
            "x": rounded(mean),
            "y": top - k + 0.4,
            **_anchored((mean - low) / span),
            "text": f"{name}: <b>{told.score(score['mean'])}</b>",
            "showarrow": False,
        }
        for k, ((name, score), mean) in enumerate(zip(compared, means, strict=True))
    ]
    return chart


def _folds(folds: Sequence[float], height: int, told: Told) -> Any:
    return go.Scatter(
        x=[rounded(told.drawn(score)) for score in folds],
        # A little apart, so that equal ones are seen.
        y=[height + 0.1 * (k % 3 - 1) for k in range(len(folds))],
        mode="markers",
        marker={"size": 7, "opacity": 0.75},
        customdata=[[k, told.score(score)] for k, score in enumerate(folds, start=1)],
        hovertemplate="Fold %{customdata[0]}: %{customdata[1]}<extra></extra>",
    )


def _held(honest: Mapping[str, Any], height: int, told: Told) -> Any:
    """Return the honest mean with its interval."""
    ends = told.interval(honest)
    place, low, high = (told.drawn(score) for score in (honest["mean"], *ends))
    return go.Scatter(
        x=[rounded(place)],
        y=[height],
        mode="markers",
        marker={"size": 13},
        error_x={
            "type": "data",
            "symmetric": False,
            "array": [rounded(high - place)],
            "arrayminus": [rounded(place - low)],
            "thickness": 2.5,
            "width": 7,
        },
        customdata=[[told.score(value) for value in (honest["mean"], *ends)]],
        hovertemplate="Held: %{customdata[0]}, between %{customdata[1]} and %{customdata[2]}<extra></extra>",
    )


def _others(compared: Sequence[tuple[str, Mapping[str, Any]]], heights: Sequence[int], told: Told) -> Any:
    """Return the marks of what has no interval: what the search promises first, what no column gives last."""
    return go.Scatter(
        x=[rounded(told.drawn(score["mean"])) for _, score in compared],
        y=list(heights),
        mode="markers",
        marker={
            "size": 11,
            "symbol": ["diamond", *["square"] * (len(compared) - 2), "circle-open"],
            "line": {"width": 2},
        },
        customdata=[[name, told.score(score["mean"])] for name, score in compared],
        hovertemplate="%{customdata[0]}: %{customdata[1]}<extra></extra>",
    )


def _anchored(place: float) -> dict[str, Any]:
    """Return to which side of its mark a text goes, for a mark at a place from 0 to 1."""
    if place < 0.35:
        return {"xanchor": "left", "xshift": -8}
    return {"xanchor": "right", "xshift": 8} if place > 0.65 else {"xanchor": "center"}


def _line(x: Sequence[float], y: Sequence[float], dash: str) -> Any:
    line = {"width": 2, "dash": dash}
    return go.Scatter(x=[rounded(value) for value in x], y=list(y), mode="lines", line=line, hoverinfo="skip")


def chance(merits: Sequence[float], found: float, statistic: str) -> dict[str, Any]:
    """Return bars of the merits that searches on shuffled targets found, and a line at the one found on the target."""
    name = label(statistic)
    low, high = min(merits), max(merits)
    width = _round_width((high - low) / _BARS or (abs(found - low) or 1.0) / _BARS)
    first = math.floor(low / width)
    counts = [0] * (math.floor(high / width) - first + 1)
    for merit in merits:
        counts[math.floor(merit / width) - first] += 1
    n_bars = len(counts)
    pad = 0.04 * (max(high, found) - min(low, found) + width)
    return make_chart(
        [
            go.Bar(
                x=[rounded((first + k + 0.5) * width) for k in range(n_bars)],
                y=counts,
                width=width,
                name="On shuffled targets",
                customdata=[
                    [
                        f"{number((first + k) * width)} to {number((first + k + 1) * width)}",
                        counted(n, "search", "searches"),
                    ]
                    for k, n in enumerate(counts)
                ],
                hovertemplate="%{customdata[0]}: %{customdata[1]}<extra></extra>",
            ),
            go.Scatter(
                x=[rounded(found)] * 2,
                y=[0, max(counts) * 1.08],
                mode="lines",
                line={"width": 3},
                name="Found",
                customdata=[f"{name} {number(found)}"] * 2,
                hovertemplate="Found: %{customdata}<extra></extra>",
            ),
        ],
        height=280,
        bargap=0.08,
        xaxis={
            "title": {"text": f"Best {name} of a search"},
            "range": [rounded(min(low, found) - pad - width), rounded(max(high, found) + pad + width)],
            "showgrid": False,
            "zeroline": False,
            "fixedrange": True,
            "nticks": 6,
        },
        yaxis={"title": {"text": "Searches"}, "tickformat": ",d", "fixedrange": True},
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
    )


def _round_width(width: float) -> float:
    """Return the next 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(width))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= width)

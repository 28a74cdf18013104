"""Charts of what a choice buys: models on all columns beside the chosen ones, and scores as columns are added."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from tamiz.report.buys_words import between, difference, limits, model_name, short_name, told_by
from tamiz.report.charts import make_chart
from tamiz.report.text import label, rounded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tamiz.report.trust import Told

_ROW, _LANE = 84, 0.14
_HEIGHT, _LABEL = 380, 17
# Lines are told apart without their colours too.
_SYMBOLS = ["circle", "square", "diamond", "triangle-up"]


def compared(score: Mapping[str, Any], models: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the models from the top, each with its score on all columns over that on the chosen ones, folds and intervals."""
    told = told_by(score["id"])
    heights = list(range(len(models) - 1, -1, -1))
    cells = score["models"]
    sides = [("all_columns", _LANE, "All columns"), ("chosen", -_LANE, "Chosen columns")]
    folds, means = zip(*(_side(cells, heights, *side, told) for side in sides), strict=True)
    every = [x for trace in folds for x in trace.x]
    every += [told.drawn(end) for cell in cells for key, *_ in sides for end in limits(cell[key], score["id"])]
    low, high = min(every), max(every)
    pad = 0.05 * ((high - low) or 0.1)
    # The page's colours go by the order: faint, strong, ink, faint.
    means[0].marker = {"size": 11, "symbol": _symbols(cells, "all_columns", told, "-open"), "line": {"width": 2.5}}
    means[1].marker = {"size": 12, "symbol": _symbols(cells, "chosen", told, "")}
    chart = make_chart(
        [folds[0], means[1], means[0], folds[1]],
        height=44 + _ROW * len(models),
        showlegend=False,
        margin={"l": 8, "r": 8, "t": 4, "b": 8},
        xaxis={
            "range": [rounded(low - pad), rounded(high + pad)],
            "zeroline": False,
            "fixedrange": True,
            "nticks": 5,
            **told.ticks(low, high),
        },
        yaxis={"range": [-0.45, len(models) - 0.4], "visible": False, "fixedrange": True},
    )
    chart["layout"]["annotations"] = [
        {
            "x": 0,
            "xref": "paper",
            "xanchor": "left",
            "y": height + 0.42,
            "text": f"<b>{label(_first_up(model_name(model)), 30)}</b>  {_change(cell['difference'], told)}",
            "showarrow": False,
        }
        for height, model, cell in zip(heights, models, cells, strict=True)
    ]
    return chart


def _symbols(cells: Sequence[Mapping[str, Any]], key: str, told: Told, kind: str) -> list[str]:
    """Return the marks of means: a mean below the chart points to where it is."""
    shapes = ("triangle-left" if cell[key]["mean"] < told.least_drawn else "circle" for cell in cells)
    return [f"{shape}{kind}" for shape in shapes]


def _side(
    cells: Sequence[Mapping[str, Any]], heights: Sequence[int], key: str, lane: float, name: str, told: Told
) -> tuple[Any, Any]:
    """Return the folds and the means of one side."""
    found = [cell[key] for cell in cells]
    folds = go.Scatter(
        x=[rounded(told.drawn(score)) for scores in found for score in scores["folds"]],
        y=[
            # A little apart, so that equal ones are seen.
            height + lane + 0.035 * (k % 3 - 1)
            for scores, height in zip(found, heights, strict=True)
            for k in range(len(scores["folds"]))
        ],
        mode="markers",
        marker={"size": 5, "opacity": 0.7},
        customdata=[
            [name, k, told.score(score)] for scores in found for k, score in enumerate(scores["folds"], start=1)
        ],
        hovertemplate="%{customdata[0]}, fold %{customdata[1]}: %{customdata[2]}<extra></extra>",
    )
    ends = [limits(scores, told.scoring) for scores in found]
    places = [told.drawn(scores["mean"]) for scores in found]
    means = go.Scatter(
        x=[rounded(place) for place in places],
        y=[height + lane for height in heights],
        mode="markers",
        error_x={
            "type": "data",
            "symmetric": False,
            "array": [rounded(told.drawn(high) - place) for place, (_, high) in zip(places, ends, strict=True)],
            "arrayminus": [rounded(place - told.drawn(low)) for place, (low, _) in zip(places, ends, strict=True)],
            "thickness": 2,
            "width": 5,
        },
        customdata=[[name, *map(told.score, (scores["mean"], *end))] for scores, end in zip(found, ends, strict=True)],
        hovertemplate="%{customdata[0]}: %{customdata[1]} (%{customdata[2]} to %{customdata[3]})<extra></extra>",
    )
    return folds, means


def _change(change: Mapping[str, Any], told: Told) -> str:
    return f"{difference(change['mean'], told)} ({between(change['interval'], told)})"


def _first_up(words: str) -> str:
    return words[:1].upper() + words[1:]


def heights(argument: Mapping[str, Any]) -> tuple[float, float]:
    """Return the range of scores that all panels share."""
    every: list[float] = []
    for panel in argument["panels"]:
        for line in (*panel["lines"], *panel["chosen"]):
            every += line["means"]
        for line in panel["lines"]:
            every += [line["means"][0] + end for interval in line["intervals"] for end in interval]
    told = told_by(argument["scoring"])
    low, high = told.drawn(min(every)), told.drawn(max(every))
    if told.is_share:
        low, high = max(low, 0.0), min(high, 1.0)
    pad = 0.04 * ((high - low) or 0.1)
    return low - pad, high + pad


def added(panel: Mapping[str, Any], argument: Mapping[str, Any], span: tuple[float, float]) -> dict[str, Any]:
    """Return a line a model as columns are added, with a band, its name at the end, and dashed where columns are chosen again."""
    told = told_by(argument["scoring"])
    numbers, chosen = argument["numbers"], argument["chosen_numbers"]
    what = "random columns" if panel["added"] == "random" else "copies"
    bands, lines, dashes = [], [], []
    for k, (model, line, again) in enumerate(zip(argument["models"], panel["lines"], panel["chosen"], strict=True)):
        first = line["means"][0]
        lows, highs = zip(*line["intervals"], strict=True)
        bands.append(
            go.Scatter(
                x=[*numbers, *reversed(numbers)],
                y=[rounded(told.drawn(first + end)) for end in (*lows, *reversed(highs))],
                mode="lines",
                line={"width": 0},
                fill="toself",
                meta={"level": k},
                hoverinfo="skip",
            )
        )
        name = label(_first_up(model_name(model)), 30)
        lines.append(_line(numbers, line, name, what, told, k, line={"width": 2.5}, marker=_marker(k, "")))
        dashed = {"width": 2, "dash": "dash"}
        dashes.append(_line(chosen, again, f"{name}, chosen", what, told, k, line=dashed, marker=_marker(k, "-open")))
    chart = make_chart(
        [*bands, *dashes, *lines],
        height=_HEIGHT,
        showlegend=False,
        margin={"l": 8, "r": 92, "t": 8, "b": 8},
        xaxis={
            "title": {"text": "Random columns added" if panel["added"] == "random" else "Copies added"},
            "range": [-0.03 * numbers[-1], 1.03 * numbers[-1]],
            "nticks": 6,
            "tickangle": 0,
            "showgrid": False,
            "zeroline": False,
            "fixedrange": True,
        },
        yaxis={
            "title": {"text": f"{label(_first_up(told.name), 30)} on rows not learned from"},
            "range": [rounded(end) for end in span],
            "zeroline": False,
            "fixedrange": True,
            "nticks": 7,
            **told.ticks(*span),
        },
    )
    ends = [told.drawn(line["means"][-1]) for line in panel["lines"]]
    least = _LABEL * (span[1] - span[0]) / (_HEIGHT - 60)
    chart["layout"]["annotations"] = [
        {
            "x": numbers[-1],
            "y": rounded(place),
            "xanchor": "left",
            "xshift": 9,
            "text": label(short_name(model), 14),
            "showarrow": False,
            "bgcolor": "rgba(0,0,0,0)",
        }
        for model, place in zip(argument["models"], apart(ends, least), strict=True)
    ]
    return chart


def _marker(k: int, kind: str) -> dict[str, Any]:
    return {"size": 8, "symbol": f"{_SYMBOLS[k % len(_SYMBOLS)]}{kind}"}


def _line(
    numbers: Sequence[int], scores: Mapping[str, Any], name: str, what: str, told: Told, k: int, **style: Any
) -> Any:
    rows = zip(numbers, scores["means"], scores["changes"], strict=True)
    return go.Scatter(
        x=list(numbers),
        y=[rounded(told.drawn(mean)) for mean in scores["means"]],
        mode="lines+markers",
        meta={"level": k},
        customdata=[[name, f"{n:,} {what}", told.score(mean), difference(change, told)] for n, mean, change in rows],
        hovertemplate="%{customdata[0]}<br>%{customdata[1]}: %{customdata[2]} (%{customdata[3]})<extra></extra>",
        **style,
    )


def apart(places: Sequence[float], least: float) -> list[float]:
    """Return places moved up and down, as little as need be, until neighbours are at least so far apart."""
    order = sorted(range(len(places)), key=lambda k: places[k])
    # Runs of labels that touch stand about the mean of their places.
    runs: list[list[int]] = []
    for k in order:
        runs.append([k])
        while len(runs) > 1 and _start(runs[-1], places, least) - _end(runs[-2], places, least) < least:
            runs[-2:] = [runs[-2] + runs[-1]]
    found = [0.0] * len(places)
    for run in runs:
        first = _start(run, places, least)
        for i, k in enumerate(run):
            found[k] = first + i * least
    return found


def _start(run: Sequence[int], places: Sequence[float], least: float) -> float:
    return sum(places[k] for k in run) / len(run) - (len(run) - 1) * least / 2


def _end(run: Sequence[int], places: Sequence[float], least: float) -> float:
    return _start(run, places, least) + (len(run) - 1) * least

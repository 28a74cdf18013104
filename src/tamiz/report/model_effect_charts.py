"""Charts of the effect on models: scores on all and on the selected columns, and scores as columns are added."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from tamiz.report.charts import make_chart
from tamiz.report.score_text import (
    format_difference,
    format_interval,
    model_name,
    score_format_for,
    score_interval,
    short_model_name,
)
from tamiz.report.text import capitalize, chart_label, round_coordinate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tamiz.report.records.codec import Named
    from tamiz.report.records.models import FoldedScores, ModelScores, NoiseExperimentRecord, NoisePanel, ScoreCurve
    from tamiz.report.score_text import ScoreFormat

_ROW, _LANE_OFFSET = 84, 0.14
_HEIGHT, _LABEL = 380, 17
# Lines differ by marker as well as by colour.
_SYMBOLS = ["circle", "square", "diamond", "triangle-up"]


def comparison_chart(score: ModelScores, models: Sequence[Named]) -> dict[str, Any]:
    """Return one row per model: its score on all columns above that on the selected ones, with folds and intervals."""
    score_format = score_format_for(score.id)
    heights = list(range(len(models) - 1, -1, -1))
    cells = score.models
    sides = [
        ([cell.all_columns for cell in cells], _LANE_OFFSET, "All columns"),
        ([cell.chosen for cell in cells], -_LANE_OFFSET, "Selected columns"),
    ]
    folds, means = zip(*(_folds_and_means(heights, *side, score_format) for side in sides), strict=True)
    every = [x for trace in folds for x in trace.x]
    every += [
        score_format.clip(end)
        for cell in cells
        for scores in (cell.all_columns, cell.chosen)
        for end in score_interval(scores.interval, score.id)
    ]
    low, high = min(every), max(every)
    pad = 0.05 * ((high - low) or 0.1)
    # The theme colours traces in this order: faint, strong, ink, faint.
    means[0].marker = {
        "size": 11,
        "symbol": _symbols(sides[0][0], score_format, "-open"),
        "line": {"width": 2.5},
    }
    means[1].marker = {"size": 12, "symbol": _symbols(sides[1][0], score_format, "")}
    chart = make_chart(
        [folds[0], means[1], means[0], folds[1]],
        height=44 + _ROW * len(models),
        showlegend=False,
        margin={"l": 8, "r": 8, "t": 4, "b": 8},
        xaxis={
            "range": [round_coordinate(low - pad), round_coordinate(high + pad)],
            "zeroline": False,
            "fixedrange": True,
            "nticks": 5,
            **score_format.tick_format(low, high),
        },
        yaxis={"range": [-0.45, len(models) - 0.4], "visible": False, "fixedrange": True},
    )
    chart["layout"]["annotations"] = [
        {
            "x": 0,
            "xref": "paper",
            "xanchor": "left",
            "y": height + 0.42,
            "text": f"<b>{chart_label(capitalize(model_name(model)), 30)}</b>  {_change_text(cell.difference, score_format)}",
            "showarrow": False,
        }
        for height, model, cell in zip(heights, models, cells, strict=True)
    ]
    return chart


def _symbols(found: Sequence[FoldedScores], score_format: ScoreFormat, kind: str) -> list[str]:
    """Return the marker symbols of means: a clipped mean is a triangle that points left."""
    shapes = ("triangle-left" if scores.mean < score_format.min_drawn else "circle" for scores in found)
    return [f"{shape}{kind}" for shape in shapes]


def _folds_and_means(
    heights: Sequence[int],
    found: Sequence[FoldedScores],
    lane: float,
    name: str,
    score_format: ScoreFormat,
) -> tuple[Any, Any]:
    """Return the folds and the means of one side."""
    folds = go.Scatter(
        x=[round_coordinate(score_format.clip(score)) for scores in found for score in scores.folds],
        y=[
            # Jittered, so that equal scores do not overlap.
            height + lane + 0.035 * (k % 3 - 1)
            for scores, height in zip(found, heights, strict=True)
            for k in range(len(scores.folds))
        ],
        mode="markers",
        marker={"size": 5, "opacity": 0.7},
        customdata=[
            [name, k, score_format.format_score(score)]
            for scores in found
            for k, score in enumerate(scores.folds, start=1)
        ],
        hovertemplate="%{customdata[0]}, fold %{customdata[1]}: %{customdata[2]}<extra></extra>",
    )
    ends = [score_interval(scores.interval, score_format.scoring) for scores in found]
    places = [score_format.clip(scores.mean) for scores in found]
    means = go.Scatter(
        x=[round_coordinate(place) for place in places],
        y=[height + lane for height in heights],
        mode="markers",
        error_x={
            "type": "data",
            "symmetric": False,
            "array": [
                round_coordinate(score_format.clip(high) - place) for place, (_, high) in zip(places, ends, strict=True)
            ],
            "arrayminus": [
                round_coordinate(place - score_format.clip(low)) for place, (low, _) in zip(places, ends, strict=True)
            ],
            "thickness": 2,
            "width": 5,
        },
        customdata=[
            [name, *map(score_format.format_score, (scores.mean, *end))]
            for scores, end in zip(found, ends, strict=True)
        ],
        hovertemplate="%{customdata[0]}: %{customdata[1]} (%{customdata[2]} to %{customdata[3]})<extra></extra>",
    )
    return folds, means


def _change_text(change: FoldedScores, score_format: ScoreFormat) -> str:
    return f"{format_difference(change.mean, score_format)} ({format_interval(change.interval, score_format)})"


def score_range(experiment: NoiseExperimentRecord) -> tuple[float, float]:
    """Return the range of scores that all panels share."""
    every: list[float] = []
    for panel in experiment.panels:
        for line in (*panel.lines, *panel.chosen):
            every += line.means
        for line in panel.lines:
            every += [line.means[0] + end for interval in line.intervals for end in interval]
    score_format = score_format_for(experiment.scoring)
    low, high = score_format.clip(min(every)), score_format.clip(max(every))
    pad = 0.04 * ((high - low) or 0.1)
    return low - pad, high + pad


def added_columns_chart(
    panel: NoisePanel, experiment: NoiseExperimentRecord, y_range: tuple[float, float]
) -> dict[str, Any]:
    """Return one line per model as columns are added, with its interval band and name; dashed with columns selected again."""
    score_format = score_format_for(experiment.scoring)
    numbers, chosen = experiment.n_added, experiment.selection_n_added
    what = "random columns" if panel.added == "random" else "copies"
    bands, lines, dashes = [], [], []
    for k, (model, line, again) in enumerate(zip(experiment.models, panel.lines, panel.chosen, strict=True)):
        first = line.means[0]
        lows, highs = zip(*line.intervals, strict=True)
        bands.append(
            go.Scatter(
                x=[*numbers, *reversed(numbers)],
                y=[round_coordinate(score_format.clip(first + end)) for end in (*lows, *reversed(highs))],
                mode="lines",
                line={"width": 0},
                fill="toself",
                meta={"level": k},
                hoverinfo="skip",
            )
        )
        name = chart_label(capitalize(model_name(model)), 30)
        lines.append(_line(numbers, line, name, what, score_format, k, line={"width": 2.5}, marker=_marker(k, "")))
        dashed = {"width": 2, "dash": "dash"}
        dashes.append(
            _line(chosen, again, f"{name}, selected", what, score_format, k, line=dashed, marker=_marker(k, "-open"))
        )
    chart = make_chart(
        [*bands, *dashes, *lines],
        height=_HEIGHT,
        showlegend=False,
        margin={"l": 8, "r": 92, "t": 8, "b": 8},
        xaxis={
            "title": {"text": "Random columns added" if panel.added == "random" else "Copies added"},
            "range": [-0.03 * numbers[-1], 1.03 * numbers[-1]],
            "nticks": 6,
            "tickangle": 0,
            "showgrid": False,
            "zeroline": False,
            "fixedrange": True,
        },
        yaxis={
            "title": {"text": f"{chart_label(capitalize(score_format.name), 30)} on test rows"},
            "range": [round_coordinate(end) for end in y_range],
            "zeroline": False,
            "fixedrange": True,
            "nticks": 7,
            **score_format.tick_format(*y_range),
        },
    )
    ends = [score_format.clip(line.means[-1]) for line in panel.lines]
    least = _LABEL * (y_range[1] - y_range[0]) / (_HEIGHT - 60)
    chart["layout"]["annotations"] = [
        {
            "x": numbers[-1],
            "y": round_coordinate(place),
            "xanchor": "left",
            "xshift": 9,
            "text": chart_label(short_model_name(model), 14),
            "showarrow": False,
            "bgcolor": "rgba(0,0,0,0)",
        }
        for model, place in zip(experiment.models, separate_labels(ends, least), strict=True)
    ]
    return chart


def _marker(k: int, kind: str) -> dict[str, Any]:
    return {"size": 8, "symbol": f"{_SYMBOLS[k % len(_SYMBOLS)]}{kind}"}


def _line(
    numbers: Sequence[int],
    scores: ScoreCurve,
    name: str,
    column_noun: str,
    score_format: ScoreFormat,
    k: int,
    **style: Any,
) -> Any:
    rows = zip(numbers, scores.means, scores.changes, strict=True)
    return go.Scatter(
        x=list(numbers),
        y=[round_coordinate(score_format.clip(mean)) for mean in scores.means],
        mode="lines+markers",
        meta={"level": k},
        customdata=[
            [name, f"{n:,} {column_noun}", score_format.format_score(mean), format_difference(change, score_format)]
            for n, mean, change in rows
        ],
        hovertemplate="%{customdata[0]}<br>%{customdata[1]}: %{customdata[2]} (%{customdata[3]})<extra></extra>",
        **style,
    )


def separate_labels(positions: Sequence[float], min_distance: float) -> list[float]:
    """Return label positions moved as little as possible until neighbours are at least `min_distance` apart."""
    order = sorted(range(len(positions)), key=lambda k: positions[k])
    # A run of touching labels is centred at the mean of its positions.
    runs: list[list[int]] = []
    for k in order:
        runs.append([k])
        while (
            len(runs) > 1
            and _run_start(runs[-1], positions, min_distance) - _run_end(runs[-2], positions, min_distance)
            < min_distance
        ):
            runs[-2:] = [runs[-2] + runs[-1]]
    found = [0.0] * len(positions)
    for run in runs:
        first = _run_start(run, positions, min_distance)
        for i, k in enumerate(run):
            found[k] = first + i * min_distance
    return found


def _run_start(run: Sequence[int], positions: Sequence[float], min_distance: float) -> float:
    return sum(positions[k] for k in run) / len(run) - (len(run) - 1) * min_distance / 2


def _run_end(run: Sequence[int], positions: Sequence[float], min_distance: float) -> float:
    return _run_start(run, positions, min_distance) + (len(run) - 1) * min_distance

"""Charts of an assessment: the scores on one scale, and the merits that chance gives."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from tamiz.report.charts import make_chart
from tamiz.report.text import chart_label, count_with_noun, format_number, round_coordinate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tamiz.report.trust import ScoreFormat

_N_BARS = 14


def scores_chart(named_scores: Sequence[tuple[str, Mapping[str, Any]]], score_format: ScoreFormat) -> dict[str, Any]:
    """Return the scores on one scale, a row each from the top; the second is the honest one, with its folds and interval.

    Parameters
    ----------
    named_scores : list of tuple
        What each is, and its score.
    score_format : ScoreFormat
        How scores are written.
    """
    top = len(named_scores) - 1
    honest = named_scores[1][1]
    means = [score_format.clip(score["mean"]) for _, score in named_scores]
    ends = [score_format.clip(end) for end in score_format.clipped_interval(honest)]
    every = [*means, *ends, *map(score_format.clip, honest["folds"])]
    low, high = min(every), max(every)
    span = (high - low) or 1.0
    chart = make_chart(
        [
            _fold_points(honest["folds"], top - 1, score_format),
            _nested_mean(honest, top - 1, score_format),
            _other_means(
                [one for k, one in enumerate(named_scores) if k != 1], [top, *range(top - 2, -1, -1)], score_format
            ),
            # What the promise has too much, and down through all rows what no column gives.
            _line([means[1], means[0]], [top, top], "dot"),
            _line([means[-1], means[-1]], [-0.35, top + 0.3], "dash"),
        ],
        height=80 + 62 * len(named_scores),
        showlegend=False,
        margin={"l": 8, "r": 20, "t": 8, "b": 8},
        xaxis={
            "range": [round_coordinate(low - 0.06 * span), round_coordinate(high + 0.06 * span)],
            "zeroline": False,
            "fixedrange": True,
            "nticks": 6,
            **score_format.tick_format(low, high),
        },
        yaxis={"range": [-0.5, top + 0.75], "visible": False, "fixedrange": True},
    )
    chart["layout"]["annotations"] = [
        {
            "x": round_coordinate(mean),
            "y": top - k + 0.4,
            **_label_anchor((mean - low) / span),
            "text": f"{name}: <b>{score_format.format_score(score['mean'])}</b>",
            "showarrow": False,
        }
        for k, ((name, score), mean) in enumerate(zip(named_scores, means, strict=True))
    ]
    return chart


def _fold_points(folds: Sequence[float], height: int, score_format: ScoreFormat) -> Any:
    return go.Scatter(
        x=[round_coordinate(score_format.clip(score)) for score in folds],
        # A little apart, so that equal ones are seen.
        y=[height + 0.1 * (k % 3 - 1) for k in range(len(folds))],
        mode="markers",
        marker={"size": 7, "opacity": 0.75},
        customdata=[[k, score_format.format_score(score)] for k, score in enumerate(folds, start=1)],
        hovertemplate="Fold %{customdata[0]}: %{customdata[1]}<extra></extra>",
    )


def _nested_mean(nested: Mapping[str, Any], height: int, score_format: ScoreFormat) -> Any:
    """Return the honest mean with its interval."""
    ends = score_format.clipped_interval(nested)
    place, low, high = (score_format.clip(score) for score in (nested["mean"], *ends))
    return go.Scatter(
        x=[round_coordinate(place)],
        y=[height],
        mode="markers",
        marker={"size": 13},
        error_x={
            "type": "data",
            "symmetric": False,
            "array": [round_coordinate(high - place)],
            "arrayminus": [round_coordinate(place - low)],
            "thickness": 2.5,
            "width": 7,
        },
        customdata=[[score_format.format_score(value) for value in (nested["mean"], *ends)]],
        hovertemplate="Held: %{customdata[0]}, between %{customdata[1]} and %{customdata[2]}<extra></extra>",
    )


def _other_means(
    named_scores: Sequence[tuple[str, Mapping[str, Any]]], heights: Sequence[int], score_format: ScoreFormat
) -> Any:
    """Return the marks of what has no interval: what the search promises first, what no column gives last."""
    return go.Scatter(
        x=[round_coordinate(score_format.clip(score["mean"])) for _, score in named_scores],
        y=list(heights),
        mode="markers",
        marker={
            "size": 11,
            "symbol": ["diamond", *["square"] * (len(named_scores) - 2), "circle-open"],
            "line": {"width": 2},
        },
        customdata=[[name, score_format.format_score(score["mean"])] for name, score in named_scores],
        hovertemplate="%{customdata[0]}: %{customdata[1]}<extra></extra>",
    )


def _label_anchor(position: float) -> dict[str, Any]:
    """Return to which side of its mark a text goes, for a mark at a place from 0 to 1."""
    if position < 0.35:
        return {"xanchor": "left", "xshift": -8}
    return {"xanchor": "right", "xshift": 8} if position > 0.65 else {"xanchor": "center"}


def _line(x: Sequence[float], y: Sequence[float], dash: str) -> Any:
    line = {"width": 2, "dash": dash}
    return go.Scatter(x=[round_coordinate(value) for value in x], y=list(y), mode="lines", line=line, hoverinfo="skip")


def null_distribution_chart(merits: Sequence[float], observed: float, statistic: str) -> dict[str, Any]:
    """Return bars of the merits that searches on shuffled targets found, and a line at the one found on the target."""
    name = chart_label(statistic)
    low, high = min(merits), max(merits)
    width = _round_width((high - low) / _N_BARS or (abs(observed - low) or 1.0) / _N_BARS)
    first = math.floor(low / width)
    counts = [0] * (math.floor(high / width) - first + 1)
    for merit in merits:
        counts[math.floor(merit / width) - first] += 1
    n_bars = len(counts)
    pad = 0.04 * (max(high, observed) - min(low, observed) + width)
    return make_chart(
        [
            go.Bar(
                x=[round_coordinate((first + k + 0.5) * width) for k in range(n_bars)],
                y=counts,
                width=width,
                name="On shuffled targets",
                customdata=[
                    [
                        f"{format_number((first + k) * width)} to {format_number((first + k + 1) * width)}",
                        count_with_noun(n, "search", "searches"),
                    ]
                    for k, n in enumerate(counts)
                ],
                hovertemplate="%{customdata[0]}: %{customdata[1]}<extra></extra>",
            ),
            go.Scatter(
                x=[round_coordinate(observed)] * 2,
                y=[0, max(counts) * 1.08],
                mode="lines",
                line={"width": 3},
                name="Found",
                customdata=[f"{name} {format_number(observed)}"] * 2,
                hovertemplate="Found: %{customdata}<extra></extra>",
            ),
        ],
        height=280,
        bargap=0.08,
        xaxis={
            "title": {"text": f"Best {name} of a search"},
            "range": [
                round_coordinate(min(low, observed) - pad - width),
                round_coordinate(max(high, observed) + pad + width),
            ],
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

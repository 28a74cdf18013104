"""Whether the score can be trusted: apparent score beside nested cross-validation, stability, permutation null."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from tamiz.report.charts import make_chart
from tamiz.report.score_text import (
    SIGNIFICANCE_LEVEL,
    ScoreFormat,
    assessment_score_format,
    assessment_verdict,
    null_count_text,
)
from tamiz.report.text import chart_label, count_with_noun, format_number, join_names, round_coordinate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tamiz.report.score_text import ScoreFormat


# MERGED: Charts of an assessment: the scores on one scale, and the merits that chance gives.
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


# The scores from the top of the picture, and what they mean.
_SCORES = {
    "apparent": (
        "Apparent score",
        "The columns are chosen once with all rows, and only then cross-validated.",
    ),
    "nested": (
        "Nested CV score",
        "The whole search is repeated inside each fold and scored on the rows left out.",
    ),
    "all_columns": ("All columns", "No column is left out."),
    "baseline": ("Baseline", "The prediction uses no column: the shares of the classes, or the mean."),
}
_ROWS_BEFORE_FOLD = 12


def collect_assessment(result: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what the section shows: the verdict, the scores side by side, how often each column is chosen, and chance.

    Parameters
    ----------
    result : mapping
        A result as `Result.to_dict` gives it.

    Returns
    -------
    dict or None
        The template's names; None where the selection was not assessed.
    """
    assessed = result["assessment"]
    if assessed is None:
        return None
    told = assessment_score_format(assessed)
    n_folds = len(assessed["scores"]["nested"]["folds"])
    found = assessed["frequencies"]
    # As in the other sections: of the columns that take part.
    rest = sum(not column["left_out"] for column in result["table"]["columns"]) - len(found)
    return {
        "lead": assessment_verdict(assessed),
        "facts": _facts(assessed["scores"], told),
        "design": f"{told.name[0].upper()}{told.name[1:]} of {assessed['predictor']}, {count_with_noun(assessed['n_samples'], 'row')}, "
        f"{assessed['folds']}.",
        "title": _title(assessed, told),
        "chart": scores_chart(_present_scores(assessed["scores"]), told),
        "clipped_note": _clipped_scores_note(assessed["scores"], told),
        "rows": [
            {
                **column,
                "percent": f"{100 * column['share']:.1f}",
                "text": f"{round(column['share'] * n_folds)} of {n_folds}",
            }
            for column in found
        ],
        "folded": _ROWS_BEFORE_FOLD,
        "never": ""
        if rest <= 0
        else "The other column was never chosen."
        if rest == 1
        else f"The other {rest:,} columns never were.",
        "chosen": _frequency_title(found),
        "stability": f"Stability {assessed['stability']['sentence']}",
        "null": _permutation_null(assessed),
        "notes": [note for note in assessed["notes"] if note not in result["warnings"]],
    }


def _present_scores(scores: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the scores that there are, from the apparent score down to the baseline."""
    return [(name, scores[key]) for key, (name, _) in _SCORES.items() if scores[key] is not None]


def _clipped_scores_note(scores: Mapping[str, Any], score_format: ScoreFormat) -> str:
    """Return which scores the chart shows at its edge."""
    off = [name for name, score in _present_scores(scores) if score["mean"] < score_format.min_drawn]
    return score_format.clipping_note([f"{name[:1].lower()}{name[1:]}" for name in off])


def _facts(scores: Mapping[str, Any], score_format: ScoreFormat) -> list[tuple[str, str, str]]:
    """Return the scores in words, and what each means."""
    between = " to ".join(map(score_format.format_score, score_format.clipped_interval(scores["nested"])))
    return [
        (name, f"{score_format.format_score(scores[key]['mean'])}{f' ({between})' if key == 'nested' else ''}", meaning)
        for key, (name, meaning) in _SCORES.items()
        if scores[key] is not None
    ]


def _title(assessment: Mapping[str, Any], score_format: ScoreFormat) -> str:
    lost = score_format.format_optimism(assessment["optimism"])
    if not lost:
        return "Nested cross-validation confirms the apparent score"
    return f"In nested cross-validation the score is {lost} lower"


def _frequency_title(frequencies: Sequence[Mapping[str, Any]]) -> str:
    """Return in words which of the columns kept are found again in every fold, and which seldom."""
    kept = [column for column in frequencies if column["chosen"]]
    always = [column["name"] for column in kept if column["share"] == 1]
    seldom = [column["name"] for column in kept if column["share"] < 0.5]
    if not kept:
        return "How often each column is chosen"
    if len(always) == len(kept):
        return "Every fold chooses all the columns kept" if len(kept) > 1 else "Every fold chooses the column kept"
    if seldom:
        return f"Fewer than half of the folds choose {join_names(seldom, limit=4, width=30)}"
    if always:
        return f"Every fold chooses {join_names(always, limit=4, width=30)}"
    return "At least half of the folds choose each of the columns kept"


def _permutation_null(assessment: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the merits that chance gives, with the one that was found marked."""
    null = assessment["null"]
    if null is None or not null["merits"]:
        return None
    words = null_count_text(null)
    meaning = "chance alone does not explain it" if assessment["beats_chance"] else "chance is not ruled out"
    if assessment["beats_chance"] and null["p_value"] > SIGNIFICANCE_LEVEL:
        # So few searches that p could not be lower, whatever they found.
        meaning = "too few searches to tell chance from more"
    return {
        "title": f"{words[0].upper()}{words[1:]}",
        "note": f"The same search on targets {null['how']}: p\u00a0=\u00a0{format_number(null['p_value'], digits=2)}, {meaning}.",
        "chart": null_distribution_chart(null["merits"], null["observed"], null["statistic"]),
    }

"""Reliability of the selection: apparent and nested CV score, selection frequencies, and permutation null distribution."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from tamiz.report.charts import make_chart
from tamiz.report.error_rates import collect_error_rates
from tamiz.report.score_text import (
    SIGNIFICANCE_LEVEL,
    ScoreFormat,
    assessment_score_format,
    assessment_verdict,
    null_count_text,
    selected_columns_text,
)
from tamiz.report.text import (
    MAX_LISTED,
    capitalize,
    chart_label,
    count_with_noun,
    format_number,
    join_column_names,
    round_coordinate,
    unlisted_note,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tamiz.report.records.models import AssessmentRecord, AssessmentScores, Scores, SelectionFrequency
    from tamiz.report.records.study import StudyRecord
    from tamiz.report.score_text import ScoreFormat


_N_BARS = 14


def scores_chart(named_scores: Sequence[tuple[str, Scores]], score_format: ScoreFormat) -> dict[str, Any]:
    """Return the scores on one scale, a row each from the top; the second, nested CV, has its folds and interval.

    Parameters
    ----------
    named_scores : list of tuple
        The name and the scores of each row.
    score_format : ScoreFormat
    """
    top = len(named_scores) - 1
    nested = named_scores[1][1]
    means = [score_format.clip(score.mean) for _, score in named_scores]
    ends = [score_format.clip(end) for end in score_format.clipped_interval(nested.interval)]
    every = [*means, *ends, *map(score_format.clip, nested.folds)]
    low, high = min(every), max(every)
    span = (high - low) or 1.0
    chart = make_chart(
        [
            _fold_points(nested.folds, top - 1, score_format),
            _nested_mean(nested, top - 1, score_format),
            _other_means(
                [one for k, one in enumerate(named_scores) if k != 1], [top, *range(top - 2, -1, -1)], score_format
            ),
            # The optimism of the apparent score, and the baseline through all rows.
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
            # The line of the baseline would run through a label above its mark.
            **(
                {"y": top - k + 0.4, **_label_anchor((mean - low) / span)}
                if k < top
                else {"y": 0, **_label_beside((mean - low) / span)}
            ),
            "text": f"{name}: <b>{score_format.format_score(score.mean)}</b>",
            "showarrow": False,
        }
        for k, ((name, score), mean) in enumerate(zip(named_scores, means, strict=True))
    ]
    return chart


def _fold_points(folds: Sequence[float], height: int, score_format: ScoreFormat) -> Any:
    return go.Scatter(
        x=[round_coordinate(score_format.clip(score)) for score in folds],
        # Jittered, so that equal scores do not overlap, and below the mark of their mean.
        y=[height - 0.24 + 0.08 * (k % 3 - 1) for k in range(len(folds))],
        mode="markers",
        marker={"size": 6, "opacity": 0.75},
        customdata=[[k, score_format.format_score(score)] for k, score in enumerate(folds, start=1)],
        hovertemplate="Fold %{customdata[0]}: %{customdata[1]}<extra></extra>",
    )


def _nested_mean(nested: Scores, height: int, score_format: ScoreFormat) -> Any:
    """Return the mark of the nested CV score with its interval."""
    ends = score_format.clipped_interval(nested.interval)
    place, low, high = (score_format.clip(score) for score in (nested.mean, *ends))
    return go.Scatter(
        x=[round_coordinate(place)],
        y=[height],
        mode="markers",
        marker={"size": 9},
        error_x={
            "type": "data",
            "symmetric": False,
            "array": [round_coordinate(high - place)],
            "arrayminus": [round_coordinate(place - low)],
            "thickness": 2.5,
            "width": 9,
        },
        customdata=[[score_format.format_score(value) for value in (nested.mean, *ends)]],
        hovertemplate="Nested CV score: %{customdata[0]}, between %{customdata[1]} and %{customdata[2]}<extra></extra>",
    )


def _other_means(named_scores: Sequence[tuple[str, Scores]], heights: Sequence[int], score_format: ScoreFormat) -> Any:
    """Return the marks of the scores without an interval, from the apparent score to the baseline."""
    return go.Scatter(
        x=[round_coordinate(score_format.clip(score.mean)) for _, score in named_scores],
        y=list(heights),
        mode="markers",
        marker={
            "size": 11,
            "symbol": ["diamond", *["square"] * (len(named_scores) - 2), "circle-open"],
            "line": {"width": 2},
        },
        customdata=[[name, score_format.format_score(score.mean)] for name, score in named_scores],
        hovertemplate="%{customdata[0]}: %{customdata[1]}<extra></extra>",
    )


def _label_anchor(position: float) -> dict[str, Any]:
    """Return the anchor of a label for a mark at a relative position from 0 to 1, so that it stays inside the chart."""
    if position < 0.35:
        return {"xanchor": "left", "xshift": -8}
    return {"xanchor": "right", "xshift": 8} if position > 0.65 else {"xanchor": "center"}


def _label_beside(position: float) -> dict[str, Any]:
    """Return the anchor of a label beside a mark at a relative position from 0 to 1."""
    return {"xanchor": "left", "xshift": 10} if position < 0.5 else {"xanchor": "right", "xshift": -10}


def _line(x: Sequence[float], y: Sequence[float], dash: str) -> Any:
    line = {"width": 2, "dash": dash}
    return go.Scatter(x=[round_coordinate(value) for value in x], y=list(y), mode="lines", line=line, hoverinfo="skip")


def null_distribution_chart(merits: Sequence[float], observed: float, statistic: str) -> dict[str, Any]:
    """Return the permutation null distribution: a histogram of the merits on shuffled targets, and a line at the observed merit."""
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
                name="With the real target",
                customdata=[f"{name} {format_number(observed)}"] * 2,
                hovertemplate="With the real target: %{customdata}<extra></extra>",
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


# The scores from the top of the chart, and their meaning.
_SCORE_MEANINGS = {
    "Apparent score": "The columns are selected once, on all rows; then a model with these columns is cross-validated.",
    "Nested CV score": "The search is repeated inside each fold, and the columns it selects are scored on the test rows.",
    "All columns": "No selection.",
    "Baseline": "A prediction without columns: {}.",
}
_ROWS_BEFORE_FOLD = 12


def collect_assessment(result: StudyRecord) -> dict[str, Any] | None:
    """Return the context of the section: verdict, scores, selection frequencies, permutation null distribution, error rates.

    Parameters
    ----------
    result : StudyRecord
        The record of a study.

    Returns
    -------
    dict or None
        The variables of the template; None if the selection was not assessed.
    """
    assessed = result.assessment
    if assessed is None:
        return None
    score_format = assessment_score_format(assessed)
    n_folds = len(assessed.scores.nested.folds)
    found = assessed.frequencies
    # Excluded columns are not counted.
    rest = result.table.n_used_columns - len(found)
    return {
        "lead": assessment_verdict(assessed, selected_columns_text(result)),
        "facts": _facts(
            assessed.scores,
            score_format,
            "the shares of the classes" if result.table.classes else "the mean of the target",
        ),
        "design": f"{capitalize(score_format.name)} of {assessed.predictor}, "
        f"{count_with_noun(assessed.n_samples, 'row')}, {assessed.folds}.",
        "title": _title(assessed, score_format),
        "chart": scores_chart(_present_scores(assessed.scores), score_format),
        "clipped_note": _clipped_scores_note(assessed.scores, score_format),
        "rows": [
            {
                "name": column.name,
                "chosen": column.chosen,
                "share": column.share,
                "percent": f"{100 * column.share:.1f}",
                "text": f"{round(column.share * n_folds)} of {n_folds}",
            }
            for column in found[:MAX_LISTED]
        ],
        "folded": _ROWS_BEFORE_FOLD,
        "unlisted_note": unlisted_note(len(found)),
        "never": ""
        if rest <= 0
        else "The other column was never selected."
        if rest == 1
        else f"The other {rest:,} columns were never selected.",
        "chosen": _frequency_title(found),
        "stability": f"Stability {assessed.stability.sentence}",
        "null": _permutation_null(assessed),
        "error_rates": collect_error_rates(result),
        "notes": [note for note in assessed.notes if note not in result.warnings],
    }


def _present_scores(scores: AssessmentScores) -> list[tuple[str, Scores]]:
    """Return the scores that were computed, from the apparent score to the baseline."""
    parts = scores.apparent, scores.nested, scores.all_columns, scores.baseline
    return [(name, part) for name, part in zip(_SCORE_MEANINGS, parts, strict=True) if part is not None]


def _clipped_scores_note(scores: AssessmentScores, score_format: ScoreFormat) -> str:
    """Return a note on the scores that are clipped in the chart."""
    off = [name for name, score in _present_scores(scores) if score.mean < score_format.min_drawn]
    return score_format.clipping_note([f"{name[:1].lower()}{name[1:]}" for name in off])


def _facts(scores: AssessmentScores, score_format: ScoreFormat, baseline: str) -> list[tuple[str, str, str]]:
    """Return the name, the value and the meaning of each score."""
    between = " to ".join(map(score_format.format_score, score_format.clipped_interval(scores.nested.interval)))
    return [
        (
            name,
            f"{score_format.format_score(part.mean)}{f' ({between})' if part is scores.nested else ''}",
            _SCORE_MEANINGS[name].format(baseline),
        )
        for name, part in _present_scores(scores)
    ]


def _title(assessment: AssessmentRecord, score_format: ScoreFormat) -> str:
    lost = score_format.format_optimism(assessment.optimism)
    if not lost:
        return "Nested cross-validation confirms the apparent score"
    return f"The nested CV score is {lost} below the apparent score"


def _frequency_title(frequencies: Sequence[SelectionFrequency]) -> str:
    """Return a heading on which selected columns every fold selects, or which are selected by fewer than half."""
    kept = [column for column in frequencies if column.chosen]
    always = [column.name for column in kept if column.share == 1]
    seldom = [column.name for column in kept if column.share < 0.5]
    if not kept:
        return "How often each column is selected"
    if len(always) == len(kept):
        return (
            "Every fold selects all columns of the subset"
            if len(kept) > 1
            else "Every fold selects the column of the subset"
        )
    if seldom:
        return f"Fewer than half of the folds select {join_column_names(seldom, limit=4, width=30)}"
    if always:
        return f"Every fold selects {join_column_names(always, limit=4, width=30)}"
    return "At least half of the folds select each column of the subset"


def _permutation_null(assessment: AssessmentRecord) -> dict[str, Any] | None:
    """Return the title, the note and the chart of the permutation null distribution."""
    null = assessment.null
    if null is None or not null.merits:
        return None
    words = null_count_text(null)
    meaning = "significant at 0.05" if assessment.beats_chance else "not significant at 0.05"
    if assessment.beats_chance and null.p_value > SIGNIFICANCE_LEVEL:
        # The smallest possible p of so few searches is above the level.
        meaning = "too few searches for a p-value of 0.05"
    return {
        "title": capitalize(words),
        "note": f"Permutation test: the same search on targets {null.shuffling}; "
        f"p\u00a0=\u00a0{format_number(null.p_value, digits=2)}, {meaning}.",
        "chart": null_distribution_chart(null.merits, null.observed, null.statistic),
    }

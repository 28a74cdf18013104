"""Reliability of the selection: apparent and nested CV score, selection frequencies, and permutation null distribution."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from tamiz.display import figures
from tamiz.display.coloring import escape_text
from tamiz.report import marks
from tamiz.report.drawing import Chart
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
    capitalize,
    count_with_noun,
    format_number,
    join_column_names,
)

if TYPE_CHECKING:
    from markupsafe import Markup

    from tamiz.assessment.fold_scores import FoldScores
    from tamiz.assessment.score_report import SelectionReport
    from tamiz.report.records.study import StudyRecord
    from tamiz.report.score_text import ScoreFormat


# The scores in their order, and their meaning.
_SCORE_MEANINGS = {
    "Apparent score": "The columns are selected once, on all rows; then a model with these columns is cross-validated.",
    "Nested CV score": "The search is repeated inside each fold, and the columns it selects are scored on the test rows.",
    "All columns": "No selection.",
    "Baseline": "A prediction without columns: {}.",
}


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
    assessed = result.reliability
    if assessed is None:
        return None
    score_format = assessment_score_format(assessed)
    return {
        "lead": assessment_verdict(assessed, selected_columns_text(result)),
        "facts": _facts(
            assessed,
            score_format,
            "the shares of the classes" if result.table.classes else "the mean of the target",
        ),
        "design": f"{capitalize(score_format.name)} of {assessed.model}, "
        f"{count_with_noun(assessed.n_samples, 'row')}, {assessed.folds_description}.",
        "title": _title(assessed, score_format),
        "clipped_note": _clipped_scores_note(assessed, score_format),
        "chosen": _frequency_title(assessed),
        "stability": f"Stability {assessed.stability.sentence}",
        "null": _permutation_null(assessed),
        "error_rates": collect_error_rates(result),
        "notes": [note for note in assessed.notes if note not in result.warnings],
    }


def _present_scores(scores: SelectionReport) -> list[tuple[str, FoldScores]]:
    """Return the scores that were computed, from the apparent score to the baseline."""
    parts = scores.apparent, scores.nested, scores.all_columns, scores.baseline
    return [(name, part) for name, part in zip(_SCORE_MEANINGS, parts, strict=True) if part is not None]


def _clipped_scores_note(scores: SelectionReport, score_format: ScoreFormat) -> str:
    """Return a note on the scores that are clipped in the chart."""
    off = [name for name, score in _present_scores(scores) if score.mean < score_format.min_drawn]
    return score_format.clipping_note([f"{name[:1].lower()}{name[1:]}" for name in off])


def _facts(scores: SelectionReport, score_format: ScoreFormat, baseline: str) -> list[tuple[str, str, str, Markup]]:
    """Return the name, the value, the meaning and the mark of each score; all marks share one scale."""
    ends = score_format.clipped_interval(scores.nested.interval)
    present = _present_scores(scores)
    scale = marks.Scale.around([*map(score_format.clip, ends), *(score_format.clip(part.mean) for _, part in present)])
    between, interval = (
        " to ".join(map(score_format.format_score, ends)),
        tuple(scale.at(score_format.clip(end)) for end in ends),
    )
    return [
        (
            name,
            f"{score_format.format_score(part.mean)}{f' ({between})' if part is scores.nested else ''}",
            _SCORE_MEANINGS[name].format(baseline),
            marks.dot_interval(scale.at(score_format.clip(part.mean)), interval if part is scores.nested else None),
        )
        for name, part in present
    ]


def _title(assessment: SelectionReport, score_format: ScoreFormat) -> str:
    lost = score_format.format_optimism(assessment.optimism)
    if not lost:
        return "Nested cross-validation confirms the apparent score"
    return f"The nested CV score is {lost} below the apparent score"


def _frequency_title(assessment: SelectionReport) -> str:
    """Return a heading on which selected columns every fold selects, or which are selected by fewer than half."""
    columns = set(assessment.columns)
    kept = {name: share for name, share in assessment.frequency_by_name.items() if name in columns}
    always = [name for name, share in kept.items() if share == 1]
    seldom = [name for name, share in kept.items() if share < 0.5]
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


def _permutation_null(assessment: SelectionReport) -> dict[str, Any] | None:
    """Return the title, the note and the chart of the permutation null distribution."""
    null = assessment.null
    if null is None or not len(null.null_values):
        return None
    words = null_count_text(null)
    meaning = "significant at 0.05" if assessment.beats_chance else "not significant at 0.05"
    if assessment.beats_chance and null.p_value > SIGNIFICANCE_LEVEL:
        # The smallest possible p of so few searches is above the level.
        meaning = "too few searches for a p-value of 0.05"
    label = f"Best {escape_text(null.statistic)} of a search"
    return {
        "title": capitalize(words),
        "note": f"Permutation test: the same search on targets {null.description}; "
        f"p\u00a0=\u00a0{format_number(null.p_value, digits=2)}, {meaning}.",
        "chart": Chart(
            "chance",
            partial(figures.draw_null_histogram, null.null_values, null.observed, label, null.p_value),
            "Bars: the best merits of searches on shuffled targets (permutation null distribution); line: the observed merit.",
        ),
    }

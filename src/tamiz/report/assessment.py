"""Reliability of the selection: apparent and nested CV score, stability, and permutation null distribution."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from tamiz.display import figures
from tamiz.display.figures import escape_text
from tamiz.report.drawing import Chart
from tamiz.report.score_text import ScoreFormat, assessment_verdict, collect_error_rates, mark_scores, unshown_notes
from tamiz.report.text import capitalize, count_with_noun, format_number, label_in_sentence

if TYPE_CHECKING:
    from tamiz.assessment.score_report import SelectionReport
    from tamiz.report.records import StudyRecord


_SCORE_MEANINGS = {
    "Apparent score": "The columns are selected once, on all rows; then a model with these columns is cross-validated.",
    "Nested CV score": "The search is repeated inside each fold, and the columns it selects are scored on the test rows.",
    "All columns": "No selection.",
    "Baseline": "A prediction without columns: the shares of the classes, or the mean of the target.",
}
_MEANING_OF_P = {
    True: "not significant at 0.05",
    False: "significant at 0.05",
    None: "too few searches for a p-value of 0.05",
}


def collect_assessment(record: StudyRecord) -> dict[str, Any] | None:
    """Return verdict, scores, stability, permutation null distribution, error rates; None if the selection was not assessed."""
    assessed = record.reliability
    if assessed is None:
        return None
    score_format = ScoreFormat(assessed.scoring)
    parts = assessed.apparent, assessed.nested, assessed.all_columns, assessed.baseline
    scores = {name: part for name, part in zip(_SCORE_MEANINGS, parts, strict=True) if part is not None}
    nested = assessed.nested.interval
    _, marks = mark_scores(
        [(one.mean, nested if one is assessed.nested else None) for one in scores.values()], score_format
    )
    # Of all columns nothing is selected.
    keeps_all = record.recommendation is not None and record.recommendation.keeps_all
    return {
        "folded": True,
        "lead": assessment_verdict(assessed),
        "facts": [
            (
                name,
                score_format.format_score(one.mean)
                + (f" ({score_format.format_interval(nested)})" if one is assessed.nested else ""),
                _SCORE_MEANINGS[name],
                mark,
            )
            for (name, one), mark in zip(scores.items(), marks, strict=True)
        ],
        "design": f"{capitalize(score_format.name)} of {assessed.model}, "
        f"{count_with_noun(assessed.n_samples, 'row')}, {assessed.folds_description}",
        "clipped_note": score_format.clipping_note({label_in_sentence(name): one.mean for name, one in scores.items()}),
        "stability": "" if keeps_all else f"Stability {assessed.stability.sentence}",
        "null": _permutation_null(assessed),
        "error_rates": collect_error_rates(record),
        "notes": unshown_notes(record, record.recommendation, record.noise_experiment, assessed),
    }


def _permutation_null(assessment: SelectionReport) -> dict[str, Any] | None:
    """Return the title, the note and the chart of the permutation null distribution."""
    null = assessment.null
    if null is None or not len(null.null_values):
        return None
    label = f"Best {escape_text(null.statistic)} of a search"
    return {
        "title": null.count_text,
        "note": f"Permutation test of the same search: p\u00a0=\u00a0{format_number(null.p_value, digits=2)}, "
        f"{_MEANING_OF_P[null.explained_by_chance]}.",
        "chart": Chart(
            "chance",
            partial(figures.draw_null_histogram, null.null_values, null.observed, label, null.p_value),
            "Bars: the best merits of searches on shuffled targets (permutation null distribution); line: the observed merit.",
        ),
    }

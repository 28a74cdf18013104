"""Whether the score can be trusted: apparent score beside nested cross-validation, stability, permutation null."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tamiz.report import assessment_charts
from tamiz.report.text import count_with_noun, format_number, join_names
from tamiz.report.trust import (
    SIGNIFICANCE_LEVEL,
    ScoreFormat,
    assessment_score_format,
    assessment_verdict,
    null_count_text,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
        "made": f"{told.name[0].upper()}{told.name[1:]} of {assessed['predictor']}, {count_with_noun(assessed['n_samples'], 'row')}, "
        f"{assessed['folds']}.",
        "title": _title(assessed, told),
        "chart": assessment_charts.scores_chart(_present_scores(assessed["scores"]), told),
        "beyond": _clipped_scores_note(assessed["scores"], told),
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
    lost = score_format.format_optimism(assessment["gap"])
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
        "chart": assessment_charts.null_distribution_chart(null["merits"], null["observed"], null["statistic"]),
    }

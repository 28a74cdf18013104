"""Recommended columns: selections compared by nested cross-validation under several models, and the one to keep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tamiz.report.score_text import (
    change_direction,
    format_difference,
    format_interval,
    model_name,
    n_chosen_text,
    score_format_for,
    score_title,
    selected_columns_text,
)
from tamiz.report.text import capitalize, count_with_noun, join_column_names, join_names, label_in_sentence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tamiz.report.records.codec import Named
    from tamiz.report.records.models import CandidateScores, FoldedScores, RecommendationRecord
    from tamiz.report.records.study import StudyRecord
    from tamiz.report.score_text import ScoreFormat

_ALL_COLUMNS = "all_columns"
# Parts of a sentence are never cut.
_FULL_WIDTH = 200
_MAX_NAMED = 12
# What selections by other methods prefer.
_OTHER_METHODS = {
    "mrmr": "; MRMR (minimum redundancy, maximum relevance) adds the column with the most information on the target, less that "
    "shared with those selected before, and cross-validation chooses the number of columns; columns without information about "
    "the classes are dropped",
    "tests": "; independence tests keep every column that is associated with the target, at a false discovery rate of 5%",
}


def collect_recommendation(result: StudyRecord) -> dict[str, Any] | None:
    """Return the context of the section: the recommended columns, their cost for each model, and all selections compared.

    Parameters
    ----------
    result : StudyRecord
        The record of a study.

    Returns
    -------
    dict or None
        The variables of the template; None if selections were not compared.
    """
    found = result.recommendation
    if found is None:
        return None
    warnings = result.warnings
    return {
        "lead": recommendation_text(found),
        "cost": recommendation_cost(found),
        "columns": found.columns if found.recommended != _ALL_COLUMNS and _recommended_candidate(found) else [],
        "design": f"{count_with_noun(found.n_samples, 'row')}, {found.folds}. Every selection is repeated inside each fold, on its "
        "training rows: CFS (correlation-based feature selection) prefers columns that are associated with the target but not with "
        "each other; a wrapper prefers columns with which its model has the best cross-validated score"
        f"{''.join(_OTHER_METHODS[one.id] for one in found.candidates if one.id in _OTHER_METHODS)}. Below each score is its "
        "difference from the score with all columns, computed before rounding.",
        "models": [model.label for model in found.models],
        "groups": [_score_rows(found, k) for k in range(len(found.scores))],
        "largest_loss": f"{found.largest_loss:g}",
        "negligible_loss": f"{found.negligible_loss:g}",
        "notes": [note for note in found.notes if note not in warnings],
    }


def initial_selection(result: StudyRecord) -> Sequence[str]:
    """Return the initial choice of columns on the page: those recommended, else the subset unless it may be chance, else none.

    Parameters
    ----------
    result : StudyRecord
        The record of a study.
    """
    found, subset = result.recommendation, result.subset
    if found is not None and (recommended := _recommended_candidate(found)) is not None:
        return recommended.columns
    return [] if subset is None or (found is not None and found.chance) else subset.columns


def two_selections_note(result: StudyRecord) -> str:
    """Return which sections are about the subset if the recommended columns are others, else "".

    Parameters
    ----------
    result : StudyRecord
        The record of a study.
    """
    found, subset = result.recommendation, result.subset
    recommended = None if found is None else _recommended_candidate(found)
    if recommended is None or subset is None or set(recommended.columns) == set(subset.columns):
        return ""
    columns = f"the {count_with_noun(len(recommended.columns), 'recommended column')} ({label_in_sentence(recommended.label)})"
    also = [("Effect on models", result.model_effect), ("Reliability", result.assessment)]
    sections = ["Subset", *(name for name, record in also if record is not None)]
    about = f"sections {join_names(sections)} are" if len(sections) > 1 else "section Subset is"
    return (
        f"This report has two selections: {columns} and {selected_columns_text(subset)}. The {about} about the latter."
    )


def recommendation_text(recommendation: RecommendationRecord) -> str:
    """Return in a sentence which columns to keep, with the rows, the scores and the baseline."""
    name, score = recommendation.recommended, recommendation.scores[0]
    shown = [one for one in recommendation.candidates if name in (one.id, None)]
    score_format = score_format_for(score.id)
    means = [cell.mean for one in shown for cell in one.scores[0]]
    n_models = len(recommendation.models)
    reached = f"of the model is {score_format.format_score(means[0])}"
    if len(means) > 1:
        low, high = map(score_format.format_score, (min(means), max(means)))
        of = (
            f"of {n_models:,} models"
            if len(shown) == 1
            else f"of {count_with_noun(n_models, 'model')} on {len(shown)} selections"
        )
        reached = f"{of} is {f'between {low} and {high}' if low != high else low}"
    measured = (
        f"in nested cross-validation of {count_with_noun(recommendation.n_samples, 'row')} the {score_format.name} {reached}; the "
        f"baseline is {score_format.format_score(score.baseline.mean)}"
    )
    if name is None:
        return f"No columns are recommended, because the selection may be chance. {recommendation.chance} {capitalize(measured)}."
    chosen = _recommended_candidate(recommendation)
    if chosen is None:
        return f"Neither a selection nor all columns together score above the baseline: {measured}."
    if name == _ALL_COLUMNS:
        columns = count_with_noun(recommendation.n_columns, "column")
        return f"Keep all {columns}: {_keep_all_reason(recommendation)}. {capitalize(measured)}."
    kept = f"{len(chosen.columns):,} of {count_with_noun(recommendation.n_columns, 'column')}"
    named = join_column_names(chosen.columns, limit=_MAX_NAMED)
    return f"Keep {kept}: {named} ({label_in_sentence(chosen.label)}). {capitalize(measured)}."


def _keep_all_reason(recommendation: RecommendationRecord) -> str:
    """Return why no smaller selection is recommended."""
    others = _other_candidates(recommendation)
    if not others:
        return "no smaller selection could be compared"
    limit = recommendation.largest_loss
    costly = f"every smaller selection costs a model more than {limit:g}"
    if all(one.id in recommendation.refused or _worst_change(one) < -limit for one in others):
        return costly
    return f"{costly}, or the models together more than their standard error"


def _other_candidates(recommendation: RecommendationRecord) -> list[CandidateScores]:
    """Return the candidates but for all columns."""
    return [one for one in recommendation.candidates if one.id != _ALL_COLUMNS]


def _worst_change(candidate: CandidateScores) -> float:
    """Return the largest loss beside all columns, as a change of the score that decides."""
    return min(change.mean for change in candidate.changes[0])


def recommendation_cost(recommendation: RecommendationRecord) -> str:
    """Return in a sentence how the recommended columns change the score of each model, compared with all columns."""
    score_format = score_format_for(recommendation.scores[0].id)
    name = recommendation.recommended
    if name is None:
        return ""
    if name == _ALL_COLUMNS:
        others = _other_candidates(recommendation)
        if not others:
            return ""
        nearest = max(others, key=_worst_change)
        changes = _changes_text(recommendation.models, nearest.changes[0], score_format)
        size = count_with_noun(len(nearest.columns), "column")
        heading = _change_heading(score_format, "this selection")
        return f"The nearest selection is {label_in_sentence(nearest.label)} ({size}). {heading}: {changes}."
    chosen = next(one for one in recommendation.candidates if one.id == name)
    changes = _changes_text(recommendation.models, chosen.changes[0], score_format)
    return f"{_change_heading(score_format, 'recommended')}: {changes}."


def _changes_text(models: Sequence[Named], changes: Sequence[FoldedScores], score_format: ScoreFormat) -> str:
    """Return the change of each model with its interval, the largest loss first."""
    pairs = sorted(zip(models, changes, strict=True), key=lambda pair: pair[1].mean)
    parts = [
        f"{model_name(model)} {format_difference(change.mean, score_format)} ({format_interval(change.interval, score_format)})"
        for model, change in pairs
    ]
    return join_names(parts, width=_FULL_WIDTH)


def _recommended_candidate(recommendation: RecommendationRecord) -> CandidateScores | None:
    """Return the recommended candidate if, for some model, the interval of its mean score is above the baseline, else None."""
    baseline = recommendation.scores[0].baseline.mean
    return next(
        (
            one
            for one in recommendation.candidates
            if one.id == recommendation.recommended and any(cell.interval[0] > baseline for cell in one.scores[0])
        ),
        None,
    )


def _score_rows(recommendation: RecommendationRecord, k: int) -> dict[str, Any]:
    """Return the rows of the table for one score."""
    score = recommendation.scores[k]
    score_format, recommended = score_format_for(score.id), _recommended_candidate(recommendation)
    return {
        "name": score_title(score.id),
        "baseline": score_format.format_score(score.baseline.mean),
        "rows": [
            {
                "label": one.label,
                "kept": one is recommended,
                "size": n_chosen_text(one.n_chosen),
                "cells": [
                    (
                        score_format.format_score(cell.mean),
                        "" if one.id == _ALL_COLUMNS else format_difference(change.mean, score_format),
                        "" if one.id == _ALL_COLUMNS else change_direction(change.interval),
                    )
                    for cell, change in zip(one.scores[k], one.changes[k], strict=True)
                ],
            }
            for one in recommendation.candidates
        ],
    }


def _change_heading(score_format: ScoreFormat, minuend: str) -> str:
    return f"Difference in {score_format.name}, {minuend} minus all columns, with 95% confidence intervals"

"""Recommended columns: selections compared by nested cross-validation under several models, and the one to keep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from tamiz.report.score_text import (
    change_direction,
    change_text,
    format_difference,
    model_name,
    n_chosen_text,
    score_format_for,
    score_title,
)
from tamiz.report.text import (
    capitalize,
    count_with_noun,
    format_number,
    format_p_value,
    join_column_names,
    join_names,
    label_in_sentence,
    shorten,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tamiz.report.records.codec import Named
    from tamiz.report.records.columns import TableRecord
    from tamiz.report.records.models import CandidateScores, ColumnDecision, FoldedScores, RecommendationRecord
    from tamiz.report.records.study import StudyRecord
    from tamiz.report.score_text import ScoreFormat

_ALL_COLUMNS = "all_columns"
# An adjusted p-value above this is no evidence that a column adds to the others; similarity below this needs no mention.
_NOTHING_ADDED, _SIMILAR = 0.1, 0.05
# Parts of a sentence are never cut.
_FULL_WIDTH = 200
_MAX_NAMED = 12
# What the candidates prefer.
_METHODS = {
    "cfs": "CFS (correlation-based feature selection) prefers columns that are associated with the target but not with each other",
    "mrmr": "MRMR (minimum redundancy, maximum relevance) adds the column with the most information on the target, less that "
    "shared with those selected before",
    "wrapper": "the wrapper adds the column with which naive Bayes, or ridge regression for a numeric target, has the best "
    "cross-validated score",
    "importance": "importance ranks the columns by what gradient boosting loses without their values",
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
    score_format = score_format_for(found.scores[0].id)
    return {
        "lead": recommendation_text(found, result.table),
        "picture": _picture(found, result.table, score_format),
        "cost": recommendation_cost(found),
        "columns": found.columns if found.recommended != _ALL_COLUMNS and found.chosen else [],
        "design": f"{count_with_noun(found.n_samples, 'row')}, {found.folds}. Every selection is repeated inside each fold, on its "
        f"training rows: {'; '.join(_METHODS[one.id] for one in found.candidates if one.id in _METHODS)}. Below each score is its "
        "difference from the score with all columns, computed before rounding.",
        "models": [model.label for model in found.models],
        "groups": [_score_rows(found, k) for k in range(len(found.scores))],
        "rule": _rule_text(found),
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
    if found is not None and (recommended := found.chosen) is not None:
        return recommended.columns
    return [] if subset is None or (found is not None and found.chance) else subset.columns


def recommendation_text(recommendation: RecommendationRecord, table: TableRecord) -> str:
    """Return in a sentence which columns to keep, with the rows, the scores and the baseline."""
    score_format = score_format_for(recommendation.scores[0].id)
    every = deciding_score(recommendation, recommendation.all_columns)
    is_all = recommendation.recommended == _ALL_COLUMNS
    beside = "" if is_all else f"with all columns {score_format.format_score(every.mean)}, and "
    return (
        f"{_kept_text(recommendation, table)} {_measured_text(recommendation, score_format)}, {beside}without columns "
        f"{score_format.format_score(recommendation.scores[0].baseline.mean)}."
    )


def _kept_text(recommendation: RecommendationRecord, table: TableRecord) -> str:
    """Return which columns to keep."""
    chosen, whole = recommendation.chosen, recommendation.all_columns
    if chosen is None:
        return f"No columns are recommended, because the selection may be chance. {recommendation.chance}"
    # A date counts as one column, whatever its parts.
    columns = count_with_noun(table.count_own(whole.columns), "column")
    if chosen is whole:
        return f"Keep all {columns}: {_keep_all_reason(recommendation)}."
    kept = f"{table.count_own(chosen.columns):,} of {columns}"
    named = join_column_names(chosen.columns, limit=_MAX_NAMED)
    how = f"{label_in_sentence(chosen.label)}{', as requested' * recommendation.requested}"
    return f"Keep {kept}: {named} ({how})."


def _measured_text(recommendation: RecommendationRecord, score_format: ScoreFormat) -> str:
    """Return the score of the recommended columns with its rows and interval."""
    n_sets = sum(len(path.sets) for path in recommendation.paths)
    among = f", the choice among {count_with_noun(n_sets, 'selection')} included" if n_sets > 1 else ""
    low, high = (score_format.format_score(min(bound, 1.0)) for bound in recommendation.score.interval)
    return (
        f"In nested cross-validation of {count_with_noun(recommendation.n_samples, 'row')}{among}, the {score_format.name} of "
        f"{_deciding_name(recommendation)} is {score_format.format_score(recommendation.score.mean)} ({low} to {high})"
    )


def _picture(
    recommendation: RecommendationRecord, table: TableRecord, score_format: ScoreFormat
) -> dict[str, Any] | None:
    """Return the chart of the scores by number of columns with the words beside it, None unless a path has several sets.

    Scores without a lower end are cut where a chart would show nothing else.
    """
    # Imported late: the sentences work without matplotlib.
    from tamiz.display import RecommendationDisplay
    from tamiz.report.drawing import Chart

    paths, whole = recommendation.paths, recommendation.all_columns
    if max((len(path.sets) for path in paths), default=0) < 2:
        return None
    labels = {one.id: shorten(one.label, 24) for one in recommendation.candidates}
    n_all, n_kept = (table.count_own(columns) for columns in (whole.columns, recommendation.columns))
    baseline = score_format.clip(recommendation.scores[0].baseline.mean)
    every = score_format.clip(deciding_score(recommendation, whole).mean)
    # A date counts as one column: of two sets of one size that is shown which is recommended, or better.
    sets = {
        path.id: {
            table.count_own(one.columns): [score_format.clip(value) for value in (one.score.mean, *one.score.interval)]
            for one in sorted(path.sets, key=lambda one: (one.columns == recommendation.columns, one.score.mean))
        }
        for path in paths
    }
    name = recommendation.recommended
    display = RecommendationDisplay(
        {labels[path]: [(n, *scores) for n, scores in sorted(found.items())] for path, found in sets.items()},
        recommended=(labels[name], n_kept) if name is not None and n_kept in sets.get(name, ()) else None,
        all_columns=(n_all, every),
        baseline=baseline,
        score_label=f"{capitalize(score_format.name)} of {_deciding_name(recommendation)}",
    )
    text = f"{score_format.format_score(every)} with all {n_all:,} columns, {score_format.format_score(baseline)} without columns"
    described = f"The {score_format.name} by number of columns, one line per order of the columns; {text}."
    return {
        "kept": _kept_text(recommendation, table),
        "note": f"{_measured_text(recommendation, score_format)}.",
        "chart": Chart("scores-by-size", display.plot, described, height=250),
    }


def _keep_all_reason(recommendation: RecommendationRecord) -> str:
    """Return why no smaller selection is recommended."""
    if not _other_candidates(recommendation):
        return "no smaller selection could be compared"
    return f"for no smaller selection a loss of more than {recommendation.margin:.2g} can be ruled out"


def decision_row(one: ColumnDecision, found: RecommendationRecord) -> dict[str, Any]:
    """Return the folds that choose a column, similar columns, and why it is kept or dropped.

    Parameters
    ----------
    one : ColumnDecision
    found : RecommendationRecord
    """
    n_folds = len(found.score.folds)
    return {
        "folds": f"{round(one.share * n_folds)} of {n_folds}",
        "similar": [(other.name, format_number(other.uncertainty, digits=2)) for other in one.similar],
        "p_text": "" if one.p_value is None else format_p_value(one.p_value),
        "sentence": _decision_sentence(one),
    }


def decision_code(one: ColumnDecision) -> Literal["kept", "same", "nothing", "less"]:
    """Return why a column is kept or dropped.

    It adds to the others or represents them, is redundant with a kept column, adds nothing measurable, or less than the margin.

    Parameters
    ----------
    one : ColumnDecision
    """
    if one.kept and one.same_as is None:
        return "kept"
    is_similar = (
        one.relevance is not None and one.similar and one.similar[0].uncertainty >= max(one.relevance, _SIMILAR)
    )
    if one.same_as is not None or is_similar:
        return "same"
    return "nothing" if _adds_nothing(one) else "less"


def _adds_nothing(one: ColumnDecision) -> bool:
    return one.p_value is not None and one.p_value > _NOTHING_ADDED


def _decision_sentence(one: ColumnDecision) -> str:
    """Return why a column is kept or dropped."""
    code = decision_code(one)
    if one.same_as is not None:
        return f"Equivalent to {join_names([one.same_as])} (a copy or a one-to-one recoding), so not searched."
    if code == "kept" and _adds_nothing(one):
        return "Adds nothing measurable to all other columns; it may represent similar ones."
    return {
        "kept": "Adds to the others.",
        "same": f"More similar to {join_names([other.name for other in one.similar[:1]])} than to the target.",
        "nothing": "Adds nothing measurable to the other columns.",
        "less": "Adds less than the margin to the kept columns.",
    }[code]


def _rule_text(recommendation: RecommendationRecord) -> str:
    """Return the rule by which the recommended selection is chosen."""
    score_format = score_format_for(recommendation.scores[0].id)
    if recommendation.requested:
        return "It is the result of the search that was requested; the others show what it costs."
    power = ""
    if recommendation.detectable_loss:
        rows = count_with_noun(recommendation.n_samples, "row")
        loss = format_number(recommendation.detectable_loss, digits=2)
        power = f" On {rows}, a loss of {loss} is found with a power of 80%, and a smaller one may remain unseen."
    return (
        f"{capitalize(_deciding_name(recommendation))} decides, because it has the best {score_format.name} on all columns. "
        f"Recommended is the selection with the fewest columns that loses at most {recommendation.margin:.2g}, with one standard "
        f"error added to the loss.{power}"
    )


def _deciding_name(recommendation: RecommendationRecord) -> str:
    """Return the name of the model that decides, as in a sentence."""
    return model_name(next(one for one in recommendation.models if one.id == recommendation.deciding))


def deciding_score(recommendation: RecommendationRecord, candidate: CandidateScores) -> FoldedScores:
    """Return the score, under the model that decides, of a candidate.

    Parameters
    ----------
    recommendation : RecommendationRecord
    candidate : CandidateScores
    """
    return candidate.scores[0][[one.id for one in recommendation.models].index(recommendation.deciding)]


def _other_candidates(recommendation: RecommendationRecord) -> list[CandidateScores]:
    """Return the candidates but for all columns."""
    return [one for one in recommendation.candidates if one.id != _ALL_COLUMNS]


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
        nearest = max(others, key=lambda one: deciding_score(recommendation, one).mean)
        changes = _changes_text(recommendation.models, nearest.changes[0], score_format)
        size = count_with_noun(len(nearest.columns), "column")
        heading = _change_heading(score_format, "this selection")
        return f"The nearest selection is {label_in_sentence(nearest.label)} ({size}). {heading}: {changes}."
    assert recommendation.chosen is not None
    changes = _changes_text(recommendation.models, recommendation.chosen.changes[0], score_format)
    return f"{_change_heading(score_format, 'recommended')}: {changes}."


def _changes_text(models: Sequence[Named], changes: Sequence[FoldedScores], score_format: ScoreFormat) -> str:
    """Return the change of each model with its interval, the largest loss first."""
    pairs = sorted(zip(models, changes, strict=True), key=lambda pair: pair[1].mean)
    return join_names([change_text(model, change, score_format) for model, change in pairs], width=_FULL_WIDTH)


def _score_rows(recommendation: RecommendationRecord, k: int) -> dict[str, Any]:
    """Return the rows of the table for one score."""
    score = recommendation.scores[k]
    score_format, recommended = score_format_for(score.id), recommendation.chosen
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


def short_reasons(result: StudyRecord) -> dict[str, str]:
    """Return in a few words why each column is kept or dropped, for those that have a reason.

    Parameters
    ----------
    result : StudyRecord
    """
    found: dict[str, str] = {}
    for column in result.table.columns:
        if column.exclusion:
            found[column.name] = column.exclusion
        elif column.same_as:
            found[column.name] = f"same as {shorten(column.same_as, 30)}"
    words = {"nothing": "adds nothing measurable", "less": "adds less than the margin", "kept": "kept"}
    for one in () if result.recommendation is None else result.recommendation.decisions:
        code = decision_code(one)
        if code == "same":
            found[one.name] = f"redundant with {shorten(one.same_as or one.similar[0].name, 30)}"
        elif code != "kept" or one.name not in found:
            found[one.name] = words[code]
    leaks = () if result.leakage_exclusion is None else result.leakage_exclusion.columns
    return found | dict.fromkeys(leaks, "possible leak")


def column_states(result: StudyRecord) -> dict[str, str]:
    """Return the code of why each column is kept or not, for those that have one: a decision, "leak" or "excluded".

    Parameters
    ----------
    result : StudyRecord
    """
    found = dict.fromkeys((column.name for column in result.table.columns if column.exclusion), "excluded")
    for one in () if result.recommendation is None else result.recommendation.decisions:
        found[one.name] = decision_code(one)
    leaks = () if result.leakage_exclusion is None else result.leakage_exclusion.columns
    return found | dict.fromkeys(leaks, "leak")

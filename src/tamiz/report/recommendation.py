"""Recommended columns: selections compared by nested cross-validation under several models, and the one to keep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from tamiz.assessment.score_report import ALL_COLUMNS
from tamiz.report.score_text import (
    ScoreFormat,
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

    from tamiz.assessment.score_report import Recommendation
    from tamiz.report.records.columns import ColumnDecision, TableRecord
    from tamiz.report.records.study import StudyRecord

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
    warnings, methods = result.warnings, [_METHODS[name] for name in found.candidates if name in _METHODS]
    score_format = score_format_for(found.scorings[0])
    return {
        "lead": recommendation_text(found, result.table),
        "picture": _picture(found, result.table, score_format),
        "cost": recommendation_cost(found),
        "columns": found.columns if found.recommended != ALL_COLUMNS else [],
        "design": f"{count_with_noun(found.n_samples, 'row')}, {found.folds_description}. Every selection is repeated "
        f"inside each fold, on its training rows: {'; '.join(methods)}. Below each score is its difference from the score with all "
        "columns, computed before rounding.",
        "models": list(found.models.values()),
        "groups": [_score_rows(found, scoring) for scoring in found.scorings],
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
    return found.columns if found is not None else [] if subset is None else subset.columns


def recommendation_text(recommendation: Recommendation, table: TableRecord) -> str:
    """Return in a sentence which columns to keep, with the rows, the scores and the baseline."""
    score_format = score_format_for(recommendation.scorings[0])
    every = recommendation.all_columns.scores[recommendation.deciding]
    is_all = recommendation.recommended == ALL_COLUMNS and not recommendation.chance
    beside = "" if is_all else f"with all columns {score_format.format_score(every.mean)}, and "
    return (
        f"{_kept_text(recommendation, table)} {_measured_text(recommendation, score_format)}, {beside}without columns "
        f"{score_format.format_score(recommendation.baseline[recommendation.scorings[0]].mean)}."
    )


def _kept_text(recommendation: Recommendation, table: TableRecord) -> str:
    """Return which columns to keep."""
    if recommendation.chance:
        return f"No columns are recommended, because the selection may be chance. {recommendation.chance}"
    # A date counts as one column, whatever its parts.
    columns = count_with_noun(table.count_own(recommendation.all_columns.columns), "column")
    chosen = recommendation.candidates[recommendation.recommended]
    if recommendation.recommended == ALL_COLUMNS:
        return f"Keep all {columns}: {_keep_all_reason(recommendation)}."
    kept = f"{table.count_own(chosen.columns):,} of {columns}"
    named = join_column_names(chosen.columns, limit=_MAX_NAMED)
    how = f"{label_in_sentence(chosen.label)}{', as requested' * recommendation.requested}"
    return f"Keep {kept}: {named} ({how})."


def _measured_text(recommendation: Recommendation, score_format: ScoreFormat) -> str:
    """Return the score of the recommended columns with its rows and interval."""
    n_sets = sum(len(path.columns) for path in recommendation.paths.values())
    among = f", the choice among {count_with_noun(n_sets, 'selection')} included" if n_sets > 1 else ""
    low, high = (score_format.format_score(min(bound, 1.0)) for bound in recommendation.score.interval)
    return (
        f"In nested cross-validation of {count_with_noun(recommendation.n_samples, 'row')}{among}, the {score_format.name} of "
        f"{_deciding_name(recommendation)} is {score_format.format_score(recommendation.score.mean)} ({low} to {high})"
    )


def _picture(recommendation: Recommendation, table: TableRecord, score_format: ScoreFormat) -> dict[str, Any] | None:
    """Return the chart of the scores by number of columns with the words beside it, None unless a path has several sets.

    Scores without a lower end are cut where a chart would show nothing else.
    """
    # Imported late: the sentences work without matplotlib.
    from tamiz.display import RecommendationDisplay
    from tamiz.report.drawing import Chart

    paths, whole, kept = recommendation.paths, recommendation.all_columns, recommendation.columns
    if max((len(path.columns) for path in paths.values()), default=0) < 2:
        return None
    labels = {name: shorten(one.label, 24) for name, one in recommendation.candidates.items()}
    n_all, n_kept = (table.count_own(columns) for columns in (whole.columns, kept))
    baseline = score_format.clip(recommendation.baseline[recommendation.scorings[0]].mean)
    every = score_format.clip(whole.scores[recommendation.deciding].mean)
    # A date counts as one column: of two sets of one size that is shown which is recommended, or better.
    sets = {
        name: {
            table.count_own(columns): [score_format.clip(value) for value in (score.mean, *score.interval)]
            for columns, score in sorted(
                zip(path.columns, path.scores, strict=True), key=lambda one: (one[0] == kept, one[1].mean)
            )
        }
        for name, path in paths.items()
    }
    name = recommendation.recommended
    display = RecommendationDisplay(
        {labels[path]: [(n, *scores) for n, scores in sorted(found.items())] for path, found in sets.items()},
        recommended=(labels[name], n_kept) if kept and n_kept in sets.get(name, ()) else None,
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


def _keep_all_reason(recommendation: Recommendation) -> str:
    """Return why no smaller selection is recommended."""
    if len(recommendation.candidates) == 1:
        return "no smaller selection could be compared"
    return f"for no smaller selection a loss of more than {recommendation.margin:.2g} can be ruled out"


def decision_row(one: ColumnDecision, found: Recommendation) -> dict[str, Any]:
    """Return the folds that choose a column, similar columns, and why it is kept or dropped.

    Parameters
    ----------
    one : ColumnDecision
    found : Recommendation
    """
    n_folds = found.score.n_folds
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


def _rule_text(recommendation: Recommendation) -> str:
    """Return the rule by which the recommended selection is chosen."""
    score_format = score_format_for(recommendation.scorings[0])
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


def _deciding_name(recommendation: Recommendation) -> str:
    """Return the name of the model that decides, as in a sentence."""
    return model_name(recommendation.deciding_model, recommendation.models[recommendation.deciding_model])


def recommendation_cost(recommendation: Recommendation) -> str:
    """Return in a sentence how the recommended columns change the score of each model, compared with all columns."""
    name = recommendation.recommended
    if recommendation.chance:
        return ""
    if name != ALL_COLUMNS:
        return _changes_text(recommendation, name, "recommended")
    nearest = recommendation.nearest
    if nearest is None:
        return ""
    one = recommendation.candidates[nearest]
    size = count_with_noun(len(one.columns), "column")
    changes = _changes_text(recommendation, nearest, "this selection")
    return f"The nearest selection is {label_in_sentence(one.label)} ({size}). {changes}"


def _changes_text(recommendation: Recommendation, name: str, minuend: str) -> str:
    """Return the difference of each model from all columns with its interval, the largest loss first."""
    score_format = score_format_for(recommendation.scorings[0])
    changes = {model: recommendation.score_change(name, model) for model in recommendation.models}
    listed = join_names(
        [
            change_text(model_name(model, recommendation.models[model]), change, score_format)
            for model, change in sorted(changes.items(), key=lambda pair: pair[1].mean)
        ],
        width=_FULL_WIDTH,
    )
    return f"Difference in {score_format.name}, {minuend} minus all columns, with 95% confidence intervals: {listed}."


def _score_rows(recommendation: Recommendation, scoring: str) -> dict[str, Any]:
    """Return the rows of the table for one score."""
    score_format = score_format_for(scoring)

    def cell(name: str, model: str) -> tuple[str, str, str]:
        """Return the score, the difference from all columns and its direction."""
        score = score_format.format_score(recommendation.candidates[name].scores[model, scoring].mean)
        change = recommendation.score_change(name, model, scoring)
        if name == ALL_COLUMNS:
            return score, "", ""
        return score, format_difference(change.mean, score_format), change_direction(change.interval)

    return {
        "name": score_title(scoring),
        "baseline": score_format.format_score(recommendation.baseline[scoring].mean),
        "rows": [
            {
                "label": one.label,
                "kept": name == recommendation.recommended and not recommendation.chance,
                "size": n_chosen_text(one.n_chosen),
                "cells": [cell(name, model) for model in recommendation.models],
            }
            for name, one in recommendation.candidates.items()
        ],
    }


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
    for one in result.decisions:
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
    for one in result.decisions:
        found[one.name] = decision_code(one)
    leaks = () if result.leakage_exclusion is None else result.leakage_exclusion.columns
    return found | dict.fromkeys(leaks, "leak")

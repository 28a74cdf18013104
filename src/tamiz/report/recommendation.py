"""Recommended columns: selections compared by nested cross-validation under several models, and the one to keep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from tamiz.assessment.score_report import ALL_COLUMNS
from tamiz.report.score_text import (
    ScoreFormat,
    change_direction,
    format_difference,
    format_interval,
    model_name,
    n_chosen_text,
    unshown_notes,
)
from tamiz.report.text import (
    capitalize,
    count_with_noun,
    format_number,
    join_column_names,
    join_names,
    label_in_sentence,
    shorten,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tamiz.assessment.score_report import Recommendation
    from tamiz.report.drawing import Chart
    from tamiz.report.records import ColumnDecision, StudyRecord, TableRecord

# An adjusted p-value above this is no evidence that a column adds to the others.
_NOTHING_ADDED = 0.1
_REASONS = {
    "kept": "kept",
    "undecided": "kept, undecided",
    "nothing": "adds nothing measurable",
    "less": "adds less than the margin",
}
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


def collect_recommendation(record: StudyRecord) -> dict[str, Any] | None:
    """Return the recommended columns, their cost for each model, and all selections; None if selections were not compared."""
    found = record.recommendation
    if found is None:
        return None
    methods = [_METHODS[name] for name in found.candidates if name in _METHODS]
    return {
        "kept": _kept_text(found, record.table),
        "measured": _measured_text(found),
        "chart": _chart(found, record.table),
        "cost": recommendation_cost(found),
        "design": f"{count_with_noun(found.n_samples, 'row')}, {found.folds_description}. Every selection is repeated "
        f"inside each fold, on its training rows: {'; '.join(methods)}. Below each score is its difference from the score with all "
        "columns, computed before rounding.",
        "models": list(found.models.values()),
        "groups": [_score_rows(found, scoring) for scoring in found.scorings],
        "rule": _rule_text(found),
        "notes": unshown_notes(record, found),
    }


def initial_selection(record: StudyRecord) -> Sequence[str]:
    """Return the initial choice of columns on the page: those recommended, else the subset unless it may be chance, else none."""
    found, subset = record.recommendation, record.subset
    return found.columns if found is not None else [] if subset is None else subset.columns


def recommendation_text(recommendation: Recommendation, table: TableRecord) -> str:
    """Return in a few sentences which columns to keep, with the rows, the scores and the baseline."""
    return f"{_kept_text(recommendation, table)} {_measured_text(recommendation)}"


def _kept_text(recommendation: Recommendation, table: TableRecord) -> str:
    if recommendation.chance:
        return f"No columns are recommended, because the selection may be chance. {recommendation.chance}"
    # A date counts as one column, whatever its parts.
    columns = count_with_noun(table.count_own(recommendation.all_columns.columns), "column")
    chosen = recommendation.candidates[recommendation.recommended]
    if recommendation.keeps_all:
        return f"Keep all {columns}: {keep_all_reason(recommendation, table)}."
    kept = f"{table.count_own(chosen.columns):,} of {columns}"
    named = join_column_names(chosen.columns, limit=_MAX_NAMED)
    how = f"{label_in_sentence(chosen.label)}{', as requested' * recommendation.requested}"
    return f"Keep {kept}: {named} ({how})."


def _measured_text(recommendation: Recommendation) -> str:
    """Return the score of the recommended columns with its rows and interval, that of all columns, and the baseline."""
    score_format, score = ScoreFormat(recommendation.scorings[0]), recommendation.score
    n_sets = sum(len(path.columns) for path in recommendation.paths.values())
    among = f" (the choice among {n_sets:,} included)" if n_sets > 1 else ""
    scores = recommendation.all_columns.scores[recommendation.deciding], recommendation.baseline[score_format.scoring]
    every, baseline = (score_format.format_score(one.mean) for one in scores)
    of_columns = f"{score_format.format_score(score.mean)} ({score_format.format_interval(score.interval)})"
    return (
        f"In nested cross-validation of {count_with_noun(recommendation.n_samples, 'row')}{among}, the {score_format.name} of "
        f"{_deciding_name(recommendation)} is {of_columns}; all columns: {every}, none: {baseline}."
    )


def _chart(recommendation: Recommendation, table: TableRecord) -> Chart | None:
    """Return the chart of the scores by number of columns, cut below where need be; None unless a path has several sets."""
    # Imported late: the sentences work without matplotlib.
    from tamiz.display import RecommendationDisplay
    from tamiz.report.drawing import Chart

    paths, whole, kept = recommendation.paths, recommendation.all_columns, recommendation.columns
    if max((len(path.columns) for path in paths.values()), default=0) < 2:
        return None
    score_format = ScoreFormat(recommendation.scorings[0])
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
    labels = {name: shorten(one.label, 24) for name, one in recommendation.candidates.items()}
    name, n_kept = recommendation.recommended, table.count_own(kept)
    display = RecommendationDisplay(
        {labels[path]: [(n, *scores) for n, scores in sorted(found.items())] for path, found in sets.items()},
        recommended=(labels[name], n_kept) if kept and n_kept in sets.get(name, ()) else None,
        all_columns=(table.count_own(whole.columns), score_format.clip(whole.scores[recommendation.deciding].mean)),
        baseline=score_format.clip(recommendation.baseline[score_format.scoring].mean),
        score_label=f"{capitalize(score_format.name)} of {_deciding_name(recommendation)}",
    )
    described = f"The {score_format.name} by number of columns, one line per order of the columns."
    return Chart("scores-by-size", display.plot, described, height=250)


def keep_all_reason(recommendation: Recommendation, table: TableRecord) -> str:
    if recommendation.nearest is None:
        return "no smaller selection could be compared"
    score_format, nearest = ScoreFormat(recommendation.scorings[0]), recommendation.candidates[recommendation.nearest]
    fewer, every = (
        f"{table.count_own(one.columns):,} score {score_format.format_score(one.scores[recommendation.deciding].mean)}"
        for one in (nearest, recommendation.all_columns)
    )
    scores = f"{fewer} ({label_in_sentence(nearest.label)}) and all {every}"
    if -recommendation.score_change(recommendation.nearest, recommendation.deciding_model).mean > recommendation.margin:
        return f"{scores}: a loss of more than {recommendation.margin:.2g}"
    rows = count_with_noun(recommendation.n_samples, "row")
    return f"{scores}, but {rows} cannot exclude a loss of more than {recommendation.margin:.2g}"


DecisionCode: TypeAlias = Literal["kept", "undecided", "same", "nothing", "less"]


def decision_code(one: ColumnDecision, found: Recommendation) -> DecisionCode:
    """Return why a column is kept or dropped: recommended; kept only because the rows are too few to show that fewer are as good;
    redundant with a kept column; adding nothing measurable; or adding less than the margin.
    """
    adds_nothing = one.p_value is not None and one.p_value > _NOTHING_ADDED
    if one.kept and one.same_as is None:
        return "undecided" if adds_nothing and found.keeps_all else "kept"
    if one.same_as is not None or one.redundant_with is not None:
        return "same"
    return "nothing" if adds_nothing else "less"


def decision_sentence(one: ColumnDecision, found: Recommendation) -> str:
    """Return why a column is kept or dropped."""
    if one.same_as is not None:
        return f"Equivalent to {join_names([one.same_as])} (an association of at least 0.99), so not searched."
    if one.redundant_with is not None:
        return f"Redundant with {join_names([one.redundant_with])}, which is kept."
    return {
        "kept": "Belongs to the smallest set that loses nothing measurable.",
        "undecided": "Adds nothing measurable to the other columns, but the rows are too few to drop it.",
        "same": "",
        "nothing": "Adds nothing measurable to the other columns.",
        "less": "Adds less than the margin to the kept columns.",
    }[decision_code(one, found)]


def column_reasons(record: StudyRecord) -> dict[str, tuple[str, str]]:
    """Return a code (that of a decision, "leak", "excluded" or "other") and a few words for every column with a reason."""
    found: dict[str, tuple[str, str]] = {}
    for column in record.table.columns:
        if column.exclusion:
            found[column.name] = "excluded", column.exclusion
        elif column.same_as:
            found[column.name] = "other", f"same as {shorten(column.same_as, 30)}"
    if (recommendation := record.recommendation) is not None:
        for one in record.decisions:
            code = decision_code(one, recommendation)
            by = one.same_as or one.redundant_with
            known = found.get(one.name, ("", ""))[1] if code == "kept" else ""
            found[one.name] = code, known or (f"redundant with {shorten(by, 30)}" if code == "same" else _REASONS[code])
    leaks = () if record.leakage_exclusion is None else record.leakage_exclusion.columns
    return found | dict.fromkeys(leaks, ("leak", "possible leak"))


def _rule_text(recommendation: Recommendation) -> str:
    score_format = ScoreFormat(recommendation.scorings[0])
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
    """Return the score of each model on the recommended columns, or on the nearest selection, compared with all columns."""
    name, which = recommendation.recommended, "the recommended columns"
    if name == ALL_COLUMNS and recommendation.nearest is not None:
        name, nearest = recommendation.nearest, recommendation.candidates[recommendation.nearest]
        size = count_with_noun(len(nearest.columns), "column")
        which = f"the nearest selection, {label_in_sentence(nearest.label)} ({size})"
    if recommendation.chance or name == ALL_COLUMNS:
        return ""
    score_format = ScoreFormat(recommendation.scorings[0])
    changes = {model: recommendation.score_change(name, model) for model in recommendation.models}
    listed = [
        f"{model_name(model, recommendation.models[model])} "
        f"{score_format.format_score(recommendation.candidates[name].scores[model, score_format.scoring].mean)}, "
        f"{format_difference(change.mean, score_format)} ({format_interval(change.interval, score_format)})"
        for model, change in sorted(changes.items(), key=lambda pair: pair[1].mean)
    ]
    return (
        f"{capitalize(score_format.name)} of each model on {which}, and its difference from that on all columns (95% confidence "
        f"interval): {'; '.join(listed)}."
    )


def _score_rows(recommendation: Recommendation, scoring: str) -> dict[str, Any]:
    score_format = ScoreFormat(scoring)

    def cell(name: str, model: str) -> dict[str, str]:
        """Return the score, and the difference from all columns with its interval and direction."""
        score = score_format.format_score(recommendation.candidates[name].scores[model, scoring].mean)
        if name == ALL_COLUMNS:
            return {"score": score, "change": ""}
        change = recommendation.score_change(name, model, scoring)
        return {
            "score": score,
            "change": format_difference(change.mean, score_format),
            "interval": format_interval(change.interval, score_format),
            "direction": change_direction(change.interval),
        }

    return {
        "name": score_format.title,
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

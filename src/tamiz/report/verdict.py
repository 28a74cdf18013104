"""The verdict: which columns to keep and how sure that is, the columns that rank first, and one map, on the first screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tamiz.assessment.score_report import ALL_COLUMNS
from tamiz.report import marks
from tamiz.report.columns import ColumnEvidence
from tamiz.report.map_trust import most_trusted_map, trust_text
from tamiz.report.recommendation import decision_code, initial_selection
from tamiz.report.score_text import score_format_for
from tamiz.report.text import (
    capitalize,
    count_with_noun,
    format_count,
    format_number,
    format_percent,
    join_names,
    shorten,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tamiz.report.records.maps import ColorColumn
    from tamiz.report.records.study import StudyRecord
    from tamiz.runtime.codec import Interval

_KEPT_SHOWN, _ROWS_SHOWN, _CLASSES_SHOWN = 12, 10, 5


def collect_verdict(result: StudyRecord) -> dict[str, Any]:
    """Return the context of the first screen.

    Parameters
    ----------
    result : StudyRecord
        The record of a study.

    Returns
    -------
    dict
        The variables of the template.
    """
    evidence = ColumnEvidence(result)
    return {
        "size": _size_text(result),
        "balance": _class_balance(result),
        "range": _target_range(result),
        **_selection(result),
        "asides": _asides(result),
        "scores": _scores(result),
        "reliability": _reliability_text(result),
        "rows": (rows := [evidence.row(name) for name in evidence.names[:_ROWS_SHOWN]]),
        "has_pictures": any(row["picture"] for row in rows),
        "n_columns": len(result.table.columns),
        "is_ranked": evidence.ranking is not None,
        "map": _map(result),
    }


def _size_text(result: StudyRecord) -> str:
    table = result.table
    parts = [count_with_noun(table.n_rows, "row"), count_with_noun(len(table.own_columns), "column")]
    n_values = table.n_rows_used * len(table.columns)
    missing = sum(column.n_missing for column in table.columns) / n_values if n_values else 0.0
    if missing:
        parts.append(f"{format_percent(min(missing, 1.0))} missing")
    return " · ".join(parts)


def _class_balance(result: StudyRecord) -> dict[str, Any] | None:
    """Return the classes of the target, the largest first, with their shares as a bar and as text."""
    classes = sorted(enumerate(result.table.classes), key=lambda one: -one[1].weight)
    if not classes:
        return None
    total = sum(one.weight for _, one in classes) or 1.0
    # A class has the colour of its level, as on the maps.
    shown: list[tuple[str, float, int | None]] = [(one.name, one.weight / total, level) for level, one in classes]
    if len(shown) > _CLASSES_SHOWN:
        rest = shown[_CLASSES_SHOWN - 1 :]
        shown = [*shown[: _CLASSES_SHOWN - 1], (f"{len(rest):,} others", sum(share for _, share, _ in rest), None)]
    return {
        "bar": marks.share_bar([(share, marks.color_class(level)) for _, share, level in shown]),
        "classes": [
            (shorten(name, 24), format_percent(share), marks.color_class(level)) for name, share, level in shown
        ],
    }


def _target_range(result: StudyRecord) -> dict[str, Any] | None:
    """Return the mean and the standard deviation of a numeric target between its smallest and largest value."""
    summary = result.table.target_summary
    if summary is None or not summary.min < summary.max:
        return None
    scale, spread = marks.Scale(summary.min, summary.max), summary.sd or 0.0
    ends = (scale.at(summary.mean - spread), scale.at(summary.mean + spread))
    return {
        "mark": marks.dot_interval(scale.at(summary.mean), ends),
        "text": f"{format_number(summary.min)} to {format_number(summary.max)}, mean {format_number(summary.mean)}",
    }


def _selection(result: StudyRecord) -> dict[str, Any]:
    """Return the headline, a word or two on it, and the columns that are kept."""
    table, found = result.table, result.recommendation
    every = () if found is None else found.all_columns.columns
    n_used = table.count_own(every) if found is not None else table.n_own_used_columns
    kept = initial_selection(result)
    names = [shorten(name, 40) for name in kept[:_KEPT_SHOWN]]
    more = len(kept) - len(names)
    columns = {"kept": names, "more": f"and {more:,} more" if more > 0 else ""}
    if found is not None and found.chance:
        return {"headline": "Keep nothing yet", "why": found.chance, "kept": [], "more": ""}
    if found is not None and found.recommended == ALL_COLUMNS:
        why = f"For no smaller selection a loss of more than {found.margin:.2g} can be ruled out."
        return {"headline": f"Keep all {count_with_noun(n_used, 'column')}", "why": why, **columns}
    if kept:
        headline = f"Keep {table.count_own(kept):,} of {count_with_noun(n_used, 'column')}"
        why = "" if found is not None else "Selected by a search whose score on new rows was not evaluated."
        return {"headline": headline, "why": why, **columns}
    why = "There is no target." if table.target is None else "No selection was evaluated."
    return {"headline": count_with_noun(n_used, "column"), "why": why, "kept": [], "more": ""}


def _asides(result: StudyRecord) -> list[str]:
    """Return how many columns are not kept for each reason, and the groups of redundant columns."""
    lines = []
    if (leaks := result.leakage_exclusion) is not None:
        what = count_with_noun(len(leaks.columns), "possible leak")
        lines.append(f"{what} set aside: {join_names(leaks.columns, limit=4, width=24)}")
    for code, phrase in (("same", "{} redundant with a kept column"), ("nothing", "{} nothing measurable")):
        n = result.table.count_own(one.name for one in result.decisions if decision_code(one) == code)
        verb = {"same": "is" if n == 1 else "are", "nothing": "adds" if n == 1 else "add"}[code]
        lines += [f"{n:,} {phrase.format(verb)}"] if n else []
    n_excluded = sum(
        bool(column.exclusion) for column in result.table.own_columns if not leaks or column.name not in leaks.columns
    )
    lines += [f"{count_with_noun(n_excluded, 'column')} cannot be used"] if n_excluded else []
    groups = 0 if result.redundancy is None or result.recommendation is not None else len(result.redundancy.groups)
    lines += [f"{count_with_noun(groups, 'group')} of redundant columns"] if groups else []
    return lines


def _scores(result: StudyRecord) -> dict[str, Any] | None:
    """Return the score on new rows of the kept columns, of all columns and without columns, on one axis."""
    found = result.recommendation
    if found is None:
        return None
    (model, scoring), every = found.deciding, found.all_columns
    score_format, whole = score_format_for(scoring), every.scores[found.deciding]
    n_all = count_with_noun(result.table.count_own(every.columns), "column")
    rows: list[tuple[str, float, Interval | None]] = [(f"all {n_all}", whole.mean, whole.interval)]
    if not found.chance and found.recommended != ALL_COLUMNS:
        kept = count_with_noun(result.table.count_own(found.columns), "kept column")
        rows.insert(0, (kept, found.score.mean, found.score.interval))
    rows.append(("without columns", found.baseline[scoring].mean, None))
    spans = [score_format.clip(end) for _, mean, interval in rows for end in (mean, *(interval or ()))]
    around = marks.Scale.around(spans)
    scale = marks.Scale(score_format.clip(around.low), score_format.clip(around.high))
    return {
        "title": f"{capitalize(score_format.name)} of {found.models[model]}, new rows",
        "rows": [
            {
                "label": label,
                "text": score_format.format_score(mean),
                "mark": marks.dot_interval(
                    scale.at(score_format.clip(mean)),
                    None if interval is None else tuple(scale.at(score_format.clip(end)) for end in interval),
                ),
            }
            for label, mean, interval in rows
        ],
        "ends": [score_format.format_score(end) for end in (scale.low, scale.high)],
        "design": f"{count_with_noun(found.n_samples, 'row')}, {found.folds_description}, 95% intervals",
    }


def _reliability_text(result: StudyRecord) -> str:
    found, parts = result.reliability, []
    if found is None:
        return ""
    if (null := found.null) is not None and len(null.null_values):
        n = int((null.null_values >= null.observed).sum())
        searches = count_with_noun(len(null.null_values), "search", "searches")
        parts.append(f"Shuffled target: {n or 'none'} of {searches} as good.")
    recommended = result.recommendation
    # Neither all columns nor none is a selection that could change.
    if recommended is None or not (recommended.chance or recommended.recommended == ALL_COLUMNS):
        stability = found.stability
        estimate, low, high = (
            f"{one:.2f}".replace("-", "−") for one in (stability.estimate, stability.low, stability.high)
        )
        parts.append(f"Stability {estimate} ({low} to {high}).")
    return " ".join(parts)


def _map(result: StudyRecord) -> dict[str, Any] | None:
    """Return the map that may be trusted most, as a picture, with what may be trusted on it."""
    k = most_trusted_map(result)
    if k is None:
        return None
    shown = result.maps[k]
    assert shown.points is not None
    color: ColorColumn | None = next(iter(result.colors), None)
    points = shown.points if len(shown.axes) > 1 else marks.stack_points([x for (x,) in shown.points], color)
    return {
        "label": shown.label,
        "n": format_count(len(points)),
        "picture": marks.map_picture(
            points, color, one_scale=shown.comparable_axes and len(shown.axes) > 1 and marks.can_share_scale(points)
        ),
        "legend": _legend(color),
        "trust": trust_text(result.quality, k),
    }


def _legend(color: ColorColumn | None) -> dict[str, Any] | None:
    if color is None:
        return None
    if color.kind != "categorical":
        known = [value for value in color.values if value is not None]
        ends = [format_number(end, digits=3) for end in (min(known), max(known))] if known else []
        return {"title": shorten(color.name, 40), "levels": [], "ends": [] if color.kind == "date" else ends}
    present: Sequence[int] = sorted({int(code) for code in color.values if code is not None})
    shown = [(shorten(color.levels[code], 24), marks.color_class(code)) for code in present[: marks.N_COLORS]]
    return {"title": shorten(color.name, 40), "levels": shown, "ends": []}

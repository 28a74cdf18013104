"""The verdict: which columns to keep and how sure that is, the columns that rank first, and one map, on the first screen."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from tamiz.display import figures
from tamiz.report import drawing
from tamiz.report.columns import ColumnEvidence
from tamiz.report.recommendation import initial_selection, keep_all_reason
from tamiz.report.score_text import ScoreFormat, mark_scores, most_trusted_map, trust_text
from tamiz.report.table import class_shares
from tamiz.report.text import (
    capitalize,
    count_with_noun,
    format_count,
    format_number,
    format_percent,
    join_column_names,
    join_names,
    shorten,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tamiz.report.records import ColorColumn, StudyRecord
    from tamiz.runtime.codec import Interval
    from tamiz.runtime.verdicts import Verdict


_COLUMNS_SHOWN, _WARNINGS_SHOWN, _NAME_WIDTH, _BAR_WIDTH = 7, 4, 22, 15


def verdict_lines(record: StudyRecord, seconds: float | None = None) -> list[str]:
    """Return the table, the columns to keep with their score, the warnings, and the columns that rank first."""
    found, target = collect_verdict(record), record.table.target
    title = f"{shorten(record.title, 40)}   {found['size'].replace(' · ', ', ')}"
    if target is not None:
        share = "" if found["balance"] is None else " ({} {})".format(*found["balance"]["classes"][-1][:2])
        share += "" if found["range"] is None else f" ({found['range']['text']})"
        title += f" -> {shorten(target, 30)}{share}"
    if seconds is not None:
        title += f"   {seconds:.0f} s"
    kept = f": {join_column_names(found['kept'], limit=6, width=30)}" if found["kept"] else ""
    lines = [title, "", f"  {found['headline']}{kept}"]
    if found["scores"] is not None:
        scores = ", ".join(f"{row['label']} {row['text']}" for row in found["scores"]["rows"])
        lines.append(f"  {found['scores']['title']}: {scores}")
    lines += [f"  {found['why']}"] if found["why"] else []
    lines += [f"  ! {record.interruption}"] if record.interruption else []
    lines += [f"  ! {aside}" for aside in found["asides"] if "leak" in aside]
    lines += [f"  ! {_short_warning(one)}" for one in _first_warnings(record)]
    lines += ["", *_column_lines(found["rows"][:_COLUMNS_SHOWN])]
    return lines


def _first_warnings(record: StudyRecord) -> list[Verdict]:
    """Return the first warning of each code but that of possible leaks, the most severe first; no notes."""
    leaks = "TZ101" if record.leakage_exclusion is not None else ""
    first: dict[str, Verdict] = {}
    for one in record.warnings:
        if one.severity != "note" and one.code != leaks:
            first.setdefault(one.code, one)
    return list(first.values())[:_WARNINGS_SHOWN]


def _short_warning(warning: Verdict) -> str:
    columns = f": {join_names(warning.columns, limit=3, width=20)}" if warning.columns else ""
    return f"{warning.label.lower()}{columns} ({warning.code})"


def _column_lines(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield a line for each column: its name, whether it is kept, and a bar that is longer for a better mean rank."""
    worst = max((row["rank"]["value"] for row in rows if row["rank"]), default=1.0)
    width = min(_NAME_WIDTH, max((len(row["name"]) for row in rows), default=0))
    for row in rows:
        name = f"{shorten(row['name'], width):<{width}}"
        bar = ""
        if row["rank"]:
            share = (worst + 1 - row["rank"]["value"]) / worst
            bar = f"{'█' * max(1, round(_BAR_WIDTH * share)):<{_BAR_WIDTH}}  {row['rank']['text']}"
        why = "" if row["kept"] else row["why"]
        yield f"  {name}  {'keep' if row['kept'] else '    '}  {bar}  {why}".rstrip()


_KEPT_SHOWN, _ROWS_SHOWN, _CLASSES_SHOWN = 12, 10, 5
# What became of the columns that are not kept for sure, in words on their number.
_STATES = {
    "undecided": "{:,} of them undecided",
    "same": "{:,} redundant with a kept column",
    "less": "{:,} adding less than the margin",
    "nothing": "{:,} adding nothing measurable",
    "excluded": "{:,} cannot be used",
}


def collect_verdict(record: StudyRecord) -> dict[str, Any]:
    """Return the context of the first screen."""
    evidence = ColumnEvidence(record)
    return {
        "size": _size_text(record),
        "balance": _class_balance(record),
        "range": _target_range(record),
        **_selection(record),
        "asides": _asides(record, evidence.reasons),
        "scores": _scores(record),
        "reliability": _reliability_text(record),
        "rows": (rows := [evidence.row(name) for name in evidence.names[:_ROWS_SHOWN]]),
        "has_pictures": any(row["picture"] for row in rows),
        "n_columns": len(record.table.columns),
        "is_ranked": evidence.has_target and evidence.ranking is not None,
        "map": _map(record),
    }


def _size_text(record: StudyRecord) -> str:
    table = record.table
    used = f", {table.n_rows_used:,} used" if table.n_rows_used < table.n_rows else ""
    parts = [f"{count_with_noun(table.n_rows, 'row')}{used}", count_with_noun(len(table.own_columns), "column")]
    n_values = table.n_rows_used * len(table.columns)
    missing = sum(column.n_missing for column in table.columns) / n_values if n_values else 0.0
    if missing:
        parts.append(f"{format_percent(min(missing, 1.0))} missing")
    return " · ".join(parts)


def _class_balance(record: StudyRecord) -> dict[str, Any] | None:
    """Return the classes of the target, the largest first, with their shares as a bar and as text."""
    # A class has the colour of its level, as on the maps.
    shown = [
        (name, share, drawing.color_class(level))
        for name, _, share, level in class_shares(record.table, _CLASSES_SHOWN)
    ]
    if not shown:
        return None
    return {
        "bar": drawing.share_bar([(share, color) for _, share, color in shown]),
        "classes": [(shorten(name, 24), format_percent(share), color) for name, share, color in shown],
    }


def _target_range(record: StudyRecord) -> dict[str, Any] | None:
    """Return the mean and the standard deviation of a numeric target between its smallest and largest value."""
    summary = record.table.target_summary
    if summary is None or not summary.min < summary.max:
        return None
    spread = summary.sd or 0.0
    return {
        "mark": drawing.Scale(summary.min, summary.max).mark(
            summary.mean, (summary.mean - spread, summary.mean + spread)
        ),
        "text": f"{format_number(summary.min)} to {format_number(summary.max)}, mean {format_number(summary.mean)}",
    }


def _selection(record: StudyRecord) -> dict[str, Any]:
    """Return the headline, a word or two on it, and the columns that are kept."""
    table, found, kept = record.table, record.recommendation, initial_selection(record)
    n_used = table.n_own_used_columns if found is None else table.count_own(found.all_columns.columns)
    columns, why = count_with_noun(n_used, "column"), ""
    headline = f"Keep {table.count_own(kept):,} of {columns}"
    if found is None and kept:
        why = "Selected by a search whose score on new rows was not evaluated."
    elif found is None:
        headline, why = columns, "There is no target." if table.target is None else "No selection was evaluated."
    elif found.chance:
        headline, why = "Keep nothing yet", found.chance
    elif found.keeps_all:
        headline, why = f"Keep all {columns}", f"{capitalize(keep_all_reason(found, table))}."
    names = [shorten(name, 40) for name in kept[:_KEPT_SHOWN]]
    return {"headline": headline, "why": why, "kept": names, "n_more": len(kept) - len(names)}


def _asides(record: StudyRecord, reasons: Mapping[str, tuple[str, str]]) -> list[str]:
    """Return how many columns are not kept for each reason, and the groups of redundant columns."""
    lines = []
    if (leaks := record.leakage_exclusion) is not None:
        what = count_with_noun(len(leaks.columns), "possible leak")
        lines.append(f"{what} set aside: {join_names(leaks.columns, limit=4, width=24)}")
    states = _count_states(record, reasons)
    lines += [f"{words.format(states[code])}" for code, words in _STATES.items() if states[code]]
    groups = 0 if record.redundancy is None or record.recommendation is not None else len(record.redundancy.groups)
    lines += [f"{count_with_noun(groups, 'group')} of redundant columns"] if groups else []
    return lines


def _count_states(record: StudyRecord, reasons: Mapping[str, tuple[str, str]]) -> Counter[str]:
    """Return the number of columns by what became of them; a date counts once, kept if one of its parts is."""
    states: dict[str, list[str]] = {}
    for column in record.table.columns:
        states.setdefault(column.date or column.name, []).append(reasons.get(column.name, ("other", ""))[0])
    order = ["leak", "kept", *_STATES, "other"]
    return Counter(min(codes, key=order.index) for codes in states.values())


def _scores(record: StudyRecord) -> dict[str, Any] | None:
    """Return the score on new rows of the kept columns, of all columns and without columns, on one axis."""
    found = record.recommendation
    if found is None:
        return None
    (model, scoring), every = found.deciding, found.all_columns
    score_format, whole = ScoreFormat(scoring), every.scores[found.deciding]
    n_all = count_with_noun(record.table.count_own(every.columns), "column")
    rows: list[tuple[str, float, Interval | None]] = [(f"all {n_all}", whole.mean, whole.interval)]
    if not (found.chance or found.keeps_all):
        kept = count_with_noun(record.table.count_own(found.columns), "kept column")
        rows.insert(0, (kept, found.score.mean, found.score.interval))
    rows.append(("without columns", found.baseline[scoring].mean, None))
    scale, drawn = mark_scores([(mean, interval) for _, mean, interval in rows], score_format)
    return {
        "title": f"{capitalize(score_format.name)} of {found.models[model]}, new rows",
        "rows": [
            {"label": label, "text": score_format.format_score(mean), "mark": mark}
            for (label, mean, _), mark in zip(rows, drawn, strict=True)
        ],
        "ends": [score_format.format_score(end) for end in (scale.low, scale.high)],
        "design": f"{count_with_noun(found.n_samples, 'row')}, {found.folds_description}, columns chosen in each; 95% intervals",
    }


def _reliability_text(record: StudyRecord) -> str:
    found, recommended, words = record.reliability, record.recommendation, ""
    if found is None:
        return ""
    if found.null is not None and len(found.null.null_values):
        words = f"{found.null.count_text}. "
    # Neither all columns nor none is a selection that could change.
    if recommended is None or not (recommended.chance or recommended.keeps_all):
        stability = found.stability
        words += f"Stability {stability.estimate:.2f} ({stability.low:.2f} to {stability.high:.2f}).".replace("-", "−")
    return words.rstrip()


def _map(record: StudyRecord) -> dict[str, Any] | None:
    """Return the map that may be trusted most, as a picture, with what may be trusted on it."""
    k = most_trusted_map(record)
    if k is None:
        return None
    shown = record.maps[k]
    assert shown.points is not None
    color: ColorColumn | None = next(iter(record.colors), None)
    points = shown.points if len(shown.axes) > 1 else drawing.stack_points([x for (x,) in shown.points], color)
    return {
        "label": shown.label,
        "n": format_count(len(points)),
        "picture": drawing.map_picture(
            points, color, one_scale=shown.comparable_axes and len(shown.axes) > 1 and figures.can_share_scale(points)
        ),
        "legend": _legend(color),
        "trust": f"{_map_columns_text(record)}{trust_text(record.quality, k)}",
    }


def _map_columns_text(record: StudyRecord) -> str:
    used = record.map_columns
    return (
        "" if used is None else f"Made of {len(used):,} of {count_with_noun(record.table.n_used_columns, 'column')}. "
    )


def _legend(color: ColorColumn | None) -> dict[str, Any] | None:
    if color is None:
        return None
    if color.kind != "categorical":
        known = [value for value in color.values if value is not None]
        ends = [format_number(end, digits=3) for end in (min(known), max(known))] if known else []
        return {"title": shorten(color.name, 40), "levels": [], "ends": [] if color.kind == "date" else ends}
    present: Sequence[int] = sorted({int(code) for code in color.values if code is not None})
    shown = [(shorten(color.levels[code], 24), drawing.color_class(code)) for code in present[: drawing.N_COLORS]]
    return {"title": shorten(color.name, 40), "levels": shown, "ends": []}

"""The verdict of a study in a few lines of text, for a terminal and for Python's prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tamiz.report.text import join_column_names, join_names, shorten
from tamiz.report.verdict import collect_verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tamiz.report.records.study import StudyRecord
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

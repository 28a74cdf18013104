"""The verdict on two tables in a few lines of text, for a terminal and for Python's prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tamiz.drift.sentences import changed_text, format_psi, format_score, membership_text, outside_text, scorer_label
from tamiz.report.text import count_with_noun, format_number, format_percent, join_column_names, shorten

if TYPE_CHECKING:
    from tamiz.drift.records import ColumnDrift, ComparisonRecord

_COLUMNS_SHOWN, _NAME_WIDTH = 5, 22


def verdict_lines(found: ComparisonRecord, seconds: float | None = None) -> list[str]:
    """Return both tables, how many columns have changed, the scores, the warnings, and the columns of the largest changes.

    Parameters
    ----------
    found : ComparisonRecord
    seconds : float, default=None
        How long the comparison took.
    """
    sizes = [
        f"{shorten(one.name, 30)} {count_with_noun(one.n_rows, 'row')} x {count_with_noun(one.n_columns, 'column')}"
        for one in (found.first, found.second)
    ]
    title = f"{sizes[0]}   ->   {sizes[1]}" + ("" if seconds is None else f"   {seconds:.0f} s")
    names = f": {join_column_names(found.changed, limit=6, width=30)}" if found.changed else ""
    lines = [title, "", f"  {changed_text(found)}{names}"]
    if found.membership is not None:
        lines.append(f"  Tables recognised by a model: {membership_text(found.membership)}")
    if found.target is not None:
        one = found.target
        low, high = map(format_score, one.difference_interval)
        change = f"difference {format_score(one.difference)}, {low} to {high}"
        first, second = map(format_score, one.scores)
        lines.append(f"  Score on new rows: {scorer_label(one)} {second}, on the first table {first} ({change})")
    if found.new_rows is not None:
        lines.append(f"  {outside_text(found)}")
    stated = [one for one in found.warnings if one.severity != "note" and one.code != "TZ212"]
    first_of_code = {one.code: stated.index(one) for one in reversed(stated)}
    for warning in (stated[at] for at in sorted(first_of_code.values())[:4]):
        columns = f": {join_column_names(warning.columns, limit=3, width=20)}" if warning.columns else ""
        lines.append(f"  ! {warning.label}{columns} ({warning.code})")
    width = min(_NAME_WIDTH, max(len(one.name) for one in found.columns))
    lines.append("")
    for column in found.columns[:_COLUMNS_SHOWN]:
        change = "        " if column.change == "none" else "changed "
        lines.append(
            f"  {shorten(column.name, width):<{width}}  {change}  PSI {format_psi(column.psi):>5}  {column_text(column)}"
        )
    return lines


def column_text(one: ColumnDrift) -> str:
    """Return what differs in a column: means or most frequent levels, missing values, new levels and the unit."""
    parts = []
    if one.power:
        parts.append(f"unit? values × {10.0**one.power:,g}")
    if one.mean is not None and (one.kind == "date" or _has_years(one)):
        form = _format_day if one.kind == "date" else "{:.1f}".format
        parts.append("mean {} → {}".format(*map(form, one.mean)))
    elif one.mean is not None and one.deviation is not None:
        texts = [
            f"{format_number(mean)} ± {format_number(deviation, digits=2)}"
            for mean, deviation in zip(one.mean, one.deviation, strict=True)
        ]
        parts.append(f"mean {texts[0]} → {texts[1]}")
    elif one.level is not None and max(share for _, share in one.level) >= 0.05:
        (first, share), (second, other) = one.level
        # The most frequent of very many levels is of no interest.
        texts = [f"{shorten(first, 20)} {format_percent(share)}", f"{shorten(second, 20)} {format_percent(other)}"]
        if first == second:
            texts[1] = format_percent(other)
        parts.append(f"most often {texts[0]} → {texts[1]}")
    if abs(one.missing[1] - one.missing[0]) >= 0.01:
        parts.append("missing {} → {}".format(*map(format_percent, one.missing)))
    if one.n_new_levels:
        parts.append(f"{count_with_noun(one.n_new_levels, 'new level')} in {format_percent(one.new_share)}")
    if one.n_lost_levels:
        parts.append(f"{count_with_noun(one.n_lost_levels, 'lost level')}")
    return ", ".join(parts)


def _has_years(one: ColumnDrift) -> bool:
    """Whether the values look like a few years, which are written without a separator of thousands."""
    levels = () if one.distribution is None else one.distribution.levels
    return (
        one.kind == "numeric"
        and bool(levels)
        and all("1800" <= level <= "2200" and len(level) == 4 for level in levels)
    )


def _format_day(seconds: float) -> str:
    return str(np.datetime64(round(seconds), "s"))[:10]

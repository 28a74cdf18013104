"""The table: rows, target, classes, duplicates, possible leakage, doubtful kinds, and a summary of each column."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from tamiz.report.leakage import exclusion_text, leakage_evidence
from tamiz.report.text import (
    count_with_noun,
    format_count,
    format_number,
    format_percent,
    join_column_names,
    join_names,
    kinds_argument,
    kinds_option,
    shorten,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tamiz.assessment.findings import PossibleLeak
    from tamiz.report.records.columns import ColumnSummary, EqualRowsRecord, TableRecord
    from tamiz.report.records.study import StudyRecord

_CLASSES_SHOWN = 12
_EPOCH, _DAY = datetime(1970, 1, 1, tzinfo=UTC), 86_400
# Columns in a list with options.
_MAX_ROWS = 8


def collect_table(result: StudyRecord) -> dict[str, Any]:
    """Return the context of the section: facts, the balance of the classes, and one row per column.

    Parameters
    ----------
    result : StudyRecord
        The record of a study.

    Returns
    -------
    dict
        The variables of the template.
    """
    table = result.table
    return {
        "lead": _lead(result),
        "facts": list(_facts(table)),
        "row_order": table.row_order,
        "balance": _class_balance(table),
        "target_summary": _target_summary(table),
        "boxes": list(_boxes(result)),
        "harmless": [_leak_row(leak, table) for leak in table.leakage if _excluded(leak, table) - _set_aside(result)],
    }


def _lead(result: StudyRecord) -> str:
    table = result.table
    n_rows, n_used, n_columns = table.n_rows, table.n_rows_used, len(table.own_columns)
    words = f"{count_with_noun(n_rows, 'row')} and {count_with_noun(n_columns, 'column')}"
    if table.target is None:
        return f"{words}; there is no target."
    words = f"{count_with_noun(n_rows, 'row')}, {count_with_noun(n_columns, 'column')} and the target {shorten(table.target, 60)}"
    if (n_used_columns := table.n_own_used_columns) < n_columns:
        words += f"; {count_with_noun(n_used_columns, 'column')} {'is' if n_used_columns == 1 else 'are'} used"
    if n_used < n_rows:
        verb = "is" if n_rows - n_used == 1 else "are"
        words += f"; {count_with_noun(n_rows - n_used, 'row')} without a target {verb} not used"
    set_aside = "" if result.leakage_exclusion is None else f" {exclusion_text(result.leakage_exclusion)}"
    return f"{words}.{set_aside}{_leakage_lead(table)}"


def _leakage_lead(table: TableRecord) -> str:
    """Return a sentence on used columns of possible target leakage, "" if there are none."""
    used = {column.name for column in table.columns if not column.exclusion}
    leaking = list(dict.fromkeys(name for leak in table.leakage if used.issuperset(leak.names) for name in leak.names))
    if not leaking:
        return ""
    verb = "its values are" if len(leaking) == 1 else "their values are"
    named, target = join_column_names(leaking, limit=3), shorten(table.target, 40)
    return f" Possible target leakage: {named}, unless {verb} known before {target}."


def _boxes(result: StudyRecord) -> Iterator[dict[str, Any]]:
    """Yield the columns of possible target leakage that are used, those that are set aside, and those of doubtful kinds."""
    table, set_aside = result.table, _set_aside(result)
    if used := [leak for leak in table.leakage if not _excluded(leak, table)]:
        kinds = {name: "id" for leak in used for name in leak.names}
        yield _box(
            [_leak_row(leak, table) for leak in used],
            "Possible target leakage: a column that is recorded after the target is known, or is the target under another name, "
            f"inflates every score below. To exclude {'it' if len(kinds) == 1 else 'them'}:",
            kinds_option(kinds),
            kinds_argument(kinds),
        )
    if aside := [leak for leak in table.leakage if _excluded(leak, table) & set_aside]:
        yield _box(
            [_leak_row(leak, table) for leak in aside],
            "Possible target leakage is set aside: no section below uses these columns. If their values are known before the "
            "target, use them:",
            "--keep-leaks",
            "keep_leaks=True",
        )
    doubtful = [(column, hint) for column in table.columns if (hint := column.kind_suggestion) is not None]
    if doubtful:
        rows = [
            (one.name, f"is {one.kind}{', excluded' if one.exclusion else ''}, and could be {hint.kind}: {hint.reason}")
            for one, hint in doubtful
        ]
        kinds = {one.name: hint.kind for one, hint in doubtful[:_MAX_ROWS]}
        text = "These kinds are inferred from the values. To set others:"
        yield _box(rows, text, kinds_option(kinds), kinds_argument(kinds), warns=False)


def _box(rows: list[tuple[str, str]], text: str, command: str, python: str, *, warns: bool = True) -> dict[str, Any]:
    """Return names with what is found on each, and the options to use in that case."""
    more = len(rows) - _MAX_ROWS
    return {
        "rows": rows[:_MAX_ROWS],
        "more": count_with_noun(more, "other") if more > 0 else "",
        "text": text,
        "command": command,
        "python": python,
        "warns": warns,
    }


def _leak_row(leak: PossibleLeak, table: TableRecord) -> tuple[str, str]:
    return leak.name, leakage_evidence(leak, shorten(table.target, 40))


def _excluded(leak: PossibleLeak, table: TableRecord) -> set[str]:
    """Return those of the columns of a leak that are excluded."""
    return {column.name for column in table.columns if column.exclusion}.intersection(leak.names)


def _set_aside(result: StudyRecord) -> set[str]:
    return set() if result.leakage_exclusion is None else {*result.leakage_exclusion.columns}


def _duplicate_facts(table: TableRecord) -> list[tuple[str, str]]:
    """Return the facts on duplicate rows, contradicting rows and duplicate columns."""
    rows, facts = table.duplicate_rows, []
    text = "not checked: too many rows"
    if rows is not None:
        verb = "repeats" if rows.n == 1 else "repeat"
        text = (
            f"{count_with_noun(rows.n, 'row')} {verb} an earlier one, such as {_example_rows(rows)}"
            if rows.n
            else "none"
        )
        contradicting = rows.contradictions
        if contradicting.n:
            facts.append(
                (
                    "Contradicting rows",
                    f"{count_with_noun(contradicting.n, 'row')} equal to a row of another class, such as "
                    f"{_example_rows(contradicting)}",
                )
            )
    same = [f"{shorten(c.name, 40)} equals {shorten(c.same_as, 40)}" for c in table.columns if c.same_as]
    return [
        ("Duplicate rows", text),
        *facts,
        ("Duplicate columns", join_names(same, limit=4, width=90) if same else "none"),
    ]


def _example_rows(duplicates: EqualRowsRecord) -> str:
    return f"rows {join_names([f'{row + 1:,}' for row in duplicates.example])}"


def _facts(table: TableRecord) -> list[tuple[str, str]]:
    columns = table.own_columns
    kinds: dict[str, int] = {}
    for column in columns:
        kinds[column.kind] = kinds.get(column.kind, 0) + 1
    facts = [
        (
            "Kinds",
            join_names([f"{format_count(n)} {kind}" for kind, n in sorted(kinds.items(), key=lambda k: (-k[1], k[0]))]),
        )
    ]
    incomplete = [column for column in columns if column.n_missing]
    missing = "none"
    if incomplete:
        worst = max(incomplete, key=lambda column: column.n_missing)
        most = f"{format_count(worst.n_missing)} in {shorten(worst.name, 40)}"
        missing = (
            most
            if len(incomplete) == 1
            else f"in {len(incomplete):,} columns, most in {shorten(worst.name, 40)} ({format_count(worst.n_missing)})"
        )
    facts.append(("Missing values", missing))
    constant = [column.name for column in columns if column.constant]
    facts.append(("Constant columns", join_column_names(constant) if constant else "none"))
    facts += _duplicate_facts(table)
    if table.weight_column is not None:
        facts.append(("Row weights", f"from the column {shorten(table.weight_column, 40)}{_weight_size(table)}"))
    if table.group_column is not None:
        facts.append(("Groups of rows", f"from the column {shorten(table.group_column, 40)}"))
    if table.time_column is not None:
        facts.append(("Time of rows", f"from the column {shorten(table.time_column, 40)}"))
    return [fact for fact in facts if fact[1]]


def _weight_size(table: TableRecord) -> str:
    """Return what the weights are, and the number of rows that they stand for."""
    if table.total_weight is None:
        return ""
    if table.weight_kind == "sampling":
        return (
            f", sampling weights: {table.n_rows_used:,} rows have an effective sample size of {table.total_weight:,.1f}"
        )
    return f", numbers of equal rows: {table.n_rows_used:,} rows count as {table.total_weight:,.10g}"


def _class_balance(table: TableRecord) -> dict[str, Any] | None:
    classes = table.classes
    if not classes:
        return None
    total = sum(c.weight for c in classes) or 1.0
    ordered = sorted(classes, key=lambda c: -c.weight)
    shown = ordered if len(ordered) <= _CLASSES_SHOWN else ordered[: _CLASSES_SHOWN - 1]
    names, weights = [c.name for c in shown], [float(c.weight) for c in shown]
    if len(shown) < len(ordered):
        names.append(f"{len(ordered) - len(shown):,} more classes together")
        weights.append(float(sum(c.weight for c in ordered[len(shown) :])))
    first, last = ordered[0], ordered[-1]
    share = format_percent(first.weight / total)
    title = f"{shorten(first.name, 40)} is the largest of {len(classes):,} classes: {share} of the rows"
    if first.weight == last.weight:
        title = f"Each of the {count_with_noun(len(classes), 'class', 'classes')} has {share} of the rows"
    return {
        "title": title,
        "note": "A model that always predicts the largest class has this accuracy: it is the baseline of accuracy.",
        "rows": [
            {
                "name": name,
                "percent": f"{100 * weight / total:.1f}",
                "text": f"{format_count(weight)} ({format_percent(weight / total)})",
            }
            for name, weight in zip(names, weights, strict=True)
        ],
    }


def _target_summary(table: TableRecord) -> list[tuple[str, str]] | None:
    summary = table.target_summary
    if summary is None:
        return None
    words = [("mean", "Mean"), ("sd", "Standard deviation"), ("min", "Smallest"), ("max", "Largest")]
    return [(word, format_number(getattr(summary, key))) for key, word in words]


def values_text(column: ColumnSummary) -> str:
    """Return the distinct values of a column, with the range of numbers or the first levels.

    Parameters
    ----------
    column : ColumnSummary
    """
    distinct = _n_distinct_text(column)
    parts = [f"{distinct} distinct" if distinct else "", _levels_text(column.levels, column.n_levels)]
    if column.numbers is not None:
        words = {"min": "smallest", "mean": "mean", "max": "largest", "sd": "standard deviation"}
        texts = {word: _statistic_text(column, key) for key, word in words.items()}
        parts.append(", ".join(f"{word} {text}" for word, text in texts.items() if text))
    return ": ".join(filter(None, [parts[0], " ".join(filter(None, parts[1:]))]))


def _n_distinct_text(column: ColumnSummary) -> str:
    """Return the number of distinct values of a column, "many" if they were not counted."""
    if column.n_distinct is not None:
        return f"{column.n_distinct:,}"
    return "" if column.exclusion else "many"


def _statistic_text(column: ColumnSummary, key: str) -> str:
    """Return a statistic of a column as text, "" if it is not known."""
    value: float | None = None if column.numbers is None else getattr(column.numbers, key)
    if value is None:
        return ""
    if column.kind == "date":
        return _format_date_statistic(value, key)
    return f"{value:.4g}" if key != "sd" and column.has_years else format_number(value)


def _format_date_statistic(value: float, key: str) -> str:
    """Return a statistic of dates, stored as seconds since 1970, as a day or a number of days."""
    if key == "sd":
        return count_with_noun(float(f"{value / _DAY:.4g}"), "day")
    try:
        return (_EPOCH + timedelta(seconds=value)).date().isoformat()
    except OverflowError:
        return format_number(value)


def _levels_text(levels: Sequence[str], n_levels: int | None) -> str:
    """Return the first four levels and the number of the others; the result contains only the first twenty."""
    if not levels:
        return ""
    shown = [shorten(level, 24) for level in levels[:4]]
    more = (n_levels or len(levels)) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more > 0 else "")

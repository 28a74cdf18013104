"""The table: rows, target, classes, duplicates, possible leakage, doubtful kinds, and a summary of each column."""

from __future__ import annotations

import math
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from tamiz.report.score_text import ScoreFormat
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
    visible_name,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tamiz.assessment.findings import PossibleLeak
    from tamiz.report.records import ColumnSummary, EqualRowsRecord, LeakageExclusion, StudyRecord, TableRecord


def collect_reproduction(record: StudyRecord) -> dict[str, Any]:
    """Return what the code repeats, how to run it, and the versions."""
    name, placeholders = visible_name(record.title), record.reproduction.placeholders
    lead = f"The code below repeats this study of {name} with other random draws, because it had no seed."
    if record.seed is not None:
        limited = "max_seconds=" in record.reproduction.python
        unless = ", unless steps are left out because another machine is slower" if limited else ""
        lead = f"The code below reproduces this report of {name}: the same table, seed and settings give the same numbers{unless}."
    hint = "Run it in the folder of the table."
    if placeholders:
        hint = f"Replace {join_names(placeholders)} by the objects that were passed to the study."
    return {"lead": lead, "python_hint": hint, "versions": sorted({"tamiz": record.tamiz, **record.versions}.items())}


# A formula with this score is exact but for rounding; at most so many limits of classes are listed.
_EXACT_SCORE, _MAX_LIMITS = 0.9999, 5


def leakage_evidence(leakage: PossibleLeak, target: str) -> str:
    """Return the evidence of possible leakage by one column or by a formula, as a predicate that follows the name or names.

    >>> from tamiz.assessment import PossibleLeak
    >>> score = {"score": 0.9964, "score_name": "balanced accuracy", "baseline": 0.5, "n_rows": 1200}
    >>> leak = PossibleLeak(name="closed", predictor="values", **score, by_groups=False)
    >>> leakage_evidence(leak, "churn")
    'alone predicts churn with a balanced accuracy of 99.6% (50% by guessing) in 5-fold cross-validation on 1,200 rows'
    """
    rows = count_with_noun(leakage.n_rows, "row")
    score = f"{'an R²' if leakage.score_name == 'R2' else f'a {leakage.score_name}'} of {_score_text(leakage, leakage.score)}"
    if leakage.predictor == "formula":
        almost = "" if leakage.score > _EXACT_SCORE else "almost "
        limits = ", ".join(f"{limit:.4g}" for limit in leakage.limits[:_MAX_LIMITS])
        formula = f"{leakage.formula} with the limits {limits}" if limits else leakage.formula
        fewer = f"at most {_score_text(leakage, leakage.baseline)} by fewer columns"
        return f"together {almost}determine {target}: {formula} has {score} on {rows} that were not used to find it ({fewer})"
    if leakage.score_name == "adjusted mutual information":
        of = " (one of each group)" if leakage.by_groups else ""
        almost = "" if leakage.score > 1 - 1e-9 else "almost "
        information = f"{leakage.score_name} {_format_floor(leakage.score, 3)}"
        scale = "where 1 is a one-to-one recoding and 0 is expected by chance"
        return f"is {almost}a recoding of {target}: {information} on {rows}{of}, {scale}"
    if leakage.score_name != "R2":
        score += f" ({format_percent(leakage.baseline)} by guessing)"
    subject = "by its missing values alone " if leakage.predictor == "missing" else "alone "
    folds = "5-fold cross-validation of whole groups" if leakage.by_groups else "5-fold cross-validation"
    decided = "" if leakage.decided > 1 - 1e-9 else f" for {_format_floor(100 * leakage.decided, 1)}% of the rows"
    return f"{subject}predicts {target}{decided} with {score} in {folds} on {rows}{_coverage_text(leakage)}"


def _score_text(leakage: PossibleLeak, score: float) -> str:
    return _format_floor(score, 4) if leakage.score_name == "R2" else f"{_format_floor(100 * score, 1)}%"


def exclusion_text(exclusion: LeakageExclusion) -> str:
    """Return which columns of possible leakage are set aside, with the score of the best model with them and without."""
    n = len(exclusion.columns)
    named = join_column_names(exclusion.columns, limit=8)
    uses = f"keep_leaks=True (--keep-leaks) uses {'it' if n == 1 else 'them'}"
    return f"{count_with_noun(n, 'possible leak')} set aside: {named}{exclusion_scores(exclusion)}; {uses}."


def exclusion_scores(exclusion: LeakageExclusion) -> str:
    """Return both scores in parentheses, after a space; "" if no models were evaluated."""
    if exclusion.scoring is None or exclusion.with_leaks is None or exclusion.without_leaks is None:
        return ""
    score = ScoreFormat(exclusion.scoring)
    them = "it" if len(exclusion.columns) == 1 else "them"
    return (
        f" ({score.name} {score.format_score(exclusion.with_leaks)} with {them}, "
        f"{score.format_score(exclusion.without_leaks)} without)"
    )


def _coverage_text(leakage: PossibleLeak) -> str:
    """Return a note on the classes that were scored, "" if all were."""
    found = leakage.coverage
    if found is None:
        return ""
    least = f"at least {found.min_rows} {'groups' if leakage.by_groups else 'rows'}"
    return (
        f": the {found.n_classes:,} of {found.of_classes:,} classes with {least}, which contain {leakage.n_rows:,} of "
        f"{found.of_rows:,} rows"
    )


def _format_floor(value: float, decimals: int) -> str:
    """Return a score rounded down, so that it never looks perfect when it is not."""
    text = f"{math.floor(value * 10**decimals + 1e-6) / 10**decimals:.{decimals}f}"
    return text.rstrip("0").rstrip(".")


_CLASSES_SHOWN = 12
_EPOCH, _DAY = datetime(1970, 1, 1, tzinfo=UTC), 86_400
# Columns in a list with options.
_MAX_ROWS = 8


def collect_table(record: StudyRecord) -> dict[str, Any]:
    """Return facts, the balance of the classes, and columns that need a decision."""
    table = record.table
    excluded = {column.name for column in table.columns if column.exclusion}
    aside = set() if record.leakage_exclusion is None else {*record.leakage_exclusion.columns}
    return {
        "folded": True,
        "lead": table_text(record),
        "facts": [fact for fact in _facts(table) if fact[1]],
        "balance": [
            {
                "name": name,
                "percent": f"{100 * share:.1f}",
                "rows": format_count(weight),
                "share": format_percent(share),
            }
            for name, weight, share, _ in class_shares(table, _CLASSES_SHOWN)
        ],
        "boxes": list(_boxes(table, excluded, aside)),
        "harmless": [_leak_row(one, table) for one in table.leakage if excluded.intersection(one.names) - aside],
    }


def class_shares(table: TableRecord, limit: int) -> list[tuple[str, float, float, int | None]]:
    """Return name, weight, share and number of each class, the largest first; beyond `limit` the others together."""
    classes = sorted(enumerate(table.classes), key=lambda one: -one[1].weight)
    total = sum(one.weight for _, one in classes) or 1.0
    found: list[tuple[str, float, float, int | None]] = [
        (one.name, one.weight, one.weight / total, level) for level, one in classes
    ]
    if len(found) > limit:
        weight = sum(one[1] for one in found[limit - 1 :])
        found[limit - 1 :] = [(f"{len(found) - limit + 1:,} others", weight, weight / total, None)]
    return found


def table_text(record: StudyRecord) -> str:
    """Return the size of the table, its target, what is used of it, and the columns that are set aside."""
    table, target = record.table, "no target"
    if table.target is not None:
        kind = count_with_noun(len(table.classes), "class", "classes") if table.classes else "numeric"
        target = f"target {shorten(table.target, 60)} ({kind})"
    size = [count_with_noun(table.n_rows, "row"), count_with_noun(len(table.own_columns), "column")]
    used = [count_with_noun(table.n_rows_used, "row"), count_with_noun(table.n_own_used_columns, "column")]
    words = f"{', '.join([*size, target])}{'' if size == used else f'; used are {join_names(used)}'}."
    return words if record.leakage_exclusion is None else f"{words} {exclusion_text(record.leakage_exclusion)}"


def _boxes(table: TableRecord, excluded: set[str], aside: set[str]) -> Iterator[dict[str, Any]]:
    """Yield the columns of possible target leakage that are used, those that are set aside, and those of doubtful kinds."""
    if used := [leak for leak in table.leakage if excluded.isdisjoint(leak.names)]:
        yield _box(
            [_leak_row(leak, table) for leak in used],
            "Possible target leakage: a column that is recorded after the target is known, or is the target under another name, "
            "inflates every score below. To exclude such columns:",
            kinds={name: "id" for leak in used for name in leak.names},
        )
    if leaks := [leak for leak in table.leakage if aside.intersection(leak.names)]:
        yield _box(
            [_leak_row(leak, table) for leak in leaks],
            "Possible target leakage is set aside: no section below uses these columns. If their values are known before the "
            "target, use them:",
        )
    if doubtful := [(column, hint) for column in table.columns if (hint := column.kind_suggestion) is not None]:
        rows = [
            (one.name, f"is {one.kind}{', excluded' if one.exclusion else ''}, and could be {hint.kind}: {hint.reason}")
            for one, hint in doubtful
        ]
        kinds = {one.name: hint.kind for one, hint in doubtful[:_MAX_ROWS]}
        yield _box(rows, "These kinds are inferred from the values. To set others:", kinds=kinds, warns=False)


def _box(
    rows: list[tuple[str, str]], text: str, *, kinds: dict[str, str] | None = None, warns: bool = True
) -> dict[str, Any]:
    """Return names with what is found on each, and the options to use in that case: other kinds, or all leaks."""
    return {
        "rows": rows[:_MAX_ROWS],
        "n_more": max(len(rows) - _MAX_ROWS, 0),
        "text": text,
        "command": kinds_option(kinds) if kinds else "--keep-leaks",
        "python": kinds_argument(kinds) if kinds else "keep_leaks=True",
        "warns": warns,
    }


def _leak_row(leak: PossibleLeak, table: TableRecord) -> tuple[str, str]:
    return leak.name, leakage_evidence(leak, shorten(table.target, 40))


def _facts(table: TableRecord) -> Iterator[tuple[str, str]]:
    """Yield facts on the table, "" for what does not apply."""
    columns, rows = table.own_columns, table.duplicate_rows
    kinds = Counter(column.kind for column in columns)
    yield "Kinds", join_names([f"{n:,} {kind}" for kind, n in sorted(kinds.items(), key=lambda k: (-k[1], k[0]))])
    incomplete = sorted((column for column in columns if column.n_missing), key=lambda column: -column.n_missing)
    missing = [f"{shorten(column.name, 40)} ({format_count(column.n_missing)})" for column in incomplete]
    yield "Missing values", join_names(missing, limit=3, width=60) or "none"
    yield "Constant columns", join_column_names([column.name for column in columns if column.constant]) or "none"
    duplicates = "not checked: too many rows" if rows is None else _equal_rows_text(rows, "equal to an earlier row")
    yield "Duplicate rows", duplicates or "none"
    if rows is not None:
        yield "Contradicting rows", _equal_rows_text(rows.contradictions, "equal to a row of another class")
    same = [f"{shorten(c.name, 40)} equals {shorten(c.same_as, 40)}" for c in table.columns if c.same_as]
    yield "Duplicate columns", join_names(same, limit=4, width=90) or "none"
    roles = {
        "Row weights": table.weight_column,
        "Groups of rows": table.group_column,
        "Time of rows": table.time_column,
    }
    for role, name in roles.items():
        size = _weight_size(table) if role == "Row weights" else ""
        yield role, "" if name is None else f"from the column {shorten(name, 40)}{size}"


def _equal_rows_text(found: EqualRowsRecord, what: str) -> str:
    example = join_names([f"{row + 1:,}" for row in found.example])
    return f"{count_with_noun(found.n, 'row')} {what}, such as rows {example}" if found.n else ""


def _weight_size(table: TableRecord) -> str:
    """Return what the weights are, and the number of rows that they stand for."""
    if table.total_weight is None:
        return ""
    if table.weight_kind == "sampling":
        return (
            f", sampling weights: {table.n_rows_used:,} rows have an effective sample size of {table.total_weight:,.1f}"
        )
    return f", numbers of equal rows: {table.n_rows_used:,} rows count as {table.total_weight:,.10g}"


def values_text(column: ColumnSummary) -> str:
    """Return the distinct values of a column, with the range of numbers or the first levels."""
    # An excluded column is not counted, any other has too many values to count them.
    distinct = "" if column.exclusion else "many distinct"
    if column.n_distinct is not None:
        distinct = f"{column.n_distinct:,} distinct"
    words = {"min": "smallest", "mean": "mean", "max": "largest", "sd": "standard deviation"}
    texts = {word: _statistic_text(column, key) for key, word in words.items()}
    numbers = ", ".join(f"{word} {text}" for word, text in texts.items() if text)
    values = " ".join(filter(None, [_levels_text(column.levels, column.n_levels), numbers]))
    return ": ".join(filter(None, [distinct, values]))


def _statistic_text(column: ColumnSummary, key: str) -> str:
    value: float | None = getattr(column.numbers, key, None)
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

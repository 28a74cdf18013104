"""The record of the table: columns, target, classes, duplicate rows, possible leakage, and columns of doubtful kind."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import BaseEstimator

from tamiz.arrays import Floats, Indices, Masks
from tamiz.assessment.findings import PossibleLeak
from tamiz.assessment.leaks import find_leaks
from tamiz.criteria.cfs import CFS
from tamiz.criteria.entropies import Entropy, EntropyRelevance
from tamiz.criteria.information_merits import InformationMerit
from tamiz.criteria.model_relevance import ModelRelevance
from tamiz.exceptions import DataError
from tamiz.models.design_matrix import CROSS_VALIDATED_MODELS
from tamiz.reduction.base import Reducer
from tamiz.report.records import (
    ClassWeight,
    ColumnSummary,
    DuplicateRowsRecord,
    EqualRowsRecord,
    KindSuggestion,
    LeakageExclusion,
    NumberSummary,
    TableRecord,
)
from tamiz.report.score_text import ScoreFormat
from tamiz.report.table import exclusion_scores, leakage_evidence
from tamiz.report.text import count_with_noun, join_names, kinds_argument, kinds_option
from tamiz.runtime.user_warnings import ImputationNote, warn_user
from tamiz.runtime.verdicts import Verdict
from tamiz.search.base import Problem
from tamiz.statistics.moments import ClassMoments, Moments
from tamiz.table.base import Table, target_array, weight_array
from tamiz.table.distance_table import distance_matrix_warnings
from tamiz.table.duplicate_detection import (
    Hashes,
    compute_fingerprints,
    find_duplicate_columns,
    find_duplicate_rows,
)
from tamiz.table.in_memory import load_column
from tamiz.table.kinds import ID_NAME_REASON, ROW_NUMBER_REASON, WHOLE_NUMBER_REASON
from tamiz.table.roles import group_codes, time_values
from tamiz.table.row_groups import (
    describe_row_order,
    find_repeated_id,
    monotone_column_warnings,
    monotone_columns,
    repeated_id_warnings,
)
from tamiz.table.schema import LEAKAGE_REASON, Column, Schema
from tamiz.table.views import exclude_column, one_level_columns, select_columns, with_groups, with_time

if TYPE_CHECKING:
    from tamiz.assessment import FoldDesignComparison


def exclude_leaks(
    table: Table, leaks: Sequence[PossibleLeak], problem: Problem | None
) -> tuple[Table, LeakageExclusion | None]:
    """Return the table without the columns of possible leakage, and their names; None if there are none.

    All columns of a formula are excluded: which of them is recorded after the target is not known, and one that is honest alone
    makes the others look honest, too. A column group of the search is excluded as a whole. Columns that the user fixed, or that the
    search starts with, remain, and so do all columns if no other is left.
    """
    schema, position = table.schema, {name: j for j, name in enumerate(table.schema.names)}
    leaking = np.zeros(schema.n_columns, dtype=bool)
    leaking[[position[name] for leak in leaks for name in leak.names]] = True
    if problem is not None:
        required = problem.fixed if problem.start is None else problem.fixed | problem.start
        for unit in problem.units:
            leaking[unit] = leaking[unit].any() and not required[unit].any()
        leaking &= ~required
    excluded = schema.used[leaking[schema.used]]
    if not 0 < len(excluded) < len(schema.used):
        return table, None
    kept = select_columns(table, np.setdiff1d(schema.used, excluded), LEAKAGE_REASON)
    return kept, LeakageExclusion(columns=tuple(schema.names[j] for j in excluded.tolist()))


def leakage_warnings(
    leaking_columns: Sequence[PossibleLeak], schema: Schema, exclusion: LeakageExclusion | None = None
) -> list[Verdict]:
    """Return the warnings of possible target leakage: of the columns that are set aside, and of those that are used."""
    if schema.target is None:
        return []
    warnings = []
    if exclusion is not None:
        names = exclusion.columns
        leaks = [leak for leak in leaking_columns if not set(names).isdisjoint(leak.names)]
        those = (
            f"The columns {join_names([repr(name) for name in names])} are" if len(names) > 1 else f"{names[0]!r} is"
        )
        sentence = (
            f"{_describe_leaks(leaks, schema.target.name)} {those} set aside{exclusion_scores(exclusion)}; "
            f"keep_leaks=True (--keep-leaks) uses {'them' if len(names) > 1 else 'it'}."
        )
        warnings.append(Verdict("TZ101", sentence, names))
    used = {column.name for column in schema.columns if column.exclusion_reason is None}
    # Without some of its columns, a formula determines nothing.
    taking = [leak for leak in leaking_columns if used.issuperset(leak.names)]
    if taking:
        # To exclude a date part, exclude the date.
        dates = {column.name: column.date_part[0] for column in schema.columns if column.date_part is not None}
        excluded = {dates.get(name, name): "id" for name in taking[0].names}
        its, them = ("their", "them") if len(taking[0].names) > 1 else ("its", "it")
        sentence = (
            f"{_describe_leaks(taking, schema.target.name)} If {its} values are not known before the target, exclude {them}: "
            f"{kinds_argument(excluded)} ({kinds_option(excluded)})."
        )
        warnings.append(Verdict("TZ101", sentence, dict.fromkeys(name for leak in taking for name in leak.names)))
    return warnings


def _describe_leaks(leaks: list[PossibleLeak], target: str) -> str:
    """Return the evidence of the first finding, and the names of the others."""
    first, *rest = leaks
    columns = "columns" if len(first.names) > 1 else "column"
    others = list(dict.fromkeys(repr(name) for leak in rest for name in leak.names if name not in first.names))
    more = f" The same check names {join_names(others, limit=4)}." if others else ""
    return (
        f"Possible target leakage: {columns} {join_names([repr(name) for name in first.names])} "
        f"{leakage_evidence(first, repr(target))}.{more}"
    )


# The most dates and sorted columns that are tried as the time of the rows.
_MAX_TIMES = 3
# The differences of contiguous blocks and of forward folds from random ones together, in standard errors.
_MIN_BOTH = 2.25


@dataclass(frozen=True)
class FoldDesign:
    """The table with the groups or the time that its folds respect, its possible leaks, and why.

    The table has no column of the groups or the time; it is the table itself, and `comparison` None, if random folds suit it.
    """

    table: Table
    leaks: list[PossibleLeak]
    comparison: FoldDesignComparison | None = None
    warnings: tuple[Verdict, ...] = ()

    @property
    def roles(self) -> dict[str, str]:
        """The parameter of `study` that states the groups or the time, and its value."""
        return {} if self.comparison is None else {self.comparison.kind: self.comparison.name}


def choose_fold_design(table: Table, *, random_folds: bool) -> FoldDesign:
    """Return the table with folds by a repeated id or forward in time if these show that random folds overstate a score.

    The repeated id is tried first (`find_repeated_id`), then the dates and the columns by which the rows are sorted, without the
    possible leaks: in folds by groups, a column that only identifies the group is none.
    """
    leaks = find_leaks(table)
    if random_folds or table.schema.target is None or table.groups is not None or table.time is not None:
        return FoldDesign(table, leaks)
    repeated = find_repeated_id(table)
    warnings: tuple[Verdict, ...] = ()
    if repeated is not None:
        grouped = _with_role(table, repeated.name, "groups")
        if grouped is not None:
            own_leaks = find_leaks(grouped)
            found = _compare(grouped, own_leaks)
            if found is not None and found.is_dependent:
                return _respecting(found, grouped, own_leaks, ())
        # Where folds by groups are as good, nothing needs to be stated.
        warnings = tuple(repeated_id_warnings(repeated)) if grouped is None or found is None else ()
    for name, is_time in _times(table, leaks):
        timed = _with_role(table, name, "time")
        blocks = None if timed is None else _compare(timed, leaks, forward=False)
        if timed is None or blocks is None or not (is_time or blocks.differs or blocks.has_waves):
            continue
        # A column by which the rows are sorted need not be a time, and a trend along it is no dependence of the rows: there, blocks
        # with rows before and after them have to be predicted worse than random rows, or the target has waves.
        found = _compare(timed, leaks)
        if found is None or not found.overstates:
            continue
        both = (blocks.t + found.t) / np.sqrt(2)
        if found.differs or blocks.differs or blocks.has_waves or both >= _MIN_BOTH:
            return _respecting(replace(found, wave_p=blocks.wave_p), timed, leaks, warnings)
    return FoldDesign(table, leaks, None, warnings)


def _respecting(
    found: FoldDesignComparison, table: Table, leaks: list[PossibleLeak], warnings: tuple[Verdict, ...]
) -> FoldDesign:
    """Return the design of the folds, without the column of the groups or the time."""
    reason = f"it is the {'group' if found.kind == 'groups' else 'time'} of the rows"
    without = exclude_column(table, found.name, reason)
    gone = {table.schema.names[j] for j in np.setdiff1d(table.schema.used, without.schema.used).tolist()}
    leaks = [leak for leak in leaks if gone.isdisjoint(leak.names)]
    return FoldDesign(without, leaks, found, (*warnings, _describe_design(found)))


def _times(table: Table, leaks: Sequence[PossibleLeak]) -> list[tuple[str, bool]]:
    """Return the dates and the columns by which the rows are sorted, and whether they are both."""
    leaking = {name for leak in leaks for name in leak.names}
    dates = [
        one.name
        for one in table.schema.columns
        if one.kind == "date" and (one.exclusion_reason is None or one.name in table.schema.split_dates)
    ]
    ordered = [one.name for one in monotone_columns(table)]
    names = [name for name in dict.fromkeys([*dates, *ordered]) if name not in leaking]
    return [(name, name in dates and name in ordered) for name in names[:_MAX_TIMES]]


def _with_role(table: Table, name: str, role: str) -> Table | None:
    """Return the table with a column as groups or time; None if it has missing values."""
    raw = load_column(table, table.schema.names.index(name))
    try:
        if role == "groups":
            return with_groups(table, *group_codes(raw, lambda row: f"row {row + 1}"), name)
        return with_time(table, time_values(raw, lambda row: f"row {row + 1}"), name)
    except DataError:
        return None


def _compare(table: Table, leaks: Sequence[PossibleLeak], *, forward: bool = True) -> FoldDesignComparison | None:
    """Return the comparison of the folds of a table with random ones, None if it has too few rows, groups or times for them."""
    # Imported late: it loads scikit-learn's models.
    from tamiz.assessment import compare_fold_designs

    try:
        return compare_fold_designs(exclude_leaks(table, leaks, None)[0], forward=forward)
    except (DataError, MemoryError):
        return None


def _describe_design(found: FoldDesignComparison) -> Verdict:
    """Return why the folds respect groups or a time, and the options that state it or keep random folds."""
    score = ScoreFormat(found.scoring)
    honest, random = score.format_score(found.score), score.format_score(found.random_score)
    option = "--group" if found.kind == "groups" else "--time"
    folds = f"whole groups of {found.name!r}" if found.kind == "groups" else f"later rows by {found.name!r}"
    why = f"rows of a similar {found.name!r} are alike"
    if found.kind == "groups":
        why = f"the rows of one {found.name!r} are alike (intraclass correlation of the target {found.intraclass:.2f})"
    sentence = (
        f"Folds test {folds}, because {why}: the {score.name} of a random forest is {random} in random folds and {honest} in "
        f"these, on {found.n_samples:,} rows. To state it, pass {found.kind}={found.name!r} ({option} {shlex.quote(found.name)}); "
        "random_folds=True (--random-folds) keeps random folds."
    )
    return Verdict("TZ202", sentence, [found.name])


# Names in a sentence are never cut.
_FULL_WIDTH = 200
_ENTROPY_RULES = {
    "distribute": "Entropy-based scores divide each missing value among the observed values, in proportion to their frequencies.",
    "category": "Entropy-based scores treat missing as a category of its own.",
}
_PCA_RULES = {
    "pairwise": "PCA excludes missing values pairwise: each covariance uses the rows with both values.",
    "iterative": "PCA imputes missing values by the components, by least squares.",
}
_INDICATOR_RULE = "Criteria that fit a model replace missing values by the mean and add an indicator of them."
_PAIR_RULE = "Two columns are compared for redundancy on the rows with both values."
_GOWER_RULE = "Gower's dissimilarity compares two rows in the columns in which both have a value."


def missing_level_notes(schema: Schema) -> list[Verdict]:
    """Return a note on the columns of one value, for which missing is a level (`add_missing_level`)."""
    names = [schema.names[j] for j in one_level_columns(schema)]
    if not names:
        return []
    contains = "contains" if len(names) == 1 else "contain"
    sentence = f"{count_with_noun(len(names), 'column')} {contains} one value and missing values, so missing is read as a level."
    return [Verdict("TZ207", sentence, names)]


def missing_value_notes(
    schema: Schema, imputed: Sequence[ImputationNote], methods: Iterable[BaseEstimator], *, has_pairs: bool
) -> list[Verdict]:
    """Return one note on what happens to the missing values of a table; none if it has none, or nothing reads them.

    The numbers of `imputed` notes may be those of samples; the note has that of the table.
    """
    incomplete = [schema.columns[j] for j in schema.used.tolist() if schema.columns[j].n_missing]
    if not incomplete:
        return []
    n = sum(column.n_missing for column in incomplete)
    mean, shares = "the mean of its column", "each indicator gets the share of its level"
    kinds = {column.is_number for column in incomplete}
    if len(kinds) > 1:
        replacement = f"{mean} (in a categorical column {shares})"
    else:
        replacement = mean if True in kinds else f"indicators: {shares}"
    readers = list(dict.fromkeys(note.reader for note in imputed))
    sentences = [
        f"For {join_names(names, width=_FULL_WIDTH)}, {'it' if n == 1 else 'each'} is replaced by {replacement}{where}."
        for names, where in (
            ([name for name in readers if name != CROSS_VALIDATED_MODELS], ""),
            ([name for name in readers if name == CROSS_VALIDATED_MODELS], ", of the training rows of a fold"),
        )
        if names
    ]
    sentences += dict.fromkeys(rule for method in methods for rule in _rules_of(method))
    sentences += [_PAIR_RULE] * has_pairs
    if not sentences:
        return []
    values, columns = count_with_noun(n, "missing value"), count_with_noun(len(incomplete), "column")
    text = " ".join([f"The table has {values} in {columns}.", *sentences])
    return [Verdict("TZ207", text, [column.name for column in incomplete])]


def _rules_of(method: BaseEstimator) -> Iterator[str]:
    """Yield what a method does with missing values in place of replacing them by the mean."""
    parameters = method.get_params(deep=False)
    missing = parameters.get("missing")
    if isinstance(method, EntropyRelevance | Entropy) or (isinstance(method, InformationMerit) and method.uses_counts):
        yield _ENTROPY_RULES[missing]
    elif isinstance(method, CFS):
        yield from [_ENTROPY_RULES[missing]] if method.association is None else _rules_of(method.association)
    elif isinstance(method, ModelRelevance) and missing == "category":
        yield _INDICATOR_RULE
    elif isinstance(method, Reducer) and missing in _PCA_RULES:
        yield _PCA_RULES[missing]
    if "gower" in (parameters.get("metric"), parameters.get("dissimilarity")):
        yield _GOWER_RULE


# Whole numbers with 3 to 12 distinct values, each in several rows, may be codes. With two values the kind makes no difference.
_MIN_CODES, _MAX_CODES = 3, 12
_MIN_ROWS_PER_CODE = 5
_CODES_REASON = "few different whole numbers: they may be codes of categories"


def suggest_kind(column: Column, distinct: Floats | None, n_rows: int) -> KindSuggestion | None:
    """Return another plausible kind of a column, and why; None if there is none. `distinct` is None if the values are many."""
    if column.exclusion_reason is not None:
        return _suggest_excluded_kind(column)
    # The kind of a part of a date is known, and it is no column of the user's table.
    if column.kind != "numeric" or column.date_part is not None or distinct is None:
        return None
    few = _MIN_CODES <= len(distinct) <= min(_MAX_CODES, n_rows / _MIN_ROWS_PER_CODE)
    whole = few and np.all(distinct == np.floor(distinct))
    return KindSuggestion(kind="categorical", reason=_CODES_REASON) if whole else None


def _suggest_excluded_kind(column: Column) -> KindSuggestion | None:
    """Return another plausible kind of a column excluded as id or text; never a category with a level for every row."""
    reason = column.exclusion_reason or ""
    numbers = (ROW_NUMBER_REASON, ID_NAME_REASON, WHOLE_NUMBER_REASON)
    if column.kind == "id" and any(known in reason for known in numbers):
        return KindSuggestion(kind="numeric", reason="every row has a different number: it may be a measurement")
    if column.kind == "text" and "distinct values" in reason:
        return KindSuggestion(kind="categorical", reason="text with many values may be a category")
    return None


# Row numbers of the example.
_MAX_EXAMPLE_ROWS = 5


def count_duplicates(table: Table, hashes: tuple[Hashes, Hashes]) -> DuplicateRowsRecord:
    """Return the number of rows equal to an earlier one, target included, and of rows equal to a row of another class."""
    n = table.schema.n_rows
    found = find_duplicate_rows(table, np.zeros(n) if table.schema.target is None else target_array(table), hashes)
    if found is None:
        # Without used columns no two rows are called equal.
        return DuplicateRowsRecord(n=0, example=(), contradictions=EqualRowsRecord(n=0, example=()))
    repeated = np.bincount(found.first_row, minlength=n)[found.first_row] > 1
    n_targets = np.bincount(found.alike, found.first_row == np.arange(n), minlength=n)[found.alike]
    contradicting = (n_targets > 1) & table.schema.has_classes
    opposed = EqualRowsRecord(n=int(contradicting.sum()), example=_first_group(table, contradicting, found.alike))
    example = _first_group(table, repeated, found.first_row)
    return DuplicateRowsRecord(n=found.n_duplicates, example=example, contradictions=opposed)


def _first_group(table: Table, mask: Masks, group: Indices) -> tuple[int, ...]:
    """Return the first group of some rows as row numbers of the user's table."""
    if not mask.any():
        return ()
    rows = np.flatnonzero(mask & (group == group[np.argmax(mask)]))[:_MAX_EXAMPLE_ROWS]
    return tuple(table.row_numbers[rows].tolist())


# Levels that are listed.
_MAX_LEVELS = 20


def summarize_table(table: Table, leaks: Sequence[PossibleLeak] | None = None) -> TableRecord:
    """Return the record of the table, and warn of possible leakage, distance matrices and suspicious row orders."""
    schema = table.schema
    target = schema.target
    wanted = (*schema.numeric, schema.n_columns) if target is not None and target.is_number else schema.numeric
    (moments,) = table.reduce(Moments(wanted))
    summaries = {j: _moment_summary(moments, k) for k, j in enumerate(wanted)}
    classes: tuple[ClassWeight, ...] = ()
    if target is not None and schema.has_classes:
        weights = np.bincount(target_array(table), weight_array(table), schema.n_classes)
        pairs = zip(target.levels, weights.tolist(), strict=True)
        classes = tuple(ClassWeight(name=name, weight=total) for name, total in pairs)
    prints = compute_fingerprints(table)
    same = find_duplicate_columns(table, prints.columns)
    leaks = find_leaks(table) if leaks is None else leaks
    order = describe_row_order(table)
    warn_user(
        [
            *leakage_warnings(leaks, schema),
            *distance_matrix_warnings(table),
            *monotone_column_warnings(table, [name for leak in leaks for name in leak.names]),
            *([order.message] if order is not None and order.is_doubtful else []),
        ]
    )
    return TableRecord(
        n_rows=schema.n_rows + schema.n_dropped,
        n_rows_used=schema.n_rows,
        target=target.name if target else None,
        classes=classes,
        target_summary=summaries.get(schema.n_columns),
        weight_column=schema.weight,
        weight_kind=schema.weight_kind,
        total_weight=schema.total_weight,
        group_column=schema.groups,
        time_column=schema.time,
        duplicate_rows=None if prints.rows is None else count_duplicates(table, prints.rows),
        row_order=None if order is None else str(order.message),
        leakage=tuple(leaks),
        columns=tuple(
            ColumnSummary(
                name=column.name,
                kind=column.kind,
                n_missing=column.n_missing,
                n_levels=len(column.levels) or None,
                levels=tuple(column.levels[:_MAX_LEVELS]),
                constant=column.constant,
                exclusion=column.exclusion_reason,
                n_distinct=_n_distinct(column, prints.distinct.get(j)),
                same_as=schema.columns[same[j]].name if j in same else None,
                kind_suggestion=suggest_kind(column, prints.distinct.get(j), schema.n_rows),
                numbers=summaries.get(j),
                date=None if column.date_part is None else column.date_part[0],
            )
            for j, column in enumerate(schema.columns)
        ),
    )


def _n_distinct(column: Column, distinct: Floats | None) -> int | None:
    """Return the number of distinct values of a column, None if it was not counted: there are too many, or it is excluded."""
    if column.levels:
        return len(column.levels)
    return None if distinct is None or column.exclusion_reason is not None else len(distinct)


def _moment_summary(moments: ClassMoments, k: int) -> NumberSummary:
    weight, squares = float(moments.weight[0, k]), float(moments.squared_deviations[0, k])
    return NumberSummary(
        mean=float(moments.mean[0, k]),
        sd=float(np.sqrt(squares / (weight - 1))) if weight > 1 else None,
        min=float(moments.minimum[0, k]),
        max=float(moments.maximum[0, k]),
    )

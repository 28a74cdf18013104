"""The folds of a study without stated groups or times: by groups or forward in time where random folds overstate a score."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tamiz._study.leakage import exclude_leaks
from tamiz.assessment.findings import PossibleLeak
from tamiz.assessment.leaks import find_leaks
from tamiz.exceptions import DataError
from tamiz.report.score_text import ScoreFormat
from tamiz.runtime.verdicts import Verdict
from tamiz.table.base import Table
from tamiz.table.encoded_table import group_codes, time_values
from tamiz.table.in_memory import load_column
from tamiz.table.row_groups import find_repeated_id, monotone_columns, repeated_id_warnings
from tamiz.table.views import exclude_column, with_groups, with_time

if TYPE_CHECKING:
    from tamiz.assessment import FoldDesignComparison

# The most dates and sorted columns that are tried as the time of the rows.
_MAX_TIMES = 3
# The differences of contiguous blocks and of forward folds from random ones together, in standard errors.
_MIN_BOTH = 2.25


@dataclass(frozen=True)
class FoldDesign:
    """The table with the groups or the time that its folds respect, its possible leaks, and why.

    Attributes
    ----------
    table : Table
        Without the column of the groups or the time. The table itself if random folds suit it.
    leaks : list of PossibleLeak
    comparison : FoldDesignComparison or None
        Of the design that is used; None for random folds.
    warnings : tuple of Verdict
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

    Parameters
    ----------
    table : Table
    random_folds : bool
        Whether the user asked for random folds.
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

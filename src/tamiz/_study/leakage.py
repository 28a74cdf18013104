"""The columns of possible target leakage that a study sets aside, and the warnings of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tamiz.assessment.findings import PossibleLeak
from tamiz.report.leakage import exclusion_scores, leakage_evidence
from tamiz.report.records.columns import LeakageExclusion
from tamiz.report.text import join_names, kinds_argument, kinds_option
from tamiz.runtime.verdicts import Verdict
from tamiz.search.base import Problem
from tamiz.table.base import Table
from tamiz.table.schema import LEAKAGE_REASON, Schema
from tamiz.table.views import select_columns


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

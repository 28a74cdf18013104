"""The subset: the selected columns, the course of the search, merit by size, and why each column is in or out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tamiz.display.column_selection import SearchDisplay
from tamiz.report.drawing import Chart
from tamiz.report.subset_lattice import collect_lattice
from tamiz.report.text import (
    count_with_noun,
    format_count,
    format_number,
    format_percent,
    join_column_names,
    join_names,
)
from tamiz.selection.subset_record import BestOfSize

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tamiz.report.records.columns import TableRecord
    from tamiz.report.records.study import StudyRecord
    from tamiz.selection.subset_record import ColumnReason, SearchStep, SubsetRecord


# Merits that are means over folds may differ by rounding.
_MERIT_TOLERANCE = 1e-12
_MAX_GROUP_NAMES = 3
# A smaller symmetric uncertainty with the target explains by itself why a column is out.
_NEGLIGIBLE_UNCERTAINTY = 0.01
_SMALLEST_SHOWN = 0.001
_MIN_ALIGNED, _MAX_ALIGNED = 5e-5, 10.0
_NUMERIC_KINDS = ("numeric", "date")


def reason_rows(subset: SubsetRecord) -> list[dict[str, Any]]:
    """Return a row for every used column: selected ones first, by the loss without them; then the others, by the gain with them.

    Parameters
    ----------
    subset : SubsetRecord
    """
    rows = [_row(reason, subset) for reason in subset.reasons]
    # Columns whose merit was not computed come last.
    return sorted(
        rows,
        key=lambda row: (
            not row["chosen"],
            row["change"] is None,
            0.0 if row["change"] is None else row["change"] if row["chosen"] else -row["change"],
        ),
    )


def discretization_note(result: StudyRecord) -> str:
    """Return how numbers were discretised for the symmetric uncertainties, "" if none were."""
    table = result.table
    if table.target is None:
        return ""
    if table.classes:
        if not any(column.kind in _NUMERIC_KINDS and not column.exclusion for column in table.columns):
            return ""
        return "Numbers are discretised by MDL, which uses the target."
    return "Numbers, including the target, are cut into 10 intervals of equal frequency."


def _row(reason: ColumnReason, subset: SubsetRecord) -> dict[str, Any]:
    other = reason.alternative_merit
    change = None if other is None else other - subset.value
    if change is not None and abs(change) < _MERIT_TOLERANCE:
        change = 0.0
    return {
        "name": reason.name,
        "chosen": reason.chosen,
        "alternative_merit": other,
        "merit_text": "" if other is None else _format_merit(other),
        "change": change,
        "change_text": _format_change(change),
        "relevance": reason.relevance,
        "similar": [(one.name, format_number(one.uncertainty, digits=2)) for one in reason.similar],
        "sentence": _reason_sentence(reason, change, subset),
    }


def _format_change(change: float | None) -> str:
    if change is None:
        return format_number(change)
    size = _format_merit(change) if abs(change) >= _MIN_ALIGNED or change == 0 else format_number(change, digits=2)
    return f"{'+' if change > 0 else ''}{size}"


def _reason_sentence(reason: ColumnReason, change: float | None, subset: SubsetRecord) -> str:
    """Return the reason in one sentence: fixed or excluded by the user, identical, outside the requested sizes, or by its merit."""
    it = " and ".join(["it", *([join_column_names(reason.group, limit=_MAX_GROUP_NAMES)] if reason.group else [])])
    effect = _effect(f"{'removing' if reason.chosen else 'adding'} {it}", change)
    if reason.role is not None:
        return f"{reason.role.capitalize()} by you; {effect}."
    if reason.same_as is not None:
        words = f"Equivalent to {join_names([reason.same_as])} (a copy or a one-to-one recoding), so not searched"
        return f"{words}." if change is None else f"{words}; {effect}."
    requested = _size_limit_text(reason.alternative_size, subset.sizes)
    if requested:
        there = "would be left" if reason.chosen else "there would be"
        number_of = count_with_noun(reason.alternative_size, "column")
        sizes = f"{number_of} {there}" if reason.chosen else f"{there} {number_of}"
        return f"{'Without' if reason.chosen else 'With'} {it} {sizes}, and {requested} requested; {effect}."
    if change is None or reason.chosen:
        return f"{effect.capitalize()}{_untried_text(change, subset.min_gain)}."
    return (
        f"{_cause(reason, change)}{effect if change < 0 else effect.capitalize()}{_why_not(change, subset.min_gain)}."
    )


def _effect(action: str, change: float | None) -> str:
    if change is None:
        return f"the merit after {action} was not computed"
    if change == 0:
        return f"{action} would not change the merit"
    return f"{action} would {'raise' if change > 0 else 'lower'} the merit by {format_number(abs(change), digits=2)}"


def _size_limit_text(size: int, sizes: tuple[int, int] | None) -> str:
    """Return the requested sizes if `size` is none of them, else ""."""
    if sizes is None or sizes[0] <= size <= sizes[1]:
        return ""
    least, most = sizes
    return f"{least:,} {'was' if least == 1 else 'were'}" if least == most else f"{least:,} to {most:,} were"


def _cause(reason: ColumnReason, change: float) -> str:
    """Return the reason why a column would lower the merit, "" if it would not."""
    if change >= 0:
        return ""
    relevance, similar = reason.relevance, reason.similar
    if relevance is None:
        return "Adds less than it costs: "
    if relevance < _NEGLIGIBLE_UNCERTAINTY:
        size = (
            format_number(relevance, digits=2)
            if relevance == 0 or relevance >= _SMALLEST_SHOWN
            else f"below {_SMALLEST_SHOWN}"
        )
        return f"Almost unrelated to the target (symmetric uncertainty {size}); "
    if similar and similar[0].uncertainty >= relevance:
        nearest = similar[0]
        return (
            f"More similar to {join_names([nearest.name])} ({format_number(nearest.uncertainty, digits=2)}) than to the target "
            f"({format_number(relevance, digits=2)}); "
        )
    return f"Adds less than it costs, with a symmetric uncertainty of {format_number(relevance, digits=2)} with the target; "


def _why_not(change: float, min_gain: float) -> str:
    """Return why a column is out although it would not lower the merit."""
    if change < 0:
        return ""
    return ", and of equal subsets the smaller is kept" if change == 0 else _untried_text(change, min_gain)


def _untried_text(change: float | None, min_gain: float) -> str:
    """Return why a subset of higher merit was not selected."""
    if change is None or change <= 0:
        return ""
    if change <= min_gain:
        return ", less than the search counts as a gain"
    return ": the search did not evaluate that subset"


# A smaller subset with this share of the merit is mentioned.
_NEARLY_BEST = 0.95
# An exact search may record only one or two sets, too few for a chart.
_MIN_SIZES = 3
_MAX_SIZES_LISTED = 30


def collect_subset(result: StudyRecord) -> dict[str, Any] | None:
    """Return the context of the section: the selected columns, facts on the search, its steps, reasons and charts.

    Parameters
    ----------
    result : StudyRecord
        The record of a study.

    Returns
    -------
    dict or None
        The variables of the template; None without a subset.
    """
    subset = result.subset
    if subset is None:
        return None
    merit, search = subset.merit.label, subset.search.label
    kept = BestOfSize(size=len(subset.columns), merit=subset.value, columns=subset.columns)
    return {
        "lead": _lead(merit, subset.columns, _used_columns(result.table)),
        "columns": subset.columns,
        "facts": [
            ("Merit", f"{format_number(subset.value)} ({merit}; larger is better)"),
            ("Search", search),
            ("Subsets evaluated", _n_evaluated_text(subset)),
            ("Reason for stopping", subset.stopped or "no candidate was left"),
            *_certificate_facts(subset),
            *([("Scored", subset.scoring_note)] if subset.scoring_note else []),
            *(("Redundant pairs", note) for note in subset.notes),
        ],
        "steps": _steps(subset.course),
        "cut": discretization_note(result),
        "lattice": collect_lattice(subset),
        "title": _title(subset.frontier, kept),
        "drawn": _chart_caption(subset),
        "best": [
            {"size": one.size, "merit": _format_merit(one.merit), "columns": join_column_names(one.columns, limit=20)}
            for one in subset.frontier[:_MAX_SIZES_LISTED]
            if one.columns
        ],
        "chart": _sizes_chart(subset, kept) if len(subset.frontier) >= _MIN_SIZES else None,
    }


def _sizes_chart(subset: SubsetRecord, kept: BestOfSize) -> Chart:
    """Return the chart of merit by size: subsets as points, the best of each size as a line, the selected one as a ring."""
    # The points may be a sample, so the best of each size and the selected subset are added to them.
    named = [*subset.frontier, kept]
    sizes = [*subset.points.sizes, *(one.size for one in named)]
    merits = [*subset.points.merits, *(one.merit for one in named)]
    display = SearchDisplay(sizes, merits, best=len(sizes) - 1, merit_label=f"Merit ({subset.merit.label})")
    return Chart(
        "sizes", display.plot, "The merit of subsets by their number of columns, and the best of each size.", height=280
    )


def _used_columns(table: TableRecord) -> str:
    """Return the number of used columns, and that parts of dates are among them if they are."""
    parts = any(column.date is not None and not column.exclusion for column in table.columns)
    return count_with_noun(table.n_used_columns, "column") + " (parts of dates included)" * parts


def _lead(merit: str, kept: Sequence[str], columns: str) -> str:
    # "CFS selects ..." for a named merit; "By accuracy of GaussianNB, the search selects ..." for a score.
    merit = merit if merit[:1].isupper() else f"By {merit}, the search"
    if not kept:
        return f"{merit} selects none of the {columns}: no subset has a higher merit than the empty one."
    return f"{merit} selects {len(kept):,} of {columns}: {join_column_names(kept)}."


def _format_merit(merit: float) -> str:
    """Return a merit with four decimals, so that a column of merits is aligned; large ones with four digits."""
    return f"{merit:.4f}".replace("-", "−") if abs(merit) < _MAX_ALIGNED else format_number(merit)


def _steps(course: Sequence[SearchStep]) -> list[dict[str, Any]]:
    """Return the columns that each better subset added to the previous one, and those that it removed."""
    steps = []
    before: SearchStep | None = None
    for step in course:
        columns_before = () if before is None else before.columns
        had, has = set(columns_before), set(step.columns)
        steps.append(
            {
                "evaluation": f"{step.evaluation:,}",
                "added": [name for name in step.columns if name not in had],
                "removed": [name for name in columns_before if name not in has],
                "size": len(step.columns),
                "merit": _format_merit(step.merit),
                "gain": "" if before is None else f"+{_format_merit(step.merit - before.merit)}",
            }
        )
        before = step
    return steps


def _certificate_facts(subset: SubsetRecord) -> list[tuple[str, str]]:
    """Return the certificate of optimality as a fact, an empty list if there is none."""
    if subset.bound is None:
        return []
    if subset.proven:
        return [("Proven best", "no permitted subset is better")]
    found, bound = _distinguishable(subset.value, subset.bound)
    return [("Proven", f"no subset is better than {bound}; the best found has {found}")]


def _distinguishable(best: float, bound: float) -> tuple[str, str]:
    """Return two merits with enough digits to differ."""
    digits = next((d for d in range(4, 12) if format_number(best, digits=d) != format_number(bound, digits=d)), 12)
    return format_number(best, digits=digits), format_number(bound, digits=digits)


def _n_evaluated_text(subset: SubsetRecord) -> str:
    """Return the number of subsets that the search evaluated, and whether all of them were recorded."""
    words = format_count(subset.n_evaluations)
    return words if subset.n_recorded == subset.n_evaluations else f"{words}; only improvements were recorded"


def _chart_caption(subset: SubsetRecord) -> str:
    """Return the caption of the chart: which subsets it shows."""
    n, recorded, drawn = subset.n_evaluations, subset.n_recorded, len(subset.points.sizes)
    if recorded < n:
        return f"Each dot is a recorded subset, {format_count(drawn)} in all; the line connects the best of them of each size."
    words = "Each dot is a subset that the search evaluated"
    if drawn < recorded:
        words += f": {format_count(drawn)} of {format_count(recorded)}, the best and the worst of each size among them"
    return f"{words}. The line connects the best subset of each size."


def _title(frontier: Sequence[BestOfSize], kept: BestOfSize) -> str:
    """Return a title: the size with the highest merit, and the smallest size that is nearly as good."""
    if not frontier:
        return ""
    size, merit = kept.size, kept.merit
    top = max(frontier, key=lambda best: best.merit)
    if top.size != size and format_number(top.merit) != format_number(merit):
        best = f"Of the requested sizes, {count_with_noun(size, 'column')} {_are(size)} best"
        return f"{best}; {count_with_noun(top.size, 'column')} {_reach(top.size)} a higher merit"
    words = f"The merit is highest with {count_with_noun(size, 'column')}" if size else "No column raises the merit"
    near = [best for best in frontier if best.size < size and best.merit >= _NEARLY_BEST * merit > 0]
    if near:
        fewer = near[0]
        share = format_percent(fewer.merit / merit)
        best = "single column" if fewer.size == 1 else count_with_noun(fewer.size, "column")
        words += f"; the best {best} {_reach(fewer.size)} {share} of that merit"
    return words


def _are(n: int) -> str:
    return "is" if n == 1 else "are"


def _reach(n: int) -> str:
    return "reaches" if n == 1 else "reach"

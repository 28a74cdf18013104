"""The subset: the selected columns, the course of the search, and merit by size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tamiz.display.column_selection import SearchDisplay
from tamiz.report.drawing import Chart
from tamiz.report.subset_lattice import collect_lattice
from tamiz.report.text import count_with_noun, format_count, format_number, format_percent, join_column_names
from tamiz.selection.subset_report import BestOfSize

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tamiz.report.records.columns import TableRecord
    from tamiz.report.records.study import StudyRecord
    from tamiz.selection.subset_report import SearchStep, SubsetRecord


# Larger merits have no fixed number of decimals.
_MAX_ALIGNED = 10.0
# A smaller subset with this share of the merit is mentioned.
_NEARLY_BEST = 0.95
# An exact search may record only one or two sets, too few for a chart.
_MIN_SIZES = 3
_MAX_SIZES_LISTED = 30


def discretization_note(result: StudyRecord) -> str:
    """Return how numbers were discretised for the symmetric uncertainties, "" if none were."""
    table = result.table
    if table.target is None:
        return ""
    if table.classes:
        if not any(column.kind in ("numeric", "date") and not column.exclusion for column in table.columns):
            return ""
        return "Numbers are discretised by MDL, which uses the target."
    return "Numbers, including the target, are cut into 10 intervals of equal frequency."


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
        "lead": _lead(merit, len(subset.columns), _used_columns(result.table)),
        "facts": [
            ("Merit", f"{format_number(subset.value)} ({merit}; larger is better)"),
            ("Search", search),
            ("Subsets evaluated", _n_evaluated_text(subset)),
            ("Reason for stopping", subset.stopped or "no candidate was left"),
            *_certificate_facts(subset),
            *([("Scored", subset.scoring_note)] if subset.scoring_note else []),
            *(("Redundant pairs", note) for note in subset.notes),
        ],
        "steps": list(_steps(subset.course)),
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


def _lead(merit: str, n_kept: int, columns: str) -> str:
    # "CFS selects ..." for a named merit; "By accuracy of GaussianNB, the search selects ..." for a score.
    merit = merit if merit[:1].isupper() else f"By {merit}, the search"
    if not n_kept:
        return f"{merit} selects none of the {columns}: no subset has a higher merit than the empty one."
    return f"{merit} selects {n_kept:,} of {columns}:"


def _format_merit(merit: float) -> str:
    """Return a merit with four decimals, so that a column of merits is aligned; large ones with four digits."""
    return f"{merit:.4f}".replace("-", "−") if abs(merit) < _MAX_ALIGNED else format_number(merit)


def _steps(course: Sequence[SearchStep]) -> Iterator[dict[str, Any]]:
    """Yield each better subset, the columns that it added to the previous one, and those that it removed."""
    for k, step in enumerate(course):
        before = course[k - 1].columns if k else ()
        yield {
            "step": step,
            "added": [name for name in step.columns if name not in before],
            "removed": [name for name in before if name not in step.columns],
            "merit": _format_merit(step.merit),
            "gain": f"+{_format_merit(step.merit - course[k - 1].merit)}" if k else "",
        }


def _certificate_facts(subset: SubsetRecord) -> list[tuple[str, str]]:
    """Return the certificate of optimality as a fact, an empty list if there is none."""
    if subset.bound is None:
        return []
    if subset.proven:
        return [("Proven best", "no permitted subset is better")]
    more = format_number(subset.bound - subset.value, digits=2)
    return [("Proven", f"no permitted subset has a merit above {format_number(subset.bound)}, which is {more} more")]


def _n_evaluated_text(subset: SubsetRecord) -> str:
    """Return the number of subsets that the search evaluated, and whether all of them were recorded."""
    words = format_count(subset.n_evaluations)
    return words if subset.n_recorded == subset.n_evaluations else f"{words}; only improvements were recorded"


def _chart_caption(subset: SubsetRecord) -> str:
    """Return the caption of the chart: how many of the subsets it shows."""
    drawn, n = len(subset.points.sizes), subset.n_evaluations
    some = f" ({format_count(drawn)} of {format_count(n)} are drawn)" if drawn < n else ""
    return f"Each dot is an evaluated subset{some}. The line connects the best subset of each size."


def _title(frontier: Sequence[BestOfSize], kept: BestOfSize) -> str:
    """Return a title: the size with the highest merit, and the smallest size that is nearly as good."""
    if not frontier:
        return ""
    top = max(frontier, key=lambda best: best.merit)
    if format_number(top.merit) == format_number(kept.merit):
        top = kept
    words = f"The merit is highest with {count_with_noun(top.size, 'column')}"
    if top.size != kept.size:
        return f"{words}, and of the requested sizes with {kept.size:,}"
    near = [best for best in frontier if best.size < kept.size and best.merit >= _NEARLY_BEST * kept.merit > 0]
    return f"{words}; {format_percent(near[0].merit / kept.merit)} of it with {near[0].size:,}" if near else words

"""The subset: the selected columns, the course of the search, and merit by size."""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING, Any

from tamiz.display import figures
from tamiz.display.column_selection import SearchDisplay
from tamiz.display.figures import escape_text
from tamiz.report.drawing import Chart
from tamiz.report.text import count_with_noun, format_count, format_number, format_percent, join_column_names, shorten
from tamiz.selection.subset_record import BestOfSize

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from matplotlib.axes import Axes

    from tamiz.report.records import StudyRecord, TableRecord
    from tamiz.selection.subset_record import Lattice, SearchStep, SubsetRecord


# By the number of columns: the characters of a name that fit (0: numbers instead of names), and the pixels of a subset.
_NAME_LENGTHS = {2: 24, 3: 20, 4: 16, 5: 14, 6: 0}
_WIDTH = {2: 150, 3: 130, 4: 110, 5: 92, 6: 46}
_LINE, _LEVEL_SPACING = 15, 26
_MAX_PRINTED_COLUMNS = 4
_MAX_SPACING = 1.7


def collect_lattice(subset: SubsetRecord) -> dict[str, Any] | None:
    """Return the chart, its title and the table of all subsets; None if there are too many."""
    lattice = subset.lattice
    if lattice is None:
        return None
    names, merits = lattice.columns, lattice.merits
    kept = _set_code(subset.columns, names)
    order = sorted(range(len(merits)), key=lambda k: (-merits[k], k.bit_count(), _members(k, len(names))))
    return {
        "title": _lattice_title(subset, lattice, kept),
        "chart": _chart(lattice, kept, [_set_code(step.columns, names) for step in subset.course]),
        # A crowded chart is not printed; its table is.
        "crowded": len(names) > _MAX_PRINTED_COLUMNS,
        "key": [] if _NAME_LENGTHS[len(names)] else names,
        "sets": [
            {"names": _set_name(k, names), "size": k.bit_count(), "merit": merits[k], "kept": k == kept} for k in order
        ],
    }


def _set_code(columns: Sequence[str], names: Sequence[str]) -> int:
    return sum(1 << j for j, name in enumerate(names) if name in columns)


def _members(set_code: int, n: int) -> list[int]:
    return [j for j in range(n) if set_code >> j & 1]


def _set_name(set_code: int, names: Sequence[str]) -> str:
    return join_column_names([names[j] for j in _members(set_code, len(names))]) or "no column"


def _lattice_title(subset: SubsetRecord, lattice: Lattice, kept: int) -> str:
    merits, best = lattice.merits, lattice.best
    if merits[best] <= merits[kept]:
        return f"None of all {len(merits)} subsets is better than the selected one"
    restricted = any(reason.role is not None or reason.group for reason in subset.reasons)
    why = (
        "its size was not requested" if subset.sizes is not None
        else "not every subset was permitted" if restricted
        else "the gain is below the minimum gain of the search" if merits[best] - merits[kept] <= subset.min_gain
        else "the search did not evaluate it"
    )  # fmt: skip
    return f"{_set_name(best, lattice.columns)} would be better ({format_number(merits[best])}): {why}"


def _chart(lattice: Lattice, kept: int, course: Sequence[int]) -> Chart:
    names, merits = lattice.columns, lattice.merits
    places, height = _node_positions(len(names))

    def draw(axes: Axes) -> None:
        for k, (x, y) in places.items():
            for j in range(len(names)):
                if not k >> j & 1:
                    other = places[k | 1 << j]
                    axes.plot([x, other[0]], [y, other[1]], color=figures.RULE, linewidth=0.8, zorder=1)
        axes.plot(*zip(*(places[k] for k in course), strict=True), color=figures.CLASS_COLORS[1], linewidth=3, zorder=2)
        span = (max(merits) - min(merits)) or 1.0
        for k, (x, y) in places.items():
            shade = 0.15 + 0.85 * (merits[k] - min(merits)) / span
            axes.plot([x], [y], "o", color=figures.STRONG, alpha=shade, markersize=9, zorder=3)
            lines = [*(_label_lines(k, names) or ["none"]), format_number(merits[k], digits=3)]
            for line, text in enumerate(lines):
                place: dict[str, Any] = {"xytext": (0, -8 - 11 * line), "textcoords": "offset points", "va": "top"}
                axes.annotate(text, (x, y), ha="center", color=figures.INK, fontsize="small", zorder=4, **place)
        axes.plot(*places[kept], "o", markersize=14, markerfacecolor="none", markeredgecolor=figures.INK, zorder=4)
        axes.set_axis_off()
        axes.set_ylim(-0.9, len(names) + 0.3)

    width = 40 + _WIDTH[len(names)] * math.comb(len(names), len(names) // 2)
    described = f"All {len(merits)} subsets of {len(names)} columns by their size, shaded by merit."
    return Chart("lattice", draw, described, width=width, height=height)


def _node_positions(n: int) -> tuple[dict[int, tuple[float, float]], int]:
    """Return the position of each set by its size, and the height of the chart in pixels; the empty set is at the bottom."""
    places: dict[int, tuple[float, float]] = {}
    for size in range(n + 1):
        level = [sum(1 << j for j in members) for members in combinations(range(n), size)]
        # Levels with few sets are spread out.
        spacing = min(math.comb(n, n // 2) / len(level), _MAX_SPACING)
        places |= {k: (spacing * (i - (len(level) - 1) / 2), float(size)) for i, k in enumerate(level)}
    # The names of a set are below its point, one per line, followed by its merit.
    return places, (n + 1) * (_LEVEL_SPACING + _LINE * (1 + (n if _NAME_LENGTHS[n] else 1)))


def _label_lines(set_code: int, names: Sequence[str]) -> list[str]:
    """Return the lines that name the columns of a set, numbered if two shortened names are equal."""
    members, limit = _members(set_code, len(names)), _NAME_LENGTHS[len(names)]
    if not limit:
        return [" ".join(str(j + 1) for j in members)] if members else []
    short = [escape_text(shorten(name, limit)) for name in names]
    if len(set(short)) < len(short):
        short = [f"{j + 1} {escape_text(shorten(name, limit - 2))}" for j, name in enumerate(names)]
    return [short[j] for j in members]


# Larger merits have no fixed number of decimals.
_MAX_ALIGNED = 10.0
# A smaller subset with this share of the merit is mentioned.
_NEARLY_BEST = 0.95
# An exact search may record only one or two sets, too few for a chart.
_MIN_SIZES = 3
_MAX_SIZES_LISTED = 30


def discretization_note(record: StudyRecord) -> str:
    """Return how numbers were discretised for the symmetric uncertainties, "" if none were."""
    table = record.table
    if table.target is None:
        return ""
    if table.classes:
        if not any(column.kind in ("numeric", "date") and not column.exclusion for column in table.columns):
            return ""
        return "Numbers are discretised by MDL, which uses the target."
    return "Numbers, including the target, are cut into 10 intervals of equal frequency."


def collect_subset(record: StudyRecord) -> dict[str, Any] | None:
    """Return the selected columns, facts on the search, its steps, reasons and charts; None without a subset."""
    subset = record.subset
    if subset is None:
        return None
    merit, search = subset.merit.label, subset.search.label
    kept = BestOfSize(size=len(subset.columns), merit=subset.value, columns=subset.columns)
    return {
        # In place of the recommendation.
        "folded": record.recommendation is not None,
        "lead": _lead(merit, len(subset.columns), _used_columns(record.table)),
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
        "cut": discretization_note(record),
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

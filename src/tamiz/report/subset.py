"""The subset: which columns were kept together, and how the search came to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tamiz.report import subset_charts
from tamiz.report.lattice import collect_lattice
from tamiz.report.reasons import discretization_note, reason_rows
from tamiz.report.text import (
    MAX_LISTED,
    count_with_noun,
    format_count,
    format_number,
    format_percent,
    join_names,
    unlisted_note,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# A smaller subset of this share of the merit is worth a word.
_NEARLY_BEST = 0.95
# An exact search may write down one or two sets, and two sizes are no picture.
_MIN_SIZES = 3


def collect_subset(result: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what the section shows: the columns kept, the search in words, its steps and its chart.

    Parameters
    ----------
    result : mapping
        A result as `Result.to_dict` gives it.

    Returns
    -------
    dict or None
        The template's names; None where no subset was searched for.
    """
    subset = result["subset"]
    if subset is None:
        return None
    merit, search = subset["merit"]["label"], subset["search"]["label"]
    kept = {"size": len(subset["columns"]), "merit": subset["value"], "columns": subset["columns"]}
    return {
        "lead": _lead(merit, subset["columns"], sum(not column["left_out"] for column in result["table"]["columns"])),
        "columns": subset["columns"],
        "facts": [
            ("Merit", f"{format_number(subset['value'])} ({merit})"),
            ("Search", search),
            ("Subsets looked at", _n_evaluated_text(subset)),
            ("Stopped", subset["stopped"] or "when nothing was left to try"),
            *_certificate_facts(subset),
            *([("Scored", subset["how"])] if subset["how"] else []),
            *(("Shared", note) for note in subset["notes"]),
        ],
        "steps": _steps(subset["course"]),
        "reasons": reason_rows(subset)[:MAX_LISTED],
        "unlisted": unlisted_note(len(subset["reasons"])),
        "cut": discretization_note(result),
        "lattice": collect_lattice(subset),
        "title": _title(subset["frontier"], kept),
        "drawn": _chart_caption(subset),
        "chart": subset_charts.merit_by_size_chart(subset["points"], subset["frontier"], kept, merit=f"Merit ({merit})")
        if len(subset["frontier"]) >= _MIN_SIZES
        else None,
    }


def _lead(merit: str, kept: Sequence[str], n_columns: int) -> str:
    # A name keeps columns; a score such as "accuracy of GaussianNB" is what they are kept by.
    merit = merit if merit[:1].isupper() else f"By {merit}, the search"
    if not kept:
        return f"{merit} keeps none of the {count_with_noun(n_columns, 'column')}: no subset is worth more than the empty one."
    return f"{merit} keeps {len(kept):,} of {count_with_noun(n_columns, 'column')}: {join_names(kept)}."


def _steps(course: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return what each better subset added to the one before it, and what it gave up."""
    steps = []
    before: Mapping[str, Any] = {"columns": [], "merit": None}
    for step in course:
        had, has = set(before["columns"]), set(step["columns"])
        steps.append(
            {
                "evaluation": f"{step['evaluation']:,}",
                "added": [name for name in step["columns"] if name not in had],
                "removed": [name for name in before["columns"] if name not in has],
                "size": len(step["columns"]),
                "merit": format_number(step["merit"]),
                "gain": "" if before["merit"] is None else f"+{format_number(step['merit'] - before['merit'])}",
            }
        )
        before = step
    return steps


def _certificate_facts(subset: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return what is proven of the subset, nothing where the search proves nothing."""
    certificate = subset["certificate"]
    if certificate is None:
        return []
    if certificate["proven"]:
        return [("Proven best", "no subset that may be chosen is better")]
    found, bound = _distinguishable(subset["value"], certificate["bound"])
    return [("Proven", f"no subset is better than {bound}; the best found has {found}")]


def _distinguishable(best: float, bound: float) -> tuple[str, str]:
    """Return two merits with as many digits as tell them apart."""
    digits = next((d for d in range(4, 12) if format_number(best, digits=d) != format_number(bound, digits=d)), 12)
    return format_number(best, digits=digits), format_number(bound, digits=digits)


def _n_evaluated_text(subset: Mapping[str, Any]) -> str:
    """Return how many subsets the search looked at, and whether they are all written down."""
    words = format_count(subset["n_evaluations"])
    return (
        words
        if subset["n_written"] == subset["n_evaluations"]
        else f"{words}; only what was best so far is written down"
    )


def _chart_caption(subset: Mapping[str, Any]) -> str:
    """Return which of the subsets are points of the chart, and what the line is."""
    n, written, drawn = subset["n_evaluations"], subset["n_written"], len(subset["points"]["size"])
    if written < n:
        return f"Each dot is a subset that was written down, {format_count(drawn)} in all; the line joins the best of these of each size."
    words = "Each dot is a subset that the search looked at"
    if drawn < written:
        words += f": {format_count(drawn)} of {format_count(written)}, the best and the worst of each size among them"
    return f"{words}. The line joins the best of each size."


def _title(frontier: Sequence[Mapping[str, Any]], kept: Mapping[str, Any]) -> str:
    """Return how many columns are best, and how few are nearly as good."""
    if not frontier:
        return ""
    size, merit = kept["size"], kept["merit"]
    top = max(frontier, key=lambda best: best["merit"])
    if top["size"] != size and format_number(top["merit"]) != format_number(merit):
        return f"Of the sizes asked for {count_with_noun(size, 'column')} {_are(size)} best; {count_with_noun(top['size'], 'column')} reach more"
    words = f"The merit is highest with {count_with_noun(size, 'column')}" if size else "No column raises the merit"
    near = [best for best in frontier if best["size"] < size and best["merit"] >= _NEARLY_BEST * merit > 0]
    if near:
        words += f"; {count_with_noun(near[0]['size'], 'column')} {_reach(near[0]['size'])} {format_percent(near[0]['merit'] / merit)} of it"
    return words


def _are(n: int) -> str:
    return "is" if n == 1 else "are"


def _reach(n: int) -> str:
    return "reaches" if n == 1 else "reach"

"""The subset: which columns were kept together, and how the search came to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tamiz.report import charts
from tamiz.report.text import count, counted, listed, number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


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
    n_columns = len(result["table"]["columns"])
    return {
        "lead": _lead(merit, subset["columns"], n_columns),
        "columns": subset["columns"],
        "facts": [
            ("Merit", f"{number(subset['value'])} ({merit})"),
            ("Search", search),
            ("Subsets evaluated", count(subset["n_evaluations"])),
            ("Stopped", subset["stopped"] or "when nothing was left to try"),
        ],
        "steps": _steps(subset["course"]),
        "title": _title(subset),
        "chart": charts.course(subset["trace"], _best(subset), merit=f"Merit ({merit})")
        if subset["trace"]["evaluation"]
        else None,
    }


def _lead(merit: str, kept: Sequence[str], n_columns: int) -> str:
    if not kept:
        return f"{merit} keeps none of the {counted(n_columns, 'column')}: no subset is worth more than the empty one."
    return f"{merit} keeps {len(kept):,} of {counted(n_columns, 'column')}: {listed(kept)}."


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
                "merit": number(step["merit"]),
                "gain": "" if before["merit"] is None else f"+{number(step['merit'] - before['merit'])}",
            }
        )
        before = step
    return steps


def _best(subset: Mapping[str, Any]) -> list[tuple[int, float]]:
    """Return the best merit so far as steps: where it rose, and on to the last evaluation."""
    best = [(step["evaluation"], step["merit"]) for step in subset["course"]]
    if best and best[-1][0] < subset["n_evaluations"]:
        best.append((subset["n_evaluations"], best[-1][1]))
    return best


def _title(subset: Mapping[str, Any]) -> str:
    course, n_evaluations = subset["course"], subset["n_evaluations"]
    if not course:
        return f"{counted(n_evaluations, 'subset')} evaluated"
    last = course[-1]["evaluation"]
    words = f"The best merit was found at subset {last:,}"
    rest = n_evaluations - last
    return f"{words}; {'the one' if rest == 1 else f'the {rest:,}'} after it brought no gain" if rest > 0 else words

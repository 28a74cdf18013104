"""The subset: which columns were kept together, and how the search came to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from tamiz.report.charts import make_chart
from tamiz.report.subset_lattice import collect_lattice
from tamiz.report.text import (
    MAX_LISTED,
    chart_label,
    count_with_noun,
    format_count,
    format_number,
    format_percent,
    join_names,
    round_coordinate,
    unlisted_note,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


# MERGED: The chart of a search: what sets of columns are worth, by their size.
_MAX_NAMED = 12


def merit_by_size_chart(
    points: Mapping[str, Sequence[float]],
    frontier: Sequence[Mapping[str, Any]],
    chosen: Mapping[str, Any],
    *,
    merit: str,
) -> dict[str, Any]:
    """Return every set of columns as a point, the best of each size as a line, and a ring around the chosen one.

    Parameters
    ----------
    points : mapping
        The sizes and the merits of the sets.
    frontier : list of mappings
        The best set of each size: its size, its merit and its first columns.
    chosen : mapping
        The same of the chosen set.
    merit : str
        What the merits are.
    """
    sizes = [best["size"] for best in frontier]
    many = len(points["size"]) > 500
    return make_chart(
        [
            go.Scatter(
                x=list(points["size"]),
                y=[round_coordinate(m) for m in points["merit"]],
                mode="markers",
                name="A subset",
                marker={"size": 4 if many else 6, "opacity": 0.5 if many else 0.7},
                # Else they would speak in the place of the best of their size, which lies on them.
                hoverinfo="skip",
            ),
            go.Scatter(
                x=sizes,
                y=[round_coordinate(best["merit"]) for best in frontier],
                mode="lines+markers" if len(sizes) <= 60 else "lines",
                line={"width": 2.5},
                marker={"size": 7},
                name="The best of each size",
                customdata=[_hover_text(best) for best in frontier],
                hovertemplate="Best of %{customdata[0]}: merit %{customdata[1]}<br>%{customdata[2]}<extra></extra>",
            ),
            go.Scatter(
                x=[chosen["size"]],
                y=[round_coordinate(chosen["merit"])],
                mode="markers",
                marker={"size": 17, "symbol": "circle-open", "line": {"width": 2.5}},
                name="The subset kept",
                customdata=[_hover_text(chosen)],
                hovertemplate="Kept: %{customdata[0]}, merit %{customdata[1]}<br>%{customdata[2]}<extra></extra>",
            ),
        ],
        height=400,
        xaxis={
            "title": {"text": "Columns in the subset"},
            "tickformat": ",d",
            "showgrid": False,
            "zeroline": False,
            **({"dtick": 1} if max(points["size"]) - min(points["size"]) <= 12 else {"nticks": 10}),
        },
        yaxis={"title": {"text": chart_label(merit, 40)}, "zeroline": False},
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
    )


def _hover_text(best: Mapping[str, Any]) -> list[str]:
    """Return how many columns a set has, its merit and its columns, three a line."""
    names = [chart_label(name) for name in best["columns"][:_MAX_NAMED]]
    rest = int(best["size"]) - len(names)
    names += [f"and {rest:,} more"] if rest > 0 and names else []
    lines = [", ".join(names[k : k + 3]) for k in range(0, len(names), 3)]
    return [count_with_noun(best["size"], "column"), format_number(best["merit"]), ",<br>".join(lines)]


# MERGED: Why each column is in the subset or out of it, in a table and a sentence a column.
# Merits that are means over folds may differ in their last bits.
_MERIT_TOLERANCE = 1e-12
_MAX_GROUP_NAMES = 3
# A smaller symmetric uncertainty is the reason by itself.
_NEGLIGIBLE_UNCERTAINTY = 0.01
# Kinds of columns that are numbers.
_NUMERIC_KINDS = ("numeric", "date")


def reason_rows(subset: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a row of every column that takes part: first those kept, what is lost most first, then those nearest to coming in.

    Parameters
    ----------
    subset : mapping
        The subset of a result.
    """
    rows = [_row(reason, subset) for reason in subset["reasons"]]
    # Of what was not asked for, nothing is known: it comes last.
    return sorted(
        rows,
        key=lambda row: (
            not row["chosen"],
            row["change"] is None,
            0.0 if row["change"] is None else row["change"] if row["chosen"] else -row["change"],
        ),
    )


def discretization_note(result: Mapping[str, Any]) -> str:
    """Return how numbers were cut for what columns have in common, in a sentence; nothing where none were."""
    table = result["table"]
    if table["target"] is None:
        return ""
    if table["classes"]:
        if not any(column["kind"] in _NUMERIC_KINDS and not column["left_out"] for column in table["columns"]):
            return ""
        words = "Numbers are cut by MDL, which looks at the target"
        return (
            f"{words}; redundancy cuts them without it, so its numbers differ." if result["redundancy"] else f"{words}."
        )
    return "Numbers, the target too, are cut into 10 intervals of equal frequency."


def _row(reason: Mapping[str, Any], subset: Mapping[str, Any]) -> dict[str, Any]:
    other = reason["other_merit"]
    change = None if other is None else other - subset["value"]
    if change is not None and abs(change) < _MERIT_TOLERANCE:
        change = 0.0
    return {
        "name": reason["name"],
        "chosen": reason["chosen"],
        "other_merit": other,
        "change": change,
        "change_text": _format_change(change),
        "relevance": reason["relevance"],
        "repeats": [{"name": name, "value": format_number(value, digits=2)} for name, value in reason["repeats"]],
        "sentence": _reason_sentence(reason, change, subset),
    }


def _format_change(change: float | None) -> str:
    return format_number(change, digits=3) if change is None or change <= 0 else f"+{format_number(change, digits=3)}"


def _reason_sentence(reason: Mapping[str, Any], change: float | None, subset: Mapping[str, Any]) -> str:
    """Return why, in one sentence: what the user said, what was asked for, and what the numbers say."""
    it = " and ".join(["it", *([join_names(reason["together"], limit=_MAX_GROUP_NAMES)] if reason["together"] else [])])
    flipped = f"{'without' if reason['chosen'] else 'with'} {it}"
    effect = _effect(flipped, change)
    if reason["role"] is not None:
        return f"{reason['role'].capitalize()} by you; {effect}."
    if reason["same_as"] is not None:
        return f"Repeats {join_names([reason['same_as']])} exactly, and was not searched; {effect}."
    beyond = _size_limit_text(reason["other_size"], subset["sizes"])
    if beyond:
        there = "would be left" if reason["chosen"] else "there would be"
        number_of = count_with_noun(reason["other_size"], "column")
        sizes = f"{number_of} {there}" if reason["chosen"] else f"{there} {number_of}"
        return f"{flipped.capitalize()} {sizes}, and {beyond} asked for; {_effect('', change)}."
    if change is None or reason["chosen"]:
        return f"{effect.capitalize()}{_untried_text(change, subset['min_gain'])}."
    return f"{_cause(reason, change)}{effect if change < 0 else effect.capitalize()}{_why_not(change, subset['min_gain'])}."


def _effect(alternative: str, change: float | None) -> str:
    if change is None:
        return f"{alternative} the merit was not asked for".strip()
    if change == 0:
        return f"{alternative} the merit would stay the same".strip()
    return f"{alternative} the merit would {'rise' if change > 0 else 'fall'} by {format_number(abs(change), digits=2)}".strip()


def _size_limit_text(size: int, sizes: Sequence[int] | None) -> str:
    """Return what sizes were asked for where this is none of them, else nothing."""
    if sizes is None or sizes[0] <= size <= sizes[1]:
        return ""
    least, most = sizes
    return f"{least:,} {'was' if least == 1 else 'were'}" if least == most else f"{least:,} to {most:,} were"


def _cause(reason: Mapping[str, Any], change: float) -> str:
    """Return what speaks against a column that would lower the merit."""
    if change >= 0:
        return ""
    told, repeats = reason["relevance"], reason["repeats"]
    if told is None:
        return "Adds less than it costs: "
    if told < _NEGLIGIBLE_UNCERTAINTY:
        return f"Has a symmetric uncertainty of {format_number(told, digits=2)} with the target; "
    if repeats and repeats[0][1] >= told:
        name, shared = repeats[0]
        return (
            f"Repeats {join_names([name])} ({format_number(shared, digits=2)}) more than it tells of the target "
            f"({format_number(told, digits=2)}); "
        )
    return f"Adds less than it costs, though it tells {format_number(told, digits=2)} of the target; "


def _why_not(change: float, min_gain: float) -> str:
    """Return why a column stays out that would not lower the merit."""
    if change < 0:
        return ""
    return ", and of equal sets the smaller is kept" if change == 0 else _untried_text(change, min_gain)


def _untried_text(change: float | None, min_gain: float) -> str:
    """Return why a set of a higher merit was not taken."""
    if change is None or change <= 0:
        return ""
    if change <= min_gain:
        return ", less than the search counts as a gain"
    return ": the search did not come to that set"


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
        "unlisted_note": unlisted_note(len(subset["reasons"])),
        "cut": discretization_note(result),
        "lattice": collect_lattice(subset),
        "title": _title(subset["frontier"], kept),
        "drawn": _chart_caption(subset),
        "chart": merit_by_size_chart(subset["points"], subset["frontier"], kept, merit=f"Merit ({merit})")
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

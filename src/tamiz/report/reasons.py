"""Why each column is in the subset or out of it, in a table and a sentence a column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tamiz.report.text import count_with_noun, format_number, join_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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

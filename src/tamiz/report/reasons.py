"""Why each column is in the subset or out of it, in a table and a sentence a column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tamiz.report.text import counted, listed, number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Merits that are means over folds may differ in their last bits.
_SAME = 1e-12
_MOST_TOGETHER = 3
# A smaller symmetric uncertainty is the reason by itself.
_HARDLY = 0.01
# Kinds of columns that are numbers.
_CUT = ("numeric", "date")


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


def how_cut(result: Mapping[str, Any]) -> str:
    """Return how numbers were cut for what columns have in common, in a sentence; nothing where none were."""
    table = result["table"]
    if table["target"] is None:
        return ""
    if table["classes"]:
        if not any(column["kind"] in _CUT and not column["left_out"] for column in table["columns"]):
            return ""
        words = "Numbers are cut by MDL, which looks at the target"
        return (
            f"{words}; redundancy cuts them without it, so its numbers differ." if result["redundancy"] else f"{words}."
        )
    return "Numbers, the target too, are cut into 10 intervals of equal frequency."


def _row(reason: Mapping[str, Any], subset: Mapping[str, Any]) -> dict[str, Any]:
    other = reason["other_merit"]
    change = None if other is None else other - subset["value"]
    if change is not None and abs(change) < _SAME:
        change = 0.0
    return {
        "name": reason["name"],
        "chosen": reason["chosen"],
        "other_merit": other,
        "change": change,
        "change_text": _signed(change),
        "relevance": reason["relevance"],
        "repeats": [{"name": name, "value": number(value, digits=2)} for name, value in reason["repeats"]],
        "sentence": _sentence(reason, change, subset),
    }


def _signed(change: float | None) -> str:
    return number(change, digits=3) if change is None or change <= 0 else f"+{number(change, digits=3)}"


def _sentence(reason: Mapping[str, Any], change: float | None, subset: Mapping[str, Any]) -> str:
    """Return why, in one sentence: what the user said, what was asked for, and what the numbers say."""
    it = " and ".join(["it", *([listed(reason["together"], limit=_MOST_TOGETHER)] if reason["together"] else [])])
    flipped = f"{'without' if reason['chosen'] else 'with'} {it}"
    effect = _effect(flipped, change)
    if reason["role"] is not None:
        return f"{reason['role'].capitalize()} by you; {effect}."
    if reason["same_as"] is not None:
        return f"Repeats {listed([reason['same_as']])} exactly, and was not searched; {effect}."
    beyond = _beyond(reason["other_size"], subset["sizes"])
    if beyond:
        there = "would be left" if reason["chosen"] else "there would be"
        number_of = counted(reason["other_size"], "column")
        sizes = f"{number_of} {there}" if reason["chosen"] else f"{there} {number_of}"
        return f"{flipped.capitalize()} {sizes}, and {beyond} asked for; {_effect('', change)}."
    if change is None or reason["chosen"]:
        return f"{effect.capitalize()}{_left_untried(change, subset['min_gain'])}."
    return f"{_cause(reason, change)}{effect if change < 0 else effect.capitalize()}{_why_not(change, subset['min_gain'])}."


def _effect(flipped: str, change: float | None) -> str:
    if change is None:
        return f"{flipped} the merit was not asked for".strip()
    if change == 0:
        return f"{flipped} the merit would stay the same".strip()
    return f"{flipped} the merit would {'rise' if change > 0 else 'fall'} by {number(abs(change), digits=2)}".strip()


def _beyond(size: int, sizes: Sequence[int] | None) -> str:
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
    if told < _HARDLY:
        return f"Has a symmetric uncertainty of {number(told, digits=2)} with the target; "
    if repeats and repeats[0][1] >= told:
        name, shared = repeats[0]
        return (
            f"Repeats {listed([name])} ({number(shared, digits=2)}) more than it tells of the target "
            f"({number(told, digits=2)}); "
        )
    return f"Adds less than it costs, though it tells {number(told, digits=2)} of the target; "


def _why_not(change: float, min_gain: float) -> str:
    """Return why a column stays out that would not lower the merit."""
    if change < 0:
        return ""
    return ", and of equal sets the smaller is kept" if change == 0 else _left_untried(change, min_gain)


def _left_untried(change: float | None, min_gain: float) -> str:
    """Return why a set of a higher merit was not taken."""
    if change is None or change <= 0:
        return ""
    if change <= min_gain:
        return ", less than the search counts as a gain"
    return ": the search did not come to that set"

"""The ranking: what every criterion says of every column, in one table to sort."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tamiz.report.text import listed, midway, number, shortened

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_CUTS_SHOWN = 5


def collect_ranking(result: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what the section shows: the criteria, and one row a column, best first by the first criterion.

    Parameters
    ----------
    result : mapping
        A result as `Result.to_dict` gives it.

    Returns
    -------
    dict or None
        The template's names; None where nothing was ranked.
    """
    ranking = result["ranking"]
    if ranking is None or not ranking["criteria"]:
        return None
    criteria, names = ranking["criteria"], ranking["columns"]
    scores = [ranking["scores"][criterion["id"]] for criterion in criteria]
    kinds = {column["name"]: column["kind"] for column in result["table"]["columns"]}
    kept = set(result["subset"]["columns"]) if result["subset"] is not None else set()
    tops = [max((s for s in column if s is not None), default=0.0) for column in scores]
    order = sorted(range(len(names)), key=lambda j: (scores[0][j] is None, -(scores[0][j] or 0.0), j))
    rows = [
        {
            "name": names[j],
            "kind": kinds.get(names[j], ""),
            "kept": names[j] in kept,
            "scores": [_score(column[j], top) for column, top in zip(scores, tops, strict=True)],
            "cuts": _cuts(ranking["cuts"].get(names[j])),
        }
        for j in order
    ]
    return {
        "lead": _lead(result["table"]["target"], criteria[0], [(names[j], scores[0][j]) for j in order]),
        "criteria": criteria,
        "has_cuts": bool(ranking["cuts"]),
        "has_kept": bool(kept),
        "rows": rows,
    }


def _lead(target: str | None, criterion: Mapping[str, Any], ranked: Sequence[tuple[str, float | None]]) -> str:
    told = [(name, score) for name, score in ranked if score is not None]
    first = midway(criterion["label"])
    if not told:
        return f"No column could be scored by {first}."
    name, score = told[0]
    unit = f" {criterion['unit']}" if criterion["unit"] else ""
    if target is None:
        told_by = f"{first}, {number(score)}{unit}"
        return f"{shortened(name, 40)} comes first by {told_by}; without a target no score tells more."
    about = f"about {shortened(target, 40)}"
    if score == 0:
        return f"No column says anything {about}: every {first} is 0."
    words = f"{shortened(name, 40)} says most {about}: {first} {number(score)}{unit}"
    silent = sum(score == 0 for _, score in told)
    if silent:
        words += f"; {'1 column says' if silent == 1 else f'{silent:,} columns say'} nothing at all"
    return f"{words}."


def _score(value: float | None, top: float) -> dict[str, Any]:
    """Return a score with the length of its bar: its share of the column's best, and no bar below zero."""
    share = max(0.0, value / top) if value is not None and top > 0 else 0.0
    told = number(value)
    # One number of decimals down the column lines the points up. A score without a small bound, such as a variance,
    # spans too many sizes for that.
    if value and 1e-4 <= top < 10:
        decimals = 3 - math.floor(math.log10(top))
        told = f"{value:.{decimals}f}" if abs(value) >= 0.5 * 10**-decimals else f"<{10**-decimals:.{decimals}f}"
    return {"value": value, "text": told.replace("-", "−"), "percent": f"{100 * share:.1f}"}


def _cuts(cuts: Sequence[float] | None) -> str:
    if cuts is None:
        return ""
    if not cuts:
        return "no cut"
    return listed([number(cut) for cut in cuts], limit=_CUTS_SHOWN).replace(" and ", ", ")

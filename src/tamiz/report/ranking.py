"""The ranking: the scores of all criteria side by side in one table to sort, and the one rank that they come to."""

from __future__ import annotations

import math
from itertools import groupby
from typing import TYPE_CHECKING, Any

from tamiz.report.text import listed, midway, number, shortened

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_CUTS_SHOWN = 5
# Ranks of one column that lie so far apart, as a share of all ranks, are worth a sentence.
_APART = 0.4
_FEW_COLUMNS = 5


def collect_ranking(result: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what the section shows: the criteria, and one row a column, best first by the combined rank.

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
    names, combined = ranking["columns"], ranking["combined"]
    counted = [one for one in ranking["criteria"] if combined is None or one["id"] in combined["criteria"]]
    criteria = [*counted, *(one for one in ranking["criteria"] if one not in counted)]
    scores = [ranking["scores"][criterion["id"]] for criterion in criteria]
    # By the first that counts, a column that says nothing is told.
    telling = scores[0]
    kinds = {column["name"]: column["kind"] for column in result["table"]["columns"]}
    kept = set(result["subset"]["columns"]) if result["subset"] is not None else set()
    tops = [max((s for s in column if s is not None), default=0.0) for column in scores]
    ranks = [None] * len(names) if combined is None else combined["ranks"]
    order = sorted(
        range(len(names)),
        key=lambda j: (telling[j] is None, math.inf if ranks[j] is None else ranks[j], -(telling[j] or 0.0), j),
    )
    n_ranked = sum(score is not None for score in telling)
    rows = [
        {
            "name": names[j],
            "kind": kinds.get(names[j], ""),
            "kept": names[j] in kept,
            "ranked": telling[j] is not None,
            # What is left out has no score, and is no column that says nothing.
            "silent": telling[j] == 0,
            "combined": None if combined is None else _combined(ranks[j], combined["intervals"][j], n_ranked),
            "scores": [_score(column[j], top) for column, top in zip(scores, tops, strict=True)],
            "cuts": _cuts(ranking["cuts"].get(names[j])),
        }
        for j in order
    ]
    # Equal ranks share the first place.
    places = telling if combined is None else ranks
    tied = [j for j in order[:n_ranked] if places[j] == places[order[0]]]
    by = _first(ranking, tied) if combined is not None and n_ranked else ""
    target = result["table"]["target"]
    return {
        "lead": _lead(target, criteria[0], [telling[j] for j in order], [names[j] for j in tied], by),
        "criteria": [{**one, "counts": one in counted} for one in criteria],
        "combined": combined,
        "has_intervals": combined is not None and any(combined["intervals"]),
        "n_ranked": n_ranked,
        "n_silent": sum(row["silent"] for row in rows),
        "silent_by": midway(criteria[0]["label"]),
        "apart": _apart(ranking, counted) if combined is not None else "",
        "has_cuts": bool(ranking["cuts"]),
        "has_kept": bool(kept),
        "rows": rows,
    }


def _first(ranking: Mapping[str, Any], tied: Sequence[int]) -> str:
    """Return the combined rank of the first column, or of those that share the first place, in words."""
    combined = ranking["combined"]
    best, n = tied[0], len(combined["criteria"])
    words = f"mean rank {combined['ranks'][best]:.1f} by {n} criteria" if n > 1 else ""
    interval = combined["intervals"][best]
    if words and interval is not None and len(tied) == 1:
        words += f" (95% interval {interval[0]:.1f} to {interval[1]:.1f})"
    return words


def _lead(
    target: str | None,
    criterion: Mapping[str, Any],
    scores: Sequence[float | None],
    first: Sequence[str],
    rank: str,
) -> str:
    """Return the columns that come first, by their rank or their score, and how many say nothing."""
    told = [score for score in scores if score is not None]
    label = midway(criterion["label"])
    if not told:
        return f"No column could be scored by {label}."
    unit = f" {criterion['unit']}" if criterion["unit"] else ""
    by = rank or f"{label} {number(told[0])}{unit}"
    named, several = listed(first), len(first) > 1
    if target is None:
        return f"{named} {'come' if several else 'comes'} first: {by}; without a target no score tells more."
    about = f"about {shortened(target, 40)}"
    silent = sum(score == 0 for score in told)
    if silent == len(told):
        return f"No column says anything {about} by itself: every {label} is 0."
    words = f"{named} {'say' if several else 'says'} most {about}: {by}"
    if silent:
        words += f"; {'1 column says' if silent == 1 else f'{silent:,} columns say'} nothing at all"
    return f"{words}."


def _combined(rank: float | None, interval: Sequence[float] | None, n_ranked: int) -> dict[str, Any]:
    """Return a rank with its place, and its interval's, on a scale from the first rank to the last, in percent."""
    if rank is None:
        return {"value": None, "text": "", "interval": "", "at": "0", "start": "0", "width": "0"}

    def place(one: float) -> float:
        return 100 * (one - 1) / max(n_ranked - 1, 1)

    low, high = (rank, rank) if interval is None else interval
    return {
        "value": rank,
        "text": f"{rank:.1f}",
        "interval": "" if interval is None else f"{low:.1f} to {high:.1f}",
        "at": f"{place(rank):.1f}",
        "start": f"{place(low):.1f}",
        "width": f"{place(high) - place(low):.1f}",
    }


def _apart(ranking: Mapping[str, Any], counted: Sequence[Mapping[str, Any]]) -> str:
    """Return the column that the criteria disagree about most, in a sentence; nothing where they agree well enough."""
    used = [j for j, rank in enumerate(ranking["combined"]["ranks"]) if rank is not None]
    if len(counted) < 2 or len(used) < _FEW_COLUMNS:
        return ""
    of = []
    for one in counted:
        scores = ranking["scores"][one["id"]]
        of.append(_ranks([-math.inf if score is None else score for score in scores], used))
    spread = {j: max(ranks[j] for ranks in of) - min(ranks[j] for ranks in of) for j in used}
    most = max(used, key=lambda j: (spread[j], -j))
    if spread[most] < _APART * len(used):
        return ""
    least, last = (pick(range(len(of)), key=lambda k: of[k][most]) for pick in (min, max))
    label = [midway(one["label"]) for one in counted]
    return (
        f"The criteria disagree most about {shortened(ranking['columns'][most], 40)}: rank {number(of[least][most])} by "
        f"{label[least]}, {number(of[last][most])} by {label[last]}."
    )


def _ranks(scores: Sequence[float], used: Sequence[int]) -> dict[int, float]:
    """Return the rank of every column in use; equal scores share the mean of their ranks."""
    ranks: dict[int, float] = {}
    above = 0
    for _, alike in groupby(sorted(used, key=lambda j: -scores[j]), key=lambda j: scores[j]):
        columns = list(alike)
        ranks |= dict.fromkeys(columns, above + (len(columns) + 1) / 2)
        above += len(columns)
    return ranks


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

"""The ranking: the scores of all criteria side by side in one table to sort, and the one rank that they come to."""

from __future__ import annotations

import math
from itertools import groupby
from typing import TYPE_CHECKING, Any

from tamiz.report.recommendation import initial_selection
from tamiz.report.text import (
    MAX_LISTED,
    count_with_noun,
    format_number,
    format_percent,
    join_names,
    label_in_sentence,
    shorten,
    unlisted_note,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_CUTS_SHOWN = 5
# Ranks of one column that lie so far apart, as a share of all ranks, are worth a sentence.
_MIN_DISAGREEMENT = 0.4
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
    # Columns that the first criterion that counts scores 0 can be hidden.
    telling = scores[0]
    kinds = {column["name"]: column["kind"] for column in result["table"]["columns"]}
    subset = set(result["subset"]["columns"]) if result["subset"] is not None else set()
    at_first = set(initial_selection(result))
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
            "in_subset": names[j] in subset,
            "kept": names[j] in at_first,
            "ranked": telling[j] is not None,
            # What is left out has no score, which is not a score of 0.
            "zero_scores": telling[j] == 0,
            "combined": None if combined is None else _mean_rank_cell(ranks[j], combined["intervals"][j], n_ranked),
            "scores": [_score_cell(column[j], top) for column, top in zip(scores, tops, strict=True)],
            "cuts": _cut_points_text(ranking["cuts"].get(names[j])),
        }
        for j in order[:MAX_LISTED]
    ]
    # Equal ranks share the first place.
    places = telling if combined is None else ranks
    tied = [j for j in order[:n_ranked] if places[j] == places[order[0]]]
    by = _top_rank_text(ranking, tied) if combined is not None and n_ranked else ""
    target = result["table"]["target"]
    return {
        "lead": _lead(target, criteria[0], [telling[j] for j in order], [names[j] for j in tied], by),
        "criteria": [{**one, "counts": one in counted} for one in criteria],
        "combined": combined,
        "has_intervals": combined is not None and any(combined["intervals"]),
        "n_ranked": n_ranked,
        "n_zero_scores": sum(row["zero_scores"] for row in rows),
        "zero_scores_by": label_in_sentence(criteria[0]["label"]),
        "uncut": uncut_sentences(ranking, target),
        "disagreement": _disagreement_text(ranking, counted) if combined is not None else "",
        "has_cuts": bool(ranking["cuts"]),
        "has_subset": bool(subset),
        "has_recommended": at_first != subset,
        "rows": rows,
        "unlisted_note": unlisted_note(len(names)),
    }


def _top_rank_text(ranking: Mapping[str, Any], tied: Sequence[int]) -> str:
    """Return the combined rank of the first column, or of those that share the first place, in words."""
    combined = ranking["combined"]
    best, n = tied[0], len(combined["criteria"])
    words = f"mean rank {combined['ranks'][best]:.1f} by {n} criteria" if n > 1 else ""
    interval = combined["intervals"][best]
    if words and interval is not None and len(tied) == 1:
        words += f" (95% bootstrap interval {interval[0]:.1f} to {interval[1]:.1f})"
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
    label = label_in_sentence(criterion["label"])
    if not told:
        return f"No column could be scored by {label}."
    unit = f" {criterion['unit']}" if criterion["unit"] else ""
    by = rank or f"{label} {format_number(told[0])}{unit}"
    named, several = join_names(first), len(first) > 1
    if target is None:
        return f"{named} {'come' if several else 'comes'} first: {by}; without a target no score tells more."
    if not criterion["needs_target"]:
        return f"{named} {'come' if several else 'comes'} first: {by}, which does not depend on {shorten(target, 40)}."
    about = f"about {shorten(target, 40)}"
    silent = sum(score == 0 for score in told)
    if silent == len(told) and not rank:
        return f"Every {label} is 0. That is not evidence that the columns are unrelated to {shorten(target, 40)}."
    words = f"{named} {'say' if several else 'says'} most {about}: {by}"
    if silent:
        words += f"; the {label} of {count_with_noun(silent, 'column')} is 0"
    return f"{words}."


def uncut_sentences(ranking: Mapping[str, Any], target: str | None) -> list[str]:
    """Return which numeric columns have no cut point or are constant, and what a test finds and could find in them.

    Parameters
    ----------
    ranking : mapping
        The ranking of a result.
    target : str or None
    """
    sentences = []
    if ranking["uncut"] is not None:
        sentences.append(" ".join(_uncut_columns_sentences(ranking["uncut"], shorten(target, 40))))
    constant = ranking["constant"]
    if constant:
        verb = "is constant: it has" if len(constant) == 1 else "are constant: each has"
        sentences.append(f"{join_names(constant)} {verb} one value in all rows.")
    return sentences


def _uncut_columns_sentences(uncut: Mapping[str, Any], target: str) -> list[str]:
    """Return what is known of columns in one interval; a score of 0 is no evidence of absence, and its power is stated."""
    n, by_classes = len(uncut["columns"]), uncut["rule"] == "mdl"
    columns = f"{count_with_noun(n, 'column')} ({join_names(uncut['columns'], limit=4)})"
    rule = f"MDL discretisation finds no cut point in {columns}"
    if not by_classes:
        rule = f"Equal-frequency discretisation leaves {columns} in one interval"
    its, it_carries = ("its", "it carries") if n == 1 else ("their", "they carry")
    sentences = [
        f"{rule}, so {its} entropy-based scores are 0.",
        f"This is not evidence that {it_carries} no information.",
    ]
    if uncut["test"] is None:
        return [*sentences, f"No other test was made: {uncut['why_not']}."]
    level, n_tested = format_percent(uncut["level"]), uncut["n_tested"]
    test = "one-way ANOVA F tests" if by_classes else "t tests of Pearson's correlation"
    effect = f"differ{{}} significantly between the classes of {target}"
    explained = "of whose variance the classes explain"
    blind = "The F test compares means; MDL also finds classes that differ in spread or shape."
    if not by_classes:
        effect = f"correlate{{}} significantly with {target}"
        explained = f"that explains, of the variance of {target},"
        blind = "The t test finds linear effects only."
    enough, adjusted = (
        f"{format_number(100 * uncut[key], digits=2)}%" for key in ("detectable", "detectable_adjusted")
    )
    return [
        *sentences,
        f"In {test} of {count_with_noun(n_tested, 'numeric column')} (Benjamini-Hochberg, {level}), "
        f"{_n_significant_text(uncut['n_found'], n, effect)}.",
        f"With {count_with_noun(uncut['n_rows'], 'row')}, one test at the {level} level has a power of {format_percent(uncut['power'])} for a "
        f"column {explained} {enough}, and at the {level} / {n_tested:,} level for {adjusted}.",
        blind,
    ]


def _n_significant_text(n_found: int, n: int, effect: str) -> str:
    """Return how many columns have an effect, whose verb lacks its ending."""
    if n == 1:
        return f"it {effect.format('s')}" if n_found else f"it does not {effect.format('')}"
    if not n_found:
        return f"none of these {n:,} {effect.format('s')}"
    return f"{n_found:,} of these {n:,} {effect.format('s' if n_found == 1 else '')}"


def _mean_rank_cell(rank: float | None, interval: Sequence[float] | None, n_ranked: int) -> dict[str, Any]:
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


def _disagreement_text(ranking: Mapping[str, Any], criteria: Sequence[Mapping[str, Any]]) -> str:
    """Return the column that the criteria disagree about most, in a sentence; nothing where they agree well enough."""
    used = [j for j, rank in enumerate(ranking["combined"]["ranks"]) if rank is not None]
    if len(criteria) < 2 or len(used) < _FEW_COLUMNS:
        return ""
    of = []
    for one in criteria:
        scores = ranking["scores"][one["id"]]
        of.append(_ranks([-math.inf if score is None else score for score in scores], used))
    spread = {j: max(ranks[j] for ranks in of) - min(ranks[j] for ranks in of) for j in used}
    most = max(used, key=lambda j: (spread[j], -j))
    if spread[most] < _MIN_DISAGREEMENT * len(used):
        return ""
    least, last = (pick(range(len(of)), key=lambda k: of[k][most]) for pick in (min, max))
    label = [label_in_sentence(one["label"]) for one in criteria]
    return (
        f"The criteria disagree most about {shorten(ranking['columns'][most], 40)}: rank {format_number(of[least][most])} by "
        f"{label[least]}, {format_number(of[last][most])} by {label[last]}."
    )


def _ranks(scores: Sequence[float], column_numbers: Sequence[int]) -> dict[int, float]:
    """Return the rank of every column in use; equal scores share the mean of their ranks."""
    ranks: dict[int, float] = {}
    above = 0
    for _, alike in groupby(sorted(column_numbers, key=lambda j: -scores[j]), key=lambda j: scores[j]):
        columns = list(alike)
        ranks |= dict.fromkeys(columns, above + (len(columns) + 1) / 2)
        above += len(columns)
    return ranks


def _score_cell(value: float | None, best: float) -> dict[str, Any]:
    """Return a score with the length of its bar: its share of the column's best, and no bar below zero."""
    share = max(0.0, value / best) if value is not None and best > 0 else 0.0
    told = format_number(value)
    # One number of decimals down the column lines the points up. A score without a small bound, such as a variance,
    # spans too many sizes for that.
    if value and 1e-4 <= best < 10:
        decimals = 3 - math.floor(math.log10(best))
        told = f"{value:.{decimals}f}" if abs(value) >= 0.5 * 10**-decimals else f"<{10**-decimals:.{decimals}f}"
    return {"value": value, "text": told.replace("-", "−"), "percent": f"{100 * share:.1f}"}


def _cut_points_text(cuts: Sequence[float] | None) -> str:
    if cuts is None:
        return ""
    if not cuts:
        return "no cut"
    return join_names([format_number(cut) for cut in cuts], limit=_CUTS_SHOWN).replace(" and ", ", ")

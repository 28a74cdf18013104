"""The ranking: the scores of all criteria in one sortable table, and the mean rank of each column."""

from __future__ import annotations

import math
from itertools import groupby
from typing import TYPE_CHECKING, Any

from tamiz.report.recommendation import initial_selection
from tamiz.report.text import (
    MAX_LISTED,
    count_with_noun,
    format_number,
    format_p_value,
    format_percent,
    join_column_names,
    join_names,
    label_in_sentence,
    shorten,
    unlisted_note,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tamiz.report.records.codec import Interval
    from tamiz.report.records.columns import (
        ColumnTestsRecord,
        CriterionInfo,
        MeanRank,
        RankingRecord,
        UncutColumns,
    )
    from tamiz.report.records.study import StudyRecord

_CUTS_SHOWN = 5
# A column whose ranks differ by this share of all ranks is named in a sentence.
_MIN_DISAGREEMENT = 0.4
_FEW_COLUMNS = 5
_FEW_NAMED = 3


def collect_ranking(result: StudyRecord) -> dict[str, Any] | None:
    """Return the context of the section: the criteria, and one row per column, best first by the mean rank.

    Parameters
    ----------
    result : StudyRecord
        The record of a study.

    Returns
    -------
    dict or None
        The variables of the template; None without a ranking.
    """
    ranking = result.ranking
    if ranking is None or not ranking.criteria:
        return None
    names, mean_rank, tests, target = ranking.columns, ranking.mean_rank, ranking.tests, result.table.target
    counted, criteria = _counted_first(ranking)
    scores = [ranking.scores[criterion.id] for criterion in criteria]
    # Columns with a score of 0 by the first counted criterion can be hidden.
    first_scores = scores[0]
    kinds = {column.name: column.kind for column in result.table.columns}
    excluded = {column.name for column in result.table.columns if column.exclusion}
    years = {column.name for column in result.table.columns if column.has_years}
    at_first = set(initial_selection(result))
    tops = [max((s for s in column if s is not None), default=0.0) for column in scores]
    ranks = [None] * len(names) if mean_rank is None else mean_rank.ranks
    order, n_ranked = best_columns_first(ranking)
    titles = [_rank_titles(ranking, criterion) for criterion in criteria]
    rows = [
        {
            "name": names[j],
            "kind": kinds.get(names[j], ""),
            "kept": names[j] in at_first,
            "ranked": first_scores[j] is not None,
            "excluded": names[j] in excluded,
            # An excluded column has no score, which differs from a score of 0.
            "zero_scores": first_scores[j] == 0,
            "mean_rank": None if mean_rank is None else _mean_rank_cell(ranks[j], mean_rank.intervals[j], n_ranked),
            "scores": [
                {**_score_cell(column[j], top), "title": title[j]}
                for column, top, title in zip(scores, tops, titles, strict=True)
            ],
            "p_value": _p_value_cell(tests, j),
            "cuts": _cut_points_text(ranking.cut_points.get(names[j]), are_years=names[j] in years),
        }
        for j in order[:MAX_LISTED]
    ]
    # All columns that tie for the first rank are named.
    order_by = first_scores if mean_rank is None else ranks
    tied = [j for j in order[:n_ranked] if order_by[j] == order_by[order[0]]]
    by = _top_rank_text(mean_rank, tied) if mean_rank is not None and n_ranked else ""
    leads = not result.table.leaking.isdisjoint(names[j] for j in tied)
    doubt = _doubt_text(ranking, tied, target) if n_ranked and criteria[0].needs_target and not leads else None
    return {
        "lead": _lead(
            target,
            criteria[0],
            [names[j] for j in order],
            [first_scores[j] for j in order],
            [names[j] for j in tied],
            by,
            doubt,
        ),
        "criteria": criteria,
        "mean_rank": mean_rank,
        "ranked_by": "" if mean_rank is None else _criteria_text(counted, criteria[len(counted) :]),
        "has_intervals": mean_rank is not None and any(mean_rank.intervals),
        "has_criterion_intervals": mean_rank is not None and bool(mean_rank.criterion_intervals),
        "n_ranked": n_ranked,
        "n_zero_scores": sum(row["zero_scores"] for row in rows),
        "zero_scores_by": label_in_sentence(criteria[0].label),
        "uncut": uncut_sentences(ranking, target),
        "tests": "" if tests is None else _tests_text(tests, shorten(target, 40)),
        "at_chance": _chance_level_text(ranking, target),
        "associations": [f"{one}." for one in ranking.associations],
        "notes": list(filter(None, [ranking.interactions])),
        "has_p_values": tests is not None and not tests.untestable_reason,
        "disagreement": "" if mean_rank is None else _disagreement_text(ranking, mean_rank, counted),
        "has_cuts": bool(ranking.cut_points),
        "has_kept": bool(at_first),
        "first_unticked": _first_unticked_text(names[order[0]], at_first) if at_first and n_ranked else "",
        "rows": rows,
        "unlisted_note": unlisted_note(len(names)),
    }


def _counted_first(ranking: RankingRecord) -> tuple[list[CriterionInfo], list[CriterionInfo]]:
    """Return the criteria that the mean rank counts, and all criteria with these first."""
    rank = ranking.mean_rank
    counted = [one for one in ranking.criteria if rank is None or one.id in rank.criteria]
    return counted, [*counted, *(one for one in ranking.criteria if one not in counted)]


def best_columns_first(ranking: RankingRecord) -> tuple[list[int], int]:
    """Return the numbers of the columns, best first by the mean rank, and how many have one.

    Parameters
    ----------
    ranking : RankingRecord
    """
    scores = ranking.scores[_counted_first(ranking)[1][0].id]
    ranks = [None] * len(scores) if ranking.mean_rank is None else ranking.mean_rank.ranks
    order = sorted(
        range(len(scores)),
        key=lambda j: (scores[j] is None, math.inf if ranks[j] is None else ranks[j], -(scores[j] or 0.0), j),
    )
    return order, sum(score is not None for score in scores)


def _criteria_text(counted: Sequence[CriterionInfo], others: Sequence[CriterionInfo]) -> str:
    """Return which criteria the mean rank counts."""
    n = count_with_noun(len(counted), "criterion", "criteria")
    if not others:
        return n
    if any(one.needs_target for one in others) or not all(one.needs_target for one in counted):
        return f"{n} (the others are named under “What the scores mean”)"
    return f"the {n} that {'uses' if len(counted) == 1 else 'use'} the target"


def _first_unticked_text(first: str, ticked: set[str]) -> str:
    """Return a sentence on the column that ranks first if it is not among the ticked ones, else ""."""
    if first in ticked:
        return ""
    return (
        f"{shorten(first, 40)} ranks first but is not ticked: most criteria score each column by itself, and a selection omits "
        "columns that add little to the selected ones."
    )


def _top_rank_text(mean_rank: MeanRank, tied: Sequence[int]) -> str:
    """Return the mean rank of the first column, or of those that tie for the first rank, in words."""
    best, n = tied[0], len(mean_rank.criteria)
    words = f"mean rank {mean_rank.ranks[best]:.1f} over {n} criteria" if n > 1 else ""
    interval = mean_rank.intervals[best]
    if words and interval is not None and len(tied) == 1:
        words += f" (1 is the best; 95% bootstrap interval {interval[0]:.1f} to {interval[1]:.1f})"
    elif words:
        words += " (1 is the best)"
    return words


def _lead(
    target: str | None,
    criterion: CriterionInfo,
    names: Sequence[str],
    scores: Sequence[float | None],
    first: Sequence[str],
    rank: str,
    doubt: str | None,
) -> str:
    """Return a sentence on the columns that rank first, by mean rank or score, and on the number of columns with a score of 0."""
    known = [score for score in scores if score is not None]
    label = label_in_sentence(criterion.label)
    if not known:
        return f"No column could be scored by {label}."
    unit = f" {criterion.unit}" if criterion.unit else ""
    by = rank or f"{label} {format_number(known[0])}{unit}"
    named, several = join_column_names(first), len(first) > 1
    if target is None:
        return f"{named} {'rank' if several else 'ranks'} first: {by}; there is no target."
    if not criterion.needs_target:
        return f"{named} {'rank' if several else 'ranks'} first: {by}, which does not use {shorten(target, 40)}."
    zero = [name for name, score in zip(names, scores, strict=True) if score == 0]
    n_zero = len(zero)
    if n_zero == len(known) and not rank:
        return f"Every {label} is 0. That is not evidence that the columns are unrelated to {shorten(target, 40)}."
    verb = "are the most relevant columns" if several else "is the most relevant column"
    if doubt is not None:
        verb = "rank first" if several else "ranks first"
    words = f"{named} {verb} for {shorten(target, 40)}: {by}"
    if n_zero:
        words += f"; the {label} of {join_column_names(zero) if n_zero <= _FEW_NAMED else count_with_noun(n_zero, 'column')} is 0"
    return " ".join(filter(None, [f"{words}.", doubt]))


def _doubt_text(ranking: RankingRecord, first: Sequence[int], target: str | None) -> str | None:
    """Return why the columns that rank first are not called relevant, "" if no test exists; None if one of them is significant."""
    tests, at_chance = ranking.tests, {column.name for column in ranking.at_chance}
    its = "its" if len(first) == 1 else "their"
    if all(ranking.columns[j] in at_chance for j in first):
        return f"That is no evidence of a relation to {shorten(target, 40)}: {its} information is not above chance."
    if tests is None:
        return None
    if tests.untestable_reason:
        return ""
    adjusted = [p for j in first if (p := tests.adjusted[j]) is not None and ranking.columns[j] not in at_chance]
    if not adjusted or min(adjusted) <= tests.level:
        return None
    found = f"adjusted p-value {'' if len(adjusted) == 1 else 'at least '}{format_p_value(min(adjusted))}"
    tested = "A test of it alone does" if len(first) == 1 else "Tests of each alone do"
    return f"{tested} not find a relation to {shorten(target, 40)} ({found})."


def _chance_level_text(ranking: RankingRecord, target: str | None) -> str:
    """Return sentences on high-ranking columns of many values whose information is not above chance, "" without any."""
    if not ranking.at_chance:
        return ""
    named = join_names(
        [
            f"{join_column_names([one.name])} ({one.n_values:,} values: {one.information:.3g} bits, {one.expected:.3g} expected by "
            "chance)"
            for one in ranking.at_chance
        ],
        width=400,
    )
    return (
        f"The information about {shorten(target, 40)} is not above chance in {named}: at least one in twenty random orders of the "
        "rows have as much. Scores from counts, such as information gain, are high for any column of many values."
    )


def uncut_sentences(ranking: RankingRecord, target: str | None) -> list[str]:
    """Return sentences on numeric columns without a cut point, with the results and the power of a test, and on constant columns.

    Parameters
    ----------
    ranking : RankingRecord
    target : str or None
    """
    sentences = []
    if ranking.uncut is not None:
        sentences.append(" ".join(_uncut_columns_sentences(ranking.uncut, shorten(target, 40))))
    constant = ranking.constant
    if constant:
        verb = "is constant: it has" if len(constant) == 1 else "are constant: each has"
        sentences.append(f"{join_column_names(constant)} {verb} one value in all rows.")
    return sentences


def _uncut_columns_sentences(uncut: UncutColumns, target: str) -> list[str]:
    """Return sentences on the columns in one interval: a score of 0 is no evidence of absence; the test and its power follow."""
    n, by_classes = len(uncut.columns), uncut.rule == "mdl"
    columns = join_column_names(uncut.columns)
    if n > 1:
        columns = f"{n:,} columns ({join_column_names(uncut.columns, limit=4)})"
    rule = f"MDL discretisation finds no cut point in {columns}"
    if not by_classes:
        rule = f"Equal-frequency discretisation leaves {columns} in one interval"
    its, it_carries = ("its", "it carries") if n == 1 else ("their", "they carry")
    sentences = [
        f"{rule}, so {its} information gain is 0.",
        f"This is not evidence that {it_carries} no information.",
    ]
    tests = uncut.test
    if tests is None:
        return [*sentences, f"No other test was made: {uncut.untestable_reason}."]
    level, n_tested = format_percent(uncut.level), tests.n_tested
    test = "one-way ANOVA F tests" if by_classes else "t tests of Pearson's correlation"
    effect = f"differ{{}} significantly between the classes of {target}"
    explained = "if the classes explain {} of a column's variance"
    blind = "The F test compares means; MDL also finds classes that differ in spread or shape."
    if not by_classes:
        effect = f"correlate{{}} significantly with {target}"
        explained = f"if a column explains {{}} of the variance of {target}"
        blind = "The t test finds linear effects only."
    enough, adjusted = (
        f"{format_number(100 * share, digits=2)}%" for share in (tests.detectable, tests.detectable_adjusted)
    )
    return [
        *sentences,
        f"By {test}, with p-values adjusted for the tests of {count_with_noun(n_tested, 'column')} (Benjamini-Hochberg, {level}), "
        f"{_n_significant_text(tests.n_significant, columns, n, effect)}.",
        f"With {count_with_noun(tests.n_rows, 'row')}, a test at the {level} level has a power of "
        f"{format_percent(uncut.power)} {explained.format(enough)} ({adjusted} after Bonferroni's correction for "
        f"{count_with_noun(n_tested, 'test')}).",
        blind,
    ]


def _n_significant_text(n_found: int, columns: str, n: int, effect: str) -> str:
    """Return how many columns are significant; `effect` is a predicate with a placeholder for the ending of its verb."""
    if n == 1:
        return f"{columns} {effect.format('s')}" if n_found else f"{columns} does not {effect.format('')}"
    if not n_found:
        return f"none of these {n:,} {effect.format('s')}"
    return f"{n_found:,} of these {n:,} {effect.format('s' if n_found == 1 else '')}"


def _tests_text(tests: ColumnTestsRecord, target: str) -> str:
    """Return sentences on the tests, their number, and how many columns are significant; or why there are no p-values."""
    if tests.untestable_reason:
        return f"The ranking has no p-values: {tests.untestable_reason}."
    n, level = sum(tests.methods.values()), format_percent(tests.level)
    methods = join_names(
        [f"{name} for {count_with_noun(count, 'column')}" for name, count in tests.methods.items()], width=200
    )
    found = f"{tests.n_significant:,} of {count_with_noun(n, 'column')}"
    verb = "is" if tests.n_significant == 1 else "are"
    text = (
        f"{found} {verb} significantly related to {target} at a false discovery rate of {level}: the p-value, adjusted for "
        f"{count_with_noun(n, 'test')} by Benjamini-Hochberg, is at most {level}. The tests are {methods}."
    )
    if tests.few_expected:
        names = join_column_names(tests.few_expected)
        text += f" The p-values of {names} are approximate: more than 20% of the expected counts are below 5."
    return text


def _p_value_cell(tests: ColumnTestsRecord | None, j: int) -> dict[str, Any]:
    """Return the p-value of a column as a number, and the adjusted one and the p-value as text."""
    p = None if tests is None else tests.p_values[j]
    adjusted = None if tests is None else tests.adjusted[j]
    if tests is None or p is None or adjusted is None:
        return {"value": None, "adjusted": "", "text": "", "significant": False}
    return {
        "value": p,
        "adjusted": format_p_value(adjusted),
        "text": format_p_value(p),
        "significant": adjusted <= tests.level,
    }


def _mean_rank_cell(rank: float | None, interval: Interval | None, n_ranked: int) -> dict[str, Any]:
    """Return a rank and its interval as text, and their positions between the first and the last rank in percent."""
    if rank is None:
        return {"value": None, "text": "", "interval": "", "at": "0", "start": "0", "width": "0"}

    def position(one: float) -> float:
        return 100 * (one - 1) / max(n_ranked - 1, 1)

    low, high = (rank, rank) if interval is None else interval
    return {
        "value": rank,
        "text": f"{rank:.1f}",
        "interval": "" if interval is None else f"{low:.1f} to {high:.1f}",
        "at": f"{position(rank):.1f}",
        "start": f"{position(low):.1f}",
        "width": f"{position(high) - position(low):.1f}",
    }


def _disagreement_text(ranking: RankingRecord, mean_rank: MeanRank, criteria: Sequence[CriterionInfo]) -> str:
    """Return a sentence on the column about which the criteria disagree most, "" if the disagreement is small."""
    used = [j for j, rank in enumerate(mean_rank.ranks) if rank is not None]
    if len(criteria) < 2 or len(used) < _FEW_COLUMNS:
        return ""
    of = [_ranks(ranking.scores[one.id], used) for one in criteria]
    spread = {j: max(ranks[j] for ranks in of) - min(ranks[j] for ranks in of) for j in used}
    most = max(used, key=lambda j: (spread[j], -j))
    if spread[most] < _MIN_DISAGREEMENT * len(used):
        return ""
    least, last = (pick(range(len(of)), key=lambda k: of[k][most]) for pick in (min, max))
    label = [label_in_sentence(one.label) for one in criteria]
    return (
        f"The criteria disagree most about {shorten(ranking.columns[most], 40)}: rank {format_number(of[least][most])} by "
        f"{label[least]}, {format_number(of[last][most])} by {label[last]}."
    )


def _rank_titles(ranking: RankingRecord, criterion: CriterionInfo) -> list[str]:
    """Return the rank of every column by a criterion and its interval, "" without an interval."""
    mean_rank = ranking.mean_rank
    intervals = {} if mean_rank is None else mean_rank.criterion_intervals
    found = {j: one for j, one in enumerate(intervals.get(criterion.id, ())) if one is not None}
    ranks = _ranks(ranking.scores[criterion.id], list(found))
    titles = [""] * len(ranking.columns)
    for j, (low, high) in found.items():
        titles[j] = f"rank {ranks[j]:g} ({low:g} to {high:g})"
    return titles


def _ranks(values: Sequence[float | None], column_numbers: Sequence[int]) -> dict[int, float]:
    """Return the rank of every used column; equal scores share the mean of their ranks."""
    scores = [-math.inf if value is None else value for value in values]
    ranks: dict[int, float] = {}
    above = 0
    for _, alike in groupby(sorted(column_numbers, key=lambda j: -scores[j]), key=lambda j: scores[j]):
        columns = list(alike)
        ranks |= dict.fromkeys(columns, above + (len(columns) + 1) / 2)
        above += len(columns)
    return ranks


def _score_cell(value: float | None, best: float) -> dict[str, Any]:
    """Return a score as text, and the length of its bar: its share of the best score of the criterion, at least 0."""
    share = max(0.0, value / best) if value is not None and best > 0 else 0.0
    text = format_number(value)
    # Equal decimals align the decimal points. Unbounded scores, such as a variance, span too many magnitudes for that.
    if value and 1e-4 <= best < 10:
        decimals = 3 - math.floor(math.log10(best))
        text = f"{value:.{decimals}f}" if abs(value) >= 0.5 * 10**-decimals else f"<{10**-decimals:.{decimals}f}"
    return {"value": value, "text": text.replace("-", "−"), "percent": f"{100 * share:.1f}"}


def _cut_points_text(cuts: Sequence[float] | None, *, are_years: bool) -> str:
    if cuts is None:
        return ""
    if not cuts:
        return "none"
    return join_names([f"{cut:.5g}" if are_years else format_number(cut) for cut in cuts], limit=_CUTS_SHOWN).replace(
        " and ", ", "
    )

"""The columns: one table of their ranks, distributions and associations, why each is kept or not, and all evidence of each."""

from __future__ import annotations

import math
import re
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any

from tamiz.report import marks
from tamiz.report.recommendation import column_states, decision_row, initial_selection, short_reasons
from tamiz.report.table import values_text
from tamiz.report.text import (
    MAX_LISTED,
    capitalize,
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
    from collections.abc import Iterator, Mapping, Sequence

    from tamiz.assessment.findings import ColumnTestsRecord, MeanRank, UncutColumns
    from tamiz.report.records.columns import (
        CriterionInfo,
        RankingRecord,
    )
    from tamiz.report.records.study import StudyRecord

# The states of a column by which a reader filters.
_STATES = (
    ("kept", "Kept"),
    ("same", "Redundant"),
    ("nothing", "Adds nothing measurable"),
    ("less", "Adds less than the margin"),
    ("other", "Not selected"),
    ("leak", "Possible leaks"),
    ("excluded", "Excluded"),
)
_CUTS_SHOWN = 5
# A column whose ranks differ by this share of all ranks is named in a sentence.
_MIN_DISAGREEMENT = 0.4
_FEW_COLUMNS = 5
_FEW_NAMED = 3


def collect_columns(result: StudyRecord) -> dict[str, Any]:
    """Return the context of the section: one row per column, best first by the mean rank, with its evidence.

    Parameters
    ----------
    result : StudyRecord
        The record of a study.

    Returns
    -------
    dict
        The variables of the template.
    """
    evidence = ColumnEvidence(result)
    names = evidence.names
    rows = [{**evidence.row(name), **evidence.details(name)} for name in names[:MAX_LISTED]]
    found = result.distributions
    states = [row["state"] for row in rows]
    return {
        "rows": rows,
        "states": [(code, f"{label} ({states.count(code):,})") for code, label in _STATES if code in states],
        "groups": []
        if found is None or len(found.groups) < 2
        else [
            (shorten(one.name, 24), color)
            for one, color in zip(found.groups, marks.group_colors(found.groups), strict=True)
        ],
        "has_ranks": any(row["rank"] for row in rows),
        "has_pictures": any(row["picture"] for row in rows),
        "has_p_values": any(row["p_value"]["adjusted"] for row in rows),
        "has_associations": any(row["association"] for row in rows),
        "has_missing": any(row["n_missing"] for row in rows),
        "unlisted_note": unlisted_note(len(names)),
        "has_kept": bool(evidence.kept),
        "ranking": ranking_notes(result),
    }


class ColumnEvidence:
    """What a study found about each of its columns, by name.

    Attributes
    ----------
    names : list of str
        Those with a rank first, the best on top, then the others in the order of the table.
    ranking : RankingRecord or None
    """

    def __init__(self, result: StudyRecord) -> None:
        ranking = result.ranking
        self.ranking = None if ranking is None or not ranking.criteria else ranking
        self.kept = set(initial_selection(result))
        self.why = short_reasons(result)
        self.states = column_states(result)
        self.columns = {column.name: column for column in result.table.columns}
        self.names = list(self.columns)
        self.n_rows = result.table.n_rows_used
        found_distributions = () if result.distributions is None else result.distributions.columns
        self.logarithmic = {one.name for one in found_distributions if one.is_logarithmic}
        self.pictures = marks.distribution_pictures(result.distributions)
        self.place = {} if self.ranking is None else {name: j for j, name in enumerate(self.ranking.columns)}
        self.scale = marks.Scale(1.0, 2.0)
        if self.ranking is not None:
            order, n_ranked = self.ranking.best_first()
            self.names = [self.ranking.columns[j] for j in order]
            self.scale = marks.Scale(1.0, max(float(n_ranked), 2.0))
        found = result.recommendation
        self.decisions = {} if found is None else {one.name: decision_row(one, found) for one in result.decisions}
        self.subset = result.subset
        self.folds: dict[str, str] = {}
        if (assessed := result.reliability) is not None:
            n_folds = assessed.nested.n_folds
            shares = assessed.frequency_by_name
            self.folds = {one: f"{round(share * n_folds)} of {n_folds}" for one, share in shares.items()}

    @cached_property
    def criteria(self) -> list[tuple[CriterionInfo, dict[int, float]]]:
        """The criteria, those that the mean rank counts first, and the ranks by each; the first screen seldom needs them."""
        if self.ranking is None:
            return []
        order, _ = self.ranking.best_first()
        scores = ((one, self.ranking.scores[one.id]) for one in self.ranking.criteria_counted_first()[1])
        return [(one, _ranks(values, [j for j in order if values[j] is not None])) for one, values in scores]

    @cached_property
    def reasons(self) -> dict[str, dict[str, Any]]:
        """Why each column is in the subset of a search or not, by name."""
        if self.subset is None:
            return {}
        # Imported late: it loads matplotlib, and the first screen needs none of it.
        from tamiz.report.subset import reason_rows

        return {row["name"]: row for row in reason_rows(self.subset)}

    def row(self, name: str) -> dict[str, Any]:
        """Return whether and why a column is kept, its rank and its distribution."""
        j = self.place.get(name)
        return {
            "name": name,
            "kept": name in self.kept,
            "why": self.why.get(name, ""),
            "rank": None if j is None else self._rank(j),
            "picture": self.pictures.get(name, ""),
        }

    def details(self, name: str) -> dict[str, Any]:
        """Return what the table of columns shows beside the row of a column."""
        column, j = self.columns.get(name), self.place.get(name)
        associations = () if self.ranking is None else self.ranking.associations.get(name, ())
        n_missing = 0 if column is None else column.n_missing
        return {
            "kind": "" if column is None else column.kind,
            "excluded": column is not None and bool(column.exclusion),
            "state": "kept" if name in self.kept else self.states.get(name, "other"),
            "logarithmic": name in self.logarithmic,
            "association": _short_association(associations[0]) if associations else "",
            "p_value": _p_value_cell(None if self.ranking is None else self.ranking.tests, j),
            "n_missing": n_missing,
            "missing": format_percent(min(1.0, n_missing / self.n_rows)) if n_missing and self.n_rows else "",
            "facts": [(label, text) for label, text in self._facts(name) if text],
        }

    def _rank(self, j: int) -> dict[str, Any] | None:
        """Return the mean rank of a column, or its rank by the only criterion, with its mark."""
        assert self.ranking is not None
        combined = self.ranking.mean_rank
        rank = self.criteria[0][1].get(j) if combined is None else combined.ranks[j]
        if rank is None:
            return None
        interval = None if combined is None else combined.intervals[j]
        ends = None if interval is None else tuple(map(self.scale.at, interval))
        return {
            "value": rank,
            "text": f"{rank:.1f}" if combined is not None else f"{rank:g}",
            "interval": "" if interval is None else f"{interval[0]:.1f} to {interval[1]:.1f}",
            "mark": marks.dot_interval(self.scale.at(rank), ends),
        }

    def _facts(self, name: str) -> Iterator[tuple[str, str]]:
        """Yield the evidence of a column in words, "" for what is not known of it."""
        column, j, ranking = self.columns.get(name), self.place.get(name), self.ranking
        decision, reason = self.decisions.get(name), self.reasons.get(name)
        if column is not None and column.exclusion:
            yield "Excluded", f"{column.exclusion.rstrip('.')}."
        elif decision is not None:
            yield "Why", decision["sentence"]
        elif reason is not None:
            yield "Why", reason["sentence"]
        associations = () if ranking is None else ranking.associations.get(name, ())
        yield "Association", f"{capitalize(associations[0])}." if associations else ""
        yield "Missing values", " ".join(f"{capitalize(text)}." for text in associations[1:])
        yield "Chosen in the folds", self.folds.get(name, "") or ("" if decision is None else decision["folds"])
        yield "p-value of what it adds to all others", "" if decision is None else decision["p_text"]
        similar = decision["similar"] if decision else reason["similar"] if reason else ()
        yield "Most similar", ", ".join(f"{shorten(other, 40)} {value}" for other, value in similar)
        if ranking is not None and j is not None:
            yield "Rank", self._rank_text(j)
            yield "Scores", "; ".join(filter(None, (self._score_text(j, *one) for one in self.criteria)))
            yield "Independence test", self._test_text(j)
            are_years = column is not None and column.has_years
            yield "Cut points", _cut_points_text(ranking.cut_points.get(name), are_years=are_years)
        if column is not None:
            yield "Equal column", "" if column.same_as is None else shorten(column.same_as, 40)
            yield "Values", values_text(column)
            if column.kind_suggestion is not None:
                yield "Kind", f"could be {column.kind_suggestion.kind}: {column.kind_suggestion.reason}."

    def _rank_text(self, j: int) -> str:
        rank = self._rank(j)
        return "" if rank is None or not rank["interval"] else f"{rank['text']} (95% interval {rank['interval']})"

    def _score_text(self, j: int, criterion: CriterionInfo, ranks: Mapping[int, float]) -> str:
        """Return the score of a column by a criterion, with its rank and the interval of the rank."""
        assert self.ranking is not None
        score = self.ranking.scores[criterion.id][j]
        if score is None:
            return ""
        combined = self.ranking.mean_rank
        intervals = () if combined is None else combined.criterion_intervals.get(criterion.id, ())
        span = intervals[j] if intervals else None
        between = "" if span is None else f" ({span[0]:g} to {span[1]:g})"
        unit = f" {criterion.unit}" if criterion.unit else ""
        return f"{label_in_sentence(criterion.label)} {format_number(score)}{unit}, rank {ranks[j]:g}{between}"

    def _test_text(self, j: int) -> str:
        assert self.ranking is not None
        cell = _p_value_cell(self.ranking.tests, j)
        return f"p-value {cell['text']}, adjusted {cell['adjusted']}" if cell["adjusted"] else ""


def _short_association(text: str) -> str:
    """Return direction and size of an association without its interval, which is in the evidence of the column."""
    if text.startswith(("direction uncertain", "no clear difference", "no association")):
        return "no clear association"
    return re.sub(r"[,;] [+−-]?[\d.]+ to [+−-]?[\d.]+(?=[);]|$)| \([\d.]+ to [\d.]+\)", "", text).replace(
        "standard deviations", "SD"
    )


def ranking_notes(result: StudyRecord) -> dict[str, Any] | None:
    """Return the lead of the ranking, its criteria, and the notes on its scores and tests; None without a ranking.

    Parameters
    ----------
    result : StudyRecord
    """
    ranking = result.ranking
    if ranking is None or not ranking.criteria:
        return None
    names, mean_rank, tests, target = ranking.columns, ranking.mean_rank, ranking.tests, result.table.target
    counted, criteria = ranking.criteria_counted_first()
    first_scores = ranking.scores[criteria[0].id]
    at_first = set(initial_selection(result))
    ranks = [None] * len(names) if mean_rank is None else mean_rank.ranks
    order, n_ranked = ranking.best_first()
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
        "uncut": uncut_sentences(ranking, target),
        "tests": "" if tests is None else _tests_text(tests, shorten(target, 40)),
        "has_p_values": tests is not None and not tests.untestable_reason,
        "at_chance": _chance_level_text(ranking, target),
        "notes": list(filter(None, [ranking.interactions])),
        "disagreement": "" if mean_rank is None else _disagreement_text(ranking, mean_rank, counted),
        "has_cuts": bool(ranking.cut_points),
        "first_unticked": _first_unticked_text(names[order[0]], at_first) if at_first and n_ranked else "",
    }


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


def _p_value_cell(tests: ColumnTestsRecord | None, j: int | None) -> dict[str, Any]:
    """Return the p-value of a column as a number, and the adjusted one and the p-value as text."""
    p = None if tests is None or j is None else tests.p_values[j]
    adjusted = None if tests is None or j is None else tests.adjusted[j]
    if tests is None or p is None or adjusted is None:
        return {"value": None, "adjusted": "", "text": "", "significant": False}
    return {
        "value": p,
        "adjusted": format_p_value(adjusted),
        "text": format_p_value(p),
        "significant": adjusted <= tests.level,
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


def _cut_points_text(cuts: Sequence[float] | None, *, are_years: bool) -> str:
    if cuts is None:
        return ""
    if not cuts:
        return "none"
    return join_names([f"{cut:.5g}" if are_years else format_number(cut) for cut in cuts], limit=_CUTS_SHOWN).replace(
        " and ", ", "
    )

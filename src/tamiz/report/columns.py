"""The columns: one table of their ranks, distributions and associations, why each is kept or not, and all evidence of each."""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tamiz.report import drawing
from tamiz.report.recommendation import column_reasons, decision_sentence, initial_selection
from tamiz.report.table import values_text
from tamiz.report.text import (
    capitalize,
    count_with_noun,
    format_number,
    format_p_value,
    format_percent,
    join_column_names,
    join_names,
    label_in_sentence,
    shorten,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tamiz.assessment.findings import ColumnTestsRecord, UncutColumns
    from tamiz.report.records import CriterionInfo, RankingRecord, StudyRecord
    from tamiz.selection.subset_record import ColumnReason, SubsetRecord

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
# Rows of the table: a page with 100,000 columns would have 200 MB.
_MAX_LISTED = 5_000
_CUTS_SHOWN = 5
_FEW_NAMED = 3
# Merits that are means over folds may differ by rounding.
_MERIT_TOLERANCE = 1e-12
# A smaller symmetric uncertainty with the target explains by itself why a column is out.
_NEGLIGIBLE_UNCERTAINTY = 0.01


def collect_columns(record: StudyRecord) -> dict[str, Any]:
    """Return one row per column, best first by the mean rank, with its evidence."""
    evidence = ColumnEvidence(record)
    names = evidence.names
    rows = [{**evidence.row(name), **evidence.details(name)} for name in names[:_MAX_LISTED]]
    groups = () if record.distributions is None else record.distributions.groups
    states = [row["state"] for row in rows]
    return {
        "rows": rows,
        "states": [(code, f"{label} ({states.count(code):,})") for code, label in _STATES if code in states],
        "groups": [
            (shorten(one.name, 24), color)
            for one, color in zip(groups, drawing.group_colors(groups), strict=True)
            if len(groups) > 1
        ],
        "has_ranks": any(row["rank"] for row in rows),
        "has_pictures": any(row["picture"] for row in rows),
        "has_p_values": any(row["adjusted"] for row in rows),
        "has_associations": any(row["association"] for row in rows),
        "has_missing": any(row["missing"] for row in rows),
        "n_columns": len(names),
        "has_kept": bool(evidence.kept),
        "ranking": ranking_notes(record),
    }


class ColumnEvidence:
    """What a study found about each column, by name: best first, without a target as in the table; excluded ones last."""

    def __init__(self, record: StudyRecord) -> None:
        ranking = record.ranking
        self.ranking = None if ranking is None or not ranking.criteria else ranking
        self.has_target = record.table.target is not None
        self.kept = set(initial_selection(record))
        self.reasons = column_reasons(record)
        self.columns = {column.name: column for column in record.table.columns}
        self.names = sorted(self.columns, key=lambda name: self.columns[name].exclusion is not None)
        self.n_rows = record.table.n_rows_used
        found = () if record.distributions is None else record.distributions.columns
        self.logarithmic = {one.name for one in found if one.is_logarithmic}
        self.pictures = drawing.distribution_pictures(record.distributions)
        self.place = {} if self.ranking is None else {name: j for j, name in enumerate(self.ranking.columns)}
        self.scale = drawing.Scale(1.0, 2.0)
        if self.ranking is not None:
            order, n_ranked = self.ranking.best_first()
            if self.has_target:
                self.names = [self.ranking.columns[j] for j in order]
            self.scale = drawing.Scale(1.0, max(float(n_ranked), 2.0))
        self.tests = None if self.ranking is None else self.ranking.tests
        self.associations = {} if self.ranking is None else self.ranking.associations
        self.recommendation = record.recommendation
        self.decisions = {one.name: one for one in record.decisions}
        self.subset, self.reliability = record.subset, record.reliability
        self.subset_reasons = {} if self.subset is None else {one.name: one for one in self.subset.reasons}
        self.shares = {} if self.reliability is None else self.reliability.frequency_by_name

    @cached_property
    def criteria(self) -> list[tuple[CriterionInfo, dict[int, float]]]:
        """The criteria, those that the mean rank counts first, and the ranks by each; the first screen seldom needs them."""
        if self.ranking is None:
            return []
        order, _ = self.ranking.best_first()
        scores = ((one, self.ranking.scores[one.id]) for one in self.ranking.criteria_counted_first()[1])
        return [(one, _ranks(values, [j for j in order if values[j] is not None])) for one, values in scores]

    def row(self, name: str) -> dict[str, Any]:
        """Return whether and why a column is kept, its rank and its distribution."""
        j = self.place.get(name)
        return {
            "name": name,
            "kept": name in self.kept,
            "why": self.reasons[name][1] if name in self.reasons else "",
            "rank": None if j is None or not self.has_target else self._rank(j),
            "picture": self.pictures.get(name, ""),
        }

    def details(self, name: str) -> dict[str, Any]:
        """Return what the table of columns shows beside the row of a column."""
        column, associations = self.columns[name], self.associations.get(name)
        p, adjusted = self._p_values(name)
        missing = column.n_missing / self.n_rows if self.n_rows else 0.0
        return {
            "column": column,
            "state": "kept" if name in self.kept else self.reasons[name][0] if name in self.reasons else "other",
            "logarithmic": name in self.logarithmic,
            "association": _short_association(associations[0]) if associations else "",
            "p_value": p,
            "adjusted": "" if adjusted is None else format_p_value(adjusted),
            "significant": self.tests is not None and adjusted is not None and adjusted <= self.tests.level,
            "missing": format_percent(min(1.0, missing)) if missing else "",
            "facts": [(label, text) for label, text in self._facts(name) if text],
        }

    def _p_values(self, name: str) -> tuple[float | None, float | None]:
        """Return the p-value of the test of a column, and the adjusted one."""
        if self.tests is None:
            return None, None
        return self.tests.p_values[self.place[name]], self.tests.adjusted[self.place[name]]

    def _rank(self, j: int) -> dict[str, Any] | None:
        """Return the mean rank of a column, or its rank by the only criterion, with its mark."""
        assert self.ranking is not None
        combined = self.ranking.mean_rank
        rank = self.criteria[0][1].get(j) if combined is None else combined.ranks[j]
        if rank is None:
            return None
        interval = None if combined is None else combined.intervals[j]
        return {
            "value": rank,
            "text": f"{rank:.1f}" if combined is not None else f"{rank:g}",
            "interval": interval,
            "mark": self.scale.mark(rank, interval),
        }

    def _facts(self, name: str) -> Iterator[tuple[str, str]]:
        """Yield the evidence of a column in words, "" for what is not known of it."""
        column, decision, reason = self.columns[name], self.decisions.get(name), self.subset_reasons.get(name)
        if column.exclusion:
            yield "Excluded", f"{column.exclusion.rstrip('.')}."
        elif decision is not None and self.recommendation is not None:
            yield "Why", decision_sentence(decision, self.recommendation)
        elif reason is not None and self.subset is not None:
            yield "Why", reason_sentence(reason, self.subset)
        associations = [f"{capitalize(text)}." for text in self.associations.get(name, ())]
        yield "Association", "".join(associations[:1])
        yield "Missing values", " ".join(associations[1:])
        if self.reliability is not None and (decision is not None or name in self.shares):
            n_folds = self.reliability.nested.n_folds
            yield "Chosen in the folds", f"{round(self.shares.get(name, 0.0) * n_folds)} of {n_folds}"
        if decision is not None and decision.p_value is not None:
            yield "p-value of what it adds to all others", format_p_value(decision.p_value)
        similar = decision.similar if decision else reason.similar if reason else ()
        others = (f"{shorten(one.name, 40)} {format_number(one.uncertainty, digits=2)}" for one in similar)
        yield "Most similar", ", ".join(others)
        if self.ranking is not None:
            j = self.place[name]
            if (rank := self._rank(j)) is not None and rank["interval"] is not None:
                yield "Rank", "{} (95% interval {:.1f} to {:.1f})".format(rank["text"], *rank["interval"])
            yield "Scores", "; ".join(filter(None, (self._score_text(j, *one) for one in self.criteria)))
            p, adjusted = self._p_values(name)
            if p is not None and adjusted is not None:
                yield "Independence test", f"p-value {format_p_value(p)}, adjusted {format_p_value(adjusted)}"
            yield "Cut points", _cut_points_text(self.ranking.cut_points.get(name), are_years=column.has_years)
        yield "Equal column", "" if column.same_as is None else shorten(column.same_as, 40)
        yield "Values", values_text(column)
        if column.kind_suggestion is not None:
            yield "Kind", f"could be {column.kind_suggestion.kind}: {column.kind_suggestion.reason}."

    def _score_text(self, j: int, criterion: CriterionInfo, ranks: Mapping[int, float]) -> str:
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


def reason_sentence(reason: ColumnReason, subset: SubsetRecord) -> str:
    """Return why a search selected a column or not: as requested, identical, or by the change of the merit with or without it."""
    change = None if reason.alternative_merit is None else reason.alternative_merit - subset.value
    if change is not None and abs(change) < _MERIT_TOLERANCE:
        change = 0.0
    what = f"{'removing' if reason.chosen else 'adding'} {join_names(['it', *reason.group], limit=4)}"
    effect = f"the merit after {what} was not computed"
    if change is not None:
        effect = f"{what} would change the merit by {'+' if change > 0 else ''}{format_number(change, digits=2)}"
    cause, why_not, size = "", "", reason.alternative_size
    if reason.role is not None:
        cause = f"{reason.role} by you"
    elif reason.same_as is not None:
        cause = f"equivalent to {join_names([reason.same_as])} (an association of at least 0.99), so not searched"
    elif subset.sizes is not None and not subset.sizes[0] <= size <= subset.sizes[1]:
        requested = " to ".join(f"{one:,}" for one in sorted(set(subset.sizes)))
        cause = f"there would be {count_with_noun(size, 'column')} (requested: {requested})"
    elif change is not None and change > 0:
        why_not = ", less than the search counts as a gain"
        if change > subset.min_gain:
            why_not = ": the search did not evaluate that subset"
    elif change == 0 and not reason.chosen:
        why_not = ", and of equal subsets the smaller is kept"
    elif change is not None and not reason.chosen:
        cause = _low_merit_cause(reason)
    return f"{capitalize('; '.join(filter(None, [cause, effect])))}{why_not}."


def _low_merit_cause(reason: ColumnReason) -> str:
    relevance, similar = reason.relevance, reason.similar
    if relevance is None:
        return "adds less than it costs"
    size = format_number(relevance, digits=2)
    if relevance < _NEGLIGIBLE_UNCERTAINTY:
        return f"almost unrelated to the target (symmetric uncertainty {size})"
    if similar and similar[0].uncertainty >= relevance:
        nearest = f"{join_names([similar[0].name])} ({format_number(similar[0].uncertainty, digits=2)})"
        return f"more similar to {nearest} than to the target ({size})"
    return f"adds less than it costs, with a symmetric uncertainty of {size} with the target"


def _short_association(text: str) -> str:
    """Return direction and size of an association without its interval, which is in the evidence of the column."""
    if text.startswith(("direction uncertain", "no clear difference", "no association")):
        return "no clear association"
    return re.sub(r"[,;] [+−-]?[\d.]+ to [+−-]?[\d.]+(?=[);]|$)| \([\d.]+ to [\d.]+\)", "", text).replace(
        "standard deviations", "SD"
    )


def ranking_notes(record: StudyRecord) -> dict[str, Any] | None:
    """Return the lead of the ranking, its criteria, and the notes on its scores and tests; None without a ranking."""
    ranking, target = record.ranking, shorten(record.table.target, 40) if record.table.target is not None else ""
    if ranking is None or not ranking.criteria:
        return None
    mean_rank, tests, (_, criteria) = ranking.mean_rank, ranking.tests, ranking.criteria_counted_first()
    return {
        "lead": _lead(ranking, target, record.table.leaking) if target else "",
        "criteria": criteria,
        "mean_rank": mean_rank,
        "has_intervals": mean_rank is not None and any(mean_rank.intervals),
        "interactions": ranking.interactions,
        "at_chance": _chance_level_text(ranking, target),
        "tests": "" if tests is None else _tests_text(tests, target),
        "uncut": "" if ranking.uncut is None else uncut_text(ranking.uncut, target),
        "constant": f"Constant, with one value in all rows: {join_column_names(ranking.constant)}."
        if ranking.constant
        else "",
        "has_p_values": tests is not None and not tests.untestable_reason,
        "has_cuts": bool(ranking.cut_points),
    }


def _lead(ranking: RankingRecord, target: str, leaking: frozenset[str]) -> str:
    """Return a sentence on the columns that rank first, by mean rank or score, and on the columns with a score of 0."""
    mean_rank, criterion = ranking.mean_rank, ranking.criteria_counted_first()[1][0]
    scores, label = ranking.scores[criterion.id], label_in_sentence(criterion.label)
    order, n_ranked = ranking.best_first()
    if not n_ranked:
        return f"No column could be scored by {label}."
    # All columns that tie for the first rank are named.
    values = scores if mean_rank is None else mean_rank.ranks
    tied = [j for j in order[:n_ranked] if values[j] == values[order[0]]]
    by = f"{label} {format_number(scores[order[0]])} {criterion.unit}".rstrip()
    zero = [ranking.columns[j] for j in order if scores[j] == 0]
    if mean_rank is not None and len(mean_rank.criteria) > 1:
        interval = mean_rank.intervals[tied[0]] if len(tied) == 1 else None
        between = "" if interval is None else "; 95% bootstrap interval {:.1f} to {:.1f}".format(*interval)
        by = f"mean rank {values[tied[0]]:.1f} over {len(mean_rank.criteria)} criteria (1 is the best{between})"
    elif criterion.needs_target and len(zero) == n_ranked:
        return f"Every {label} is 0. That is not evidence that the columns are unrelated to {target}."
    first = f"{join_column_names([ranking.columns[j] for j in tied])} {'rank' if len(tied) > 1 else 'ranks'} first"
    if not criterion.needs_target:
        return f"{first}: {by}, which does not use {target}."
    if zero:
        by += f"; the {label} of {join_column_names(zero, limit=_FEW_NAMED)} is 0"
    doubt = _doubt_text(ranking, tied, target) if leaking.isdisjoint(ranking.columns[j] for j in tied) else ""
    return f"{first} for {target}: {by}. {doubt}".rstrip()


def _doubt_text(ranking: RankingRecord, first: Sequence[int], target: str) -> str:
    """Return why the first rank is no evidence of a relation to the target; "" if a test of one of the columns is significant."""
    tests, at_chance = ranking.tests, {column.name for column in ranking.at_chance}
    tested = [j for j in first if ranking.columns[j] not in at_chance]
    if not tested:
        return f"That is no evidence of a relation to {target}: the information is not above chance."
    adjusted = [] if tests is None else [p for j in tested if (p := tests.adjusted[j]) is not None]
    if tests is None or not adjusted or min(adjusted) <= tests.level:
        return ""
    return (
        f"A test of one column alone finds no relation to {target} (adjusted p-value {format_p_value(min(adjusted))})."
    )


def _chance_level_text(ranking: RankingRecord, target: str) -> str:
    """Return sentences on high-ranking columns of many values whose information is not above chance, "" without any."""
    named = [
        f"{join_column_names([one.name])} ({one.n_values:,} values: {one.information:.3g} bits, {one.expected:.3g} expected by "
        "chance)"
        for one in ranking.at_chance
    ]
    if not named:
        return ""
    return (
        f"The information about {target} is not above chance in {join_names(named, width=400)}: at least one in twenty random "
        "orders of the rows have as much. Scores from counts, such as information gain, are high for any column of many values."
    )


# The name of the rule that cuts columns, the test of columns without a cut point, and what that test does not find.
_UNCUT_TEXTS = {
    "mdl": (
        "MDL",
        "an F test (one-way ANOVA)",
        "compares means; MDL also finds classes that differ in spread or shape",
    ),
    "equal_frequency": ("Equal-frequency", "a t test of Pearson's correlation", "finds linear effects only"),
}


def uncut_text(uncut: UncutColumns, target: str) -> str:
    """Return sentences on numeric columns in one interval, whose score of 0 is no evidence: the test and its power."""
    (rule, test, blind), tests, level = _UNCUT_TEXTS[uncut.rule], uncut.test, format_percent(uncut.level)
    words = (
        f"{rule} discretisation finds no cut point in {count_with_noun(len(uncut.columns), 'column')} "
        f"({join_column_names(uncut.columns, limit=4)}): the information gain is 0. This is not evidence of no information."
    )
    if tests is None:
        return f"{words} No other test was made: {uncut.untestable_reason}."
    enough, strict = (
        f"{format_number(100 * share, digits=2)}%" for share in (tests.detectable, tests.detectable_adjusted)
    )
    return (
        f"{words} By {test}, {_significant_text(tests.n_significant, len(uncut.columns), target, uncut.level, tests.n_tested)}. "
        f"With {count_with_noun(tests.n_rows, 'row')}, a test at the {level} level has a power of {format_percent(uncut.power)} if "
        f"column or target explains {enough} of the variance of the other ({strict} after Bonferroni's correction for "
        f"{count_with_noun(tests.n_tested, 'test')}). The test {blind}."
    )


def _significant_text(n_found: int, n: int, target: str, level: float, n_tests: int) -> str:
    verb, tests = "is" if 1 in (n_found, n) else "are", count_with_noun(n_tests, "test")
    return (
        f"{n_found:,} of {count_with_noun(n, 'column')} {verb} significantly related to {target} at a false discovery rate of "
        f"{format_percent(level)} (p-values adjusted for {tests} by Benjamini-Hochberg)"
    )


def _tests_text(tests: ColumnTestsRecord, target: str) -> str:
    """Return sentences on the tests, their number, and how many columns are significant; or why there are no p-values."""
    if tests.untestable_reason:
        return f"The ranking has no p-values: {tests.untestable_reason}."
    n = sum(tests.methods.values())
    methods = [f"{name} for {count_with_noun(count, 'column')}" for name, count in tests.methods.items()]
    text = f"{_significant_text(tests.n_significant, n, target, tests.level, n)}. The tests are {join_names(methods, width=200)}."
    if tests.few_expected:
        names = join_column_names(tests.few_expected)
        text += f" The p-values of {names} are approximate: more than 20% of the expected counts are below 5."
    return text


def _ranks(values: Sequence[float | None], column_numbers: Sequence[int]) -> dict[int, float]:
    """Return the rank of every used column; equal scores share the mean of their ranks."""
    scores = {j: -math.inf if (value := values[j]) is None else value for j in column_numbers}
    ascending = sorted(-score for score in scores.values())
    return {j: (bisect_left(ascending, -one) + bisect_right(ascending, -one) + 1) / 2 for j, one in scores.items()}


def _cut_points_text(cuts: Sequence[float] | None, *, are_years: bool) -> str:
    if cuts is None:
        return ""
    if not cuts:
        return "none"
    return join_names([f"{cut:.5g}" if are_years else format_number(cut) for cut in cuts], limit=_CUTS_SHOWN).replace(
        " and ", ", "
    )

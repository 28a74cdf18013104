"""Records of the columns: the table, the ranking, and the redundancy of the columns."""

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Literal

from tamiz.assessment.findings import ColumnTestsRecord, MeanRank, PossibleLeak, UncutColumns
from tamiz.runtime.codec import Named, check_known, check_lengths
from tamiz.selection.subset_report import SimilarColumn

_YEARS = 1800, 2200


@dataclass(frozen=True, kw_only=True, slots=True)
class ClassWeight:
    """A class of the target and the weight of its rows: their number if rows have no weights."""

    name: str
    weight: float


@dataclass(frozen=True, kw_only=True, slots=True)
class NumberSummary:
    """A summary of numbers; one number has no standard deviation."""

    mean: float
    sd: float | None
    min: float
    max: float


@dataclass(frozen=True, kw_only=True, slots=True)
class KindSuggestion:
    """Another plausible kind of a column, and why."""

    kind: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class EqualRowsRecord:
    """The number of some rows, and the first group of equal ones as row numbers from 0."""

    n: int
    example: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class DuplicateRowsRecord(EqualRowsRecord):
    """The rows that repeat an earlier one, and those equal to a row of another class."""

    contradictions: EqualRowsRecord


@dataclass(frozen=True, kw_only=True, slots=True)
class LeakageExclusion:
    """The columns of possible target leakage that no section uses, and the score of the best model on all columns.

    `with_leaks` is the score with these columns and `without_leaks` that without them, of the same rows and folds; the scores,
    their scikit-learn name and the label of the model are None if no models were evaluated.
    """

    columns: tuple[str, ...]
    model: str | None = None
    scoring: str | None = None
    with_leaks: float | None = None
    without_leaks: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ColumnSummary:
    """A column: `exclusion` is why it is not used, `same_as` an equal column before it, `n_distinct` None if not counted.

    `date` is the date that it is a calendar part of; it is no column of the user's table then.
    """

    name: str
    kind: str
    n_missing: int
    n_levels: int | None
    levels: tuple[str, ...]
    constant: bool
    exclusion: str | None
    n_distinct: int | None
    same_as: str | None
    kind_suggestion: KindSuggestion | None
    numbers: NumberSummary | None
    date: str | None = None

    @property
    def has_years(self) -> bool:
        """Whether the smallest and the largest value look like years, which are written without a separator of thousands."""
        if self.numbers is None or self.numbers.min is None or self.numbers.max is None:
            return False
        low, high = self.numbers.min, self.numbers.max
        return _YEARS[0] <= low <= high <= _YEARS[1] and low.is_integer() and high.is_integer()


@dataclass(frozen=True, kw_only=True, slots=True)
class TableRecord:
    """The table: its rows, target, classes, duplicate rows, possible target leakage and columns.

    `row_order` is a sentence on the order of the rows; `duplicate_rows` is None if the rows were too many to compare.
    """

    n_rows: int
    n_rows_used: int
    target: str | None
    classes: tuple[ClassWeight, ...]
    target_summary: NumberSummary | None
    weight_column: str | None
    weight_kind: Literal["frequency", "sampling"] | None
    total_weight: float | None
    group_column: str | None
    time_column: str | None
    duplicate_rows: DuplicateRowsRecord | None
    row_order: str | None
    leakage: tuple[PossibleLeak, ...]
    columns: tuple[ColumnSummary, ...]

    @property
    def leaking(self) -> frozenset[str]:
        """The columns that alone predict the target almost perfectly: no section states that they may be chance."""
        return frozenset(leak.name for leak in self.leakage if leak.predictor != "formula")

    @property
    def own_columns(self) -> tuple[ColumnSummary, ...]:
        """The columns of the user's table, without parts of dates."""
        return tuple(column for column in self.columns if column.date is None)

    @property
    def n_own_used_columns(self) -> int:
        """The number of columns of the user's table that are used, a date by its parts."""
        return self.count_own(column.name for column in self.columns if not column.exclusion)

    def count_own(self, names: Iterable[str]) -> int:
        """Return how many columns of the user's table have these names, or parts with these names."""
        dates = {column.name: column.date for column in self.columns}
        return len({dates.get(name) or name for name in names})

    @property
    def n_used_columns(self) -> int:
        """The number of columns that are not excluded, parts of dates included."""
        return sum(not column.exclusion for column in self.columns)


@dataclass(frozen=True, kw_only=True, slots=True)
class CriterionInfo(Named):
    """A criterion of the ranking; `summary` is what its score is, in a sentence."""

    unit: str
    summary: str
    needs_target: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class ChanceLevelColumn:
    """A column of many values whose information about the target is not above chance, in bits, and the expected information."""

    name: str
    n_values: int
    information: float
    expected: float


@dataclass(frozen=True, kw_only=True, slots=True)
class RankingRecord:
    """The ranking: the scores of every column by every criterion; an excluded column has none.

    `at_chance` has those of the first columns, by the mean rank and by each criterion, whose information is not above chance.
    `associations` states direction and size of the association of columns with the target, and that of their missing values if it
    is significant. `interactions` is a sentence on pairs.
    """

    criteria: tuple[CriterionInfo, ...]
    columns: tuple[str, ...]
    scores: dict[str, tuple[float | None, ...]]
    cut_points: dict[str, tuple[float, ...] | None]
    uncut: UncutColumns | None
    constant: tuple[str, ...]
    mean_rank: MeanRank | None
    tests: ColumnTestsRecord | None
    at_chance: tuple[ChanceLevelColumn, ...] = ()
    associations: dict[str, tuple[str, ...]] = field(default_factory=dict)
    interactions: str = ""

    def criteria_counted_first(self) -> tuple[list[CriterionInfo], list[CriterionInfo]]:
        """Return the criteria that the mean rank counts, and all criteria with these first."""
        rank = self.mean_rank
        counted = [one for one in self.criteria if rank is None or one.id in rank.criteria]
        return counted, [*counted, *(one for one in self.criteria if one not in counted)]

    def best_first(self) -> tuple[list[int], int]:
        """Return the numbers of the columns, best first by the mean rank, and how many have one; there must be a criterion."""
        scores = self.scores[self.criteria_counted_first()[1][0].id]
        ranks = [None] * len(scores) if self.mean_rank is None else self.mean_rank.ranks
        order = sorted(
            range(len(scores)),
            key=lambda j: (scores[j] is None, math.inf if ranks[j] is None else ranks[j], -(scores[j] or 0.0), j),
        )
        return order, sum(score is not None for score in scores)

    def __post_init__(self) -> None:
        for column in self.at_chance:
            check_known("the column at chance level", column.name, self.columns)
        for one in self.criteria:
            check_known("the criterion", one.id, self.scores)
            check_lengths(columns=self.columns, scores=self.scores[one.id])
        if self.tests is not None:
            check_lengths(columns=self.columns, p_values=self.tests.p_values, adjusted=self.tests.adjusted)
        if self.mean_rank is not None:
            check_lengths(columns=self.columns, ranks=self.mean_rank.ranks, intervals=self.mean_rank.intervals)
            for name in self.mean_rank.criteria:
                check_known("the criterion", name, self.scores)
            for name, intervals in self.mean_rank.criterion_intervals.items():
                check_known("the criterion", name, self.scores)
                check_lengths(columns=self.columns, intervals=intervals)


@dataclass(frozen=True, kw_only=True, slots=True)
class RedundantGroup:
    """Columns of which every pair is redundant, the one to keep, and the smallest association of a pair with its measure."""

    columns: tuple[str, ...]
    keep: str
    min_value: float
    measure: str

    def __post_init__(self) -> None:
        check_known("the column to keep", self.keep, self.columns)

    def first_of(self, names: Collection[str]) -> str | None:
        return next((name for name in self.columns if name in names), None)


@dataclass(frozen=True, kw_only=True, slots=True)
class RedundancyRecord:
    """The redundancy of the columns: all pairs of the most similar columns, and the groups among all columns.

    `pair_steps` has one byte, of 255 steps, for each pair (0, 1), (0, 2), .. of `columns`, and `pair_measures` one byte with the
    position of its measure in `measures`. `sums` are sentences on columns that a few others determine. `n_columns` were
    compared, and `n_not_compared` were too many.
    """

    measure: Named
    columns: tuple[str, ...]
    pair_steps: bytes
    measures: tuple[str, ...]
    pair_measures: bytes
    groups: tuple[RedundantGroup, ...]
    sums: tuple[str, ...]
    threshold: float
    n_columns: int
    n_not_compared: int
    n_rows: int
    method: str

    def __post_init__(self) -> None:
        n = len(self.columns)
        check_lengths(pairs=n * (n - 1) // 2, values=self.pair_steps, measures=self.pair_measures)
        if max(self.pair_measures, default=0) >= len(self.measures):
            raise ValueError("a pair has an unknown measure")
        if n < 2:
            raise ValueError("fewer than two columns")

    def find_represented(self, kept: Collection[str]) -> dict[str, str]:
        """Return the columns that are not kept, but in a group with a kept one, each with the first kept one."""
        represented: dict[str, str] = {}
        for group in self.groups:
            if first := group.first_of(kept):
                represented |= dict.fromkeys(group.columns, first)
        return {name: first for name, first in represented.items() if name not in kept}


@dataclass(frozen=True, kw_only=True, slots=True)
class ColumnDecision:
    """Whether a column is recommended, with the share of the folds that choose it, and what it adds to the other columns.

    `same_as` is the column that represents an equivalent one, and `redundant_with` a kept one of the same redundant group.
    `relevance` is the symmetric uncertainty with the target, and `similar` the most similar recommended columns. `p_value` is that
    of the conditional importance in the model that decides, adjusted for all columns.
    """

    name: str
    kept: bool
    share: float
    same_as: str | None
    redundant_with: str | None
    relevance: float | None
    similar: tuple[SimilarColumn, ...]
    p_value: float | None

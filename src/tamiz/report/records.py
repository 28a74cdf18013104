"""The record of a study: the root of a result, and the code that reproduces it."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Literal

from tamiz.assessment.findings import (
    ColumnTestsRecord,
    DistributionsRecord,
    FoldDesignComparison,
    MeanRank,
    PossibleLeak,
    SelectionErrorRates,
    UncutColumns,
)
from tamiz.assessment.score_report import NoiseExperiment, Recommendation, SelectionReport
from tamiz.graphs.description import GraphDescription
from tamiz.metrics.estimates import QualityMeasure
from tamiz.reduction.description import ClusterRule, MapDescription
from tamiz.runtime.codec import Named, check_known, check_lengths
from tamiz.runtime.verdicts import Verdict
from tamiz.selection.subset_record import SimilarColumn, SubsetRecord

# Of more rows, coordinates are rounded to what a screen shows, and other numbers have six digits.
MAX_EXACT_ROWS = 2_000


@dataclass(frozen=True, kw_only=True, slots=True)
class GraphRecord(GraphDescription):
    """The neighbour graph of the rows.

    `description` is the builder in words, "" for a class from elsewhere. `n_joining_edges` connect its components, None if they
    cannot be connected.
    """

    id: str
    label: str
    parameters: str
    description: str
    by_class: bool
    n_joining_edges: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class AxisCorrelationsRecord:
    """The rank correlation of each column with each axis, over `n_rows` of the `n_mapped` rows, and its size by chance.

    A category has a correlation ratio, without a sign.
    """

    columns: tuple[str, ...]
    kinds: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]
    chance: tuple[float, ...]
    n_rows: int
    n_mapped: int

    def __post_init__(self) -> None:
        check_lengths(columns=self.columns, kinds=self.kinds, values=self.values, chance=self.chance)


@dataclass(frozen=True, kw_only=True, slots=True)
class MapClustersRecord:
    """The visible clusters of a map, the largest first, from `n_rows` of the `n_mapped` rows; `n_outside` are in none.

    `n_considered` of the `n_columns` columns were considered for conditions.
    """

    rules: tuple[ClusterRule, ...]
    n_rows: int
    n_mapped: int
    n_outside: int
    n_considered: int
    n_columns: int


@dataclass(frozen=True, kw_only=True, slots=True)
class GreyImage:
    """An image as one byte for each pixel, by rows: 0 is `low` and 255 is `high`."""

    name: str
    height: int
    width: int
    low: float
    high: float
    pixels: bytes

    def __post_init__(self) -> None:
        check_lengths(pixels=self.height * self.width, bytes=self.pixels)


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageSetRecord:
    """The first of `n_images` images, such as the components of a table of pixels."""

    title: str
    note: str
    n_images: int
    images: tuple[GreyImage, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class MapRecord(MapDescription):
    """A map: its description with the first axes, its points, correlations with the columns, and clusters.

    `points` are the first two coordinates of the shown `rows`, None if they were left out. `clusters` is None for a table without
    columns.
    """

    id: str
    label: str
    points: tuple[tuple[float, ...], ...] | None
    rows: tuple[int, ...]
    explanation: AxisCorrelationsRecord
    clusters: MapClustersRecord | None
    galleries: tuple[ImageSetRecord, ...]

    def __post_init__(self) -> None:
        if not self.axes:
            raise ValueError("no axes")
        if self.points is not None:
            check_lengths(rows=self.rows, points=self.points)
            for point in self.points:
                check_lengths(axes=self.axes[:2], coordinates=point)


@dataclass(frozen=True, kw_only=True, slots=True)
class MapQualityRecord:
    """The quality of a map: its measures, its curve R_NX, and the distances of pairs of rows at its best scale.

    Of every shown row it has the stress and the trustworthiness, None where it was not evaluated. `n_chance_rows` have no more
    trustworthiness than by chance; None among so few rows that all are such.
    """

    measures: tuple[QualityMeasure, ...]
    r_nx: tuple[float, ...]
    pairs: tuple[float, ...]
    stress: tuple[float | None, ...]
    trust: tuple[float | None, ...]
    n_chance_rows: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class QualityRecord:
    """The quality of all maps, in their order, on the same rows; None for a map that could not be evaluated.

    `sizes` are the neighbourhood sizes of the curves, and `pairs` the distances in the table of pairs of rows, all of them or drawn
    ones. `nearest` are, for every shown row, the positions of the ten that are nearest in the table among the evaluated rows.
    `chance_trust` is the trustworthiness that one row in twenty reaches on a map that is unrelated to the table. `shape_distances`
    contains Gower's m^2 between the first two coordinates of every two maps, None for a map without extent. Without points there
    are no values of single rows and pairs.
    """

    metric: Named
    n_rows: int
    n_neighbors: int
    maps: tuple[MapQualityRecord | None, ...]
    sizes: tuple[int, ...]
    pairs: tuple[float, ...]
    all_pairs: bool
    shape_distances: tuple[tuple[float | None, ...], ...]
    nearest: tuple[tuple[int, ...] | None, ...]
    chance_trust: float

    def __post_init__(self) -> None:
        for row in (self.shape_distances, *self.shape_distances):
            check_lengths(maps=self.maps, shape_distances=row)
        for one in filter(None, self.maps):
            check_lengths(sizes=self.sizes, curve=one.r_nx)
            check_lengths(pairs=self.pairs, distances=one.pairs)

    def values(self, name: str) -> tuple[float | None, ...]:
        """Return a measure of every map, None where it was not computed."""
        known = [{} if one is None else {measure.name: measure.value for measure in one.measures} for one in self.maps]
        return tuple(values.get(name) for values in known)


@dataclass(frozen=True, kw_only=True, slots=True)
class ColorColumn:
    """The values of the target, a column or the clusters for the shown rows; a categorical value is the number of its level."""

    name: str
    role: Literal["target", "column", "cluster"]
    kind: Literal["numeric", "date", "categorical"]
    values: tuple[float | None, ...]
    levels: tuple[str, ...]
    silhouette: float | None

    def __post_init__(self) -> None:
        if self.kind == "categorical":
            outside = [code for code in self.values if code is not None and code not in range(len(self.levels))]
            if outside:
                raise ValueError(f"there is no level {outside[0]}")


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


FORMAT = "tamiz result 6"


@dataclass(frozen=True, kw_only=True, slots=True)
class ReproductionRecord:
    """The study in Python and, if it was one, as a command line.

    `placeholders` are the names in the Python code of objects that were in memory.
    """

    command: str | None = None
    python: str = ""
    placeholders: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class StepTiming:
    """The seconds of a step, and its estimate if there was one."""

    step: str
    seconds: float
    estimated_seconds: float | None = None
    estimated_bytes: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class StudyRecord:
    """The names and numbers of a study, one record per section of the report.

    It contains no row of the table except the points of the maps and the values that colour them. `interruption` names the step
    that Ctrl-C ended. `decisions` are why each column is recommended or not, unless a search was requested; `assessment` is that of
    a requested search. `map_columns` are the columns that the graph and the maps use, None if these are all.
    """

    format: str = FORMAT
    tamiz: str
    versions: dict[str, str]
    title: str
    seed: int | None
    warnings: tuple[Verdict, ...] = ()
    interruption: str | None = None
    table: TableRecord
    leakage_exclusion: LeakageExclusion | None = None
    fold_design: FoldDesignComparison | None = None
    graph: GraphRecord | None = None
    ranking: RankingRecord | None = None
    distributions: DistributionsRecord | None = None
    redundancy: RedundancyRecord | None = None
    subset: SubsetRecord | None = None
    recommendation: Recommendation | None = None
    decisions: tuple[ColumnDecision, ...] = ()
    noise_experiment: NoiseExperiment | None = None
    assessment: SelectionReport | None = None
    error_rates: SelectionErrorRates | None = None
    maps: tuple[MapRecord, ...] = ()
    map_columns: tuple[str, ...] | None = None
    quality: QualityRecord | None = None
    colors: tuple[ColorColumn, ...] = ()
    reproduction: ReproductionRecord = ReproductionRecord()

    @property
    def reliability(self) -> SelectionReport | None:
        """The assessment of the requested search, or else that of the recommendation."""
        found = self.recommendation
        return self.assessment or (None if found is None or found.requested else found.report)

    def __post_init__(self) -> None:
        if self.quality is not None:
            check_lengths(maps=self.maps, evaluated=self.quality.maps)
        shown = [one for one in self.maps if one.points is not None]
        for color in self.colors if shown else ():
            check_lengths(rows=shown[0].rows, values=color.values)

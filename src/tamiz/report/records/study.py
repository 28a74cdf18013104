"""The record of a study: the root of a result, and the code that reproduces it."""

from dataclasses import dataclass

from tamiz.assessment.error_rates import SelectionErrorRates
from tamiz.assessment.findings import DistributionsRecord, FoldDesignComparison
from tamiz.assessment.score_report import NoiseExperiment, Recommendation, SelectionReport
from tamiz.report.records.columns import (
    ColumnDecision,
    LeakageExclusion,
    RankingRecord,
    RedundancyRecord,
    TableRecord,
)
from tamiz.report.records.maps import ColorColumn, GraphRecord, MapRecord, QualityRecord
from tamiz.runtime.codec import check_lengths
from tamiz.runtime.verdicts import Verdict
from tamiz.selection.subset_report import SubsetRecord

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

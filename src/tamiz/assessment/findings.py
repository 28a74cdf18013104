"""Records of what is found in a table: mean ranks, tests and distributions of columns, possible target leakage, fold designs."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from tamiz.runtime.codec import Interval, check_lengths, to_json

# The difference of the losses in standard errors, and the difference of the scores, from which on the designs differ.
_MIN_T, _MIN_DIFFERENCE = 2.5, 0.01
# The p-value of the intraclass correlation below which the rows of a group are dependent.
_MAX_P = 0.001
# The p-value of waves along the time below which rows of similar times are alike.
_MAX_WAVE_P = 0.05


@dataclass(frozen=True, kw_only=True, slots=True)
class Coverage:
    """The classes that were scored, those with at least `min_rows` rows, and all classes and rows."""

    min_rows: int
    n_classes: int
    of_classes: int
    of_rows: int


@dataclass(frozen=True, kw_only=True, slots=True)
class PossibleLeak:
    """A column of possible target leakage, or the columns of a formula.

    Attributes
    ----------
    name : str
        The name of the column, or the names of the columns of a formula.
    predictor : {"values", "missing", "formula"}
        Whether the values of the column, its missing values alone, or a formula of several columns predict the target.
    score : float
    score_name : {"balanced accuracy", "R2", "adjusted mutual information"}
        The last is the score of a recoding.
    baseline : float
        The score without the column; of a formula the best score of fewer columns.
    n_rows : int
        The rows that were scored; of a formula those that were not used to find it.
    by_groups : bool
        Whether the rows of a group were in one fold; of a recoding whether one row of each group was used.
    coverage : Coverage or None
        The classes that were scored; None if these are all.
    decided : float
        The share of the rows that the score is of: those of levels that occur in other folds, and of classes
        that the column predicts.
    columns : tuple of str
        The columns of a formula, else empty.
    formula : str
    limits : tuple of float
        The limits of a formula that separate classes.
    """

    name: str
    predictor: Literal["values", "missing", "formula"]
    score: float
    score_name: str
    baseline: float
    n_rows: int
    by_groups: bool
    coverage: Coverage | None = None
    decided: float = 1.0
    columns: tuple[str, ...] = ()
    formula: str = ""
    limits: tuple[float, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.columns or (self.name,)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True, slots=True)
class FoldDesignComparison:
    """The score of a random forest in folds of whole groups or forward in time, and in random folds of the same rows.

    Attributes
    ----------
    kind : {"groups", "time"}
    name : str
        The name of the groups or of the time.
    n_samples, n_units : int
        The rows that are predicted, and the groups or contiguous parts of the time among them.
    scoring : {"roc_auc", "roc_auc_ovr_weighted", "r2"}
        scikit-learn's name of the score of all predictions together.
    score, random_score : float
        In folds by groups or time, and in random folds.
    t : float
        The mean difference of the losses of each row (squared error, of the probabilities of classes), random folds subtracted, in
        standard errors over the units.
    intraclass : float or None
        The intraclass correlation of the target within groups, of classes that of the class where it is largest; None for a time.
    intraclass_p : float or None
        Its p-value (one-way analysis of variance, Bonferroni over the classes).
    wave_p : float or None
        The p-value of waves of the target along the time, with contiguous blocks only; else None.
    """

    kind: Literal["groups", "time"]
    name: str
    n_samples: int
    n_units: int
    scoring: str
    score: float
    random_score: float
    t: float
    intraclass: float | None = None
    intraclass_p: float | None = None
    wave_p: float | None = None

    @property
    def is_dependent(self) -> bool:
        """Whether folds and tests have to respect the groups or the time.

        Either random folds overstate the score, or the target is more alike within groups than by chance (p below 0.001): then the
        rows are not independent, whatever a forest makes of it, and p-values that assume it are too small.
        """
        return self.differs or (self.intraclass_p is not None and self.intraclass_p < _MAX_P)

    @property
    def differs(self) -> bool:
        """Whether random folds overstate the score by at least 0.01, and by 2.5 standard errors of the losses."""
        return self.t >= _MIN_T and self.overstates

    @property
    def has_waves(self) -> bool:
        """Whether rows of similar times are alike, beyond the columns and a trend: the p-value of waves is below 0.05."""
        return self.wave_p is not None and self.wave_p < _MAX_WAVE_P

    @property
    def overstates(self) -> bool:
        """Whether the score in random folds is larger by at least 0.01."""
        return self.random_score - self.score >= _MIN_DIFFERENCE

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as JSON types."""
        return asdict(self) | {
            "differs": self.differs,
            "has_waves": self.has_waves,
            "is_dependent": self.is_dependent,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class MeanRank:
    """The mean rank of every column over some criteria, with 95 % intervals from bootstrap samples.

    Attributes
    ----------
    columns : tuple of str
        All columns of the table; an excluded one has None as rank and interval.
    criteria : tuple of str
        The names of the criteria.
    ranks : tuple of float or None
    intervals : tuple of (low, high) or None
        None without bootstrap samples.
    criterion_intervals : dict of str to tuple of (low, high) or None
        The intervals of the ranks by each criterion that was computed again in every sample.
    n_bootstrap : int
        The number of samples; 0 without intervals.
    method : str
        How ranks and intervals were computed, or why there are none, in sentences.
    """

    columns: tuple[str, ...]
    criteria: tuple[str, ...]
    ranks: tuple[float | None, ...]
    intervals: tuple[Interval | None, ...]
    criterion_intervals: dict[str, tuple[Interval | None, ...]]
    n_bootstrap: int
    method: str

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON types."""
        return to_json(self)


@dataclass(frozen=True, kw_only=True, slots=True)
class TargetGroup:
    """Rows of the target whose distributions are compared: those of one class, of several, or a third of the numbers.

    `levels` are the numbers of the classes; empty for a third and for all rows.
    """

    name: str
    levels: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class ColumnDistribution:
    """The weighted counts of a column: a row for each group of the target, in intervals between `edges` or by level.

    The first and the last interval contain the values beyond them too. A column without values has no counts.
    """

    name: str
    edges: tuple[float, ...]
    levels: tuple[str, ...]
    counts: tuple[tuple[float, ...], ...]

    @property
    def is_logarithmic(self) -> bool:
        """Whether the intervals have equal ratios, not equal widths."""
        if len(self.edges) < 3 or self.edges[0] <= 0:
            return False
        first, last = self.edges[1] - self.edges[0], self.edges[-1] - self.edges[-2]
        return last > 2 * first

    def __post_init__(self) -> None:
        for row in self.counts:
            check_lengths(counts=row, parts=self.edges[1:] or self.levels)


@dataclass(frozen=True, kw_only=True, slots=True)
class DistributionsRecord:
    """The distributions of columns by the groups of the target, on a number of rows, a sample if the table is long."""

    n_rows: int
    groups: tuple[TargetGroup, ...]
    columns: tuple[ColumnDistribution, ...]

    def __post_init__(self) -> None:
        for column in self.columns:
            if column.counts:
                check_lengths(groups=self.groups, counts=column.counts)


@dataclass(frozen=True, kw_only=True, slots=True)
class FTestSummary:
    """F tests of numeric columns: how many columns without a cut point are significant, and the power of one test.

    `n_tested` is the number of columns of any kind for which p-values are adjusted, and `n_rows` is that of the column with the
    most missing values. `detectable` and `detectable_adjusted` are the shares of variance that one test detects, at the level and
    at the level divided by the number of tests.
    """

    name: Literal["anova", "correlation"]
    n_tested: int
    n_significant: int
    n_rows: int
    detectable: float
    detectable_adjusted: float


@dataclass(frozen=True, kw_only=True, slots=True)
class ColumnTestsRecord:
    """Tests of independence of each column and the target: p-values, as they are and adjusted (Benjamini-Hochberg).

    A column without a test has None. `methods` has the number of columns for the name of each test, `n_significant` is the number
    of columns whose adjusted p-value is at most `level`, and `few_expected` names the columns with small expected counts.
    `untestable_reason` states why there is no test, "" where there is one.
    """

    p_values: tuple[float | None, ...]
    adjusted: tuple[float | None, ...]
    methods: dict[str, int]
    n_significant: int
    level: float
    few_expected: tuple[str, ...]
    untestable_reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class UncutColumns:
    """Numeric columns in one interval, and their test or why there is none; `level` is a false discovery rate."""

    rule: Literal["mdl", "equal_frequency"]
    columns: tuple[str, ...]
    level: float
    power: float
    test: FTestSummary | None
    untestable_reason: str

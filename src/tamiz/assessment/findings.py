"""Records of what is found in a table: mean ranks, possible target leakage, and whether random folds overstate a score."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from tamiz.runtime.codec import Interval, to_json

# The difference of the losses in standard errors, and the difference of the scores, from which on the designs differ.
_MIN_T, _MIN_DIFFERENCE = 2.5, 0.01
# The p-value of the intraclass correlation below which the rows of a group are dependent.
_MAX_P = 0.001
# The p-value of waves along the time below which rows of similar times are alike.
_MAX_WAVE_P = 0.05


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """The classes that were scored, those with at least `min_rows` rows, and all classes and rows."""

    min_rows: int
    n_classes: int
    of_classes: int
    of_rows: int


@dataclass(frozen=True, kw_only=True)
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


@dataclass(frozen=True)
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


@dataclass(frozen=True, kw_only=True)
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

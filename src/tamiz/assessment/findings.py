"""Records that are read without scikit-learn: scores of folds, stability, error rates, and what is found in a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from tamiz.arrays import Floats, Masks, divide_or_zero
from tamiz.exceptions import DataError
from tamiz.runtime.codec import Interval, JsonResult, check_lengths
from tamiz.runtime.result_tables import PrintedResult
from tamiz.runtime.user_warnings import quote_name

Truth = Literal["random", "selected"]
# The strength of semi-synthetic targets relative to the real one.
SignalStrength = Literal["equal", "stronger", "weaker"]

# The number of columns that are listed as often falsely selected.
_MAX_LISTED = 5
_MEANINGS = {
    "true_positive_rate": ("true positive rate", "share of the true columns that are selected"),
    "proxy_true_positive_rate": (
        "with proxies",
        "share of the true columns that are selected, or have a selected proxy",
    ),
    "chance_true_positive_rate": ("by chance", "the rate of as many columns drawn at random"),
    "false_positive_rate": ("false positive rate", "share of the other columns that are selected"),
    "false_discovery_proportion": ("false discovery rate", "share of the selected columns that are not true"),
    "strict_false_discovery_proportion": ("without proxies", "share that are neither true nor proxies of true columns"),
}


@dataclass(frozen=True, eq=False)
class Rate(JsonResult):
    """A rate in every draw of a target.

    Attributes
    ----------
    values : ndarray of shape (n_draws,)
    """

    json_properties: ClassVar[tuple[str, ...]] = ("mean", "standard_error")

    values: Floats

    @property
    def mean(self) -> float:
        return float(self.values.mean())

    @property
    def standard_error(self) -> float:
        """The standard error of the mean: the draws are independent, given the rows."""
        return float(self.values.std(ddof=1) / np.sqrt(len(self.values)))


@dataclass(frozen=True, repr=False, eq=False)
class SelectionErrorRates(PrintedResult, JsonResult):
    """True and false positive rates of a selection on targets that are computed from known columns.

    A proxy is a column that is so strongly associated with a true column that it may represent it.

    Attributes
    ----------
    selector : str
        The label of the selector.
    truth : {"random", "selected"}
        Whether the true columns of each draw are drawn at random, or are those that are selected for the real target.
    names : tuple of str
        All columns.
    n_samples : int
    candidate_mask : ndarray of shape (n_columns,), bool
        The columns that are not excluded and not constant.
    true_sets : ndarray of shape (n_draws, n_columns), bool
        The true columns of every draw.
    selected_sets : ndarray of shape (n_draws, n_columns), bool
        The columns that were selected.
    proxy_sets : ndarray of shape (n_draws, n_columns), bool
        The selected columns that are not true, and are proxies of a true column.
    covered_sets : ndarray of shape (n_draws, n_columns), bool
        The true columns that are selected, or have a selected proxy.
    signal : float
        The share of the variance of the target, for classes of the latent variable that is cut into classes, that the true columns
        explain.
    signal_description : str
        How it was determined.
    target_kind : {"number", "classes"}
    notes : tuple of str
    seed : int or None
    signal_strength : {"equal", "stronger", "weaker"} or None
        The strength of the semi-synthetic targets relative to the real one: "stronger" if that has next to no signal, "weaker" if
        even targets almost without noise are predicted no better; None if the signal was requested.
    """

    json_properties: ClassVar[tuple[str, ...]] = (
        *("n_columns", "n_true", "n_draws", *_MEANINGS),
        *("detection_frequencies", "false_selection_frequencies", "verdict"),
    )

    selector: str
    truth: Truth
    names: tuple[str, ...]
    n_samples: int
    candidate_mask: Masks
    true_sets: Masks
    selected_sets: Masks
    proxy_sets: Masks
    covered_sets: Masks
    signal: float
    signal_description: str
    target_kind: Literal["number", "classes"]
    notes: tuple[str, ...]
    seed: int | None
    signal_strength: SignalStrength | None = None

    def __post_init__(self) -> None:
        for sets in (self.selected_sets, self.proxy_sets, self.covered_sets):
            if sets.shape != self.true_sets.shape:
                raise ValueError(f"sets of shapes {self.true_sets.shape} and {sets.shape}")
        check_lengths(names=self.names, candidates=self.candidate_mask, columns=self.true_sets.shape[-1])
        if len(self.true_sets) < 2:
            raise ValueError(f"{len(self.true_sets)} targets, and at least 2 are needed")

    @property
    def n_draws(self) -> int:
        """The number of semi-synthetic targets."""
        return len(self.true_sets)

    @property
    def n_columns(self) -> int:
        """The number of columns that are not excluded and not constant."""
        return int(self._candidates.sum())

    @property
    def n_true(self) -> int:
        """The number of true columns; the median over the draws if it differs."""
        return int(np.median(self.true_sets.sum(axis=1)))

    @property
    def true_positive_rate(self) -> Rate:
        """The share of the true columns that are selected (recall)."""
        return _share(self.true_sets & self.selected_sets, self.true_sets)

    @property
    def proxy_true_positive_rate(self) -> Rate:
        """The share of the true columns that are selected, or have a selected proxy."""
        return _share(self.covered_sets, self.true_sets)

    @property
    def chance_true_positive_rate(self) -> Rate:
        """The expected true positive rate of as many columns drawn at random: their share of all columns."""
        return _share(self.selected_sets, np.broadcast_to(self._candidates, self.selected_sets.shape))

    @property
    def false_positive_rate(self) -> Rate:
        """The share of the columns that are not true that are selected; 0 if all are true."""
        return _share(self._false_sets, self._candidates & ~self.true_sets)

    @property
    def false_discovery_proportion(self) -> Rate:
        """The share of the selected columns that are not true, 0 if none is selected; its mean estimates the false discovery rate.

        Benjamini and Hochberg (1995), Controlling the false discovery rate, Journal of the Royal Statistical Society B 57.
        """
        return _share(self._false_sets, self.selected_sets)

    @property
    def strict_false_discovery_proportion(self) -> Rate:
        """The share of the selected columns that are neither true nor proxies of true columns; 0 if none is selected."""
        return _share(self._false_sets & ~self.proxy_sets, self.selected_sets)

    @property
    def false_selection_frequencies(self) -> dict[str, float]:
        """The columns that are most often selected without being true, at most 5, each with its share of the draws."""
        shares = self._false_sets.mean(axis=0)
        order = np.argsort(-shares, kind="stable")[:_MAX_LISTED].tolist()
        return {self.names[j]: float(shares[j]) for j in order if shares[j] > 0}

    @property
    def detection_frequencies(self) -> dict[str, float]:
        """The columns that are true in some draw, each with the share of these draws in which it is selected."""
        n_true = self.true_sets.sum(axis=0)
        n_found = (self.true_sets & self.selected_sets).sum(axis=0)
        return {self.names[j]: float(n_found[j] / n_true[j]) for j in np.flatnonzero(n_true).tolist()}

    @property
    def _candidates(self) -> Masks:
        # A selector of scikit-learn may select a constant column.
        return self.candidate_mask | self.selected_sets.any(axis=0)

    @property
    def _false_sets(self) -> Masks:
        return self.selected_sets & ~self.true_sets

    @property
    def verdict(self) -> str:
        """The rates in one sentence."""
        found, false = self.true_positive_rate.mean, self.false_discovery_proportion.mean
        strict = self.strict_false_discovery_proportion.mean
        n_columns, n_true = self.n_columns, self.n_true
        condition = f"{n_true:,} true column{'s' * (n_true != 1)} of {n_columns:,} explain{'s' * (n_true == 1)}"
        what = "latent variable behind the classes" if self.target_kind == "classes" else "target"
        proxies = f" ({strict:.0%} if proxies of true columns are not counted)" if self.proxy_sets.any() else ""
        return (
            f"If {condition} {self.signal:.0%} of the variance of the {what}, the selection finds "
            f"{found:.0%} of the true columns, and {false:.0%} of the selected columns are false{proxies}: means of {self.n_draws} "
            f"semi-synthetic targets of {self.n_samples:,} rows."
        )

    def lines(self) -> list[tuple[str, str, str]]:
        """Return the name, the value and the meaning of every rate, as text."""
        lines = []
        for name, (label, meaning) in _MEANINGS.items():
            rate: Rate = getattr(self, name)
            lines.append((label, f"{rate.mean:.2f} ± {rate.standard_error:.2f}", meaning))
        lines.append(("signal", f"{self.signal:.2f}", self.signal_description))
        often = ", ".join(f"{quote_name(name)} {share:.0%}" for name, share in self.false_selection_frequencies.items())
        return [*lines, ("falsely selected", often or "no column", "share of the draws" if often else "")]

    def _heading(self) -> str:
        return (
            f"Error rates of a selection: {self.selector}, {self.n_draws} semi-synthetic targets, "
            f"{self.n_samples:,} rows, {self.n_columns:,} columns"
        )

    def _sentences(self) -> list[str]:
        return [self.verdict, *self.notes]


def _share(part: Masks, whole: Masks) -> Rate:
    """Return the size of a part of a set relative to the set in every draw, 0 for an empty set."""
    sizes = whole.sum(axis=1)
    return Rate(divide_or_zero(part.sum(axis=1), sizes))


@dataclass(frozen=True, eq=False)
class Stability(JsonResult):
    """The stability of a selection.

    Attributes
    ----------
    estimate : float
        1 if all sets are equal, about 0 if they agree like random sets, negative if they agree less.
    variance : float
        The variance of the estimate.
    low, high : float
        The 95 % confidence interval, cut at 1.
    n_sets, n_columns : int
    mean_size : float
        The mean number of columns in a set.
    """

    json_properties: ClassVar[tuple[str, ...]] = ("sentence",)

    estimate: float
    variance: float
    low: float
    high: float
    n_sets: int
    n_columns: int
    mean_size: float

    @property
    def sentence(self) -> str:
        """The estimate with its interval and meaning, in words."""
        values = f"{self.estimate:.2f} (95% interval {self.low:.2f} to {self.high:.2f})"
        if not self.mean_size:
            return f"{values}: none of the {self.n_sets} folds selects a column."
        if self.low == self.high == 1.0:
            return f"{values}: all {self.n_sets} folds select the same columns."
        return f"{values}; 1: every fold selects the same columns, 0: no more agreement than random sets."


def stability(sets: ArrayLike) -> Stability:
    """Return the stability of column sets, corrected for chance agreement.

    .. math::

        \\Phi = 1 - \\frac{\\frac{1}{d} \\sum_f s_f^2}{\\frac{\\bar k}{d} (1 - \\frac{\\bar k}{d})}, \\quad
        s_f^2 = \\frac{M}{M - 1} p_f (1 - p_f)

    with :math:`p_f` the share of the M sets that contain column f, d columns, and :math:`\\bar k` the mean size of a set.

    Parameters
    ----------
    sets : array-like of shape (n_sets, n_columns), bool
        A row for every set, True for its columns.

    Returns
    -------
    Stability
        The estimate, its variance, and the 95 % confidence interval by the normal distribution.

    Notes
    -----
    If every set contains all columns, or none, the quotient is 0 / 0; the sets are then equal, and the estimate is 1 with a
    variance of 0, as for all other equal sets.

    Folds share most of their rows, so their sets agree more than sets from new rows would.

    References
    ----------
    Nogueira, Sechidis and Brown (2018), On the stability of feature selection algorithms, Journal of Machine Learning Research 18.

    Examples
    --------
    >>> from tamiz.assessment import stability
    >>> found = stability([[1, 1, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0]])
    >>> round(found.estimate, 3), round(found.variance, 4)
    (0.333, 0.0329)
    """
    masks = np.asarray(sets)
    if masks.ndim != 2 or masks.shape[1] == 0 or not np.isin(masks, (0, 1)).all():
        raise DataError(f"sets must be a matrix of 0 and 1, a row for every set of columns, got shape {masks.shape}.")
    n_sets, n_columns = masks.shape
    if n_sets < 2:
        raise DataError(f"Stability compares sets of columns: at least 2 are needed, got {n_sets}.")
    masks = masks.astype(np.float64)
    share = masks.mean(axis=0)
    fill = masks.mean(axis=1)
    mean = float(fill.mean())
    size = float(masks.sum()) / n_sets
    if (masks == masks[0]).all():
        return Stability(1.0, 0.0, 1.0, 1.0, n_sets, n_columns, size)
    by_chance = mean * (1 - mean)
    estimate = 1 - float((share * (1 - share)).mean()) * n_sets / (n_sets - 1) / by_chance
    own = (masks @ share / n_columns - fill * mean + estimate / 2 * (2 * fill * mean - fill - mean + 1)) / by_chance
    variance = 4 / n_sets**2 * float(((own - own.mean()) ** 2).sum())
    half = float(special.ndtri(0.975)) * variance**0.5
    return Stability(estimate, variance, estimate - half, min(estimate + half, 1.0), n_sets, n_columns, size)


# The difference of the losses in standard errors, and the difference of the scores, from which on the designs differ.
_MIN_T, _MIN_DIFFERENCE = 2.5, 0.01
# The p-value of the intraclass correlation below which the rows of a group are dependent.
_MAX_P = 0.001
# The p-value of waves along the time below which rows of similar times are alike.
_MAX_WAVE_P = 0.05


@dataclass(frozen=True, eq=False)
class FoldScores(JsonResult):
    """The scores of one model and column selection in every fold; larger is better.

    Attributes
    ----------
    values : ndarray of shape (n_folds,)
    variance_factor : float
        The variance of the mean score divided by the variance of a fold's score.
    """

    json_properties: ClassVar[tuple[str, ...]] = ("mean", "standard_deviation", "standard_error", "interval")

    values: Floats
    variance_factor: float

    def __post_init__(self) -> None:
        if len(self.values) < 2:
            raise ValueError(f"{len(self.values)} folds, and at least 2 are needed")
        if not self.variance_factor >= 0:
            raise ValueError(f"a variance factor of {self.variance_factor}")

    @property
    def n_folds(self) -> int:
        return len(self.values)

    @property
    def mean(self) -> float:
        return float(self.values.mean())

    @property
    def standard_deviation(self) -> float:
        """The standard deviation of the folds' scores (n - 1 in the denominator)."""
        return float(self.values.std(ddof=1))

    @property
    def standard_error(self) -> float:
        """The standard error of the mean, corrected for the overlap of training sets.

        Its square is the variance of the scores times 1 / J + n_test / n_train, for J folds (Nadeau and Bengio 2003, Inference for
        the generalization error, Machine Learning 52). The variance over J alone assumes independent folds and is too small.
        """
        return float(np.sqrt(self.variance_factor * self.values.var(ddof=1)))

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % confidence interval of the mean, by Student's t with n_folds - 1 degrees of freedom."""
        half = float(special.stdtrit(self.n_folds - 1, 0.975)) * self.standard_error
        return self.mean - half, self.mean + half

    @property
    def detectable(self) -> float:
        """The difference from 0 that is found with a power of 80 %: that for which the interval then excludes 0."""
        quantiles = special.stdtrit(self.n_folds - 1, [0.975, 0.8])
        return float(quantiles.sum()) * self.standard_error


@dataclass(frozen=True, kw_only=True, slots=True)
class Coverage:
    """The classes that were scored, those with at least `min_rows` rows, and all classes and rows."""

    min_rows: int
    n_classes: int
    of_classes: int
    of_rows: int


@dataclass(frozen=True, kw_only=True, slots=True)
class PossibleLeak(JsonResult):
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


@dataclass(frozen=True, kw_only=True, slots=True)
class FoldDesignComparison(JsonResult):
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

    json_properties: ClassVar[tuple[str, ...]] = ("differs", "has_waves", "is_dependent")

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


@dataclass(frozen=True, kw_only=True, slots=True)
class MeanRank(JsonResult):
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

"""Stability selection: columns that are selected from most halves of the rows, with a bound on the number of false ones."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from scipy.optimize import brentq
from sklearn.base import BaseEstimator, clone
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted

from tamiz.arrays import Floats, Masks
from tamiz.assessment.resampling import SampleScorer, batch_size, draw_half_pairs, map_batches, select_highest
from tamiz.assessment.trials import adapt_selector, number_items, repeat_selections
from tamiz.criteria import registry as criteria
from tamiz.criteria.base import Relevance, StatisticRelevance
from tamiz.exceptions import DataError
from tamiz.runtime import parallel
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.registry import method_label
from tamiz.runtime.user_warnings import capture_warnings, list_names, warn_user
from tamiz.runtime.validation import check_choice, check_integer, check_n_features, check_positive, check_real
from tamiz.runtime.verdicts import Verdict
from tamiz.selection.defaults import choose_relevance, resolve_relevance
from tamiz.selection.redundancy_filter import RedundancyFilter
from tamiz.selection.selector import Selector
from tamiz.selection.time_limits import RepetitionPlan, TimeLimit, time_repetitions
from tamiz.storage.invariants import BoolArray, FloatArray, InstanceOf, Integer, Invariants, Nullable, Number, OneOf
from tamiz.table.base import Table
from tamiz.table.factory import record_features
from tamiz.table.schema import Schema
from tamiz.table.views import as_training_table, select_columns, select_rows, weight_groups_equally, without_target

ASSUMPTIONS = ("unimodal", "r_concave", "none")
# Powers of the shape constraints on the selection by both halves, and by single halves.
_SIMULTANEOUS_R, _SINGLE_R = -1 / 2, -1 / 4
# Beyond this shift, a power of the shift plus 0 .. 2 B is constant to the precision of the bound.
_MAX_SHIFT = 1e7
_GOLDEN = (np.sqrt(5) - 1) / 2
# Of an interval of shifts: the bound changes by less than 1e-12 of itself.
_N_GOLDEN_STEPS = 60


def false_selection_bound(
    n_selected: float, n_columns: int, threshold: float, n_pairs: int, assumption: str = "unimodal"
) -> float:
    r"""Return the bound on the expected number of false selections.

    .. math:: E(V) \le C(\tau) \, \frac{q^2}{p}

    with :math:`C = 1 / (2\tau - 1)` without an assumption. If the distribution of the number of pairs whose halves both select a
    false column is unimodal, :math:`C = 1 / (2 (2\tau - 1 - 1/(2B)))` for a threshold :math:`\tau \le 3/4`, and
    :math:`4 (1 - \tau + 1/(2B)) / (1 + 1/B)` above. If it is -1/2-concave, and that of the halves -1/4-concave, the bound is
    :math:`p \min\{D(q^2/p^2, 2\tau - 1, B, -1/2), D(q/p, \tau, 2B, -1/4)\}` with the tail probability D of `max_tail_probability`.

    Parameters
    ----------
    n_selected : float
        q, the mean number of columns that are selected from half of the rows.
    n_columns : int
        p, the number of columns.
    threshold : float
        The smallest selection frequency of a selected column; it counts as the next multiple of 1 / (2 B).
    n_pairs : int
        B, the number of pairs of halves.
    assumption : {"unimodal", "r_concave", "none"}, default="unimodal"

    Returns
    -------
    float
        Never more than p. A threshold of at most 1/2 has no other bound without the assumption of r-concavity, and neither have a
        q and a threshold outside the conditions of a theorem.

    Examples
    --------
    >>> [round(false_selection_bound(10, 100, 0.6, 50, assumption), 2) for assumption in ("none", "unimodal", "r_concave")]
    [5.0, 2.63, 1.14]
    """
    share = n_selected / n_columns
    # The threshold as a number of halves; a product such as 0.58 * 100 is rounded first.
    n_halves = int(np.ceil(round(threshold * 2 * n_pairs, 8)))
    tau = n_halves / (2 * n_pairs)
    if assumption == "r_concave":
        tails = (
            max_tail_probability(share**2, n_halves - n_pairs, n_pairs, _SIMULTANEOUS_R),
            max_tail_probability(share, n_halves, 2 * n_pairs, _SINGLE_R),
        )
        return n_columns * min(tails)
    factor = 1 / (2 * tau - 1) if tau > 0.5 else np.inf
    if assumption == "unimodal" and share <= 1 / np.sqrt(3) and tau > _smallest_unimodal_threshold(share, n_pairs):
        if tau <= 0.75:
            factor = 1 / (2 * (2 * tau - 1 - 1 / (2 * n_pairs)))
        else:
            factor = 4 * (1 - tau + 1 / (2 * n_pairs)) / (1 + 1 / n_pairs)
    return float(min(n_columns * factor * share**2, n_columns))


def _smallest_unimodal_threshold(share: float, n_pairs: int) -> float:
    return float(min(0.5 + share**2, 0.5 + 1 / (2 * n_pairs) + 0.75 * share**2))


@lru_cache(maxsize=1024)
def max_tail_probability(mean: float, start: int, n: int, r: float) -> float:
    r"""Return D, the largest P(X >= start / n) of r-concave distributions on 0, 1/n .. 1 with a mean of at most `mean`, for r < 0.

    A distribution is r-concave if the r-th power of its probabilities is convex. The extreme ones are proportional to
    :math:`(a + i)^{1/r}` for i = 0 .. k, with a smaller probability at k + 1 so that the mean is exact. For each k the shift a lies
    between those at which k + 1 and k are the last points of a complete sequence.
    """
    centre = mean * n
    first = int(np.ceil(round(2 * centre, 8))) + 1
    if start < first or first >= n:
        return 1.0
    if mean == 0:
        return 0.0
    points = np.arange(n + 1.0)
    # A last point before start - 1 leaves no probability in the tail.
    ends = np.arange(max(first, start - 1), n + 1)
    shifts = np.array([_find_shift(centre, k, 1 / r) for k in ends.tolist()])
    last, low, high = ends[:-1, None], shifts[1:], shifts[:-1]
    is_in, room = points <= last, last + 1 - points

    def tail(shift: Floats) -> Floats:
        values = np.where(is_in, (shift[:, None] + points) ** (1 / r), 0.0)
        below = values[:, :start].sum(axis=1)
        tails: Floats = 1 - (last[:, 0] + 1 - centre) * below / (room * values).sum(axis=1)
        return tails

    return float(np.clip(_maximize(tail, low, high).max(initial=0.0), 0.0, 1.0))


def _find_shift(centre: float, last: int, power: float) -> float:
    """Return the shift a at which the distribution proportional to (a + i)^power, i = 0 .. last, has its mean at `centre`."""
    points = np.arange(last + 1.0)

    def excess(log_shift: float) -> float:
        # Relative to the first value: for a small shift its power overflows.
        values = (1 + points / np.exp(log_shift)) ** power
        return float(values @ (points - centre))

    return float(np.exp(brentq(excess, np.log(1e-12), np.log(_MAX_SHIFT), xtol=1e-14, rtol=1e-14)))


def _maximize(function: Callable[[Floats], Floats], low: Floats, high: Floats) -> Floats:
    """Return the maxima of unimodal functions over intervals, by golden section of all intervals at once."""
    best = np.maximum(function(low), function(high))
    for _ in range(_N_GOLDEN_STEPS):
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        at_left, at_right = function(left), function(right)
        best = np.maximum(best, np.maximum(at_left, at_right))
        low, high = np.where(at_left < at_right, left, low), np.where(at_left < at_right, high, right)
    return best


def choose_n_selected(max_false: float, n_columns: int, threshold: float, n_pairs: int, assumption: str) -> int:
    def allowed(n: int) -> bool:
        return false_selection_bound(n, n_columns, threshold, n_pairs, assumption) <= max_false

    if not allowed(1):
        least = false_selection_bound(1, n_columns, threshold, n_pairs, assumption)
        raise ValueError(
            f"max_false={max_false:g} cannot be reached with threshold={threshold:g}: with one column from each half the bound on "
            f"{n_columns:,} columns is {least:.3g}. Increase threshold, n_pairs or max_false."
        )
    return _last_true(allowed, 1, n_columns)


def choose_threshold(max_false: float, n_selected: float, n_columns: int, n_pairs: int, assumption: str) -> float:
    """Return the smallest threshold above 1/2 with a bound of at most `max_false`, a multiple of 1 / (2 `n_pairs`)."""

    def exceeds(n_halves: int) -> bool:
        return false_selection_bound(n_selected, n_columns, n_halves / (2 * n_pairs), n_pairs, assumption) > max_false

    if exceeds(2 * n_pairs):
        least = false_selection_bound(n_selected, n_columns, 1.0, n_pairs, assumption)
        raise ValueError(
            f"max_false={max_false:g} cannot be reached with {n_selected:g} of {n_columns:,} columns from each half: with a "
            f"threshold of 1 the bound is {least:.3g}. Select fewer columns, or increase max_false or n_pairs."
        )
    return (_last_true(exceeds, n_pairs, 2 * n_pairs) + 1) / (2 * n_pairs)


def _last_true(condition: Callable[[int], bool], low: int, high: int) -> int:
    """Return the last number up to `high` for which a condition is true, where it is true from `low` up to that number."""
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if condition(middle) else (low, middle - 1)
    return low


_DEFAULT_THRESHOLD, _DEFAULT_MAX_FALSE = 0.75, 1.0
# Columns that are compared with each other after the selections: the smallest frequency of one, and their largest number.
_MIN_COPY_FREQUENCY, _MAX_COMPARED = 0.1, 100
_PLAN_ADVICE = "A smaller n_pairs (--n-pairs) makes frequencies less precise."
# For a relevance that scores every half anew.
_RELEVANCE_ADVICE = (
    "Relevances that count values, such as information gain, and tree importance are faster, because the columns are coded "
    "once."
)


class StabilitySelector(Selector):
    r"""Keep the columns that are selected from most halves of the rows, with a bound on the expected number of false selections.

    The rows are split at random into two halves, B times (complementary pairs stability selection). Columns are selected from each
    of the 2 B halves, and the share of the halves that select a column is its selection frequency. A column is kept if

    .. math:: \Pi_j = \frac{1}{2B} \sum_{b=1}^{2B} [j \in S_b] \ge \tau .

    If the halves select q of p columns on average, the expected number E(V) of false ones among the kept columns has a bound, with
    a false column as one that a half selects with a probability of at most q / p:

    .. math:: E(V) \le \frac{q^2}{(2\tau - 1) p} \text{ without an assumption}, \qquad
        E(V) \le \frac{q^2}{2 (2\tau - 1 - 1/(2B)) p} \text{ if unimodal}, \tau \le 3/4 .

    Parameters
    ----------
    selector : Relevance, str or selector, default=None
        How columns are selected from a half: the highest scores of a relevance, an object or its name on the command line, of equal
        scores in the last places random ones; or a selector, such as `SubsetSelector("cfs")` or one of scikit-learn. None is the
        first relevance that is defined on the table, information gain where there is a target.
    n_features : int or float, default=None
        q, the number of columns of a half, or all that are not constant if these are fewer; a float in (0, 1] is a share of p. A
        selector must have a parameter of this name. None derives it from `threshold` and `max_false`; a selector with neither this
        nor `max_false` selects as many as it selects, and q is their mean.
    threshold : float, default=None
        :math:`\tau`, usually from 0.6 to 0.9. None derives it from q and `max_false`, and is 0.75 where one of these is None.
    max_false : float, default=None
        The required bound on E(V). None is 1 where a relevance has no `n_features`; otherwise the bound is only reported. With all
        three of `n_features`, `threshold` and `max_false` there is nothing to derive, which is an error.
    assumption : {"unimodal", "r_concave", "none"}, default="unimodal"
        What is assumed of the distributions of how often a false column is selected; "r_concave" is the strongest, with the
        smallest bound, and usually satisfied.
    n_pairs : int, default=50
        B.
    max_seconds : float, default=None
        Time limit: further pairs are left out when it has passed, with a warning; the bound is that of the pairs so far.
    random_state : int, Generator or RandomState, default=None
        Seed of the halves, of the choice among equal scores, and of a selector without a seed.
    n_jobs : int, default=None
        Number of threads; None uses the cores available to this process. The result does not depend on it.

    Attributes
    ----------
    support_ : ndarray of shape (n_columns,), bool
    selection_frequencies_ : ndarray of shape (n_columns,)
    threshold_ : float
    n_features_per_half_ : float
        q, the mean number of columns that a half selects.
    expected_false_selections_ : float
        The bound on E(V). It is p where there is no better one.
    n_pairs_ : int
        Number of pairs of halves, fewer than `n_pairs` after `max_seconds`.
    relevance_ : Relevance or None
        The relevance as it was used, None where a selector selects the columns of a half.
    schema_ : Schema
        Names and kinds of the columns as they were used.

    Raises
    ------
    DataError
        When the table has fewer than four rows or groups, cannot be used, or has row weights.
    TypeError
        When `sample_weight` is passed. As `fit` has no such parameter, a pipeline with metadata routing passes weights to its model
        alone. Repeat the rows instead.
    ValueError
        When a parameter cannot be used, or no threshold or q satisfies `max_false`.

    Notes
    -----
    The bound concerns the procedure for half of the rows, whatever it selects; it is strict if irrelevant columns are exchangeable
    and a half selects them no more often than random columns. With a relevance, p is the number of used columns that are not
    constant. A table of few columns has a weak bound; a warning is issued where the bound is not smaller than q.

    A relevance with different scores for noise columns of different kinds selects some of them more often. Information gain is 0
    for most noise numbers, which MDL does not cut, and positive for every category: use columns of one kind, or another relevance.

    Copies of a column replace each other in the halves, or take places of other columns; a warning names those that halves select
    often.

    Halves are drawn without classes, as in the paper, unless a class has fewer than 20 rows: each class is then halved. Of rows in
    groups, whole groups are in one half. Tables with row weights are refused: the halves of weighted rows are not those of as many
    equal rows.

    Cost 2 B selections from half of the rows. For relevances that are functions of counts, for `TreeImportance` and for
    `LinearCoefficient`, columns are coded once, and a half is a weighting of the rows. Halves are fitted with warnings suppressed.

    References
    ----------
    Meinshausen and Bühlmann (2010), Stability selection, Journal of the Royal Statistical Society B 72.
    Shah and Samworth (2013), Variable selection with error control, Journal of the Royal Statistical Society B 75.
    Hofner, Boccuto and Göker (2015), Controlling false discoveries in high-dimensional situations, BMC Bioinformatics 16: the
    choice of q or the threshold from a required bound (R package stabs).

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from tamiz.error_control import StabilitySelector
    >>> X, y = make_classification(
    ...     500, 60, n_informative=4, n_redundant=2, n_repeated=0, shuffle=False, random_state=1
    ... )
    >>> selector = StabilitySelector("information-gain", max_false=1, random_state=0).fit(X, y)
    >>> selector.get_support(indices=True)
    array([0, 2, 3, 4])
    >>> selector.n_features_per_half_, round(selector.expected_false_selections_, 3)
    (7.0, 0.833)
    """

    invariants: ClassVar[Invariants] = {
        "assumption": OneOf(*ASSUMPTIONS),
        "relevance_": Nullable(InstanceOf(Relevance)),
        "support_": BoolArray("p"),
        "selection_frequencies_": FloatArray("p", low=0.0, high=1.0),
        "threshold_": Number(0.0, 1.0),
        "n_features_per_half_": Number(0.0),
        "expected_false_selections_": Number(0.0),
        "n_pairs": Integer(low=1),
        "n_pairs_": Integer(low=1),
    }
    _needs_target: ClassVar[bool] = False

    def __init__(
        self,
        selector: Any = None,
        *,
        n_features: float | None = None,
        threshold: float | None = None,
        max_false: float | None = None,
        assumption: str = "unimodal",
        n_pairs: int = 50,
        max_seconds: float | None = None,
        random_state: Seed = None,
        n_jobs: int | None = None,
    ) -> None:
        self.selector = selector
        self.n_features = n_features
        self.threshold = threshold
        self.max_false = max_false
        self.assumption = assumption
        self.n_pairs = n_pairs
        self.max_seconds = max_seconds
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if not self._ranks:
            inner = get_tags(self._checked_selector())
            tags.target_tags.required = inner.target_tags.required
            tags.input_tags.allow_nan = inner.input_tags.allow_nan
        return tags

    @property
    def _ranks(self) -> bool:
        return self.selector is None or isinstance(self.selector, str | Relevance)

    @property
    def _reads_target(self) -> bool:
        if self._ranks:
            return super()._reads_target
        return bool(getattr(self._checked_selector(), "_reads_target", True))

    def _criterion(self) -> Any:
        if self._ranks:
            return resolve_relevance(self.selector)
        selector = self._checked_selector()
        return selector._criterion() if isinstance(selector, Selector) else None

    def _checked_selector(self) -> Any:
        if not isinstance(self.selector, BaseEstimator) or not callable(getattr(self.selector, "get_support", None)):
            raise TypeError(
                "selector must be a relevance such as InformationGain(), its name, or a selector with get_support such as "
                f"SubsetSelector(CFS()), got {self.selector!r}."
            )
        return self.selector

    def fit(self, X: Any, y: Any = None, *, groups: Any = None) -> Self:
        """Select columns from halves of the rows.

        Parameters
        ----------
        X : array, sparse matrix, data frame or Table
        y : array of shape (n_samples,), default=None
            Ignored where the relevance or the selector needs no target.
        groups : array of shape (n_samples,), default=None
            Halves consist of whole groups.
        """
        n_pairs = check_integer("n_pairs", self.n_pairs, low=1)
        self._check_bounds()
        limit = TimeLimit(self.max_seconds)
        rng = make_rng(self.random_state)
        with parallel.thread_session(self.n_jobs):
            table = self._open_table(X, y, None, groups)
            _check_unweighted(table)
            self.relevance_ = self._choose_relevance(table.schema)
            halves, n_columns = self._make_halves(table, self.relevance_, 2 * n_pairs)
            n_features = self._choose_n_features(n_columns, table.schema)
            # Halves are drawn ahead of the selections, by as many as there are threads, so they have a generator of their own.
            pairs = draw_half_pairs(table, n_pairs, make_rng(int(rng.integers(2**63))))
            masks = halves.select(limit.take(pairs), n_pairs, n_features, rng)
        schema = table.schema
        self.n_pairs_ = len(masks) // 2
        counts = masks.sum(axis=0)
        self.selection_frequencies_ = counts / len(masks)
        self.n_features_per_half_ = float(counts.sum() / len(masks))
        self.threshold_ = self._choose_threshold(n_columns)
        self.expected_false_selections_ = self._bound(n_columns, self.threshold_)
        # A frequency that equals the threshold up to rounding is not below it.
        self.support_ = self._support = counts >= round(self.threshold_ * len(masks), 8)
        self._support[np.setdiff1d(np.arange(schema.n_columns), schema.used)] = False
        with parallel.thread_session(self.n_jobs):
            of_copies = self._describe_copies(table, masks)
        record_features(self, X)
        self.schema_ = schema
        ended = limit.describe(self.n_pairs_, n_pairs, "pairs of halves")
        bound = f"The bound on false selections is {self.expected_false_selections_:.3g}."
        ended = [one.with_sentence(f"{one} {bound}") for one in ended]
        warn_user([*schema.fit_notes, *ended, *self._describe_weak_bound(n_columns), *of_copies])
        return self

    def describe(self) -> list[str]:
        """Return sentences on the fitted selector: what the halves selected, and the bound with its assumption."""
        check_is_fitted(self)
        n_selected, n_used, q = int(self.support_.sum()), len(self.schema_.used), self.n_features_per_half_
        # The mean over halves that select different numbers need not be whole.
        of_a_half = "1 column" if q == 1 else f"{q:g} columns"
        columns = "1 column" if n_used == 1 else f"{n_used:,} columns"
        shape = self.assumption.replace("_", "-")
        assumed = (
            "" if shape == "none" else f", if the selection frequencies of false columns have {shape} distributions"
        )
        return [
            f"Stability selection with {self._label}, {of_a_half} from each of {2 * self.n_pairs_:,} halves of the rows: "
            f"{n_selected:,} of {columns} {'was' if n_selected == 1 else 'were'} selected from at least "
            f"{100 * self.threshold_:.3g} % of the halves.",
            f"The expected number of false selections is at most {self.expected_false_selections_:.3g}{assumed}; a false column "
            "is one that a half selects no more often than a random column.",
        ]

    @property
    def _label(self) -> str:
        return method_label(criteria, self.relevance_ or self.selector)["label"]

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers of the fitted selector for JSON: the bound, and the selection frequency of every column."""
        check_is_fitted(self)
        return {
            "relevance": self._label,
            "n_pairs": self.n_pairs_,
            "n_features_per_half": self.n_features_per_half_,
            "threshold": self.threshold_,
            "assumption": self.assumption,
            "expected_false_selections": self.expected_false_selections_,
            "all_columns": self._column_records(frequency=self.selection_frequencies_),
        }

    def plan(self, X: Any, y: Any = None, *, groups: Any = None) -> RepetitionPlan:
        """Return the largest cost of `fit`, from the time of one pair of halves.

        Parameters
        ----------
        X : array, sparse matrix, data frame or Table
        y : array of shape (n_samples,), default=None
        groups : array of shape (n_samples,), default=None

        Returns
        -------
        RepetitionPlan
            Pairs of halves and seconds; `str()` of it is a sentence.
        """
        n_pairs = check_integer("n_pairs", self.n_pairs, low=1)
        self._check_bounds()
        # A copy of the random state: `fit` makes the same random draws afterwards.
        rng = make_rng(copy.deepcopy(self.random_state))
        with parallel.thread_session(self.n_jobs):
            table = self._open_table(X, y, None, groups)
            _check_unweighted(table)
            halves, n_columns = self._make_halves(table, self._choose_relevance(table.schema), 2 * n_pairs)
            n_features = self._choose_n_features(n_columns, table.schema)

            def select_from_pair() -> None:
                halves.select(draw_half_pairs(table, 1, rng), 1, n_features, rng)

            advice = f"{_PLAN_ADVICE} {_RELEVANCE_ADVICE}" if halves.rescores_halves else _PLAN_ADVICE
            n_bytes = 16.0 * table.schema.n_rows * len(table.schema.used)
            return time_repetitions(select_from_pair, n_pairs, "pairs of halves", advice, n_bytes)

    def _check_bounds(self) -> None:
        check_choice("assumption", self.assumption, ASSUMPTIONS)
        if self.threshold is not None and check_real("threshold", self.threshold, low=0.0, high=1.0) == 0:
            raise ValueError("threshold must be above 0, got 0.")
        if self.max_false is not None:
            check_positive("max_false", self.max_false)
        if None not in (self.n_features, self.threshold, self.max_false):
            raise ValueError(
                "n_features, threshold and max_false cannot all be set: any two of them determine the third. Leave one as None."
            )

    def _choose_relevance(self, schema: Schema) -> Relevance | None:
        """Return the relevance that ranks the columns of a half, None for a selector."""
        return choose_relevance(self.selector, schema) if self._ranks else None

    def _make_halves(self, table: Table, relevance: Relevance | None, n_halves: int) -> tuple[_Halves, int]:
        """Return what selects columns from halves, and the number of columns that it selects from."""
        if relevance is None:
            return _SelectorHalves(self._checked_selector(), table), len(table.schema.used)
        relevance.check(table.schema)
        halves = _RelevanceHalves(relevance, table, n_halves)
        if not len(halves.candidates):
            raise DataError("Every column is constant or excluded, so no half can select one.")
        return halves, len(halves.candidates)

    def _choose_n_features(self, n_columns: int, schema: Schema) -> int | None:
        """Return the number of columns that a half selects; None where the selector decides."""
        can_choose = self._ranks or "n_features" in self._checked_selector().get_params(deep=False)
        has_size = self.n_features is not None or (self.threshold is not None and self.max_false is not None)
        if has_size and not can_choose:
            raise ValueError(
                f"{type(self.selector).__name__} has no parameter n_features, so the number of columns per half cannot be set: set "
                "it in the selector, and leave n_features, and threshold or max_false, as None."
            )
        if self.n_features is not None:
            n = check_n_features("n_features", self.n_features, n_columns)
            if n > schema.n_columns:
                of_table = "1 column" if schema.n_columns == 1 else f"{schema.n_columns} columns"
                raise ValueError(
                    f"n_features={n} exceeds the {of_table} of the table; ask for at most n_features={schema.n_columns}."
                )
            return min(n, n_columns)
        if not (has_size or self._ranks):
            return None
        threshold = _DEFAULT_THRESHOLD if self.threshold is None else float(self.threshold)
        max_false = _DEFAULT_MAX_FALSE if self.max_false is None else float(self.max_false)
        return choose_n_selected(max_false, n_columns, threshold, self.n_pairs, self.assumption)

    def _choose_threshold(self, n_columns: int) -> float:
        if self.threshold is not None:
            return float(self.threshold)
        if self.max_false is None or (self._ranks and self.n_features is None):
            return _DEFAULT_THRESHOLD
        q = self.n_features_per_half_
        return choose_threshold(float(self.max_false), q, n_columns, self.n_pairs_, self.assumption)

    def _bound(self, n_columns: int, threshold: float) -> float:
        return false_selection_bound(self.n_features_per_half_, n_columns, threshold, self.n_pairs_, self.assumption)

    def _describe_copies(self, table: Table, masks: Masks) -> list[Verdict]:
        """Return warnings about groups of copies of which a half selects one with at least the threshold's frequency."""
        frequencies, used = self.selection_frequencies_, table.schema.used
        often = used[np.argsort(-frequencies[used], kind="stable")[:_MAX_COMPARED]]
        often = np.sort(often[frequencies[often] >= _MIN_COPY_FREQUENCY])
        if len(often) < 2:
            return []
        names, groups = table.schema.names, dict[str, list[str]]()
        with capture_warnings():
            determined = RedundancyFilter().fit(without_target(select_columns(table, often.tolist()))).determined_by_
        for name, by in ((name, by) for name, by in determined.items() if by):
            groups.setdefault(by[0], [by[0]]).append(name)
        warnings = []
        for group in groups.values():
            columns = [names.index(name) for name in group]
            together = float(masks[:, columns].any(axis=1).mean())
            if together < self.threshold_:
                continue
            sentence = (
                f"Columns {list_names(group)} are nearly copies of the first of them (association of at least 0.95): halves select "
                f"them with frequency {list_names(frequencies[columns], as_text='{:.2g}'.format)}, and any of them with "
                f"{together:.2g}. Copies replace each other or take places of other columns; keep one (RedundancyFilter, --method "
                "redundancy)."
            )
            warnings.append(Verdict("TZ301", sentence, group))
        return warnings

    def _describe_weak_bound(self, n_columns: int) -> list[Verdict]:
        q, bound = self.n_features_per_half_, self.expected_false_selections_
        if q == 0 or bound < q:
            return []
        remedies = [f"use a threshold above {self.threshold_:g}"] * (self.threshold_ < 1)
        remedies += ["select fewer columns from each half"] * (q > 1)
        advice = f": {', or '.join(remedies)}" if remedies else ""
        return [
            Verdict(
                "TZ504",
                f"The bound on false selections, {bound:.3g}, is not smaller than the {q:g} of {n_columns:,} columns that a half "
                f"selects, so it excludes nothing{advice}.",
            )
        ]


def _check_unweighted(table: Table) -> None:
    if table.schema.weight is not None:
        raise DataError(
            f"StabilitySelector does not support row weights ({table.schema.weight!r}): a row of weight 2 is in one half, and two "
            "equal rows may be in both. Repeat the rows, or pass a table without weights."
        )


class _RelevanceHalves:
    """Selects the columns with the highest scores of a relevance from halves of the rows; constant columns are never selected.

    Attributes
    ----------
    candidates : ndarray of int
        The columns that can be selected.
    rescores_halves : bool
        Whether every half is scored anew, because the relevance cannot be computed again under weights of the rows.
    """

    def __init__(self, relevance: Relevance, table: Table, n_halves: int) -> None:
        self._schema = schema = table.schema
        self.candidates = np.array([j for j in schema.used.tolist() if not schema.columns[j].constant], dtype=np.intp)
        counts_rows = isinstance(relevance, StatisticRelevance)
        self._scorer = SampleScorer(relevance, weight_groups_equally(table) if counts_rows else table, n_halves)
        self.rescores_halves = not self._scorer.reweights

    def select(self, pairs: Iterator[Masks], n_pairs: int, n_features: int | None, rng: np.random.Generator) -> Masks:
        """Return the selected columns of every half, of shape (2 n_pairs, n_columns), or fewer rows for fewer pairs."""
        assert n_features is not None
        position = np.searchsorted(self._schema.used, self.candidates)

        def score(batch: list[Masks]) -> Floats:
            return self._scorer.scores(np.concatenate(batch).astype(np.float64))[:, position]

        scored = map_batches("Halves of the rows", score, pairs, n_pairs, batch_size(2 * self._schema.n_rows))
        chosen = [select_highest(scores, n_features, rng) for batch in scored for scores in batch]
        masks = np.zeros((len(chosen), self._schema.n_columns), dtype=bool)
        masks[:, self.candidates] = chosen
        return masks


class _SelectorHalves:
    """Selects columns from halves of the rows by a selector of this package or of scikit-learn."""

    rescores_halves = False

    def __init__(self, selector: Any, table: Table) -> None:
        self._selector, self._table = selector, table

    def select(self, pairs: Iterator[Masks], n_pairs: int, n_features: int | None, rng: np.random.Generator) -> Masks:
        """Return the selected columns of every half, of shape (2 n_pairs, n_columns), or fewer rows for fewer pairs."""
        sized = self._selector if n_features is None else clone(self._selector).set_params(n_features=n_features)
        adapter = adapt_selector(sized)
        needs_target = isinstance(sized, Selector) and self._table.schema.target is not None

        def choose(half: Masks) -> Masks:
            rows = select_rows(self._table, np.flatnonzero(half))
            return adapter.select(as_training_table(rows) if needs_target else rows, int(rng.integers(2**31))).support

        halves = (half for pair in pairs for half in pair)
        results = repeat_selections(
            "Halves of the rows", adapter, self._table, choose, halves, number_items("Half", 2 * n_pairs)
        )
        return np.array([support for support, _ in results])


_Halves: TypeAlias = _RelevanceHalves | _SelectorHalves

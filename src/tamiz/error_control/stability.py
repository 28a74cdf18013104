"""Stability selection: columns that are selected from most halves of the rows, with a bound on the number of false ones."""

from __future__ import annotations

import copy
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted

from tamiz.arrays import Masks
from tamiz.criteria import registry as criteria
from tamiz.criteria.base import Relevance
from tamiz.error_control.false_selection_bounds import (
    ASSUMPTIONS,
    choose_n_selected,
    choose_threshold,
    false_selection_bound,
)
from tamiz.error_control.half_samples import HalfSelection, RelevanceHalves, SelectorHalves, draw_half_pairs
from tamiz.exceptions import DataError
from tamiz.method_lookup import choose_relevance, resolve_relevance
from tamiz.runtime import parallel
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.registry import method_label
from tamiz.runtime.user_warnings import capture_warnings, list_names, warn_user
from tamiz.runtime.validation import check_choice, check_integer, check_n_features, check_positive, check_real
from tamiz.runtime.verdicts import Verdict
from tamiz.selection.redundancy_filter import RedundancyFilter
from tamiz.selection.selector import RepetitionPlan, Selector, TimeLimit, time_repetitions
from tamiz.storage.invariants import BoolArray, FloatArray, InstanceOf, Integer, Invariants, Nullable, Number, OneOf
from tamiz.table.base import Table
from tamiz.table.feature_checks import record_features
from tamiz.table.schema import Schema
from tamiz.table.views import select_columns, without_target

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

    def _make_halves(self, table: Table, relevance: Relevance | None, n_halves: int) -> tuple[HalfSelection, int]:
        """Return what selects columns from halves, and the number of columns that it selects from."""
        if relevance is None:
            return SelectorHalves(self._checked_selector(), table), len(table.schema.used)
        relevance.check(table.schema)
        halves = RelevanceHalves(relevance, table, n_halves)
        if not halves.n_candidates:
            raise DataError("Every column is constant or excluded, so no half can select one.")
        return halves, halves.n_candidates

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

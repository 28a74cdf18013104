"""Boruta: all columns that score higher than permuted copies of the columns do, by repeated comparisons and binomial tests."""

from __future__ import annotations

import copy
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrc
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from tamiz.arrays import Floats, Indices, Masks
from tamiz.criteria import registry as criteria
from tamiz.criteria.base import Relevance, Shadowable, ShadowScorer, score_columns
from tamiz.criteria.tree_importance import TreeImportance
from tamiz.exceptions import DataError
from tamiz.runtime import parallel, progress
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.registry import method_label
from tamiz.runtime.user_warnings import capture_warnings, list_names, warn_user
from tamiz.runtime.validation import check_choice, check_integer, check_real
from tamiz.runtime.verdicts import Verdict
from tamiz.selection.defaults import choose_relevance, resolve_relevance
from tamiz.selection.selector import Selector
from tamiz.selection.time_limits import RepetitionPlan, TimeLimit, time_repetitions
from tamiz.storage.invariants import (
    BoolArray,
    FloatArray,
    InstanceOf,
    Integer,
    IntegerArray,
    Invariants,
    ListOf,
    Nullable,
    OneOf,
)
from tamiz.table.base import Table
from tamiz.table.factory import record_features
from tamiz.table.schema import CopiedColumn, Schema
from tamiz.table.views import AppendedColumns

_CORRECTIONS = ("bonferroni", "two_step")
_STATUSES = ("confirmed", "tentative", "rejected")
# Fewer shadows have too small a maximum.
_MIN_SHADOWS = 5
_NO_FRAME = "use a relevance whose model reads encoded columns, such as TreeImportance()"
_PLAN_ADVICE = (
    "A smaller max_iter (--max-iter) leaves more columns tentative; a faster relevance (-r) finds other columns."
)


class BorutaSelector(Selector):
    r"""Keep all columns that are relevant: those that score higher than every permuted copy of the columns (Boruta).

    Every iteration appends a shadow of each column that is not rejected, a copy with its values in a new random order, at least
    five in all, and scores columns and shadows in one table. A column with a score above the highest one of the shadows has a hit.
    After t iterations a column with h hits is compared with a fair coin:

    .. math:: P(B \ge h) \, p < \alpha \text{ confirms it}, \qquad P(B \le h) \, p < \alpha \text{ rejects it},
        \qquad B \sim \mathrm{Binomial}(t, 1/2)

    with p columns (Bonferroni). A rejected column leaves the table, with its shadow; the others are tentative.

    Parameters
    ----------
    relevance : Relevance or str, default=None
        The score, an object or its name on the command line. It must use the target. None is `TreeImportance()`, whose trees
        detect columns that are relevant only beside others. Its `random_state` is set anew in every iteration.
    max_iter : int, default=100
        The most iterations. The search ends earlier when no column is tentative.
    percentile : float, default=100
        The percentile of the shadows' scores that a hit must exceed; 100 is their maximum. A smaller one selects more columns.
    alpha : float, default=0.05
        The level of the tests, of each side.
    correction : {"bonferroni", "two_step"}, default="bonferroni"
        "bonferroni" multiplies p-values by the number of columns, as R's Boruta does. "two_step" is the less strict rule of the
        Python package: the Benjamini-Hochberg step over the columns that are not rejected, and Bonferroni over the iterations.
    rough_fix : bool, default=False
        Whether a column that is tentative at the end is confirmed if the median of its scores exceeds the median over the
        iterations of the shadows' maximum (percentile), and rejected otherwise, without a test.
    max_seconds : float, default=None
        Time limit. The iterations end when it has passed, with a warning; undecided columns are tentative.
    random_state : int, Generator or RandomState, default=None
        Seed of the permutations and of the relevance.
    n_jobs : int, default=None
        Number of threads; None uses the cores available to this process. The result does not depend on it.

    Attributes
    ----------
    support_ : ndarray of shape (n_columns,), bool
        The confirmed columns.
    status_ : ndarray of shape (n_columns,), str
        "confirmed", "tentative" or "rejected". Excluded columns are rejected.
    hits_ : ndarray of shape (n_columns,), int
        In how many iterations the column scored higher than the shadows.
    importance_history_ : ndarray of shape (n_iter, n_columns)
        The scores of every iteration; NaN after the rejection of a column, and for excluded columns.
    shadow_max_ : ndarray of shape (n_iter,)
        The score of every iteration that a hit had to exceed.
    n_iter_ : int
    relevance_ : Relevance
        The relevance as it was used.
    schema_ : Schema
        Names and kinds of the columns as they were used.

    Raises
    ------
    DataError
        When there is no target, or the relevance ignores it: permuting a column then changes nothing.
    ValueError
        When a parameter is out of its range.

    Notes
    -----
    Columns that contain the same information are all confirmed, other than by a search for the best set. Cost: `n_iter_` times
    the relevance on up to 2 p columns. `TreeImportance` codes the columns once, in about 64 bins, and other relevances score a
    table in memory; a model of `PermutationImportance` reads encoded columns.

    Missing values, categories and weights are treated as by the relevance. A value moves to another row whatever the weights,
    groups and times of the rows are: rows of one group are exchanged like all others, so within-group dependence of a column is
    not part of the comparison.

    The tests compare a column with permutations of this table. A noise column that scores highest by chance in this table does so
    in every iteration, whatever `alpha` is, and the search tests each column many times. `alpha` therefore bounds neither the
    probability of a false confirmation in a table nor the share of false ones: of 100 tables of 200 rows and 20 columns of noise,
    `TreeImportance` has a false confirmation in 32 (0.4 columns per table), and the Fisher score, without random draws, in 73
    (1.2 columns per table). `StabilitySelector` bounds the expected number of false selections.

    References
    ----------
    Kursa and Rudnicki (2010), Feature selection with the Boruta package, Journal of Statistical Software 36(11).
    Kursa, Jankowski and Rudnicki (2010), Boruta - a system for feature selection, Fundamenta Informaticae 101.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from tamiz.error_control import BorutaSelector
    >>> X, y = make_classification(
    ...     500, 12, n_informative=3, n_redundant=2, n_repeated=1, shuffle=False, random_state=0
    ... )
    >>> selector = BorutaSelector(random_state=0).fit(X, y)
    >>> selector.get_support(indices=True)
    array([0, 1, 2, 3, 4, 5])
    """

    invariants: ClassVar[Invariants] = {
        "relevance": Nullable(InstanceOf(Relevance, str)),
        "relevance_": InstanceOf(Relevance),
        "correction": OneOf(*_CORRECTIONS),
        "support_": BoolArray("p"),
        "status_": ListOf(OneOf(*map(np.str_, _STATUSES)), "p"),
        "hits_": IntegerArray("p"),
        "shadow_max_": FloatArray("i"),
        "importance_history_": FloatArray("i", "p", allow_missing=True),
        "n_iter_": Integer(size="i"),
    }
    _needs_target: ClassVar[bool] = True
    default_relevance: ClassVar[type[Relevance]] = TreeImportance

    def __init__(
        self,
        relevance: Relevance | str | None = None,
        *,
        max_iter: int = 100,
        percentile: float = 100,
        alpha: float = 0.05,
        correction: str = "bonferroni",
        rough_fix: bool = False,
        max_seconds: float | None = None,
        random_state: Seed = None,
        n_jobs: int | None = None,
    ) -> None:
        self.relevance = relevance
        self.max_iter = max_iter
        self.percentile = percentile
        self.alpha = alpha
        self.correction = correction
        self.rough_fix = rough_fix
        self.max_seconds = max_seconds
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _criterion(self) -> Relevance | None:
        return resolve_relevance(self.relevance)

    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None, groups: Any = None) -> Self:
        """Compare the columns with shadows.

        Parameters
        ----------
        X : array, sparse matrix, data frame or Table
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), default=None
            Weights of the rows in the scores; shadows exchange the values of rows of different weights.
        groups : array of shape (n_samples,), default=None
            Used by the relevance as in `RankSelector`.
        """
        max_iter = check_integer("max_iter", self.max_iter, low=1)
        check_real("percentile", self.percentile, low=0.0, high=100.0)
        check_real("alpha", self.alpha, low=0.0, high=1.0)
        check_choice("correction", self.correction, _CORRECTIONS)
        limit = TimeLimit(self.max_seconds)
        rng = make_rng(self.random_state)
        with parallel.thread_session(self.n_jobs):
            table = self._open_table(X, y, sample_weight, groups)
            schema = table.schema
            self.relevance_ = _choose_relevance(self.relevance, schema)
            found = _Iterations(self, schema)
            found.run(_make_shadow_scorer(self.relevance_, table), limit, rng)
        ended = [] if found.is_complete else limit.describe(len(found.history), max_iter, "iterations")
        if self.rough_fix:
            found.apply_rough_fix()
        record_features(self, X)
        self.schema_ = schema
        self.status_ = np.array(_STATUSES)[1 - found.sign]
        self.hits_ = found.hits
        self.importance_history_ = np.array(found.history)
        self.shadow_max_ = np.array(found.shadow_max)
        self.n_iter_ = len(found.history)
        self.support_ = self._support = found.sign > 0
        notes = _describe_tentative(schema, found.sign, self.n_iter_)
        warn_user([*schema.fit_notes, *ended, *notes])
        return self

    def describe(self) -> list[str]:
        """Return sentences on the fitted selector: how many columns have which status, and what the tests bound."""
        check_is_fitted(self)
        found: dict[str, list[str]] = {status: [] for status in _STATUSES}
        for record in self._column_records(status=self.status_):
            found[record["status"]].append(record["column"])
        tentative = f" ({list_names(found['tentative'])})" if found["tentative"] else ""
        return [
            f"Boruta with {method_label(criteria, self.relevance_)['label']}: {len(found['confirmed']):,} confirmed, "
            f"{len(found['tentative']):,} tentative{tentative}, {len(found['rejected']):,} rejected, after {self.n_iter_:,} "
            f"iteration{'s' * (self.n_iter_ != 1)}.",
            f"Each column was tested at level {self.alpha:g} ({self.correction.replace('_', ' ').capitalize()}) against permuted "
            "copies in this table, which bounds neither the number nor the share of false columns in it.",
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers of the fitted selector for JSON: its parameters, and the status and the hits of every column."""
        check_is_fitted(self)
        return {
            "relevance": method_label(criteria, self.relevance_)["label"],
            "alpha": self.alpha,
            "correction": self.correction,
            "n_iterations": self.n_iter_,
            "all_columns": self._column_records(status=self.status_, hits=self.hits_),
        }

    def plan(self, X: Any, y: Any = None, *, sample_weight: Any = None, groups: Any = None) -> RepetitionPlan:
        """Return the largest cost of `fit`, from the time of the first iteration, in which no column is rejected yet.

        Parameters
        ----------
        X : array, sparse matrix, data frame or Table
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), default=None
        groups : array of shape (n_samples,), default=None

        Returns
        -------
        RepetitionPlan
            Iterations and seconds; `str()` of it is a sentence.
        """
        max_iter = check_integer("max_iter", self.max_iter, low=1)
        # A copy of the random state: `fit` makes the same random draws afterwards.
        rng = make_rng(copy.deepcopy(self.random_state))
        with parallel.thread_session(self.n_jobs):
            table = self._open_table(X, y, sample_weight, groups)
            score = _make_shadow_scorer(_choose_relevance(self.relevance, table.schema), table)
            columns = table.schema.used
            copied = _choose_copied(columns)
            # The values of the columns and of their shadows, and the codes of both.
            n_bytes = 16.0 * table.schema.n_rows * (len(columns) + len(copied))
            return time_repetitions(lambda: score(columns, copied, rng), max_iter, "iterations", _PLAN_ADVICE, n_bytes)


def _choose_copied(columns: Indices) -> Indices:
    """Return the columns that have shadows: each once, or as often as five shadows need."""
    return np.tile(columns, -(-_MIN_SHADOWS // max(len(columns), 1)))


def _choose_relevance(requested: Relevance | str | None, schema: Schema) -> Relevance:
    """Return the relevance for a table, after a check that it uses the target."""
    relevance = BorutaSelector.default_relevance() if requested is None else choose_relevance(requested, schema)
    if not relevance.reads_target:
        raise DataError(
            f"BorutaSelector needs a relevance that uses the target, and {type(relevance).__name__} does not: a column and its "
            "permuted copy have the same score. Use one such as TreeImportance() or InformationGain()."
        )
    relevance.check(schema)
    return relevance


def _make_shadow_scorer(relevance: Relevance, table: Table) -> ShadowScorer:
    """Return a function that scores columns and shadows in one table, each time with new permutations and random draws."""
    faster = relevance.make_shadow_scorer(table) if isinstance(relevance, Shadowable) else None
    return faster or _TableScorer(relevance, table)


class _TableScorer:
    def __init__(self, relevance: Relevance, table: Table) -> None:
        self._relevance = relevance
        self._own = AppendedColumns(table, _NO_FRAME)
        self._schema = table.schema

    def __call__(self, columns: Indices, copied: Indices, rng: np.random.Generator) -> Floats:
        shadows = [
            (CopiedColumn.from_column(self._schema.columns[j], f"shadow {k}"), rng.permutation(self._own.values[j]))
            for k, j in enumerate(copied.tolist())
        ]
        relevance = clone(self._relevance)
        parameters = relevance.get_params(deep=False)
        if "random_state" in parameters:
            relevance.set_params(random_state=int(rng.integers(2**31)))
        if parameters.get("encode") == "auto":
            # Without encoding the model would be fitted to the user's table, which has no shadows.
            relevance.set_params(encode=True)
        rejected = np.setdiff1d(self._schema.used, columns).tolist()
        table = self._own.table(shadows, excluded=rejected, reason="it is rejected")
        scores = score_columns(relevance, table).scores
        return np.concatenate([scores[columns], scores[self._schema.n_columns :]])


def _describe_tentative(schema: Schema, sign: NDArray[np.int8], n_iter: int) -> list[Verdict]:
    tentative = np.flatnonzero(sign == 0)
    if not len(tentative):
        return []
    names = [schema.names[j] for j in tentative.tolist()]
    are = "column is" if len(tentative) == 1 else "columns are"
    sentence = (
        f"{len(tentative):,} {are} tentative after {n_iter:,} iterations and not selected: {list_names(names)}. Increase max_iter "
        "(--max-iter), or decide by medians with BorutaSelector(rough_fix=True)."
    )
    return [Verdict("TZ501", sentence, names)]


class _Iterations:
    """The iterations of Boruta on a table, with the parameters of a `BorutaSelector`.

    `sign` is 1 for a confirmed, 0 for a tentative and -1 for a rejected column.
    """

    def __init__(self, selector: BorutaSelector, schema: Schema) -> None:
        self._selector = selector
        self.sign = np.full(schema.n_columns, -1, dtype=np.int8)
        self.sign[schema.used] = 0
        self.hits = np.zeros(schema.n_columns, dtype=np.int64)
        self.history: list[Floats] = []
        self.shadow_max: list[float] = []

    @property
    def is_complete(self) -> bool:
        return bool((self.sign != 0).all())

    def run(self, score: ShadowScorer, limit: TimeLimit, rng: np.random.Generator) -> None:
        """Decide on the columns; the score's warnings are shown once."""
        messages: list[Verdict] = []
        max_iter = self._selector.max_iter
        while not self.is_complete and len(self.history) < max_iter and not (self.history and limit.has_passed):
            columns = np.flatnonzero(self.sign >= 0)
            with capture_warnings() as captured, progress.use_listener(None):
                scores = score(columns, _choose_copied(columns), rng)
            messages += captured
            self._add(columns, scores[: len(columns)], scores[len(columns) :])
            progress.report_progress("Boruta iterations", len(self.history), max_iter)
        warn_user(dict.fromkeys(messages))

    def _add(self, columns: Indices, scores: Floats, shadows: Floats) -> None:
        row = np.full(len(self.sign), np.nan)
        row[columns] = scores
        self.history.append(row)
        self.shadow_max.append(float(np.percentile(shadows, self._selector.percentile)))
        self.hits[columns] += scores > self.shadow_max[-1]
        hits, n_iter = self.hits[columns], len(self.history)
        confirms = self._is_significant(bdtrc(hits - 1.0, n_iter, 0.5))
        rejects = self._is_significant(bdtr(hits.astype(np.float64), n_iter, 0.5))
        is_tentative = self.sign[columns] == 0
        self.sign[columns[is_tentative & confirms]] = 1
        self.sign[columns[is_tentative & rejects]] = -1

    def _is_significant(self, p_values: Floats) -> Masks:
        """Return whether each p-value of the columns that are not rejected is significant after the correction."""
        alpha = self._selector.alpha
        if self._selector.correction == "bonferroni":
            return p_values * np.count_nonzero(~np.isnan(self.history[0])) < alpha
        ranked = np.sort(p_values)
        passed = np.flatnonzero(ranked <= alpha * np.arange(1, len(ranked) + 1) / len(ranked))
        largest = ranked[passed[-1]] if len(passed) else -1.0
        return (p_values <= largest) & (p_values <= alpha / len(self.history))

    def apply_rough_fix(self) -> None:
        """Decide on tentative columns by the median of their scores, against that of the shadows' maximum."""
        tentative = np.flatnonzero(self.sign == 0)
        medians = np.median(np.array(self.history)[:, tentative], axis=0)
        self.sign[tentative] = np.where(medians > np.median(self.shadow_max), 1, -1)

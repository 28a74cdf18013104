"""The selector of the columns with the highest scores of a relevance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import Tags

from tamiz.arrays import Masks
from tamiz.criteria.base import HasPValues, HasSelectionWarnings, Relevance, score_columns, score_outputs
from tamiz.exceptions import DataError
from tamiz.models.estimators import check_metadata
from tamiz.models.multioutput import read_multioutput
from tamiz.runtime import parallel
from tamiz.runtime.user_warnings import list_names, warn, warn_user
from tamiz.runtime.validation import check_choice, check_n_features, check_real
from tamiz.runtime.verdicts import Verdict
from tamiz.selection.defaults import (
    choose_relevance,
    resolve_relevance,
)
from tamiz.selection.selector import Selector, estimator_readers
from tamiz.statistics.independence import CORRECTIONS, ColumnTests, Correction
from tamiz.storage.invariants import (
    BoolArray,
    FloatArray,
    InstanceOf,
    IntegerArray,
    Invariants,
    Nullable,
)
from tamiz.table.base import Table
from tamiz.table.factory import record_features
from tamiz.table.row_groups import untestable_reason
from tamiz.table.schema import Schema
from tamiz.table.views import has_all_rows, with_metadata


class RankSelector(Selector):
    """Keep the columns with the highest scores of a relevance (filter, univariate ranking).

    Parameters
    ----------
    relevance : Relevance or str, default=None
        The relevance, such as `InformationGain()`, or its name on the command line, such as "information-gain" or its first word. A
        name gets the parameters that suit the table, as in a study: for a numeric target, information gain cuts numbers into
        intervals of equal frequency. None is the first relevance that is defined on the table: information gain where there is a
        target.
    n_features : int or float, default=None
        Number of columns to keep; a float in (0, 1] is a share of the used columns, rounded down, at least one.
    threshold : float, default=None
        Smallest score of a column to keep. Without `n_features`, `threshold` and `fdr` all used columns are kept; with several, a
        column must satisfy all.
    fdr : float, default=None
        Largest adjusted p-value of a column to keep, such as 0.05: the false discovery rate with the first two corrections, the
        probability of any false discovery with the others. It needs a relevance with p-values, such as `IndependenceTest()`,
        which is the default with it.
    correction : {"benjamini_hochberg", "benjamini_yekutieli", "holm", "bonferroni"}, default="benjamini_hochberg"
        How p-values are adjusted for the number of columns that are tested, as in `tamiz.criteria.adjust_p_values`.

    Attributes
    ----------
    scores_ : ndarray of shape (n_columns,)
        Larger is better.
    support_ : ndarray of shape (n_columns,), bool
        The selected columns.
    scores_std_ : ndarray of shape (n_columns,) or None
        For scores that are means over folds and random draws, such as `PermutationImportance`, their standard deviations.
    p_values_, adjusted_p_values_, statistics_ : ndarray of shape (n_columns,) or None
        p-values of `IndependenceTest`, as they are and adjusted, and its test statistics; None with a relevance without p-values,
        and where they are not valid, with a warning: rows in groups or in time. A column that cannot be tested has p-value 1 and
        statistic NaN, and does not count in the adjustment; an excluded one has NaN.
    relevance_ : Relevance
        The relevance as it was used.
    scores_per_output_ : ndarray of shape (n_outputs, n_columns) or None
        With a target of several columns, the scores with each of them as the target. `scores_` are their means, and for
        `IndependenceTest` -log10 of the smallest of the p-values times n_outputs, at most 1. None with one column.
    ranking_ : ndarray of shape (n_columns,)
        Column numbers, best first; equal scores in column order, then constant columns, then excluded columns.
    schema_ : Schema
        Names and kinds of the columns as they were used.

    Raises
    ------
    ValueError
        When the table or a parameter cannot be used.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz import RankSelector
    >>> from tamiz.criteria import InformationGain
    >>> iris = load_iris(as_frame=True)
    >>> selector = RankSelector(InformationGain(), n_features=2).fit(iris.data, iris.target)
    >>> selector.transform(iris.data).columns.tolist()
    ['petal length (cm)', 'petal width (cm)']
    """

    invariants: ClassVar[Invariants] = {
        "relevance": Nullable(InstanceOf(Relevance, str)),
        "relevance_": InstanceOf(Relevance),
        "support_": BoolArray("p"),
        "scores_": FloatArray("p"),
        "scores_std_": Nullable(FloatArray("p", low=0.0)),
        "scores_per_output_": Nullable(FloatArray("outputs", "p")),
        "p_values_": Nullable(FloatArray("p", low=0.0, high=1.0, allow_missing=True)),
        "adjusted_p_values_": Nullable(FloatArray("p", low=0.0, high=1.0, allow_missing=True)),
        "statistics_": Nullable(FloatArray("p", low=0.0, allow_missing=True)),
        "ranking_": IntegerArray("p", below="p", distinct=True),
    }
    _needs_target: ClassVar[bool] = False

    def __init__(
        self,
        relevance: Relevance | str | None = None,
        *,
        n_features: float | None = None,
        threshold: float | None = None,
        fdr: float | None = None,
        correction: Correction = "benjamini_hochberg",
    ) -> None:
        self.relevance = relevance
        self.n_features = n_features
        self.threshold = threshold
        self.fdr = fdr
        self.correction = correction

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = _supports_multioutput(self._criterion())
        return tags

    def _criterion(self) -> Relevance | None:
        return resolve_relevance(self.relevance)

    def _metadata_readers(self) -> list[tuple[Any, str]]:
        return estimator_readers(self._criterion())

    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None, groups: Any = None, **params: Any) -> Self:
        """Score the columns.

        Parameters
        ----------
        X : array, sparse matrix, data frame or Table
        y : array or frame of shape (n_samples,) or (n_samples, n_outputs), default=None
            Ignored by a relevance that needs no target. Several columns are allowed for a relevance that is computed from
            statistics, such as `InformationGain` or `IndependenceTest`; no value may then be missing.
        sample_weight : array of shape (n_samples,), default=None
            A row with whole weight 2 counts as two equal rows; of weights that are no whole numbers only the ratios matter.
        groups : array of shape (n_samples,), default=None
            Where the target is constant in every group, each group counts as one row in scores that are computed from statistics;
            relevances that read rows ignore the groups.
        **params
            Further values of the rows, as for `SubsetSelector.fit`: for the estimator and the scorer of `PermutationImportance`.
        """
        requested = self._criterion()
        if params:
            check_metadata("RankSelector", estimator_readers(requested), params)
        check_choice("correction", self.correction, CORRECTIONS)
        with parallel.thread_session():
            outputs = read_multioutput(y) if _supports_multioutput(requested) else None
            opened = with_metadata(self._open_table(X, y if outputs is None else None, sample_weight, groups), params)
            tables = [opened] if outputs is None else outputs.single_output_tables(opened)
            # Parameters that suit a numeric target suit classes, too.
            schema = min((table.schema for table in tables), key=lambda one: one.has_classes)
            self.relevance_ = choose_relevance(self.relevance, schema, with_p_values=self.fdr is not None)
            for table in tables:
                self.relevance_.check(table.schema)
            warn_user(opened.schema.fit_notes)
            self._check_limits(opened.schema)
            untestable = self._check_testable(opened)
            found = (score_columns if outputs is None else score_outputs)(self.relevance_, *tables)
        self.scores_, self.scores_std_, tests, self.scores_per_output_ = found
        self._store_tests(None if untestable else tests, opened.schema)
        record_features(self, X)
        self.schema_ = opened.schema
        excluded = np.array([c.exclusion_reason is not None for c in opened.schema.columns])
        constant = np.array([c.constant for c in opened.schema.columns])
        self.ranking_ = np.lexsort((-self.scores_, constant, excluded))
        self.support_ = self._support = self._select_support(opened.schema)
        selected = np.flatnonzero(self._support).tolist()
        if has_all_rows(opened):
            if isinstance(self.relevance_, HasSelectionWarnings):
                warn_user(self.relevance_.selection_warnings(tables, selected))
            warn_user(self._tie_warnings(opened.schema))
        return self

    def _tie_warnings(self, schema: Schema) -> list[Verdict]:
        """Return a warning where selected columns have the same score as columns that are not selected."""
        if self.n_features is None or not self._support.any():
            return []
        varied = np.array([not c.constant and c.exclusion_reason is None for c in schema.columns])
        least = float(self.scores_[self._support].min())
        tied = varied & (self.scores_ == least)
        chosen, n_left_out = tied & self._support, int((tied & ~self._support).sum())
        if not n_left_out:
            return []
        named = list_names([schema.names[j] for j in np.flatnonzero(chosen).tolist()], as_text=repr)
        others = "column that is" if n_left_out == 1 else "columns that are"
        n_better = int(self._support.sum() - chosen.sum())
        sizes = f"{n_better:,} or {n_better + tied.sum():,}" if n_better else f"{tied.sum():,}"
        sentence = (
            f"{type(self.relevance_).__name__}: {named} and {n_left_out:,} {others} not selected have the same score, {least:.6g}: "
            f"only the place in the table decided. Select {sizes} columns, or use another relevance."
        )
        return [Verdict("TZ306", sentence, [schema.names[j] for j in np.flatnonzero(tied).tolist()])]

    def _check_testable(self, table: Table) -> str:
        """Return why p-values are not valid, "" where they are or the relevance has none; an error with `fdr`, else a warning."""
        if not isinstance(self.relevance_, HasPValues):
            return ""
        reason = untestable_reason(table)
        if reason and self.fdr is not None:
            raise DataError(
                f"p-values are not valid because {reason}, so columns cannot be selected by fdr={self.fdr}. "
                "Use n_features or threshold."
            )
        if reason:
            name = type(self.relevance_).__name__
            warn("TZ503", f"{name}: the scores rank the columns, but there are no p-values: {reason}.")
        return reason

    def _store_tests(self, tests: ColumnTests | None, schema: Schema) -> None:
        """Store the p-values and statistics of the used columns, None where there are none."""
        self.p_values_, self.adjusted_p_values_, self.statistics_ = None, None, None
        if tests is None:
            return
        assert isinstance(self.relevance_, HasPValues)
        warn_user(self.relevance_.test_warnings(tests, schema))
        stored = np.full((3, schema.n_columns), np.nan)
        found = tests.p_values(), tests.adjusted_p_values(self.correction), tests.statistic
        stored[:, schema.used] = np.stack(found)[:, schema.used]
        self.p_values_, self.adjusted_p_values_, self.statistics_ = (values.copy() for values in stored)

    def _supports_by_size(self, table: Table, sizes: Sequence[int] | None) -> dict[int, Masks]:
        """Return the best columns of one ranking for each size, without those below the threshold."""
        ranked = clone(self).set_params(n_features=None).fit(table)
        sizes = range(1, len(table.schema.used) + 1) if sizes is None else sizes
        return {size: ranked.set_params(n_features=size)._select_support(table.schema) for size in sizes}

    def _check_limits(self, schema: Schema) -> int:
        """Check what limits the selected columns, and return the largest number of them."""
        n = n_used = len(schema.used)
        if self.n_features is not None and (n := check_n_features("n_features", self.n_features, n_used)) > n_used:
            if n_used == 0:
                raise ValueError("No column can be selected: each is excluded.")
            noun = "column" if n_used == 1 else "columns"
            which = f"{n_used} {noun} of the table" if n_used == schema.n_columns else f"{n_used} used {noun}"
            raise ValueError(f"n_features={n} exceeds the {which}; ask for at most {n_used}.")
        if self.threshold is not None:
            check_real("threshold", self.threshold)
        if self.fdr is not None:
            check_real("fdr", self.fdr, low=0, high=1)
        return n

    def _select_support(self, schema: Schema) -> Masks:
        kept = np.zeros(schema.n_columns, dtype=bool)
        # The columns that are excluded are the last of the ranking.
        kept[self.ranking_[: self._check_limits(schema)]] = True
        if self.threshold is not None:
            kept &= self.scores_ >= self.threshold
            best = float(self.scores_[schema.used].max(initial=-np.inf))
            if -np.inf < best < self.threshold:
                warn(
                    "TZ305", f"No column scores at least threshold={self.threshold:g}: the highest score is {best:.6g}."
                )
        if self.fdr is not None:
            kept &= self._is_significant(schema)
        return kept

    def _is_significant(self, schema: Schema) -> Masks:
        """Return whether the adjusted p-value of each column is at most `fdr`; warn if none is."""
        assert self.adjusted_p_values_ is not None
        significant = self.adjusted_p_values_ <= self.fdr
        if len(schema.used) and not significant.any():
            least = float(self.adjusted_p_values_[schema.used].min())
            warn(
                "TZ305", f"No column has an adjusted p-value of at most fdr={self.fdr:g}: the smallest is {least:.6g}."
            )
        return significant


def _supports_multioutput(relevance: Relevance | None) -> bool:
    """Whether y may have several columns; where the table decides, the relevance is one of counts."""
    return relevance is None or relevance.supports_multioutput

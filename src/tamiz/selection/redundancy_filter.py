"""A selector that drops columns which the kept columns determine."""

from __future__ import annotations

from math import comb, expm1, log1p
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import betainc
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from tamiz.arrays import Floats, Indices
from tamiz.criteria import registry as criteria
from tamiz.criteria.base import Relevance
from tamiz.criteria.column_associations import (
    MIN_COMMON_ROWS,
    REDUNDANT,
    associate_columns,
    chance_corrected_uncertainties,
    count_common_rows,
    one_sided_associations,
    pair_association,
    pair_uncertainties,
    recut_uncertainties,
    target_uncertainties,
)
from tamiz.exceptions import DataError
from tamiz.runtime import parallel
from tamiz.runtime.registry import method_label
from tamiz.runtime.user_warnings import quote_name, warn_user
from tamiz.runtime.validation import check_choice, check_memory, check_positive, check_real
from tamiz.runtime.verdicts import Verdict
from tamiz.selection.defaults import resolve_relevance
from tamiz.selection.rank_selector import RankSelector
from tamiz.selection.selector import Selector
from tamiz.selection.time_limits import RepetitionPlan, TimeLimit, time_on_columns
from tamiz.statistics.cross_products import ROUNDING, ScatterMatrix, StepwiseRegression
from tamiz.storage.invariants import BoolArray, FloatArray, InstanceOf, Invariants, Nullable, Number, OneOf
from tamiz.table.base import Table, check_enough_rows, weight_array
from tamiz.table.duplicate_detection import compute_fingerprints, find_duplicate_columns
from tamiz.table.factory import record_features
from tamiz.table.views import positive_weight_rows, select_columns, without_target

# A warning names a larger probability that a column of noise is dropped.
_MAX_CHANCE = 0.01
_BYTES_PER_PAIR = 48.0
_PLAN_ADVICE = "Fewer columns (a RankSelector before it, or kinds) take less time."
# How a sentence calls the association of two numbers by each measure.
_ASSOCIATIONS = {
    "kinds": "association",
    "pearson": "correlation",
    "linear": "R2",
    "symmetric_uncertainty": "symmetric uncertainty",
}
_MEASURES = tuple(_ASSOCIATIONS)
# The default threshold of the measures but "kinds".
_THRESHOLD = 0.95


class RedundancyFilter(Selector):
    r"""Drop the columns that are determined by columns that are kept.

    The columns are visited in an order of preference, and one is dropped if its association with the columns kept before it is at
    least `threshold`. The order is: the highest score of `relevance`, then the fewest missing values, then the order in the table.

    Parameters
    ----------
    measure : {"kinds", "pearson", "linear", "symmetric_uncertainty"}, default="kinds"
        The association of a column with the kept columns. "kinds" is the largest association with one of them, by the rule of the
        report of a study: for two numbers the larger absolute value of Pearson's and Spearman's correlation, for two categories
        Cramer's V, and for a number and a category the correlation ratio eta, all without what is due to chance. "pearson" is the
        largest absolute correlation with one of them. "linear" is the coefficient of determination R2 of its regression on all of
        them, which also finds sums such as total = a + b. With both, a pair with a category has its symmetric uncertainty.
        "symmetric_uncertainty" is the largest symmetric uncertainty with one of them, for columns of any kind: it finds relations
        of any form.
    threshold : float, default=None
        Smallest association of a dropped column, above 0; 1 drops only what is determined exactly, up to rounding. None is 0.9 for
        "kinds" and 0.95 for the other measures.
    relevance : Relevance or str, default=None
        The column with the higher score is preferred, as in `RankSelector`. None is the symmetric uncertainty with the target,
        where there is one.
    max_seconds : float, default=None
        Time limit: TimeoutError is raised when it has passed before the associations are complete.

    Attributes
    ----------
    support_ : ndarray of shape (n_columns,), bool
        The kept columns.
    determined_by_ : dict of str to tuple of str
        For each dropped column the kept columns that determine it: none for a constant column, several only with "linear".
    n_common_rows_ : dict of str to int
        For each dropped column that one kept column determines, the number of rows in which both have a value.
    associations_ : ndarray of shape (n_columns,)
        The association of each column with the columns kept before it, 1 for constant columns and 0 for excluded ones.
    schema_ : Schema
        Names and kinds of the columns as they were used.

    Raises
    ------
    ValueError
        When the table or a parameter cannot be used.

    Warns
    -----
    TamizWarning
        When there are so few rows that one kept column, or with "linear" several together, would determine a column of noise with
        probability above 0.01, and columns were dropped for this reason. Two rows determine every number.

    Notes
    -----
    Constant columns, exact duplicates, and columns that are excluded as an id or as text are dropped whatever the measure. Two
    columns are compared on the rows with both values; with fewer than 10 of these, where values are missing, their association is
    0. Regressions of "linear" on several columns replace missing values by the mean, which lowers R2. A column of one value and
    missing ones is kept. For the symmetric uncertainty, numbers are cut into at most ten intervals of equal frequency, and values
    from the threshold on are corrected for chance in small tables.

    With "kinds", V and eta are corrected for the number of levels, and a pair that independent columns of so few rows may reach by
    chance has the association 0. A kept town determines its country, but a kept country does not determine the town: the town is
    then kept too.

    The R2 of "linear" is computed from a Cholesky factorisation of the correlation matrix, to which each kept column adds a row:

    .. math:: R^2_j = \sum_k l_{kj}^2, \qquad l_{kj} = \frac{r_{kj} - \sum_{m<k} l_{mk} l_{mj}}{l_{kk}}

    A column is kept only while the squared pivot, 1 - R2, is above 1 - `threshold`. The columns in `determined_by_` are chosen by
    forward selection until their R2 reaches the threshold, or 1 for an exact relation, without those that are not needed for it.

    With row weights, sums are weighted, as if rows were repeated; the number of intervals and the correction for chance depend on
    the sum of frequency weights, and on the effective sample size of sampling weights.

    Cost O(n p^2) for p columns, and O(p k^2) for k kept ones with "linear".

    References
    ----------
    Bergsma (2013), A bias-correction for Cramer's V and Tschuprow's T, Journal of the Korean Statistical Society 42; Kelley (1935),
    An unbiased correlation ratio measure, PNAS 21; Hall (1999), Correlation-based feature selection for machine learning, for the
    symmetric uncertainty of two columns; Golub and
    Van Loan (2013), Matrix Computations, sections 4.2 and 5.4, for the factorisation.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from tamiz import RedundancyFilter
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame(rng.normal(size=(100, 2)), columns=["a", "b"])
    >>> table["total"] = table["a"] + table["b"]
    >>> table["cents"] = 100 * table["b"]
    >>> RedundancyFilter().fit(table).determined_by_
    {'cents': ('b',)}
    >>> exact = RedundancyFilter("linear").fit(table)
    >>> exact.determined_by_
    {'total': ('a', 'b'), 'cents': ('b',)}
    >>> exact.transform(table).columns.tolist()
    ['a', 'b']
    """

    invariants: ClassVar[Invariants] = {
        "measure": OneOf(*_MEASURES),
        "threshold": Nullable(Number(0.0, 1.0)),
        "relevance": Nullable(InstanceOf(Relevance, str)),
        "support_": BoolArray("p"),
        "determined_by_": InstanceOf(dict),
        "n_common_rows_": InstanceOf(dict),
        "associations_": FloatArray("p", low=0.0, high=1.0),
    }
    _needs_target: ClassVar[bool] = False

    def __init__(
        self,
        measure: str = "kinds",
        *,
        threshold: float | None = None,
        relevance: Relevance | str | None = None,
        max_seconds: float | None = None,
    ) -> None:
        self.measure = measure
        self.threshold = threshold
        self.relevance = relevance
        self.max_seconds = max_seconds

    @property
    def _threshold(self) -> float:
        if self.threshold is not None:
            return self.threshold
        return REDUNDANT if self.measure == "kinds" else _THRESHOLD

    def _criterion(self) -> Relevance | None:
        return resolve_relevance(self.relevance)

    def _open_table(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> Table:
        """Return the table; without a relevance, a target that is constant or several columns is ignored."""
        try:
            return super()._open_table(X, y, sample_weight, groups)
        except DataError:
            if self.relevance is not None or y is None:
                raise
            return super()._open_table(X, None, sample_weight, groups)

    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None, groups: Any = None) -> Self:
        """Find the columns to keep.

        Parameters
        ----------
        X : array, sparse matrix, data frame or Table
        y : array of shape (n_samples,), default=None
            Ignored where a relevance needs none, and by default where it is constant or has several columns.
        sample_weight : array of shape (n_samples,), default=None
            A row with whole weight 2 counts as two equal rows; of weights that are no whole numbers only the ratios matter.
        groups : array of shape (n_samples,), default=None
            For the relevance, as in `RankSelector`.
        """
        measure = check_choice("measure", self.measure, _MEASURES)
        threshold = check_real("threshold", check_positive("threshold", self._threshold), high=1.0)
        limit = TimeLimit(self.max_seconds)
        with parallel.thread_session():
            opened = self._open_table(X, y, sample_weight, groups)
            schema = opened.schema
            if self.relevance is None:
                scores = target_uncertainties(opened)
                warn_user(schema.fit_notes)
            else:
                scores = RankSelector(self.relevance).fit(opened).scores_
            table = positive_weight_rows(without_target(opened))
            check_enough_rows(table.schema.n_rows)
            varied = np.array([j for j in table.schema.used.tolist() if not table.schema.columns[j].constant], np.intp)
            limit.check("The relevance of the columns")
            order = np.lexsort((_missing_weights(table)[varied], -scores[varied]))
            associations = _ColumnAssociations(table, varied, measure, threshold)
            limit.check("The association of all pairs of columns")
            kept, values, determined = associations.visit(order)
        n_common = [int(associations.n_common[i, by[0]]) if len(by) == 1 else 0 for i, by in enumerate(determined)]
        warn_user(_chance_warnings(table, varied, kept, determined, n_common, measure, threshold))
        self.support_ = self._support = np.zeros(schema.n_columns, dtype=bool)
        self.support_[varied[kept]] = True
        self.associations_ = np.zeros(schema.n_columns)
        self.associations_[schema.used] = 1.0
        self.associations_[varied] = values
        names = schema.names
        by_column = dict(zip(varied.tolist(), determined, strict=True))
        self.determined_by_ = {
            names[j]: tuple(names[varied[i]] for i in by_column.get(j, []))
            for j in schema.used.tolist()
            if not self.support_[j]
        }
        self.n_common_rows_ = {names[j]: n for j, n in zip(varied.tolist(), n_common, strict=True) if n}
        record_features(self, X)
        self.schema_ = schema
        return self

    def describe(self) -> list[str]:
        """Return sentences on the fitted filter: the number of kept columns, and why each dropped column is dropped."""
        check_is_fitted(self)
        schema, n_kept = self.schema_, int(self.support_.sum())
        columns = "1 column" if len(schema.used) == 1 else f"{len(schema.used):,} columns"
        sentences = [
            f"Redundancy filter with measure {self.measure.replace('_', '-')}, threshold {self._threshold:g}: {n_kept:,} of "
            f"{columns} {'is' if n_kept == 1 else 'are'} kept."
        ]
        position = {name: j for j, name in enumerate(schema.names)}
        for name, by in self.determined_by_.items():
            numeric = all(schema.columns[position[one]].is_number for one in (name, *by))
            kind = _ASSOCIATIONS[self.measure if numeric or self.measure == "kinds" else "symmetric_uncertainty"]
            n_rows = self.n_common_rows_.get(name, schema.n_rows)
            rows = f" on {n_rows:,} rows" if n_rows < schema.n_rows else ""
            value = f"{kind} {self.associations_[position[name]]:.4g}{rows}"
            reason = f"determined by {', '.join(map(quote_name, by))}, {value}" if by else "constant"
            sentences.append(f"Dropped: {name if name.strip() else '(empty)'} ({reason}).")
        return sentences

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers of the fitted filter for JSON: its parameters, and of every column what determines it."""
        check_is_fitted(self)
        records = self._column_records(association=self.associations_, kept=self.support_)
        for record in records:
            record["determined_by"] = self.determined_by_.get(record["column"], ())
        return {
            "measure": self.measure,
            "threshold": self._threshold,
            "relevance": None if self.relevance is None else method_label(criteria, self._criterion())["label"],
            "all_columns": records,
        }

    def plan(self, X: Any, y: Any = None, *, sample_weight: Any = None, groups: Any = None) -> RepetitionPlan:
        """Return the largest cost of `fit`, from its time on some of the columns.

        Parameters
        ----------
        X, y, sample_weight, groups
            The arguments of `fit`.

        Returns
        -------
        RepetitionPlan
            Seconds and bytes; `str()` of it is a sentence.
        """
        once = clone(self).set_params(max_seconds=None)
        with parallel.thread_session():
            table = self._open_table(X, y, sample_weight, groups)
            seconds = time_on_columns(once.fit, table, 3.0 if self.measure == "linear" else 2.0)
        n_bytes = _BYTES_PER_PAIR * len(table.schema.used) ** 2
        return RepetitionPlan("selections", 1, seconds, seconds, _PLAN_ADVICE, n_bytes)


def _chance_warnings(
    table: Table,
    varied: Indices,
    kept: Indices,
    determined: list[list[int]],
    n_common: list[int],
    measure: str,
    threshold: float,
) -> list[Verdict]:
    """Return warnings where kept numeric columns may determine a column of noise: one of them, or several together."""
    if measure == "kinds":
        # Chance is part of the rule.
        return []
    is_number = [table.schema.columns[j].is_number for j in varied.tolist()]
    n_determining = [len(by) for i, by in enumerate(determined) if by and is_number[i] and is_number[by[0]]]
    if not n_determining:
        return []
    n_rows, n_numeric = round(table.schema.n_effective), sum(is_number[i] for i in kept.tolist())
    n_by_one = n_determining.count(1)
    warnings = []
    n_least = min((n for i, n in enumerate(n_common) if n and is_number[i]), default=n_rows)
    rows = f"{n_least:,} rows with both values" if n_least < n_rows else f"{n_rows:,} rows"
    by_one = _pair_chance(measure, n_least, n_numeric, threshold)
    if n_by_one and by_one > _MAX_CHANCE:
        dropped = "1 dropped column is" if n_by_one == 1 else f"{n_by_one:,} dropped columns are"
        kind = f"{'an' if measure == 'linear' else 'a'} {_ASSOCIATIONS[measure]}"
        of_kept = "the kept numeric column" if n_numeric == 1 else f"one of the {n_numeric:,} kept numeric columns"
        warnings.append(
            Verdict(
                "TZ307",
                f"A column of noise has {kind} of at least {threshold:g} with {of_kept} with probability "
                f"{by_one:.2g}, because there are {rows}; {dropped} determined by one kept column. Use more rows.",
            )
        )
    n_free = n_rows - 1 - n_numeric
    # R2 of independent normal columns has a beta distribution with these degrees of freedom, halved.
    by_all = float(betainc(n_free / 2, n_numeric / 2, 1 - threshold)) if n_free > 0 else 1.0
    if n_by_one < len(n_determining) and by_all > _MAX_CHANCE:
        n_by_several = len(n_determining) - n_by_one
        explained = "1 dropped column is" if n_by_several == 1 else f"{n_by_several:,} dropped columns are"
        # Of few rows a single correlation is large by chance too.
        by_pairs = _pair_chance("pearson", n_rows, n_numeric, threshold) > _MAX_CHANCE
        remedy = "Use more rows." if by_pairs else "Use measure='pearson' (--measure pearson), or more rows."
        sentence = (
            f"A column of noise has an R2 of at least {threshold:g} with probability {by_all:.2g}, because {n_numeric:,} numeric "
            f"columns are kept and there are {n_rows:,} rows; {explained} explained by several kept ones together. {remedy}"
        )
        warnings.append(Verdict("TZ307", sentence))
    return warnings


def _pair_chance(measure: str, n_rows: int, n_columns: int, threshold: float) -> float:
    """Return the probability that the association of noise with one of n independent numeric columns is above the threshold."""
    if measure == "symmetric_uncertainty":
        # Few rows are cut into two halves, which are equal by chance, also if they are exchanged and of equal size.
        # Of 1,000 rows the probability is 1e-300.
        n_rows = min(n_rows, 1000)
        chance = (2 - n_rows % 2) / comb(n_rows, n_rows // 2)
    else:
        r2 = threshold if measure == "linear" else threshold**2
        chance = float(betainc((n_rows - 2) / 2, 1 / 2, 1 - r2)) if n_rows > 2 else 1.0
    return float(-expm1(n_columns * log1p(-chance))) if chance < 1 else 1.0


def _missing_weights(table: Table) -> Floats:
    """Return the total weight of the missing values of each column."""
    schema = table.schema
    missing = np.array([float(column.n_missing) for column in schema.columns])
    weight = weight_array(table)
    if weight is not None:
        for j in np.flatnonzero(missing):
            values = table.column(int(j))
            missing[j] = weight[np.isnan(values) if schema.columns[j].is_number else values < 0].sum()
    return missing


class _ColumnAssociations:
    """The associations of columns with each other, and the decision which of them to keep.

    Columns are numbered from 0 among those that vary. `pairs` is 0 for pairs that regressions on the `correlations` replace.
    """

    def __init__(self, table: Table, varied: Indices, measure: str, threshold: float) -> None:
        self.threshold = min(threshold, 1.0 - ROUNDING)
        self.correlations: Floats | None = None
        if measure == "kinds":
            found = associate_columns(table, varied.tolist())
            self.pairs = one_sided_associations(found, table, self.threshold)
            self.n_common, self.numeric = count_common_rows(table, varied.tolist()), varied[:0]
            return
        p = len(varied)
        check_memory(
            _BYTES_PER_PAIR * p * p,
            f"The associations of {p:,} columns with each other",
            "Keep fewer columns first, with RankSelector.",
        )
        self.pairs = np.zeros((p, p))
        self.n_common = count_common_rows(table, varied.tolist())
        is_number = np.array([table.schema.columns[j].is_number for j in varied.tolist()], dtype=bool)
        self.numeric = np.flatnonzero(is_number)
        if measure != "symmetric_uncertainty" and len(self.numeric):
            self._correlate(table, varied[self.numeric], measure)
        first, second = np.triu_indices(p, 1)
        if measure != "symmetric_uncertainty":
            mixed = ~(is_number[first] & is_number[second])
            first, second = first[mixed], second[mixed]
        if len(first):
            varying = select_columns(table, varied.tolist())
            columns = varied[first], varied[second]
            association = pair_association(table.schema.n_effective)
            values = pair_uncertainties(varying, association, *columns)
            corrected = chance_corrected_uncertainties(varying, association, *columns, values, self.threshold)
            values = recut_uncertainties(varying, *columns, values, corrected, self.threshold)
            self.pairs[first, second] = self.pairs[second, first] = np.clip(values, 0.0, 1.0)
        self._add_duplicates(table, varied)

    def _correlate(self, table: Table, columns: Indices, measure: str) -> None:
        """Compute the associations of numeric columns: of pairs, on the rows with both values, and correlations for regressions."""
        n, schema = len(columns), table.schema
        incomplete = tuple(j for j in columns.tolist() if schema.columns[j].n_missing)
        check_memory(
            ScatterMatrix.work_bytes(n, len(incomplete)),
            f"{n:,} x {n:,} cross products",
            "Keep fewer columns first, with RankSelector.",
        )
        (scatter,) = table.reduce(ScatterMatrix(tuple(columns.tolist()), (), incomplete, with_squares=True))
        here = np.ix_(self.numeric, self.numeric)
        n_common = self.n_common[here]
        pairs = np.where(n_common < min(MIN_COMMON_ROWS, schema.n_rows), 0.0, np.abs(scatter.correlations()))
        if measure == "linear":
            # Correlations on different rows need not be those of any table, so regressions use imputed means.
            self.correlations = scatter.imputed_correlations()
            pairs = np.where(n_common < schema.n_rows, pairs**2, 0.0)
        self.pairs[here] = pairs

    def _add_duplicates(self, table: Table, varied: Indices) -> None:
        """Set the association of exact duplicates to 1: numbers that are nearly constant may lie in one interval."""
        fingerprints = compute_fingerprints(table, rows=False, distinct_values=False).columns
        position = {j: k for k, j in enumerate(varied.tolist())}
        equal: dict[int, list[int]] = {}
        for later, first in find_duplicate_columns(table, fingerprints).items():
            equal.setdefault(position[first], [position[first]]).append(position[later])
        for columns in equal.values():
            self.pairs[np.ix_(columns, columns)] = 1.0

    def visit(self, order: Indices) -> tuple[Indices, Floats, list[list[int]]]:
        """Return the kept columns, each column's association when it was visited, and the columns that determine it."""
        p = len(self.pairs)
        strongest, partner = np.zeros(p), np.zeros(p, dtype=np.intp)
        regression = None if self.correlations is None else StepwiseRegression(self.correlations)
        position = np.full(p, -1)
        position[self.numeric] = np.arange(len(self.numeric))
        kept: list[int] = []
        values = np.zeros(p)
        determined: list[list[int]] = [[] for _ in range(p)]
        for i in order.tolist():
            r2 = 0.0 if regression is None or position[i] < 0 else regression.r2(position[i])
            values[i] = max(strongest[i], r2)
            if strongest[i] >= self.threshold:
                determined[i] = [int(partner[i])]
            elif r2 >= self.threshold:
                assert regression is not None
                # An exact relation is described exactly.
                r2_needed = 1.0 - regression.rounding(position[i]) if r2 == 1.0 else self.threshold
                determined[i] = self.numeric[regression.explain(position[i], r2_needed)].tolist()
            else:
                kept.append(i)
                closer = self.pairs[i] > strongest
                strongest[closer], partner[closer] = self.pairs[i, closer], i
                if regression is not None and position[i] >= 0:
                    regression.add(position[i])
        return np.array(sorted(kept), dtype=np.intp), values, determined

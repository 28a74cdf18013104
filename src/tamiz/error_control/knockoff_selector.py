"""Columns selected by the knockoff filter, which controls the false discovery rate, with checks of its assumptions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from tamiz.arrays import Floats, Indices, Masks
from tamiz.criteria import registry as criteria
from tamiz.criteria.base import Relevance, score_rows
from tamiz.criteria.model_relevance import ModelRelevance, TrainingData
from tamiz.error_control.gaussian_knockoffs import METHODS, MIN_ROWS_PER_COLUMN, KnockoffSampler, matrix_bytes
from tamiz.exceptions import DataError
from tamiz.runtime import parallel, progress
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.registry import method_label
from tamiz.runtime.user_warnings import capture_warnings, warn, warn_user
from tamiz.runtime.validation import check_choice, check_integer, check_real
from tamiz.runtime.verdicts import Verdict
from tamiz.selection.defaults import choose_relevance, resolve_relevance
from tamiz.selection.selector import Selector
from tamiz.selection.time_limits import RepetitionPlan, TimeLimit, time_on_columns
from tamiz.storage.invariants import Array, BoolArray, FloatArray, InstanceOf, Invariants, ListOf, Nullable, Number
from tamiz.table.base import Table
from tamiz.table.factory import record_features
from tamiz.table.schema import Column, CopiedColumn
from tamiz.table.views import AppendedColumns

# Steps of coordinate descent for one penalty.
_MAX_ITERATIONS = 2000


class LassoCoefficient(ModelRelevance):
    """Norm of a column's coefficients in a lasso of all columns, whose penalty is chosen by cross-validation.

    .. math:: \\min_B \\frac{1}{2 n} \\|Y - X B\\|_F^2 + \\alpha \\sum_l \\|b_l\\|_2, \\qquad
        B_j = \\Big(\\pi_j \\sum_{l \\in j} \\|b_l\\|_2^2\\Big)^{1/2}

    over the coordinates l of column j: a numeric column is one standardised coordinate, and a categorical column has an
    indicator for every level, divided by the square root of the level's share. :math:`\\pi_j` is the share of rows in
    which the column has a value. A numeric target is one standardised output. For classes the outputs are their
    indicators, one for two classes: for two classes least squares has the direction of Fisher's linear discriminant,
    and the fit is several times faster than logistic regression.

    Parameters
    ----------
    cv : int, default=5
        Number of folds of shuffled rows.
    max_rows : int, default=None
        Number of rows that the lasso is fitted to, a random sample; None uses all.
    max_levels : int, default=None
        Largest number of levels of a categorical column; of one with more, the most frequent are kept and all others are one level.
        None keeps all levels, and in a study 50 where more would limit the rows.
    random_state : int, Generator or RandomState, default=0
        Seed of the folds, and of the sample.

    Raises
    ------
    DataError
        When there is no target, or when rows have weights.

    Notes
    -----
    The penalty minimises the mean squared error of the test rows, among 100 penalties. Missing values are at the mean
    of the column. Constant columns score 0. Cost O(n p) for a step of coordinate descent over all columns.

    References
    ----------
    Tibshirani (1996), Regression shrinkage and selection via the lasso, Journal of the Royal Statistical Society B 58.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tamiz import RankSelector

    >>> X, y = load_diabetes(return_X_y=True)
    >>> RankSelector(LassoCoefficient()).fit(X, y).scores_.round(2)
    array([0.  , 0.14, 0.32, 0.2 , 0.34, 0.18, 0.  , 0.09, 0.41, 0.04])
    """

    supports_bootstrap: ClassVar[bool] = False

    def __init__(
        self,
        *,
        cv: int = 5,
        max_rows: int | None = None,
        max_levels: int | None = None,
        random_state: Seed = 0,
    ) -> None:
        self.cv = cv
        self.max_rows = max_rows
        self.max_levels = max_levels
        self.random_state = random_state

    def score(self, table: Table) -> Floats:
        """Return the scores of the table's columns, after fitting models to its rows."""
        check_integer("cv", self.cv, low=2)
        if table.schema.weight is not None:
            raise DataError("LassoCoefficient does not support row weights; pass a table without them.")
        scores = np.zeros(table.schema.n_columns)
        rows = self.make_training_data(table, self.random_state)
        if rows is not None:
            np.add.at(scores, rows.source_columns, rows.present_share * self._squared_coefficients(rows))
        return np.sqrt(scores)

    def _squared_coefficients(self, rows: TrainingData) -> Floats:
        from sklearn.linear_model import LassoCV, MultiTaskLassoCV
        from sklearn.model_selection import KFold

        from tamiz.models.task import FitWarnings

        seed = int(make_rng(self.random_state).integers(2**31))
        folds = KFold(min(self.cv, len(rows.features)), shuffle=True, random_state=seed)
        settings: dict[str, Any] = {"cv": folds, "alphas": 100, "max_iter": _MAX_ITERATIONS}
        outputs = rows.target.astype(np.float64)
        if rows.n_classes == 2:
            outputs = (outputs - outputs.mean()) / outputs.std()
        if rows.n_classes > 2:
            indicators = (rows.target[:, None] == np.arange(rows.n_classes)).astype(np.float64)
            outputs = (indicators - indicators.mean(axis=0)) / indicators.std(axis=0)
        model = (LassoCV if outputs.ndim == 1 else MultiTaskLassoCV)(**settings)
        fit_warnings = FitWarnings()
        # Some of the fits in the folds, for small penalties, may not converge: only the last fit matters for the coefficients.
        with fit_warnings.capture(), fit_warnings.record_fit():
            model.fit(rows.features, outputs)
        if model.n_iter_ >= _MAX_ITERATIONS:
            message = f"the lasso did not converge in {_MAX_ITERATIONS:,} steps; the scores are those of the last step."
            warn("TZ501", f"LassoCoefficient: {message}")
        coefficients: Any = np.atleast_2d(model.coef_)
        return np.asarray((coefficients**2).sum(axis=0))


# Probability that a check fails where the assumption is true, for all pairs of columns together.
_ERROR = 0.01
# Correlations of squares vary a little more: in simulations of normal columns the largest difference was 1.03 times the limit.
_SQUARES_FACTOR = 1.2


@dataclass(frozen=True)
class AssumptionCheck:
    """One assumption, what was measured, and the limit.

    Attributes
    ----------
    name : str
        "rows", "shrinkage", "collinearity", "second moments", "fourth moments" or "independence".
    passed : bool or None
        None where there is no limit.
    value : float
    limit : float or None
    sentence : str
        What was found.
    """

    name: str
    passed: bool | None
    value: float
    limit: float | None
    sentence: str

    invariants: ClassVar[Invariants] = {
        "name": InstanceOf(str),
        "passed": Nullable(InstanceOf(bool)),
        "value": Number(allow_infinite=True),
        "limit": Nullable(Number()),
        "sentence": InstanceOf(str),
    }


def check_assumptions(
    sampler: KnockoffSampler, permutations: Mapping[int, Indices], table: Table
) -> tuple[AssumptionCheck, ...]:
    """Return the checks of a table, from a draw of the sampler."""
    n_rows, n_columns, n = table.schema.n_rows, len(sampler.copula.correlation), len(sampler.collinear)
    ratio, intensity = n_rows / max(n_columns, 1), sampler.copula.shrinkage
    rows = f"{n_rows:,} rows for the correlations of {n_columns:,} columns, {ratio:.3g} rows per column."
    are = "No column is" if n == 0 else "1 column is" if n == 1 else f"{n:,} columns are"
    roles = [name for name, values in (("groups", table.groups), ("times", table.time)) if values is not None]
    independence = (
        f"The rows have {' and '.join(roles)}, and knockoffs assume independent rows."
        if roles
        else "Knockoffs assume independent rows; the table has neither groups nor times."
    )
    shrunk = f"The correlations were shrunk to 0 by the share {intensity:.3g}."
    return (
        AssumptionCheck("rows", ratio >= MIN_ROWS_PER_COLUMN, ratio, MIN_ROWS_PER_COLUMN, rows),
        AssumptionCheck("shrinkage", None, intensity, None, shrunk),
        AssumptionCheck("collinearity", n == 0, float(n), 0.0, f"{are} exactly determined by other columns."),
        *_check_moments(sampler, permutations),
        AssumptionCheck("independence", not roles, float(len(roles)), 0.0, independence),
    )


def _check_moments(sampler: KnockoffSampler, permutations: Mapping[int, Indices]) -> tuple[AssumptionCheck, ...]:
    """Compare the correlations of pairs of columns with those in which one column, or both, are exchanged with their knockoffs.

    Correlations of the squares detect dependencies that a normal distribution with the same correlations does not have.
    """
    q = len(sampler.columns)
    if q < 2:
        return ()
    scores = sampler.copula.mean_scores[:, :q]
    knockoffs = np.column_stack([scores[permutations[j], k] for k, j in enumerate(sampler.columns.tolist())])
    # Each difference of two correlations of n rows has a standard deviation of at most about sqrt(2 / n).
    limit = float(-ndtri(_ERROR / (2 * q * (q - 1))) * np.sqrt(2 / len(scores)))
    checks = []
    for name, what, factor, power in (
        ("second moments", "correlation of scores", 1.0, 1),
        ("fourth moments", "correlation of squared scores", _SQUARES_FACTOR, 2),
    ):
        value = _largest_difference(_standardize(scores**power), _standardize(knockoffs**power))
        sentence = (
            f"The {what} of two columns changes by at most {value:.3f} where columns are exchanged with their knockoffs; "
            f"{factor * limit:.3f} is possible by chance."
        )
        checks.append(AssumptionCheck(name, bool(value <= factor * limit), value, factor * limit, sentence))
    return tuple(checks)


def _standardize(values: Floats) -> Floats:
    deviations = values - values.mean(axis=0)
    std = np.sqrt((deviations**2).mean(axis=0))
    # The squared scores of a balanced column of two levels are constant.
    return np.asarray(deviations / np.where(std > 1e-9, std, np.inf))


def _largest_difference(columns: Floats, knockoffs: Floats) -> float:
    n_rows = len(columns)
    own = columns.T @ columns / n_rows
    exchanged = [knockoffs.T @ knockoffs / n_rows, columns.T @ knockoffs / n_rows]
    apart = ~np.eye(len(own), dtype=bool)
    return max(float(np.abs(own - one)[apart].max()) for one in exchanged)


# Relative rounding error that is allowed where an estimate equals the bound, such as 3 / 30 and 0.1.
_ROUNDING = 1e-12


def knockoff_threshold(statistics: Floats, fdr: float, *, offset: int = 1) -> float:
    """Return the smallest threshold with an estimated false discovery proportion of at most `fdr`, infinity if there is none.

    .. math:: T = \\min\\Big\\{t > 0 : \\frac{c + \\#\\{j : W_j \\le -t\\}}{\\max(1, \\#\\{j : W_j \\ge t\\})} \\le q\\Big\\}

    Examples
    --------
    >>> import numpy as np
    >>> knockoff_threshold(np.array([5.0, 4.0, 3.0, -2.0, 1.0]), 0.4)
    3.0
    """
    thresholds, estimates = estimated_proportions(statistics, offset=offset)
    below = np.flatnonzero(estimates <= fdr * (1 + _ROUNDING))
    return float(thresholds[below[0]]) if len(below) else np.inf


def estimated_proportions(statistics: Floats, *, offset: int = 1) -> tuple[Floats, Floats]:
    """Return the possible thresholds, ascending, and the estimated false discovery proportion at each."""
    thresholds = np.unique(np.abs(statistics[statistics != 0]))
    ascending, negated = np.sort(statistics), np.sort(-statistics)
    n_selected = len(statistics) - np.searchsorted(ascending, thresholds)
    n_negative = len(statistics) - np.searchsorted(negated, thresholds)
    return thresholds, (offset + n_negative) / np.maximum(1, n_selected)


def knockoff_e_values(statistics: Floats, fdr: float) -> tuple[Floats, float]:
    """Return the e-values of a draw of knockoffs, and the threshold.

    .. math:: e_j = \\frac{p \\, 1\\{W_j \\ge T\\}}{1 + \\#\\{k : W_k \\le -T\\}}

    References
    ----------
    Ren and Barber (2024), Derandomised knockoffs: leveraging e-values for false discovery rate control, Journal of the
    Royal Statistical Society B 86.

    Examples
    --------
    >>> import numpy as np
    >>> knockoff_e_values(np.array([5.0, 4.0, 3.0, -2.0, 1.0]), 0.4)
    (array([5., 5., 5., 0., 0.]), 3.0)
    """
    threshold = knockoff_threshold(statistics, fdr)
    n_negative = np.count_nonzero(statistics <= -threshold)
    return np.where(statistics >= threshold, len(statistics) / (1 + n_negative), 0.0), threshold


def select_by_e_values(e_values: Floats, fdr: float) -> Masks:
    """Return what the e-BH procedure selects: the k largest e-values, for the largest k with all of them at least n / (q k).

    References
    ----------
    Wang and Ramdas (2022), False discovery rate control with e-values, Journal of the Royal Statistical Society B 84.

    Examples
    --------
    >>> import numpy as np
    >>> select_by_e_values(np.array([8.0, 0.0, 7.0, 1.0]), 0.3)
    array([ True, False,  True, False])
    """
    descending = np.sort(e_values)[::-1]
    ranks = np.arange(1, len(e_values) + 1)
    enough = np.flatnonzero(descending * fdr * ranks >= len(e_values) * (1 - _ROUNDING))
    return e_values >= descending[enough[-1]] if len(enough) else np.zeros(len(e_values), dtype=bool)


_REASON = "its place is that of a column in the table of columns and knockoffs"
_PLAN_ADVICE = "Fewer columns (a RankSelector before it, or kinds) take less time."
_NO_FRAME = "use an importance that does not refit models on the user's table, such as TreeImportance()"


class KnockoffSelector(Selector):
    """Keep the columns that are more important than their knockoffs, with a bounded false discovery rate.

    .. math:: W_j = I_j - \\tilde I_j, \\qquad
        T = \\min\\Big\\{t : \\frac{c + \\#\\{W_j \\le -t\\}}{\\max(1, \\#\\{W_j \\ge t\\})} \\le q\\Big\\}, \\qquad
        \\text{selected} = \\{j : W_j \\ge T\\}

    with the importances I of a column and of its knockoff among all columns and all knockoffs. A column that is
    independent of the target given the other columns is as likely to be less important than its knockoff as more
    important. The number of negative W therefore estimates how many of the selected columns are wrong, and their
    expected share is at most q = `fdr`.

    Parameters
    ----------
    importance : Relevance or str, default=None
        The importance of columns in the table of columns and knockoffs, in which each column and its knockoff have a
        random order: a relevance, or its name on the command line. Any relevance that reads the target controls the
        rate; a relevance of single columns has less power than a model of all columns. None is the absolute coefficient
        in a cross-validated lasso; a categorical column has the norm of the coefficients of its levels, and classes are
        predicted by their indicators.
    fdr : float, default=0.1
        q, the bound of the expected share of wrong columns among the selected ones, in (0, 1).
    method : {"mvr", "equicorrelated"}, default="mvr"
        As in `knockoffs`.
    offset : {0, 1}, default=1
        c. 1 (knockoff+) bounds the false discovery rate. 0 bounds the expectation of V / (R + 1 / q), for V wrong ones
        of R selected columns, and can select fewer than 1 / q columns.
    n_draws : int, default=1
        Number of draws of knockoffs. With several, the selection depends less on the seed: each draw has e-values, with
        the threshold for q / 2, and the e-BH procedure selects by their means.
    max_seconds : float, default=None
        Time limit. After the first draw, which has a result, further draws end when it has passed, with a warning;
        before, TimeoutError is raised.
    random_state : int, Generator or RandomState, default=None
        Seed of the knockoffs.
    n_jobs : int, default=None
        Number of threads; None uses the cores available to this process. The result does not depend on it.

    Attributes
    ----------
    support_ : ndarray of shape (n_columns,), bool
    statistics_ : ndarray of shape (n_draws, n_columns)
        W, 0 for columns without a knockoff: excluded, constant and collinear ones.
    threshold_ : ndarray of shape (n_draws,)
        T, infinite where no threshold satisfies the bound.
    e_values_ : ndarray of shape (n_columns,)
        The mean over the draws of :math:`p 1\\{W_j \\ge T\\} / (1 + \\#\\{W_k \\le -T\\})`, for p columns with
        knockoffs, and T of `offset=1`.
    s_ : ndarray of shape (n_columns,)
        1 minus the correlation of a column's score with that of its knockoff; a column of small s has little power, one
        of 0 none.
    checks_ : tuple of AssumptionCheck
        What the table shows of the assumptions: `name`, `passed`, `value`, `limit` and `sentence` of each.
    importance_ : Relevance
        The importance as it was used.
    schema_ : Schema
        Names and kinds of the columns as they were used.

    Raises
    ------
    DataError
        When the table cannot be used, or has row weights.
    TypeError
        When `sample_weight` is passed. As `fit` has no such parameter, a pipeline with metadata routing passes weights to its model
        alone. Repeat the rows instead.
    ValueError
        When a parameter is out of its range.

    Notes
    -----
    The bound needs no assumption on how the target depends on the columns, but it needs the distribution of the
    columns, which is estimated as a Gaussian copula (see `knockoffs`); `checks_` compares the moments. A failed check
    is a warning.

    With `offset=1` no selection has fewer than 1 / q columns, 10 at `fdr=0.1`; of several draws, those that select fewer
    than 2 / q columns count as empty. Where fewer columns are relevant, none is selected.

    Two columns that are nearly equal compete: the target may depend on either of them, so that neither has much power.
    Rows must be independent; groups are not used.

    Cost that of `knockoffs`, without the estimate for each further draw, and n_draws times the importance of 2 p
    columns.

    References
    ----------
    Barber and Candès (2015), Controlling the false discovery rate via knockoffs, Annals of Statistics 43.
    Candès, Fan, Janson and Lv (2018), Panning for gold: model-X knockoffs for high dimensional controlled variable
    selection, Journal of the Royal Statistical Society B 80.
    Ren and Barber (2024), Derandomised knockoffs: leveraging e-values for false discovery rate control, Journal of the
    Royal Statistical Society B 86.

    Examples
    --------
    >>> from sklearn.datasets import make_regression
    >>> from tamiz.error_control import KnockoffSelector
    >>> X, y = make_regression(300, 40, n_informative=12, noise=20.0, shuffle=False, random_state=0)
    >>> selector = KnockoffSelector(fdr=0.1, random_state=0).fit(X, y)
    >>> selector.get_support(indices=True)
    array([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 19])
    >>> [check.name for check in selector.checks_ if check.passed]
    ['rows', 'collinearity', 'second moments', 'fourth moments', 'independence']
    """

    invariants: ClassVar[Invariants] = {
        "importance": Nullable(InstanceOf(Relevance, str)),
        "importance_": InstanceOf(Relevance),
        "support_": BoolArray("p"),
        "statistics_": FloatArray("r", "p"),
        "threshold_": Array("r", dtypes=(np.float64,)),
        "e_values_": FloatArray("p", low=0.0),
        "s_": FloatArray("p", low=0.0),
        "checks_": ListOf(InstanceOf(AssumptionCheck)),
    }
    _needs_target: ClassVar[bool] = True
    default_relevance: ClassVar[type[Relevance]] = LassoCoefficient

    def __init__(
        self,
        importance: Relevance | str | None = None,
        *,
        fdr: float = 0.1,
        method: str = "mvr",
        offset: int = 1,
        n_draws: int = 1,
        max_seconds: float | None = None,
        random_state: Seed = None,
        n_jobs: int | None = None,
    ) -> None:
        self.importance = importance
        self.fdr = fdr
        self.method = method
        self.offset = offset
        self.n_draws = n_draws
        self.max_seconds = max_seconds
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _criterion(self) -> Relevance:
        found = self.default_relevance() if self.importance is None else self.importance
        relevance = resolve_relevance(found) if isinstance(found, str) else found
        if not isinstance(relevance, Relevance):
            raise TypeError(f"importance must be a relevance such as TreeImportance(), or its name, got {found!r}.")
        if not relevance.reads_target:
            raise ValueError(f"importance must read the target, as TreeImportance() does, got {found!r}.")
        return relevance

    def plan(self, X: Any, y: Any = None) -> RepetitionPlan:
        """Return the largest cost of `fit`, from its time on some of the columns.

        Parameters
        ----------
        X : array, sparse matrix, data frame or Table
        y : array of shape (n_samples,)

        Returns
        -------
        RepetitionPlan
            Draws, seconds and bytes; `str()` of it is a sentence.
        """
        self._check_parameters()
        once = clone(self).set_params(n_draws=1, max_seconds=None, random_state=0)
        with parallel.thread_session(self.n_jobs):
            table = self._open_table(X, y, None, None)
            n_rows, n_columns = table.schema.n_rows, len(table.schema.used)
            # With more columns than rows the cost is of lower order, which is timed where few columns show it.
            is_wide = n_columns > 2 * n_rows
            seconds = time_on_columns(once.fit, table, 2.0 if is_wide else 3.0, n_rows + 1 if is_wide else 0)
        n_bytes = matrix_bytes(n_rows, n_columns)
        return RepetitionPlan(
            "draws of knockoffs", self.n_draws, seconds, seconds * self.n_draws, _PLAN_ADVICE, n_bytes
        )

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw knockoffs, and select columns.

        Parameters
        ----------
        X : array, sparse matrix, data frame or Table
        y : array of shape (n_samples,)
        """
        self._check_parameters()
        limit = TimeLimit(self.max_seconds)
        with parallel.thread_session(self.n_jobs):
            table = self._open_table(X, y, None, None)
            self.importance_ = self._choose_importance(table)
            rng = make_rng(self.random_state)
            own = AppendedColumns(table, _NO_FRAME)
            check = partial(limit.check, "The first draw of knockoffs")
            sampler = KnockoffSampler(own.values, table.schema.names, self.method, rng, check)
            draws = _Draws(table, own, sampler, self.importance_)
            seeds = rng.integers(2**63, size=self.n_draws).tolist()
            found = parallel.map_blocks(draws.statistics, limit.take(seeds))
            results = list(progress.track_progress("Draws of knockoffs", found, self.n_draws))
            permutations = sampler.draw(np.random.default_rng(seeds[0]))
            self.checks_ = check_assumptions(sampler, permutations, table)
        record_features(self, X)
        self.schema_ = schema = table.schema
        self.statistics_, self.s_ = np.zeros((len(results), schema.n_columns)), np.zeros(schema.n_columns)
        self.statistics_[:, sampler.columns] = [statistics for statistics, _ in results]
        self.s_[sampler.columns] = sampler.s
        self._select(sampler.columns)
        failed = [check.sentence for check in self.checks_ if check.passed is False and check.name != "collinearity"]
        doubts = "The false discovery rate may exceed its bound, because assumptions are doubtful:"
        warn_user(
            [
                *schema.fit_notes,
                *limit.describe(len(results), self.n_draws, "draws of knockoffs"),
                *sampler.collinearity_warnings(),
                *dict.fromkeys(message for _, messages in results for message in messages),
                *([Verdict("TZ302", " ".join([doubts, *failed]))] if failed else []),
                *self._empty_warnings(sampler.columns),
            ]
        )
        return self

    def describe(self) -> list[str]:
        """Return sentences on the fitted selector: the bound with its assumptions, and the checks of these that failed."""
        check_is_fitted(self)
        failed = [check.name for check in self.checks_ if check.passed is False]
        return [
            f"Knockoffs with {method_label(criteria, self.importance_)['label']}: the expected share of false columns among the "
            f"selected ones is at most {self.fdr:g}, if rows are independent and the columns have a Gaussian copula.",
            f"Failed checks: {', '.join(failed)}." if failed else "No check of these assumptions failed.",
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers of the fitted selector for JSON; the threshold and the statistics are those of the first draw."""
        check_is_fitted(self)
        checks = [
            {
                "name": one.name,
                "passed": one.passed,
                "value": _finite(one.value),
                "limit": one.limit,
                "found": one.sentence,
            }
            for one in self.checks_
        ]
        return {
            "relevance": method_label(criteria, self.importance_)["label"],
            "fdr": self.fdr,
            "threshold": _finite(self.threshold_[0]),
            "checks": checks,
            "all_columns": self._column_records(statistic=self.statistics_[0], s=self.s_),
        }

    def _check_parameters(self) -> None:
        if not 0 < check_real("fdr", self.fdr) < 1:
            raise ValueError(f"fdr must be above 0 and below 1, got {self.fdr}.")
        check_choice("method", self.method, METHODS)
        check_integer("offset", self.offset, low=0, high=1)
        check_integer("n_draws", self.n_draws, low=1)
        if self.n_draws > 1 and self.offset == 0:
            raise ValueError(
                f"offset=0 has no e-values, which n_draws={self.n_draws} needs; use offset=1, or n_draws=1."
            )

    def _choose_importance(self, table: Table) -> Relevance:
        if table.schema.weight is not None:
            raise DataError(
                f"KnockoffSelector does not support row weights ({table.schema.weight!r}): a row of weight 2 is not two "
                "rows with independent knockoffs. Repeat the rows, or pass a table without weights."
            )
        criterion = self._criterion()
        importance = choose_relevance(self.importance, table.schema) if isinstance(self.importance, str) else criterion
        importance.check(table.schema)
        return importance

    def _select(self, columns: Indices) -> None:
        """Set the thresholds, the e-values and the support, from the statistics of the columns with knockoffs."""
        n_columns = self.schema_.n_columns
        # Ren and Barber's choice for several draws.
        bound = self.fdr if self.n_draws == 1 else self.fdr / 2
        found = [knockoff_e_values(statistics, bound) for statistics in self.statistics_[:, columns]]
        self.threshold_ = np.array([threshold for _, threshold in found])
        self.e_values_ = np.zeros(n_columns)
        self.e_values_[columns] = np.mean([e_values for e_values, _ in found], axis=0)
        self.support_ = np.zeros(n_columns, dtype=bool)
        if self.n_draws > 1:
            self.support_[columns] = select_by_e_values(self.e_values_[columns], self.fdr)
        else:
            statistics = self.statistics_[0, columns]
            self.threshold_ = np.array([knockoff_threshold(statistics, self.fdr, offset=self.offset)])
            self.support_[columns] = statistics >= self.threshold_[0]
        self._support = self.support_

    def _empty_warnings(self, columns: Indices) -> list[Verdict]:
        """Return a sentence on the least possible bound if no column is selected."""
        if self.support_.any():
            return []
        least = min(
            (
                estimated_proportions(statistics, offset=self.offset)[1].min(initial=np.inf)
                for statistics in self.statistics_
            ),
            default=np.inf,
        )
        reached = (
            f"the least estimate over all thresholds is {least:.3g}" if least < np.inf else "no importance differs"
        )
        selection, needed = ("selection", 1) if self.n_draws == 1 else ("selection of a draw", 2)
        least_size = math.ceil(needed / self.fdr - 1e-9)
        rule = f" A {selection} at this bound has at least {least_size:,} columns; {len(columns):,} have knockoffs."
        sentence = f"No column is selected at fdr={self.fdr:g}: {reached}.{rule if self.offset else ''}"
        return [Verdict("TZ305", sentence)]


def _finite(value: float) -> float | None:
    """Return a number that JSON can contain, None for infinity."""
    return float(value) if math.isfinite(value) else None


@dataclass(frozen=True)
class _Draws:
    table: Table
    own: AppendedColumns
    sampler: KnockoffSampler
    importance: Relevance

    def statistics(self, seed: int) -> tuple[Floats, list[Verdict]]:
        """Return W of the columns with knockoffs, and the messages of the importance."""
        rng = np.random.default_rng(seed)
        permutations = self.sampler.draw(rng)
        columns = self.sampler.columns
        first = rng.integers(2, size=len(columns))
        pairs: list[tuple[Column, NDArray[Any]]] = []
        for k, j in enumerate(columns.tolist()):
            column, values = self.table.schema.columns[j], self.own.values[j]
            both = [values, values[permutations[j]]]
            for number in (0, 1):
                name, is_knockoff = f"{column.name} ({number})", number ^ first[k]
                described = CopiedColumn.from_column(column, name) if is_knockoff else replace(column, name=name)
                pairs.append((described, both[is_knockoff]))
        table = self.own.table(pairs, excluded=columns.tolist(), reason=_REASON)
        with capture_warnings() as messages:
            scores = score_rows(self.importance, table)[self.table.schema.n_columns :].reshape(-1, 2)
        at = np.arange(len(columns))
        return scores[at, first] - scores[at, 1 - first], messages

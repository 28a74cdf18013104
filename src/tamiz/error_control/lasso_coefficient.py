"""Lasso coefficient: the absolute coefficient of a column in a cross-validated lasso of all columns."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from tamiz.arrays import Floats
from tamiz.criteria.model_relevance import ModelRelevance, TrainingData
from tamiz.exceptions import DataError
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.user_warnings import warn
from tamiz.runtime.validation import check_integer
from tamiz.table.base import Table
from tamiz.table.schema import Schema

# Steps of coordinate descent for one penalty.
_MAX_ITERATIONS = 2000
# Values, of rows and of columns without their knockoffs, that take about a minute.
_MAX_VALUES = 2**22


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
    >>> from tamiz.error_control.lasso_coefficient import LassoCoefficient
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

    def max_study_values(self, schema: Schema) -> int:
        """Return how many values a lasso is fitted to where its time is limited: every class has coefficients of its own."""
        return _MAX_VALUES // max(schema.n_classes if schema.has_classes else 1, 1)

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

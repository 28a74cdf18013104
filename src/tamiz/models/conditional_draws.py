"""Draws of a column, or of columns together, from their distribution given the other columns of a row, without the target.

A drawn value is one that occurs in the training rows of a fold, so draws are numbers of training rows: they serve any encoding, and
levels, whole numbers and missing values stay what they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats, Indices, Masks, is_missing
from tamiz.models.folds import Folds
from tamiz.runtime.validation import check_memory
from tamiz.search.base import Unit
from tamiz.table.base import Table
from tamiz.table.schema import Column

# Penalties of the ridge regressions, in units of the variance of a standardised column; the best by held-out error is used.
_PENALTIES = (1e-3, 1e-2, 1e-1)
# The most frequent levels have indicators of their own.
_MAX_LEVELS = 30
# A product of two columns, or a curve of one, is added where the residuals are correlated with it by a t statistic of this size, on
# so many rows and columns at most.
_MIN_TERM_T, _MAX_TERMS = 4.0, 8
_SCREENED_ROWS, _SCREENED_COLUMNS = 1000, 200
# A curve is a line that bends at these quantiles.
_BENDS = (0.02, 0.1, 0.25, 0.4, 0.6, 0.75, 0.9, 0.98)
_BOOSTING = {"max_iter": 40, "max_leaf_nodes": 8, "learning_rate": 0.15, "early_stopping": False}
# The trees are used where they reduce the held-out squared error of a fold by at least this share, and twice its standard error.
_MIN_BOOSTED_SHARE, _MIN_BOOSTED_T = 0.02, 2.0
_MIN_BOOSTED_ROWS = 100
# A value in a larger share of the training rows is kept as it is: 0 in a column of amounts.
_MAX_UNTIED_SHARE = 0.01
_TINY = 1e-300

# Two features whose product is a term; twice the same feature is its curve.
_Term = tuple[int, int]


@dataclass(frozen=True)
class _FoldMoments:
    """Means and covariances of the features in the training rows of a fold, and for each penalty the penalised inverse."""

    mean: Floats
    covariance: Floats
    inverses: list[Floats]


@dataclass(frozen=True)
class Regression:
    """Regressions of a column's number, of whether it is missing, or of its levels on other columns, one per fold."""

    # The rows where what is predicted is present.
    is_fitted: Masks
    # The columns that predict.
    known: Indices
    # Intercepts and coefficients of the ridge regressions.
    lines: list[tuple[Floats, Floats]]
    # Predictions of each row by the fold that tests it, of shape (n_rows, n_targets).
    predicted: Floats
    # The effective number: the trace of the ridge regression's hat matrix, and the terms.
    n_coefficients: float
    terms: tuple[_Term, ...] = ()
    # Intercepts and coefficients of the terms.
    weights: tuple[Floats, ...] = ()
    # For each fold the boosted trees of each target, empty where they do not help.
    trees: tuple[list[Any], ...] = ()


class ConditionalSampler:
    """Draws columns given the others; regressions are fitted on the training rows of every fold.

    A column is predicted by ridge regression on the other columns, to which curves and products are added while they are correlated
    with the residuals, and then boosted trees where these predict better. A row draws from the rows of other folds with the nearest
    predictions, about the square root of their number: a level or a missing value as it is, a number plus the difference of the
    predictions, and of this the nearest number in the training rows. All predictions are of rows that a regression has not seen,
    so that their errors are those of new rows. The folds test each row at most once, and the seed is that of the trees.

    The features of a column are its number and an indicator of missing values, or indicators of its levels, standardised on all
    rows. Cost for each fold O(q^2 (n + q)) for q features, and for each column O(n p^2) to look for products; trees take some 50 ms
    for each feature of a column with curves or products.
    """

    def __init__(self, table: Table, folds: Folds, seed: int) -> None:
        self._schema, self._folds, self._seed = table.schema, folds, seed
        self._used = table.schema.used
        n_features = sum(_max_features(table.schema.columns[j]) for j in self._used.tolist())
        check_memory(
            8.0 * n_features * (2 * table.schema.n_rows + len(folds) * (1 + len(_PENALTIES)) * n_features),
            f"The regressions of {len(self._used):,} columns on each other",
            "Use fewer rows, or columns with fewer levels.",
        )
        self._columns: dict[int, NDArray[Any]] = {j: table.column(j) for j in self._used.tolist()}
        blocks = {j: _column_features(table.schema.columns[j], values) for j, values in self._columns.items()}
        ends = np.cumsum([0, *(block.shape[1] for block in blocks.values())])
        self._features = {j: np.arange(ends[k], ends[k + 1]) for k, j in enumerate(blocks)}
        self._values = np.hstack(list(blocks.values()))
        self._bends = np.quantile(self._values, _BENDS, axis=0).T
        # The fold that tests each row, -1 for none.
        self._fold_of = np.full(table.schema.n_rows, -1)
        for number, fold in enumerate(folds):
            self._fold_of[fold.test] = number
        self._tested = np.flatnonzero(self._fold_of >= 0)
        self._moments = [self._fold_moments(fold.train) for fold in folds]

    def _fold_moments(self, train: Indices) -> _FoldMoments:
        rows = self._values[train]
        mean = rows.sum(axis=0) / max(1, len(train))
        rows -= mean
        covariance: Floats = rows.T @ rows / max(1, len(train))
        unit = np.eye(len(mean))
        return _FoldMoments(
            mean,
            covariance,
            [np.asarray(np.linalg.inv(covariance + penalty * unit), dtype=np.float64) for penalty in _PENALTIES],
        )

    def prepare(self, unit: Unit) -> list[list[Regression]]:
        """Return the regressions of the columns of a unit: each on the columns outside, and on those of the unit before it.

        A number with missing values has two: of the number where it is present, and of being missing.
        """
        return [self._regress_column(j, unit[k:]) for k, j in enumerate(unit.tolist())]

    def _regress_column(self, column: int, unknown: Unit) -> list[Regression]:
        at = self._features[column]
        missing = is_missing(self._columns[column])
        if not self._schema.columns[column].is_number or not missing.any():
            return [self._regress(at, np.ones(len(missing), dtype=bool), self._moments, unknown)]
        moments = [self._fold_moments(fold.train[~missing[fold.train]]) for fold in self._folds]
        of_number = self._regress(at[:1], ~missing, moments, unknown)
        return [of_number, self._regress(at[1:], np.ones(len(missing), dtype=bool), self._moments, unknown)]

    def _regress(self, at: Indices, is_fitted: Masks, all_moments: list[_FoldMoments], unknown: Unit) -> Regression:
        known, truth = np.setdiff1d(self._used, unknown), self._values[:, at]
        tried = []
        for which in range(len(_PENALTIES)):
            solved = [self._ridge(moments, which, at, unknown) for moments in all_moments]
            predicted = np.zeros(truth.shape)
            for fold, (intercept, slopes, _) in zip(self._folds, solved, strict=True):
                predicted[fold.test] = intercept + self._values[fold.test] @ slopes
            found = Regression(
                is_fitted,
                known,
                [one[:2] for one in solved],
                predicted,
                float(np.mean([one[2] for one in solved])),
            )
            tried.append((self._error(found, truth), which, found))
        found = min(tried, key=lambda one: one[:2])[2]
        if not 0 < len(known) <= _SCREENED_COLUMNS or np.count_nonzero(is_fitted) < _MIN_BOOSTED_ROWS:
            return found
        found = self._add_terms(found, truth)
        return self._boost(found, truth) if found.terms else found

    def _error(self, found: Regression, truth: Floats) -> float:
        return float(((truth - found.predicted)[self._tested] ** 2)[found.is_fitted[self._tested]].sum())

    def _ridge(self, moments: _FoldMoments, which: int, at: Indices, unknown: Unit) -> tuple[Floats, Floats, float]:
        """Return intercepts and coefficients of features on all but those of unknown columns, and their effective number.

        With the inverse P of the penalised covariances, the coefficients of the unknown features U on the others O are
        -inv(P_UU) P_UO, and the inverse for O alone is P_OO - P_OU inv(P_UU) P_UO: one inverse serves all columns.
        """
        out = np.sort(np.concatenate([self._features[j] for j in unknown.tolist()]))
        inverse = moments.inverses[which]
        solved = np.linalg.solve(inverse[np.ix_(out, out)], inverse[out])
        own = inverse - inverse[:, out] @ solved
        n_coefficients = float((own * moments.covariance).sum())
        solved[:, out] = 0.0
        slopes = -np.ascontiguousarray(solved[np.searchsorted(out, at)].T)
        return moments.mean[at] - moments.mean @ slopes, slopes, n_coefficients

    def _add_terms(self, start: Regression, truth: Floats) -> Regression:
        """Add curves and products of columns that are correlated with the residuals, one after the other, while they help."""
        rows = self._tested[start.is_fitted[self._tested]][:_SCREENED_ROWS]
        factors = np.array([self._features[j][0] for j in start.known.tolist()])
        values = self._values[np.ix_(rows, factors)]
        values -= values.mean(axis=0)
        bent = self._bend(self._values[rows], factors)
        bent -= bent.mean(axis=0)
        found = start
        while len(found.terms) < _MAX_TERMS:
            residuals = (truth - found.predicted)[rows]
            residuals -= residuals.mean(axis=0)
            strongest, term = _MIN_TERM_T, None
            for one in residuals.T[:, :, None]:
                # The variance of a sum over the rows is that of independent rows.
                of_products = np.abs(values.T @ (values * one)) / _root(values.T**2 @ (values * one) ** 2)
                of_curves = np.abs(bent.T @ one)[:, 0] / _root(bent.T**2 @ one**2)[:, 0]
                np.fill_diagonal(of_products, of_curves.reshape(len(factors), -1).max(axis=1))
                if of_products.max() > strongest:
                    strongest = float(of_products.max())
                    term = tuple(factors[list(divmod(int(of_products.argmax()), len(factors)))].tolist())
            if term is None or term in found.terms:
                break
            extended = self._fit_terms(start, (*found.terms, term), truth)
            if self._error(extended, truth) >= self._error(found, truth):
                break
            found = extended
        return found

    def _fit_terms(self, start: Regression, terms: tuple[_Term, ...], truth: Floats) -> Regression:
        predicted = start.predicted.copy()
        weights: list[Floats] = []
        for number, fold in enumerate(self._folds):
            train = fold.train[start.is_fitted[fold.train]]
            of_train = self._term_features(self._values[train], terms)
            residuals = truth[train] - self._line(start, number, self._values[train])
            weights.append(np.asarray(np.linalg.lstsq(of_train, residuals, rcond=None)[0], dtype=np.float64))
            predicted[fold.test] += self._term_features(self._values[fold.test], terms) @ weights[-1]
        n_coefficients = start.n_coefficients + len(weights[0]) - 1
        return replace(start, terms=terms, weights=tuple(weights), predicted=predicted, n_coefficients=n_coefficients)

    def _bend(self, values: Floats, features: Indices) -> Floats:
        """Return for each feature its values above each bend, of shape (n_rows, n_features n_bends)."""
        above = np.maximum(values[:, features, None] - self._bends[features], 0.0)
        return above.reshape(len(values), -1)

    def _term_features(self, values: Floats, terms: Sequence[_Term]) -> Floats:
        parts = [np.ones((len(values), 1))]
        for a, b in terms:
            product = (values[:, a] * values[:, b])[:, None]
            parts.append(product if a != b else np.hstack([values[:, [a]], self._bend(values, np.array([a]))]))
        return np.hstack(parts)

    def _line(self, found: Regression, number: int, values: Floats) -> Floats:
        """Return the predictions of rows by the regression of a fold without its trees."""
        intercept, slopes = found.lines[number]
        predicted = intercept + values @ slopes
        return (
            predicted + self._term_features(values, found.terms) @ found.weights[number] if found.terms else predicted
        )

    def _boost(self, found: Regression, truth: Floats) -> Regression:
        """Add boosted trees of the residuals if they help in the first fold."""
        predicted, at = found.predicted.copy(), self._tree_features(found)
        trees: list[list[Any]] = []
        for number, fold in enumerate(self._folds):
            train = fold.train[found.is_fitted[fold.train]]
            residuals = truth[train] - self._line(found, number, self._values[train])
            trees.append(self._grow(self._values[np.ix_(train, at)], residuals))
            predicted[fold.test] += _predict_trees(trees[-1], self._values[np.ix_(fold.test, at)])
            if not number:
                test = fold.test[found.is_fitted[fold.test]]
                before, after = (((truth - one)[test] ** 2).sum(axis=1) for one in (found.predicted, predicted))
                gain = before - after
                needed = max(_MIN_BOOSTED_SHARE * before.mean(), _MIN_BOOSTED_T * gain.std() / np.sqrt(len(gain)))
                if gain.mean() <= needed:
                    return found
        return replace(found, trees=tuple(trees), predicted=predicted)

    def _grow(self, rows: Floats, residuals: Floats) -> list[Any]:
        from sklearn.ensemble import HistGradientBoostingRegressor

        return [
            HistGradientBoostingRegressor(**_BOOSTING, random_state=self._seed).fit(rows, residuals[:, k])
            for k in range(residuals.shape[1])
        ]

    def _tree_features(self, found: Regression) -> Indices:
        return np.concatenate([self._features[j] for j in found.known.tolist()])

    def draw(
        self, unit: Unit, of_unit: Sequence[list[Regression]], fold: int, n_repeats: int, rng: np.random.Generator
    ) -> dict[int, Indices]:
        """Return for each column of a unit the positions among the training rows of its draws, of shape (n_repeats, n_test)."""
        test, train = self._folds[fold].test, self._folds[fold].train
        drawn: dict[int, Indices] = {}
        for column, regressions in zip(unit.tolist(), of_unit, strict=True):
            if not drawn:
                predicted = [np.tile(one.predicted[test], (n_repeats, 1)) for one in regressions]
            else:
                values = np.tile(self._values[test], (n_repeats, 1))
                for j, at in drawn.items():
                    values[:, self._features[j]] = self._values[np.ix_(train[at.ravel()], self._features[j])]
                predicted = [self._predict(one, fold, values) for one in regressions]
            draw = self._draw_number if self._schema.columns[column].is_number else self._draw_level
            drawn[column] = draw(column, regressions, predicted, fold, rng).reshape(n_repeats, len(test))
        return drawn

    def _predict(self, regression: Regression, fold: int, values: Floats) -> Floats:
        predicted = self._line(regression, fold, values)
        if regression.trees:
            predicted += _predict_trees(regression.trees[fold], values[:, self._tree_features(regression)])
        return predicted

    def _donors(self, fold: int) -> Indices:
        return self._tested[self._fold_of[self._tested] != fold]

    def _draw_level(
        self, column: int, regressions: list[Regression], predicted: list[Floats], fold: int, rng: np.random.Generator
    ) -> Indices:
        """Return a position among the training rows for each row of predictions."""
        values, own, donors = self._columns[column], self._columns[column][self._folds[fold].train], self._donors(fold)
        # Of folds forward in time later rows may have levels that the training rows lack.
        donors = donors[np.isin(values[donors], own)]
        if not len(donors):
            return rng.integers(len(own), size=len(predicted[0]))
        donor = donors[_draw_nearest(regressions[0].predicted[donors], predicted[0], rng)]
        levels, first = np.unique(own, return_index=True)
        return first[np.searchsorted(levels, values[donor])]

    def _draw_number(
        self, column: int, regressions: list[Regression], predicted: list[Floats], fold: int, rng: np.random.Generator
    ) -> Indices:
        """Return likewise the row of a number: first whether it is missing, then the number."""
        values, own, donors = self._columns[column], self._columns[column][self._folds[fold].train], self._donors(fold)
        missing, present = np.isnan(own), donors[~np.isnan(values[donors])]
        if missing.all() or not len(present):
            return rng.integers(len(own), size=len(predicted[0]))
        found, is_absent = np.empty(len(predicted[0]), dtype=np.intp), np.zeros(len(predicted[0]), dtype=bool)
        if missing.any():
            is_absent = np.isnan(values[donors[_draw_nearest(regressions[1].predicted[donors], predicted[1], rng)]])
            found[is_absent] = np.flatnonzero(missing)[0]
        wanted, known = predicted[0][~is_absent], regressions[0].predicted
        donor = present[_draw_nearest(known[present], wanted, rng)]
        shift = (wanted - known[donor])[:, 0] * _spread(values[~np.isnan(values)])
        distinct, counts = np.unique(own[~missing], return_counts=True)
        tied = distinct[counts > max(1.0, _MAX_UNTIED_SHARE * len(own))]
        shift[np.isin(values[donor], tied)] = 0.0
        order = np.argsort(own, kind="stable")[: len(own) - np.count_nonzero(missing)]
        found[~is_absent] = order[_nearest_positions(own[order], values[donor] + shift)]
        return found


def _max_features(column: Column) -> int:
    return 2 if column.is_number else 1 + min(_MAX_LEVELS, len(column.levels))


def _spread(values: Floats) -> float:
    """Return the standard deviation, 1 for equal values."""
    return (float(values.std()) if len(values) else 0.0) or 1.0


def _root(squares: Floats) -> Floats:
    return np.sqrt(np.maximum(squares, _TINY))


def _column_features(column: Column, values: NDArray[Any]) -> Floats:
    """Return the standardised features of a column: its number and an indicator of missing values, or indicators of levels."""
    missing = is_missing(values)
    if column.is_number:
        own = values[~missing]
        centre = float(own.mean()) if len(own) else 0.0
        number = np.where(missing, 0.0, (values - centre) / _spread(own))
        return np.column_stack([number, missing]) if missing.any() else number[:, None]
    codes = np.where(missing, len(column.levels), values).astype(np.intp)
    counts = np.bincount(codes)
    kept = np.sort(np.argsort(-counts, kind="stable")[: min(_MAX_LEVELS, np.count_nonzero(counts))])
    indicators = (codes[:, None] == kept).astype(np.float64)
    return indicators / np.sqrt(indicators.mean(axis=0))


def _predict_trees(trees: list[Any], rows: Floats) -> Floats:
    return np.column_stack([one.predict(rows) for one in trees])


def _draw_nearest(known: Floats, wanted: Floats, rng: np.random.Generator) -> Indices:
    """Return for each wanted prediction one of the rows with the nearest known ones, about the square root of their number."""
    n = len(known)
    k = min(n, max(5, round(np.sqrt(n))))
    chosen = rng.integers(k, size=len(wanted))
    if known.shape[1] == 1:
        order = np.argsort(known[:, 0], kind="stable")
        middle = np.searchsorted(known[order, 0], wanted[:, 0])
        return order[np.clip(middle - k // 2, 0, n - k) + chosen]
    found = np.empty(len(wanted), dtype=np.intp)
    squares = (known**2).sum(axis=1)
    for start in range(0, len(wanted), 1000):
        part = slice(start, start + 1000)
        near = np.argpartition(squares - 2 * wanted[part] @ known.T, k - 1, axis=1)[:, :k]
        found[part] = near[np.arange(len(near)), chosen[part]]
    return found


def _nearest_positions(ascending: Floats, wanted: Floats) -> Indices:
    right = np.minimum(np.searchsorted(ascending, wanted), len(ascending) - 1)
    left = np.maximum(right - 1, 0)
    return np.where(wanted - ascending[left] <= ascending[right] - wanted, left, right)

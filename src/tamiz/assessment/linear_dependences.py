"""Numeric columns that are nearly a linear function of two to four others, such as a total and its parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tamiz.arrays import Floats, Masks, divide_or_zero
from tamiz.assessment.target_formulas import sum_text
from tamiz.criteria.column_associations import REDUNDANT, associate_columns, read_numbers
from tamiz.runtime.random import make_rng
from tamiz.selection.equivalent_columns import equivalent_columns
from tamiz.table.base import Table
from tamiz.table.factory import as_table
from tamiz.table.views import positive_weight_rows, select_rows, without_target

# Limits: rows, columns, columns that determine another one, and sentences.
_MAX_ROWS, _MAX_COLUMNS, _MAX_SIZE, _MAX_FOUND = 5000, 300, 4, 5
_MIN_ROWS = 40
# R2 on other rows; what fewer columns leave unexplained is at least three times as much.
_MIN_R2, _EXACT_R2, _MAX_LEFT_SHARE = 0.98, 1 - 1e-6, 1 / 3
_FIT_SHARE = 0.6
# Shares of the variance below this are rounding.
_ROUNDING = 1e-9
# Eigenvalues of a correlation matrix below this are rounding.
_MIN_EIGENVALUE = 1e-9


@dataclass(frozen=True)
class LinearDependence:
    """A column that is nearly a linear function of a few others.

    Attributes
    ----------
    column : str
    others : tuple of str
    formula : str
        The linear function, with its constant.
    r2 : float
        On rows that were not used to choose the columns.
    exact : bool
        Whether nothing but rounding is left unexplained.
    n_rows : int
        The number of these rows.
    """

    column: str
    others: tuple[str, ...]
    formula: str
    r2: float
    exact: bool
    n_rows: int

    @property
    def sentence(self) -> str:
        """A sentence for readers."""
        if self.exact:
            return f"{self.column} = {self.formula}, exactly."
        return f"{self.column} is nearly {self.formula} (R2 {min(self.r2, 0.999):.3f})."

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        return asdict(self)


def find_linear_dependences(X: Any, y: Any = None, *, sample_weight: Any = None) -> list[LinearDependence]:
    """Find numeric columns that two to four others determine linearly with an R2 of at least .98.

    Parameters
    ----------
    X : array, data frame or Table
    y : array of shape (n_samples,), default=None
        Only rows with a target are used, if there is one.
    sample_weight : array of shape (n_samples,), default=None
        Only rows of weight 0 are excluded.

    Returns
    -------
    list of LinearDependence
        At most five, those of the fewest columns first; one for each set of columns. Empty with fewer than 40 rows.

    Raises
    ------
    DataError
        When the table cannot be read.

    Notes
    -----
    Of equivalent columns (`equivalent_columns`) one is used, and a set of which every pair is redundant is not named. Candidates
    are the four columns with the largest partial correlations given all others, and the four of a forward selection, without those
    that are not needed for the R2. They are chosen on 60 % of the rows and scored on the others, on rows without
    missing values in these columns, so that the number of sets that are tried does not inflate the R2. Fewer columns must leave
    at least three times as much unexplained. Cost O(n p^2 + p^3); a sample of 5,000 rows and the first 300 columns are used.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from tamiz.assessment import find_linear_dependences
    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame(rng.poisson([40, 90, 20], (300, 3)), columns=["casual", "registered", "temp"])
    >>> X["total"] = X["casual"] + X["registered"]
    >>> find_linear_dependences(X)[0].sentence
    'total = casual + registered, exactly.'
    """
    table = positive_weight_rows(without_target(as_table(X, y, sample_weight)))
    schema = table.schema
    columns = [j for j in schema.used.tolist() if schema.columns[j].is_number and not schema.columns[j].constant]
    columns = columns[:_MAX_COLUMNS]
    if len(columns) < 3 or schema.n_rows < _MIN_ROWS:
        return []
    rng = make_rng(0)
    if schema.n_rows > _MAX_ROWS:
        table = select_rows(table, np.sort(rng.choice(schema.n_rows, _MAX_ROWS, replace=False)))
    same = equivalent_columns(table, columns)
    columns = [j for j in columns if j not in same]
    if len(columns) < 3:
        return []
    values, scale = read_numbers(table, columns)
    in_fit = rng.random(len(values)) < _FIT_SHARE
    signed = _signed_correlations(values[in_fit])
    names = [schema.names[j] for j in columns]
    with np.errstate(invalid="ignore"):
        fits = [one for k in range(len(columns)) for one in _find_sets(values, in_fit, signed, k)]
    best: dict[frozenset[int], tuple[tuple[Any, ...], LinearDependence]] = {}
    alike = _redundant_pairs(table, columns)
    for k, others, r2, n_rows in fits:
        members = frozenset((k, *others))
        # A group of redundant columns is stated as such.
        if all(alike[i, j] for i in members for j in members if i != j):
            continue
        coefficients, constant, exact = _fit_all(values, scale, k, others)
        plain = all(abs(abs(one) - 1) < 1e-3 for one in coefficients)
        order = (not plain, not all(one > 0 for one in coefficients), -k)
        if members not in best or order < best[members][0]:
            text = sum_text(coefficients, [names[j] for j in others], constant)
            found = LinearDependence(names[k], tuple(names[j] for j in others), text, r2, exact, n_rows)
            best[members] = order, found

    def rank(members: frozenset[int]) -> tuple[Any, ...]:
        found = best[members][1]
        return len(members), not found.exact, -found.r2, sorted(members)

    kept: list[frozenset[int]] = []
    for members in sorted(best, key=rank):
        if not any(len(members - earlier) < 2 for earlier in kept):
            kept.append(members)
    return [best[members][1] for members in kept[:_MAX_FOUND]]


def _redundant_pairs(table: Table, columns: Sequence[int]) -> Masks:
    return associate_columns(table, columns).beyond_chance >= REDUNDANT


def _signed_correlations(values: Floats) -> Floats:
    """Return the correlations of all pairs of columns on their common rows."""
    present = (~np.isnan(values)).astype(np.float64)
    n = np.maximum(present.sum(axis=0), 1.0)
    centred = np.where(present > 0, values, 0.0)
    centred -= present * (centred.sum(axis=0) / n)
    both = np.maximum(present.T @ present, 1.0)
    first = centred.T @ present / both
    variance = np.maximum((centred**2).T @ present / both - first**2, 0.0)
    covariance = centred.T @ centred / both - first * first.T
    found: Floats = np.clip(divide_or_zero(covariance, np.sqrt(variance * variance.T)), -1.0, 1.0)
    np.fill_diagonal(found, 1.0)
    return found


def _find_sets(values: Floats, in_fit: Masks, signed: Floats, k: int) -> list[tuple[int, tuple[int, ...], float, int]]:
    """Return the smallest set of columns that determines a column, in a list that is empty if there is none."""
    found: tuple[tuple[int, ...], tuple[float, int]] | None = None
    for others in _candidates(signed, k, int(in_fit.sum())):
        scored = _score(values, in_fit, k, others)
        while scored is not None and scored[0] >= _MIN_R2 and len(others) > 1:
            fewer = [tuple(j for j in others if j != one) for one in others]
            scores = [_score(values, in_fit, k, one) or (-np.inf, 0) for one in fewer]
            at = max(range(len(fewer)), key=lambda at: scores[at][0])
            if _left(scored) <= _MAX_LEFT_SHARE * _left(scores[at]):
                # Every column is needed.
                if found is None or len(others) < len(found[0]):
                    found = tuple(sorted(others)), scored
                break
            others, scored = fewer[at], scores[at]
    return [] if found is None else [(k, found[0], *found[1])]


def _left(scored: tuple[float, int]) -> float:
    return max(1.0 - scored[0], _ROUNDING)


def _candidates(signed: Floats, k: int, n_rows: int) -> list[tuple[int, ...]]:
    p = len(signed)
    found = [_forward(signed, k)]
    if n_rows > 3 * p:
        # The partial correlations given all other columns, from the inverse.
        eigenvalues, vectors = np.linalg.eigh(signed)
        inverse = (vectors / np.maximum(eigenvalues, _MIN_EIGENVALUE)) @ vectors.T
        partial = np.abs(inverse[k]) / np.sqrt(inverse.diagonal() * inverse[k, k])
        partial[k] = -1.0
        found.append(tuple(np.argsort(-partial, kind="stable")[: min(_MAX_SIZE, p - 1)].tolist()))
    return found


def _forward(signed: Floats, k: int) -> tuple[int, ...]:
    """Return the columns of a forward selection, computed from correlations."""
    chosen: list[int] = []
    for _ in range(min(_MAX_SIZE, len(signed) - 1)):
        among = np.linalg.pinv(signed[np.ix_(chosen, chosen)], hermitian=True) @ signed[chosen]
        left = 1.0 - np.einsum("ij,ij->j", signed[chosen], among)
        slope = signed[k] - signed[chosen, k] @ among
        gain = divide_or_zero(slope**2, np.where(left > 1e-6, left, 0.0))
        gain[[k, *chosen]] = -1.0
        chosen.append(int(np.argmax(gain)))
    return tuple(chosen)


def _score(values: Floats, in_fit: Masks, k: int, others: tuple[int, ...]) -> tuple[float, int] | None:
    """Return R2 on the rows that are not fitted, and their number; None where there are too few."""
    X, y = values[:, others], values[:, k]
    rows = ~np.isnan(y) & ~np.isnan(X).any(axis=1)
    fit, test = rows & in_fit, rows & ~in_fit
    if fit.sum() < _FIT_SHARE * _MIN_ROWS or test.sum() < (1 - _FIT_SHARE) * _MIN_ROWS / 2:
        return None
    mean, target_mean = X[fit].mean(axis=0), y[fit].mean()
    coefficients = np.linalg.lstsq(X[fit] - mean, y[fit] - target_mean, rcond=None)[0]
    left = y[test] - target_mean - (X[test] - mean) @ coefficients
    around = ((y[test] - y[test].mean()) ** 2).sum()
    return (float(1 - (left**2).sum() / around), int(test.sum())) if around > 0 else None


def _fit_all(values: Floats, scale: Floats, k: int, others: tuple[int, ...]) -> tuple[list[float], float, bool]:
    """Return the coefficients and the constant in the units of the table, and whether the relation is exact."""
    X, y = values[:, others], values[:, k]
    rows = ~np.isnan(y) & ~np.isnan(X).any(axis=1)
    mean, target_mean = X[rows].mean(axis=0), y[rows].mean()
    coefficients, *_ = np.linalg.lstsq(X[rows] - mean, y[rows] - target_mean, rcond=None)
    left = y[rows] - target_mean - (X[rows] - mean) @ coefficients
    constant = float(target_mean - mean @ coefficients)
    spread = float(y[rows].std())
    exact = bool((left**2).mean() <= (1 - _EXACT_R2) * spread**2)
    constant = 0.0 if abs(constant) < 1e-3 * spread else constant * float(scale[k])
    return (coefficients * scale[k] / scale[list(others)]).tolist(), constant, exact

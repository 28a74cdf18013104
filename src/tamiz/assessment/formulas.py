"""Formulas of a few columns that determine the target, and numeric columns that are linear functions of others."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from tamiz.arrays import Floats, Indices, Masks, divide_or_zero
from tamiz.criteria.column_associations import REDUNDANT, associate_columns, read_numbers
from tamiz.runtime import parallel
from tamiz.runtime.codec import JsonResult
from tamiz.runtime.random import make_rng
from tamiz.selection.equivalent_columns import equivalent_columns
from tamiz.statistics.cuts import MDL, SortedColumn
from tamiz.table.base import Table, target_array
from tamiz.table.factory import as_table
from tamiz.table.views import positive_weight_rows, sample_table, without_target

# Limits: rows, columns, columns that determine another one, and sentences.
_MAX_DEPENDENCE_ROWS, _MAX_DEPENDENCE_COLUMNS, _MAX_SIZE, _MAX_FOUND = 5000, 300, 4, 5
_MIN_DEPENDENCE_ROWS = 40
# R2 on other rows; what fewer columns leave unexplained is at least three times as much.
_MIN_DEPENDENCE_R2, _EXACT_DEPENDENCE_R2 = 0.98, 1 - 1e-6
# Shares of the variance below this are rounding.
_ROUNDING = 1e-9
# Eigenvalues of a correlation matrix below this are rounding.
_MIN_EIGENVALUE = 1e-9


@dataclass(frozen=True)
class LinearDependence(JsonResult):
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
    columns = columns[:_MAX_DEPENDENCE_COLUMNS]
    if len(columns) < 3 or schema.n_rows < _MIN_DEPENDENCE_ROWS:
        return []
    rng = make_rng(0)
    table = sample_table(table, _MAX_DEPENDENCE_ROWS, rng)
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
        while scored is not None and scored[0] >= _MIN_DEPENDENCE_R2 and len(others) > 1:
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
    if fit.sum() < _FIT_SHARE * _MIN_DEPENDENCE_ROWS or test.sum() < (1 - _FIT_SHARE) * _MIN_DEPENDENCE_ROWS / 2:
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
    exact = bool((left**2).mean() <= (1 - _EXACT_DEPENDENCE_R2) * spread**2)
    constant = 0.0 if abs(constant) < 1e-3 * spread else constant * float(scale[k])
    return (coefficients * scale[k] / scale[list(others)]).tolist(), constant, exact


# Limits: rows, columns, and formulas. 40 columns have 9,880 sets of three.
_MAX_ROWS, _MAX_COLUMNS, _MAX_FORMULAS = 2000, 40, 3
_MIN_ROWS = 60
# The least scores on other rows: of a formula of a number, of one that is exact but for rounding, and of classes.
_MIN_R2, _EXACT_R2, _MIN_ACCURACY = 0.99, 0.9999, 0.97
# A formula leaves unexplained at most this share of what fewer columns leave, or as many others.
_MAX_LEFT_SHARE = 1 / 3
# A linear formula of more than three columns has at most so many, and all columns together determine the target.
_MAX_LINEAR, _MIN_R2_OF_ALL = 10, 0.995
# Formulas of each form that are fitted, and angles of a line that separates classes in the plane of two columns.
_N_TRIED, _N_ANGLES = 6, 90
# Rows of which a class formula is screened, and the largest share of neighbouring rows of different classes along it: with errors
# in 2 % of the rows it is 4 %. A plain sum or difference may have a few changes more than the best weights.
_N_SCREENED, _MAX_CHANGES, _PLAIN_CHANGES = 800, 0.1, 0.005
# Classes of fewer rows are not scored.
_MIN_CLASS_ROWS = 5
_FIT_SHARE = 0.6
# Divisors, and numbers with logarithms, are 0 in few rows.
_MIN_NONZERO = 0.95
# The rows for each column of a sum of all columns, and what a column leaves that is eliminated from it, at most.
_MIN_ROWS_PER_COLUMN, _MAX_LOSS = 3, 1.5
# Columns may depend linearly on others; a column of which others leave less of the variance adds nothing.
_RIDGE, _MIN_LEFT = 1e-9, 1e-9
# Columns with a larger share of missing values or zeros are left out, if the others keep more rows.
_MIN_COMPLETE_SHARE = 0.5
_N_KNOTS = 20


@dataclass(frozen=True)
class TargetFormula(JsonResult):
    """A formula of a few columns that determines the target.

    Attributes
    ----------
    columns : tuple of str
    formula : str
        For classes the number whose limits separate them.
    limits : tuple of float
        The limits for classes; empty for a numeric target.
    score : float
        R2, or the balanced accuracy, on rows that were not used to choose and to fit the formula.
    score_name : {"R2", "balanced accuracy"}
    other_score : float
        The best score of fewer columns on these rows.
    n_rows : int
        The number of these rows.
    """

    columns: tuple[str, ...]
    formula: str
    limits: tuple[float, ...]
    score: float
    score_name: str
    other_score: float
    n_rows: int


def find_target_formulas(
    X: Any, y: Any = None, *, sample_weight: Any = None, groups: Any = None, exclude: Collection[str] = ()
) -> list[TargetFormula]:
    r"""Find formulas of two to ten numeric columns that determine the target exactly or almost.

    A total and its parts, a rate and its counts, or an index and its components are known at the same time: such columns are
    possible target leakage. A target may also follow from its columns by a rule; the table does not show which it is.

    Parameters
    ----------
    X : array, data frame or Table
    y : array of shape (n_samples,), default=None
        The target, if X is no table.
    sample_weight : array of shape (n_samples,), default=None
        Only rows of weight 0 are excluded.
    groups : array of shape (n_samples,), default=None
        Rows of a group are never in both parts of the rows.
    exclude : collection of str, default=()
        Columns that no formula uses, such as those that determine the target alone.

    Returns
    -------
    list of TargetFormula
        At most three, without common columns. Empty without a target, or with fewer than 60 rows.

    Raises
    ------
    DataError
        When the table cannot be read.

    Notes
    -----
    A formula is chosen and fitted on 60 % of the rows and scored on the others, so that the number of formulas that are tried does
    not inflate its score. Forms for a numeric target, with coefficients :math:`b` and exponents :math:`e` that are fitted:

    .. math:: b_0 + \sum b_i x_i, \quad b_0 + b_1 x_i x_j, \quad b_0 + \frac{b_1 x_i + b_2 x_j}{x_k}, \quad
        b_0 + b_1 \frac{x_i}{x_i + x_j}, \quad b\, x_i^{e_i} x_j^{e_j} x_k^{e_k}

    Sums of up to three columns are the best of all sets. Sums of four to ten are found by elimination from all columns, if these
    have an R2 of at least 0.995. A formula is returned if its R2 is at least 0.99, and if it leaves unexplained at most a third of
    what fewer columns leave; unless its R2 is at least 0.9999, also of what as many other columns leave, so that a table in which
    many sets of columns are as good has none.

    For classes the number is :math:`b_1 x_i + b_2 x_j`, :math:`x_i x_j` or :math:`x_i / x_j`, cut by MDL. The balanced accuracy is
    at least 0.97, and errors are at most a third of those of any one column and of any other two.

    Cost: O(p^3) sets of columns and O(n p^2) values for n rows and p columns. A sample of 2,000 rows is used, and of more than 40
    columns those with the largest association with the target.

    References
    ----------
    Kaufman, Rosset, Perlich and Stitelman (2012), Leakage in data mining, ACM TKDD 6; Fayyad and Irani (1993), Multi-interval
    discretization of continuous-valued attributes, IJCAI.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from tamiz.assessment import find_target_formulas
    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame(rng.poisson([40, 90, 20], (300, 3)), columns=["casual", "registered", "temp"])
    >>> (found,) = find_target_formulas(X, X["casual"] + X["registered"])
    >>> found.formula, round(found.score, 3)
    ('casual + registered', 1.0)
    """
    table = as_table(X, y, sample_weight, groups=groups)
    schema = table.schema
    if schema.target is None or schema.n_rows < _MIN_ROWS:
        return []
    table = sample_table(positive_weight_rows(table), _MAX_ROWS, make_rng(0))
    columns = [
        j
        for j in schema.used.tolist()
        if schema.columns[j].is_number and not schema.columns[j].constant and schema.columns[j].name not in exclude
    ]
    if len(columns) < 2:
        return []
    values = np.column_stack([table.column(j) for j in columns]).astype(float)
    names = [schema.columns[j].name for j in columns]
    find = _find_class_formula if schema.has_classes else _find_number_formula
    found: list[TargetFormula] = []
    target, rows_of_fit = target_array(table), _rows_of_fit(table)
    while len(found) < _MAX_FORMULAS:
        used = {name for formula in found for name in formula.columns}
        left = [k for k, name in enumerate(names) if name not in used]
        problem = _prepare(values[:, left], target, rows_of_fit, [names[k] for k in left], classes=schema.has_classes)
        with parallel.single_threaded():
            formula = None if problem is None else find(problem)
        if formula is None:
            break
        found.append(formula)
    return found


def _rows_of_fit(table: Table) -> Masks:
    """Return a mask of 60 % of the rows, or of the groups."""
    units = np.arange(table.schema.n_rows) if table.groups is None else np.unique(table.groups, return_inverse=True)[1]
    n = int(units.max()) + 1
    return (make_rng(0).permutation(n) < _FIT_SHARE * n)[units]


@dataclass(frozen=True)
class _Problem:
    """Rows to fit and rows to score, with complete columns that vary."""

    X: Floats
    y: NDArray[Any]
    test_X: Floats
    test_y: NDArray[Any]
    names: tuple[str, ...]

    def result(self, form: _Form, formula: str, limits: Floats, score: float, name: str, other: float) -> TargetFormula:
        columns = tuple(self.names[j] for j in sorted(form.columns))
        return TargetFormula(columns, formula, tuple(limits.tolist()), score, name, other, len(self.test_y))


def _prepare(
    values: Floats, y: NDArray[Any], rows_of_fit: Masks, names: list[str], *, classes: bool
) -> _Problem | None:
    """Return the rows without missing values of the columns with few of them, None if rows or columns are too few."""
    columns, rows = _complete(~np.isnan(values), _MIN_COMPLETE_SHARE)
    fit, test = rows & rows_of_fit, rows & ~rows_of_fit
    columns = columns[np.ptp(values[np.ix_(fit, columns)], axis=0) > 0] if fit.any() else columns[:0]
    if (
        len(columns) < 2
        or rows.sum() < _MIN_ROWS
        or test.sum() < (1 - _FIT_SHARE) / 2 * _MIN_ROWS
        or np.ptp(y[fit]) == 0
    ):
        return None
    if len(columns) > _MAX_COLUMNS:
        association = _association(values[np.ix_(fit, columns)], y[fit], classes=classes)
        columns = columns[np.sort(np.argsort(-association, kind="stable")[:_MAX_COLUMNS])]
    return _Problem(
        values[np.ix_(fit, columns)], y[fit], values[np.ix_(test, columns)], y[test], tuple(names[j] for j in columns)
    )


def _complete(present: Masks, min_share: float) -> tuple[Indices, Masks]:
    """Return columns that are present together in this share of the rows, those with most values first, and these rows."""
    order = np.argsort(-present.sum(axis=0), kind="stable")
    together = np.logical_and.accumulate(present[:, order], axis=1)
    n = int(np.count_nonzero(together.mean(axis=0) >= min_share))
    return np.sort(order[:n]), together[:, n - 1] if n else np.zeros(len(present), dtype=bool)


def _association(X: Floats, y: NDArray[Any], *, classes: bool) -> Floats:
    """Return the share of the variance of the ranks of each column that the target's ranks or classes explain."""
    ranks = _standardize(rankdata(X, axis=0))
    if not classes:
        association: Floats = (ranks.T @ _standardize(rankdata(y)[:, None])[:, 0] / len(y)) ** 2
        return association
    _, codes, sizes = np.unique(y, return_inverse=True, return_counts=True)
    sums = np.zeros((len(sizes), X.shape[1]))
    np.add.at(sums, codes, ranks)
    explained: Floats = (sums**2 / sizes[:, None]).sum(axis=0) / len(y)
    return explained


def _standardize(X: Floats) -> Floats:
    spread = X.std(axis=0)
    scaled: Floats = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return scaled


# A form is a function of columns that is linear in its coefficients: `quotient` has the last column as its divisor, and `power` is
# linear in the logarithms of the absolute values.
Kind = Literal["sum", "product", "quotient", "share", "power"]


@dataclass(frozen=True)
class _Form:
    kind: Kind
    columns: tuple[int, ...]

    def terms(self, X: Floats) -> Floats:
        a = X[:, self.columns]
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.kind == "product":
                return a[:, :1] * a[:, 1:]
            if self.kind == "quotient":
                return a[:, :-1] / a[:, -1:]
            if self.kind == "share":
                return a[:, :1] / (a[:, :1] + a[:, 1:])
            return np.log(np.abs(a)) if self.kind == "power" else a

    def text(self, coefficients: Floats, names: Sequence[str]) -> str:
        """Return the form with its coefficients: those of the terms, and before them the constant (or the factor of a power)."""
        named = [names[j] for j in self.columns]
        constant, factors = float(coefficients[0]), coefficients[1:].tolist()
        if self.kind == "power":
            return _power_text(constant, factors, named)
        if self.kind == "quotient":
            inner = sum_text(factors, named[:-1], 0.0)
            quotient = f"{inner if len(factors) == 1 else f'({inner})'} / {named[-1]}"
            return sum_text([1.0], [quotient], constant)
        if self.kind == "product":
            named = [" × ".join(named)]
        elif self.kind == "share":
            named = [f"{named[0]} / ({named[0]} + {named[1]})"]
        return sum_text(factors, named, constant)


def sum_text(factors: Sequence[float], terms: Sequence[str], constant: float) -> str:
    parts = []
    # The first term is not subtracted if another one is added.
    for factor, term in sorted(zip(factors, terms, strict=True), key=lambda part: part[0] < 0):
        size = f"{abs(factor):.3g}"
        parts.append(("-" if factor < 0 else "+", term if size == "1" else f"{size} × {term}"))
    if constant:
        parts.append(("-" if constant < 0 else "+", f"{abs(constant):.3g}"))
    text = " ".join(f"{sign} {part}" for sign, part in parts)
    return text.removeprefix("+ ") if text.startswith("+") else "-" + text.removeprefix("- ")


def _power_text(factor: float, exponents: Sequence[float], names: Sequence[str]) -> str:
    size = f"{abs(factor):.3g}"
    text = ("-" if factor < 0 else "") + ("" if size == "1" else size)
    for exponent, name in zip(exponents, names, strict=True):
        power = f"{abs(exponent):.3g}"
        sign = " / " if exponent < 0 else " × "
        text = (text or ("1" if exponent < 0 else "")) + sign + (name if power == "1" else f"{name}^{power}")
    return text.removeprefix(" × ")


# Numbers.


@dataclass(frozen=True)
class _Fitted:
    form: _Form
    coefficients: Floats
    seen: float
    score: float


def _find_number_formula(problem: _Problem) -> TargetFormula | None:
    """Return the best formula of the fewest columns that determines a number."""
    fewer = max(_single_scores(problem))
    for size in (2, 3):
        fits = [_fit(problem, form) for form in _number_forms(problem, size)]
        if not fits:
            continue
        # Of exact formulas the first is the simplest one.
        best = next((fit for fit in fits if fit.score >= _EXACT_R2), max(fits, key=lambda fit: fit.score))
        same = set(best.form.columns)
        other = max((fit.seen for fit in fits if set(fit.form.columns) != same), default=0.0)
        unique = best.score >= _EXACT_R2 or 1 - best.seen <= _MAX_LEFT_SHARE * (1 - other)
        if best.score >= _MIN_R2 and unique and 1 - best.score <= _MAX_LEFT_SHARE * (1 - fewer):
            return _number_result(problem, best, fewer)
        fewer = max(fewer, best.score)
    return _find_long_sum(problem, fewer)


def _number_result(problem: _Problem, fit: _Fitted, fewer: float) -> TargetFormula:
    coefficients = fit.coefficients.copy()
    if fit.form.kind != "power" and abs(coefficients[0]) < 0.005 * float(np.std(problem.y)):
        coefficients[0] = 0.0
    return problem.result(
        fit.form, fit.form.text(coefficients, problem.names), np.empty(0), fit.score, "R2", max(0.0, fewer)
    )


def _single_scores(problem: _Problem) -> Iterator[float]:
    """Yield R2 of each column: that of a line, or of interpolation between quantiles if it is larger."""
    for j in range(len(problem.names)):
        x, test_x = problem.X[:, j], problem.test_X[:, j]
        knots = np.unique(np.quantile(x, np.linspace(0, 1, _N_KNOTS + 1)))
        bins = np.searchsorted(knots[1:-1], x)
        sizes = np.bincount(bins)
        filled = sizes > 0
        centres, means = (np.bincount(bins, of)[filled] / sizes[filled] for of in (x, problem.y))
        yield max(_r2(problem.test_y, np.interp(test_x, centres, means)), _fit(problem, _Form("sum", (j,))).score)


def _r2(y: Floats, predicted: Floats) -> float:
    spread = float(((y - y.mean()) ** 2).sum())
    return 1 - float(((y - predicted) ** 2).sum()) / spread if spread > 0 else 0.0


def _number_forms(problem: _Problem, size: int) -> Iterator[_Form]:
    """Yield the best forms of so many columns by the rows to fit, the simplest kinds first."""
    X, y = problem.X, problem.y
    everything = np.arange(X.shape[1])
    kinds: list[tuple[Kind, list[tuple[float, tuple[int, ...]]]]] = [("sum", _best_sets(X, y, everything, size))]
    divisors, rows = _complete(X != 0, _MIN_NONZERO)
    if len(divisors):
        quotients = []
        for divisor in divisors.tolist():
            others = np.delete(everything, divisor)
            terms = X[np.ix_(rows, others)] / X[rows, divisor][:, None]
            quotients += [(r2, (*found, divisor)) for r2, found in _best_sets(terms, y[rows], others, size - 1)]
        kinds.append(("quotient", sorted(quotients, reverse=True)[:_N_TRIED]))
    if size == 2:
        pairs = list(combinations(everything.tolist(), 2))
        for kind in ("product", "share"):
            terms = np.column_stack([_Form(kind, pair).terms(X)[:, 0] for pair in pairs])
            usable = np.isfinite(terms).all(axis=0)
            found = _best_sets(terms[:, usable], y, np.flatnonzero(usable), 1)
            kinds.append((kind, [(r2, pairs[at]) for r2, (at,) in found]))
    rows = rows & (y != 0)
    if len(divisors) >= size and rows.mean() >= _MIN_NONZERO:
        logs = np.log(np.abs(X[np.ix_(rows, divisors)]))
        kinds.append(("power", _best_sets(logs, np.log(np.abs(y[rows])), divisors, size)))
    for kind, found in kinds:
        for _, columns in found:
            yield _Form(kind, columns)


def _best_sets(terms: Floats, y: Floats, columns: Indices, size: int) -> list[tuple[float, tuple[int, ...]]]:
    """Return the sets of `size` terms with the largest R2, best first, by the numbers of their columns."""
    p = terms.shape[1]
    if p < size or len(y) < _MIN_ROWS / 2:
        return []
    X, with_y = _standardize(terms), _standardize(y[:, None])[:, 0]
    with_y = X.T @ with_y / len(y)
    if size == 1:
        return [(float(with_y[j] ** 2), (int(columns[j]),)) for j in _largest(with_y**2)]
    products = X.T @ X / len(y)
    found: list[tuple[float, tuple[int, ...]]] = []
    if size == 2:
        found += _best_pairs(products, with_y, 0)
    else:
        singles = _single_gains(products, with_y)
        for k in range(p - 2):
            if products[k, k] <= _MIN_LEFT:
                continue
            # What the other columns and the target have beside column k.
            slopes = products[k] / products[k, k]
            left = products - slopes[:, None] * products[k], with_y - slopes * with_y[k]
            found += [(float(singles[k]) + gain, (k, *pair)) for gain, pair in _best_pairs(*left, k + 1)]
    best = (found[at] for at in _largest(np.array([r2 for r2, _ in found])))
    return [(r2, tuple(int(columns[j]) for j in chosen)) for r2, chosen in best]


def _largest(r2: Floats) -> list[int]:
    """Return the positions of the largest values; of equal ones but for rounding, those of the first columns."""
    positions: list[int] = np.argsort(-r2.round(9), kind="stable")[:_N_TRIED].tolist()
    return positions


def _single_gains(products: Floats, with_y: Floats) -> Floats:
    own = np.diag(products)
    gains: Floats = np.where(own > _MIN_LEFT, with_y**2 / np.where(own > _MIN_LEFT, own, 1.0), 0.0)
    return gains


def _best_pairs(products: Floats, with_y: Floats, first: int) -> Iterator[tuple[float, tuple[int, int]]]:
    """Yield the pairs of columns from `first` on with the largest R2: the solution of two normal equations."""
    a, c = products[first:, first:], with_y[first:]
    own, singles = np.diag(a), _single_gains(a, c)
    determinant = np.outer(own, own) - a**2
    independent = determinant > _MIN_LEFT
    gain = np.outer(c**2, own) + np.outer(own, c**2) - 2 * np.outer(c, c) * a
    gain = np.where(independent, gain / np.where(independent, determinant, 1.0), np.maximum.outer(singles, singles))
    i, j = np.triu_indices(len(c), 1)
    for at in _largest(gain[i, j]):
        yield float(gain[i[at], j[at]]), (first + int(i[at]), first + int(j[at]))


def _fit(problem: _Problem, form: _Form) -> _Fitted:
    """Return the form fitted by least squares, with R2 on the rows of the fit and on the others."""
    terms, y, power = form.terms(problem.X), problem.y, form.kind == "power"
    rows = np.isfinite(terms).all(axis=1) & ((y != 0) if power else True)
    of = np.log(np.abs(y[rows])) if power else y[rows]
    centre, spread = terms[rows].mean(axis=0), terms[rows].std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    slopes = np.linalg.lstsq((terms[rows] - centre) / spread, of - of.mean(), rcond=None)[0] / spread
    constant = float(of.mean() - centre @ slopes)
    if not power:
        coefficients = np.array([constant, *slopes])
        with np.errstate(invalid="ignore"):
            predicted = [constant + form.terms(X) @ slopes for X in (problem.X, problem.test_X)]
    else:
        # An odd power has the sign of its number.
        odd = np.rint(slopes) % 2 == 1
        raw = [
            np.exp(constant + form.terms(X) @ slopes) * np.prod(np.where(odd, np.sign(X[:, form.columns]), 1.0), axis=1)
            for X in (problem.X, problem.test_X)
        ]
        sign = 1.0 if float(raw[0][rows] @ y[rows]) >= 0 else -1.0
        coefficients = np.array([sign * np.exp(min(constant, 700.0)), *slopes])
        predicted = [sign * each for each in raw]
    scores = []
    for actual, each in zip((y, problem.test_y), predicted, strict=True):
        finite = np.isfinite(each)
        scores.append(_r2(actual[finite], each[finite]) if finite.mean() >= _MIN_NONZERO else 0.0)
    return _Fitted(form, coefficients, *scores)


def _find_long_sum(problem: _Problem, fewer: float) -> TargetFormula | None:
    """Return a sum of four to ten columns that determines the target, by elimination from all columns."""
    n, p = problem.X.shape
    if p <= 3 or n < _MIN_ROWS_PER_COLUMN * p or _fit(problem, _Form("sum", tuple(range(p)))).score < _MIN_R2_OF_ALL:
        return None
    X, z = _standardize(problem.X), _standardize(problem.y[:, None])[:, 0]
    products, with_y = X.T @ X / n + _RIDGE * np.eye(p), X.T @ z / n

    def left(columns: Sequence[int]) -> float:
        return float(1 - with_y[columns] @ np.linalg.solve(products[np.ix_(columns, columns)], with_y[columns]))

    kept = list(range(p))
    of_all = max(left(kept), 1 - _EXACT_R2)
    while True:
        least, j = min((left([k for k in kept if k != j]), j) for j in kept)
        if least > _MAX_LOSS * of_all or len(kept) <= 4:
            break
        kept.remove(j)
    fit = _fit(problem, _Form("sum", tuple(kept)))
    if len(kept) > _MAX_LINEAR or fit.score < _MIN_R2 or 1 - fit.seen > _MAX_LEFT_SHARE * least:
        return None
    return _number_result(problem, fit, fewer) if 1 - fit.score <= _MAX_LEFT_SHARE * (1 - fewer) else None


# Classes.


def _find_class_formula(problem: _Problem) -> TargetFormula | None:
    """Return the best number from two columns whose limits separate the classes, where no column alone does."""
    screened = [*_screen_sums(problem), *_screen_products(problem)]
    # Of equally good numbers those without a fitted weight.
    screened.sort(key=lambda each: bool(np.any(np.abs(each[1]) != 1.0)))
    if not screened:
        return None
    fewer = max(_limits_score(problem, x, test_x)[1] for x, test_x in zip(problem.X.T, problem.test_X.T, strict=True))
    scored = []
    for form, weights in screened:
        limits, score = _limits_score(problem, form.terms(problem.X) @ weights, form.terms(problem.test_X) @ weights)
        scored.append((score, form, weights, limits))
    score, form, weights, limits = max(scored, key=lambda each: each[0])
    other = max((each[0] for each in scored if set(each[1].columns) != set(form.columns)), default=0.0)
    rest = max(fewer, other)
    if score < _MIN_ACCURACY or rest >= _MIN_ACCURACY or 1 - score > _MAX_LEFT_SHARE * (1 - rest):
        return None
    formula = form.text(np.array([0.0, *weights]), problem.names)
    return problem.result(form, formula, limits, score, "balanced accuracy", fewer)


def _screen_products(problem: _Problem) -> Iterator[tuple[_Form, Floats]]:
    """Yield products and quotients along which the class changes in few places."""
    X, y = problem.X[:_N_SCREENED], problem.y[:_N_SCREENED]
    forms: list[_Form] = []
    for i, j in combinations(range(X.shape[1]), 2):
        forms.append(_Form("product", (i, j)))
        forms += [_Form("quotient", pair) for pair in ((i, j), (j, i)) if (X[:, pair[1]] != 0).all()]
    changes = _class_changes(np.column_stack([form.terms(X)[:, 0] for form in forms]), y)
    for at in np.argsort(changes, kind="stable")[:_N_TRIED].tolist():
        if changes[at] <= _MAX_CHANGES:
            yield forms[at], np.ones(1)


def _screen_sums(problem: _Problem) -> Iterator[tuple[_Form, Floats]]:
    """Yield weighted sums of two columns along which the class changes in few places: plain sums and differences first."""
    spread = problem.X.std(axis=0)
    X = _standardize(problem.X)
    sets = np.array(list(combinations(range(X.shape[1]), 2)))
    classes, codes, sizes = np.unique(problem.y, return_inverse=True, return_counts=True)
    means = np.stack([X[codes == k].mean(axis=0) for k in range(len(classes))])
    between = (means * sizes[:, None]).T @ means / len(X)
    within = X.T @ X / len(X) - between + _RIDGE * np.eye(X.shape[1])
    pick = (sets[:, :, None], sets[:, None, :])
    ratios = np.trace(np.linalg.solve(within[pick], between[pick]), axis1=1, axis2=2)
    for i, j in sets[np.argsort(-ratios, kind="stable")[: 2 * _N_TRIED]].tolist():
        form = _Form("sum", (i, j))
        coarse = np.linspace(0, np.pi, _N_ANGLES, endpoint=False)
        plane, y = X[:_N_SCREENED][:, [i, j]], problem.y[:_N_SCREENED]
        changes = _class_changes(plane @ np.array([np.cos(coarse), np.sin(coarse)]), y)
        if changes.min() > _MAX_CHANGES:
            continue
        fine = coarse[np.argmin(changes)] + np.linspace(-1, 1, 41) * 2 * np.pi / _N_ANGLES
        changes = _class_changes(X[:, [i, j]] @ np.array([np.cos(fine), np.sin(fine)]), problem.y)
        # The middle of the angles with the fewest changes.
        angle = float(np.median(fine[changes == changes.min()]))
        weights = np.array([np.cos(angle), np.sin(angle)]) / spread[[i, j]]
        for plain in (np.array([1.0, 1.0]), np.array([1.0, -1.0])):
            if _class_changes(problem.X[:, [i, j]] @ plain[:, None], problem.y)[0] <= changes.min() + _PLAIN_CHANGES:
                weights = plain
        yield form, weights / weights[np.argmax(np.abs(weights))]


def _class_changes(F: Floats, y: NDArray[Any]) -> Floats:
    """Return the share of neighbouring rows of different classes, in the order of each column of F."""
    ordered = y[np.argsort(F, axis=0, kind="stable")]
    return np.asarray((ordered[1:] != ordered[:-1]).mean(axis=0), dtype=np.float64)


def _limits_score(problem: _Problem, x: Floats, test_x: Floats) -> tuple[Floats, float]:
    """Return the limits of x by MDL, and the balanced accuracy of its intervals on the other rows."""
    classes, labels = np.unique(problem.y, return_inverse=True)
    order = np.argsort(x, kind="stable")
    n = np.arange(len(x) + 1, dtype=np.float64)
    column = SortedColumn(
        x[order], labels[order].astype(np.int32), np.ones(len(x)), len(classes), n * np.log2(np.maximum(n, 1.0))
    )
    limits = MDL().cuts(column)
    shares = np.zeros((len(limits) + 1, len(classes)))
    np.add.at(shares, (np.searchsorted(limits, x), labels), 1.0)
    predicted = classes[np.argmax(shares / shares.sum(axis=0), axis=1)[np.searchsorted(limits, test_x)]]
    known, sizes = np.unique(problem.test_y, return_counts=True)
    recalls = [float((predicted[problem.test_y == k] == k).mean()) for k in known[sizes >= _MIN_CLASS_ROWS]]
    return limits, float(np.mean(recalls)) if recalls else 0.0

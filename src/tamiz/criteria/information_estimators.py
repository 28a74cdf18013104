"""Mutual information and conditional mutual information of numbers and categories, by nearest neighbours and by counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

from tamiz.arrays import Floats, Masks
from tamiz.exceptions import DataError
from tamiz.kernels import mutual_information as kernels
from tamiz.runtime.user_warnings import warn
from tamiz.runtime.validation import check_integer
from tamiz.table.in_memory import column_loader, is_frame, to_numpy, to_raw_column
from tamiz.table.kinds import RawColumn, encode_target

Indices = NDArray[np.int64]

NATS_PER_BIT = float(np.log(2))
# An estimate may exceed the entropy by this share without a warning: that of separated classes does so by (K - 1) / 2n.
_ENTROPY_TOLERANCE = 0.02


class Estimate(NamedTuple):
    """An estimate of mutual information.

    Attributes
    ----------
    bits : float
        From 0 to `limit`.
    limit : float
        The smaller entropy of the categorical variables, in bits; infinite if there are only numbers.
    exceeds_limit : bool
        Whether the estimate exceeded the limit by more than 2 % before it was set to it.
    has_small_classes : bool
        Whether a class, a combination of categories, or the table without any, has too few rows for the number of neighbours.
    """

    bits: float = 0.0
    limit: float = np.inf
    exceeds_limit: bool = False
    has_small_classes: bool = False


@dataclass(frozen=True)
class Variable:
    """One variable of an information measure: any number of numeric columns and one categorical column.

    Attributes
    ----------
    numbers : ndarray of shape (n_rows, n_numbers)
        Without missing values.
    codes : ndarray of shape (n_rows,), int64
        Zeros if there is no categorical column.
    """

    numbers: Floats
    codes: Indices

    def rows(self, chosen: NDArray[Any]) -> Variable:
        return Variable(self.numbers[chosen], self.codes[chosen])

    def joined(self, other: Variable) -> Variable:
        return Variable(np.hstack([self.numbers, other.numbers]), join_codes(self.codes, other.codes))

    @property
    def is_categorical(self) -> bool:
        return self.numbers.shape[1] == 0


def join_codes(a: NDArray[Any], b: NDArray[Any]) -> Indices:
    """Return codes from 0 of the pairs of codes that occur; both are codes from 0."""
    n_b = int(b.max(initial=0)) + 1
    pairs = a.astype(np.int64) * n_b + b
    if (int(a.max(initial=0)) + 1) * n_b <= len(a):
        return pairs
    found: Indices = np.unique(pairs, return_inverse=True)[1].astype(np.int64)
    return found


def code_entropy(codes: NDArray[Any]) -> float:
    """Return the entropy of codes from 0 that are at most about as many as the rows, in nats."""
    counts = np.bincount(codes)
    counts = counts[counts > 0]
    return float(np.log(len(codes)) - counts @ np.log(counts) / len(codes))


def digamma_table(n: int) -> Floats:
    """Return the digamma function of 1 to n at these positions; position 0 is 0."""
    return np.concatenate([[0.0], digamma(np.arange(1, n + 1))])


def count_information(x: NDArray[Any], y: NDArray[Any]) -> Estimate:
    """Return the mutual information of two vectors of codes from 0, from the counts of their pairs."""
    if len(x) == 0:
        return Estimate()
    of_x, of_y = code_entropy(x), code_entropy(y)
    nats = of_x + of_y - code_entropy(join_codes(x, y))
    return _limited(nats, min(of_x, of_y))


def class_information(values: Floats, codes: NDArray[Any], n_neighbors: int, psi: Floats) -> Estimate:
    """Return Ross's estimate of the mutual information of numbers and codes from 0.

    Parameters
    ----------
    values : ndarray of shape (n_rows,)
    codes : ndarray of shape (n_rows,)
    n_neighbors : int
    psi : ndarray
        `digamma_table` of at least n_rows.

    Notes
    -----
    Cost O(n): a radix sort of the column with the codes, 6 passes over 12 bytes a row, and one pass of windows that move over the
    sorted values of each class and of all. For each class with values next to a value that m rows share, up to 2 n_neighbors means
    over the orders of these rows are computed, in O(m) each: many thousands of classes beside one frequent value take long.
    """
    if len(values) == 0 or values.min() == values.max():
        return Estimate()
    sizes = np.bincount(codes)
    limit, is_small = code_entropy(codes), bool(((sizes > 0) & (sizes <= n_neighbors)).any())
    if (sizes == 1).any():
        kept = sizes[codes] > 1
        values, codes, sizes = values[kept], codes[kept], np.where(sizes > 1, sizes, 0)
    n = len(values)
    if n == 0:
        return Estimate(0.0, limit / NATS_PER_BIT, has_small_classes=True)
    sorted_bits, sorted_codes = np.empty(n, dtype=np.uint64), np.empty(n, dtype=np.int32)
    kernels.sort_with_codes(np.ascontiguousarray(values).view(np.uint64), codes, sorted_bits, sorted_codes)
    ordered = sorted_bits.view(np.float64)
    by_class, places, ends = np.empty(n), np.empty(n, dtype=np.int64), np.cumsum(sizes) - sizes
    kernels.split_classes(ordered, sorted_codes, ends, by_class, places)
    total = -float(sizes @ psi[sizes])
    for c in np.flatnonzero(sizes).tolist():
        own = slice(ends[c] - sizes[c], ends[c])
        total += kernels.class_terms(by_class[own], places[own], ordered, n_neighbors, psi)
    return _limited(float(psi[n]) + total / n, limit, is_small=is_small)


def neighbor_information(x: Variable, y: Variable, z: Variable | None, n_neighbors: int, psi: Floats) -> Estimate:
    """Return the mutual information of x and y, given z if it is not None; see `conditional_mutual_information`.

    Numbers are used as they are: `standardize` them first. `psi` is a `digamma_table` of at least the number of rows.
    """
    limit = min((code_entropy(v.codes) for v in (x, y) if v.is_categorical), default=np.inf)
    condition = Variable(np.empty((len(x.codes), 0)), np.zeros(len(x.codes), dtype=np.int64)) if z is None else z
    whole = x.joined(y).joined(condition)
    if whole.is_categorical:
        parts = (x.joined(condition), y.joined(condition), whole, condition)
        of_x, of_y, of_all, of_condition = (code_entropy(part.codes) for part in parts)
        return _limited(of_x + of_y - of_all - of_condition, limit)
    sizes = np.bincount(whole.codes)
    is_small = bool(((sizes > 0) & (sizes <= n_neighbors)).any())
    if (sizes == 1).any():
        kept = sizes[whole.codes] > 1
        x, y, condition, whole = (v.rows(kept) for v in (x, y, condition, whole))
    if len(whole.codes) == 0:
        return Estimate(0.0, limit / NATS_PER_BIT, has_small_classes=True)
    joint = (x.joined(condition), y.joined(condition), condition)
    found = _find_reaches(whole, (x.numbers.shape[1], y.numbers.shape[1], condition.numbers.shape[1]), n_neighbors)
    terms = [_subspace_terms(part, found, v, psi) for v, part in enumerate(joint)]
    return _limited(float((psi[found.n_inside] - terms[0] - terms[1] + terms[2]).mean()), limit, is_small=is_small)


def standardize(values: Floats) -> Floats:
    """Return numbers divided by their standard deviation; a constant as zeros."""
    largest = np.abs(values).max(initial=0.0)
    if largest == 0 or values.min() == values.max():
        return np.zeros(len(values))
    # Scaled first: squares of very small numbers underflow.
    values = values / largest
    return np.asarray(values / values.std())


def _limited(nats: float, limit: float, *, is_small: bool = False) -> Estimate:
    bits, limit = nats / NATS_PER_BIT, limit / NATS_PER_BIT
    return Estimate(min(max(bits, 0.0), limit), limit, bits > limit * (1 + _ENTROPY_TOLERANCE) + 1e-12, is_small)


def _groups(codes: Indices) -> tuple[Indices, Indices]:
    """Return the order of the rows by code, and where the rows of each code that occurs begin, and the end."""
    sizes = np.bincount(codes)
    return np.argsort(codes, kind="stable"), np.concatenate([[0], np.cumsum(sizes[sizes > 0])])


class _Reaches(NamedTuple):
    """The arrays of `kernels.find_reaches`, in the order of the rows."""

    nearer: Floats
    within: Floats
    n_inside: Indices
    ties: Indices


def _find_reaches(whole: Variable, n_numbers: tuple[int, int, int], n_neighbors: int) -> _Reaches:
    """Return the distances to the k-th neighbours, and their ties in the subspaces (x, z), (y, z) and z."""
    order, starts = _groups(whole.codes)
    n, owner = len(order), np.repeat([0, 1, 2], n_numbers)
    subspaces = np.array([owner != 1, owner != 0, owner == 2])
    found = _Reaches(np.empty(n), np.empty(n), np.empty(n, dtype=np.int64), np.empty((n, 5), dtype=np.int64))
    kernels.find_reaches(np.ascontiguousarray(whole.numbers[order]), starts, subspaces, n_neighbors, *found)
    back = np.empty_like(order)
    back[order] = np.arange(n)
    return _Reaches(found.nearer[back], found.within[back], found.n_inside[back], found.ties[back])


def _subspace_terms(part: Variable, reaches: _Reaches, subspace: int, psi: Floats) -> Floats:
    """Return psi of the number of rows, with itself, that are in the same category and nearer than the k-th neighbour."""
    if part.is_categorical:
        return psi[np.bincount(part.codes)[part.codes]]
    order, starts = _groups(part.codes)
    is_single = part.numbers.shape[1] == 1
    if is_single:
        order = np.lexsort((part.numbers[:, 0], part.codes))
    numbers = np.ascontiguousarray(part.numbers[order])
    nearer, within, _, ties = (array[order] for array in reaches)
    n_nearer, n_within = np.empty((2, len(order)), dtype=np.int64)
    if is_single:
        kernels.count_sorted(numbers[:, 0], starts, nearer, within, n_nearer, n_within)
    else:
        kernels.count_within(numbers, starts, nearer, within, n_nearer, n_within)
    terms, found = np.empty((2, len(order)))
    kernels.fill_terms(n_nearer, n_within, ties, subspace, psi, terms)
    found[order] = terms
    return found


def mutual_information(x: Any, y: Any, *, n_neighbors: int = 3) -> float:
    r"""Return an estimate of the mutual information of two variables, in bits.

    .. math:: I(X; Y) = \psi(N) + \big\langle \psi(k_i) - \psi(n_{x,i}) - \psi(n_{y,i}) \big\rangle

    The formula is in nats. It is the first estimator of Kraskov, Stögbauer and Grassberger: the distance of row i to its k-th
    nearest row in the maximum norm of (x, y) is d, k_i is k, and n_x and n_y count the rows nearer than d in x and in y, with row i
    itself. Categories are infinitely far from each other, which is Ross's estimator. With only categories it is the plug-in
    estimate from counts.

    Parameters
    ----------
    x, y : array-like of shape (n_samples,) or (n_samples, n_columns), or data frame
        Several columns are one joint variable. Text, booleans and integers with up to 20 distinct values are categories, other
        numbers are numeric. Rows with a missing value are left out.
    n_neighbors : int, default=3
        k. Larger values have less variance and more bias.

    Returns
    -------
    float
        At least 0, and at most the entropy of a variable that has only categories.

    Raises
    ------
    DataError
        When the numbers of rows differ, or fewer than 2 rows have all values.

    Notes
    -----
    Cost O(n log n) for numbers in few columns: a k-d tree, sorted values and binary search; O(n) for one numeric and one
    categorical column. Numeric columns are divided by their standard deviation, as in scikit-learn, and no noise is added to
    separate ties. Where d is 0, k_i, n_x and n_y count the equal rows, as in the estimator of Gao et al. for mixtures of discrete
    and continuous values. Where several rows are at a distance d above 0 in (x, y), x or y, they are ordered at random, and the
    mean of the formula over all orders is computed exactly. Their own estimator excludes all rows at the distance d from n_x and
    n_y, which adds up to half a bit to the estimate of independent columns of rounded numbers.

    A category, or combination of categories, with at most k rows uses all of its other rows as neighbours; one with a single row is
    left out; there is a warning. An estimate above the entropy is set to the entropy; with an excess of more than 2 % there is a
    warning.

    References
    ----------
    Kraskov, Stögbauer and Grassberger (2004), Estimating mutual information, Physical Review E 69.
    Ross (2014), Mutual information between discrete and continuous data sets, PLoS ONE 9.
    Gao, Kannan, Oh and Viswanath (2017), Estimating mutual information for discrete-continuous mixtures, NIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from tamiz.criteria import mutual_information
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=2000)
    >>> y = 0.8 * x + 0.6 * rng.normal(size=2000)
    >>> exact = -np.log2(1 - 0.8**2) / 2
    >>> print(f"{mutual_information(x, y):.2f}, exact {exact:.2f}")
    0.73, exact 0.74
    >>> mutual_information(["a", "a", "b", "b"], [True, True, False, False])
    1.0
    """
    return _information({"x": x, "y": y}, n_neighbors, "mutual_information")


def conditional_mutual_information(x: Any, y: Any, z: Any, *, n_neighbors: int = 3) -> float:
    r"""Return an estimate of the mutual information of two variables given a third, in bits.

    .. math:: I(X; Y | Z) = \big\langle \psi(k_i) - \psi(n_{xz,i}) - \psi(n_{yz,i}) + \psi(n_{z,i}) \big\rangle

    The formula is in nats. It is the estimator of Frenzel and Pompe: k_i is k, and the counts are those of the rows nearer than the
    k-th nearest row in (x, y, z), with row i itself. Categories are infinitely far from each other. With only categories it is the
    plug-in estimate from counts.

    Parameters
    ----------
    x, y, z : array-like of shape (n_samples,) or (n_samples, n_columns), or data frame
        Several columns are one joint variable. Text, booleans and integers with up to 20 distinct values are categories, other
        numbers are numeric. Rows with a missing value are left out.
    n_neighbors : int, default=3
        k. Larger values have less variance and more bias.

    Returns
    -------
    float
        At least 0, and at most the entropy of x or y, if it has only categories.

    Raises
    ------
    DataError
        When the numbers of rows differ, or fewer than 2 rows have all values.

    Notes
    -----
    Cost O(n log n) in few columns. Scaling, ties, small categories and the limit are those of `mutual_information`. The estimate is
    biased towards 0 in many columns and few rows. Mesner and Shalizi prove the consistency of such estimates for mixtures.

    References
    ----------
    Frenzel and Pompe (2007), Partial mutual information for coupling analysis of multivariate time series, Physical Review
    Letters 99.
    Mesner and Shalizi (2021), Conditional mutual information estimation for mixed, discrete and continuous data, IEEE
    Transactions on Information Theory 67.

    Examples
    --------
    Two effects of one cause are dependent, and independent given the cause:

    >>> import numpy as np
    >>> from tamiz.criteria import conditional_mutual_information, mutual_information
    >>> rng = np.random.default_rng(0)
    >>> cause = rng.normal(size=2000)
    >>> x, y = cause + rng.normal(size=2000), cause + rng.normal(size=2000)
    >>> print(f"{mutual_information(x, y):.2f}, given the cause {conditional_mutual_information(x, y, cause):.2f}")
    0.18, given the cause 0.01
    """
    return _information({"x": x, "y": y, "z": z}, n_neighbors, "conditional_mutual_information")


def _information(arguments: dict[str, Any], n_neighbors: int, caller: str) -> float:
    n_neighbors = check_integer("n_neighbors", n_neighbors, low=1)
    variables, complete = _read_variables(arguments)
    n = int(complete.sum())
    if n < 2:
        raise DataError(f"{caller} needs at least 2 rows without missing values, got {n} of {len(complete)}.")
    used = [_scaled(variable.rows(complete)) for variable in variables]
    if len(used) == 2 and (pair := _numbers_and_classes(*used)) is not None:
        found = class_information(*pair, n_neighbors, digamma_table(n))
    else:
        found = neighbor_information(
            used[0], used[1], used[2] if len(used) > 2 else None, n_neighbors, digamma_table(n)
        )
    if found.has_small_classes and not any(variable.codes.any() for variable in used):
        warn("TZ307", f"{caller}: with n_neighbors={n_neighbors} each of the {n} rows has all others as neighbours.")
    elif found.has_small_classes:
        warn(
            "TZ307",
            f"{caller}: categories or combinations of them with at most n_neighbors={n_neighbors} rows use their other rows as "
            "neighbours, and those with one row are left out.",
        )
    if found.exceeds_limit:
        warn("TZ504", f"{caller}: the estimate exceeds the entropy of {found.limit:.3g} bits and is set to it.")
    return found.bits


def _read_variables(arguments: dict[str, Any]) -> tuple[list[Variable], Masks]:
    """Return the variables, and which rows have all values; missing values are NaN and -1."""
    columns = {name: _read_columns(values, name) for name, values in arguments.items()}
    n_rows = {name: len(of[0]) for name, of in columns.items()}
    if len(set(n_rows.values())) > 1:
        raise DataError(
            f"{', '.join(f'{name} has {n} rows' for name, n in n_rows.items())}; the numbers must be equal."
        )
    n = next(iter(n_rows.values()))
    complete, variables = np.ones(n, dtype=bool), []
    for of in columns.values():
        numbers = [values for values in of if values.dtype.kind == "f"]
        codes = [values for values in of if values.dtype.kind != "f"]
        for values in numbers:
            complete &= ~np.isnan(values)
        for values in codes:
            complete &= values >= 0
        joint = reduce(join_codes, (np.maximum(c, 0) for c in codes), np.zeros(n, dtype=np.int64))
        variables.append(Variable(np.array(numbers, dtype=np.float64).reshape(len(numbers), n).T, joint))
    return variables, complete


def _read_columns(values: Any, name: str) -> Sequence[NDArray[Any]]:
    """Return the columns as numbers with NaN, or as codes with -1."""
    is_table = is_frame(values) or (not hasattr(values, "name") and to_numpy(values).ndim == 2)
    if is_table:
        names, load = column_loader(values)
        raw = [load(column) for column in names]
    else:
        raw = [to_raw_column(values, name)]
    return [_encode(one) for one in raw]


def _encode(raw: RawColumn) -> NDArray[Any]:
    encoded = encode_target(raw, None, lambda at: f"row {at}")
    if encoded.values is None:
        return np.full(encoded.column.n_missing, -1, dtype=np.int64)
    return encoded.values


def _scaled(variable: Variable) -> Variable:
    return Variable(
        np.array([standardize(c) for c in variable.numbers.T]).reshape(variable.numbers.shape[::-1]).T, variable.codes
    )


def _numbers_and_classes(x: Variable, y: Variable) -> tuple[Floats, NDArray[np.int32]] | None:
    """Return the numbers and the codes of a pair of one numeric column and categories, None for other pairs."""
    for numeric, categorical in ((x, y), (y, x)):
        if numeric.numbers.shape[1] == 1 and categorical.is_categorical and not numeric.codes.any():
            return np.ascontiguousarray(numeric.numbers[:, 0]), categorical.codes.astype(np.int32)
    return None

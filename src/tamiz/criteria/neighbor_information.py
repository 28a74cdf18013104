"""Mutual information of numbers and categories by nearest neighbours, without discretisation, and that of columns and target."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

from tamiz.arrays import Floats, Masks, is_missing
from tamiz.criteria.base import RowRelevance
from tamiz.criteria.entropies import MISSING_RULES, MissingRule
from tamiz.criteria.model_relevance import draw_rows, repeat_frequencies
from tamiz.exceptions import DataError
from tamiz.kernels import mutual_information as kernels
from tamiz.kernels.primitives import radix_sort
from tamiz.runtime import parallel, progress
from tamiz.runtime.random import Seed
from tamiz.runtime.user_warnings import list_names, warn, warn_user
from tamiz.runtime.validation import check_choice, check_integer
from tamiz.runtime.verdicts import Verdict
from tamiz.table.base import Table, target_array
from tamiz.table.in_memory import column_loader, is_frame, to_numpy, to_raw_column
from tamiz.table.kinds import RawColumn, encode_target
from tamiz.table.schema import Schema

Indices = NDArray[np.int64]

NATS_PER_BIT = float(np.log(2))
# An estimate may exceed the entropy by this share without a warning: that of separated classes does so by (K - 1) / 2n.
_ENTROPY_TOLERANCE = 0.02


class Estimate(NamedTuple):
    """An estimate of mutual information in bits, from 0 to `limit`, the smaller entropy of the categorical variables.

    `exceeds_limit` is whether it exceeded the limit by more than 2 % before it was set to it, `has_small_classes` whether a
    class, a combination of categories, or the table without any, has too few rows for the number of neighbours.
    """

    bits: float = 0.0
    limit: float = np.inf
    exceeds_limit: bool = False
    has_small_classes: bool = False


@dataclass(frozen=True)
class Variable:
    """One variable of an information measure: numeric columns without missing values, and codes of one categorical column or
    zeros.
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
    """Return Ross's estimate of the mutual information of numbers and codes from 0; `psi` is a `digamma_table` of at least
    n_rows.

    Cost O(n): a radix sort of the column with the codes, 6 passes over 12 bytes a row, and one pass of windows that move over
    the sorted values of each class and of all. For each class with values next to a value that m rows share, up to 2
    n_neighbors means over the orders of these rows are computed, in O(m) each: many thousands of classes beside one frequent
    value take long.
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
    ordered, sorted_codes = np.array(values), np.array(codes, dtype=np.int32)
    radix_sort(ordered.view(np.uint64), sorted_codes)
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


# Values of the columns that are read at once, and rows of a task: starting a task takes longer than work on few rows.
_BLOCK_VALUES, _TASK_ROWS = 2**23, 2**14


class MutualInformation(RowRelevance):
    r"""Mutual information of a column and the target, in bits; numbers are not cut into intervals.

    .. math:: I(X; Y) = \iint p(x, y) \log_2 \frac{p(x, y)}{p(x) p(y)} \, dx \, dy

    =================  ==============================================================================================
    column and target  estimator
    =================  ==============================================================================================
    two numbers        Kraskov, Stögbauer and Grassberger's first estimator, on columns divided by their standard
                       deviation
    number, category   Ross's estimator, in either order
    two categories     plug-in estimate from the counts of the pairs
    =================  ==============================================================================================

    Rows whose k-th neighbour has distance 0 are counted as Gao et al. do for mixtures of discrete and continuous values. Other ties
    at the distance of the k-th neighbour are ordered at random, and the score is the mean over all orders, computed exactly: no
    noise is added to the columns. Both rules apply row by row, so that a column without ties has exactly the estimates above.

    Parameters
    ----------
    n_neighbors : int, default=3
        k, the number of neighbours. Larger values have less variance and more bias.
    missing : {"distribute", "category"}, default="distribute"
        Leave out the rows in which the column has no value, and multiply the estimate by the share of the other rows; or treat
        missing as a category of its own, which adds the mutual information of its indicator and the target.
    max_rows : int, default=None
        Number of rows to read, drawn at random from larger tables. None reads all.
    random_state : int, Generator or RandomState, default=0
        Seed of the rows that are drawn.

    Raises
    ------
    DataError
        When there is no target, or rows have sampling weights: the digamma function of a number of neighbours has no established
        form for weights. A row of frequency weight 2 is two equal rows, each the other's nearest neighbour.

    Notes
    -----
    Cost O(n) for each number with classes (about 6 milliseconds for 100,000 rows), and O(n log n) for two numbers (about 200
    milliseconds). Negative estimates and constant columns score 0. An estimate above the entropy of the target's classes, or of the
    column's categories, is set to it; a warning names the column if it exceeds the entropy by more than 2 %. A class with at most k
    rows uses all of its other rows as neighbours, and one with a single row is left out; there is a warning. A study computes it
    only on request: for a numeric target it takes longer than the other criteria.

    References
    ----------
    Kraskov, Stögbauer and Grassberger (2004), Estimating mutual information, Physical Review E 69.
    Ross (2014), Mutual information between discrete and continuous data sets, PLoS ONE 9.
    Gao, Kannan, Oh and Viswanath (2017), Estimating mutual information for discrete-continuous mixtures, NIPS.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz import RankSelector
    >>> from tamiz.criteria import MutualInformation
    >>> iris = load_iris(as_frame=True)
    >>> RankSelector(MutualInformation()).fit(iris.data, iris.target).scores_.round(2)
    array([0.72, 0.36, 1.43, 1.42])
    """

    used_by_default: ClassVar[bool] = False
    supports_bootstrap: ClassVar[bool] = False
    unit: ClassVar[str] = "bits"

    def __init__(
        self,
        *,
        n_neighbors: int = 3,
        missing: MissingRule = "distribute",
        max_rows: int | None = None,
        random_state: Seed = 0,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.missing = missing
        self.max_rows = max_rows
        self.random_state = random_state

    def check(self, schema: Schema) -> None:
        """Raise DataError for a table without a target."""
        super().check(schema)
        check_integer("n_neighbors", self.n_neighbors, low=1)
        check_choice("missing", self.missing, MISSING_RULES)

    def score(self, table: Table) -> Floats:
        """Return the scores of the table's columns, after comparing its rows with their neighbours."""
        self.check(table.schema)
        if table.schema.weight_kind == "sampling":
            raise DataError(
                "MutualInformation counts neighbours, and no estimator from counts of neighbours is established for sampling "
                f"weights such as {table.schema.weight!r}. Use InformationGain, or omit the weights."
            )
        table, _ = draw_rows(repeat_frequencies(table), self.max_rows, self.random_state, "MutualInformation")
        schema = table.schema
        scorer = _ColumnScorer(
            target_array(table), schema, self.n_neighbors, missing_is_level=self.missing == "category"
        )
        scores, found = np.zeros(schema.n_columns), dict[int, Estimate]()
        n_per_task = max(1, _TASK_ROWS // schema.n_rows)
        for columns in _column_blocks(table):
            estimates = parallel.map_groups(lambda item: scorer(item[1]), columns, n_per_task)
            for (j, _), estimate in zip(columns, estimates, strict=True):
                found[j], scores[j] = estimate, estimate.bits
            progress.report_progress("Estimating mutual information", len(found), len(schema.used))
        warn_user(_describe_estimates(found, schema, self.n_neighbors))
        return scores


class _ColumnScorer:
    """Scores columns with one target of numbers or codes of classes."""

    def __init__(self, target: NDArray[Any], schema: Schema, n_neighbors: int, *, missing_is_level: bool) -> None:
        self._target = target if schema.has_classes else np.asarray(target, dtype=np.float64)
        self._has_classes, self._n_neighbors, self._missing_is_level = schema.has_classes, n_neighbors, missing_is_level
        self._psi = digamma_table(schema.n_rows)

    def __call__(self, values: NDArray[Any]) -> Estimate:
        """Return the score of a column: numbers with NaN, or codes with -1, for missing values."""
        is_number = values.dtype.kind == "f"
        present = ~is_missing(values)
        if present.all():
            return self._estimate(values, self._target)
        if self._missing_is_level and not is_number:
            return self._estimate(values + np.int32(1), self._target)
        share = float(present.mean())
        found = self._estimate(values[present], self._target[present])
        bits = share * found.bits
        if self._missing_is_level:
            # The chain rule: I(X; Y) = I(M; Y) + P(M = 0) I(X; Y | M = 0) for the indicator M of missing values.
            bits += self._estimate(present.astype(np.int32), self._target).bits
        return found._replace(bits=bits)

    def _estimate(self, values: NDArray[Any], target: NDArray[Any]) -> Estimate:
        is_number = values.dtype.kind == "f"
        if is_number and not self._has_classes:
            return self._of_numbers(values, target)
        if is_number:
            return class_information(values, target, self._n_neighbors, self._psi)
        if not self._has_classes:
            return class_information(target, values, self._n_neighbors, self._psi)
        return count_information(values, target)

    def _of_numbers(self, values: Floats, target: Floats) -> Estimate:
        if len(values) < 2 or values.min() == values.max():
            return Estimate()
        zeros = np.zeros(len(values), dtype=np.int64)
        x, y = (Variable(standardize(numbers)[:, None], zeros) for numbers in (values, target))
        return neighbor_information(x, y, None, self._n_neighbors, self._psi)


def _column_blocks(table: Table) -> Iterator[list[tuple[int, NDArray[Any]]]]:
    """Yield blocks of columns, each with its number and its values."""
    schema = table.schema
    used = schema.used.tolist()
    for start, stop in parallel.block_ranges(len(used), max(1, _BLOCK_VALUES // schema.n_rows)):
        yield [(j, table.column(j)) for j in used[start:stop]]


def _describe_estimates(found: dict[int, Estimate], schema: Schema, n_neighbors: int) -> list[Verdict]:
    """Return warnings about estimates above the entropy, and about classes with too few rows."""
    warnings = []
    if above := _select_names(found, schema, lambda one: one.exceeds_limit):
        sentence = (
            f"MutualInformation: the estimates of {_list_columns(above)} exceed the entropy of the target or of the column, and "
            "are set to it. Classes with few rows cause this; merge them, or use InformationGain."
        )
        warnings.append(Verdict("TZ504", sentence, above))
    of_numbers = {j: one for j, one in found.items() if not schema.has_classes and schema.columns[j].is_number}
    if short := _select_names(of_numbers, schema, lambda one: one.has_small_classes):
        sentence = (
            f"MutualInformation: {_list_columns(short)} with at most n_neighbors={n_neighbors} values: each row has all others as "
            "neighbours. Use a smaller n_neighbors."
        )
        warnings.append(Verdict("TZ307", sentence, short))
    with_classes = {j: one for j, one in found.items() if j not in of_numbers}
    if small := _select_names(with_classes, schema, lambda one: one.has_small_classes):
        kind = "classes of the target" if schema.has_classes else "levels of the column"
        sentence = (
            f"MutualInformation: in {_list_columns(small)}, {kind} with at most n_neighbors={n_neighbors} rows use their other "
            "rows as neighbours, and those with one row are left out. Merge them, or use a smaller n_neighbors."
        )
        warnings.append(Verdict("TZ307", sentence, small))
    return warnings


def _select_names(found: dict[int, Estimate], schema: Schema, concerns: Callable[[Estimate], bool]) -> list[str]:
    return [schema.columns[j].name for j, one in found.items() if concerns(one)]


def _list_columns(names: list[str]) -> str:
    return f"{'column' if len(names) == 1 else 'columns'} {list_names(names)}"

"""Stress of a map against permuted data, and by the number of dimensions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial.distance import squareform
from sklearn.base import BaseEstimator, clone

from tamiz.arrays import Floats
from tamiz.display import figures
from tamiz.display.quality import StressDisplay
from tamiz.reduction.dissimilarities import read_partial_dissimilarities
from tamiz.reduction.mds import MDS
from tamiz.runtime import parallel, progress
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.user_warnings import capture_warnings, warn
from tamiz.runtime.validation import check_choice, check_integer, check_memory
from tamiz.table.base import Table
from tamiz.table.factory import count_rows, open_table
from tamiz.table.in_memory import check_matrix, eager_frame, is_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# The stress may rise with the dimension by this much, relative and absolute, because iterations stop before the exact minimum.
_RELATIVE_TOLERANCE, _ABSOLUTE_TOLERANCE = 1e-3, 1e-5


@dataclass(frozen=True, eq=False, repr=False)
class StressByDimensions:
    """The stress of maps of the same data with several numbers of dimensions.

    Attributes
    ----------
    dimensions : tuple of int
    stress : ndarray of shape (n_numbers,)
        Kruskal's stress-1 of each map.
    maps : dict
        The fitted maps by number of dimensions.
    null_stress : ndarray of shape (n_permutations, n_numbers)
        The stress of maps of permuted data; no rows with n_permutations=0.
    """

    dimensions: tuple[int, ...]
    stress: Floats
    maps: Mapping[int, BaseEstimator]
    null_stress: Floats

    @property
    def p_values(self) -> Floats:
        """The permutation p-value for every number of dimensions; NaN with n_permutations=0."""
        if len(self.null_stress) == 0:
            return np.full(len(self.stress), np.nan)
        return np.array(
            [lower_p_value(self.null_stress[:, k], stress) for k, stress in enumerate(self.stress.tolist())]
        )

    def __repr__(self) -> str:
        pairs = zip(self.dimensions, self.stress.tolist(), strict=True)
        return f"<StressByDimensions: {', '.join(f'{k}: {stress:.4f}' for k, stress in pairs)}>"

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot the stress against the number of dimensions, with its null distribution where there is one.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure.

        Returns
        -------
        matplotlib Axes
        """
        null_stress = self.null_stress if len(self.null_stress) else None
        return StressDisplay(self.stress, numbers=self.dimensions, reference=null_stress).plot(ax).ax_


def stress_by_dimensions(
    X: Any,
    dimensions: Iterable[int] = range(1, 7),
    *,
    estimator: BaseEstimator | None = None,
    permute: str | None = None,
    weights: Any = None,
    n_permutations: int = 0,
    random_state: Seed = None,
) -> StressByDimensions:
    """Fit maps with several numbers of dimensions and return their stress.

    Parameters
    ----------
    X : array, data frame or Table
        Input of the estimator: rows, or their dissimilarities or similarities.
    dimensions : list of int, default=range(1, 7)
    estimator : MDS, default=None
        An unfitted estimator, whose `n_components` is ignored; None is `MDS()`.
    permute : {"columns", "pairs"}, default=None
        What is permuted for the null distribution, as in `stress_test`.
    weights : array-like of shape (n_samples, n_samples), default=None
        Weights of pairs, as in `MDS.fit`.
    n_permutations : int, default=0
        Number of permutations, each mapped with every number of dimensions.
    random_state : int, Generator or None, default=None
        Draws the permutations and the random starts of their maps.

    Returns
    -------
    StressByDimensions

    Raises
    ------
    ValueError
        When the list is empty or contains a number twice.

    Notes
    -----
    The minimal stress never rises with the number of dimensions. Where the stress of the maps rises, one of them is a local
    minimum, and a warning reports it. Choose the number of dimensions at a bend of the curve, or the largest one whose stress is
    below the null distribution.

    References
    ----------
    Kruskal (1964), Multidimensional scaling by optimizing goodness of fit to a nonmetric hypothesis, Psychometrika 29.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz.comparison import stress_by_dimensions
    >>> stress_by_dimensions(load_iris().data[::5], [1, 2, 3])
    <StressByDimensions: 1: 0.0987, 2: 0.0224, 3: 0.0076>
    """
    numbers = _check_dimensions(dimensions)
    n_permutations = check_integer("n_permutations", n_permutations, low=0)
    unfitted = clone_estimator(estimator)
    if len(numbers) > 1 and not isinstance(unfitted.get_params(deep=False).get("init", ""), str):
        raise ValueError(
            "An init array has one number of dimensions; use an estimator with init='classical' or init='random'."
        )
    with parallel.thread_session():
        # In descending order, so that a number of dimensions too large for the rows fails at once.
        fitted = {
            k: fit_map(clone(unfitted).set_params(n_components=k), X, weights) for k in sorted(numbers, reverse=True)
        }
        maps = {k: fitted[k] for k in numbers}
        permuted = np.empty((0, len(numbers)))
        if n_permutations:
            _, model = create_null(X, unfitted, weights, permute)
            permuted = model.draw_stress(numbers, n_permutations, make_rng(random_state))
    stress = np.array([maps[k].stress_ for k in numbers])
    _warn_about_rises(numbers, stress)
    return StressByDimensions(numbers, stress, maps, permuted)


def _check_dimensions(dimensions: Iterable[int]) -> tuple[int, ...]:
    """Return the numbers of dimensions; raise unless they are distinct positive integers."""
    if isinstance(dimensions, str) or not isinstance(dimensions, Iterable):
        raise TypeError(f"dimensions must be a list, got {dimensions!r}. Put it in brackets: [{dimensions}].")
    numbers = tuple(check_integer("dimensions", k, low=1) for k in dimensions)
    if not numbers:
        raise ValueError("dimensions is an empty list; pass at least one number.")
    for at, k in enumerate(numbers):
        if k in numbers[:at]:
            raise ValueError(f"dimensions contains {k} twice; pass each number once.")
    return numbers


def _warn_about_rises(numbers: tuple[int, ...], stress: Floats) -> None:
    for (fewer, lower), (more, higher) in pairwise(sorted(zip(numbers, stress.tolist(), strict=True))):
        if higher > lower * (1 + _RELATIVE_TOLERANCE) + _ABSOLUTE_TOLERANCE:
            warn(
                "TZ402",
                f"The stress in {more} dimensions, {higher:.4g}, is above that in {fewer}, {lower:.4g}: the map is a local "
                "minimum. Raise max_iter, or try more starts with init='random' and n_init.",
            )


# Values that differ only by the rounding of sums in another order count as equal.
_TIE_TOLERANCE = 1e-10


def permutation_p_value(n_as_extreme: int, n_permutations: int) -> float:
    """Return (1 + n_as_extreme) / (1 + n_permutations), which counts the observed value as one of the permutations."""
    return (1 + n_as_extreme) / (1 + n_permutations)


def lower_p_value(null_values: Floats, observed: float) -> float:
    return permutation_p_value(int(np.sum(null_values <= observed * (1.0 + _TIE_TOLERANCE))), len(null_values))


def upper_p_value(null_values: Floats, observed: float) -> float:
    return permutation_p_value(int(np.sum(null_values >= observed * (1.0 - _TIE_TOLERANCE))), len(null_values))


# Up to this many rows several maps are fitted at a time, one thread each; beyond, one after the other on all threads.
_MAX_CONCURRENT_ROWS = 2000
# Rows whose dissimilarities are computed in one parallel task.
_ROWS_PER_TASK = 512
_PAIR_DISSIMILARITIES = ("precomputed", "similarity")


@dataclass(frozen=True, eq=False, repr=False)
class StressTest:
    """The stress of a map and its permutation null distribution.

    Attributes
    ----------
    estimator : BaseEstimator
        Fitted to the original data.
    stress : float
        Kruskal's stress-1 of that map.
    null_stress : ndarray of shape (n_permutations,)
        The stress of the maps of permuted data.
    p_value : float
        (1 + the maps of permuted data with a stress as small) / (1 + n_permutations).
    permute : str
        What was permuted: "columns" or "pairs".
    """

    estimator: BaseEstimator
    stress: float
    null_stress: Floats
    p_value: float
    permute: str

    def __repr__(self) -> str:
        return (
            f"<StressTest: stress={self.stress:.4f}, p={self.p_value:.4g}, {len(self.null_stress):,} permutations of "
            f"{self.permute} from {self.null_stress.min():.4f}>"
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot the null distribution and the observed stress.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure.

        Returns
        -------
        matplotlib Axes
        """
        return figures.draw_null_histogram(self.null_stress, self.stress, "Kruskal's stress-1", self.p_value, ax)


def stress_test(
    X: Any,
    *,
    estimator: BaseEstimator | None = None,
    permute: str | None = None,
    weights: Any = None,
    n_permutations: int = 99,
    random_state: Seed = None,
) -> StressTest:
    """Permutation test of the stress of a map against data without structure.

    Parameters
    ----------
    X : array, data frame or Table
        Input of the estimator: rows, or their dissimilarities or similarities.
    estimator : MDS, default=None
        An unfitted estimator; None is `MDS()`.
    permute : {"columns", "pairs"}, default=None
        The null model. "columns" permutes every column of the table independently; the null hypothesis is that the columns are
        independent, with their own distributions. "pairs" permutes the dissimilarities that are not missing over the pairs; the
        null hypothesis is that they are exchangeable. Missing dissimilarities and weights stay in place. None is "columns" for
        rows, and "pairs" for dissimilarities or similarities.
    weights : array-like of shape (n_samples, n_samples), default=None
        Weights of pairs, as in `MDS.fit`.
    n_permutations : int, default=99
    random_state : int, Generator or None, default=None
        Draws the permutations and the random starts of their maps.

    Returns
    -------
    StressTest

    Raises
    ------
    ValueError
        When permute="columns" and X contains dissimilarities or similarities.

    Notes
    -----
    Every permutation is mapped with the settings of the estimator. "pairs" is a weak null model: permuted distances violate the
    triangle inequality, so that almost any real distances are significant. It separates structure from noise, not good maps from
    bad ones. "columns" compares with the distances of a table.

    Costs n_permutations + 1 fits, several at a time up to 2,000 rows; "pairs" uses O(n^2) memory for each.

    References
    ----------
    Mair, Borg and Rusch (2016), Goodness-of-fit assessment in multidimensional scaling and unfolding, Multivariate Behavioral
    Research 51; Spence and Ogilvie (1973), A table of expected stress values for random rankings in nonmetric multidimensional
    scaling, Multivariate Behavioral Research 8.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz.comparison import stress_test
    >>> X = load_iris().data[::5]
    >>> tested = stress_test(X, n_permutations=19, random_state=0)
    >>> tested.p_value, bool(tested.stress < tested.null_stress.min())
    (0.05, True)
    """
    n_permutations = check_integer("n_permutations", n_permutations, low=1)
    mapped = fit_map(clone_estimator(estimator), X, weights)
    permute, model = create_null(X, mapped, weights, permute)
    permuted = model.draw_stress([mapped.n_components], n_permutations, make_rng(random_state))[:, 0]
    stress = float(mapped.stress_)
    return StressTest(mapped, stress, permuted, lower_p_value(permuted, stress), permute)


class StressPermutation(ABC):
    """A null model: draws permuted data and computes the stress of their maps."""

    estimator: BaseEstimator
    weights: Any
    n_samples: int

    @abstractmethod
    def draw(self, rng: np.random.Generator) -> Any:
        """Return permuted data."""

    def draw_stress(self, n_components: Sequence[int], n_permutations: int, rng: np.random.Generator) -> Floats:
        """Return the stress of maps of permuted data for several dimensions, of shape (n_permutations, n_numbers)."""

        def one(seed: int) -> list[tuple[float, bool]]:
            own = np.random.default_rng(seed)
            # Convergence is reported once, for all fits together.
            with parallel.thread_session(1 if several else None), capture_warnings():
                X, starts = self.draw(own), int(own.integers(2**31))
                return [self._fit_map(X, k, starts) for k in n_components]

        several = self.n_samples <= _MAX_CONCURRENT_ROWS
        seeds = rng.integers(0, 2**63, n_permutations).tolist()
        with parallel.thread_session():
            fits = parallel.map_blocks(one, seeds) if several else map(one, seeds)
            done = np.array(list(progress.track_progress("permutations", fits, total=n_permutations)))
        missed = int((done[:, :, 1] == 0).sum())
        if missed:
            warn(
                "TZ501",
                f"{missed:,} of {done.shape[0] * done.shape[1]:,} maps of permuted data did not converge within max_iter "
                "iterations, so that their stress is slightly too large; raise max_iter.",
            )
        return np.asarray(done[:, :, 0])

    def _fit_map(self, X: Any, n_components: int, seed: int) -> tuple[float, bool]:
        """Return the stress of a map, and whether it converged."""
        settings = {"n_components": n_components, "random_state": seed}
        mapped = fit_map(clone(self.estimator).set_params(**settings), X, self.weights)
        return float(mapped.stress_), bool(mapped.converged_)


class ColumnwisePermutation(StressPermutation):
    """Permutes every column of a table independently."""

    def __init__(self, X: Any, estimator: BaseEstimator, weights: Any) -> None:
        self.estimator, self.weights = estimator, weights
        if estimator.dissimilarity in _PAIR_DISSIMILARITIES:
            raise ValueError(
                f"permute='columns' needs the rows of a table, and dissimilarity={estimator.dissimilarity!r} reads pairs; "
                "use permute='pairs'."
            )
        self._column_kinds = {column.name: column.kind for column in X.schema.columns} if isinstance(X, Table) else None
        table = X.frame() if isinstance(X, Table) else X
        if sparse.issparse(table):
            raise TypeError(
                "permute='columns' does not support sparse matrices; pass X.toarray(), or use permute='pairs'."
            )
        self._frame = eager_frame(table) if is_frame(table) else None
        self._array = check_matrix(table) if self._frame is None else np.empty((0, 0))
        self.n_samples = len(self._array) if self._frame is None else len(self._frame)

    def draw(self, rng: np.random.Generator) -> Any:
        """Return the table with every column permuted, in the input type: an array, a data frame or a Table."""
        permuted = rng.permuted(self._array, axis=0) if self._frame is None else self._permute_frame(self._frame, rng)
        return permuted if self._column_kinds is None else open_table(permuted, kinds=self._column_kinds)

    def _permute_frame(self, frame: nw.DataFrame[Any], rng: np.random.Generator) -> Any:
        columns = {name: frame[:, j][rng.permutation(len(frame))] for j, name in enumerate(frame.columns)}
        return nw.from_dict(columns, backend=frame.implementation).to_native()


class PairwisePermutation(StressPermutation):
    """Permutes the dissimilarities over the pairs; missing ones stay in place."""

    def __init__(self, X: Any, estimator: BaseEstimator, weights: Any) -> None:
        self.estimator = clone(estimator).set_params(dissimilarity="precomputed")
        self.weights = weights
        self.n_samples = n = count_rows(X)
        # The dissimilarities, and for every concurrent fit a permutation in condensed and in square form.
        n_concurrent = parallel.n_threads() if n <= _MAX_CONCURRENT_ROWS else 1
        check_memory(
            4.0 * n * n * (1 + 3 * n_concurrent),
            f"Permuting the dissimilarities of {n:,} rows",
            "Use a sample of the rows.",
        )
        self._values = squareform(_dissimilarities(X, estimator), checks=False)
        present = ~np.isnan(self._values)
        if weights is not None:
            present &= squareform(np.asarray(weights, dtype=np.float64), checks=False) > 0
        self._present = np.flatnonzero(present)

    def draw(self, rng: np.random.Generator) -> NDArray[Any]:
        values = self._values.copy()
        values[self._present] = rng.permutation(values[self._present])
        return np.asarray(squareform(values))


_PERMUTATIONS = {"columns": ColumnwisePermutation, "pairs": PairwisePermutation}


def create_null(X: Any, estimator: BaseEstimator, weights: Any, permute: str | None) -> tuple[str, StressPermutation]:
    """Return the name of the null model, by default the one for the estimator's input, and the model itself."""
    chosen = permute or ("pairs" if estimator.dissimilarity in _PAIR_DISSIMILARITIES else "columns")
    check_choice("permute, where it is not None,", chosen, tuple(_PERMUTATIONS))
    return chosen, _PERMUTATIONS[chosen](X, estimator, weights)


def clone_estimator(estimator: BaseEstimator | None) -> BaseEstimator:
    """Return an unfitted copy of the estimator, or `MDS()` for None."""
    if estimator is None:
        return MDS()
    if not isinstance(estimator, BaseEstimator) or "dissimilarity" not in estimator.get_params(deep=False):
        raise TypeError(f"estimator must be a stress-based map such as MDS(kind='ordinal'), got {estimator!r}.")
    return clone(estimator)


def fit_map(estimator: BaseEstimator, X: Any, weights: Any) -> BaseEstimator:
    """Fit a map, with weights of pairs unless they are None."""
    fitted = estimator.fit(X) if weights is None else estimator.fit(X, weights=weights)
    if "stress_" not in vars(fitted):
        raise TypeError(f"{type(fitted).__name__} has no stress_; pass an MDS.")
    return fitted


def _dissimilarities(X: Any, estimator: BaseEstimator) -> Floats:
    """Return the square matrix of dissimilarities, NaN where missing."""
    with parallel.thread_session():
        rows, _ = read_partial_dissimilarities(X, estimator.dissimilarity, type(estimator).__name__)
        out = np.empty((rows.points.n_samples, rows.points.n_samples))

        def measure(span: tuple[int, int]) -> None:
            out[slice(*span)] = rows.distances(rows.points, *span)

        parallel.run_blocks(measure, parallel.block_ranges(len(out), _ROWS_PER_TASK))
    return out

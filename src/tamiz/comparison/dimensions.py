"""Stress of maps by their number of dimensions, with an optional permutation null distribution."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from tamiz.arrays import Floats
from tamiz.comparison.null_distribution import lower_p_value
from tamiz.comparison.stress_permutation import clone_estimator, create_null, fit_map
from tamiz.display.quality import StressDisplay
from tamiz.runtime import parallel
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.user_warnings import warn
from tamiz.runtime.validation import check_integer

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

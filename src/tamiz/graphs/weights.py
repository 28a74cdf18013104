"""How strongly an edge ties its two rows together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from tamiz.exceptions import DataError
from tamiz.runtime.user_warnings import warn_user
from tamiz.runtime.validation import check_real
from tamiz.statistics.base import Floats

# Weights below this are as if they were 0. float64 goes down to 2e-308 in full precision; the room left keeps the digits of
# degrees, their inverses and weighted squares.
MIN_WEIGHT = 1e-290
# exp(-x) is above the least weight up to here.
_MAX_EXPONENT = 667.0


class Weight(BaseEstimator, ABC):
    """A weight for every edge, above 0.

    Attributes
    ----------
    needs_classes : bool
        Whether an edge is weighed by the class of its rows.
    needs_lengths : bool
        Whether an edge is weighed by its length.
    t : float or None
        The width of the kernel, where it has one.
    """

    needs_classes: ClassVar[bool] = False
    needs_lengths: ClassVar[bool] = False
    t: float | None = None

    def resolve_parameters(self, lengths: Floats) -> Weight:  # noqa: ARG002 - a weight with a width reads them
        """Return the weight with every parameter set, for a graph whose edges, each once, have these lengths."""
        return self

    @abstractmethod
    def edge_weights(self, lengths: Floats, class_sizes: Floats | None) -> Floats:
        """Return the weights of edges from their lengths and the sizes of their classes, None where classes are not known."""

    def check_weights(self, lengths: Floats, weights: Floats) -> None:
        """Refuse weights that leave no graph."""

    def relative_weights(self, lengths: Floats, nearest: Floats) -> Floats:  # noqa: ARG002 - a weight with a width reads it
        """Return the weights of the edges of one row in units of that of its nearest: they do not vanish far away."""
        return self.edge_weights(lengths, None)


class HeatKernel(Weight):
    """Weight exp(-d^2 / t) for an edge of length d.

    .. math:: w_{ij} = \\exp(-d_{ij}^2 / t)

    Parameters
    ----------
    t : float or None, default=None
        Width, in the square of the unit of the distances; None is the mean squared length of the graph's edges, and
        infinity makes every weight 1.

    Raises
    ------
    ValueError
        When t is not above 0, or so small that no weight is left, or when the mean squared length leaves the range of float64.

    Notes
    -----
    A weight below 1e-290 counts as 0, and the edge as not there, which is told.

    References
    ----------
    Belkin and Niyogi (2003), Laplacian eigenmaps for dimensionality reduction and data representation, Neural Computation 15.

    Examples
    --------
    >>> import numpy as np
    >>> from tamiz.graphs import HeatKernel
    >>> HeatKernel(t=2.0).edge_weights(np.array([0.0, 1.0, 2.0]), None).round(4)
    array([1.    , 0.6065, 0.1353])
    """

    needs_lengths: ClassVar[bool] = True

    def __init__(self, t: float | None = None) -> None:
        self.t = t

    def resolve_parameters(self, lengths: Floats) -> Weight:
        """Return the kernel with its width set."""
        if self.t is not None:
            width = check_real("t", self.t)
            if width <= 0:
                raise ValueError(f"t must be above 0, got {width:g}. None takes the mean squared length of the edges.")
            return HeatKernel(width)
        longest = float(lengths.max(initial=0.0))
        if longest == 0.0:
            # Edges of length zero weigh 1 at any width.
            return HeatKernel(np.inf)
        with np.errstate(over="ignore"):
            mean = float(np.mean(lengths**2))
        limits = np.finfo(np.float64)
        if not limits.tiny <= mean <= limits.max:
            raise DataError(
                f"The longest edge has the length {longest:.4g}, and the mean squared length, which is t by default, must be "
                f"from {limits.tiny:.3g} to {limits.max:.3g}; pass the rows in another unit, or use Binary()."
            )
        return HeatKernel(mean)

    def edge_weights(self, lengths: Floats, class_sizes: Floats | None) -> Floats:  # noqa: ARG002
        """Return exp(-d^2 / t)."""
        assert self.t is not None
        weights = _heat_kernel(lengths, lengths, self.t)
        weights[weights < MIN_WEIGHT] = 0.0
        return weights

    def check_weights(self, lengths: Floats, weights: Floats) -> None:
        """Refuse a width at which no edge has a weight left, and tell of one at which some have none."""
        n_lost = len(weights) - int(np.count_nonzero(weights))
        if not n_lost:
            return
        way_out = f"t={_smallest_width(float(lengths.max())):.3g} or more leaves a weight to all of them."
        if n_lost == len(weights):
            raise ValueError(
                f"t={self.t:g} makes the weight of every edge 0: the shortest is {lengths.min():.4g} long. {way_out}"
            )
        warn_user(
            [
                f"t={self.t:g} makes the weight of {n_lost:,} of {len(weights):,} edges 0, as if they were not there; "
                f"{way_out}"
            ]
        )

    def relative_weights(self, lengths: Floats, nearest: Floats) -> Floats:
        """Return exp(-(d^2 - nearest^2) / t)."""
        assert self.t is not None
        return _heat_kernel(lengths - nearest, lengths + nearest, self.t)


def _heat_kernel(a: Floats, b: Floats, t: float) -> Floats:
    """Return exp(-a b / t)."""
    if np.isinf(t):
        return np.ones(len(a))
    # In a unit near the root of t, a power of two that changes no bit, a product leaves the range only where the weight is 0.
    unit = np.ldexp(1.0, -(np.frexp(t)[1] // 2))
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(-(a * unit) * (b * unit) / (t * unit * unit)))


def _smallest_width(length: float) -> float:
    """Return a round width at which an edge of this length keeps a weight."""
    exact = max(length * length / _MAX_EXPONENT, float(np.finfo(np.float64).tiny))
    if np.isinf(exact):
        return exact
    unit = 10.0 ** (np.floor(np.log10(exact)) - 2)
    return float(np.ceil(exact / unit) * unit)


class Binary(Weight):
    """Weight 1 for every edge: the heat kernel of infinite width.

    References
    ----------
    Belkin and Niyogi (2003), Laplacian eigenmaps for dimensionality reduction and data representation, Neural Computation 15.

    Examples
    --------
    >>> import numpy as np
    >>> from tamiz.graphs import Binary
    >>> Binary().edge_weights(np.array([0.0, 1.0, 2.0]), None)
    array([1., 1., 1.])
    """

    def edge_weights(self, lengths: Floats, class_sizes: Floats | None) -> Floats:  # noqa: ARG002
        """Return ones."""
        return np.ones(len(lengths))


class InverseClassSize(Weight):
    """Weight 1 / n for an edge between two rows of a class of n rows.

    .. math:: w_{ij} = 1 / n_c

    With every pair of a class joined, and every row with itself, each row has the degree 1.

    References
    ----------
    He, Cai and Niyogi (2005), Laplacian score for feature selection, NIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from tamiz.graphs import InverseClassSize
    >>> InverseClassSize().edge_weights(np.array([0.5, 0.5]), np.array([4.0, 10.0]))
    array([0.25, 0.1 ])
    """

    needs_classes: ClassVar[bool] = True

    def edge_weights(self, lengths: Floats, class_sizes: Floats | None) -> Floats:  # noqa: ARG002
        """Return the shares."""
        if class_sizes is None:
            raise DataError(
                "InverseClassSize weighs rows of one class; use SameClass() or KNearest(within_class=True)."
            )
        return np.asarray(1.0 / class_sizes)

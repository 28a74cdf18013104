"""Are two maps of the same rows alike by more than chance? Jackson's permutation test (protest)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from tamiz import parallel
from tamiz.comparison.alignment import Procrustes, procrustes, read_maps
from tamiz.comparison.permutations import upper_p_value
from tamiz.display.chance import draw_null_histogram
from tamiz.random import Seed, make_rng
from tamiz.statistics.base import Floats
from tamiz.validation import check_integer

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Rows permuted in one piece of work.
_ROWS_PER_TASK = 100_000


@dataclass(frozen=True, eq=False, repr=False)
class ProcrustesTest:
    """The correlation of two maps beside those of maps whose rows were permuted.

    Attributes
    ----------
    alignment : Procrustes
        The one map moved onto the other.
    correlation : float
        The root of 1 - m^2.
    null_correlations : ndarray of shape (n_permutations,)
        The same where the rows of one map are in random order.
    p_value : float
        The share of orders with a correlation as large, the given one among them.
    """

    alignment: Procrustes
    correlation: float
    null_correlations: Floats
    p_value: float

    def __repr__(self) -> str:
        return (
            f"<ProcrustesTest: correlation={self.correlation:.4f}, p={self.p_value:.4g}, "
            f"{len(self.null_correlations):,} permutations up to {self.null_correlations.max():.4f}>"
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the correlations of the permuted maps, and the one found.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None is a new figure.

        Returns
        -------
        matplotlib Axes
        """
        return draw_null_histogram(
            self.null_correlations, self.correlation, "Correlation of the maps", self.p_value, ax
        )


def procrustes_test(
    reference: ArrayLike, embedding: ArrayLike, *, n_permutations: int = 999, random_state: Seed = None
) -> ProcrustesTest:
    """Return how likely two maps of the same rows are as much alike when which point is which row is left to chance.

    Parameters
    ----------
    reference, embedding : array-like of shape (n_samples, n_components)
        As in `procrustes`; mirrors are allowed.
    n_permutations : int, default=999
    random_state : int, Generator or None, default=None

    Returns
    -------
    ProcrustesTest

    Raises
    ------
    DataError
        When the maps differ in their number of rows, or all points of one are at one place.

    Notes
    -----
    The null hypothesis: the rows of one map could come in any order, each as likely. It is nearly always refused for two maps that
    were made of the same table; the test is meant for maps of different measurements of the same rows. p is
    (1 + the permutations with a correlation as large) / (1 + all). Cost O(n m^2) a permutation.

    References
    ----------
    Jackson (1995), PROTEST: a PROcrustean randomization TEST of community environment concordance, Écoscience 2; Peres-Neto and
    Jackson (2001), How well do multivariate data sets match?, Oecologia 129.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz.comparison import procrustes_test
    >>> X = load_iris().data
    >>> procrustes_test(X[:, :2], X[:, 2:], random_state=0).p_value
    0.001
    """
    n_permutations = check_integer("n_permutations", n_permutations, low=1)
    rng = make_rng(random_state)
    with parallel.thread_session():
        target, moving = read_maps(reference, embedding)
        size = max(1, _ROWS_PER_TASK // len(target.unit))
        pieces = [stop - start for start, stop in parallel.block_ranges(n_permutations, size)]
        seeds = rng.integers(0, 2**63, len(pieces))

        def drawn(piece: tuple[int, int]) -> Floats:
            return _correlations(target.unit, moving.unit, piece[0], np.random.default_rng(piece[1]))

        permuted = np.concatenate(list(parallel.map_blocks(drawn, zip(pieces, seeds.tolist(), strict=True))))
        alignment = procrustes(reference, embedding)
    correlation = alignment.correlation
    return ProcrustesTest(alignment, correlation, permuted, upper_p_value(permuted, correlation))


def _correlations(target: Floats, moving: Floats, n_permutations: int, rng: np.random.Generator) -> Floats:
    """Return the correlations of maps where the rows of one come in random orders."""
    orders = np.stack([rng.permutation(len(target)) for _ in range(n_permutations)])
    # Ten times faster than moving[orders].
    permuted = moving.take(orders, axis=0)
    common = np.matmul(permuted.transpose(0, 2, 1), target)
    return np.asarray(np.linalg.svd(common, compute_uv=False).sum(axis=1))

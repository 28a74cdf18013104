"""Ridge regression on a large set and one more column, for every column: sweeps of Gram matrices in place of a factor a set.

A factor of s coordinates takes s^3 / 3 operations for every candidate and fold, and indicators that add up to a constant make its
error bound so wide that refits have to decide. Once the coordinates of the parent are swept out of the products of all p, a
candidate that adds b coordinates takes b^3 operations, and a step of a forward search p^2 b to sweep the column that was added. A
forward search for 15 of 73 columns, 290 indicators and numbers (the Ames housing table), takes 2.6 s in place of 22.

With J the coordinates added, G the penalised products of the rows learned from, c those with the target, and E, r, q the products
of what the parent leaves unexplained in the tested columns and target:

    gamma = G_JJ^-1 c_J                      the coefficients of J beside the parent's
    error = q - 2 gamma' r_J + gamma' E_JJ gamma   the squared error of the tested rows

(Goodnight 1979, A tutorial on the SWEEP operator, The American Statistician 33).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tamiz.candidates import Candidates, Masks
from tamiz.statistics.base import Floats

CoordinateIndices = NDArray[np.integer]

# Parents of fewer coordinates: the kernel that factorises every set is as fast, and its bits depend on the set alone.
MIN_SWEPT_COORDINATES = 32
# What others leave of a coordinate's square, as a share: below it rounding may decide.
_MIN_PIVOT = 1e-6
# What is left of the tested squares, as a share: below it too much has cancelled.
_MIN_RESIDUAL_SHARE = 1e-6


@dataclass
class _SweptFold:
    """The products of one fold, with the coordinates of a parent swept out."""

    gram: Floats
    cross: Floats
    residual_products: Floats
    residual_cross: Floats
    error: float

    @classmethod
    def of(cls, gram: Floats, cross: Floats, form: Floats) -> _SweptFold:
        return cls(gram.copy(), cross.copy(), form[:-1, :-1].copy(), form[-1, :-1].copy(), float(form[-1, -1]))

    def sweep(self, added: CoordinateIndices) -> None:
        """Explain coordinates and target by some more coordinates."""
        own, rows = self.gram[np.ix_(added, added)], self.gram[added]
        slopes = np.linalg.solve(own, rows)
        gamma = np.linalg.solve(own, self.cross[added])
        inner = self.residual_products[np.ix_(added, added)]
        between = self.residual_products[added]
        self.error += float(gamma @ inner @ gamma - 2 * gamma @ self.residual_cross[added])
        self.residual_cross = (
            self.residual_cross - slopes.T @ self.residual_cross[added] - gamma @ between + (gamma @ inner) @ slopes
        )
        mixed = between.T @ slopes
        self.residual_products = self.residual_products - mixed - mixed.T + slopes.T @ inner @ slopes
        self.cross = self.cross - slopes.T @ self.cross[added]
        self.gram = self.gram - rows.T @ slopes

    def errors(self, blocks: NDArray[np.integer]) -> Floats:
        """Return the squared errors with each of some blocks of one width added, NaN where rounding may show."""
        own = self.gram[blocks[:, :, None], blocks[:, None, :]]
        cross, left_cross = self.cross[blocks], self.residual_cross[blocks]
        # What a coordinate has left beside the parent and the others of its block.
        pivots = np.array([_smallest_pivot(one) for one in own]) if blocks.shape[1] > 1 else own[:, 0, 0]
        sound = pivots > _MIN_PIVOT
        own[~sound] = np.eye(blocks.shape[1])
        gamma = np.linalg.solve(own, cross[:, :, None])[:, :, 0]
        inner = self.residual_products[blocks[:, :, None], blocks[:, None, :]]
        change = np.einsum("ma,mab,mb->m", gamma, inner, gamma) - 2 * np.einsum("ma,ma->m", gamma, left_cross)
        return np.where(sound, self.error + change, np.nan)


class SweepOperators:
    """The products of every fold, swept by the parent of the last candidates.

    Parameters
    ----------
    gram, cross, form : ndarray
        As `tamiz.kernels.factors.linear_squared_errors` takes them, with an entry in `form` for every fold.
    """

    def __init__(self, gram: Floats, cross: Floats, form: Floats) -> None:
        self._initial_products = (gram, cross, form)
        self._parent: Masks | None = None
        self._folds: list[_SweptFold] = []

    def squared_errors(self, candidates: Candidates) -> Floats | None:
        """Return the squared errors, of shape (n_candidates, n_folds), NaN where a factor has to tell; None for other candidates.

        Parameters
        ----------
        candidates : Candidates
            Of coordinates: one parent of at least `MIN_SWEPT_COORDINATES`, and additions to it.
        """
        if len(candidates.parents) != 1 or not len(candidates) or not candidates.starts[-1]:
            return None
        parent = candidates.parents[0]
        if parent.sum() < MIN_SWEPT_COORDINATES or parent[candidates.flipped].any():
            return None
        self._sweep_to(parent)
        squares = np.full((len(candidates), len(self._folds)), np.nan)
        for where, blocks in candidates.flips_by_width(0):
            if blocks.shape[1]:
                for f, fold in enumerate(self._folds):
                    squares[where, f] = fold.errors(blocks)
        whole = self._initial_products[2][:, -1, -1]
        squares[~(squares > _MIN_RESIDUAL_SHARE * whole)] = np.nan
        return squares

    def _sweep_to(self, parent: Masks) -> None:
        """Sweep the products by a parent, on from those of the last one where it is a part of this."""
        if self._parent is None or (self._parent & ~parent).any():
            self._parent = np.zeros_like(parent)
            self._folds = [_SweptFold.of(*arrays) for arrays in zip(*self._initial_products, strict=True)]
        added = np.flatnonzero(parent & ~self._parent)
        if len(added):
            for fold in self._folds:
                fold.sweep(added)
            self._parent = parent.copy()


def _smallest_pivot(matrix: Floats) -> float:
    """Return the least pivot of a symmetric matrix, at most 0 where it has no Cholesky factor."""
    try:
        return float((np.linalg.cholesky(matrix).diagonal() ** 2).min())
    except np.linalg.LinAlgError:
        return 0.0

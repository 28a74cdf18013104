"""What branch and bound needs of a problem beyond its sums: a convex part of the totals, and units that are alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tamiz.search.exact.sums import UnitQuadraticForm
from tamiz.statistics.base import Floats

# What is given to the barrier, step by step: less at the end gains nothing more.
_BARRIERS = np.geomspace(0.5, 1e-3, 12)
# So often a step that leads over the edge is halved before it is given up.
_MAX_HALVINGS = 60
# How far the convex part stays from not being convex, beside its largest eigenvalue.
_EIGENVALUE_MARGIN = 1e-9


@dataclass(frozen=True)
class ConvexRelaxation:
    """The parts of a problem that its bounds are made of.

    Attributes
    ----------
    convex : ndarray of shape (n_units, n_units)
        A positive semidefinite matrix that is A but for the diagonal.
    negative_terms : ndarray of shape (n_units,)
        The least that pairs with other units bring to the total, 0 where none is negative.
    first_equivalent : ndarray of shape (n_units,)
        The first of the units that are alike in everything.
    """

    convex: Floats
    negative_terms: Floats
    first_equivalent: NDArray[np.int64]

    @classmethod
    def from_form(cls, form: UnitQuadraticForm) -> ConvexRelaxation:
        """Return the parts."""
        pairs = form.pair_terms.sum(axis=0)
        own = form.self_terms.sum(axis=0)
        matrix = pairs / 2 + np.diag(own)
        return cls(
            matrix - np.diag(_maximal_diagonal(matrix)), np.minimum(pairs, 0.0).sum(axis=1), _first_equivalents(form)
        )

    def restrict(self, chosen: NDArray[np.bool_], form: UnitQuadraticForm) -> ConvexRelaxation:
        """Return the parts of the same problem with some of the units, whose sums are given."""
        return ConvexRelaxation(
            self.convex[np.ix_(chosen, chosen)], self.negative_terms[chosen], _first_equivalents(form)
        )


def _maximal_diagonal(matrix: Floats) -> Floats:
    """Return a large diagonal D such that matrix - D is positive semidefinite.

    The larger it is the better the bounds are. The smallest eigenvalue on all places would do; where some columns are nearly
    copies of each other it is nearly 0 for all the others too. So the sum of D is maximised instead, by Newton's steps on
    sum D + barrier log det(matrix - D), the barrier being lowered from step to step.
    """
    n = len(matrix)
    if n == 0:
        return np.empty(0)
    own = np.abs(np.diagonal(matrix))
    scale = np.sqrt(np.maximum(own, 1e-6 * own.max())) if own.any() else np.ones(n)
    scaled = matrix / np.outer(scale, scale)
    edge = np.linalg.eigvalsh(scaled)
    diagonal = np.full(n, edge[0] - max(0.1, 1e-6 * np.abs(edge).max()))
    for barrier in _BARRIERS:
        inverse = np.linalg.inv(scaled - np.diag(diagonal))
        step = np.linalg.solve(inverse**2, 1.0 / barrier - np.diagonal(inverse))
        for _ in range(_MAX_HALVINGS):
            if _is_definite(scaled - np.diag(diagonal + step)):
                diagonal += step
                break
            step *= 0.5
    # All of it is raised to the edge, or taken back behind it.
    eigenvalues = np.linalg.eigvalsh(scaled - np.diag(diagonal))
    diagonal += eigenvalues[0] - _EIGENVALUE_MARGIN * max(1.0, eigenvalues[-1])
    shifted: Floats = diagonal * scale**2
    return shifted


def _is_definite(matrix: Floats) -> bool:
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True


def _first_equivalents(form: UnitQuadraticForm) -> NDArray[np.int64]:
    """Return for every unit the first one that could stand in its place in every set without a change."""
    alike = np.arange(len(form))
    firsts: dict[tuple[float, ...], list[int]] = {}
    for j in range(len(form)):
        known = firsts.setdefault((*form.c[:, j], *form.self_terms[:, j], float(form.widths[j])), [])
        others = np.arange(len(form)) != j
        for i in known:
            others[i] = False
            if np.array_equal(form.pair_terms[:, i, others], form.pair_terms[:, j, others]):
                alike[j] = i
                break
            others[i] = True
        else:
            known.append(j)
    return alike

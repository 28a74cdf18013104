"""Merits with a quadratic form, varied problems for exact searches, and the plain enumeration of all sets."""

from itertools import combinations

import numpy as np

from tamiz.search.base import Evaluator
from tamiz.statistics.exact_sums import round_to_scale

from .merits import Quadratic, problem_of

SCALE = 64.0


class Known(Quadratic):
    """A merit of whole numbers, with many ties."""

    def quadratic_form(self):
        return self.c, self.A


class Smooth(Known):
    """Squared correlations of correlated columns; all merits differ."""

    def __init__(self, seed, p, n_factors=None):
        super().__init__(seed, p)
        rng = np.random.default_rng(seed)
        Z = rng.normal(size=(p, n_factors or max(2, p // 2)))
        self.c = round_to_scale(0.3 * rng.random(p), SCALE)
        self.A = round_to_scale(np.corrcoef(Z).reshape(p, p) ** 2, SCALE)


class LeastSquares(Evaluator):
    """The share of the target's variance that columns explain: a superset never explains less."""

    def __init__(self, seed, p, n=30):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, p)) + rng.normal(size=(n, 1))
        self.X, self.y = X, X[:, ::2].sum(axis=1) + 3 * rng.normal(size=n)
        self.n_asked = 0

    def merit(self, subset):
        x = list(subset)
        fitted = self.X[:, x] @ np.linalg.lstsq(self.X[:, x], self.y, rcond=None)[0] if x else np.zeros(len(self.y))
        return float(fitted @ fitted / (self.y @ self.y))

    def evaluate(self, candidates):
        self.n_asked += len(candidates)
        return np.array([self.merit(np.flatnonzero(mask)) for mask in candidates.masks()])

    def upper_bounds(self, masks):
        return np.array([self.merit(np.flatnonzero(mask)) for mask in masks]) + 1e-9


def varied(evaluator, seed):
    """Vary a merit: negative relevances, no relevances, negative associations, or duplicate columns."""
    p = len(evaluator.c)
    kind = seed % 8
    if kind == 1:
        evaluator.c = round_to_scale(evaluator.c - evaluator.c.mean(), SCALE)
    elif kind == 2:
        evaluator.c = -np.abs(evaluator.c)
    elif kind == 3:
        evaluator.c = evaluator.c * 0
    elif kind == 4:
        # Whole numbers below the diagonal's share: totals stay above 0.
        least = np.diag(evaluator.A).min() / p
        evaluator.A = round_to_scale(
            np.where(np.eye(p, dtype=bool), evaluator.A, -np.minimum(evaluator.A, least)), SCALE
        )
    elif kind == 5:
        twice = np.arange(p) % (p - p // 2)
        evaluator.c, evaluator.A = evaluator.c[twice], evaluator.A[np.ix_(twice, twice)]
    return evaluator


def asked(seed, p):
    """Random fixed and excluded columns, column groups, and sizes."""
    rng = np.random.default_rng(1000 + seed)
    columns = rng.permutation(p).tolist()
    parts = {}
    if rng.random() < 0.4 and p > 1:
        parts["fixed"] = [columns.pop()]
    if rng.random() < 0.4 and len(columns) > 1:
        parts["excluded"] = [columns.pop()]
    if rng.random() < 0.5 and len(columns) > 3:
        parts["column_groups"] = [[columns[0], columns[2]], [columns[1], columns[3]]][: rng.integers(1, 3)]
    free = p - len(parts.get("excluded", []))
    least = int(rng.integers(1, free + 1))
    sizes = [None, (least, int(rng.integers(least, free + 1))), least][rng.integers(3)]
    return parts, sizes


def possible(search, evaluator, p, n_features):
    """Whether there is a set of a requested size."""
    try:
        problem_of(search, p, n_features, evaluator)
    except ValueError as error:
        if "column groups are selected as a whole" not in str(error):
            raise
        return False
    return True


def plain(problem, merit_of):
    """The best of all allowed sets, and their number."""
    fixed = np.flatnonzero(problem.fixed).tolist()
    found = []
    for k in range(len(problem.units) + 1):
        for chosen in combinations(problem.units, k):
            subset = tuple(sorted([*fixed, *(j for unit in chosen for j in unit.tolist())]))
            if problem.min_size <= len(subset) <= problem.max_size:
                found.append((merit_of(subset), -len(subset), [j in subset for j in range(problem.n_columns)], subset))
    return max(found)[-1], len(found)

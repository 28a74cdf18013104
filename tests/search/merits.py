"""Merits for tests of searches, without a table."""

from dataclasses import replace

import numpy as np

from tamiz.search.archive import Archive
from tamiz.search.base import Candidates, Evaluator
from tamiz.search.runner import run_search


class Quadratic(Evaluator):
    """c'x / sqrt(x'Ax) with whole numbers and many ties; it records the evaluated sets."""

    def __init__(self, seed, p):
        rng = np.random.default_rng(seed)
        self.c = rng.integers(0, rng.integers(2, 30), p).astype(float)
        A = rng.integers(0, rng.integers(1, 12), (p, p))
        self.A = (A + A.T + np.diag(rng.integers(4, 12, p))).astype(float)
        self.asked = []

    def merit(self, subset):
        x = list(subset)
        return float(self.c[x].sum() / np.sqrt(self.A[np.ix_(x, x)].sum())) if x else 0.0

    def evaluate(self, candidates: Candidates):
        masks = candidates.masks()
        subsets = [subset_of(mask) for mask in masks]
        self.asked += subsets
        if type(self).merit is not Quadratic.merit:
            return np.array([self.merit(subset) for subset in subsets])
        # Sums of whole numbers are exact in any order: these are exactly the merits of `merit`.
        x = masks.astype(float)
        return np.divide(
            x @ self.c, np.sqrt(((x @ self.A) * x).sum(axis=1)), out=np.zeros(len(x)), where=masks.any(axis=1)
        )


def losses(evaluator, mask, units):
    """The loss of a set's merit when each of the units is dropped."""
    if not units:
        return np.empty(0)
    return evaluator.evaluate(Candidates.from_masks(mask)) - evaluator.evaluate(Candidates.from_flips(mask, units))


def problem_of(search, p, n_features=None, form=None):
    problem = search.make_problem([f"x{j}" for j in range(p)], np.arange(p), n_features)
    return problem if form is None else replace(problem, evaluator=form)


def search_in(search, evaluator, p, *, n_features=None, stop=None, journal=None, names=None):
    """Run a search over p columns; `journal` is a function of the archive."""
    problem = problem_of(search, p, n_features, evaluator)
    archive = Archive(p, min_size=problem.min_size, max_size=problem.max_size, min_gain=search.min_gain)
    opened = None if journal is None else journal(archive)
    walk = search.walk(problem, np.random.default_rng(0))
    return run_search(walk, evaluator, archive, stop, opened, search.max_evaluations(problem), names)


def subset_of(mask):
    return tuple(mask.nonzero()[0].tolist())


def best_of(archive):
    return subset_of(archive.mask(archive.best))


def sets_of(archive):
    return [subset_of(mask) for mask in archive.masks]

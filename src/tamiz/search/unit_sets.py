"""All sets of units: how many there are of every size, and how one is drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from tamiz.search.base import Problem
from tamiz.statistics.base import Floats
from tamiz.subsets.candidates import Masks


# MERGED: How many sets of units there are, to the last one.
def count_sets(problem: Problem) -> int:
    """Return the number of sets that may be chosen."""
    n_fixed = int(problem.fixed.sum())
    room = problem.max_size - n_fixed
    ways = {0: 1}
    for width, n_alike in sorted(Counter(map(len, problem.units)).items()):
        grown: Counter[int] = Counter()
        for size, count in ways.items():
            chosen = 1
            for taken in range(min(n_alike, (room - size) // width) + 1):
                grown[size + taken * width] += count * chosen
                chosen = chosen * (n_alike - taken) // (taken + 1)
        ways = grown
    return sum(count for size, count in ways.items() if problem.min_size <= n_fixed + size <= problem.max_size)


def count_completions(problem: Problem) -> Floats:
    """Return how many sets a set of units comes to with later ones, itself among them.

    Row j, column s is for a set of s columns beyond the fixed ones that may take the units from j on; infinite where they are
    too many for a float.
    """
    n_fixed = int(problem.fixed.sum())
    size = np.arange(problem.max_size - n_fixed + 1)
    counts = np.empty((len(problem.units) + 1, len(size)))
    counts[-1] = size + n_fixed >= problem.min_size
    for j in range(len(problem.units) - 1, -1, -1):
        width = len(problem.units[j])
        counts[j] = counts[j + 1]
        with np.errstate(over="ignore"):
            counts[j, : max(len(size) - width, 0)] += counts[j + 1, width:]
    return counts


def expand_units(problem: Problem, unit_masks: Masks) -> Masks:
    """Return sets of units, of shape (n_sets, n_units), as sets of columns with the fixed ones."""
    # Columns that belong to no unit stand beside the last one.
    unit_of = np.full(problem.n_columns, len(problem.units))
    if problem.units:
        unit_of[np.concatenate(problem.units)] = np.repeat(
            np.arange(len(problem.units)), [len(unit) for unit in problem.units]
        )
    none = np.zeros((len(unit_masks), 1), dtype=bool)
    return np.take(np.concatenate([unit_masks, none], axis=1), unit_of, axis=1) | problem.fixed


class UnitSetSampler:
    """All sets of units, by their number of columns.

    Units of one width are alike: a set of a given size is drawn in two lots, how many units of each width, then which.

    Parameters
    ----------
    units : list of ndarray
    max_size : int
        The largest number of columns in question.
    """

    def __init__(self, units: Sequence[NDArray[np.intp]], max_size: int) -> None:
        width = np.array([len(unit) for unit in units], dtype=np.intp)
        self._width_classes = [(int(value), np.flatnonzero(width == value)) for value in np.unique(width)]
        self._log_choices = [_log_binomials(len(alike)) for _, alike in self._width_classes]
        # The logarithm of the number of sets of every size, made of no kind, of the first kind, of the first two, ...
        self._log_counts = [np.where(np.arange(max_size + 1) == 0, 0.0, -np.inf)]
        for (value, _), ways in zip(self._width_classes, self._log_choices, strict=True):
            before, counts = self._log_counts[-1], np.full(max_size + 1, -np.inf)
            for size in np.flatnonzero(np.isfinite(before)).tolist():
                n = min(len(ways), (max_size - size) // value + 1)
                grown = counts[size : size + n * value : value]
                grown[:] = np.logaddexp(grown, before[size] + ways[:n])
            self._log_counts.append(counts)

    def log_counts(self) -> NDArray[np.float64]:
        """Return the logarithm of the number of sets of every size from 0 to `max_size`."""
        return self._log_counts[-1]

    def draw(self, sizes: NDArray[np.intp], rng: np.random.Generator) -> Masks:
        """Return a set of units of each of these sizes, all sets of a size with the same chance."""
        members = np.zeros((len(sizes), sum(len(alike) for _, alike in self._width_classes)), dtype=bool)
        for member, size in zip(members, sizes.tolist(), strict=True):
            left = size
            for kind in reversed(range(len(self._width_classes))):
                value, alike = self._width_classes[kind]
                # The first kind has to make up what is left.
                n = left // value if kind == 0 else self._draw_count(kind, left, rng)
                member[rng.permutation(alike)[:n]] = True
                left -= n * value
        return members

    def _draw_count(self, width_class: int, size: int, rng: np.random.Generator) -> int:
        value, alike = self._width_classes[width_class]
        n = np.arange(min(len(alike), size // value) + 1)
        chances = self._log_choices[width_class][n] + self._log_counts[width_class][size - value * n]
        sums = np.cumsum(np.exp(chances - chances.max()))
        return int(np.searchsorted(sums, rng.random() * sums[-1], side="right"))


def _log_binomials(n: int) -> NDArray[np.float64]:
    k = np.arange(n + 1)
    binomials: NDArray[np.float64] = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return binomials

"""Sets of units (columns or column groups): exact counts, expansion to column masks, and uniform random sampling by size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from scipy.special import gammaln

from tamiz.arrays import Floats, Indices, Masks
from tamiz.search.base import Problem


def count_sets(problem: Problem) -> int:
    """Return the number of allowed sets, as an exact integer."""
    n_fixed = int(problem.fixed.sum())
    max_free = problem.max_size - n_fixed
    # Number of sets by number of columns, of the units of the widths so far.
    counts = {0: 1}
    for width, n_units in sorted(Counter(map(len, problem.units)).items()):
        extended: Counter[int] = Counter()
        for size, count in counts.items():
            n_choices = 1
            for n_chosen in range(min(n_units, (max_free - size) // width) + 1):
                extended[size + n_chosen * width] += count * n_choices
                n_choices = n_choices * (n_units - n_chosen) // (n_chosen + 1)
        counts = extended
    return sum(count for size, count in counts.items() if problem.min_size <= n_fixed + size <= problem.max_size)


def count_completions(problem: Problem) -> Floats:
    """Return how many allowed sets extend a set of units by later units, the set itself included.

    Element (j, s) is for a set of s columns beyond the fixed ones that may be extended by the units from j on; infinite where the
    count exceeds the largest float.
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
    """Return masks of units, of shape (n_sets, n_units), as masks of columns that include the fixed columns."""
    # Columns without a unit get the number of an additional unit that is in no set.
    unit_of = np.full(problem.n_columns, len(problem.units))
    if problem.units:
        unit_of[np.concatenate(problem.units)] = np.repeat(
            np.arange(len(problem.units)), [len(unit) for unit in problem.units]
        )
    none = np.zeros((len(unit_masks), 1), dtype=bool)
    return np.take(np.concatenate([unit_masks, none], axis=1), unit_of, axis=1) | problem.fixed


class UnitSetSampler:
    """Draws sets of units of a given number of columns, uniformly.

    Units of equal width are exchangeable, so a set is drawn in two stages: how many units of each width, then which.

    Parameters
    ----------
    units : list of ndarray
    max_size : int
        The largest number of columns of a set.
    """

    def __init__(self, units: Sequence[Indices], max_size: int) -> None:
        width = np.array([len(unit) for unit in units], dtype=np.intp)
        self._width_classes = [(int(value), np.flatnonzero(width == value)) for value in np.unique(width)]
        self._log_choices = [_log_binomials(len(members)) for _, members in self._width_classes]
        # The logarithm of the number of sets of every size, made of no width class, of the first one, of the first two, ...
        self._log_counts = [np.where(np.arange(max_size + 1) == 0, 0.0, -np.inf)]
        for (value, _), log_choices in zip(self._width_classes, self._log_choices, strict=True):
            before, counts = self._log_counts[-1], np.full(max_size + 1, -np.inf)
            for size in np.flatnonzero(np.isfinite(before)).tolist():
                n = min(len(log_choices), (max_size - size) // value + 1)
                reached = counts[size : size + n * value : value]
                reached[:] = np.logaddexp(reached, before[size] + log_choices[:n])
            self._log_counts.append(counts)

    def log_counts(self) -> Floats:
        """Return the logarithm of the number of sets of every size from 0 to `max_size`."""
        return self._log_counts[-1]

    def draw(self, sizes: Indices, rng: np.random.Generator) -> Masks:
        """Return the mask of a random set of units for each of these sizes; all sets of a size are equally probable."""
        members = np.zeros((len(sizes), sum(len(units) for _, units in self._width_classes)), dtype=bool)
        for member, size in zip(members, sizes.tolist(), strict=True):
            remaining = size
            for width_class in reversed(range(len(self._width_classes))):
                value, units = self._width_classes[width_class]
                # The units of the first class make up the remaining columns.
                n = remaining // value if width_class == 0 else self._draw_count(width_class, remaining, rng)
                member[rng.permutation(units)[:n]] = True
                remaining -= n * value
        return members

    def _draw_count(self, width_class: int, size: int, rng: np.random.Generator) -> int:
        value, units = self._width_classes[width_class]
        n = np.arange(min(len(units), size // value) + 1)
        log_weights = self._log_choices[width_class][n] + self._log_counts[width_class][size - value * n]
        sums = np.cumsum(np.exp(log_weights - log_weights.max()))
        return int(np.searchsorted(sums, rng.random() * sums[-1], side="right"))


def _log_binomials(n: int) -> Floats:
    """Return log(n choose k) for k from 0 to n."""
    k = np.arange(n + 1)
    binomials: Floats = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return binomials

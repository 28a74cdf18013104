"""Random searches: a genetic algorithm, and random subsets as a baseline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from scipy.special import gammaln

from tamiz.arrays import Floats, Indices, Masks
from tamiz.runtime.validation import check_integer, check_real
from tamiz.search.archive import SubsetIndex
from tamiz.search.base import Candidates, Columns, Problem, Search, ShorthandParameter, Walk, count_sets, expand_units

_BATCH = 256


class RandomSubsets(Search):
    """Evaluate random sets of columns: a baseline for other searches with as many evaluations.

    The size is drawn uniformly from the allowed sizes, and the set uniformly from the sets of that size. No set is drawn twice.

    Parameters
    ----------
    n_subsets : int, default=1000
        Number of sets; all sets where there are fewer.
    start, fixed, excluded : list of column names or numbers, default=None
        The first set, columns to keep in every set, and columns to keep out of every set.
    column_groups : list of lists of column names or numbers, default=None
        Columns that are drawn together.

    Notes
    -----
    Cost `n_subsets` evaluations, 256 at a time. Drawing a set takes about 20 microseconds. Where `n_subsets` is close to the number
    of all sets, most draws are repetitions: use `Exhaustive` then. Among equal merits the smaller set is best, then the one of
    earlier columns.

    References
    ----------
    Bergstra and Bengio (2012), Random search for hyper-parameter optimization, Journal of Machine Learning Research 13.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz import SubsetSelector
    >>> from tamiz.criteria import CFS
    >>> from tamiz.search import RandomSubsets
    >>> X, y = load_iris(return_X_y=True)
    >>> SubsetSelector(CFS(), RandomSubsets(16), random_state=0).fit(X, y).get_support(indices=True)
    array([2, 3])
    """

    shorthand: ClassVar[ShorthandParameter | None] = ShorthandParameter("n_subsets")

    def __init__(
        self,
        n_subsets: int = 1000,
        *,
        start: Columns | None = None,
        fixed: Columns | None = None,
        excluded: Columns | None = None,
        column_groups: Sequence[Columns] | None = None,
    ) -> None:
        super().__init__(start=start, fixed=fixed, excluded=excluded, column_groups=column_groups)
        self.n_subsets = n_subsets

    def walk(self, problem: Problem, rng: np.random.Generator) -> Walk:
        """Yield batches of up to 256 sets."""
        n_subsets = check_integer("n_subsets", self.n_subsets, low=1)
        n_fixed = int(problem.fixed.sum())
        sampler, index = UnitSetSampler(problem.units, problem.max_size - n_fixed), SubsetIndex(problem.n_columns)
        # How many sets of every size are not drawn yet; counts are capped at exp(700), which no search uses up.
        n_left = np.rint(np.exp(np.minimum(sampler.log_counts(), 700.0)))
        n_left[: problem.min_size - n_fixed] = 0
        if problem.start is not None:
            first = Candidates.from_masks(problem.start)
            yield first
            index.add(index.keys(first))
            if problem.min_size <= problem.start.sum() <= problem.max_size:
                n_left[int(problem.start.sum()) - n_fixed] -= 1
        while len(index) < n_subsets and n_left.any():
            available = np.flatnonzero(n_left)
            sizes = available[rng.integers(len(available), size=min(_BATCH, n_subsets - len(index)))]
            masks = expand_units(problem, sampler.draw(sizes, rng))
            keys = index.keys(Candidates.from_masks(masks))
            new = index.are_new(keys)
            index.add(keys[new])
            n_left -= np.bincount(sizes[new], minlength=len(n_left))
            if new.any():
                yield Candidates.from_masks(masks[new])
        return f"{n_subsets:,} sets were drawn" if len(index) == n_subsets else "every set was drawn"

    def max_evaluations(self, problem: Problem) -> int:
        """Return `n_subsets`, or the number of allowed sets where it is smaller."""
        n_subsets = check_integer("n_subsets", self.n_subsets, low=1)
        # The start may have a size that is not allowed: one more set.
        return min(n_subsets, count_sets(problem) + (problem.start is not None))


# Mutations of a child that is not a new set, before it is left out.
_MAX_RETRIES = 5


class Genetic(Search):
    """Genetic algorithm: tournament selection, uniform crossover, mutation, and survival of the best sets.

    The first generation contains sets of all sizes, as many of 1 to 2 columns as of 2 to 4 or of 4 to 8. Every column of a child
    comes from one of its two parents at random. A mutation drops columns and adds as many on average, so that small sets stay
    small. A child that was evaluated before is mutated until it is new. The best sets among parents and children form the next
    generation.

    Parameters
    ----------
    population : int, default=100
        Sets in a generation.
    generations : int, default=200
        Number of generations, the first included.
    tournament : int, default=2
        A parent is the best of this many sets drawn from the previous generation.
    mutation : float, default=1.0
        Expected number of mutated columns of a child: half of them dropped, half added.
    start, fixed, excluded : list of column names or numbers, default=None
        A set of the first generation, columns to keep in every set, and columns to keep out of every set.
    column_groups : list of lists of column names or numbers, default=None
        Columns that are added and dropped together.

    Notes
    -----
    A generation is one batch. The search ends after population x generations evaluations, or when every set was evaluated; the
    default of 20,000 sets of 500 columns takes about a second with CFS, half of it for crossover and mutation. With
    `n_features`, a child of a size that is not allowed drops or adds as few columns as possible, preferably those that only one
    of its parents contains. Among equal merits the set with fewer columns ranks higher, then the one that was evaluated first.

    References
    ----------
    Goldberg (1989), Genetic algorithms in search, optimization and machine learning; Vafaie and De Jong (1992), Genetic
    algorithms as a tool for feature selection in machine learning; Leardi, Boggia and Terrile (1992), Genetic algorithms as a
    strategy for feature selection, Journal of Chemometrics 6.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tamiz import SubsetSelector
    >>> from tamiz.criteria import CFS
    >>> from tamiz.search import Genetic
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> selector = SubsetSelector(CFS(), Genetic(50, generations=40), random_state=0).fit(X, y)
    >>> selector.get_support(indices=True)
    array([ 1,  6,  7, 13, 20, 22, 23, 26, 27])
    """

    shorthand: ClassVar[ShorthandParameter | None] = ShorthandParameter("population")

    def __init__(
        self,
        population: int = 100,
        *,
        generations: int = 200,
        tournament: int = 2,
        mutation: float = 1.0,
        start: Columns | None = None,
        fixed: Columns | None = None,
        excluded: Columns | None = None,
        column_groups: Sequence[Columns] | None = None,
    ) -> None:
        super().__init__(start=start, fixed=fixed, excluded=excluded, column_groups=column_groups)
        self.population = population
        self.generations = generations
        self.tournament = tournament
        self.mutation = mutation

    def walk(self, problem: Problem, rng: np.random.Generator) -> Walk:
        """Yield one generation at a time."""
        n_members = check_integer("population", self.population, low=2)
        n_generations = check_integer("generations", self.generations, low=1)
        tournament = check_integer("tournament", self.tournament, low=1)
        mutation = check_real("mutation", self.mutation, low=0)
        breeder = _Breeder(problem, rng)
        members = breeder.first_generation(n_members)
        ranked, merits = members[:0], np.empty(0)
        for _ in range(n_generations):
            members, candidates = breeder.make_new(members)
            found = (yield candidates) if len(members) else np.empty(0)
            members, merits = np.concatenate([ranked, members]), np.concatenate([merits, found])
            # By merit; among equal merits by fewer units, then in order of evaluation.
            order = np.lexsort((members.sum(axis=1), -merits))[:n_members]
            ranked, merits = members[order], merits[order]
            if breeder.n_left == 0:
                return "every set was evaluated"
            one, other = ranked[rng.integers(len(ranked), size=(2, n_members, tournament)).min(axis=2)]
            members = breeder.breed(one, other, mutation)
        return f"{n_generations:,} generations were bred"

    def max_evaluations(self, problem: Problem) -> int:
        """Return population x generations, or the number of allowed sets where it is smaller."""
        n_members = check_integer("population", self.population, low=2)
        return min(n_members * check_integer("generations", self.generations, low=1), count_sets(problem))


class _Breeder:
    """Makes the members of generations, and keeps an index of those made so far. A member is a mask of units."""

    def __init__(self, problem: Problem, rng: np.random.Generator) -> None:
        n_fixed = int(problem.fixed.sum())
        self._problem = problem
        self._rng = rng
        self._min_size, self._max_size = problem.min_size - n_fixed, problem.max_size - n_fixed
        self._width = np.array([len(unit) for unit in problem.units], dtype=np.intp)
        self._sampler = UnitSetSampler(problem.units, self._max_size)
        sizes = np.flatnonzero(np.isfinite(self._sampler.log_counts()))
        self._sizes = sizes[sizes >= self._min_size]
        self._index = SubsetIndex(problem.n_columns)
        self.n_left = count_sets(problem)

    def first_generation(self, n_members: int) -> Masks:
        """Return the first generation: the start of other searches, and random sets of log-uniform sizes."""
        members = np.zeros((n_members, len(self._width)), dtype=bool)
        start = self._problem.smallest_start
        members[0] = [start[unit[0]] for unit in self._problem.units]
        sizes = self._sizes[self._sizes > 0] if self._sizes.any() else self._sizes
        weights = np.log1p(1 / np.maximum(sizes, 1))
        drawn = self._rng.choice(sizes, size=n_members - 1, p=weights / weights.sum())
        members[1:] = self._sampler.draw(drawn, self._rng)
        return self._repair_sizes(members, np.zeros_like(members))

    def breed(self, one: Masks, other: Masks, mutation: float) -> Masks:
        members = np.where(self._rng.random(one.shape) < 0.5, one, other)
        n_in = members.sum(axis=1, keepdims=True)
        n_out = members.shape[1] - n_in
        rates = 0.5 * mutation / np.maximum(np.where(members, n_in, n_out), 1)
        members ^= self._rng.random(members.shape) < rates
        return self._repair_sizes(members, one != other)

    def make_new(self, members: Masks) -> tuple[Masks, Candidates]:
        """Return the new members, as masks of units and as candidates; members that are not new are mutated first."""
        for n_retries in range(_MAX_RETRIES + 1):
            masks = expand_units(self._problem, members)
            keys = self._index.keys(Candidates.from_masks(masks))
            new = self._index.are_new(keys)
            if new.all() or new.sum() == self.n_left or n_retries == _MAX_RETRIES:
                break
            members[~new] = self._mutate(members[~new])
        self._index.add(keys[new])
        self.n_left -= int(new.sum())
        return members[new], Candidates.from_masks(masks[new])

    def _mutate(self, members: Masks) -> Masks:
        """Return the sets with one unit dropped, one unit added, or both."""
        draw = self._rng.random(len(members))
        some, all_ = members.any(axis=1), members.all(axis=1)
        members = members.copy()
        for rows, choice in (
            (np.flatnonzero(some & ((draw < 2 / 3) | all_)), members.copy()),
            (np.flatnonzero(~all_ & ((draw > 1 / 3) | ~some)), ~members),
        ):
            unit = np.argmax(self._rng.random(choice.shape) * choice, axis=1)
            members[rows, unit[rows]] ^= True
        return self._repair_sizes(members, np.zeros_like(members))

    def _repair_sizes(self, members: Masks, preferred: Masks) -> Masks:
        """Return the sets with units dropped or added until their sizes are allowed; `preferred` units are flipped first."""
        sizes = members @ self._width
        wrong = np.flatnonzero((sizes < self._min_size) | (sizes > self._max_size))
        if wrong.size and self._width.max() == 1:
            sets, surplus = members[wrong], sizes[wrong] - np.clip(sizes[wrong], self._min_size, self._max_size)
            # The units with the smallest draws are flipped.
            draws = self._rng.random(sets.shape) + ~preferred[wrong]
            draws[sets != (surplus > 0)[:, None]] = np.inf
            last = np.sort(draws, axis=1)[np.arange(len(wrong)), np.abs(surplus) - 1]
            members[wrong] = sets ^ (draws <= last[:, None])
            return members
        for row in wrong.tolist():
            self._repair_size(members[row], int(sizes[row]), preferred[row])
        return members

    def _repair_size(self, member: Masks, size: int, preferred: Masks) -> None:
        """Drop or add units of different widths, in random order, until the size is allowed."""
        units = np.flatnonzero(member == (size > self._max_size))
        order = [*self._rng.permutation(units[preferred[units]]), *self._rng.permutation(units[~preferred[units]])]
        sign = -1 if size > self._max_size else 1
        for unit in order:
            changed = size + sign * int(self._width[unit])
            if (changed >= self._min_size) if sign < 0 else (changed <= self._max_size):
                member[unit] ^= True
                size = changed
            if self._min_size <= size <= self._max_size:
                return
        # With column groups, drops alone or additions alone may reach no allowed size: draw a set of the nearest one instead.
        nearest = np.argmin(np.abs(self._sizes - size))
        member[:] = self._sampler.draw(self._sizes[[nearest]], self._rng)[0]


class UnitSetSampler:
    """Draws sets of units of a given number of columns, uniformly.

    Units of equal width are exchangeable, so a set is drawn in two stages: how many units of each width, then which.
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

"""Genetic search."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tamiz.arrays import Masks
from tamiz.runtime.validation import check_integer, check_real
from tamiz.search.base import Columns, Problem, Search, Walk
from tamiz.search.forward import starting_mask
from tamiz.search.subset_index import SubsetIndex
from tamiz.search.unit_sets import UnitSetSampler, count_sets, expand_units
from tamiz.subsets.candidates import Candidates

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
        start = starting_mask(self._problem)
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

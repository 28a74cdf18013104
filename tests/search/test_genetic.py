"""Genetic search and random subsets: results and distributions of their draws."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from tamiz.search import Exhaustive, Genetic, RandomSubsets
from tamiz.search.archive import Archive
from tamiz.search.runner import run_search
from tamiz.search.stochastic import UnitSetSampler

from ..reference import cfs as plain
from .merits import Quadratic, problem_of, search_in, sets_of


class Smooth(Quadratic):
    """CFS over correlations of random columns, all sets of a batch at once."""

    def __init__(self, seed, p, n=60):
        super().__init__(seed, p)
        rng = np.random.default_rng(seed)
        factors = rng.normal(size=(n, 4))
        columns = factors @ rng.normal(size=(4, p)) + 1.5 * rng.normal(size=(n, p))
        target = factors @ rng.normal(size=4) + rng.normal(size=n)
        shared = np.abs(np.corrcoef(np.column_stack([columns, target]).T))
        # On a grid, so that sums are exact.
        self.c, self.A = np.round(2**16 * shared[-1, :-1]) / 2**16, np.round(2**16 * shared[:-1, :-1]) / 2**16

    def evaluate(self, candidates):
        masks = candidates.masks().astype(float)
        total = ((masks @ self.A) * masks).sum(axis=1)
        return np.divide(masks @ self.c, np.sqrt(total), out=np.zeros(len(masks)), where=total > 0)

    def quadratic_form(self):
        return self.c, self.A


def archive_of(search, evaluator, p, seed, n_features=None):
    problem = problem_of(search, p, n_features, evaluator)
    archive = Archive(p, min_size=problem.min_size, max_size=problem.max_size)
    return run_search(search.walk(problem, np.random.default_rng(seed)), evaluator, archive)


def test_a_genetic_search_finds_the_best_of_ten_columns():
    for seed in range(6):
        evaluator = Smooth(seed, 10)
        best = search_in(Exhaustive(), evaluator, 10).best_merit
        assert archive_of(Genetic(20, generations=20), evaluator, 10, seed).best_merit == best


@pytest.mark.slow
@pytest.mark.parametrize("merit", [Smooth, Quadratic])
@pytest.mark.parametrize("problem", range(2))
def test_a_genetic_search_finds_the_best_of_fifteen_columns_in_19_of_20_seeds(merit, problem):
    evaluator = Smooth(problem, 15)
    if merit is Quadratic:
        evaluator.c, evaluator.A = (made := Quadratic(problem, 15)).c, made.A
    best = search_in(Exhaustive(), evaluator, 15).best_merit
    found = [archive_of(Genetic(), evaluator, 15, seed).best_merit for seed in range(20)]
    assert sum(merit == best for merit in found) >= 19


@pytest.mark.parametrize("n_features", [None, 4, (2, 5)], ids=str)
def test_a_genetic_search_beats_as_many_random_sets(n_features):
    for seed in range(2):
        evaluator = Smooth(seed, 60)
        ours, random = (
            archive_of(search, evaluator, 60, seed, n_features).best_merit
            for search in (Genetic(30, generations=30), RandomSubsets(900))
        )
        assert ours > random


class Meaningless(Quadratic):
    """A random merit for every set, so that there is no selection pressure."""

    def evaluate(self, candidates):
        return np.random.default_rng(len(self.asked)).random(len(candidates))


def test_sets_stay_small_where_nothing_is_selected_for():
    archive = archive_of(Genetic(100, generations=60), Meaningless(0, 400), 400, 1)
    # Flipping every column at the same rate would bring them near to 200.
    first, last = archive.sizes[:100], archive.sizes[-100:]
    assert 10 < np.exp(np.log(np.maximum(first, 1)).mean()) < 30
    assert 5 < np.median(last) < 80


def test_the_first_generation_has_as_many_sets_of_one_octave_of_sizes_as_of_another():
    archive = archive_of(Genetic(1000, generations=1), Meaningless(0, 255), 255, 0)
    octaves = np.bincount(np.log2(np.maximum(archive.sizes, 1)).astype(int))
    assert len(octaves) == 8
    assert octaves.min() > 90


def test_children_of_a_fixed_size_are_of_that_size_and_new():
    archive = archive_of(Genetic(50, generations=20, mutation=0.0), Smooth(0, 200), 200, 0, 12)
    assert set(archive.sizes.tolist()) == {12}
    assert len(archive) == 1000


def test_a_genetic_search_with_column_groups_keeps_the_sizes():
    groups = [list(range(3 * k, 3 * k + 3)) for k in range(8)]
    for n_features in (7, (8, 9), 40):
        archive = archive_of(
            Genetic(20, generations=10, column_groups=groups, fixed=[39]), Smooth(0, 40), 40, 0, n_features
        )
        least, most = n_features if isinstance(n_features, tuple) else (n_features, n_features)
        assert least <= archive.sizes.min() <= archive.sizes.max() <= most
        assert archive.masks[:, 39].all()


def test_a_genetic_search_ends_when_every_set_was_evaluated():
    archive = search_in(Genetic(), Quadratic(0, 5), 5)
    assert archive.stop_reason == "every set was evaluated"
    assert len(archive) == 2**5
    archive = search_in(Genetic(10, generations=5), Quadratic(0, 9), 9)
    assert archive.stop_reason == "5 generations were bred"
    # Sometimes no mutation of a child is new.
    assert 45 <= len(archive) <= 50


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"population": 1}, "population must be at least 2, got 1"),
        ({"generations": 0}, "generations must be at least 1, got 0"),
        ({"tournament": 0}, "tournament must be at least 1, got 0"),
        ({"mutation": -0.5}, "mutation must be at least 0, got -0.5"),
    ],
)
def test_a_genetic_search_refuses_invalid_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        search_in(Genetic(**parameters), Quadratic(0, 4), 4)


def test_random_subsets_are_as_many_as_asked_for_or_all_there_are():
    archive = search_in(RandomSubsets(100), Quadratic(0, 12), 12)
    assert len(archive) == 100
    assert archive.stop_reason == "100 sets were drawn"
    for n_features, n_all in ((None, 2**6), (2, 15), ((4, 6), 15 + 6 + 1)):
        archive = search_in(RandomSubsets(1000), Quadratic(0, 6), 6, n_features=n_features)
        assert len(archive) == n_all
        assert archive.stop_reason == "every set was drawn"
    with pytest.raises(ValueError, match="n_subsets must be at least 1, got 0"):
        search_in(RandomSubsets(0), Quadratic(0, 4), 4)


def test_every_size_has_the_same_chance_of_being_drawn():
    archive = search_in(RandomSubsets(4000), Smooth(0, 200), 200, n_features=(11, 20))
    counts = np.bincount(archive.sizes, minlength=21)[11:]
    assert counts.sum() == 4000
    # Five standard deviations of a share of a tenth.
    assert np.abs(counts - 400).max() < 5 * np.sqrt(4000 * 0.1 * 0.9)


def test_the_baseline_is_as_good_as_chance():
    evaluator = Quadratic(1, 8)
    every = sorted(evaluator.merit(s) for s in combinations(range(8), 3))
    ranks = []
    for seed in range(100):
        archive = archive_of(RandomSubsets(9), evaluator, 8, seed, 3)
        ranks.append(np.searchsorted(every, archive.best_merit, side="right") / len(every))
    # The best of nine draws has 9 / 10 of the ranks on average; ties lift it a little.
    assert 0.88 < np.mean(ranks) < 0.95


@pytest.mark.parametrize("widths", [[1] * 6, [1, 1, 2, 3], [2, 2, 3, 3, 3], [4]], ids=str)
def test_every_set_of_a_size_has_the_same_chance(widths):
    units = np.split(np.arange(sum(widths)), np.cumsum(widths)[:-1])
    choices, rng = UnitSetSampler(units, sum(widths)), np.random.default_rng(0)
    sets = [s for n in range(len(widths) + 1) for s in combinations(range(len(widths)), n)]
    of_size = Counter(sum(widths[j] for j in s) for s in sets)
    counts = [of_size[size] for size in range(sum(widths) + 1)]
    np.testing.assert_allclose(np.exp(choices.log_counts()), counts, rtol=1e-12)
    for size, n_sets in of_size.items():
        n_draws = 200 * n_sets
        drawn = Counter(map(bytes, choices.draw(np.full(n_draws, size), rng)))
        assert len(drawn) == n_sets
        assert {sum(width for width, taken in zip(widths, s, strict=True) if taken) for s in drawn} == {size}
        # Five standard deviations.
        assert np.abs(np.array([*drawn.values()]) - 200).max() <= 5 * np.sqrt(200)


def test_different_seeds_draw_different_sets():
    for search in (Genetic(10, generations=3), RandomSubsets(30)):
        runs = [sets_of(archive_of(search, Quadratic(0, 12), 12, seed)) for seed in (0, 0, 1)]
        assert runs[0] == runs[1]
        assert runs[0] != runs[2]


def test_a_genetic_search_from_a_start_that_is_too_large_keeps_the_size():
    start = [0, 1, 2, 3, 4, 5]
    archive = search_in(Genetic(10, generations=2, start=start), Quadratic(0, 12), 12, n_features=4)
    assert set(sets_of(archive)[0]) < set(start)
    assert len(sets_of(archive)[0]) == 4


def test_the_best_set_found_is_the_best_of_all_where_all_are_seen():
    for seed in range(8):
        evaluator = Quadratic(seed, 6)
        for search in (Genetic(), RandomSubsets()):
            assert search_in(search, evaluator, 6).best_merit == evaluator.merit(plain.exhaustive(evaluator.merit, 6))

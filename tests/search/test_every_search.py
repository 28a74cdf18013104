"""Properties of every search of the registry, on merits with many ties and on CFS of a table."""

from functools import cache

import numpy as np
import pytest

from tamiz.criteria import CFS
from tamiz.runtime import parallel
from tamiz.search import Beam, BestFirst, Evaluations, Genetic, RandomSubsets, RecursiveElimination, registry
from tamiz.search.base import Candidates, Evaluator
from tamiz.search.journal import Journal

from ..statistics.mixed_tables import make_mixed
from .merits import Quadratic, best_of, losses, problem_of, search_in, sets_of, subset_of

P = 7
ALL = (np.arange(2**P)[:, None] >> np.arange(P) & 1).astype(bool)
SIZES = [None, 3, (2, 4)]
REGISTERED = {entry.name: (entry.load(), {}) for entry in registry.of_kind("search")}
# Exact searches choose their starting sets, and may record only sets that were better than all before.
EXACT = ["exhaustive", "branch_and_bound"]
MAKERS = REGISTERED | {
    "best_first backward": (BestFirst, {"direction": "backward", "patience": 2}),
    "best_first bidirectional": (BestFirst, {"direction": "bidirectional"}),
    "beam of 1": (Beam, {"width": 1}),
    "genetic of few": (Genetic, {"population": 8, "generations": 6}),
    "random_subsets of few": (RandomSubsets, {"n_subsets": 30}),
    "recursive_elimination of two": (RecursiveElimination, {"step": 2}),
    "recursive_elimination of a share": (RecursiveElimination, {"step": 0.4}),
}
every_search = pytest.mark.parametrize("name", MAKERS)
every_walk = pytest.mark.parametrize("name", [name for name in MAKERS if name not in EXACT])


def made(name, **parameters):
    search, usual = MAKERS[name]
    return search(**usual, **parameters)


class Known(Quadratic):
    """A merit that provides its quadratic form and importances."""

    def quadratic_form(self):
        return self.c, self.A

    def importances(self, mask, units, n_repeats, getter="auto"):
        asked = self.asked
        # The evaluated sets are the proposed ones.
        self.asked = []
        worth = losses(self, mask, units)
        self.asked = asked
        return worth


class OfTable(Evaluator):
    """CFS of a mixed table that records the evaluated sets."""

    def __init__(self, seed, p):
        table = make_mixed(seed, n=60, n_numbers=p - p // 2, n_codes=p // 2, missing=0)
        opened = table.table()
        with parallel.thread_session():
            self.cfs = CFS().bind(opened, np.random.default_rng(0))
        self.asked = []

    def evaluate(self, candidates):
        self.asked += [subset_of(mask) for mask in candidates.masks()]
        return self.cfs.evaluate(candidates)

    def quadratic_form(self):
        return self.cfs.quadratic_form()

    def importances(self, mask, units, n_repeats, getter="auto"):
        return losses(self.cfs, mask, units)


MERITS = {"quadratic": (Known, range(4)), "table": (OfTable, range(2))}


@cache
def merits_of_all(kind, seed):
    return MERITS[kind][0](seed, P).evaluate(Candidates.from_masks(ALL))


@cache
def searched(name, kind, seed, n_features):
    evaluator = MERITS[kind][0](seed, P)
    return search_in(made(name), evaluator, P, n_features=n_features), evaluator.asked


def runs(name, sizes=SIZES):
    for kind, (_, seeds) in MERITS.items():
        for seed in seeds:
            for n_features in sizes:
                yield (kind, seed, n_features), *searched(name, kind, seed, n_features)


def allowed(masks, n_features):
    least, most = (0, P) if n_features is None else n_features if isinstance(n_features, tuple) else (n_features,) * 2
    return (masks.sum(axis=1) >= least) & (masks.sum(axis=1) <= most)


@every_search
def test_a_search_ends_and_states_the_reason(name):
    for case, archive, _ in runs(name):
        assert archive.stop_reason, case
        assert not archive.interrupted


@every_search
def test_a_search_evaluates_no_set_twice(name):
    for case, archive, asked in runs(name):
        assert len(set(asked)) == len(asked), case
        if name not in EXACT:
            assert sets_of(archive) == asked, case


@every_search
def test_a_search_chooses_a_set_of_the_size_asked_for_no_better_than_the_best_of_all(name):
    for case, archive, _ in runs(name):
        kind, seed, n_features = case
        chosen = archive.mask(archive.best)
        assert allowed(chosen[None], n_features).all(), case
        assert archive.best_merit <= merits_of_all(kind, seed)[allowed(ALL, n_features)].max(), case
        assert archive.best_merit == merits_of_all(kind, seed)[(chosen == ALL).all(axis=1)]


@every_search
def test_a_search_evaluates_no_more_sets_than_its_limit(name):
    for case, archive, _ in runs(name):
        most = made(name).max_evaluations(problem_of(made(name), P, case[2]))
        assert most is None or archive.n_evaluations <= most, case


@every_search
def test_two_runs_are_equal(name):
    for kind in MERITS:
        first, _ = searched(name, kind, 1, (2, 4))
        again = search_in(made(name), MERITS[kind][0](1, P), P, n_features=(2, 4))
        assert sets_of(again) == sets_of(first)
        np.testing.assert_array_equal(again.merits, first.merits)
        assert (again.best, again.improvements, again.stop_reason) == (
            first.best,
            first.improvements,
            first.stop_reason,
        )


@every_walk
def test_a_number_of_evaluations_gives_a_beginning_of_the_whole(name):
    whole, _ = searched(name, "quadratic", 3, None)
    for most in range(1, min(len(whole), 60) + 1, 7):
        archive = search_in(made(name), Known(3, P), P, stop=Evaluations(most))
        assert sets_of(archive) == sets_of(whole)[:most]
        assert archive.stop_reason == f"{most} evaluation{'s' * (most > 1)} made"


@every_search
def test_a_search_goes_on_from_wherever_its_journal_was_cut_off(tmp_path, name):
    def run(path):
        return search_in(made(name), Known(3, 4), 4, journal=lambda archive: Journal(path, {}, archive.n_columns))

    whole = run(tmp_path / "whole")
    written = (tmp_path / "whole").read_bytes()
    for length in range(0, len(written) + 1, 1 + len(written) // 10):
        (tmp_path / "cut").write_bytes(written[:length])
        archive = run(tmp_path / "cut")
        assert (tmp_path / "cut").read_bytes() == written, length
        assert sets_of(archive) == sets_of(whole)
        assert (archive.best, archive.improvements, archive.stop_reason) == (
            whole.best,
            whole.improvements,
            whole.stop_reason,
        )


@every_search
def test_fixed_columns_are_in_every_set_and_excluded_ones_in_none(name):
    for seed in range(2):
        for n_features in (None, 3, (2, 4)):
            archive = search_in(made(name, fixed=["x1", 3], excluded=[0]), Known(seed, P), P, n_features=n_features)
            assert archive.masks[:, [1, 3]].all()
            assert not archive.masks[:, 0].any()
            assert allowed(archive.mask(archive.best)[None], n_features).all()


@every_search
def test_columns_of_a_group_move_together(name):
    for seed in range(3):
        masks = search_in(made(name, column_groups=[[0, "x2"], [3, 4, 5]]), Known(seed, P), P).masks
        assert (masks[:, 0] == masks[:, 2]).all()
        assert (masks[:, 3] == masks[:, 4]).all()
        assert (masks[:, 3] == masks[:, 5]).all()


GROUPINGS = [[[0, 1, 2], [3, 4, 5]], [[0, 3], [1, 2, 5]], [[0, 1, 2, 3, 4]]]


@every_search
@pytest.mark.parametrize("groups", GROUPINGS, ids=str)
def test_every_size_that_groups_can_have_is_reached(name, groups):
    singles = P - sum(map(len, groups))
    sums = {
        sum(len(g) for g, taken in zip(groups, bits, strict=True) if taken) for bits in np.ndindex(*[2] * len(groups))
    }
    for size in range(1, P + 1):
        search = made(name, column_groups=groups)
        if not any(s <= size <= s + singles for s in sums):
            with pytest.raises(ValueError, match=f"No set has n_features={size} columns, because .* ask for"):
                problem_of(search, P, size)
            continue
        assert len(best_of(search_in(search, Known(size, P), P, n_features=size))) == size


@every_walk
def test_a_search_begins_at_its_start(name):
    for n_features in (None, (2, 4)):
        search = made(name, start=[1], fixed=[4], excluded=[2])
        assert sets_of(search_in(search, Known(0, P), P, n_features=n_features))[0] == (1, 4)


@every_search
def test_a_search_over_no_column_finds_the_fixed_ones(name):
    archive = search_in(made(name, fixed=[1], excluded=[0, 2]), Known(0, 3), 3)
    assert best_of(archive) == (1,)
    assert archive.n_evaluations == 1


@every_search
def test_a_search_changes_neither_itself_nor_its_problem(name):
    search = made(name, fixed=[1])
    problem = problem_of(search, P, (2, 4))
    before = repr(search), repr(problem)
    search_in(search, Known(0, P), P, n_features=(2, 4))
    assert (repr(search), repr(problem)) == before

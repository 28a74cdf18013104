"""Exhaustive search by codes, by combinations and set by set, against the plain enumeration of all sets."""

from math import comb

import numpy as np
import pytest

from tamiz.kernels import subset_merits as kernels
from tamiz.runtime import parallel
from tamiz.search import Evaluations, Exhaustive, exhaustive
from tamiz.search.quadratic import UnitQuadraticForm

from .exact_problems import Known, LeastSquares, Smooth, asked, plain, possible, varied
from .merits import Quadratic, best_of, problem_of, search_in, sets_of


@pytest.fixture(params=["codes", "combinations", "one by one"])
def way(request, monkeypatch):
    """The order of enumeration; with small blocks, so that there are many."""
    if request.param == "combinations":
        monkeypatch.setattr(exhaustive, "_MAX_CODES_PER_SET", 0)
    monkeypatch.setattr(exhaustive, "_N_LOW_UNITS", 2)
    monkeypatch.setattr(exhaustive, "_CODES_PER_BLOCK", 8)
    monkeypatch.setattr(exhaustive, "_CODES_PER_PROPOSAL", 32)
    monkeypatch.setattr(exhaustive, "_SETS_PER_BLOCK", 5)
    monkeypatch.setattr(exhaustive, "_SETS_PER_PROPOSAL", 40)
    return request.param


def merit(way, seed, p):
    return varied(Quadratic(seed, p) if way == "one by one" else (Smooth if seed % 3 else Known)(seed, p), seed)


def test_all_sets_are_evaluated_and_the_best_is_that_of_the_plain_search(way):
    for seed in range(120):
        p = 1 + seed % 8
        parts, sizes = asked(seed, p)
        search, evaluator = Exhaustive(**parts), merit(way, seed, p)
        if not possible(search, evaluator, p, sizes):
            continue
        problem = problem_of(search, p, sizes, evaluator)
        best, count = plain(problem, evaluator.merit)
        archive = search_in(search, evaluator, p, n_features=sizes)
        assert archive.n_evaluations == count == search.max_evaluations(problem), seed
        assert best_of(archive) == best, seed
        assert archive.best_merit == evaluator.merit(best) == archive.bound
        assert archive.stop_reason == "every set of an allowed size was evaluated"


def test_evaluations_are_cut_exactly_at_every_number(way):
    for seed, sizes in ((1, None), (6, (2, 4)), (9, 3)):
        whole = search_in(Exhaustive(column_groups=[[1, 4]]), merit(way, seed, 7), 7, n_features=sizes)
        before = -np.inf
        for most in range(1, whole.n_evaluations + 2):
            archive = search_in(
                Exhaustive(column_groups=[[1, 4]]), merit(way, seed, 7), 7, n_features=sizes, stop=Evaluations(most)
            )
            assert archive.n_evaluations == min(most, whole.n_evaluations)
            assert archive.best_merit >= before
            before = archive.best_merit
        assert best_of(archive) == best_of(whole)
        assert archive.bound == whole.bound


def test_the_archive_is_the_same_at_any_number_of_threads(way):
    for seed in range(8):
        archives = []
        for n_jobs in (1, 2):
            with parallel.thread_session(n_jobs):
                archives.append(search_in(Exhaustive(), merit(way, seed, 8), 8))
        one, two = archives
        assert sets_of(one) == sets_of(two)
        np.testing.assert_array_equal(one.merits, two.merits)
        assert one.n_unrecorded == two.n_unrecorded


def test_of_equal_sets_the_smaller_and_then_the_one_of_earlier_columns_is_best(way):
    class Alike(Known if way != "one by one" else Quadratic):
        def __init__(self, p):
            super().__init__(0, p)
            self.c, self.A = np.ones(p), np.ones((p, p))

    assert best_of(search_in(Exhaustive(), Alike(7), 7)) == (0,)
    assert best_of(search_in(Exhaustive(excluded=[0]), Alike(7), 7, n_features=(2, 4))) == (1, 2)
    assert best_of(search_in(Exhaustive(column_groups=[[0, 5]]), Alike(7), 7, n_features=2)) == (0, 5)


def test_codes_and_combinations_agree_to_the_bit_on_millions_of_sets():
    evaluator = Smooth(4, 22)
    for sizes in ((0, 22), (3, 3), (5, 9)):
        sums = UnitQuadraticForm.from_problem(
            problem_of(Exhaustive(), 22, None if sizes == (0, 22) else sizes, evaluator)
        )
        terms = sums.unit_terms()
        best, found = np.array([-np.inf]), np.array([-1, 0])
        n_codes = kernels.evaluate_codes(terms, 9, 0, 2**13, 2**62, best, found)
        beside, units = np.array([-np.inf]), np.full(24, -1)
        prefix = np.empty(0, dtype=np.int64)
        n_combinations = kernels.evaluate_combinations(terms, prefix, 0, 22, True, 2**62, beside, units)
        # Combinations do not contain the set without units.
        assert n_codes == n_combinations + (sizes[0] == 0) == sum(comb(22, k) for k in range(sizes[0], sizes[1] + 1))
        assert best[0] == beside[0]
        assert [u for u in range(22) if found[1] >> (21 - u) & 1] == units[2 : 2 + units[1]].tolist()


def test_three_of_sixty_columns_are_gone_through_as_combinations():
    evaluator = Smooth(2, 60)
    archive = search_in(Exhaustive(), evaluator, 60, n_features=3)
    assert archive.n_evaluations == comb(60, 3)
    i, j, k = np.array([(i, j, k) for i in range(60) for j in range(i) for k in range(j)]).T
    c, A = evaluator.quadratic_form()
    totals = A[i, i] + A[j, j] + A[k, k] + 2 * (A[i, j] + A[i, k] + A[j, k])
    merits = (c[i] + c[j] + c[k]) / np.sqrt(totals)
    best = int(np.argmax(merits))
    assert best_of(archive) == tuple(sorted((i[best], j[best], k[best])))
    assert archive.best_merit == pytest.approx(merits[best], rel=1e-12)


def test_another_merit_is_evaluated_in_the_order_of_size_with_children_of_one_parent_together():
    evaluator = LeastSquares(0, 11)
    problem = problem_of(Exhaustive(), 11, (2, 3), evaluator)
    batches = list(exhaustive.all_candidates(problem))
    archive = search_in(Exhaustive(), evaluator, 11, n_features=(2, 3))
    assert len(archive) == comb(11, 2) + comb(11, 3)
    assert archive.n_unrecorded == 0
    subsets = sets_of(archive)
    assert subsets == sorted(subsets, key=lambda subset: (len(subset), subset))
    assert sum(len(batch.parents) for batch in batches) == 10 + comb(10, 2)


def test_a_matrix_that_is_not_of_numbers_is_evaluated_set_by_set():
    evaluator = Known(0, 5)
    evaluator.quadratic_form = lambda: (evaluator.c, np.full((5, 5), np.nan))
    archive = search_in(Exhaustive(), evaluator, 5)
    assert len(archive) == 2**5


def test_sets_are_counted_to_the_last_one():
    def count(n_features, p=500, **parts):
        search = Exhaustive(**parts)
        return search.max_evaluations(problem_of(search, p, n_features))

    assert count(None) == 2**500
    assert count(3) == comb(500, 3)
    assert count(3, fixed=[7], excluded=[1, 2]) == comb(497, 2)
    # One group of three, two pairs and 493 single columns.
    groups = [[0, 1, 2], [3, 4], [5, 6]]
    assert count(3, column_groups=groups) == comb(493, 3) + 2 * comb(493, 1) + 1
    assert count((1, 2), column_groups=groups) == comb(493, 2) + 493 + 2


class Interrupted(Known):
    def evaluate(self, candidates):
        if self.asked:
            raise KeyboardInterrupt
        return super().evaluate(candidates)


def test_control_c_keeps_the_best_so_far_and_proves_nothing(monkeypatch):
    for name, value in (("_CODES_PER_BLOCK", 8), ("_CODES_PER_PROPOSAL", 8), ("_N_LOW_UNITS", 2)):
        monkeypatch.setattr(exhaustive, name, value)
    archive = search_in(Exhaustive(), Interrupted(3, 8), 8)
    assert archive.interrupted
    assert len(archive) == 1
    assert archive.bound is None

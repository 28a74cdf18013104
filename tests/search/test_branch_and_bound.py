"""Branch and bound finds the set and merit of the exhaustive search, and its bounds are valid."""

import numpy as np
import pytest

from tamiz.kernels import branching as kernels
from tamiz.runtime import parallel
from tamiz.search import BranchAndBound, Evaluations, Exhaustive, branch_and_bound
from tamiz.search.base import Evaluator
from tamiz.search.branch_and_bound import ConvexRelaxation, hill_climb, smallest_allowed_set
from tamiz.search.quadratic import UnitQuadraticForm
from tamiz.search.stopping import StoppingRule
from tamiz.statistics.exact_sums import round_to_scale

from .exact_problems import Known, LeastSquares, Smooth, asked, plain, possible, varied
from .merits import Quadratic, best_of, problem_of, search_in, sets_of, subset_of


def merit(seed, p):
    return varied((Smooth if seed % 3 else Known)(seed, p), seed // 3)


def cut_small(monkeypatch, seed):
    """Allow few bounds and levels for each node, so that nodes return to the queue often."""
    monkeypatch.setattr(branch_and_bound, "_BOUNDS_PER_NODE", [1000, 1, 3, 20][seed % 4])
    monkeypatch.setattr(branch_and_bound, "_NODES_PER_STEP", [16, 1, 5][seed % 3])
    monkeypatch.setattr(branch_and_bound, "_MAX_DEPTH", [64, 2, 3][seed % 3])


@pytest.mark.slow
def test_it_finds_the_set_and_the_merit_of_the_exhaustive_search_and_proves_it(monkeypatch):
    for seed in range(240):
        p = 1 + seed % 11
        cut_small(monkeypatch, seed)
        parts, sizes = asked(seed, p)
        if not possible(Exhaustive(**parts), merit(seed, p), p, sizes):
            continue
        expected = search_in(Exhaustive(**parts), merit(seed, p), p, n_features=sizes)
        archive = search_in(BranchAndBound(**parts), merit(seed, p), p, n_features=sizes)
        assert best_of(archive) == best_of(expected), seed
        assert archive.best_merit == expected.best_merit == archive.bound
        assert archive.n_evaluations <= expected.n_evaluations + 2
        assert archive.stop_reason == "no set is better"


@pytest.mark.slow
def test_totals_that_are_zero_or_negative_hide_no_better_set():
    # A column without relevance can lift a total above 0.
    for seed in range(250):
        rng = np.random.default_rng(seed)
        p = 2 + seed % 6
        problem = Known(seed, p)
        problem.c = rng.integers(-1, 3, p).astype(float)
        half = rng.integers(-2, 3, (p, p)) * (rng.random((p, p)) < 0.6)
        problem.A = (np.triu(half, 1) + np.triu(half, 1).T + np.diag(rng.integers(0, 3, p))).astype(float)
        problem.merit = lambda subset, of=problem: signed_merit(of, subset)
        problem.evaluate = lambda candidates, of=problem: np.array(
            [of.merit(x) for x in map(subset_of, candidates.masks())]
        )
        expected, archive = search_in(Exhaustive(), problem, p), search_in(BranchAndBound(), problem, p)
        assert best_of(archive) == best_of(expected), seed
        assert archive.best_merit == expected.best_merit == archive.bound


def signed_merit(problem, subset):
    total = problem.A[np.ix_(subset, subset)].sum()
    return float(problem.c[list(subset)].sum() / np.sqrt(total)) if total > 0 else 0.0


@pytest.mark.parametrize("size", [1e6, 1e12, 1e15])
def test_pairs_far_beyond_what_columns_are_by_themselves_end_the_search_all_the_same(size):
    problem = Known(3, 8)
    problem.A = round_to_scale(problem.A + size * (1 - np.eye(8)), 2.0**60)
    problem.merit = lambda subset: signed_merit(problem, subset)
    problem.evaluate = lambda candidates: np.array([problem.merit(x) for x in map(subset_of, candidates.masks())])
    expected, archive = search_in(Exhaustive(), problem, 8), search_in(BranchAndBound(), problem, 8)
    assert archive.best_merit == pytest.approx(expected.best_merit, rel=1e-9)


@pytest.mark.parametrize("sizes", [None, 3, 9, 16, (5, 7)])
def test_of_correlated_columns_it_evaluates_few_sets(sizes):
    for seed in range(4):
        expected = search_in(Exhaustive(), Smooth(seed, 18, n_factors=6), 18, n_features=sizes)
        archive = search_in(BranchAndBound(), Smooth(seed, 18, n_factors=6), 18, n_features=sizes)
        assert best_of(archive) == best_of(expected)
        assert archive.best_merit == expected.best_merit
        assert archive.n_evaluations < 200


def test_stopped_at_any_number_of_sets_the_bound_is_valid_and_never_rises(monkeypatch):
    n_bounds = 0
    for seed in range(0, 60, 5):
        cut_small(monkeypatch, seed)
        p, sizes = 10, [None, 4, (3, 6)][seed % 3]
        best = search_in(Exhaustive(), merit(seed, p), p, n_features=sizes).best_merit
        whole = search_in(BranchAndBound(), merit(seed, p), p, n_features=sizes)
        before = np.inf
        for most in np.unique(np.geomspace(1, whole.n_evaluations, 10).astype(int)).tolist():
            archive = search_in(BranchAndBound(), merit(seed, p), p, n_features=sizes, stop=Evaluations(most))
            assert archive.n_evaluations == most or archive.stop_reason == "no set is better"
            assert archive.best_merit <= best
            if archive.bound is not None:
                assert best <= archive.bound <= before
                before = archive.bound
                n_bounds += 1
    assert n_bounds > 20


def test_the_archive_is_the_same_at_any_number_of_threads(monkeypatch):
    monkeypatch.setattr(branch_and_bound, "_BOUNDS_PER_NODE", 5)
    for seed in range(6):
        archives = []
        for n_jobs in (1, 2):
            with parallel.thread_session(n_jobs):
                archives.append(search_in(BranchAndBound(), Smooth(seed, 30, n_factors=8), 30))
        one, two = archives
        assert sets_of(one) == sets_of(two)
        np.testing.assert_array_equal(one.merits, two.merits)
        assert (one.n_unrecorded, one.bound) == (two.n_unrecorded, two.bound)


def sums_of(evaluator, n_features=None, **parts):
    return UnitQuadraticForm.from_problem(problem_of(BranchAndBound(**parts), len(evaluator.c), n_features, evaluator))


def test_no_set_of_a_node_exceeds_its_bound_and_good_bounds_are_close():
    excess = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        evaluator, n = merit(seed, 9), 9
        least, most = [(0, 9), (4, 4), (3, 6)][seed % 3]
        sums = sums_of(evaluator, (max(least, 1), most) if least else None)
        relaxed = ConvexRelaxation.from_form(sums)
        state = rng.integers(0, 3, n)
        members, undecided = state == 0, state == 1
        merits = []
        for code in range(1, 2**n):
            chosen = (code >> np.arange(n) & 1).astype(bool)
            if (chosen <= undecided).all() and least <= (chosen | members).sum() <= most:
                merits.append(evaluator.merit(np.flatnonzero(chosen | members)))
        bound = kernels.upper_bound(relaxed.bound_terms(sums), members, undecided, 1e-6, np.inf)
        if merits:
            assert max(merits) <= bound, seed
            if max(merits) > 0 and seed // 3 % 8 != 4:
                excess.append(bound / max(merits) - 1)
    assert np.median(excess) < 0.02


def test_the_convex_part_is_convex_and_its_diagonal_beats_the_smallest_eigenvalue():
    for seed in range(12):
        sums = sums_of(merit(seed, 9))
        convex = ConvexRelaxation.from_form(sums).convex
        matrix = sums.pair_terms.sum(axis=0) / 2 + np.diag(sums.self_terms.sum(axis=0))
        moved = np.diagonal(matrix) - np.diagonal(convex)
        np.testing.assert_allclose(convex + np.diag(moved), matrix, rtol=0, atol=1e-9)
        assert np.linalg.eigvalsh(convex)[0] > 0
        if np.ptp(np.diagonal(matrix)) == 0:
            assert moved.sum() >= len(matrix) * (np.linalg.eigvalsh(matrix)[0] - 1e-6)


def test_a_unit_that_is_not_wanted_is_in_no_best_set():
    dropped = 0
    for seed in range(60):
        evaluator, sizes = merit(seed, 9), [None, 4, (3, 6)][seed % 3]
        sums = sums_of(evaluator, sizes)
        relaxed = ConvexRelaxation.from_form(sums)
        best, _ = plain(problem_of(Exhaustive(), 9, sizes, evaluator), evaluator.merit)
        wanted = np.empty(9, dtype=bool)
        kernels.mark_possible_units(relaxed.bound_terms(sums), evaluator.merit(best), wanted)
        assert wanted[list(best)].all(), seed
        dropped += (~wanted).sum()
    assert dropped > 100


def test_units_are_equivalent_when_they_can_be_exchanged():
    evaluator = Smooth(0, 6)
    same = np.array([0, 1, 0, 3, 1, 0])
    evaluator.c, evaluator.A = evaluator.c[same], evaluator.A[np.ix_(same, same)]
    assert ConvexRelaxation.from_form(sums_of(evaluator)).first_equivalent.tolist() == same.tolist()
    evaluator.A[4, 3] = evaluator.A[3, 4] = 0.5
    assert ConvexRelaxation.from_form(sums_of(evaluator)).first_equivalent.tolist() == [0, 1, 0, 3, 4, 0]


def test_of_equivalent_columns_the_first_are_tried_first():
    evaluator = Smooth(3, 5)
    copies = np.tile(np.arange(5), 3)
    evaluator.c, evaluator.A = evaluator.c[copies], evaluator.A[np.ix_(copies, copies)]
    for sizes in (None, 2, 7):
        expected = search_in(Exhaustive(), evaluator, 15, n_features=sizes)
        archive = search_in(BranchAndBound(), evaluator, 15, n_features=sizes)
        assert best_of(archive) == best_of(expected)
        assert archive.bound == archive.best_merit == expected.best_merit
        assert archive.n_evaluations < 60


@pytest.mark.parametrize("sizes", [None, 10, (5, 20)])
def test_without_informative_columns_the_first_set_is_proven_optimal_at_once(sizes):
    evaluator = Smooth(2, 40)
    evaluator.c = evaluator.c * 0
    archive = search_in(BranchAndBound(), evaluator, 40, n_features=sizes)
    least = {None: 0, 10: 10}.get(sizes, 5)
    assert best_of(archive) == tuple(range(least))
    assert archive.bound == archive.best_merit == 0
    assert archive.n_evaluations < 5


def test_climbing_ends_where_no_single_change_is_better():
    for seed in range(30):
        evaluator, sizes = merit(seed, 8), [None, 4, (3, 6)][seed % 3]
        sums = sums_of(evaluator, sizes)
        start = smallest_allowed_set(problem_of(BranchAndBound(), 8, sizes, evaluator))
        members = hill_climb(sums, start)
        reached = evaluator.merit(np.flatnonzero(members))
        assert reached == sums.merit(members)
        for j in range(8):
            for k in range(j, 8):
                other = members.copy()
                other[[j, k]] ^= True
                if j != k and members[j] == members[k]:
                    continue
                if sums.size_limits[1] <= other.sum() <= sums.size_limits[2]:
                    assert evaluator.merit(np.flatnonzero(other)) <= reached


def test_the_first_set_is_the_smallest_and_of_those_the_earliest():
    search = BranchAndBound(column_groups=[[0, 3, 4], [1, 5]], fixed=[2])
    problem = problem_of(search, 8, (4, 8), Known(0, 8))
    first = smallest_allowed_set(problem)
    # With column 2 three more columns are needed: the group of three comes first.
    assert [problem.units[j].tolist() for j in np.flatnonzero(first)] == [[0, 3, 4]]


def test_a_start_is_the_first_set():
    archive = search_in(BranchAndBound(start=[5, 6]), Smooth(1, 8), 8)
    assert sets_of(archive)[0] == (5, 6)
    # A start of another size is the beginning of a hill climb, and is not evaluated.
    archive = search_in(BranchAndBound(start=[5, 6]), Smooth(1, 8), 8, n_features=3)
    assert (archive.sizes == 3).all()


def test_the_result_is_within_the_optimality_gap():
    for seed in range(20):
        best = search_in(BranchAndBound(), Smooth(seed, 14, n_factors=5), 14).best_merit
        archive = search_in(BranchAndBound(optimality_gap=0.05), Smooth(seed, 14, n_factors=5), 14)
        assert best <= archive.bound == archive.best_merit + 0.05
        assert archive.stop_reason == "no set is better by more than 0.05"
    with pytest.raises(ValueError, match="optimality_gap must be at least 0, got -1"):
        search_in(BranchAndBound(optimality_gap=-1), Smooth(0, 4), 4)


@pytest.mark.parametrize("sizes", [None, 1, 3, (2, 4), 7])
def test_a_merit_with_a_bound_of_its_own_is_searched_by_dropping_columns(sizes):
    n_saved = 0
    for seed in range(6):
        parts = [{}, {"fixed": [1]}, {"excluded": [2], "column_groups": [[0, 5]]}][seed % 3]
        if sizes == 7 and "excluded" in parts:
            parts = {}
        if not possible(Exhaustive(**parts), LeastSquares(seed, 8), 8, sizes):
            continue
        expected = search_in(Exhaustive(**parts), LeastSquares(seed, 8), 8, n_features=sizes)
        evaluator = LeastSquares(seed, 8)
        archive = search_in(BranchAndBound(**parts), evaluator, 8, n_features=sizes)
        assert best_of(archive) == best_of(expected)
        assert archive.bound == archive.best_merit == expected.best_merit
        assert evaluator.n_asked <= expected.n_evaluations
        n_saved += expected.n_evaluations - evaluator.n_asked
        before = np.inf
        for most in range(1, len(archive), 7):
            stopped = search_in(
                BranchAndBound(**parts), LeastSquares(seed, 8), 8, n_features=sizes, stop=Evaluations(most)
            )
            assert expected.best_merit <= stopped.bound <= before
            before = stopped.bound
    # Every path ends at a set of one column; the set of all columns is best.
    assert n_saved > 0 or sizes in (1, 7)


def test_an_early_bound_allows_for_the_optimality_gap():
    for seed in range(60):
        p, gap = 2 + seed % 4, [0.0, 0.2, 0.5][seed % 3]
        merit = LooseBound(seed, p)
        for steps in range(1, 7):
            archive = search_in(BranchAndBound(optimality_gap=gap), merit, p, stop=AfterSteps(steps))
            assert archive.bound is None or archive.bound >= merit.merits.max(), (seed, steps)


def test_nodes_without_children_do_not_end_the_search():
    # From sets without the last column no other is dropped. Hundreds of them have a better bound than the parent of the best set.
    merit = LooseBound(0, 9)
    sets = np.arange(2**9)
    merit.merits = np.where(sets == 1 << 8, 1.0, 0.5)
    merit.bounds = np.where(sets == 3 << 7, 1.1, np.where(sets < 1 << 8, 1.2, 1.5))
    archive = search_in(BranchAndBound(), merit, 9)
    assert archive.best_merit == archive.bound == 1.0


class LooseBound(Evaluator):
    """A random merit for every set, and a bound slightly above the best of its subsets."""

    def __init__(self, seed, p):
        rng = np.random.default_rng(seed)
        self.merits = rng.random(2**p)
        subsets = (np.arange(2**p)[:, None] & np.arange(2**p)) == np.arange(2**p)
        self.bounds = np.where(subsets, self.merits, -np.inf).max(axis=1) + 0.2 * rng.random(2**p)
        self.bits = 1 << np.arange(p)

    def evaluate(self, candidates):
        return self.merits[candidates.masks() @ self.bits]

    def upper_bounds(self, masks):
        return self.bounds[masks @ self.bits]


class AfterSteps(StoppingRule):
    """A rule that stops like a time limit, but without a clock."""

    def __init__(self, most):
        self.left = most

    def reason(self, archive):
        self.left -= 1
        return None if self.left else "enough"


def test_a_merit_with_neither_form_nor_bound_is_refused():
    class Plain(Quadratic):
        pass

    message = (
        r"needs a merit with quadratic_form\(\) or upper_bounds\(\); Plain has neither\. Use Exhaustive .* or Beam\."
    )
    with pytest.raises(ValueError, match=message):
        search_in(BranchAndBound(), Plain(0, 5), 5)


def test_control_c_keeps_the_best_set_and_the_bound(monkeypatch):
    monkeypatch.setattr(branch_and_bound, "_BOUNDS_PER_NODE", 1)
    monkeypatch.setattr(branch_and_bound, "_NODES_PER_STEP", 1)
    evaluator = Smooth(5, 30, n_factors=8)
    whole = search_in(BranchAndBound(), Smooth(5, 30, n_factors=8), 30)
    worked = branch_and_bound.BranchingState.process_nodes
    calls = []

    def interrupted(state, budget):
        calls.append(budget)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return worked(state, budget)

    monkeypatch.setattr(branch_and_bound.BranchingState, "process_nodes", interrupted)
    archive = search_in(BranchAndBound(), evaluator, 30)
    assert archive.interrupted
    assert archive.best_merit <= whole.best_merit <= archive.bound
    assert subset_of(archive.mask(archive.best)) == best_of(archive)

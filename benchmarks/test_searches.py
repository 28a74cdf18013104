"""Searches under CFS, once the uncertainties are known: the search alone is timed."""

import tracemalloc
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy import optimize, sparse

from tamiz.criteria import CFS
from tamiz.runtime import parallel
from tamiz.search import BranchAndBound, Exhaustive, Genetic, Seconds
from tamiz.search.archive import Archive
from tamiz.search.base import Candidates
from tamiz.search.runner import run_search
from tamiz.table.factory import as_table

from .credit import credit, needs_credit
from .data import categorical

MINUTE = 60


@cache
def prepared(make, *given):
    """Return the evaluator over a table, every uncertainty counted, and what a search needs to know of the table."""
    with parallel.thread_session():
        table = as_table(*make(*given), None)
        evaluator = CFS().bind(table, np.random.default_rng(0))
        evaluator.quadratic_form()
    return evaluator, table.schema


def informative(n_rows, n_columns):
    return categorical(n_rows, n_columns, n_informative=n_columns // 6).frame()


def timed(benchmark, search, table, *, n_features=None, stop=None, n_jobs=1, rounds=3):
    """Time a search over a prepared table and return its archive."""
    evaluator, schema = table
    problem = replace(search.make_problem(schema.names, schema.used, n_features), evaluator=evaluator)

    def searched():
        archive = Archive(
            schema.n_columns, min_size=problem.min_size, max_size=problem.max_size, min_gain=search.min_gain
        )
        with parallel.thread_session(n_jobs):
            return run_search(search.walk(problem, np.random.default_rng(0)), evaluator, archive, stop)

    benchmark.extra_info["system"] = "tamiz"
    return benchmark.pedantic(searched, rounds=rounds, warmup_rounds=min(rounds - 1, 1))


def certified(benchmark, archive):
    """Record what is proven."""
    proven = archive.bound <= archive.best_merit
    proof = "proven optimal" if proven else f"proven to {archive.bound / archive.best_merit - 1:.2%} of the best"
    benchmark.extra_info["form"] = f"{proof}, {archive.n_evaluations:,} evaluated subsets"
    benchmark.extra_info["n_selected"] = archive.best_size
    return proven


@pytest.mark.benchmark(group="CFS exhaustive, all 2^28 sets of 28 columns, one core")
def test_all_sets(benchmark):
    benchmark.extra_info["target_seconds"] = 5
    archive = timed(benchmark, Exhaustive(), prepared(informative, 2000, 28))
    assert archive.n_evaluations == 2**28
    assert certified(benchmark, archive)


@pytest.mark.benchmark(group="CFS exhaustive, the 20,708,500 sets of 3 of 500 columns, one core")
def test_three_of_five_hundred(benchmark):
    archive = timed(benchmark, Exhaustive(), prepared(informative, 2000, 500), n_features=3)
    assert archive.n_evaluations == 500 * 499 * 498 // 6
    assert certified(benchmark, archive)


# Copies with errors, and noise, beside the 20 columns.
CREDITS = {"40": (0, 20), "60": (20, 20), "400": (280, 100), "800": (580, 200)}


def of_credit(names):
    return pytest.mark.parametrize(
        "name", [pytest.param(n, marks=pytest.mark.benchmark(group=group(n))) for n in names]
    )


def group(name):
    n_copies, n_noise = CREDITS[name]
    return (
        f"CFS branch and bound, credit-g of {name} columns: {n_copies} copies with errors, {n_noise} of noise; one core"
    )


@needs_credit
@of_credit(CREDITS)
def test_branch_and_bound(benchmark, name):
    archive = timed(benchmark, BranchAndBound(), prepared(credit, *CREDITS[name]))
    assert certified(benchmark, archive)


@needs_credit
@of_credit(["40", "60"])
def test_a_linear_program_finds_no_better_set(benchmark, name):
    evaluator, _ = prepared(credit, *CREDITS[name])
    merit, ended = benchmark.pedantic(linear_program, args=evaluator.quadratic_form(), rounds=1)
    benchmark.extra_info.update(system="HiGHS, mixed linear program", ended=ended)
    archive = timed_once(evaluator, prepared(credit, *CREDITS[name])[1])
    assert merit <= archive.best_merit + 1e-6
    assert not ended or merit == pytest.approx(archive.best_merit, rel=1e-4)


def timed_once(evaluator, schema):
    problem = replace(BranchAndBound().make_problem(schema.names, schema.used, None), evaluator=evaluator)
    return run_search(BranchAndBound().walk(problem, np.random.default_rng(0)), evaluator, Archive(schema.n_columns))


def linear_program(c, A):
    """Return the best merit by the linearisation of Nguyen, Franke and Petrovic (2010), and whether it ended within a minute.

    With y = 1 / x'Ax the square of the merit is sum c_j z_j, where z_j = x_j w, w = sum c_j p_j, p_j = x_j y, and
    1 = sum u_i, u_i = x_i q_i, q_i = sum A_ij p_j. Each product of a 0/1 variable and a bounded one is three inequalities.
    """
    used = np.diagonal(A) > 0
    c, A = c[used], A[np.ix_(used, used)]
    n, largest = len(c), float(c.max())
    # The variables, one after the other: x, p, u, z of n each, then y and w. All but w are at most 1.
    eye, none, one = sparse.eye_array(n), sparse.csr_array((n, n)), np.ones((n, 1))

    def product(name, other, most):
        """Rows of b = x * other, 0 <= other <= most, for the block b: b <= most x, b <= other, b >= other - most (1 - x)."""
        own = sparse.hstack(
            [eye if block == name else none for block in "pu z".replace(" ", "")] + [sparse.csr_array((n, 2))]
        )
        x = sparse.hstack([eye, sparse.csr_array((n, 3 * n + 2))])
        own = sparse.hstack([none, own])
        return [(own - most * x, -np.inf, 0.0), (own - other, -np.inf, 0.0), (own - other - most * x, -most, np.inf)]

    y = sparse.hstack([sparse.csr_array((n, 4 * n)), one, 0 * one])
    w = sparse.hstack([sparse.csr_array((n, 4 * n)), 0 * one, one])
    q = sparse.hstack([none, A, none, none, sparse.csr_array((n, 2))])
    rows = [*product("p", y, 1.0), *product("u", q, 1.0), *product("z", w, largest)]
    rows.append((np.concatenate([np.zeros(2 * n), np.ones(n), np.zeros(n + 2)])[None], 1.0, 1.0))
    rows.append((np.concatenate([np.zeros(n), c, np.zeros(2 * n), [0.0, -1.0]])[None], 0.0, 0.0))
    found = optimize.milp(
        np.concatenate([np.zeros(3 * n), -c, [0.0, 0.0]]),
        integrality=np.repeat([1, 0], [n, 3 * n + 2]),
        bounds=optimize.Bounds(0.0, 1.0),
        constraints=[optimize.LinearConstraint(sparse.csr_array(matrix), low, high) for matrix, low, high in rows],
        options={"time_limit": MINUTE, "mip_rel_gap": 1e-6},
    )
    if found.x is None:
        return 0.0, False
    x = found.x[:n] > 0.5
    return float(c[x].sum() / np.sqrt(A[np.ix_(x, x)].sum())), found.status == 0


@needs_credit
@pytest.mark.benchmark(
    group="CFS branch and bound, credit-g of 1,600 columns: 1,180 copies with errors, 400 of noise; two cores, a minute"
)
def test_how_far_a_minute_goes(benchmark):
    archive = timed(benchmark, BranchAndBound(), prepared(credit, 1180, 400), stop=Seconds(MINUTE), n_jobs=2, rounds=1)
    certified(benchmark, archive)
    assert archive.bound < 1.01 * archive.best_merit


@pytest.mark.benchmark(group="CFS genetic, 500 columns, population 100, 200 generations")
def test_genetic(benchmark):
    benchmark.extra_info["target_seconds"] = 5
    archive = timed(benchmark, Genetic(population=100, generations=200), prepared(informative, 2000, 500))
    benchmark.extra_info["form"] = f"{len(archive):,} sets"
    benchmark.extra_info["n_selected"] = archive.best_size


@pytest.mark.benchmark(group="archive of 300,000 sets of 2,000 columns, 1,000 steps")
def test_archive(benchmark):
    rng = np.random.default_rng(0)
    units = [np.array([j]) for j in range(2000)]
    steps = []
    for _ in range(1000):
        chosen = np.sort(rng.choice(2000, 300, replace=False))
        steps.append(
            (Candidates.from_flips(rng.random(2000) < 0.1, [units[j] for j in chosen.tolist()]), rng.random(300))
        )

    def written():
        archive = Archive(2000)
        for candidates, merits in steps:
            keys = archive.index.keys(candidates)
            assert (archive.index.lookup(keys) < 0).all()
            archive.record(candidates, keys, merits)
        return archive

    benchmark.extra_info["system"] = "tamiz"
    assert len(benchmark.pedantic(written, rounds=3, warmup_rounds=1)) == 300_000
    tracemalloc.start()
    archive = written()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(archive) == 300_000
    seconds = benchmark.stats.stats.median
    benchmark.extra_info["form"] = f"{seconds / 0.3:.2f} us a set, {peak / 1e6:.0f} MB at most"
    assert peak < 200e6

"""The loop that runs a search: stopping, recording, and interruption by Ctrl-C."""

import numpy as np
import pytest

from tamiz.exceptions import DataError
from tamiz.runtime import progress
from tamiz.search import (
    Backward,
    BestFirst,
    Evaluations,
    Exhaustive,
    Forward,
    Genetic,
    MinGain,
    Patience,
    Seconds,
    TargetMerit,
)
from tamiz.search.archive import Archive
from tamiz.search.base import Candidates, MeritInfo, Proposal, ScanResult
from tamiz.search.journal import Journal
from tamiz.search.runner import run_search

from .merits import Quadratic, best_of, problem_of, search_in, sets_of


@pytest.mark.parametrize("search", [Forward(), Backward(), BestFirst()], ids=repr)
def test_a_number_of_evaluations_is_kept_to_exactly_and_is_a_beginning_of_the_whole(search):
    whole = search_in(search, Quadratic(3, 8), 8)
    for most in range(1, len(whole) + 3):
        evaluator = Quadratic(3, 8)
        archive = search_in(search, evaluator, 8, stop=Evaluations(most))
        assert len(archive) == len(evaluator.asked) == min(most, len(whole))
        assert sets_of(archive) == sets_of(whole)[:most]
        np.testing.assert_array_equal(archive.merits, whole.merits[:most])
        if most < len(whole):
            assert archive.stop_reason == f"{most} evaluation{'s' * (most > 1)} made"


def test_a_merit_reached_stops_the_search():
    whole = search_in(Forward(), Quadratic(5, 8), 8)
    middle = whole.merits[whole.improvements[1]]
    archive = search_in(Forward(), Quadratic(5, 8), 8, stop=TargetMerit(middle))
    assert archive.best_merit >= middle
    assert len(archive) < len(whole)
    assert archive.stop_reason == f"a merit of {middle:g} is reached"


def test_steps_without_a_better_set_stop_the_search():
    whole = search_in(BestFirst(patience=10), Quadratic(5, 8), 8)
    archive = search_in(BestFirst(patience=10), Quadratic(5, 8), 8, stop=Patience(2))
    assert archive.n_steps_without_gain == 2
    assert len(archive) < len(whole)
    assert archive.stop_reason == "2 steps in a row without a better set"


def test_a_gain_too_small_stops_the_search():
    class Halving(Quadratic):
        def merit(self, subset):
            return 1.0 - 0.5 ** len(subset)

    archive = search_in(Forward(), Halving(0, 10), 10, stop=MinGain(0.1))
    # Steps gain 1/2, 1/4, 1/8, 1/16.
    assert archive.sizes.max() == 4
    assert archive.stop_reason == "a step gained less than 0.1"


def test_seconds_stop_after_the_batch_in_which_they_pass(monkeypatch):
    clock = iter(range(0, 1000, 10))
    monkeypatch.setattr("tamiz.search.archive.time.monotonic", lambda: next(clock))
    archive = search_in(Backward(), Quadratic(0, 8), 8, stop=Seconds(25))
    assert archive.stop_reason == "25 seconds have passed"
    # The clock is read after every batch, 10 seconds apart: one set, eight, then seven.
    assert len(archive) == 1 + 8 + 7


def test_either_of_two_rules_stops_and_the_smaller_limit_applies():
    stop = Evaluations(50) | TargetMerit(1e9) | Evaluations(7)
    archive = search_in(Forward(), Quadratic(0, 8), 8, stop=stop)
    assert len(archive) == 7
    assert archive.stop_reason == "7 evaluations made"
    archive = search_in(Forward(), Quadratic(0, 8), 8, stop=Evaluations(50) | TargetMerit(-1))
    assert archive.stop_reason == "a merit of -1 is reached"
    assert len(archive) == 1


def test_both_of_two_rules_stop_a_search_and_the_larger_limit_applies():
    whole = search_in(Backward(), Quadratic(0, 8), 8)
    archive = search_in(Backward(), Quadratic(0, 8), 8, stop=Evaluations(3) & Evaluations(7))
    assert len(archive) == 7
    assert archive.stop_reason == "3 evaluations made and 7 evaluations made"
    archive = search_in(Backward(), Quadratic(0, 8), 8, stop=Evaluations(3) & TargetMerit(whole.best_merit))
    assert archive.stop_reason == f"3 evaluations made and a merit of {whole.best_merit:g} is reached"
    assert (
        search_in(Backward(), Quadratic(0, 8), 8, stop=Evaluations(3) & TargetMerit(1e9)).stop_reason
        == whole.stop_reason
    )


def test_rules_know_how_long_they_let_a_search_run():
    both, either = Seconds(5) & Seconds(9), Seconds(5) | Seconds(9) | Evaluations(3)
    assert (both.time_limit(), either.time_limit(), (Seconds(5) & Evaluations(3)).time_limit()) == (9, 5, None)


@pytest.mark.parametrize(
    ("stop", "error", "message"),
    [
        (Evaluations(0), ValueError, "limit must be at least 1, got 0"),
        (Evaluations(2.5), TypeError, "limit must be a whole number, got 2.5"),
        (Seconds(-1), ValueError, "limit must be above 0 seconds, got -1"),
        (Seconds(0), ValueError, "limit must be above 0 seconds, got 0"),
        (Seconds("long"), TypeError, "limit must be a number, got 'long'"),
        (Patience(0), ValueError, "n_steps must be at least 1, got 0"),
        (TargetMerit("high"), TypeError, "merit must be a number, got 'high'"),
        (TargetMerit(float("nan")), ValueError, "merit must be a number, got nan"),
    ],
)
def test_rules_refuse_what_is_no_limit(stop, error, message):
    with pytest.raises(error, match=message):
        search_in(Forward(), Quadratic(0, 5), 5, stop=stop)


def test_the_reason_of_a_search_that_ends_by_itself_is_its_own():
    assert search_in(Forward(), Quadratic(1, 6), 6).stop_reason == "no further column raises the merit"
    assert search_in(Forward(), Quadratic(1, 6), 6, n_features=3).stop_reason == "the requested size is reached"
    assert search_in(Backward(), Quadratic(1, 6), 6, n_features=3).stop_reason == "the requested size is reached"


class Interrupted(Quadratic):
    def __init__(self, seed, p, after):
        super().__init__(seed, p)
        self.after = after

    def evaluate(self, candidates):
        if self.after == 0:
            raise KeyboardInterrupt
        self.after -= 1
        return super().evaluate(candidates)


@pytest.mark.parametrize("after", [0, 1, 2, 3])
def test_control_c_keeps_what_was_found(after):
    whole = search_in(Backward(), Quadratic(3, 8), 8)
    archive = search_in(Backward(), Interrupted(3, 8, after), 8)
    assert archive.interrupted
    assert archive.stop_reason == "interrupted"
    assert len(archive) == [0, 1, 9, 16][after]
    assert sets_of(archive) == sets_of(whole)[: len(archive)]
    assert not whole.interrupted


class Listed(Quadratic):
    """A merit without a quadratic form: every set is evaluated."""

    def quadratic_form(self):
        return None


class Heavy(Listed):
    """A fifth of a chunk is one set."""

    info = MeritInfo("slow", cost=1e5)

    def __init__(self, seed, p, after=None):
        super().__init__(seed, p)
        self.sizes, self.after = [], after

    def evaluate(self, candidates):
        if len(self.sizes) == self.after:
            raise KeyboardInterrupt
        self.sizes.append(len(candidates))
        return super().evaluate(candidates)


@pytest.mark.parametrize("search", [Exhaustive(), Backward(), Genetic(generations=3), BestFirst(patience=3)], ids=repr)
@pytest.mark.parametrize("stop", [None, Patience(2), MinGain(0.5), Evaluations(23)], ids=repr)
def test_a_batch_that_is_much_work_is_evaluated_in_parts_and_is_still_one_step(search, stop, tmp_path):
    def journal(name):
        return lambda archive: Journal(tmp_path / name, {}, archive.n_columns)

    whole = search_in(search, Listed(1, 8), 8, stop=stop, journal=journal("whole"))
    heavy = Heavy(1, 8)
    parts = search_in(search, heavy, 8, stop=stop, journal=journal("parts"))
    assert max(heavy.sizes) == 5
    assert sets_of(parts) == sets_of(whole)
    np.testing.assert_array_equal(parts.merits, whole.merits)
    for name in ("best", "best_merit", "n_steps_without_gain", "last_gain", "stop_reason", "stopped_early"):
        assert getattr(parts, name) == getattr(whole, name)
    assert (tmp_path / "parts").read_bytes() == (tmp_path / "whole").read_bytes()


def test_a_rule_that_is_met_stops_within_a_batch_and_what_was_found_is_kept(monkeypatch):
    whole = search_in(Backward(), Quadratic(0, 20), 20)
    now = [0.0]
    monkeypatch.setattr("tamiz.search.archive.time.monotonic", lambda: now[0])

    class Slow(Heavy):
        def evaluate(self, candidates):
            now[0] += 1.0
            return super().evaluate(candidates)

    # The full set, and two parts of the twenty with one column less.
    clocked = search_in(Backward(), Slow(0, 20), 20, stop=Patience(100) & Evaluations(10**6) | Seconds(3))
    assert (clocked.stop_reason, clocked.stopped_early) == ("3 seconds have passed", True)
    reached = search_in(Backward(), Heavy(0, 20), 20, stop=TargetMerit(whole.merits[1:11].max()))
    assert reached.stop_reason.startswith("a merit of")
    for archive in (clocked, reached):
        assert 1 < len(archive) <= 11
        assert sets_of(archive) == sets_of(whole)[: len(archive)]
        assert archive.best_merit == archive.merits.max()


def test_control_c_within_a_batch_keeps_the_parts_that_are_done():
    archive = search_in(Backward(), Heavy(0, 20, after=3), 20)
    assert archive.interrupted
    assert len(archive) == 1 + 5 + 5


def test_a_set_that_comes_twice_in_one_batch_or_again_later_is_evaluated_once():
    a, b = np.array([True, False]), np.array([False, True])
    received = []

    def walk():
        received.append((yield Candidates.from_masks(np.array([a, b, a]))))
        received.append((yield Candidates.from_masks(np.array([b, a]))))
        received.append((yield Candidates.from_masks(np.array([a | b, a]))))
        return "done"

    evaluator = Quadratic(0, 2)
    archive = run_search(walk(), evaluator, Archive(2))
    assert evaluator.asked == [(0,), (1,), (0, 1)]
    x, y, both = map(evaluator.merit, [(0,), (1,), (0, 1)])
    assert [merits.tolist() for merits in received] == [[x, y, x], [y, x], [both, x]]
    assert len(archive) == 3
    assert archive.stop_reason == "done"


def test_progress_reports_the_number_of_evaluated_sets():
    reports = []
    with progress.use_listener(lambda label, done, total: reports.append((label, done, total))):
        archive = search_in(Forward(), Quadratic(2, 6), 6)
    assert [done for _, done, _ in reports][-1] == len(archive)
    assert {total for _, _, total in reports} == {Forward().max_evaluations(problem_of(Forward(), 6))}
    size = len(best_of(archive))
    assert (
        reports[-1][0] == f"Searching, best merit {archive.best_merit:.4g} of {size} column{'' if size == 1 else 's'}"
    )


def test_the_walk_is_closed_when_a_rule_stops_it():
    closed = []

    def walk():
        try:
            while True:
                yield Candidates.from_masks(np.array([True]))
        finally:
            closed.append(True)

    run_search(walk(), Quadratic(0, 1), Archive(1), Evaluations(1))
    assert closed == [True]


def test_best_of_a_search_over_no_column_is_the_empty_set():
    archive = search_in(Forward(excluded=[0, 1]), Quadratic(0, 2), 2)
    assert best_of(archive) == ()


def test_skipped_sets_of_a_proposal_are_counted_and_its_bound_is_kept():
    class Survey(Proposal):
        def scan(self, budget):
            budgets.append(budget)
            return ScanResult(Candidates.from_masks(np.array([True, False])), n_unrecorded=4, bound=9.5, n_total=20)

    budgets, reports = [], []

    def walk():
        merits = yield Survey()
        assert merits.tolist() == [Quadratic(0, 2).merit((0,))]
        yield Survey()
        return "done"

    with progress.use_listener(lambda label, done, total: reports.append((done, total))):
        archive = run_search(walk(), Quadratic(0, 2), Archive(2), Evaluations(12))
    assert budgets == [12, 7]
    assert (len(archive), archive.n_unrecorded, archive.n_evaluations, archive.bound) == (1, 8, 9, 9.5)
    assert reports == [(5, 17), (9, 16)]
    assert not archive.stopped_early
    assert run_search(walk(), Quadratic(0, 2), Archive(2), Evaluations(5)).stopped_early


def test_a_merit_that_is_no_number_is_an_error_that_names_the_set():
    class Broken(Quadratic):
        def merit(self, subset):
            return float("nan") if subset == (1, 3) else len(subset)

    names = ["age", "height", "mass", "length"]
    with pytest.raises(DataError, match=r"^The merit of the set of height, length is not a number\."):
        search_in(Forward(start=[1], excluded=[0]), Broken(0, 4), 4, names=names)

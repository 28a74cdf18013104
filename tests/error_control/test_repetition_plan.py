"""The plans of selections that repeat a score: its time, and no effect on the selection."""

import numpy as np
import pytest

from tamiz import RankSelector
from tamiz.criteria import FisherScore, InformationGain, ReliefF, TreeImportance
from tamiz.error_control import BorutaSelector, StabilitySelector, repetition_plan
from tamiz.error_control.repetition_plan import time_repetitions

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(60, 8)), np.arange(60) % 2


class Clock:
    """Calls that take given seconds."""

    def __init__(self, monkeypatch, seconds):
        self.now, self.n_calls, self._left = 0.0, 0, list(seconds)
        monkeypatch.setattr(repetition_plan.time, "perf_counter", lambda: self.now)

    def __call__(self):
        self.now += self._left.pop(0)
        self.n_calls += 1


def test_a_short_repetition_is_timed_twice_because_the_first_loads_code(monkeypatch):
    clock = Clock(monkeypatch, [1.5, 0.25])
    plan = time_repetitions(clock, 100, "iterations", "Advice.")
    assert (clock.n_calls, plan.seconds_per_repetition, plan.estimated_seconds) == (2, 0.25, 25.0)
    assert str(plan) == "Plan: at most 100 iterations, 0.25 seconds each; at most 25 seconds. Advice."


def test_a_long_repetition_is_timed_once(monkeypatch):
    clock = Clock(monkeypatch, [40.0])
    plan = time_repetitions(clock, 50, "pairs of halves", "Advice.")
    assert (clock.n_calls, plan.estimated_seconds) == (1, 2000.0)
    assert str(plan).startswith("Plan: at most 50 pairs of halves, 40 seconds each; at most 33 minutes.")


@pytest.mark.parametrize(
    ("make", "n"),
    [
        (lambda seed: BorutaSelector(FisherScore(), max_iter=4, random_state=seed), 4),
        (lambda seed: StabilitySelector(FisherScore(), n_features=2, n_pairs=3, random_state=seed), 3),
    ],
)
@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
def test_a_plan_changes_neither_the_selector_nor_its_random_draws(make, n):
    planned, other = make(np.random.default_rng(3)), make(np.random.default_rng(3))
    plan = planned.plan(X, Y)
    assert plan.max_repetitions == n
    assert plan.estimated_seconds == n * plan.seconds_per_repetition > 0
    assert not [name for name in vars(planned) if name.endswith("_")]
    name = "hits_" if isinstance(planned, BorutaSelector) else "selection_frequencies_"
    np.testing.assert_array_equal(getattr(planned.fit(X, Y), name), getattr(other.fit(X, Y), name))


@pytest.mark.parametrize(
    ("selector", "advised"),
    [
        (InformationGain(), False),
        (TreeImportance(n_rounds=2), False),
        (ReliefF(), True),
        (RankSelector(ReliefF(), n_features=2), False),
    ],
    ids=["counts", "trees", "rows", "selector"],
)
@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
def test_faster_relevances_are_advised_only_in_place_of_one_that_scores_every_half_anew(selector, advised):
    plan = StabilitySelector(selector, n_features=2, n_pairs=2).plan(X, Y)
    assert plan.advice.startswith("A smaller n_pairs (--n-pairs) makes frequencies less precise.")
    assert ("Relevances that count values" in plan.advice) == advised


def test_a_plan_of_a_table_that_cannot_be_used_is_the_error_of_fit():
    with pytest.raises(ValueError, match="max_iter must be at least 1"):
        BorutaSelector(max_iter=0).plan(X, Y)
    with pytest.raises(
        ValueError, match=r"at least 4 rows, and there are 3\. Pass more rows, or rank the columns with RankSelector"
    ):
        StabilitySelector(FisherScore()).plan(X[:3], Y[:3])

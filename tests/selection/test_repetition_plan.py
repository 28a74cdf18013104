"""The plans of selections that repeat a score: its time, and no effect on the selection."""

import numpy as np
import pytest

from tamiz import RankSelector, RedundancyFilter
from tamiz.criteria import FisherScore, InformationGain, ReliefF, TreeImportance
from tamiz.error_control import BorutaSelector, KnockoffSelector, StabilitySelector
from tamiz.exceptions import TamizWarning
from tamiz.selection import time_limits
from tamiz.selection.time_limits import time_on_columns, time_repetitions
from tamiz.table.factory import as_table

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(60, 8)), np.arange(60) % 2


class Clock:
    """Calls that take given seconds."""

    def __init__(self, monkeypatch, seconds):
        self.now, self.n_calls, self._left = 0.0, 0, list(seconds)
        monkeypatch.setattr(time_limits.time, "perf_counter", lambda: self.now)

    def __call__(self):
        self.now += self._left.pop(0)
        self.n_calls += 1


def test_a_short_repetition_is_timed_twice_because_the_first_loads_code(monkeypatch):
    clock = Clock(monkeypatch, [1.5, 0.25])
    plan = time_repetitions(clock, 100, "iterations", "Advice.", 3e6)
    assert (clock.n_calls, plan.seconds_per_repetition, plan.estimated_seconds) == (2, 0.25, 25.0)
    assert str(plan) == (
        "Plan: at most 100 iterations, 0.25 seconds each; at most 25 seconds; about 3 MB of memory beyond the table. Advice."
    )


def test_a_long_repetition_is_timed_once(monkeypatch):
    clock = Clock(monkeypatch, [40.0])
    plan = time_repetitions(clock, 50, "pairs of halves", "Advice.", 0.0)
    assert (clock.n_calls, plan.estimated_seconds) == (1, 2000.0)
    assert str(plan).startswith("Plan: at most 50 pairs of halves, 40 seconds each; at most 33 minutes; ")


@pytest.mark.parametrize(
    ("make", "n"),
    [
        (lambda seed: BorutaSelector(FisherScore(), max_iter=4, random_state=seed), 4),
        (lambda seed: StabilitySelector(FisherScore(), n_features=2, n_pairs=3, random_state=seed), 3),
        (lambda seed: KnockoffSelector(FisherScore(), n_draws=2, random_state=seed), 2),
        (lambda seed: RedundancyFilter(), 1),
    ],
)
@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
def test_a_plan_changes_neither_the_selector_nor_its_random_draws(make, n):
    planned, other = make(np.random.default_rng(3)), make(np.random.default_rng(3))
    plan = planned.plan(X, Y)
    assert plan.max_repetitions == n
    assert plan.estimated_seconds == n * plan.seconds_per_repetition > 0
    assert not [name for name in vars(planned) if name.endswith("_")]
    assert plan.max_bytes > 0
    planned.fit(X, Y)
    (name,) = {"hits_", "selection_frequencies_", "statistics_", "associations_"} & set(vars(planned))
    np.testing.assert_array_equal(getattr(planned, name), getattr(other.fit(X, Y), name))


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


def test_a_selection_that_is_not_repeated_is_timed_on_some_columns(monkeypatch):
    table = as_table(RNG.normal(size=(5, 1000)))
    seconds, widths = iter([0.9, 0.15, 0.3, 0.9]), []
    monkeypatch.setattr(time_limits, "_time_call", lambda run: run() or next(seconds))
    found = time_on_columns(lambda part: widths.append(len(part.schema.used)), table, 2.0)
    # The first call loads code, and 0.1 seconds do not grow with the columns.
    assert widths == [64, 64, 128, 256]
    assert found == pytest.approx(0.1 + 0.8 * (1000 / 256) ** 2)


def clock_of(monkeypatch, seconds):
    """A clock that is read at the given seconds, and then stays at the last of them."""
    left = list(seconds)
    monkeypatch.setattr(time_limits.time, "monotonic", lambda: left.pop(0) if len(left) > 1 else left[0])


@pytest.mark.filterwarnings("ignore:.*8 columns are tentative", "ignore:.*The bound on false selections")
def test_a_time_limit_ends_repetitions_with_what_is_done(monkeypatch):
    boruta = BorutaSelector(FisherScore(), max_iter=30, max_seconds=10, random_state=0)
    clock_of(monkeypatch, [0, 3, 6, 11])
    with pytest.warns(
        TamizWarning, match=r"max_seconds=10 \(--max-seconds\) ended the selection after 3 of 30 iterations"
    ):
        assert boruta.fit(X, Y).n_iter_ == 3
    stability = StabilitySelector(FisherScore(), n_features=2, n_pairs=9, max_seconds=10, random_state=0)
    clock_of(monkeypatch, [0, 3, 6, 11])
    with pytest.warns(TamizWarning, match=r"after 3 of 9 pairs of halves\. The bound on false selections is "):
        stability.fit(X, Y)
    assert stability.n_pairs_ == 3
    shorter = StabilitySelector(FisherScore(), n_features=2, n_pairs=3, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(stability.selection_frequencies_, shorter.selection_frequencies_)
    assert stability.expected_false_selections_ == shorter.expected_false_selections_


@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
def test_a_time_limit_ends_further_draws_of_knockoffs(monkeypatch):
    whole = KnockoffSelector(FisherScore(), n_draws=4, random_state=0).fit(X, Y)
    limited = KnockoffSelector(FisherScore(), n_draws=4, max_seconds=10, random_state=0)
    monkeypatch.setattr(time_limits.TimeLimit, "take", lambda self, items: items[:2])
    np.testing.assert_array_equal(limited.fit(X, Y).statistics_, whole.statistics_[:2])


@pytest.mark.parametrize("selector", [KnockoffSelector(FisherScore()), RedundancyFilter()], ids=repr)
def test_a_time_limit_before_anything_is_selected_is_an_error(selector):
    selector.set_params(max_seconds=1e-9)
    with pytest.raises(
        TimeoutError, match=r"takes longer than max_seconds=1e-09 \(--max-seconds\), and a part of it selects"
    ):
        selector.fit(X, Y)
    with pytest.raises(ValueError, match="max_seconds must be above 0"):
        selector.set_params(max_seconds=0).fit(X, Y)

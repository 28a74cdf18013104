"""The plan: the estimated cost of a search."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from tamiz import SubsetSelector
from tamiz.criteria import CFS
from tamiz.runtime import progress
from tamiz.search import Backward, Evaluations, Exhaustive, Forward, Patience, RandomSubsets, Seconds
from tamiz.search.runner import SearchPlan


def wide_table(p=80):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 100)
    return (rng.normal(size=(100, p)) + y[:, None] * rng.random(p)).round(1), y


def test_a_search_that_ends_while_it_is_timed_is_known_exactly():
    X, y = load_breast_cancer(return_X_y=True)
    selector = SubsetSelector(CFS(), Forward())
    plan = selector.plan(X, y)
    assert plan.max_evaluations == plan.n_timed == selector.fit(X, y).n_evaluations_
    assert 0 < plan.estimated_seconds < 10


def test_a_longer_search_is_known_by_its_limit():
    X, y = wide_table()
    plan = SubsetSelector(CFS(), Backward(), n_features=1).plan(X, y)
    assert plan.n_timed == 1000
    assert plan.max_evaluations == 1 + sum(range(2, 81))
    assert plan.max_bytes > 8 * 80**2


def test_rules_for_stopping_are_part_of_the_plan():
    X, y = wide_table()
    plan = SubsetSelector(CFS(), Backward(), n_features=1, stop=Evaluations(1500) | Seconds(7) | Patience(4)).plan(X, y)
    assert plan.max_evaluations == 1500
    assert plan.time_limit == 7


def test_a_plan_changes_nothing_and_writes_no_journal(tmp_path):
    X, y = wide_table()
    selector = SubsetSelector(CFS(), Forward(), journal=tmp_path / "journal")
    selector.plan(X, y)
    assert not hasattr(selector, "support_")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("plan", "sentence"),
    [
        (
            SearchPlan(5051, 3.21, None, 12e6, 1000),
            "Plan: at most 5,051 evaluations; at most 3.2 seconds at the pace of the first 1,000; "
            "at most 12 MB of memory beyond the table.",
        ),
        (
            SearchPlan(1, 0.5, None, 2000, 1),
            "Plan: at most 1 evaluation; at most 0.5 seconds at the pace of the first 1; ",
        ),
        (
            SearchPlan(2**60, 4e9, 60.0, 2000, 1000),
            "Plan: at most about 10^18 evaluations; at most 127 years at the pace of",
        ),
        (
            SearchPlan(2**20000, 1e30, None, 2000, 9),
            "Plan: at most about 10^6021 evaluations; more than 100,000 years",
        ),
        (
            SearchPlan(None, None, 60.0, 2000, 1000),
            "Plan: the number of evaluations has no limit: the search continues while the ",
        ),
    ],
)
def test_a_plan_is_one_sentence(plan, sentence):
    assert str(plan).startswith(sentence)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*is arbitrary")
def test_a_search_of_more_sets_than_a_float_can_count_has_a_plan_and_goes_on():
    X, y = wide_table(1100)
    selector = SubsetSelector(CFS(), Exhaustive(), stop=Evaluations(3000))
    totals = []
    with progress.use_listener(lambda label, done, total: totals.append(total)):
        plan = selector.plan(X, y)
        assert selector.fit(X, y).n_evaluations_ == 3000
    assert plan.max_evaluations == 3000
    assert max(total or 0 for total in totals) < 10**6
    assert SubsetSelector(CFS(), Exhaustive()).plan(X, y).max_evaluations == 2**1100


@pytest.mark.filterwarnings("ignore:.*(the place in the table decided|is arbitrary)")
def test_a_plan_uses_no_random_draws_of_the_search():
    X, y = wide_table(30)
    planned, alone = (SubsetSelector(CFS(), RandomSubsets(50), random_state=np.random.default_rng(0)) for _ in range(2))
    planned.plan(X, y)
    np.testing.assert_array_equal(planned.fit(X, y).archive_.masks, alone.fit(X, y).archive_.masks)

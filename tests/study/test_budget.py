"""The budget of a study: estimates before each step, the samples that follow from them, and skipped steps."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, load_wine
from tests.sentences import sentences

from tamiz import open_table, study
from tamiz._study import budget as budgets
from tamiz._study.budget import DEFAULT_BUDGET, Budget, StepEstimate
from tamiz._study.estimates import StudyExtent, estimate_steps, expected_evaluations, search_seconds
from tamiz._study.models import affordable_searches, evaluation_size
from tamiz._study.ranking import max_compared_columns, n_compared_rows
from tamiz.criteria import CFS, JMI, MRMR, CrossValidated, LinearCoefficient
from tamiz.graphs.row_graph import graph_seconds, max_graph_rows
from tamiz.runtime import progress
from tamiz.search import BestFirst, Evaluations, Exhaustive, Forward, RandomSubsets
from tamiz.search.stopping import AnyOf, Seconds
from tamiz.selection.defaults import choose_merit_and_search
from tamiz.table.schema import Column, Schema

X, Y = load_iris(return_X_y=True, as_frame=True)


def schema_of(n_rows, n_numeric, levels=()):
    """The schema of a table that nobody has to make."""
    numbers = [Column(f"x{j}", "numeric") for j in range(n_numeric)]
    texts = [Column(f"c{j}", "categorical", [f"L{k}" for k in range(n)]) for j, n in enumerate(levels)]
    return Schema((*numbers, *texts), n_rows, target=Column("y", "categorical", ["a", "b"]))


@pytest.mark.parametrize(
    "shape",
    [
        (150, 4),
        (300_000, 15, (4000,)),
        (3_000_000, 15, (4000,)),
        (10, 100_000),
        (100_000, 1000),
        (20_000, 3000),
        (2000, 10_000),
    ],
    ids=str,
)
def test_the_default_budget_of_a_study_is_about_two_minutes(shape):
    schema = schema_of(*shape)
    steps = estimate_steps(
        schema,
        DEFAULT_BUDGET,
        StudyExtent(
            n_shown=min(schema.n_rows, 2000), n_maps=4, sample_graph=True, searched=(CFS(), BestFirst()), asked=False
        ),
    )
    assert 0 < sum(step.seconds for step in steps.values()) < 150
    assert all(0 < step.n_bytes < 2.5e9 and 0 <= step.n_rows <= schema.n_rows for step in steps.values())


def test_requested_settings_are_estimated_for_all_rows():
    schema = schema_of(1_000_000, 20)
    all_rows = estimate_steps(
        schema, DEFAULT_BUDGET, StudyExtent(n_shown=2000, n_maps=4, sample_graph=False, searched=None)
    )
    some = estimate_steps(schema, DEFAULT_BUDGET, StudyExtent(n_shown=2000, n_maps=4, sample_graph=True, searched=None))
    assert all_rows["graph"].n_rows == 1_000_000 > some["graph"].n_rows
    assert all_rows["graph"].seconds > 5 * some["graph"].seconds
    assert "subset" not in all_rows


def test_samples_grow_with_the_seconds_up_to_all_rows():
    schema = schema_of(1_000_000, 40)
    sizes = [max_graph_rows(schema, 100, Budget(seconds).scale) for seconds in (1.2, 12, 120, 1200, np.inf)]
    assert sizes == sorted(sizes)
    assert sizes[1] == pytest.approx(10 * sizes[0], rel=1e-3)
    assert (sizes[2], sizes[-1]) == (max_graph_rows(schema, 100, DEFAULT_BUDGET.scale), 1_000_000)
    assert graph_seconds(sizes[2], 40) <= 25
    # Ten million values are compared at most.
    assert [n_compared_rows(1000, 10**6, Budget(s)) for s in (60, 120, np.inf)] == [4004, 8008, 10_000]
    assert [max_compared_columns(10**4, Budget(s)) for s in (30, 120, np.inf)] == [1000, 2000, 10**4]
    assert [evaluation_size(schema, Budget(s))[0] for s in (30, 120, 480, np.inf)] == [1500, 3000, 6000, 10**6]


@pytest.mark.parametrize(("seconds", "n"), [(0.01, 105), (1.0, 25), (5.0, 6), (20.0, 0)])
def test_searches_are_repeated_as_often_as_there_is_time_for(seconds, n):
    assert affordable_searches(99, 5, seconds, 40.0) == n


def test_a_step_reports_its_estimate_before_it_starts():
    told = []
    with progress.use_listener(lambda label, done, total: told.append(label)):
        study(X, Y, assess=False)
    steps = [label for label in told if label.startswith("Step: ") and label != "Step: read"]
    assert len(steps) > 8
    assert all(
        re.fullmatch(r"Step: [a-z ]+, about [\d.]+ s and \d+ [kM]B", step)
        for step in dict.fromkeys(steps)
        if "table" not in step
    )


def test_when_time_is_over_optional_steps_are_skipped_with_a_note():
    X, y = load_wine(return_X_y=True, as_frame=True)
    found = study(X, y, max_seconds=1e-6).to_dict()
    assert found["ranking"]["columns"] == list(X)
    assert found["subset"]["stopped"].startswith("stopped after") or found["subset"]["columns"]
    assert found["maps"] == []
    assert found["quality"] is found["recommendation"] is found["assessment"] is found["noise_experiment"] is None
    (note,) = [one for one in sentences(found) if one.startswith("Left out")]
    assert note.startswith(
        "Left out, because the 1e-06 seconds of max_seconds (--max-seconds) are over, or too few are left: "
    )
    for part in ("the graph of the rows (about 0.1 s and ", "PCA (", "the noise experiment ("):
        assert part in note


def test_a_step_that_does_not_fit_in_memory_is_skipped(monkeypatch):
    monkeypatch.setattr(budgets, "free_memory", lambda: 5e9)
    assert DEFAULT_BUDGET.refusal_reason(StepEstimate(1e9, 4e9, 1)) is None
    assert DEFAULT_BUDGET.refusal_reason(StepEstimate(1, 6e9, 1)) == "5 GB of memory are free (memory=, --memory)"


def test_infinite_seconds_take_all_rows(monkeypatch):
    monkeypatch.setattr("tamiz.graphs.row_graph._MAX_GRAPH_ROWS", 100)
    monkeypatch.setattr("tamiz._study.models._MAX_ROWS", 100)
    monkeypatch.setattr("tamiz._study.models._NARROW_ROWS", 100)
    monkeypatch.setattr("tamiz._study.models._MIN_ROWS", 100)
    drawn = study(X, Y, points=50, maps=["pca"], assess=False).to_dict()
    whole = study(X, Y, points=50, maps=["pca"], assess=False, max_seconds=np.inf).to_dict()
    assert (drawn["graph"]["n_rows"], whole["graph"]["n_rows"]) == (100, 150)
    assert any("The graph joins 100 of the 150 rows" in note for note in sentences(drawn))
    assert not any("The graph joins" in note for note in sentences(whole))


def test_the_search_ends_when_its_share_of_the_seconds_is_over():
    assert DEFAULT_BUDGET.search_stopping(None, 100) is None
    assert Budget(np.inf).search_stopping(stop := Evaluations(3), 100) is stop
    assert DEFAULT_BUDGET.search_stopping(stop, 100_000) is stop
    assert DEFAULT_BUDGET.search_stopping(None, 100_000).limit == 5_000_000
    assert Budget(np.inf).search_stopping(None, 100_000) is None
    limited = Budget(100.0).search_stopping(None, 100)
    assert isinstance(limited, Seconds)
    assert limited.time_limit() == pytest.approx(40, abs=1)
    both = Budget(100.0).search_stopping(Evaluations(3), 100)
    assert isinstance(both, AnyOf)


@pytest.mark.parametrize(
    ("seconds", "error", "message"),
    [
        (0, ValueError, "max_seconds must be above 0, got 0"),
        (float("nan"), ValueError, "max_seconds must be a number, got nan"),
        ("60", TypeError, "max_seconds must be a number, got '60'"),
        (True, TypeError, "max_seconds must be a number, got True"),
    ],
)
def test_invalid_seconds_are_refused(seconds, error, message):
    with pytest.raises(error, match=message):
        study(X, Y, max_seconds=seconds)


def test_columns_are_compared_with_axes_over_fewer_rows_where_there_are_many(monkeypatch):
    monkeypatch.setattr("tamiz._study.maps._MAX_RANKED_VALUES", 400)
    monkeypatch.setattr("tamiz._study.maps._MIN_CORRELATED_ROWS", 50)
    found = study(pd.DataFrame(X), Y, maps=["pca"], assess=False).to_dict()
    assert found["maps"][0]["explanation"]["n_rows"] == 100


def test_columns_of_many_levels_make_selections_and_error_rates_expensive_and_ranks_not():
    def seconds(levels, target):
        schema = replace(schema_of(3000, 15, levels), target=target)
        steps = estimate_steps(
            schema,
            DEFAULT_BUDGET,
            StudyExtent(n_shown=2000, n_maps=4, sample_graph=True, searched=(CFS(), BestFirst()), semi_synthetic=20),
        )
        return {name: step.seconds for name, step in steps.items()}

    classes = Column("y", "categorical", ["a", "b"])
    few, many = (seconds(levels, classes) for levels in ((6,), (2000,)))
    # Rare levels are merged for the models that rank columns. Measured, in CPU seconds on a busy machine: error rates 1.3 and 10.
    assert many["mean rank"] < 2 * few["mean rank"]
    assert many["error rates"] > 3 * few["error rates"]
    assert many["recommendation"] < 2 * few["recommendation"]


# CPU seconds of the steps of a study, in one process on a busy machine with two cores (`time.process_time`). The last two columns
# are texts of 100 and 10 levels, and three of the others are related to the target. Where the clock decides how many searches an
# assessment has, it is left out.
MEASURED = [
    (
        ("classes", 2_000, 20),
        {
            "ranking": 0.17,
            "mean rank": 1.75,
            "redundancy": 0.01,
            "quality": 2.5,
            "recommendation": 13.8,
            "assessment": 0.99,
        },
    ),
    (
        ("number", 2_000, 20),
        {
            "ranking": 0.14,
            "mean rank": 1.74,
            "maps": 3.6,
            "subset": 0.105,
            "reasons": 0.08,
            "recommendation": 10.2,
            "assessment": 8.7,
        },
    ),
    (
        ("classes", 20_000, 50),
        {
            "graph": 2.6,
            "ranking": 1.12,
            "mean rank": 7.7,
            "redundancy": 0.08,
            "subset": 0.08,
            "reasons": 0.14,
            "maps": 8.2,
            "quality": 2.5,
            "recommendation": 20.2,
            "assessment": 1.74,
        },
    ),
    (
        ("number", 20_000, 50),
        {
            "graph": 2.5,
            "ranking": 0.98,
            "mean rank": 8.5,
            "redundancy": 0.09,
            "subset": 3.7,
            "reasons": 1.0,
            "maps": 8.8,
            "quality": 2.5,
            "recommendation": 25.0,
        },
    ),
    (
        ("classes", 300_000, 15),
        {
            "graph": 59.7,
            "ranking": 1.45,
            "mean rank": 10.1,
            "redundancy": 0.32,
            "subset": 0.39,
            "reasons": 0.54,
            "maps": 59,
            "quality": 2.4,
            "recommendation": 16.3,
            "assessment": 1.06,
        },
    ),
    (
        ("number", 300_000, 15),
        {
            "graph": 52,
            "ranking": 1.8,
            "mean rank": 11.7,
            "redundancy": 0.34,
            "subset": 72,
            "reasons": 22.7,
            "maps": 63,
            "quality": 2.5,
            "recommendation": 15.1,
        },
    ),
]


def measured_schema(target, n_rows, n_columns):
    column = Column("y", "categorical", ["a", "b"]) if target == "classes" else Column("y", "numeric")
    return replace(schema_of(n_rows, n_columns - 2, (100, 10)), target=column)


@pytest.mark.parametrize(("shape", "seconds"), MEASURED, ids=str)
def test_estimates_are_within_a_factor_of_two_of_measured_cpu_seconds(shape, seconds):
    schema = measured_schema(*shape)
    searched = choose_merit_and_search(None, None, schema)
    steps = estimate_steps(
        schema, DEFAULT_BUDGET, StudyExtent(n_shown=2000, n_maps=5, sample_graph=True, searched=searched)
    )
    ratios = {name: steps[name].seconds / found for name, found in seconds.items()}
    assert all(0.5 <= ratio <= 2 for ratio in ratios.values()), ratios


@pytest.mark.parametrize(
    ("merit", "shape", "seconds"),
    [
        (CFS(), ("classes", 300_000, 15), 0.37),
        (JMI(), ("classes", 2_000, 20), 0.013),
        (JMI(), ("number", 20_000, 50), 0.16),
        (JMI(), ("classes", 300_000, 15), 0.43),
        (MRMR(), ("number", 20_000, 50), 0.125),
        (CrossValidated("naive_bayes"), ("classes", 2_000, 20), 0.031),
        (CrossValidated("naive_bayes"), ("classes", 20_000, 50), 0.225),
        (CrossValidated("naive_bayes"), ("classes", 300_000, 15), 3.9),
        (CrossValidated("ridge"), ("classes", 20_000, 50), 3.7),
        (CrossValidated("knn"), ("number", 2_000, 20), 1.6),
        (CrossValidated("linear"), ("number", 2_000, 20), 0.93),
        (CrossValidated("logistic"), ("classes", 2_000, 20), 4.5),
        (CrossValidated("tree"), ("number", 2_000, 20), 3.8),
        (CrossValidated("naive_bayes", scoring="roc_auc"), ("classes", 2_000, 20), 0.42),
        (CrossValidated("naive_bayes", scoring="roc_auc"), ("classes", 20_000, 50), 4.1),
    ],
    ids=str,
)
def test_searches_by_other_merits_are_estimated_within_a_factor_of_two(merit, shape, seconds):
    search = BestFirst() if isinstance(merit, CFS) else Forward()
    found = search_seconds(merit, search, measured_schema(*shape), shape[1])
    assert seconds / 2 <= found <= 2 * seconds


def test_the_evaluations_of_a_search_are_those_of_five_steps_or_its_limit():
    schema = schema_of(100, 10)
    assert expected_evaluations(Forward(), schema) == 1 + 10 + 9 + 8 + 7 + 6 + 5
    assert expected_evaluations(Forward(), schema_of(100, 2)) == 4
    assert expected_evaluations(RandomSubsets(300, fixed=["x1"]), schema) == 300
    assert expected_evaluations(Exhaustive(), schema) == 1024
    assert expected_evaluations(Exhaustive(), schema_of(10, 500)) == 10**12


def test_refits_that_the_mean_rank_leaves_out_cost_nothing():
    linear = LinearCoefficient()
    X, y = np.random.default_rng(0).normal(size=(50, 4)), np.arange(50) % 2
    schema = open_table(X, y).schema
    assert linear.study_refit_products(schema, 200) == 200 * 50 * 4 * 2
    for n in (10, 10**8):
        refits = linear.make_reweighted_scorer(open_table(X, y), n) is not None
        assert bool(linear.study_refit_products(schema, n)) == refits
    assert linear.study_refit_products(replace(schema, target=None), 200) == 0

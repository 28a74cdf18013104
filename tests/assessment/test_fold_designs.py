"""Random folds that overstate a score are found, by groups and by time, and honest tables keep them."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.ensemble import RandomForestRegressor
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import r2_score

from tamiz import open_table, study
from tamiz._study.models import prepare_evaluation
from tamiz._study.table import choose_fold_design
from tamiz.assessment import compare_fold_designs, find_leaks
from tamiz.assessment.fold_designs import _cluster_t
from tamiz.exceptions import DataError
from tamiz.models.folds import make_folds
from tamiz.table import split_dates
from tamiz.table.views import with_time

PATIENT = np.random.default_rng(0).permutation(np.repeat(np.arange(120), 5))


def visits(outcome):
    """Columns of patients and of visits, and an id that repeats."""
    own = np.random.default_rng(1).normal(size=(120, 3))[PATIENT]
    frame = pd.DataFrame(own, columns=["age", "height", "pulse"]).assign(
        number=np.random.default_rng(2).permutation(9000)[:120][PATIENT],
        dose=np.random.default_rng(3).normal(size=600),
    )
    return frame, outcome


def test_patients_with_outcomes_of_their_own_are_predicted_in_random_folds_only():
    ill = np.random.default_rng(4).integers(0, 2, 120)[PATIENT]
    found = compare_fold_designs(*visits(ill), groups=PATIENT)
    assert (found.kind, found.n_samples, found.n_units, found.scoring) == ("groups", 600, 120, "roc_auc")
    assert found.random_score > 0.98
    assert abs(found.score - 0.5) < 0.12
    assert found.differs
    assert found.is_dependent
    assert found.intraclass == pytest.approx(1.0)
    assert found.to_dict()["differs"] is True


def test_visits_that_are_independent_keep_random_folds():
    frame, _ = visits(None)
    y = frame["dose"] + np.random.default_rng(5).normal(size=600)
    found = compare_fold_designs(frame, y, groups=PATIENT)
    assert not found.is_dependent
    # To recognise the patient does not help.
    assert found.score > found.random_score - 0.01
    assert found.scoring == "r2"


@pytest.mark.slow
def test_the_intraclass_correlation_is_that_of_the_analysis_of_variance():
    frame, _ = visits(None)
    y = np.random.default_rng(6).normal(size=120)[PATIENT] + np.random.default_rng(7).normal(size=600)
    found = compare_fold_designs(frame, y, groups=PATIENT)
    means = pd.Series(y).groupby(PATIENT).mean()
    between = 5 * means.var(ddof=1)
    within = ((y - means.to_numpy()[PATIENT]) ** 2).sum() / 480
    assert found.intraclass == pytest.approx((between - within) / (between + 4 * within))
    assert found.intraclass_p < 1e-9


def test_the_standard_error_is_that_of_the_means_of_equal_units():
    values = np.random.default_rng(0).normal(0.3, 1, (40, 6))
    t = _cluster_t(values.ravel(), np.ones(240), np.repeat(np.arange(40), 6))
    means = values.mean(axis=1)
    assert t == pytest.approx(means.mean() / (means.std(ddof=1) / np.sqrt(40)))
    twice = _cluster_t(np.repeat(values[:, 0], 2), np.ones(80), np.repeat(np.arange(40), 2))
    assert twice == pytest.approx(_cluster_t(values[:, 0], np.full(40, 2.0), np.arange(40)))


def drifting(n=500, seed=0):
    """A random walk with a column that follows it, and the time of the rows."""
    rng = np.random.default_rng(seed)
    walk = np.cumsum(rng.normal(size=n))
    frame = pd.DataFrame({"level": np.cumsum(rng.normal(size=n)), "x": rng.normal(size=n)})
    return frame, 3 * walk / walk.std() + frame["x"], np.cumsum(rng.exponential(size=n))


@pytest.mark.slow
def test_drift_is_found_forward_in_time_and_in_blocks():
    frame, y, time = drifting()
    forward = compare_fold_designs(frame.assign(time=time), y, time=time)
    assert (forward.kind, forward.n_samples, forward.n_units) == ("time", 250, 30)
    assert forward.differs
    blocks = compare_fold_designs(frame.assign(time=time), y, time=time, forward=False)
    assert blocks.differs
    assert blocks.n_samples == 450
    # Rows are the same in any order of the file.
    order = np.random.default_rng(1).permutation(500)
    shuffled = compare_fold_designs(frame.assign(time=time).iloc[order], y.iloc[order], time=time[order])
    assert shuffled.score == pytest.approx(forward.score, abs=0.15)
    # The score of forests of earlier rows.
    X, y = frame.assign(time=time).to_numpy(), y.to_numpy()
    predicted = np.concatenate([
        RandomForestRegressor(30, max_features=1 / 3, random_state=0).fit(X[:start], y[:start]).predict(X[start:end])
        for start, end in ((250, 333), (333, 416), (416, 500))
    ])  # fmt: skip
    assert forward.score == pytest.approx(r2_score(y[250:], predicted), abs=0.25)


@pytest.mark.slow
def test_a_trend_along_a_feature_is_no_dependence_in_blocks():
    rng = np.random.default_rng(0)
    age = np.sort(rng.gamma(6, 7, 600))
    frame = pd.DataFrame({"age": age, "weight": age / 3 + 8 * rng.normal(size=600)})
    y = age / 10 + rng.normal(size=600)
    assert compare_fold_designs(frame, y, time=age).overstates
    assert not compare_fold_designs(frame, y, time=age, forward=False).differs
    assert choose_fold_design(open_table(frame, y), random_folds=False).comparison is None


def waves_by_hand(y):
    """The p-value of waves of a target in time order, by sums of cosines, without a monotone function and a cubic one."""
    n, position = len(y), np.linspace(-1, 1, len(y))
    left = y - y.mean()
    left = left - IsotonicRegression(increasing=bool(left @ position >= 0)).fit_transform(position, left)
    left = left - np.polyval(np.polyfit(position, left, 3), position)
    rows = np.arange(n) + 0.5
    energy = np.array([2 / n * (left @ np.cos(np.pi * k * rows / n)) ** 2 for k in range(n)])
    last, noise = min(40, n // 8), n // 4
    return stats.f.sf(energy[5:last].mean() / energy[noise:].mean(), last - 5, n - noise)


def test_waves_are_those_of_a_cosine_transform_by_hand():
    rng = np.random.default_rng(0)
    time = np.arange(240.0)
    frame = pd.DataFrame({"hour": time})
    for strength in (0.0, 0.05, 0.3):
        y = rng.normal(size=240) + np.cumsum(rng.normal(size=240)) * strength
        order = rng.permutation(240)
        table = with_time(open_table(frame.iloc[order], y[order]), time[order], "hour")
        found = compare_fold_designs(table, forward=False)
        assert found.wave_p == pytest.approx(waves_by_hand(y), rel=1e-6)


@pytest.mark.parametrize(
    ("shape", "has_waves"),
    [
        ("walk", True),
        ("step", False),
        *(pytest.param(one, False, marks=pytest.mark.slow) for one in ("independent", "trend", "U", "classes")),
    ],
)
def test_a_walk_of_the_target_is_a_wave_and_no_trend_step_or_u_shape_is_one(shape, has_waves):
    rng = np.random.default_rng(3)
    n = 600
    along = np.linspace(0, 1, n)
    y = rng.normal(size=n) + {
        "walk": np.cumsum(rng.normal(size=n)) / 10,
        "trend": 4 * along,
        "U": 10 * (along - 0.5) ** 2,
        "step": 3.0 * (along > 0.37),
    }.get(shape, 0.0)
    if shape == "classes":
        y = np.where(rng.random(n) < 1 / (1 + np.exp(-20 * (along - 0.4))), "ill", "well")
    frame = pd.DataFrame({"hour": np.cumsum(rng.exponential(size=n)), "x": rng.normal(size=n)})
    table = open_table(frame, y)
    assert compare_fold_designs(frame, y, time=frame["hour"], forward=False).has_waves == has_waves
    assert choose_fold_design(table, random_folds=False).roles == ({"time": "hour"} if has_waves else {})


@pytest.mark.parametrize(
    ("roles", "match"),
    [
        ({}, "either groups or times"),
        ({"groups": np.arange(60) % 3}, "too few groups or times to compare folds: 3"),
        ({"time": np.arange(60) % 4}, "too few different times"),
    ],
)
def test_tables_that_cannot_be_compared_raise_an_error(roles, match):
    rng = np.random.default_rng(0)
    with pytest.raises(DataError, match=match):
        compare_fold_designs(rng.normal(size=(60, 2)), rng.normal(size=60), **roles)


def test_a_study_respects_the_repeated_id_and_excludes_it():
    frame, y = visits(np.random.default_rng(4).integers(0, 2, 120)[PATIENT])
    table = open_table(frame, y)
    # By the rows, the number alone predicts the outcome; by groups it predicts nothing.
    assert {leak.name for leak in find_leaks(table)} == {"number"}
    design = choose_fold_design(table, random_folds=False)
    assert design.roles == {"groups": "number"}
    assert design.leaks == []
    (sentence,) = design.warnings
    assert "Folds test whole groups of 'number', because the rows of one 'number' are alike (intraclass" in sentence
    assert "pass groups='number' (--group number); random_folds=True (--random-folds) keeps random folds." in sentence
    schema = design.table.schema
    assert (schema.groups, schema.columns[3].exclusion_reason) == ("number", "it is the group of the rows")
    stated = open_table(frame, y, groups="number")
    np.testing.assert_array_equal(design.table.groups, stated.groups)
    assert design.table.group_names == stated.group_names
    assert choose_fold_design(table, random_folds=True).table is table
    assert choose_fold_design(stated, random_folds=False).table is stated


@pytest.mark.slow
def test_a_date_is_the_time_of_the_rows_where_forward_folds_are_worse():
    frame, y, _ = drifting()
    frame = frame.assign(day=pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(500), unit="D"))
    design = choose_fold_design(split_dates(open_table(frame, y)), random_folds=False)
    assert design.roles == {"time": "day"}
    excluded = {one.name: one.exclusion_reason for one in design.table.schema.columns if one.exclusion_reason}
    assert set(excluded) >= {"day", "day (year)", "day (month)"}
    assert set(excluded.values()) == {"it is the time of the rows"}
    np.testing.assert_array_equal(design.table.time, open_table(frame, y, time="day").time)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
def test_a_study_that_finds_the_groups_has_the_numbers_of_one_that_is_passed_them():
    frame, y = visits(np.random.default_rng(4).integers(0, 2, 120)[PATIENT])
    y = np.where(y ^ (frame["age"] > 0.5), "ill", "well")
    found, stated = (study(frame, y, maps=[], assess=False, **more).record for more in ({}, {"groups": "number"}))
    assert found.fold_design.name == "number"
    assert found.subset.columns == stated.subset.columns
    assert found.subset.value == stated.subset.value
    assert found.ranking.tests.untestable_reason == "the rows of a group are not independent"
    assert set(found.ranking.tests.p_values) == {None}
    ranked = found.ranking.scores["information_gain"]
    assert (*ranked[:3], *ranked[4:]) == stated.ranking.scores["information_gain"]
    assert "groups='number'" in found.reproduction.python.partition("# Only the selection")[2]
    designs = (
        choose_fold_design(open_table(frame, y), random_folds=False).table,
        open_table(frame, y, groups="number"),
    )
    by_design, by_groups = (prepare_evaluation(one, None, 0, assess=True) for one in designs)
    for one, other in zip(*(make_folds(each.table, 5, 0) for each in (by_design, by_groups)), strict=True):
        np.testing.assert_array_equal(one.test, other.test)

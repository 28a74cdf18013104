"""Groups in a ranking: each group counts once, and columns that identify the group are reported."""

import numpy as np
import pandas as pd
import pytest

from tamiz import RankSelector, SubsetSelector, open_table
from tamiz._study.table import choose_fold_design
from tamiz.criteria import CFS, InformationGain
from tamiz.search import BestFirst, Forward
from tamiz.table.base import weight_array
from tamiz.table.row_groups import (
    between_group_share,
    find_repeated_id,
    group_warnings,
    identifies_groups,
    repeated_id_warnings,
)  # fmt: skip
from tamiz.table.views import select_rows, weight_groups_equally

N_PATIENTS, N_VISITS = 50, 20
PATIENT = np.arange(N_PATIENTS).repeat(N_VISITS)


def patients(seed=0, jitter=0.01):
    """Noise that is constant but for a jitter in each patient, one column that depends on the disease, one per visit."""
    rng = np.random.default_rng(seed)
    ill = rng.permutation(N_PATIENTS) % 2 == 0
    noise = rng.normal(size=(N_PATIENTS, 20))[PATIENT] + jitter * rng.normal(size=(len(PATIENT), 20))
    frame = pd.DataFrame(noise, columns=[f"noise{i}" for i in range(20)])
    frame["marker"] = (3 * ill + rng.normal(size=N_PATIENTS))[PATIENT] + jitter * rng.normal(size=len(PATIENT))
    frame["visit"] = rng.normal(size=len(PATIENT))
    return frame, np.where(ill, "ill", "well")[PATIENT]


def test_noise_that_is_constant_in_patients_gets_cut_points_by_rows_and_none_by_groups():
    cut_by_rows, cut_by_groups = [], []
    for seed in range(5):
        X, y = patients(seed)
        for groups, cut in ((None, cut_by_rows), (PATIENT, cut_by_groups)):
            scores = RankSelector(InformationGain()).fit(X, y, groups=groups).scores_
            cut += (scores[:20] > 0).tolist()
            assert scores[20] > 0.3
    assert np.mean(cut_by_rows) > 0.95
    assert np.mean(cut_by_groups) < 0.05


def test_scores_are_those_of_one_row_per_group_where_rows_repeat_exactly():
    X, y = patients(jitter=0.0)
    first = np.arange(0, len(y), N_VISITS)
    X = X.drop(columns="visit")
    by_groups = RankSelector(InformationGain()).fit(X, y, groups=PATIENT).scores_
    np.testing.assert_allclose(
        by_groups, RankSelector(InformationGain()).fit(X.iloc[first], y[first]).scores_, atol=1e-12
    )
    sets = [
        SubsetSelector(CFS(), BestFirst()).fit(*data)
        for data in ((open_table(X, y, groups=PATIENT),), (X.iloc[first], y[first]))
    ]
    assert sets[0].get_feature_names_out().tolist() == sets[1].get_feature_names_out().tolist()
    assert sets[0].merit_ == pytest.approx(sets[1].merit_)


def test_groups_of_any_size_count_once_and_keep_their_own_weights():
    X, y = patients()
    some = np.sort(np.random.default_rng(1).choice(len(y), 400, replace=False))
    own = np.random.default_rng(2).uniform(0.5, 2, len(y))
    table = select_rows(open_table(X, y, groups=PATIENT, weight=own), some)
    weight = weight_array(weight_groups_equally(table))
    np.testing.assert_allclose(np.ptp(np.bincount(PATIENT[some], weight / own[some])), 0.0, atol=1e-12)
    # The effective number of groups.
    of_group = np.bincount(PATIENT[some], own[some]) / np.bincount(PATIENT[some])
    assert weight.sum() == pytest.approx(of_group.sum() ** 2 / (of_group @ of_group))


@pytest.mark.parametrize(
    "roles",
    [
        {},
        {"groups": np.arange(len(PATIENT))},
        {"groups": np.arange(len(PATIENT)) % N_PATIENTS},
    ],
)
def test_rows_count_where_there_are_no_groups_of_several_rows_or_the_target_varies_in_them(roles):
    X, y = patients()
    table = open_table(X, y, **roles)
    assert weight_groups_equally(table) is table


def test_a_merit_of_folds_reads_the_rows_as_they_are():
    from tamiz.criteria import CrossValidated

    X, y = patients()
    merit = CrossValidated("knn", cv=3)
    selector = SubsetSelector(merit, Forward(), n_features=1, random_state=0).fit(
        X[["marker", "visit"]], y, groups=PATIENT
    )
    assert selector.get_feature_names_out().tolist() == ["marker"]


def test_a_column_with_values_of_its_own_in_nearly_every_group_identifies_it():
    rng = np.random.default_rng(0)
    own = rng.permutation(N_PATIENTS)[PATIENT] + 0.3 * rng.random(len(PATIENT))
    assert identifies_groups(own, PATIENT)
    assert identifies_groups(rng.permutation(N_PATIENTS)[PATIENT].astype(np.int32), PATIENT)
    # Values shared by two patients, by all, and of rows.
    for values in (
        PATIENT // 2,
        np.zeros(len(PATIENT)),
        rng.normal(size=len(PATIENT)),
        own + rng.normal(size=len(PATIENT)),
    ):
        assert not identifies_groups(values, PATIENT)


@pytest.mark.parametrize("is_number", [True, False])
def test_the_share_between_groups_is_one_for_constants_and_near_zero_for_rows(is_number):
    rng = np.random.default_rng(0)
    assert between_group_share(rng.integers(0, 9, N_PATIENTS)[PATIENT], PATIENT, is_number=is_number) == pytest.approx(
        1
    )
    assert abs(between_group_share(rng.integers(0, 9, len(PATIENT)), PATIENT, is_number=is_number)) < 0.02


def test_the_report_states_how_groups_count_and_which_columns_identify_them():
    X, y = patients(jitter=0.0001)
    counted, identify = group_warnings(open_table(X, y, groups=PATIENT))
    for fact in ("50 groups", "1,000 rows", "each group counts once"):
        assert fact in counted
    assert "'noise0'" in identify
    assert "identify the group" in identify
    varying, _ = group_warnings(open_table(X, np.tile(["a", "b"], len(y) // 2), groups=PATIENT))
    assert "varies within groups" in varying
    assert "'noise0'" in varying
    assert "'visit'" not in varying
    assert group_warnings(open_table(X, y)) == []


def visits(n_patients=40, seed=0):
    """Rows of patients in random order, with columns of the patient and of the visit."""
    rng = np.random.default_rng(seed)
    patient = rng.permutation(np.repeat(np.arange(n_patients), rng.integers(2, 8, n_patients)))
    number = rng.permutation(5000)[:n_patients]
    frame = pd.DataFrame({
        "number": number[patient],
        "sex": rng.choice(["f", "m"], n_patients)[patient],
        "height": rng.normal(170, 9, n_patients)[patient],
        "dose": rng.normal(size=len(patient)),
    })  # fmt: skip
    return frame, patient, rng


@pytest.mark.parametrize(
    "spell", [lambda v: v, lambda v: np.char.add("P", v.astype(str)), lambda v: [f"{k:012x}f" for k in v]]
)
def test_an_id_that_repeats_is_found_by_the_columns_that_are_constant_within_it(spell):
    frame, patient, _ = visits()
    frame["number"] = spell(frame["number"].to_numpy())
    table = open_table(frame, frame["dose"] > 0)
    found = find_repeated_id(table)
    assert (found.name, found.n_units, found.constant) == ("number", len(np.unique(patient)), ("sex", "height"))
    (sentence,) = repeated_id_warnings(found)
    assert "pass groups='number' (--group number)" in sentence


def test_there_is_no_repeated_id_without_columns_of_the_unit():
    frame, patient, rng = visits()
    # One column of the unit may be a coarser code.
    assert find_repeated_id(open_table(frame.drop(columns="sex"))) is None
    # A column that differs in one row is none, and neither is a recoding or a function of the id.
    other = frame.assign(sex=frame["sex"].where(np.arange(len(frame)) > 0, "x"))
    assert find_repeated_id(open_table(other)) is None
    number = frame["number"]
    functions = frame[["number", "dose"]].assign(square=number**2 + 0.5, code=np.char.add("k", patient.astype(str)))
    assert find_repeated_id(open_table(functions)) is None
    # Rows that repeat as a whole are no units.
    x = (
        pd.DataFrame(rng.normal(size=(50, 3)))
        .round(1)
        .assign(k=rng.permutation(900)[:50], w=rng.choice(list("abc"), 50))
    )
    assert find_repeated_id(open_table(pd.concat([x, x]).rename(columns=str))) is None


def panel(n_units=20, n_years=8, seed=0):
    """Firms in years: nothing is constant within a firm."""
    rng = np.random.default_rng(seed)
    firm, year = np.repeat(np.arange(n_units), n_years), np.tile(np.arange(1990, 1990 + n_years), n_units)
    own = rng.normal(size=n_units)[firm]
    frame = pd.DataFrame({"firm": 100 + firm, "year": year, "capital": own + 0.3 * rng.normal(size=len(firm))})
    return frame, own + 0.3 * rng.normal(size=len(firm))


def test_the_units_of_a_panel_are_found_without_a_column_of_theirs():
    frame, y = panel()
    for rows in (slice(None), np.random.default_rng(1).permutation(160)[:140]):
        found = find_repeated_id(open_table(frame.iloc[rows], y[rows]))
        assert (found.name, found.constant, found.period) == ("firm", (), "year")
        (sentence,) = repeated_id_warnings(found)
        assert "each of its 20 values has one row for each 'year'. If they do, pass groups='firm'" in sentence
    # Neither where pairs repeat, nor where most are missing, nor for two periods.
    assert find_repeated_id(open_table(frame.assign(year=frame["year"] // 2), y)) is None
    few = np.random.default_rng(1).permutation(160)[:100]
    assert find_repeated_id(open_table(frame.iloc[few], y[few])) is None
    assert find_repeated_id(open_table(*panel(80, 2))) is None


def test_folds_of_a_panel_test_on_whole_units():
    frame, y = panel()
    design = choose_fold_design(open_table(frame, y), random_folds=False)
    assert design.roles == {"groups": "firm"}
    # Where units differ in nothing, random folds suit.
    rng = np.random.default_rng(2)
    independent = frame.assign(capital=rng.normal(size=160))
    assert choose_fold_design(open_table(independent, rng.normal(size=160)), random_folds=False).comparison is None


def test_declared_groups_are_not_suggested():
    frame, patient, _ = visits()
    assert find_repeated_id(open_table(frame, groups=patient)) is None

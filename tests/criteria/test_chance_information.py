"""Information by chance: merits that subtract its expectation, and warnings on columns whose information is not above it."""

import warnings
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics.cluster import expected_mutual_information

from tamiz import RankSelector, SubsetSelector, open_table
from tamiz.criteria import (
    CFS,
    JMI,
    MIM,
    MRMR,
    GainRatio,
    IndependenceTest,
    InformationGain,
    SymmetricUncertainty,
)
from tamiz.criteria.information import ExpectedInformation, _is_above_chance
from tamiz.exceptions import DataError, TamizWarning
from tamiz.runtime import parallel
from tamiz.search import Forward
from tamiz.search.base import Candidates
from tamiz.table.views import select_rows

from ..reference.entropy_measures import contingency_table, expected_information_gain, information_gain
from ..reference.information_family import Information
from ..reference.mdl import mdl_cuts
from ..reference.tables import cut
from ..statistics.mixed_tables import make_mixed
from .test_information_merits import MERITS, every_merit, random_masks


@pytest.fixture(autouse=True)
def one_session():
    with parallel.thread_session(1):
        yield


def expected(a, b):
    return expected_of(contingency_table(a, b) if len(a) else np.zeros((0, 2)))


def expected_of(table, squares=None):
    starts = np.array([0, len(table)])
    (found,) = ExpectedInformation(table, starts, conditional=False, class_squares=squares).relevances
    return found


def prepare(table, merit):
    return merit.bind(table, np.random.default_rng(0))


def table_with_patients(seed=0, n=300, n_patients=100):
    """A patient number, which is noise of many values, beside three columns with information and four of noise."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    columns = {"patient": rng.integers(0, n_patients, n)}
    columns |= {
        f"x{k}": np.where(rng.random(n) < share, y, rng.integers(0, 3, n)) for k, share in enumerate((0.3, 0.35, 0.4))
    }
    columns |= {f"noise{k}": rng.integers(0, 3, n) for k in range(4)}
    return pd.DataFrame(columns).astype(str), y.astype(str)


def test_the_expectation_is_the_mean_over_all_permutations():
    a, b = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 1, 0, 0, 1])
    mean = np.mean([information_gain(contingency_table(a, np.array(order))) for order in permutations(b)])
    assert expected(a, b) == pytest.approx(mean, rel=1e-13)


@pytest.mark.parametrize(("r", "c", "n"), [(2, 2, 5), (5, 3, 100), (100, 2, 300), (100, 90, 300), (4, 3, 50_000)])
def test_the_expectation_is_that_of_scikit_learns_adjusted_mutual_information(r, c, n):
    rng = np.random.default_rng(n)
    a, b = rng.integers(0, r, n), rng.integers(0, c, n)
    table = contingency_table(a, b)
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    theirs = expected_mutual_information(table.astype(np.int64), n) / np.log(2)
    # Theirs is a difference of logarithms of factorials.
    assert expected(a, b) == pytest.approx(theirs, rel=1e-7)
    if n <= 100:
        assert expected(a, b) == pytest.approx(expected_information_gain(table), rel=1e-12)


def test_the_expectation_of_large_tables_is_the_chi_squared_one():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 5, 10**6), rng.integers(0, 3, 10**6)
    assert expected(a, b) == pytest.approx(4 * 2 / (2 * 10**6 * np.log(2)), rel=1e-5)


@pytest.mark.parametrize(("r", "c", "tolerance"), [(2, 2, 0.15), (10, 3, 0.1), (100, 2, 0.1), (400, 3, 0.03)])
def test_the_expectation_of_sampled_rows_is_near_the_mean_over_permutations(r, c, tolerance):
    rng = np.random.default_rng(r)
    a, b, weight = np.arange(400) % r, rng.integers(0, c, 400), rng.lognormal(sigma=0.8, size=400)

    def table(codes, weight):
        return np.bincount(a * c + codes, weight, r * c).reshape(r, c)

    n_permutations = 2000 if r == 2 else 100
    mean = np.mean([information_gain(table(rng.permutation(b), weight)) for _ in range(n_permutations)])
    assert expected_of(table(b, weight), table(b, weight**2)) == pytest.approx(mean, rel=tolerance)
    assert expected_of(table(b, 2500 * weight), table(b, (2500 * weight) ** 2)) == pytest.approx(
        expected_of(table(b, weight), table(b, weight**2)), rel=1e-12
    )


def test_constant_and_unique_columns():
    codes = np.repeat([0, 1], [3, 7])
    assert expected(np.zeros(10, dtype=int), codes) == 0
    # Every order of the rows of a column of different values determines the other one.
    assert expected(np.arange(10), codes) == pytest.approx(information_gain(contingency_table(np.arange(10), codes)))
    assert expected(np.zeros(0, dtype=int), np.zeros(0, dtype=int)) == 0


@every_merit
@pytest.mark.parametrize("weights", [None, "frequency", "sampling"])
def test_corrected_merits_of_random_sets_are_their_definitions(name, weights):
    table = make_mixed(1, n=50, n_numbers=2, n_codes=3)
    weight = None if weights is None else table.weight.astype(float)
    opened = open_table(table.frame(), table.target(), weight=weight, weights=weights)
    if weights == "sampling":
        weight *= weight.sum() / (weight @ weight)
    columns = [cut(column, mdl_cuts(column, table.classes, weight)) for column in table.numbers.T] + [*table.codes.T]
    information = Information(columns, table.classes, weight, "category", True, weights == "sampling")
    masks = random_masks(np.random.default_rng(0), 20, 5)
    merits = [information.merit(name, tuple(np.flatnonzero(mask).tolist())) for mask in masks]
    evaluator = prepare(opened, MERITS[name](missing="category", correction="chance"))
    np.testing.assert_allclose(evaluator.evaluate(Candidates.from_masks(masks)), merits, rtol=1e-9, atol=1e-11)
    contains = (masks[:, None] | ~masks).all(axis=2)
    bounds = evaluator.upper_bounds(masks)
    assert (np.where(contains, merits, -np.inf).max(axis=1) <= bounds + 1e-12).all()


@every_merit
def test_a_corrected_merit_of_several_targets_is_computed_from_means(name):
    table = make_mixed(2, n=40, missing=0.0)
    other = np.roll(table.classes, 1)
    targets = pd.DataFrame({"first": table.target(), "second": np.array([*"uvwxyz"])[other]})
    frame = table.frame()[[f"level {j}" for j in range(3)]]
    merit = MERITS[name](correction="chance")
    fitted = SubsetSelector(merit, Forward(), n_features=(1, 3)).fit(frame, targets)
    parts = [Information([*table.codes.T], y, missing="category", correct=True) for y in (table.classes, other)]
    mean = parts[0]
    for field in "crqh":
        setattr(mean, field, (getattr(parts[0], field) + getattr(parts[1], field)) / 2)
    assert fitted.merit_ == pytest.approx(mean.merit(name, tuple(fitted.get_support(indices=True).tolist())))


@every_merit
def test_a_patient_number_is_selected_with_a_warning_and_not_with_the_correction(name):
    X, y = table_with_patients()
    with pytest.warns(
        TamizWarning, match=r"the information about the target of 'patient' \(93 values, 0.224 bits, 0.284 exp"
    ) as caught:
        plain = SubsetSelector(MERITS[name](), Forward(), n_features=3).fit(X, y)
    (verdict,) = [one.message.args[0] for one in caught]
    assert (verdict.code, verdict.columns) == ("TZ302", ("patient",))
    assert plain.support_[0]
    corrected = SubsetSelector(MERITS[name](correction="chance"), Forward(), n_features=3).fit(X, y)
    assert not corrected.support_[0]
    assert corrected.support_[1:4].sum() >= 2


@pytest.mark.parametrize("convention", ["hall", "weka"])
def test_cfs_warns_of_a_patient_number(convention):
    X, y = table_with_patients(2)
    sentence = (
        r"CFS: the information about the target of 'patient' \(96 values, 0.32 bits, 0.295 expected\) is not above"
    )
    with pytest.warns(TamizWarning, match=sentence):
        assert SubsetSelector(CFS(convention=convention)).fit(X, y).support_[0]
    SubsetSelector(CFS(convention=convention)).fit(X.drop(columns="patient"), y)


def test_independent_columns_have_a_corrected_relevance_of_0_on_average():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({f"{levels} {k}": rng.integers(0, levels, 200) for levels in (2, 20, 100) for k in range(60)})
    evaluator = prepare(open_table(X.astype(str), rng.integers(0, 3, 200).astype(str)), MIM(correction="chance"))
    relevances = evaluator.evaluate(Candidates.from_masks(np.eye(180, dtype=bool))).reshape(3, 60)
    assert (np.abs(relevances.mean(axis=1)) < 4 * relevances.std(axis=1) / np.sqrt(60)).all()


def test_columns_are_named_at_the_level_of_the_test():
    rng = np.random.default_rng(0)
    named = 0
    for _ in range(100):
        a, b = rng.integers(0, 60, 200), rng.integers(0, 2, 200)
        named += not _is_above_chance(contingency_table(a, b).astype(np.int64))
    assert 90 <= named <= 99


def test_columns_with_information_and_columns_of_few_values_are_not_named():
    rng = np.random.default_rng(0)
    code = rng.integers(0, 40, 600)
    y = (rng.random(600) < rng.random(40)[code]).astype(str)
    # Alone they have no information about the target: the exclusive or of both has.
    a = rng.integers(0, 2, 600)
    X = pd.DataFrame({"code": code, "a": a, "b": a ^ (y == "True")}).astype(str)
    assert SubsetSelector(JMI(), Forward(), n_features=3).fit(X, y).support_.all()
    selector = RankSelector(InformationGain(), n_features=1).fit(X, y)
    assert selector.get_feature_names_out().tolist() == ["code"]


def test_a_column_with_information_about_one_of_several_targets_is_not_named():
    X, y = table_with_patients()
    by_patient = X["patient"].str[-1].isin([*"01234"]).to_numpy().astype(str)
    SubsetSelector(MIM(), Forward(), n_features=1).fit(X, pd.DataFrame({"y": y, "z": by_patient}))
    rolled = pd.DataFrame({"y": y, "z": np.roll(y, 1)})
    with pytest.warns(TamizWarning, match="MIM: .* 'patient'"):
        SubsetSelector(MIM(), Forward(), n_features=1).fit(X, rolled)
    with pytest.warns(TamizWarning, match="InformationGain: .* 'patient'"):
        RankSelector(InformationGain(), n_features=1).fit(X, rolled)


@pytest.mark.parametrize("criterion", [InformationGain(), SymmetricUncertainty(), GainRatio(missing="category")])
def test_rankings_by_information_warn_of_selected_columns(criterion):
    X, y = table_with_patients(3)
    X.loc[::10, "patient"] = None
    named = type(criterion).__name__ + ": the information about the target of 'patient' .* select by the merit MIM with"
    with pytest.warns(TamizWarning, match=named):
        RankSelector(criterion, n_features=7).fit(X, y)
    # A ranking of all columns warns by the same code.
    with pytest.warns(TamizWarning, match=named):
        assert RankSelector(criterion).fit(X, y).support_.all()
    RankSelector(IndependenceTest(contingency_test="pearson"), n_features=3).fit(X.drop(columns="patient"), y)


@pytest.mark.parametrize(
    "selector", [SubsetSelector(JMI(), Forward(), n_features=2), RankSelector(InformationGain(), n_features=2)]
)
def test_rows_count_once_where_information_is_compared_with_chance_but_not_in_parts_of_a_table(selector):
    X, y = table_with_patients()
    assert selector.fit(select_rows(open_table(X, y), np.arange(0, 300, 2))).get_support()[0]
    for weight in (np.ones(300), np.full(300, 0.5), np.random.default_rng(0).lognormal(size=300)):
        with pytest.warns(TamizWarning, match="'patient'"):
            selector.fit(X, y, sample_weight=weight)


def test_many_columns_are_counted_and_not_all_named():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 60, (200, 8)), columns=[f"code{k}" for k in range(8)]).astype(str)
    with pytest.warns(TamizWarning, match=r"'code0' \(.*'code4' \(.*\) and [1-3] more is not above chance"):
        SubsetSelector(MIM(), Forward(), n_features=8).fit(X, rng.integers(0, 2, 200).astype(str))


def test_what_the_correction_cannot_be_computed_from_is_refused():
    X, y = table_with_patients()
    search = {"search": Forward(), "n_features": 2}
    groups = np.arange(300) // 2
    with pytest.raises(DataError, match="but those of groups count as fractions"):
        SubsetSelector(JMI(correction="chance"), **search).fit(X, y[groups], groups=groups)
    X.loc[3, "x1"] = None
    with pytest.raises(DataError, match=r"the 1 missing values? of column 'x1' .* Use missing='category'"):
        SubsetSelector(JMI(correction="chance"), **search).fit(X, y)
    SubsetSelector(JMI(correction="chance", missing="category"), **search).fit(X, y)
    with pytest.raises(ValueError, match="correction must be one of 'none', 'chance', got 'Miller-Madow'"):
        SubsetSelector(JMI(correction="Miller-Madow"), **search).fit(X, y)
    with pytest.raises(ValueError, match="correction applies to association='information' only"):
        SubsetSelector(MRMR("correlation", correction="chance"), **search).fit(*load_iris(return_X_y=True))


def test_a_table_without_used_columns_has_no_expectation():
    expectation = ExpectedInformation(np.zeros((0, 2)), np.zeros(1, dtype=np.int64), conditional=True)
    assert expectation.relevances.tolist() == []


def test_numbers_are_corrected_in_their_intervals():
    X, y = load_iris(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plain = prepare(open_table(X, y.astype(str)), MIM()).evaluate(Candidates.from_masks(np.eye(4, dtype=bool)))
        corrected = prepare(open_table(X, y.astype(str)), MIM(correction="chance"))
    # Two to four intervals and three classes in 150 rows.
    lower = corrected.evaluate(Candidates.from_masks(np.eye(4, dtype=bool)))
    assert ((plain - lower > 0.005) & (plain - lower < 0.04)).all()

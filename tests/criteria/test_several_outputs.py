"""Targets of several columns for relevances from statistics and for the information family: means over the single outputs."""

import warnings
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.datasets import make_multilabel_classification
from sklearn.utils import get_tags

import tamiz
from tamiz import RankSelector, SubsetSelector, open_table
from tamiz.criteria import (
    CFS,
    CIFE,
    JMI,
    MIM,
    MRMR,
    EqualFrequency,
    FisherScore,
    GainRatio,
    IndependenceTest,
    InformationGain,
    ReliefF,
    SymmetricUncertainty,
    TreeImportance,
    Variance,
    adjust_p_values,
)
from tamiz.criteria.information import JointInformation
from tamiz.exceptions import DataError
from tamiz.models.multioutput import read_multioutput
from tamiz.search import BranchAndBound, Exhaustive, Forward
from tamiz.search.base import Candidates

from ..reference.information_family import Information
from ..reference.mdl import mdl_cuts
from ..reference.tables import cut
from ..statistics.mixed_tables import make_mixed
from .test_information_merits import MERITS, every_merit, random_masks

ROWS, LABELS = make_multilabel_classification(100, 6, n_classes=3, random_state=0)
NUMBERS = ROWS[:, :2] @ np.array([[1.0, 0.5], [0.0, 1.0]]) + np.random.default_rng(0).normal(size=(100, 2))
# Those that are the mean over the outputs of their merits, because they are linear in the information.
LINEAR = {"MIM", "MIFS", "CIFE", "MRMR", "JMI"}


def repr_of_relevance(parameter):
    return "" if isinstance(parameter, np.ndarray) else repr(parameter)


def of_outputs(merit, table, Y):
    return merit.bind(table, np.random.default_rng(0), read_multioutput(Y))


def of_one(merit, table):
    return merit.bind(table, np.random.default_rng(0))


@cache
def mixed_labels(seed, missing, weighted):
    """A mixed table without a target, three targets of it, and the means of their information by the definitions."""
    table = make_mixed(seed, n=80, n_numbers=3, n_codes=4)
    rng = np.random.default_rng(seed)
    second = (table.codes[:, 0] + table.codes[:, 1] + rng.integers(0, 2, 80)) % 2
    Y = np.column_stack([table.classes, second, rng.integers(0, 3, 80)])
    weight = table.weight.astype(float) if weighted else None
    outputs = []
    for y in Y.T:
        columns = [cut(column, mdl_cuts(column, y, weight)) for column in table.numbers.T]
        outputs.append(Information([*columns, *table.codes.T], y, weight, missing))
    mean = Information.__new__(Information)
    for name in "crqh":
        setattr(mean, name, np.mean([getattr(one, name) for one in outputs], axis=0))
    return open_table(table.frame(), weight=weight), Y, mean


@every_merit
@pytest.mark.parametrize(("missing", "weighted"), [("distribute", False), ("category", True)])
def test_merits_are_their_definitions_with_the_means_of_the_information(name, missing, weighted):
    table, Y, information = mixed_labels(4, missing, weighted)
    masks = random_masks(np.random.default_rng(0), 15, 7)
    expected = [information.merit(name, tuple(np.flatnonzero(mask).tolist())) for mask in masks]
    evaluator = of_outputs(MERITS[name](missing=missing), table, Y)
    np.testing.assert_allclose(evaluator.evaluate(Candidates.from_masks(masks)), expected, rtol=1e-10, atol=1e-11)
    bounds = evaluator.upper_bounds(np.ones((1, 7), dtype=bool))
    assert bounds.item() >= max(expected)


@pytest.mark.parametrize("name", [*sorted(LINEAR), "correlation"])
@pytest.mark.parametrize("Y", [LABELS, NUMBERS], ids=["labels", "numbers"])
def test_linear_merits_are_the_means_of_the_merits_of_single_outputs(name, Y):
    merit = MRMR("correlation") if name == "correlation" else MERITS[name]()
    masks = Candidates.from_masks(random_masks(np.random.default_rng(0), 15, 6))
    single = [of_one(merit, open_table(ROWS, y)).evaluate(masks) for y in Y.T]
    found = of_outputs(merit, open_table(ROWS), Y).evaluate(masks)
    np.testing.assert_allclose(found, np.mean(single, axis=0), rtol=1e-12, atol=1e-14)


def test_outputs_that_are_equal_have_the_merits_of_one_of_them():
    masks = Candidates.from_masks(random_masks(np.random.default_rng(0), 15, 6))
    twice = np.column_stack([LABELS[:, 0], LABELS[:, 0]])
    for name, merit in MERITS.items():
        expected = of_one(merit(), open_table(ROWS, LABELS[:, 0])).evaluate(masks)
        found = of_outputs(merit(), open_table(ROWS), twice).evaluate(masks)
        np.testing.assert_array_equal(found, expected, err_msg=name)


@pytest.mark.parametrize(
    ("merit", "Y", "n_counted"),
    [
        (MRMR(), NUMBERS, 1),
        (MRMR(), LABELS, 3),
        (MRMR(discretization=EqualFrequency(4)), LABELS, 1),
        (JMI(), NUMBERS, 2),
    ],
)
def test_redundancies_are_counted_once_where_the_codes_do_not_depend_on_the_output(monkeypatch, merit, Y, n_counted):
    counted, original = set(), JointInformation.of_pairs
    monkeypatch.setattr(JointInformation, "of_pairs", lambda *args: counted.add(args[0]) or original(*args))
    of_outputs(merit, open_table(ROWS), Y).evaluate(Candidates.from_masks(np.array([[True, True, *[False] * 4]])))
    assert len(counted) == n_counted


def test_groups_of_an_output_that_is_constant_in_each_of_them_count_once():
    groups = np.arange(100) // 4
    Y = np.column_stack([LABELS[groups, 0], LABELS[:, 1]])
    masks = Candidates.from_masks(random_masks(np.random.default_rng(0), 10, 6))
    single = [of_one(CIFE(), open_table(ROWS, y, groups=groups)).evaluate(masks) for y in Y.T]
    found = of_outputs(CIFE(), open_table(ROWS, groups=groups), Y).evaluate(masks)
    np.testing.assert_allclose(found, np.mean(single, axis=0), rtol=1e-12, atol=1e-14)
    ranked = RankSelector(InformationGain()).fit(ROWS, Y, groups=groups)
    for scores, y in zip(ranked.scores_per_output_, Y.T, strict=True):
        np.testing.assert_array_equal(scores, RankSelector(InformationGain()).fit(ROWS, y, groups=groups).scores_)


def test_an_exclusive_or_of_every_label_is_found():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (400, 5))
    Y = np.column_stack([codes[:, 0] ^ codes[:, 1], codes[:, 1] ^ codes[:, 2]])
    X = pd.DataFrame(codes).astype(str)
    selector = SubsetSelector(CIFE(), Exhaustive(), n_features=3).fit(X, Y)
    assert selector.get_support(indices=True).tolist() == [0, 1, 2]
    exact = SubsetSelector(CIFE(), BranchAndBound(), n_features=3).fit(X, Y)
    assert exact.merit_ == selector.merit_ == pytest.approx(1.0, abs=0.03)


@pytest.mark.parametrize(
    "given", [LABELS.tolist(), pd.DataFrame(LABELS), pl.DataFrame(LABELS), sparse.csr_array(LABELS)]
)
def test_a_target_of_any_container_has_the_same_scores(given):
    expected = RankSelector(GainRatio()).fit(ROWS, LABELS)
    np.testing.assert_array_equal(RankSelector(GainRatio()).fit(open_table(ROWS), given).scores_, expected.scores_)
    merit = SubsetSelector(MIM(), Forward(), n_features=2).fit(ROWS, LABELS).merit_
    assert SubsetSelector(MIM(), Forward(), n_features=2).fit(open_table(ROWS), given).merit_ == merit


def test_a_journal_is_of_one_target(tmp_path):
    selector = SubsetSelector(JMI(), Forward(), n_features=2, journal=tmp_path / "a.journal").fit(ROWS, LABELS)
    assert selector.fit(ROWS, LABELS).merit_ == selector.merits([selector.support_], ROWS, LABELS)[0]
    with pytest.raises(ValueError, match=r"a\.journal"):
        selector.fit(ROWS, LABELS[:, :2])


@pytest.mark.parametrize(
    ("relevance", "Y"),
    [
        *[(relevance, LABELS) for relevance in (InformationGain(), GainRatio(), SymmetricUncertainty(), FisherScore())],
        (InformationGain(discretization=EqualFrequency(5)), NUMBERS),
        ("information-gain", NUMBERS),
        (None, LABELS),
        (InformationGain(missing="category"), np.array(["red", "green", "blue"])[LABELS + (ROWS[:, :3] > 10)]),
    ],
    ids=repr_of_relevance,
)
def test_scores_are_the_means_of_those_of_single_outputs(relevance, Y):
    X = pd.DataFrame(ROWS, columns=[*"abcdef"])
    X["a"] = X["a"].where(X["a"] > 4)
    X["level"] = pd.Categorical.from_codes((ROWS[:, 1] // 5).astype(int) % 3, [*"abc"])
    weight = np.random.default_rng(0).integers(0, 3, 100).astype(float)
    selector = RankSelector(relevance).fit(X, Y, sample_weight=weight)
    single = [RankSelector(relevance).fit(X, y, sample_weight=weight).scores_ for y in Y.T]
    np.testing.assert_array_equal(selector.scores_per_output_, single)
    np.testing.assert_array_equal(selector.scores_, np.mean(single, axis=0))
    assert selector.ranking_[0] == selector.scores_.argmax()
    assert selector.scores_.max() > 0
    assert selector.p_values_ is None


def table_with_an_untestable_column():
    """A column that cannot be tested with output 1, because it has values in one of its classes only; the last is constant."""
    X = ROWS.copy()
    X[:, 4] = np.where(LABELS[:, 1] == 1, X[:, 4], np.nan)
    return np.column_stack([X, np.full(100, 3.0)])


@pytest.mark.parametrize(
    "Y", [LABELS, NUMBERS, np.column_stack([LABELS[:, 0], NUMBERS])], ids=["labels", "numbers", "both"]
)
def test_p_values_are_the_smallest_of_the_outputs_times_their_number(Y):
    X, n_outputs = table_with_an_untestable_column(), Y.shape[1]
    selector = RankSelector(IndependenceTest()).fit(X, Y)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "TZ210")
        single = [RankSelector(IndependenceTest()).fit(X, y) for y in Y.T]
    p_values = np.stack([one.p_values_ for one in single])
    np.testing.assert_allclose(selector.p_values_, np.minimum(n_outputs * p_values.min(axis=0), 1.0), rtol=1e-12)
    np.testing.assert_allclose(selector.scores_, -np.log10(selector.p_values_), rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(selector.scores_per_output_, [one.scores_ for one in single])
    best = np.stack([one.statistics_ for one in single])[p_values.argmin(axis=0), np.arange(7)]
    np.testing.assert_array_equal(selector.statistics_, best)
    tested = np.arange(7) < 6
    np.testing.assert_array_equal(selector.adjusted_p_values_[tested], adjust_p_values(selector.p_values_[tested]))
    assert selector.p_values_[6] == 1
    assert np.isnan(selector.statistics_[6])


def test_columns_are_selected_at_a_false_discovery_rate_over_all_outputs():
    rng = np.random.default_rng(0)
    Y = rng.integers(0, 2, (200, 4))
    X = np.hstack([Y[:, :2] + rng.normal(size=(200, 2)), rng.normal(size=(200, 30))])
    assert RankSelector(fdr=0.05).fit(X, Y).get_support(indices=True).tolist() == [0, 1]
    # Without a factor for the number of outputs, more than 5 % of the useless columns would have such a p-value.
    useless = RankSelector(IndependenceTest(test="rank")).fit(rng.normal(size=(200, 300)), Y).p_values_
    assert np.mean(useless <= 0.2) <= 0.2
    assert useless.max() == 1


def test_few_expected_counts_with_one_output_are_warned_of():
    rare = np.arange(60) < 3
    X = pd.DataFrame({"level": [*"abc"] * 20})
    with pytest.warns(UserWarning, match="expected counts of 'level' are below 5"):
        RankSelector(IndependenceTest()).fit(X, np.column_stack([rare, np.arange(60) % 2]))


def test_rows_in_groups_have_scores_without_p_values():
    with pytest.warns(UserWarning, match="there are no p-values: the rows of a group"):
        selector = RankSelector(IndependenceTest()).fit(ROWS, LABELS, groups=np.arange(100) // 2)
    assert selector.p_values_ is None
    assert selector.scores_per_output_.shape == (3, 6)


def test_one_column_in_two_dimensions_is_one_target():
    for relevance in (InformationGain(), IndependenceTest()):
        found = RankSelector(relevance).fit(ROWS, LABELS[:, :1])
        np.testing.assert_array_equal(found.scores_, RankSelector(relevance).fit(ROWS, LABELS[:, 0]).scores_)
        assert found.scores_per_output_ is None
    merit = SubsetSelector(JMI(), Forward(), n_features=2).fit(ROWS, LABELS[:, 0]).merit_
    assert SubsetSelector(JMI(), Forward(), n_features=2).fit(ROWS, LABELS[:, :1]).merit_ == merit


def test_a_saved_ranking_has_the_scores_of_each_output(tmp_path):
    selector = RankSelector(IndependenceTest(), n_features=2).fit(ROWS, LABELS)
    tamiz.save(selector, tmp_path / "ranking.tamiz")
    found = tamiz.load(tmp_path / "ranking.tamiz")
    np.testing.assert_array_equal(found.scores_per_output_, selector.scores_per_output_)
    np.testing.assert_array_equal(found.transform(ROWS), selector.transform(ROWS))


@pytest.mark.parametrize(
    ("selector", "supported"),
    [
        (RankSelector(), True),
        (RankSelector("gain-ratio"), True),
        (RankSelector(IndependenceTest()), True),
        (RankSelector(Variance()), False),
        (RankSelector(TreeImportance()), False),
        (SubsetSelector(JMI()), True),
        (SubsetSelector(CFS()), False),
    ],
    ids=str,
)
def test_tags_state_which_criteria_accept_several_targets(selector, supported):
    assert get_tags(selector).target_tags.multi_output == supported


def test_a_relevance_without_a_target_ignores_one_of_several_columns():
    found = RankSelector(Variance()).fit(ROWS, LABELS)
    np.testing.assert_array_equal(found.scores_, RankSelector(Variance()).fit(ROWS).scores_)


WITH_MISSING = np.where(NUMBERS[7, 1] == NUMBERS, np.nan, NUMBERS)
CONSTANT = np.column_stack([LABELS[:, 0], np.ones(100, dtype=int)])


@pytest.mark.parametrize(
    ("selector", "Y", "message"),
    [
        (
            RankSelector(IndependenceTest()),
            WITH_MISSING,
            "The target is missing in row 7, column 1 of y; leave such rows out.",
        ),
        (SubsetSelector(JMI()), WITH_MISSING, "The target is missing in row 7, column 1 of y"),
        (RankSelector(InformationGain()), CONSTANT, "Target 'y1' is constant: 1 class, '1' in all 100 rows"),
        (SubsetSelector(JMI()), CONSTANT, "Target 'y1' is constant"),
        (RankSelector(InformationGain()), LABELS[:50], "The target has 50 rows and the table 100: inconsistent"),
        (RankSelector(FisherScore()), NUMBERS, "FisherScore needs a target with classes; the target 'y0' is numeric"),
        (RankSelector(InformationGain()), NUMBERS, "needs a target with classes, but the target 'y0' is numeric"),
        (RankSelector(ReliefF()), LABELS, r"The target must be one column, got an array of shape \(100, 3\)"),
        (
            RankSelector(TreeImportance()),
            pd.DataFrame(LABELS),
            "The target must be one column, got 3; pass one of them.",
        ),
        (
            RankSelector(InformationGain()),
            np.array([["a", 1], ["b", 2]] * 50, dtype=object),
            "cannot be read as targets",
        ),
    ],
)
def test_targets_that_cannot_be_used_are_refused(selector, Y, message):
    with pytest.raises(DataError, match=message):
        selector.fit(ROWS, Y)


def test_a_table_with_a_target_accepts_no_other():
    for selector in (RankSelector(InformationGain()), SubsetSelector(JMI(), Forward(), n_features=1)):
        with pytest.raises(TypeError, match="The table has its own target"):
            selector.fit(open_table(ROWS, LABELS[:, 0]), LABELS)

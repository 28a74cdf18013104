"""Each relevance against its definition, on random mixed tables with ties, missing values and weights."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.feature_selection import f_classif

from tamiz import RankSelector, open_table
from tamiz.criteria import (
    MDL,
    Entropy,
    EqualFrequency,
    EqualWidth,
    FisherScore,
    GainRatio,
    InformationGain,
    SymmetricUncertainty,
    Variance,
    entropy,
    fisher_score,
    symmetric_uncertainty,
)
from tamiz.runtime import parallel
from tamiz.statistics.cuts import CutPoints

from ..reference import entropy_measures as plain
from ..reference.fisher import fisher_score as plain_fisher_score
from ..reference.mdl import mdl_cuts
from ..reference.tables import cut
from ..statistics.mixed_tables import make_mixed

SEEDS = range(12)
MEASURES = {
    InformationGain: plain.information_gain,
    GainRatio: plain.gain_ratio,
    SymmetricUncertainty: plain.symmetric_uncertainty,
}


@pytest.fixture(autouse=True)
def one_session():
    """Hundreds of small fits: opening threads for each would take longer than they do."""
    with parallel.thread_session(1):
        yield


def coded(table, rule, weight):
    """All columns as codes; numbers are cut by the plain MDL or by another rule."""
    if rule is None:
        numbers = [cut(column, mdl_cuts(column, table.classes, weight)) for column in table.numbers.T]
    else:
        opened = table.table(weighted=weight is not None)
        (points,) = opened.reduce(CutPoints(opened.schema.numeric, rule, opened.schema.n_classes))
        numbers = [cut(column, points.edges[j]) for j, column in enumerate(table.numbers.T)]
    return [*numbers, *table.codes.T]


RULES = (EqualFrequency(4), EqualWidth(4))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "rule",
    [pytest.param(None, id="None"), *(pytest.param(one, id=repr(one), marks=pytest.mark.slow) for one in RULES)],
)
@pytest.mark.parametrize("missing", ["distribute", "category"])
@pytest.mark.parametrize("relevance", MEASURES)
def test_the_entropy_family_equals_its_definitions(relevance, missing, rule, weighted):
    for seed in SEEDS:
        table = make_mixed(seed)
        weight = table.weight.astype(float) if weighted else None
        measure = MEASURES[relevance]
        expected = [
            measure(plain.contingency_table(column, table.classes, weight, missing))
            for column in coded(table, rule, weight)
        ]
        selector = RankSelector(relevance(missing=missing, discretization=rule))
        ours = selector.fit(table.frame(), table.target(), sample_weight=weight).scores_
        np.testing.assert_allclose(ours, expected, atol=1e-12, err_msg=f"seed {seed}")


@pytest.mark.parametrize("rule", [EqualFrequency(4), EqualWidth(3)], ids=repr)
def test_a_numeric_target_is_cut_by_the_rule_of_the_columns(rule):
    for seed in SEEDS:
        table = make_mixed(seed)
        y = np.random.default_rng(seed).normal(size=len(table.classes)) + table.classes
        opened = table.table(target=y)
        (points,) = opened.reduce(CutPoints((*opened.schema.numeric, opened.schema.n_columns), rule, 0))
        target = cut(y, points.edges[opened.schema.n_columns])
        expected = [
            plain.information_gain(plain.contingency_table(column, target)) for column in coded(table, rule, None)
        ]
        ours = RankSelector(InformationGain(discretization=rule)).fit(opened).scores_
        np.testing.assert_allclose(ours, expected, atol=1e-12, err_msg=f"seed {seed}")


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("missing", ["distribute", "category"])
@pytest.mark.parametrize("rule", [None, MDL(), EqualFrequency(4)], ids=repr)
def test_entropy_counts_present_values_or_missing_as_one_more(rule, missing, weighted):
    for seed in SEEDS:
        table = make_mixed(seed)
        weight = table.weight.astype(float) if weighted else np.ones(len(table.classes))
        expected = []
        for column in coded(table, None if rule == MDL() else rule or EqualWidth(10), weight if weighted else None):
            kept = column >= (0 if missing == "distribute" else -1)
            expected.append(plain.entropy(np.bincount(column[kept] + 1, weight[kept])))
        selector = RankSelector(Entropy(missing=missing, discretization=rule))
        fit = {"sample_weight": weight} if weighted else {}
        X = open_table(table.frame(), table.target(), weight=fit.get("sample_weight"))
        np.testing.assert_allclose(selector.fit(X).scores_, expected, atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_variance_is_that_of_numbers_and_of_the_indicators_of_levels(weighted):
    for seed in SEEDS:
        table = make_mixed(seed)
        repeated = table.repeated() if weighted else table
        expected = [np.nanvar(column, ddof=1) for column in repeated.numbers.T]
        for codes in repeated.codes.T:
            present = codes[codes >= 0]
            expected.append(sum(np.var(present == level, ddof=1) for level in np.unique(present)))
        fit = {"sample_weight": table.weight} if weighted else {}
        np.testing.assert_allclose(RankSelector(Variance()).fit(table.frame(), **fit).scores_, expected, rtol=1e-11)


def plain_ratio(column, classes, is_number):
    """F of a numeric column; for a categorical one the sums run over its indicators, each divided by the root of its share."""
    present = ~np.isnan(column) if is_number else column >= 0
    column, classes = column[present], classes[present]
    if is_number:
        return plain_fisher_score(column, classes)
    between = within = 0.0
    for level in np.unique(column):
        indicator = (column == level) / np.sqrt(np.mean(column == level))
        for c in np.unique(classes):
            members = indicator[classes == c]
            between += len(members) * (members.mean() - indicator.mean()) ** 2
            within += len(members) * members.var()
    return between / within


def test_fisher_score_is_f_over_1_plus_f():
    for seed in SEEDS:
        table = make_mixed(seed, n=80)
        kinds = [True] * table.numbers.shape[1] + [False] * table.codes.shape[1]
        F = np.array([plain_ratio(c, table.classes, k) for c, k in zip(table.columns(), kinds, strict=True)])
        scores = RankSelector(FisherScore()).fit(table.frame(), table.target()).scores_
        np.testing.assert_allclose(scores, F / (1 + F), rtol=1e-10, atol=1e-13)
        np.testing.assert_allclose(fisher_score(table.frame(), table.target()), F, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("load", [load_wine, load_breast_cancer])
def test_fisher_score_is_the_anova_statistic_without_its_degrees_of_freedom(load):
    X, y = load(return_X_y=True)
    n, k = len(y), len(np.unique(y))
    np.testing.assert_allclose(fisher_score(X, y), f_classif(X, y)[0] * (k - 1) / (n - k), rtol=1e-9)


def test_fisher_score_is_infinite_where_classes_differ_and_are_constant_within():
    X = pd.DataFrame({"number": [0.1] * 3 + [0.7] * 6, "level": [*"aaabbbbbb"], "constant": [0.1] * 9})
    y = [*"pppqqqqqq"]
    for sample_weight in (None, np.linspace(0.1, 1, 9)):
        assert fisher_score(X, y, sample_weight=sample_weight).tolist() == [np.inf, np.inf, 0.0]
        assert RankSelector(FisherScore()).fit(X, y, sample_weight=sample_weight).scores_.tolist() == [1, 1, 0]


def test_fisher_score_refuses_a_numeric_target():
    with pytest.raises(
        ValueError, match=r"FisherScore needs a target with classes; the target 'target' is numeric\. Use Variance"
    ):
        RankSelector(FisherScore()).fit([[1.0], [2.0], [4.0]], [0.5, 0.25, 1.5])


def test_the_functions_equal_the_definitions_on_values_of_any_kind():
    for seed in SEEDS:
        table = make_mixed(seed)
        a, b = table.codes[:, 0], table.codes[:, 1]
        weight = table.weight.astype(float)
        text = [None if code < 0 else f"level {code}" for code in a]
        numbers = np.where(b < 0, np.nan, b * 0.5)
        for missing in ("distribute", "category"):
            expected = plain.symmetric_uncertainty(plain.contingency_table(a, b, weight, missing))
            ours = symmetric_uncertainty(text, numbers, sample_weight=weight, missing=missing)
            assert ours == pytest.approx(expected, abs=1e-12)
        present = a >= 0
        assert entropy(text) == pytest.approx(plain.entropy(np.bincount(a[present])), abs=1e-12)
        weighted = plain.entropy(np.bincount(a[present], weight[present]))
        assert entropy(text, sample_weight=weight) == pytest.approx(weighted, abs=1e-12)


def test_symmetric_uncertainty_is_symmetric_and_one_for_the_same_column():
    for seed in SEEDS:
        table = make_mixed(seed)
        a, b = table.codes[:, 0], table.codes[:, 1]
        assert symmetric_uncertainty(a, b) == pytest.approx(symmetric_uncertainty(b, a), abs=1e-14)
        assert symmetric_uncertainty(table.classes, [f"name {c}" for c in table.classes]) == 1.0


def test_known_values_of_the_functions():
    assert entropy([1, 2, 3, 4]) == 2.0
    assert entropy(["a", "a"]) == 0.0
    assert entropy([None, "a", "b"]) == 1.0
    assert entropy(["a", "b"], sample_weight=[3, 1]) == pytest.approx(0.8112781244591328, abs=1e-15)
    assert symmetric_uncertainty([1, 1, 2, 2], [1, 2, 1, 2]) == 0.0
    assert symmetric_uncertainty(["a"] * 4, [7] * 4) == 0.0
    assert symmetric_uncertainty([None, "a", "a"], [1, 1, 1]) == 0.0


def test_functions_refuse_what_has_no_meaning():
    with pytest.raises(ValueError, match="a has 2 values and b 3; they must have equally many"):
        symmetric_uncertainty([1, 2], [1, 2, 3])
    with pytest.raises(ValueError, match="missing must be one of 'distribute', 'category', got 'categorie'"):
        symmetric_uncertainty([1, 2], [1, 2], missing="categorie")
    with pytest.raises(ValueError, match="entropy needs at least 1 value, got none"):
        entropy([])


@pytest.mark.parametrize("relevance", [Entropy(), Variance()])
def test_a_relevance_without_a_target_reads_none(relevance):
    table = make_mixed(5)
    selector = RankSelector(relevance)
    alone = selector.fit(table.frame()).scores_
    np.testing.assert_array_equal(selector.fit(table.frame(), table.target()).scores_, alone)
    assert (alone > 0).all()

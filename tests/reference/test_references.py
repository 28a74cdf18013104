"""The slow plain versions against Weka, R and examples calculated by hand, before fast versions are compared with them."""

import json
from functools import partial

import numpy as np
import pytest
from sklearn.feature_selection import f_classif

from . import cfs, entropy_measures, weka_correlation
from .fisher import fisher_score
from .mdl import mdl_cuts
from .pca import pca, reconstruct
from .tables import HERE, shared, weka_case

SHARED_TABLES = ["weather.nominal", "weather.numeric", "contact-lenses", "iris", "diabetes", "credit-g"]
TABLES = ["mixed_missing", *SHARED_TABLES]
MEASURES = {
    "InfoGainAttributeEval": entropy_measures.information_gain,
    "GainRatioAttributeEval": entropy_measures.gain_ratio,
    "SymmetricalUncertAttributeEval": entropy_measures.symmetric_uncertainty,
}
SEARCHES = {
    "BestFirst -D 1 -N 5": cfs.best_first,
    "BestFirst -D 1 -N 1": partial(cfs.best_first, patience=1),
    "BestFirst -D 0 -N 5": partial(cfs.best_first, direction="backward"),
    "BestFirst -D 2 -N 5": partial(cfs.best_first, direction="bidirectional"),
    "GreedyStepwise": partial(cfs.greedy, direction="forward"),
    "GreedyStepwise -B": partial(cfs.greedy, direction="backward"),
}


def missing_mode(options):
    return "category" if "-M" in options else "distribute"


def cfs_merit(table, missing):
    """The merit of a subset by symmetric uncertainties, with Weka's habits."""
    columns, y = table.codes()

    def u(a, b):
        return entropy_measures.symmetric_uncertainty(entropy_measures.contingency_table(a, b, missing=missing))

    between = np.array([[u(a, b) for b in columns] for a in columns])
    between = cfs.weka_redundancy(np.where(np.abs(between) < 1e-12, 0, between))
    return partial(cfs.merit, with_target=np.array([u(a, y) for a in columns]), between=between)


@pytest.mark.parametrize("name", ["weighted", *TABLES])
def test_entropy_measures_equal_weka(name):
    table, weka = weka_case(name)
    columns, y = table.codes()
    for entry in weka["rank"]:
        if entry["evaluator"] not in MEASURES or "-B" in entry["options"]:
            continue
        measure, missing = MEASURES[entry["evaluator"]], missing_mode(entry["options"])
        ours = [measure(entropy_measures.contingency_table(column, y, table.weight, missing)) for column in columns]
        theirs = [entry["scores"][column] for column in table.names[:-1]]
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-11, err_msg=f"{entry['evaluator']} {entry['options']}")


@pytest.mark.parametrize("name", ["weighted", "mixed_missing", "weather.numeric", "iris", "diabetes", "credit-g"])
def test_mdl_cuts_equal_weka(name):
    table, weka = weka_case(name)
    ours = {
        column: mdl_cuts(values, table.columns[-1], table.weight)
        for column, values, nominal in zip(table.names[:-1], table.columns[:-1], table.nominal[:-1], strict=True)
        if not nominal
    }
    theirs = weka["mdl_cut_points"]["better_encoding"]
    assert ours.keys() == theirs.keys()
    for column, cuts in theirs.items():
        np.testing.assert_allclose(ours[column], cuts, rtol=1e-12, err_msg=column)


@pytest.mark.parametrize("name", TABLES)
def test_cfs_merits_equal_weka(name):
    table, weka = weka_case(name)
    for key, missing in (("cfs_subset_merits", "distribute"), ("cfs_subset_merits_missing_separate", "category")):
        merit_of = cfs_merit(table, missing)
        for columns, theirs in weka.get(key, {}).items():
            subset = tuple(map(int, columns.split(",")))
            assert merit_of(subset) == pytest.approx(theirs, abs=1e-6), (key, columns)


@pytest.mark.parametrize("name", ["mixed_numeric_target", "cpu"])
def test_cfs_merits_with_a_numeric_target_equal_weka(name):
    table, weka = weka_case(name)
    columns = [weka_correlation.indicators(*pair) for pair in zip(table.columns, table.nominal, strict=True)]
    for key, theirs in weka["cfs_subset_merits"].items():
        subset = tuple(map(int, key.split(",")))
        assert weka_correlation.merit(subset, columns) == pytest.approx(theirs, abs=1e-6), key


@pytest.mark.parametrize("name", TABLES)
def test_searches_choose_the_subsets_of_weka(name):
    table, weka = weka_case(name)
    merits = {missing: cfs_merit(table, missing) for missing in ("distribute", "category")}
    for entry in weka["cfs"]:
        search = " ".join([entry["search"], *entry["search_options"]])
        if search in SEARCHES:
            ours = SEARCHES[search](merits[missing_mode(entry["evaluator_options"])], len(table.names) - 1)
            assert list(ours) == entry["subset"], (search, entry["evaluator_options"])


@pytest.mark.parametrize("name", ["mixed_missing", *SHARED_TABLES[:-1]])
def test_best_first_finds_the_best_of_all_subsets_on_small_tables(name):
    table, _ = weka_case(name)
    merit_of, p = cfs_merit(table, "distribute"), len(table.names) - 1
    assert cfs.best_first(merit_of, p) == cfs.exhaustive(merit_of, p)


WEKA_SEARCHES = json.loads((HERE / "weka_searches.json").read_text())


@pytest.mark.parametrize("case", WEKA_SEARCHES["cases"])
@pytest.mark.parametrize("search", WEKA_SEARCHES["cases"][0]["chosen"])
def test_searches_with_the_habits_of_weka_choose_its_subsets_on_any_merits(case, search):
    p = WEKA_SEARCHES["n_columns"]
    ours = SEARCHES[search](lambda subset: case["merits"][mask_of(subset)], p, weka=True)
    assert mask_of(ours) == case["chosen"][search]


def mask_of(subset):
    return sum(1 << j for j in subset)


def test_greedy_searches_stop_at_a_subset_that_no_single_step_improves():
    rng = np.random.default_rng(0)
    with_target = rng.random(9)
    between = rng.random((9, 9))
    between = (between + between.T) / 2
    merit_of = partial(cfs.merit, with_target=with_target, between=between)
    for direction in ("forward", "backward"):
        chosen = cfs.greedy(merit_of, 9, direction)
        assert all(merit_of(s) <= merit_of(chosen) for s in cfs.neighbours(chosen, 9, direction))


def test_half_missing_pairs_follow_all_present_values_of_the_other_column():
    a = np.array([0, 0, 0, 1, -1, 0, -1])
    b = np.array([0, 0, 1, 1, 0, -1, -1])
    # Present cells 2 1 / 0 1. Of five present a four are 0, of five present b three; the pair is spread over the cells.
    expected = np.array([[2 + 4 / 5 + 3 / 5 + 2 / 4, 1 + 2 / 5 + 1 / 4], [0 + 1 / 5, 1 + 1 / 4]])
    np.testing.assert_allclose(entropy_measures.contingency_table(a, b), expected)


def test_weights_equal_repeated_rows():
    rng = np.random.default_rng(1)
    a, b, weight = rng.integers(-1, 3, 40), rng.integers(-1, 2, 40), rng.integers(1, 5, 40)
    for missing in ("distribute", "category"):
        repeated = entropy_measures.contingency_table(a.repeat(weight), b.repeat(weight), missing=missing)
        np.testing.assert_allclose(entropy_measures.contingency_table(a, b, weight, missing), repeated, rtol=1e-12)


def test_fisher_score_is_the_anova_statistic_without_its_degrees_of_freedom():
    rng = np.random.default_rng(2)
    classes = rng.integers(0, 3, 60)
    values = rng.normal(size=60) + classes
    anova = f_classif(values[:, None], classes)[0][0]
    assert fisher_score(values, classes) == pytest.approx(anova * (3 - 1) / (60 - 3), rel=1e-12)


def test_pca_gives_the_worked_example():
    x = [2.5, 0.5, 2.2, 1.9, 3.1, 2.3, 2.0, 1.0, 1.5, 1.1]
    y = [2.4, 0.7, 2.9, 2.2, 3.0, 2.7, 1.6, 1.1, 1.6, 0.9]
    X = np.column_stack([x, y])
    components = pca(X)
    np.testing.assert_allclose(components.variances, [1.28402771, 0.0490834], atol=1e-7)
    np.testing.assert_allclose(reconstruct(components), X, atol=1e-12)


@pytest.mark.parametrize(("case", "standardize"), [("usarrests_prcomp", False), ("usarrests_prcomp_scaled", True)])
def test_pca_equals_prcomp(case, standardize):
    X = np.genfromtxt(shared("data/USArrests.csv"), delimiter=",", skip_header=1)[:, 1:]
    r = json.loads(shared("reference/r.json").read_text())["cases"][case]["value"]
    components = pca(X, standardize=standardize)
    np.testing.assert_allclose(np.sqrt(components.variances), r["sdev"], rtol=1e-11)
    axes = np.array(r["rotation"]["rows"])
    signs = np.sign((axes * components.axes).sum(axis=0))
    np.testing.assert_allclose(components.axes * signs, axes, atol=1e-11)
    if standardize:
        np.testing.assert_allclose(components.shares, r["importance"]["rows"][1], atol=5e-6)
        np.testing.assert_allclose((components.scores * signs)[:5], r["scores_first5"]["rows"], atol=1e-10)

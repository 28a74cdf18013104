"""Merits of the information-theoretic family against their definitions, published greedy algorithms, peers and closed forms."""

from functools import cache
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.feature_selection import f_classif, f_regression

from tamiz import SubsetSelector, open_table
from tamiz.criteria import CIFE, CMIM, DISR, ICAP, JMI, MIFS, MIM, MRMR, EqualFrequency
from tamiz.exceptions import DataError
from tamiz.kernels import contingency as kernels
from tamiz.runtime import parallel
from tamiz.search import Beam, BestFirst, BranchAndBound, Exhaustive, Forward
from tamiz.search.base import Candidates

from ..reference.information_family import Information, greedy
from ..reference.mdl import mdl_cuts
from ..reference.tables import cut
from ..statistics.mixed_tables import make_mixed

MERITS = {
    "MIM": MIM,
    "MIFS": MIFS,
    "CIFE": CIFE,
    "ICAP": ICAP,
    "MRMR": MRMR,
    "JMI": JMI,
    "DISR": DISR,
    "CMIM": CMIM,
    "quotient": lambda **settings: MRMR(scheme="quotient", **settings),
}
every_merit = pytest.mark.parametrize("name", MERITS)

# 120 rows of nine columns of up to four values, and a target of three classes as the last digit.
CODES = """
2101220112 2021232002 3032330332 2110230012 0123000100 0121010112 2020202132 0131020030 2112131310 0100000000 2022212002
2001212002 2022201011 2222230001 2013312312 0202020230 2023212122 2010222112 0130010010 2002212022 2122220312 0000020130
2221230331 3022302032 1132120222 0103021200 2020221211 2321200011 2221220021 2021312202 3023322012 2223210201 2110210332
2221230201 1001112332 0000020110 3020330002 2022212332 2211220201 2231200001 0110001000 1133101300 0110031210 2020232122
2211200211 2002210002 2121302331 3031331111 2220200231 2020202302 2231200031 2032212012 2321231131 2200232020 1022132032
2221230231 2021232312 2022212222 0100031110 3300030100 2132230022 0103001310 0101001110 2023220211 2202200331 2302212012
2001232002 2221230121 0101021000 2202230231 0120221300 1010110120 0121001100 1012132132 2023202132 0100031100 0311020110
1102121030 3202322110 0020012302 0100001100 2221200321 2301201121 2231210211 2020131121 2222230332 2022230032 1121122131
2223200121 0330020210 2022210012 2221100201 2002002002 2102220032 0122021330 0020012122 0001012122 2231220131 0110001010
2021212012 2022120232 2022202032 2022212032 2023222022 2102210312 0201000331 2022222312 0130031010 2012220332 2220220211
3221300201 2220210121 0000010220 0100021120 2202201002 2321221121 2032122132 2221200311 2121202301 0101011000
"""
# Columns in order of selection and their gains: skfeature-chappers 1.2.1, LCSI.lcsi with beta and gamma of the criterion (its JMI
# and MRMR ignore 1 / |S|, its ICAP has no sum, and its DISR another denominator).
SKFEATURE = {
    "CIFE": ([1, 6, 3, 2, 8, 5], [0.5590138174290797, 0.6458942743411069, 0.38372981602660294, 0.4683009914384728,
                                  0.6087223010066309, 0.6996475583804367]),
    "MIFS": ([1, 0, 3, 6, 2, 5], [0.5590138174290797, 0.33986562763280703, 0.13618005278257417, 0.10172649013950041,
                                  0.03253645150551476, -0.033127771849709164]),
    "MIM": ([1, 0, 4, 6, 3, 2], [0.5590138174290797, 0.47175501109124096, 0.4364795960871961, 0.4122727696749955,
                                 0.26049001399158644, 0.18520909847873757]),
}  # fmt: skip
# Columns in order of selection: ITMO_FS 0.3.3, MultivariateFilter (its ICAP caps the sum, not its terms), and CMIM also skfeature.
ITMO = {
    "MRMR": [1, 0, 3, 6, 2, 4],
    "JMI": [1, 6, 0, 3, 4, 2],
    "CMIM": [1, 6, 0, 3, 5, 2],
    "CIFE": [1, 6, 3, 2, 8, 5],
    "MIFS": [1, 0, 3, 6, 2, 5],
    "MIM": [1, 0, 4, 6, 3, 2],
}
# mrmr-selection 0.2.8, mrmr_classif and mrmr_regression with K=10.
MRMR_SELECTION = {
    load_breast_cancer: [27, 22, 7, 20, 2, 23, 0, 6, 26, 3],
    load_wine: [6, 9, 12, 11, 0, 10, 5, 3, 1, 8],
    load_diabetes: [2, 8, 3, 6, 9, 7, 0, 4, 5, 1],
}


@pytest.fixture(autouse=True)
def one_session():
    """Many small tables: opening threads for each would take longer than they do."""
    with parallel.thread_session(1):
        yield


def prepare(table, merit):
    return merit.bind(table, np.random.default_rng(0))


def random_masks(rng, m, p):
    masks = rng.random((m, p)) < rng.random((m, 1))
    masks[0] = False
    masks[1] = True
    return masks


@cache
def mixed(seed, missing="distribute", weighted=False):
    """A mixed table as a table, and its information from the definitions."""
    table = make_mixed(seed, n_numbers=3, n_codes=4)
    weight = table.weight.astype(float) if weighted else None
    columns = [cut(column, mdl_cuts(column, table.classes, weight)) for column in table.numbers.T] + [*table.codes.T]
    return table.table(weighted=weighted), Information(columns, table.classes, weight, missing)


def forward_order(merit, k, *data):
    """The columns in the order in which a forward search adds them."""
    selector = SubsetSelector(merit, Forward(), n_features=(1, k), allow_duplicates=True).fit(*data)
    best = selector.archive_.best_per_size()
    sets = [set(), *(set(np.flatnonzero(selector.archive_.mask(best[size])).tolist()) for size in range(1, k + 1))]
    return [(larger - smaller).pop() for smaller, larger in pairwise(sets)]


@cache
def coded_table():
    rows = np.array([list(row) for row in CODES.split()])
    return pd.DataFrame(rows[:, :-1], columns=[f"x{j}" for j in range(9)]).astype("category"), rows[:, -1]


@every_merit
@pytest.mark.parametrize("missing", ["distribute", "category"])
@pytest.mark.parametrize("weighted", [False, True])
def test_merits_of_random_sets_are_their_definitions(name, missing, weighted):
    for seed in range(2):
        table, information = mixed(seed, missing, weighted)
        masks = random_masks(np.random.default_rng(seed), 20, 7)
        expected = [information.merit(name, tuple(np.flatnonzero(mask).tolist())) for mask in masks]
        evaluator = prepare(table, MERITS[name](missing=missing))
        np.testing.assert_allclose(evaluator.evaluate(Candidates.from_masks(masks)), expected, rtol=1e-10, atol=1e-11)


@every_merit
def test_forward_selection_is_the_published_greedy_algorithm(name):
    for seed in range(2):
        table, information = mixed(seed)
        order = forward_order(MERITS[name](), 7, table)
        for step, column in enumerate(order):
            rest = [j for j in range(7) if j not in order[:step]]
            gains = [information.gain(name, order[:step], j) for j in rest]
            # Equal up to rounding: the first of equal columns may differ.
            assert gains[rest.index(column)] == pytest.approx(max(gains), rel=1e-9, abs=1e-10), (seed, step)


@pytest.mark.parametrize("name", SKFEATURE)
def test_orders_and_gains_are_those_of_skfeature(name):
    order, gains = SKFEATURE[name]
    merit = MIFS(beta=0.5) if name == "MIFS" else MERITS[name]()
    assert forward_order(merit, 6, *coded_table()) == order
    masks = np.array([np.isin(np.arange(9), order[:size]) for size in range(7)])
    merits = prepare(open_table(*coded_table()), merit).evaluate(Candidates.from_masks(masks))
    np.testing.assert_allclose(np.diff(merits), gains, atol=1e-12)


@pytest.mark.parametrize("name", ITMO)
def test_orders_are_those_of_itmo_fs(name):
    merit = MIFS(beta=0.5) if name == "MIFS" else MERITS[name]()
    assert forward_order(merit, 6, *coded_table()) == ITMO[name]


@pytest.mark.parametrize("load", MRMR_SELECTION)
def test_quotients_of_f_statistics_and_correlations_select_the_columns_of_mrmr_selection(load):
    X, y = load(return_X_y=True)
    y = y if load is load_diabetes else y.astype(str)
    assert forward_order(MRMR("correlation", scheme="quotient"), 10, X, y) == MRMR_SELECTION[load]


@pytest.mark.parametrize("scheme", ["difference", "quotient"])
def test_f_statistics_are_scikit_learns_and_differences_those_of_the_paper(scheme):
    for load, f_test in ((load_wine, f_classif), (load_diabetes, f_regression)):
        X, y = load(return_X_y=True)
        F, r = f_test(X, y)[0], np.abs(np.corrcoef(X.T))

        def gain(selected, j, F=F, r=r):
            if not selected:
                return F[j]
            redundancy = np.mean([r[s, j] for s in selected])
            return F[j] - redundancy if scheme == "difference" else F[j] / redundancy

        target = y if load is load_diabetes else y.astype(str)
        order = forward_order(MRMR("correlation", scheme=scheme), 6, X, target)
        assert order == greedy(range(X.shape[1]), 6, gain)[0]
        masks = np.eye(X.shape[1], dtype=bool)
        merits = prepare(open_table(X, target), MRMR("correlation", scheme=scheme)).evaluate(
            Candidates.from_masks(masks)
        )
        np.testing.assert_allclose(merits, F, rtol=1e-9)


@pytest.mark.parametrize(
    ("name", "single", "pair"),
    [
        *[("MIM", 0.0, 0.0), ("MIFS", 0.0, 0.0), ("MRMR", 0.0, 0.0), ("ICAP", 0.0, 0.0), ("quotient", 0.0, 0.0)],
        *[("CIFE", 0.0, 1.0), ("JMI", 0.0, 1.0), ("CMIM", 0.0, 1.0), ("DISR", 0.0, 0.5)],
    ],
)
def test_conditional_members_see_an_exclusive_or(name, single, pair):
    a, b = np.tile([0, 0, 1, 1], 8), np.tile([0, 1], 16)
    frame = pd.DataFrame({"a": a, "b": b}).astype(str)
    evaluator = prepare(open_table(frame, (a ^ b).astype(str)), MERITS[name]())
    masks = np.array([[0, 0], [1, 0], [0, 1], [1, 1]], dtype=bool)
    assert evaluator.evaluate(Candidates.from_masks(masks)).tolist() == [0.0, single, single, pair]


@pytest.mark.parametrize(
    ("name", "pair"),
    [
        *[("MIM", 2.0), ("MIFS", 1.0), ("CIFE", 1.0), ("ICAP", 1.0), ("MRMR", 1.0), ("JMI", 1.0), ("DISR", 1.0)],
        *[("CMIM", 1.0), ("quotient", 2.0)],
    ],
)
def test_a_copy_of_a_copy_of_the_target(name, pair):
    y = np.tile([*"ab"], 20)
    evaluator = prepare(open_table(pd.DataFrame({"x": y, "copy": y}), y), MERITS[name]())
    assert evaluator.evaluate(Candidates.from_masks(np.array([[1, 0], [1, 1]], dtype=bool))).tolist() == [1.0, pair]


@every_merit
def test_integer_weights_are_repeated_rows(name):
    for seed in range(2):
        table = make_mixed(seed)
        masks = Candidates.from_masks(random_masks(np.random.default_rng(seed), 20, 6))
        weighted = prepare(table.table(weighted=True), MERITS[name]()).evaluate(masks)
        repeated = prepare(table.repeated().table(), MERITS[name]()).evaluate(masks)
        np.testing.assert_allclose(weighted, repeated, rtol=1e-10, atol=1e-11)


@every_merit
def test_a_merit_is_the_same_to_the_bit_from_any_parent(name):
    table, _ = mixed(1)
    rng = np.random.default_rng(2)
    parents = random_masks(rng, 6, 7)
    flips = [rng.choice(7, rng.integers(0, 5), replace=False) for _ in range(40)]
    starts = np.concatenate([[0], np.cumsum([len(flip) for flip in flips])]).astype(np.intp)
    candidates = Candidates(parents, rng.integers(0, 6, 40), starts, np.concatenate(flips).astype(np.intp))
    reached = prepare(table, MERITS[name]()).evaluate(candidates)
    evaluator = prepare(table, MERITS[name]())
    alone = [evaluator.evaluate(Candidates.from_masks(mask))[0] for mask in candidates.masks()]
    assert reached.tolist() == alone


@every_merit
def test_searches_find_the_sets_of_an_exhaustive_search(name):
    for seed in range(2):
        table, _ = mixed(seed)
        sizes = {"n_features": (1, 4)}
        expected = SubsetSelector(MERITS[name](), Exhaustive(), **sizes).fit(table)
        found = SubsetSelector(MERITS[name](), BranchAndBound(), **sizes).fit(table)
        np.testing.assert_array_equal(found.support_, expected.support_)
        assert found.certificate_.bound >= expected.merit_
        for search in (BestFirst(), Beam(3)):
            assert SubsetSelector(MERITS[name](), search, **sizes).fit(table).merit_ <= expected.merit_


@every_merit
def test_upper_bounds_are_above_the_merits_of_all_subsets(name):
    masks = (np.arange(2**7)[:, None] >> np.arange(7) & 1).astype(bool)
    contains = (masks[:, None] | ~masks).all(axis=2)
    for seed in range(2):
        evaluator = prepare(mixed(seed)[0], MERITS[name]())
        merits, bounds = evaluator.evaluate(Candidates.from_masks(masks)), evaluator.upper_bounds(masks)
        assert (np.where(contains, merits, -np.inf).max(axis=1) <= bounds + 1e-12).all()


@pytest.mark.parametrize("n_values", [20, 300])
def test_columns_of_many_values_are_counted_by_rows(n_values):
    rng = np.random.default_rng(n_values)
    y = rng.integers(0, 3, 900)
    codes = (y[:, None] * 5 + rng.integers(0, [n_values, 3, n_values, 5], (900, 4))) % n_values
    frame = pd.DataFrame({f"x{j}": [f"v{v}" for v in codes[:, j]] for j in range(4)}, dtype="category")
    # No value is missing: the rule only saves the time of the reference.
    information = Information([*codes.T], y, missing="category")
    masks = random_masks(np.random.default_rng(0), 12, 4)
    for name, merit in MERITS.items():
        expected = [information.merit(name, tuple(np.flatnonzero(mask).tolist())) for mask in masks]
        merits = prepare(open_table(frame, y.astype(str)), merit()).evaluate(Candidates.from_masks(masks))
        np.testing.assert_allclose(merits, expected, rtol=1e-10, atol=1e-11, err_msg=name)


def test_counts_of_many_words_by_bits_are_those_of_the_rows():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 80_000)
    frame = pd.DataFrame((rng.integers(0, 4, (80_000, 3)) + y[:, None]) % 5).astype(str).astype("category")
    masks = Candidates.from_masks(np.ones((1, 3), dtype=bool))
    by_bits = prepare(open_table(frame, y.astype(str)), CIFE()).evaluate(masks)
    # Weights are never counted by bits.
    by_rows = prepare(open_table(frame, y.astype(str), weight=np.ones(80_000)), CIFE()).evaluate(masks)
    np.testing.assert_allclose(by_bits, by_rows, rtol=1e-12)
    assert by_bits > 0


def test_the_class_tables_of_one_class_have_the_information_of_all_rows():
    tables, out = np.array([[[3.0, 1.0, 0.0], [1.0, 3.0, 0.0], [0.0, 0.0, 0.0]]]), np.empty(4)
    kernels.class_information(tables, np.array([8.0]), kernels.DISTRIBUTED, out)
    assert out[0] == out[1] == pytest.approx(1 - 0.811278124459133)
    assert out[2] == pytest.approx(1.811278124459133)
    assert out[3] == pytest.approx(2.0)


@every_merit
@pytest.mark.filterwarnings("ignore:.* excluded: ")
def test_the_empty_set_and_constant_and_excluded_columns_score_0(name):
    frame = pd.DataFrame(
        {"constant": [4.2] * 20, "level": ["same"] * 20, "empty": [np.nan] * 20, "useful": [*"ab"] * 10}
    )
    evaluator = prepare(open_table(frame, [*"xy"] * 10), MERITS[name]())
    masks = np.array([[0, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [1, 1, 0, 0], [0, 0, 0, 1]], dtype=bool)
    merits = evaluator.evaluate(Candidates.from_masks(masks)).tolist()
    assert merits == [0, 0, 0, 0, 1]


@every_merit
def test_a_numeric_target_is_cut_into_intervals_of_equal_frequency_with_the_columns(name):
    table = make_mixed(3, n=80)
    y = np.random.default_rng(0).normal(size=80) + table.classes
    opened = table.table(target=y)
    masks = Candidates.from_masks(random_masks(np.random.default_rng(1), 20, 6))
    ours = prepare(opened, MERITS[name]()).evaluate(masks)
    assert ours.max() > 0
    # The cube root of 80 / 5 is 2.5.
    n_intervals = 3 if MERITS[name]().formula.uses_conditional else 10
    np.testing.assert_array_equal(
        ours, prepare(opened, MERITS[name](discretization=EqualFrequency(n_intervals))).evaluate(masks)
    )


@every_merit
def test_a_forward_search_reaches_the_requested_size_although_the_merit_falls(name):
    X, y = coded_table()
    assert SubsetSelector(MERITS[name](), Forward(), n_features=8).fit(X, y).support_.sum() == 8


def test_a_column_that_is_constant_in_every_class_has_a_finite_f_statistic():
    X = np.column_stack([np.repeat([1.0, 2.0], 10), np.arange(20.0), np.full(20, 3.0)])
    evaluator = prepare(open_table(X, np.repeat([*"ab"], 10)), MRMR("correlation"))
    merits = evaluator.evaluate(Candidates.from_masks(np.eye(3, dtype=bool)))
    assert np.isfinite(merits).all()
    assert merits[0] == pytest.approx(18e9, rel=1e-6)
    assert merits[1] == pytest.approx(f_classif(X[:, 1:2], np.repeat([0, 1], 10))[0][0], rel=1e-4)
    assert merits[2] == 0


@pytest.mark.parametrize("target", ["classes", "number"])
def test_weighted_correlations_are_those_of_repeated_rows(target):
    table = make_mixed(5, n=60, n_codes=0, missing=0.0)
    y = table.target() if target == "classes" else table.classes + table.numbers[:, 0]
    weight = table.weight.astype(float)
    masks = Candidates.from_masks((np.arange(8)[:, None] >> np.arange(3) & 1).astype(bool))
    weighted = prepare(open_table(table.numbers, y, weight=weight), MRMR("correlation")).evaluate(masks)
    rows = np.repeat(np.arange(60), table.weight)
    repeated = prepare(open_table(table.numbers[rows], y[rows]), MRMR("correlation")).evaluate(masks)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-9, atol=1e-9)


def test_correlations_and_the_analysis_of_variance_leave_missing_numbers_out():
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1, 2], 20)
    X = rng.normal(size=(60, 2)) + y[:, None]
    X[:, 1] += X[:, 0]
    X[::7, 1] = np.nan
    evaluator = prepare(open_table(X, y.astype(str)), MRMR("correlation"))
    first, second, both = evaluator.evaluate(Candidates.from_masks(np.array([[1, 0], [0, 1], [1, 1]], dtype=bool)))
    present = ~np.isnan(X[:, 1])
    assert second == pytest.approx(f_classif(X[present, 1:], y[present])[0][0])
    assert first + second - both == pytest.approx(np.corrcoef(X[present].T)[0, 1])
    number = X[:, 0] + rng.normal(size=60)
    evaluator = prepare(open_table(X, number), MRMR("correlation"))
    (second,) = evaluator.evaluate(Candidates.from_masks(np.array([[0, 1]], dtype=bool)))
    assert second == pytest.approx(f_regression(X[present, 1:], number[present])[0][0])


@pytest.mark.parametrize(
    ("merit", "message"),
    [
        (MIFS(beta=-1.0), r"beta must be at least 0.0, got -1.0"),
        (MRMR(scheme="ratio"), "scheme must be one of 'difference', 'quotient', got 'ratio'"),
        (MRMR("corelation"), r"association must be one of .* \(did you mean 'correlation'"),
        (
            MRMR("correlation"),
            r"needs numeric columns, but column 'level 0' is categorical. Use association='information'",
        ),
        (
            MRMR("correlation", discretization=EqualFrequency(3)),
            "discretization applies to association='information' only",
        ),
        (JMI(missing="drop"), "missing must be one of 'distribute', 'category', got 'drop'"),
    ],
)
def test_bad_parameters_are_refused(merit, message):
    with pytest.raises(ValueError, match=message):
        SubsetSelector(merit, Forward(), n_features=2).fit(make_mixed(0).frame(), make_mixed(0).target())


@every_merit
def test_a_table_without_a_target_is_refused(name):
    with pytest.raises(DataError, match="requires y to be passed"):
        SubsetSelector(MERITS[name](), Forward()).fit(make_mixed(0).frame())


def test_codes_and_correlations_that_exceed_the_memory_are_refused(monkeypatch):
    table = make_mixed(0, n_codes=0).table()
    monkeypatch.setattr("tamiz.runtime.validation.free_memory", lambda: 100.0)
    for merit in (JMI(), MRMR("correlation")):
        with pytest.raises(MemoryError, match=r"100 B are free. (Keep fewer|Exclude) columns"):
            prepare(table, merit)


@pytest.mark.parametrize("name", ["JMI", "CMIM"])
def test_few_rows_of_a_numeric_target_are_cut_into_few_intervals_so_that_noise_does_not_win(name):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 4, (120, 3)), rng.normal(size=(120, 20))])
    y = X[:, :3] @ [1.0, 1.0, 1.0] + 0.3 * rng.normal(size=120)
    selected = SubsetSelector(MERITS[name](), Forward(), n_features=3).fit(X, y).get_support(indices=True).tolist()
    assert selected == [0, 1, 2]
    ten = MERITS[name](discretization=EqualFrequency(10))
    assert SubsetSelector(ten, Forward(), n_features=3).fit(X, y).get_support(indices=True).tolist() != [0, 1, 2]

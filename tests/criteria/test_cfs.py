"""CFS against its formula for any set, however its candidate is encoded."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

from tamiz import SubsetSelector, open_table
from tamiz.criteria import CFS, EqualFrequency, SymmetricUncertainty
from tamiz.exceptions import DataError
from tamiz.runtime import parallel
from tamiz.search import BestFirst, BranchAndBound, Evaluations, Exhaustive
from tamiz.search.base import Candidates

from ..reference import cfs as plain
from ..reference import entropy_measures
from ..reference.mdl import mdl_cuts
from ..reference.tables import cut
from ..statistics.mixed_tables import make_mixed


@pytest.fixture(autouse=True)
def one_session():
    """Many small tables: opening threads for each would take longer than they do."""
    with parallel.thread_session(1):
        yield


def prepare(table, merit):
    return merit.bind(table, np.random.default_rng(0))


def plain_associations(table, missing="distribute", weight=None):
    columns = [cut(column, mdl_cuts(column, table.classes, weight)) for column in table.numbers.T] + [*table.codes.T]

    def u(a, b):
        value = entropy_measures.symmetric_uncertainty(entropy_measures.contingency_table(a, b, weight, missing))
        return value if value > 1e-12 else 0.0

    return np.array([u(a, table.classes) for a in columns]), np.array([[u(a, b) for b in columns] for a in columns])


def random_masks(rng, m, p):
    masks = rng.random((m, p)) < rng.random((m, 1))
    masks[0] = False
    masks[1] = True
    return masks


def plain_merits(masks, with_target, between):
    return [plain.merit(tuple(np.flatnonzero(mask)), with_target, between) for mask in masks]


@pytest.mark.parametrize("missing", ["distribute", "category"])
@pytest.mark.parametrize("weighted", [False, True])
def test_merits_of_random_sets_are_halls(missing, weighted):
    for seed in range(12):
        table = make_mixed(seed, n_numbers=4, n_codes=5)
        weight = table.weight.astype(float) if weighted else None
        evaluator = prepare(table.table(weighted=weighted), CFS(SymmetricUncertainty(missing=missing)))
        masks = random_masks(np.random.default_rng(seed), 30, 9)
        expected = plain_merits(masks, *plain_associations(table, missing, weight))
        np.testing.assert_allclose(evaluator.evaluate(Candidates.from_masks(masks)), expected, atol=1e-11)


def test_merits_of_random_sets_are_wekas():
    for seed in range(12):
        table = make_mixed(seed, n_numbers=4, n_codes=5)
        with_target, between = plain_associations(table)
        single = partial(np.asarray, dtype=np.float32)
        evaluator = prepare(table.table(), CFS(convention="weka"))
        masks = random_masks(np.random.default_rng(seed), 30, 9)
        expected = plain_merits(
            masks, single(with_target).astype(float), plain.weka_redundancy(single(between).astype(float))
        )
        np.testing.assert_allclose(evaluator.evaluate(Candidates.from_masks(masks)), expected, atol=1e-7)


@pytest.mark.parametrize("convention", ["hall", "weka"])
@pytest.mark.parametrize("target", ["classes", "number"])
def test_flips_of_several_columns_of_several_parents_are_the_sets_they_make(convention, target):
    for seed in range(12):
        table = make_mixed(seed, n_numbers=4, n_codes=5)
        rng = np.random.default_rng(seed)
        y = None if target == "classes" else rng.normal(size=len(table.classes))
        evaluator = prepare(table.table(target=y), CFS(convention=convention))
        parents = random_masks(rng, 6, 9)
        flips = [rng.choice(9, rng.integers(0, 6), replace=False) for _ in range(40)]
        starts = np.concatenate([[0], np.cumsum([len(flip) for flip in flips])]).astype(np.intp)
        flipped = np.concatenate(flips).astype(np.intp)
        candidates = Candidates(parents, rng.integers(0, 6, 40), starts, flipped)
        whole = evaluator.evaluate(Candidates.from_masks(candidates.masks()))
        np.testing.assert_allclose(evaluator.evaluate(candidates), whole, atol=1e-11)


@pytest.mark.parametrize("convention", ["hall", "weka"])
def test_the_quadratic_form_gives_the_merits(convention):
    for seed in range(8):
        table = make_mixed(seed)
        evaluator = prepare(table.table(), CFS(convention=convention))
        c, A = evaluator.quadratic_form()
        masks = random_masks(np.random.default_rng(seed), 20, 6)[1:]
        masks = masks[masks.any(axis=1)].astype(float)
        expected = masks @ c / np.sqrt(np.einsum("mi,ij,mj->m", masks, A, masks))
        np.testing.assert_allclose(evaluator.evaluate(Candidates.from_masks(masks > 0)), expected, atol=1e-12)
        np.testing.assert_array_equal(A, A.T)


def test_a_merit_does_not_depend_on_what_was_evaluated_before():
    table = make_mixed(7, n_numbers=4, n_codes=5)
    masks = random_masks(np.random.default_rng(0), 40, 9)
    at_once = prepare(table.table(), CFS()).evaluate(Candidates.from_masks(masks))
    evaluator = prepare(table.table(), CFS())
    for number in np.random.default_rng(1).permutation(40):
        assert evaluator.evaluate(Candidates.from_masks(masks[number]))[0] == at_once[number]


def test_a_numeric_target_is_cut_into_ten_intervals_with_the_columns():
    table = make_mixed(3, n=80)
    y = np.random.default_rng(0).normal(size=80) + table.classes
    opened = table.table(target=y)
    masks = random_masks(np.random.default_rng(1), 20, 6)
    ours = prepare(opened, CFS()).evaluate(Candidates.from_masks(masks))
    named = prepare(opened, CFS(SymmetricUncertainty(discretization=EqualFrequency(10)))).evaluate(
        Candidates.from_masks(masks)
    )
    np.testing.assert_array_equal(ours, named)
    assert ours.max() > 0


def test_a_copy_of_a_column_adds_nothing_and_an_independent_column_takes_away():
    y = np.repeat([0, 1], 32)
    helpful = np.where(np.arange(64) % 8 == 0, 1 - y, y)
    noise = np.tile([0, 1], 32)
    frame = pd.DataFrame({"helpful": helpful, "copy": helpful, "noise": noise}).astype(str)
    evaluator = prepare(open_table(frame, y), CFS())
    alone, twice, noisy = evaluator.evaluate(
        Candidates.from_masks(np.array([[1, 0, 0], [1, 1, 0], [1, 0, 1]], dtype=bool))
    )
    assert twice == pytest.approx(alone, abs=1e-12)
    assert noisy == pytest.approx(alone / np.sqrt(2), rel=1e-2)


@pytest.mark.filterwarnings("ignore:.* excluded: ")
def test_columns_left_out_never_count():
    table = make_mixed(2)
    frame = table.frame()
    wider = frame.assign(empty=np.nan)
    masks = random_masks(np.random.default_rng(0), 20, 6)
    wide = np.column_stack([masks, np.zeros(20, dtype=bool)])
    ours = prepare(open_table(wider, table.target()), CFS()).evaluate(Candidates.from_masks(wide))
    expected = prepare(open_table(frame, table.target()), CFS()).evaluate(Candidates.from_masks(masks))
    np.testing.assert_array_equal(ours, expected)
    selector = SubsetSelector(CFS(), BestFirst()).fit(wider, table.target())
    assert not (selector.archive_.masks[:, 6]).any()


def test_the_empty_set_and_a_constant_column_score_0():
    frame = pd.DataFrame({"constant": [4.2] * 20, "level": ["same"] * 20, "useful": [*"ab"] * 10})
    evaluator = prepare(open_table(frame, [*"xy"] * 10), CFS())
    masks = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]], dtype=bool)
    assert evaluator.evaluate(Candidates.from_masks(masks)).tolist() == [0, 0, 0, 0, 1]


def test_integer_weights_are_repeated_rows():
    for seed in range(8):
        table = make_mixed(seed)
        masks = Candidates.from_masks(random_masks(np.random.default_rng(seed), 20, 6))
        weighted = prepare(table.table(weighted=True), CFS()).evaluate(masks)
        repeated = prepare(table.repeated().table(), CFS()).evaluate(masks)
        np.testing.assert_allclose(weighted, repeated, atol=1e-11)


@pytest.mark.parametrize("target", ["classes", "number"])
def test_wekas_merits_of_integer_weights_are_those_of_repeated_rows(target):
    for seed in range(8):
        table = make_mixed(seed)
        y = None if target == "classes" else np.random.default_rng(seed).normal(size=len(table.classes)).round(2)
        masks = Candidates.from_masks(random_masks(np.random.default_rng(seed), 20, 6))
        weighted = prepare(table.table(target=y, weighted=True), CFS(convention="weka")).evaluate(masks)
        repeated = table.repeated().table(target=None if y is None else y.repeat(table.weight))
        np.testing.assert_allclose(weighted, prepare(repeated, CFS(convention="weka")).evaluate(masks), atol=1e-6)


def test_a_table_without_a_target_is_refused():
    with pytest.raises(DataError, match="CFS requires y to be passed"):
        SubsetSelector(CFS(), BestFirst()).fit(make_mixed(0).frame())


def test_an_unknown_convention_is_refused_with_the_known_ones():
    with pytest.raises(
        ValueError, match=r"convention must be one of 'hall', 'weka', got 'wekka' \(did you mean 'weka'"
    ):
        SubsetSelector(CFS(convention="wekka"), BestFirst()).fit(make_mixed(0).frame(), make_mixed(0).target())


def test_more_associations_than_fit_in_memory_are_refused_before_any_are_counted(monkeypatch):
    table = make_mixed(0).table()
    monkeypatch.setattr("tamiz.runtime.validation.free_memory", lambda: 100.0)
    with pytest.raises(MemoryError, match=r"100 B are free. (Keep fewer|Exclude) columns"):
        prepare(table, CFS())


@pytest.mark.parametrize("k", [2, 3, 4])
def test_a_merit_above_1_is_explained(k):
    """All sums modulo 2 of k bits are independent in pairs, and each has 2 / (k + 1) of the symmetric uncertainty."""
    rows = np.tile(np.arange(2**k), 3)
    parity = {f"sum {j}": [f"{(row & j).bit_count() % 2}" for row in rows.tolist()] for j in range(1, 2**k)}
    selector = SubsetSelector(CFS(), BestFirst()).fit(pd.DataFrame(parity), rows.astype(str))
    assert selector.support_.all()
    assert selector.merit_ == pytest.approx(2 * np.sqrt(2**k - 1) / (k + 1))
    explained = "A CFS merit can exceed 1, because symmetric uncertainties need not form a correlation matrix"
    assert (explained in selector.merit_method_) == (selector.merit_ > 1)
    one = SubsetSelector(CFS(), BestFirst(), n_features=1).fit(pd.DataFrame(parity), rows.astype(str))
    assert one.merit_method_ == ""


def test_a_copy_of_the_target_has_the_merit_1_and_nothing_is_explained():
    y = np.tile(["a", "b", "c"], 9)
    selector = SubsetSelector(CFS(), BestFirst()).fit(pd.DataFrame({"copy": y, "noise": np.sort(y)}), y)
    assert (selector.merit_, selector.merit_method_) == (pytest.approx(1.0), "")


def of_any_scale(seed, p=7):
    """Correlated numbers in units that differ by up to 10^12, and a numeric target."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(40, 3))
    X = hidden @ rng.normal(size=(3, p)) + rng.normal(size=(40, p))
    if seed % 4 == 1:
        # Copies in other units have equal merits, up to rounding, and make a matrix that is nearly singular.
        X[:, 3:5] = X[:, :2]
    return X * 10.0 ** rng.uniform(-6, 6, p), hidden[:, 0] - hidden[:, 1] + rng.normal(size=40)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*Selected columns are copies or recodings")
def test_branch_and_bound_of_wekas_convention_works_whatever_the_scales():
    for seed in range(24):
        X, y = of_any_scale(seed)
        merit = CFS(convention="weka")
        expected = SubsetSelector(merit, Exhaustive()).fit(X, y)
        selector = SubsetSelector(merit, BranchAndBound()).fit(X, y)
        assert selector.merit_ == expected.merit_ == selector.certificate_.bound, seed
        np.testing.assert_array_equal(selector.support_, expected.support_)
        stopped = SubsetSelector(merit, BranchAndBound(), stop=Evaluations(6)).fit(X, y)
        assert stopped.certificate_ is None or stopped.certificate_.bound >= expected.merit_


def test_the_bound_of_a_set_is_above_the_merits_of_its_subsets_and_does_not_depend_on_scales():
    masks = (np.arange(2**7)[:, None] >> np.arange(7) & 1).astype(bool)
    holds = (masks[:, None] | ~masks).all(axis=2)
    for seed in range(12):
        X, y = of_any_scale(seed)
        evaluators = [prepare(open_table(X * scale, y), CFS(convention="weka")) for scale in (1.0, X.std(axis=0) ** -1)]
        merits, bounds = evaluators[0].evaluate(Candidates.from_masks(masks)), evaluators[0].upper_bounds(masks)
        assert (np.where(holds, merits, -np.inf).max(axis=1) <= bounds).all(), seed
        # For columns of one scale the sums are exact, and the quadratic form is used instead.
        assert evaluators[0].quadratic_form() is None
        assert evaluators[1].upper_bounds(masks) is None
        # The bound of a single column is its merit.
        single = masks.sum(axis=1) == 1
        np.testing.assert_allclose(bounds[single], merits[single], rtol=1e-5)
        stretched = prepare(open_table(X * 10.0 ** np.arange(7), y), CFS(convention="weka")).upper_bounds(masks)
        np.testing.assert_allclose(stretched, bounds, rtol=1e-4)

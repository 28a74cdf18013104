"""The permutation test of stress, and stress by number of dimensions."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.base import BaseEstimator

from tamiz import open_table
from tamiz.comparison import stress as stress_module
from tamiz.comparison import stress_by_dimensions, stress_test
from tamiz.exceptions import TamizWarning
from tamiz.reduction import MDS, ClassicalMDS
from tamiz.runtime import parallel

RNG = np.random.default_rng(0)
# Five columns of two.
X = RNG.normal(size=(24, 2)) @ RNG.normal(size=(2, 5)) + 0.1 * RNG.normal(size=(24, 5))
D = cdist(X, X)


class Given(BaseEstimator):
    """A map whose stress is told beforehand, by the number of dimensions, or the first number it is given to map."""

    def __init__(self, n_components=2, *, stress=None, dissimilarity="euclidean", random_state=None):
        self.n_components = n_components
        self.stress = stress
        self.dissimilarity = dissimilarity
        self.random_state = random_state

    def fit(self, X, y=None):
        self.stress_ = float(X[0][1]) if self.stress is None else self.stress[self.n_components]
        self.converged_ = True
        return self


def test_a_table_of_few_directions_has_less_stress_than_any_of_its_permutations():
    tested = stress_test(X, n_permutations=19, random_state=0)
    assert tested.stress == MDS().fit(X).stress_
    assert tested.permute == "columns"
    assert tested.null_stress.shape == (19,)
    assert tested.stress < 0.3 * tested.null_stress.min()
    assert tested.p_value == 1 / 20


def test_distances_of_points_have_less_stress_than_the_same_numbers_at_other_pairs():
    tested = stress_test(D, estimator=MDS(dissimilarity="precomputed"), n_permutations=19, random_state=0)
    assert tested.permute == "pairs"
    assert tested.p_value == 1 / 20
    of_rows = stress_test(X, permute="pairs", n_permutations=19, random_state=0)
    assert of_rows.stress == pytest.approx(tested.stress, rel=1e-6)
    np.testing.assert_allclose(of_rows.null_stress, tested.null_stress, rtol=1e-4)


def test_a_pair_of_weight_0_counts_as_missing():
    left_out = np.zeros(D.shape, dtype=bool)
    left_out[0, 5:9] = left_out[5:9, 0] = True
    options = {"estimator": MDS(dissimilarity="precomputed"), "n_permutations": 3, "random_state": 0}
    weighted = stress_test(D, weights=np.where(left_out, 0.0, 1.0), **options)
    incomplete = stress_test(np.where(left_out, np.nan, D), **options)
    assert weighted.stress == pytest.approx(incomplete.stress, rel=1e-6)
    np.testing.assert_allclose(weighted.null_stress, incomplete.null_stress, rtol=1e-4)
    assert weighted.stress != stress_test(D, **options).stress
    found = stress_by_dimensions(D, [2], weights=np.where(left_out, 0.0, 1.0), permute="pairs", **options)
    assert found.stress.tolist() == [weighted.stress]
    np.testing.assert_array_equal(found.null_stress[:, 0], weighted.null_stress)


def test_the_p_value_counts_the_permutations_that_are_as_good_and_what_was_found_itself():
    # The stand-in's stress is the dissimilarity of the first pair, which comes to it from anywhere.
    given = Given(dissimilarity="precomputed")
    small = D.copy()
    small[0, 1] = small[1, 0] = np.sort(pdist(X))[55]
    tested = stress_test(small, estimator=given, n_permutations=2000, random_state=1)
    assert tested.p_value == (1 + np.sum(tested.null_stress <= small[0, 1])) / 2001
    share = np.mean(squareform(small) <= small[0, 1])
    assert tested.p_value == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) / 2000))


@pytest.mark.slow
def test_tables_of_independent_columns_have_p_values_of_every_size():
    rng = np.random.default_rng(5)
    found = [stress_test(rng.normal(size=(10, 3)), n_permutations=9, random_state=k).p_value for k in range(24)]
    assert 0.35 < np.mean(found) < 0.75
    assert len(set(found)) >= 6


@pytest.mark.parametrize(
    "frame",
    [
        lambda X: X,
        lambda X: pd.DataFrame(
            {"a": X[:, 0], "b": X[:, 1], "c": [f"k{k % 3}" for k in range(24)]}, index=range(50, 74)
        ),
        lambda X: pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": [f"k{k % 3}" for k in range(24)]}),
        lambda X: pl.DataFrame({"a": X[:, 0], "b": X[:, 1]}).lazy(),
    ],
    ids=["array", "pandas", "polars", "lazy"],
)
def test_every_column_keeps_its_values_and_loses_their_order(frame):
    given = frame(X)
    drawn = stress_module.ColumnwisePermutation(given, MDS(), None).draw(np.random.default_rng(0))
    before, after = (pd.DataFrame(np.asarray(t.collect() if hasattr(t, "collect") else t)) for t in (given, drawn))
    assert type(drawn) is (pl.DataFrame if hasattr(given, "collect") else type(given))
    assert before.shape == after.shape
    orders = []
    for name in before:
        assert sorted(before[name]) == sorted(after[name])
        assert list(before[name]) != list(after[name])
        orders.append(tuple(after[name].rank(method="first")))
    kept = [tuple(zip(after[0], after[name], strict=True)) for name in list(after)[1:]]
    assert all(set(pairs) != set(zip(before[0], before[k + 1], strict=True)) for k, pairs in enumerate(kept))


def test_a_table_is_permuted_as_the_table_that_it_opens():
    frame = pd.DataFrame(X[:, :3], columns=list("abc"))
    plain = stress_test(frame, n_permutations=3, random_state=0)
    opened = stress_test(open_table(frame), n_permutations=3, random_state=0)
    np.testing.assert_array_equal(plain.null_stress, opened.null_stress)


def test_a_table_keeps_the_kinds_of_its_columns():
    frame = pd.DataFrame({"size": X[:, 0], "year": [2007.0, 2008.0, 2009.0] * 8, "class": list("ab") * 12})
    table = open_table(frame, target="class", kinds={"year": "categorical"})
    drawn = stress_module.ColumnwisePermutation(table, MDS(dissimilarity="gower"), None).draw(np.random.default_rng(0))
    assert [(column.name, column.kind) for column in drawn.schema.columns] == [
        ("size", "numeric"),
        ("year", "categorical"),
    ]
    assert drawn.schema.columns[1].levels == table.schema.columns[1].levels


def test_pairs_keep_their_missing_values_and_their_weights():
    gaps, weights = D.copy(), np.ones_like(D)
    gaps[0, 5] = gaps[5, 0] = gaps[3, 7] = gaps[7, 3] = np.nan
    weights[2, 9] = weights[9, 2] = 0.0
    model = stress_module.PairwisePermutation(gaps, MDS(dissimilarity="precomputed"), weights)
    drawn = model.draw(np.random.default_rng(0))
    np.testing.assert_array_equal(np.isnan(drawn), np.isnan(gaps))
    np.testing.assert_array_equal(drawn, drawn.T)
    np.testing.assert_array_equal(np.diag(drawn), 0.0)
    # A pair of weight 0 is not there: its number goes nowhere, and no other comes.
    assert drawn[2, 9] == gaps[2, 9]
    np.testing.assert_array_equal(np.sort(drawn, axis=None), np.sort(gaps, axis=None))
    assert not np.array_equal(drawn, gaps, equal_nan=True)


def test_similarities_are_permuted_as_the_distances_that_they_represent():
    S = X @ X.T
    model = stress_module.PairwisePermutation(S, MDS(dissimilarity="similarity"), None)
    np.testing.assert_allclose(np.sort(squareform(model.draw(np.random.default_rng(0)))), np.sort(pdist(X)), atol=1e-6)
    assert model.estimator.dissimilarity == "precomputed"


def test_a_seed_gives_the_same_numbers_at_any_number_of_threads():
    for estimator, data in [
        (MDS(init="random", random_state=3), X),
        (MDS(kind="ordinal", tol=1e-3, dissimilarity="precomputed"), D),
    ]:
        with parallel.thread_session(1):
            one = stress_test(data, estimator=estimator, n_permutations=6, random_state=5)
        with parallel.thread_session(2):
            two = stress_test(data, estimator=estimator, n_permutations=6, random_state=5)
        np.testing.assert_array_equal(one.null_stress, two.null_stress)
        assert one.stress == two.stress
        assert len(np.unique(one.null_stress)) == 6


def test_maps_that_are_large_are_fitted_one_after_another_with_the_same_numbers(monkeypatch):
    several = stress_test(X, n_permutations=3, random_state=5)
    monkeypatch.setattr(stress_module, "_MAX_CONCURRENT_ROWS", 10)
    np.testing.assert_array_equal(stress_test(X, n_permutations=3, random_state=5).null_stress, several.null_stress)


def test_fits_that_did_not_converge_are_reported_once():
    estimator = MDS(max_iter=2, init="random", random_state=0)
    with pytest.warns(TamizWarning) as told:
        stress_test(X, estimator=estimator, n_permutations=5, random_state=0)
    sentences = [warning.message.args[0] for warning in told]
    assert len(sentences) == 2
    assert [sentence.code for sentence in sentences] == ["TZ501", "TZ501"]
    assert sentences[1] == (
        "5 of 5 maps of permuted data did not converge within max_iter iterations, so that their stress is slightly too large; "
        "raise max_iter."
    )


def test_columns_of_given_dissimilarities_cannot_be_permuted():
    estimator = MDS(dissimilarity="precomputed")
    with pytest.raises(
        ValueError,
        match=r"^permute='columns' needs the rows of a table, and dissimilarity='precomputed' reads pairs; "
        r"use permute='pairs'\.$",
    ):
        stress_test(D, estimator=estimator, permute="columns", n_permutations=1)
    with pytest.raises(
        ValueError, match=r"^permute, where it is not None, must be one of 'columns', 'pairs', got 'rows'"
    ):
        stress_test(X, permute="rows", n_permutations=1)
    with pytest.raises(
        TypeError, match=r"^permute='columns' does not support sparse matrices; pass X\.toarray\(\), or use permute="
    ):
        stress_module.ColumnwisePermutation(sparse.csr_array(X), MDS(), None)
    with pytest.raises(ValueError, match=r"^n_permutations must be at least 1, got 0\.$"):
        stress_test(X, n_permutations=0)


@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
def test_a_map_without_a_stress_cannot_be_tested():
    for function in (stress_test, stress_by_dimensions):
        with pytest.raises(TypeError, match=r"^ClassicalMDS has no stress_; pass an MDS\.$"):
            function(X, estimator=ClassicalMDS(2))


def test_the_stress_in_every_number_of_dimensions_is_that_of_the_map_fitted_alone():
    found = stress_by_dimensions(X, [3, 1, 2], estimator=MDS(kind="ordinal", tol=1e-4))
    assert found.dimensions == (3, 1, 2)
    assert list(found.maps) == [3, 1, 2]
    for k, stress in zip(found.dimensions, found.stress, strict=True):
        alone = MDS(k, kind="ordinal", tol=1e-4).fit(X)
        assert stress == alone.stress_
        np.testing.assert_array_equal(found.maps[k].embedding_, alone.embedding_)
    assert np.isnan(found.p_values).all()
    assert (
        repr(found)
        == f"<StressByDimensions: 3: {found.stress[0]:.4f}, 1: {found.stress[1]:.4f}, 2: {found.stress[2]:.4f}>"
    )


def test_a_plane_needs_two_dimensions():
    found = stress_by_dimensions(X[:, :2], [1, 2])
    assert found.stress[0] > 0.1
    assert found.stress[1] < 1e-6


def test_chance_is_known_in_every_number_of_dimensions_and_the_same_as_in_the_test():
    found = stress_by_dimensions(X, [1, 2], n_permutations=9, random_state=0)
    assert found.null_stress.shape == (9, 2)
    np.testing.assert_array_equal(found.p_values, [0.1, 0.1])
    np.testing.assert_array_equal(found.null_stress[:, 1], stress_test(X, n_permutations=9, random_state=0).null_stress)
    assert np.all(found.null_stress[:, 0] > found.null_stress[:, 1])


def test_a_stress_that_rises_with_the_dimensions_is_reported():
    rising = Given(stress={1: 0.3, 2: 0.1, 3: 0.12})
    with pytest.warns(
        TamizWarning,
        match=r"The stress in 3 dimensions, 0\.12, is above that in 2, 0\.1: the map is a local minimum\. Raise",
    ):
        stress_by_dimensions(X, [3, 1, 2], estimator=rising)
    stress_by_dimensions(X, [1, 2], estimator=rising)


@pytest.mark.parametrize(
    ("dimensions", "error", "sentence"),
    [
        ([], ValueError, r"^dimensions is an empty list; pass at least one number\.$"),
        ([2, 2], ValueError, r"^dimensions contains 2 twice; pass each number once\.$"),
        ([0], ValueError, r"^dimensions must be at least 1, got 0\.$"),
        (3, TypeError, r"^dimensions must be a list, got 3\. Put it in brackets: \[3\]\.$"),
    ],
)
def test_numbers_of_dimensions_are_checked_before_anything_is_mapped(dimensions, error, sentence):
    with pytest.raises(error, match=sentence):
        stress_by_dimensions(X, dimensions)


def test_both_are_drawn():
    tested = stress_test(X, n_permutations=9, random_state=0)
    panel = tested.plot()
    assert panel.get_xlabel() == "Kruskal's stress-1"
    assert panel.lines[0].get_xdata()[0] == tested.stress
    found = stress_by_dimensions(X, [1, 2], n_permutations=3, random_state=0)
    line, chance = found.plot().lines
    np.testing.assert_array_equal(line.get_xydata(), np.column_stack([[1, 2], found.stress]))
    np.testing.assert_allclose(chance.get_ydata(), found.null_stress.mean(axis=0))
    assert len(stress_by_dimensions(X, [1, 2]).plot().lines) == 1


def test_the_records_print_their_numbers():
    tested = stress_test(X, n_permutations=9, random_state=0)
    assert repr(tested) == (
        f"<StressTest: stress={tested.stress:.4f}, p=0.1, 9 permutations of columns from {tested.null_stress.min():.4f}>"
    )


def test_reducers_without_stress_are_refused_before_any_fit():
    X = np.random.default_rng(0).normal(size=(12, 4))
    sentence = "estimator must be a stress-based map such as MDS(kind='ordinal'), got 'mds'."
    for work in (stress_test, stress_by_dimensions):
        with pytest.raises(TypeError) as raised:
            work(X, estimator="mds")
        assert str(raised.value) == sentence
    with pytest.raises(ValueError, match=r"^n_components must be below the number of rows = 12, got 19"):
        stress_by_dimensions(X, range(1, 20))
    with pytest.raises(ValueError, match=r"^An init array has one number of dimensions; use an estimator with init="):
        stress_by_dimensions(X, estimator=MDS(init=X[:, :2]))

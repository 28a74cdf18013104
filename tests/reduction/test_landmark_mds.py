"""Landmark MDS: exact for rows in few dimensions, equal to classical scaling if all rows are landmarks, and its warnings."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist, pdist
from sklearn.datasets import load_iris
from tests.reference import mds as plain

from tamiz import load, open_table, save
from tamiz.exceptions import DataError, TamizWarning
from tamiz.reduction import ClassicalMDS, LandmarkMDS
from tamiz.reduction.dissimilarities import read_dissimilarities
from tamiz.reduction.landmark_mds import farthest_first
from tamiz.reduction.landmarks import create_subsets
from tamiz.runtime import parallel
from tamiz.runtime.random import make_rng


def quietly(model, X):
    """Fit whatever the spectrum is like."""
    with warnings.catch_warnings(action="ignore", category=TamizWarning):
        return model.fit(X)


def apart(X, Y):
    """How far two maps are apart, signs aside."""
    return np.abs(X * np.sign((X * Y).sum(axis=0)) - Y).max()


def flat(n, m, p, seed=0):
    """Rows in p columns that lie in m dimensions."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, m)) @ rng.normal(size=(m, p)) + 5.0


def given(dissimilarity, X, new):
    """Rows and new ones in the form that a dissimilarity takes."""
    if dissimilarity == "precomputed":
        return cdist(X, X, "cityblock"), cdist(new, X, "cityblock")
    if dissimilarity == "similarity":
        return X @ X.T, new @ X.T
    return X, new


@pytest.mark.parametrize("landmarks", ["random", "maxmin"])
@pytest.mark.parametrize("p", [3, 8, 300])
def test_rows_of_few_dimensions_are_reproduced_exactly(landmarks, p):
    rows = flat(207, 3, p)
    X, new = rows[:200], rows[200:]
    mapped = LandmarkMDS(3, n_landmarks=10, landmarks=landmarks, random_state=0).fit(X)
    np.testing.assert_allclose(pdist(mapped.embedding_), pdist(X), rtol=1e-8)
    np.testing.assert_allclose(cdist(mapped.transform(new), mapped.embedding_), cdist(new, X), rtol=1e-7)
    assert mapped.sampled_stress_ < 1e-8
    given_distances = LandmarkMDS(
        3, n_landmarks=10, landmarks=landmarks, dissimilarity="precomputed", random_state=0
    ).fit(cdist(X, X))
    assert apart(given_distances.embedding_, mapped.embedding_) < 1e-7
    np.testing.assert_array_equal(given_distances.landmarks_, mapped.landmarks_)


@pytest.mark.parametrize("dissimilarity", ["euclidean", "gower", "precomputed", "similarity"])
def test_with_all_rows_as_landmarks_it_is_classical_scaling(dissimilarity):
    X, _ = given(dissimilarity, load_iris().data[:60] - [5.0, 3.0, 3.0, 1.0], np.zeros((1, 4)))
    mapped = quietly(LandmarkMDS(2, n_landmarks=60, dissimilarity=dissimilarity, random_state=0), X)
    whole = quietly(ClassicalMDS(2, dissimilarity=dissimilarity), X)
    assert apart(mapped.embedding_, whole.embedding_) < 1e-8
    np.testing.assert_allclose(mapped.eigenvalues_, whole.eigenvalues_, rtol=1e-9)
    assert mapped.negative_share_ == pytest.approx(whole.negative_share_, abs=1e-9)
    assert mapped.smallest_eigenvalue_ == pytest.approx(whole.smallest_eigenvalue_, abs=1e-9)


def test_coordinates_are_those_of_the_formula_rotated():
    X = np.random.default_rng(0).normal(size=(90, 4)) * [3, 2, 1, 1]
    D = cdist(X, X, "cityblock")
    mapped = quietly(LandmarkMDS(2, n_landmarks=12, dissimilarity="precomputed", random_state=1), D)
    L = mapped.landmarks_
    values, places = plain.classical(D[np.ix_(L, L)], 2)
    squares = D[np.ix_(L, L)] ** 2
    raw = 0.5 * (squares.mean(axis=0) - D[:, L] ** 2) @ (places / values[:2])
    assert pdist(mapped.embedding_) == pytest.approx(pdist(raw), rel=1e-7)
    np.testing.assert_allclose(mapped.eigenvalues_, values[:2], rtol=1e-9)
    spread = mapped.embedding_.T @ mapped.embedding_
    np.testing.assert_allclose(mapped.embedding_.mean(axis=0), 0.0, atol=1e-12)
    assert abs(spread[0, 1]) < 1e-9 * spread[0, 0]
    assert spread[0, 0] > spread[1, 1]


@pytest.mark.parametrize("dissimilarity", ["euclidean", "gower", "precomputed", "similarity"])
def test_transform_maps_rows_of_fit_to_their_coordinates_and_each_row_independently(dissimilarity, tmp_path):
    X, new = given(dissimilarity, load_iris().data[:80], load_iris().data[80:90])
    mapped = quietly(LandmarkMDS(2, n_landmarks=20, dissimilarity=dissimilarity, random_state=0), X)
    assert mapped.transform(X).tobytes() == mapped.embedding_.tobytes()
    assert mapped.transform(X[7:8]).tobytes() == mapped.embedding_[7:8].tobytes()
    together = mapped.transform(new)
    for i in range(len(new)):
        assert mapped.transform(new[i : i + 1]).tobytes() == together[i : i + 1].tobytes()
    loaded = load(save(mapped, tmp_path / "model"))
    assert loaded.transform(new).tobytes() == together.tobytes()


def test_a_model_of_given_distances_does_not_keep_them(tmp_path):
    X = np.random.default_rng(0).normal(size=(400, 2))
    mapped = LandmarkMDS(2, n_landmarks=10, dissimilarity="precomputed", random_state=0).fit(cdist(X, X))
    assert save(mapped, tmp_path / "model").stat().st_size < 100_000


def test_distances_as_float32_and_in_columns_give_the_same_map():
    X = np.random.default_rng(0).normal(size=(60, 2))
    D = cdist(X, X)
    model = LandmarkMDS(2, n_landmarks=10, dissimilarity="precomputed", random_state=0)
    mapped = model.fit(D).embedding_
    assert model.fit(np.asfortranarray(D)).embedding_.tobytes() == mapped.tobytes()
    assert apart(model.fit(D.astype(np.float32)).embedding_, mapped) < 1e-5
    similar = LandmarkMDS(2, n_landmarks=10, dissimilarity="similarity", random_state=0)
    assert apart(similar.fit((X @ X.T).astype(np.float32)).embedding_, mapped) < 1e-5


def test_maxmin_takes_the_farthest_row_each_time():
    X = np.random.default_rng(0).normal(size=(50, 3))
    D = cdist(X, X)
    mapped = LandmarkMDS(2, n_landmarks=8, landmarks="maxmin", random_state=3).fit(X)
    L = mapped.landmarks_
    assert L[0] == make_rng(3).integers(50)
    for at in range(1, 8):
        assert L[at] == np.argmax(D[:, L[:at]].min(axis=1))


def test_no_row_is_a_landmark_twice_where_rows_are_equal():
    rows, _ = read_dissimilarities(np.repeat([[0.0], [1.0]], 5, axis=0), "euclidean", "LandmarkMDS")
    chosen = farthest_first(create_subsets(rows, "euclidean"), 6, make_rng(0))
    assert len(set(chosen.tolist())) == 6
    assert {row // 5 for row in chosen[:2].tolist()} == {0, 1}


@pytest.mark.parametrize("landmarks", ["random", "maxmin"])
def test_seeds_and_threads(landmarks):
    X = np.random.default_rng(0).normal(size=(3000, 4))
    for rows in (X, sparse.csr_array(np.where(X > 1.0, X, 0.0))):
        maps = []
        for n_jobs in (1, 2):
            with parallel.thread_session(n_jobs):
                maps.append(LandmarkMDS(2, n_landmarks=30, landmarks=landmarks, random_state=5).fit(rows))
        for name in ("embedding_", "landmarks_"):
            assert getattr(maps[0], name).tobytes() == getattr(maps[1], name).tobytes()
        assert maps[0].sampled_stress_ == maps[1].sampled_stress_
        other = LandmarkMDS(2, n_landmarks=30, landmarks=landmarks, random_state=6).fit(rows)
        assert other.landmarks_.tolist() != maps[0].landmarks_.tolist()
        assert maps[0].transform(rows).tobytes() == maps[0].embedding_.tobytes()


@pytest.mark.parametrize("unit", [1e-120, 1e120])
def test_the_unit_does_not_matter(unit):
    X = flat(100, 2, 5)
    model = LandmarkMDS(2, n_landmarks=10, dissimilarity="precomputed", random_state=0)
    expected = model.fit(cdist(X, X)).embedding_
    scaled = model.fit(cdist(X, X) * unit)
    np.testing.assert_allclose(scaled.embedding_ / unit, expected, atol=1e-8)
    assert scaled.sampled_stress_ < 1e-7


def test_the_stress_of_many_rows_comes_with_its_error():
    X = np.random.default_rng(0).normal(size=(3000, 6)) * [5, 3, 2, 2, 1, 1]
    delta, d = pdist(X), pdist(X[:, :2])
    whole = np.sqrt(1 - (delta @ d) ** 2 / (delta @ delta) / (d @ d))
    mapped = LandmarkMDS(2, random_state=0).fit(X)
    assert mapped.sampled_stress_ == pytest.approx(whole, rel=0.15)


def test_the_stress_of_few_rows_is_that_of_all_pairs():
    X = np.random.default_rng(0).normal(size=(300, 5))
    mapped = LandmarkMDS(2, random_state=0).fit(X)
    delta, d = pdist(X), pdist(mapped.embedding_)
    assert mapped.sampled_stress_ == pytest.approx(np.sqrt(1 - (delta @ d) ** 2 / (delta @ delta) / (d @ d)), rel=1e-10)
    assert mapped.sampled_stress_error_ == 0.0


def test_distances_that_are_not_euclidean_are_reported():
    X = np.random.default_rng(0).normal(size=(300, 6))
    sentence = (
        r"LandmarkMDS: the distances of the landmarks are not Euclidean: [\d.]+ % of the sum of absolute eigenvalues is negative "
        r"\(smallest -[\d.]+, largest [\d.]+\), and the coordinates do not show this part\.$"
    )
    with pytest.warns(TamizWarning, match=sentence):
        mapped = LandmarkMDS(2, n_landmarks=40, dissimilarity="precomputed", random_state=0).fit(
            cdist(X, X, "cityblock")
        )
    assert mapped.smallest_eigenvalue_ < 0 < mapped.negative_share_


def test_equal_rows_are_one_place():
    with pytest.warns(
        TamizWarning, match=r"LandmarkMDS: 0 eigenvalues are above 0, and the other 2 coordinates are 0\."
    ):
        mapped = LandmarkMDS(2, random_state=0).fit(np.ones((30, 4)))
    assert not mapped.embedding_.any()
    assert mapped.sampled_stress_ == 0.0


def test_mixed_columns_with_missing_values_are_read_under_gower():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=90), "b": rng.choice(["x", "y"], 90)})
    table.loc[::7, "a"] = np.nan
    mapped = quietly(LandmarkMDS(2, n_landmarks=30, dissimilarity="gower", random_state=0), table)
    np.testing.assert_array_equal(mapped.transform(table), mapped.embedding_)
    assert mapped.get_feature_names_out().tolist() == ["landmarkmds0", "landmarkmds1"]


def test_bad_input_is_refused_in_one_sentence():
    X = np.random.default_rng(0).normal(size=(20, 3))
    for n_landmarks in (2, 21):
        sentence = r"^n_landmarks must be above n_components = 2 and at most the number of rows = 20, got \d+\.$"
        with pytest.raises(ValueError, match=sentence):
            LandmarkMDS(2, n_landmarks=n_landmarks).fit(X)
    with pytest.raises(ValueError, match=r"^n_components must be below the number of rows = 20, got 20\.$"):
        LandmarkMDS(20).fit(X)
    with pytest.raises(ValueError, match=r"^landmarks must be one of 'random', 'maxmin', got 'farthest'"):
        LandmarkMDS(landmarks="farthest").fit(X)
    with pytest.raises(DataError, match=r"Precomputed distances must be a square matrix"):
        LandmarkMDS(dissimilarity="precomputed").fit(X)
    with pytest.raises(DataError, match="is inf"):
        LandmarkMDS(dissimilarity="precomputed").fit(np.where(np.eye(4), 0.0, np.inf))
    fitted = LandmarkMDS(dissimilarity="precomputed", n_landmarks=5, random_state=0).fit(cdist(X[:, :2], X[:, :2]))
    with pytest.raises(ValueError, match=r"X has 19 features, but LandmarkMDS is expecting 20 features as input"):
        fitted.transform(cdist(X, X[:19]))


def test_a_fit_that_fails_leaves_the_model_as_it_was():
    X = np.random.default_rng(0).normal(size=(20, 3))
    mapped = LandmarkMDS(2, random_state=0).fit(X)
    before = dict(vars(mapped))
    with pytest.raises(ValueError):
        mapped.fit(np.full((5, 3), np.inf))
    assert vars(mapped) == before


def test_weights_of_a_table_are_refused():
    table = pd.DataFrame({"a": [1.0, 2.0, 4.0, 3.0], "w": [1.0, 1.0, 2.0, 1.0]})
    with pytest.raises(DataError, match="does not support sample weights"):
        LandmarkMDS(1).fit(open_table(table, weight="w"))

"""Classical scaling: R's numbers, the dense solution, rows and distances alike, new rows."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris
from tests.reference import mds as plain

from tamiz import parallel
from tamiz.exceptions import DataError, TamizWarning
from tamiz.reduction import PCA, ClassicalMDS

SHARED = Path(__file__).parents[3] / "shared"
needs_r = pytest.mark.skipif(
    not (SHARED / "reference/r.json").exists(), reason="no R values beside the project, in shared"
)


def apart(X, Y):
    """How far two maps are apart, signs aside."""
    return np.abs(X * np.sign((X * Y).sum(axis=0)) - Y).max()


def eurodist():
    lower = np.loadtxt(SHARED / "data/eurodist.csv", delimiter=",", skiprows=1, usecols=1)
    D = np.zeros((21, 21))
    # R keeps the lower triangle column by column, which is the upper one row by row.
    D[np.triu_indices(21, 1)] = lower
    return D + D.T


@needs_r
def test_the_distances_of_european_cities_give_rs_numbers():
    expected = json.loads((SHARED / "reference/r.json").read_text())["cases"]["eurodist_cmdscale_k2"]["value"]
    D = eurodist()
    mapped = ClassicalMDS(2, dissimilarity="precomputed").fit(D)
    np.testing.assert_allclose(mapped.eigenvalues_, expected["eig"][:2], rtol=1e-12)
    assert mapped.least_ == pytest.approx(min(expected["eig"]), rel=1e-10)
    assert mapped.total_ == pytest.approx(sum(expected["eig"]), rel=1e-10)
    assert apart(mapped.embedding_, np.array(expected["points"]["rows"])) < 1e-8


def some_distances(kind, n):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 6)) * [5, 3, 2, 1, 0.5, 0.1]
    return cdist(X, X, kind)


@pytest.mark.parametrize("kind", ["euclidean", "cityblock", "chebyshev"])
@pytest.mark.parametrize("n", [30, 700])
def test_the_coordinates_are_those_of_the_dense_problem(kind, n):
    D = some_distances(kind, n)
    values, places = plain.classical(D, 3)
    mapped = ClassicalMDS(3, dissimilarity="precomputed").fit(D)
    np.testing.assert_allclose(mapped.eigenvalues_, values[:3], rtol=1e-10)
    assert mapped.total_ == pytest.approx(values.sum(), rel=1e-9)
    assert apart(mapped.embedding_, places) < 1e-5 * np.abs(places).max()
    assert (mapped.residuals_ < 1e-7 * values[0]).all()
    np.testing.assert_allclose((mapped.embedding_**2).sum(axis=0), mapped.eigenvalues_, rtol=1e-9)
    if n == 30:
        assert mapped.least_ == pytest.approx(values[-1], abs=1e-9 * values[0])


@pytest.mark.parametrize("shape", [(60, 5), (20, 40)])
def test_rows_and_their_distances_give_one_map_and_it_is_pca(shape):
    X = np.random.default_rng(1).normal(size=shape) @ np.diag(np.linspace(3, 1, shape[1]))
    new = np.random.default_rng(2).normal(size=(7, shape[1]))
    rows = ClassicalMDS(3).fit(X)
    distances = ClassicalMDS(3, dissimilarity="precomputed").fit(cdist(X, X))
    np.testing.assert_allclose(rows.eigenvalues_, distances.eigenvalues_, rtol=1e-12)
    np.testing.assert_allclose(rows.eigenvalues_, PCA(3).fit(X).explained_variance_ * (len(X) - 1), rtol=1e-12)
    np.testing.assert_allclose(rows.embedding_, distances.embedding_, atol=1e-9)
    np.testing.assert_allclose(rows.transform(new), distances.transform(cdist(new, X)), atol=1e-9)


@pytest.mark.parametrize("dissimilarity", ["euclidean", "gower", "precomputed"])
def test_transform_gives_the_rows_of_fit_their_place_and_every_row_its_own(dissimilarity):
    X = load_iris().data[:80]
    new = load_iris().data[80:90]
    if dissimilarity == "precomputed":
        X, new = cdist(X, X), cdist(new, X)
    mapped = ClassicalMDS(2, dissimilarity=dissimilarity)
    np.testing.assert_array_equal(mapped.fit_transform(X), mapped.transform(X))
    together = mapped.transform(new)
    for i in range(len(new)):
        assert mapped.transform(new[i : i + 1]).tobytes() == together[i : i + 1].tobytes()


def test_mixed_columns_with_gaps_lie_by_gowers_distance():
    frame = pd.DataFrame({"a": [1.0, 4.0, np.nan, 2.0, 3.0, 9.0], "b": list("xxyyxz"), "c": [3.0, 1, 4, 1, 5, 9]})
    ranges = {"a": 8.0, "c": 8.0}
    D = np.zeros((6, 6))
    for i in range(6):
        for j in range(6):
            gaps = [abs(frame[c][i] - frame[c][j]) / r for c, r in ranges.items()] + [float(frame.b[i] != frame.b[j])]
            D[i, j] = np.nanmean(gaps)
    mapped = ClassicalMDS(2, dissimilarity="gower").fit(frame)
    values, places = plain.classical(D, 2)
    np.testing.assert_allclose(mapped.eigenvalues_, values[:2], rtol=1e-12)
    assert apart(mapped.embedding_, places) < 1e-10


def test_bits_do_not_depend_on_threads():
    D = some_distances("cityblock", 700)
    found = []
    for n_jobs in (1, 2):
        with parallel.session(n_jobs):
            found.append(ClassicalMDS(2, dissimilarity="precomputed").fit(D).embedding_.tobytes())
    assert found[0] == found[1]


@pytest.mark.parametrize("n", [20, 600])
def test_coordinates_without_an_eigenvalue_are_zero_and_told(n):
    D = np.abs(np.subtract.outer(np.arange(n) % 5, np.arange(n) % 5)).astype(float)
    with pytest.warns(TamizWarning, match=r"1 eigenvalue is above 0, and the other 2 coordinates are 0"):
        mapped = ClassicalMDS(3, dissimilarity="precomputed").fit(D)
    np.testing.assert_allclose(mapped.eigenvalues_[0], 2.0 * n, rtol=1e-10)
    np.testing.assert_array_equal(mapped.embedding_[:, 1:], 0.0)
    np.testing.assert_array_equal(mapped.transform(D), mapped.embedding_)


def test_single_precision_distances_are_read_where_they_lie():
    D = some_distances("cityblock", 600).astype(np.float32)
    mapped = ClassicalMDS(2, dissimilarity="precomputed").fit(D)
    np.testing.assert_allclose(mapped.eigenvalues_, plain.classical(D.astype(float), 2)[0][:2], rtol=1e-10)


def test_what_has_no_map_is_refused_in_one_sentence():
    D = some_distances("euclidean", 30)
    skewed, negative, lifted = D.copy(), D.copy(), D.copy()
    skewed[3, 4] += 1.0
    negative[5, 6] = negative[6, 5] = -1.0
    lifted[7, 7] = 1.0
    holed = np.where(D[1, 2] == D, np.nan, D)
    for given, sentence in [
        (D[:20], "Precomputed distances must be a square matrix"),
        (skewed, "Precomputed distances must be symmetric: row 3, column 4 holds"),
        (negative, "Row 5, column 6 holds -1; a distance must be at least 0"),
        (lifted, "Row 7 is at 1 from itself; the diagonal must be 0"),
        (holed, "Row 1, column 2 holds nan; a distance must be a finite number"),
    ]:
        with pytest.raises(DataError, match=sentence):
            ClassicalMDS(2, dissimilarity="precomputed").fit(given)
    with pytest.raises(ValueError, match="n_components must be below the number of rows = 30, got 30"):
        ClassicalMDS(30, dissimilarity="precomputed").fit(D)
    with pytest.raises(
        ValueError, match="dissimilarity must be one of 'euclidean', 'precomputed', 'gower', got 'cosine'"
    ):
        ClassicalMDS(2, dissimilarity="cosine").fit(D)
    mapped = ClassicalMDS(2, dissimilarity="precomputed").fit(D)
    with pytest.raises(ValueError, match="X has 20 features, but ClassicalMDS is expecting 30 features"):
        mapped.transform(D[:, :20])

"""Classical scaling: R's numbers, the dense solution, rows, distances and similarities, additive constants, new rows."""

import json
import tracemalloc
import warnings
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris
from tests.reference import mds as plain

from tamiz import load, open_table, save
from tamiz.exceptions import DataError, TamizWarning
from tamiz.reduction import PCA, ClassicalMDS
from tamiz.runtime import parallel, validation

SHARED = Path(__file__).parents[3] / "shared"
needs_r = pytest.mark.skipif(
    not (SHARED / "reference/r.json").exists(), reason="no R values beside the project, in shared"
)


RULES = ["lingoes", "cailliez"]


def not_euclidean():
    return pytest.warns(TamizWarning, match="ClassicalMDS: the distances are not Euclidean: ")


def of_distances(D, k=2, **given):
    """Fit whatever the spectrum is like."""
    with warnings.catch_warnings(action="ignore", category=TamizWarning):
        return ClassicalMDS(k, dissimilarity="precomputed", **given).fit(D)


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
    sentence = r"not Euclidean: 13\.2 % of the sum of absolute eigenvalues is negative \(smallest -2\.252e\+06, largest"
    with pytest.warns(TamizWarning, match=sentence):
        mapped = ClassicalMDS(2, dissimilarity="precomputed").fit(D)
    np.testing.assert_allclose(mapped.eigenvalues_, expected["eig"][:2], rtol=1e-12)
    assert mapped.smallest_eigenvalue_ == pytest.approx(min(expected["eig"]), rel=1e-10)
    assert mapped.eigenvalue_sum_ == pytest.approx(sum(expected["eig"]), rel=1e-10)
    assert mapped.negative_share_ == pytest.approx(plain.negative_share(np.array(expected["eig"])), rel=1e-10)
    assert mapped.negative_share_error_ == mapped.additive_constant_ == 0.0
    np.testing.assert_allclose(mapped.goodness_of_fit_, expected["GOF"], rtol=1e-11)
    assert apart(mapped.embedding_, np.array(expected["points"]["rows"])) < 1e-8


@needs_r
def test_the_constants_of_european_cities_are_rs():
    cases = json.loads((SHARED / "reference/r.json").read_text())["cases"]
    expected = cases["eurodist_cmdscale_k3_add"]["value"]
    mapped = ClassicalMDS(3, dissimilarity="precomputed", correction="cailliez").fit(eurodist())
    assert mapped.additive_constant_ == pytest.approx(expected["ac"], rel=1e-11)
    assert round(mapped.additive_constant_, 3) == 2132.678
    np.testing.assert_allclose(mapped.eigenvalues_, expected["eig"][:3], rtol=1e-11)
    np.testing.assert_allclose(mapped.goodness_of_fit_, expected["GOF"], rtol=1e-11)
    assert mapped.negative_share_ < 1e-9
    assert mapped.describe().notes == (
        "2132.68 was added to every distance, by Cailliez's rule, so that the distances are Euclidean.",
    )
    mapped = ClassicalMDS(3, dissimilarity="precomputed", correction="lingoes").fit(eurodist())
    eig = np.array(cases["eurodist_cmdscale_k2"]["value"]["eig"])
    assert round(mapped.additive_constant_, 2) == 2251844.33
    np.testing.assert_allclose(mapped.eigenvalues_, eig[:3] - eig.min(), rtol=1e-11)
    assert mapped.describe().notes == (
        "4.50369e+06 was added to every squared distance, by Lingoes's rule, so that the distances are Euclidean.",
    )


def some_distances(kind, n):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 6)) * [5, 3, 2, 1, 0.5, 0.1]
    return cdist(X, X, kind)


@pytest.mark.parametrize("kind", ["euclidean", "cityblock", "chebyshev"])
@pytest.mark.parametrize("n", [30, pytest.param(700, marks=pytest.mark.slow)])
def test_the_coordinates_are_those_of_the_dense_problem(kind, n):
    D = some_distances(kind, n)
    values, places = plain.classical(D, 3)
    with nullcontext() if kind == "euclidean" else not_euclidean():
        mapped = ClassicalMDS(3, dissimilarity="precomputed").fit(D)
    np.testing.assert_allclose(mapped.eigenvalues_, values[:3], rtol=1e-10)
    assert mapped.eigenvalue_sum_ == pytest.approx(values.sum(), rel=1e-9)
    assert apart(mapped.embedding_, places) < 1e-5 * np.abs(places).max()
    assert (mapped.residuals_ < 1e-6 * values[0]).all()
    np.testing.assert_allclose((mapped.embedding_**2).sum(axis=0), mapped.eigenvalues_, rtol=1e-7)
    if n == 30:
        assert mapped.smallest_eigenvalue_ == pytest.approx(values[-1], abs=1e-9 * values[0])
        assert mapped.negative_share_ == pytest.approx(plain.negative_share(values), abs=1e-12)
    share = plain.negative_share(values)
    assert abs(mapped.negative_share_ - share) <= max(3 * mapped.negative_share_error_, 1e-12)
    assert mapped.negative_share_error_ < 0.2 * share or kind == "euclidean" or n == 30


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


def given(dissimilarity, X, new):
    """Rows and new ones in the form that a dissimilarity takes."""
    if dissimilarity == "precomputed":
        return cdist(X, X, "cityblock"), cdist(new, X, "cityblock")
    if dissimilarity == "similarity":
        # They stand for distances that are not Euclidean.
        return 5 - cdist(X, X, "cityblock") ** 2, 5 - cdist(new, X, "cityblock") ** 2
    return X, new


@pytest.mark.filterwarnings("ignore:.*TZ402")
@pytest.mark.parametrize("correction", [None, *RULES])
@pytest.mark.parametrize("dissimilarity", ["euclidean", "gower", "precomputed", "similarity"])
def test_transform_maps_rows_of_fit_to_their_coordinates_and_each_row_independently(dissimilarity, correction):
    # Rows 33 and 37 are equal, as others are.
    X, new = given(dissimilarity, load_iris().data[:80], load_iris().data[80:90])
    mapped = ClassicalMDS(2, dissimilarity=dissimilarity, correction=correction)
    np.testing.assert_array_equal(mapped.fit_transform(X), mapped.transform(X))
    np.testing.assert_array_equal(mapped.transform(X[7:8]), mapped.embedding_[7:8])
    if (dissimilarity, correction) == ("similarity", "cailliez"):
        sentence = r"^Row 0 is equal to no row of the fit, and its distances are undefined without its similarity to itself\. Use "
        with pytest.raises(DataError, match=sentence):
            mapped.transform(new)
        return
    together = mapped.transform(new)
    for i in range(len(new)):
        assert mapped.transform(new[i : i + 1]).tobytes() == together[i : i + 1].tobytes()


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("n", [60, pytest.param(700, marks=pytest.mark.slow)])
def test_a_constant_is_the_least_that_makes_distances_euclidean(rule, n):
    D = some_distances("cityblock", n)
    new = cdist(*[np.random.default_rng(n).normal(size=(m, 6)) * 3 for m in (9, n)], "cityblock")
    mapped = ClassicalMDS(2, dissimilarity="precomputed", correction=rule).fit(D)
    if n == 60:
        assert mapped.additive_constant_ == pytest.approx(plain.constant(D, rule), rel=1e-9)
    corrected = plain.corrected(D, rule, mapped.additive_constant_)
    values, places = plain.classical(corrected, 2)
    least = plain.classical(D, 1)[0][-1]
    # That of the centring is 0 too.
    assert np.abs(values[-2:]).max() < 1e-8 * abs(least)
    np.testing.assert_allclose(mapped.eigenvalues_, values[:2], rtol=1e-10)
    assert mapped.eigenvalue_sum_ == pytest.approx(values.sum(), rel=1e-9)
    assert mapped.negative_share_ < 1e-9
    assert apart(mapped.embedding_, places) < 1e-5 * np.abs(places).max()
    lifted = np.sqrt(new**2 + 2 * mapped.additive_constant_) if rule == "lingoes" else new + mapped.additive_constant_
    assert apart(mapped.transform(new), plain.map_new_rows(corrected, lifted, 2)) < 1e-5 * np.abs(places).max()


@pytest.mark.parametrize("rule", RULES)
def test_euclidean_distances_need_no_constant(rule):
    for n in (40, 600):
        D = some_distances("euclidean", n)
        mapped = ClassicalMDS(2, dissimilarity="precomputed", correction=rule).fit(D)
        assert mapped.additive_constant_ == mapped.negative_share_ == 0.0
        np.testing.assert_array_equal(mapped.embedding_, ClassicalMDS(2, dissimilarity="precomputed").fit(D).embedding_)
    X = np.random.default_rng(0).normal(size=(20, 3))
    assert ClassicalMDS(2, correction=rule).fit(X).additive_constant_ == 0.0


@pytest.mark.parametrize("rule", RULES)
def test_equal_rows_share_a_place_under_a_constant(rule):
    X = np.random.default_rng(0).integers(0, 9, size=(30, 3)).astype(float)
    X[20:25] = X[3]
    D = cdist(X, X, "cityblock")
    mapped = ClassicalMDS(2, dissimilarity="precomputed", correction=rule).fit(D)
    assert mapped.additive_constant_ > 0
    np.testing.assert_array_equal(mapped.embedding_[20:25], mapped.embedding_[[3] * 5])
    np.testing.assert_array_equal(mapped.transform(D), mapped.embedding_)


@pytest.mark.parametrize("n", [40, 600])
def test_similarities_and_the_distances_that_they_represent_have_one_map(n):
    rng = np.random.default_rng(n)
    S = rng.normal(size=(n, n)) / 3
    S = S + S.T + np.diag(4 + 2 * rng.random(n))
    D = np.sqrt(np.add.outer(S.diagonal(), S.diagonal()) - 2 * S)
    assert (D[~np.eye(n, dtype=bool)] > 0).all()
    new = np.zeros((3, n))
    new[:, :9] = rng.normal(size=(3, 9)) / 3
    for correction in (None, *RULES):
        with not_euclidean() if correction is None else nullcontext():
            mapped = ClassicalMDS(2, dissimilarity="similarity", correction=correction).fit(S)
        expected = of_distances(D, correction=correction)
        np.testing.assert_allclose(mapped.eigenvalues_, expected.eigenvalues_, rtol=1e-8)
        assert mapped.additive_constant_ == pytest.approx(expected.additive_constant_, rel=1e-7, abs=1e-9)
        assert mapped.eigenvalue_sum_ == pytest.approx(expected.eigenvalue_sum_, rel=1e-10)
        assert apart(mapped.embedding_, expected.embedding_) < 1e-3
        if correction != "cailliez":
            # A row that is 7 similar to itself.
            distances = np.sqrt(7 + S.diagonal() - 2 * new)
            assert apart(mapped.transform(new), expected.transform(distances)) < 1e-3
    centred = S - S.mean(axis=0)
    np.testing.assert_allclose(of_distances(D).eigenvalue_sum_, np.trace(centred), rtol=1e-10)


def test_inner_products_give_the_map_of_the_rows():
    X, new = np.split(np.random.default_rng(1).normal(size=(67, 5)) * [5, 4, 3, 2, 1], [60])
    rows = ClassicalMDS(3).fit(X)
    products = ClassicalMDS(3, dissimilarity="similarity").fit(X @ X.T)
    np.testing.assert_allclose(products.eigenvalues_, rows.eigenvalues_, rtol=1e-12)
    np.testing.assert_allclose(products.transform(new @ X.T), rows.transform(new), atol=1e-9)
    single = ClassicalMDS(3, dissimilarity="similarity").fit((X @ X.T).astype(np.float32))
    np.testing.assert_allclose(single.eigenvalues_, rows.eigenvalues_, rtol=1e-5)


@pytest.mark.parametrize("dissimilarity", ["euclidean", "gower", "precomputed", "similarity"])
def test_a_stored_map_places_rows_as_before(dissimilarity, tmp_path):
    X, _ = given(dissimilarity, load_iris().data[:60], load_iris().data[:1])
    mapped = ClassicalMDS(2, dissimilarity=dissimilarity, correction="cailliez").fit(X)
    save(mapped, tmp_path / "map.tamiz")
    assert load(tmp_path / "map.tamiz").transform(X).tobytes() == mapped.embedding_.tobytes()


def test_mixed_columns_with_missing_values_are_compared_by_gowers_distance():
    frame = pd.DataFrame({"a": [1.0, 4.0, np.nan, 2.0, 3.0, 9.0], "b": list("xxyyxz"), "c": [3.0, 1, 4, 1, 5, 9]})
    ranges = {"a": 8.0, "c": 8.0}
    D = np.zeros((6, 6))
    for i in range(6):
        for j in range(6):
            gaps = [abs(frame[c][i] - frame[c][j]) / r for c, r in ranges.items()] + [float(frame.b[i] != frame.b[j])]
            D[i, j] = np.nanmean(gaps)
    with not_euclidean():
        mapped = ClassicalMDS(2, dissimilarity="gower").fit(frame)
    values, places = plain.classical(D, 2)
    np.testing.assert_allclose(mapped.eigenvalues_, values[:2], rtol=1e-12)
    assert apart(mapped.embedding_, places) < 1e-10


@pytest.mark.parametrize("correction", [None, *RULES])
def test_bits_do_not_depend_on_threads(correction):
    D = some_distances("cityblock", 1300)
    found = []
    for n_jobs in (1, 2):
        with parallel.thread_session(n_jobs):
            found.append(of_distances(D, correction=correction).embedding_.tobytes())
    assert found[0] == found[1]


@pytest.mark.parametrize("n", [20, 600])
def test_coordinates_without_an_eigenvalue_are_zero_and_reported(n):
    D = np.abs(np.subtract.outer(np.arange(n) % 5, np.arange(n) % 5)).astype(float)
    with pytest.warns(TamizWarning, match=r"1 eigenvalue is above 0, and the other 2 coordinates are 0"):
        mapped = ClassicalMDS(3, dissimilarity="precomputed").fit(D)
    np.testing.assert_allclose(mapped.eigenvalues_[0], 2.0 * n, rtol=1e-10)
    np.testing.assert_array_equal(mapped.embedding_[:, 1:], 0.0)
    np.testing.assert_array_equal(mapped.transform(D), mapped.embedding_)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_coordinates_of_negative_eigenvalues_are_zero():
    D = some_distances("cityblock", 30)
    mapped = of_distances(D, k=29)
    np.testing.assert_allclose(mapped.eigenvalues_, plain.classical(D, 1)[0][:29], atol=1e-10)
    assert (mapped.eigenvalues_[-3:] < 0).all()
    assert not mapped.embedding_[:, mapped.eigenvalues_ <= 0].any()


@pytest.mark.parametrize("n", [20, 600])
def test_rows_without_any_distance_lie_at_the_origin(n):
    with pytest.warns(TamizWarning, match="0 eigenvalues are above 0, and the other 2 coordinates are 0"):
        mapped = ClassicalMDS(2, dissimilarity="precomputed", correction="lingoes").fit(np.zeros((n, n)))
    assert not mapped.embedding_.any()
    assert mapped.negative_share_ == mapped.additive_constant_ == mapped.eigenvalue_sum_ == 0.0


def test_more_coordinates_than_columns_are_zero_and_reported():
    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.warns(TamizWarning, match="2 eigenvalues are above 0, and the other 3 coordinates are 0"):
        mapped = ClassicalMDS(5).fit(X)
    np.testing.assert_array_equal(mapped.embedding_[:, 2:], 0.0)


@pytest.mark.slow
def test_single_precision_distances_are_read_where_they_lie():
    D = some_distances("cityblock", 600).astype(np.float32)
    mapped = of_distances(D)
    np.testing.assert_allclose(mapped.eigenvalues_, plain.classical(D.astype(float), 2)[0][:2], rtol=1e-10)


def test_rounding_to_single_precision_makes_no_distances_that_are_not_euclidean():
    assert (
        ClassicalMDS(2, dissimilarity="precomputed")
        .fit(some_distances("euclidean", 300).astype(np.float32))
        .smallest_eigenvalue_
        < 0
    )


def test_memory_beside_the_distances_is_a_fraction_of_them():
    D = some_distances("cityblock", 3000)
    of_distances(D)
    tracemalloc.start()
    try:
        of_distances(D)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.3 * D.nbytes


def refused(sentence, X, k=2, error=DataError, **parameters):
    with pytest.raises(error, match=sentence):
        ClassicalMDS(k, **parameters).fit(X)


def test_input_without_a_map_is_an_error_of_one_sentence():
    D = some_distances("euclidean", 30)
    skewed, negative, lifted = D.copy(), D.copy(), D.copy()
    skewed[3, 4] += 1.0
    negative[5, 6] = negative[6, 5] = -1.0
    lifted[7, 7] = 1.0
    holed = np.where(D[1, 2] == D, np.nan, D)
    for wrong, sentence in [
        (D[:20], "Precomputed distances must be a square matrix"),
        (skewed, "Precomputed distances must be symmetric: row 3, column 4 is"),
        (negative, "Row 5, column 6 is -1; a distance must be at least 0"),
        (lifted, "Row 7 is at 1 from itself; the diagonal must be 0"),
        (holed, "Row 1, column 2 is nan; a distance must be a finite number"),
    ]:
        refused(sentence, wrong, dissimilarity="precomputed")
    sentence = "n_components must be below the number of rows = 30, got 30"
    refused(sentence, D, k=30, dissimilarity="precomputed", error=ValueError)
    sentence = "dissimilarity must be one of 'euclidean', 'seuclidean', 'cityblock', 'cosine', 'gower', 'precomputed', "
    sentence += "'similarity', got 'chebyshev'"
    refused(sentence, D, dissimilarity="chebyshev", error=ValueError)
    sentence = "correction, where it is not None, must be one of 'lingoes', 'cailliez', got 'add'"
    refused(sentence, D, correction="add", error=ValueError)
    mapped = ClassicalMDS(2, dissimilarity="precomputed").fit(D)
    with pytest.raises(ValueError, match="X has 20 features, but ClassicalMDS is expecting 30 features"):
        mapped.transform(D[:, :20])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_invalid_similarities_are_refused_in_one_sentence(dtype):
    X = np.random.default_rng(0).normal(size=(150, 4))
    S = (X @ X.T).astype(dtype)
    skewed, holed, vast, near = S.copy(), S.copy(), S.copy(), S.copy()
    skewed[3, 140] -= 0.5
    holed[5, 6] = np.inf
    vast[8, 2] = -1e30
    near[2, 9] = near[9, 2] = 50.0
    for wrong, sentence in [
        (
            S[:20],
            r"^Precomputed similarities must be a square matrix, every row to every row, got 20 rows and 150 columns\.$",
        ),
        (
            skewed,
            r"^Precomputed similarities must be symmetric: row 3, column 140 contains .* difference of 0\.5\. Pass",
        ),
        (
            holed,
            r"^Row 5, column 6 contains inf; a similarity must be a finite number\. Impute it",
        ),
        (
            near,
            r"^Row 2, column 9 contains 50; a similarity must not exceed the mean of its two diagonal entries, \d",
        ),
        (cdist(X, X).astype(dtype), r"diagonal entries, 0\. For distances use dissimilarity='precomputed'\.$"),
    ]:
        refused(sentence, wrong, dissimilarity="similarity")
    if dtype == np.float64:
        vast[8, 2] = -1e160
        sentence = (
            r"^Row 8, column 2 contains -1e\+160; the absolute value of a similarity must be at most 1e\+150\. Rescale"
        )
        refused(sentence, vast, dissimilarity="similarity")
    refused(r"^X has 1 sample \(row\); a map needs at least 2\.$", S[:1, :1], dissimilarity="similarity")
    refused("^dissimilarity='similarity' requires an array of similarities, got a Table", open_table(S), error=TypeError,
            dissimilarity="similarity")  # fmt: skip
    sentence = (
        "^Precomputed similarities must be a dense array: in a sparse one, similarity 0 and no similarity look the"
    )
    refused(sentence, sparse.csr_array(S), error=TypeError, dissimilarity="similarity")
    mapped = ClassicalMDS(2, dissimilarity="similarity").fit(S)
    with pytest.raises(DataError, match=r"^Row 1, column 4 contains nan; a similarity must be a finite number\."):
        mapped.transform(np.where((np.arange(2)[:, None] == 1) & (np.arange(150) == 4), np.nan, S[:2]))
    # Rounding is no fault.
    turned = S * (1 + np.triu(np.full((150, 150), 1e-6 if dtype == np.float32 else 1e-12), 1)).astype(dtype)
    found = ClassicalMDS(2, dissimilarity="similarity").fit(turned.astype(dtype))
    np.testing.assert_allclose(found.eigenvalues_, mapped.eigenvalues_, rtol=1e-4)


@pytest.mark.parametrize(("dissimilarity", "noun"), [("precomputed", "distances"), ("similarity", "similarities")])
def test_a_copy_that_does_not_fit_is_refused_before_any_work(monkeypatch, dissimilarity, noun):
    monkeypatch.setattr(validation, "free_memory", lambda: 1000.0)
    sentence = (
        rf"^A copy of 30 x 30 {noun} needs 7\.2 kB of memory and 1 kB are free\. Pass a C-contiguous array of float64 or "
        r"float32, which is not copied\.$"
    )
    refused(sentence, np.zeros((30, 30), dtype=int), error=MemoryError, dissimilarity=dissimilarity)


def correlated(kind):
    """Numbers of pairs as programs make them: the two of a pair differ by rounding, and rows 31 and 4 are equal."""
    A = np.random.default_rng(3).normal(size=(60, 12))
    A[31] = A[4] if kind == "similarity" else A[31]
    D = 1 - np.corrcoef(A)
    np.fill_diagonal(D, 0)
    if kind == "precomputed":
        return D
    J = np.eye(60) - 1 / 60
    return -J @ D**2 @ J / 2


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("kind", ["precomputed", "similarity"])
def test_rows_of_a_matrix_that_is_symmetric_to_rounding_get_their_place(kind, rule):
    rounded = correlated(kind)
    assert (rounded != rounded.T).any()
    exact = (rounded + rounded.T) / 2
    for given in (rounded, exact):
        mapped = ClassicalMDS(2, dissimilarity=kind, correction=rule).fit(given)
        assert mapped.additive_constant_ > 0
        np.testing.assert_array_equal(mapped.transform(given), mapped.embedding_)
        if kind == "similarity":
            np.testing.assert_array_equal(mapped.embedding_[31], mapped.embedding_[4])
        for again in (rounded, rounded.T, exact):
            np.testing.assert_allclose(mapped.transform(again), mapped.embedding_, rtol=0, atol=1e-10)
        if (kind, rule) != ("similarity", "cailliez"):
            # A row that differs by more than rounding is a row of its own.
            assert np.abs(mapped.transform(given * (1 + 1e-7)) - mapped.embedding_).max() > 1e-3


@pytest.mark.parametrize("dissimilarity", ["euclidean", "gower"])
def test_weights_of_a_table_are_refused(dissimilarity):
    frame = pd.DataFrame(load_iris().data[:20], columns=list("abcd"))
    sentence = (
        r"^ClassicalMDS does not support sample weights, and the table has the weights 'd'; open it without weight, or use PCA, "
        r"which supports weights, for Euclidean distances\.$"
    )
    refused(sentence, open_table(frame, weight="d"), dissimilarity=dissimilarity)


def state(mapped):
    return {name: value.tobytes() if isinstance(value, np.ndarray) else value for name, value in vars(mapped).items()}


def test_a_fit_that_fails_leaves_the_model_as_it_was(monkeypatch):
    frame = pd.DataFrame({"a": np.arange(12.0) ** 2, "b": list("xyzzyx") * 2})
    X = np.random.default_rng(0).normal(size=(12, 3))
    D = some_distances("cityblock", 12)
    wrongly_named = pd.DataFrame(X[:, :2]).rename(columns={0: "a", 1: 0})
    for first, then, given in [
        (frame, frame[:2], {"dissimilarity": "gower"}),
        (frame, wrongly_named, {}),
        (X, X[:2], {}),
        (D, D[:2, :2], {"dissimilarity": "precomputed", "correction": "cailliez"}),
    ]:
        mapped = ClassicalMDS(2, **given).fit(first) if given.get("correction") else fitted(first, **given)
        before, places = state(mapped), mapped.transform(first)
        with pytest.raises((ValueError, TypeError)):
            mapped.fit(then)
        assert state(mapped) == before
        np.testing.assert_array_equal(mapped.transform(first), places)
        with monkeypatch.context() as patched:
            patched.setattr(validation, "free_memory", lambda: 100.0)
            with pytest.raises(MemoryError):
                mapped.fit(first[::-1] if isinstance(first, np.ndarray) and given else first[:11])
        assert state(mapped) == before
        unfitted = ClassicalMDS(12, **given)
        with pytest.raises(ValueError, match="n_components must be below the number of rows = 12, got 12"):
            unfitted.fit(first)
        assert state(unfitted) == vars(ClassicalMDS(12, **given))


def fitted(X, k=2, **given):
    with warnings.catch_warnings(action="ignore", category=TamizWarning):
        return ClassicalMDS(k, **given).fit(X)


@pytest.mark.filterwarnings("error")
def test_a_warning_that_is_made_an_error_comes_after_all_is_set():
    D = some_distances("cityblock", 40)
    mapped = ClassicalMDS(2, dissimilarity="precomputed")
    with pytest.raises(TamizWarning, match="not Euclidean"):
        mapped.fit(D)
    ignored = {"_dissimilarities": 0, "_extension": 0}
    assert state(mapped) | ignored == state(of_distances(D)) | ignored
    np.testing.assert_array_equal(mapped.transform(D), mapped.embedding_)


@pytest.mark.slow
def test_many_coordinates_are_those_of_the_whole_matrix(monkeypatch):
    n, k = 520, 131
    D = some_distances("cityblock", n)
    values, places = plain.classical(D, k)
    mapped = of_distances(D, k=k)
    np.testing.assert_allclose(mapped.eigenvalues_, values[:k], rtol=1e-10, atol=1e-12 * values[0])
    assert apart(mapped.embedding_[:, :20], places[:, :20]) < 1e-8 * np.abs(places).max()
    assert mapped.negative_share_ == pytest.approx(plain.negative_share(values), abs=1e-12)
    assert mapped.negative_share_error_ == 0.0
    monkeypatch.setattr(validation, "free_memory", lambda: 1e7)
    sentence = r"^The decomposition of 520 x 520 inner products needs 10\.8 MB .* Ask for at most 130 coordinates\.$"
    refused(sentence, D, k=k, error=MemoryError, dissimilarity="precomputed")


@pytest.mark.parametrize("factor", [1e-140, 1e-90, 1e70, 1e74])
@pytest.mark.parametrize("n", [40, 505])
def test_very_small_and_very_large_distances_have_the_same_map(factor, n):
    X = np.random.default_rng(0).normal(size=(n, 3))
    D = cdist(X, X)
    mapped = ClassicalMDS(2, dissimilarity="precomputed").fit(D)
    scaled = ClassicalMDS(2, dissimilarity="precomputed").fit(D * factor)
    np.testing.assert_allclose(scaled.eigenvalues_ / factor / factor, mapped.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(scaled.embedding_ / factor, mapped.embedding_, atol=1e-6)
    assert (scaled.residuals_ <= 1e-6 * scaled.eigenvalues_[0]).all()


def goodness_of_fit(D, k):
    """Both quotients of R's cmdscale, from all eigenvalues of the inner products."""
    C = np.eye(len(D)) - 1 / len(D)
    values = np.sort(np.linalg.eigvalsh(-0.5 * C @ D**2 @ C))[::-1]
    return np.maximum(values[:k], 0).sum() / np.array([np.abs(values).sum(), np.maximum(values, 0).sum()])


@pytest.mark.parametrize("k", [1, 3])
def test_the_goodness_of_fit_is_the_share_of_the_eigenvalues_as_in_r(k):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 5))
    D = cdist(X, X)
    for fitted, expected in (
        (of_distances(D**2, k), goodness_of_fit(D**2, k)),
        (of_distances(D, k), goodness_of_fit(D, k)),
        (ClassicalMDS(k).fit(X), goodness_of_fit(D, k)),
    ):
        np.testing.assert_allclose(fitted.goodness_of_fit_, expected, rtol=1e-9)
    # Squared distances are no Euclidean ones, so that the two quotients differ.
    first, second = of_distances(D**2, k).goodness_of_fit_
    assert first < 0.98 * second


@pytest.mark.slow
def test_the_goodness_of_fit_of_many_rows_is_estimated_with_its_standard_error():
    away = []
    for seed in range(4):
        X = np.random.default_rng(seed).normal(size=(520, 4))
        D = cdist(X, X, metric="cityblock")
        mapped = of_distances(D, 2)
        assert mapped.negative_share_error_ > 0
        away += list((mapped.goodness_of_fit_ - goodness_of_fit(D, 2)) / mapped.goodness_of_fit_error_)
    # Eight standardised errors, by twos of the same sum.
    assert np.abs(away).max() < 4
    assert 0.1 < np.sqrt(np.mean(np.square(away))) < 2
    np.testing.assert_array_equal(of_distances(D[:50, :50], 2).goodness_of_fit_error_, [0.0, 0.0])


def test_rows_that_are_all_equal_have_a_goodness_of_fit_of_0():
    np.testing.assert_array_equal(of_distances(np.zeros((4, 4))).goodness_of_fit_, [0.0, 0.0])

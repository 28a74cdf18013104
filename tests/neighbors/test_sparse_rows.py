"""Sparse rows: accuracy, formats, memory, and the choice to convert them to dense rows."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from tamiz import open_table
from tamiz.exceptions import DataError
from tamiz.neighbors.points import CosinePoints, EuclideanPoints
from tamiz.neighbors.sparse_points import SparsePoints, choose_sparse_points

from ..reference import metrics as plain


def some_rows(seed=0, n=40, p=30):
    """Columns stored in few rows and in most of them."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, p)) * (rng.random((n, p)) < np.linspace(0.02, 0.9, p))
    rows[:, -1] = 1 + rng.random(n)
    return rows


def whole(points):
    return points.block(points, 0, points.n_samples)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("seed", range(5))
def test_columns_of_every_share_give_the_distances_of_the_definition(metric, seed):
    rows = some_rows(seed)
    points = SparsePoints(sparse.csr_array(rows), metric=metric)
    held = points._column_entries
    assert 0 < len(held.dense_columns) < rows.shape[1]
    expected = plain.table(getattr(plain, metric), rows, rows)
    np.testing.assert_allclose(whole(points), expected, rtol=1e-12, atol=1e-30)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_near_rows_keep_their_digits(metric):
    rng = np.random.default_rng(0)
    for gap in (1e-1, 1e-3, 1e-6, 1e-9, 1e-12):
        base = some_rows()[:1] * 1e3
        rows = np.concatenate([base, base * (1 + gap * rng.normal(size=(8, base.shape[1])))])
        got = whole(SparsePoints(sparse.csr_array(rows), metric=metric))
        # Rows at length 1 are rounded: that is 1e-16 of 1 in every number, and 1e-16 / gap of their differences.
        rtol = 1e-12 if metric == "euclidean" else 1e-12 + 1e-14 / gap
        np.testing.assert_allclose(got, plain.table(getattr(plain, metric), rows, rows), rtol=rtol, atol=1e-30)


def test_a_small_difference_beside_large_common_numbers_is_exact():
    rows = np.array([[1e8, 1.0, 0.0, 0.0], [1e8, 0.0, 2.0, 0.0], [1e8, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 3.0], [0.0] * 4])
    block = whole(SparsePoints(sparse.csr_array(rows)))
    expected = [[0, np.sqrt(5), 1], [np.sqrt(5), 0, 2], [1, 2, 0]]
    assert (block[:3, :3] == expected).all()
    assert block[3, 4] == 3.0


def test_every_format_and_an_order_of_its_own_give_the_same_distances():
    rows = some_rows()
    expected = whole(SparsePoints(sparse.csr_array(rows)))
    for form in (
        sparse.csc_array,
        sparse.coo_array,
        sparse.lil_array,
        sparse.dok_array,
        sparse.csr_matrix,
        sparse.bsr_array,
    ):
        assert (whole(SparsePoints(form(rows))) == expected).all()
    given = sparse.csr_array(rows)
    # Each row backwards, every number in two halves, a zero stored.
    order = np.concatenate([np.arange(b - 1, a - 1, -1) for a, b in zip(given.indptr, given.indptr[1:], strict=False)])
    halves = np.repeat(given.data[order] / 2, 2)
    odd = sparse.csr_array((halves, np.repeat(given.indices[order], 2), 2 * given.indptr), shape=given.shape)
    odd = sparse.csr_array((np.append(halves, 0.0), np.append(odd.indices, 3), np.append(odd.indptr[:-1], len(halves) + 1)),
                           shape=given.shape)  # fmt: skip
    kept = odd.data.copy(), odd.indices.copy(), odd.indptr.copy()
    points = SparsePoints(odd)
    assert (whole(points) == expected).all()
    assert all((now == before).all() for now, before in zip((odd.data, odd.indices, odd.indptr), kept, strict=True))
    assert points.row_keys(np.arange(40)) == SparsePoints(given).row_keys(np.arange(40))


def test_small_integers_and_booleans_are_summed_as_numbers():
    entries = (np.full(4, 100, dtype=np.int8), ([0, 0, 0, 1], [1, 1, 1, 0]))
    assert whole(SparsePoints(sparse.coo_array(entries, shape=(2, 3))))[0, 1] == np.hypot(300, 100)
    assert whole(SparsePoints(sparse.csr_array(np.array([[True, False], [False, True]]))))[0, 1] == np.sqrt(2)


def test_rows_of_zeros_are_points_of_the_euclidean_distance():
    rows = some_rows()
    rows[[4, 9]] = 0.0
    points = SparsePoints(sparse.csr_array(rows))
    block = whole(points)
    assert block[4, 9] == 0.0
    np.testing.assert_allclose(block[4], np.linalg.norm(rows, axis=1), rtol=1e-14)
    assert points.first_occurrences()[9] == 4


def test_a_wide_matrix_is_never_made_dense():
    rng = np.random.default_rng(0)
    n, p, k = 2000, 200_000, 20
    columns = rng.integers(0, p, (n, k))
    matrix = sparse.csr_array((rng.random(n * k), columns.ravel(), np.arange(0, n * k + 1, k)), shape=(n, p))
    tracemalloc.start()
    points = SparsePoints(matrix)
    block = points.block(points, 0, 5)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 30e6
    dense = matrix[[0, 1999]].toarray()
    assert block[0, 1999] == pytest.approx(np.linalg.norm(dense[0] - dense[1]), rel=1e-13)


def test_numbers_that_cannot_be_squared_are_refused_by_row():
    rows = some_rows()
    rows[5, 29] = 1e160
    with pytest.raises(
        DataError, match=r"^Row 5 has a number above 1e\+150, too large to be squared\. Change the unit\.$"
    ):
        SparsePoints(sparse.csr_array(rows))
    rows[3, 29], rows[7, 29] = np.nan, -np.inf
    with pytest.raises(DataError, match=r"^Rows 3, 7 have a NaN or an infinite value;"):
        SparsePoints(sparse.csr_array(rows))


def test_input_that_is_no_sparse_table_of_numbers_is_refused():
    with pytest.raises(TypeError, match=r"^Sparse rows must contain real numbers, got complex128\.$"):
        SparsePoints(sparse.csr_array(some_rows() + 1j))
    with pytest.raises(ValueError, match=r"^Expected 2D array, got 1D array instead"):
        SparsePoints(sparse.coo_array(np.ones(3)))
    with pytest.raises(DataError, match=r"may have 2,147,483,647 columns, got 2,147,483,648\. Hash them into fewer\.$"):
        SparsePoints(sparse.coo_array(([1.0], ([0], [2**31 - 1])), shape=(2, 2**31)))
    with pytest.raises(
        ValueError, match=r"^metric must be one of 'euclidean', 'cosine', got 'cosin' \(did you mean 'cosine'\?\)\.$"
    ):
        SparsePoints(sparse.csr_array(some_rows()), metric="cosin")


@pytest.mark.parametrize(("metric", "dense"), [("euclidean", EuclideanPoints), ("cosine", CosinePoints)])
def test_rows_become_dense_only_where_that_is_small_and_faster(metric, dense):
    rng = np.random.default_rng(0)
    full = sparse.csr_array(1 + rng.random((50, 20)))
    thin = sparse.random_array((50, 5000), density=0.01, random_state=rng) + sparse.coo_array(
        (np.ones(50), (range(50), [0] * 50)), (50, 5000)
    )
    for matrix, kind in ((full, dense), (thin, SparsePoints)):
        points, reading = choose_sparse_points(matrix, metric)
        assert type(points) is kind
        new = points.new_points(reading.encode(matrix.tocsr()[:3]))
        again = points.new_points(reading.encode(matrix.tocsr()[:3].toarray()))
        rows = matrix.toarray()
        expected = plain.table(getattr(plain, metric), rows[:3], rows)
        np.testing.assert_allclose(points.block(new, 0, 3), expected, rtol=1e-12, atol=1e-30)
        assert (points.block(again, 0, 3) == points.block(new, 0, 3)).all()
        with pytest.raises(DataError, match=rf"^X has 2 features, but fit had {matrix.shape[1]}\.$"):
            points.new_points(reading.encode(np.ones((2, 2))))
    bad = full.copy()
    bad[2, 3] = np.nan
    with pytest.raises(DataError, match=r"^Row 2 has a NaN or an infinite value;"):
        choose_sparse_points(bad, metric)


def test_many_rows_of_few_columns_become_dense_and_wide_ones_do_not():
    narrow = sparse.random_array((60_000, 200), density=0.01, random_state=np.random.default_rng(0))
    assert type(choose_sparse_points(narrow, "euclidean")[0]) is EuclideanPoints
    wide = sparse.random_array((60_000, 1000), density=0.001, random_state=np.random.default_rng(0))
    assert type(choose_sparse_points(wide, "euclidean")[0]) is SparsePoints


def test_numbers_that_cannot_be_squared_are_refused_where_sparse_rows_become_dense():
    full = sparse.csr_array(1 + np.random.default_rng(0).random((50, 20)))
    far = full.copy()
    far[5, 3] = -1e200
    sentence = r"^Row 5 has a number above 1e\+150, too large to be squared\. Change the unit\.$"
    with pytest.raises(DataError, match=sentence):
        choose_sparse_points(far, "euclidean")
    points, reading = choose_sparse_points(full, "euclidean")
    assert type(points) is EuclideanPoints
    for new in (far, far.toarray()):
        with pytest.raises(DataError, match=sentence):
            reading.encode(new)


def test_a_direction_has_no_number_too_large_where_sparse_rows_become_dense():
    full = sparse.csr_array(1 + np.random.default_rng(0).random((50, 20)))
    points, reading = choose_sparse_points(full, "cosine")
    assert type(points) is CosinePoints
    far = full[:3] * 1e200
    np.testing.assert_allclose(
        points.block(points.new_points(reading.encode(far)), 0, 3), points.block(points, 0, 3), rtol=1e-12, atol=1e-15
    )
    far[1, 2] = np.inf
    with pytest.raises(DataError, match=r"^Row 1 has a NaN or an infinite value;"):
        reading.encode(far)


def test_a_table_is_no_row_beside_sparse_ones():
    table = open_table(some_rows())
    for refuse in (
        SparsePoints(sparse.csr_array(some_rows())).new_points,
        choose_sparse_points(some_rows(), "euclidean")[1].encode,
    ):
        with pytest.raises(
            TypeError,
            match=r"sparse matrix or an array, got a Table of 40 rows and 30 columns\. Its frame\(\) is one\.$",
        ):
            refuse(table)

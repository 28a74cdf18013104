"""A sparse matrix is the same table as the dense array."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from tamiz import open_table
from tamiz.exceptions import DataError
from tamiz.table.factory import align_to_schema

FORMATS = ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"]
N = 40


def counts(dtype=np.float64):
    """Counts, mostly 0; one column is constant and one is 0."""
    rng = np.random.default_rng(3)
    table = rng.integers(1, 4, (N, 6)) * (rng.random((N, 6)) < 0.3)
    table[:, 4], table[:, 5] = 2, 0
    return table.astype(dtype)


def incomplete():
    table = counts()
    table[3, 1] = table[7, 1] = table[7, 4] = np.nan
    table[:, 5] = np.nan
    return table


def read(table):
    """Return all values of a table, column by column."""
    return [
        np.concatenate(parts) for parts in zip(*([b.values[j] for j in b.values] for b in table.blocks()), strict=True)
    ]


def assert_same(one, other):
    assert one.schema == other.schema
    assert one.fingerprint() == other.fingerprint()
    for mine, theirs in zip(read(one), read(other), strict=True):
        assert mine.dtype == theirs.dtype
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_formats(form, kind):
    table = counts()
    matrix = sparse.coo_array(table) if kind == "array" else sparse.coo_matrix(table)
    assert_same(open_table(matrix.asformat(form)), open_table(table))


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.uint16, np.int64, np.bool_, np.float64])
def test_dtypes(dtype):
    table = counts(dtype)
    assert_same(open_table(sparse.csr_array(table)), open_table(table))


def test_missing_values_and_columns_without_any():
    assert_same(
        open_table(sparse.csc_array(incomplete()), ["a", "b"] * 20),
        open_table(incomplete(), ["a", "b"] * 20),
    )


def test_numbers_stored_twice_are_added_and_the_given_matrix_stays_as_it_is():
    twice = sparse.csr_array((np.ones(5), np.array([2, 0, 0, 1, 2]), np.array([0, 3, 5])), shape=(2, 3))
    before = twice.data.copy(), twice.indices.copy()
    assert_same(open_table(twice), open_table(twice.toarray()))
    np.testing.assert_array_equal(twice.data, before[0])
    np.testing.assert_array_equal(twice.indices, before[1])


def test_rows_without_a_target_are_left_out():
    target = [None if k in (0, 11) else "pq"[k % 2] for k in range(N)]
    opened = open_table(sparse.csr_array(incomplete()), target)
    assert_same(opened, open_table(incomplete(), target))
    assert opened.row_numbers[0] == 1
    assert opened.schema.n_dropped == 2


def test_roles_by_name():
    roles = {"target": "x3", "groups": "x0", "weight": "x4"}
    one, other = (open_table(table, **roles) for table in (sparse.csr_array(counts()), counts()))
    assert_same(one, other)
    np.testing.assert_array_equal(one.groups, other.groups)
    assert one.schema.names == ["x1", "x2", "x5"]


def test_other_kinds():
    for kinds in ({"x1": "categorical", "x2": "id"}, "categorical", {"x0": "numeric"}):
        assert_same(open_table(sparse.csr_array(counts()), kinds=kinds), open_table(counts(), kinds=kinds))


def test_rows_are_handed_back_sparse():
    table = counts()
    opened = open_table(sparse.coo_array(table))
    rows = opened.frame([0, 3], np.array([5, 2]))
    assert sparse.issparse(rows)
    np.testing.assert_array_equal(rows.toarray(), table[[5, 2]][:, [0, 3]])


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (np.inf, r"^row 9, column x2: inf is infinite"),
        (-np.inf, r"^row 9, column x2: -inf is infinite"),
        (1e308, r"^row 9, column x2: 1e\+308 is too large to be squared"),
    ],
)
@pytest.mark.parametrize("dropped", [False, True])
def test_infinite_and_huge_numbers_are_named_by_the_users_row(value, sentence, dropped):
    table = counts()
    table[9, 2] = value
    target = ["p"] * 20 + ["q"] * 20
    target[4] = None if dropped else "p"
    for given in (table, sparse.csr_array(table)):
        with pytest.raises(DataError, match=sentence):
            open_table(given, target)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (sparse.csr_array(counts() * 1j), "^Complex data not supported"),
        (sparse.coo_array(np.arange(3.0)), "^Expected 2D array, got 1D array instead"),
        (sparse.csr_array((0, 3)), r"0 sample\(s\) \(shape=\(0, 3\)\)"),
        (sparse.csr_array((3, 0)), r"0 feature\(s\) \(shape=\(3, 0\)\)"),
    ],
)
def test_no_table(given, sentence):
    with pytest.raises(ValueError, match=sentence):
        open_table(given)


def test_a_target_that_is_no_column():
    with pytest.raises(DataError, match=r"^There is no column 'x9' for the target; columns: x0, x1"):
        open_table(sparse.csr_array(counts()), "x9")
    with pytest.raises(DataError, match=r"^The table has no column beside the target"):
        open_table(sparse.csr_array(counts()[:, :1]), "x0")


def test_new_rows_of_either_kind_are_the_same_rows():
    schema = open_table(counts(), ["a", "b"] * 20).schema
    sparse_rows, dense_rows = (
        align_to_schema(rows, schema) for rows in (sparse.csr_array(incomplete()[:9]), incomplete()[:9])
    )
    for mine, theirs in zip(read(sparse_rows), read(dense_rows), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    with pytest.raises(DataError, match=r"^X has 5 features, but fit had 6"):
        align_to_schema(sparse.csr_array(counts()[:, 1:]), schema)


@pytest.mark.slow
def test_a_wide_table_takes_the_memory_of_its_numbers():
    matrix = sparse.random_array((2_000, 3_000), density=0.005, random_state=0, format="csr")
    tracemalloc.start()
    table = open_table(matrix)
    sums = [float(np.asarray(block.values[j]).sum()) for block in table.blocks() for j in block.values]
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    np.testing.assert_allclose(sum(sums), matrix.sum())
    assert most < 0.3 * 8 * 2_000 * 3_000

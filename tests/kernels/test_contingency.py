"""Contingency tables by bit sets and by counting, against each other and against the reference implementation."""

import numpy as np
import pytest

from tamiz.criteria import entropies, information
from tamiz.kernels import contingency as kernels
from tamiz.statistics.base import Block
from tamiz.statistics.contingency import CodedRows, Coding

from ..reference import entropy_measures as plain


def random_codes(rng, n, size, has_missing):
    codes = rng.integers(0, size, n)
    if has_missing:
        codes[rng.random(n) < rng.choice([0.05, 0.5, 0.95])] = -1
    return codes.astype(np.int32)


def coded_rows(columns, sizes, weight=None):
    block = Block(range(len(columns[0])), dict(enumerate(columns)), None, weight)
    rows = CodedRows(tuple(range(len(columns))), Coding(dict(enumerate(sizes)), {})).update(block)
    rows.finish()
    return rows


def plain_uncertainty(a, b, missing, weight=None):
    return plain.symmetric_uncertainty(plain.contingency_table(a, b, weight, missing))


def all_pairs(p):
    i, j = np.triu_indices(p)
    return i.astype(np.int64), j.astype(np.int64)


@pytest.mark.parametrize("missing", ["distribute", "category"])
@pytest.mark.parametrize("n", [1, 63, 64, 65, 200, 257])
def test_bit_sets_and_counting_equal_the_plain_version(n, missing):
    for seed in range(3):
        rng = np.random.default_rng([n, seed])
        sizes = [int(size) for size in (*rng.integers(1, 21, 6), 1, 2, 20)]
        columns = [random_codes(rng, n, size, has_missing=k % 2) for k, size in enumerate(sizes)]
        rows = coded_rows(columns, sizes)
        i, j = all_pairs(len(sizes))
        expected = [plain_uncertainty(columns[a], columns[b], missing) for a, b in zip(i, j, strict=True)]
        by_rows = entropies._PairwiseUncertainties(rows, int(missing == "distribute"), use_bits=False)
        np.testing.assert_allclose(by_rows.associations(i, j), expected, atol=1e-12)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(information, "_MAX_BIT_VALUES", 20)
            by_bits = entropies._PairwiseUncertainties(rows, int(missing == "distribute"))
        assert by_bits._counter.by_bits.all()
        np.testing.assert_array_equal(by_bits.associations(i, j), by_rows.associations(i, j))


@pytest.mark.parametrize("missing", ["distribute", "category"])
def test_pairs_take_bits_for_few_values_and_counting_for_many(missing):
    rng = np.random.default_rng(8)
    sizes = [2, 13, 14, 15, 20, 60]
    columns = [random_codes(rng, 500, size, has_missing=True) for size in sizes]
    pairs = entropies._PairwiseUncertainties(coded_rows(columns, sizes), int(missing == "distribute"))
    assert pairs._counter.by_bits.tolist() == [True, True, True, False, False, False]
    i, j = all_pairs(len(sizes))
    expected = [plain_uncertainty(columns[a], columns[b], missing) for a, b in zip(i, j, strict=True)]
    np.testing.assert_allclose(pairs.associations(i, j), expected, atol=1e-12)


@pytest.mark.parametrize("missing", ["distribute", "category"])
def test_weights_are_counted_as_the_plain_version_does(missing):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        sizes = [int(size) for size in rng.integers(1, 21, 5)]
        columns = [random_codes(rng, 150, size, has_missing=True) for size in sizes]
        weight = rng.random(150) * 3
        pairs = entropies._PairwiseUncertainties(coded_rows(columns, sizes, weight), int(missing == "distribute"))
        assert not pairs._counter.by_bits.any()
        i, j = all_pairs(len(sizes))
        expected = [plain_uncertainty(columns[a], columns[b], missing, weight) for a, b in zip(i, j, strict=True)]
        np.testing.assert_allclose(pairs.associations(i, j), expected, atol=1e-12)


@pytest.mark.parametrize("missing", ["distribute", "category"])
def test_more_than_255_values_are_counted_in_two_bytes(missing):
    rng = np.random.default_rng(4)
    for size in (255, 256, 400):
        a, b = random_codes(rng, 900, size, has_missing=True), random_codes(rng, 900, 3, has_missing=True)
        a[:size] = np.arange(size)
        rows = coded_rows([a, b], [size, 3])
        assert rows.codes.dtype == (np.uint8 if size <= 255 else np.uint16)
        pairs = entropies._PairwiseUncertainties(rows, int(missing == "distribute"))
        value = pairs.associations(np.array([0]), np.array([1]))[0]
        assert value == pytest.approx(plain_uncertainty(a, b, missing), abs=1e-12)


def counted(a, b, weight, table):
    """Return a table to which the rows of two coded columns are added."""
    cells = table.ravel()
    kernels.count_columns(a[None], b, weight, np.array([[0, cells.size]]), table.shape[1], cells)
    return cells.reshape(table.shape)


def test_tables_equal_counts_by_hand():
    a = np.array([0, 0, 1, -1, 1, -1], dtype=np.int32)
    b = np.array([0, 1, 1, 1, -1, -1], dtype=np.int32)
    for weight, expected in (
        (np.empty(0), [[1, 1, 0], [0, 1, 1], [0, 1, 1]]),
        (np.arange(1.0, 7.0), [[1, 2, 0], [0, 3, 5], [0, 4, 6]]),
    ):
        for table in (np.zeros((3, 3)), counted(a, b, weight, np.zeros((3, 3)))):
            if not table.any():
                kernels.add_pair_weights(a, b, weight, table)
            assert table.tolist() == expected


@pytest.mark.parametrize("n_rows", [0, 1, 3, 4, 5000, 70_000])
def test_tables_equal_additions_row_by_row(n_rows):
    # Tables of more than 1,024 cells are counted otherwise.
    for size_a, size_b in ((1, 1), (2, 3), (12, 11), (31, 31), (31, 32), (126, 40)):
        rng = np.random.default_rng([n_rows, size_a])
        a, b = (random_codes(rng, n_rows, size, has_missing=True) for size in (size_a, size_b))
        expected, found = np.full((2, size_a + 1, size_b + 1), 2.0)
        # Code -1 is the last row or column.
        np.add.at(expected, (a, b), 1)
        np.testing.assert_array_equal(counted(a, b, np.empty(0), found), expected)


def test_missing_counts_are_shared_out_as_the_plain_version_does():
    for seed in range(200):
        rng = np.random.default_rng(seed)
        table = rng.integers(0, 6, rng.integers(2, 7, 2)).astype(float)
        if table[:-1, :-1].sum() == 0:
            continue
        expected = plain.distribute(table)
        total = table.sum()
        assert kernels.distribute_missing(table, True) == pytest.approx(total, rel=1e-14)
        np.testing.assert_allclose(table[:-1, :-1], expected, atol=1e-12)
        assert not table[-1].any()
        assert not table[:, -1].any()
        assert table.sum() == pytest.approx(total)


def test_a_pair_that_no_row_has_present_shares_nothing():
    a = np.array([0, 1, -1, -1], dtype=np.int32)
    b = np.array([-1, -1, 0, 1], dtype=np.int32)
    pairs = entropies._PairwiseUncertainties(coded_rows([a, b], [2, 2]), kernels.DISTRIBUTED)
    assert pairs.associations(np.array([0]), np.array([1])).tolist() == [0.0]


def test_a_constant_column_with_missing_values_has_exactly_no_information_and_no_entropy():
    out = np.zeros(3)
    for seed in range(200):
        rng = np.random.default_rng(seed)
        for table in (rng.random((2, 4)), rng.integers(1, 9, (2, 4)) / 1.0):
            for one in (table, np.ascontiguousarray(table.T)):
                kernels.table_entropies(one.copy(), True, out)
                assert min(out[0], out[1]) == 0.0
                assert out[2] == 0.0
        assert kernels.symmetric_uncertainty(rng.random((2, 2)), True, out) == 0.0


def test_entropies_equal_the_plain_version():
    out = np.zeros(3)
    for seed in range(200):
        rng = np.random.default_rng(seed)
        table = rng.integers(0, 4, rng.integers(1, 7, 2)).astype(float)
        kernels.entropies(table, table.sum(), out)
        if table.sum():
            expected = plain.entropy(table.sum(axis=1)), plain.entropy(table.sum(axis=0)), plain.information_gain(table)
            np.testing.assert_allclose(out, expected, atol=1e-12)
        else:
            assert out.tolist() == [0, 0, 0]


def test_independent_columns_share_exactly_nothing():
    out = np.zeros(3)
    table = np.outer([2.0, 4.0, 6.0], [1.0, 3.0])
    kernels.entropies(table, table.sum(), out)
    assert out[2] == 0.0


def test_numbers_are_coded_by_edges_and_one_equal_to_an_edge_goes_left():
    codes = np.empty(6, dtype=np.int32)
    kernels.bin_values(np.array([-np.inf, 1.0, 1.5, 2.0, 9.0, np.nan]), np.array([1.0, 2.0]), codes)
    assert codes.tolist() == [0, 0, 1, 1, 2, -1]


def test_codes_equal_a_search_among_the_edges():
    rng = np.random.default_rng(0)
    edges = np.unique(rng.normal(size=30).round(1))
    values = np.concatenate([rng.normal(size=500).round(1), edges])
    codes = np.empty(len(values), dtype=np.int32)
    kernels.bin_values(values, edges, codes)
    np.testing.assert_array_equal(codes, np.searchsorted(edges, values, side="left"))

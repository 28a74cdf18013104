"""Contingency tables of coded columns: counts by comparison and by increments, against numpy's `add.at`."""

import numpy as np
import pytest

from tamiz.kernels.code_counts import _BLOCK_ROWS, _MAX_COMPARED_CELLS, count_columns, count_pairs


def random_codes(rng, n_rows, size, *, has_missing):
    codes = rng.integers(0, size, n_rows)
    if has_missing:
        codes[rng.random(n_rows) < 0.3] = -1
    return codes


def plain_table(a, b, size_a, size_b):
    table = np.zeros((size_a + 1, size_b + 1))
    # Code -1 is the last row or column.
    np.add.at(table, (a, b), 1)
    return table


def counted_tables(columns, labels, sizes, n_labels, start=0.0):
    n_cells = [(size + 1) * (n_labels + 1) for size in sizes]
    starts = np.cumsum([0, *n_cells[:-1]])
    cells = np.full(sum(n_cells), start)
    codes = np.array(columns, dtype=np.int8).reshape(len(columns), len(labels))
    count_columns(codes, labels.astype(np.int8), starts, np.array(sizes), n_labels, cells)
    return [
        cells[at : at + n].reshape(size + 1, n_labels + 1) for at, n, size in zip(starts, n_cells, sizes, strict=True)
    ]


@pytest.mark.parametrize("has_missing_labels", [False, True])
@pytest.mark.parametrize("n_labels", [1, 2, 3, 11, 126])
@pytest.mark.parametrize("n_rows", [0, 1, _BLOCK_ROWS - 1, _BLOCK_ROWS, 2 * _BLOCK_ROWS + 3, 5000])
def test_tables_equal_additions_row_by_row(n_rows, n_labels, has_missing_labels):
    rng = np.random.default_rng([n_rows, n_labels, has_missing_labels])
    sizes = [1, 2, 5, 12, 13, 126]
    labels = random_codes(rng, n_rows, n_labels, has_missing=has_missing_labels)
    columns = [random_codes(rng, n_rows, size, has_missing=k % 2 == 0) for k, size in enumerate(sizes)]
    found = counted_tables(columns, labels, sizes, n_labels, start=2.0)
    for table, column, size in zip(found, columns, sizes, strict=True):
        np.testing.assert_array_equal(table, 2.0 + plain_table(column, labels, size, n_labels))
        one = np.zeros((size + 1, n_labels + 1))
        count_pairs(column.astype(np.int32), labels.astype(np.int32), one)
        np.testing.assert_array_equal(one, table - 2.0)


def test_both_ways_of_counting_are_tested_at_their_limit():
    assert _MAX_COMPARED_CELLS == 12 * 2


def test_more_rows_of_one_cell_than_a_byte_counts():
    n_rows = 70_000
    (table,) = counted_tables([np.ones(n_rows)], np.zeros(n_rows), [2], 2)
    assert table.tolist() == [[0, 0, 0], [n_rows, 0, 0], [0, 0, 0]]


def test_columns_that_are_missing_in_every_row_count_in_the_last_row():
    (table,) = counted_tables([-np.ones(300)], np.arange(300) % 3, [4], 3)
    assert table[-1].tolist() == [100, 100, 100, 0]
    assert not table[:-1].any()

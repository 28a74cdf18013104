"""Blocks: splitting of rows, columns and weights."""

import numpy as np

from tamiz.statistics.base import Block


def make_block(n=23):
    rng = np.random.default_rng(0)
    values = {0: rng.normal(size=n), 3: rng.integers(-1, 4, n).astype(np.int8), 5: rng.normal(size=n)}
    return Block(range(100, 100 + n), values, rng.integers(0, 2, n).astype(np.int32), rng.random(n))


def test_pieces_are_cut_where_the_row_number_is_a_multiple_of_the_size():
    pieces = list(make_block().split_rows(8))
    assert [(piece.rows.start, piece.rows.stop) for piece in pieces] == [(100, 104), (104, 112), (112, 120), (120, 123)]


def test_pieces_put_together_are_the_block():
    block = make_block()
    for size in (1, 5, 8, 1000):
        pieces = list(block.split_rows(size))
        for j in block.values:
            np.testing.assert_array_equal(np.concatenate([piece.column(j) for piece in pieces]), block.column(j))
        np.testing.assert_array_equal(np.concatenate([piece.y for piece in pieces]), block.y)
        np.testing.assert_array_equal(np.concatenate([piece.weight_or_ones for piece in pieces]), block.weight)


def test_columns_are_numeric_or_categorical_by_dtype_and_codes_are_widened():
    block = make_block()
    assert block.numeric_columns == (0, 5)
    assert block.categorical_columns == (3,)
    assert block.column(3).dtype == np.int32
    np.testing.assert_array_equal(block.numeric, np.column_stack([block.values[0], block.values[5]]))
    np.testing.assert_array_equal(block.codes[:, 0], block.values[3])


def test_a_number_beyond_the_columns_is_the_target():
    block = make_block()
    np.testing.assert_array_equal(block.column(6), block.y)


def test_rows_without_a_weight_weigh_one():
    block = make_block()
    assert Block(block.rows, block.values, None, None).weight_or_ones.tolist() == [1.0] * 23

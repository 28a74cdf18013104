"""A column in a file behaves like an array."""

import numpy as np
import pytest

from tamiz.table.column_storage import ColumnFile


@pytest.fixture
def columns(tmp_path):
    file = ColumnFile(tmp_path / "columns")
    rng = np.random.default_rng(0)
    arrays = [
        rng.normal(size=1000),
        rng.integers(-1, 5, 1000).astype(np.int8),
        rng.normal(size=10).astype(np.float32),
        np.empty(0),
    ]
    return arrays, [file.store(array) for array in arrays]


def test_every_column_comes_back_to_the_bit(columns):
    for array, stored in zip(*columns, strict=True):
        assert (stored.dtype, stored.shape, stored.size, len(stored)) == (
            array.dtype,
            array.shape,
            array.size,
            len(array),
        )
        assert np.asarray(stored).tobytes() == array.tobytes()


def test_a_slice_is_read_when_it_is_used(columns):
    (array, *_), (stored, *_) = columns
    part = stored[100:900][50:60]
    assert part.shape == (10,)
    assert np.asarray(part).tolist() == array[150:160].tolist()
    assert np.array(stored[-3:], dtype=np.float32).tolist() == array[-3:].astype(np.float32).tolist()


def test_other_uses_are_those_of_an_array(columns):
    (array, codes, *_), (stored, stored_codes, *_) = columns
    rows = np.array([5, 3, 3])
    assert stored[rows].tolist() == array[rows].tolist()
    assert stored[7] == array[7]
    assert stored[::2].tolist() == array[::2].tolist()
    assert np.isnan(stored).sum() == 0
    assert (stored_codes < 0).tolist() == (codes < 0).tolist()
    assert np.bincount(stored_codes - codes.min()).tolist() == np.bincount(codes - codes.min()).tolist()


def test_a_column_in_a_file_is_no_array_without_a_copy(columns):
    with pytest.raises(ValueError, match=r"without a copy .* is not possible"):
        np.asarray(columns[1][0], copy=False)


def test_a_file_that_was_cut_off_is_reported(tmp_path):
    file = ColumnFile(tmp_path / "columns")
    stored = file.store(np.arange(100.0))
    (tmp_path / "columns").write_bytes(b"")
    with pytest.raises(OSError, match="truncated after it was written"):
        np.asarray(stored)

import gc

import numpy as np
import pytest

from tamiz import open_table
from tamiz.runtime import memory, validation
from tamiz.runtime.memory import MemoryLimit, format_bytes, free_memory, limit_memory, parse_size, resident_memory


@pytest.mark.parametrize(
    ("words", "n_bytes"),
    [("1GB", 10**9), ("800 MB", 8 * 10**8), ("1.5GiB", 3 * 2**29), ("64kib", 2**16), (" 5e0", None), ("12", 12), (2e6, 2 * 10**6)],
)  # fmt: skip
def test_a_size_is_read_in_every_unit(words, n_bytes):
    if n_bytes is None:
        with pytest.raises(ValueError, match=r"memory must be a size such as 800MB, 1GB or 1\.5GiB, got ' 5e0'"):
            parse_size("memory", words)
    else:
        assert parse_size("memory", words) == n_bytes


@pytest.mark.parametrize("words", ["", "much", "1 XB", "-1GB", "0MB", 0, float("nan"), float("inf")])
def test_text_that_is_no_size_is_refused(words):
    with pytest.raises(ValueError, match=r"^memory must be "):
        parse_size("memory", words)


def test_a_size_that_is_neither_text_nor_number_is_refused():
    with pytest.raises(
        TypeError, match=r"memory must be a size such as '800MB' or '1.5GiB', or a number of bytes, got \[1\]"
    ):
        parse_size("memory", [1])


@pytest.mark.parametrize(
    ("n_bytes", "words"),
    [(12, "12 B"), (19_200_000, "19.2 MB"), (999_999_999, "1 GB"), (999.4e9, "999 GB"), (999.5e9, "1 TB"), (2.5e12, "2.5 TB")],
)  # fmt: skip
def test_numbers_of_bytes_are_printed_with_three_digits(n_bytes, words):
    assert format_bytes(n_bytes) == words


def test_a_memory_limit_applies_while_its_context_is_open():
    before = free_memory()
    limit = MemoryLimit(int(resident_memory()) + 10**8)
    assert free_memory() < 1.5e8
    del limit
    gc.collect()
    assert free_memory() > before / 2


def test_of_two_memory_limits_the_smaller_applies():
    limits = [MemoryLimit(10**9), MemoryLimit(2 * 10**9)]
    assert memory.stated_limit() == 10**9
    limits[0].remove()
    assert memory.stated_limit() == 2 * 10**9


def test_a_limit_below_the_memory_of_the_libraries_is_refused_with_the_smallest_that_works():
    with (
        pytest.raises(MemoryError, match=r"^100 MB of memory are too little .* at least \d+ MB|GB\.$"),
        limit_memory(10**8),
    ):
        pass
    assert memory.stated_limit() == float("inf")


def test_a_table_keeps_to_its_memory_until_it_is_gone(monkeypatch):
    monkeypatch.setattr(memory, "MIN_LIMIT", 0.0)
    monkeypatch.setattr(memory, "_MIN_WORK_BYTES", 0.0)
    table = open_table(np.eye(3), memory=int(resident_memory()) + 10**8)
    assert memory.stated_limit() == table.memory_limit.n_bytes
    with pytest.raises(MemoryError, match=r"are free of the limit of .* at least .* Ask for less\.$"):
        validation.check_memory(5e8, "Much", "Ask for less.")
    del table
    gc.collect()
    assert memory.stated_limit() == float("inf")


def test_a_table_that_cannot_be_opened_leaves_no_limit_behind():
    with pytest.raises(ValueError, match="1 sample"):
        open_table([[1.0, 2.0]], memory="900GB")
    assert memory.stated_limit() == float("inf")

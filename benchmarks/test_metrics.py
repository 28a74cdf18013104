"""Trustworthiness and continuity together against scikit-learn's trustworthiness alone, and the whole card.

Every system runs in a process of its own, `metrics_work.py`, which brings its own seconds and memory.
"""

from functools import partial

import pytest

from . import graph_data, processes
from .graph_data import needs_digits

timed = partial(processes.timed, work="metrics_work.py", patience=600, n_neighbors=5)
THEIRS = "scikit-learn trustworthiness"


# The trustworthiness that the first system found, by the number of rows.
FOUND = {}


def agree(n, found):
    assert found == pytest.approx(FOUND.setdefault(n, found), abs=1e-12)


def judged(n):
    X = graph_data.digits_in_50()[:n]
    return {"X": X, "embedding": X[:, :2].copy()}


@needs_digits
@pytest.mark.benchmark(group="trustworthiness and continuity, 10,000 x 50 digits, 5 neighbours")
@pytest.mark.parametrize(("system", "repeats"), [("tamiz both", 5), (THEIRS, 3)])
def test_ten_thousand_rows(benchmark, tmp_path, system, repeats):
    found = timed(benchmark, tmp_path, system=system, repeats=repeats, **judged(10_000))
    agree(10_000, found["trustworthiness"])


@needs_digits
@pytest.mark.benchmark(group="trustworthiness and continuity, 20,000 x 50 digits, 5 neighbours")
@pytest.mark.parametrize(("system", "repeats"), [("tamiz both", 3), (THEIRS, 1)])
def test_twenty_thousand_rows(benchmark, tmp_path, system, repeats):
    found = timed(benchmark, tmp_path, system=system, repeats=repeats, **judged(20_000))
    agree(20_000, found["trustworthiness"])
    if system != THEIRS:
        assert benchmark.extra_info["beside_bytes"] < 7.7e9 / 30


@needs_digits
@pytest.mark.benchmark(group="trustworthiness and continuity, 70,000 x 50 digits, 5 neighbours")
def test_seventy_thousand_rows(benchmark, tmp_path):
    timed(benchmark, tmp_path, system="tamiz both", **judged(70_000))
    assert benchmark.extra_info["beside_bytes"] < 5e8


@needs_digits
@pytest.mark.benchmark(group="all numbers of a map, 10,000 x 50 digits, 5 neighbours")
def test_whole_card(benchmark, tmp_path):
    timed(benchmark, tmp_path, system="tamiz whole card", **judged(10_000))


@needs_digits
@pytest.mark.benchmark(group="all numbers of a map, 1,000 of 70,000 x 50 digits, 5 neighbours")
def test_card_of_a_sample(benchmark, tmp_path):
    timed(benchmark, tmp_path, system="tamiz card of 1,000 rows", repeats=3, **judged(70_000))

"""How much work it is to repeat a search: by counts alone, for a clock would give other results on another machine."""

from __future__ import annotations

from tamiz.selection import SubsetSelector

N_SPLITS = 10
WAY = "Ask for it with assess=True (--assess)."
# A search is repeated where nobody asked up to so many values of the table read, and up to so many sets looked at, in all of its
# repetitions together: that takes a few seconds.
_MOST_VALUES = 60_000_000
_MOST_SETS = 250_000
# The books of a set are as much work as this merit.
_EFFORT_OF_ONE = 20.0
# An exact search passes over so many sets, about, while another evaluates one.
_PASSED_IN_ONE = 1_000


def is_much_work(selector: SubsetSelector, n_values: int, n_searches: int, *, patience: float = 1.0) -> bool:
    """Return whether so many searches like that of a fitted selector, on tables of so many values, take more than a few seconds.

    `patience` is how many times as long they may take.
    """
    n_sets = len(selector.archive_) + selector.archive_.n_passed / _PASSED_IN_ONE
    work = n_searches * n_sets * max(selector.merit_effort_ / _EFFORT_OF_ONE, 1.0)
    return n_searches * n_values > patience * _MOST_VALUES or work > patience * _MOST_SETS

"""Searches that run side by side have the results, messages and errors of searches one after the other."""

import threading

import numpy as np
import pytest
from sklearn import config_context, get_config

from tamiz.assessment.trials import SelectorAdapter, repeat_selections
from tamiz.exceptions import DataError
from tamiz.runtime import parallel, progress
from tamiz.runtime.user_warnings import warn
from tamiz.table.factory import as_table


def run(work, n, *, side_by_side):
    table = as_table(np.arange(12.0).reshape(6, 2))
    names = [f"Item {at}" for at in range(n)]
    return repeat_selections("Items", SelectorAdapter, table, work, range(n), names, side_by_side=side_by_side)


def test_items_side_by_side_have_their_own_results_messages_and_one_thread():
    threads, steps = set(), []
    meeting = threading.Barrier(2)

    def work(item):
        if item in (1, 2):
            # Both run at the same time, or the barrier breaks.
            meeting.wait(timeout=30)
        threads.add(threading.current_thread())
        warn("TZ206", f"message {item}")
        return item**2, get_config()["assume_finite"], parallel.n_session_threads()

    with (
        parallel.thread_session(2),
        config_context(assume_finite=True),
        progress.use_listener(lambda *step: steps.append(step)),
    ):
        found = run(work, 5, side_by_side=True)
    assert found == [((item**2, True, 1), [f"message {item}"]) for item in range(5)]
    assert len(threads) == 3  # this one and two of the pool
    assert [step for step in steps if step[0] == "Items"] == [("Items", done, 5) for done in range(6)]


@pytest.mark.parametrize("side_by_side", [False, True])
def test_an_error_names_the_item(side_by_side):
    def work(item):
        if item == 3:
            raise ValueError("no rows")
        return item

    with parallel.thread_session(2), pytest.raises(DataError, match="Item 3: no rows"):
        run(work, 6, side_by_side=side_by_side)

"""Kill -9 at any moment: the search goes on where it was."""

import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from tamiz import SubsetSelector
from tamiz.criteria import CFS
from tamiz.search import BestFirst

N_KILLS = 10
SEARCH = """
import sys
import numpy as np
from tamiz import SubsetSelector
from tamiz.criteria import CFS
from tamiz.search import BestFirst

data = np.load(sys.argv[1])
SubsetSelector(CFS(), BestFirst(stale=400), journal=sys.argv[2]).fit(data["X"], data["y"])
"""


def make_table():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 3000)
    return (rng.normal(size=(3000, 300)) + 0.25 * y[:, None] * rng.random(300)).round(2), y


def wait_until_it_holds(journal, n_bytes, process):
    while process.poll() is None:
        if journal.exists() and journal.stat().st_size >= n_bytes:
            return
        time.sleep(0.002)


@pytest.mark.slow
def test_a_search_killed_ten_times_ends_as_one_that_was_not(tmp_path):
    X, y = make_table()
    np.savez(tmp_path / "table.npz", X=X, y=y)
    whole = SubsetSelector(CFS(), BestFirst(stale=400), journal=tmp_path / "whole").fit(X, y)
    written = (tmp_path / "whole").read_bytes()
    journal = tmp_path / "journal"
    rng = random.Random(0)
    killed = 0
    for size in sorted(rng.randrange(1, int(0.9 * len(written))) for _ in range(N_KILLS)):
        process = subprocess.Popen([sys.executable, "-c", SEARCH, str(tmp_path / "table.npz"), str(journal)])
        wait_until_it_holds(journal, size, process)
        process.kill()
        killed += process.wait() == -signal.SIGKILL
        assert written.startswith(journal.read_bytes()[: journal.read_bytes().rfind(b"\n") + 1])
    assert killed == N_KILLS
    assert len(journal.read_bytes()) < len(written)
    resumed = SubsetSelector(CFS(), BestFirst(stale=400), journal=journal).fit(X, y)
    assert journal.read_bytes() == written
    np.testing.assert_array_equal(resumed.archive_.masks, whole.archive_.masks)
    np.testing.assert_array_equal(resumed.archive_.merits, whole.archive_.merits)
    assert resumed.archive_.course == whole.archive_.course
    np.testing.assert_array_equal(resumed.support_, whole.support_)

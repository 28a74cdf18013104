"""A search that is killed at any moment resumes from its journal."""

import json
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from tamiz import SubsetSelector
from tamiz.criteria import CFS, CrossValidated
from tamiz.search import registry

N_KILLS = 2
N_COLUMNS = 60
# Long enough to be killed before the end; exact searches on fewer columns.
PARAMETERS = {
    "best_first": {"direction": "bidirectional", "patience": 30},
    "beam": {"width": 20},
    "genetic": {"population": 30, "generations": 30},
    "random_subsets": {"n_subsets": 4000},
    "exhaustive": {"excluded": list(range(14, N_COLUMNS))},
    "branch_and_bound": {"excluded": list(range(30, N_COLUMNS))},
}
# A merit of sums, and models: nearest neighbours, linear, refitted, and naive Bayes.
WRAPPERS = [
    CrossValidated("gaussian_nb", cv=3),
    CrossValidated("knn", cv=3),
    CrossValidated("linear", cv=3),
    CrossValidated("tree", cv=3),
    CrossValidated("gaussian_nb", cv=3, scoring="neg_log_loss"),
]
# Recursive elimination needs importances as well.
CASES = [
    *(
        (entry.name, WRAPPERS[0] if entry.name == "recursive_elimination" else CFS())
        for entry in registry.of_kind("search")
    ),
    *(("forward", merit) for merit in WRAPPERS),
]
SEARCH = """
import json, sys, time
import numpy as np
from tamiz import SubsetSelector
from tamiz.criteria import CFS, CrossValidated
from tamiz.search import registry
from tamiz.search.journal import Journal

evaluate = Journal.evaluate

def slowly(journal, *others):
    time.sleep(0.02)
    return evaluate(journal, *others)

Journal.evaluate = slowly
_, table, journal, name, parameters, merit = sys.argv
data = np.load(table)
search = registry[name].load()(**json.loads(parameters))
SubsetSelector(eval(merit), search, journal=journal, random_state=0).fit(data["X"], data["y"])
"""


def make_table():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 500)
    return (rng.normal(size=(500, N_COLUMNS)) + 0.4 * y[:, None] * rng.random(N_COLUMNS)).round(2), y


def wait_until_it_has(journal, n_bytes, process):
    while process.poll() is None:
        if journal.exists() and journal.stat().st_size >= n_bytes:
            return
        time.sleep(0.002)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "merit"), CASES, ids=lambda part: part if isinstance(part, str) else repr(part))
@pytest.mark.filterwarnings("ignore:.*is arbitrary")
def test_a_search_killed_again_and_again_ends_as_one_that_was_not(tmp_path, name, merit):
    X, y = make_table()
    np.savez(tmp_path / "table.npz", X=X, y=y)
    parameters = PARAMETERS.get(name, {})

    def selected(journal):
        search = registry[name].load()(**parameters)
        return SubsetSelector(merit, search, journal=journal, random_state=0).fit(X, y)

    whole = selected(tmp_path / "whole")
    written = (tmp_path / "whole").read_bytes()
    journal = tmp_path / "journal"
    head = written.index(b"\n") + 1
    rng = random.Random(name)
    killed = 0
    for size in sorted(rng.randrange(head, head + int(0.8 * (len(written) - head))) for _ in range(N_KILLS)):
        arguments = map(str, (tmp_path / "table.npz", journal, name, json.dumps(parameters), repr(merit)))
        process = subprocess.Popen([sys.executable, "-c", SEARCH, *arguments])
        wait_until_it_has(journal, size, process)
        process.kill()
        killed += process.wait() == -signal.SIGKILL
        left = journal.read_bytes()
        assert written.startswith(left[: left.rfind(b"\n") + 1])
    assert killed == N_KILLS
    # An exact search records only sets that were the best when they were found, most of them early.
    assert len(journal.read_bytes()) < len(written) or name in ("exhaustive", "branch_and_bound")
    resumed = selected(journal)
    assert journal.read_bytes() == written
    np.testing.assert_array_equal(resumed.archive_.masks, whole.archive_.masks)
    np.testing.assert_array_equal(resumed.archive_.merits, whole.archive_.merits)
    assert resumed.archive_.improvements == whole.archive_.improvements
    np.testing.assert_array_equal(resumed.support_, whole.support_)

"""Worker processes: they answer requests, survive errors, and end with the process that started them."""

import os
import signal
import subprocess
import sys
import threading
import time

import joblib
import numpy as np
import pytest

from tamiz.runtime import workers
from tamiz.runtime.workers import WorkerError

GREETING = workers.pickle.dumps((abs, (1,)))


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.fixture(autouse=True)
def _two_workers():
    workers.start(2, GREETING)
    wait_for(lambda: workers.are_idle(2))


def test_work_is_done_in_another_process_and_what_it_prints_is_no_answer():
    assert workers.call(os.getpid) != os.getpid()
    assert workers.call(print, "a line") is None
    values = np.arange(200_000.0)
    np.testing.assert_array_equal(workers.call(np.negative, values), -values)
    assert workers.are_idle(2)


def test_workers_that_are_there_are_not_started_again():
    pids = {workers.call(os.getpid) for _ in range(4)}
    workers.start(2, GREETING)
    assert {workers.call(os.getpid) for _ in range(4)} == pids


def test_an_error_in_a_worker_is_raised_here_and_the_worker_continues():
    with pytest.raises(WorkerError, match="ValueError: math domain error"):
        workers.call(__import__("math").sqrt, -1)
    with pytest.raises(WorkerError, match="cannot be sent"):
        workers.call(print, threading.Lock())
    assert workers.are_idle(2)


def test_a_worker_that_ends_is_an_error_here_and_another_takes_its_place():
    with pytest.raises(WorkerError, match="ended before it answered"):
        workers.call(os._exit, 3)
    assert not workers.are_idle(2)
    workers.start(2, GREETING)
    wait_for(lambda: workers.are_idle(2))


def test_without_a_free_worker_nothing_waits(monkeypatch):
    monkeypatch.setattr(workers, "_idle_workers", [])
    with pytest.raises(WorkerError, match="no worker process is free"):
        workers.call(abs, 1)


def test_only_a_process_that_works_for_no_other_one_may_start_workers(monkeypatch):
    assert workers.can_start(2)
    assert not workers.can_start(1)
    assert not workers.call(workers.can_start, 2)
    assert joblib.Parallel(2)(joblib.delayed(workers.can_start)(2) for _ in range(2)) == [False, False]
    found = []
    thread = threading.Thread(target=lambda: found.append(workers.can_start(2)))
    thread.start()
    thread.join()
    assert found == [False]
    monkeypatch.setattr(workers, "free_memory", lambda: 1e9)
    assert not workers.can_start(2)


PROGRAM = """
import os, sys, time
from tamiz.runtime import workers

assert __name__ == "__main__"
workers.start(2, workers.pickle.dumps((abs, (1,))))
while not workers.are_idle(2):
    time.sleep(0.01)
print(*(worker._process.pid for worker in workers._workers), flush=True)
if sys.argv[1] == "busy":
    workers.call(time.sleep, 1)
time.sleep(60 * (sys.argv[1] != "end"))
"""


def is_there(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        return file.read().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(("state", "number"), [("end", 0), ("idle", signal.SIGTERM), ("busy", signal.SIGKILL)])
def test_workers_end_with_the_process_that_started_them(tmp_path, state, number):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM, encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, path, state], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as program:
        pids = [int(pid) for pid in program.stdout.readline().split()]
        assert len(pids) == 2
        if number:
            assert all(map(is_there, pids))
            program.send_signal(number)
        program.wait(30)
        wait_for(lambda: not any(map(is_there, pids)), seconds=60)
        assert program.stderr.read() == ""


SEARCH = """
import os, sys
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier
from tamiz import SubsetSelector
from tamiz.criteria import CrossValidated
from tamiz.models import fold_scorer
from tamiz.runtime import workers
from tamiz.search import Exhaustive

fold_scorer._MIN_START_SECONDS = 0.1
scores = fold_scorer.RefitWorkers.scores

def report(self, rows, sets):
    found = scores(self, rows, sets)
    print(*(worker._process.pid for worker in workers._workers), flush=True)
    return found

fold_scorer.RefitWorkers.scores = report
X, y = load_breast_cancer(return_X_y=True)
SubsetSelector(CrossValidated(DecisionTreeClassifier()), Exhaustive(), n_jobs=2).fit(X[:, :20], y)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.slow
def test_control_c_in_a_terminal_ends_a_search_and_its_workers_print_nothing(tmp_path):
    path = tmp_path / "search.py"
    path.write_text(SEARCH, encoding="utf-8")
    command = [sys.executable, "-W", "ignore", path]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, cwd=tmp_path
    ) as search:
        pids = [int(pid) for pid in search.stdout.readline().split()]
        # This process takes a share of the refits.
        assert len(pids) == 1
        # A terminal sends it to every process of the group.
        os.killpg(search.pid, signal.SIGINT)
        _, errors = search.communicate(timeout=120)
    assert errors.splitlines()[-1] == "KeyboardInterrupt"
    assert errors.count("Traceback") == 1
    wait_for(lambda: not any(map(is_there, pids)), seconds=60)
    assert [each.name for each in tmp_path.iterdir()] == ["search.py"]

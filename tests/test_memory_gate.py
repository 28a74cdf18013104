import threading
from contextlib import suppress

import pytest

from tamiz.runtime import parallel
from tamiz.runtime.parallel import MemoryGate


@pytest.fixture(autouse=True)
def _memory(monkeypatch):
    monkeypatch.setattr(parallel, "_UNGATED_BYTES", 0)
    monkeypatch.setattr(parallel, "free_memory", lambda: 100.0)
    monkeypatch.setattr("tamiz.runtime.validation.free_memory", lambda: 100.0)


def most_at_once(n_bytes):
    """The largest number of eight tasks that ran at the same time."""
    gate, lock, running, most = MemoryGate(), threading.Lock(), [0], [0]
    meet = threading.Barrier(2)

    def work():
        with gate.reserve(n_bytes, "Work", "Do less."):
            with lock:
                running[0] += 1
                most[0] = max(most[0], running[0])
            with suppress(threading.BrokenBarrierError):
                meet.wait(0.05)
            with lock:
                running[0] -= 1

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    return most[0]


def test_work_that_does_not_fit_beside_other_work_waits():
    assert most_at_once(60) == 1


def test_work_that_fits_runs_side_by_side():
    assert 2 <= most_at_once(30) <= 3


def test_work_that_does_not_fit_alone_is_refused_and_reserves_nothing():
    gate = MemoryGate()
    too_much = gate.reserve(200, "Work", "Do less.")
    with pytest.raises(MemoryError, match=r"^Work needs 200 B of memory and 100 B are free. Do less\.$"), too_much:
        pass
    with gate.reserve(90, "Work", "Do less."):
        pass

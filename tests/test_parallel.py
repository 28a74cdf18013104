"""Thread sessions: the order of results, the number of threads, the BLAS limit, and buffer pools."""

import copy
import pickle
import threading
import time
from functools import partial

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from tamiz.runtime import parallel


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
def test_answers_come_in_the_order_of_the_items(n_jobs):
    def slow_at_first(item):
        time.sleep(0.01 if item == 0 else 0)
        return item * item

    with parallel.thread_session(n_jobs):
        assert list(parallel.map_blocks(slow_at_first, range(40))) == [item * item for item in range(40)]


def test_without_a_session_blocks_run_in_the_calling_thread():
    threads = set(parallel.map_blocks(lambda _: threading.get_ident(), range(5)))
    assert threads == {threading.get_ident()}


def test_a_session_runs_blocks_in_threads_of_its_own():
    with parallel.thread_session(2):
        threads = set(parallel.map_blocks(lambda _: threading.get_ident(), range(20)))
    assert threading.get_ident() not in threads
    assert len(threads) <= 2


def test_a_session_inside_a_session_shares_its_threads():
    with parallel.thread_session(1), parallel.thread_session(2):
        assert set(parallel.map_blocks(lambda _: threading.get_ident(), range(5))) == {threading.get_ident()}


def test_a_block_that_maps_blocks_itself_does_not_wait_for_ever():
    def outer(item):
        return sum(parallel.map_blocks(lambda inner: inner * item, range(10)))

    with parallel.thread_session(2):
        assert list(parallel.map_blocks(outer, range(10))) == [45 * item for item in range(10)]


def test_a_long_iterable_is_never_in_memory_as_a_whole():
    started = []

    def items():
        for item in range(1000):
            started.append(item)
            yield item

    with parallel.thread_session(2):
        answers = parallel.map_blocks(lambda item: item, items())
        next(answers)
        assert len(started) <= 6
        assert list(answers) == list(range(1, 1000))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_blocks_that_fill_an_array_are_all_run(n_jobs):
    squares = np.zeros(40)

    def fill(item):
        squares[item] = item * item

    with parallel.thread_session(n_jobs):
        parallel.run_blocks(fill, range(40))
    np.testing.assert_array_equal(squares, np.arange(40) ** 2)


@pytest.mark.parametrize("run", [parallel.run_blocks, lambda *task: list(parallel.map_blocks(*task))])
def test_an_error_in_a_block_reaches_the_caller(run):
    def fail(item):
        if item == 3:
            raise ValueError("block 3")
        return item

    with parallel.thread_session(2), pytest.raises(ValueError, match="block 3"):
        run(fail, range(10))


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_blas_runs_at_one_thread_inside_and_as_before_outside():
    np.ones((2, 2)) @ np.ones((2, 2))
    before = blas_threads()
    with parallel.thread_session(2):
        assert blas_threads() == {1}
        with parallel.thread_session():
            assert blas_threads() == {1}
        assert blas_threads() == {1}
    assert blas_threads() == before


def test_sessions_of_several_threads_lift_the_limit_only_together():
    before = blas_threads()
    entered, leave = threading.Event(), threading.Event()

    def hold():
        with parallel.thread_session(1):
            entered.set()
            leave.wait(5)

    other = threading.Thread(target=hold)
    other.start()
    entered.wait(5)
    with parallel.thread_session(1):
        pass
    assert blas_threads() == {1}
    leave.set()
    other.join()
    assert blas_threads() == before


def test_a_session_in_another_thread_limits_blas_too():
    seen = []

    def look():
        with parallel.thread_session(1):
            seen.append(blas_threads())

    before = blas_threads()
    with parallel.thread_session(1):
        pass
    for _ in range(2):
        other = threading.Thread(target=look)
        other.start()
        other.join()
        assert blas_threads() == before
    assert seen == [{1}, {1}]


def test_a_session_that_fails_lifts_the_limit_too():
    before = blas_threads()
    with pytest.raises(RuntimeError), parallel.thread_session(1):
        raise RuntimeError
    assert blas_threads() == before


def test_numbers_of_threads(monkeypatch):
    monkeypatch.setattr(parallel, "_affinity_cores", lambda: 8)
    monkeypatch.setattr(parallel, "_cgroup_cores", lambda: None)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert [parallel.n_threads(n) for n in (None, -1, -3, 1, 3, 20)] == [8, 8, 6, 1, 3, 20]
    monkeypatch.setattr(parallel, "_cgroup_cores", lambda: 4)
    assert parallel.n_threads() == 4
    monkeypatch.setenv("OMP_NUM_THREADS", "2,4")
    assert parallel.n_threads() == 2
    assert parallel.n_threads(-20) == 1
    monkeypatch.setenv("OMP_NUM_THREADS", "many")
    assert parallel.n_threads() == 4


@pytest.mark.parametrize("n_jobs", [0, 1.5, True, float("nan"), float("inf"), "2", [1]])
def test_numbers_that_are_no_number_of_threads_are_refused(n_jobs):
    with pytest.raises(ValueError, match="n_jobs must be a positive number, -1 or None"):
        parallel.n_threads(n_jobs)


def logging_factory(log):
    def make():
        log.append(np.zeros(3))
        return log[-1]

    return make


def test_a_returned_buffer_is_reused_also_after_an_error():
    made = []
    buffers = parallel.BufferPool(logging_factory(made))
    with buffers.acquire() as first, buffers.acquire() as second:
        assert first is not second
    with pytest.raises(RuntimeError), buffers.acquire():
        raise RuntimeError
    with buffers.acquire() as one, buffers.acquire() as other:
        assert {id(one), id(other)} == {id(first), id(second)}
    assert len(made) == 2


def test_no_buffer_is_used_by_two_threads_at_a_time():
    made = []
    buffers = parallel.BufferPool(logging_factory(made))

    def work(item):
        with buffers.acquire() as buffer:
            buffer[:] = item
            time.sleep(0.0005)
            return (buffer == item).all()

    with parallel.thread_session(4):
        assert all(parallel.map_blocks(work, range(100)))
    assert len(made) <= 4


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda pool: pickle.loads(pickle.dumps(pool))])
def test_a_copy_of_a_buffer_pool_has_no_buffers(copied):
    buffers = parallel.BufferPool(partial(np.zeros, 4))
    with buffers.acquire() as buffer:
        buffer[:] = 1.0
    with copied(buffers).acquire() as own:
        assert not own.any()


def test_block_ranges_cover_a_range():
    assert parallel.block_ranges(10, 4) == [(0, 4), (4, 8), (8, 10)]
    assert parallel.block_ranges(8, 4) == [(0, 4), (4, 8)]
    assert parallel.block_ranges(0, 4) == []


def test_work_that_is_kept_alone_stays_in_its_thread_and_leaves_the_pool_to_the_rest():
    def threads():
        return set(parallel.map_blocks(lambda _: threading.current_thread().name, range(8)))

    with parallel.thread_session(2):
        with parallel.single_threaded():
            assert threads() == {threading.current_thread().name}
        assert threading.current_thread().name not in threads()


@pytest.mark.parametrize("size", [0, 1, 3, 7, parallel._MAX_TASK_ITEMS + 1])
def test_groups_yield_every_item_in_order(size):
    with parallel.thread_session(2):
        assert list(parallel.map_groups(lambda item: item * item, range(7), size)) == [0, 1, 4, 9, 16, 25, 36]
        assert not list(parallel.map_groups(str, [], size))


def test_groups_of_small_items_run_in_the_calling_thread():
    with parallel.thread_session(2):
        few = set(parallel.map_groups(lambda _: threading.get_ident(), range(8), 4))
        many = set(parallel.map_groups(lambda _: threading.get_ident(), range(8), parallel._MAX_TASK_ITEMS + 1))
    assert threading.get_ident() not in few
    assert many == {threading.get_ident()}

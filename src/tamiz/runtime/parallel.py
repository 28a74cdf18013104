"""Thread pools: blocks of work in a fixed order, BLAS limited to one thread while they run, and a gate for large tasks.

Work is split by the size of the data, not by the number of threads, and results are combined in the order of the blocks: the bits
are the same for every `n_jobs`. Every fit opens a `thread_session`; inside it, all calls of `map_blocks` share one pool. A
block that itself calls `map_blocks` runs that call serially, so that no pool waits for another.
"""

from __future__ import annotations

import math
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import chain, islice
from numbers import Real
from typing import Any, Generic, TypeVar

from threadpoolctl import OpenBLASController, ThreadpoolController

from tamiz.runtime.memory import free_memory
from tamiz.runtime.validation import check_memory

Item = TypeVar("Item")
Output = TypeVar("Output")
Buffer = TypeVar("Buffer")

# Items of a task of `map_groups` up to which it runs in the pool.
_MAX_TASK_ITEMS = 2**10

_pool: ContextVar[tuple[ThreadPoolExecutor, int] | None] = ContextVar("tamiz_pool", default=None)


def n_threads(n_jobs: int | None = None) -> int:
    """Return the number of threads for `n_jobs`: None and -1 mean every core that this process may use, -2 one fewer."""
    is_number = isinstance(n_jobs, Real) and not isinstance(n_jobs, bool) and math.isfinite(n_jobs)
    if n_jobs is not None and (not is_number or n_jobs == 0 or n_jobs != int(n_jobs)):
        raise ValueError(f"n_jobs must be a positive number, -1 or None, got {n_jobs!r}.")
    if n_jobs is not None and n_jobs > 0:
        return int(n_jobs)
    cores = min(_affinity_cores(), _cgroup_cores() or _affinity_cores(), _openmp_threads() or _affinity_cores())
    return max(1, cores + 1 + int(n_jobs)) if n_jobs is not None else cores


def _affinity_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


def _cgroup_cores() -> int | None:
    try:
        with open("/sys/fs/cgroup/cpu.max", encoding="ascii") as file:
            quota, period = file.read().split()
        return max(1, round(int(quota) / int(period))) if quota != "max" else None
    except (OSError, ValueError):
        return None


def _openmp_threads() -> int | None:
    value = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    return int(value) if value.isdigit() and int(value) > 0 else None


class _BlasLimit:
    """The limit of BLAS threads of the process: the first session sets it, and the last one restores the original."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_sessions = 0
        self._libraries: ThreadpoolController | None = None
        self._n_modules = 0

    @contextmanager
    def limit_threads(self) -> Iterator[None]:
        with self._lock:
            self._n_sessions += 1
            if self._n_sessions == 1:
                self._clear_owner()
                self._limit = self._controller().limit(limits=1)
        try:
            yield
        finally:
            with self._lock:
                self._n_sessions -= 1
                if self._n_sessions == 0:
                    self._clear_owner()
                    self._limit.restore_original_limits()
                    self._clear_owner()

    def limit_openmp(self) -> None:
        """Give OpenMP one thread in the calling thread: its limit belongs to the thread that sets it.

        Two threads of the pool that each fit gradient boosting with two OpenMP threads took three times as long as with one.
        """
        with self._lock:
            self._controller().select(user_api="openmp").limit(limits=1)

    def _controller(self) -> ThreadpoolController:
        """Return the controller of the loaded libraries, cached until a module is imported: finding them takes milliseconds."""
        if self._libraries is None or self._n_modules != len(sys.modules):
            self._libraries, self._n_modules = ThreadpoolController(), len(sys.modules)
        return self._libraries

    @staticmethod
    def _clear_owner() -> None:
        """Let any thread set the limit of OpenBLAS: since threadpoolctl 3.8 only the first thread that set it may change it."""
        if hasattr(OpenBLASController, "clear_controlling_thread"):
            OpenBLASController.clear_controlling_thread(force=True)


_blas = _BlasLimit()


@contextmanager
def thread_session(n_jobs: int | None = None) -> Iterator[None]:
    """Open a pool of `n_jobs` threads for `map_blocks`, and limit BLAS to one thread; no effect inside another session."""
    if _pool.get() is not None:
        yield
        return
    threads = n_threads(n_jobs)
    pool = ThreadPoolExecutor(threads, thread_name_prefix="tamiz", initializer=_blas.limit_openmp)
    token = _pool.set((pool, threads))
    try:
        with _blas.limit_threads():
            yield
    finally:
        _pool.reset(token)
        pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def single_threaded() -> Iterator[None]:
    """Run the block in this thread alone: for work so small that a thread pool costs more than it saves."""
    token = _pool.set(None)
    try:
        with thread_session(1):
            yield
    finally:
        _pool.reset(token)


def n_session_threads() -> int:
    """Return the number of threads of `map_blocks` in the present session."""
    session = _pool.get()
    return 1 if session is None else session[1]


def map_blocks(function: Callable[[Item], Output], items: Iterable[Item]) -> Iterator[Output]:
    """Yield `function(item)` for every item, in the order of the items; the calls run in the threads of the session.

    At most two items per thread are in progress or waiting, so a long iterable of large blocks is never in memory as a whole. A
    single item is processed in the calling thread: a switch to another thread takes longer than a small task.
    """
    session = _pool.get()
    iterator = iter(items)
    first = list(islice(iterator, 2))
    items = chain(first, iterator)
    if session is None or session[1] == 1 or len(first) < 2:
        yield from map(function, items)
        return
    pool, threads = session
    # The context variable is not set in the threads of the pool: a nested call there finds no pool and runs serially.
    futures: deque[Future[Output]] = deque()
    try:
        for item in items:
            futures.append(pool.submit(function, item))
            if len(futures) > 2 * threads:
                yield futures.popleft().result()
        while futures:
            yield futures.popleft().result()
    finally:
        for future in futures:
            future.cancel()
        # After an error or Ctrl-C no task may still work on the data of the caller.
        wait(future for future in futures if not future.cancelled())


def run_blocks(function: Callable[[Item], object], items: Iterable[Item]) -> None:
    """Call `function(item)` for every item as `map_blocks` does; for functions that fill arrays."""
    for _ in map_blocks(function, items):
        pass


def map_groups(function: Callable[[Item], Output], items: Sequence[Item], size: int) -> Iterator[Output]:
    """Yield `function(item)` as `map_blocks` does, with at least 1 and at most `size` items for each task.

    Very many items of a task run in the calling thread: two threads that wait for the interpreter take 1.5 times as long as one.
    """
    if size > _MAX_TASK_ITEMS:
        return map(function, items)
    tasks = (items[start:stop] for start, stop in block_ranges(len(items), max(1, size)))
    return chain.from_iterable(map_blocks(lambda task: [function(item) for item in task], tasks))


class BufferPool(Generic[Buffer]):
    """Work buffers that are reused: allocating fresh memory costs more than much of the work in it.

    A reused buffer has the contents of earlier work. A copy of the pool, also a pickled one, has no buffers.
    """

    def __init__(self, make: Callable[[], Buffer]) -> None:
        self._make = make
        # append and pop of a list are atomic, so no lock is needed.
        self._buffers: list[Buffer] = []

    def __getstate__(self) -> dict[str, Any]:
        return {"_make": self._make, "_buffers": []}

    @contextmanager
    def acquire(self) -> Iterator[Buffer]:
        """Provide a buffer for the block; it returns to the pool at the end, also after an error."""
        try:
            buffer = self._buffers.pop()
        except IndexError:
            buffer = self._make()
        try:
            yield buffer
        finally:
            self._buffers.append(buffer)


def block_ranges(n: int, size: int) -> list[tuple[int, int]]:
    """Return the ranges [start, stop) of at most `size` that cover 0 .. n."""
    return [(start, min(start + size, n)) for start in range(0, n, size)]


# Smaller tasks do not wait.
_UNGATED_BYTES = 2**24


class MemoryGate:
    """Lets as many tasks run at the same time as the free memory allows, and at least one."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._reserved = 0
        self._free_bytes: float | None = None

    @contextmanager
    def reserve(self, n_bytes: int, task: str, advice: str) -> Iterator[None]:
        """Wait until `n_bytes` are free, and reserve them for the block; MemoryError if the task alone needs more."""
        if n_bytes < _UNGATED_BYTES:
            yield
            return
        with self._condition:
            # Measured before the first task: later, part of the used memory may be buffers kept for the next tasks.
            if self._free_bytes is None or n_bytes > self._free_bytes:
                check_memory(n_bytes, task, advice)
                self._free_bytes = free_memory()
            while self._reserved and self._reserved + n_bytes > self._free_bytes:
                self._condition.wait()
            self._reserved += n_bytes
        try:
            yield
        finally:
            with self._condition:
                self._reserved -= n_bytes
                self._condition.notify_all()

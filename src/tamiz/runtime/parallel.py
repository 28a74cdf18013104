"""Threads: blocks of work in a fixed order, and BLAS held at one thread while they run.

Work is split by the size of the data, never by the number of threads, and results are combined in the order of
the blocks: the same bits at any `n_jobs`. A `session` is opened by every fit; inside it `map_blocks` shares one
pool. A block that itself calls `map_blocks` runs its part alone, so pools never wait for each other.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import chain, islice
from typing import Any, Generic, TypeVar

from threadpoolctl import OpenBLASController, ThreadpoolController

Item = TypeVar("Item")
Output = TypeVar("Output")
Buffer = TypeVar("Buffer")

_pool: ContextVar[tuple[ThreadPoolExecutor, int] | None] = ContextVar("tamiz_pool", default=None)


def n_threads(n_jobs: int | None = None) -> int:
    """Return the threads that `n_jobs` stands for: None is every core this process may use, -1 likewise."""
    if n_jobs is not None and (isinstance(n_jobs, bool) or n_jobs == 0 or n_jobs != int(n_jobs)):
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
    """One limit for the process, counted: the first session sets it, the last one lifts it."""

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

    def _controller(self) -> ThreadpoolController:
        """Return what sets the threads of the loaded libraries. To look for them takes milliseconds, and they come with modules."""
        if self._libraries is None or self._n_modules != len(sys.modules):
            self._libraries, self._n_modules = ThreadpoolController(), len(sys.modules)
        return self._libraries

    @staticmethod
    def _clear_owner() -> None:
        """Let any thread set OpenBLAS's limit: since threadpoolctl 3.8 the first one to do so keeps that right."""
        if hasattr(OpenBLASController, "clear_controlling_thread"):
            OpenBLASController.clear_controlling_thread(force=True)


_blas = _BlasLimit()


@contextmanager
def thread_session(n_jobs: int | None = None) -> Iterator[None]:
    """Open a pool of `n_jobs` threads for `map_blocks`, BLAS at one thread; inside a session it changes nothing."""
    if _pool.get() is not None:
        yield
        return
    threads = n_threads(n_jobs)
    pool = ThreadPoolExecutor(threads, thread_name_prefix="tamiz")
    token = _pool.set((pool, threads))
    try:
        with _blas.limit_threads():
            yield
    finally:
        _pool.reset(token)
        pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def single_threaded() -> Iterator[None]:
    """Keep what is inside to one thread, this one: for work so small that handing it on costs more than doing it."""
    token = _pool.set(None)
    try:
        with thread_session(1):
            yield
    finally:
        _pool.reset(token)


def n_session_threads() -> int:
    """Return how many threads `map_blocks` has here."""
    opened = _pool.get()
    return 1 if opened is None else opened[1]


def map_blocks(function: Callable[[Item], Output], items: Iterable[Item]) -> Iterator[Output]:
    """Yield `function(item)` for every item, in the order of the items; a few run at the same time.

    At most two items a thread are under way, so a long iterable of large blocks is never held whole. An only item is done at once,
    in the thread that asks: a wait for another would take longer than small work itself.
    """
    opened = _pool.get()
    coming = iter(items)
    first = list(islice(coming, 2))
    items = chain(first, coming)
    if opened is None or opened[1] == 1 or len(first) < 2:
        yield from map(function, items)
        return
    pool, threads = opened
    # A context variable is not seen by the pool's threads: a nested call there finds no pool and runs alone.
    waiting: deque[Future[Output]] = deque()
    try:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > 2 * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()
        # Whoever goes on after an error or Ctrl-C finds no piece still at work on what he holds.
        wait(future for future in waiting if not future.cancelled())


class BufferPool(Generic[Buffer]):
    """Rooms to work in, lent to one piece of work after another: fresh memory costs more than much of what is done in it.

    Threads may borrow at the same time; each has a room of its own. A copy, also a stored one, starts without any.

    Parameters
    ----------
    make : callable
        Makes another room when all are lent. What is in it is left from earlier work.
    """

    def __init__(self, make: Callable[[], Buffer]) -> None:
        self._make = make
        # Taking from a list and adding to it are each done at once, whatever other threads do.
        self._buffers: list[Buffer] = []

    def __getstate__(self) -> dict[str, Any]:
        """Return how rooms are made, and none of them."""
        return {"_make": self._make, "_buffers": []}

    @contextmanager
    def borrow(self) -> Iterator[Buffer]:
        """Lend a room, given back at the end, also when the work fails."""
        try:
            room = self._buffers.pop()
        except IndexError:
            room = self._make()
        try:
            yield room
        finally:
            self._buffers.append(room)


def block_ranges(n: int, size: int) -> list[tuple[int, int]]:
    """Return the ranges [start, stop) of at most `size` that cover 0 .. n."""
    return [(start, min(start + size, n)) for start in range(0, n, size)]

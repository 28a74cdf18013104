"""Tasks on the workers of any `concurrent.futures.Executor`: processes of this machine, or those of a cluster.

A task is a function of a module and its argument. It is pickled here and its result is pickled on the worker, so that neither
depends on how the executor moves objects. A task of a lost worker is run again, up to three times. At most two tasks for each
worker are under way, and their results are used in the order of the tasks.
"""

from __future__ import annotations

import math
import os
import pickle
import platform
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

from tamiz.exceptions import DataError
from tamiz.runtime import parallel
from tamiz.runtime.memory import limit_memory
from tamiz.runtime.optional_imports import import_optional
from tamiz.runtime.user_warnings import capture_warnings, warn_user
from tamiz.runtime.workers import WorkerProcess

Item = TypeVar("Item")
Output = TypeVar("Output")

# How often a task is run if its workers are lost.
_MAX_ATTEMPTS = 3
# How long is waited for a scheduler.
_SCHEDULER_SECONDS = 10
# Tasks under way if the executor does not state the number of its workers.
_UNKNOWN_WORKERS = 32
# Packages whose results and pickles could differ between versions.
_PACKAGES = ("tamiz", "numpy", "scipy", "numba", "pyarrow")


class WorkerProcesses(Executor):
    """Processes of this machine, each started by its first task, and replaced if it is lost.

    Other than those of `ProcessPoolExecutor`, they never import the main program of the user, end with this process even if it is
    killed, and are killed by `shutdown`.
    """

    def __init__(self, n_workers: int) -> None:
        self._max_workers = n_workers
        self._threads = ThreadPoolExecutor(n_workers, thread_name_prefix="tamiz-worker")
        self._own = threading.local()
        self._started: list[WorkerProcess] = []

    def submit(self, fn: Callable[..., Output], /, *args: Any, **kwargs: Any) -> Future[Output]:
        return self._threads.submit(self._run, partial(fn, *args, **kwargs))

    def process_ids(self) -> list[int]:
        return [worker.pid for worker in self._started if worker.is_alive]

    def _run(self, call: Callable[[], Output]) -> Output:
        worker: WorkerProcess | None = getattr(self._own, "worker", None)
        if worker is None or not worker.is_alive:
            worker = self._own.worker = WorkerProcess()
            self._started.append(worker)
        output: Output = worker.run_request(pickle.dumps((call, ()), protocol=pickle.HIGHEST_PROTOCOL))
        return output

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Cancel what has not begun, and end the processes: at once, or after their tasks if `wait`."""
        self._threads.shutdown(wait=wait, cancel_futures=cancel_futures or not wait)
        for worker in self._started:
            worker.kill()


@contextmanager
def open_executor(n_workers: int | None, scheduler: str | None) -> Iterator[Executor | None]:
    """Provide processes of this machine, or the workers of a Dask scheduler; None where neither is named."""
    if scheduler is not None:
        distributed = import_optional(
            "distributed", feature="--scheduler", package="distributed", min_version="2025.3", extra="cluster"
        )
        try:
            client = distributed.Client(scheduler, timeout=_SCHEDULER_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            raise DataError(f"There is no Dask scheduler at {scheduler!r}: {_describe(error)}.") from None
        with client:
            yield client.get_executor(pure=False)
    elif n_workers is not None:
        executor = WorkerProcesses(n_workers)
        try:
            yield executor
        finally:
            executor.shutdown(wait=False)
    else:
        yield None


@dataclass
class Traffic:
    """What tasks have sent and received: their number, and bytes without what they read and write in the folder."""

    n_tasks: int = 0
    sent: int = 0
    received: int = 0


@dataclass(frozen=True)
class Workers:
    """The workers of an executor; tasks find what they share, and leave large results, in a folder that all of them see."""

    executor: Executor
    folder: Path
    memory: float = math.inf
    moved: Traffic = field(default_factory=Traffic)

    @property
    def n_workers(self) -> int:
        """The number of tasks that the executor runs at the same time; 32 if it does not state it."""
        stated = getattr(self.executor, "_max_workers", None)
        if isinstance(stated, int):
            return max(1, stated)
        client = getattr(self.executor, "_client", None)
        with suppress(Exception):
            return max(1, sum(client.nthreads().values()))  # type: ignore[union-attr]  # of Dask, or an error
        return _UNKNOWN_WORKERS

    @contextmanager
    def share(self, value: Any) -> Iterator[Shared]:
        """Write a value that several tasks need into the folder, and delete it after them."""
        path = self.folder / f"shared-{uuid4().hex}"
        path.write_bytes(pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL))
        try:
            yield Shared(str(path))
        finally:
            path.unlink(missing_ok=True)

    def map(self, function: Callable[[Item], Output], tasks: Iterable[Item], label: str) -> Iterator[Output]:
        """Yield `function(task)` for every task, in their order; `label` is what is done, for messages.

        DataError if a worker has other versions of packages, a task lost its worker three times, or the executor is closed. An
        error of the function is raised as it is.
        """
        under_way: deque[_Attempts] = deque()
        limit = 2 * self.n_workers
        try:
            for task in tasks:
                content = pickle.dumps((function, task), protocol=pickle.HIGHEST_PROTOCOL)
                self.moved.sent += len(content)
                envelope = pickle.dumps(
                    (_versions(), self.memory, uuid4().hex, content), protocol=pickle.HIGHEST_PROTOCOL
                )
                under_way.append(_Attempts(self.executor, envelope, label))
                if len(under_way) > limit:
                    yield self._read(under_way.popleft())
            while under_way:
                yield self._read(under_way.popleft())
        finally:
            for attempts in under_way:
                attempts.future.cancel()

    def _read(self, attempts: _Attempts) -> Any:
        answer = attempts.answer()
        self.moved.received += len(answer)
        self.moved.n_tasks += 1
        is_done, value, notes = pickle.loads(answer)
        warn_user(notes)
        if not is_done:
            raise value
        return value


@dataclass(frozen=True)
class Shared:
    """A value in the folder of the workers; a worker reads it once."""

    path: str

    @property
    def value(self) -> Any:
        return _read_shared(self.path)


@lru_cache(maxsize=4)
def _read_shared(path: str) -> Any:
    return pickle.loads(Path(path).read_bytes())


class _Attempts:
    def __init__(self, executor: Executor, envelope: bytes, label: str) -> None:
        self._executor, self._envelope, self._label = executor, envelope, label
        self._n_failed = 0
        self.future = self._submit()

    def _submit(self) -> Future[bytes]:
        try:
            return self._executor.submit(run_task, self._envelope)
        except Exception as error:
            if self._n_failed:
                raise DataError(
                    f"{self._label}: a worker was lost, and the executor takes no further tasks ({_describe(error)}). Use one that "
                    "replaces lost workers, such as --workers, loky or Dask, and open the table again."
                ) from error
            raise DataError(
                f"{self._label}: the executor takes no tasks ({_describe(error)}). If it was closed, open the table with a new one."
            ) from error

    def answer(self) -> bytes:
        """Wait for the answer of the task; after a lost worker, run it again."""
        while True:
            try:
                return self.future.result()
            except CancelledError:
                raise DataError(
                    f"{self._label}: the executor was closed before all tasks were done. Open the table with a new one."
                ) from None
            except ModuleNotFoundError as error:
                raise DataError(
                    f"{self._label}: a worker has no {error.name}. Install the same versions of tamiz and its dependencies on all "
                    "workers."
                ) from error
            except Exception as error:  # what a lost worker raises depends on the executor
                self._n_failed += 1
                if self._n_failed >= _MAX_ATTEMPTS:
                    raise DataError(
                        f"{self._label}: the worker of a task was lost {_MAX_ATTEMPTS} times ({_describe(error)}). It may have had "
                        "too little memory: set --memory (memory=) to what a worker has."
                    ) from error
                self.future = self._submit()


def _describe(error: BaseException) -> str:
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0]}" if text else type(error).__name__


def run_task(envelope: bytes) -> bytes:
    """Run a task: the function that executors call on their workers."""
    versions, memory, _, content = pickle.loads(envelope)
    value: Any
    notes: list[Any] = []
    try:
        _check_versions(versions)
        function, task = pickle.loads(content)
        with (
            capture_warnings() as notes,
            limit_memory(None if memory == math.inf else int(memory)),
            parallel.single_threaded(),
        ):
            value = function(task)
        return pickle.dumps((True, value, notes), protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # noqa: BLE001 - any error is sent back
        error.__traceback__ = None
        try:
            return pickle.dumps((False, error, notes), protocol=pickle.HIGHEST_PROTOCOL)
        except Exception:  # noqa: BLE001 - an error may be anything
            return pickle.dumps((False, RuntimeError(_describe(error)), notes))


@lru_cache(maxsize=1)
def _versions() -> dict[str, str]:
    return {name: import_module(name).__version__ for name in _PACKAGES}


def _check_versions(wanted: dict[str, str]) -> None:
    here = _versions()
    for name, version in wanted.items():
        if here[name] != version:
            raise DataError(
                f"Worker {platform.node()}:{os.getpid()} has {name} {here[name]}, and this process {version}. Install the same "
                "versions on all workers."
            )


def check_folder(executor: Executor, folder: Path) -> bool:
    """Return whether workers see a folder of this process: a file that is written here, and one that a worker writes."""
    token = uuid4().hex
    (folder / token).write_text(token, encoding="ascii")
    workers = Workers(executor, folder)
    tasks = [str(folder / token)] * max(4, workers.n_workers)
    seen = list(workers.map(_answer_token, tasks, "Starting workers"))
    return all(seen) and (folder / f"{token}-seen").exists()


def _answer_token(path: str) -> bool:
    try:
        token = Path(path).read_text(encoding="ascii")
        Path(f"{path}-seen").write_text(token, encoding="ascii")
    except OSError:
        return False
    return Path(path).name == token

"""Worker processes for short tasks in Python code, which threads cannot run in parallel because of the interpreter lock.

A worker reads requests from its standard input and writes answers to its standard output. When the process that started it
ends, for whatever reason, the input ends and so does the worker; workers of joblib go on after SIGTERM or SIGKILL until a
timeout. A worker never imports the main program of the user. Workers are reused, and exit after a minute without a request.
"""

from __future__ import annotations

import atexit
import json
import multiprocessing
import os
import pickle
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, BinaryIO

from tamiz.runtime.memory import free_memory

# Seconds without a request after which a worker exits.
_IDLE_SECONDS = 60.0
# Memory of a worker with scikit-learn and tamiz, and the share of the free memory that all workers may use.
_WORKER_BYTES, _MAX_MEMORY_SHARE = 3e8, 0.5
# Set in workers, so that they start no workers themselves; BLAS and OpenMP run with one thread, as in a thread session.
_WORKER_VARIABLE = "TAMIZ_WORKER"
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"), "1")
_WORKER_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from tamiz.runtime.workers import serve; serve()"
)


class WorkerError(Exception):
    """A worker could not run a task: none was idle, it exited, or the request or the answer could not be pickled."""


class NoIdleWorkerError(WorkerError):
    """All workers are busy: the caller does the work itself."""


class WorkerProcess:
    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _WORKER_PROGRAM, json.dumps(sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **_ONE_THREAD, _WORKER_VARIABLE: "1"},
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def run_request(self, request: bytes) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            _write_message(self._process.stdin, request)
            is_done, answer = pickle.loads(_read_message(self._process.stdout))
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            self.kill()
            raise WorkerError("a worker process ended before it answered") from error
        except BaseException:
            # A late answer would be read as the answer to the next request.
            self.kill()
            raise
        if not is_done:
            raise WorkerError(answer)
        return answer

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                pipe.close()  # type: ignore[union-attr]  # both are pipes


_workers: list[WorkerProcess] = []
_idle_workers: list[WorkerProcess] = []


def can_start(n: int) -> bool:
    """Return whether this process may start n workers; a worker, a child process or a thread other than the main one may not."""
    return (
        n > 1
        and bool(sys.executable)
        and _WORKER_VARIABLE not in os.environ
        and multiprocessing.parent_process() is None
        and threading.current_thread() is threading.main_thread()
        and n * _WORKER_BYTES < _MAX_MEMORY_SHARE * free_memory()
    )


def start(n: int, first_request: bytes) -> None:
    """Start workers until there are n, without waiting for them; each becomes idle when it has answered the first request."""
    for worker in [worker for worker in _workers if not worker.is_alive]:
        # Closes its pipes.
        worker.kill()
        _workers.remove(worker)
    _idle_workers[:] = [worker for worker in _idle_workers if worker in _workers]

    def greet(worker: WorkerProcess) -> None:
        with suppress(WorkerError):
            worker.run_request(first_request)
            _idle_workers.append(worker)

    # If the system allows no more processes, the caller does the work itself.
    with suppress(OSError):
        for _ in range(n - len(_workers)):
            _workers.append(worker := WorkerProcess())
            threading.Thread(target=greet, args=(worker,), daemon=True).start()


def are_idle(n: int) -> bool:
    return sum(worker.is_alive for worker in _idle_workers) >= n


def call(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function of a module in an idle worker, and return its result."""
    try:
        request = pickle.dumps((function, arguments), protocol=pickle.HIGHEST_PROTOCOL)
        worker = _idle_workers.pop()
    except IndexError:
        raise NoIdleWorkerError("no worker process is free") from None
    except Exception as error:  # pickling may raise anything; the caller then does the work itself
        raise WorkerError(f"the work cannot be sent to another process: {error}") from error
    try:
        return worker.run_request(request)
    finally:
        if worker.is_alive:
            _idle_workers.append(worker)


def serve() -> None:
    """Answer requests until the input ends: the main function of a worker."""
    # Ctrl-C reaches every process of a terminal; the parent process handles it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    # Output of a model must not mix with the answers, nor may it read the requests.
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    with suppress(EOFError, BrokenPipeError):
        while True:
            timer = threading.Timer(_IDLE_SECONDS, os._exit, (0,))
            timer.daemon = True
            timer.start()
            request = _read_message(requests)
            timer.cancel()
            _write_message(answers, _run_request(request))
    # Exit without waiting for threads of libraries.
    os._exit(0)


def _run_request(request: bytes) -> bytes:
    try:
        function, arguments = pickle.loads(request)
        return pickle.dumps((True, function(*arguments)), protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # noqa: BLE001 - any error is sent back
        return pickle.dumps((False, f"{type(error).__name__}: {error}"))


def _write_message(pipe: BinaryIO | Any, message: bytes) -> None:
    pipe.write(struct.pack("<Q", len(message)))
    pipe.write(message)
    pipe.flush()


def _read_message(pipe: BinaryIO | Any) -> bytes:
    head = pipe.read(8)
    if len(head) < 8:
        raise EOFError
    (size,) = struct.unpack("<Q", head)
    message: bytes = pipe.read(size)
    if len(message) < size:
        raise EOFError
    return message


def _kill_all() -> None:
    while _workers:
        _workers.pop().kill()
    _idle_workers.clear()


def _forget_all() -> None:
    """Forget the workers after a fork: they belong to the parent process."""
    _workers.clear()
    _idle_workers.clear()


atexit.register(_kill_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)

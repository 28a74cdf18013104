"""Worker processes, for short work of Python's, of which the threads of one process do one piece at a time.

A worker reads requests from its standard input and answers on its standard output. Its input ends with the process that started it,
however that ends, and the worker with it: joblib's go on after SIGTERM or SIGKILL until their work and a waiting time are over.
It never imports the user's main program. Workers are kept for later work, and end by themselves when there is none for a minute.
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

# Seconds without work after which a worker ends.
_IDLE_SECONDS = 60.0
# What a worker takes in memory with scikit-learn and tamiz, and the share of the free memory that all of them may take.
_WORKER_BYTES, _MAX_MEMORY_SHARE = 3e8, 0.5
# Set in workers, which start none of their own; BLAS and OpenMP run with one thread, as in a session of threads.
_WORKER_VARIABLE = "TAMIZ_WORKER"
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"), "1")
_WORKER_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from tamiz.runtime.workers import serve; serve()"
)


class WorkerError(Exception):
    """No worker could do the work: there was none, it ended, or request or answer could not be read."""


class _Worker:
    """A process that answers one request at a time."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _WORKER_PROGRAM, json.dumps(sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **_ONE_THREAD, _WORKER_VARIABLE: "1"},
        )

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def run_request(self, request: bytes) -> Any:
        """Return the answer to a pickled function and its arguments."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            _write_message(self._process.stdin, request)
            is_done, answer = pickle.loads(_read_message(self._process.stdout))
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            self.kill()
            raise WorkerError("a worker process ended before it answered") from error
        except BaseException:
            # Whatever it answers now would be taken for the answer to the next request.
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


_workers: list[_Worker] = []
_idle_workers: list[_Worker] = []


def can_start(n: int) -> bool:
    """Return whether this process may start n workers: in a process that works for another one there are enough of them."""
    return (
        n > 1
        and bool(sys.executable)
        and _WORKER_VARIABLE not in os.environ
        and multiprocessing.parent_process() is None
        and threading.current_thread() is threading.main_thread()
        and n * _WORKER_BYTES < _MAX_MEMORY_SHARE * free_memory()
    )


def start(n: int, first_request: bytes) -> None:
    """Start workers until there are n, and have them answer a first request; they get ready while this process goes on."""
    for worker in [worker for worker in _workers if not worker.is_alive]:
        # Its pipes are closed.
        worker.kill()
        _workers.remove(worker)
    _idle_workers[:] = [worker for worker in _idle_workers if worker in _workers]

    def greet(worker: _Worker) -> None:
        with suppress(WorkerError):
            worker.run_request(first_request)
            _idle_workers.append(worker)

    # A system that allows no more processes is none to fail on.
    with suppress(OSError):
        for _ in range(n - len(_workers)):
            _workers.append(worker := _Worker())
            threading.Thread(target=greet, args=(worker,), daemon=True).start()


def are_idle(n: int) -> bool:
    """Return whether n workers are there and have nothing to do."""
    return sum(worker.is_alive for worker in _idle_workers) >= n


def call(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a function of a module returns in a worker that has nothing to do."""
    try:
        request = pickle.dumps((function, arguments), protocol=pickle.HIGHEST_PROTOCOL)
        worker = _idle_workers.pop()
    except IndexError:
        raise WorkerError("no worker process is free") from None
    except Exception as error:  # whatever it is that cannot be pickled: the caller does the work itself
        raise WorkerError(f"the work cannot be sent to another process: {error}") from error
    try:
        return worker.run_request(request)
    finally:
        if worker.is_alive:
            _idle_workers.append(worker)


def serve() -> None:
    """Answer requests until there are no more: what a worker does."""
    # Ctrl-C reaches every process of a terminal; the one that started this one decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    # What a model prints must not get among the answers, nor a question of its own among the requests.
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    with suppress(EOFError, BrokenPipeError):
        while True:
            waiting = threading.Timer(_IDLE_SECONDS, os._exit, (0,))
            waiting.daemon = True
            waiting.start()
            request = _read_message(requests)
            waiting.cancel()
            _write_message(answers, _run_request(request))
    # Nothing waits for what is left to do: threads of a library must not keep the process.
    os._exit(0)


def _run_request(request: bytes) -> bytes:
    try:
        function, arguments = pickle.loads(request)
        return pickle.dumps((True, function(*arguments)), protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # noqa: BLE001 - sent back, whatever it is
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
    """Leave the workers to the process that forked this one."""
    _workers.clear()
    _idle_workers.clear()


atexit.register(_kill_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)

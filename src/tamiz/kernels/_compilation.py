"""Compilation of kernels on all cores before they are called; without it, numba compiles each kernel at its first call.

Compiled kernels stay in numba's cache on disk, so this happens once per installation. It runs in processes, because numba
compiles in one thread at a time. The processes are separate commands: multiprocessing would run the script of a caller again if
its main part has no `if __name__ == "__main__"` guard.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import numba

from tamiz import kernels
from tamiz.kernels import Kernel, find_kernels
from tamiz.runtime import parallel, progress

# With fewer kernels, starting processes takes longer than it saves.
_MIN_KERNELS = 8
_PROGRESS_LABEL = "Compiling, once per installation"


def default_kernels(target: str, *, include_float32: bool = False) -> list[str]:
    """Return the kernels that a study with default parameters calls, as "file.function".

    Parameters
    ----------
    target : {"classes", "number", "none"}
        Kind of the target.
    include_float32 : bool, default=False
        Whether the float32 versions of kernels are included, which studies of large tables call.
    """
    lines = (files("tamiz.kernels") / "usual.txt").read_text(encoding="utf-8").splitlines()
    rows = [line.split() for line in lines if line and not line.startswith("#")]
    names = [name for name, *targets in rows if target in targets]
    suffix = "_float64"
    return names + [
        f"{name.removesuffix(suffix)}_float32" for name in names if include_float32 and name.endswith(suffix)
    ]


def all_kernels() -> list[str]:
    """Return every kernel, as "file.function"."""
    paths = sorted(path for path in Path(kernels.__file__).parent.glob("*.py") if not path.stem.startswith("_"))
    return [f"{path.stem}.{name}" for path in paths for name in _kernels_in_file(path.stem)]


def compile_ahead(names: Iterable[str], n_jobs: int | None = None) -> None:
    """Compile those of the kernels that are not in the cache on disk, on all cores.

    Fewer than 8 kernels are not compiled here but at their first call, as are all kernels if no process can be started or the
    cache is not writable.

    Parameters
    ----------
    names : iterable of str
        As "file.function".
    n_jobs : int, default=None
        Number of processes; None means the cores that this process may use.
    """
    uncached = _uncached_kernels(names)
    n_uncached = sum(map(len, uncached.values()))
    if n_uncached < _MIN_KERNELS:
        return
    # The files with the longest functions first, so that the processes end at about the same time.
    units: SimpleQueue[list[str]] = SimpleQueue()
    for file in sorted(uncached, key=lambda file: -sum(map(_bytecode_length, uncached[file].values()))):
        units.put([f"{file}.{name}" for name in uncached[file]])
    workers = list(filter(None, (_start_worker() for _ in range(min(parallel.n_threads(n_jobs), len(uncached))))))
    results: SimpleQueue[int | None] = SimpleQueue()
    progress.report_progress(_PROGRESS_LABEL, 0, n_uncached)
    try:
        with ThreadPoolExecutor(max(len(workers), 1)) as pool:
            try:
                n_done, n_working = 0, len(workers)
                for worker in workers:
                    pool.submit(_feed_worker, worker, units, results)
                while n_working:
                    n_compiled = results.get()
                    if n_compiled is None:
                        n_working -= 1
                    else:
                        n_done += n_compiled
                        progress.report_progress(_PROGRESS_LABEL, n_done, n_uncached)
            finally:
                # Threads that wait for an answer then read the end of the pipe.
                for worker in workers:
                    worker.kill()
                    worker.wait()
    finally:
        # No thread uses the pipes any more.
        for pipe in (pipe for worker in workers for pipe in (worker.stdin, worker.stdout) if pipe is not None):
            with suppress(OSError):
                pipe.close()


def compile_from_stdin() -> None:
    """Compile the kernels named on the lines of standard input, and write a line for each: the worker of `compile_ahead`."""
    for line in sys.stdin:
        for name in line.split():
            file, function = name.split(".")
            _ = _kernels_in_file(file)[function].compiled
        sys.stdout.write("done\n")
        sys.stdout.flush()


def _start_worker() -> subprocess.Popen[str] | None:
    """Return a worker process, None if the system starts no process."""
    try:
        return subprocess.Popen(
            [sys.executable, "-m", "tamiz.kernels", "-"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
    except OSError:
        return None


def _feed_worker(
    worker: subprocess.Popen[str], units: SimpleQueue[list[str]], results: SimpleQueue[int | None]
) -> None:
    """Send units to a worker, and put the number of kernels compiled into `results` after each; None at the end or on failure."""
    assert worker.stdin is not None
    assert worker.stdout is not None
    try:
        while True:
            unit = units.get_nowait()
            worker.stdin.write(" ".join(unit) + "\n")
            worker.stdin.flush()
            if not worker.stdout.readline():
                return
            results.put(len(unit))
    except (Empty, OSError):
        pass
    finally:
        results.put(None)


def _uncached_kernels(names: Iterable[str]) -> dict[str, dict[str, Kernel]]:
    """Return the kernels that are not in the cache, by file and name; none of a file whose cache is not writable."""
    by_file: dict[str, list[str]] = {}
    for name in names:
        file, _, function = name.partition(".")
        by_file.setdefault(file, []).append(function)
    uncached = {}
    for file, functions in by_file.items():
        members = _kernels_in_file(file)
        cached = _cache_entries(next(iter(members.values())).function)
        found = (
            {}
            if cached is None
            else {name: members[name] for name in functions if _cache_entry_prefix(members[name]) not in cached}
        )
        if found:
            uncached[file] = found
    return uncached


def _cache_entries(function: Callable[..., Any]) -> set[str] | None:
    """Return the names of the cache entries that are not older than the file of a function, None if numba cannot cache it."""
    try:
        folder = Path(numba.njit(cache=True)(function).stats.cache_path)
    except RuntimeError:
        return None
    made = max(path.stat().st_mtime for path in (Path(function.__code__.co_filename), kernels.PRIMITIVES))
    try:
        entries = [
            entry for entry in os.scandir(folder) if entry.name.endswith(".nbi") and entry.stat().st_mtime >= made
        ]
    except OSError:
        return set()
    return {entry.name.rpartition(".py")[0] for entry in entries}


def _cache_entry_prefix(kernel: Kernel) -> str:
    """Return the start of the file name of a kernel in numba's cache."""
    code = kernel.function.__code__
    return f"{kernel.function.__module__.rpartition('.')[2]}.{kernel.function.__qualname__}-{code.co_firstlineno}"


def _kernels_in_file(file: str) -> dict[str, Kernel]:
    return find_kernels(import_module(f"{kernels.__name__}.{file}"))


def _bytecode_length(kernel: Kernel) -> int:
    return len(kernel.function.__code__.co_code)

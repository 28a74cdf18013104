"""Kernels compiled before they are called, on all cores: numba compiles one after the other, whenever one is first called.

Compiled kernels stay in numba's cache on disk, so this happens once per installation. Processes compile, because numba lets one
thread compile at a time. They are commands of their own: multiprocessing would run a caller's script again that does not guard
its main part.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import numba

from tamiz import kernels
from tamiz.kernels import Kernel, find_kernels
from tamiz.runtime import parallel, progress

# What a process takes to start is worth it from so many kernels on.
_MIN_KERNELS = 8
_PROGRESS_LABEL = "Compiling, once per installation"


def default_kernels(target: str, *, include_float32: bool = False) -> list[str]:
    """Return the kernels that a study calls with its defaults, as "file.function".

    Parameters
    ----------
    target : {"classes", "number", "none"}
        What is predicted.
    include_float32 : bool, default=False
        Whether it works with float32 as well.
    """
    lines = (files("tamiz.kernels") / "usual.txt").read_text(encoding="utf-8").splitlines()
    rows = [line.split() for line in lines if line and not line.startswith("#")]
    names = [name for name, *targets in rows if target in targets]
    double, of_single = "_float64", "_float32"
    return names + [
        name.removesuffix(double) + of_single for name in names if include_float32 and name.endswith(double)
    ]


def all_kernels() -> list[str]:
    """Return every kernel, as "file.function"."""
    paths = sorted(path for path in Path(kernels.__file__).parent.glob("*.py") if not path.stem.startswith("_"))
    return [f"{path.stem}.{name}" for path in paths for name in _kernels_in_file(path.stem)]


def compile_ahead(names: Iterable[str], n_jobs: int | None = None) -> None:
    """Compile the kernels among these that are not on disk, on all cores; a few are left to be compiled when they are called.

    Where no process can be started, or none can write to the disk, kernels are compiled when they are called too.

    Parameters
    ----------
    names : iterable of str
        As "file.function".
    n_jobs : int, default=None
        Processes; None takes the cores that this process may use.
    """
    lacking = _uncached_kernels(names)
    n_lacking = sum(map(len, lacking.values()))
    if n_lacking < _MIN_KERNELS:
        return
    # The longest first: no core then waits long for another at the end.
    units: SimpleQueue[list[str]] = SimpleQueue()
    for file in sorted(lacking, key=lambda file: -sum(map(_bytecode_length, lacking[file].values()))):
        units.put([f"{file}.{name}" for name in lacking[file]])
    workers = list(filter(None, (_start_worker() for _ in range(min(parallel.n_threads(n_jobs), len(lacking))))))
    told: SimpleQueue[int | None] = SimpleQueue()
    progress.report_progress(_PROGRESS_LABEL, 0, n_lacking)
    with ThreadPoolExecutor(max(len(workers), 1)) as pool:
        try:
            n_done, n_working = 0, len(workers)
            for worker in workers:
                pool.submit(_feed_worker, worker, units, told)
            while n_working:
                n_compiled = told.get()
                if n_compiled is None:
                    n_working -= 1
                else:
                    n_done += n_compiled
                    progress.report_progress(_PROGRESS_LABEL, n_done, n_lacking)
        finally:
            # Threads that still wait for an answer read the end of the file.
            for worker in workers:
                worker.kill()
                worker.wait()


def compile_from_stdin() -> None:
    """Compile what the lines of standard input name, and answer each with a line: a worker of `compile_ahead`."""
    for line in sys.stdin:
        for name in line.split():
            file, function = name.split(".")
            _ = _kernels_in_file(file)[function].compiled
        sys.stdout.write("done\n")
        sys.stdout.flush()


def _start_worker() -> subprocess.Popen[str] | None:
    """Return a worker, None where the system starts no process."""
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
    """Have a worker compile one unit after the other, and say how many kernels each was; None at the end, or where it fails."""
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
    """Return the kernels that are not on disk, by file and name; none of a file whose cache cannot be written."""
    by_file: dict[str, list[str]] = {}
    for name in names:
        file, _, function = name.partition(".")
        by_file.setdefault(file, []).append(function)
    lacking = {}
    for file, functions in by_file.items():
        members = _kernels_in_file(file)
        kept = _cache_entries(next(iter(members.values())).function)
        found = (
            {}
            if kept is None
            else {name: members[name] for name in functions if _cache_entry_prefix(members[name]) not in kept}
        )
        if found:
            lacking[file] = found
    return lacking


def _cache_entries(function: Callable[..., Any]) -> set[str] | None:
    """Return the entries of the cache that are not older than a function's file, None where numba can keep none."""
    try:
        folder = Path(numba.njit(cache=True)(function).stats.cache_path)
    except RuntimeError:
        return None
    made = Path(function.__code__.co_filename).stat().st_mtime
    try:
        entries = [
            entry for entry in os.scandir(folder) if entry.name.endswith(".nbi") and entry.stat().st_mtime >= made
        ]
    except OSError:
        return set()
    return {entry.name.rpartition(".py")[0] for entry in entries}


def _cache_entry_prefix(kernel: Kernel) -> str:
    """Return how numba's cache begins the name of a kernel's entry."""
    code = kernel.function.__code__
    return f"{kernel.function.__module__.rpartition('.')[2]}.{kernel.function.__qualname__}-{code.co_firstlineno}"


def _kernels_in_file(file: str) -> dict[str, Kernel]:
    return find_kernels(import_module(f"{kernels.__name__}.{file}"))


def _bytecode_length(kernel: Kernel) -> int:
    return len(kernel.function.__code__.co_code)

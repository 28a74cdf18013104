"""Free memory: the least that the machine, the control group, the resource limits of the process and the user allow."""

from __future__ import annotations

import math
import os
import re
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Real
from pathlib import Path
from typing import Any, TypeAlias

SizeLike: TypeAlias = "str | float"

_UNITS = {
    "": 1,
    "b": 1,
    "kb": 1e3,
    "mb": 1e6,
    "gb": 1e9,
    "tb": 1e12,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
    "tib": 2**40,
}
_SIZE_PATTERN = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([A-Za-z]*)\s*")


class MemoryLimit:
    """A limit on the memory of the whole process, libraries included, in force as long as this object exists."""

    def __init__(self, n_bytes: int) -> None:
        self.n_bytes = n_bytes
        with _lock:
            _limits.add(self)

    def remove(self) -> None:
        with _lock:
            _limits.discard(self)


# The share of a limit that is used: allocators and libraries need the rest.
_USABLE_SHARE = 0.95
# The memory of Python and the libraries (350 MB), and of blocks of a file.
MIN_LIMIT = 5e8
_MIN_WORK_BYTES = 5e7

# The smallest limit of the process applies.
_limits: weakref.WeakSet[MemoryLimit] = weakref.WeakSet()
_lock = threading.Lock()


@contextmanager
def limit_memory(n_bytes: int | None) -> Iterator[MemoryLimit | None]:
    """Limit the memory of the process as long as the `MemoryLimit` exists and the block raises no error."""
    if n_bytes is None:
        yield None
        return
    limit = MemoryLimit(n_bytes)
    try:
        check_limit(limit)
        yield limit
    except BaseException:
        # A stored exception keeps the frames of its traceback alive, and with them the limit.
        limit.remove()
        raise


def check_limit(limit: MemoryLimit) -> None:
    """Raise MemoryError for a limit that leaves no working memory beside the libraries."""
    least = max(MIN_LIMIT, resident_memory() + _MIN_WORK_BYTES)
    if limit.n_bytes < least:
        raise MemoryError(
            f"{format_bytes(limit.n_bytes)} of memory are too little for Python, its libraries and blocks of a file. "
            f"Set a limit of at least {format_bytes(1e7 * math.ceil(least / 1e7))}."
        )


def stated_limit() -> float:
    """Return the smallest limit set by users in bytes, infinity if there is none."""
    with _lock:
        return float(min((limit.n_bytes for limit in _limits), default=float("inf")))


def free_memory() -> float:
    """Return the bytes of memory that this process can still allocate, by the machine, control group, resource and user limits."""
    left = _USABLE_SHARE * stated_limit()
    return max(min(left - (resident_memory() if left < float("inf") else 0.0), system_free_memory()), 0.0)


def system_free_memory() -> float:
    """Return the bytes of memory that this process can still allocate, without the limits set by users."""
    return min(_machine_memory(), _cgroup_memory(), _rlimit_memory())


def resident_memory() -> float:
    """Return the resident memory of the process in bytes, mapped files included; 0 if the system does not report it."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return float(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0.0


def parse_size(name: str, value: Any) -> int:
    """Return a size in bytes from a number or from text such as "1GB", "800 MB" and "1.5 GiB"."""
    if isinstance(value, Real) and not isinstance(value, bool):
        n_bytes = float(value)
    elif isinstance(value, str):
        match = _SIZE_PATTERN.fullmatch(value)
        if match is None or match[2].lower() not in _UNITS:
            raise ValueError(f"{name} must be a size such as 800MB, 1GB or 1.5GiB, got {value!r}.")
        n_bytes = float(match[1]) * _UNITS[match[2].lower()]
    else:
        raise TypeError(f"{name} must be a size such as '800MB' or '1.5GiB', or a number of bytes, got {value!r}.")
    if not 0 < n_bytes < float("inf"):
        raise ValueError(f"{name} must be above 0 bytes, got {value!r}.")
    return int(n_bytes)


def format_bytes(n_bytes: float) -> str:
    """Return a number of bytes as text with three digits and a unit, such as "1.5 GB"."""
    for unit in ("B", "kB", "MB", "GB"):
        if n_bytes < 999.5:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.3g} TB"


def _read_kilobyte_fields(path: str) -> dict[str, float]:
    """Return the lines "name: number kB" of a system file, in bytes; none if there is no such file."""
    fields = {}
    try:
        with open(path, encoding="ascii") as file:
            for line in file:
                name, _, value = line.partition(":")
                if value.endswith(" kB\n"):
                    fields[name] = float(value.split()[0]) * 1024
    except OSError:
        pass
    return fields


def _machine_memory() -> float:
    return _read_kilobyte_fields("/proc/meminfo").get("MemAvailable", float("inf"))


def _cgroup_memory() -> float:
    try:
        group = Path("/sys/fs/cgroup")
        limit = (group / "memory.max").read_text(encoding="ascii").strip()
        used = float((group / "memory.current").read_text(encoding="ascii"))
        counts = dict(line.split() for line in (group / "memory.stat").read_text(encoding="ascii").splitlines())
    except OSError:
        return float("inf")
    # Cached pages of files count as used, but the kernel frees them on demand.
    cached = float(counts.get("inactive_file", 0)) + float(counts.get("active_file", 0))
    return float(limit) - max(used - cached, 0.0) if limit != "max" else float("inf")


def _rlimit_memory() -> float:
    try:
        from resource import RLIM_INFINITY, RLIMIT_AS, RLIMIT_DATA, getrlimit
    except ImportError:  # Windows has no such limits.
        return float("inf")
    limits = {"VmSize": getrlimit(RLIMIT_AS)[0], "VmData": getrlimit(RLIMIT_DATA)[0]}
    limited = {name: limit for name, limit in limits.items() if limit != RLIM_INFINITY}
    # Usually there is no limit, and reading the file takes longer than much of the work that calls this.
    used = _read_kilobyte_fields("/proc/self/status") if limited else {}
    return max(min((limit - used.get(name, 0.0) for name, limit in limited.items()), default=float("inf")), 0.0)

"""Checks of parameters and of the room they ask for. Each failure is one sentence with the limit and the value."""

from __future__ import annotations

from collections.abc import Collection
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from tamiz.registry import suggestion


def check_integer(name: str, value: Any, *, low: int, high: int | None = None) -> int:
    """Return `value` as an int within [low, high]."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be a whole number, got {value!r}.")
    number = int(value)
    if number < low or (high is not None and number > high):
        limit = f"at least {low}" if high is None else f"from {low} to {high}"
        raise ValueError(f"{name} must be {limit}, got {number}.")
    return number


def check_real(name: str, value: Any, *, low: float | None = None) -> float:
    """Return `value` as a float of at least `low`."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {value!r}.")
    if value != value or (low is not None and value < low):
        raise ValueError(f"{name} must be {'a number' if low is None else f'at least {low}'}, got {value}.")
    return float(value)


def check_choice(name: str, value: Any, choices: Collection[str]) -> str:
    """Return `value` when it is one of `choices`."""
    if not isinstance(value, str) or value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        meant = suggestion(value, choices) if isinstance(value, str) else ""
        raise ValueError(f"{name} must be one of {listed}, got {value!r}{meant}.")
    return str(value)


def check_memory(n_bytes: float, what: str, way_out: str) -> None:
    """Refuse work that needs more memory than this process can have, before it starts."""
    free = free_memory()
    if n_bytes > free:
        raise MemoryError(f"{what} needs {_bytes(n_bytes)} of memory and {_bytes(free)} are free. {way_out}")


def free_memory() -> float:
    """Return the bytes of memory this process can still have: the least of the machine's, its group's and its own limit."""
    return min(_machine_memory(), _group_memory(), _own_memory())


def _facts(path: str) -> dict[str, float]:
    """Return the lines "name: number kB" of a file of the system in bytes, none where there is no such file."""
    facts = {}
    try:
        with open(path, encoding="ascii") as file:
            for line in file:
                name, _, value = line.partition(":")
                if value.endswith(" kB\n"):
                    facts[name] = float(value.split()[0]) * 1024
    except OSError:
        pass
    return facts


def _machine_memory() -> float:
    return _facts("/proc/meminfo").get("MemAvailable", float("inf"))


def _group_memory() -> float:
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
        used = Path("/sys/fs/cgroup/memory.current").read_text(encoding="ascii").strip()
    except OSError:
        return float("inf")
    return float(limit) - float(used) if limit != "max" else float("inf")


def _own_memory() -> float:
    try:
        from resource import RLIM_INFINITY, RLIMIT_AS, RLIMIT_DATA, getrlimit
    except ImportError:  # Windows has no such limits.
        return float("inf")
    used = _facts("/proc/self/status")
    limits = {"VmSize": getrlimit(RLIMIT_AS)[0], "VmData": getrlimit(RLIMIT_DATA)[0]}
    left = [limit - used.get(name, 0.0) for name, limit in limits.items() if limit != RLIM_INFINITY]
    return max(min(left, default=float("inf")), 0.0)


def _bytes(n: float) -> str:
    for unit in ("B", "kB", "MB"):
        if n < 1000:
            return f"{n:.3g} {unit}"
        n /= 1000
    return f"{n:.3g} GB"

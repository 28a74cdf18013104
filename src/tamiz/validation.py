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
    if value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} must be one of {listed}, got {value!r}{suggestion(value, choices)}.")
    return str(value)


def check_memory(n_bytes: float, what: str, way_out: str) -> None:
    """Refuse work that needs more memory than this process can have, before it starts."""
    free = free_memory()
    if n_bytes > free:
        raise MemoryError(f"{what} needs {_bytes(n_bytes)} of memory and {_bytes(free)} are free. {way_out}")


def free_memory() -> float:
    """Return the bytes of memory this process can still have: the machine's, or its control group's if less."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            facts = dict(line.split(":", 1) for line in file)
        free = float(facts["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return float("inf")
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
        used = Path("/sys/fs/cgroup/memory.current").read_text(encoding="ascii").strip()
        return min(free, float(limit) - float(used)) if limit != "max" else free
    except (OSError, ValueError):
        return free


def _bytes(n: float) -> str:
    for unit in ("B", "kB", "MB"):
        if n < 1000:
            return f"{n:.3g} {unit}"
        n /= 1000
    return f"{n:.3g} GB"

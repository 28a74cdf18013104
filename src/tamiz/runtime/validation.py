"""Checks of parameters and of the memory that a task needs. Each error message has the limit and the value."""

from __future__ import annotations

import math
from collections.abc import Collection, Sized
from numbers import Integral, Real
from typing import Any

from tamiz.runtime.memory import format_bytes, free_memory, resident_memory, stated_limit, system_free_memory
from tamiz.runtime.registry import suggestion


def check_integer(name: str, value: Any, *, low: int, high: int | None = None) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be a whole number, got {value!r}.")
    number = int(value)
    if number < low or (high is not None and number > high):
        limit = f"at least {low}" if high is None else f"from {low} to {high}"
        raise ValueError(f"{name} must be {limit}, got {number}.")
    return number


def check_real(name: str, value: Any, *, low: float | None = None, high: float | None = None) -> float:
    """Return `value` as a float of at least `low` and at most `high`."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {value!r}.")
    number = float(value)
    if number != number or (low is not None and number < low) or (high is not None and number > high):
        bounds = [f"at least {low}"] * (low is not None) + [f"at most {high}"] * (high is not None)
        raise ValueError(f"{name} must be {' and '.join(bounds) or 'a number'}, got {value}.")
    return number


def check_positive(name: str, value: Any) -> float:
    """Return `value` as a finite float above 0."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {value!r}.")
    number = float(value)
    if not 0.0 < number < math.inf:
        raise ValueError(f"{name} must be above 0 and finite, got {value!r}.")
    return number


def check_n_features(name: str, value: Any, total: int) -> int:
    """Return a number of columns, at least 1: a whole number as it is, or a share in (0, 1] of `total`, rounded down."""
    if isinstance(value, Real) and not isinstance(value, Integral):
        share = float(value)
        if not 0 < share <= 1:
            raise ValueError(f"{name} must be a whole number, or a share above 0 and at most 1, got {value!r}.")
        # 0.29 * 100 is a little less than 29.
        return max(1, math.floor(share * total + 1e-9))
    return check_integer(name, value, low=1)


def check_lengths(**parts: Sized | int) -> None:
    """Raise ValueError unless all parts have the same length; a part is a sequence or the length itself."""
    lengths = {name: part if isinstance(part, int) else len(part) for name, part in parts.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(", ".join(f"{n:,} {name}" for name, n in lengths.items()))


def check_choice(name: str, value: Any, choices: Collection[str]) -> str:
    if not isinstance(value, str) or value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        meant = suggestion(value, choices) if isinstance(value, str) else ""
        raise ValueError(f"{name} must be one of {listed}, got {value!r}{meant}.")
    return str(value)


def check_memory(n_bytes: float, task: str, advice: str) -> None:
    """Raise MemoryError if a task needs more memory than this process can still allocate."""
    free = free_memory()
    if n_bytes <= free:
        return
    limit_text = ""
    if stated_limit() < float("inf") and n_bytes <= system_free_memory():
        # 6 % more, because the resident memory varies from run to run.
        least = 1e7 * math.ceil(1.06 * (resident_memory() + n_bytes) / 1e7)
        limit_text = f" of the limit of {format_bytes(stated_limit())}"
        advice = f"Set a limit of at least {format_bytes(least)}. {advice}"
    raise MemoryError(
        f"{task} needs {format_bytes(n_bytes)} of memory and {format_bytes(free)} are free{limit_text}. {advice}"
    )

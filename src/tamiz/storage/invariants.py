"""Invariants of objects that are read from a file: checks of the stored values, declared by their classes.

A class has a dict `invariants`. A key is the name of a stored field, or a path to an attribute of it ("_rows.points.n_samples"); a
value is an invariant or a tuple of invariants. A size in the shape of an array is a number or a letter; a letter means the same
size in all fields of the object. Kernels rely on these sizes and ranges, and do not check them again.

>>> import numpy as np
>>> check_invariants({"n": Integer(size="n"), "offsets": FloatArray("n")}, {"n": 3, "offsets": np.zeros(2)})
Traceback (most recent call last):
    ...
tamiz.storage.invariants.BrokenInvariantError: offsets has 2 entries where n has 3
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, TypeAlias

import numpy as np


class BrokenInvariantError(ValueError):
    """A value in a file violates an invariant of its class."""


class ArraySizes:
    """The sizes of letters, each with the field in which it first occurred."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, str]] = {}

    def check_size(self, size: str | int, found: int, path: str) -> None:
        """Compare a size with the known size of its letter, or store it if there is none; "n+1" is one more than n."""
        if isinstance(size, str) and size.endswith("+1"):
            size, found = size[:-2], found - 1
        expected, owner = (size, "its class") if isinstance(size, int) else self._known.setdefault(size, (found, path))
        if found != expected:
            raise BrokenInvariantError(f"{path} has {found:,} entries where {owner} has {expected:,}")

    def resolve(self, bound: float | str) -> float:
        """Return a bound: a number, or the size of a letter that is known."""
        if not isinstance(bound, str):
            return bound
        return self._known[bound.removesuffix("+1")][0] + bound.endswith("+1")


class Invariant(ABC):
    @abstractmethod
    def check(self, value: Any, path: str, sizes: ArraySizes) -> None:
        """Raise BrokenInvariantError if the value violates the condition."""


Invariants: TypeAlias = Mapping[str, "Invariant | tuple[Invariant, ...]"]


class InstanceOf(Invariant):
    def __init__(self, *classes: type) -> None:
        self._classes = classes

    def check(self, value: Any, path: str, sizes: ArraySizes) -> None:  # noqa: ARG002
        if not isinstance(value, self._classes):
            names = " or ".join(one.__name__ for one in self._classes)
            raise BrokenInvariantError(f"{path} is a {type(value).__name__}, not a {names}")


class OneOf(Invariant):
    """One of several values, of the same type."""

    def __init__(self, *values: Any) -> None:
        self._values = values

    def check(self, value: Any, path: str, sizes: ArraySizes) -> None:  # noqa: ARG002
        if not any(type(value) is type(one) and value == one for one in self._values):
            raise BrokenInvariantError(f"{path} is {value!r:.40}, none of {', '.join(map(repr, self._values))}")


@dataclass(frozen=True)
class Number(Invariant):
    """A number, finite unless `allow_infinite`, and not NaN unless `allow_missing`."""

    low: float = -np.inf
    high: float = np.inf
    allow_infinite: bool = False
    allow_missing: bool = False

    def check(self, value: Any, path: str, sizes: ArraySizes) -> None:  # noqa: ARG002
        if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
            raise BrokenInvariantError(f"{path} is a {type(value).__name__}, not a number")
        if self.allow_missing and np.isnan(value):
            return
        # numpy converts larger Python integers to objects.
        if isinstance(value, int) and abs(value) >= 2**63:
            raise BrokenInvariantError(f"{path} is {value!r:.40}, which is out of range")
        if not (self.low <= value <= self.high and (self.allow_infinite or np.isfinite(float(value)))):
            raise BrokenInvariantError(f"{path} is {value!r:.40}, which is out of range")


@dataclass(frozen=True)
class Integer(Invariant):
    """A whole number of at least `low` and below `below`; `size` is the letter whose size it is."""

    low: int = 0
    below: float | str = np.inf
    size: str | None = None

    def check(self, value: Any, path: str, sizes: ArraySizes) -> None:
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise BrokenInvariantError(f"{path} is a {type(value).__name__}, not a whole number")
        if not self.low <= value < sizes.resolve(self.below):
            raise BrokenInvariantError(f"{path} is {value!r:.40}, which is out of range")
        if self.size is not None:
            sizes.check_size(self.size, int(value), path)


class Array(Invariant):
    """An array of a shape and one of several dtypes, in C order, as kernels require, unless `any_order`."""

    def __init__(self, *shape: str | int, dtypes: tuple[type, ...], any_order: bool = False) -> None:
        self._shape, self._dtypes, self._any_order = shape, tuple(map(np.dtype, dtypes)), any_order

    def check(self, value: Any, path: str, sizes: ArraySizes) -> None:
        """Check the dtype, the shape and the values."""
        if not isinstance(value, np.ndarray):
            raise BrokenInvariantError(f"{path} is a {type(value).__name__}, not an array")
        if value.dtype not in self._dtypes:
            raise BrokenInvariantError(f"{path} is of {value.dtype}, not of {' or '.join(map(str, self._dtypes))}")
        if not (self._any_order or value.flags.c_contiguous):
            raise BrokenInvariantError(f"{path} is not in C order")
        if value.ndim != len(self._shape):
            raise BrokenInvariantError(f"{path} has {value.ndim} dimensions, not {len(self._shape)}")
        for size, found in zip(self._shape, value.shape, strict=True):
            sizes.check_size(size, found, path)
        if value.size:
            self.check_values(value, path, sizes)

    def check_values(self, value: Any, path: str, sizes: ArraySizes) -> None:
        """Check the values."""


class FloatArray(Array):
    """Finite floats from `low` to `high`; NaN only if `allow_missing`, and minus infinity only if `allow_minus_infinity`."""

    def __init__(
        self,
        *shape: str | int,
        low: float = -np.inf,
        high: float = np.inf,
        allow_missing: bool = False,
        increasing: bool = False,
        allow_float32: bool = False,
        any_order: bool = False,
        allow_minus_infinity: bool = False,
    ) -> None:
        super().__init__(
            *shape, dtypes=(np.float64, np.float32) if allow_float32 else (np.float64,), any_order=any_order
        )
        self._low, self._high, self._allow_missing, self._increasing = low, high, allow_missing, increasing
        self._allow_minus_infinity = allow_minus_infinity

    def check_values(self, value: Any, path: str, sizes: ArraySizes) -> None:  # noqa: ARG002
        """Check that values are finite, in the range and in order."""
        is_valid = np.isfinite(value) & (value >= self._low) & (value <= self._high)
        if self._allow_missing:
            is_valid |= np.isnan(value)
        if self._allow_minus_infinity:
            is_valid |= np.isneginf(value)
        if not is_valid.all():
            raise BrokenInvariantError(f"{path} contains {value[~is_valid][0]}, which is out of range")
        if self._increasing and not (np.diff(value) > 0).all():
            raise BrokenInvariantError(f"{path} is not in increasing order")


class IntegerArray(Array):
    """Whole numbers of at least `low` and below `below`."""

    def __init__(
        self,
        *shape: str | int,
        low: float = 0,
        below: float | str = np.inf,
        dtypes: tuple[type, ...] = (np.int32, np.int64),
        distinct: bool = False,
    ) -> None:
        super().__init__(*shape, dtypes=dtypes)
        self._low, self._below, self._distinct = low, below, distinct

    def check_values(self, value: Any, path: str, sizes: ArraySizes) -> None:
        """Check that values are in the range, and distinct if required."""
        below = sizes.resolve(self._below)
        outside = (value < self._low) | (value >= below)
        if outside.any():
            raise BrokenInvariantError(
                f"{path} contains {value[outside][0]}, which is not from {self._low} to {below - 1:g}"
            )
        if self._distinct and len(np.unique(value)) != len(value):
            raise BrokenInvariantError(f"{path} contains a number twice")


class BoolArray(Array):
    def __init__(self, *shape: str | int) -> None:
        super().__init__(*shape, dtypes=(np.bool_,))


class ListOf(Invariant):
    """A list, tuple or one-dimensional array whose members satisfy an invariant; its length may be a letter."""

    def __init__(self, member: Invariant, size: str | int | None = None) -> None:
        self._member, self._size = member, size

    def check(self, value: Any, path: str, sizes: ArraySizes) -> None:
        if not isinstance(value, list | tuple) and not (isinstance(value, np.ndarray) and value.ndim == 1):
            raise BrokenInvariantError(f"{path} is a {type(value).__name__}, not a list")
        for number, one in enumerate(value):
            self._member.check(one, f"{path}[{number}]", sizes)
        if self._size is not None:
            sizes.check_size(self._size, len(value), path)


class Strings(ListOf):
    """A list of strings; its length may be a letter."""

    def __init__(self, size: str | int | None = None) -> None:
        super().__init__(InstanceOf(str), size)


@dataclass(frozen=True)
class Nullable(Invariant):
    """A missing field, None, or a value that satisfies an invariant."""

    invariant: Invariant

    def check(self, value: Any, path: str, sizes: ArraySizes) -> None:
        if value is not None:
            self.invariant.check(value, path, sizes)


@dataclass(frozen=True)
class Condition(Invariant):
    """A condition on several fields; `predicate` gets an object with the fields as attributes."""

    predicate: Callable[[Any], Any]
    message: str

    def check(self, value: Any, path: str, sizes: ArraySizes) -> None:  # noqa: ARG002
        """Check the fields, which are passed as the value."""
        if not self.predicate(value):
            raise BrokenInvariantError(f"{path} {self.message}")


def collect_invariants(cls: type) -> dict[str, Invariant | tuple[Invariant, ...]]:
    found: dict[str, Invariant | tuple[Invariant, ...]] = {}
    for one in reversed(cls.__mro__):
        found.update(vars(one).get("invariants", {}))
    return found


def check_invariants(invariants: Invariants, state: Mapping[str, Any]) -> None:
    """Raise BrokenInvariantError for the first invariant that the fields of an object violate."""
    sizes, fields = ArraySizes(), SimpleNamespace(**state)
    for path, conditions in invariants.items():
        for invariant in conditions if isinstance(conditions, tuple) else (conditions,):
            try:
                value = fields if isinstance(invariant, Condition) else _resolve_path(state, path, invariant)
                invariant.check(value, path, sizes)
            except (AttributeError, LookupError, TypeError, OverflowError) as error:
                # A value of an unexpected type raises these errors at its first use.
                raise BrokenInvariantError(f"{path} is missing, or has an unexpected type") from error


def _resolve_path(state: Mapping[str, Any], path: str, invariant: Invariant) -> Any:
    first, *others = path.split(".")
    value = state.get(first) if isinstance(invariant, Nullable) else state[first]
    for name in others:
        if value is None and isinstance(invariant, Nullable):
            return None
        value = getattr(value, name)
    return value

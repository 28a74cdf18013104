"""The classes whose objects are stored, and how objects are taken apart and made again.

These are classes of this package of three sorts: those that say themselves what they are made of (`Serializable`), estimators and their
parts, and plain values: frozen dataclasses and named tuples. No other class is ever made, whatever a file names.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import fields, is_dataclass
from functools import cached_property
from importlib import import_module
from inspect import Parameter, signature
from typing import Any, Self

from sklearn.base import BaseEstimator

from tamiz import __version__
from tamiz.exceptions import DataError
from tamiz.storage.invariants import BrokenInvariantError, Invariants, check_invariants, collect_invariants

# MERGED: What an object says of itself so that it can be stored.
_NAMED_PARAMETERS = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


def constructor_parameters(cls: type) -> tuple[str, ...]:
    """Return the names that a class is made with."""
    return tuple(name for name, given in signature(cls).parameters.items() if given.kind in _NAMED_PARAMETERS)


class Serializable:
    """An object that can be stored: it tells what it is made of, and is made of that again.

    As it stands here that is the parameters of the constructor, each kept under its own name. A class says otherwise where an
    object holds more, or where its constructor would do over again what was done before.
    """

    def get_state(self) -> dict[str, Any]:
        """Return what the object is made of, by name: numbers, text, arrays and other objects that can be stored."""
        return {name: getattr(self, name) for name in constructor_parameters(type(self))}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Return the object made of what `get_state` gave."""
        return cls(**state)


# "tamiz.module:Class", none with two underscores in front: to import `tamiz.__main__` is to run it.
_CLASS_PATTERN = re.compile(r"tamiz(\.(?!__)\w+)+:(?!__)\w+", re.ASCII)


class ObjectFormat(ABC):
    """How the objects of one sort of class are taken apart and made again."""

    @abstractmethod
    def accepts(self, cls: Any) -> bool:
        """Return whether a class is of the sort."""

    @abstractmethod
    def get_state(self, obj: Any, location: str) -> dict[str, Any]:
        """Return what an object holds, by name."""

    @abstractmethod
    def make(self, cls: Any, state: dict[str, Any]) -> Any:
        """Return an object that holds that."""

    def invariants(self, cls: Any, state: dict[str, Any]) -> Invariants:
        """Return what must be true of what an object holds; whether a field may be left out, its constructor knows."""
        return {path: wanted for path, wanted in collect_invariants(cls).items() if path.partition(".")[0] in state}


class _SerializableFormat(ObjectFormat):
    """Objects that say themselves what they are made of."""

    def accepts(self, cls: Any) -> bool:
        return issubclass(cls, Serializable)

    def get_state(self, obj: Any, location: str) -> dict[str, Any]:  # noqa: ARG002
        held: dict[str, Any] = obj.get_state()
        return held

    def make(self, cls: Any, state: dict[str, Any]) -> Any:
        return cls.from_state(state)


class _EstimatorFormat(ObjectFormat):
    """Estimators and their parts: parameters, and what fit learned."""

    def accepts(self, cls: Any) -> bool:
        return issubclass(cls, BaseEstimator)

    def get_state(self, obj: Any, location: str) -> dict[str, Any]:
        cls = type(obj)
        named = constructor_parameters(cls)
        state = {}
        for name, value in vars(obj).items():
            if name in named or _is_fitted_attribute(cls, name):
                state[name] = value
            elif not isinstance(getattr(cls, name, None), cached_property):
                raise TypeError(
                    f"{location}.{name} is no parameter and nothing that fit learned, and cannot be stored; delete it."
                )
        return state

    def invariants(self, cls: Any, state: dict[str, Any]) -> Invariants:
        """Return those of a fitted estimator; parameters are looked at by fit."""
        named = constructor_parameters(cls)
        learned = [name for name in state if name not in named]
        for name in learned:
            if not _is_fitted_attribute(cls, name):
                raise TypeError(f"it has no attribute {name!r}")
        return collect_invariants(cls) if learned else {}

    def make(self, cls: Any, state: dict[str, Any]) -> Any:
        named = constructor_parameters(cls)
        learned = {name: value for name, value in state.items() if name not in named}
        made = cls(**{name: value for name, value in state.items() if name in named})
        vars(made).update(learned)
        return made


def _is_fitted_attribute(cls: Any, name: str) -> bool:
    """Return whether fit may set such an attribute: marked as such, and in the place of nothing that the class has."""
    marked = name.startswith("_") or name.endswith("_")
    return marked and name.isidentifier() and not name.startswith("__") and not hasattr(cls, name)


class _PlainFormat(ObjectFormat):
    """Plain values: their fields."""

    def accepts(self, cls: Any) -> bool:
        if is_dataclass(cls):
            return bool(getattr(cls, "__dataclass_params__").frozen)  # noqa: B009 - not known to type checkers
        return issubclass(cls, tuple) and hasattr(cls, "_fields")

    def get_state(self, obj: Any, location: str) -> dict[str, Any]:  # noqa: ARG002
        names = [field.name for field in fields(obj)] if is_dataclass(obj) else obj._fields
        return {name: getattr(obj, name) for name in names}

    def make(self, cls: Any, state: dict[str, Any]) -> Any:
        return cls(**state)


_FORMATS: tuple[ObjectFormat, ...] = (_SerializableFormat(), _EstimatorFormat(), _PlainFormat())


def find_format(cls: type) -> ObjectFormat | None:
    """Return how objects of a class are stored, None where they are not."""
    if not _CLASS_PATTERN.fullmatch(class_path(cls)):
        return None
    return next((form for form in _FORMATS if form.accepts(cls)), None)


def class_path(cls: type) -> str:
    """Return what a class is known by in a file."""
    return f"{cls.__module__}:{cls.__qualname__}"


def restore_object(name: Any, state: dict[str, Any]) -> Any:
    """Return an object of the class of a name, holding what a file says."""
    cls = _import_class(name)
    form = find_format(cls)
    if form is None:
        raise DataError(f"holds a {name}, and objects of that class are not read from files")
    try:
        check_invariants(form.invariants(cls, state), state)
        return form.make(cls, state)
    except BrokenInvariantError as error:
        raise DataError(f"is damaged: in its {cls.__name__}, {error}") from error
    except MemoryError:
        raise
    except Exception as error:
        # Whatever a constructor stumbles over was in the file.
        told = str(error) if isinstance(error, ValueError | TypeError) else repr(error)
        raise DataError(f"holds a {name} that cannot be made: {told.rstrip('.')}") from error


def _import_class(name: Any) -> type:
    if not isinstance(name, str) or not _CLASS_PATTERN.fullmatch(name):
        raise DataError(f"holds a {name}, and only objects of tamiz are read from files")
    module, _, attribute = name.partition(":")
    try:
        cls = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        # Of a later version, or of a package that is not installed: the error tells.
        told = str(error).rstrip(".")
        raise DataError(f"holds a {name}, which tamiz {__version__} does not have here ({told})") from error
    if not isinstance(cls, type) or class_path(cls) != name:
        raise DataError(f"holds a {name}, which is no class of that module")
    return cls

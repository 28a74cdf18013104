"""The classes whose objects can be stored, and the conversion of such objects to and from dicts of fields.

These are classes of this package of three types: classes that define their state (`Serializable`), estimators and their parts,
and plain values (frozen dataclasses and named tuples). Objects of other classes are never created, whatever a file names.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import fields, is_dataclass
from functools import cached_property
from importlib import import_module
from inspect import Parameter, signature
from pkgutil import walk_packages
from typing import Any, Self

from sklearn.base import BaseEstimator

from tamiz import __version__
from tamiz.exceptions import DataError
from tamiz.storage.invariants import BrokenInvariantError, Invariants, check_invariants, collect_invariants

_NAMED_PARAMETERS = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


def constructor_parameters(cls: type) -> tuple[str, ...]:
    parameters = signature(cls).parameters.items()
    return tuple(name for name, parameter in parameters if parameter.kind in _NAMED_PARAMETERS)


class Serializable:
    """An object that can be stored as a dict of fields, and restored from it.

    By default the fields are the parameters of the constructor, which must be attributes of the same names. A class overrides the
    methods if an object has further state, or if its constructor would repeat expensive work.
    """

    def get_state(self) -> dict[str, Any]:
        """Return the fields by name: numbers, text, arrays and other objects that can be stored."""
        return {name: getattr(self, name) for name in constructor_parameters(type(self))}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Return an object with the fields that `get_state` returned."""
        return cls(**state)

    # Copies, pickles and files of skops contain the same fields.
    def __getstate__(self) -> dict[str, Any]:
        return self.get_state()

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(vars(type(self).from_state(state)))


# "tamiz.module:Class" without leading double underscores, because importing `tamiz.__main__` runs it.
_CLASS_PATTERN = re.compile(r"tamiz(\.(?!__)\w+)+:(?!__)\w+", re.ASCII)


class ObjectFormat(ABC):
    """Converts objects of one type of class to fields and back."""

    @abstractmethod
    def accepts(self, cls: Any) -> bool:
        """Return whether the format applies to a class."""

    @abstractmethod
    def get_state(self, obj: Any, location: str) -> dict[str, Any]:
        """Return the fields of an object by name."""

    @abstractmethod
    def make(self, cls: Any, state: dict[str, Any]) -> Any:
        """Return an object with these fields."""

    def invariants(self, cls: Any, state: dict[str, Any]) -> Invariants:
        """Return the invariants of the stored fields; the constructor checks for missing ones."""
        found = collect_invariants(cls)
        return {path: conditions for path, conditions in found.items() if path.partition(".")[0] in state}


class _SerializableFormat(ObjectFormat):
    """Objects of classes that derive from `Serializable`."""

    def accepts(self, cls: Any) -> bool:
        return issubclass(cls, Serializable)

    def get_state(self, obj: Any, location: str) -> dict[str, Any]:  # noqa: ARG002
        state: dict[str, Any] = obj.get_state()
        return state

    def make(self, cls: Any, state: dict[str, Any]) -> Any:
        return cls.from_state(state)


class _EstimatorFormat(ObjectFormat):
    """Estimators and their parts: parameters and fitted attributes."""

    def accepts(self, cls: Any) -> bool:
        return issubclass(cls, BaseEstimator)

    def get_state(self, obj: Any, location: str) -> dict[str, Any]:
        cls = type(obj)
        named = constructor_parameters(cls)
        state = {}
        for name, value in obj.__getstate__().items():
            if name in named or _is_fitted_attribute(cls, name):
                state[name] = value
            elif not isinstance(getattr(cls, name, None), cached_property):
                raise TypeError(
                    f"{location}.{name} is neither a parameter nor a fitted attribute, and cannot be stored; delete it."
                )
        return state

    def invariants(self, cls: Any, state: dict[str, Any]) -> Invariants:
        """Return the invariants if the estimator is fitted; fit checks the parameters."""
        named = constructor_parameters(cls)
        fitted = [name for name in state if name not in named]
        for name in fitted:
            if not _is_fitted_attribute(cls, name):
                raise TypeError(f"it has no attribute {name!r}")
        return collect_invariants(cls) if fitted else {}

    def make(self, cls: Any, state: dict[str, Any]) -> Any:
        named = constructor_parameters(cls)
        fitted = {name: value for name, value in state.items() if name not in named}
        estimator = cls(**{name: value for name, value in state.items() if name in named})
        vars(estimator).update(fitted)
        return estimator


def _is_fitted_attribute(cls: Any, name: str) -> bool:
    """Return whether fit may set an attribute: its name has an underscore at an end, and the class has none that it would hide.

    A cached property with invariants is stored.
    """
    marked = name.startswith("_") or name.endswith("_")
    is_free = not hasattr(cls, name) or name in collect_invariants(cls)
    return marked and name.isidentifier() and not name.startswith("__") and is_free


class _PlainFormat(ObjectFormat):
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
    """Return the format of the objects of a class, None if they cannot be stored."""
    if not _CLASS_PATTERN.fullmatch(class_path(cls)):
        return None
    return next((form for form in _FORMATS if form.accepts(cls)), None)


def class_path(cls: type) -> str:
    return f"{cls.__module__}:{cls.__qualname__}"


def restore_object(name: Any, state: dict[str, Any]) -> Any:
    """Return an object of a named class with fields from a file, after checking its invariants."""
    cls = _import_class(name)
    form = find_format(cls)
    if form is None:
        raise DataError(f"contains a {name}, and objects of that class are not read from files")
    try:
        check_invariants(form.invariants(cls, state), state)
        return form.make(cls, state)
    except BrokenInvariantError as error:
        raise DataError(f"is damaged: in its {cls.__name__}, {error}") from error
    except MemoryError:
        raise
    except Exception as error:
        # Any error of a constructor is due to values from the file.
        reason = str(error) if isinstance(error, ValueError | TypeError) else repr(error)
        raise DataError(f"contains a {name} that cannot be restored: {reason.rstrip('.')}") from error


# Packages without classes of fitted state.
_STATELESS_PACKAGES = ("cli", "comparison", "display", "kernels", "report", "_study")


def skops_trusted_types() -> list[str]:
    """Return the types that occur in fitted estimators, for `skops.io.load(file, trusted=tamiz.skops_trusted_types())`.

    Returns
    -------
    list of str
        The classes of tamiz that `load` reads, and three types of numpy, scipy and Python; no function is among them.

    Notes
    -----
    skops reads files without running code from them, and asks which types it may create. A pipeline of estimators of several
    packages needs it; `save` and `load` store a single estimator of tamiz. The first call imports all modules, about a second.

    Examples
    --------
    >>> import tamiz
    >>> "tamiz.reduction.pca.PCA" in tamiz.skops_trusted_types()
    True
    """
    names = {"builtins.frozenset", "numpy.dtype", "scipy.sparse._csr.csr_array"}
    root = import_module("tamiz")
    for module_info in walk_packages(root.__path__, "tamiz."):
        if module_info.name.split(".")[1] not in (*_STATELESS_PACKAGES, "__main__"):
            module = import_module(module_info.name)
            names |= {
                f"{value.__module__}.{name}"
                for name, value in vars(module).items()
                if isinstance(value, type) and value.__module__ == module_info.name and find_format(value)
            }
    return sorted(names)


def _import_class(name: Any) -> type:
    if not isinstance(name, str) or not _CLASS_PATTERN.fullmatch(name):
        raise DataError(f"contains a {name}, and only objects of tamiz are read from files")
    module, _, attribute = name.partition(":")
    try:
        cls = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        # The class is of a later version, or needs a package that is not installed.
        reason = str(error).rstrip(".")
        raise DataError(f"contains a {name}, which this tamiz {__version__} does not have ({reason})") from error
    if not isinstance(cls, type) or class_path(cls) != name:
        raise DataError(f"contains a {name}, which is not a class of that module")
    return cls

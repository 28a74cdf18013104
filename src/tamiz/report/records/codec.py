"""Writing records as JSON types and reading them back, driven by the types of their fields.

A record is a frozen dataclass of text, numbers, truth values, bytes, tuples, dictionaries by name, and other records. Reading
checks every value: a record that exists is whole.
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache, partial
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

from tamiz.runtime.validation import check_lengths as check_lengths
from tamiz.runtime.verdicts import CODES, Verdict

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Record = TypeVar("Record", bound=DataclassInstance)

Interval: TypeAlias = tuple[float, float]
_Read: TypeAlias = Callable[[Any], Any]
_SCALARS = {float: "a number", int: "a whole number", str: "text", bool: "true or false"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Named:
    """A method, a model or a measure: its name in options and its name in sentences."""

    id: str
    label: str


class FormatError(ValueError):
    """A value of a file that is missing or does not match its record.

    Parameters
    ----------
    fault : str
        What is wrong, as a predicate: "is missing".
    step : str, default=""
        Where, as a path of names and positions: "columns[2].kind".
    """

    def __init__(self, fault: str, step: str = "") -> None:
        self.fault = fault
        self.path = step

    def prepend(self, step: str) -> None:
        """Add the outer step of the path."""
        self.path = f"{step}.{self.path}" if self.path and not self.path.startswith("[") else f"{step}{self.path}"

    def __str__(self) -> str:
        return f"{self.path or 'it'} {self.fault}"


_PLAIN_TYPES = frozenset({float, int, str, bool, NoneType})


def to_json(record: DataclassInstance) -> dict[str, Any]:
    """Return a record as JSON types: tuples are lists, and bytes are base64 text."""
    return {field.name: _json_value(getattr(record, field.name)) for field in fields(record)}


def from_json(cls: type[Record], data: Any) -> Record:
    """Return the record that `to_json` wrote.

    Names that the record does not have are ignored. A missing name is an error unless its field has a default.

    Raises
    ------
    FormatError
        For the first value that is missing, is of another type, or does not fit the others.
    """
    record: Record = _read_record(cls, data)
    return record


def extend_record(cls: type[Record], record: DataclassInstance, **more: Any) -> Record:
    """Return the record of a subclass with the values of a record, and with others that replace or follow them."""
    return cls(**{field.name: getattr(record, field.name) for field in fields(record)} | more)


def check_known(what: str, name: str, known: Any) -> None:
    """Raise ValueError if a name is none of the known ones."""
    if name not in known:
        raise ValueError(f"{what} {name!r:.60} is unknown")


def _json_value(value: Any) -> Any:
    # Nearly all values, of which a wide table has millions.
    if type(value) in _PLAIN_TYPES:
        return value
    if isinstance(value, tuple):
        return [_json_value(member) for member in value]
    if isinstance(value, dict):
        return {name: _json_value(member) for name, member in value.items()}
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, Verdict):
        return value.to_dict()
    # A class is a dataclass as well as its instances.
    return to_json(value) if is_dataclass(value) and not isinstance(value, type) else value


@cache
def _reader(hint: Any) -> _Read:
    """Return the function that reads a value of a type."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        (present,) = (argument for argument in arguments if argument is not NoneType)
        return partial(_read_optional, _reader(present))
    if origin is Literal:
        return partial(_read_choice, arguments)
    if origin is tuple and arguments[-1] is Ellipsis:
        return partial(_read_list, _reader(arguments[0]))
    if origin is tuple:
        return partial(_read_members, tuple(map(_reader, arguments)))
    if origin is dict:
        return partial(_read_names, _reader(arguments[1]))
    if isinstance(hint, type) and is_dataclass(hint):
        return partial(_read_record, hint)
    if hint is Verdict:
        return _read_verdict
    return _read_bytes if hint is bytes else partial(_read_scalar, hint)


@cache
def _fields(cls: type[DataclassInstance]) -> tuple[tuple[str, _Read, bool], ...]:
    """Return the name of each field, the function that reads it, and whether it is required."""
    hints = get_type_hints(cls)
    return tuple((field.name, _reader(hints[field.name]), field.default is MISSING) for field in fields(cls))


def _read_record(cls: type[DataclassInstance], value: Any) -> Any:
    found = {}
    known = _require(dict, value)
    for name, read, required in _fields(cls):
        if name in known:
            found[name] = _read_at(read, known[name], name)
        elif required:
            raise FormatError("is missing", name)
    try:
        return cls(**found)
    except ValueError as error:
        raise FormatError(f"is inconsistent: {error}") from error


def _read_verdict(value: Any) -> Verdict:
    readers: dict[str, _Read] = {
        "code": partial(_read_choice, tuple(CODES)),
        "sentence": partial(_read_scalar, str),
        "columns": partial(_read_list, partial(_read_scalar, str)),
    }
    known = _require(dict, value)
    if absent := readers.keys() - known.keys():
        raise FormatError("is missing", min(absent))
    return Verdict(**{name: _read_at(read, known[name], name) for name, read in readers.items()})


def _read_optional(read: _Read, value: Any) -> Any:
    return None if value is None else read(value)


def _read_choice(choices: tuple[Any, ...], value: Any) -> Any:
    if value not in choices:
        raise FormatError(f"is none of {', '.join(map(repr, choices))}")
    return value


def _read_list(read: _Read, value: Any) -> tuple[Any, ...]:
    return tuple([_read_at(read, member, f"[{i}]") for i, member in enumerate(_require(list, value))])


def _read_members(readers: tuple[_Read, ...], value: Any) -> tuple[Any, ...]:
    members = _require(list, value)
    if len(members) != len(readers):
        raise FormatError(f"has {len(members)} members, not {len(readers)}")
    return tuple(
        [_read_at(read, member, f"[{i}]") for i, (read, member) in enumerate(zip(readers, members, strict=True))]
    )


def _read_names(read: _Read, value: Any) -> dict[str, Any]:
    # A name with unprintable characters is escaped, so that an error message stays on one line.
    return {
        name: _read_at(read, member, name if name.isprintable() else repr(name))
        for name, member in _require(dict, value).items()
    }


def _read_bytes(value: Any) -> bytes:
    try:
        return base64.b64decode(_read_scalar(str, value), validate=True)
    except binascii.Error as error:
        raise FormatError("is not base64 text") from error


def _read_scalar(kind: type, value: Any) -> Any:
    """Return text, a truth value or a finite number; a whole number is accepted for a number."""
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if not (is_whole if kind is int else isinstance(value, kind) or (kind is float and is_whole)):
        raise FormatError(f"is not {_SCALARS[kind]}")
    if kind in (int, float) and not _is_finite(value):
        number = value if isinstance(value, float) else "too large a number"
        raise FormatError(f"is {number}, and every number is finite")
    return value


def _is_finite(number: float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:
        return False


def _require(kind: type, value: Any) -> Any:
    if not isinstance(value, kind):
        raise FormatError(f"is not {'a list' if kind is list else 'a set of names and values'}")
    return value


def _read_at(read: _Read, value: Any, step: str) -> Any:
    """Return a value that was read; an error gets the step of its path."""
    try:
        return read(value)
    except FormatError as error:
        error.prepend(step)
        raise

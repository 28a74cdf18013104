"""Writing records as JSON types and reading them back, driven by the types of their fields.

A record is a frozen dataclass of text, numbers, truth values, bytes, tuples, arrays, dictionaries by name or by pairs of names, and
other records. Reading checks every value: a record that exists is whole. The properties that `json_properties` of a class names are
written too, for readers of the file, and computed again when it is read.
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache, partial
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Literal,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np

from tamiz.arrays import Masks
from tamiz.runtime.validation import check_lengths as check_lengths
from tamiz.runtime.verdicts import CODES, Verdict

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from numpy.typing import NDArray

    Record = TypeVar("Record", bound=DataclassInstance)

Interval: TypeAlias = tuple[float, float]
# Of an array.
_MAX_DIMENSIONS = 3
_Read: TypeAlias = Callable[[Any], Any]
_SCALARS = {float: "a number", int: "a whole number", str: "text", bool: "true or false"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Named:
    """A method, a model or a measure: its name in options and its name in sentences."""

    id: str
    label: str


class JsonResult:
    """A result of a public function, which is a record; `json_properties` are written beside its fields."""

    json_properties: ClassVar[tuple[str, ...]] = ()

    def __eq__(self, other: object) -> bool:
        # Arrays have no truth value that a comparison of fields could use.
        return type(self) is type(other) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON types: its fields, and properties computed from them."""
        return to_json(self)  # type: ignore[arg-type]


class FormatError(ValueError):
    """A value of a file that does not match its record: `fault` is a predicate, `step` a path as "columns[2].kind"."""

    def __init__(self, fault: str, step: str = "") -> None:
        self.fault = fault
        self.path = step

    def prepend(self, step: str) -> None:
        self.path = f"{step}.{self.path}" if self.path and not self.path.startswith("[") else f"{step}{self.path}"

    def __str__(self) -> str:
        return f"{self.path or 'it'} {self.fault}"


_PLAIN_TYPES = frozenset({float, int, str, bool, NoneType})


def to_json(record: DataclassInstance) -> dict[str, Any]:
    """Return a record as JSON types: bytes are base64 text, and the rows of an array of truth values are text of 0 and 1."""
    names = (*(field.name for field in fields(record)), *getattr(record, "json_properties", ()))
    texts = _text_fields(type(record))
    # A verdict among the notes of a result is its sentence.
    return {
        name: list(map(str, getattr(record, name))) if name in texts else _json_value(getattr(record, name))
        for name in names
    }


def pop_rows(plain: dict[str, Any], names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Remove lists of equal length from a record as JSON types, and return them as a row for each entry with other names."""
    columns = [plain.pop(name) for name in names]
    return [dict(zip(names.values(), row, strict=True)) for row in zip(*columns, strict=True)]


def from_json(cls: type[Record], data: Any) -> Record:
    """Return the record that `to_json` wrote; FormatError for the first value that is missing, is of another type, or does not fit.

    Names that the record does not have are ignored. A missing name is an error unless its field has a default.
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
        return _json_names(value)
    if isinstance(value, np.ndarray):
        return _json_bits(value) if value.dtype == bool else value.tolist()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, Verdict):
        return value.to_dict()
    # A class is a dataclass as well as its instances.
    return to_json(value) if is_dataclass(value) and not isinstance(value, type) else value


def _json_names(value: dict[Any, Any]) -> dict[str, Any]:
    """Return a dictionary by pairs of names as dictionaries of dictionaries."""
    found: dict[str, Any] = {}
    for name, member in value.items():
        if isinstance(name, tuple):
            found.setdefault(name[0], {})[name[1]] = _json_value(member)
        else:
            found[name] = _json_value(member)
    return found


def _json_bits(mask: Masks) -> Any:
    return "".join(map(str, mask.astype(int))) if mask.ndim == 1 else [_json_bits(row) for row in mask]


@cache
def _text_fields(cls: type) -> frozenset[str]:
    return frozenset(name for name, hint in get_type_hints(cls).items() if hint == tuple[str, ...])


@cache
def _reader(hint: Any) -> _Read:
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
    if origin is dict and get_origin(arguments[0]) is tuple:
        return partial(_read_pairs, partial(_read_names, partial(_read_names, _reader(arguments[1]))))
    if origin is dict:
        return partial(_read_names, _reader(arguments[1]))
    if origin is np.ndarray:
        return partial(_read_array, get_args(arguments[1])[0])
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


def _read_pairs(read: _Read, value: Any) -> dict[tuple[str, str], Any]:
    return {(first, second): member for first, named in read(value).items() for second, member in named.items()}


def _read_array(kind: type[np.generic], value: Any) -> NDArray[Any]:
    leaf: _Read = _read_bits
    if kind is not np.bool_:
        leaf, value = partial(_read_scalar, float if issubclass(kind, np.floating) else int), _require(list, value)
    found = _read_nested(leaf, value, _MAX_DIMENSIONS)
    try:
        return np.array(found, dtype=kind)
    except (ValueError, OverflowError) as error:
        raise FormatError("is not an array: its rows differ in length, or a number is too large") from error


def _read_nested(leaf: _Read, value: Any, depth: int) -> Any:
    if not (depth and isinstance(value, list)):
        return leaf(value)
    return [_read_at(partial(_read_nested, leaf, depth=depth - 1), one, f"[{i}]") for i, one in enumerate(value)]


def _read_bits(value: Any) -> list[bool]:
    if set(_read_scalar(str, value)) - {"0", "1"}:
        raise FormatError("is not text of 0 and 1")
    return [digit == "1" for digit in value]


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

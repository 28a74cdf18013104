"""The declarations of an ARFF file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from tamiz.exceptions import DataError
from tamiz.registry import suggestion
from tamiz.sources.arff_rows import split_values, strip_comment, unquote

_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_ATTRIBUTE_PATTERN = re.compile(rf"\s*@attribute\s+({_QUOTED}|[^\s{{'\"][^\s{{]*)\s*(.*)", re.IGNORECASE | re.DOTALL)
_NUMERIC_TYPES = ("numeric", "real", "integer")
_DEFAULT_DATE_FORMAT = "yyyy-MM-dd'T'HH:mm:ss"

# Java's SimpleDateFormat in the words of strptime. Runs of other lengths have no counterpart.
_STRPTIME_CODES = {
    "yyyy": "%Y", "y": "%Y", "yy": "%y", "M": "%m", "MM": "%m", "MMM": "%b", "MMMM": "%B", "d": "%d", "dd": "%d",
    "D": "%j", "DDD": "%j", "H": "%H", "HH": "%H", "h": "%I", "hh": "%I", "m": "%M", "mm": "%M", "s": "%S", "ss": "%S",
    "SSS": "%f", "a": "%p", "E": "%a", "EEE": "%a", "EEEE": "%A", "Z": "%z", "X": "%z", "XX": "%z", "XXX": "%z",
}  # fmt: skip
_JAVA_TOKEN = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']")


@dataclass(frozen=True)
class ArffAttribute:
    """One declaration: the name, "nominal", "numeric", "string" or "date", and what belongs to it."""

    name: str
    type: str
    line: int
    levels: tuple[str, ...] = ()
    date_format: str = ""


def read_header(lines: Sequence[str], path: object) -> tuple[list[ArffAttribute], int]:
    """Return the attributes, and the number of lines up to and with @data."""
    attributes: list[ArffAttribute] = []
    seen: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith("%"):
            continue
        keyword = text.split(maxsplit=1)[0].lower()
        if keyword == "@data":
            if not attributes:
                raise DataError(f"{path}, line {number}: no attributes are declared before @data.")
            return attributes, number
        if keyword == "@attribute":
            attribute = _read_attribute(strip_comment(text), number)
            if attribute.name in seen:
                raise DataError(
                    f"line {number}: attribute {attribute.name!r} is declared in line {seen[attribute.name]} already; "
                    "give every attribute a name of its own."
                )
            seen[attribute.name] = number
            attributes.append(attribute)
        elif keyword != "@relation":
            raise DataError(
                f"line {number}: {text[:40]!r} stands before @data and is no @relation, @attribute or comment."
            )
    if not attributes:
        raise DataError(f"{path} is no ARFF file: it declares no attributes and has no @data line.")
    raise DataError(f"{path} has no @data line after its {len(attributes)} attributes.")


def _read_attribute(text: str, number: int) -> ArffAttribute:
    found = _ATTRIBUTE_PATTERN.match(text)
    if found is None:
        problem = "a quote is opened and not closed" if "'" in text or '"' in text else "the attribute has no name"
        raise DataError(f"line {number}: {problem}.")
    name, rest = unquote(found[1]), found[2].strip()
    if rest.startswith("{"):
        return ArffAttribute(name, "nominal", number, levels=_read_levels(rest, name, number))
    kind, _, more = rest.partition(" ") if " " in rest else rest.partition("\t")
    kind = kind.lower()
    if kind in _NUMERIC_TYPES:
        return ArffAttribute(name, "numeric", number)
    if kind == "string":
        return ArffAttribute(name, "string", number)
    if kind == "date":
        return ArffAttribute(
            name, "date", number, date_format=_strptime_format(unquote(more.strip()) or _DEFAULT_DATE_FORMAT, number)
        )
    if kind == "relational":
        raise DataError(
            f"line {number}: attribute {name!r} is relational, a table within a cell, which cannot be used; "
            "write its columns as attributes."
        )
    if not kind:
        raise DataError(f"line {number}: attribute {name!r} has no type.")
    types = [*_NUMERIC_TYPES, "string", "date"]
    raise DataError(f"line {number}: attribute {name!r} has the unknown type {kind!r}{suggestion(kind, types)}.")


def _read_levels(text: str, name: str, number: int) -> tuple[str, ...]:
    end = text.rfind("}")
    if end < 0:
        raise DataError(f"line {number}: the levels of attribute {name!r} have no closing brace.")
    body = text[1:end].strip()
    cells = split_values(body, number) if body else []
    if len(cells) == 1 and cells[0] and " " in cells[0] and cells[0] == body:
        cells = list(body.split())
    levels = tuple("?" if cell is None else cell for cell in cells)
    if not levels:
        raise DataError(f"line {number}: attribute {name!r} declares no levels.")
    if len(set(levels)) < len(levels):
        twice = next(level for k, level in enumerate(levels) if level in levels[:k])
        raise DataError(f"line {number}: attribute {name!r} declares the level {twice!r} twice.")
    return levels


def _strptime_format(pattern: str, number: int) -> str:
    parts: list[str] = []
    at = 0
    while at < len(pattern):
        found = _JAVA_TOKEN.match(pattern, at)
        if found is None:
            raise DataError(f"line {number}: the date format {pattern!r} has a quote without an end.")
        at = found.end()
        if found[2] is None:
            literal = found[0] if found[1] is None else found[1].replace("''", "'") or "'"
            parts.append(literal.replace("%", "%%"))
        elif found[0] in _STRPTIME_CODES:
            parts.append(_STRPTIME_CODES[found[0]])
        else:
            raise DataError(
                f"line {number}: {found[0]!r} in the date format {pattern!r} is not known; "
                f"known are {', '.join(_STRPTIME_CODES)}. Declare the attribute as a string."
            )
    return "".join(parts)


def read_date(text: str, date_format: str) -> datetime:
    """Read a date by a translated format; one with an offset becomes universal time."""
    date = datetime.strptime(text, date_format)
    return date if date.tzinfo is None else date.astimezone(UTC).replace(tzinfo=None)

"""Reader of Weka's attribute-relation file format (ARFF)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from tamiz.arrays import Indices
from tamiz.exceptions import DataError
from tamiz.runtime.registry import suggestion
from tamiz.runtime.verdicts import Verdict
from tamiz.table.base import Table, is_every_row
from tamiz.table.build import ColumnSource, OpenOptions, build_table
from tamiz.table.csv_layout import find_encoding
from tamiz.table.kinds import LARGEST_EXACT_INTEGER, RawColumn, to_numbers
from tamiz.table.text_values import as_exact_integers, as_integers_or_codes

Cell = str | None

_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_ATTRIBUTE_PATTERN = re.compile(rf"\s*@attribute\s+({_QUOTED}|[^\s{{'\"][^\s{{]*)\s*(.*)", re.IGNORECASE | re.DOTALL)
_NUMERIC_TYPES = ("numeric", "real", "integer")
_DEFAULT_DATE_FORMAT = "yyyy-MM-dd'T'HH:mm:ss"

# Codes of Java's SimpleDateFormat and of strptime. Java codes of other lengths have no equivalent in strptime.
_STRPTIME_CODES = {
    "yyyy": "%Y", "y": "%Y", "yy": "%y", "M": "%m", "MM": "%m", "MMM": "%b", "MMMM": "%B", "d": "%d", "dd": "%d",
    "D": "%j", "DDD": "%j", "H": "%H", "HH": "%H", "h": "%I", "hh": "%I", "m": "%M", "mm": "%M", "s": "%S", "ss": "%S",
    "SSS": "%f", "a": "%p", "E": "%a", "EEE": "%a", "EEEE": "%A", "Z": "%z", "X": "%z", "XX": "%z", "XXX": "%z",
}  # fmt: skip
_JAVA_TOKEN = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']")


@dataclass(frozen=True)
class ArffAttribute:
    """The declaration of an attribute: its name, its type ("nominal", "numeric", "string" or "date") and its line number.

    A nominal attribute has `levels`, a date attribute a `date_format` of strptime.
    """

    name: str
    type: str
    line: int
    levels: tuple[str, ...] = ()
    date_format: str = ""


def read_header(lines: Sequence[str], path: object) -> tuple[list[ArffAttribute], int]:
    """Return the attributes and the number of header lines, the @data line included."""
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
                    f"line {number}: attribute {attribute.name!r} is already declared in line {seen[attribute.name]}; "
                    "rename one of them."
                )
            seen[attribute.name] = number
            attributes.append(attribute)
        elif keyword != "@relation":
            raise DataError(
                f"line {number}: {text[:40]!r} precedes @data and is not a @relation, an @attribute or a comment."
            )
    if not attributes:
        raise DataError(f"{path} is not an ARFF file: it declares no attributes and has no @data line.")
    raise DataError(f"{path} has no @data line after its {len(attributes)} attributes.")


def _read_attribute(text: str, number: int) -> ArffAttribute:
    found = _ATTRIBUTE_PATTERN.match(text)
    if found is None:
        problem = "a quote is not closed" if "'" in text or '"' in text else "the attribute has no name"
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
            f"line {number}: attribute {name!r} is relational (a table within a cell), which is not supported; "
            "declare its columns as attributes."
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
            raise DataError(f"line {number}: the date format {pattern!r} has a quote that is not closed.")
        at = found.end()
        if found[2] is None:
            literal = found[0] if found[1] is None else found[1].replace("''", "'") or "'"
            parts.append(literal.replace("%", "%%"))
        elif found[0] in _STRPTIME_CODES:
            parts.append(_STRPTIME_CODES[found[0]])
        else:
            raise DataError(
                f"line {number}: {found[0]!r} in the date format {pattern!r} is not supported; supported codes: "
                f"{', '.join(_STRPTIME_CODES)}. Declare the attribute as a string."
            )
    return "".join(parts)


def read_date(text: str, date_format: str) -> datetime:
    """Parse a date by a format of strptime; a date with a time zone offset is converted to UTC."""
    date = datetime.strptime(text, date_format)
    return date if date.tzinfo is None else date.astimezone(UTC).replace(tzinfo=None)


# A value and its end: a comma or the end of the line. Beside a quoted value only blanks are allowed.
_VALUE_PATTERN = re.compile(rf"\s*({_QUOTED}|[^,'\"]*)\s*(,|$)")
_SPARSE_PAIR = re.compile(rf"\s*(\d+)\s+({_QUOTED}|[^,'\"]+?)\s*(,|$)")
_WEIGHT_PATTERN = re.compile(r"[,\s]\s*\{\s*([^{},'\"]*?)\s*\}\s*$|(?<=\})\s*\{\s*([^{},'\"]*?)\s*\}\s*$")
_WORD_PATTERN = re.compile(rf"{_QUOTED}|[^\s'\"]+")
# Weka's tokenizer begins a comment at any percent sign. Here a percent sign within a word is kept: 50% is not read as 50.
_COMMENT_PATTERN = re.compile(rf"((?:{_QUOTED}|[^'\"%]|(?<=\S)%)*)(?<!\S)%.*")
_ESCAPE_PATTERN = re.compile(r"\\(u[0-9a-fA-F]{4}|.)")
_ESCAPE_CHARACTERS = {"n": "\n", "t": "\t", "r": "\r"}


@dataclass
class ArffRows:
    """The data rows as cells of text, None where missing.

    Attributes
    ----------
    lines : list of int
        The line number of every row.
    cells : list of list or dict
        A dense row is a list of its cells, a sparse row a dictionary from attribute numbers to cells.
    weights : dict of int to str
        The weights that the file contains, by position of the row.
    table : pyarrow.Table or None
        The cells in place of `cells`, if Arrow parsed the rows.
    """

    lines: list[int] = field(default_factory=list)
    cells: list[list[Cell] | dict[int, Cell]] = field(default_factory=list)
    weights: dict[int, str] = field(default_factory=dict)
    table: pa.Table | None = None

    def __len__(self) -> int:
        return len(self.lines)

    def column(self, j: int, sparse_default: Cell) -> pa.Array:
        """Return the cells of attribute j as text, null where missing; `sparse_default` is for cells absent from a sparse row."""
        if self.table is not None:
            text = self.table.column(j).combine_chunks()
            trimmed = pc.ascii_trim_whitespace(text)
            return pc.if_else(pc.equal(trimmed, "?"), pa.scalar(None, pa.string()), trimmed)
        texts = [row[j] if isinstance(row, list) else row.get(j, sparse_default) for row in self.cells]
        return pa.array(texts, pa.string())


def read_rows(lines: Sequence[str], start: int, n_attributes: int) -> ArffRows:
    """Parse the lines of the data section; `start` is the line number of the first."""
    kept = [(number, line) for number, line in enumerate(lines, start) if (text := line.strip()) and text[0] != "%"]
    numbers = [number for number, _ in kept]
    texts = [line for _, line in kept]
    if texts and not any(mark in line for line in texts for mark in "'\"{%"):
        table = _read_with_arrow(texts, n_attributes)
        if table is not None:
            return ArffRows(numbers, table=table)
    rows = ArffRows(numbers)
    for k, (number, line) in enumerate(kept):
        text = strip_comment(line) if "%" in line else line
        text, weight = _split_weight(text) if text.rstrip().endswith("}") else (text, None)
        if weight is not None:
            rows.weights[k] = weight
        rows.cells.append(_read_row(text.strip(), number, n_attributes))
    return rows


def _read_with_arrow(texts: list[str], n_attributes: int) -> pa.Table | None:
    """Return the rows parsed by Arrow, or None if a row has another number of values than `n_attributes`."""
    names = [str(j) for j in range(n_attributes)]
    body = "\n".join(texts).encode()
    try:
        return csv.read_csv(
            pa.BufferReader(body),
            csv.ReadOptions(column_names=names, block_size=max(2**20, 8 * max(map(len, texts)))),
            csv.ParseOptions(quote_char=False, double_quote=False, escape_char=False, ignore_empty_lines=False),
            csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False),
        )
    except pa.ArrowInvalid:
        return None


def strip_comment(line: str) -> str:
    found = _COMMENT_PATTERN.match(line)
    return found[1] if found else line


def _split_weight(text: str) -> tuple[str, str | None]:
    """Split a row into its values and its weight, such as `{0.5}` at the end of the line; the weight is None if there is none."""
    found = _WEIGHT_PATTERN.search(text)
    # A sparse row is itself in braces: without values before them, the braces are the row.
    if found is None or not text[: found.start()].strip():
        return text, None
    return text[: found.start()].rstrip().removesuffix(","), found[1] if found[1] is not None else found[2]


def _read_row(text: str, number: int, n_attributes: int) -> list[Cell] | dict[int, Cell]:
    if text.startswith("{"):
        return _read_sparse(text, number, n_attributes)
    if text.count(",") < n_attributes - 1 and "," not in re.sub(_QUOTED, "", text):
        _check_quotes(text, number)
        # Weka also accepts blanks and tabs as separators.
        cells = [_parse_cell(word) for word in _WORD_PATTERN.findall(text)]
    else:
        cells = split_values(text, number)
    if len(cells) != n_attributes:
        raise DataError(
            f"line {number} has {_format_count(len(cells), 'value')}, but the header declares "
            f"{_format_count(n_attributes, 'attribute')}."
        )
    return cells


def _read_sparse(text: str, number: int, n_attributes: int) -> dict[int, Cell]:
    if not text.endswith("}"):
        raise DataError(f"line {number}: the sparse row has no closing brace.")
    body = text[1:-1].strip()
    row: dict[int, Cell] = {}
    at = 0
    while at < len(body):
        found = _SPARSE_PAIR.match(body, at)
        if found is None:
            _check_quotes(body[at:], number)
            raise DataError(f"line {number}: {body[at : at + 30]!r} in a sparse row is not of the form 'number value'.")
        j = int(found[1])
        if j >= n_attributes:
            raise DataError(
                f"line {number}: attribute {j} in a sparse row does not exist; attributes are numbered 0 to {n_attributes - 1}."
            )
        if j in row:
            raise DataError(f"line {number}: attribute {j} occurs twice in a sparse row.")
        row[j] = _parse_cell(found[2])
        at = found.end()
    return row


def split_values(text: str, number: int) -> list[Cell]:
    """Split values at the commas outside quotes; None for a bare question mark."""
    cells: list[Cell] = []
    for part in text.split(","):
        word = part.strip()
        if "'" in word or '"' in word:
            inner = word[1:-1]
            # A comma, a quote or an escape within quotes needs the slower regular expression.
            if len(word) < 2 or word[0] != word[-1] or "'" in inner or '"' in inner or "\\" in inner:
                return _split_quoted(text, number)
            cells.append(inner)
        else:
            cells.append(None if word == "?" else word)
    return cells


def _split_quoted(text: str, number: int) -> list[Cell]:
    cells: list[Cell] = []
    at = 0
    while True:
        found = _VALUE_PATTERN.match(text, at)
        if found is None:
            _check_quotes(text[at:], number)
            raise DataError(
                f"line {number}: text before or after a quoted value at {text[at : at + 30]!r}; quote the whole value."
            )
        cells.append(_parse_cell(found[1]))
        at = found.end()
        if not found[2]:
            return cells


def _check_quotes(text: str, number: int) -> None:
    rest = re.sub(_QUOTED, "", text)
    if "'" in rest or '"' in rest:
        raise DataError(f"line {number}: a quote is not closed; write a quote within a value as \\'.")


def _parse_cell(word: str) -> Cell:
    word = word.strip()
    return None if word == "?" else unquote(word)


def unquote(word: str) -> str:
    """Return a value without its quotes and with its escape sequences resolved."""
    if len(word) < 2 or word[0] not in "'\"" or word[-1] != word[0]:
        return word
    inner = word[1:-1]
    return _ESCAPE_PATTERN.sub(_unescape, inner) if "\\" in inner else inner


def _unescape(found: re.Match[str]) -> str:
    escaped = found[1]
    return chr(int(escaped[1:], 16)) if len(escaped) == 5 else _ESCAPE_CHARACTERS.get(escaped, escaped)


def _format_count(n: int, what: str) -> str:
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def open_arff(path: Path, options: OpenOptions) -> Table:
    """Open an ARFF file: dense or sparse rows; nominal, numeric, string and date attributes; row weights.

    Row weights in the file are used unless the options name other weights. In a sparse row, an absent numeric attribute is 0, an
    absent nominal attribute is the first declared level, and an absent string is missing. An ARFF file declares no target: the
    last attribute, Weka's default class, is a column like the others.
    """
    with path.open(encoding=find_encoding(path)[0]) as file:
        lines = file.read().split("\n")
    attributes, n_header = read_header(lines, path)
    rows = read_rows(lines[n_header:], n_header + 1, len(attributes))
    if not len(rows) and options.reader is None:
        raise DataError(f"{path} has no rows after its @data line (line {n_header}).")
    by_name = {attribute.name: j for j, attribute in enumerate(attributes)}

    def describe_row(at: int) -> str:
        return f"line {rows.lines[at]}"

    def load(name: str) -> RawColumn:
        j = by_name[name]
        return _read_column(attributes[j], rows, j)

    def make_frame(names: Sequence[str], kept: Indices) -> Any:
        table = pa.table({name: _frame_values(load(name).values, rows, by_name[name]) for name in names})
        return table if is_every_row(kept, len(rows)) else table.take(pa.array(kept))

    use_file_weights = bool(rows.weights) and options.weight is None and options.reader is None
    if use_file_weights:
        options = replace(options, weight=_read_weights(rows))
    opened = build_table(ColumnSource(list(by_name), len(rows), load, make_frame, describe_row), options)
    if use_file_weights:
        sentence = (
            f"The file contains a weight for {len(rows.weights):,} of {len(rows):,} rows; the others have weight 1."
        )
        opened.schema = replace(opened.schema, notes=(*opened.schema.notes, Verdict("TZ208", sentence)))
    return opened


def _read_column(attribute: ArffAttribute, rows: ArffRows, j: int) -> RawColumn:
    if attribute.type == "nominal":
        return RawColumn(attribute.name, _read_nominal(attribute, rows, j), "categorical", ordered=True)
    if attribute.type == "string":
        return RawColumn(attribute.name, rows.column(j, None))
    if attribute.type == "date":
        return RawColumn(attribute.name, _read_dates(attribute, rows, j), "date")
    text = rows.column(j, "0")
    numbers = to_numbers(RawColumn(attribute.name, text), lambda at: f"line {rows.lines[at]}")
    whole = as_exact_integers(text) if np.fmax.reduce(np.abs(numbers), initial=0.0) >= LARGEST_EXACT_INTEGER else None
    return RawColumn(attribute.name, numbers if whole is None else whole)


def _frame_values(values: Any, rows: ArffRows, j: int) -> pa.Array:
    if not isinstance(values, np.ndarray):
        return values
    whole = as_integers_or_codes(rows.column(j, "0"))
    return pa.array(values, from_pandas=True) if whole is None else whole


def _read_nominal(attribute: ArffAttribute, rows: ArffRows, j: int) -> pa.Array:
    text = rows.column(j, attribute.levels[0])
    levels = pa.array(attribute.levels, pa.string())
    codes = pc.index_in(text, value_set=levels)
    if codes.null_count != text.null_count:
        at = int(np.flatnonzero(np.asarray(pc.and_(codes.is_null(), text.is_valid())))[0])
        value = text[at].as_py()
        raise DataError(
            f"line {rows.lines[at]}, column {attribute.name}: {value!r} is not among the {len(levels)} levels "
            f"declared in line {attribute.line}{suggestion(value, attribute.levels)}."
        )
    return pa.DictionaryArray.from_arrays(codes, levels)


def _read_dates(attribute: ArffAttribute, rows: ArffRows, j: int) -> pa.Array:
    # A date that is absent from a sparse row is the number 0, 1970-01-01 00:00:00.
    text = rows.column(j, "").dictionary_encode()
    dates = []
    for code, word in enumerate(text.dictionary.to_pylist()):
        try:
            dates.append(read_date(word, attribute.date_format) if word else np.datetime64(0, "us").item())
        except ValueError:
            at = int(np.flatnonzero(np.asarray(pc.equal(text.indices, code).fill_null(False)))[0])
            raise DataError(
                f"line {rows.lines[at]}, column {attribute.name}: {word!r} is not a date of the format declared in "
                f"line {attribute.line}."
            ) from None
    return pa.array(dates, pa.timestamp("us")).take(text.indices)


def _read_weights(rows: ArffRows) -> RawColumn:
    weights = np.ones(len(rows))
    for at, text in rows.weights.items():
        try:
            weights[at] = float(text)
        except ValueError:
            raise DataError(f"line {rows.lines[at]}: the weight {text!r} is not a number.") from None
    return RawColumn("weight", weights)

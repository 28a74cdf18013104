"""The rows of an ARFF file: cells as text, each with the line it came from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from tamiz.exceptions import DataError

Cell = str | None

_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
# One value and what ends it: a comma or the end; a quoted value must be all there is between two commas.
_VALUE_PATTERN = re.compile(rf"\s*({_QUOTED}|[^,'\"]*)\s*(,|$)")
_SPARSE_PAIR = re.compile(rf"\s*(\d+)\s+({_QUOTED}|[^,'\"]+?)\s*(,|$)")
_WEIGHT_PATTERN = re.compile(r"[,\s]\s*\{\s*([^{},'\"]*?)\s*\}\s*$|(?<=\})\s*\{\s*([^{},'\"]*?)\s*\}\s*$")
_WORD_PATTERN = re.compile(rf"{_QUOTED}|[^\s'\"]+")
# Weka's tokenizer cuts at any percent sign; here one within a word stays, so that a bare 50% is not read as 50.
_COMMENT_PATTERN = re.compile(rf"((?:{_QUOTED}|[^'\"%]|(?<=\S)%)*)(?<!\S)%.*")
_ESCAPE_PATTERN = re.compile(r"\\(u[0-9a-fA-F]{4}|.)")
_ESCAPE_CHARACTERS = {"n": "\n", "t": "\t", "r": "\r"}


@dataclass
class ArffRows:
    """Rows of text cells, None where missing; a sparse row is a dictionary of the cells it mentions."""

    lines: list[int] = field(default_factory=list)
    cells: list[list[Cell] | dict[int, Cell]] = field(default_factory=list)
    weights: dict[int, str] = field(default_factory=dict)
    table: pa.Table | None = None

    def __len__(self) -> int:
        return len(self.lines)

    def column(self, j: int, sparse_default: Cell) -> pa.Array:
        """Return the cells of attribute j as text, null where missing."""
        if self.table is not None:
            text = self.table.column(j).combine_chunks()
            trimmed = pc.ascii_trim_whitespace(text)
            return pc.if_else(pc.equal(trimmed, "?"), pa.scalar(None, pa.string()), trimmed)
        texts = [row[j] if isinstance(row, list) else row.get(j, sparse_default) for row in self.cells]
        return pa.array(texts, pa.string())


def read_rows(lines: Sequence[str], start: int, n_attributes: int) -> ArffRows:
    """Read the lines of the data section; `start` is the number of the first one."""
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
    """Return the rows read by Arrow, or None when a row is not as long as the others."""
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
    """Return the line up to a percent sign that begins a comment."""
    found = _COMMENT_PATTERN.match(line)
    return found[1] if found else line


def _split_weight(text: str) -> tuple[str, str | None]:
    """Cut a row's weight, `{0.5}` at its end, off."""
    found = _WEIGHT_PATTERN.search(text)
    # A sparse row is in braces itself: what is left must still be a row.
    if found is None or not text[: found.start()].strip():
        return text, None
    return text[: found.start()].rstrip().removesuffix(","), found[1] if found[1] is not None else found[2]


def _read_row(text: str, number: int, n_attributes: int) -> list[Cell] | dict[int, Cell]:
    if text.startswith("{"):
        return _read_sparse(text, number, n_attributes)
    if text.count(",") < n_attributes - 1 and "," not in re.sub(_QUOTED, "", text):
        _check_quotes(text, number)
        # Weka lets blanks and tabs part values as well.
        cells = [_parse_cell(word) for word in _WORD_PATTERN.findall(text)]
    else:
        cells = split_values(text, number)
    if len(cells) != n_attributes:
        raise DataError(
            f"line {number}: {_format_count(len(cells), 'value')}, {_format_count(n_attributes, 'attribute')}."
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
            raise DataError(f"line {number}: {body[at : at + 30]!r} is not 'number value', as a sparse row has it.")
        j = int(found[1])
        if j >= n_attributes:
            raise DataError(f"line {number}: attribute {j} in a sparse row; they are numbered 0 to {n_attributes - 1}.")
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
            # A comma, a quote or an escape within quotes is left to the slower way.
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
                f"line {number}: text beside a quoted value at {text[at : at + 30]!r}; quote the whole value."
            )
        cells.append(_parse_cell(found[1]))
        at = found.end()
        if not found[2]:
            return cells


def _check_quotes(text: str, number: int) -> None:
    rest = re.sub(_QUOTED, "", text)
    if "'" in rest or '"' in rest:
        raise DataError(f"line {number}: a quote is opened and not closed; write a quote within a value as \\'.")


def _parse_cell(word: str) -> Cell:
    word = word.strip()
    return None if word == "?" else unquote(word)


def unquote(word: str) -> str:
    """Return a value without its quotes, escapes resolved."""
    if len(word) < 2 or word[0] not in "'\"" or word[-1] != word[0]:
        return word
    inner = word[1:-1]
    return _ESCAPE_PATTERN.sub(_unescape, inner) if "\\" in inner else inner


def _unescape(found: re.Match[str]) -> str:
    escaped = found[1]
    return chr(int(escaped[1:], 16)) if len(escaped) == 5 else _ESCAPE_CHARACTERS.get(escaped, escaped)


def _format_count(n: int, what: str) -> str:
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"

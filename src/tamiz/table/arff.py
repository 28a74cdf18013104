"""Reader of Weka's attribute-relation file format (ARFF)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamiz.arrays import Indices
from tamiz.exceptions import DataError
from tamiz.runtime.registry import suggestion
from tamiz.runtime.verdicts import Verdict
from tamiz.table.arff_parser import ArffAttribute, ArffRows, read_date, read_header, read_rows
from tamiz.table.base import Table
from tamiz.table.csv_layout import find_encoding
from tamiz.table.encoded_table import OpenOptions, build_table, is_every_row
from tamiz.table.kinds import to_numbers
from tamiz.table.raw_column import LARGEST_EXACT_INTEGER, RawColumn
from tamiz.table.text_values import as_exact_integers, as_integers_or_codes


def open_arff(path: Path, options: OpenOptions) -> Table:
    """Open an ARFF file: dense or sparse rows; nominal, numeric, string and date attributes; row weights.

    Row weights in the file are used unless the options name other weights. In a sparse row, an absent numeric attribute is 0, an
    absent nominal attribute is the first declared level, and an absent string is missing. An ARFF file declares no target: the
    last attribute, Weka's default class, is a column like the others.
    """
    with path.open(encoding=find_encoding(path)) as file:
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
    opened = build_table(list(by_name), load, options, make_frame, describe_row=describe_row)
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

"""One door for every table: `open_source` by name or data, `as_source` for what `fit` is given."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamiz.exceptions import DataError
from tamiz.runtime.memory import SizeLike, limit_memory, parse_size
from tamiz.runtime.user_warnings import warn_user
from tamiz.sources import registry
from tamiz.sources.base import Source
from tamiz.sources.date_parts import merge_date_parts, split_dates_like
from tamiz.sources.in_memory import column_loader, eager_frame, is_frame, open_array, open_frame, to_raw_column
from tamiz.sources.schema import Kind, Schema
from tamiz.sources.schema_reader import SchemaReader, encode_known_column
from tamiz.sources.sparse import SparseTable, open_sparse
from tamiz.sources.table import OpenOptions, TableSource


# MERGED: Infinite values for who reads them: in a table they count as missing, and are handed on as they are.
def mask_infinite(data: Any) -> tuple[Any, bytes]:
    """Return an array or a frame with its infinite values missing, itself where it has none, and what tells where they were."""
    if isinstance(data, np.ndarray):
        infinite = np.isinf(data) if data.dtype.kind == "f" else np.zeros(0, dtype=bool)
        return (np.where(infinite, np.nan, data), _position_digest(infinite, data)) if infinite.any() else (data, b"")
    if not is_frame(data):
        return data, b""
    frame, told = eager_frame(data), b""
    for j, dtype in enumerate(frame.schema.values()):
        if not dtype.is_float():
            continue
        series = frame[:, j]
        values = series.to_numpy().astype(np.float64, copy=False)
        infinite = np.isinf(values)
        if infinite.any():
            told += str(j).encode() + _position_digest(infinite, values)
            shown = nw.new_series(series.name, np.where(infinite, np.nan, values), backend=frame.implementation)
            frame = frame.with_columns(shown)
    return (frame.to_native(), told) if told else (data, b"")


def _position_digest(infinite: np.ndarray[Any, Any], values: np.ndarray[Any, Any]) -> bytes:
    at = np.flatnonzero(infinite)
    return hashlib.sha256(at.tobytes() + np.signbit(values.ravel()[at]).tobytes()).digest()


# MERGED: New rows read as the columns of a table that was seen before.
def align_to_schema(X: Any, schema: Schema) -> Source:
    """Return new rows under a fitted schema: its kinds, its levels, its columns left out; the missing values are their own.

    A level that the schema does not know is missing, and told of. Columns are taken by position. A source whose columns have the
    same names, kinds and levels, such as one opened under the schema (`open_source(like=)`), is returned as it is; any other, such
    as a file with a level more or less, is read whole into memory.
    """
    if isinstance(X, Source) and _same_columns(X.schema, schema):
        return X
    if (whole := merge_date_parts(schema)) is not schema:
        return split_dates_like(align_to_schema(X, whole), schema)
    numbers = None
    if isinstance(X, Source):
        X, numbers = X.frame([j for j, column in enumerate(X.schema.columns) if not column.date_part]), X.row_numbers
    held = SparseTable(X) if sparse.issparse(X) else None
    names, load = column_loader(X) if held is None else (held.names, held.raw_column)
    if len(names) != schema.n_columns:
        raise DataError(f"X has {len(names)} features, but {schema.n_columns} were there in fit.")
    n = len(load(names[0]))
    rows = np.arange(n) if numbers is None else numbers

    def word(at: int) -> str:
        return f"row {rows[at]}"

    columns, values = list(schema.columns), dict[int, NDArray[Any]]()
    told: list[str] = []
    for j in schema.used.tolist():
        columns[j], values[j], sentences = encode_known_column(schema.columns[j], load(names[j]), word)
        told += sentences
    if held is not None:
        values |= held.as_floats().lazy_columns(j for j in values if columns[j].is_number)
    warn_user(told)
    return TableSource(Schema(tuple(columns), n), values, None, None, rows, lambda *_: X)


def _same_columns(new: Schema, known: Schema) -> bool:
    """Whether the same columns take part under the same names, their values encoded alike."""
    if new.n_columns != known.n_columns or not np.array_equal(new.used, known.used):
        return False
    pairs = ((new.columns[j], known.columns[j]) for j in known.used.tolist())
    return all((a.name, a.kind, a.levels) == (b.name, b.kind, b.levels) for a, b in pairs)


def open_source(
    data: Any,
    target: Any = None,
    *,
    kinds: Mapping[str, Kind] | Kind | None = None,
    weight: Any = None,
    groups: Any = None,
    time: Any = None,
    memory: SizeLike | None = None,
    schema: Schema | None = None,
    header: bool | None = None,
) -> Source:
    """Open a table: a file, an array, a sparse matrix or a data frame.

    Parameters
    ----------
    data : path, array or sparse matrix of shape (n_samples, n_columns), or data frame
        CSV, TSV, Parquet, Arrow or ARFF by the name's ending; pandas, polars or Arrow frames; a numpy array; a sparse matrix of
        scipy, whose columns are read one by one and never all written out.
    target : str or array of shape (n_samples,), default=None
        The name of a column, or the target's values. Text, booleans and categories are classes, and so are integers of up
        to 20 distinct values; other numbers are numbers. Rows without a target are left out, and their number is told.
    kinds : mapping of name to kind, or one kind for every column but the target, default=None
        "numeric", "categorical", "boolean", "date", "text" or "id" in place of what is guessed; text and id are left out. A
        date of kind "numeric" is a number, seconds since 1970, that `split_dates` leaves as it is.
    weight : str or array of shape (n_samples,), default=None
        The name of a column with the weight of every row, or the weights. A weight counts as that many rows; weights that sum
        to less than 2, such as those normalised to sum 1, are scaled to a mean of 1.
    groups : str or array of shape (n_samples,), default=None
        The name of a column with the group of every row, such as a patient, or the groups: folds keep a group together.
    time : str or array of shape (n_samples,), default=None
        The name of a column with the time of every row, numbers or dates, or the times: folds test on what comes later.
    memory : str or int, default=None
        What the process may take at most, "800MB" or "1.5GiB" or a number of bytes, its programs and libraries included; it holds
        as long as the source is there. None is what the machine has.
    schema : Schema, default=None
        The columns of a table that was fitted, such as a model's `schema_`: columns are taken by these names, in any order, with
        these kinds and levels, and nothing is guessed anew from rows that may be few. Other columns, the target among them, are
        not read. A level that is not among these counts as missing, and is told of. The table may have no row.
    header : bool, default=None
        Whether the first row of a file of separated values names the columns; without names they are x0, x1, ... None finds out,
        and where the row is numbers a note of the schema states what was assumed.

    Returns
    -------
    Source
        With its `schema`: kinds, levels, missing values, and the columns left out with the reason.

    Raises
    ------
    DataError
        When the table, a column or a value cannot be used; the message says which.
    OSError
        When the file cannot be read, or the disk has no room for what it is parsed into.
    MemoryError
        When the memory stated is too little; the message says how much would do.

    Examples
    --------
    >>> import numpy as np
    >>> from tamiz import open_source
    >>> source = open_source(np.array([[1.0, 5.0], [2.0, np.nan], [3.0, 7.0]]), target=["a", "b", "a"])
    >>> [(column.name, column.kind, column.n_missing) for column in source.schema.columns]
    [('x0', 'numeric', 0), ('x1', 'numeric', 1)]
    >>> source.schema.target.levels
    ('a', 'b')
    """
    if schema is not None:
        if any(given is not None for given in (target, kinds, weight, groups, time)):
            raise TypeError("like= says what every column is: leave target, kinds, weight, groups and time out.")
        return open_with_reader(data, SchemaReader(schema), memory=memory, header=header)
    roles = OpenOptions(
        _role_column(target, "target"),
        _role_column(weight, "weight"),
        _check_kinds(kinds),
        _role_column(groups, "group"),
        _role_column(time, "time"),
        header=header,
    )
    return _open_with_limit(data, roles, memory)


def open_without_target(
    data: Any,
    known_columns: Sequence[str],
    *,
    kinds: Mapping[str, Kind] | None = None,
    weight: str | None = None,
    memory: SizeLike | None = None,
    header: bool | None = None,
) -> Source:
    """Open a table without a target, so that rows which lack one stay; `known_columns` are columns that it has, such as the target's."""
    roles = OpenOptions(weight=weight, kinds=_check_kinds(kinds), header=header, expected_columns=tuple(known_columns))
    return _open_with_limit(data, roles, memory)


def open_with_reader(
    data: Any, reader: SchemaReader, *, memory: SizeLike | None = None, header: bool | None = None
) -> Source:
    """Open new rows under the columns of a table that was fitted."""
    # Parts of dates are computed from the dates of the new rows.
    whole = merge_date_parts(reader.schema)
    source = _open_with_limit(data, OpenOptions(reader=replace(reader, schema=whole), header=header), memory)
    return source if whole is reader.schema else split_dates_like(source, reader.schema)


def open_batch(X: Any, kinds: Mapping[str, Kind]) -> Source:
    """Open one batch of rows, 1 row at least, with the kinds that its columns have so far; it has no target."""
    return _open_data(X, OpenOptions(kinds=kinds or None, is_batch=True))


def _open_with_limit(data: Any, options: OpenOptions, memory: SizeLike | None) -> Source:
    with limit_memory(None if memory is None else parse_size("memory", memory)) as limit:
        source = _open_data(data, options)
        source.memory_limit = limit
    return source


def _open_data(data: Any, options: OpenOptions) -> Source:
    if options.header is not None and not isinstance(options.header, bool):
        raise TypeError(f"header must be True, False or None, got {options.header!r}.")
    if isinstance(data, str | os.PathLike):
        return _open_file(Path(data), options)
    if options.header is not None:
        raise TypeError(
            f"header= is for files of separated values; a {type(data).__name__} has names or none: leave it out."
        )
    if sparse.issparse(data):
        return open_sparse(data, options)
    if options.allow_infinite:
        shown, told = mask_infinite(data)
        source = _open_data(shown, replace(options, allow_infinite=False, frame_data=data if told else None))
        source.infinite_digest = told
        return source
    return open_frame(data, options) if is_frame(data) else open_array(data, options)


def as_source(
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    groups: Any = None,
    time: Any = None,
    allow_infinite: bool = False,
) -> Source:
    """Return what `fit(X, y, sample_weight=...)` was given as a source; a source as it is.

    Infinite values are refused, but for who hands them on to an estimator that reads them.
    """
    if isinstance(X, Source):
        if any(given is not None for given in (y, sample_weight, groups, time)):
            raise TypeError("A source has its own target and weights: pass them to open_source, not to fit.")
        return X
    if isinstance(X, str | os.PathLike):
        raise TypeError(f"X takes a table, got the name {str(X)!r}: fit on open_source({str(X)!r}, target=...).")
    if isinstance(y, str):
        raise TypeError(f"y takes the target's values, got the name {y!r}: fit on open_source(X, target={y!r}).")
    for name, role, values, given in (
        ("sample_weight", "weight", "weights", sample_weight),
        ("groups", "groups", "groups", groups),
        ("time", "time", "times", time),
    ):
        if isinstance(given, str):
            raise TypeError(
                f"{name} takes the {values}, got the name {given!r}: fit on open_source(X, {role}={given!r})."
            )
    if not allow_infinite:
        return open_source(X, y, weight=sample_weight, groups=groups, time=time)
    roles = OpenOptions(
        *(_role_column(y, "target"), _role_column(sample_weight, "weight")),
        groups=_role_column(groups, "group"),
        time=_role_column(time, "time"),
        allow_infinite=True,
    )
    return _open_with_limit(X, roles, None)


def _role_column(values: Any, name: str) -> Any:
    return values if values is None or isinstance(values, str) else to_raw_column(values, name)


def _check_kinds(kinds: Any) -> Any:
    if isinstance(kinds, Mapping):
        return {str(name): kind for name, kind in kinds.items()}
    if kinds is None or isinstance(kinds, str):
        return kinds
    raise TypeError(f"kinds must be a kind or a mapping of names to kinds, got {kinds!r}.")


def _open_file(path: Path, options: OpenOptions) -> Source:
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}.")
    readers = {entry.name: entry for entry in registry.of_kind("file")}
    if path.is_dir():
        if any(path.rglob("*.parquet")):
            return readers["parquet"].load()(path, options)
        raise IsADirectoryError(f"{path} is a folder without Parquet files; name a file in it.")
    ending = path.suffix.lstrip(".").lower()
    reader = readers.get(ending, readers["csv"])
    if options.header is not None and reader.load() is not readers["csv"].load():
        raise DataError(
            f"header= and --header are for files of separated values, and {path} has names of its own: leave them out."
        )
    return reader.load()(path, options)

"""One door for every table: `open_source` by name or data, `as_source` for what `fit` is given."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from scipy import sparse

from tamiz.exceptions import DataError
from tamiz.memory import SizeLike, limit_memory, parse_size
from tamiz.sources import registry
from tamiz.sources.base import Source
from tamiz.sources.date_parts import merge_date_parts, split_dates_like
from tamiz.sources.fitted import SchemaReader
from tamiz.sources.infinite import mask_infinite
from tamiz.sources.memory import is_frame, open_array, open_frame, to_raw_column
from tamiz.sources.schema import Kind, Schema
from tamiz.sources.sparse import open_sparse
from tamiz.sources.table import OpenOptions


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

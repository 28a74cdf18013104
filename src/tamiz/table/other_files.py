"""Files of other programs: spreadsheets, JSON, arrays, statistical packages and databases, each read by a library for it.

The sheet, table or array of a file is named after two colons: `book.xlsx::prices`. Sheets are read as text, by the rules for files
of separated values: title lines above the header, numbers and dates as people write them.
"""

from __future__ import annotations

import csv
import datetime
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa

from tamiz.exceptions import DataError
from tamiz.runtime.optional_imports import import_optional
from tamiz.runtime.registry import suggestion
from tamiz.runtime.user_warnings import list_names
from tamiz.runtime.verdicts import Verdict
from tamiz.table.base import Table
from tamiz.table.build import OpenOptions
from tamiz.table.csv_reader import open_csv
from tamiz.table.in_memory import open_array, open_frame, open_sparse

# Integers up to here are exact in a spreadsheet.
_LARGEST_CELL = 1e15


def open_excel(path: Path, options: OpenOptions) -> Table:
    """Open a sheet of a spreadsheet (xlsx, xlsm, xlsb, xls, ods); the first with values, if none is named."""
    calamine = import_optional(
        "python_calamine", feature="A spreadsheet", package="python-calamine", min_version="0.3", extra="excel"
    )
    try:
        book = calamine.CalamineWorkbook.from_path(str(path))
        names = book.sheet_names
        chosen = options.file.part or _first_sheet(path, book, names)
        _check_part(path, chosen, names, "sheet")
        sheet = book.get_sheet_by_name(chosen)
        with TemporaryDirectory(prefix="tamiz-") as folder:
            written = Path(folder, path.name)
            _write_cells(written, sheet.iter_rows(), above=sheet.start[0] if sheet.start else 0)
            table = open_csv(
                written, replace(options, file=replace(options.file, part=None, encoding="utf-8", sep=","))
            )
    except calamine.CalamineError as error:
        raise DataError(f"{path} cannot be read as a spreadsheet: {error}.") from None
    others = [name for name in names if name != chosen]
    if others and options.file.part is None:
        name_one = f"name one as {path.name}::{others[0]}"
        note = f"{path.name}: the sheet {chosen!r} was read. The others are {list_names(others)}; {name_one}."
        table.schema = replace(table.schema, notes=(*table.schema.notes, Verdict("TZ205", note)))
    return table


def _first_sheet(path: Path, book: Any, names: list[str]) -> str:
    chosen = next((name for name in names if book.get_sheet_by_name(name).height > 1), None)
    if chosen is None:
        raise DataError(f"{path} has no sheet with a header and rows; its sheets are {list_names(names)}.")
    return chosen


def _write_cells(path: Path, rows: Iterable[Sequence[Any]], above: int) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write("\n" * above)
        write = csv.writer(file, lineterminator="\n")
        write.writerows([_cell_text(cell) for cell in row] for row in rows)


def _cell_text(cell: Any) -> str:
    if isinstance(cell, bool):
        return str(cell)
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) <= _LARGEST_CELL else repr(cell)
    if isinstance(cell, datetime.timedelta):
        return repr(cell.total_seconds())
    return str(cell)


def open_json(path: Path, options: OpenOptions) -> Table:
    """Open records in JSON: a list of objects, or an object on each line."""
    import duckdb

    try:
        with duckdb.connect(config={"autoinstall_known_extensions": False}) as connection:
            connection.execute("SET enable_progress_bar = false")
            found = connection.read_json(str(path)).to_arrow_table()
    except duckdb.Error as error:
        reason = str(error).splitlines()[0].partition(": ")[2]
        raise DataError(
            f"{path} cannot be read as JSON records (a list of objects, or one on each line): {reason}"
        ) from None
    if found.column_names == ["json"]:
        raise DataError(f"{path} is JSON, but no list of objects with the same keys, which are the columns.")
    return open_frame(found, options)


def open_npy(path: Path, options: OpenOptions) -> Table:
    """Open an array of numpy: two-dimensional, or of records with named fields."""
    return _open_numpy(path, _load_numpy(path), options)


def open_npz(path: Path, options: OpenOptions) -> Table:
    """Open arrays of numpy: a sparse matrix of scipy, a two-dimensional array, or columns of equal length by their names."""
    with _load_numpy(path) as stored:
        if {"format", "shape", "data"} <= set(stored.files):
            from scipy.sparse import load_npz

            return open_sparse(load_npz(path), options)
        arrays = {name: stored[name] for name in stored.files}
    return _open_arrays(path, arrays, options)


def open_mat(path: Path, options: OpenOptions) -> Table:
    """Open a matrix of MATLAB (before version 7.3)."""
    from scipy.io import loadmat

    try:
        stored = loadmat(path)
    except (ValueError, TypeError, OSError, NotImplementedError) as error:
        raise DataError(f"{path} cannot be read as a MATLAB file: {str(error).splitlines()[0]}") from None
    arrays = {name: value for name, value in stored.items() if not name.startswith("__")}
    return _open_arrays(path, arrays, options)


def _load_numpy(path: Path) -> Any:
    try:
        return np.load(path, allow_pickle=False)
    except ValueError as error:
        if "pickle" in str(error):
            raise DataError(
                f"{path} contains Python objects, which may run code when they are read; save numbers or text."
            ) from None
        raise DataError(f"{path} cannot be read as an array of numpy: {error}.") from None
    except (EOFError, OSError) as error:
        raise DataError(f"{path} is damaged or not complete: {error}.") from None


def _open_arrays(path: Path, arrays: dict[str, Any], options: OpenOptions) -> Table:
    from scipy import sparse

    if options.file.part is not None:
        _check_part(path, options.file.part, list(arrays), "array")
        arrays = {options.file.part: arrays[options.file.part]}
    matrices = [name for name, array in arrays.items() if getattr(array, "ndim", 0) == 2 and min(array.shape) > 1]
    columns = {
        name: array.ravel() for name, array in arrays.items() if name not in matrices and isinstance(array, np.ndarray)
    }
    if len(matrices) == 1:
        matrix = arrays[matrices[0]]
        if sparse.issparse(matrix):
            return open_sparse(matrix, options)
        return _open_numpy(path, matrix, options)
    if not matrices and columns and len({len(column) for column in columns.values()}) == 1:
        return open_frame(pa.table({name: _to_arrow(column) for name, column in columns.items()}), options)
    example = f"{path.name}::{next(iter(arrays), '')}"
    raise DataError(
        f"{path} has several arrays ({list_names(list(arrays))}): name the table among them, as '{example}'."
    )


def _to_arrow(column: Any) -> pa.Array:
    return pa.array(column.astype(str) if column.dtype.kind == "S" else column)


def _open_numpy(path: Path, array: Any, options: OpenOptions) -> Table:
    if array.dtype.names:
        return open_frame(pa.table({name: _to_arrow(array[name]) for name in array.dtype.names}), options)
    if array.ndim != 2:
        raise DataError(f"{path} contains an array of {array.ndim} dimensions; a table has 2: rows and columns.")
    return open_array(array, options)


def _statistical(reader: str, label: str) -> Callable[[Path, OpenOptions], Table]:
    def open_file(path: Path, options: OpenOptions) -> Table:
        package = import_optional(
            "pyreadstat", feature=f"A file of {label}", package="pyreadstat", min_version="1.2", extra="statistics"
        )
        try:
            frame, _ = getattr(package, reader)(str(path), apply_value_formats=True, formats_as_category=True)
        except package.ReadstatError as error:
            raise DataError(f"{path} cannot be read as a {label} file: {error}.") from None
        return open_frame(frame, options)

    open_file.__doc__ = f"Open a file of {label}; values with labels are categories."
    return open_file


open_stata = _statistical("read_dta", "Stata")
open_sas = _statistical("read_sas7bdat", "SAS")
open_xport = _statistical("read_xport", "SAS transport")
open_spss = _statistical("read_sav", "SPSS")


def open_sqlite(path: Path, options: OpenOptions) -> Table:
    """Open a table or view of an SQLite database."""
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        try:
            names = [
                name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
            ]
            quoted = _choose_table(path, names, options.file.part).replace('"', '""')
            cursor = connection.execute(f'SELECT * FROM "{quoted}"')
            columns: list[list[Any]] = [[] for _ in cursor.description]
            for row in cursor:
                for column, value in zip(columns, row, strict=True):
                    column.append(value)
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise DataError(f"{path} cannot be read as an SQLite database: {error}.") from None
    names = [name for name, *_ in cursor.description]
    return open_frame(pa.table([_values_of_any_type(column) for column in columns], names=names), options)


def _values_of_any_type(values: list[Any]) -> pa.Array:
    """Return values, which SQLite may store with a type each, as text if they have several."""
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if value is None else str(value) for value in values], pa.string())


def open_duckdb(path: Path, options: OpenOptions) -> Table:
    """Open a table or view of a DuckDB database."""
    import duckdb

    try:
        with duckdb.connect(str(path), read_only=True) as connection:
            connection.execute("SET enable_progress_bar = false")
            names = [
                name for (name,) in connection.execute("SELECT table_name FROM information_schema.tables").fetchall()
            ]
            found = connection.table(f'"{_choose_table(path, names, options.file.part)}"').to_arrow_table()
    except duckdb.Error as error:
        raise DataError(f"{path} cannot be read as a DuckDB database: {str(error).splitlines()[0]}") from None
    return open_frame(found, options)


def _choose_table(path: Path, names: Sequence[str], part: str | None) -> str:
    if part is not None:
        _check_part(path, part, names, "table")
        return part
    if len(names) == 1:
        return names[0]
    if not names:
        raise DataError(f"{path} is a database without tables.")
    raise DataError(
        f"{path} is a database of {len(names):,} tables ({list_names(names)}): name one, as in '{path.name}::{names[0]}'."
    )


def _check_part(path: Path, part: str, names: Sequence[str], what: str) -> None:
    if part not in names:
        raise DataError(f"{path} has no {what} {part!r}{suggestion(part, names)}; it has {list_names(list(names))}.")

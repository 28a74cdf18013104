"""Tables from what users pass: `open_table` reads files and data, `as_table` the arguments of `fit`.

New rows for a fitted model are read with the model's schema: `open_with_reader` finds columns by name, `align_to_schema` by
position. The last functions read the rest of what an estimator needs of X: its numbers of rows and columns, names and type.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, Literal, TypedDict, Unpack

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import Tags
from sklearn.utils.validation import validate_data

from tamiz.arrays import Indices
from tamiz.exceptions import DataError
from tamiz.runtime.memory import SizeLike, limit_memory, parse_size
from tamiz.runtime.user_warnings import warn_user
from tamiz.runtime.validation import check_choice
from tamiz.runtime.verdicts import Verdict
from tamiz.statistics.base import Block
from tamiz.table.base import EncodedTable, Table
from tamiz.table.build import FileOptions, OpenOptions, SchemaReader
from tamiz.table.date_parts import split_dates_like
from tamiz.table.in_memory import (
    SparseTable,
    as_frame,
    check_matrix,
    check_two_dimensions,
    column_loader,
    default_names,
    eager_frame,
    is_frame,
    mask_infinite,
    open_array,
    open_frame,
    open_sparse,
    to_matrix,
    to_raw_column,
)
from tamiz.table.known_columns import encode_known_column
from tamiz.table.open_file import open_file
from tamiz.table.schema import WEIGHT_KINDS, Kind, Schema, WeightKind, merge_date_parts

# The workers of a command, which is the caller of a study too.
_executor: ContextVar[Executor | None] = ContextVar("tamiz_executor", default=None)


@contextmanager
def use_executor(executor: Executor | None) -> Iterator[None]:
    """Open tables with this executor where none is passed."""
    token = _executor.set(executor)
    try:
        yield
    finally:
        _executor.reset(token)


class FileArguments(TypedDict, total=False):
    """Arguments of `open_table` that apply to files."""

    header: bool | None
    encoding: str | None
    sep: str | None
    na: Sequence[str]
    on_bad_rows: Literal["error", "drop"]


class OpenArguments(FileArguments, total=False):
    """Arguments of `open_table` that other functions pass on."""

    kinds: Mapping[str, Kind] | Kind | None
    weight: Any
    weights: WeightKind | None
    groups: Any
    time: Any
    memory: SizeLike | None


def open_table(
    data: Any,
    target: Any = None,
    *,
    kinds: Mapping[str, Kind] | Kind | None = None,
    weight: Any = None,
    weights: WeightKind | None = None,
    groups: Any = None,
    time: Any = None,
    memory: SizeLike | None = None,
    schema: Schema | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    sep: str | None = None,
    na: Sequence[str] = (),
    on_bad_rows: Literal["error", "drop"] = "error",
    executor: Executor | None = None,
) -> Table:
    r"""Open a table: a file, an array, a sparse matrix or a data frame.

    Parameters
    ----------
    data : path, array or sparse matrix of shape (n_samples, n_columns), or data frame
        The path of a file in CSV, TSV, Parquet, Arrow or ARFF, recognised by its suffix; a pandas or polars frame;
        any Arrow table or stream (`__arrow_c_stream__`); a numpy array; a sparse matrix of scipy, whose columns are made dense one
        at a time.
    target : str or array of shape (n_samples,), default=None
        The name of a column, or the target's values. Text, booleans and categories are classes, and so are integers with up to 20
        distinct values; other numbers are a numeric target. Rows without a target are left out; `schema.n_dropped` is their number.
    kinds : mapping of name to kind, or one kind for every column but the target, default=None
        "numeric", "categorical", "boolean", "date", "text" or "id", instead of the inferred kind. Columns of kind "text" and "id"
        are excluded. A date of kind "numeric" is a number, in seconds since 1970, that `split_dates` does not split.
    weight : str or array of shape (n_samples,), default=None
        The name of a column with the weight of each row, or the weights.
    weights : {"frequency", "sampling"}, default=None
        "frequency": a weight of w equals w copies of the row. "sampling": weights correct a sampling design, as those of a survey
        do. Their scale has no effect: the rows count as :math:`(\sum w)^2 / \sum w^2` rows, the effective sample size (Kish 1965),
        in tests, description lengths and variances. None is "frequency" if all weights are whole numbers.
    groups : str or array of shape (n_samples,), default=None
        The name of a column with the group of each row, such as a patient, or the groups. Rows of a group stay in one fold.
    time : str or array of shape (n_samples,), default=None
        The name of a column with the time of each row, numbers or dates, or the times. Folds test on rows that are later than those
        they train on.
    memory : str or int, default=None
        The memory limit of the process, such as "800MB" or "1.5GiB", or a number of bytes; it includes programs and libraries, and
        applies as long as the table exists. None is the memory of the machine.
    schema : Schema, default=None
        The columns of a fitted table, such as a model's `schema_`. Columns are found by these names, in any order, and have these
        kinds and levels: nothing is inferred from the new rows. Other columns, including the target, are not read. A level that is
        not in the schema becomes missing, with a warning. The table may be without rows.
    header : bool, default=None
        Whether the first row of a file of separated values contains the column names; without them the names are x0, x1, ... None
        infers it, and if the first row is numbers a note of the schema reports what was assumed.
    encoding : str, default=None
        The encoding of a text file, such as "cp1252". None is UTF-8 where the file is valid UTF-8; otherwise it is inferred, and a
        note of the schema names it.
    sep : str, default=None
        What separates the values of a text file: one or more characters, or `\\s+` for runs of blanks and tabs. None infers it.
    na : sequence of str, default=()
        Words of a text file that are missing values, beside the empty field, NA, NULL and other usual ones.
    on_bad_rows : {"error", "drop"}, default="error"
        What is done with rows of a text file that have more or fewer fields than the header: an error that names the first five of
        them, or they are left out, and a note of the schema names them.
    executor : concurrent.futures.Executor, default=None
        Processes on this machine or of a cluster, such as `dask.distributed.Client(address).get_executor(pure=False)`, that read a
        Parquet file or folder and compute its statistics. All numbers are the same as without. It must stay open as long as the
        table is used.

    Returns
    -------
    Table
        Its `schema` contains the kinds, levels and numbers of missing values, and the reason of every excluded column.

    Raises
    ------
    DataError
        If the table, a column or a value cannot be used; the message names it.
    OSError
        If the file cannot be read, or the disk has too little space for the parsed file.
    MemoryError
        If the memory limit is too low; the message states how much is needed.

    Examples
    --------
    >>> import numpy as np
    >>> from tamiz import open_table
    >>> table = open_table(np.array([[1.0, 5.0], [2.0, np.nan], [3.0, 7.0]]), target=["a", "b", "a"])
    >>> [(column.name, column.kind, column.n_missing) for column in table.schema.columns]
    [('x0', 'numeric', 0), ('x1', 'numeric', 1)]
    >>> table.schema.target.levels
    ('a', 'b')
    """
    file: FileArguments = {"header": header, "encoding": encoding, "sep": sep, "na": na, "on_bad_rows": on_bad_rows}
    if schema is not None:
        if any(argument is not None for argument in (target, kinds, weight, weights, groups, time)):
            raise TypeError("schema= defines all columns: omit target, kinds, weight, weights, groups and time.")
        return open_with_reader(data, SchemaReader(schema), memory=memory, executor=executor, **file)
    options = OpenOptions(
        _role_column(target, "target"),
        _role_column(weight, "weight"),
        _check_kinds(kinds),
        _role_column(groups, "group"),
        _role_column(time, "time"),
        file=FileOptions(**file),
        weights=_check_weight_kind(weights),
        executor=executor or _executor.get(),
    )
    return _open_with_limit(data, options, memory)


def open_without_target(
    data: Any,
    known_columns: Sequence[str],
    *,
    kinds: Mapping[str, Kind] | None = None,
    weight: str | None = None,
    weights: WeightKind | None = None,
    memory: SizeLike | None = None,
    **file: Unpack[FileArguments],
) -> Table:
    """Open a table without a target, so that rows without a target value are kept.

    `known_columns` are names of columns that the table contains, such as the target; they help to recognise the layout of a file.
    """
    options = OpenOptions(
        weight=weight,
        kinds=_check_kinds(kinds),
        file=FileOptions(**file),
        expected_columns=tuple(known_columns),
        weights=_check_weight_kind(weights),
        executor=_executor.get(),
    )
    return _open_with_limit(data, options, memory)


def open_with_reader(
    data: Any,
    reader: SchemaReader,
    *,
    memory: SizeLike | None = None,
    executor: Executor | None = None,
    **file: Unpack[FileArguments],
) -> Table:
    """Open new rows with the columns of a fitted table."""
    # Calendar parts are computed from the dates of the new rows.
    merged = merge_date_parts(reader.schema)
    options = OpenOptions(reader=replace(reader, schema=merged), file=FileOptions(**file), executor=executor)
    table = _open_with_limit(data, options, memory)
    return table if merged is reader.schema else split_dates_like(table, reader.schema)


def open_batch(X: Any, kinds: Mapping[str, Kind]) -> Table:
    """Open a batch of at least 1 row without a target, for `partial_fit`; `kinds` are the known kinds of its columns."""
    return _open_data(X, OpenOptions(kinds=kinds or None, is_batch=True))


def _open_with_limit(data: Any, options: OpenOptions, memory: SizeLike | None) -> Table:
    with limit_memory(None if memory is None else parse_size("memory", memory)) as limit:
        table = _open_data(data, options)
        table.memory_limit = limit
    return table


def _open_data(data: Any, options: OpenOptions) -> Table:
    if options.executor is not None and not isinstance(options.executor, Executor):
        raise TypeError(f"executor must be a concurrent.futures.Executor, got {options.executor!r}.")
    if isinstance(data, str | os.PathLike):
        return open_file(data, options)
    if options.executor is not None:
        raise TypeError(
            f"executor= applies to Parquet files and folders only, got a {type(data).__name__}: write it with to_parquet, or omit "
            "executor=."
        )
    if options.file.stated:
        raise TypeError(
            f"{options.file.stated[0]}= applies to files of separated values only; omit it for a {type(data).__name__}."
        )
    if sparse.issparse(data):
        return open_sparse(data, options)
    if options.allow_infinite:
        masked, digest = mask_infinite(data)
        table = _open_data(masked, replace(options, allow_infinite=False, frame_data=data if digest else None))
        table.infinite_digest = digest
        return table
    return open_frame(data, options) if is_frame(data) else open_array(data, options)


def as_table(
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    groups: Any = None,
    time: Any = None,
    allow_infinite: bool = False,
) -> Table:
    """Convert the arguments of `fit(X, y, sample_weight=...)` to a table; return a table as it is.

    Infinite values raise a DataError, unless `allow_infinite` is True: then they are missing in the table, and `Table.frame`
    returns them for estimators that accept them.
    """
    if isinstance(X, Table):
        if any(argument is not None for argument in (y, sample_weight, groups, time)):
            raise TypeError("A Table has its own target and weights: pass them to open_table, not to fit.")
        return X
    if isinstance(X, str | os.PathLike):
        raise TypeError(f"X must be a table, got the name {str(X)!r}: fit on open_table({str(X)!r}, target=...).")
    if isinstance(y, str):
        raise TypeError(f"y must be the target's values, got the name {y!r}: fit on open_table(X, target={y!r}).")
    for name, role, values, argument in (
        ("sample_weight", "weight", "weights", sample_weight),
        ("groups", "groups", "groups", groups),
        ("time", "time", "times", time),
    ):
        if isinstance(argument, str):
            raise TypeError(
                f"{name} must be the {values}, got the name {argument!r}: fit on open_table(X, {role}={argument!r})."
            )
    options = OpenOptions(
        *(_role_column(y, "target"), _role_column(sample_weight, "weight")),
        groups=_role_column(groups, "group"),
        time=_role_column(time, "time"),
        allow_infinite=allow_infinite,
    )
    table = _open_with_limit(X, options, None)
    warn_user(table.schema.large_weight_notes)
    return table


def _role_column(values: Any, name: str) -> Any:
    return values if values is None or isinstance(values, str) else to_raw_column(values, name)


def _check_weight_kind(weights: Any) -> Any:
    return weights if weights is None else check_choice("weights", weights, WEIGHT_KINDS)


def _check_kinds(kinds: Any) -> Any:
    if isinstance(kinds, Mapping):
        return {str(name): kind for name, kind in kinds.items()}
    if kinds is None or isinstance(kinds, str):
        return kinds
    raise TypeError(f"kinds must be a kind or a mapping of names to kinds, got {kinds!r}.")


def align_to_schema(X: Any, schema: Schema) -> Table:
    """Return new rows with the kinds, levels and excluded columns of a fitted schema; columns are found by position.

    A level that is not in the schema becomes missing, with a warning. A Table whose columns have the same names, kinds and levels,
    such as one opened with `open_table(schema=)`, is returned as it is. Any other table, such as a file with a level more or
    less, is read into memory.
    """
    if isinstance(X, Table) and _same_columns(X.schema, schema):
        return X
    if (whole := merge_date_parts(schema)) is not schema:
        return split_dates_like(align_to_schema(X, whole), schema)
    row_numbers = None
    if isinstance(X, Table):
        row_numbers = X.row_numbers
        X = X.frame([j for j, column in enumerate(X.schema.columns) if not column.date_part])
    sparse_table = SparseTable(X) if sparse.issparse(X) else None
    names, load = column_loader(X) if sparse_table is None else (sparse_table.names, sparse_table.raw_column)
    check_n_columns(len(names), schema.n_columns)
    n = len(load(names[0]))
    rows = np.arange(n) if row_numbers is None else row_numbers

    def describe_row(at: int) -> str:
        return f"row {rows[at]}"

    columns, values = list(schema.columns), dict[int, NDArray[Any]]()
    warnings: list[Verdict] = []
    for j in schema.used.tolist():
        columns[j], values[j], column_warnings = encode_known_column(schema.columns[j], load(names[j]), describe_row)
        warnings += column_warnings
    if sparse_table is not None:
        values |= sparse_table.as_floats().lazy_columns(j for j in values if columns[j].is_number)
    warn_user(warnings)
    return EncodedTable(Schema(tuple(columns), n), Block(range(n), values, None, None), rows, lambda *_: X)


def _same_columns(new: Schema, known: Schema) -> bool:
    """Whether two schemas have the same used columns, with equal names, kinds and levels."""
    if new.n_columns != known.n_columns or not np.array_equal(new.used, known.used):
        return False
    pairs = ((new.columns[j], known.columns[j]) for j in known.used.tolist())
    return all((a.name, a.kind, a.levels) == (b.name, b.kind, b.levels) for a, b in pairs)


def count_rows(X: Any) -> int:
    """Return the number of rows of any input that is accepted as a table."""
    if isinstance(X, Table):
        return X.schema.n_rows
    if sparse.issparse(X):
        return int(X.shape[0])
    if isinstance(X, str | os.PathLike):
        return as_table(X).schema.n_rows
    if (frame := as_frame(X)) is not None:
        # For a lazy frame only the number of rows is computed.
        return int(frame.lazy().select(nw.len()).collect().item())
    return len(check_matrix(X))


def row_numbers(X: Any) -> Indices | None:
    """Return the numbers of the rows in the user's table; None if they are counted from 0."""
    return X.row_numbers if isinstance(X, Table) else None


def as_array(X: Any, expectation: str) -> NDArray[Any]:
    """Return X as a two-dimensional array; raise TypeError with `expectation` for a table."""
    if isinstance(X, Table):
        schema = X.schema
        raise TypeError(
            f"{expectation}, got a Table of {schema.n_rows:,} rows and {schema.n_columns:,} columns. Its frame() is one."
        )
    return to_matrix(X)


def find_sparse_matrix(X: Any) -> Any:
    """Return the sparse matrix of X; None if there is none.

    X is a sparse matrix, or a table opened from one whose columns are all numeric, used and without missing values.
    """
    if not isinstance(X, Table):
        return X if sparse.issparse(X) else None
    if any(not column.is_number or column.n_missing or column.exclusion_reason for column in X.schema.columns):
        return None
    first = X.frame([0], np.zeros(1, dtype=np.intp))
    return X.frame() if sparse.issparse(first) else None


def float_dtype(X: Any) -> type[np.floating[Any]]:
    """Return float32 if all numbers of a table are float32, otherwise float64."""
    if X is None:
        return np.float64
    if isinstance(X, Table):
        return next(X.blocks()).dtype
    if (frame := as_frame(X)) is not None:
        kinds = [kind for kind in frame.collect_schema().values() if kind.is_numeric() or kind.is_temporal()]
        return np.float32 if kinds and all(kind == nw.Float32 for kind in kinds) else np.float64
    dtype = X.dtype if sparse.issparse(X) else check_matrix(X).dtype
    return np.float32 if dtype == np.float32 else np.float64


def mixed_table_tags(tags: Tags) -> Tags:
    """Set an estimator's tags to accept missing values, text, categories and sparse matrices, and return them."""
    tags.input_tags.allow_nan = True
    tags.input_tags.sparse = True
    tags.input_tags.string = True
    tags.input_tags.categorical = True
    if tags.transformer_tags is not None:
        tags.transformer_tags.preserves_dtype = []
    return tags


def record_features(estimator: Any, X: Any) -> None:
    """Set `n_features_in_`, and `feature_names_in_` if the columns have names, as scikit-learn does; delete both if X is None."""
    if X is None:
        for name in ("n_features_in_", "feature_names_in_"):
            estimator.__dict__.pop(name, None)
        return
    if not isinstance(X, Table):
        check_features(estimator, X, reset=True)
        return
    estimator.n_features_in_ = X.schema.n_columns
    estimator.feature_names_in_ = np.array(X.schema.names, dtype=object)


def check_features(estimator: Any, X: Any, *, reset: bool = False) -> None:
    """Raise a ValueError if the columns of X are not those of fit; without `n_features_in_` there is no check."""
    if not reset and not hasattr(estimator, "n_features_in_"):
        return
    if sparse.issparse(X):
        check_two_dimensions(X)
        if reset:
            estimator.n_features_in_ = X.shape[1]
            estimator.__dict__.pop("feature_names_in_", None)
        elif X.shape[1] != estimator.n_features_in_:
            name = type(estimator).__name__
            raise DataError(
                f"X has {X.shape[1]} features, but {name} is expecting {estimator.n_features_in_} features as input."
            )
        return
    if isinstance(X, Table):
        _check_names(getattr(estimator, "feature_names_in_", None), estimator.n_features_in_, X.schema.names)
        return
    # The names of a frame suffice; a lazy frame is collected without its rows.
    frame = as_frame(X)
    table = check_matrix(X) if frame is None else _frame_of_names(frame)
    validate_data(estimator, table, reset=reset, skip_check_array=True)


def check_n_columns(n_columns: int, n_fitted: int) -> None:
    """Raise a DataError if new rows have another number of columns than the rows of fit."""
    if n_columns != n_fitted:
        raise DataError(f"X has {n_columns} features, but fit had {n_fitted}.")


def _frame_of_names(frame: nw.DataFrame[Any] | nw.LazyFrame[Any]) -> Any:
    """Return a frame without rows, whose names every version of scikit-learn reads."""
    head = eager_frame(frame.head(0))
    if head.implementation.is_polars() and not hasattr(head.to_native(), "__dataframe__"):
        import pyarrow as pa

        # scikit-learn before 1.9 reads names by this protocol, which polars 2 does not have.
        return pa.table({name: [] for name in head.columns})
    return head.to_native()


def check_graph_columns(X: Any, schema: Schema) -> None:
    """Raise DataError if the columns of X are not those of the table that a graph was built from.

    They are compared in number, and in name if both tables have names. No rows are read.
    """
    expected = merge_date_parts(schema).names
    names: list[str] | None = None
    if isinstance(X, Table):
        names = merge_date_parts(X.schema).names
    elif (frame := as_frame(X)) is not None:
        names = [str(name) for name in frame.collect_schema().names()]
    n_columns = len(names) if names is not None else (X if sparse.issparse(X) else check_matrix(X)).shape[1]
    if n_columns != len(expected):
        columns = "1 column" if len(expected) == 1 else f"{len(expected):,} columns"
        raise DataError(f"The graph was built from {columns} and X has {n_columns:,}. Build a graph of X.")
    if names is None or expected == default_names(n_columns) or names == default_names(n_columns):
        return
    for j, (name, known) in enumerate(zip(names, expected, strict=True)):
        if name != known:
            raise DataError(
                f"Column {j} of X is {name!r}, but {known!r} in the table that the graph was built from. Pass the columns in the "
                "same order, or build a graph of X."
            )


def _check_names(fitted: Any, n_fitted: int, names: list[str]) -> None:
    if len(names) != n_fitted:
        raise DataError(
            f"The table has {len(names)} columns, but fit had {n_fitted}. Open it with open_table(..., schema=model.schema_) to "
            "select the columns of fit."
        )
    for j, name in enumerate(names if fitted is not None else ()):
        if name != fitted[j]:
            raise DataError(
                f"Column {j} of the table is {name!r}, but in fit it was {fitted[j]!r}. Reorder the columns, or open the table "
                "with open_table(..., schema=model.schema_), which finds columns by name."
            )

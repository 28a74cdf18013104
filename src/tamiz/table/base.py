"""Tables: a schema, blocks of rows, and one loop that fills statistics from the blocks; `EncodedTable` has one block."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVarTuple

import joblib
import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Codes, Floats, Indices
from tamiz.exceptions import DataError
from tamiz.runtime import parallel, progress
from tamiz.runtime.executors import Workers
from tamiz.runtime.memory import MemoryLimit
from tamiz.statistics.base import Block, merge_statistics
from tamiz.table.schema import Schema
from tamiz.table.worker_tasks import GROUP_PIECES, fill_on_workers, find_worker_block

Statistics = TypeVarTuple("Statistics")
MakeFrame = Callable[[Sequence[str], Indices], Any]

MIN_ROWS = 2

# Number of rows of a piece of work; pieces of wide tables have fewer. Statistics are filled piece by piece and merged in order, so
# that the size of the pieces fixes the last bits of every sum: they are equal for a table in memory and in a file, and at any
# number of threads.
PIECE_ROWS, _MIN_PIECE_ROWS, _MAX_PIECE_VALUES = 2**15, 2**12, 2**20


def _piece_rows(n_columns: int) -> int:
    """Return the number of rows of a piece for a table of `n_columns` columns.

    It is a power of two, so that pieces can be split evenly. It is not below the number of columns, because merging two
    statistics of pairs of columns costs O(n_columns**2).
    """
    fewest, rows = max(_MIN_PIECE_ROWS, n_columns), PIECE_ROWS
    while rows // 2 >= fewest and rows * n_columns > _MAX_PIECE_VALUES:
        rows //= 2
    return rows


class Table(ABC):
    """A table that can be read more than once.

    Attributes
    ----------
    schema : Schema
    column_names : tuple of str
        The names of all columns of the user's table, including columns with a role (target, weight, groups, time).
    class_labels : ndarray of shape (n_classes,), or None
        The original value of each class of the target, in the order of `schema.target.levels`; None if the target has no classes.
    groups : ndarray of shape (n_rows,), int32, or None
        The group of each row, as a position in `group_names`.
    group_names : tuple of str
    time : ndarray of shape (n_rows,), float64 or int64, or None
        Numbers that sort the rows by time.
    infinite_digest : bytes
        A hash of the positions and signs of the infinite values, which are read as missing; empty if there are none.
    memory_limit : MemoryLimit or None
        The memory limit that the user set; it applies as long as the table exists.
    workers : Workers or None
        The workers of an executor, which compute statistics.

    Notes
    -----
    Rows without a target are not part of a table. `row_numbers` contains the positions of its rows in the user's table.
    """

    schema: Schema
    column_names: tuple[str, ...]
    class_labels: NDArray[Any] | None = None
    groups: Codes | None = None
    group_names: tuple[str, ...] = ()
    time: Floats | NDArray[np.int64] | None = None
    infinite_digest: bytes = b""
    metadata: Mapping[str, Any] = MappingProxyType({})
    memory_limit: MemoryLimit | None = None
    workers: Workers | None = None

    @abstractmethod
    def blocks(self, columns: Sequence[int] | None = None) -> Iterator[Block]:
        """Yield the rows in order, as blocks of the given columns; by default of all columns that are not excluded."""

    @abstractmethod
    def frame_by_name(self, names: Sequence[str], rows: Indices | None = None) -> Any:
        """Return columns of the user's table by name, as `frame` does; columns with a role and excluded columns are allowed."""

    def frame(self, columns: Sequence[int] | None = None, rows: Indices | None = None) -> Any:
        """Return columns of the user's table with their original types, for all rows of the table or for the rows given."""
        names = self.schema.names
        return self.frame_by_name(names if columns is None else [names[j] for j in columns], rows)

    def copy_roles(self, table: Table) -> None:
        """Use the class labels, groups and times of another table of the same rows."""
        self.class_labels = table.class_labels
        self.groups, self.group_names, self.time = table.groups, table.group_names, table.time

    @property
    @abstractmethod
    def row_numbers(self) -> Indices:
        """The position of each row in the user's table."""

    def column(self, column: int) -> NDArray[Any]:
        """Return a column in all rows, read-only: float64 with NaN for missing values, or int32 codes of the levels with -1."""
        parts = [block.column(column) for block in self.blocks([column])]
        values = parts[0].view() if len(parts) == 1 else np.concatenate(parts)
        values.flags.writeable = False
        return values

    def target_values(self) -> NDArray[Any]:
        """Return the target of each row, classes as their original values.

        Returns
        -------
        ndarray of shape (n_rows,)
            Classes of an array or a data frame have the type that `fit(X, y)` receives; classes of a file have the type that the
            file declares. Numbers are float64. Rows without a target are left out; `row_numbers` contains the positions of the
            others.

        Raises
        ------
        DataError
            If the table has no target.

        Examples
        --------
        >>> from tamiz import open_table
        >>> table = open_table([[0.5], [1.0], [3.0], [2.5]], target=["2", "10", None, "2"])
        >>> table.target_values().tolist(), table.row_numbers.tolist()
        (['2', '10', '2'], [0, 1, 3])
        >>> table.schema.target.levels
        ('2', '10')
        """
        if self.schema.target is None:
            raise DataError("The table has no target; pass a column name or values with open_table(..., target=...).")
        values = np.concatenate([np.asarray(block.y) for block in self.blocks([])])
        return values if self.class_labels is None else self.class_labels[values]

    def reduce(self, *statistics: *Statistics) -> tuple[*Statistics]:
        """Return copies of empty statistics, filled in one pass over the blocks.

        Pieces of rows are merged in a fixed tree: first those of a group of consecutive pieces in their order, then the groups. The
        bits are therefore the same in memory, from files, and on any workers.
        """
        wanted: list[Any] = list(statistics)
        columns = sorted({j for statistic in wanted for j in statistic.columns if j < self.schema.n_columns})
        n_rows, size = self.schema.n_rows, _piece_rows(len(columns))
        if self.workers and (found := find_worker_block(self.workers, self.blocks(columns))):
            workers, block = found
            return tuple(fill_on_workers(workers, wanted, block, size))
        for statistic in wanted:
            statistic.check_memory(n_rows)
        totals: list[Any] = []
        for done, group in enumerate(_fill_groups(wanted, self.blocks(columns), size), start=1):
            totals = merge_statistics(totals, group)
            progress.report_progress("Reading rows", min(done * size * GROUP_PIECES, n_rows), n_rows)
        for total in totals:
            total.finish()
        return tuple(totals)

    def fingerprint(self) -> str:
        """Return a SHA-256 hash of the schema and of all values; equal tables have equal hashes."""
        digest = hashlib.sha256(repr(self.schema).encode())
        for block in self.blocks():
            for column in (*block.numeric_columns, *block.categorical_columns):
                digest.update(block.column(column).data)
            for rows in (block.y, block.weight):
                digest.update(b"-" if rows is None else np.ascontiguousarray(rows).data)
        digest.update(self.infinite_digest)
        for values in (self.groups, self.time):
            digest.update(b"" if values is None else np.ascontiguousarray(values).data)
        if self.metadata:
            digest.update(joblib.hash(dict(self.metadata)).encode())
        return digest.hexdigest()


def _fill_groups(wanted: list[Any], blocks: Iterator[Block], size: int) -> Iterator[list[Any]]:
    def fill(piece: Block) -> tuple[int, list[Any]]:
        return piece.rows.start // (size * GROUP_PIECES), [statistic.empty().update(piece) for statistic in wanted]

    totals: list[Any] = []
    present = 0
    for group, filled in parallel.map_blocks(fill, (piece for block in blocks for piece in block.split_rows(size))):
        if group != present and totals:
            yield totals
            totals = []
        present = group
        totals = merge_statistics(totals, filled)
    if totals:
        yield totals


class EncodedTable(Table):
    """A table of encoded columns in one block. Columns share the user's memory if possible; they may be stored on disk.

    Parameters
    ----------
    schema : Schema
    block : Block
        The used columns in all rows.
    rows : ndarray of shape (n_rows,) or None
        The position of each row in the user's table; None if no row was left out.
    make_frame : callable
        Returns columns of the user's table by their names and the positions of rows.
    column_names : sequence of str, default=None
        The columns of the user's table, including columns with a role and excluded columns; by default those of the schema.
    """

    def __init__(
        self,
        schema: Schema,
        block: Block,
        rows: Indices | None,
        make_frame: MakeFrame,
        column_names: Sequence[str] | None = None,
    ) -> None:
        self.schema = schema
        self.column_names = tuple(schema.names if column_names is None else column_names)
        self._block = block
        self._rows = rows
        self._make_frame = make_frame

    def blocks(self, columns: Sequence[int] | None = None) -> Iterator[Block]:
        yield self._block if columns is None else self._block.select_columns(columns)

    def frame_by_name(self, names: Sequence[str], rows: Indices | None = None) -> Any:
        """Return columns of the user's table by name, with their original types."""
        row_numbers = self.row_numbers if rows is None else self.row_numbers[rows]
        if names:
            return self._make_frame(names, row_numbers)
        # A frame without columns still has a number of rows, which only a column can provide: one is read and dropped.
        return frame_columns_at(self._make_frame(self.column_names[:1], row_numbers), [])

    @property
    def row_numbers(self) -> Indices:
        """The position of each row in the user's table."""
        return np.arange(self.schema.n_rows) if self._rows is None else self._rows


def frame_columns_at(table: Any, positions: Sequence[int]) -> Any:
    """Return columns of an array or an eager data frame by position; without positions, a table of as many rows and no columns."""
    frame = nw.from_native(table, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return table[:, list(positions)]
    if not positions:
        # In narwhals, selecting no columns also removes the rows; dropping all columns keeps them.
        return frame.drop(frame.columns).to_native()
    # polars names a column "column_0" that has no name and is selected by position; the names of pandas need not be text.
    by_name = frame.implementation.is_polars()
    return (frame.select(frame.columns[j] for j in positions) if by_name else frame[:, list(positions)]).to_native()


def check_enough_rows(n: int) -> None:
    """Raise a DataError for a table of fewer than 2 rows."""
    if n < MIN_ROWS:
        raise DataError(f"The table has {n} sample (row); at least {MIN_ROWS} are needed.")


def target_array(table: Table) -> NDArray[Any]:
    """Return the target of each row: int32 codes of its classes, or float64."""
    return np.concatenate([np.asarray(block.y) for block in table.blocks([])])


def weight_array(table: Table) -> Floats | None:
    """Return the weight of each row, None if rows have no weights."""
    if table.schema.weight is None:
        return None
    return np.concatenate([block.weight_or_ones for block in table.blocks([])])


def weights_or_ones(table: Table) -> Floats:
    """Return the weight of each row, 1 if rows have no weights."""
    weight = weight_array(table)
    return np.ones(table.schema.n_rows) if weight is None else weight


def is_every_row(rows: NDArray[np.integer[Any]], n_rows: int) -> bool:
    """Return whether `rows` are all rows of a table, once each and in order, so that no rows have to be selected."""
    return len(rows) == n_rows and bool((rows == np.arange(n_rows)).all())

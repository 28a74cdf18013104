"""Statistics of a table that the workers of an executor fill, with the bits of those that are filled here.

A task reads its rows or columns from files in the folder of the workers. Statistics of rows come back one for each group of pieces;
statistics of whole columns are computed column by column; coded rows stay in a file.
"""

from __future__ import annotations

import weakref
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Indices
from tamiz.runtime import progress
from tamiz.runtime.executors import Shared, Workers
from tamiz.runtime.parallel import block_ranges
from tamiz.statistics.base import Block, WholeColumns, merge_statistics
from tamiz.statistics.contingency import CodedRows
from tamiz.table.column_storage import ColumnFile, FileColumn, LazyColumn

Output = TypeVar("Output")

# Pieces of a group: their statistics are merged before they are added to those of the groups before.
GROUP_PIECES = 2**5
# Tables with fewer values are read here.
MIN_WORKER_VALUES = 2**22
# Targets and weights of more rows are sent in files.
_MAX_SENT_ROWS = 2**12
# Bytes of the coded columns of a task.
_PAIR_TASK_BYTES = 2**28


def find_worker_block(workers: Workers | None, blocks: Iterator[Block]) -> tuple[Workers, Block] | None:
    """Return the workers of a table and its one block, if workers read its columns faster than they are read here.

    They cannot read columns in memory, and to start tasks for few values would take longer.
    """
    found = [] if workers is None else list(blocks)
    if workers is None or len(found) != 1:
        return None
    (block,) = found
    n_values = len(block.rows) * max(len(block.values), 1)
    stored = all(isinstance(values, LazyColumn) for values in block.values.values())
    return (workers, block) if stored and n_values >= MIN_WORKER_VALUES else None


def fill_on_workers(workers: Workers, wanted: Sequence[Any], block: Block, size: int) -> list[Any]:
    """Return statistics filled with the rows of a block, where `size` is the number of rows of a piece."""
    stored, n_rows = _with_stored_rows(workers, block), len(block.rows)
    filled: dict[int, Any] = {}
    counted = [k for k, one in enumerate(wanted) if not isinstance(one, CodedRows | WholeColumns)]
    coded = [k for k, one in enumerate(wanted) if isinstance(one, CodedRows)]
    with workers.share(stored) as shared:
        if counted or coded:
            files = [_StoredCodes.allocate(workers.folder, wanted[k], n_rows) for k in coded]
            plan = [wanted[k] for k in counted], [(wanted[k], file) for k, file in zip(coded, files, strict=True)], size
            filled |= zip(counted, _fill_groups(workers, plan, shared, n_rows), strict=True)
            filled |= {k: _stored_rows(workers, wanted[k], file, stored) for k, file in zip(coded, files, strict=True)}
        for k, one in enumerate(wanted):
            if isinstance(one, WholeColumns):
                filled[k] = _fill_columns(workers, one, shared, n_rows)
    return [filled[k] for k in range(len(wanted))]


def _fill_groups(workers: Workers, plan: tuple[Any, ...], block: Shared, n_rows: int) -> list[Any]:
    """Return statistics of all rows, after the workers have also written their codes."""
    size, merged = plan[-1] * GROUP_PIECES, list[Any]()
    with workers.share(plan) as work:
        tasks = ((work, block, *rows) for rows in block_ranges(n_rows, size))
        for done, filled in enumerate(workers.map(_fill_group, tasks, "Reading rows"), start=1):
            merged = merge_statistics(merged, filled)
            progress.report_progress("Reading rows", min(done * size, n_rows), n_rows)
    for total in merged:
        total.finish()
    return merged


def _stored_rows(workers: Workers, wanted: CodedRows, file: _StoredCodes, stored: Block) -> CodedRows:
    made = wanted.empty()
    made.codes, made.workers, made.n_samples = file, workers, file.shape[1]
    made.weight = np.empty(0) if stored.weight is None else stored.weight
    weakref.finalize(made, Path(file.path).unlink, missing_ok=True)
    return made


def _fill_group(task: tuple[Shared, Shared, int, int]) -> list[Any]:
    """Return statistics of a range of rows, and write their codes."""
    work, block, start, stop = task
    counted, coded, size = work.value
    totals: list[Any] = []
    for piece in _read_rows(block.value, start, stop).split_rows(size):
        totals = merge_statistics(totals, [statistic.empty().update(piece) for statistic in counted])
        for statistic, file in coded:
            file.write(piece.rows.start, statistic.encode(piece))
    return totals


def _read_rows(block: Block, start: int, stop: int) -> Block:
    """Return the rows from `start` to `stop`, with targets and weights in memory."""
    part = block.slice_rows(start, stop)
    return replace(
        part,
        y=None if part.y is None else np.asarray(part.y),
        weight=None if part.weight is None else np.asarray(part.weight),
    )


def map_rows_on_workers(
    workers: Workers, block: Block, function: Callable[[Block], Output], ranges: Sequence[tuple[int, int]]
) -> Iterator[Output]:
    """Yield what a function of a block returns for ranges of rows, without targets and weights."""
    with workers.share((function, replace(block, y=None, weight=None))) as shared:
        yield from workers.map(_apply_to_rows, ((shared, *rows) for rows in ranges), "Reading rows")


def _apply_to_rows(task: tuple[Shared, int, int]) -> Any:
    shared, start, stop = task
    function, block = shared.value
    part = block.slice_rows(start, stop)
    values = {j: np.asarray(column) for j, column in part.values.items()}
    return function(Block(range(len(part.rows)), values, None, None))


def map_columns_on_workers(workers: Workers, block: Block, function: Callable[[Block], Output]) -> Iterator[Output]:
    columns = list(block.values)
    size = _n_task_columns(workers, len(columns))
    with workers.share((function, _with_stored_rows(workers, block))) as shared:
        tasks = ((shared, columns[start:stop]) for start, stop in block_ranges(len(columns), size))
        yield from workers.map(_apply_to_columns, tasks, "Reading columns")


def _apply_to_columns(task: tuple[Shared, list[int]]) -> Any:
    shared, columns = task
    function, block = shared.value
    return function(_read_rows(block.select_columns(columns), 0, len(block.rows)))


def _n_task_columns(workers: Workers, n_columns: int) -> int:
    """Return the columns of a task: several, because it reads the target once; few enough that all workers end at the same time."""
    return max(1, -(-n_columns // (4 * workers.n_workers)))


def _fill_columns(workers: Workers, statistic: WholeColumns, block: Shared, n_rows: int) -> WholeColumns:
    total = statistic.empty()
    total.n_samples = n_rows
    size = _n_task_columns(workers, len(statistic.columns))
    ranges = block_ranges(len(statistic.columns), size)
    with workers.share(statistic.empty()) as work:
        tasks = ((work, block, statistic.columns[start:stop]) for start, stop in ranges)
        for results in workers.map(_fill_whole_columns, tasks, "Reading columns"):
            total.results |= results
            progress.report_progress("Reading columns", len(total.results), len(statistic.columns))
    return total


def _fill_whole_columns(task: tuple[Shared, Shared, tuple[int, ...]]) -> dict[int, Any]:
    work, block, columns = task
    part = replace(work.value, columns=columns).update(_read_rows(block.value, 0, len(block.value.rows)))
    part.finish()
    results: dict[int, Any] = part.results
    return results


@dataclass(frozen=True)
class _StoredCodes:
    """Codes of rows in a file, one column after the other."""

    path: str
    dtype: Any
    shape: tuple[int, int]

    @classmethod
    def allocate(cls, folder: Path, rows: CodedRows, n_rows: int) -> _StoredCodes:
        made = cls(str(folder / f"codes-{uuid4().hex}"), np.dtype(rows.dtype), (len(rows.columns), n_rows))
        with open(made.path, "wb") as file:
            file.truncate(made.dtype.itemsize * made.shape[0] * n_rows)
        return made

    def write(self, start: int, codes: NDArray[Any]) -> None:
        """Write the codes of consecutive rows, of shape (n_columns, n_rows)."""
        with open(self.path, "r+b", buffering=0) as file:
            for k, values in enumerate(codes):
                file.seek(self.dtype.itemsize * (k * self.shape[1] + start))
                file.write(values.data)

    def read(self, positions: Sequence[int]) -> NDArray[Any]:
        codes = np.empty((len(positions), self.shape[1]), self.dtype)
        for values, k in zip(codes, positions, strict=True):
            values[:] = np.fromfile(
                self.path, self.dtype, self.shape[1], offset=self.dtype.itemsize * k * self.shape[1]
            )
        return codes


def _n_task_codes(rows: CodedRows) -> int:
    """Return how many columns of codes a task may read."""
    return int(_PAIR_TASK_BYTES // (rows.dtype().itemsize * max(rows.n_samples, 1)))


def map_pairs(
    rows: CodedRows,
    function: Callable[[CodedRows, Indices, Indices], NDArray[Any]],
    first: Indices,
    second: Indices,
    always: tuple[int, ...] = (),
) -> NDArray[Any]:
    """Return what a function of coded rows and pairs of columns returns for each pair, computed on workers.

    A task reads few columns, those `always` included, and calls the function with them.
    """
    order = np.lexsort((second, first))
    most = max(2, _n_task_codes(rows) - len(always))
    longest = max(1, -(-len(order) // (2 * rows.workers.n_workers)))
    parts: list[list[int]] = []
    present: set[int] = set()
    for k in order.tolist():
        present |= {int(first[k]), int(second[k])}
        if not parts or len(present) > most or len(parts[-1]) == longest:
            parts.append([])
            present = {int(first[k]), int(second[k])}
        parts[-1].append(k)
    if not parts:
        return function(rows.select(rows.columns[-2:]), first, second)
    with rows.workers.share((rows, function, always)) as shared:
        tasks = ((shared, first[part], second[part]) for part in parts)
        found = list(rows.workers.map(_evaluate_pairs, tasks, "Comparing columns"))
    out = np.empty((len(order), *found[0].shape[1:]))
    for part, values in zip(parts, found, strict=True):
        out[part] = values
    return out


def _evaluate_pairs(task: tuple[Shared, Indices, Indices]) -> NDArray[Any]:
    shared, first, second = task
    rows, function, always = shared.value
    columns = [*np.setdiff1d(np.union1d(first, second), always).tolist(), *always]
    values: NDArray[Any] = function(rows.select(columns), first, second)
    return values


def map_code_columns(
    rows: CodedRows, function: Callable[[CodedRows], NDArray[Any]], always: tuple[int, ...]
) -> list[NDArray[Any]]:
    """Return what a function of coded rows returns for groups of columns, each with those of `always` at the end."""
    columns = [column for column in rows.columns if column not in always]
    most = max(1, _n_task_codes(rows) - len(always))
    size = min(most, max(1, -(-len(columns) // (2 * rows.workers.n_workers))))
    with rows.workers.share((rows, function, always)) as shared:
        tasks = ((shared, tuple(columns[start:stop])) for start, stop in block_ranges(len(columns), size))
        return list(rows.workers.map(_evaluate_columns, tasks, "Counting columns"))


def _evaluate_columns(task: tuple[Shared, tuple[int, ...]]) -> NDArray[Any]:
    shared, columns = task
    rows, function, always = shared.value
    values: NDArray[Any] = function(rows.select([*columns, *always]))
    return values


def _with_stored_rows(workers: Workers, block: Block) -> Block:
    """Return a block without arrays of other rows, its target and weights in files."""
    return Block(
        block.rows,
        dict(block.values.items()),
        None if block.y is None else _store_once(workers, block.y),
        None if block.weight is None else _store_once(workers, block.weight),
    )


# The files of arrays that were stored, by what identifies the arrays; a file is deleted with its array.
_stored: dict[tuple[Any, ...], FileColumn] = {}


def store_rows(workers: Workers | None, values: NDArray[Any]) -> Any:
    """Return a column of values of the rows that tasks can read: the array itself, or a file that is deleted with the array."""
    return values if workers is None else _store_once(workers, values)


def _store_once(workers: Workers, values: Any) -> Any:
    if not isinstance(values, np.ndarray) or len(values) <= _MAX_SENT_ROWS:
        return values
    # An array that can be written to may have other values the next time.
    contiguous = np.ascontiguousarray(values)
    content = zlib.crc32(contiguous.data) if values.flags.writeable else 0
    place = values.__array_interface__["data"][0], values.shape, values.strides, values.dtype.str
    key = *place, content, str(workers.folder)
    if key not in _stored:
        path = workers.folder / f"rows-{uuid4().hex}"
        _stored[key] = ColumnFile(path).store(contiguous)
        owner = values
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        weakref.finalize(owner, _forget, key, path)
    return _stored[key]


def _forget(key: tuple[Any, ...], path: Path) -> None:
    _stored.pop(key, None)
    path.unlink(missing_ok=True)

"""What reading a large file takes, told before it begins."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tamiz.criteria.base import Relevance, columns_per_pass
from tamiz.exceptions import DataError
from tamiz.runtime.memory import format_bytes, free_memory, limit_memory
from tamiz.sources import column_storage
from tamiz.sources.preview import Preview, read_preview
from tamiz.sources.schema import Schema
from tamiz.sources.table import OpenOptions


@dataclass(frozen=True)
class ReadPlan:
    """Bytes read and written, judged by the first rows of a file.

    Attributes
    ----------
    name : str
        The file.
    n_rows, n_columns : int
    parsed_bytes : int
        The size of the file where it is parsed first; 0 where it is read column by column.
    disk_bytes : int
        What the temporary files take.
    pass_bytes : tuple of int or None
        Bytes that every pass over the rows reads; None where it is not known what is asked of them.
    memory : int or None
        What was stated.
    """

    name: str
    n_rows: int
    n_columns: int
    parsed_bytes: int
    disk_bytes: int
    pass_bytes: tuple[int, ...] | None
    memory: int | None

    def __str__(self) -> str:
        """Return one sentence."""
        table = f"about {self.n_rows:,} rows of {self.n_columns:,} columns"
        begun = (
            f"parse {self.name} ({format_bytes(self.parsed_bytes)}, {table}) once"
            if self.parsed_bytes
            else f"read {self.name} ({table}) column by column"
        )
        told = [f"Plan: {begun}, into about {format_bytes(self.disk_bytes)} of disk in {tempfile.gettempdir()}"]
        if self.pass_bytes:
            each = " and ".join(format_bytes(n_bytes) for n_bytes in self.pass_bytes)
            told.append(f"then {len(self.pass_bytes)} {'pass' if len(self.pass_bytes) == 1 else 'passes'} over {each}")
        if self.memory is not None:
            told.append(f"at most {format_bytes(self.memory)} of memory")
        return "; ".join(told) + "."


def make_read_plan(
    path: Path,
    roles: OpenOptions,
    memory: int | None,
    choose_criteria: Callable[[Schema], Sequence[Relevance]] | None = None,
) -> ReadPlan | None:
    """Return the plan for a file that will not lie in memory, None for any other.

    Parameters
    ----------
    path : Path
    roles : OpenOptions
    memory : int or None
        The bytes that were stated.
    choose_criteria : callable, default=None
        Gives what is to be scored for a schema.
    """
    with limit_memory(memory):
        fits = column_storage.MAX_MEMORY_SHARE * free_memory()
        seen = read_preview(path, roles, fits)
    if seen is None:
        return None
    n_columns = seen.schema.n_columns
    if 8 * seen.schema.n_rows * n_columns <= fits:
        return None
    read = None if choose_criteria is None else _pass_bytes(seen, choose_criteria)
    return ReadPlan(path.name, seen.schema.n_rows, n_columns, seen.parsed_bytes, seen.disk_bytes, read, memory)


def _pass_bytes(
    table_preview: Preview, choose_criteria: Callable[[Schema], Sequence[Relevance]]
) -> tuple[int, ...] | None:
    """Return the bytes that every pass reads, None where rows are compared with rows or the first of them do not tell."""
    # Graphs take a second to be imported, and where nothing is scored they are not asked for.
    from tamiz._study.graph import needs_graph

    try:
        asked = choose_criteria(table_preview.schema)
        if any(map(needs_graph, asked)):
            return None
        return tuple(
            sum(map(table_preview.column_bytes, columns)) for columns in columns_per_pass(asked, table_preview.schema)
        )
    except DataError:
        # Such as a target of classes that is a number in the first rows.
        return None

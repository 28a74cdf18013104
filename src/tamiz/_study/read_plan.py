"""The plan for reading a file that exceeds memory, estimated from its first rows: bytes parsed, written, and read per pass."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tamiz.criteria.base import Relevance, StatisticRelevance, columns_per_pass
from tamiz.exceptions import DataError
from tamiz.runtime.memory import format_bytes, free_memory, limit_memory
from tamiz.table import column_storage
from tamiz.table.encoded_table import OpenOptions
from tamiz.table.preview import Preview, read_preview
from tamiz.table.schema import Schema


@dataclass(frozen=True)
class ReadPlan:
    """Bytes that are read and written, estimated from the first rows of a file.

    Attributes
    ----------
    name : str
        The file.
    n_rows, n_columns : int
    parsed_bytes : int
        The size of the file if it is parsed first; 0 if it is read column by column.
    disk_bytes : int
        The size of the temporary files.
    pass_bytes : tuple of int or None
        Bytes that each pass over the rows reads; None if the passes are unknown.
    memory : int or None
        The memory limit that the user set.
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
        first = (
            f"parse {self.name} ({format_bytes(self.parsed_bytes)}, {table}) once"
            if self.parsed_bytes
            else f"read {self.name} ({table}) column by column"
        )
        parts = [f"Plan: {first}, into about {format_bytes(self.disk_bytes)} of disk in {tempfile.gettempdir()}"]
        if self.pass_bytes:
            each = " and ".join(format_bytes(n_bytes) for n_bytes in self.pass_bytes)
            parts.append(f"then {len(self.pass_bytes)} {'pass' if len(self.pass_bytes) == 1 else 'passes'} over {each}")
        if self.memory is not None:
            parts.append(f"at most {format_bytes(self.memory)} of memory")
        return "; ".join(parts) + "."


def make_read_plan(
    path: Path,
    roles: OpenOptions,
    memory: int | None,
    choose_criteria: Callable[[Schema], Sequence[Relevance]] | None = None,
) -> ReadPlan | None:
    """Return the plan for a file that does not fit in memory, None for any other.

    Parameters
    ----------
    path : Path
    roles : OpenOptions
    memory : int or None
        The memory limit in bytes.
    choose_criteria : callable, default=None
        Returns the criteria of the ranking for a schema.
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
    """Return the bytes that each pass reads; None if a criterion needs a graph, or the preview is no valid table."""
    # Importing graphs takes a second, and only rankings need them.
    from tamiz._study.graph import needs_graph

    try:
        chosen = choose_criteria(table_preview.schema)
        if any(map(needs_graph, chosen)):
            return None
        counted = [relevance for relevance in chosen if isinstance(relevance, StatisticRelevance)]
        passes = columns_per_pass(counted, table_preview.schema)
        return tuple(sum(map(table_preview.column_bytes, columns)) for columns in passes)
    except DataError:
        # For example, a target of classes that looks numeric in the first rows.
        return None

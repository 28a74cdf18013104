"""What reading a large file takes, told before it begins."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tamiz.criteria.base import Relevance, passes
from tamiz.exceptions import DataError
from tamiz.memory import free_memory, in_units, limited
from tamiz.sources import room
from tamiz.sources.preview import Preview, preview
from tamiz.sources.schema import Schema
from tamiz.sources.table import Roles


@dataclass(frozen=True)
class Plan:
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
    passes : tuple of int or None
        Bytes that every pass over the rows reads; None where it is not known what is asked of them.
    memory : int or None
        What was stated.
    """

    name: str
    n_rows: int
    n_columns: int
    parsed_bytes: int
    disk_bytes: int
    passes: tuple[int, ...] | None
    memory: int | None

    def __str__(self) -> str:
        """Return one sentence."""
        table = f"about {self.n_rows:,} rows of {self.n_columns:,} columns"
        begun = (
            f"parse {self.name} ({in_units(self.parsed_bytes)}, {table}) once"
            if self.parsed_bytes
            else f"read {self.name} ({table}) column by column"
        )
        told = [f"Plan: {begun}, into about {in_units(self.disk_bytes)} of disk in {tempfile.gettempdir()}"]
        if self.passes:
            each = " and ".join(in_units(n_bytes) for n_bytes in self.passes)
            told.append(f"then {len(self.passes)} {'pass' if len(self.passes) == 1 else 'passes'} over {each}")
        if self.memory is not None:
            told.append(f"at most {in_units(self.memory)} of memory")
        return "; ".join(told) + "."


def make_plan(
    path: Path, roles: Roles, memory: int | None, criteria: Callable[[Schema], Sequence[Relevance]] | None = None
) -> Plan | None:
    """Return the plan for a file that will not lie in memory, None for any other.

    Parameters
    ----------
    path : Path
    roles : Roles
    memory : int or None
        The bytes that were stated.
    criteria : callable, default=None
        Gives what is to be scored for a schema.
    """
    with limited(memory):
        fits = room.MEMORY_SHARE * free_memory()
        seen = preview(path, roles, fits)
    if seen is None:
        return None
    n_columns = seen.schema.n_columns
    if 8 * seen.schema.n_rows * n_columns <= fits:
        return None
    read = None if criteria is None else _passes(seen, criteria)
    return Plan(path.name, seen.schema.n_rows, n_columns, seen.parsed_bytes, seen.disk_bytes, read, memory)


def _passes(seen: Preview, criteria: Callable[[Schema], Sequence[Relevance]]) -> tuple[int, ...] | None:
    """Return the bytes that every pass reads, None where rows are compared with rows or the first of them do not tell."""
    # Graphs take a second to be imported, and where nothing is scored they are not asked for.
    from tamiz.steps.joining import takes_graph

    try:
        asked = criteria(seen.schema)
        if any(map(takes_graph, asked)):
            return None
        return tuple(sum(map(seen.column_bytes, columns)) for columns in passes(asked, seen.schema))
    except DataError:
        # Such as a target of classes that is a number in the first rows.
        return None

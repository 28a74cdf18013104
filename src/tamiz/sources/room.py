"""Room on disk: a private folder that goes with the source that uses it, and columns kept in it."""

from __future__ import annotations

import shutil
import tempfile
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from tamiz.memory import format_bytes, free_memory
from tamiz.sources.base import Source
from tamiz.sources.stored import ColumnFile

# A table that would take more than this share of the free memory is kept on disk.
MAX_MEMORY_SHARE = 0.25


class ColumnStore:
    """A temporary folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._on_disk = False
        self._lock = threading.Lock()

    @cached_property
    def _file(self) -> ColumnFile:
        return ColumnFile(self.folder / "columns")

    def choose_location(self, n_bytes: int) -> None:
        """Choose where the columns of a table of this size stay: in memory, or in a file."""
        self._on_disk = n_bytes > MAX_MEMORY_SHARE * free_memory()

    def store(self, values: NDArray[Any]) -> Any:
        """Return a column in the place where it stays."""
        if not self._on_disk:
            return values
        with self._lock:
            file = self._file
        return file.store(values)

    def check_disk_space(self, n_bytes: float, task: str) -> None:
        """Refuse to begin what would not fit on the disk."""
        free = shutil.disk_usage(self.folder).free
        if n_bytes > free:
            raise OSError(
                f"{task} needs about {format_bytes(n_bytes)} in the temporary folder {self.folder.parent}, where "
                f"{format_bytes(free)} are free. Set TMPDIR to a folder on a larger disk."
            )

    def delete_with(self, source: Source) -> None:
        """Keep the folder until the source is gone."""
        weakref.finalize(source, shutil.rmtree, self.folder, ignore_errors=True)


@contextmanager
def temporary_store() -> Iterator[ColumnStore]:
    """Open a folder that is removed when what happens inside fails."""
    room = ColumnStore(Path(tempfile.mkdtemp(prefix="tamiz-")))
    try:
        yield room
    except BaseException:
        shutil.rmtree(room.folder, ignore_errors=True)
        raise

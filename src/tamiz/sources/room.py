"""Room on disk: a private folder that goes with the source that uses it, and columns mapped into it."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.sources.base import Source
from tamiz.validation import free_memory

# Encoded columns that would take more than this share of the free memory are mapped from disk.
MEMORY_SHARE = 0.25


class Room:
    """A temporary folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._numbers = count()

    def allocate(self, shape: tuple[int, int], dtype: type) -> NDArray[Any]:
        """Return room for columns: in memory, or mapped from a file of the folder where it is much."""
        if np.dtype(dtype).itemsize * shape[0] * shape[1] <= MEMORY_SHARE * free_memory():
            return np.empty(shape, dtype)
        return np.memmap(self.folder / f"columns-{next(self._numbers)}", dtype, "w+", shape=shape)

    def keep_for(self, source: Source) -> None:
        """Keep the folder until the source is gone."""
        weakref.finalize(source, shutil.rmtree, self.folder, ignore_errors=True)


@contextmanager
def temporary_room() -> Iterator[Room]:
    """Open a folder that is removed when what happens inside fails."""
    room = Room(Path(tempfile.mkdtemp(prefix="tamiz-")))
    try:
        yield room
    except BaseException:
        shutil.rmtree(room.folder, ignore_errors=True)
        raise

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
        self._left = MEMORY_SHARE * free_memory()
        self._numbers = count()

    def keep(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return a column in the place where it stays: memory while there is some left for it, a file after that."""
        self._left -= values.nbytes
        if self._left >= 0:
            return values
        mapped = np.memmap(self.folder / f"column-{next(self._numbers)}", values.dtype, "w+", shape=values.shape)
        mapped[:] = values
        return mapped

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

"""Pieces of work that wait until there is memory for them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tamiz.memory import free_memory
from tamiz.validation import check_memory

# Work of fewer bytes takes no turn.
_SMALL = 2**24


class Turns:
    """Lets as many pieces of work run at the same time as the free memory holds, and at least one."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._held = 0
        self._free: float | None = None

    @contextmanager
    def taken(self, n_bytes: int, what: str, way_out: str) -> Iterator[None]:
        """Wait for the others to leave so much memory; work that is too large by itself is refused."""
        if n_bytes < _SMALL:
            yield
            return
        with self._changed:
            # Measured before any work: later on, much of what is taken may be what work left ready for the next.
            if self._free is None or n_bytes > self._free:
                check_memory(n_bytes, what, way_out)
                self._free = free_memory()
            while self._held and self._held + n_bytes > self._free:
                self._changed.wait()
            self._held += n_bytes
        try:
            yield
        finally:
            with self._changed:
                self._held -= n_bytes
                self._changed.notify_all()

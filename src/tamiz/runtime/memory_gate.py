"""Pieces of work that wait until there is memory for them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tamiz.runtime.memory import free_memory
from tamiz.runtime.validation import check_memory

# Work of fewer bytes takes no turn.
_UNGATED_BYTES = 2**24


class MemoryGate:
    """Lets as many pieces of work run at the same time as the free memory holds, and at least one."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._reserved = 0
        self._free_bytes: float | None = None

    @contextmanager
    def reserve(self, n_bytes: int, task: str, advice: str) -> Iterator[None]:
        """Wait for the others to leave so much memory; work that is too large by itself is refused."""
        if n_bytes < _UNGATED_BYTES:
            yield
            return
        with self._condition:
            # Measured before any work: later on, much of what is taken may be what work left ready for the next.
            if self._free_bytes is None or n_bytes > self._free_bytes:
                check_memory(n_bytes, task, advice)
                self._free_bytes = free_memory()
            while self._reserved and self._reserved + n_bytes > self._free_bytes:
                self._condition.wait()
            self._reserved += n_bytes
        try:
            yield
        finally:
            with self._condition:
                self._reserved -= n_bytes
                self._condition.notify_all()

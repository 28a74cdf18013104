"""A gate that lets tasks run concurrently while memory lasts, and makes the others wait."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tamiz.runtime.memory import free_memory
from tamiz.runtime.validation import check_memory

# Smaller tasks do not wait.
_UNGATED_BYTES = 2**24


class MemoryGate:
    """Lets as many tasks run at the same time as the free memory allows, and at least one."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._reserved = 0
        self._free_bytes: float | None = None

    @contextmanager
    def reserve(self, n_bytes: int, task: str, advice: str) -> Iterator[None]:
        """Wait until `n_bytes` are free, and reserve them for the block; MemoryError if the task alone needs more."""
        if n_bytes < _UNGATED_BYTES:
            yield
            return
        with self._condition:
            # Measured before the first task: later, part of the used memory may be buffers kept for the next tasks.
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

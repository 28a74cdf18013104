"""The steps of a study, timed, and what Ctrl-C leaves of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

from tamiz import progress

Found = TypeVar("Found")


class Run:
    """The steps of a study, timed; after Ctrl-C the rest are skipped."""

    def __init__(self) -> None:
        self.timings: list[dict[str, Any]] = []
        self.interrupted: str | None = None

    def first(self, name: str, work: Callable[[], Found]) -> Found:
        """Return what the work gives; without it there is no study."""
        begun = time.perf_counter()
        progress.tell(f"Step: {name}", 0)
        given = work()
        self.timings.append({"step": name, "seconds": round(time.perf_counter() - begun, 4)})
        return given

    def step(self, name: str, work: Callable[[], Found]) -> Found | None:
        """Return what the work gives, None when it or an earlier step was interrupted."""
        if self.interrupted:
            return None
        try:
            return self.first(name, work)
        except KeyboardInterrupt:
            self.stop(name)
            return None

    def seconds(self, name: str) -> float:
        """Return how long a step took, 0 where it was not made."""
        return float(sum(timing["seconds"] for timing in self.timings if timing["step"] == name))

    def stop(self, name: str) -> None:
        """Take note of Ctrl-C."""
        self.interrupted = f"Interrupted in the step '{name}'; what was found until then is shown."

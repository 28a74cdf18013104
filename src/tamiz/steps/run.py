"""The steps of a study, timed, and what Ctrl-C and a budget leave of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from tamiz import progress
from tamiz.steps.budget import USUAL, Budget, Estimate

Found = TypeVar("Found")


class Run:
    """The steps of a study, timed; after Ctrl-C the rest are skipped, and those that the budget has no room for.

    Parameters
    ----------
    budget : Budget

    Attributes
    ----------
    timings : list of dict
        The step, its seconds, and what was estimated.
    interrupted : str or None
        The step that Ctrl-C ended, a sentence.
    estimates : dict of str to Estimate
        What steps take, by their names.
    """

    def __init__(self, budget: Budget = USUAL) -> None:
        self.budget = budget
        self.timings: list[dict[str, Any]] = []
        self.interrupted: str | None = None
        self.estimates: Mapping[str, Estimate] = {}
        self._left_out: dict[str, list[str]] = {}

    def first(self, name: str, work: Callable[[], Found]) -> Found:
        """Return what the work gives; without it there is no study."""
        begun = time.perf_counter()
        estimate = self.estimates.get(name)
        progress.tell(f"Step: {name}" if estimate is None else f"Step: {name}, {estimate}", 0)
        given = work()
        timing: dict[str, Any] = {"step": name, "seconds": round(time.perf_counter() - begun, 4)}
        if estimate is not None:
            timing |= {"estimated_seconds": estimate.seconds, "estimated_bytes": estimate.n_bytes}
        self.timings.append(timing)
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

    def optional(self, name: str, work: Callable[[], Found], what: str) -> Found | None:
        """Return what `step` does; None where the budget has no room for it, and then `notes` say that `what` is left out."""
        if self.has_room(self.estimates.get(name), what):
            return self.step(name, work)
        return None

    def has_room(self, estimate: Estimate | None, what: str) -> bool:
        """Whether the budget has room for a part of the study; where it has none, `notes` tell of it."""
        refusal = None if estimate is None or self.interrupted else self.budget.refusal(estimate)
        if refusal is not None:
            self._left_out.setdefault(refusal, []).append(f"{what} ({estimate})")
        return refusal is None

    def notes(self) -> list[str]:
        """Return what was left out, and why."""
        return [f"Left out, because {why}: {', '.join(parts)}." for why, parts in self._left_out.items()]

    def seconds(self, name: str) -> float:
        """Return how long a step took, 0 where it was not made."""
        return float(sum(timing["seconds"] for timing in self.timings if timing["step"] == name))

    def stop(self, name: str) -> None:
        """Take note of Ctrl-C."""
        self.interrupted = f"Interrupted in the step '{name}'; what was found until then is shown."

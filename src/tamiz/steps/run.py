"""The steps of a study, timed, and what Ctrl-C and a budget leave of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from tamiz import progress
from tamiz.steps.budget import DEFAULT_BUDGET, Budget, StepEstimate

StepResult = TypeVar("StepResult")


class StepRunner:
    """The steps of a study, timed; after Ctrl-C the rest are skipped, and those that the budget has no room for.

    Parameters
    ----------
    budget : Budget

    Attributes
    ----------
    timings : list of dict
        The step, its seconds, and what was estimated.
    interruption_note : str or None
        The step that Ctrl-C ended, a sentence.
    estimates : dict of str to Estimate
        What steps take, by their names.
    """

    def __init__(self, budget: Budget = DEFAULT_BUDGET) -> None:
        self.budget = budget
        self.timings: list[dict[str, Any]] = []
        self.interruption_note: str | None = None
        self.estimates: Mapping[str, StepEstimate] = {}
        self._omitted: dict[str, list[str]] = {}

    def run_required(self, name: str, work: Callable[[], StepResult]) -> StepResult:
        """Return what the work gives; without it there is no study."""
        begun = time.perf_counter()
        estimate = self.estimates.get(name)
        progress.report_progress(f"Step: {name}" if estimate is None else f"Step: {name}, {estimate}", 0)
        given = work()
        timing: dict[str, Any] = {"step": name, "seconds": round(time.perf_counter() - begun, 4)}
        if estimate is not None:
            timing |= {"estimated_seconds": estimate.seconds, "estimated_bytes": estimate.n_bytes}
        self.timings.append(timing)
        return given

    def run_step(self, name: str, work: Callable[[], StepResult]) -> StepResult | None:
        """Return what the work gives, None when it or an earlier step was interrupted."""
        if self.interruption_note:
            return None
        try:
            return self.run_required(name, work)
        except KeyboardInterrupt:
            self.record_interrupt(name)
            return None

    def run_optional(self, name: str, work: Callable[[], StepResult], description: str) -> StepResult | None:
        """Return what `run_step` does; None where the budget has no room for it, and then `omission_notes` say that `description` is left out."""
        if self.fits_budget(self.estimates.get(name), description):
            return self.run_step(name, work)
        return None

    def fits_budget(self, estimate: StepEstimate | None, description: str) -> bool:
        """Whether the budget has room for a part of the study; where it has none, `omission_notes` tell of it."""
        refusal = None if estimate is None or self.interruption_note else self.budget.refusal_reason(estimate)
        if refusal is not None:
            self._omitted.setdefault(refusal, []).append(f"{description} ({estimate})")
        return refusal is None

    def omission_notes(self) -> list[str]:
        """Return what was left out, and why."""
        return [f"Left out, because {why}: {', '.join(parts)}." for why, parts in self._omitted.items()]

    def seconds(self, name: str) -> float:
        """Return how long a step took, 0 where it was not made."""
        return float(sum(timing["seconds"] for timing in self.timings if timing["step"] == name))

    def record_interrupt(self, name: str) -> None:
        """Take note of Ctrl-C."""
        self.interruption_note = f"Interrupted in the step '{name}'; what was found until then is shown."

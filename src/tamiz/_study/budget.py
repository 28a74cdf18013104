"""The budget of a study in seconds and memory, and the runner that times its steps and skips those that do not fit."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Self, TypeVar

from tamiz.exceptions import DataError
from tamiz.report.records import StepTiming
from tamiz.report.text import capitalize
from tamiz.runtime import progress
from tamiz.runtime.memory import format_bytes, free_memory
from tamiz.runtime.user_warnings import warn
from tamiz.runtime.validation import check_real
from tamiz.runtime.verdicts import Verdict
from tamiz.search.stopping import Evaluations, Seconds, StoppingRule

StepResult = TypeVar("StepResult")


class Step(StrEnum):
    """The steps of a study; notes call what a step computes its `part` of the study."""

    part: str

    def __new__(cls, name: str, part: str) -> Self:
        step = str.__new__(cls, name)
        step._value_, step.part = name, part
        return step

    READ = "read", "the table"
    TABLE = "table", "the description of the table"
    GRAPH = "graph", "the graph of the rows"
    RANKING = "ranking", "the ranking of the columns"
    ASSOCIATIONS = "associations", "the associations with the target"
    DISTRIBUTIONS = "distributions", "the distribution of each column"
    MEAN_RANK = "mean rank", "the mean rank over all criteria"
    REDUNDANCY = "redundancy", "the redundancy of the columns"
    SUBSET = "subset", "the subset of columns"
    REASONS = "reasons", "the reason for each column"
    MAPS = "maps", "the maps of the rows"
    QUALITY = "quality", "the quality of the maps"
    CLUSTERS = "clusters", "the clustering of the rows"
    RECOMMENDATION = "recommendation", "the comparison of selections"
    ASSESSMENT = "assessment", "the reliability of the selection"
    ERROR_RATES = "error rates", "the estimate of error rates on semi-synthetic targets"
    NOISE_EXPERIMENT = "noise_experiment", "the noise experiment"
    LEAKS = "leaks", "the score with possible target leakage"


# Seconds of a study on two cores by default.
DEFAULT_SECONDS = 120.0
# The search gets this share of the seconds that are left, and at least so many seconds.
_SEARCH_SHARE, _MIN_SEARCH_SECONDS = 0.4, 0.1
# From so many columns on, a search without a stopping rule ends after so many sets: about 10 seconds and 0.3 GB.
_MANY_COLUMNS, _MAX_SETS = 10_000, 5_000_000


@dataclass(frozen=True)
class StepEstimate:
    """Estimated cost of a step on two cores; `n_bytes` is peak memory beyond the table and what earlier steps keep."""

    seconds: float
    n_bytes: float
    n_rows: int

    def __str__(self) -> str:
        """Return seconds and memory, rounded to one digit."""
        seconds, n_bytes = (float(f"{value:.1g}") for value in (max(self.seconds, 0.1), self.n_bytes))
        return f"about {seconds:g} s and {format_bytes(n_bytes)}"


class Budget:
    """Time and memory budget of a study.

    `max_seconds=None` sizes samples from estimates for about two minutes and does not read the clock, so that a table and a seed
    give the same result on every machine. A number scales those samples (by `scale`), is compared with the clock before every step,
    and limits the search. Infinity samples only what costs the square of the rows.
    """

    def __init__(self, max_seconds: float | None = None) -> None:
        if max_seconds is not None and not check_real("max_seconds", max_seconds) > 0:
            raise ValueError(f"max_seconds must be above 0, got {max_seconds!r}.")
        self.scale = 1.0 if max_seconds is None else max_seconds / DEFAULT_SECONDS
        self._max_seconds = max_seconds
        self._start_time = time.monotonic()

    @property
    def seconds_left(self) -> float:
        """Seconds that are left; infinity if `max_seconds` is None."""
        return math.inf if self._max_seconds is None else self._max_seconds - (time.monotonic() - self._start_time)

    @contextmanager
    def paused(self) -> Iterator[None]:
        started = time.monotonic()
        try:
            yield
        finally:
            self._start_time += time.monotonic() - started

    def scale_linear(self, work: float, maximum: float = math.inf) -> int:
        """Return `work` scaled in proportion to the seconds, as a whole number of at most `maximum`."""
        return int(min(self.scale * work, maximum))

    def scale_quadratic(self, work: float, maximum: float = math.inf) -> int:
        """Return `work` scaled by the square root of the seconds (its cost is quadratic), a whole number of at most `maximum`."""
        return int(min(math.sqrt(self.scale) * work, maximum))

    def search_stopping(self, stop: StoppingRule | None, n_columns: int) -> StoppingRule | None:
        """Return `stop`, joined with a share of the seconds that are left if `max_seconds` is a number.

        Without either, a search among 10,000 or more columns has a number of evaluations, because each step evaluates every column.
        """
        if not math.isinf(self.seconds_left):
            limit = Seconds(max(_SEARCH_SHARE * self.seconds_left, _MIN_SEARCH_SECONDS))
            return limit if stop is None else stop | limit
        if stop is None and self._max_seconds is None and n_columns >= _MANY_COLUMNS:
            return Evaluations(_MAX_SETS)
        return stop

    def refusal_reason(self, estimate: StepEstimate) -> str | None:
        """Return why an optional step does not fit the budget, or None if it fits."""
        if estimate.seconds > self.seconds_left:
            return f"the {self._max_seconds:g} seconds of max_seconds (--max-seconds) are over, or too few are left"
        if estimate.n_bytes > (free := free_memory()):
            return f"{format_bytes(free)} of memory are free (memory=, --memory)"
        return None


# Never reads the clock.
DEFAULT_BUDGET: Budget = Budget()


class StepRunner:
    """Runs and times the steps of a study; skips optional steps that do not fit the budget, and all steps after Ctrl-C."""

    def __init__(self, budget: Budget = DEFAULT_BUDGET) -> None:
        self.budget = budget
        self.timings: list[StepTiming] = []
        self.interruption_note: str | None = None
        self.estimates: Mapping[Step, StepEstimate] = {}
        self._omitted: dict[str, list[str]] = {}

    def run_required(self, step: Step, work: Callable[[], StepResult]) -> StepResult:
        """Run a step and return its result; an interruption ends the study."""
        started = time.perf_counter()
        estimate = self.estimates.get(step)
        progress.report_progress(f"Step: {step}" if estimate is None else f"Step: {step}, {estimate}", 0)
        step_result = work()
        self.timings.append(
            StepTiming(
                step=step.value,
                seconds=round(time.perf_counter() - started, 4),
                estimated_seconds=None if estimate is None else estimate.seconds,
                estimated_bytes=None if estimate is None else estimate.n_bytes,
            )
        )
        return step_result

    def run_step(self, step: Step, work: Callable[[], StepResult], *, requested: bool = True) -> StepResult | None:
        """Run a step; None if interrupted, or, with a warning, if it was not requested and fails."""
        if self.interruption_note:
            return None
        try:
            return self.run_required(step, work)
        except KeyboardInterrupt:
            self.record_interrupt(step)
        except (DataError, MemoryError) as error:
            if requested:
                raise
            warn("TZ503", f"{capitalize(step.part)} is left out: {error}")
        return None

    def run_optional(self, step: Step, work: Callable[[], StepResult], *, requested: bool = False) -> StepResult | None:
        """Run a step if it fits the budget; else return None and list its part in `omission_notes`."""
        if self.fits_budget(self.estimates.get(step), step.part):
            return self.run_step(step, work, requested=requested)
        return None

    def fits_budget(self, estimate: StepEstimate | None, part: str) -> bool:
        """Whether a part of the study fits the budget; if not, `omission_notes` lists it."""
        refusal = None if estimate is None or self.interruption_note else self.budget.refusal_reason(estimate)
        if refusal is not None:
            self._omitted.setdefault(refusal, []).append(f"{part} ({estimate})")
        return refusal is None

    def omission_notes(self) -> list[Verdict]:
        """Return one sentence for each reason why parts of the study were left out, with the parts."""
        return [
            Verdict("TZ503", f"Left out, because {why}: {', '.join(parts)}.") for why, parts in self._omitted.items()
        ]

    def record_interrupt(self, name: str) -> None:
        """Record that Ctrl-C ended a step."""
        self.interruption_note = f"Interrupted in the step '{name}'; what was found until then is shown."

"""Warnings of estimators and scorers, counted over all refits and summarised for the user."""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from tamiz.runtime.verdicts import Verdict

# Longer first lines of warnings are cut.
_MAX_CHARACTERS = 200

# Numpy's floating-point warnings, and what they mean for a fit.
_NUMPY_WARNING = re.compile(r"(divide by zero|overflow|underflow|invalid value) encountered in ")
_NUMPY_ACTIONS = {
    "divide by zero": "divided by 0 or took the logarithm of 0",
    "overflow": "computed numbers beyond the largest one",
    "underflow": "computed numbers below the smallest one",
    "invalid value": "computed NaN, such as 0 / 0",
}

# The warnings of the refit that runs in this thread.
_thread_state = threading.local()


class _WarningFilters:
    """Process-wide warning filters with a reference count: the first user installs them, the last one restores the old filters."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_active = 0
        self._exit_stack = ExitStack()

    @contextmanager
    def intercept(self) -> Iterator[None]:
        with self._lock:
            self._n_active += 1
            if self._n_active == 1:
                self._install()
        try:
            yield
        finally:
            with self._lock:
                self._n_active -= 1
                if self._n_active == 0:
                    self._exit_stack.close()

    def _install(self) -> None:
        self._exit_stack.enter_context(warnings.catch_warnings())
        before = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            mine = getattr(_thread_state, "warnings", None)
            if mine is None:
                before(message, category, *where, **more)
            else:
                mine.setdefault(category, str(message))

        warnings.simplefilter("always")
        warnings.showwarning = show


_filters = _WarningFilters()


class FitWarnings:
    """The number of refits that warned, by category."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_fits = 0
        # By category: the number of refits, and the alphabetically first text, which does not depend on the order of refits.
        self._counts: dict[type[Warning], int] = {}
        self._texts: dict[type[Warning], str] = {}

    @contextmanager
    def capture(self) -> Iterator[None]:
        """Capture the warnings of refits inside the block, whatever the user's filters.

        Warnings of other threads are shown as before.

        Filters belong to the process: the first block installs them and the last one restores them.
        """
        with _filters.intercept():
            yield

    @contextmanager
    def record_fit(self) -> Iterator[dict[type[Warning], str]]:
        """Count the warnings of a refit, each category once, and yield the first text of every category."""
        found: dict[type[Warning], str] = {}
        _thread_state.warnings = found
        try:
            yield found
        finally:
            _thread_state.warnings = None
            self.add_fit(found)

    def add_fit(self, found: dict[type[Warning], str]) -> None:
        """Add the warnings of a refit in this process or in a worker."""
        with self._lock:
            self._n_fits += 1
            for category, text in found.items():
                self._counts[category] = self._counts.get(category, 0) + 1
                self._texts[category] = min(text, self._texts.get(category, text))

    def messages(self) -> list[Verdict]:
        """Return every category with its text, whatever the user's filters."""
        return [
            Verdict("TZ506", f"{kind.__name__}: {_first_line(self._texts[kind])}")
            for kind in sorted(self._counts, key=str)
        ]

    def notes(self, name: str) -> list[Verdict]:
        """Return a sentence for every category that the user's filters show."""
        kinds = sorted(filter(self._is_shown, self._counts), key=lambda kind: kind.__name__)
        fits = f"{self._n_fits:,} fit{'s' * (self._n_fits != 1)}"
        return [_describe_warning(name, self._texts[kind], kind, f"{self._counts[kind]:,} of {fits}") for kind in kinds]

    def _is_shown(self, kind: type[Warning]) -> bool:
        with warnings.catch_warnings(record=True) as shown:
            try:
                warnings.warn_explicit(self._texts[kind], kind, "", 0, registry={})
            except Warning:
                return True
        return bool(shown)


def _describe_warning(name: str, text: str, kind: type[Warning], where: str) -> Verdict:
    """Return a sentence on a warning; numpy's floating-point warnings are explained."""
    met = _NUMPY_WARNING.match(text)
    if met is None or not issubclass(kind, RuntimeWarning):
        return Verdict("TZ506", f"{name} warned in {where}: {kind.__name__}: {_first_line(text)}")
    return Verdict(
        "TZ504",
        f"{name} {_NUMPY_ACTIONS[met[1]]} in {where}, as for columns that are constant in training rows or have very large or "
        "very small values; scores of sets with such columns may be unreliable.",
    )


def _first_line(text: str) -> str:
    first = text.strip().splitlines()[0]
    return first if len(first) <= _MAX_CHARACTERS else f"{first[:_MAX_CHARACTERS]}..."

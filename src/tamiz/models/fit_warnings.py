"""Warnings of estimators and scorers, counted over all refits in place of going to the user by the hundred."""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

# A warning's first sentence tells what it is; more may follow about what to do.
_MOST_CHARACTERS = 200

# How numpy says that an operation left the numbers, and what was done.
_NUMPY_WARNING = re.compile(r"(divide by zero|overflow|underflow|invalid value) encountered in ")
_NUMPY_ACTIONS = {
    "divide by zero": "divided by 0 or took the logarithm of 0",
    "overflow": "computed numbers beyond the largest one",
    "underflow": "computed numbers below the smallest one",
    "invalid value": "computed what is no number, such as 0 / 0",
}

# What the thread's own refit has warned of.
_thread_state = threading.local()


class _WarningFilters:
    """One setting of the process's warnings, counted: the first that listens makes it, the last one undoes it."""

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
    """How many refits warned, and of what."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_fits = 0
        # By kind: how many refits warned so, and the first of the texts in their order: not the first that came.
        self._counts: dict[type[Warning], int] = {}
        self._texts: dict[type[Warning], str] = {}

    @contextmanager
    def capture(self) -> Iterator[None]:
        """Take the warnings of the refits inside, whatever filters the user has; those of other threads go where they went.

        Filters belong to the process, not to a thread: they are set by the first that listens, and set back by the last.
        """
        with _filters.intercept():
            yield

    @contextmanager
    def record_fit(self) -> Iterator[dict[type[Warning], str]]:
        """Count the warnings of a refit, each kind once, and hand out what comes: the first text of every kind."""
        found: dict[type[Warning], str] = {}
        _thread_state.warnings = found
        try:
            yield found
        finally:
            _thread_state.warnings = None
            self.add_fit(found)

    def add_fit(self, found: dict[type[Warning], str]) -> None:
        """Count what a refit warned of, here or in another process."""
        with self._lock:
            self._n_fits += 1
            for category, text in found.items():
                self._counts[category] = self._counts.get(category, 0) + 1
                self._texts[category] = min(text, self._texts.get(category, text))

    def messages(self) -> list[str]:
        """Return every kind with its text, whatever the user's own filters let through."""
        return [f"{kind.__name__}: {_first_line(self._texts[kind])}" for kind in sorted(self._counts, key=str)]

    def notes(self, name: str) -> list[str]:
        """Return a sentence for every kind that the user's own filters let through."""
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


def _describe_warning(name: str, text: str, kind: type[Warning], where: str) -> str:
    """Return what fits warned of; what numpy calls operations that leave the numbers, in words that say where they come from."""
    met = _NUMPY_WARNING.match(text)
    if met is None or not issubclass(kind, RuntimeWarning):
        return f"{name} warned in {where}: {kind.__name__}: {_first_line(text)}"
    return (
        f"{name} {_NUMPY_ACTIONS[met[1]]} in {where}, as for columns that are constant in the rows learned from or of very large or small "
        "values; scores of sets with such columns may mean little."
    )


def _first_line(text: str) -> str:
    first = text.strip().splitlines()[0]
    return first if len(first) <= _MOST_CHARACTERS else f"{first[:_MOST_CHARACTERS]}..."

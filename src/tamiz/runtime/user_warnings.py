"""Warnings to the user, attributed to the line of the caller outside this package, and their collection for reports."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from tamiz.exceptions import TamizWarning

# Stack frames in this folder are skipped to find the line of the user.
_PACKAGE_FOLDER = str(Path(__file__).parents[1]) + os.sep


_collector: ContextVar[list[str] | None] = ContextVar("tamiz_warnings", default=None)


@contextmanager
def collect_warnings() -> Iterator[list[str]]:
    """Yield a list to which every warning of the block is appended; the user still gets them."""
    messages: list[str] = []
    token = _collector.set(messages)
    try:
        yield messages
    finally:
        _collector.reset(token)


_capture: ContextVar[list[str] | None] = ContextVar("tamiz_captured_warnings", default=None)


@contextmanager
def capture_warnings() -> Iterator[list[str]]:
    """Yield a list to which every warning of the block is appended instead of being shown to the user."""
    messages: list[str] = []
    token = _capture.set(messages)
    try:
        yield messages
    finally:
        _capture.reset(token)


def warn_user(messages: Iterable[str], category: type[TamizWarning] = TamizWarning) -> None:
    """Issue a Python warning for each message, or append it to the list of `capture_warnings`."""
    captured = _capture.get()
    if captured is not None:
        captured.extend(messages)
        return
    collected = _collector.get()
    for message in messages:
        if collected is not None:
            collected.append(message)
        warnings.warn(message, category, stacklevel=_stack_level())


def _stack_level() -> int:
    frame, depth = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE_FOLDER):
        frame, depth = frame.f_back, depth + 1
    return depth

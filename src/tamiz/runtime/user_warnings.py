"""Warnings: each goes to the user once, from the line of theirs that called."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from tamiz.exceptions import TamizWarning

# Frames of this package are passed over when Python looks for the line to name.
_PACKAGE_FOLDER = str(Path(__file__).parents[1]) + os.sep


_collector: ContextVar[list[str] | None] = ContextVar("tamiz_warnings", default=None)


@contextmanager
def collect_warnings() -> Iterator[list[str]]:
    """Give a list that every sentence told inside is added to, besides going to the user."""
    sentences: list[str] = []
    token = _collector.set(sentences)
    try:
        yield sentences
    finally:
        _collector.reset(token)


_capture: ContextVar[list[str] | None] = ContextVar("tamiz_held", default=None)


@contextmanager
def capture_warnings() -> Iterator[list[str]]:
    """Give a list that every sentence told inside is added to, in place of going to the user."""
    sentences: list[str] = []
    token = _capture.set(sentences)
    try:
        yield sentences
    finally:
        _capture.reset(token)


def warn_user(messages: Iterable[str], category: type[TamizWarning] = TamizWarning) -> None:
    """Warn of each sentence."""
    kept = _capture.get()
    if kept is not None:
        kept.extend(messages)
        return
    into = _collector.get()
    for sentence in messages:
        if into is not None:
            into.append(sentence)
        warnings.warn(sentence, category, stacklevel=_stack_level())


def _stack_level() -> int:
    frame, depth = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE_FOLDER):
        frame, depth = frame.f_back, depth + 1
    return depth

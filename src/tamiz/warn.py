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
_HERE = str(Path(__file__).parent) + os.sep


_collected: ContextVar[list[str] | None] = ContextVar("tamiz_warnings", default=None)


@contextmanager
def collected() -> Iterator[list[str]]:
    """Give a list that every sentence told inside is added to, besides going to the user."""
    sentences: list[str] = []
    token = _collected.set(sentences)
    try:
        yield sentences
    finally:
        _collected.reset(token)


_held: ContextVar[list[str] | None] = ContextVar("tamiz_held", default=None)


@contextmanager
def held() -> Iterator[list[str]]:
    """Give a list that every sentence told inside is added to, in place of going to the user."""
    sentences: list[str] = []
    token = _held.set(sentences)
    try:
        yield sentences
    finally:
        _held.reset(token)


def tell(sentences: Iterable[str], category: type[TamizWarning] = TamizWarning) -> None:
    """Warn of each sentence."""
    kept = _held.get()
    if kept is not None:
        kept.extend(sentences)
        return
    into = _collected.get()
    for sentence in sentences:
        if into is not None:
            into.append(sentence)
        warnings.warn(sentence, category, stacklevel=_depth())


def _depth() -> int:
    frame, depth = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        frame, depth = frame.f_back, depth + 1
    return depth

"""Warnings to the user, attributed to the line of the caller outside this package, and their lists for reports.

Inside a block of `collect_warnings` the user gets the warnings, and the block their list; inside one of `capture_warnings` only the
block gets them; inside one of `mute_codes` they are dropped.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from tamiz import exceptions
from tamiz.exceptions import TamizWarning
from tamiz.runtime.verdicts import Verdict

# Help of the command line is printed without importing numpy.
if TYPE_CHECKING:
    from numpy.typing import NDArray

# Stack frames in this folder are skipped to find the line of the user.
_PACKAGE_FOLDER = str(Path(__file__).parents[1]) + os.sep


# Lists that collect or capture warnings, and what is not shown.
_collector: ContextVar[list[Verdict] | None] = ContextVar("tamiz_warnings", default=None)
_warns_notes: ContextVar[bool] = ContextVar("tamiz_warns_notes", default=True)
_capture: ContextVar[list[Verdict] | None] = ContextVar("tamiz_captured_warnings", default=None)
_imputation_notes: ContextVar[list[ImputationNote] | None] = ContextVar("tamiz_imputation_notes", default=None)
_muted: ContextVar[frozenset[str]] = ContextVar("tamiz_muted_codes", default=frozenset())
_Value = TypeVar("_Value")


def quote_name(name: Any) -> str:
    """Return a name as an item of a list in a sentence: in quotes if the list would be ambiguous without them.

    Quoted are empty names and names with a comma, a quotation mark, a line break, or a blank at an end.

    >>> quote_name("age"), quote_name("height, cm")
    ('age', "'height, cm'")
    """
    text = str(name)
    is_clear = text and text.isprintable() and text == text.strip() and not any(mark in text for mark in ",'\"")
    return text if is_clear else repr(text)


def list_names(
    names: Sequence[Any] | NDArray[Any], *, limit: int = 5, as_text: Callable[[Any], str] = quote_name
) -> str:
    """Return the first `limit` names or row numbers for a message, each as text, and the number of the others.

    >>> list_names(["age", "a, b"]), list_names(["age", "sex"], as_text=repr), list_names(range(100))
    ("age, 'a, b'", "'age', 'sex'", '0, 1, 2, 3, 4 and 95 more')
    """
    more = f" and {len(names) - limit:,} more" if len(names) > limit else ""
    return ", ".join(map(as_text, names[:limit])) + more


@contextmanager
def _set_for_block(variable: ContextVar[Any], value: _Value) -> Iterator[_Value]:
    token = variable.set(value)
    try:
        yield value
    finally:
        variable.reset(token)


@contextmanager
def collect_warnings(*, warn_notes: bool = True) -> Iterator[list[Verdict]]:
    """Yield a list of the warnings of the block; the user gets each of them once, and notes only with `warn_notes`."""
    messages: list[Verdict] = []
    with _set_for_block(_collector, messages), _set_for_block(_warns_notes, warn_notes):
        yield messages


def capture_warnings() -> AbstractContextManager[list[Verdict]]:
    """Yield a list to which every warning of the block is appended instead of being shown to the user."""
    return _set_for_block(_capture, [])


def capture_imputation_notes() -> AbstractContextManager[list[ImputationNote]]:
    """Yield a list to which every `ImputationNote` of the block is appended instead of being shown to the user."""
    return _set_for_block(_imputation_notes, [])


def mute_codes(codes: Iterable[str]) -> AbstractContextManager[frozenset[str]]:
    """Drop the warnings of the block that have one of these codes."""
    return _set_for_block(_muted, _muted.get() | frozenset(codes))


class ImputationNote(Verdict):
    """A note that missing values are replaced by `reader`, which a study merges with those of its other methods."""

    reader: str

    def __new__(cls, text: str, reader: str) -> Self:
        note = super().__new__(cls, "TZ207", text)
        note.reader = reader
        return note

    def __getnewargs__(self) -> tuple[Any, ...]:
        """Return the arguments of the constructor, for pickle."""
        return str(self), self.reader

    def with_sentence(self, sentence: str) -> ImputationNote:
        return ImputationNote(sentence, self.reader)


def captures_warnings() -> bool:
    """Whether warnings are captured, as those of a fit that is a part of another computation, such as of a fold."""
    return _capture.get() is not None


def is_muted(sentence: str) -> bool:
    """Whether a sentence is a verdict of a muted code."""
    return isinstance(sentence, Verdict) and sentence.code in _muted.get()


def plain_notes(notes: Iterable[str]) -> tuple[str, ...]:
    """Return notes as text, each once, without verdicts that are muted."""
    return tuple(dict.fromkeys(str(note) for note in notes if not is_muted(note)))


def warn_user(verdicts: Iterable[Verdict]) -> None:
    """Issue a Python warning for each verdict, or append it to the list of `capture_warnings` or `capture_imputation_notes`."""
    captured = _capture.get()
    if captured is not None:
        captured.extend(verdicts)
        return
    collected, imputation_notes = _collector.get(), _imputation_notes.get()
    for verdict in verdicts:
        if is_muted(verdict):
            continue
        if imputation_notes is not None and isinstance(verdict, ImputationNote):
            imputation_notes.append(verdict)
            continue
        if collected is not None:
            if verdict in collected:
                continue
            collected.append(verdict)
            if verdict.severity == "note" and not _warns_notes.get():
                continue
        category = exceptions.ConvergenceWarning if verdict.code == "TZ501" else TamizWarning
        warnings.warn(category(verdict), stacklevel=_stack_level())


def note_user(verdicts: Iterable[Verdict]) -> None:
    """Append verdicts to the list of `capture_warnings` or `collect_warnings`, for a report; Python issues no warning."""
    found = _capture.get() if captures_warnings() else _collector.get()
    if found is not None:
        found.extend(verdicts)


def warn(code: str, sentence: str, columns: Iterable[Any] = ()) -> None:
    warn_user([Verdict(code, sentence, columns)])


def _stack_level() -> int:
    frame, depth = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE_FOLDER):
        frame, depth = frame.f_back, depth + 1
    return depth

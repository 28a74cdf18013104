"""Kinds said otherwise: lines to copy to a command line and into Python, safe whatever the columns are called."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def kinds_option(kinds: Mapping[str, str]) -> str:
    """Return options that say what columns are.

    Examples
    --------
    >>> kinds_option({"zip": "categorical", "date of birth": "date"})
    "--kinds zip=categorical --kinds 'date of birth=date'"
    """
    return " ".join(_option(f"{name}={kind}") for name, kind in kinds.items())


def kinds_argument(kinds: Mapping[str, str]) -> str:
    """Return an argument that says what columns are.

    Examples
    --------
    >>> kinds_argument({"zip": "categorical"})
    "kinds={'zip': 'categorical'}"
    """
    return f"kinds={dict(kinds)!r}"


def _option(pair: str) -> str:
    # What begins with a dash would be read as another option.
    return _shell_quote(f"--kinds={pair}") if pair.startswith("-") else f"--kinds {_shell_quote(pair)}"


def _shell_quote(word: str) -> str:
    """Return a word as a shell takes it; what cannot be seen, or turns the direction of the text, is spelled out."""
    if word.isprintable():
        return shlex.quote(word)
    spelled = (c if c.isprintable() else f"\\U{ord(c):08x}" for c in word.replace("\\", "\\\\").replace("'", "\\'"))
    return f"$'{''.join(spelled)}'"

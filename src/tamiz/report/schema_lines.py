"""Kinds said otherwise: lines to copy to a command line and into Python, safe whatever the columns are called."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def on_the_command_line(kinds: Mapping[str, str]) -> str:
    """Return options that say what columns are.

    Examples
    --------
    >>> on_the_command_line({"zip": "categorical", "date of birth": "date"})
    "--kinds zip=categorical --kinds 'date of birth=date'"
    """
    return " ".join(_option(f"{name}={kind}") for name, kind in kinds.items())


def in_python(kinds: Mapping[str, str]) -> str:
    """Return an argument that says what columns are.

    Examples
    --------
    >>> in_python({"zip": "categorical"})
    "kinds={'zip': 'categorical'}"
    """
    return f"kinds={dict(kinds)!r}"


def _option(pair: str) -> str:
    # What begins with a dash would be read as another option.
    return shlex.quote(f"--kinds={pair}") if pair.startswith("-") else f"--kinds {shlex.quote(pair)}"

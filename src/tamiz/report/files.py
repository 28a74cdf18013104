"""Files that are whole or not there."""

from __future__ import annotations

import os
from pathlib import Path

from tamiz.storage.place import atomic_path


def write_text_atomically(path: str | os.PathLike[str], text: str) -> Path:
    """Write text beside its place and rename it into place, so that nobody ever reads half a file.

    Parameters
    ----------
    path : str or path
        The file; its folder must exist.
    text : str
        What it holds, written as UTF-8.

    Returns
    -------
    Path
        The file written.

    Raises
    ------
    OSError
        With one sentence that names the file or folder and what is wrong with it.
    """
    with atomic_path(path) as beside:
        # A lone half of a surrogate pair can be read from a broken file but not written.
        beside.write_bytes(text.encode("utf-8", errors="replace"))
    return Path(path)

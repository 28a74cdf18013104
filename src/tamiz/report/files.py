"""Files that are whole or not there."""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(path: str | os.PathLike[str], text: str) -> Path:
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
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {target.parent}; make it, or write {target.name} elsewhere.")
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder; give the name of a file in it.")
    beside = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        # A lone half of a surrogate pair can be read from a broken file but not written.
        beside.write_bytes(text.encode("utf-8", errors="replace"))
        beside.replace(target)
    except OSError as error:
        raise type(error)(f"{target} cannot be written: {error.strerror}.") from error
    finally:
        # Nothing is left behind on an error or Ctrl-C; after the rename there is nothing to remove. The folder may
        # be one where nothing can be removed either, and then nothing was made.
        if os.path.lexists(beside):
            beside.unlink()
    return target

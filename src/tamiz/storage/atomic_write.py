"""Files that are whole or not there."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


# MERGED: Files that are whole or not there.
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


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a place beside a file to write to, which takes the file's name when all is written: nobody ever reads half a file.

    Parameters
    ----------
    path : str or Path
        The file; its folder must exist. On any error what stood there still does.

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
    beside = target.with_name(f".tamiz-{os.getpid()}-{threading.get_ident()}.part")
    try:
        yield beside
        beside.replace(target)
    except OSError as error:
        raise type(error)(f"{target} cannot be written: {error.strerror or error}.") from error
    finally:
        # Nothing is left behind on an error or Ctrl-C; after the rename there is nothing to remove. The folder may
        # be one where nothing can be removed either, and then nothing was made.
        if os.path.lexists(beside):
            beside.unlink()

"""Atomic writing of files: a reader sees the old file or the complete new one, never a part of it."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

_TEMPORARY_NAME = re.compile(r"\.tamiz-(\d+)-\d+\.part")


class WrittenResult(ABC):
    """A result whose names and numbers are written as JSON, and which has a page."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the names and numbers as JSON types: dictionaries, lists, text and numbers."""

    @abstractmethod
    def page(self) -> str:
        """Return the result as HTML."""

    def to_json(self, path: str | os.PathLike[str]) -> Path:
        """Write the names and numbers as JSON, atomically.

        Parameters
        ----------
        path : str or path
            The file; its folder must exist.

        Returns
        -------
        Path
            The file written.
        """
        return write_text_atomically(path, json.dumps(self.to_dict(), allow_nan=False, ensure_ascii=False) + "\n")

    def to_html(self, path: str | os.PathLike[str]) -> Path:
        """Write the result as one HTML file, atomically.

        Parameters
        ----------
        path : str or path
            The file; its folder must exist.

        Returns
        -------
        Path
            The file written.
        """
        return write_text_atomically(path, self.page())


def write_text_atomically(path: str | os.PathLike[str], text: str) -> Path:
    """Write UTF-8 text to a temporary file beside the target, and rename it; an OSError names the file or folder and the reason."""
    with atomic_path(path) as temporary:
        # A lone surrogate can come from a damaged file but cannot be encoded.
        temporary.write_bytes(text.encode("utf-8", errors="replace"))
    return Path(path)


def check_writable(path: Path) -> None:
    """Raise an OSError where a file cannot be created; its message names the file or folder and the reason."""
    folder = path.parent
    if not folder.exists():
        raise FileNotFoundError(f"There is no folder {folder}; create it, or write {path.name} elsewhere.")
    if not folder.is_dir():
        raise NotADirectoryError(f"{folder} is a file, not a folder; write {path.name} elsewhere.")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file in it.")
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"The folder {folder} cannot be written to; write {path.name} elsewhere.")


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield the path of a temporary file beside a file, which is renamed to the file at the end of the block.

    After any error the old file is unchanged; an OSError names the file or folder and the reason. The file that a link points to
    is replaced, and not the link. A device or a pipe is written to, because renaming would replace it by a file.
    """
    given = Path(path)
    is_special = given.exists() and not given.is_file() and not given.is_dir()
    target = given if is_special else Path(os.path.realpath(given))
    if is_special:
        folder = Path(tempfile.mkdtemp(prefix="tamiz-"))
    else:
        check_writable(target)
        folder = target.parent
        _remove_abandoned(folder)
    temporary = folder / f".tamiz-{os.getpid()}-{threading.get_ident()}.part"
    try:
        yield temporary
        if is_special:
            with temporary.open("rb") as source, target.open("wb") as sink:
                shutil.copyfileobj(source, sink)
        else:
            temporary.replace(target)
    except OSError as error:
        raise type(error)(f"{given} cannot be written: {error.strerror or error}.") from error
    finally:
        # After an error or Ctrl-C the temporary file is removed. It may not exist, if the folder is not writable.
        if os.path.lexists(temporary):
            temporary.unlink()
        if is_special:
            folder.rmdir()


def _remove_abandoned(folder: Path) -> None:
    """Remove the temporary files of processes that were killed."""
    # On Windows, the signal that asks whether a process runs is Ctrl-C.
    for name in os.listdir(folder) if os.name == "posix" else ():
        if (found := _TEMPORARY_NAME.fullmatch(name)) and not _is_running(int(found[1])):
            with suppress(OSError):
                (folder / name).unlink()


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return True

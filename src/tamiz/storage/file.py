"""Things saved to a file and loaded from one."""

from __future__ import annotations

import errno
import json
import os
import re
import struct
import zlib
from pathlib import Path
from typing import Any, BinaryIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from tamiz import __version__
from tamiz.exceptions import DataError
from tamiz.runtime.validation import check_memory
from tamiz.storage.arrays import COMPRESSION_LEVEL, ArrayReader, ArrayWriter
from tamiz.storage.atomic_write import atomic_path
from tamiz.storage.json_tree import TreeReader, TreeWriter

_FORMAT_VERSION = 1
_DOCUMENT = "tamiz.json"
_FORMAT_PATTERN = re.compile(r"tamiz file ([1-9][0-9]{0,8})")
_MEMBER_PATTERN = re.compile(r"tamiz\.json|arrays/(0|[1-9][0-9]*)\.npy")
# Bytes of memory that a byte of JSON takes once it is read.
_JSON_MEMORY_FACTOR = 20
# What a broken archive makes zipfile raise.
_ARCHIVE_ERRORS = (
    BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    OverflowError,
)


def save(obj: Any, path: str | os.PathLike[str]) -> Path:
    """A model, a graph or a selection written to one file, to be read again by `load`.

    Parameters
    ----------
    obj : estimator, Graph or any part of them
        Also numbers, text, arrays, sparse matrices in CSR form, and lists, tuples and dicts of all these.
    path : str or Path
        The file; its name is taken as it is, such as "map.tamiz". A file that is there is replaced once the new one is whole.

    Returns
    -------
    Path
        The file written.

    Raises
    ------
    TypeError
        When the thing holds something that cannot be stored, such as a function or a random generator; the message says where.
    OSError
        When the file cannot be written. What stood there still does.

    Notes
    -----
    The file is a zip archive of `tamiz.json` and of one .npy for every array, and holds no code. Equal things make equal files.
    A graph holds the rows that it was built from, so that it can place new ones. Cost O(bytes), in memory O(1) beyond the thing.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from tamiz import load, save
    >>> from tamiz.graphs import Graph
    >>> with TemporaryDirectory() as folder:
    ...     path = save(Graph.from_edges([0, 1], [1, 2]), Path(folder) / "path.tamiz")
    ...     load(path).degrees
    array([1., 2., 1.])
    """
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"path must be a str or a Path, got {path!r}.")
    with atomic_path(path) as beside, ZipFile(beside, "w", compresslevel=COMPRESSION_LEVEL) as archive:
        try:
            content = TreeWriter(ArrayWriter(archive)).write_value(obj, type(obj).__name__)
            head = {"format": f"tamiz file {_FORMAT_VERSION}", "tamiz": __version__, "content": content}
            text = json.dumps(head, allow_nan=False, separators=(",", ":")).encode("ascii")
        except RecursionError:
            raise TypeError(
                f"The {type(obj).__name__} holds itself, or lists too deep in lists, and cannot be stored."
            ) from None
        archive.compression = ZIP_DEFLATED
        with archive.open(_DOCUMENT, "w", force_zip64=True) as file:
            file.write(text)
    return Path(path)


def load(path: str | os.PathLike[str]) -> Any:
    """A model, a graph or a selection read from a file that `save` wrote.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    object
        As it was saved: fitted, and with the same results to the bit. What stood in two places is one thing again.

    Raises
    ------
    ValueError
        When the file is not one of tamiz, is damaged, or was written by a later version.
    OSError
        When there is no such file, or it cannot be read.
    MemoryError
        When what it says it holds is more than the memory there is, before any of it is read.

    Notes
    -----
    Nothing in the file is run: it can only name classes of tamiz, which are made of the values in it. That the file is whole is
    checked, and that its numbers fit each other. Searches of neighbours are made ready again for the rows of a graph.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from tamiz import load, save
    >>> from tamiz.reduction import PCA
    >>> with TemporaryDirectory() as folder:
    ...     path = save(PCA(1).fit([[0.0, 1.0], [1.0, 3.0]]), Path(folder) / "map.tamiz")
    ...     load(path).transform([[2.0, 5.0]]).round(4)
    array([[3.3541]])
    """
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"path must be a str or a Path, got {path!r}.")
    source = Path(path)
    try:
        with source.open("rb") as file:
            return _read_file(file, source)
    except OSError as error:
        raise type(error)(f"{source} cannot be read: {error.strerror or error}.") from error


def _read_file(file: BinaryIO, source: Path) -> Any:
    """Return what an open file holds."""
    begins_as_one = file.read(4) == b"PK\x03\x04"
    try:
        with ZipFile(file) as archive:
            members = _check_members(archive, source)
            head = _parse_document(archive.read(members[_DOCUMENT]))
            return TreeReader(ArrayReader(archive)).read_value(head["content"])
    except DataError as error:
        raise DataError(f"{source} {error}.") from error
    except RecursionError:
        raise DataError(f"{source} is damaged: it holds lists too deep in lists.") from None
    except OSError as error:
        # Where bytes are missing, zipfile goes to a place before the first; other failures are not the file's.
        if error.errno != errno.EINVAL:
            raise
        raise DataError(f"{source} is damaged or cut off: bytes of it are missing.") from error
    except _ARCHIVE_ERRORS as error:
        if begins_as_one:
            raise DataError(f"{source} is damaged or cut off: {str(error).rstrip('.')}.") from error
        raise DataError(f"{source} is no tamiz file: it is no zip archive.") from error


def _check_members(archive: ZipFile, source: Path) -> dict[str, ZipInfo]:
    """Return what an archive holds by name, after a look at what that is."""
    listed = archive.infolist()
    members = {info.filename: info for info in listed}
    if _DOCUMENT not in members:
        raise DataError(f"is no tamiz file: it is a zip archive without {_DOCUMENT}")
    for info in listed:
        if not _MEMBER_PATTERN.fullmatch(info.filename) or members[info.filename] is not info:
            raise DataError(f"is damaged: it holds {info.filename!r}, which has no place in it")
        if info.flag_bits & 1 or info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            raise DataError(f"is damaged: {info.filename} is encrypted or packed in a way that tamiz does not use")
    sizes = sum(info.file_size for info in listed) + (_JSON_MEMORY_FACTOR - 1) * members[_DOCUMENT].file_size
    check_memory(sizes, f"What {source} says that it holds", "Load it where there is more, if it is yours.")
    return members


def _parse_document(text: bytes) -> dict[str, Any]:
    """Return the document of a file, after a look at its format."""
    try:
        head = json.loads(text)
    except ValueError as error:
        raise DataError(f"is damaged: its {_DOCUMENT} is no JSON ({error})") from error
    found = _FORMAT_PATTERN.fullmatch(str(head.get("format"))) if isinstance(head, dict) else None
    if found is None:
        raise DataError(f"is no tamiz file: its {_DOCUMENT} does not name the format")
    if int(found[1]) != _FORMAT_VERSION:
        raise DataError(
            f"was written by tamiz {head.get('tamiz')}, format {found[1]}; this is tamiz {__version__}, which reads format "
            f"{_FORMAT_VERSION}. Update tamiz"
        )
    if "content" not in head:
        raise DataError(f"is damaged: its {_DOCUMENT} has no content")
    return head

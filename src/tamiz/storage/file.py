"""`save` and `load`: objects in a file."""

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
from tamiz.storage.atomic_write import atomic_path
from tamiz.storage.records import COMPRESSION_LEVEL, TreeReader, TreeWriter

_FORMAT_VERSION = 1
_DOCUMENT = "tamiz.json"
_FORMAT_PATTERN = re.compile(r"tamiz file ([1-9][0-9]{0,8})")
_MEMBER_PATTERN = re.compile(r"tamiz\.json|arrays/(0|[1-9][0-9]*)\.npy")
# Memory of parsed JSON, in bytes for each byte of text.
_JSON_MEMORY_FACTOR = 20
# The errors of zipfile for a damaged archive.
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
    """Write a model, a graph or a selection to one file, which `load` reads.

    Parameters
    ----------
    obj : estimator, Graph or any part of them
        Also numbers, text, arrays, sparse matrices in CSR format, and lists, tuples and dicts of these.
    path : str or Path
        The file, such as "map.tamiz"; no extension is added. An existing file is replaced when the new one is complete.

    Returns
    -------
    Path
        The file written.

    Raises
    ------
    TypeError
        If the object contains a value that cannot be stored, such as a function or a random generator; the message names its
        location.
    OSError
        If the file cannot be written. The old file is then unchanged.

    Notes
    -----
    The file is a zip archive with `tamiz.json` and one .npy file for every array, and contains no code. Equal objects result in
    equal files. A graph is stored with the rows that it was built from, because attaching new rows needs them. Cost O(bytes),
    with O(1) memory beyond the object.

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
    with atomic_path(path) as temporary, ZipFile(temporary, "w", compresslevel=COMPRESSION_LEVEL) as archive:
        try:
            content = TreeWriter(archive).write_value(obj, type(obj).__name__)
            head = {"format": f"tamiz file {_FORMAT_VERSION}", "tamiz": __version__, "content": content}
            text = json.dumps(head, allow_nan=False, separators=(",", ":")).encode("ascii")
        except RecursionError:
            raise TypeError(
                f"The {type(obj).__name__} contains itself, or lists nested too deeply, and cannot be stored."
            ) from None
        archive.compression = ZIP_DEFLATED
        with archive.open(_DOCUMENT, "w", force_zip64=True) as file:
            file.write(text)
    return Path(path)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model, a graph or a selection from a file that `save` wrote.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    object
        The saved object: fitted, with the same results to the bit. Arrays and objects with several references are shared again.

    Raises
    ------
    ValueError
        If the file is not a tamiz file, is damaged, or was written by a later version.
    OSError
        If the file does not exist or cannot be read.
    MemoryError
        If the content would exceed the free memory; checked before it is read.

    Notes
    -----
    No code from the file is run: it can only name classes of tamiz, whose objects are restored from the stored values.
    Checksums, and the consistency of sizes and indices, are verified. Indices for the neighbour search of a graph are built
    again.

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
    has_zip_signature = file.read(4) == b"PK\x03\x04"
    try:
        with ZipFile(file) as archive:
            members = _check_members(archive, source)
            head = _parse_document(archive.read(members[_DOCUMENT]))
            return TreeReader(archive).read_value(head["content"])
    except DataError as error:
        raise DataError(f"{source} {error}.") from error
    except RecursionError:
        raise DataError(f"{source} is damaged: it contains lists nested too deeply.") from None
    except OSError as error:
        # If bytes are missing, zipfile seeks to a negative position (EINVAL); other errors are not due to the content.
        if error.errno != errno.EINVAL:
            raise
        raise DataError(f"{source} is damaged or cut off: bytes of it are missing.") from error
    except _ARCHIVE_ERRORS as error:
        if has_zip_signature:
            raise DataError(f"{source} is damaged or cut off: {str(error).rstrip('.')}.") from error
        raise DataError(f"{source} is not a tamiz file: it is not a zip archive.") from error


def _check_members(archive: ZipFile, source: Path) -> dict[str, ZipInfo]:
    """Return the members of an archive by name, after checking names, compression and total size."""
    listed = archive.infolist()
    members = {info.filename: info for info in listed}
    if _DOCUMENT not in members:
        raise DataError(f"is not a tamiz file: it is a zip archive without {_DOCUMENT}")
    for info in listed:
        if not _MEMBER_PATTERN.fullmatch(info.filename) or members[info.filename] is not info:
            raise DataError(f"is damaged: it contains an unexpected member {info.filename!r}")
        if info.flag_bits & 1 or info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            raise DataError(
                f"is damaged: {info.filename} is encrypted, or compressed by a method that tamiz does not use"
            )
    sizes = sum(info.file_size for info in listed) + (_JSON_MEMORY_FACTOR - 1) * members[_DOCUMENT].file_size
    check_memory(sizes, f"Loading {source}", "If you trust the file, load it on a machine with more memory.")
    return members


def _parse_document(text: bytes) -> dict[str, Any]:
    """Return the parsed document of a file, after checking its format and version."""
    try:
        head = json.loads(text)
    except ValueError as error:
        raise DataError(f"is damaged: its {_DOCUMENT} is not valid JSON ({error})") from error
    found = _FORMAT_PATTERN.fullmatch(str(head.get("format"))) if isinstance(head, dict) else None
    if found is None:
        raise DataError(f"is not a tamiz file: its {_DOCUMENT} does not name the format")
    if int(found[1]) != _FORMAT_VERSION:
        raise DataError(
            f"was written by tamiz {head.get('tamiz')}, format {found[1]}; this is tamiz {__version__}, which reads format "
            f"{_FORMAT_VERSION}. Update tamiz"
        )
    if "content" not in head:
        raise DataError(f"is damaged: its {_DOCUMENT} has no content")
    return head

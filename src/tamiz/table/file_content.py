"""What a file contains, by its first bytes and not by its name, and the file that a compressed file contains."""

from __future__ import annotations

import bz2
import gzip
import lzma
import shutil
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa

from tamiz.exceptions import DataError
from tamiz.runtime.memory import format_bytes
from tamiz.runtime.user_warnings import list_names

_HEAD_BYTES = 2**12
_PIECE_BYTES = 2**22

# The first bytes of a file, or those from a position on, and the format.
_SIGNATURES: tuple[tuple[int, bytes, str], ...] = (
    (0, b"\x1f\x8b", "gzip"),
    (0, b"BZh", "bzip2"),
    (0, b"\xfd7zXZ\0", "xz"),
    (0, b"\x28\xb5\x2f\xfd", "zstd"),
    (0, b"PK\x03\x04", "zip"),
    (0, b"PK\x05\x06", "zip"),
    (0, b"PAR1", "parquet"),
    (0, b"ARROW1", "arrow"),
    (0, b"FEA1", "arrow"),
    (0, b"\x93NUMPY", "npy"),
    (0, b"SQLite format 3\0", "sqlite"),
    (8, b"DUCK", "duckdb"),
    (0, b"MATLAB 5.0", "mat"),
    (0, bytes(12) + b"\xc2\xea\x81\x60\xb3\x14\x11\xcf", "sas"),
    (0, b"HEADER RECORD*******LIB", "xport"),
    (0, b"<stata_dta>", "stata"),
    (0, b"$FL2", "spss"),
    (0, b"$FL3", "spss"),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "excel"),
)
# Formats that cannot be read, named for what they are.
_UNREADABLE: tuple[tuple[int, bytes, str], ...] = (
    (0, b"%PDF", "a PDF document"),
    (0, b"\x89PNG", "a PNG image"),
    (0, b"\xff\xd8\xff", "a JPEG image"),
    (0, b"GIF8", "a GIF image"),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (0, b"Rar!", "a RAR archive"),
    (257, b"ustar", "a tar archive"),
    (0, b"\x89HDF", "an HDF5 file"),
    (0, b"Obj\x01", "an Avro file"),
    (0, b"RDX", "an R workspace"),
    (0, b"X\n\0\0\0", "an R object (.rds)"),
    (0, b"\x7fELF", "a program"),
    (0, b"MZ", "a program"),
    (0, b"\x04\x22\x4d\x18", "an LZ4 file"),
)
_STATA_VERSIONS = (105, 108, 110, 111, 112, 113, 114, 115)
_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")


def find_format(path: Path) -> str | None:
    """Return the format of a file; None for text, whose format its name states.

    Raise a DataError for a file that is known to be no table.
    """
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except PermissionError:
        raise PermissionError(f"{path} cannot be read: permission denied.") from None
    for at, mark, name in _SIGNATURES:
        if head[at : at + len(mark)] == mark:
            return _zip_format(path) if name == "zip" else name
    for at, mark, what in _UNREADABLE:
        if head[at : at + len(mark)] == mark:
            raise DataError(f"{path} is {what}. {_ADVICE}")
    if len(head) > 3 and head[0] in _STATA_VERSIONS and head[1] in (1, 2) and head[2] == 1:
        return "stata"
    return _text_format(path, head)


_ADVICE = "Save the table as CSV, Parquet or Excel, and open that."


def _text_format(path: Path, head: bytes) -> str | None:
    """Return the format of text that is no separated values."""
    if head[:2] in _MARKS[1:]:
        head = head.decode("utf-16", errors="ignore").encode()
    start = head.removeprefix(_MARKS[0]).lstrip()
    low = start[:200].lower()
    if low.startswith((b"<!doctype html", b"<html")):
        raise DataError(
            f"{path} is an HTML page, perhaps an error or a login page in place of the file. Download the file again."
        )
    if low.startswith(b"<?xml"):
        raise DataError(f"{path} is an XML document. {_ADVICE}")
    if start.startswith(b"{") and start[1:].lstrip()[:1] in (b'"', b"}"):
        return "json"
    if start.startswith(b"[") and start[1:].lstrip()[:1] in (b"{", b"["):
        return "json"
    lines = (line.strip().lower() for line in start.splitlines())
    first = next((line for line in lines if line and not line.startswith(b"%")), b"")
    return "arff" if first.startswith(b"@relation") else None


def _zip_format(path: Path) -> str:
    """Return the format of a file that is a zip archive."""
    with _open_zip(path) as archive:
        names = archive.namelist()
    if "[Content_Types].xml" in names or "mimetype" in names:
        if any(name.startswith("xl/") for name in names) or "content.xml" in names:
            return "excel"
        kind = (
            "a Word document" if any(name.startswith("word/") for name in names) else "a document of an office program"
        )
        raise DataError(f"{path} is {kind}. {_ADVICE}")
    return "npz" if names and all(name.endswith(".npy") for name in names) else "zip"


def _open_zip(path: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError) as error:
        raise DataError(f"{path} is a zip archive that cannot be read: {error}.") from None


def _zip_members(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Return the files of an archive, without those that macOS adds."""
    parts = ((info, PurePosixPath(info.filename).parts) for info in archive.infolist() if not info.is_dir())
    return [info for info, names in parts if names and names[0] != "__MACOSX" and not names[-1].startswith(".")]


_OPENERS: dict[str, Callable[[Path], Any]] = {
    "gzip": gzip.GzipFile,
    "bzip2": bz2.BZ2File,
    "xz": lzma.LZMAFile,
    "zstd": lambda path: pa.input_stream(str(path), compression="zstd"),
}
COMPRESSIONS = (*_OPENERS, "zip")
_DAMAGED = (EOFError, OSError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, pa.ArrowException, RuntimeError)


def unpack(path: Path, compression: str, folder: Path, member: str | None = None) -> Path:
    """Write the file that a compressed file contains into a folder, and return its path.

    Raise a DataError for a damaged file and for an archive of several files without `member`, and an OSError where the disk has too
    little space; nothing is left in the folder then.
    """
    if compression == "zip":
        with _open_zip(path) as archive:
            info = _choose_member(path, archive, member)
            _check_space(path, folder, info.file_size)
            return _copy(path, lambda: archive.open(info), folder, PurePosixPath(info.filename).name)
    if member is not None:
        raise DataError(f"{path} contains one file; omit ::{member}.")
    return _copy(path, lambda: _OPENERS[compression](path), folder, path.stem if path.suffix else path.name)


def _choose_member(path: Path, archive: zipfile.ZipFile, member: str | None) -> zipfile.ZipInfo:
    files = _zip_members(archive)
    if not files:
        raise DataError(f"{path} is a zip archive without files.")
    names = [info.filename for info in files]
    if member is None and len(files) > 1:
        raise DataError(
            f"{path} is a zip archive with {len(files):,} files ({list_names(names)}). Name one of them: '{path}::{names[0]}'."
        )
    chosen = files[0] if member is None else next((info for info in files if info.filename == member), None)
    if chosen is None:
        raise DataError(f"{path} has no file {member!r}; it has {list_names(names)}.")
    if chosen.flag_bits & 1:
        raise DataError(f"{path} is an archive with a password. Unpack it, and open the file in it.")
    return chosen


def _copy(path: Path, opener: Callable[[], Any], folder: Path, name: str) -> Path:
    # The name only states the format to a reader: it is never a path.
    target = folder / f"unpacked{PurePosixPath(name).suffix.lower()}"
    try:
        with opener() as source, target.open("xb") as out:
            while piece := source.read(_PIECE_BYTES):
                _check_space(path, folder, len(piece))
                out.write(piece)
    except BaseException as error:
        target.unlink(missing_ok=True)
        if isinstance(error, _DAMAGED) and not getattr(error, "errno", None):
            raise DataError(f"{path} is damaged or not complete: {str(error).splitlines()[0].rstrip('.')}.") from None
        raise
    return target


# What is left free on the disk for the columns.
_RESERVE = 2**26


def _check_space(path: Path, folder: Path, n_bytes: int) -> None:
    free = shutil.disk_usage(folder).free
    if n_bytes + _RESERVE > free:
        raise OSError(
            28,
            f"Unpacking {path} needs more than the {format_bytes(free)} that are free in {folder.parent}. Set TMPDIR to a folder "
            "on a larger disk",
        )

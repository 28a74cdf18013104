"""The encoding of a text file, found by reading all of it once."""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import BinaryIO

from tamiz.exceptions import DataError

_PIECE_BYTES = 2**22
_BYTE_ORDER_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
# Bytes that Windows' code page leaves out; a file with one of them is Latin-1.
_NOT_CP1252 = frozenset(b"\x81\x8d\x8f\x90\x9d")


def find_encoding(path: Path) -> str:
    """Return Python's name of the encoding: by its byte order mark, UTF-8 where all of it is, else a Western one."""
    try:
        with path.open("rb") as file:
            return _encoding_of(path, file)
    except PermissionError:
        raise PermissionError(f"{path} cannot be read: permission denied.") from None


def _encoding_of(path: Path, file: BinaryIO) -> str:
    piece = file.read(_PIECE_BYTES)
    if not piece.strip():
        raise DataError(f"{path} is empty.")
    for mark, name in _BYTE_ORDER_MARKS:
        if piece.startswith(mark):
            return name
    decoder = codecs.getincrementaldecoder("utf-8")()
    is_utf8 = True
    latin1 = False
    while piece:
        if b"\0" in piece:
            raise DataError(
                f"{path} is not a text file: it holds NUL bytes. Give a CSV, TSV, ARFF, Parquet or Arrow file."
            )
        if is_utf8:
            try:
                # A character cut off at the end of the file is no UTF-8 either.
                decoder.decode(piece, final=len(piece) < _PIECE_BYTES)
            except UnicodeDecodeError:
                is_utf8 = False
        latin1 = latin1 or (not piece.isascii() and not _NOT_CP1252.isdisjoint(piece))
        piece = file.read(_PIECE_BYTES)
    if is_utf8:
        return "utf-8"
    return "latin-1" if latin1 else "cp1252"

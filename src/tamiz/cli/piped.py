"""Tables from a pipe: copied to a file first, because a table is read more than once."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from pathlib import Path
from typing import Any, BinaryIO

import click

from tamiz.cli.places import STDOUT

# What a file of each format begins with; whatever else is text of separated values.
_FORMAT_SIGNATURES = {b"PAR1": "parquet", b"ARROW1": "arrow", b"@": "arff", b"%": "arff"}
_SIGNATURE_BYTES = 4096


class TableFile(click.Path):
    """A table: a file, a folder of Parquet files, or what comes out of a pipe (`-`, /dev/stdin, a named pipe)."""

    def __init__(self) -> None:
        # A file that cannot be read is bad data, told by the one who reads it, and no wrong command line.
        super().__init__(readable=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the file; of a pipe a copy, which is gone when the command ends."""
        path = Path(str(super().convert(value, param, ctx)))
        if ctx is None or ctx.resilient_parsing:
            return path
        if path == STDOUT:
            return _copy_pipe(sys.stdin.buffer, "stdin", ctx)
        try:
            mode = path.stat().st_mode
        except OSError:
            return path
        if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
            return path
        with path.open("rb") as pipe:
            return _copy_pipe(pipe, "stdin" if path.name.isdecimal() else path.stem, ctx)


def _copy_pipe(pipe: BinaryIO, name: str, context: click.Context) -> Path:
    folder = tempfile.TemporaryDirectory(prefix="tamiz-")
    context.call_on_close(folder.cleanup)
    beginning = pipe.read(_SIGNATURE_BYTES)
    kind = next(
        (kind for sign, kind in _FORMAT_SIGNATURES.items() if beginning.lstrip(b"\xef\xbb\xbf").startswith(sign)), "csv"
    )
    path = Path(folder.name) / f"{name}.{kind}"
    try:
        with path.open("wb") as file:
            file.write(beginning)
            shutil.copyfileobj(pipe, file)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        raise click.FileError(str(path), f"the table from the pipe cannot be copied there: {why}") from error
    return path

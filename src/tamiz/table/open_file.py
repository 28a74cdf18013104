"""Files by their content: compressed files are unpacked, and each format is opened by its reader."""

from __future__ import annotations

import os
import weakref
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tamiz.exceptions import DataError
from tamiz.table import registry
from tamiz.table.base import Table
from tamiz.table.build import OpenOptions
from tamiz.table.file_content import COMPRESSIONS, find_format, unpack

# The formats that a text file may have, the separated values being what `FileOptions` apply to.
_TEXT_FORMATS = ("csv", "tsv", "txt")
# A file in a file in a file is enough.
_MAX_LAYERS = 3


def open_file(place: str | os.PathLike[str], options: OpenOptions) -> Table:
    """Open a file or a folder of Parquet files.

    A sheet, table, array or file within the file is named after two colons, as in "book.xlsx::prices".
    """
    path, part = _split_part(Path(place))
    if part is not None:
        options = replace(options, file=replace(options.file, part=part))
    if path.is_dir():
        if any(path.rglob("*.parquet")):
            return _reader("parquet")(path, options)
        raise IsADirectoryError(f"{path} is a folder without Parquet files; pass a file in it.")
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}.")
    packed, found = path, find_format(path)
    with ExitStack() as folders:
        try:
            for _ in range(_MAX_LAYERS):
                if found not in COMPRESSIONS:
                    break
                folder = folders.enter_context(TemporaryDirectory(prefix="tamiz-"))
                path = unpack(path, found, Path(folder), options.file.part)
                options = replace(options, file=replace(options.file, part=None))
                found = find_format(path)
            table = _open_as(path, found, options)
        except (DataError, OSError) as error:
            if path == packed or str(path) not in str(error):
                raise
            raise type(error)(str(error).replace(str(path), str(packed)).replace(path.name, packed.name)) from None
        # A table may read its file as long as it exists.
        weakref.finalize(table, folders.pop_all().close)
    return table


def _split_part(path: Path) -> tuple[Path, str | None]:
    name, mark, part = str(path).partition("::")
    return (path, None) if not mark or path.exists() else (Path(name), part)


def _open_as(path: Path, found: str | None, options: OpenOptions) -> Table:
    ending = path.suffix.lstrip(".").lower()
    names = {entry.name for entry in registry.of_kind("file")}
    # Text is what its name states, if a reader has this name.
    name = found if found in names else ending if found is None and ending in names else "csv"
    if options.executor is not None and name != "parquet":
        raise DataError(
            f"Workers read Parquet files only, and {path} is none. Convert it: "
            f"pyarrow.dataset.write_dataset(pyarrow.dataset.dataset({str(path)!r}, format='csv'), {path.stem!r}, format='parquet')."
        )
    if name not in _TEXT_FORMATS and options.file.stated:
        option = options.file.stated[0]
        raise DataError(
            f"{option}= and --{option.replace('_', '-')} apply to files of separated values only; {path} is in another format "
            f"({name}): omit them."
        )
    if name in _TEXT_FORMATS and options.file.part is not None:
        raise DataError(f"{path} is one table of separated values; omit ::{options.file.part}.")
    return _reader(name)(path, options)


def _reader(name: str) -> Any:
    return next(entry for entry in registry.of_kind("file") if entry.name == name).load()

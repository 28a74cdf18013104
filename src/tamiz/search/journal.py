"""The journal: a file of all evaluated sets and their merits, from which an interrupted search is resumed.

A journal is text. Its first line is JSON that identifies the search. The lines after it contain, for every step, the parent sets
and their candidates, each with its merit as an exact hexadecimal number. Every line ends with a checksum of the file up to there:

    = 0 4 7 #1c291ca3             columns of a parent
    12 0x1.3fp-3 #9b2b4f05        the parent with column 12 flipped has this merit
    - 0x1.2p-3 #0a5fd3c7          the parent itself

A line that was changed, added, moved or removed is detected by its checksum or by that of the next line; an incomplete last line is
written again. The file contains no times: two runs of one search write the same bytes. A resumed search runs from its beginning and
reads the merits in the journal instead of computing them.
"""

from __future__ import annotations

import json
import math
import os
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import numpy as np

from tamiz.arrays import Floats, Masks
from tamiz.exceptions import DataError
from tamiz.search.archive import SubsetIndex
from tamiz.search.base import Candidates, MeritFunction

_FORMAT = "tamiz journal 2"
# Between a line and its checksum.
_CHECKSUM_MARK = " #"


class Journal:
    """The journal file of one search of one table; an existing file is continued.

    `identity_fields` are what the merits depend on (columns, merit, data): a journal with other fields raises DataError.
    """

    def __init__(self, path: str | os.PathLike[str], identity_fields: Mapping[str, Any], n_columns: int) -> None:
        if not isinstance(path, str | os.PathLike) or not os.fspath(path):
            raise TypeError(f"journal must be a file name, got {path!r}.")
        self._path = Path(path)
        self._n_columns = n_columns
        self._index = SubsetIndex(n_columns)
        self._merits = np.empty(0)
        # The last parent line in the file; it is not written again when the next candidates have the same parent.
        self._last_parent_line = ""
        head = json.dumps({"format": _FORMAT, **identity_fields}, sort_keys=True)
        self._checksum = zlib.crc32(head.encode())
        try:
            self._open(head)
        except OSError as error:
            raise type(error)(f"The journal {path} cannot be written: {error.strerror}. Name another file.") from error

    def _open(self, head: str) -> None:
        if self._path.exists() and self._path.stat().st_size:
            self._read(head)
            self._file: IO[str] = self._path.open("r+", encoding="utf-8", newline="\n")
            self._file.truncate(self._end)
            self._file.seek(self._end)
        else:
            self._file = self._path.open("w", encoding="utf-8", newline="\n")
            self._file.write(head + "\n")
            self._file.flush()

    def _read(self, head: str) -> None:
        """Read all complete lines, and set the position where writing continues."""
        text = self._path.read_bytes()
        self._end = text.rfind(b"\n") + 1
        lines = text[: self._end].decode("utf-8", errors="replace").split("\n")[:-1]
        if not lines and head.encode().startswith(text):
            # The first line itself is incomplete.
            self._end = 0
            self._path.write_text(head + "\n", encoding="utf-8", newline="\n")
            self._end = self._path.stat().st_size
            return
        if not lines or lines[0] != head:
            raise DataError(
                f"{self._path} is {_describe_mismatch(lines[:1], head)}. Use another file name, or delete this file."
            )
        n_columns = self._n_columns
        parents: list[Masks] = []
        owners: list[int] = []
        units: list[list[int]] = []
        merits: list[float] = []
        for number, text_line in enumerate(lines[1:], start=2):
            line = self._verify_line(number, text_line)
            try:
                if line.startswith("="):
                    parents.append(np.zeros(n_columns, dtype=bool))
                    parents[-1][_parse_columns(line[1:].split(), n_columns)] = True
                    self._last_parent_line = line
                else:
                    first, *others, merit = line.split()
                    units.append([] if first == "-" and not others else _parse_columns([first, *others], n_columns))
                    merits.append(_parse_merit(merit))
                    # Raises IndexError where there is no parent before.
                    owners.append(range(len(parents))[-1])
            except (ValueError, IndexError, OverflowError):
                raise DataError(
                    f"{self._path}, line {number}: {line!r} is not a line of a journal. Delete the file."
                ) from None
        if merits:
            starts = np.concatenate([[0], np.cumsum([len(unit) for unit in units])]).astype(np.intp)
            flipped = np.array([column for unit in units for column in unit], dtype=np.intp)
            read = Candidates(np.array(parents), np.array(owners, dtype=np.intp), starts, flipped)
            # A set is kept once, whichever search wrote it: its merit does not depend on the search.
            keys = self._index.keys(read)
            distinct = np.flatnonzero(self._index.are_new(keys))
            self._index.add(keys[distinct])
            self._merits = np.array(merits)[distinct]

    def _verify_line(self, number: int, text: str) -> str:
        """Return a line without its checksum; raise DataError where the checksum is not that of the file up to there."""
        line, _, found = text.rpartition(_CHECKSUM_MARK)
        if found != self._next_checksum(line):
            raise DataError(
                f"{self._path}, line {number}: the checksum of {text[:80]!r} differs, so the file was edited or damaged. Delete "
                f"line {number} and all lines after it to continue from there, or delete the file."
            )
        return line

    def _next_checksum(self, line: str) -> str:
        self._checksum = zlib.crc32(line.encode(), self._checksum)
        return f"{self._checksum:08x}"

    def evaluate(self, candidates: Candidates, evaluate: MeritFunction) -> tuple[Floats, Floats | None]:
        """Return merits and fold scores: merits in the journal are read, the others are computed and written.

        The journal does not contain fold scores: they are None unless all candidates are evaluated.
        """
        numbers = self._index.lookup(self._index.keys(candidates))
        new = np.flatnonzero(numbers < 0)
        if len(new) == len(candidates):
            merits, scores = evaluate(candidates)
            self.append(candidates, merits)
            return merits, scores
        merits = self._merits[numbers]
        if len(new):
            part = candidates[new]
            merits[new] = evaluate(part)[0]
            self.append(part, merits[new])
        return merits, None

    def append(self, candidates: Candidates, merits: Floats) -> None:
        """Write new merits to the file, and flush it."""
        lines: list[str] = []
        flipped, starts = candidates.flipped.tolist(), candidates.starts.tolist()
        parent = -1
        for c, (owner, merit) in enumerate(zip(candidates.parent_index.tolist(), merits.tolist(), strict=True)):
            if owner != parent:
                parent = owner
                line = " ".join(["=", *map(str, np.flatnonzero(candidates.parents[owner]).tolist())])
                lines += [line] if line != self._last_parent_line else []
                self._last_parent_line = line
            flips = " ".join(map(str, flipped[starts[c] : starts[c + 1]])) or "-"
            lines.append(f"{flips} {merit.hex()}")
        try:
            self._file.write("".join(f"{line}{_CHECKSUM_MARK}{self._next_checksum(line)}\n" for line in lines))
            self._file.flush()
        except OSError as error:
            reason = f"{error.strerror}. With more space, the same search goes on from it"
            raise type(error)(f"The journal {self._path} cannot be written: {reason}.") from error

    def close(self) -> None:
        # What could not be written cannot be written now either.
        with suppress(OSError):
            self._file.close()


def _parse_columns(words: Sequence[str], n_columns: int) -> list[int]:
    """Return column numbers; raise ValueError for one that does not exist."""
    return [range(n_columns).index(int(word)) for word in words]


def _parse_merit(word: str) -> float:
    """Return a merit, minus infinity for a set without a score; raise ValueError for NaN and plus infinity."""
    merit = float.fromhex(word)
    if math.isnan(merit) or merit == math.inf:
        raise ValueError
    return merit


def _describe_mismatch(lines: list[str], head: str) -> str:
    """Return what a file is whose first line differs from that of the search."""
    another = "the journal of another search, table or merit"
    try:
        old, new = json.loads(lines[0]), json.loads(head)
        if str(old.get("format")).startswith("tamiz journal") and old["format"] != _FORMAT:
            return f"a {old['format']!r}, but this version of tamiz reads and writes {_FORMAT!r}"
        names = [name for name in new if old.get(name) != new[name]]
    except (IndexError, ValueError, AttributeError):
        return another
    return f"{another} (it differs in {', '.join(names)})" if names else another

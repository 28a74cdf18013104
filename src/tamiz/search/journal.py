"""Every evaluated set written down as it comes, so that a search that was cut off goes on where it was.

A journal is text: a first line of JSON that says which search it belongs to, then for every step its parent sets and the
candidates made of them, each with its merit as an exact hexadecimal number, and after each line a checksum of the file up to it:

    = 0 4 7 #1c291ca3             columns of a parent
    12 0x1.3fp-3 #9b2b4f05        the parent with column 12 flipped has this merit
    - 0x1.2p-3 #0a5fd3c7          the parent itself

A line that was changed, added, moved or taken out is found by its checksum or by the next one's; a last line that was cut off is
written again. No clock is written: two runs of one search write the same bytes. To resume is to run the search again, with the
merits that are in the journal in place of evaluations.
"""

from __future__ import annotations

import json
import math
import os
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from tamiz.exceptions import DataError
from tamiz.search.subset_index import SubsetIndex
from tamiz.subsets.candidates import Candidates, Masks
from tamiz.subsets.evaluator import Evaluator, Floats

_FORMAT = "tamiz journal 2"
# Between a line and its checksum.
_CHECKSUM_MARK = " #"


class Journal:
    """A journal on disk, for one search of one table.

    Parameters
    ----------
    path : path
        Continued where it exists.
    identity_fields : mapping
        What the merits depend on (columns, merit, data); a journal of other facts is refused.
    n_columns : int
    """

    def __init__(self, path: str | os.PathLike[str], identity_fields: Mapping[str, Any], n_columns: int) -> None:
        if not isinstance(path, str | os.PathLike) or not os.fspath(path):
            raise TypeError(f"journal must be the name of a file, got {path!r}.")
        self._path = Path(path)
        self._n_columns = n_columns
        self._index = SubsetIndex(n_columns)
        self._merits = np.empty(0)
        # The line of the parent that stands last: it is not written again, wherever a search was cut off.
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
        """Take in all whole lines; the end of the last one is where writing goes on."""
        text = self._path.read_bytes()
        self._end = text.rfind(b"\n") + 1
        lines = text[: self._end].decode("utf-8", errors="replace").split("\n")[:-1]
        if not lines and head.encode().startswith(text):
            # The first line itself was cut off.
            self._end = 0
            self._path.write_text(head + "\n", encoding="utf-8", newline="\n")
            self._end = self._path.stat().st_size
            return
        if not lines or lines[0] != head:
            raise DataError(
                f"{self._path} is {_describe_mismatch(lines[:1], head)}. Name another file, or delete this one."
            )
        n_columns = self._n_columns
        parents: list[Masks] = []
        owners: list[int] = []
        units: list[list[int]] = []
        merits: list[float] = []
        for number, written in enumerate(lines[1:], start=2):
            line = self._verify_line(number, written)
            try:
                if line.startswith("="):
                    parents.append(np.zeros(n_columns, dtype=bool))
                    parents[-1][_parse_columns(line[1:].split(), n_columns)] = True
                    self._last_parent_line = line
                else:
                    first, *others, merit = line.split()
                    units.append([] if first == "-" and not others else _parse_columns([first, *others], n_columns))
                    merits.append(_parse_merit(merit))
                    # An IndexError where no parent came before.
                    owners.append(range(len(parents))[-1])
            except (ValueError, IndexError, OverflowError):
                raise DataError(
                    f"{self._path}, line {number}: {line!r} is no line of a journal. Delete the file."
                ) from None
        if merits:
            starts = np.concatenate([[0], np.cumsum([len(unit) for unit in units])]).astype(np.intp)
            flipped = np.array([column for unit in units for column in unit], dtype=np.intp)
            read = Candidates(np.array(parents), np.array(owners, dtype=np.intp), starts, flipped)
            # A set stands once, whichever search wrote it down: the merit is the set's own.
            keys = self._index.keys(read)
            once = np.flatnonzero(self._index.are_new(keys))
            self._index.add(keys[once])
            self._merits = np.array(merits)[once]

    def _verify_line(self, number: int, text: str) -> str:
        """Return a line without its checksum, which must be that of the file up to there."""
        line, _, found = text.rpartition(_CHECKSUM_MARK)
        if found != self._next_checksum(line):
            raise DataError(
                f"{self._path}, line {number}: {text[:80]!r} is not what a search wrote there: its checksum differs. The file "
                f"was edited or damaged. Delete line {number} and all lines after it to go on from there, or delete the file."
            )
        return line

    def _next_checksum(self, line: str) -> str:
        """Return the checksum of the file up to a line that is next."""
        self._checksum = zlib.crc32(line.encode(), self._checksum)
        return f"{self._checksum:08x}"

    def evaluate(self, candidates: Candidates, evaluator: Evaluator) -> tuple[Floats, Floats | None]:
        """Return merits, as they are written down where they are; the others are evaluated, and written down.

        The scores in the folds are not written: they are returned where all candidates are evaluated, and None otherwise.
        """
        numbers = self._index.lookup(self._index.keys(candidates))
        unknown = np.flatnonzero(numbers < 0)
        if len(unknown) == len(candidates):
            merits, scores = evaluator.evaluate_with_folds(candidates)
            self.append(candidates, merits)
            return merits, scores
        merits = self._merits[numbers]
        if len(unknown):
            part = candidates[unknown]
            merits[unknown] = evaluator.evaluate(part)
            self.append(part, merits[unknown])
        return merits, None

    def append(self, candidates: Candidates, merits: Floats) -> None:
        """Write new merits down, and hand them to the system before the search goes on."""
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
        self._file.write("".join(f"{line}{_CHECKSUM_MARK}{self._next_checksum(line)}\n" for line in lines))
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _parse_columns(words: Sequence[str], n_columns: int) -> list[int]:
    """Return the columns that words name; a ValueError for one that is not there."""
    return [range(n_columns).index(int(word)) for word in words]


def _parse_merit(word: str) -> float:
    """Return the merit that a word writes, minus infinity for a set without one; a ValueError for what is no merit."""
    merit = float.fromhex(word)
    if math.isnan(merit) or merit == math.inf:
        raise ValueError
    return merit


def _describe_mismatch(lines: list[str], head: str) -> str:
    """Return what a file is whose first line is another one."""
    another = "the journal of another search, table or merit"
    try:
        old, new = json.loads(lines[0]), json.loads(head)
        if str(old.get("format")).startswith("tamiz journal") and old["format"] != _FORMAT:
            return f"a {old['format']!r}, and this version of tamiz reads and writes {_FORMAT!r}"
        names = [name for name in new if old.get(name) != new[name]]
    except (IndexError, ValueError, AttributeError):
        return another
    return f"{another} (it differs in {', '.join(names)})" if names else another

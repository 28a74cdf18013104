"""Every evaluated set with its merit, in order, and the best of them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tamiz.candidates import Candidates, Masks
from tamiz.evaluator import Floats
from tamiz.storage.stored import Stored


class Archive(Stored):
    """The books of a search.

    Attributes
    ----------
    merits : ndarray of shape (n_evaluations,)
    sizes : ndarray of shape (n_evaluations,)
    best : int or None
        The number of the best set among those of an allowed size, None while there is none. A later set is better when it
        exceeds the best by more than `min_gain`; of equal ones the smaller is better, then the one of earlier columns.
    course : list of int
        The number of the best set after every step that found a better one.
    stopped : str
        Why the search ended.
    interrupted : bool
    """

    def __init__(self, n_columns: int, *, least: int = 0, most: int | None = None, min_gain: float = 0.0) -> None:
        self.n_columns = n_columns
        self._least = least
        self._most = n_columns if most is None else most
        self._min_gain = min_gain
        self.best: int | None = None
        self.best_merit = -np.inf
        self.course: list[int] = []
        self.stopped = ""
        self.interrupted = False
        self.stale_steps = 0
        self.last_gain: float | None = None
        self._batches: list[tuple[int, NDArray[np.uint8], Candidates]] = []
        self._merits: list[Floats] = []
        self._sizes: list[NDArray[np.intp]] = []
        self._count = 0
        self._merit: dict[bytes, float] = {}
        # Each column has 128 random bits, and a set is known by the exclusive or of its columns': a flip changes it in one
        # step. That two of a billion sets share theirs has odds of 1 to 10^20.
        self._bits = np.random.default_rng(0).integers(2**64, size=(n_columns, 2), dtype=np.uint64)

    def __len__(self) -> int:
        return self._count

    @property
    def merits(self) -> Floats:
        """Merits in the order of evaluation."""
        return np.concatenate(self._merits) if self._merits else np.empty(0)

    @property
    def sizes(self) -> NDArray[np.intp]:
        """Numbers of columns in the order of evaluation."""
        return np.concatenate(self._sizes) if self._sizes else np.empty(0, dtype=np.intp)

    @property
    def masks(self) -> Masks:
        """All evaluated sets, as a matrix of shape (n_evaluations, n_columns)."""
        parts = [batch.masks() for batch in self.batches()]
        return np.concatenate(parts) if parts else np.empty((0, self.n_columns), dtype=bool)

    def batches(self) -> Iterator[Candidates]:
        """Return the sets as they were evaluated together."""
        return map(self._unpacked, range(len(self._batches)))

    def _unpacked(self, place: int) -> Candidates:
        _, packed, candidates = self._batches[place]
        parents = np.unpackbits(packed, axis=1, count=self.n_columns).astype(bool)
        return Candidates(parents, candidates.parent, candidates.starts, candidates.flipped)

    def mask(self, number: int) -> Masks:
        """Return one evaluated set."""
        if not 0 <= number < len(self):
            raise IndexError(f"There is no evaluation {number}; there are {len(self)}.")
        place = bisect_right(self._batches, number, key=lambda batch: batch[0]) - 1
        batch = self._unpacked(place)
        return batch[np.array([number - self._batches[place][0]])].masks()[0]

    def stored(self) -> dict[str, Any]:
        """Return the sizes asked for, and all batches one after the other."""
        batches = [candidates for _, _, candidates in self._batches]
        return {
            "n_columns": self.n_columns,
            "least": self._least,
            "most": self._most,
            "min_gain": self._min_gain,
            "stopped": self.stopped,
            "interrupted": self.interrupted,
            "parents": np.concatenate(
                [np.empty((0, -(-self.n_columns // 8)), np.uint8), *(batch[1] for batch in self._batches)]
            ),
            "n_parents": np.array([len(packed) for _, packed, _ in self._batches], dtype=np.intp),
            "n_candidates": np.array([len(batch) for batch in batches], dtype=np.intp),
            "parent": np.concatenate([np.empty(0, np.intp), *(batch.parent for batch in batches)]),
            "widths": np.concatenate([np.empty(0, np.intp), *(np.diff(batch.starts) for batch in batches)]),
            "flipped": np.concatenate([np.empty(0, np.intp), *(batch.flipped for batch in batches)]),
            "merits": self.merits,
        }

    @classmethod
    def restored(cls, made_of: dict[str, Any]) -> Self:
        """Return the books, every batch written down again."""
        sizes = {name: made_of[name] for name in ("least", "most", "min_gain")}
        archive = cls(made_of["n_columns"], **sizes)
        first = np.cumsum([0, *made_of["n_parents"]])
        begin = np.cumsum([0, *made_of["n_candidates"]])
        starts = np.concatenate([[0], np.cumsum(made_of["widths"])]).astype(np.intp)
        parents = np.unpackbits(made_of["parents"], axis=1, count=archive.n_columns).astype(bool)
        for batch in range(len(begin) - 1):
            here = slice(begin[batch], begin[batch + 1])
            flips = starts[begin[batch] : begin[batch + 1] + 1]
            candidates = Candidates(
                parents[first[batch] : first[batch + 1]],
                made_of["parent"][here],
                flips - flips[0],
                made_of["flipped"][flips[0] : flips[-1]],
            )
            archive.record(candidates, archive.keys(candidates), made_of["merits"][here])
        archive.stopped, archive.interrupted = made_of["stopped"], made_of["interrupted"]
        return archive

    def keys(self, candidates: Candidates) -> list[bytes]:
        """Return what candidates are known by."""
        hashes = np.stack([np.bitwise_xor.reduce(self._bits[parent], axis=0) for parent in candidates.parents])
        keys = hashes[candidates.parent]
        owner = np.repeat(np.arange(len(candidates)), np.diff(candidates.starts))
        np.bitwise_xor.at(keys, owner, self._bits[candidates.flipped])
        return keys.view("V16")[:, 0].tolist()

    def recall(self, keys: list[bytes]) -> list[float | None]:
        """Return the merit of each set that was evaluated before, None for a new one."""
        return list(map(self._merit.get, keys))

    def record(self, candidates: Candidates, keys: list[bytes], merits: Floats) -> None:
        """Write new sets down, all evaluated at the same step."""
        start = self._count
        packed = np.packbits(candidates.parents, axis=1)
        bare = Candidates(np.empty((0, 0), dtype=bool), candidates.parent, candidates.starts, candidates.flipped)
        self._batches.append((start, packed, bare))
        sizes = candidates.sizes()
        self._merits.append(merits)
        self._sizes.append(sizes)
        self._merit.update(zip(keys, merits.tolist(), strict=True))
        self._count += len(keys)
        self._take_best(start, candidates, sizes, merits)

    def _take_best(self, start: int, candidates: Candidates, sizes: NDArray[np.intp], merits: Floats) -> None:
        before = self.best_merit
        allowed = (sizes >= self._least) & (sizes <= self._most)
        gained = False
        for c in np.flatnonzero(allowed & (merits >= self.best_merit)).tolist():
            if self._is_better(candidates, c, int(sizes[c]), float(merits[c])):
                self.best, self.best_merit, gained = start + c, float(merits[c]), True
                self._best_set = int(sizes[c]), candidates[np.array([c])].masks()[0]
        if allowed.any() and len(merits):
            self.last_gain = None if np.isinf(before) else float(merits[allowed].max() - before)
        if gained:
            assert self.best is not None
            self.course.append(self.best)
        self.stale_steps = 0 if gained else self.stale_steps + 1

    def _is_better(self, candidates: Candidates, c: int, size: int, merit: float) -> bool:
        if self.best is None or merit - self.best_merit > self._min_gain:
            return True
        if merit != self.best_merit:
            return False
        best_size, best_mask = self._best_set
        if size != best_size:
            return size < best_size
        mask = candidates[np.array([c])].masks()[0]
        differ = np.flatnonzero(mask != best_mask)
        return bool(differ.size and mask[differ[0]])

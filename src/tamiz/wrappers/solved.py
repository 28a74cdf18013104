"""Ways that solve for a set from products of columns, fold by fold."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz import parallel
from tamiz.candidates import Candidates
from tamiz.statistics.base import Floats
from tamiz.wrappers.base import OnPoints

# Folds whose products take more are read some at a time.
_HELD_BYTES = 2**28
# Square matrices a fold, while those of all are made.
_MATRICES = 4


@dataclass(frozen=True)
class Part:
    """Folds first .. stop, and arrays as a kernel reads them."""

    first: int
    stop: int
    arrays: tuple[Any, ...]


class Solved(OnPoints):
    """Products of columns are kept for every fold, and a set is solved from its rows and columns of them."""

    @abstractmethod
    def part(self, first: int, stop: int) -> Part:
        """Read some folds."""

    def most_bytes(self) -> float:
        """Return the bytes of products and rows of the folds held at a time."""
        first, stop = self._ranges[0]
        width = self.task.points.n_coordinates
        n_rows = sum(len(fold.test) for fold in self.task.folds[first:stop])
        return 8.0 * width * (_MATRICES * (stop - first) * width + 2 * n_rows)

    @cached_property
    def _ranges(self) -> list[tuple[int, int]]:
        matrix = 8 * (self.task.points.n_coordinates + 1) ** 2
        return parallel.spans(len(self.task.folds), max(1, _HELD_BYTES // (_MATRICES * matrix)))

    @cached_property
    def _all(self) -> Part:
        return self.part(*self._ranges[0])

    def _parts(self) -> Iterator[Part]:
        """Yield all folds at once where they take little room; else some at a time, anew at every call."""
        if len(self._ranges) == 1:
            yield self._all
            return
        for first, stop in self._ranges:
            yield self.part(first, stop)

    def over_folds(
        self,
        candidates: Candidates,
        fill: Callable[[Part, Candidates, tuple[int, int], Floats, NDArray[np.bool_]], None],
        shape: tuple[int, ...],
        n_pairs: int,
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """Return sums of a shape for every candidate and fold, and which of them the refit has to decide.

        `fill` fills those of a range of candidates and some folds; `n_pairs` candidates times folds are enough for a thread.
        """
        flips = self.task.points.translated(candidates)
        m, n_folds = len(flips), len(self.task.folds)
        sums, doubtful = np.zeros((m, n_folds, *shape)), np.ones((m, n_folds), dtype=bool)
        for part in self._parts():
            n = part.stop - part.first
            found, unsure = np.zeros((m, n, *shape)), np.ones((m, n), dtype=bool)

            def work(span: tuple[int, int], part: Part = part, out: tuple[Any, Any] = (found, unsure)) -> None:
                fill(part, flips, span, *out)

            for _ in parallel.map_blocks(work, parallel.spans(m, max(1, n_pairs // n))):
                pass
            sums[:, part.first : part.stop], doubtful[:, part.first : part.stop] = found, unsure
        return sums, doubtful

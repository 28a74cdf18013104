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
from tamiz.wrappers.base import MatrixBackend

# Folds whose products take more are read some at a time.
_MAX_PRODUCT_BYTES = 2**28
# Square matrices a fold, while those of all are made.
_MATRICES_PER_FOLD = 4


@dataclass(frozen=True)
class FoldRange:
    """Folds first .. stop, and arrays as a kernel reads them."""

    first: int
    stop: int
    arrays: tuple[Any, ...]


class ProductBackend(MatrixBackend):
    """Products of columns are kept for every fold, and a set is solved from its rows and columns of them."""

    @abstractmethod
    def read_folds(self, first: int, stop: int) -> FoldRange:
        """Read some folds."""

    def max_bytes(self) -> float:
        """Return the bytes of products and rows of the folds held at a time."""
        first, stop = self._fold_ranges[0]
        width = self.task.matrix.n_coordinates
        n_rows = sum(len(fold.test) for fold in self.task.folds[first:stop])
        return 8.0 * width * (_MATRICES_PER_FOLD * (stop - first) * width + 2 * n_rows)

    @cached_property
    def _fold_ranges(self) -> list[tuple[int, int]]:
        matrix = 8 * (self.task.matrix.n_coordinates + 1) ** 2
        return parallel.block_ranges(len(self.task.folds), max(1, _MAX_PRODUCT_BYTES // (_MATRICES_PER_FOLD * matrix)))

    @cached_property
    def _all_folds(self) -> FoldRange:
        return self.read_folds(*self._fold_ranges[0])

    def _iter_ranges(self) -> Iterator[FoldRange]:
        """Yield all folds at once where they take little room; else some at a time, anew at every call."""
        if len(self._fold_ranges) == 1:
            yield self._all_folds
            return
        for first, stop in self._fold_ranges:
            yield self.read_folds(first, stop)

    def sum_over_folds(
        self,
        candidates: Candidates,
        fill: Callable[[FoldRange, Candidates, tuple[int, int], Floats, NDArray[np.bool_]], None],
        shape: tuple[int, ...],
        n_pairs: int,
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """Return sums of a shape for every candidate and fold, and which of them the refit has to decide.

        `fill` fills those of a range of candidates and some folds; `n_pairs` candidates times folds are enough for a thread.
        """
        flips = self.task.matrix.to_coordinates(candidates)
        m, n_folds = len(flips), len(self.task.folds)
        sums, doubtful = np.zeros((m, n_folds, *shape)), np.ones((m, n_folds), dtype=bool)
        for part in self._iter_ranges():
            n = part.stop - part.first
            found, unsure = np.zeros((m, n, *shape)), np.ones((m, n), dtype=bool)

            def work(span: tuple[int, int], part: FoldRange = part, out: tuple[Any, Any] = (found, unsure)) -> None:
                fill(part, flips, span, *out)

            for _ in parallel.map_blocks(work, parallel.block_ranges(m, max(1, n_pairs // n))):
                pass
            sums[:, part.first : part.stop], doubtful[:, part.first : part.stop] = found, unsure
        return sums, doubtful

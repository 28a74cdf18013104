"""The archive of a search: every evaluated set with its merit, in order. And the certificate of an exact search."""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from tamiz.arrays import Floats, Indices, Masks
from tamiz.exceptions import DataError
from tamiz.kernels import hashing as kernels
from tamiz.search.base import Candidates
from tamiz.storage.invariants import (
    Array,
    Condition,
    FloatArray,
    InstanceOf,
    Integer,
    IntegerArray,
    Invariants,
    Nullable,
    Number,
)
from tamiz.storage.records import Serializable

SubsetKeys = NDArray[np.uint64]

_INITIAL_CAPACITY = 1024


class SubsetIndex:
    """An index of sets of columns of a table with `n_columns` columns.

    Each column has 128 random bits. The key of a set is the exclusive or of the bits of its columns (Zobrist hashing), so
    flipping a column changes it in one operation. The probability that two of a billion sets have the same key is 1e-20.
    """

    def __init__(self, n_columns: int) -> None:
        self._column_keys = np.random.default_rng(0).integers(2**64, size=(n_columns, 2), dtype=np.uint64)
        self._byte_keys = _keys_of_bytes(self._column_keys)
        self._keys = np.empty((_INITIAL_CAPACITY, 2), dtype=np.uint64)
        self._slots = np.full(2 * _INITIAL_CAPACITY, -1, dtype=np.int32)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def n_bytes(self) -> int:
        return self._keys.nbytes + self._slots.nbytes + self._byte_keys.nbytes + self._column_keys.nbytes

    def keys(self, candidates: Candidates) -> SubsetKeys:
        """Return the keys of candidates, two integers each."""
        parents, keys = (np.empty((n, 2), dtype=np.uint64) for n in (len(candidates.packed_parents), len(candidates)))
        kernels.hash_sets(candidates.packed_parents, self._byte_keys, parents)
        flips = map(_as_int64, (candidates.parent_index, candidates.starts, candidates.flipped))
        kernels.hash_candidates(parents, *flips, self._column_keys, keys)
        return keys

    def lookup(self, keys: SubsetKeys) -> NDArray[np.int64]:
        """Return the number of every set, -1 for a set that was not added."""
        numbers = np.empty(len(keys), dtype=np.int64)
        kernels.find_sets(keys, self._slots, self._keys, numbers)
        return numbers

    def are_new(self, keys: SubsetKeys) -> Masks:
        """Return which sets were not added before; of repeated keys only the first is new."""
        return (self.lookup(keys) < 0) & (first_occurrences(keys) == np.arange(len(keys)))

    def add(self, keys: SubsetKeys) -> None:
        count = self._count + len(keys)
        if count > len(self._keys):
            grown = np.empty((max(count, 2 * len(self._keys)), 2), dtype=np.uint64)
            grown[: self._count] = self._keys[: self._count]
            self._keys = grown
        self._keys[self._count : count] = keys
        if 2 * count > len(self._slots):
            size = len(self._slots)
            while size < 2 * count:
                size *= 2
            self._slots = np.full(size, -1, dtype=np.int32)
            self._count = 0
        kernels.insert_sets(self._keys, self._count, count, self._slots)
        self._count = count


def first_occurrences(keys: SubsetKeys) -> NDArray[np.int64]:
    first = np.empty(len(keys), dtype=np.int64)
    kernels.first_occurrences(keys, first)
    return first


def _keys_of_bytes(bits: SubsetKeys) -> NDArray[np.uint64]:
    """Return the keys of all sets of eight columns: one table of 256 keys for every byte of a packed mask."""
    n_bytes = -(-len(bits) // 8)
    columns = np.zeros((8 * n_bytes, 2), dtype=np.uint64)
    columns[: len(bits)] = bits
    table = np.zeros((n_bytes, 256, 2), dtype=np.uint64)
    values = np.arange(256)
    for column in range(8):
        # The first column of eight is the highest bit.
        table[:, values >> (7 - column) & 1 == 1] ^= columns[column::8, None]
    return table


def _as_int64(numbers: NDArray[np.integer]) -> NDArray[np.int64]:
    return np.ascontiguousarray(numbers, dtype=np.int64)


@dataclass(frozen=True)
class Certificate:
    """The upper bound of the merit of every allowed set that an exact search has proven, beside the merit that it found."""

    merit: float
    bound: float

    invariants: ClassVar[Invariants] = {"merit": Number(), "bound": Number()}

    @property
    def optimality_gap(self) -> float:
        """`bound - merit`: by how much a better set can exceed `merit` at most; 0 where the set found is proven optimal."""
        return max(self.bound - self.merit, 0.0)

    @property
    def is_optimal(self) -> bool:
        """Whether no allowed set has a higher merit."""
        return self.bound <= self.merit

    def __str__(self) -> str:
        if self.is_optimal:
            return "proven optimal: no allowed set has a higher merit"
        return f"optimality gap {self.optimality_gap:.2g}: no allowed set has a merit above {self.bound:.4g}"


# Orders sets of equal merit; the larger rank is better: minus the size, then the mask as bits, the first column highest.
_Rank: TypeAlias = tuple[int, bytes]
_WORST_RANK: _Rank = (-(2**62), b"")
# Tied sets are unpacked to masks in blocks of at most this many bytes.
_MASK_BYTES = 2**24


# The attributes of an archive that state how its search ended.
_END_STATE = ("stop_reason", "interrupted", "stopped_early", "n_steps_without_gain", "last_gain")


class Archive(Serializable):
    """Every evaluated set of a search with its merit, and the best of them.

    Attributes
    ----------
    merits : ndarray of shape (n_evaluations,)
        Minus infinity for a set without a score, which is never the best.
    sizes : ndarray of shape (n_evaluations,)
        Numbers of columns.
    best : int or None
        The number of the best set of an allowed size, None while there is none. A later set replaces it when its merit is higher
        by more than `min_gain`, or higher at all where it was made by dropping columns. Among equal merits the smaller set is
        better, then the one of earlier columns.
    fold_scores : ndarray of shape (n_evaluations, n_folds) or None
        The scores whose means are the merits; None where the merit has no folds, or the merits were read from a file, which does
        not contain the scores.
    index : SubsetIndex
        The numbers of the evaluated sets.
    improvements : list of int
        The numbers of the successive best sets, one for every recorded batch that improved on the best.
    tolerance : float
        By how much the merit of the best set may be below the highest merit, because the best set has fewer columns.
    n_unrecorded : int
        Sets that an exact search evaluated and found no better: counted, but not stored.
    bound : float or None
        Upper bound of the merit of every allowed set, where the search has proven one.
    stop_reason : str
        Why the search ended.
    interrupted : bool
        Whether Ctrl-C ended the search.
    stopped_early : bool
        Whether a stopping rule or Ctrl-C ended the search before it was complete.
    """

    # The stored form of the sets: p columns, q parents in w bytes each, b batches, c candidates, f flips.
    invariants: ClassVar[Invariants] = {
        "n_columns": Integer(size="p"),
        "min_size": Integer(below="p+1"),
        "max_size": Integer(below="p+1"),
        "min_gain": Number(0.0),
        "n_unrecorded": Integer(),
        "tolerance": Number(0.0),
        "bound": Nullable(Number()),
        "stop_reason": InstanceOf(str),
        "interrupted": InstanceOf(bool),
        "stopped_early": InstanceOf(bool),
        "n_steps_without_gain": Integer(),
        "last_gain": Nullable(Number()),
        "parents": (
            Array("q", "w", dtypes=(np.uint8,)),
            Condition(
                lambda it: it.parents.shape[1] == -(-it.n_columns // 8), "does not have one bit for every column"
            ),
        ),
        "n_parents": (
            IntegerArray("b"),
            Condition(lambda it: it.n_parents.sum() == len(it.parents), "does not add up to the parents"),
        ),
        "n_candidates": (
            IntegerArray("b"),
            Condition(lambda it: it.n_candidates.sum() == len(it.merits), "does not add up to the merits"),
        ),
        "merits": FloatArray("c", allow_minus_infinity=True),
        "parent": (
            IntegerArray("c"),
            Condition(
                lambda it: (it.parent < np.repeat(it.n_parents, it.n_candidates)).all(),
                "refers to a parent that does not exist",
            ),
        ),
        "widths": (
            IntegerArray("c"),
            Condition(lambda it: it.widths.sum() == len(it.flipped), "does not add up to the flips"),
        ),
        "flipped": IntegerArray("f", below="p"),
    }

    def __init__(
        self, n_columns: int, *, min_size: int = 0, max_size: int | None = None, min_gain: float = 0.0
    ) -> None:
        self.n_columns = n_columns
        self._min_size = min_size
        self._max_size = n_columns if max_size is None else max_size
        self._min_gain = min_gain
        self.best: int | None = None
        self.best_merit = -np.inf
        self._rank: _Rank | None = None
        # The best set and its merit before the current step, and the best merit of the step's new sets: None where all of them
        # have sizes that are not allowed, minus infinity where there are none.
        self._previous_best: tuple[int | None, float] = (None, -np.inf)
        self._best_step_merit: float | None = -np.inf
        self.improvements: list[int] = []
        self.stop_reason = ""
        self.interrupted = False
        self.stopped_early = False
        self.n_steps_without_gain = 0
        self.last_gain: float | None = None
        self.n_unrecorded = 0
        self.tolerance = 0.0
        self.bound: float | None = None
        self._batches: list[tuple[int, NDArray[np.uint8], Candidates]] = []
        self._sizes: list[NDArray[np.int32]] = []
        self.index = SubsetIndex(n_columns)
        self._merits = np.empty(0)
        self._started = time.monotonic()
        # None once a set was recorded without fold scores.
        self._fold_scores: list[Floats] | None = []

    def __len__(self) -> int:
        return len(self.index)

    @property
    def seconds(self) -> float:
        """Seconds since the archive was made, for the search."""
        return time.monotonic() - self._started

    @property
    def n_evaluations(self) -> int:
        """Number of evaluated sets: those recorded and those only counted."""
        return len(self) + self.n_unrecorded

    @property
    def best_size(self) -> int | None:
        """Number of columns of the best set, None while there is none."""
        return None if self._rank is None else -self._rank[0]

    @property
    def n_bytes(self) -> int:
        batches = ((packed, batch.parent_index, batch.starts, batch.flipped) for _, packed, batch in self._batches)
        total = sum(array.nbytes for arrays in batches for array in arrays) + self._merits.nbytes
        total += sum(scores.nbytes for scores in self._fold_scores or ())
        return total + sum(sizes.nbytes for sizes in self._sizes) + self.index.n_bytes

    @property
    def merits(self) -> Floats:
        return self._merits[: len(self)].copy()

    @property
    def fold_scores(self) -> Floats | None:
        """Fold scores in the order of evaluation, None unless they are known for every set."""
        return np.concatenate(self._fold_scores)[: len(self)] if self._fold_scores else None

    def cv_results(self) -> dict[str, NDArray[Any]] | None:
        """Return sets and fold scores in the form of scikit-learn's `cv_results_`, None where the scores are not known."""
        scores = self.fold_scores
        if scores is None:
            return None
        merits = self.merits
        # The standard deviation of scores of minus infinity is NaN.
        with np.errstate(invalid="ignore"):
            deviations = scores.std(axis=1)
        return {
            "n_features": self.sizes,
            "support": self.masks,
            **{f"split{fold}_test_score": values.copy() for fold, values in enumerate(scores.T)},
            "mean_test_score": merits,
            "std_test_score": deviations,
            "rank_test_score": rankdata(-merits, method="min").astype(np.int32),
        }

    @property
    def sizes(self) -> NDArray[np.int32]:
        return np.concatenate(self._sizes)[: len(self)] if self._sizes else np.empty(0, dtype=np.int32)

    @property
    def masks(self) -> Masks:
        """All evaluated sets, as a matrix of shape (n_evaluations, n_columns)."""
        parts = [batch.masks() for batch in self.batches()]
        return np.concatenate(parts) if parts else np.empty((0, self.n_columns), dtype=bool)

    def batches(self) -> Iterator[Candidates]:
        return map(self._unpack_batch, range(self._n_batches))

    @property
    def _n_batches(self) -> int:
        """Number of completely recorded batches: Ctrl-C may interrupt the recording of one."""
        return bisect_left(self._batches, len(self), key=lambda batch: batch[0])

    def _unpack_batch(self, batch_number: int) -> Candidates:
        _, packed, candidates = self._batches[batch_number]
        parents = np.unpackbits(packed, axis=1, count=self.n_columns).astype(bool)
        return Candidates(parents, candidates.parent_index, candidates.starts, candidates.flipped)

    def mask(self, number: int) -> Masks:
        if not 0 <= number < len(self):
            raise IndexError(f"There is no evaluation {number}; there are {len(self)}.")
        batch_number = bisect_right(self._batches, number, key=lambda batch: batch[0]) - 1
        batch = self._unpack_batch(batch_number)
        return batch[np.array([number - self._batches[batch_number][0]])].masks()[0]

    def get_state(self) -> dict[str, Any]:
        """Return settings and results, the batches concatenated."""
        complete = self._batches[: self._n_batches]
        batches = [candidates for _, _, candidates in complete]
        return {
            "n_columns": self.n_columns,
            "min_size": self._min_size,
            "max_size": self._max_size,
            "min_gain": self._min_gain,
            **{name: getattr(self, name) for name in ("n_unrecorded", "tolerance", "bound", *_END_STATE)},
            "parents": np.concatenate(
                [np.empty((0, -(-self.n_columns // 8)), np.uint8), *(batch[1] for batch in complete)]
            ),
            "n_parents": np.array([len(packed) for _, packed, _ in complete], dtype=np.intp),
            "n_candidates": np.array([len(batch) for batch in batches], dtype=np.intp),
            "parent": np.concatenate([np.empty(0, np.intp), *(batch.parent_index for batch in batches)]),
            "widths": np.concatenate([np.empty(0, np.intp), *(np.diff(batch.starts) for batch in batches)]),
            "flipped": np.concatenate([np.empty(0, np.intp), *(batch.flipped for batch in batches)]),
            "merits": self.merits,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        sizes = {name: state[name] for name in ("min_size", "max_size", "min_gain")}
        archive = cls(state["n_columns"], **sizes)
        first = np.cumsum([0, *state["n_parents"]])
        begin = np.cumsum([0, *state["n_candidates"]])
        starts = np.concatenate([[0], np.cumsum(state["widths"])]).astype(np.intp)
        parents = np.unpackbits(state["parents"], axis=1, count=archive.n_columns).astype(bool)
        for batch in range(len(begin) - 1):
            span = slice(begin[batch], begin[batch + 1])
            flips = starts[begin[batch] : begin[batch + 1] + 1]
            candidates = Candidates(
                parents[first[batch] : first[batch + 1]],
                state["parent"][span],
                flips - flips[0],
                state["flipped"][flips[0] : flips[-1]],
            )
            archive.record(candidates, archive.index.keys(candidates), state["merits"][span])
        archive.add_unrecorded(state["n_unrecorded"], state["bound"])
        archive.apply_tolerance(state["tolerance"])
        for name in _END_STATE:
            setattr(archive, name, state[name])
        return archive

    def known_merits(self, candidates: Candidates) -> Floats:
        """Return the merits of candidates, NaN for a set that was not evaluated."""
        numbers = self.index.lookup(self.index.keys(candidates))
        merits = np.full(len(candidates), np.nan)
        merits[numbers >= 0] = self._merits[numbers[numbers >= 0]]
        return merits

    def merits_at(self, numbers: NDArray[np.int64]) -> Floats:
        return self._merits[numbers]

    def record(
        self, candidates: Candidates, keys: SubsetKeys, merits: Floats, fold_scores: Floats | None = None
    ) -> None:
        """Record new sets, all of them from one step; a step may be recorded in several parts."""
        start = len(self)
        flips = (candidates.parent_index, candidates.starts, candidates.flipped)
        parent, starts, flipped = (numbers.astype(np.int32) for numbers in flips)
        sizes = candidates.sizes().astype(np.int32)
        self._batches.append(
            (start, candidates.packed_parents, Candidates(np.empty((0, 0), dtype=bool), parent, starts, flipped))
        )
        self._sizes.append(sizes)
        self._append_merits(start, merits)
        if fold_scores is None:
            self._fold_scores = None
        elif self._fold_scores is not None:
            self._fold_scores.append(fold_scores)
        self.index.add(keys)
        self._update_best(start, candidates, sizes, merits)

    def _append_merits(self, start: int, merits: Floats) -> None:
        stop = start + len(merits)
        if stop > len(self._merits):
            merits_before = self._merits
            self._merits = np.empty(max(stop, 2 * len(merits_before)))
            self._merits[:start] = merits_before[:start]
        self._merits[start:stop] = merits

    def add_unrecorded(self, n_subsets: int, bound: float | None) -> None:
        """Count sets that were evaluated and found no better, and store the bound, if there is one."""
        self.n_unrecorded += n_subsets
        self.bound = self.bound if bound is None else bound

    def _update_best(self, start: int, candidates: Candidates, sizes: NDArray[np.int32], merits: Floats) -> None:
        merit, rank = self.best_merit, self._rank
        allowed = np.flatnonzero((sizes >= self._min_size) & (sizes <= self._max_size) & (merits > -np.inf))
        found = merits[allowed]
        # One after the other: whether a set is a gain depends on the best one before it.
        better = np.flatnonzero((found > merit) | (rank is None))
        dropped = (sizes < candidates.parents.sum(axis=1)[candidates.parent_index])[allowed[better]]
        for value, is_drop in zip(found[better].tolist(), dropped.tolist(), strict=True):
            if rank is None or value - merit > (0.0 if is_drop else self._min_gain):
                merit, rank = value, _WORST_RANK
        winner, rank = _best_of_tied(candidates, sizes, allowed[found == merit], rank)
        if winner is not None:
            # In one statement, so that Ctrl-C leaves the three consistent.
            self.best, self.best_merit, self._rank = start + winner, merit, rank
            self.improvements.append(self.best)
        # A step whose sets all have a size that is not allowed has no gain.
        if len(found):
            self._best_step_merit = max(
                float(found.max()), -np.inf if self._best_step_merit is None else self._best_step_merit
            )
        elif self._best_step_merit == -np.inf:
            self._best_step_merit = None

    def best_per_size(self) -> dict[int, int]:
        """Return the number of the best set of every allowed size; among equal merits, of the set of earlier columns.

        Raises
        ------
        DataError
            When sets were counted without being recorded, as exact searches do: only the best set of all sizes is known then.
        """
        if self.n_unrecorded:
            raise DataError(
                "An exact search records only the best set over all sizes, not the best set of every size. Use Forward, Backward, "
                "Bidirectional or Beam."
            )
        sizes, merits = self.sizes, self.merits
        best = {}
        for size in np.unique(
            sizes[(sizes >= self._min_size) & (sizes <= self._max_size) & (merits > -np.inf)]
        ).tolist():
            of_size = np.flatnonzero(sizes == size)
            tied = of_size[merits[of_size] == merits[of_size].max()].tolist()
            best[size] = max(tied, key=lambda number: np.packbits(self.mask(number)).tobytes())
        return best

    def apply_tolerance(self, tolerance: float) -> None:
        """Make the smallest set whose merit is within the tolerance of the best the best set; called at the end of a search."""
        self.tolerance = tolerance
        if not tolerance or self.best is None:
            return
        sizes, merits = self.sizes, self.merits
        within = (sizes >= self._min_size) & (sizes <= self._max_size) & (merits >= self.best_merit - tolerance)
        smallest = np.flatnonzero(within & (sizes == sizes[within].min()))
        self.best = int(smallest[np.argmax(merits[smallest])])
        self.best_merit = float(merits[self.best])
        self._rank = (-int(sizes[self.best]), np.packbits(self.mask(self.best)).tobytes())

    def end_step(self) -> None:
        """Update the gain and the count of steps without a gain, after all sets of one proposal are recorded."""
        best, merit = self._previous_best
        if best is not None and self._best_step_merit is not None:
            # A step without new sets has a gain of 0.
            self.last_gain = self._best_step_merit - merit if self._best_step_merit > -np.inf else 0.0
        self.n_steps_without_gain = 0 if self.best != best else self.n_steps_without_gain + 1
        self._previous_best, self._best_step_merit = (self.best, self.best_merit), -np.inf


def _best_of_tied(
    candidates: Candidates, sizes: NDArray[np.int32], tied: Indices, rank: _Rank | None
) -> tuple[int | None, _Rank | None]:
    """Return the best ranked of equally good sets and its rank; None where its rank is not above `rank`."""
    if not len(tied) or rank is None:
        return None, rank
    smallest = tied[sizes[tied] == sizes[tied].min()]
    at_once = max(_MASK_BYTES // max(candidates.parents.shape[1], 1), 1)
    leading: list[tuple[bytes, int]] = []
    for start in range(0, len(smallest), at_once):
        part = smallest[start : start + at_once]
        packed = np.packbits(candidates[part].masks(), axis=1)
        leading = [max([*leading, *zip(map(bytes, packed), part.tolist(), strict=True)])]
    bits, first = leading[0]
    own = -int(sizes[first]), bits
    return (first, own) if own > rank else (None, rank)

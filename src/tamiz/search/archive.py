"""Every evaluated set with its merit, in order, and the best of them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from tamiz.exceptions import DataError
from tamiz.search.subset_index import SubsetIndex, SubsetKeys
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
from tamiz.subsets.candidates import Candidates, Masks
from tamiz.subsets.evaluator import Floats


# MERGED: What an exact search has proven.
@dataclass(frozen=True)
class Certificate:
    """How far the set found can be from the best of all.

    Attributes
    ----------
    merit : float
        Of the set found.
    bound : float
        What no set that may be chosen exceeds.
    """

    merit: float
    bound: float

    invariants: ClassVar[Invariants] = {"merit": Number(), "bound": Number()}

    @property
    def optimality_gap(self) -> float:
        """The most that a better set can gain; 0 where the set found is proven to be best."""
        return max(self.bound - self.merit, 0.0)

    @property
    def is_optimal(self) -> bool:
        """Whether no set is better."""
        return self.bound <= self.merit

    def __str__(self) -> str:
        if self.is_optimal:
            return "proven best: no set that may be chosen has a higher merit"
        return f"no set that may be chosen has a merit above {self.bound:.4g}, {self.optimality_gap:.2g} more than the one found"


# Of equal merits the larger rank is better: size, negative, and the set as bits, the first column the highest.
_Rank: TypeAlias = tuple[int, bytes]
_WORST_RANK: _Rank = (-(2**62), b"")
# Sets of very many columns are compared some at a time.
_MASK_BYTES = 2**24


class Archive(Serializable):
    """The books of a search.

    Attributes
    ----------
    merits : ndarray of shape (n_evaluations,)
        Minus infinity for a set without a score, which is never the best.
    sizes : ndarray of shape (n_evaluations,)
    best : int or None
        The number of the best set among those of an allowed size, None while there is none. A later set is better when it
        exceeds the best by more than `min_gain`, one that came by dropping columns when it exceeds it at all; of equal ones the
        smaller is better, then the one of earlier columns.
    fold_scores : ndarray of shape (n_evaluations, n_folds) or None
        The scores whose means are the merits; None where a merit has no folds, or was read from a file that has merits only.
    improvements : list of int
        The number of the best set after every step, or part of one, that found a better one.
    tolerance : float
        What the best set may lose to the highest merit, as it is smaller than the set of that.
    n_unrecorded : int
        Sets that an exact search looked at and found no better; they are counted and not written down.
    bound : float or None
        What no set that may be chosen exceeds, where the search has proven it.
    stop_reason : str
        Why the search ended.
    interrupted : bool
    stopped_early : bool
        Whether a rule ended the search, or Ctrl-C, before it came to its own end.
    """

    # Sets as they are stored: p columns, q parents in w bytes each, b batches, c candidates, f flips.
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
            Condition(lambda it: it.parents.shape[1] == -(-it.n_columns // 8), "does not have a bit for every column"),
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
                "names a parent that is not there",
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
        # The best set and its merit before the step under way, and the best merit that came of that step: None where all its new
        # sets were of sizes that may not be chosen, minus infinity where it had none.
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
        self._index = SubsetIndex(n_columns)
        self._merits = np.empty(0)
        # None once a set is recorded without scores in folds.
        self._fold_scores: list[Floats] | None = []

    def __len__(self) -> int:
        return len(self._index)

    @property
    def n_evaluations(self) -> int:
        """Sets whose merit is known: those written down and those passed over."""
        return len(self) + self.n_unrecorded

    @property
    def best_size(self) -> int | None:
        """Number of columns of the best set, None while there is none."""
        return None if self._rank is None else -self._rank[0]

    @property
    def n_bytes(self) -> int:
        """What the books take in memory."""
        batches = ((packed, batch.parent_index, batch.starts, batch.flipped) for _, packed, batch in self._batches)
        held = sum(array.nbytes for arrays in batches for array in arrays) + self._merits.nbytes
        held += sum(scores.nbytes for scores in self._fold_scores or ())
        return held + sum(sizes.nbytes for sizes in self._sizes) + self._index.n_bytes

    @property
    def merits(self) -> Floats:
        """Merits in the order of evaluation."""
        return self._merits[: len(self)].copy()

    @property
    def fold_scores(self) -> Floats | None:
        """Scores in the folds in the order of evaluation, None where they are not known of every set."""
        return np.concatenate(self._fold_scores)[: len(self)] if self._fold_scores else None

    def cv_results(self) -> dict[str, NDArray[Any]] | None:
        """Return the sets and their scores in the folds as scikit-learn's searches do, None where these are not known."""
        scores = self.fold_scores
        if scores is None:
            return None
        merits = self.merits
        # The deviation of scores of minus infinity is not a number.
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
        """Numbers of columns in the order of evaluation."""
        return np.concatenate(self._sizes)[: len(self)] if self._sizes else np.empty(0, dtype=np.int32)

    @property
    def masks(self) -> Masks:
        """All evaluated sets, as a matrix of shape (n_evaluations, n_columns)."""
        parts = [batch.masks() for batch in self.batches()]
        return np.concatenate(parts) if parts else np.empty((0, self.n_columns), dtype=bool)

    def batches(self) -> Iterator[Candidates]:
        """Return the sets as they were evaluated together."""
        return map(self._unpack_batch, range(self._n_batches))

    @property
    def _n_batches(self) -> int:
        """Batches that are written down whole: Ctrl-C may come in the middle of one."""
        return bisect_left(self._batches, len(self), key=lambda batch: batch[0])

    def _unpack_batch(self, batch_number: int) -> Candidates:
        _, packed, candidates = self._batches[batch_number]
        parents = np.unpackbits(packed, axis=1, count=self.n_columns).astype(bool)
        return Candidates(parents, candidates.parent_index, candidates.starts, candidates.flipped)

    def mask(self, number: int) -> Masks:
        """Return one evaluated set."""
        if not 0 <= number < len(self):
            raise IndexError(f"There is no evaluation {number}; there are {len(self)}.")
        place = bisect_right(self._batches, number, key=lambda batch: batch[0]) - 1
        batch = self._unpack_batch(place)
        return batch[np.array([number - self._batches[place][0]])].masks()[0]

    def get_state(self) -> dict[str, Any]:
        """Return the sizes asked for, and all batches one after the other."""
        whole = self._batches[: self._n_batches]
        batches = [candidates for _, _, candidates in whole]
        return {
            "n_columns": self.n_columns,
            "min_size": self._min_size,
            "max_size": self._max_size,
            "min_gain": self._min_gain,
            "n_unrecorded": self.n_unrecorded,
            "tolerance": self.tolerance,
            "bound": self.bound,
            "stop_reason": self.stop_reason,
            "interrupted": self.interrupted,
            "stopped_early": self.stopped_early,
            "n_steps_without_gain": self.n_steps_without_gain,
            "last_gain": self.last_gain,
            "parents": np.concatenate(
                [np.empty((0, -(-self.n_columns // 8)), np.uint8), *(batch[1] for batch in whole)]
            ),
            "n_parents": np.array([len(packed) for _, packed, _ in whole], dtype=np.intp),
            "n_candidates": np.array([len(batch) for batch in batches], dtype=np.intp),
            "parent": np.concatenate([np.empty(0, np.intp), *(batch.parent_index for batch in batches)]),
            "widths": np.concatenate([np.empty(0, np.intp), *(np.diff(batch.starts) for batch in batches)]),
            "flipped": np.concatenate([np.empty(0, np.intp), *(batch.flipped for batch in batches)]),
            "merits": self.merits,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Return the books, every batch written down again."""
        sizes = {name: state[name] for name in ("min_size", "max_size", "min_gain")}
        archive = cls(state["n_columns"], **sizes)
        first = np.cumsum([0, *state["n_parents"]])
        begin = np.cumsum([0, *state["n_candidates"]])
        starts = np.concatenate([[0], np.cumsum(state["widths"])]).astype(np.intp)
        parents = np.unpackbits(state["parents"], axis=1, count=archive.n_columns).astype(bool)
        for batch in range(len(begin) - 1):
            here = slice(begin[batch], begin[batch + 1])
            flips = starts[begin[batch] : begin[batch + 1] + 1]
            candidates = Candidates(
                parents[first[batch] : first[batch + 1]],
                state["parent"][here],
                flips - flips[0],
                state["flipped"][flips[0] : flips[-1]],
            )
            archive.record(candidates, archive.keys(candidates), state["merits"][here])
        archive.add_unrecorded(state["n_unrecorded"], state["bound"])
        archive.apply_tolerance(state["tolerance"])
        archive.stop_reason, archive.interrupted = state["stop_reason"], state["interrupted"]
        archive.stopped_early = state["stopped_early"]
        archive.n_steps_without_gain, archive.last_gain = state["n_steps_without_gain"], state["last_gain"]
        return archive

    def keys(self, candidates: Candidates) -> SubsetKeys:
        """Return what candidates are known by."""
        return self._index.keys(candidates)

    def lookup(self, keys: SubsetKeys) -> NDArray[np.int64]:
        """Return the number of each set that was evaluated before, -1 for a new one."""
        return self._index.lookup(keys)

    def are_new(self, keys: SubsetKeys) -> NDArray[np.bool_]:
        """Return which sets were not evaluated before, and stand here for the first time."""
        return self._index.are_new(keys)

    def merits_at(self, numbers: NDArray[np.int64]) -> Floats:
        """Return the merits of sets by their numbers."""
        return self._merits[numbers]

    def record(
        self, candidates: Candidates, keys: SubsetKeys, merits: Floats, fold_scores: Floats | None = None
    ) -> None:
        """Write new sets down, all evaluated at the same step: the whole of it or a part."""
        start = len(self)
        parent, starts, flipped = map(_as_int32, (candidates.parent_index, candidates.starts, candidates.flipped))
        sizes = _as_int32(candidates.sizes())
        self._batches.append(
            (start, candidates.packed_parents, Candidates(np.empty((0, 0), dtype=bool), parent, starts, flipped))
        )
        self._sizes.append(sizes)
        self._append_merits(start, merits)
        if fold_scores is None:
            self._fold_scores = None
        elif self._fold_scores is not None:
            self._fold_scores.append(fold_scores)
        self._index.add(keys)
        self._update_best(start, candidates, sizes, merits)

    def _append_merits(self, start: int, merits: Floats) -> None:
        stop = start + len(merits)
        if stop > len(self._merits):
            merits_before = self._merits
            self._merits = np.empty(max(stop, 2 * len(merits_before)))
            self._merits[:start] = merits_before[:start]
        self._merits[start:stop] = merits

    def add_unrecorded(self, n_subsets: int, bound: float | None) -> None:
        """Take note of sets that were found no better, and of what is proven."""
        self.n_unrecorded += n_subsets
        self.bound = self.bound if bound is None else bound

    def _update_best(self, start: int, candidates: Candidates, sizes: NDArray[np.int32], merits: Floats) -> None:
        merit, rank = self.best_merit, self._rank
        allowed = np.flatnonzero((sizes >= self._min_size) & (sizes <= self._max_size) & (merits > -np.inf))
        found = merits[allowed]
        # One after the other, as what counts as a gain depends on the one before.
        better = np.flatnonzero((found > merit) | (rank is None))
        dropped = (sizes < candidates.parents.sum(axis=1)[candidates.parent_index])[allowed[better]]
        for value, is_drop in zip(found[better].tolist(), dropped.tolist(), strict=True):
            if rank is None or value - merit > (0.0 if is_drop else self._min_gain):
                merit, rank = value, _WORST_RANK
        place, rank = _best_of_tied(candidates, sizes, allowed[found == merit], rank)
        if place is not None:
            # At once, so that Ctrl-C finds them together.
            self.best, self.best_merit, self._rank = start + place, merit, rank
            self.improvements.append(self.best)
        # A step on the way to the size asked for says nothing of gains.
        if len(found):
            self._best_step_merit = max(
                float(found.max()), -np.inf if self._best_step_merit is None else self._best_step_merit
            )
        elif self._best_step_merit == -np.inf:
            self._best_step_merit = None

    def best_per_size(self) -> dict[int, int]:
        """Return the number of the best set of every size that may be chosen, of equal ones that of earlier columns.

        Raises
        ------
        DataError
            When sets were passed over: of them only the best of all sizes is written down.
        """
        if self.n_unrecorded:
            raise DataError(
                "The best set of every size is not known of an exact search, which writes down the best of all sizes: take "
                "Forward, Backward, Bidirectional or Beam."
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
        """Take the smallest set that loses no more than the tolerance to the best for the best: at the end of a search."""
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
        """Take note that what came of one proposal is written down."""
        best, merit = self._previous_best
        if best is not None and self._best_step_merit is not None:
            # Where nothing was new, nothing was gained.
            self.last_gain = self._best_step_merit - merit if self._best_step_merit > -np.inf else 0.0
        self.n_steps_without_gain = 0 if self.best != best else self.n_steps_without_gain + 1
        self._previous_best, self._best_step_merit = (self.best, self.best_merit), -np.inf


def _best_of_tied(
    candidates: Candidates, sizes: NDArray[np.int32], tied: NDArray[np.intp], rank: _Rank | None
) -> tuple[int | None, _Rank | None]:
    """Return the smallest of equally good sets, of these the one of earlier columns, and its rank; None where it is no better."""
    if not len(tied) or rank is None:
        return None, rank
    smallest = tied[sizes[tied] == sizes[tied].min()]
    at_once = max(_MASK_BYTES // max(candidates.parents.shape[1], 1), 1)
    named: list[tuple[bytes, int]] = []
    for start in range(0, len(smallest), at_once):
        part = smallest[start : start + at_once]
        packed = np.packbits(candidates[part].masks(), axis=1)
        named = [max([*named, *zip(map(bytes, packed), part.tolist(), strict=True)])]
    name, first = named[0]
    own = -int(sizes[first]), name
    return (first, own) if own > rank else (None, rank)


def _as_int32(numbers: NDArray[np.integer]) -> NDArray[np.int32]:
    """Return numbers in half the room."""
    return numbers.astype(np.int32)

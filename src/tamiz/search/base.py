"""What searches and merits agree on: candidate sets, evaluators, the problem of a search, and the base class of searches.

A search is a generator: `walk(problem, rng)` yields proposals, mostly `Candidates`, and receives their merits. Forward selection,
for instance, yields every set that has one column more than the current one, and continues from the set with the highest merit.
The cache of merits, the archive, the journal and the stopping rules are implemented once, in `tamiz.search.runner`, for all
searches.

A *unit* is what a search adds or drops at once: a single column, or a group of columns (`column_groups`).
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Integral, Real
from typing import Any, ClassVar, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from tamiz.arrays import Floats, Indices, Masks
from tamiz.exceptions import DataError
from tamiz.runtime.registry import suggestion
from tamiz.runtime.user_warnings import list_names
from tamiz.runtime.validation import check_n_features
from tamiz.runtime.verdicts import Verdict

Unit: TypeAlias = Indices
Units = Sequence[Unit]
# A walk returns the reason why it ended.
Walk: TypeAlias = "Generator[Proposal, Floats, str]"
Columns: TypeAlias = "Iterable[str | int]"
# A number of columns, or a share of the columns that can be chosen; or the pair (smallest, largest) of such.
SetSize: TypeAlias = "float | tuple[float, float]"
# How the importances of columns are found, as `RecursiveElimination` describes it.
ImportanceGetter: TypeAlias = "str | Callable[[Any], Any]"
# int32 where many are stored.
Integers = NDArray[np.integer[Any]]


class Proposal(ABC):
    @abstractmethod
    def scan(self, budget: int | None) -> ScanResult:
        """Return the sets to evaluate, and what is known after inspecting at most `budget` sets."""


@dataclass(frozen=True)
class Candidates(Proposal):
    """Candidates as flips of a few parents: an evaluator with the sums of a parent needs only the flips.

    Attributes
    ----------
    parents : ndarray of shape (n_parents, n_columns), bool
    parent_index : ndarray of shape (n_candidates,)
        The row of `parents` of each candidate.
    starts : ndarray of shape (n_candidates + 1,)
    flipped : ndarray
        Candidate c flips the columns flipped[starts[c] : starts[c + 1]].
    """

    parents: Masks
    parent_index: Integers
    starts: Integers
    flipped: Integers

    @classmethod
    def from_masks(cls, masks: Masks) -> Candidates:
        """Return candidates without flips, each its own parent."""
        masks = np.atleast_2d(masks)
        m = len(masks)
        return cls(masks, np.arange(m), np.zeros(m + 1, dtype=np.intp), np.empty(0, dtype=np.intp))

    @classmethod
    def from_flips(cls, parent: Masks, units: Sequence[NDArray[np.intp]]) -> Candidates:
        """Return one candidate for each unit of columns: the parent with that unit flipped."""
        starts = np.concatenate([[0], np.cumsum([len(unit) for unit in units])]).astype(np.intp)
        flipped = np.concatenate(units).astype(np.intp) if units else np.empty(0, dtype=np.intp)
        return cls(np.atleast_2d(parent), np.zeros(len(units), dtype=np.intp), starts, flipped)

    @classmethod
    def concatenate(cls, batches: Sequence[Candidates]) -> Candidates:
        """Return one or more batches as one, in order."""
        n_parents = np.cumsum([0, *(len(part.parents) for part in batches)])
        n_flipped = np.cumsum([0, *(len(part.flipped) for part in batches)])
        starts = [part.starts[:-1] + before for part, before in zip(batches, n_flipped[:-1], strict=True)]
        return cls(
            np.concatenate([part.parents for part in batches]),
            np.concatenate([part.parent_index + before for part, before in zip(batches, n_parents[:-1], strict=True)]),
            np.concatenate([*starts, n_flipped[-1:]]).astype(np.intp),
            np.concatenate([part.flipped for part in batches]),
        )

    def scan(self, budget: int | None) -> ScanResult:  # noqa: ARG002 - the runner applies the budget
        return ScanResult(self)

    def __len__(self) -> int:
        return len(self.parent_index)

    def __getitem__(self, chosen: NDArray[Any]) -> Candidates:
        """Return some of the candidates, by their indices."""
        widths = np.diff(self.starts)[chosen]
        starts = np.concatenate([[0], np.cumsum(widths)]).astype(np.intp)
        positions = np.arange(starts[-1]) - np.repeat(starts[:-1], widths) + np.repeat(self.starts[:-1][chosen], widths)
        return Candidates(self.parents, self.parent_index[chosen], starts, self.flipped[positions])

    def flips_by_width(self, parent: int) -> Iterator[tuple[NDArray[np.intp], Integers]]:
        """Yield the candidates of one parent and their flips as a matrix, for each number of flipped columns."""
        mine = np.flatnonzero(self.parent_index == parent)
        widths = np.diff(self.starts)[mine]
        for width in np.unique(widths):
            where = mine[widths == width]
            yield where, self.flipped[self.starts[where][:, None] + np.arange(width)]

    @cached_property
    def packed_parents(self) -> NDArray[np.uint8]:
        """The parents with eight columns in a byte, the first column as the highest bit."""
        return np.ascontiguousarray(np.packbits(self.parents, axis=1))

    def masks(self) -> Masks:
        """Return the candidates as masks of shape (n_candidates, n_columns)."""
        masks = self.parents[self.parent_index]
        masks[np.repeat(np.arange(len(self)), np.diff(self.starts)), self.flipped] ^= True
        return masks

    def sizes(self) -> NDArray[np.intp]:
        owner = np.repeat(np.arange(len(self)), np.diff(self.starts))
        change = np.where(self.parents[self.parent_index[owner], self.flipped], -1, 1)
        grown = np.bincount(owner, change, len(self)) if len(owner) else np.zeros(len(self))
        # Counting bits of packed sets takes a tenth of the time of summing bools.
        sizes = np.bitwise_count(self.packed_parents).sum(axis=1, dtype=np.intp)
        return sizes[self.parent_index] + grown.astype(np.intp)


@dataclass(frozen=True)
class ScanResult:
    """The result of a proposal: the sets to evaluate and record, if any."""

    candidates: Candidates
    # Further sets that were inspected and are no better; they are counted but not recorded.
    n_unrecorded: int = 0
    # A proven upper bound of the merits of all admissible sets.
    bound: float | None = None
    # The number of sets of the whole search, if known.
    n_total: int | None = None


@dataclass(frozen=True)
class MeritInfo:
    """The facts of a merit over one table.

    Attributes
    ----------
    name : str
        The name in messages.
    method : str
        How the merit is computed, one sentence for the report; "" if the name suffices.
    cost : float
        Cost of evaluating a set, in units of about a microsecond.
    max_bytes : float
        The maximum memory of the evaluator in bytes, without the table.
    """

    name: str
    method: str = ""
    cost: float = 1.0
    max_bytes: float = 0.0


class Evaluator(ABC):
    """The merits of candidate subsets over one table. What some merits offer beyond their values are protocols of their own."""

    @property
    def info(self) -> MeritInfo:
        return MeritInfo(type(self).__name__)

    @abstractmethod
    def evaluate(self, candidates: Candidates) -> Floats:
        """Return the merit of every candidate; each value depends only on its candidate."""

    def identity_fields(self) -> dict[str, Any]:
        """Return what the merits depend on beyond columns, data and name of the merit, as JSON values, for a journal's identity."""
        return {}

    def notes(self) -> list[Verdict]:
        """Return notes for the user at the end of a search, one sentence each."""
        return []


@runtime_checkable
class HasFolds(Protocol):
    """A merit that is the mean of scores in folds."""

    def fold_scores(self, candidates: Candidates) -> Floats:
        """Return the fold scores, of shape (n_candidates, n_folds)."""


@runtime_checkable
class HasQuadraticForm(Protocol):
    """A merit c'x / sqrt(x'Ax)."""

    def quadratic_form(self) -> tuple[Floats, Floats] | None:
        """Return c and A, None where the sums are not exact."""


@runtime_checkable
class HasBounds(Protocol):
    """A merit with upper bounds."""

    def upper_bounds(self, masks: Masks) -> Floats | None:
        """Return upper bounds of the merits of all subsets of each mask, None where the merit has none with its parameters."""


@runtime_checkable
class HasImportances(Protocol):
    """A merit that shows the importance of each column within a set without the merits of other sets."""

    def importances(
        self, mask: Masks, units: Sequence[Unit], n_repeats: int, getter: ImportanceGetter = "auto"
    ) -> Floats | None:
        """Return the importance of each unit of columns within a set, None where the getter finds none.

        Importances that differ by rounding errors only are equal. Those that are random are means over `n_repeats` draws, which
        depend only on the set and the seed of the merit. `getter` is the `importance_getter` of `RecursiveElimination`.
        """


@runtime_checkable
class HasSubsetNotes(Protocol):
    """A merit with notes on its value for the set that a search selected."""

    def subset_notes(self, mask: Masks) -> list[str]:
        """Return notes on the merit of a set, one sentence each."""


@runtime_checkable
class HasSubsetWarnings(Protocol):
    """A merit with warnings on the columns of the set that a search selected."""

    def subset_warnings(self, mask: Masks, free: Masks) -> list[Verdict]:
        """Return warnings on the columns of a set; the `free` columns are neither fixed nor excluded."""


# From candidates to their merits and fold scores.
MeritFunction: TypeAlias = Callable[[Candidates], tuple[Floats, Floats | None]]


def merit_name(merit: object) -> str:
    """Return the name of a merit for messages."""
    return merit.info.name if isinstance(merit, Evaluator) else type(merit).__name__


def checked_merits(
    evaluator: Evaluator, names: Sequence[str] | None, candidates: Candidates
) -> tuple[Floats, Floats | None]:
    """Return the merits and the fold scores (None if the merit has no folds) from one evaluation; raise DataError for NaN.

    `names` are those of the columns, None to name columns by number.
    """
    scores = evaluator.fold_scores(candidates) if isinstance(evaluator, HasFolds) else None
    merits = evaluator.evaluate(candidates) if scores is None else scores.mean(axis=1)
    bad = np.flatnonzero(np.isnan(merits))
    if len(bad):
        (mask,) = candidates[bad[:1]].masks()
        named = [str(j) if names is None else names[j] for j in np.flatnonzero(mask).tolist()]
        raise DataError(
            f"The merit of the set of {list_names(named) or 'no column'} is not a number. "
            "Every set must have a merit: exclude columns that the criterion cannot use."
        )
    return merits, scores


@dataclass(frozen=True)
class Problem:
    """The allowed sets of a search, and what is known of their merit.

    Attributes
    ----------
    min_size, max_size : int
        Smallest and largest number of columns of an allowed set.
    size_requested : bool
        Whether the user asked for these sizes: a greedy search then continues to the limit even where the merit falls.
    fixed, excluded : ndarray of shape (n_columns,), bool
        Columns of every set, and of none.
    start : ndarray of shape (n_columns,), bool, or None
        The set to start with; None leaves it to the search.
    units : list of ndarray
        Columns that are added and dropped together, in column order; most units are one column.
    evaluator : Evaluator or HasImportances, or None
        For searches that use more of the merit than its values.
    tolerance : float
        By how much the merit of a smaller set may be below the best merit.
    """

    n_columns: int
    min_size: int
    max_size: int
    size_requested: bool
    fixed: Masks
    excluded: Masks
    start: Masks | None = None
    units: list[Indices] = field(default_factory=list)
    evaluator: Evaluator | HasImportances | None = None
    tolerance: float = 0.0

    @property
    def smallest_start(self) -> Masks:
        """The set that a search starts with when it adds columns."""
        return self.fixed.copy() if self.start is None else self.start.copy()

    @property
    def largest_start(self) -> Masks:
        """The set that a search starts with when it drops columns."""
        return ~self.excluded if self.start is None else self.start.copy()

    def additions(self, mask: Masks) -> list[Indices]:
        """Return the units that can be added so that an allowed size stays reachable."""
        size = int(mask.sum())
        return movable_units(
            [unit for unit in self.units if not mask[unit[0]]], self.min_size - size, self.max_size - size
        )

    def removals(self, mask: Masks) -> list[Indices]:
        """Return the units that can be dropped so that an allowed size stays reachable."""
        size = int(mask.sum())
        return movable_units([unit for unit in self.units if mask[unit[0]]], size - self.max_size, size - self.min_size)


# Sizes that sets can have where units have more than one column.


def can_reach_size(widths: Iterable[int], min_size: int, max_size: int) -> bool:
    """Return whether some of the widths have a sum from `min_size` to `max_size`."""
    min_size = max(min_size, 0)
    return max_size >= min_size and bool(_subset_sums(widths) >> min_size & ((1 << (max_size - min_size + 1)) - 1))


def nearest_sizes(widths: Iterable[int], min_size: int, max_size: int) -> list[int]:
    """Return the largest sum of some widths below `min_size` and the smallest above `max_size`; one of them may not exist."""
    sums = _subset_sums(widths)
    below, above = sums & ((1 << min_size) - 1), sums >> (max_size + 1)
    lowest = (above & -above).bit_length()
    return [below.bit_length() - 1] * bool(below) + [max_size + lowest] * bool(above)


def movable_units(units: Units, min_columns: int, max_columns: int) -> list[Indices]:
    """Return the units after whose move a total of `min_columns` to `max_columns` moved columns stays reachable."""
    widths = [len(unit) for unit in units]
    leads = {width: width <= max_columns for width in set(widths)}
    if min_columns > 1 and max(widths, default=1) > 1:
        for width in leads:
            others = widths.copy()
            others.remove(width)
            leads[width] = can_reach_size(others, min_columns - width, max_columns - width)
    return [unit for unit, width in zip(units, widths, strict=True) if leads[width]]


def _subset_sums(widths: Iterable[int]) -> int:
    """Return the sums of all subsets of widths as an integer whose bit s is set where a subset has the sum s."""
    sums = 1
    for width in widths:
        sums |= sums << width
    return sums


def count_sets(problem: Problem) -> int:
    """Return the number of allowed sets, as an exact integer."""
    n_fixed = int(problem.fixed.sum())
    max_free = problem.max_size - n_fixed
    # Number of sets by number of columns, of the units of the widths so far.
    counts = {0: 1}
    for width, n_units in sorted(Counter(map(len, problem.units)).items()):
        extended: Counter[int] = Counter()
        for size, count in counts.items():
            n_choices = 1
            for n_chosen in range(min(n_units, (max_free - size) // width) + 1):
                extended[size + n_chosen * width] += count * n_choices
                n_choices = n_choices * (n_units - n_chosen) // (n_chosen + 1)
        counts = extended
    return sum(count for size, count in counts.items() if problem.min_size <= n_fixed + size <= problem.max_size)


def count_completions(problem: Problem) -> Floats:
    """Return how many allowed sets extend a set of units by later units, the set itself included.

    Element (j, s) is for a set of s columns beyond the fixed ones that may be extended by the units from j on; infinite where the
    count exceeds the largest float.
    """
    n_fixed = int(problem.fixed.sum())
    size = np.arange(problem.max_size - n_fixed + 1)
    counts = np.empty((len(problem.units) + 1, len(size)))
    counts[-1] = size + n_fixed >= problem.min_size
    for j in range(len(problem.units) - 1, -1, -1):
        width = len(problem.units[j])
        counts[j] = counts[j + 1]
        with np.errstate(over="ignore"):
            counts[j, : max(len(size) - width, 0)] += counts[j + 1, width:]
    return counts


def expand_units(problem: Problem, unit_masks: Masks) -> Masks:
    """Return masks of units, of shape (n_sets, n_units), as masks of columns that include the fixed columns."""
    # Columns without a unit get the number of an additional unit that is in no set.
    unit_of = np.full(problem.n_columns, len(problem.units))
    if problem.units:
        unit_of[np.concatenate(problem.units)] = np.repeat(
            np.arange(len(problem.units)), [len(unit) for unit in problem.units]
        )
    none = np.zeros((len(unit_masks), 1), dtype=bool)
    return np.take(np.concatenate([unit_masks, none], axis=1), unit_of, axis=1) | problem.fixed


@dataclass(frozen=True)
class ShorthandParameter:
    """The parameter that the text after a search's name sets: 20 in "beam:20", "backward" in "best-first:backward".

    Attributes
    ----------
    name : str
        The parameter of the search.
    choices : tuple of str
        The allowed values; empty where the value is a whole number of at least 1.
    allows_share : bool
        Whether the value may also be a share between 0 and 1.
    """

    name: str
    choices: tuple[str, ...] = ()
    allows_share: bool = False

    def parse(self, text: str) -> str | float:
        if text in self.choices:
            return text
        if self.choices:
            known = ", ".join(self.choices)
            raise ValueError(f"{self.name} must be one of {known}, got {text!r}{suggestion(text, self.choices)}.")
        if self.allows_share and re.fullmatch(r"0?\.\d*[1-9]\d*", text):
            return float(text)
        if not text.isdecimal() or int(text) < 1:
            share = ", or a share between 0 and 1" if self.allows_share else ""
            raise ValueError(f"{self.name} must be a whole number of at least 1{share}, got {text!r}.")
        return int(text)


class Search(BaseEstimator, ABC):
    """A search over sets of columns.

    Attributes
    ----------
    min_gain : float
        A set is better than the best so far when its merit is higher by more than this.
    ignores_merits : bool
        Whether the walk reads no merit and visits at most one set of each size.
    shorthand : ShorthandParameter or None
        The parameter that the text after the name on the command line sets; None if nothing may follow the name.
    """

    min_gain: float = 0.0
    ignores_merits: ClassVar[bool] = False
    shorthand: ClassVar[ShorthandParameter | None] = None

    def __init__(
        self,
        *,
        start: Columns | None = None,
        fixed: Columns | None = None,
        excluded: Columns | None = None,
        column_groups: Sequence[Columns] | None = None,
    ) -> None:
        self.start = start
        self.fixed = fixed
        self.excluded = excluded
        self.column_groups = column_groups

    @abstractmethod
    def walk(self, problem: Problem, rng: np.random.Generator) -> Walk:
        """Yield proposals, receive the merits of the sets of each, and return why the search ended."""

    def visited_by_size(self, problem: Problem, rng: np.random.Generator) -> dict[int, Masks]:
        """Return by size the allowed sets of a walk that ignores merits, without their merits."""
        proposals = (proposal.scan(None).candidates.masks() for proposal in self.walk(problem, rng))
        return {int(mask.sum()): mask for masks in proposals for mask in masks}

    def max_evaluations(self, problem: Problem) -> int | None:  # noqa: ARG002 - a search with a limit reads the problem
        """Return the largest number of evaluations, None where it has no useful bound."""
        return None

    def make_problem(self, names: Sequence[str], usable: Indices, n_features: SetSize | None) -> Problem:
        """Return the problem of choosing among the usable columns of a table."""
        n = len(names)
        fixed = column_mask(self.fixed, names, "fixed")
        excluded = column_mask(self.excluded, names, "excluded")
        if (both := np.flatnonzero(fixed & excluded)).size:
            raise ValueError(f"Column {names[both[0]]!r} is both fixed and excluded.")
        unused = np.ones(n, dtype=bool)
        unused[usable] = False
        if (left_out := np.flatnonzero(fixed & unused)).size:
            raise ValueError(f"Column {names[left_out[0]]!r} is fixed, but is not used in this table.")
        excluded |= unused
        min_size, max_size = size_range(n_features, int((~excluded).sum()), n)
        n_fixed = int(fixed.sum())
        if n_fixed > max_size:
            raise ValueError(f"{n_fixed} columns are fixed, but n_features={n_features}; ask for at least {n_fixed}.")
        min_size = max(min_size, n_fixed)
        start = None
        if self.start is not None:
            start = column_mask(self.start, names, "start") | fixed
            if (both := np.flatnonzero(start & excluded)).size:
                raise ValueError(f"Column {names[both[0]]!r} is in start, but is excluded or not used.")
        units = self._units(names, fixed, excluded)
        widths = [len(unit) for unit in units]
        if not can_reach_size(widths, min_size - n_fixed, max_size - n_fixed):
            near = [n_fixed + size for size in nearest_sizes(widths, min_size - n_fixed, max_size - n_fixed)]
            raise ValueError(
                f"No set has n_features={n_features} columns, because column groups are selected as a whole; ask for "
                f"{' or '.join(str(n) for n in near if n)}."
            )
        if start is not None:
            for unit in units:
                if start[unit].any() and not start[unit].all():
                    raise ValueError(f"start contains only a part of the column group of {names[unit[0]]!r}.")
        return Problem(n, min_size, max_size, n_features is not None, fixed, excluded, start, units)

    def _units(self, names: Sequence[str], fixed: Masks, excluded: Masks) -> list[Indices]:
        units: list[Indices] = []
        grouped = np.zeros(len(names), dtype=bool)
        for group in self.column_groups or ():
            mask = column_mask(group, names, "column_groups")
            if not mask.any():
                raise ValueError("column_groups has a group without columns.")
            if (twice := np.flatnonzero(mask & grouped)).size:
                raise ValueError(f"Column {names[twice[0]]!r} is in two column groups.")
            if (mask & (fixed | excluded)).any() and not (mask <= (fixed | excluded)).all():
                raise ValueError(
                    f"Only a part of the column group of {names[np.flatnonzero(mask)[0]]!r} is fixed or excluded."
                )
            grouped |= mask
            if not (mask & (fixed | excluded)).any():
                units.append(np.flatnonzero(mask))
        units += [np.array([j]) for j in np.flatnonzero(~grouped & ~fixed & ~excluded)]
        return sorted(units, key=lambda unit: int(unit[0]))


def column_mask(columns: Columns | None, names: Sequence[str], role: str) -> Masks:
    """Return the mask of columns, given by name or number; `role` names the argument in errors."""
    mask = np.zeros(len(names), dtype=bool)
    if isinstance(columns, str):
        raise TypeError(f"{role} must be a list of columns, got the text {columns!r}.")
    for column in () if columns is None else columns:
        if isinstance(column, str):
            if column not in names:
                raise ValueError(f"{role} contains {column!r}, which is not a column{suggestion(column, names)}.")
            mask[list(names).index(column)] = True
        elif isinstance(column, bool) or not isinstance(column, Integral):
            raise TypeError(f"{role} must contain column names or whole numbers, got {column!r}.")
        elif not 0 <= column < len(names):
            raise ValueError(f"{role} contains column {column}; columns are numbered from 0 to {len(names) - 1}.")
        else:
            mask[column] = True
    return mask


def size_range(n_features: SetSize | None, n_free: int, n_columns: int) -> tuple[int, int]:
    """Return the smallest and the largest requested size; a float is a share of the columns that can be chosen."""
    if n_features is None:
        return 0, n_free
    pair = n_features if isinstance(n_features, tuple | list) else (n_features, n_features)
    numbers = [isinstance(size, Real) and not isinstance(size, bool) for size in pair]
    if len(pair) != 2 or not all(numbers):
        raise TypeError(
            f"n_features must be a whole number, a share or a pair (smallest, largest), got {n_features!r}."
        )
    if n_free == 0:
        raise ValueError("No column can be chosen: each is excluded, or not used in this table.")
    low, high = (check_n_features("n_features", size, n_free) for size in pair)
    if low > high:
        raise ValueError(f"n_features must be at least 1, or a pair (smallest, largest), got {n_features!r}.")
    if high > n_free:
        noun = "column" if n_columns == 1 else "columns"
        usable = "" if n_free == n_columns else f", of which {n_free} can be chosen"
        raise ValueError(
            f"n_features={n_features} exceeds the {n_columns} {noun} of the table{usable}; ask for at most {n_free}."
        )
    return low, high

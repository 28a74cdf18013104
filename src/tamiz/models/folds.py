"""Folds: which rows are learned from and which are tested."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold

from tamiz.exceptions import DataError
from tamiz.models.fold_constraints import (
    MIN_CLASS_ROWS,
    TiedRows,
    describe_rare_classes,
    find_rare_classes,
    tie_repeated_rows,
)
from tamiz.runtime.validation import check_integer
from tamiz.sources.base import Source
from tamiz.sources.views import select_rows, target_array, weight_array


# MERGED: Folds of a table, and the seeds that what is done in them begins with.
@dataclass(frozen=True)
class SeededFolds:
    """Folds and seeds: the same for whatever is asked of one table by one seed.

    Attributes
    ----------
    folds : Folds
    fold_seeds : tuple of int
        What a search in each fold begins with.
    table_seed : int
        What the search of the whole table begins with.
    """

    folds: Folds
    fold_seeds: tuple[int, ...]
    table_seed: int


def draw_folds(source: Source, n_splits: int, rng: np.random.Generator) -> SeededFolds:
    """Return the folds that a table allows, and the seeds."""
    first, whole = rng.integers(0, 2**31, 2).tolist()
    folds = make_folds(source, n_splits, first)
    return SeededFolds(folds, tuple(rng.integers(0, 2**31, len(folds)).tolist()), whole)


def drop_zero_weights(source: Source) -> tuple[Source, list[str]]:
    """Return the rows that weigh anything, and the sentence that tells of the others."""
    weight = weight_array(source)
    if weight is None or (weight > 0).all():
        return source, []
    n = int(np.count_nonzero(weight == 0))
    return select_rows(source, np.flatnonzero(weight)), [
        f"{n:,} row{'s' * (n > 1)} of weight 0 left out where models are scored."
    ]


def sample_rows(
    source: Source, max_rows: int | None, n_splits: int, rng: np.random.Generator
) -> tuple[Source, list[str]]:
    """Return at most n rows, drawn, and the sentence that tells of it; of every class at least two a fold, where it has them.

    Nothing is drawn from `rng` where no row is left out.
    """
    n_rows = source.schema.n_rows
    if max_rows is None or n_rows <= max_rows:
        return source, []
    rows = rng.permutation(n_rows)
    taken = np.zeros(n_rows, dtype=bool)
    taken[rows[:max_rows]] = True
    if source.schema.has_classes:
        codes = target_array(source)[rows]
        for code in np.unique(codes):
            taken[rows[np.flatnonzero(codes == code)[: 2 * n_splits]]] = True
    table = select_rows(source, np.flatnonzero(taken))
    return table, [f"{table.schema.n_rows:,} of {n_rows:,} rows, drawn at random."]


RowIndices = NDArray[np.intp]

# Of one row nothing can be learned.
_MIN_TRAIN_ROWS = 2
_TOO_FEW_ROWS = "of more, some would have too few rows"


@dataclass(frozen=True)
class Fold:
    """Rows to learn from and rows to test on, each ascending.

    Attributes
    ----------
    train, test : ndarray
    split_order : ndarray or None
        The rows to learn from in the order that a splitter gave them in, where it said one: some models count on it.
    """

    train: RowIndices
    test: RowIndices
    split_order: RowIndices | None = None

    @property
    def train_in_order(self) -> RowIndices:
        """The rows to learn from as they were given."""
        return self.train if self.split_order is None else self.split_order


@dataclass(frozen=True)
class Folds:
    """Folds of one table.

    Attributes
    ----------
    splits : tuple of Fold
    description : str
        How they were made, in words.
    fewer_folds_warnings, rare_class_warnings : tuple of str
        What the user is warned of: fewer folds than were asked for, and classes that no fold has rows of.
    fold_notes : tuple of str
        What a reader of the scores may want to know, and need not be warned of.
    """

    splits: tuple[Fold, ...]
    description: str
    fewer_folds_warnings: tuple[str, ...] = ()
    rare_class_warnings: tuple[str, ...] = ()
    fold_notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.splits)

    @property
    def fold_warnings(self) -> tuple[str, ...]:
        """What the user is warned of."""
        return (*self.fewer_folds_warnings, *self.rare_class_warnings)

    @property
    def used_rows(self) -> RowIndices:
        """The rows that some fold learns from or tests, ascending."""
        return np.unique(np.concatenate([rows for fold in self.splits for rows in (fold.train, fold.test)]))

    @property
    def variance_factor(self) -> float:
        """The variance of the mean of the folds' scores, in units of the variance of one of them: 1 / J + n_test / n_train."""
        return 1 / len(self) + float(np.mean([len(fold.test) / len(fold.train) for fold in self.splits]))


def make_folds(source: Source, n_splits: int, seed: int, *, stratify: bool = True) -> Folds:
    """Return the folds that a table allows: forward in time, of whole groups, or at random, each with its share of every class.

    Parameters
    ----------
    source : Source
        Without a target, equal rows are not kept together: nothing is predicted that a copy would tell.
    n_splits : int
        Folds asked for; a table may allow fewer, and `notes` then says why.
    seed : int
        Shuffles the rows: those of a file are often sorted, and folds of neighbouring rows would test what was not learned.
    stratify : bool, default=True
        Whether a target of classes is shared out class by class; a regressor takes it as numbers.

    Raises
    ------
    DataError
        When the rows do not make 2 folds.

    Notes
    -----
    Classes that are too rare to be learned and tested are in no fold, at random and in groups (`find_rare_classes`); `rare` names
    them. Copies of a row stay in its fold where folds are made at random (`tie_repeated_rows`). The cost is one pass and a sort.
    """
    check_integer("n_splits", n_splits, low=2)
    if source.groups is not None and source.time is not None:
        raise DataError(
            "Folds are made of whole groups or forward in time, not both; leave one of the two out "
            f"({source.schema.groups!r} and {source.schema.time!r} were given)."
        )
    if source.time is not None:
        return _time_folds(source, n_splits)
    has_classes = source.schema.has_classes and stratify
    make = _random_folds if source.groups is None else _group_folds
    return make(source, n_splits, seed, has_classes=has_classes)


def _random_folds(source: Source, n_splits: int, seed: int, *, has_classes: bool) -> Folds:
    y = _target_or_zeros(source)
    tied = tie_repeated_rows(source, y) if source.schema.target is not None else TiedRows(np.arange(len(y)))
    rows, rare = _drop_rare_classes(source, y, n_splits) if has_classes else (np.arange(len(y)), ())
    leaders = _untie_small_classes(tied.fold_leaders, y, n_splits, has_classes=has_classes)
    # Of rows that stay together one is drawn, and the others follow it.
    heads = rows[leaders[rows] == rows]
    kind = "different rows" if len(heads) < len(rows) else "rows"
    if not has_classes:
        n_allowed, why = len(heads) // _min_test_rows(has_classes), f"the table has {len(heads):,} {kind}"
        if n_allowed < 2:
            raise DataError(
                f"The table has {len(y)} rows; at least 4 are needed to learn from some and test on others."
            )
    else:
        n_allowed, level = _smallest_class(source, y[heads])
        if n_allowed < 2:
            raise DataError(
                f"Class {level!r} has 1 row; every class needs at least 2, one to learn from and one to test on. Leave the row "
                "out, or join the class with another."
            )
        why = f"class {level!r} has {n_allowed:,} {kind}"
    n = min(n_splits, n_allowed)
    splitter = (StratifiedKFold if has_classes else KFold)(n, shuffle=True, random_state=seed)
    how = f"{n} folds, each with its share of every class" if has_classes else f"{n} folds drawn at random"
    fold_of = np.empty(len(y), dtype=np.intp)
    for number, fold in enumerate(_split(splitter, y[heads], heads)):
        fold_of[fold.test] = number
    fold_of = fold_of[leaders[rows]]
    parts = tuple(Fold(rows[fold_of != number], rows[fold_of == number]) for number in range(n))
    return Folds(parts, how, _fewer_folds_warning(n, n_splits, why), rare, tied.notes)


def _target_or_zeros(source: Source) -> NDArray[Any]:
    """Return the target, numbers that are all the same where there is none."""
    return np.zeros(source.schema.n_rows) if source.schema.target is None else target_array(source)


def _untie_small_classes(leaders: RowIndices, y: NDArray[Any], n_splits: int, *, has_classes: bool) -> RowIndices:
    """Return which rows stay together, none of a class, or of a table, that would have too few different rows for the folds."""
    heads, itself = leaders == np.arange(len(y)), np.arange(len(y))
    if not has_classes:
        return leaders if np.count_nonzero(heads) >= 2 * _min_test_rows(has_classes) else itself
    few = np.bincount(y[heads], minlength=int(y.max()) + 1) < min(n_splits, MIN_CLASS_ROWS)
    return np.where(few[y], itself, leaders)


def _group_folds(source: Source, n_splits: int, seed: int, *, has_classes: bool) -> Folds:
    assert source.groups is not None
    y = _target_or_zeros(source)
    rows, rare = _drop_rare_classes(source, y, n_splits) if has_classes else (np.arange(len(y)), ())
    y, groups = y[rows], source.groups[rows]
    present = np.unique(groups)
    name = source.schema.groups
    if len(present) == 1:
        raise DataError(
            f"Every row is of one group, {source.group_names[int(present[0])]!r} in {name!r}; at least 2 groups are needed, one to "
            "learn from and one to test on."
        )
    allowed, why = len(present), f"{name!r} has {len(present):,} groups"
    if has_classes and (most := int(np.bincount(y).max())) < allowed:
        # The splitter refuses more folds than every class has rows.
        allowed, why = most, f"no class has more than {_row_count(most)}"
        if most == 1:
            raise DataError(
                "No class has more than 1 row; every class needs at least 2, one to learn from and one to test on."
            )
    for n in range(min(n_splits, allowed), 1, -1):
        parts = _split_groups(rows, groups, y, n, seed, has_classes=has_classes)
        if parts is not None:
            note = _fewer_folds_warning(len(parts), n_splits, why if len(parts) == allowed else _TOO_FEW_ROWS)
            return Folds(parts, f"{len(parts)} folds of whole groups ({name})", note, rare)
    raise DataError(f"The {len(present):,} groups of {name!r} do not make 2 folds: {_requirement(has_classes)}.")


def _drop_rare_classes(source: Source, y: NDArray[Any], n_splits: int) -> tuple[RowIndices, tuple[str, ...]]:
    """Return the rows of the classes that folds are made of, and the sentence on the others."""
    target = source.schema.target
    assert target is not None
    counts = np.bincount(y, minlength=len(target.levels))
    rare = find_rare_classes(counts, n_splits)
    return np.flatnonzero(~rare[y]), describe_rare_classes(counts, rare, target.levels)


def _split_groups(
    rows: RowIndices, groups: NDArray[Any], y: NDArray[Any], n: int, seed: int, *, has_classes: bool
) -> tuple[Fold, ...] | None:
    """Return folds of whole groups, None where they would have too few rows."""
    kind = StratifiedGroupKFold if has_classes else GroupKFold
    # Groups of very different size, drawn at random, may leave a fold with hardly a row: then they are shared out by size.
    for splitter in (kind(n, shuffle=True, random_state=seed), GroupKFold(n)):
        with warnings.catch_warnings():
            # Of a class with fewer rows than folds, some folds test none: groups decide that.
            warnings.filterwarnings("ignore", message="The least populated class")
            # Stratified folds may be left without a group.
            parts = tuple(fold for fold in _split(splitter, y, rows, groups) if len(fold.test))
        if all(len(fold.train) >= _MIN_TRAIN_ROWS and len(fold.test) >= _min_test_rows(has_classes) for fold in parts):
            return parts
    return None


def _time_folds(source: Source, n_splits: int) -> Folds:
    """Cut the rows in the order of time into one block more than folds; each block but the first is tested by all before it."""
    assert source.time is not None
    name, has_classes = source.schema.time, source.schema.has_classes
    moments, counts = np.unique(source.time, return_counts=True)
    if len(moments) < 3:
        times = "1 time" if len(moments) == 1 else "2 different times"
        raise DataError(f"{name!r} has {times}; at least 3 are needed for 2 folds that each test what comes later.")
    allowed, why = len(moments) - 1, f"{name!r} has {len(moments):,} different times"
    for n in range(min(n_splits, allowed), 1, -1):
        starts = _block_starts(np.cumsum(counts), n, _min_test_rows(has_classes))
        if starts is not None:
            block = np.searchsorted(moments[np.array(starts) + 1], source.time, side="right")
            parts = tuple(Fold(np.flatnonzero(block < k), np.flatnonzero(block == k)) for k in range(1, n + 1))
            note = _fewer_folds_warning(n, n_splits, why if n == allowed else _TOO_FEW_ROWS)
            return Folds(parts, f"{n} folds forward in time ({name})", note)
    raise DataError(
        f"The {len(moments):,} different times of {name!r} do not make 2 folds: {_requirement(has_classes)}."
    )


def _block_starts(ends: RowIndices, n: int, min_rows: int) -> list[int] | None:
    """Return the times, by number, after which n blocks that are tested begin; None where some block would have too few rows.

    Equal times stay together: a block begins where a new time does, as near as can be to where it would.
    """
    ends, n_rows = ends[:-1], int(ends[-1])
    latest: list[int] = []
    bound = n_rows
    for _ in range(n):
        at = int(np.searchsorted(ends, bound - min_rows, side="right")) - 1
        bound = int(ends[at]) if at >= 0 else 0
        latest.insert(0, at)
    if bound < _MIN_TRAIN_ROWS:
        return None
    starts: list[int] = []
    bound = _MIN_TRAIN_ROWS
    for k in range(n):
        nearest = int(np.argmin(np.abs(ends - n_rows * (k + 1) / (n + 1))))
        earliest = int(np.searchsorted(ends, bound))
        starts.append(min(max(nearest, earliest), latest[k]))
        bound = int(ends[starts[-1]]) + min_rows
    return starts


def _min_test_rows(has_classes: bool) -> int:
    """Return how many rows a fold must test: a score that compares with the mean of the tested rows needs two of them."""
    return 1 if has_classes else 2


def _requirement(has_classes: bool) -> str:
    return f"each must learn from at least {_row_count(_MIN_TRAIN_ROWS)} and test at least {_row_count(_min_test_rows(has_classes))}"


def _row_count(n: int) -> str:
    return f"{n:,} row{'s' * (n != 1)}"


def _split(splitter: Any, y: NDArray[Any], rows: RowIndices, groups: NDArray[Any] | None = None) -> Iterator[Fold]:
    """Yield the folds of some rows of the table, given with their target and their groups."""
    for train, test in splitter.split(np.empty((len(y), 1)), y, groups):
        yield Fold(rows[np.sort(train)], rows[np.sort(test)])


def _smallest_class(source: Source, y: NDArray[Any]) -> tuple[int, str]:
    """Return the size and the name of the smallest class that occurs."""
    target = source.schema.target
    assert target is not None
    counts = np.bincount(y)
    least = int(np.argmin(np.where(counts > 0, counts, np.iinfo(np.intp).max)))
    return int(counts[least]), target.levels[least]


def _fewer_folds_warning(n: int, asked: int, why: str) -> tuple[str, ...]:
    return () if n == asked else (f"{n} folds in place of {asked}: {why}.",)

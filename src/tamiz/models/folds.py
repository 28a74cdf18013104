"""`Folds`: training and test rows for every kind of table, with warnings, notes, and seeds for the searches in them.

Folds are stratified and shuffled, of whole groups, or forward in time.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold

from tamiz.arrays import Indices
from tamiz.exceptions import DataError
from tamiz.models.fold_constraints import (
    MIN_CLASS_ROWS,
    TiedRows,
    describe_rare_classes,
    find_rare_classes,
    tie_repeated_rows,
)
from tamiz.runtime.validation import check_integer
from tamiz.runtime.verdicts import Verdict
from tamiz.table.base import Table
from tamiz.table.views import positive_weight_rows, select_rows, target_array

_MIN_TRAIN_ROWS = 2
_TOO_FEW_ROWS = "with more folds some would have too few rows"


@dataclass(frozen=True)
class Fold:
    """Training and test rows, each ascending.

    Attributes
    ----------
    train, test : ndarray
    split_order : ndarray or None
        The training rows in the order of the splitter, if it has one: some models depend on the order of rows.
    """

    train: Indices
    test: Indices
    split_order: Indices | None = None

    @property
    def train_in_order(self) -> Indices:
        """The training rows in the order of the splitter."""
        return self.train if self.split_order is None else self.split_order


@dataclass(frozen=True)
class Folds(Sequence[Fold]):
    """The folds of one table.

    Attributes
    ----------
    splits : tuple of Fold
    description : str
        How they were drawn, in words.
    fewer_folds_warnings, rare_class_warnings, other_warnings : tuple of Verdict
        Warnings: there are fewer folds than requested, classes are left out of all folds, and those of a splitter or about the
        order of the rows.
    fold_notes : tuple of str
        Notes for a reader of the scores.
    seeds : tuple of int
        The seed of the search in each fold, empty if none were drawn.
    table_seed : int
        The seed of the search on the whole table.
    """

    splits: tuple[Fold, ...]
    description: str
    fewer_folds_warnings: tuple[Verdict, ...] = ()
    rare_class_warnings: tuple[Verdict, ...] = ()
    other_warnings: tuple[Verdict, ...] = ()
    fold_notes: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    table_seed: int = 0

    def __len__(self) -> int:
        return len(self.splits)

    @overload
    def __getitem__(self, at: int) -> Fold: ...

    @overload
    def __getitem__(self, at: slice) -> tuple[Fold, ...]: ...

    def __getitem__(self, at: int | slice) -> Fold | tuple[Fold, ...]:
        return self.splits[at]

    @property
    def fold_warnings(self) -> tuple[Verdict, ...]:
        """All warnings about the folds."""
        return (*self.fewer_folds_warnings, *self.rare_class_warnings, *self.other_warnings)

    @property
    def used_rows(self) -> Indices:
        """The rows that are in some fold, ascending."""
        parts = [rows for fold in self.splits for rows in (fold.train, fold.test)]
        is_used = np.zeros(1 + max(int(rows.max(initial=-1)) for rows in parts), dtype=bool)
        for rows in parts:
            is_used[rows] = True
        return np.flatnonzero(is_used)

    @property
    def variance_factor(self) -> float:
        """The variance of the mean of the folds' scores, in units of the variance of one of them: 1 / J + n_test / n_train."""
        return 1 / len(self) + float(np.mean([len(fold.test) / len(fold.train) for fold in self.splits]))

    def among(self, rows: Indices) -> Folds:
        """Return the folds of a view of some rows, ascending, as positions among them; other rows are dropped."""

        def positions(own: Indices) -> Indices:
            return np.searchsorted(rows, own[np.isin(own, rows)])

        splits = (
            Fold(
                positions(fold.train),
                positions(fold.test),
                None if fold.split_order is None else positions(fold.split_order),
            )
            for fold in self.splits
        )
        return replace(self, splits=tuple(splits))


def draw_folds(table: Table, n_splits: int, rng: np.random.Generator) -> Folds:
    """Return the folds that a table allows, with seeds drawn after them; all depend only on the table and the random state."""
    first, whole = rng.integers(0, 2**31, 2).tolist()
    folds = make_folds(table, n_splits, first)
    return replace(folds, seeds=tuple(rng.integers(0, 2**31, len(folds)).tolist()), table_seed=whole)


def drop_zero_weights(table: Table) -> tuple[Table, list[Verdict]]:
    """Return the rows of positive weight, and a note on the number of others."""
    rows = positive_weight_rows(table)
    n = table.schema.n_rows - rows.schema.n_rows
    sentence = f"{n:,} row{'s' * (n > 1)} of weight 0 left out where models are scored."
    return rows, [Verdict("TZ206", sentence)] if n else []


def sample_rows(
    table: Table, max_rows: int | None, n_splits: int, rng: np.random.Generator
) -> tuple[Table, list[Verdict]]:
    """Return a random sample of at most max_rows rows, and a note on it; of every class at least two rows per fold, if it has them.

    Nothing is drawn from `rng` if no row is left out.
    """
    n_rows = table.schema.n_rows
    if max_rows is None or n_rows <= max_rows:
        return table, []
    rows = rng.permutation(n_rows)
    in_sample = np.zeros(n_rows, dtype=bool)
    in_sample[rows[:max_rows]] = True
    if table.schema.has_classes:
        codes = target_array(table)[rows]
        for code in np.unique(codes):
            in_sample[rows[np.flatnonzero(codes == code)[: 2 * n_splits]]] = True
    sample = select_rows(table, np.flatnonzero(in_sample))
    return sample, [Verdict("TZ502", f"{sample.schema.n_rows:,} of {n_rows:,} rows, drawn at random.")]


def make_folds(table: Table, n_splits: int, seed: int, *, stratify: bool = True) -> Folds:
    """Return the folds that a table allows: forward in time, of whole groups, or shuffled and stratified.

    Parameters
    ----------
    table : Table
        Without a target, equal rows are not kept together.
    n_splits : int
        The requested number of folds; a table may allow fewer, and `fewer_folds_warnings` then states why.
    seed : int
        Shuffles the rows: the rows of a file are often sorted, and unshuffled folds would test values outside the training range.
    stratify : bool, default=True
        Whether folds are stratified by the classes of the target; False treats it as numbers.

    Raises
    ------
    DataError
        When the rows do not make 2 folds.

    Notes
    -----
    Classes that are too rare are left out of stratified and group folds (`find_rare_classes`); `rare_class_warnings` names them.
    Copies of a row stay in its fold where folds are shuffled (`tie_repeated_rows`). The cost is one pass and a sort.
    """
    check_integer("n_splits", n_splits, low=2)
    if table.groups is not None and table.time is not None:
        raise DataError(
            f"Groups ({table.schema.groups!r}) and time ({table.schema.time!r}) cannot be combined: folds are of whole groups or "
            "forward in time. Pass only one of the two."
        )
    if table.time is not None:
        return _time_folds(table, n_splits)
    has_classes = table.schema.has_classes and stratify
    make = _random_folds if table.groups is None else _group_folds
    return make(table, n_splits, seed, has_classes=has_classes)


def _random_folds(table: Table, n_splits: int, seed: int, *, has_classes: bool) -> Folds:
    y = _target_or_zeros(table)
    tied = tie_repeated_rows(table, y) if table.schema.target is not None else TiedRows(np.arange(len(y)))
    rows, rare = _drop_rare_classes(table, y, n_splits) if has_classes else (np.arange(len(y)), ())
    leaders = _untie_small_classes(tied.fold_leaders, y, n_splits, has_classes=has_classes)
    # Only the first of tied rows is drawn; the others follow it.
    heads = rows[leaders[rows] == rows]
    kind = "different rows" if len(heads) < len(rows) else "rows"
    if not has_classes:
        n_allowed, why = len(heads) // _min_test_rows(has_classes), f"the table has {len(heads):,} {kind}"
        if n_allowed < 2:
            raise DataError(f"The table has {len(y)} rows; cross-validation needs at least 4.")
    else:
        n_allowed, level = _smallest_class(table, y[heads])
        if n_allowed < 2:
            raise DataError(
                f"Class {level!r} has 1 row; every class needs at least 2, one for training and one for testing. Leave the row "
                "out, or merge the class with another."
            )
        why = f"class {level!r} has {n_allowed:,} {kind}"
    n = min(n_splits, n_allowed)
    splitter = (StratifiedKFold if has_classes else KFold)(n, shuffle=True, random_state=seed)
    description = f"{n} stratified folds" if has_classes else f"{n} random folds"
    fold_of = np.empty(len(y), dtype=np.intp)
    for number, fold in enumerate(_split(splitter, y[heads], heads)):
        fold_of[fold.test] = number
    fold_of = fold_of[leaders[rows]]
    parts = tuple(Fold(rows[fold_of != number], rows[fold_of == number]) for number in range(n))
    return Folds(parts, description, _fewer_folds_warning(n, n_splits, why), rare, fold_notes=tied.notes)


def _target_or_zeros(table: Table) -> NDArray[Any]:
    return np.zeros(table.schema.n_rows) if table.schema.target is None else target_array(table)


def _untie_small_classes(leaders: Indices, y: NDArray[Any], n_splits: int, *, has_classes: bool) -> Indices:
    """Untie the rows of classes, or of a whole table, that would otherwise have too few different rows for the folds."""
    heads, itself = leaders == np.arange(len(y)), np.arange(len(y))
    if not has_classes:
        return leaders if np.count_nonzero(heads) >= 2 * _min_test_rows(has_classes) else itself
    few = np.bincount(y[heads], minlength=int(y.max()) + 1) < min(n_splits, MIN_CLASS_ROWS)
    return np.where(few[y], itself, leaders)


def _group_folds(table: Table, n_splits: int, seed: int, *, has_classes: bool) -> Folds:
    assert table.groups is not None
    y = _target_or_zeros(table)
    rows, rare = _drop_rare_classes(table, y, n_splits) if has_classes else (np.arange(len(y)), ())
    y, groups = y[rows], table.groups[rows]
    present = np.unique(groups)
    name = table.schema.groups
    if len(present) == 1:
        raise DataError(
            f"All rows are in one group, {table.group_names[int(present[0])]!r} in {name!r}; at least 2 groups are needed, "
            "one for training and one for testing."
        )
    allowed, why = len(present), f"{name!r} has {len(present):,} groups"
    if has_classes and (most := int(np.bincount(y).max())) < allowed:
        # The splitter raises if every class has fewer rows than folds.
        allowed, why = most, f"no class has more than {_row_count(most)}"
        if most == 1:
            raise DataError(
                "No class has more than 1 row; every class needs at least 2, one for training and one for testing."
            )
    for n in range(min(n_splits, allowed), 1, -1):
        parts = _split_groups(rows, groups, y, n, seed, has_classes=has_classes)
        if parts is not None:
            note = _fewer_folds_warning(len(parts), n_splits, why if len(parts) == allowed else _TOO_FEW_ROWS)
            return Folds(parts, f"{len(parts)} folds of whole groups ({name})", note, rare)
    raise DataError(
        f"The {len(present):,} groups of {name!r} are too few or too small for 2 folds: {_requirement(has_classes)}."
    )


def _drop_rare_classes(table: Table, y: NDArray[Any], n_splits: int) -> tuple[Indices, tuple[Verdict, ...]]:
    """Return the rows of the classes that are frequent enough, and a sentence on the others."""
    target = table.schema.target
    assert target is not None
    counts = np.bincount(y, minlength=len(target.levels))
    rare = find_rare_classes(counts, n_splits)
    return np.flatnonzero(~rare[y]), describe_rare_classes(counts, rare, target.levels)


def _split_groups(
    rows: Indices, groups: NDArray[Any], y: NDArray[Any], n: int, seed: int, *, has_classes: bool
) -> tuple[Fold, ...] | None:
    """Return folds of whole groups, None if some would have too few rows."""
    kind = StratifiedGroupKFold if has_classes else GroupKFold
    # Random folds of groups of very different size may leave a fold with hardly a row: then groups are assigned by size.
    for splitter in (kind(n, shuffle=True, random_state=seed), GroupKFold(n)):
        with warnings.catch_warnings():
            # A class with fewer rows than folds is missing from some test rows; groups do not allow otherwise.
            warnings.filterwarnings("ignore", message="The least populated class")
            # Stratified folds may be empty.
            parts = tuple(fold for fold in _split(splitter, y, rows, groups) if len(fold.test))
        if all(len(fold.train) >= _MIN_TRAIN_ROWS and len(fold.test) >= _min_test_rows(has_classes) for fold in parts):
            return parts
    return None


def _time_folds(table: Table, n_splits: int) -> Folds:
    """Cut the rows in time order into n + 1 blocks; each block but the first is tested by a model of all blocks before it."""
    assert table.time is not None
    name, has_classes = table.schema.time, table.schema.has_classes
    moments, counts = np.unique(table.time, return_counts=True)
    if len(moments) < 3:
        times = "1 time" if len(moments) == 1 else "2 different times"
        raise DataError(f"{name!r} has {times}; at least 3 are needed for 2 folds forward in time.")
    allowed, why = len(moments) - 1, f"{name!r} has {len(moments):,} different times"
    for n in range(min(n_splits, allowed), 1, -1):
        starts = _block_starts(np.cumsum(counts), n, _min_test_rows(has_classes))
        if starts is not None:
            block = np.searchsorted(moments[np.array(starts) + 1], table.time, side="right")
            parts = tuple(Fold(np.flatnonzero(block < k), np.flatnonzero(block == k)) for k in range(1, n + 1))
            note = _fewer_folds_warning(n, n_splits, why if n == allowed else _TOO_FEW_ROWS)
            return Folds(parts, f"{n} folds forward in time ({name})", note)
    raise DataError(
        f"The {len(moments):,} different times of {name!r} are too few or too uneven for 2 folds: {_requirement(has_classes)}."
    )


def _block_starts(ends: Indices, n: int, min_rows: int) -> list[int] | None:
    """Return the numbers of the times after which the n test blocks begin; None if some block would have too few rows.

    Equal times stay together: a block begins at the new time that is nearest to its ideal begin.
    """
    ends, n_rows = ends[:-1], int(ends[-1])
    latest: list[int] = []
    bound = n_rows
    for _ in range(n):
        last = int(np.searchsorted(ends, bound - min_rows, side="right")) - 1
        bound = int(ends[last]) if last >= 0 else 0
        latest.insert(0, last)
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
    """Return the minimum number of test rows: a score relative to the mean of the test rows, such as R2, needs two."""
    return 1 if has_classes else 2


def _requirement(has_classes: bool) -> str:
    n_test = _row_count(_min_test_rows(has_classes))
    return f"each needs at least {_row_count(_MIN_TRAIN_ROWS)} for training and {n_test} for testing"


def _row_count(n: int) -> str:
    return f"{n:,} row{'s' * (n != 1)}"


def _split(splitter: Any, y: NDArray[Any], rows: Indices, groups: NDArray[Any] | None = None) -> Iterator[Fold]:
    """Yield the folds of some rows of the table."""
    for train, test in splitter.split(np.empty((len(y), 1)), y, groups):
        yield Fold(rows[np.sort(train)], rows[np.sort(test)])


def _smallest_class(table: Table, y: NDArray[Any]) -> tuple[int, str]:
    """Return the size and the name of the smallest class that has rows."""
    target = table.schema.target
    assert target is not None
    counts = np.bincount(y)
    smallest = int(np.argmin(np.where(counts > 0, counts, np.iinfo(np.intp).max)))
    return int(counts[smallest]), target.levels[smallest]


def _fewer_folds_warning(n: int, requested: int, why: str) -> tuple[Verdict, ...]:
    return () if n == requested else (Verdict("TZ307", f"{n} folds in place of {requested}: {why}."),)

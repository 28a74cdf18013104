"""`Folds`: training and test rows for every kind of table, with warnings, notes, and seeds for the searches in them.

Folds are stratified and shuffled, of whole groups, or forward in time. Duplicate rows stay in one fold where they are copies of one
case, and classes that are too rare for the folds are left out.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold, check_cv

from tamiz.arrays import Indices, Masks
from tamiz.exceptions import DataError
from tamiz.runtime.user_warnings import list_names
from tamiz.runtime.validation import check_integer
from tamiz.runtime.verdicts import Verdict
from tamiz.table.base import Table, target_array
from tamiz.table.duplicate_detection import DuplicateRows, find_duplicate_rows
from tamiz.table.row_groups import describe_row_order
from tamiz.table.views import positive_weight_rows, select_rows

_MIN_TRAIN_ROWS = 2
_TOO_FEW_ROWS = "with more folds some would have too few rows"
# With a larger share of duplicates the table consists of a few patterns, and equal rows are different cases.
_MAX_REPEAT_SHARE = 0.5
# Equal rows count as different cases if their targets differ at least this often, relative to two random rows.
_MAX_DISAGREEMENT = 0.25
# If two random rows agree in the target less often than this, equal rows with equal targets are copies.
_MIN_CHANCE_AGREEMENT = 0.01
# A smaller share of duplicates is not reported: it hardly changes a score.
_MIN_REPORTED_SHARE = 0.01
# A class of this many rows is never left out; the number of folds is reduced instead.
_MIN_CLASS_ROWS = 5
# Left-out classes of more than 1 row have at most this share of the rows.
_MAX_RARE_SHARE = 0.05
_MAX_NAMED = 5


@dataclass(frozen=True)
class Fold:
    """Training and test rows, each ascending; `split_order` has the training rows in the order of the splitter, if it has one."""

    train: Indices
    test: Indices
    split_order: Indices | None = None

    @property
    def train_in_order(self) -> Indices:
        """The training rows in the order of the splitter: some models depend on the order of rows."""
        return self.train if self.split_order is None else self.split_order


@dataclass(frozen=True)
class Folds(Sequence[Fold]):
    """The folds of one table, how they were drawn in words, and notes for a reader of the scores."""

    splits: tuple[Fold, ...]
    description: str
    fewer_folds_warnings: tuple[Verdict, ...] = ()
    # Classes that are left out of all folds.
    rare_class_warnings: tuple[Verdict, ...] = ()
    # Those of a splitter, or about the order of the rows.
    other_warnings: tuple[Verdict, ...] = ()
    fold_notes: tuple[str, ...] = ()
    # The seeds of the search in each fold, empty if none were drawn, and on the whole table.
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

    @property
    def overlap_warnings(self) -> list[Verdict]:
        """A warning on folds whose training and test rows overlap, empty if there are none."""
        shared = [np.intersect1d(fold.train, fold.test).size for fold in self.splits]
        if not any(shared):
            return []
        first = int(np.flatnonzero(shared)[0])
        sentence = (
            f"{sum(map(bool, shared)):,} of {len(self):,} folds have test rows that are also training rows (fold {first + 1} has "
            f"{shared[first]:,}): their scores are not those of unseen rows."
        )
        return [Verdict("TZ202", sentence)]

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

    def check(self, labels: NDArray[Any], *, has_classes: bool) -> None:
        """Raise DataError for no folds, a fold without rows, or one with training rows of a single class."""
        if not self.splits:
            raise DataError("cv yields no folds for this table; at least one is needed.")
        for number, fold in enumerate(self.splits, start=1):
            for rows, what in ((fold.train, "training"), (fold.test, "test")):
                if not len(rows):
                    raise DataError(f"Fold {number} of {len(self)} has no {what} rows; use other folds.")
            if has_classes and (labels[fold.train] == labels[fold.train[0]]).all():
                only = str(labels[fold.train[0]])
                raise DataError(
                    f"Fold {number} of {len(self)} has training rows of class {only!r} only; use other folds."
                )


def draw_folds(table: Table, n_splits: int, rng: np.random.Generator) -> Folds:
    """Return the folds that a table allows, with seeds drawn after them; all depend only on the table and the random state."""
    first, whole = rng.integers(0, 2**31, 2).tolist()
    folds = make_folds(table, n_splits, first)
    return replace(folds, seeds=tuple(rng.integers(0, 2**31, len(folds)).tolist()), table_seed=whole)


def drop_zero_weights(table: Table) -> tuple[Table, list[Verdict]]:
    """Return the rows of positive weight, and a note on the number of others."""
    rows = positive_weight_rows(table)
    n = table.schema.n_rows - rows.schema.n_rows
    return rows, [Verdict("TZ206", f"{_row_count(n)} of weight 0 left out where models are scored.")] if n else []


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


def resolve_folds(
    cv: Any, table: Table, labels: NDArray[Any], n_rows: int, seed: int, *, has_classes: bool, is_whole: bool
) -> Folds:
    """Return the folds of a splitter or a list, or a number of folds drawn by the seed.

    `labels` is the target as the estimator receives it, `n_rows` the number of rows of the user's table, which a list counts, and
    `is_whole` whether no row was left out of it by the caller.
    """
    if isinstance(cv, bool):
        raise TypeError(f"cv must be a number of folds, a splitter or a list of (train, test), got {cv}.")
    if isinstance(cv, Integral):
        check_integer("cv", cv, low=2)
        folds = make_folds(table, int(cv), seed, stratify=has_classes)
        # Inside the folds of an assessment a search gets part of the table: rare classes, duplicates and row order are reported
        # once, for the whole table.
        if not is_whole:
            return replace(folds, rare_class_warnings=(), fold_notes=())
        order = describe_row_order(table)
        if order is None:
            return folds
        if order.is_doubtful:
            return replace(folds, other_warnings=(order.message,))
        return replace(folds, fold_notes=(*folds.fold_notes, order.message))
    if not hasattr(cv, "split") and isinstance(cv, Iterable) and not isinstance(cv, str):
        return Folds(tuple(_read_fold_list(cv, table, n_rows)), "the folds of a list")
    try:
        splitter = cv
        if getattr(cv, "random_state", seed) is None:
            # A seed makes a search reproducible and resumable.
            splitter = copy.copy(cv)
            splitter.random_state = seed
        splitter = check_cv(splitter, labels if table.schema.target is not None else None, classifier=has_classes)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            y = labels if table.schema.target is not None else None
            splits = list(splitter.split(np.empty((len(labels), 1)), y, table.groups))
    except (ValueError, TypeError) as error:
        groups = "" if table.groups is not None or "groups" not in str(error) else "; pass the rows' groups to fit"
        raise DataError(f"cv={cv!r} cannot split this table: {str(error).rstrip('.')}{groups}.") from error
    parts = tuple(Fold(np.sort(train), np.sort(test), np.asarray(train)) for train, test in splits)
    warned = tuple(Verdict("TZ202", f"cv={cv!r}: {one.message}") for one in caught)
    return Folds(parts, f"the folds of {cv!r}", other_warnings=warned)


def _read_fold_list(cv: Iterable[Any], table: Table, n_rows: int) -> list[Fold]:
    """Return folds from lists of row numbers of the user's table; rows that are not in `table` are dropped."""
    positions = np.full(n_rows, -1, dtype=np.intp)
    positions[table.row_numbers] = np.arange(len(table.row_numbers))
    folds = []
    for number, pair in enumerate(cv, start=1):
        try:
            train, test = pair
        except (TypeError, ValueError):
            raise DataError(f"Fold {number} of cv is not a pair (train, test) of lists of row numbers.") from None
        train_rows, test_rows = (_read_row_numbers(rows, positions, number) for rows in (train, test))
        folds.append(Fold(np.sort(train_rows), np.sort(test_rows), train_rows))
    if not folds:
        raise DataError("cv contains no folds; a generator is exhausted after one use: pass a list.")
    return folds


def _read_row_numbers(rows: Any, positions: Indices, number: int) -> Indices:
    numbers = np.asarray(rows)
    if numbers.dtype == bool:
        if numbers.shape != positions.shape:
            raise DataError(
                f"Fold {number} of cv is a mask of {numbers.size:,} rows, and the table has {len(positions):,}; pass row numbers, "
                "or a mask of all rows."
            )
        numbers = np.flatnonzero(numbers)
    if numbers.ndim != 1 or (numbers.size and (numbers.dtype.kind not in "iu" or numbers.min() < 0)):
        raise DataError(f"Fold {number} of cv must consist of lists of row numbers, counted from 0.")
    if numbers.size and numbers.max() >= len(positions):
        raise DataError(
            f"Fold {number} of cv has row {int(numbers.max()):,}, and the rows of the table are numbered from 0 to "
            f"{len(positions) - 1:,}."
        )
    found = positions[numbers.astype(np.intp)]
    return found[found >= 0]


def make_folds(table: Table, n_splits: int, seed: int, *, stratify: bool = True) -> Folds:
    """Return the folds that a table allows: forward in time, of whole groups, or shuffled and stratified.

    A table may allow fewer folds than requested, and `fewer_folds_warnings` then states why. Rows are shuffled by the seed: rows
    of a file are often sorted, and unshuffled folds would test values outside the training range. Classes that are too rare are
    left out of stratified and group folds (`find_rare_classes`). Copies of a row stay in its fold where folds are shuffled
    (`tie_repeated_rows`), unless the table has no target. With `stratify=False` the target is treated as numbers.
    """
    check_integer("n_splits", n_splits, low=2)
    if table.groups is not None and table.time is not None:
        raise DataError(
            f"Groups ({table.schema.groups!r}) and time ({table.schema.time!r}) cannot be combined: folds are of whole groups or "
            "forward in time. Pass only one of the two."
        )
    if table.time is not None:
        return _time_folds(table, n_splits)
    y = np.zeros(table.schema.n_rows) if table.schema.target is None else target_array(table)
    has_classes = table.schema.has_classes and stratify
    rows, rare = np.arange(len(y)), tuple[Verdict, ...]()
    if has_classes:
        assert table.schema.target is not None
        counts = np.bincount(y, minlength=len(table.schema.target.levels))
        is_rare = find_rare_classes(counts, n_splits)
        rows, rare = np.flatnonzero(~is_rare[y]), describe_rare_classes(counts, is_rare, table.schema.target.levels)
    make = _random_folds if table.groups is None else _group_folds
    return replace(make(table, y, rows, n_splits, seed, has_classes=has_classes), rare_class_warnings=rare)


def _random_folds(
    table: Table, y: NDArray[Any], rows: Indices, n_splits: int, seed: int, *, has_classes: bool
) -> Folds:
    leaders, notes = tie_repeated_rows(table, y) if table.schema.target is not None else (np.arange(len(y)), ())
    leaders = _untie_small_classes(leaders, y, n_splits, has_classes=has_classes)
    # Only the first of tied rows is drawn; the others follow it.
    heads = rows[leaders[rows] == rows]
    kind = "different rows" if len(heads) < len(rows) else "rows"
    if not has_classes:
        n_allowed, why = len(heads) // _min_test_rows(has_classes), f"the table has {len(heads):,} {kind}"
        if n_allowed < 2:
            raise DataError(f"The table has {len(y)} rows; cross-validation needs at least 4.")
    else:
        assert table.schema.target is not None
        counts = np.bincount(y[heads])
        smallest = int(np.argmin(np.where(counts > 0, counts, np.iinfo(np.intp).max)))
        n_allowed, level = int(counts[smallest]), table.schema.target.levels[smallest]
        if n_allowed < 2:
            raise DataError(
                f"Class {level!r} has 1 row; every class needs at least 2, one for training and one for testing. Leave the row "
                "out, or merge the class with another."
            )
        why = f"class {level!r} has {n_allowed:,} {kind}"
    n = min(n_splits, n_allowed)
    splitter = (StratifiedKFold if has_classes else KFold)(n, shuffle=True, random_state=seed)
    fold_of = np.empty(len(y), dtype=np.intp)
    for number, fold in enumerate(_split(splitter, y[heads], heads)):
        fold_of[fold.test] = number
    fold_of = fold_of[leaders[rows]]
    parts = tuple(Fold(rows[fold_of != number], rows[fold_of == number]) for number in range(n))
    description = f"{n} {'stratified' if has_classes else 'random'} folds"
    return Folds(parts, description, _fewer_folds_warning(n, n_splits, why), fold_notes=notes)


def _untie_small_classes(leaders: Indices, y: NDArray[Any], n_splits: int, *, has_classes: bool) -> Indices:
    """Untie the rows of classes, or of a whole table, that would otherwise have too few different rows for the folds."""
    itself = np.arange(len(y))
    heads = leaders == itself
    if not has_classes:
        return leaders if np.count_nonzero(heads) >= 2 * _min_test_rows(has_classes) else itself
    few = np.bincount(y[heads], minlength=int(y.max()) + 1) < min(n_splits, _MIN_CLASS_ROWS)
    return np.where(few[y], itself, leaders)


def _group_folds(table: Table, y: NDArray[Any], rows: Indices, n_splits: int, seed: int, *, has_classes: bool) -> Folds:
    assert table.groups is not None
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
            return Folds(parts, f"{len(parts)} folds of whole groups ({name})", note)
    raise DataError(
        f"The {len(present):,} groups of {name!r} are too few or too small for 2 folds: {_requirement(has_classes)}."
    )


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


def _fewer_folds_warning(n: int, requested: int, why: str) -> tuple[Verdict, ...]:
    return () if n == requested else (Verdict("TZ307", f"{n} folds in place of {requested}: {why}."),)


def tie_repeated_rows(table: Table, y: NDArray[Any]) -> tuple[Indices, tuple[str, ...]]:
    """Return for every row the row whose fold it is in, and a sentence on duplicates; copies of a row are tied to its fold.

    A test row whose copy is in the training rows is recognised instead of predicted. Equal rows count as copies unless

    - more than half of the rows repeat an earlier one, or
    - the targets of rows with equal columns differ at least a quarter as often as those of two random rows. This test is skipped
      for a target in which two random rows agree in less than 1 % of the cases, such as most numbers.

    Rows of a few coarse columns coincide without being copies. Folds that tie such rows bias the scores of every model downwards.
    In simulations of 400 rows and 8 binary columns, 5 nearest neighbours have accuracy .67 on new rows: folds that tie equal rows
    estimate .60, others .68. With 20 columns and 12 % copies the accuracy is .71: folds that do not tie copies estimate .74, others
    .71.
    """
    untied = np.arange(len(y))
    copies = find_duplicate_rows(table, y)
    n = len(y)
    if copies is None:
        note = (
            f"{n:,} rows were not checked for duplicates because the comparison needs too much memory: copies may be in several "
            "folds."
        )
        return untied, (note,) if len(table.schema.used) else ()
    if not copies.n_duplicates:
        return untied, ()
    repeated = (
        f"{copies.n_duplicates:,} of {n:,} rows {'repeats' if copies.n_duplicates == 1 else 'repeat'} an earlier row"
    )
    if copies.n_duplicates > _MAX_REPEAT_SHARE * n:
        note = (
            f"{repeated}: most rows of this table are duplicates, so equal rows count as different cases and are not tied to one "
            "fold."
        )
        return untied, (note,)
    is_reported = copies.n_duplicates >= _MIN_REPORTED_SHARE * n
    if _are_coincidences(copies, y):
        note = (
            f"{repeated}, and of {copies.n_equal_features:,} rows with equal columns {copies.n_conflicting:,} differ in the "
            "target: equal rows count as different cases and are not tied to one fold."
        )
        return untied, (note,) if is_reported else ()
    return copies.first_row, (f"{repeated}; equal rows are kept in one fold.",) if is_reported else ()


def _are_coincidences(copies: DuplicateRows, y: NDArray[Any]) -> bool:
    """Return whether the targets of rows with equal columns differ too often for copies."""
    shares = np.unique(y, return_counts=True)[1] / len(y)
    chance_agreement = float((shares**2).sum())
    return (
        chance_agreement > _MIN_CHANCE_AGREEMENT
        and copies.n_conflicting >= _MAX_DISAGREEMENT * (1 - chance_agreement) * copies.n_equal_features
    )


def find_rare_classes(counts: NDArray[Any], n_splits: int) -> Masks:
    """Return the classes that are left out of the folds.

    Classes with fewer than t rows are left out, where t is the largest number up to min(n_splits, 5) such that these classes
    together have at most 5 % of the rows, and at least 2 classes remain. A class of 1 row cannot be in both training and test rows:
    it is left out whatever the share, as long as 2 classes remain.

    scikit-learn's `StratifiedKFold` raises if every class is smaller than the number of folds, and warns if one is. This rule is
    the package's own: one class of 1 row among 34,786 must neither prevent folds nor reduce their number to 1, and the classes left
    out must have too few rows to change the score of the others much.
    """
    present = counts > 0
    left_out = np.zeros(len(counts), dtype=bool)
    for least in range(2, min(n_splits, _MIN_CLASS_ROWS) + 1):
        rare = present & (counts < least)
        if least > 2 and counts[rare].sum() > _MAX_RARE_SHARE * counts.sum():
            break
        if np.count_nonzero(present & ~rare) >= 2:
            left_out = rare
    return left_out


def describe_rare_classes(counts: NDArray[Any], rare: Masks, levels: Sequence[str]) -> tuple[Verdict, ...]:
    """Return a sentence on the classes that are left out of the folds, empty if there are none."""
    found = np.flatnonzero(rare)
    if not len(found):
        return ()
    found = found[np.argsort(counts[found], kind="stable")]
    why = "of the folds: too few rows for training and test rows in every fold."
    named = [f"{levels[c]!r} ({_row_count(int(counts[c]))})" for c in found.tolist()]
    if len(found) == 1:
        return (Verdict("TZ307", f"Class {named[0]} is left out {why}"),)
    too_many = len(named) > _MAX_NAMED
    listed = (
        list_names(named, limit=_MAX_NAMED, as_text=str) if too_many else f"{', '.join(named[:-1])} and {named[-1]}"
    )
    total = f"{int(counts[found].sum()):,} of {int(counts.sum()):,} rows"
    return (Verdict("TZ307", f"{len(found):,} classes, {total}, are left out {why} They are {listed}."),)

"""A table, an estimator, folds and a score, checked and made ready."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.model_selection import check_cv

from tamiz.exceptions import DataError
from tamiz.models.base import CVTask
from tamiz.models.estimators import (
    check_accepts_columns,
    check_accepts_weights,
    check_is_predictive,
    set_random_state,
    unwrap_estimator,
)
from tamiz.models.folds import Fold, Folds, make_folds
from tamiz.models.multioutput import MultiOutputTarget
from tamiz.models.named_models import Model
from tamiz.models.scoring import check_scoring_target, resolve_scoring, resolve_unsupervised_scoring
from tamiz.runtime.validation import check_integer
from tamiz.sources.base import Source
from tamiz.sources.row_order import describe_row_order
from tamiz.sources.views import has_all_rows, n_original_rows, select_rows, weight_array


def make_task(
    model: Model, source: Source, outputs: MultiOutputTarget | None = None, *, cv: Any, scoring: Any, seed: int
) -> CVTask:
    """Return what is needed to cross-validate a model on a table, of outputs where it has any in place of a target."""
    estimator, encode = model.estimator, model.encode
    has_target = outputs is not None or source.schema.target is not None
    if has_target:
        check_is_predictive(estimator)
    n_rows, is_whole = n_original_rows(source), has_all_rows(source)
    weight = weight_array(source)
    if weight is not None and (weight == 0).any():
        source = select_rows(source, np.flatnonzero(weight))
        weight = weight_array(source)
    read = (
        resolve_scoring(scoring, has_classes=is_classifier(estimator), multioutput=outputs is not None)
        if has_target
        else resolve_unsupervised_scoring(scoring, estimator)
    )
    labels = (
        _estimator_target(estimator, source)
        if outputs is None
        else outputs.target_for(unwrap_estimator(estimator), source.row_numbers)
    )
    check_accepts_weights(estimator, source.schema)
    read.check_weights(source.schema)
    if not encode:
        check_accepts_columns(estimator, source.schema)
    made = _resolve_folds(
        cv,
        estimator,
        source if outputs is None else outputs.with_combined_target(source),
        labels,
        n_rows,
        seed,
        is_full_table=is_whole,
    )
    folds = made.folds
    if folds.splits and len(rows := folds.used_rows) < len(labels):
        # Models, scores and their checks then know nothing of the classes that no fold has.
        source, labels, weight = select_rows(source, rows), labels[rows], None if weight is None else weight[rows]
        folds = replace(folds, splits=tuple(_reindex_fold(fold, rows) for fold in folds.splits))
    check_scoring_target(read, source.schema, labels)
    _check_folds(folds.splits, estimator, labels)
    return CVTask(
        set_random_state(clone(estimator), seed),
        source,
        folds.splits,
        labels,
        weight,
        read,
        encode,
        model.impute,
        model.label,
        seed,
        made.fold_warnings,
        made.fold_notes,
    )


@dataclass(frozen=True)
class _DescribedFolds:
    """Folds with all that is said of them."""

    folds: Folds
    fold_warnings: tuple[str, ...] = ()
    fold_notes: tuple[str, ...] = ()


def _reindex_fold(fold: Fold, rows: NDArray[np.intp]) -> Fold:
    """Return a fold by the places of its rows among some rows of the table."""
    return Fold(np.searchsorted(rows, fold.train), np.searchsorted(rows, fold.test))


def _estimator_target(estimator: Any, source: Source) -> NDArray[Any]:
    """Return the target as the estimator is to see it."""
    schema, name = source.schema, type(unwrap_estimator(estimator)).__name__
    if schema.target is None:
        return np.empty((schema.n_rows, 0))
    labels = source.target_values()
    if is_classifier(estimator) and not schema.has_classes:
        raise DataError(
            f"{name} predicts classes, and the target {schema.target.name!r} is a number; pass a regressor, or "
            "say kinds."
        )
    if not is_classifier(estimator) and schema.has_classes:
        if labels.dtype.kind not in "iuf":
            raise DataError(
                f"{name} predicts numbers, and the target {schema.target.name!r} is classes; pass a classifier."
            )
        return labels.astype(np.float64)
    return labels


def _resolve_folds(
    cv: Any, estimator: Any, source: Source, labels: NDArray[Any], n_rows: int, seed: int, *, is_full_table: bool
) -> _DescribedFolds:
    """Return the folds: those of a splitter or a list, or as many as a number says, drawn by the seed."""
    if isinstance(cv, bool):
        raise TypeError(f"cv must be a number of folds, a splitter or a list of (train, test), got {cv}.")
    if isinstance(cv, Integral):
        check_integer("cv", cv, low=2)
        folds = make_folds(source, int(cv), seed, stratify=is_classifier(estimator))
        # Searches inside the folds of an assessment see a part of the table each. What is rare, repeated or in order there is so
        # in the whole table, too, of which it is said once.
        return _describe_folds(folds, source) if is_full_table else _DescribedFolds(folds, folds.fewer_folds_warnings)
    if not hasattr(cv, "split") and isinstance(cv, Iterable) and not isinstance(cv, str):
        return _DescribedFolds(Folds(tuple(_read_fold_list(cv, source, n_rows)), "the folds of a list"))
    try:
        y = labels if source.schema.target is not None else None
        splitter = check_cv(_seed_splitter(cv, seed), y, classifier=is_classifier(estimator))
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            splits = list(splitter.split(np.empty((len(labels), 1)), y, source.groups))
    except (ValueError, TypeError) as error:
        groups = "" if source.groups is not None or "groups" not in str(error) else "; pass the rows' groups to fit"
        raise DataError(f"cv={cv!r} makes no folds of this table: {str(error).rstrip('.')}{groups}.") from error
    parts = tuple(Fold(np.sort(train), np.sort(test), np.asarray(train)) for train, test in splits)
    return _DescribedFolds(Folds(parts, f"the folds of {cv!r}"), tuple(f"cv={cv!r}: {one.message}" for one in said))


def _describe_folds(folds: Folds, source: Source) -> _DescribedFolds:
    """Return folds with what is said of them and of the order of the rows."""
    order = describe_row_order(source)
    if order is None:
        return _DescribedFolds(folds, folds.fold_warnings, folds.fold_notes)
    if order.is_doubtful:
        return _DescribedFolds(folds, (*folds.fold_warnings, order.message), folds.fold_notes)
    return _DescribedFolds(folds, folds.fold_warnings, (*folds.fold_notes, order.message))


def _seed_splitter(cv: Any, seed: int) -> Any:
    """Return a splitter that draws lots with a seed: a search can then be repeated, and gone on with."""
    if getattr(cv, "random_state", seed) is not None:
        return cv
    seeded_cv = copy.copy(cv)
    seeded_cv.random_state = seed
    return seeded_cv


def _read_fold_list(cv: Iterable[Any], source: Source, n_rows: int) -> list[Fold]:
    """Return folds that are lists of rows of the user's table; rows that it does not show are left out of them."""
    place = np.full(n_rows, -1, dtype=np.intp)
    place[source.row_numbers] = np.arange(len(source.row_numbers))
    folds = []
    for number, given in enumerate(cv, start=1):
        try:
            train, test = given
        except (TypeError, ValueError):
            raise DataError(f"Fold {number} of cv is not a pair (train, test) of lists of row numbers.") from None
        learned = _read_row_numbers(train, place, number)
        folds.append(Fold(np.sort(learned), np.sort(_read_row_numbers(test, place, number)), learned))
    if not folds:
        raise DataError("cv holds no folds; a generator is used up when it has been read once: pass a list.")
    return folds


def _read_row_numbers(rows: Any, positions: NDArray[np.intp], number: int) -> NDArray[np.intp]:
    numbers = np.asarray(rows)
    if numbers.dtype == bool:
        if numbers.shape != positions.shape:
            raise DataError(
                f"Fold {number} of cv is a mask of {numbers.size:,} rows, and the table has {len(positions):,}; pass row numbers, or a "
                "mask of every row."
            )
        numbers = np.flatnonzero(numbers)
    if numbers.ndim != 1 or (numbers.size and (numbers.dtype.kind not in "iu" or numbers.min() < 0)):
        raise DataError(f"Fold {number} of cv is not made of lists of row numbers, counted from 0.")
    if numbers.size and numbers.max() >= len(positions):
        raise DataError(
            f"Fold {number} of cv has row {int(numbers.max()):,}, and the table's rows are counted from 0 to {len(positions) - 1:,}."
        )
    found = positions[numbers.astype(np.intp)]
    return found[found >= 0]


def _check_folds(folds: tuple[Fold, ...], estimator: Any, labels: NDArray[Any]) -> None:
    if not folds:
        raise DataError("cv makes no folds of this table; ask for at least one.")
    for number, fold in enumerate(folds, start=1):
        for rows, what in ((fold.train, "learn from"), (fold.test, "test")):
            if not len(rows):
                raise DataError(f"Fold {number} of {len(folds)} has no rows to {what}; ask for other folds.")
        if is_classifier(estimator) and (labels[fold.train] == labels[fold.train[0]]).all():
            only = str(labels[fold.train[0]])
            raise DataError(
                f"Fold {number} of {len(folds)} has rows of class {only!r} only to learn from; ask for other folds."
            )


def overlap_warnings(folds: Sequence[Fold]) -> list[str]:
    """Return the sentence that tells of folds that test rows they learn from, none where there are none."""
    shared = [np.intersect1d(fold.train, fold.test).size for fold in folds]
    if not any(shared):
        return []
    first = int(np.flatnonzero(shared)[0])
    return [
        f"{sum(map(bool, shared)):,} of {len(folds):,} folds learn from rows that they test, fold {first + 1} from "
        f"{shared[first]:,}: their scores are not those of unseen rows."
    ]

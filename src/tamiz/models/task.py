"""Builds a `CVTask`: checks a table, an estimator, folds and a score, and combines them."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.model_selection import check_cv

from tamiz.arrays import Indices
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
from tamiz.runtime.verdicts import Verdict
from tamiz.table.base import Table
from tamiz.table.row_groups import describe_row_order
from tamiz.table.views import (
    has_all_rows,
    n_original_rows,
    positive_weight_row_numbers,
    select_rows,
    weight_array,
)


def make_task(
    model: Model, table: Table, outputs: MultiOutputTarget | None = None, *, cv: Any, scoring: Any, seed: int
) -> CVTask:
    """Return the task of cross-validating a model on a table; `outputs` replaces the target if there are several."""
    estimator = model.estimator
    has_target = outputs is not None or table.schema.target is not None
    if has_target:
        check_is_predictive(estimator)
    n_rows, is_whole = n_original_rows(table), has_all_rows(table)
    positive = positive_weight_row_numbers(table)
    if len(positive) < table.schema.n_rows:
        cv = cv.among(positive) if isinstance(cv, Folds) else cv
        table = select_rows(table, positive)
    weight = weight_array(table)
    scorer = (
        resolve_scoring(scoring, has_classes=is_classifier(estimator), multioutput=outputs is not None)
        if has_target
        else resolve_unsupervised_scoring(scoring, estimator)
    )
    target = (
        _estimator_target(estimator, table)
        if outputs is None
        else outputs.target_for(unwrap_estimator(estimator), table.row_numbers)
    )
    check_accepts_weights(estimator, table.schema)
    scorer.check_weights(table.schema)
    if model.encoding == "none":
        check_accepts_columns(estimator, table.schema)
    folds = _resolve_folds(
        cv,
        estimator,
        table if outputs is None else outputs.with_combined_target(table),
        target,
        n_rows,
        seed,
        is_full_table=is_whole,
    )
    if folds.splits and len(rows := folds.used_rows) < len(target):
        # Drop the rows that are in no fold, so that models and checks do not see the classes that are left out.
        table, target, weight = select_rows(table, rows), target[rows], None if weight is None else weight[rows]
        folds = folds.among(rows)
    check_scoring_target(scorer, table.schema, target)
    _check_folds(folds, estimator, target)
    return CVTask(
        set_random_state(clone(model.estimator_for(min(len(fold.train) for fold in folds))), seed),
        table,
        folds,
        target,
        weight,
        scorer.with_requests(table.metadata),
        model.encoding,
        model.impute,
        model.label,
        seed,
    )


def _estimator_target(estimator: Any, table: Table) -> NDArray[Any]:
    """Return the target in the form for the estimator; raise DataError if the kinds differ."""
    schema, name = table.schema, type(unwrap_estimator(estimator)).__name__
    if schema.target is None:
        return np.empty((schema.n_rows, 0))
    labels = table.target_values()
    if is_classifier(estimator) and not schema.has_classes:
        raise DataError(
            f"{name} predicts classes, and the target {schema.target.name!r} is a number; pass a regressor, or "
            "set the kind of the target (kinds=)."
        )
    if not is_classifier(estimator) and schema.has_classes:
        if labels.dtype.kind not in "iuf":
            raise DataError(
                f"{name} predicts numbers, and the target {schema.target.name!r} is classes; pass a classifier."
            )
        return labels.astype(np.float64)
    return labels


def _resolve_folds(
    cv: Any, estimator: Any, table: Table, labels: NDArray[Any], n_rows: int, seed: int, *, is_full_table: bool
) -> Folds:
    """Return the folds of a splitter or a list, or a number of folds drawn by the seed; `Folds` are of the rows of the table."""
    if isinstance(cv, Folds):
        return cv
    if isinstance(cv, bool):
        raise TypeError(f"cv must be a number of folds, a splitter or a list of (train, test), got {cv}.")
    if isinstance(cv, Integral):
        check_integer("cv", cv, low=2)
        folds = make_folds(table, int(cv), seed, stratify=is_classifier(estimator))
        # Inside the folds of an assessment a search gets part of the table: rare classes, duplicates and row order are reported
        # once, for the whole table.
        return _note_row_order(folds, table) if is_full_table else replace(folds, rare_class_warnings=(), fold_notes=())
    if not hasattr(cv, "split") and isinstance(cv, Iterable) and not isinstance(cv, str):
        return Folds(tuple(_read_fold_list(cv, table, n_rows)), "the folds of a list")
    try:
        y = labels if table.schema.target is not None else None
        splitter = check_cv(_seed_splitter(cv, seed), y, classifier=is_classifier(estimator))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            splits = list(splitter.split(np.empty((len(labels), 1)), y, table.groups))
    except (ValueError, TypeError) as error:
        groups = "" if table.groups is not None or "groups" not in str(error) else "; pass the rows' groups to fit"
        raise DataError(f"cv={cv!r} cannot split this table: {str(error).rstrip('.')}{groups}.") from error
    parts = tuple(Fold(np.sort(train), np.sort(test), np.asarray(train)) for train, test in splits)
    warned = tuple(Verdict("TZ202", f"cv={cv!r}: {one.message}") for one in caught)
    return Folds(parts, f"the folds of {cv!r}", other_warnings=warned)


def _note_row_order(folds: Folds, table: Table) -> Folds:
    """Return folds with a warning or a note about the row order, if there is one."""
    order = describe_row_order(table)
    if order is None:
        return folds
    if order.is_doubtful:
        return replace(folds, other_warnings=(order.message,))
    return replace(folds, fold_notes=(*folds.fold_notes, order.message))


def _seed_splitter(cv: Any, seed: int) -> Any:
    """Return a splitter with a seed if it has random_state=None, so that a search is reproducible and resumable."""
    if getattr(cv, "random_state", seed) is not None:
        return cv
    seeded_cv = copy.copy(cv)
    seeded_cv.random_state = seed
    return seeded_cv


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
        train_rows = _read_row_numbers(train, positions, number)
        test_rows = _read_row_numbers(test, positions, number)
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


def _check_folds(folds: Folds, estimator: Any, labels: NDArray[Any]) -> None:
    if not folds:
        raise DataError("cv yields no folds for this table; at least one is needed.")
    for number, fold in enumerate(folds, start=1):
        for rows, what in ((fold.train, "training"), (fold.test, "test")):
            if not len(rows):
                raise DataError(f"Fold {number} of {len(folds)} has no {what} rows; use other folds.")
        if is_classifier(estimator) and (labels[fold.train] == labels[fold.train[0]]).all():
            only = str(labels[fold.train[0]])
            raise DataError(f"Fold {number} of {len(folds)} has training rows of class {only!r} only; use other folds.")


def overlap_warnings(folds: Sequence[Fold]) -> list[Verdict]:
    """Return a warning on folds whose training and test rows overlap, empty if there are none."""
    shared = [np.intersect1d(fold.train, fold.test).size for fold in folds]
    if not any(shared):
        return []
    first = int(np.flatnonzero(shared)[0])
    return [
        Verdict(
            "TZ202",
            f"{sum(map(bool, shared)):,} of {len(folds):,} folds have test rows that are also training rows (fold {first + 1} has "
            f"{shared[first]:,}): their scores are not those of unseen rows.",
        )
    ]

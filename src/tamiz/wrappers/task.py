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
from tamiz.sources.base import Source
from tamiz.sources.row_order import describe_row_order
from tamiz.sources.views import n_given, rows_of, shows_all_rows, weight_of
from tamiz.validation import check_integer
from tamiz.wrappers.adapter import unwrapped
from tamiz.wrappers.base import Task
from tamiz.wrappers.estimators import check_predicts, check_takes_columns, check_takes_weights, seeded
from tamiz.wrappers.folds import Fold, Folds, make_folds
from tamiz.wrappers.models import Model
from tamiz.wrappers.outputs import Outputs
from tamiz.wrappers.scoring import check_target, read_scoring, read_scoring_alone


def make_task(
    model: Model, source: Source, outputs: Outputs | None = None, *, cv: Any, scoring: Any, seed: int
) -> Task:
    """Return what is needed to cross-validate a model on a table, of outputs where it has any in place of a target."""
    estimator, encode = model.estimator, model.encode
    has_target = outputs is not None or source.schema.target is not None
    if has_target:
        check_predicts(estimator)
    n_rows, is_whole = n_given(source), shows_all_rows(source)
    weight = weight_of(source)
    if weight is not None and (weight == 0).any():
        source = rows_of(source, np.flatnonzero(weight))
        weight = weight_of(source)
    read = (
        read_scoring(scoring, classes=is_classifier(estimator), several=outputs is not None)
        if has_target
        else read_scoring_alone(scoring, estimator)
    )
    labels = _labels(estimator, source) if outputs is None else outputs.labels(unwrapped(estimator), source.row_numbers)
    check_takes_weights(estimator, source.schema)
    read.check(source.schema)
    if not encode:
        check_takes_columns(estimator, source.schema)
    made = _folds(
        cv, estimator, source if outputs is None else outputs.joined(source), labels, n_rows, seed, is_whole=is_whole
    )
    folds = made.folds
    if folds.parts and len(rows := folds.rows) < len(labels):
        # Models, scores and their checks then know nothing of the classes that no fold has.
        source, labels, weight = rows_of(source, rows), labels[rows], None if weight is None else weight[rows]
        folds = replace(folds, parts=tuple(_among(fold, rows) for fold in folds.parts))
    check_target(read, source.schema, labels)
    _check_folds(folds.parts, estimator, labels)
    return Task(
        seeded(clone(estimator), seed),
        source,
        folds.parts,
        labels,
        weight,
        read,
        encode,
        model.impute,
        model.label,
        seed,
        made.notes,
        made.remarks,
    )


@dataclass(frozen=True)
class _Made:
    """Folds with all that is said of them."""

    folds: Folds
    notes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


def _among(fold: Fold, rows: NDArray[np.intp]) -> Fold:
    """Return a fold by the places of its rows among some rows of the table."""
    return Fold(np.searchsorted(rows, fold.train), np.searchsorted(rows, fold.test))


def _labels(estimator: Any, source: Source) -> NDArray[Any]:
    """Return the target as the estimator is to see it."""
    schema, name = source.schema, type(unwrapped(estimator)).__name__
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


def _folds(
    cv: Any, estimator: Any, source: Source, labels: NDArray[Any], n_rows: int, seed: int, *, is_whole: bool
) -> _Made:
    """Return the folds: those of a splitter or a list, or as many as a number says, drawn by the seed."""
    if isinstance(cv, bool):
        raise TypeError(f"cv must be a number of folds, a splitter or a list of (train, test), got {cv}.")
    if isinstance(cv, Integral):
        check_integer("cv", cv, low=2)
        folds = make_folds(source, int(cv), seed, stratify=is_classifier(estimator))
        # Searches inside the folds of an assessment see a part of the table each. What is rare, repeated or in order there is so
        # in the whole table, too, of which it is said once.
        return _described(folds, source) if is_whole else _Made(folds, folds.fewer)
    if not hasattr(cv, "split") and isinstance(cv, Iterable) and not isinstance(cv, str):
        return _Made(Folds(tuple(_listed(cv, source, n_rows)), "the folds of a list"))
    try:
        y = labels if source.schema.target is not None else None
        splitter = check_cv(_drawn(cv, seed), y, classifier=is_classifier(estimator))
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            splits = list(splitter.split(np.empty((len(labels), 1)), y, source.groups))
    except (ValueError, TypeError) as error:
        groups = "" if source.groups is not None or "groups" not in str(error) else "; pass the rows' groups to fit"
        raise DataError(f"cv={cv!r} makes no folds of this table: {str(error).rstrip('.')}{groups}.") from error
    parts = tuple(Fold(np.sort(train), np.sort(test), np.asarray(train)) for train, test in splits)
    return _Made(Folds(parts, f"the folds of {cv!r}"), tuple(f"cv={cv!r}: {one.message}" for one in said))


def _described(folds: Folds, source: Source) -> _Made:
    """Return folds with what is said of them and of the order of the rows."""
    order = describe_row_order(source)
    if order is None:
        return _Made(folds, folds.notes, folds.remarks)
    if order.is_doubtful:
        return _Made(folds, (*folds.notes, order.sentence), folds.remarks)
    return _Made(folds, folds.notes, (*folds.remarks, order.sentence))


def _drawn(cv: Any, seed: int) -> Any:
    """Return a splitter that draws lots with a seed: a search can then be repeated, and gone on with."""
    if getattr(cv, "random_state", seed) is not None:
        return cv
    seeded_cv = copy.copy(cv)
    seeded_cv.random_state = seed
    return seeded_cv


def _listed(cv: Iterable[Any], source: Source, n_rows: int) -> list[Fold]:
    """Return folds that are lists of rows of the user's table; rows that it does not show are left out of them."""
    place = np.full(n_rows, -1, dtype=np.intp)
    place[source.row_numbers] = np.arange(len(source.row_numbers))
    folds = []
    for number, given in enumerate(cv, start=1):
        try:
            train, test = given
        except (TypeError, ValueError):
            raise DataError(f"Fold {number} of cv is not a pair (train, test) of lists of row numbers.") from None
        learned = _placed(train, place, number)
        folds.append(Fold(np.sort(learned), np.sort(_placed(test, place, number)), learned))
    if not folds:
        raise DataError("cv holds no folds; a generator is used up when it has been read once: pass a list.")
    return folds


def _placed(rows: Any, place: NDArray[np.intp], number: int) -> NDArray[np.intp]:
    numbers = np.asarray(rows)
    if numbers.dtype == bool:
        if numbers.shape != place.shape:
            raise DataError(
                f"Fold {number} of cv is a mask of {numbers.size:,} rows, and the table has {len(place):,}; pass row numbers, or a "
                "mask of every row."
            )
        numbers = np.flatnonzero(numbers)
    if numbers.ndim != 1 or (numbers.size and (numbers.dtype.kind not in "iu" or numbers.min() < 0)):
        raise DataError(f"Fold {number} of cv is not made of lists of row numbers, counted from 0.")
    if numbers.size and numbers.max() >= len(place):
        raise DataError(
            f"Fold {number} of cv has row {int(numbers.max()):,}, and the table's rows are counted from 0 to {len(place) - 1:,}."
        )
    found = place[numbers.astype(np.intp)]
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


def overlaps(folds: Sequence[Fold]) -> list[str]:
    """Return the sentence that tells of folds that test rows they learn from, none where there are none."""
    shared = [np.intersect1d(fold.train, fold.test).size for fold in folds]
    if not any(shared):
        return []
    first = int(np.flatnonzero(shared)[0])
    return [
        f"{sum(map(bool, shared)):,} of {len(folds):,} folds learn from rows that they test, fold {first + 1} from "
        f"{shared[first]:,}: their scores are not those of unseen rows."
    ]

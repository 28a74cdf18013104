"""A table, an estimator, folds and a score, checked and made ready."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold, check_cv

from tamiz.exceptions import DataError
from tamiz.sources.base import Source
from tamiz.sources.views import rows_of, weight_of
from tamiz.wrappers.base import Task
from tamiz.wrappers.estimators import check_takes_weights, seeded
from tamiz.wrappers.folds import Fold, make_folds
from tamiz.wrappers.labels import labels_of
from tamiz.wrappers.scoring import read_scoring


def make_task(estimator: Any, source: Source, *, cv: Any, scoring: Any, encode: bool, seed: int, label: str) -> Task:
    """Return what is needed to cross-validate an estimator on a table."""
    weight = weight_of(source)
    if weight is not None and (weight == 0).any():
        source = rows_of(source, np.flatnonzero(weight))
        weight = weight_of(source)
    read = read_scoring(scoring, classes=is_classifier(estimator))
    labels = _labels(estimator, source)
    check_takes_weights(estimator, source.schema)
    read.check(source.schema)
    folds = tuple(_folds(cv, estimator, source, labels))
    _check_folds(folds, estimator, labels)
    return Task(seeded(clone(estimator), seed), source, folds, labels, weight, read, encode, label, seed)


def _labels(estimator: Any, source: Source) -> NDArray[Any]:
    """Return the target as the estimator is to see it."""
    schema = source.schema
    assert schema.target is not None
    labels = labels_of(source)
    if is_classifier(estimator) and not schema.has_classes:
        raise DataError(
            f"{type(estimator).__name__} predicts classes, and the target {schema.target.name!r} is a number; pass a regressor, or "
            "say kinds."
        )
    if not is_classifier(estimator) and schema.has_classes:
        if labels.dtype.kind not in "if":
            raise DataError(
                f"{type(estimator).__name__} predicts numbers, and the target {schema.target.name!r} is classes; pass a classifier."
            )
        return labels.astype(np.float64)
    return labels


def _folds(cv: Any, estimator: Any, source: Source, labels: NDArray[Any]) -> Iterator[Fold]:
    """Yield the folds: those of a splitter or a list, or as many as a number says."""
    if isinstance(cv, Integral) and not isinstance(cv, bool) and source.time is not None:
        yield from make_folds(source, int(cv), 0).parts
        return
    if isinstance(cv, Integral) and not isinstance(cv, bool) and source.groups is not None:
        cv = (StratifiedGroupKFold if is_classifier(estimator) else GroupKFold)(int(cv))
    given = not hasattr(cv, "split") and isinstance(cv, Iterable)
    splits = check_cv(cv, labels, classifier=is_classifier(estimator)).split(
        np.empty((len(labels), 1)), labels, source.groups
    )
    # A list of folds counts the rows of the user's table; those that do not count here are left out of it.
    place = np.full(int(source.row_numbers.max()) + 1, -1, dtype=np.intp)
    place[source.row_numbers] = np.arange(len(labels))
    for train, test in splits:
        if given:
            yield Fold(_placed(train, place), _placed(test, place))
        else:
            yield Fold(np.sort(train), np.sort(test))


def _placed(rows: Any, place: NDArray[np.intp]) -> NDArray[np.intp]:
    numbers = np.asarray(rows)
    numbers = np.flatnonzero(numbers) if numbers.dtype == bool else numbers
    if len(numbers) and (numbers.dtype.kind not in "iu" or numbers.min() < 0):
        raise DataError("cv has folds that are no lists of row numbers, counted from 0.")
    found = place[numbers[numbers < len(place)]]
    return np.sort(found[found >= 0])


def _check_folds(folds: tuple[Fold, ...], estimator: Any, labels: NDArray[Any]) -> None:
    if not folds:
        raise DataError("cv makes no folds.")
    for number, fold in enumerate(folds, start=1):
        for rows, what in ((fold.train, "learn from"), (fold.test, "test")):
            if not len(rows):
                raise DataError(f"Fold {number} of {len(folds)} has no rows to {what}; ask for other folds.")
        if is_classifier(estimator) and (labels[fold.train] == labels[fold.train[0]]).all():
            only = str(labels[fold.train[0]])
            raise DataError(
                f"Fold {number} of {len(folds)} has rows of class {only!r} only to learn from; ask for other folds."
            )

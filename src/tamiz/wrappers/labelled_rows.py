"""Rows with their classes as the user wrote them, whole tables and batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from tamiz.exceptions import DataError
from tamiz.sources.base import Source
from tamiz.sources.open import as_source, open_batch
from tamiz.sources.schema import Schema
from tamiz.sources.table import check_weights
from tamiz.sources.views import target_array, with_target, with_weight
from tamiz.wrappers.mixed_counts import known_kinds


def open_labelled_source(X: Any, y: Any, sample_weight: Any) -> tuple[Source, NDArray[Any]]:
    """Return rows and classes as a source, and the classes as the user wrote them, in the order of their codes."""
    if isinstance(X, Source):
        source = as_source(X, y, sample_weight)
        if source.class_labels is None:
            raise DataError(
                "MixedNB predicts classes, and the target is a number or not there; say kinds, or name a target."
            )
        return source, source.class_labels
    if y is None:
        raise ValueError("MixedNB requires y to be passed, but the target y is None.")
    given = _check_labels(y)
    labels, codes = np.unique(given, return_inverse=True)
    if len(labels) == 1:
        raise DataError(f"y has 1 class, {labels[0]!s}, in all {len(given):,} rows. Nothing can be learned of it.")
    names = pa.array([str(k) for k in range(len(labels))])
    target = pa.chunked_array([pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), names)])
    return as_source(X, target, sample_weight), labels


def read_batch(X: Any, y: Any, sample_weight: Any, classes: NDArray[Any], known_schema: Schema | None) -> Source:
    """Return a batch as a source whose target is the positions of its labels in `classes`."""
    if isinstance(X, Source):
        source, labels = open_labelled_source(X, y, sample_weight)
        return with_target(source, _class_codes(labels, classes)[target_array(source)])
    if y is None:
        raise ValueError("MixedNB requires y to be passed, but the target y is None.")
    codes = _class_codes(_check_labels(y), classes)
    source = open_batch(X, {} if known_schema is None else known_kinds(known_schema))
    check_consistent_length(codes, np.empty(source.schema.n_rows))
    source = with_target(source, codes)
    if sample_weight is None:
        return source
    weight = column_or_1d(sample_weight, dtype=np.float64)
    check_consistent_length(codes, weight)
    check_weights(weight, lambda at: f"row {at}")
    return with_weight(source, weight, "sample_weight")


def _class_codes(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int32]:
    """Return the positions of labels in the classes of all batches."""
    new = np.setdiff1d(labels, classes)
    if len(new):
        raise DataError(f"The class {new[0]!s} of y is none of the classes {classes.tolist()} of the first call.")
    return np.searchsorted(classes, labels).astype(np.int32)


def _check_labels(y: Any) -> NDArray[Any]:
    """Return the labels of rows, after a check that every row has one."""
    given = column_or_1d(y, warn=True)
    if given.dtype.kind in "fO" and len(
        missing := np.flatnonzero([one is None or one != one for one in given.tolist()])
    ):
        raise DataError(f"y has no class in row {missing[0]} (Input y contains NaN or None); leave the row out.")
    if given.dtype.kind == "f":
        assert_all_finite(given, input_name="y")
    # It makes integers of numbers that may be too large for them.
    with np.errstate(invalid="ignore"):
        check_classification_targets(given)
    return given

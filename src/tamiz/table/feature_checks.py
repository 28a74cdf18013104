"""Scikit-learn's input tags, `n_features_in_` and `feature_names_in_` for estimators that accept mixed tables."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
from scipy import sparse
from sklearn.utils import Tags
from sklearn.utils.validation import validate_data

from tamiz.exceptions import DataError
from tamiz.table.base import Table
from tamiz.table.in_memory import as_frame, check_matrix, default_names, eager_frame
from tamiz.table.schema import Schema, merge_date_parts


def mixed_table_tags(tags: Tags) -> Tags:
    """Set an estimator's tags to accept missing values, text, categories and sparse matrices, and return them."""
    tags.input_tags.allow_nan = True
    tags.input_tags.sparse = True
    tags.input_tags.string = True
    tags.input_tags.categorical = True
    if tags.transformer_tags is not None:
        tags.transformer_tags.preserves_dtype = []
    return tags


def float_dtype(X: Any) -> type[np.floating[Any]]:
    """Return float32 if all numbers of a table are float32, otherwise float64."""
    if X is None:
        return np.float64
    if isinstance(X, Table):
        return next(X.blocks()).dtype
    if (frame := as_frame(X)) is not None:
        kinds = [kind for kind in frame.collect_schema().values() if kind.is_numeric() or kind.is_temporal()]
        return np.float32 if kinds and all(kind == nw.Float32 for kind in kinds) else np.float64
    dtype = X.dtype if sparse.issparse(X) else check_matrix(X).dtype
    return np.float32 if dtype == np.float32 else np.float64


def record_features(estimator: Any, X: Any) -> None:
    """Set `n_features_in_`, and `feature_names_in_` if the columns have names, as scikit-learn does; delete both if X is None."""
    if X is None:
        for name in ("n_features_in_", "feature_names_in_"):
            estimator.__dict__.pop(name, None)
        return
    if not isinstance(X, Table):
        check_features(estimator, X, reset=True)
        return
    estimator.n_features_in_ = X.schema.n_columns
    estimator.feature_names_in_ = np.array(X.schema.names, dtype=object)


def check_features(estimator: Any, X: Any, *, reset: bool = False) -> None:
    """Raise a ValueError if the columns of X are not those of fit; without `n_features_in_` there is no check."""
    if not reset and not hasattr(estimator, "n_features_in_"):
        return
    if sparse.issparse(X):
        if X.ndim != 2:
            raise ValueError(f"Expected 2D array, got {X.ndim}D array instead: a table has rows and columns.")
        if reset:
            estimator.n_features_in_ = X.shape[1]
            estimator.__dict__.pop("feature_names_in_", None)
        elif X.shape[1] != estimator.n_features_in_:
            name = type(estimator).__name__
            raise DataError(
                f"X has {X.shape[1]} features, but {name} is expecting {estimator.n_features_in_} features as input."
            )
        return
    if isinstance(X, Table):
        _check_names(getattr(estimator, "feature_names_in_", None), estimator.n_features_in_, X.schema.names)
        return
    # The names of a frame suffice; a lazy frame is collected without its rows.
    frame = as_frame(X)
    table = check_matrix(X) if frame is None else _frame_of_names(frame)
    validate_data(estimator, table, reset=reset, skip_check_array=True)


def _frame_of_names(frame: nw.DataFrame[Any] | nw.LazyFrame[Any]) -> Any:
    """Return a frame without rows, whose names every version of scikit-learn reads."""
    head = eager_frame(frame.head(0))
    if head.implementation.is_polars() and not hasattr(head.to_native(), "__dataframe__"):
        import pyarrow as pa

        # scikit-learn before 1.9 reads names by this protocol, which polars 2 does not have.
        return pa.table({name: [] for name in head.columns})
    return head.to_native()


def check_graph_columns(X: Any, schema: Schema) -> None:
    """Raise DataError if the columns of X are not those of the table that a graph was built from.

    They are compared in number, and in name if both tables have names. No rows are read.
    """
    expected = merge_date_parts(schema).names
    names: list[str] | None = None
    if isinstance(X, Table):
        names = merge_date_parts(X.schema).names
    elif (frame := as_frame(X)) is not None:
        names = [str(name) for name in frame.collect_schema().names()]
    n_columns = len(names) if names is not None else (X if sparse.issparse(X) else check_matrix(X)).shape[1]
    if n_columns != len(expected):
        columns = "1 column" if len(expected) == 1 else f"{len(expected):,} columns"
        raise DataError(f"The graph was built from {columns} and X has {n_columns:,}. Build a graph of X.")
    if names is None or expected == default_names(n_columns) or names == default_names(n_columns):
        return
    for j, (name, known) in enumerate(zip(names, expected, strict=True)):
        if name != known:
            raise DataError(
                f"Column {j} of X is {name!r}, but {known!r} in the table that the graph was built from. Pass the columns in the "
                "same order, or build a graph of X."
            )


def _check_names(fitted: Any, n_fitted: int, names: list[str]) -> None:
    if len(names) != n_fitted:
        raise DataError(
            f"The table has {len(names)} columns, but fit had {n_fitted}. Open it with open_table(..., schema=model.schema_) to "
            "select the columns of fit."
        )
    for j, name in enumerate(names if fitted is not None else ()):
        if name != fitted[j]:
            raise DataError(
                f"Column {j} of the table is {name!r}, but in fit it was {fitted[j]!r}. Reorder the columns, or open the table "
                "with open_table(..., schema=model.schema_), which finds columns by name."
            )

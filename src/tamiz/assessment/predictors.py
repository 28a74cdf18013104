"""What predicts the target from columns chosen, so that a choice can be scored."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from tamiz.exceptions import DataError
from tamiz.sources.base import Source
from tamiz.sources.encoding import Encoding, coordinate_names, indicators
from tamiz.sources.schema import Column, Schema
from tamiz.sources.views import columns_of, weight_of
from tamiz.statistics.base import Floats
from tamiz.statistics.cross_products import expand
from tamiz.validation import check_memory
from tamiz.wrappers.estimators import check_takes_weights, fit_weighted, seeded
from tamiz.wrappers.labels import labels_of

_NEIGHBORS = 5
_LEAST_LEAF = 5


@dataclass(frozen=True)
class Learned:
    """What was learned of some rows.

    Attributes
    ----------
    estimator : estimator
        Fitted, as a scikit-learn scorer takes it.
    rows : callable
        Gives the rows of a view of the same table in the form that the estimator predicts from.
    """

    estimator: Any
    rows: Callable[[Source], Any]


class Predictor(ABC):
    """A way to predict the target from some columns. Whatever it fits, it fits on the rows that it learns from.

    Attributes
    ----------
    label : str
        What it is called.
    """

    label: str

    def check(self, schema: Schema) -> None:  # noqa: B027 - most predict classes and numbers, with weights or without
        """Refuse a table that the predictor has no meaning on."""

    def can_use(self, column: Column) -> bool:
        """Return whether a column as the rows learned from have it is of any use."""
        return column.left_out is None

    @abstractmethod
    def learn(self, train: Source, columns: list[int], seed: int) -> Learned:
        """Return what the rows teach about the target by these columns, at least one."""

    def learn_by(self, train: Source, support: NDArray[np.bool_], seed: int) -> Learned:
        """Return what the rows teach by the columns of a mask that are of any use; of no column where none is."""
        columns = [j for j in np.flatnonzero(support).tolist() if self.can_use(train.schema.columns[j])]
        return self.learn(train, columns, seed) if columns else Nothing().learn(train, [], seed)


class Nothing(Predictor):
    """The share of the classes, or the mean: what there is to predict from without any column."""

    label = "no column"

    def learn(self, train: Source, columns: list[int], seed: int) -> Learned:  # noqa: ARG002 - it looks at no column
        """Return the shares of the classes or the mean of the numbers."""
        model = DummyClassifier(strategy="prior") if train.schema.has_classes else DummyRegressor(strategy="mean")
        model.fit(np.empty((train.schema.n_rows, 0)), labels_of(train), sample_weight=weight_of(train))
        return Learned(model, lambda rows: np.empty((rows.schema.n_rows, 0)))


class Encoded(Predictor):
    """An estimator of numbers, on rows as points: standardised numbers with the mean in the gaps, levels as scaled indicators."""

    def __init__(self, estimator: Any, label: str) -> None:
        self._estimator = estimator
        self.label = label

    def check(self, schema: Schema) -> None:
        """Refuse a target of the other kind, and weights that the estimator does not take."""
        _check_kind(self._estimator, self.label, schema)
        check_takes_weights(self._estimator, schema)

    def learn(self, train: Source, columns: list[int], seed: int) -> Learned:
        """Return the estimator fitted to the points."""
        view = columns_of(train, columns)
        _check_room(view.schema)
        encoding = Encoding.fit(view, standardize=True)
        used = view.schema.used.tolist()

        def points(rows: Source) -> Floats:
            return np.concatenate([encoding.rows(block) for block in rows.blocks(used)])

        model = seeded(clone(self._estimator), seed)
        return Learned(fit_weighted(model, points(view), labels_of(train), weight_of(train)), points)


class NearestRows(Predictor):
    """The 5 nearest rows: standardised numbers with the mean in the gaps, levels divided by the square root of their share."""

    label = f"{_NEIGHBORS} nearest neighbours"

    def check(self, schema: Schema) -> None:
        """Refuse rows of different weight."""
        if schema.weight is not None:
            raise DataError(
                "Nearest neighbours take no weights; use predictor='naive_bayes' or 'tree', or leave weights out."
            )

    def learn(self, train: Source, columns: list[int], seed: int) -> Learned:
        """Return the rows as points."""
        kind = KNeighborsClassifier if train.schema.has_classes else KNeighborsRegressor
        model = kind(min(_NEIGHBORS, train.schema.n_rows))
        return Encoded(model, self.label).learn(train, columns, seed)


class Tree(Predictor):
    """A decision tree of scikit-learn's with at least 5 rows in a leaf: numbers with their gaps, an indicator for every level."""

    label = "decision tree"

    def learn(self, train: Source, columns: list[int], seed: int) -> Learned:
        """Return the tree."""
        view = columns_of(train, columns)
        _check_room(view.schema)
        schema, used = view.schema, view.schema.used.tolist()
        levels = indicators(schema)

        def matrix(rows: Source) -> Floats:
            return np.concatenate([expand(block, schema.numeric, levels, np.float64) for block in rows.blocks(used)])

        model = tree_model(has_classes=schema.has_classes, seed=seed)
        return Learned(model.fit(matrix(view), labels_of(train), sample_weight=weight_of(train)), matrix)


def tree_model(*, has_classes: bool, seed: int) -> Any:
    """Return the tree that `Tree` fits, not fitted."""
    kind = DecisionTreeClassifier if has_classes else DecisionTreeRegressor
    return kind(min_samples_leaf=_LEAST_LEAF, random_state=seed)


class RidgeRegression(Predictor):
    """Least squares with a penalty on the squares of the coefficients, on the points that nearest neighbours see."""

    label = "ridge regression"

    def check(self, schema: Schema) -> None:
        """Refuse a target that is classes."""
        if schema.has_classes:
            assert schema.target is not None
            raise DataError(
                f"Ridge regression predicts numbers, and the target {schema.target.name!r} is classes; use "
                "predictor='naive_bayes', 'knn' or 'tree'."
            )

    def learn(self, train: Source, columns: list[int], seed: int) -> Learned:
        """Return the coefficients."""
        return Encoded(Ridge(), self.label).learn(train, columns, seed)


class Given(Predictor):
    """An estimator of the user's, on rows and columns as they were given."""

    def __init__(self, estimator: Any) -> None:
        if not isinstance(estimator, BaseEstimator) or not callable(getattr(estimator, "predict", None)):
            raise TypeError(
                "predictor must be 'naive_bayes', 'knn', 'tree' or an estimator of scikit-learn's that predicts, got "
                f"{estimator!r}."
            )
        self._estimator = estimator
        self.label = type(estimator).__name__

    def can_use(self, column: Column) -> bool:  # noqa: ARG002
        """Return True: what the estimator makes of ids and text is the user's business."""
        return True

    def check(self, schema: Schema) -> None:
        """Refuse a target of the other kind, and weights that the estimator does not take."""
        _check_kind(self._estimator, self.label, schema)
        check_takes_weights(self._estimator, schema)

    def learn(self, train: Source, columns: list[int], seed: int) -> Learned:
        """Return a copy of the estimator, fitted."""

        def rows_of(source: Source) -> Any:
            return source.frame(columns)

        model = seeded(clone(self._estimator), seed)
        return Learned(fit_weighted(model, rows_of(train), labels_of(train), weight_of(train)), rows_of)


def _check_kind(estimator: Any, label: str, schema: Schema) -> None:
    if is_classifier(estimator) != schema.has_classes:
        assert schema.target is not None
        what = "classes" if schema.has_classes else "a number"
        raise DataError(
            f"{label} predicts {'numbers' if schema.has_classes else 'classes'}, and the target {schema.target.name!r} is "
            f"{what}; pass another predictor, or say kinds."
        )


def _check_room(schema: Schema) -> None:
    n_bytes = 8.0 * schema.n_rows * len(coordinate_names(schema))
    # The points, and what is made of them.
    check_memory(2 * n_bytes, f"A matrix of {schema.n_rows:,} rows to predict from", "Use predictor='naive_bayes'.")

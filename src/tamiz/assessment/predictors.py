"""Models by name that are fitted and scored on any columns of a table.

A `TableModel` fits on the training rows of a fold, including its encoding, and returns a `FittedModel`, which predicts for other
rows of the same table. `resolve_table_model` finds one by name or wraps an estimator.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from tamiz.exceptions import DataError
from tamiz.models.estimators import (
    adapt_estimator,
    can_predict,
    check_accepts_weights,
    fit_weighted,
    native_rows,
    set_random_state,
    unwrap_estimator,
)
from tamiz.models.mixed_nb import MixedNB
from tamiz.models.named_models import Model
from tamiz.runtime.user_warnings import capture_warnings
from tamiz.runtime.validation import check_choice, check_memory
from tamiz.sources.base import Source
from tamiz.sources.encoding import Encoding, coordinate_names, level_indicators
from tamiz.sources.schema import Column, Schema
from tamiz.sources.views import select_columns, weight_array
from tamiz.statistics.base import Floats
from tamiz.statistics.cross_products import design_matrix

# The default models.
_CLASSIFIERS, _REGRESSORS = ("logistic", "naive_bayes", "knn", "forest"), ("ridge", "knn", "forest")
_N_NEIGHBORS = 5
_MIN_LEAF_ROWS = 5
_N_TREES, _MIN_FOREST_LEAF_ROWS = 30, 2
_LOGISTIC_MAX_ITER = 1000


def default_models(schema: Schema) -> tuple[str, ...]:
    """Return the names of the default models for a table; nearest neighbours accept no weights."""
    names = _CLASSIFIERS if schema.has_classes else _REGRESSORS
    return names if schema.weight is None else tuple(name for name in names if name != "knn")


def resolve_table_models(names: Sequence[str] | None, schema: Schema) -> tuple[dict[str, TableModel], list[str]]:
    """Return models by name (None: the default models), and a note if one is left out."""
    if isinstance(names, str) or (names is not None and not len(names)):
        raise ValueError(f"predictors must be a list of names such as ['naive_bayes', 'forest'], got {names!r}.")
    models = {name: resolve_table_model(name, schema) for name in (default_models(schema) if names is None else names)}
    for model in models.values():
        model.check(schema)
    without = names is None and schema.weight is not None
    return models, ["Nearest neighbours accept no weights, and are left out."] if without else []


def table_model(model: Model) -> TableModel:
    """Return the table model for a `Model`: on views of the table, on encoded rows, or on rows in the user's type."""
    if type(model.estimator) is MixedNB:
        return NaiveBayesModel(model.estimator)
    return (
        EncodedModel(model.estimator, model.label, impute=model.impute)
        if model.encoding != "none"
        else NativeModel(model.estimator)
    )


def resolve_table_model(model: Any, schema: Schema) -> TableModel:
    """Return the table model for a name or an estimator; None is naive Bayes for classes, nearest neighbours for a number."""
    # A local import: the package that lists the names imports this module.
    from tamiz.assessment import registry

    if model is None:
        model = "naive_bayes" if schema.has_classes else "knn"
    if not isinstance(model, str):
        return NativeModel(adapt_estimator(model, has_classes=schema.has_classes) if can_predict(model) else model)
    check_choice("model", model, [entry.name for entry in registry.of_kind("predictor")])
    made: TableModel = registry[model].load()()
    return made


@dataclass(frozen=True)
class FittedModel:
    """A model fitted on some rows.

    Attributes
    ----------
    estimator : estimator
        Fitted, for a scorer of scikit-learn's.
    prepare_rows : callable
        Converts the rows of a view of the same table to the input of the estimator.
    """

    estimator: Any
    prepare_rows: Callable[[Source], Any]


class TableModel(ABC):
    """A model that can be fitted on any columns of a table; it fits everything, including encodings, on training rows.

    Attributes
    ----------
    label : str
        The readable name.
    """

    label: str

    def check(self, schema: Schema) -> None:  # noqa: B027 - most models accept any target, with weights or without
        """Raise DataError for a table that the model does not support."""

    def can_use_column(self, column: Column) -> bool:
        """Return whether the model can use a column of the training rows."""
        return column.exclusion_reason is None

    def supports_roc_auc(self, n_classes: int) -> bool:  # noqa: ARG002 - most models have probabilities
        """Return whether it predicts class probabilities, or for two classes decision values."""
        return True

    @abstractmethod
    def fit_columns(self, train: Source, columns: list[int], seed: int) -> FittedModel:
        """Fit on at least one column."""

    def fit_support(self, train: Source, support: NDArray[np.bool_], seed: int) -> FittedModel:
        """Fit on the usable columns of a mask; without any, return the baseline model."""
        columns = [j for j in np.flatnonzero(support).tolist() if self.can_use_column(train.schema.columns[j])]
        return self.fit_columns(train, columns, seed) if columns else BaselineModel().fit_columns(train, [], seed)


class BaselineModel(TableModel):
    """Predicts class frequencies or the mean, without any column."""

    label = "no column"

    def fit_columns(self, train: Source, columns: list[int], seed: int) -> FittedModel:  # noqa: ARG002 - it uses no column
        """Compute the class frequencies or the mean."""
        model = DummyClassifier(strategy="prior") if train.schema.has_classes else DummyRegressor(strategy="mean")
        model.fit(np.empty((train.schema.n_rows, 0)), train.target_values(), sample_weight=weight_array(train))
        return FittedModel(model, lambda rows: np.empty((rows.schema.n_rows, 0)))


class NaiveBayesModel(TableModel):
    """Naive Bayes on mixed columns with missing values (`MixedNB`)."""

    label = "naive Bayes"

    def __init__(self, estimator: MixedNB | None = None) -> None:
        self._estimator = MixedNB() if estimator is None else estimator

    def check(self, schema: Schema) -> None:
        """Raise DataError for a numeric target."""
        if not schema.has_classes:
            assert schema.target is not None
            raise DataError(
                f"Naive Bayes needs classes, and the target {schema.target.name!r} is a number; use 'knn', 'ridge' or 'tree'."
            )

    def fit_columns(self, train: Source, columns: list[int], seed: int) -> FittedModel:  # noqa: ARG002 - nothing is drawn
        """Fit naive Bayes."""
        # Warnings about columns outside the view are not passed on.
        with capture_warnings():
            model = clone(self._estimator).fit(select_columns(train, columns))
        return FittedModel(model, lambda rows: rows)


class _EstimatorModel(TableModel):
    """An estimator with scikit-learn's interface."""

    def __init__(self, estimator: Any, label: str) -> None:
        self._estimator = estimator
        self.label = label

    def check(self, schema: Schema) -> None:
        """Raise DataError for a target of the other kind, and for weights that the estimator does not accept."""
        _check_target_kind(self._estimator, self.label, schema)
        check_accepts_weights(self._estimator, schema)

    def supports_roc_auc(self, n_classes: int) -> bool:
        """Return whether the estimator has predict_proba, or for two classes decision_function."""
        names = ("predict_proba",) if n_classes > 2 else ("predict_proba", "decision_function")
        return any(hasattr(self._estimator, name) for name in names)


class EncodedModel(_EstimatorModel):
    """An estimator on encoded rows: standardised numbers, missing values at the mean, levels as scaled indicators.

    Parameters
    ----------
    estimator : estimator
    label : str
    impute : bool, default=True
        Whether missing values are replaced by the mean; else they stay NaN.
    """

    def __init__(self, estimator: Any, label: str, *, impute: bool = True) -> None:
        super().__init__(estimator, label)
        self._impute = impute

    def fit_columns(self, train: Source, columns: list[int], seed: int) -> FittedModel:
        """Fit the encoding and the estimator."""
        view = select_columns(train, columns)
        _check_matrix_memory(view.schema)
        encoding = Encoding.fit(view, standardize=True)
        used = view.schema.used.tolist()

        def encoded_rows(rows: Source) -> Floats:
            return np.concatenate([encoding.transform(block, fill=self._impute) for block in rows.blocks(used)])

        model = set_random_state(clone(self._estimator), seed)
        fit_weighted(model, encoded_rows(view), train.target_values(), weight_array(train))
        return FittedModel(model, encoded_rows)


class NearestNeighborsModel(TableModel):
    """5 nearest neighbours on encoded rows; fewer if there are fewer training rows."""

    label = f"{_N_NEIGHBORS} nearest neighbours"

    def check(self, schema: Schema) -> None:
        """Raise DataError for rows with weights."""
        if schema.weight is not None:
            raise DataError(
                "Nearest neighbours accept no weights; use 'naive_bayes', 'ridge' or 'tree', or leave the weights out."
            )

    def fit_columns(self, train: Source, columns: list[int], seed: int) -> FittedModel:
        """Store the encoded rows."""
        kind = KNeighborsClassifier if train.schema.has_classes else KNeighborsRegressor
        model = kind(min(_N_NEIGHBORS, train.schema.n_rows))
        return EncodedModel(model, self.label).fit_columns(train, columns, seed)


class TreeBasedModel(TableModel):
    """Trees of scikit-learn's, on numbers with missing values as NaN and an indicator for every level."""

    @abstractmethod
    def make_estimator(self, *, has_classes: bool, seed: int) -> Any:
        """Return the unfitted estimator."""

    def fit_columns(self, train: Source, columns: list[int], seed: int) -> FittedModel:
        """Fit the trees."""
        view = select_columns(train, columns)
        _check_matrix_memory(view.schema)
        schema, used = view.schema, view.schema.used.tolist()
        levels = level_indicators(schema)

        def matrix(rows: Source) -> Floats:
            return np.concatenate(
                [design_matrix(block, schema.numeric, levels, np.float64) for block in rows.blocks(used)]
            )

        model = self.make_estimator(has_classes=schema.has_classes, seed=seed)
        return FittedModel(model.fit(matrix(view), train.target_values(), sample_weight=weight_array(train)), matrix)


class TreeModel(TreeBasedModel):
    """A decision tree with at least 5 rows in a leaf."""

    label = "decision tree"

    def make_estimator(self, *, has_classes: bool, seed: int) -> Any:
        """Return the unfitted tree."""
        kind = DecisionTreeClassifier if has_classes else DecisionTreeRegressor
        return kind(min_samples_leaf=_MIN_LEAF_ROWS, random_state=seed)


class ForestModel(TreeBasedModel):
    """A random forest of 30 trees with at least 2 rows in a leaf; a split tries sqrt(p) columns, for a number p / 3."""

    label = "random forest"

    def make_estimator(self, *, has_classes: bool, seed: int) -> Any:
        """Return the unfitted forest."""
        kind = RandomForestClassifier if has_classes else RandomForestRegressor
        features = "sqrt" if has_classes else 1 / 3
        return kind(_N_TREES, min_samples_leaf=_MIN_FOREST_LEAF_ROWS, max_features=features, random_state=seed)


class LogisticModel(TableModel):
    """Logistic regression with an L2 penalty, on encoded rows."""

    label = "logistic regression"

    def check(self, schema: Schema) -> None:
        """Raise DataError for a numeric target."""
        if not schema.has_classes:
            assert schema.target is not None
            raise DataError(
                f"Logistic regression needs classes, and the target {schema.target.name!r} is a number; use "
                "'ridge', 'knn' or 'forest'."
            )

    def fit_columns(self, train: Source, columns: list[int], seed: int) -> FittedModel:
        """Fit the coefficients."""
        return EncodedModel(LogisticRegression(max_iter=_LOGISTIC_MAX_ITER), self.label).fit_columns(
            train, columns, seed
        )


class RidgeModel(TableModel):
    """Ridge regression on encoded rows."""

    label = "ridge regression"

    def check(self, schema: Schema) -> None:
        """Raise DataError for a target of classes."""
        if schema.has_classes:
            assert schema.target is not None
            raise DataError(
                f"Ridge regression predicts numbers, and the target {schema.target.name!r} is classes; use "
                "'logistic', 'naive_bayes', 'knn' or 'tree'."
            )

    def fit_columns(self, train: Source, columns: list[int], seed: int) -> FittedModel:
        """Fit the coefficients."""
        return EncodedModel(Ridge(), self.label).fit_columns(train, columns, seed)


class NativeModel(_EstimatorModel):
    """An estimator of the user's, on rows in the user's type."""

    def __init__(self, estimator: Any) -> None:
        if not can_predict(estimator):
            raise TypeError(
                "model must be 'naive_bayes', 'knn', 'ridge', 'logistic', 'tree', 'forest' or an object with fit and predict, such "
                f"as GaussianNB(), got {estimator!r}."
            )
        super().__init__(estimator, type(unwrap_estimator(estimator)).__name__)

    def can_use_column(self, column: Column) -> bool:  # noqa: ARG002
        """Return True: the estimator decides about ids and text."""
        return True

    def fit_columns(self, train: Source, columns: list[int], seed: int) -> FittedModel:
        """Fit a clone of the estimator."""

        def rows_of(source: Source) -> Any:
            return native_rows(self._estimator, source, columns)

        model = set_random_state(clone(self._estimator), seed)
        return FittedModel(fit_weighted(model, rows_of(train), train.target_values(), weight_array(train)), rows_of)


def _check_target_kind(estimator: Any, label: str, schema: Schema) -> None:
    if is_classifier(estimator) != schema.has_classes:
        assert schema.target is not None
        what = "classes" if schema.has_classes else "a number"
        raise DataError(
            f"{label} predicts {'numbers' if schema.has_classes else 'classes'}, and the target {schema.target.name!r} is "
            f"{what}; pass another model, or set the kind of the target (kinds=)."
        )


def _check_matrix_memory(schema: Schema) -> None:
    n_bytes = 8.0 * schema.n_rows * len(coordinate_names(schema))
    # The matrix and a copy that the estimator makes.
    check_memory(2 * n_bytes, f"A matrix of {schema.n_rows:,} rows to predict from", "Use the model 'naive_bayes'.")

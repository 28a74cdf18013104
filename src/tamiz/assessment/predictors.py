"""What predicts the target from columns chosen, so that a choice can be scored."""

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

# MERGED: Predictors by their names, and predictors that predict as a wrapper's model does.
_CLASSIFIERS, _REGRESSORS = ("logistic", "naive_bayes", "knn", "forest"), ("ridge", "knn", "forest")


def default_models(schema: Schema) -> tuple[str, ...]:
    """Return the names of the models that a table is tried with: nearest neighbours accept no weights."""
    names = _CLASSIFIERS if schema.has_classes else _REGRESSORS
    return names if schema.weight is None else tuple(name for name in names if name != "knn")


def resolve_table_models(names: Sequence[str] | None, schema: Schema) -> tuple[dict[str, TableModel], list[str]]:
    """Return models by name, the usual ones where none are named, and a sentence for each of these that is left out."""
    if isinstance(names, str) or (names is not None and not len(names)):
        raise ValueError(f"predictors must be a list of names such as ['naive_bayes', 'forest'], got {names!r}.")
    models = {name: resolve_table_model(name, schema) for name in (default_models(schema) if names is None else names)}
    for model in models.values():
        model.check(schema)
    without = names is None and schema.weight is not None
    return models, ["Nearest neighbours accept no weights, and are left out."] if without else []


def table_model(model: Model) -> TableModel:
    """Return what predicts as a model does: from views of the table, from points, or from rows and columns as they were given."""
    if type(model.estimator) is MixedNB:
        return NaiveBayesModel(model.estimator)
    return (
        EncodedModel(model.estimator, model.label, impute=model.impute)
        if model.encode
        else NativeModel(model.estimator)
    )


def resolve_table_model(model: Any, schema: Schema) -> TableModel:
    """Return what predicts, by its name or as it was given; None is what suits the target."""
    # Here and not above: the package that lists the names imports this module.
    from tamiz.assessment import registry

    if model is None:
        model = "naive_bayes" if schema.has_classes else "knn"
    if not isinstance(model, str):
        return NativeModel(adapt_estimator(model, has_classes=schema.has_classes) if can_predict(model) else model)
    check_choice("predictor", model, [entry.name for entry in registry.of_kind("predictor")])
    made: TableModel = registry[model].load()()
    return made


_N_NEIGHBORS = 5
_MIN_LEAF_ROWS = 5
_N_TREES, _MIN_FOREST_LEAF_ROWS = 30, 2
_LOGISTIC_MAX_ITER = 1000


@dataclass(frozen=True)
class FittedModel:
    """What was learned of some rows.

    Attributes
    ----------
    estimator : estimator
        Fitted, as a scikit-learn scorer takes it.
    prepare_rows : callable
        Gives the rows of a view of the same table in the form that the estimator predicts from.
    """

    estimator: Any
    prepare_rows: Callable[[Source], Any]


class TableModel(ABC):
    """A way to predict the target from some columns. Whatever it fits, it fits on the rows that it learns from.

    Attributes
    ----------
    label : str
        What it is called.
    """

    label: str

    def check(self, schema: Schema) -> None:  # noqa: B027 - most predict classes and numbers, with weights or without
        """Refuse a table that the predictor has no meaning on."""

    def can_use_column(self, column: Column) -> bool:
        """Return whether a column as the rows learned from have it is of any use."""
        return column.exclusion_reason is None

    def supports_roc_auc(self, n_classes: int) -> bool:  # noqa: ARG002 - most have probabilities
        """Return whether it gives rows a probability of each class, or of two classes a value to rank them by."""
        return True

    @abstractmethod
    def fit_columns(self, train: Source, columns: list[int], seed: int) -> FittedModel:
        """Return what the rows teach about the target by these columns, at least one."""

    def fit_support(self, train: Source, support: NDArray[np.bool_], seed: int) -> FittedModel:
        """Return what the rows teach by the columns of a mask that are of any use; of no column where none is."""
        columns = [j for j in np.flatnonzero(support).tolist() if self.can_use_column(train.schema.columns[j])]
        return self.fit_columns(train, columns, seed) if columns else BaselineModel().fit_columns(train, [], seed)


class BaselineModel(TableModel):
    """The share of the classes, or the mean: what there is to predict from without any column."""

    label = "no column"

    def fit_columns(self, train: Source, columns: list[int], seed: int) -> FittedModel:  # noqa: ARG002 - it looks at no column
        """Return the shares of the classes or the mean of the numbers."""
        model = DummyClassifier(strategy="prior") if train.schema.has_classes else DummyRegressor(strategy="mean")
        model.fit(np.empty((train.schema.n_rows, 0)), train.target_values(), sample_weight=weight_array(train))
        return FittedModel(model, lambda rows: np.empty((rows.schema.n_rows, 0)))


class _EstimatorModel(TableModel):
    """An estimator of scikit-learn's kind."""

    def __init__(self, estimator: Any, label: str) -> None:
        self._estimator = estimator
        self.label = label

    def check(self, schema: Schema) -> None:
        """Refuse a target of the other kind, and weights that the estimator does not take."""
        _check_target_kind(self._estimator, self.label, schema)
        check_accepts_weights(self._estimator, schema)

    def supports_roc_auc(self, n_classes: int) -> bool:
        """Return whether the estimator says that it has probabilities, or of two classes decision values."""
        names = ("predict_proba",) if n_classes > 2 else ("predict_proba", "decision_function")
        return any(hasattr(self._estimator, name) for name in names)


class EncodedModel(_EstimatorModel):
    """An estimator of numbers, on rows as points: standardised numbers with the mean in the gaps, levels as scaled indicators.

    Parameters
    ----------
    estimator : estimator
    label : str
    impute : bool, default=True
        Whether missing values are put at the mean; else they stay NaN.
    """

    def __init__(self, estimator: Any, label: str, *, impute: bool = True) -> None:
        super().__init__(estimator, label)
        self._impute = impute

    def fit_columns(self, train: Source, columns: list[int], seed: int) -> FittedModel:
        """Return the estimator fitted to the points."""
        view = select_columns(train, columns)
        _check_matrix_memory(view.schema)
        encoding = Encoding.fit(view, standardize=True)
        used = view.schema.used.tolist()

        def points(rows: Source) -> Floats:
            return np.concatenate([encoding.transform(block, fill=self._impute) for block in rows.blocks(used)])

        model = set_random_state(clone(self._estimator), seed)
        return FittedModel(fit_weighted(model, points(view), train.target_values(), weight_array(train)), points)


class NearestNeighborsModel(TableModel):
    """The 5 nearest rows: standardised numbers with the mean in the gaps, levels divided by the square root of their share."""

    label = f"{_N_NEIGHBORS} nearest neighbours"

    def check(self, schema: Schema) -> None:
        """Refuse rows of different weight."""
        if schema.weight is not None:
            raise DataError(
                "Nearest neighbours take no weights; use predictor='naive_bayes' or 'tree', or leave weights out."
            )

    def fit_columns(self, train: Source, columns: list[int], seed: int) -> FittedModel:
        """Return the rows as points."""
        kind = KNeighborsClassifier if train.schema.has_classes else KNeighborsRegressor
        model = kind(min(_N_NEIGHBORS, train.schema.n_rows))
        return EncodedModel(model, self.label).fit_columns(train, columns, seed)


class TreeBasedModel(TableModel):
    """Trees of scikit-learn's: numbers with their missing values, an indicator for every level."""

    @abstractmethod
    def make_estimator(self, *, has_classes: bool, seed: int) -> Any:
        """Return the estimator, not fitted."""

    def fit_columns(self, train: Source, columns: list[int], seed: int) -> FittedModel:
        """Return the fitted trees."""
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
        """Return the tree."""
        kind = DecisionTreeClassifier if has_classes else DecisionTreeRegressor
        return kind(min_samples_leaf=_MIN_LEAF_ROWS, random_state=seed)


class ForestModel(TreeBasedModel):
    """A random forest of 30 trees, at least 2 rows in a leaf; a node tries the square root of the columns, for a number a third."""

    label = "random forest"

    def make_estimator(self, *, has_classes: bool, seed: int) -> Any:
        """Return the forest."""
        kind = RandomForestClassifier if has_classes else RandomForestRegressor
        features = "sqrt" if has_classes else 1 / 3
        return kind(_N_TREES, min_samples_leaf=_MIN_FOREST_LEAF_ROWS, max_features=features, random_state=seed)


class LogisticModel(TableModel):
    """Logistic regression with a penalty on the squares of the coefficients, on the points that nearest neighbours see."""

    label = "logistic regression"

    def check(self, schema: Schema) -> None:
        """Refuse a target that is a number."""
        if not schema.has_classes:
            assert schema.target is not None
            raise DataError(
                f"Logistic regression needs classes, and the target {schema.target.name!r} is a number; use "
                "predictor='ridge', 'knn' or 'forest'."
            )

    def fit_columns(self, train: Source, columns: list[int], seed: int) -> FittedModel:
        """Return the coefficients."""
        return EncodedModel(LogisticRegression(max_iter=_LOGISTIC_MAX_ITER), self.label).fit_columns(
            train, columns, seed
        )


class RidgeModel(TableModel):
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

    def fit_columns(self, train: Source, columns: list[int], seed: int) -> FittedModel:
        """Return the coefficients."""
        return EncodedModel(Ridge(), self.label).fit_columns(train, columns, seed)


class NativeModel(_EstimatorModel):
    """An estimator of the user's, on rows and columns as they were given."""

    def __init__(self, estimator: Any) -> None:
        if not can_predict(estimator):
            raise TypeError(
                "predictor must be 'naive_bayes', 'knn', 'tree' or an object with fit and predict, such as GaussianNB(), got "
                f"{estimator!r}."
            )
        super().__init__(estimator, type(unwrap_estimator(estimator)).__name__)

    def can_use_column(self, column: Column) -> bool:  # noqa: ARG002
        """Return True: what the estimator makes of ids and text is the user's business."""
        return True

    def fit_columns(self, train: Source, columns: list[int], seed: int) -> FittedModel:
        """Return a copy of the estimator, fitted."""

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
            f"{what}; pass another predictor, or say kinds."
        )


def _check_matrix_memory(schema: Schema) -> None:
    n_bytes = 8.0 * schema.n_rows * len(coordinate_names(schema))
    # The points, and what is made of them.
    check_memory(2 * n_bytes, f"A matrix of {schema.n_rows:,} rows to predict from", "Use predictor='naive_bayes'.")


# MERGED: Naive Bayes on mixed columns with gaps, as a predictor.
class NaiveBayesModel(TableModel):
    """Naive Bayes: every column by itself within each class."""

    label = "naive Bayes"

    def __init__(self, estimator: MixedNB | None = None) -> None:
        self._estimator = MixedNB() if estimator is None else estimator

    def check(self, schema: Schema) -> None:
        """Refuse a target that is a number."""
        if not schema.has_classes:
            assert schema.target is not None
            raise DataError(
                f"Naive Bayes needs classes, and the target {schema.target.name!r} is a number; use predictor='knn' or 'tree'."
            )

    def fit_columns(self, train: Source, columns: list[int], seed: int) -> FittedModel:  # noqa: ARG002 - nothing is drawn
        """Return what the rows teach."""
        # That other columns take no part is what was asked for.
        with capture_warnings():
            model = clone(self._estimator).fit(select_columns(train, columns))
        return FittedModel(model, lambda rows: rows)

"""Models by name: each is a classifier or a regressor for a table, with the encoding that it needs.

scikit-learn's classes are imported where a model is made, so that a command line imports only the one that it names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from sklearn.base import clone, is_classifier

from tamiz.exceptions import DataError
from tamiz.models.estimators import (
    MatrixEncoding,
    accepts_missing,
    adapt_estimator,
    can_predict,
    check_accepts_weights,
    needs_encoding,
    unwrap_estimator,
)
from tamiz.runtime.validation import check_choice
from tamiz.runtime.verdicts import Verdict
from tamiz.table.schema import Schema

# The default models of an assessment.
_CLASSIFIERS = ("logistic", "naive_bayes", "knn", "forest", "gradient_boosting")
_REGRESSORS = ("ridge", "knn", "forest", "gradient_boosting")
_N_NEIGHBORS = 5
_MIN_LEAF_ROWS = 5
_N_TREES, _MIN_FOREST_LEAF_ROWS = 30, 2
_LOGISTIC_MAX_ITER = 1000
_N_BOOSTED_TREES, _MAX_LEAVES, _LEARNING_RATE = 60, 15, 0.15
# scikit-learn bins each column in a task of its own, .7 ms each, however few rows there are.
_MAX_BOOSTED_COLUMNS = 2_000


@dataclass(frozen=True)
class Model:
    """An estimator that is not fitted, its readable name, and the form of its input."""

    estimator: Any
    label: str
    # "none" hands over the rows in the user's type.
    encoding: MatrixEncoding = "none"
    # Whether the standard encoding replaces missing values by the mean; else they stay NaN, for estimators that accept them.
    impute: bool = True
    # Whether the estimator is `MixedNB`, fitted on views of the table.
    reads_table: bool = False
    # Whether `n_neighbors` is reduced to the number of training rows.
    limits_neighbors: bool = False

    def estimator_for(self, n_train: int) -> Any:
        if not self.limits_neighbors or n_train >= self.estimator.n_neighbors:
            return self.estimator
        return clone(self.estimator).set_params(n_neighbors=n_train)

    def supports_roc_auc(self, n_classes: int) -> bool:
        """Return whether the estimator has predict_proba, or for two classes decision_function."""
        names = ("predict_proba",) if n_classes > 2 else ("predict_proba", "decision_function")
        return any(hasattr(self.estimator, name) for name in names)

    def check(self, schema: Schema) -> None:
        """Raise DataError for a target of the other kind, and for weights that the estimator does not accept."""
        if is_classifier(self.estimator) != schema.has_classes:
            assert schema.target is not None
            what, predicted = ("classes", "numbers") if schema.has_classes else ("a number", "classes")
            raise DataError(
                f"{self.label} predicts {predicted}, and the target {schema.target.name!r} is {what}; pass another model, or "
                "set the kind of the target (kinds=)."
            )
        check_accepts_weights(self.estimator, schema)


def resolve_model(
    estimator: Any, schema: Schema, *, encode: bool | Literal["auto"] = "auto", parameter: str = "estimator"
) -> Model:
    """Return the model for a name or an estimator on a table; "auto" encodes if the estimator needs it.

    For a table without a target it is an unsupervised one (`is_unsupervised`). Messages name the argument by `parameter`.
    """
    if not isinstance(encode, bool) and encode != "auto":
        raise ValueError(f"encode must be True, False or 'auto', got {encode!r}.")
    if isinstance(estimator, str):
        # A local import: the package that lists the names imports this module.
        from tamiz.models import registry

        check_choice(parameter, estimator, [entry.name for entry in registry.of_kind("model")])
        made: Model = registry[estimator].load()(schema)
        return (
            replace(made, encoding="standard", reads_table=False)
            if encode is True and made.encoding == "none"
            else made
        )
    if schema.target is not None and not can_predict(estimator):
        raise TypeError(
            f"{parameter} must be an object with fit and predict, such as GaussianNB(), or the name of a model, got {estimator!r}."
        )
    from tamiz.models.mixed_nb import MixedNB

    adapted = estimator if schema.target is None else adapt_estimator(estimator, has_classes=schema.has_classes)
    encoded = needs_encoding(adapted, schema) if encode == "auto" else encode
    return Model(
        adapted,
        type(unwrap_estimator(estimator)).__name__,
        "standard" if encoded else "none",
        impute=not accepts_missing(adapted),
        reads_table=type(adapted) is MixedNB and not encoded,
    )


def resolve_models(names: Sequence[str] | None, schema: Schema) -> tuple[dict[str, Model], list[Verdict]]:
    """Return models by name, and notes on those that are left out of the default models, which None selects."""
    if isinstance(names, str) or (names is not None and not len(names)):
        raise ValueError(f"models must be a list of names such as ['naive_bayes', 'forest'], got {names!r}.")
    left_out: dict[str, str] = {}
    if names is None and schema.weight is not None:
        left_out["knn"] = "Nearest neighbours accept no weights, and are left out."
    if names is None and (n := len(schema.used)) > _MAX_BOOSTED_COLUMNS:
        left_out["gradient_boosting"] = f"Gradient boosting of {n:,} columns takes too long, and is left out."
    wanted = (_CLASSIFIERS if schema.has_classes else _REGRESSORS) if names is None else names
    models = {name: resolve_model(name, schema, parameter="model") for name in wanted if name not in left_out}
    return models, [Verdict("TZ503", note) for note in left_out.values()]


def make_naive_bayes(schema: Schema) -> Model:
    """Naive Bayes on mixed columns with missing values (`MixedNB`), without encoding."""
    from tamiz.models.mixed_nb import MixedNB

    _require_classes(schema, "Naive Bayes", "'knn', 'ridge' or 'tree'")
    return Model(MixedNB(), "naive Bayes", reads_table=True)


def make_gaussian_nb(schema: Schema) -> Model:
    """Gaussian naive Bayes; encoded if there are missing values or categories."""
    from sklearn.naive_bayes import GaussianNB

    _require_classes(schema, "Gaussian naive Bayes", "'knn', 'ridge' or 'tree'")
    return Model(GaussianNB(), "Gaussian naive Bayes", _standard_if_mixed(schema))


def make_knn(schema: Schema) -> Model:
    """5 nearest neighbours on encoded columns; fewer if a fold has fewer training rows."""
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

    if schema.weight is not None:
        raise DataError(
            "Nearest neighbours accept no weights; use 'naive_bayes', 'ridge' or 'tree', or leave the weights out."
        )
    made = (KNeighborsClassifier if schema.has_classes else KNeighborsRegressor)(_N_NEIGHBORS)
    return Model(made, f"{_N_NEIGHBORS} nearest neighbours", "standard", limits_neighbors=True)


def make_linear(schema: Schema) -> Model:
    """Ordinary least squares for a numeric target, linear discriminant analysis for classes."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.linear_model import LinearRegression

    made = (LinearDiscriminantAnalysis if schema.has_classes else LinearRegression)()
    return Model(made, "linear model", _standard_if_mixed(schema))


def make_ridge(schema: Schema) -> Model:
    """Ridge regression on encoded columns; for classes, of their indicators (RidgeClassifier)."""
    from sklearn.linear_model import Ridge, RidgeClassifier

    return Model((RidgeClassifier if schema.has_classes else Ridge)(), "ridge regression", "standard")


def make_logistic(schema: Schema) -> Model:
    """Logistic regression with an L2 penalty on encoded columns, refitted for every set and fold."""
    from sklearn.linear_model import LogisticRegression

    _require_classes(schema, "Logistic regression", "'ridge', 'knn' or 'forest'")
    return Model(LogisticRegression(max_iter=_LOGISTIC_MAX_ITER), "logistic regression", "standard")


def make_tree(schema: Schema) -> Model:
    """A decision tree with at least 5 rows in a leaf, refitted for every set and fold."""
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    made = (DecisionTreeClassifier if schema.has_classes else DecisionTreeRegressor)(min_samples_leaf=_MIN_LEAF_ROWS)
    return Model(made, "decision tree", "indicators")


def make_forest(schema: Schema) -> Model:
    """A random forest of 30 trees, refitted for every set and fold; a split tries sqrt(p) columns (numeric target: p / 3)."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    kind, n_tried = (RandomForestClassifier, "sqrt") if schema.has_classes else (RandomForestRegressor, 1 / 3)
    made = kind(_N_TREES, min_samples_leaf=_MIN_FOREST_LEAF_ROWS, max_features=n_tried)
    return Model(made, "random forest", "indicators")


def make_gradient_boosting(schema: Schema) -> Model:
    """Gradient boosting by histograms on numbers and numbers of levels, 60 trees of at most 15 leaves, refitted for every set."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    kind = HistGradientBoostingClassifier if schema.has_classes else HistGradientBoostingRegressor
    made = kind(
        max_iter=_N_BOOSTED_TREES, max_leaf_nodes=_MAX_LEAVES, learning_rate=_LEARNING_RATE, early_stopping=False
    )
    return Model(made, "gradient boosting", "codes")


def _require_classes(schema: Schema, label: str, alternatives: str) -> None:
    if not schema.has_classes:
        assert schema.target is not None
        raise DataError(
            f"{label} needs classes, and the target {schema.target.name!r} is a number; use {alternatives}."
        )


def _standard_if_mixed(schema: Schema) -> MatrixEncoding:
    """Return the standard encoding for missing values and categories, none for numbers."""
    columns = [schema.columns[j] for j in schema.used.tolist()]
    is_mixed = any(column.n_missing or not (column.is_number or column.kind == "boolean") for column in columns)
    return "standard" if is_mixed else "none"

"""Models by name, each as a classifier or a regressor for a table, with or without encoding.

scikit-learn's classes are imported where a model is made, so that a command line imports only the one that it names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from tamiz.exceptions import DataError
from tamiz.models.estimators import accepts_missing, adapt_estimator, can_predict, needs_encoding
from tamiz.runtime.validation import check_choice
from tamiz.sources.schema import Schema


@dataclass(frozen=True)
class Model:
    """An estimator and the form of its input.

    Attributes
    ----------
    estimator : estimator
        Not fitted.
    encode : bool
        Whether mixed columns are encoded as numbers.
    label : str
        The readable name.
    impute : bool
        Whether the encoding replaces missing values by the mean; else they stay NaN, for estimators that accept them.
    """

    estimator: Any
    encode: bool
    label: str
    impute: bool = True


def resolve_model(estimator: Any, schema: Schema, *, encode: bool | Literal["auto"]) -> Model:
    """Return the model for a name or an estimator on a table; "auto" encodes if the estimator needs it.

    For a table without a target it is an unsupervised one (`tamiz.models.estimators.is_unsupervised`).
    """
    if not isinstance(encode, bool) and encode != "auto":
        raise ValueError(f"encode must be True, False or 'auto', got {encode!r}.")
    if isinstance(estimator, str):
        # A local import: the package that lists the names imports this module.
        from tamiz.models import registry

        check_choice("estimator", estimator, [entry.name for entry in registry.of_kind("model")])
        entry = registry[estimator]
        made, needs = entry.load()(schema)
        # Lower case inside a sentence, except for the name Gauss.
        label = entry.label if entry.label.startswith("Gauss") else entry.label[0].lower() + entry.label[1:]
        return Model(made, encode is True or needs, label)
    if schema.target is not None and not can_predict(estimator):
        raise TypeError(
            f"estimator must be an object with fit and predict, such as GaussianNB(), or the name of a model, got {estimator!r}."
        )
    made = estimator if schema.target is None else adapt_estimator(estimator, has_classes=schema.has_classes)
    encoded = needs_encoding(made, schema) if encode == "auto" else encode
    return Model(made, encoded, type(estimator).__name__, impute=not accepts_missing(made))


def make_gaussian_nb(schema: Schema) -> tuple[Any, bool]:
    """Gaussian naive Bayes; encoded if there are missing values or categories."""
    from sklearn.naive_bayes import GaussianNB

    _require_classes(schema, "gaussian_nb", "knn")
    return GaussianNB(), _has_missing_or_categories(schema)


def make_mixed_nb(schema: Schema) -> tuple[Any, bool]:
    """Naive Bayes on mixed columns with missing values, without encoding."""
    from tamiz.models.mixed_nb import MixedNB

    _require_classes(schema, "mixed_nb", "knn")
    return MixedNB(), False


def make_knn(schema: Schema) -> tuple[Any, bool]:
    """5 nearest neighbours on encoded columns."""
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

    return (KNeighborsClassifier if schema.has_classes else KNeighborsRegressor)(5), True


def make_linear(schema: Schema) -> tuple[Any, bool]:
    """Ordinary least squares for a number, linear discriminant analysis for classes."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.linear_model import LinearRegression

    return (LinearDiscriminantAnalysis if schema.has_classes else LinearRegression)(), _has_missing_or_categories(
        schema
    )


def make_ridge(schema: Schema) -> tuple[Any, bool]:
    """Ridge regression; for classes, of their indicators (RidgeClassifier)."""
    from sklearn.linear_model import Ridge, RidgeClassifier

    return (RidgeClassifier if schema.has_classes else Ridge)(), True


def make_logistic(schema: Schema) -> tuple[Any, bool]:
    """Logistic regression, refitted for every set and fold."""
    from sklearn.linear_model import LogisticRegression

    _require_classes(schema, "logistic", "linear")
    return LogisticRegression(max_iter=1000), True


def make_tree(schema: Schema) -> tuple[Any, bool]:
    """A decision tree with at least 5 rows in a leaf, refitted for every set and fold."""
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    return (DecisionTreeClassifier if schema.has_classes else DecisionTreeRegressor)(min_samples_leaf=5), True


def _require_classes(schema: Schema, name: str, alternative: str) -> None:
    if not schema.has_classes:
        assert schema.target is not None
        raise DataError(
            f"{name} needs classes, and the target {schema.target.name!r} is a number; use {alternative!r}."
        )


def _has_missing_or_categories(schema: Schema) -> bool:
    columns = [schema.columns[j] for j in schema.used.tolist()]
    return any(column.n_missing or not (column.is_number or column.kind == "boolean") for column in columns)

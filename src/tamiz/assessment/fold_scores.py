"""Scores on the rows tested in every fold, and how far their mean may be off."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tamiz.assessment.predictors import FittedModel, TableModel
from tamiz.exceptions import DataError
from tamiz.models.folds import SeededFolds
from tamiz.models.scoring import check_scoring_target, resolve_scoring
from tamiz.sources.base import Source
from tamiz.sources.views import target_array, weight_array
from tamiz.statistics.base import Floats

# MERGED: Scores of models on the rows that a fold tests: which, and what they are.
# Of two classes, and of more.
ROC_AUC_SCORES = ("roc_auc", "roc_auc_ovr_weighted")


def resolve_scorings(
    requested: Sequence[str] | None, source: Source, splits: SeededFolds, models: Iterable[TableModel]
) -> tuple[list[str], list[str]]:
    """Return names of scores, the one that decides first, and a sentence where the usual one cannot be computed.

    Accuracy does not decide: where 5 rows of 100 are of a class, it is .95 for columns that separate the classes well and for
    none. The area under the ROC curve depends on neither the shares of the classes nor a threshold.
    """
    schema = source.schema
    if isinstance(requested, str) or (requested is not None and not len(requested)):
        raise ValueError(f"scoring must be a list of names such as ['roc_auc', 'f1_macro'], got {requested!r}.")
    names, notes = list(requested or ("r2",)), []
    if requested is None and schema.has_classes:
        names = ["balanced_accuracy", "accuracy"]
        codes = target_array(source)
        # Rare classes may be in no fold.
        judged, lacking = np.unique(codes[splits.folds.used_rows]), _first_missing_class(codes, splits)
        without = [model.label for model in models if not model.supports_roc_auc(len(judged))]
        if without:
            notes = [f"The area under the ROC curve is left out: {without[0]} gives no probabilities."]
        elif lacking is None:
            names.insert(0, ROC_AUC_SCORES[len(judged) > 2])
        else:
            number, code = lacking
            assert schema.target is not None
            notes = [
                f"The area under the ROC curve is left out: fold {number} does not test, or learn from, class "
                f"{schema.target.levels[code]!r}."
            ]
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"scoring must be names of scorers of scikit-learn's, got {name!r}.")
        scoring = resolve_scoring(name, has_classes=schema.has_classes)
        scoring.check_weights(schema)
        check_scoring_target(scoring, schema, source.target_values()[splits.folds.used_rows])
    return names, notes


def score_fitted(scorer: Any, fitted: FittedModel, test: Source) -> dict[str, float]:
    """Return the scores of a model on rows that it has not seen, by the names of a scorer of several."""
    y, weight = test.target_values(), weight_array(test)
    given = {} if weight is None else {"sample_weight": weight}
    values: dict[str, Any] = scorer(fitted.estimator, fitted.prepare_rows(test), y, **given)
    for name, value in values.items():
        if not np.isfinite(value):
            raise DataError(f"{name} is {value} on the {len(y):,} rows tested; a score must be a number.")
    return {name: float(value) for name, value in values.items()}


@contextmanager
def ignore_known_warnings() -> Iterator[None]:
    """Keep what scikit-learn warns of in every fold from the user: around the work of all threads, for they share the filters.

    A model may predict a class that the tested rows do not have, and a forest may be fitted in a thread of ours.
    """
    with warnings.catch_warnings():
        for message in ("y_pred contains classes not in y_true", "`sklearn.utils.parallel.delayed` should be used"):
            warnings.filterwarnings("ignore", message, UserWarning)
        yield


def _first_missing_class(codes: NDArray[Any], splits: SeededFolds) -> tuple[int, int] | None:
    """Return the first fold, counted from 1, that tests or learns from no row of a class, and that class; None without any."""
    every = np.unique(codes[splits.folds.used_rows])
    for number, fold in enumerate(splits.folds.splits, start=1):
        for rows in (fold.test, fold.train):
            missing = np.setdiff1d(every, codes[rows])
            if len(missing):
                return number, int(missing[0])
    return None


@dataclass(frozen=True)
class FoldScores:
    """The scores of one way to predict, larger is better.

    Attributes
    ----------
    values : ndarray of shape (n_folds,)
    variance_factor : float
        The variance of their mean over the variance of one of them.
    """

    values: Floats
    variance_factor: float

    @property
    def n_folds(self) -> int:
        """How many there are."""
        return len(self.values)

    @property
    def mean(self) -> float:
        """Over the folds."""
        return float(self.values.mean())

    @property
    def standard_deviation(self) -> float:
        """Of the folds' scores about their mean."""
        return float(self.values.std(ddof=1))

    @property
    def standard_error(self) -> float:
        """Of the mean, corrected for folds that learn from the same rows.

        The variance of the scores times 1 / J + n_test / n_train, for J folds (Nadeau and Bengio 2003, Inference for the
        generalization error, Machine Learning 52): the plain variance over J takes them for independent, and is too small.
        """
        return float(np.sqrt(self.variance_factor * self.values.var(ddof=1)))

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the mean, by Student's t with one degree of freedom fewer than folds."""
        half = float(stats.t.ppf(0.975, self.n_folds - 1)) * self.standard_error
        return self.mean - half, self.mean + half

    def to_dict(self) -> dict[str, Any]:
        """Return the scores as JSON knows them."""
        return {
            "mean": self.mean,
            "standard_deviation": self.standard_deviation,
            "standard_error": self.standard_error,
            "interval": list(self.interval),
            "folds": self.values.tolist(),
        }

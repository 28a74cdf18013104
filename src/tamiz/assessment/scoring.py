"""Scores of models on the rows that a fold tests: which, and what they are."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.assessment.predictors import Learned, Predictor
from tamiz.assessment.splits import Splits
from tamiz.exceptions import DataError
from tamiz.sources.base import Source
from tamiz.sources.views import target_of, weight_of
from tamiz.wrappers.scoring import check_target, read_scoring

# Of two classes, and of more.
AREAS = ("roc_auc", "roc_auc_ovr_weighted")


def usual_scorings(
    given: Sequence[str] | None, source: Source, splits: Splits, models: Iterable[Predictor]
) -> tuple[list[str], list[str]]:
    """Return names of scores, the one that decides first, and a sentence where the usual one cannot be computed.

    Accuracy does not decide: where 5 rows of 100 are of a class, it is .95 for columns that separate the classes well and for
    none. The area under the ROC curve depends on neither the shares of the classes nor a threshold.
    """
    schema = source.schema
    if isinstance(given, str) or (given is not None and not len(given)):
        raise ValueError(f"scoring must be a list of names such as ['roc_auc', 'f1_macro'], got {given!r}.")
    names, notes = list(given or ("r2",)), []
    if given is None and schema.has_classes:
        names = ["balanced_accuracy", "accuracy"]
        codes = target_of(source)
        # Rare classes may be in no fold.
        judged, lacking = np.unique(codes[splits.folds.rows]), _lacking(codes, splits)
        without = [model.label for model in models if not model.ranks_rows(len(judged))]
        if without:
            notes = [f"The area under the ROC curve is left out: {without[0]} gives no probabilities."]
        elif lacking is None:
            names.insert(0, AREAS[len(judged) > 2])
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
        scoring = read_scoring(name, classes=schema.has_classes)
        scoring.check(schema)
        check_target(scoring, schema, source.target_values()[splits.folds.rows])
    return names, notes


def score_learned(scorer: Any, learned: Learned, test: Source) -> dict[str, float]:
    """Return the scores of a model on rows that it has not seen, by the names of a scorer of several."""
    y, weight = test.target_values(), weight_of(test)
    given = {} if weight is None else {"sample_weight": weight}
    values: dict[str, Any] = scorer(learned.estimator, learned.rows(test), y, **given)
    for name, value in values.items():
        if not np.isfinite(value):
            raise DataError(f"{name} is {value} on the {len(y):,} rows tested; a score must be a number.")
    return {name: float(value) for name, value in values.items()}


@contextmanager
def without_known_warnings() -> Iterator[None]:
    """Keep what scikit-learn warns of in every fold from the user: around the work of all threads, for they share the filters.

    A model may predict a class that the tested rows do not have, and a forest may be fitted in a thread of ours.
    """
    with warnings.catch_warnings():
        for message in ("y_pred contains classes not in y_true", "`sklearn.utils.parallel.delayed` should be used"):
            warnings.filterwarnings("ignore", message, UserWarning)
        yield


def _lacking(codes: NDArray[Any], splits: Splits) -> tuple[int, int] | None:
    """Return the first fold, counted from 1, that tests or learns from no row of a class, and that class; None without any."""
    every = np.unique(codes[splits.folds.rows])
    for number, fold in enumerate(splits.folds.parts, start=1):
        for rows in (fold.test, fold.train):
            missing = np.setdiff1d(every, codes[rows])
            if len(missing):
                return number, int(missing[0])
    return None

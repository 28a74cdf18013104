"""Scores of models on the test rows of every fold, with the 95 % confidence interval of their mean."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import special

from tamiz.arrays import Floats, Masks
from tamiz.runtime import progress
from tamiz.runtime.codec import JsonResult
from tamiz.runtime.verdicts import Verdict

# A saved result is read without scikit-learn.
if TYPE_CHECKING:
    from tamiz.models.folds import Folds
    from tamiz.models.named_models import Model
    from tamiz.models.scoring import Scoring
    from tamiz.table.base import Table

# For two classes, and for more.
ROC_AUC_SCORES = ("roc_auc", "roc_auc_ovr_weighted")


_KNOWN_WARNINGS = ("y_pred contains classes not in y_true", "`sklearn.utils.parallel.delayed` should be used")


@dataclass(frozen=True, eq=False)
class FoldScores(JsonResult):
    """The scores of one model and column selection in every fold; larger is better.

    Attributes
    ----------
    values : ndarray of shape (n_folds,)
    variance_factor : float
        The variance of the mean score divided by the variance of a fold's score.
    """

    json_properties: ClassVar[tuple[str, ...]] = ("mean", "standard_deviation", "standard_error", "interval")

    values: Floats
    variance_factor: float

    def __post_init__(self) -> None:
        if len(self.values) < 2:
            raise ValueError(f"{len(self.values)} folds, and at least 2 are needed")
        if not self.variance_factor >= 0:
            raise ValueError(f"a variance factor of {self.variance_factor}")

    @property
    def n_folds(self) -> int:
        return len(self.values)

    @property
    def mean(self) -> float:
        return float(self.values.mean())

    @property
    def standard_deviation(self) -> float:
        """The standard deviation of the folds' scores (n - 1 in the denominator)."""
        return float(self.values.std(ddof=1))

    @property
    def standard_error(self) -> float:
        """The standard error of the mean, corrected for the overlap of training sets.

        Its square is the variance of the scores times 1 / J + n_test / n_train, for J folds (Nadeau and Bengio 2003, Inference for
        the generalization error, Machine Learning 52). The variance over J alone assumes independent folds and is too small.
        """
        return float(np.sqrt(self.variance_factor * self.values.var(ddof=1)))

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % confidence interval of the mean, by Student's t with n_folds - 1 degrees of freedom."""
        half = float(special.stdtrit(self.n_folds - 1, 0.975)) * self.standard_error
        return self.mean - half, self.mean + half

    @property
    def detectable(self) -> float:
        """The difference from 0 that is found with a power of 80 %: that for which the interval then excludes 0."""
        quantiles = special.stdtrit(self.n_folds - 1, [0.975, 0.8])
        return float(quantiles.sum()) * self.standard_error


def resolve_scorings(
    requested: Sequence[str] | None, table: Table, folds: Folds, models: Iterable[Model]
) -> tuple[list[Scoring], list[Verdict]]:
    """Return the scorers, the deciding one first, and a note if ROC AUC cannot be computed.

    Accuracy is not the deciding score: if 5 of 100 rows are in a class, it may be .95 for informative columns and for none. ROC AUC
    depends on neither the class frequencies nor a threshold.
    """
    from tamiz.models.scoring import check_scoring_target, resolve_scoring
    from tamiz.table.views import target_array

    schema = table.schema
    if isinstance(requested, str) or (requested is not None and not len(requested)):
        raise ValueError(f"scoring must be a list of names such as ['roc_auc', 'f1_macro'], got {requested!r}.")
    names, notes = list(requested or ("r2",)), list[Verdict]()
    if requested is None and schema.has_classes:
        names = ["balanced_accuracy", "accuracy"]
        codes = target_array(table)
        # Rare classes may be in no fold.
        classes, lacking = np.unique(codes[folds.used_rows]), _first_missing_class(codes, folds)
        without = [model.label for model in models if not model.supports_roc_auc(len(classes))]
        if without:
            sentence = f"The area under the ROC curve is left out: {without[0]} provides no probabilities."
            notes = [Verdict("TZ503", sentence)]
        elif lacking is None:
            names.insert(0, ROC_AUC_SCORES[len(classes) > 2])
        else:
            number, code = lacking
            assert schema.target is not None
            notes = [
                Verdict(
                    "TZ202",
                    f"The area under the ROC curve is left out: fold {number} has no training rows, or no test rows, of class "
                    f"{schema.target.levels[code]!r}.",
                )
            ]
    scorings = []
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"scoring must contain names of scikit-learn scorers, got {name!r}.")
        scorings.append(scoring := resolve_scoring(name, has_classes=schema.has_classes))
        scoring.check_weights(schema)
        check_scoring_target(scoring, schema, table.target_values()[folds.used_rows])
    return scorings, notes


def score_models(
    models: Mapping[str, Model],
    table: Table,
    folds: Folds,
    scorings: Sequence[Scoring],
    sets: Masks,
    seed: int,
) -> tuple[dict[str, Floats], list[Verdict]]:
    """Return the scores of models on column sets by name, of shape (n_scorings, n_sets, n_folds), and the warnings of their fits.

    The parameters are those of `tamiz.models.fold_scorer.score_folds`.
    """
    from tamiz.models.fold_scorer import score_folds

    found: dict[str, Floats] = {}
    notes: list[Verdict] = []
    for name in progress.track_progress("Models", models, len(models)):
        scores = score_folds(models[name], table, folds, scorings, sets=sets, seed=seed)
        found[name] = scores.values
        notes += scores.notes
    return found, notes


@contextmanager
def ignore_known_warnings() -> Iterator[None]:
    """Suppress two harmless warnings of scikit-learn; enter it around the work of all threads, which share the filters.

    A model may predict a class that the test rows lack, and a forest may be fitted inside a thread of this package.
    """
    show = warnings.showwarning

    def show_others(message: Warning | str, *context: Any, **options: Any) -> None:
        if not str(message).startswith(_KNOWN_WARNINGS):
            show(message, *context, **options)

    with warnings.catch_warnings():
        for message in _KNOWN_WARNINGS:
            warnings.filterwarnings("ignore", message, UserWarning)
        # scikit-learn empties the filters for a moment in each of its threads; a warning of another thread is then shown.
        warnings.showwarning = show_others
        yield


def _first_missing_class(codes: NDArray[Any], folds: Folds) -> tuple[int, int] | None:
    """Return the first fold (counted from 1) whose training or test rows lack a class, and the class; None if there is none."""
    every = np.unique(codes[folds.used_rows])
    for number, fold in enumerate(folds.splits, start=1):
        for rows in (fold.test, fold.train):
            missing = np.setdiff1d(every, codes[rows])
            if len(missing):
                return number, int(missing[0])
    return None

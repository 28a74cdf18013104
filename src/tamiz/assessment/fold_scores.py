"""Models that are scored on the same rows and folds: what all assessments share."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats, Masks
from tamiz.assessment.findings import FoldScores
from tamiz.exceptions import DataError
from tamiz.models.fold_scorer import score_folds
from tamiz.models.folds import Folds, drop_zero_weights, sample_rows
from tamiz.models.named_models import Model, resolve_models
from tamiz.models.scoring import Scoring, check_scoring_target, resolve_scoring
from tamiz.runtime import progress
from tamiz.runtime.random import Seed
from tamiz.runtime.verdicts import Verdict
from tamiz.table.base import Table
from tamiz.table.views import target_array

# For two classes, and for more.
ROC_AUC_SCORES = ("roc_auc", "roc_auc_ovr_weighted")


_KNOWN_WARNINGS = ("y_pred contains classes not in y_true", "`sklearn.utils.parallel.delayed` should be used")


@dataclass(frozen=True)
class Trial:
    """Models that are scored on column sets of the same rows, in the same folds.

    Attributes
    ----------
    table : Table
    folds : Folds
    models : dict of Model
    scorings : list of Scoring
        The deciding one first.
    seed : int
        Of the models.
    row_notes, model_notes : list
        Notes on the rows and folds, and on models and scores that are left out.
    """

    table: Table
    folds: Folds
    models: dict[str, Model]
    scorings: list[Scoring]
    seed: int
    row_notes: list[Verdict] = field(default_factory=list)
    model_notes: list[Verdict] = field(default_factory=list)

    @classmethod
    def open(
        cls,
        rows: tuple[Table, list[Verdict]],
        folds: Folds,
        models: Sequence[str] | None,
        scoring: Sequence[str] | None,
        seed: int,
    ) -> Trial:
        """Return the trial of named models, None for the default ones, on rows with notes (`open_rows`)."""
        table, row_notes = rows
        named, notes = resolve_models(models, table.schema)
        for model in named.values():
            model.check(table.schema)
        scorings, scoring_notes = resolve_scorings(scoring, table, folds, named.values())
        row_notes = [*row_notes, *folds.fold_warnings]
        return cls(table, folds, named, scorings, seed, row_notes, [*notes, *scoring_notes])

    def score(self, sets: Masks, models: Sequence[str] | None = None) -> tuple[Floats, list[Verdict]]:
        """Return the scores of models on sets, of shape (n_models, n_scorings, n_sets, n_folds), and the warnings of fits.

        The sets are those of `score_folds`; no models are all of them.
        """
        names = list(self.models) if models is None else models
        found = [
            score_folds(self.models[name], self.table, self.folds, self.scorings, sets=sets, seed=self.seed)
            for name in progress.track_progress("Models", names, len(names))
        ]
        return np.stack([one.values for one in found]), [note for one in found for note in one.notes]

    def fold_scores(self, values: Floats) -> FoldScores:
        return FoldScores(values, self.folds.variance_factor)

    @property
    def labels(self) -> dict[str, str]:
        """The labels of the models by name."""
        return {name: model.label for name, model in self.models.items()}


def open_rows(
    caller: str, table: Table, max_rows: int | None, n_splits: int, rng: np.random.Generator
) -> tuple[Table, list[Verdict]]:
    """Return the rows of positive weight of a table with a target, a sample of a long one, with notes on those left out."""
    whole, weight_notes = drop_zero_weights(table)
    if whole.schema.target is None:
        raise DataError(f"{caller} requires a target, but the target y is None.")
    rows, sample_notes = sample_rows(whole, max_rows, n_splits, rng)
    return rows, [*table.schema.dropped_row_notes, *weight_notes, *sample_notes]


def model_seed(random_state: Seed, folds: Folds) -> int:
    """Return the seed of models: the user's, or one that was drawn with the folds."""
    return int(random_state) % 2**31 if isinstance(random_state, Integral) else folds.table_seed


def resolve_scorings(
    requested: Sequence[str] | None, table: Table, folds: Folds, models: Iterable[Model]
) -> tuple[list[Scoring], list[Verdict]]:
    """Return the scorers, the deciding one first, and a note if ROC AUC cannot be computed.

    Accuracy is not the deciding score: if 5 of 100 rows are in a class, it may be .95 for informative columns and for none. ROC AUC
    depends on neither the class frequencies nor a threshold.
    """
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

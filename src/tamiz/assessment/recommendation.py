"""Which of several selections to keep: nested cross-validation of all of them under several models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import check_scoring

from tamiz import parallel, progress
from tamiz.assessment.models import models_of
from tamiz.assessment.nested import in_turn
from tamiz.assessment.predictors import Nothing, Predictor
from tamiz.assessment.scores import FoldScores
from tamiz.assessment.scoring import score_learned, usual_scorings, without_known_warnings
from tamiz.assessment.selectors import Chooser, OnFewerRows, chooser
from tamiz.assessment.splits import Splits, counted, draw_splits, sampled_rows
from tamiz.criteria.cfs import CFS
from tamiz.criteria.cross_validated import CrossValidated
from tamiz.criteria.entropy_family import Missing
from tamiz.exceptions import DataError
from tamiz.random import Seed, generator
from tamiz.search.base import SetSize
from tamiz.search.best_first import BestFirst
from tamiz.search.forward import Forward
from tamiz.search.stopping import Seconds
from tamiz.selection import SubsetSelector
from tamiz.sources.base import Source
from tamiz.sources.open import as_source
from tamiz.sources.schema import Schema
from tamiz.sources.views import learnable, rows_of
from tamiz.statistics.base import Floats
from tamiz.validation import check_integer
from tamiz.warn import held, tell

ALL_COLUMNS = "all_columns"
# What the usual candidates are called.
_LABELS = {
    "cfs": "CFS",
    "naive_bayes": "Naive Bayes wrapper",
    "ridge": "Ridge wrapper",
    "knn": "Nearest neighbours wrapper",
}
# A loss that no reader would mind, in AUC or R2, where the standard error is smaller still.
_NEGLIGIBLE = 0.01
# No model may lose more than this on the recommended columns, whatever the standard error.
_LARGEST_LOSS = 0.03
# Products of more coordinates take longer than a reader waits for.
_MOST_COORDINATES = 1_000
# Folds of the wrappers inside each fold of the comparison.
_INNER_FOLDS = 5
# Distances of rows grow with their square: nearest neighbours search on so many rows at most.
_NEIGHBOR_ROWS = 1_000


@dataclass(frozen=True)
class Candidate:
    """A way to choose columns, compared with others.

    Attributes
    ----------
    label : str
    columns : tuple of str
        The columns that it chooses with all rows.
    sets : ndarray of shape (n_folds, n_table_columns), bool
        The columns that it chooses in every fold, with the rows that the fold does not test.
    scores : dict of FoldScores
        By (predictor, scorer).
    """

    label: str
    columns: tuple[str, ...]
    sets: NDArray[np.bool_]
    scores: dict[tuple[str, str], FoldScores]

    @property
    def mean_size(self) -> float:
        """The number of columns that a fold chooses, on average."""
        return float(self.sets.sum(axis=1).mean())

    def mean_score(self, scoring: str) -> FoldScores:
        """Return the mean of the models' scores in every fold."""
        found = [scores for (_, name), scores in self.scores.items() if name == scoring]
        return FoldScores(np.mean([scores.values for scores in found], axis=0), found[0].inflation)


@dataclass(frozen=True)
class Recommendation:
    """Selections compared on the same folds, and the one to keep.

    Attributes
    ----------
    candidates : dict of Candidate
        By their ids; "all_columns" is the table with nothing left out.
    recommended : str
        The id of the one to keep.
    refused : tuple of str
        Those that would have been, but for the columns that they choose with all rows.
    predictors : dict of str
        The models' labels by their names.
    scorings : tuple of str
        scikit-learn's names of the scores; the recommendation is made by the first.
    baseline : dict of FoldScores
        By scorer: the score without any column.
    folds : str
        How the folds were made.
    n_samples, n_columns : int
        Rows that are learned or tested, and columns that take part.
    notes : tuple of str
    seed : int or None
    """

    candidates: dict[str, Candidate]
    recommended: str
    refused: tuple[str, ...]
    predictors: dict[str, str]
    scorings: tuple[str, ...]
    baseline: dict[str, FoldScores]
    folds: str
    n_samples: int
    n_columns: int
    notes: tuple[str, ...]
    seed: int | None

    @property
    def columns(self) -> tuple[str, ...]:
        """The recommended columns."""
        return self.candidates[self.recommended].columns

    def change(self, candidate: str, predictor: str, scoring: str | None = None) -> FoldScores:
        """Return what a model scores more on a candidate's columns than on all, in every fold."""
        key = predictor, scoring or self.scorings[0]
        one, other = self.candidates[candidate].scores[key], self.candidates[ALL_COLUMNS].scores[key]
        return FoldScores(one.values - other.values, one.inflation)

    def to_dict(self) -> dict[str, Any]:
        """Return the recommendation as JSON."""
        return {
            "recommended": self.recommended,
            "refused": list(self.refused),
            "columns": list(self.columns),
            "folds": self.folds,
            "n_samples": self.n_samples,
            "n_columns": self.n_columns,
            "models": [{"id": name, "label": label} for name, label in self.predictors.items()],
            "scores": [{"id": name, "baseline": self.baseline[name].to_dict()} for name in self.scorings],
            "candidates": [
                {
                    "id": name,
                    "label": one.label,
                    "columns": list(one.columns),
                    "n_chosen": one.sets.sum(axis=1).tolist(),
                    "scores": [
                        [one.scores[model, scoring].to_dict() for model in self.predictors] for scoring in self.scorings
                    ],
                    "changes": [
                        [self.change(name, model, scoring).to_dict() for model in self.predictors]
                        for scoring in self.scorings
                    ],
                }
                for name, one in self.candidates.items()
            ],
            "notes": list(self.notes),
            "seed": self.seed,
        }

    def __repr__(self) -> str:
        scoring = self.scorings[0]
        head = (
            f"{scoring} of {self.n_samples:,} rows, {self.folds}; without any column {self.baseline[scoring].mean:.3f}"
        )
        width = max(len(one.label) for one in self.candidates.values())
        lines = [f"  {'':{width}}  columns  " + "  ".join(f"{label:>19}" for label in self.predictors.values())]
        for name, one in self.candidates.items():
            mark = "*" if name == self.recommended else " "
            scores = "  ".join(f"{one.scores[model, scoring].mean:19.3f}" for model in self.predictors)
            lines.append(f"{mark} {one.label:{width}}  {one.mean_size:7.1f}  {scores}")
        return "\n".join([head, *lines, f"* recommended: {', '.join(self.columns) or 'no column'}", *self.notes])


def recommend_columns(
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    time: Any = None,
    sample_weight: Any = None,
    candidates: Mapping[str, Any] | None = None,
    predictors: Sequence[str] | None = None,
    scoring: Sequence[str] | None = None,
    n_splits: int = 5,
    max_rows: int | None = None,
    max_seconds: float | None = None,
    keep_all: bool = True,
    random_state: Seed = 0,
    n_jobs: int | None = None,
) -> Recommendation:
    """Return the smallest selection whose nested cross-validated score is within one standard error of the best.

    Parameters
    ----------
    X, y, groups, time, sample_weight
        As in `selection_report`.
    candidates : dict of selectors by name, default=None
        The selections to compare, beside all columns, whose name "all_columns" none of them may have. None is CFS by best-first
        search, and forward searches by the cross-validated score of naive Bayes (area under the ROC curve; of more than two classes
        balanced accuracy), ridge regression and the 5 nearest neighbours; without naive Bayes for a number, and without the last
        two where a row has more than 1,000 numbers and indicators.
    predictors : list of str, default=None
        The models: names of `tamiz.assessment`'s predictors. None is logistic regression, naive Bayes, the 5 nearest neighbours
        and a random forest for classes; ridge regression, nearest neighbours and a random forest for a number.
    scoring : list of str, default=None
        Names of scorers of scikit-learn's; the first decides. None is the area under the ROC curve and balanced accuracy for
        classes, R2 for a number.
    n_splits : int, default=5
        Folds; every candidate is searched for in each, and once on all rows.
    max_rows : int, default=None
        Of more rows so many are drawn.
    max_seconds : float, default=None
        A usual candidate whose search with all rows takes longer is left out, with a note.
    keep_all : bool, default=True
        Whether all columns may be recommended; they are compared in any case.
    random_state : int, default=0
        Draws rows and folds, and seeds searches and models.
    n_jobs : int, default=None
        Threads; None takes the cores that this process may use. The numbers do not depend on it.

    Returns
    -------
    Recommendation

    Raises
    ------
    DataError
        When there is no target, or when rows cannot be divided into folds. A candidate that fails is left out with a note.

    Notes
    -----
    A candidate on whose columns some model scores more than 0.03 less than on all columns is not recommended, be it those of the
    folds or those that it chooses with all rows. The score of the others in a fold is the mean over the models. With d the scores
    of the best of them less those of another, fold by fold, the other is as good where

    .. math:: \\bar d \\le \\max(s_d, 0.01)

    with :math:`s_d` the standard error of :math:`\\bar d`, corrected for folds that learn from the same rows. Of those as good as
    the best the one with the fewest columns is recommended. All columns are a candidate too, and are recommended where every
    selection loses more.

    The recommended candidate is the best of a few: its own score in `candidates` is very slightly optimistic. Cost: `n_splits` + 1
    searches and `n_splits` fits a model, for every candidate.

    References
    ----------
    Breiman, Friedman, Olshen and Stone (1984), Classification and regression trees, section 3.4.3 (the one standard error rule);
    Nadeau and Bengio (2003), Inference for the generalization error, Machine Learning 52; Varma and Simon (2006), Bias in error
    estimation when using cross-validation for model selection, BMC Bioinformatics 7.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tamiz.assessment import recommend_columns
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> found = recommend_columns(X, y, predictors=["logistic", "naive_bayes"])
    >>> found.recommended, len(found.columns)
    ('knn', 7)
    """
    rng = generator(random_state)
    check_integer("n_splits", n_splits, low=2)
    if max_rows is not None:
        check_integer("max_rows", max_rows, low=2)
    if candidates is not None and ALL_COLUMNS in candidates:
        raise ValueError(f"candidates must not name {ALL_COLUMNS!r}: all columns are compared in any case.")
    with parallel.session(n_jobs), without_known_warnings():
        given = as_source(X, y, sample_weight, groups=groups, time=time)
        whole, weightless = counted(given)
        if whole.schema.target is None:
            raise DataError("recommend_columns requires a target, but the target y is None.")
        source, sampled = sampled_rows(whole, max_rows, n_splits, rng)
        schema = source.schema
        splits = draw_splits(source, n_splits, rng)
        models, without = models_of(predictors, schema)
        scorings, lacking = usual_scorings(scoring, source, splits, models.values())
        chosen_by = usual_candidates(schema, max_seconds=max_seconds) if candidates is None else candidates
        seed = int(random_state) % 2**31 if isinstance(random_state, Integral) else splits.whole_seed
        comparison = _Comparison(source, splits, models, check_scoring(scoring=scorings), seed)
        found, failed = comparison.searched({name: chooser(one) for name, one in chosen_by.items()})
        scores, baseline = comparison.scored(found)
        inflation = splits.folds.inflation
        names = np.array(schema.names, dtype=object)
        made = {
            name: Candidate(
                one.label,
                tuple(names[one.support].tolist()),
                one.sets,
                {key: FoldScores(values, inflation) for key, values in scores[name].items()},
            )
            for name, one in found.items()
        }
        recommended, refused = comparison.recommended(made, found, scorings[0], keep_all=keep_all)
    unstable = [
        f"{made[name].label} is not recommended: with all rows it chooses other columns than in the folds, and these cost a model "
        f"more than {_LARGEST_LOSS:g}."
        for name in refused
    ]
    notes = (*given.schema.dropped, *weightless, *sampled, *splits.folds.notes, *without, *lacking, *failed, *unstable)
    tell(notes)
    return Recommendation(
        candidates=made,
        recommended=recommended,
        refused=refused,
        predictors={name: model.label for name, model in models.items()},
        scorings=tuple(scorings),
        baseline={name: FoldScores(values, inflation) for name, values in baseline.items()},
        folds=splits.folds.how,
        n_samples=len(splits.folds.rows),
        n_columns=len(schema.used),
        notes=notes,
        seed=seed,
    )


def usual_candidates(
    schema: Schema,
    missing: Missing = "distribute",
    *,
    max_seconds: float | None = None,
    n_features: SetSize | None = None,
    columns: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the selections that a table is tried with.

    Parameters
    ----------
    schema : Schema
    missing : {"distribute", "category"}, default="distribute"
        What CFS does with missing values.
    max_seconds : float, default=None
        When the search of a wrapper is stopped.
    n_features : int, float or (least, most), default=None
        As in `SubsetSelector`.
    columns : dict, default=None
        Parameters of the searches that say which columns may be chosen: `start`, `fixed`, `excluded`, `groups`.
    """
    columns = columns or {}
    stop = None if max_seconds is None else Seconds(max_seconds)

    def wrapper(model: str, scoring: str | None = None) -> SubsetSelector:
        merit = CrossValidated(model, cv=_INNER_FOLDS, scoring=scoring)
        return SubsetSelector(merit, Forward(**columns), n_features=n_features, stop=stop, random_state=0)

    by_cfs = SubsetSelector(CFS(missing=missing), BestFirst(**columns), n_features=n_features, random_state=0)
    found: dict[str, Any] = {"cfs": by_cfs}
    if schema.has_classes:
        # Of many classes the area takes a pass for each, and a rare one no longer hides the others from the mean of their recalls.
        found["naive_bayes"] = wrapper("mixed_nb", "balanced_accuracy" if schema.n_classes > 2 else "roc_auc")
    if schema.n_coordinates > _MOST_COORDINATES:
        return found
    found["ridge"] = wrapper("ridge")
    if schema.weight is None:
        by_neighbors = wrapper("knn", "balanced_accuracy" if schema.has_classes else "r2")
        found["knn"] = OnFewerRows(chooser(by_neighbors), _NEIGHBOR_ROWS)
    return found


def recommended_of(candidates: Mapping[str, Candidate], scoring: str, *, keep_all: bool = True) -> str:
    """Return the id of the smallest candidate that is as good as the best, as `recommend_columns` defines it.

    Parameters
    ----------
    candidates : dict of Candidate
        "all_columns" among them.
    scoring : str
        The scorer that decides.
    keep_all : bool, default=True
        Whether all columns may be recommended.
    """
    every = candidates[ALL_COLUMNS].scores
    offered = {name: one for name, one in candidates.items() if keep_all or name != ALL_COLUMNS} or candidates
    sound = [name for name, one in offered.items() if _is_sound(one.scores, every, scoring)]
    means = {name: candidates[name].mean_score(scoring) for name in sound or offered}
    best = max(means, key=lambda name: means[name].mean)
    near = []
    for name, scores in means.items():
        behind = FoldScores(means[best].values - scores.values, scores.inflation)
        if behind.mean <= max(behind.standard_error, _NEGLIGIBLE):
            near.append((len(candidates[name].columns), -scores.mean, name))
    return min(near)[2]


def _is_sound(
    scores: Mapping[tuple[str, str], FoldScores], every: Mapping[tuple[str, str], FoldScores], scoring: str
) -> bool:
    """Return whether no model loses much beside all columns."""
    return all(every[key].mean - scores[key].mean <= _LARGEST_LOSS for key in every if key[1] == scoring)


@dataclass(frozen=True)
class _Searched:
    label: str
    support: NDArray[np.bool_]
    sets: NDArray[np.bool_]


@dataclass(frozen=True)
class _Comparison:
    """A table, folds and models that all candidates share."""

    source: Source
    splits: Splits
    models: dict[str, Predictor]
    scorer: Any
    seed: int

    def searched(self, choosers: Mapping[str, Chooser]) -> tuple[dict[str, _Searched], list[str]]:
        """Return what every candidate chooses with all rows and in every fold, and a sentence for each that failed."""
        schema, parts = self.source.schema, self.splits.folds.parts
        every = np.zeros(schema.n_columns, dtype=bool)
        every[schema.used] = True
        found = {ALL_COLUMNS: _Searched("All columns", every, np.tile(every, (len(parts), 1)))}
        failed = []
        for name, one in choosers.items():
            try:
                found[name] = self._searched(one, _LABELS.get(name))
            except (DataError, MemoryError) as error:
                failed.append(f"{_LABELS.get(name, one.label)} is left out of the comparison: {error}")
        return found, failed

    def _searched(self, one: Chooser, label: str | None) -> _Searched:
        one.check(self.source.schema)
        parts, seeds = self.splits.folds.parts, self.splits.fold_seeds

        def choose(at: int) -> NDArray[np.bool_]:
            rows = learnable(self.source if at < 0 else rows_of(self.source, parts[at].train))
            choice = one.choose(rows, self.splits.whole_seed if at < 0 else seeds[at])
            if choice.out_of_time and at < 0:
                raise DataError("its search takes longer than max_seconds.")
            return choice.support

        items = [-1, *range(len(parts))]
        sets = in_turn(
            f"Searches by {one.label}",
            self.source,
            choose,
            items,
            lambda at: f"Fold {at} of {len(parts)}" if at else "All rows",
            effort=one.effort,
        )
        return _Searched(label or one.label, sets[0][0], np.stack([support for support, _ in sets[1:]]))

    def recommended(
        self, made: Mapping[str, Candidate], found: Mapping[str, _Searched], scoring: str, *, keep_all: bool
    ) -> tuple[str, tuple[str, ...]]:
        """Return the candidate to keep, and those that would have been but for the columns that they choose with all rows.

        A search may choose other columns with all rows than in every fold: these are scored in the folds too.
        """
        inflation = self.splits.folds.inflation
        left = dict(made)
        refused: list[str] = []
        while True:
            name = recommended_of(left, scoring, keep_all=keep_all)
            support = found[name].support
            fixed = _Searched("", support, np.tile(support, (len(self.splits.folds), 1)))
            if name == ALL_COLUMNS or (fixed.sets == found[name].sets).all():
                return name, tuple(refused)
            scores = {key: FoldScores(values, inflation) for key, values in self.scored({name: fixed})[0][name].items()}
            if _is_sound(scores, made[ALL_COLUMNS].scores, scoring):
                return name, tuple(refused)
            refused.append(name)
            del left[name]
            if not keep_all and len(left) == 1:
                return refused[0], tuple(refused[1:])

    def scored(
        self, found: Mapping[str, _Searched]
    ) -> tuple[dict[str, dict[tuple[str, str], Floats]], dict[str, Floats]]:
        """Return the scores of every candidate by (predictor, scorer), and those without any column by scorer."""
        parts = self.splits.folds.parts
        sides = [(rows_of(self.source, part.train), rows_of(self.source, part.test)) for part in parts]
        # Candidates that choose the same columns in a fold share its fits.
        jobs = {
            (at, one.sets[at].tobytes(), model): one.sets[at]
            for model in self.models
            for one in found.values()
            for at in range(len(parts))
        }

        def fit(item: tuple[tuple[int, bytes, str], NDArray[np.bool_]]) -> dict[str, float]:
            (at, _, model), support = item
            train, test = sides[at]
            with held():
                learned = self.models[model].learn_by(train, support, self.seed)
                return score_learned(self.scorer, learned, test)

        done = progress.track("Models", parallel.map_blocks(fit, jobs.items()), len(jobs))
        known = dict(zip(jobs, done, strict=True))
        scores: dict[str, dict[tuple[str, str], Floats]] = {}
        for name, one in found.items():
            values = {
                model: [known[at, one.sets[at].tobytes(), model] for at in range(len(parts))] for model in self.models
            }
            scores[name] = {
                (model, scoring): np.array([fold[scoring] for fold in folds])
                for model, folds in values.items()
                for scoring in folds[0]
            }
        nothing = [score_learned(self.scorer, Nothing().learn(train, [], 0), test) for train, test in sides]
        baseline = {scoring: np.array([fold[scoring] for fold in nothing]) for scoring in nothing[0]}
        return scores, baseline

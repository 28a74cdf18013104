"""Which of several selections to keep: nested cross-validation of all of them under several models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import check_scoring

from tamiz.assessment.fold_scores import FoldScores, ignore_known_warnings, resolve_scorings, score_fitted
from tamiz.assessment.nested_cv import run_with_progress
from tamiz.assessment.predictors import BaselineModel, TableModel, resolve_table_models
from tamiz.assessment.selector_adapters import SampledSelectorAdapter, SelectorAdapter, adapt_selector
from tamiz.criteria.cfs import CFS
from tamiz.criteria.cross_validated import CrossValidated
from tamiz.criteria.entropy_relevance import MissingRule
from tamiz.exceptions import DataError
from tamiz.models.folds import SeededFolds, draw_folds, drop_zero_weights, sample_rows
from tamiz.runtime import parallel, progress
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.user_warnings import capture_warnings, warn_user
from tamiz.runtime.validation import check_integer
from tamiz.search.base import SetSize
from tamiz.search.best_first import BestFirst
from tamiz.search.forward import Forward
from tamiz.search.stopping import Seconds
from tamiz.selection import SubsetSelector
from tamiz.sources.base import Source
from tamiz.sources.factory import as_source
from tamiz.sources.schema import Schema
from tamiz.sources.views import as_training_source, select_rows
from tamiz.statistics.base import Floats

ALL_COLUMNS = "all_columns"
# What the usual candidates are called.
_LABELS = {
    "cfs": "CFS",
    "naive_bayes": "Naive Bayes wrapper",
    "ridge": "Ridge wrapper",
    "knn": "Nearest neighbours wrapper",
}
# A loss that no reader would mind, in AUC or R2, where the standard error is smaller still.
_NEGLIGIBLE_LOSS = 0.01
# No model may lose more than this on the recommended columns, whatever the standard error.
_LARGEST_LOSS = 0.03
# Products of more coordinates take longer than a reader waits for.
_MAX_COORDINATES = 1_000
# Folds of the wrappers inside each fold of the comparison.
_INNER_FOLDS = 5
# Distances of rows grow with their square: nearest neighbours search on so many rows at most.
_MAX_NEIGHBOR_ROWS = 1_000


@dataclass(frozen=True)
class CandidateSelection:
    """A way to choose columns, compared with others.

    Attributes
    ----------
    label : str
    columns : tuple of str
        The columns that it chooses with all rows.
    fold_sets : ndarray of shape (n_folds, n_table_columns), bool
        The columns that it chooses in every fold, with the rows that the fold does not test.
    scores : dict of FoldScores
        By (predictor, scorer).
    """

    label: str
    columns: tuple[str, ...]
    fold_sets: NDArray[np.bool_]
    scores: dict[tuple[str, str], FoldScores]

    @property
    def mean_size(self) -> float:
        """The number of columns that a fold chooses, on average."""
        return float(self.fold_sets.sum(axis=1).mean())

    def mean_score(self, scoring: str) -> FoldScores:
        """Return the mean of the models' scores in every fold."""
        found = [scores for (_, name), scores in self.scores.items() if name == scoring]
        return FoldScores(np.mean([scores.values for scores in found], axis=0), found[0].variance_factor)


@dataclass(frozen=True)
class Recommendation:
    """Selections compared on the same folds, and the one to keep.

    Attributes
    ----------
    candidates : dict of CandidateSelection
        By their ids; "all_columns" is the table with nothing left out.
    recommended : str
        The id of the one to keep.
    rejected : tuple of str
        Those that would have been, but for the columns that they choose with all rows.
    models : dict of str
        The models' labels by their names.
    scorings : tuple of str
        scikit-learn's names of the scores; the recommendation is made by the first.
    baseline : dict of FoldScores
        By scorer: the score without any column.
    folds_description : str
        How the folds were made.
    n_samples, n_columns : int
        Rows that are learned or tested, and columns that take part.
    notes : tuple of str
    seed : int or None
    """

    candidates: dict[str, CandidateSelection]
    recommended: str
    rejected: tuple[str, ...]
    models: dict[str, str]
    scorings: tuple[str, ...]
    baseline: dict[str, FoldScores]
    folds_description: str
    n_samples: int
    n_columns: int
    notes: tuple[str, ...]
    seed: int | None

    @property
    def columns(self) -> tuple[str, ...]:
        """The recommended columns."""
        return self.candidates[self.recommended].columns

    def score_change(self, candidate: str, model: str, scoring: str | None = None) -> FoldScores:
        """Return what a model scores more on a candidate's columns than on all, in every fold."""
        key = model, scoring or self.scorings[0]
        one, other = self.candidates[candidate].scores[key], self.candidates[ALL_COLUMNS].scores[key]
        return FoldScores(one.values - other.values, one.variance_factor)

    def to_dict(self) -> dict[str, Any]:
        """Return the recommendation as JSON."""
        return {
            "recommended": self.recommended,
            "refused": list(self.rejected),
            "columns": list(self.columns),
            "folds": self.folds_description,
            "n_samples": self.n_samples,
            "n_columns": self.n_columns,
            "models": [{"id": name, "label": label} for name, label in self.models.items()],
            "scores": [{"id": name, "baseline": self.baseline[name].to_dict()} for name in self.scorings],
            "candidates": [
                {
                    "id": name,
                    "label": one.label,
                    "columns": list(one.columns),
                    "n_chosen": one.fold_sets.sum(axis=1).tolist(),
                    "scores": [
                        [one.scores[model, scoring].to_dict() for model in self.models] for scoring in self.scorings
                    ],
                    "changes": [
                        [self.score_change(name, model, scoring).to_dict() for model in self.models]
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
        head = f"{scoring} of {self.n_samples:,} rows, {self.folds_description}; without any column {self.baseline[scoring].mean:.3f}"
        width = max(len(one.label) for one in self.candidates.values())
        lines = [f"  {'':{width}}  columns  " + "  ".join(f"{label:>19}" for label in self.models.values())]
        for name, one in self.candidates.items():
            mark = "*" if name == self.recommended else " "
            scores = "  ".join(f"{one.scores[model, scoring].mean:19.3f}" for model in self.models)
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
    rng = make_rng(random_state)
    check_integer("n_splits", n_splits, low=2)
    if max_rows is not None:
        check_integer("max_rows", max_rows, low=2)
    if candidates is not None and ALL_COLUMNS in candidates:
        raise ValueError(f"candidates must not name {ALL_COLUMNS!r}: all columns are compared in any case.")
    with parallel.thread_session(n_jobs), ignore_known_warnings():
        given = as_source(X, y, sample_weight, groups=groups, time=time)
        whole, weightless = drop_zero_weights(given)
        if whole.schema.target is None:
            raise DataError("recommend_columns requires a target, but the target y is None.")
        source, sampled = sample_rows(whole, max_rows, n_splits, rng)
        schema = source.schema
        splits = draw_folds(source, n_splits, rng)
        models, without = resolve_table_models(predictors, schema)
        scorings, lacking = resolve_scorings(scoring, source, splits, models.values())
        chosen_by = default_candidates(schema, max_seconds=max_seconds) if candidates is None else candidates
        seed = int(random_state) % 2**31 if isinstance(random_state, Integral) else splits.table_seed
        comparison = _CandidateComparison(source, splits, models, check_scoring(scoring=scorings), seed)
        found, failed = comparison.search_candidates({name: adapt_selector(one) for name, one in chosen_by.items()})
        scores, baseline = comparison.score_candidates(found)
        inflation = splits.folds.variance_factor
        names = np.array(schema.names, dtype=object)
        made = {
            name: CandidateSelection(
                one.label,
                tuple(names[one.support].tolist()),
                one.fold_sets,
                {key: FoldScores(values, inflation) for key, values in scores[name].items()},
            )
            for name, one in found.items()
        }
        recommended, refused = comparison.recommend(made, found, scorings[0], keep_all=keep_all)
    unstable = [
        f"{made[name].label} is not recommended: with all rows it chooses other columns than in the folds, and these cost a model "
        f"more than {_LARGEST_LOSS:g}."
        for name in refused
    ]
    notes = (
        *given.schema.dropped_row_notes,
        *weightless,
        *sampled,
        *splits.folds.fold_warnings,
        *without,
        *lacking,
        *failed,
        *unstable,
    )
    warn_user(notes)
    return Recommendation(
        candidates=made,
        recommended=recommended,
        rejected=refused,
        models={name: model.label for name, model in models.items()},
        scorings=tuple(scorings),
        baseline={name: FoldScores(values, inflation) for name, values in baseline.items()},
        folds_description=splits.folds.description,
        n_samples=len(splits.folds.used_rows),
        n_columns=len(schema.used),
        notes=notes,
        seed=seed,
    )


def default_candidates(
    schema: Schema,
    missing: MissingRule = "distribute",
    *,
    max_seconds: float | None = None,
    n_features: SetSize | None = None,
    column_options: Mapping[str, Any] | None = None,
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
    column_options : dict, default=None
        Parameters of the searches that say which columns may be chosen: `start`, `fixed`, `excluded`, `groups`.
    """
    column_options = column_options or {}
    stop = None if max_seconds is None else Seconds(max_seconds)

    def wrapper(model: str, scoring: str | None = None) -> SubsetSelector:
        merit = CrossValidated(model, cv=_INNER_FOLDS, scoring=scoring)
        return SubsetSelector(merit, Forward(**column_options), n_features=n_features, stop=stop, random_state=0)

    by_cfs = SubsetSelector(CFS(missing=missing), BestFirst(**column_options), n_features=n_features, random_state=0)
    found: dict[str, Any] = {"cfs": by_cfs}
    if schema.has_classes:
        # Of many classes the area takes a pass for each, and a rare one no longer hides the others from the mean of their recalls.
        found["naive_bayes"] = wrapper("mixed_nb", "balanced_accuracy" if schema.n_classes > 2 else "roc_auc")
    if schema.n_coordinates > _MAX_COORDINATES:
        return found
    found["ridge"] = wrapper("ridge")
    if schema.weight is None:
        by_neighbors = wrapper("knn", "balanced_accuracy" if schema.has_classes else "r2")
        found["knn"] = SampledSelectorAdapter(adapt_selector(by_neighbors), _MAX_NEIGHBOR_ROWS)
    return found


def choose_candidate(candidates: Mapping[str, CandidateSelection], scoring: str, *, keep_all: bool = True) -> str:
    """Return the id of the smallest candidate that is as good as the best, as `recommend_columns` defines it.

    Parameters
    ----------
    candidates : dict of CandidateSelection
        "all_columns" among them.
    scoring : str
        The scorer that decides.
    keep_all : bool, default=True
        Whether all columns may be recommended.
    """
    every = candidates[ALL_COLUMNS].scores
    offered = {name: one for name, one in candidates.items() if keep_all or name != ALL_COLUMNS} or candidates
    sound = [name for name, one in offered.items() if _is_acceptable(one.scores, every, scoring)]
    means = {name: candidates[name].mean_score(scoring) for name in sound or offered}
    best = max(means, key=lambda name: means[name].mean)
    near = []
    for name, scores in means.items():
        behind = FoldScores(means[best].values - scores.values, scores.variance_factor)
        if behind.mean <= max(behind.standard_error, _NEGLIGIBLE_LOSS):
            near.append((len(candidates[name].columns), -scores.mean, name))
    return min(near)[2]


def _is_acceptable(
    scores: Mapping[tuple[str, str], FoldScores], all_columns: Mapping[tuple[str, str], FoldScores], scoring: str
) -> bool:
    """Return whether no model loses much beside all columns."""
    return all(all_columns[key].mean - scores[key].mean <= _LARGEST_LOSS for key in all_columns if key[1] == scoring)


@dataclass(frozen=True)
class _SearchedCandidate:
    label: str
    support: NDArray[np.bool_]
    fold_sets: NDArray[np.bool_]


@dataclass(frozen=True)
class _CandidateComparison:
    """A table, folds and models that all candidates share."""

    source: Source
    splits: SeededFolds
    models: dict[str, TableModel]
    scorer: Any
    seed: int

    def search_candidates(
        self, selectors: Mapping[str, SelectorAdapter]
    ) -> tuple[dict[str, _SearchedCandidate], list[str]]:
        """Return what every candidate chooses with all rows and in every fold, and a sentence for each that failed."""
        schema, parts = self.source.schema, self.splits.folds.splits
        every = np.zeros(schema.n_columns, dtype=bool)
        every[schema.used] = True
        found = {ALL_COLUMNS: _SearchedCandidate("All columns", every, np.tile(every, (len(parts), 1)))}
        failed = []
        for name, one in selectors.items():
            try:
                found[name] = self._search_candidate(one, _LABELS.get(name))
            except (DataError, MemoryError) as error:
                failed.append(f"{_LABELS.get(name, one.label)} is left out of the comparison: {error}")
        return found, failed

    def _search_candidate(self, selector: SelectorAdapter, label: str | None) -> _SearchedCandidate:
        selector.check(self.source.schema)
        parts, seeds = self.splits.folds.splits, self.splits.fold_seeds

        def choose(at: int) -> NDArray[np.bool_]:
            rows = as_training_source(self.source if at < 0 else select_rows(self.source, parts[at].train))
            choice = selector.select(rows, self.splits.table_seed if at < 0 else seeds[at])
            if choice.timed_out and at < 0:
                raise DataError("its search takes longer than max_seconds.")
            return choice.support

        items = [-1, *range(len(parts))]
        sets = run_with_progress(
            f"Searches by {selector.label}",
            self.source,
            choose,
            items,
            lambda at: f"Fold {at} of {len(parts)}" if at else "All rows",
            evaluation_cost=selector.evaluation_cost,
        )
        return _SearchedCandidate(label or selector.label, sets[0][0], np.stack([support for support, _ in sets[1:]]))

    def recommend(
        self,
        candidates: Mapping[str, CandidateSelection],
        searched_candidates: Mapping[str, _SearchedCandidate],
        scoring: str,
        *,
        keep_all: bool,
    ) -> tuple[str, tuple[str, ...]]:
        """Return the candidate to keep, and those that would have been but for the columns that they choose with all rows.

        A search may choose other columns with all rows than in every fold: these are scored in the folds too.
        """
        inflation = self.splits.folds.variance_factor
        left = dict(candidates)
        refused: list[str] = []
        while True:
            name = choose_candidate(left, scoring, keep_all=keep_all)
            support = searched_candidates[name].support
            fixed = _SearchedCandidate("", support, np.tile(support, (len(self.splits.folds), 1)))
            if name == ALL_COLUMNS or (fixed.fold_sets == searched_candidates[name].fold_sets).all():
                return name, tuple(refused)
            scores = {
                key: FoldScores(values, inflation)
                for key, values in self.score_candidates({name: fixed})[0][name].items()
            }
            if _is_acceptable(scores, candidates[ALL_COLUMNS].scores, scoring):
                return name, tuple(refused)
            refused.append(name)
            del left[name]
            if not keep_all and len(left) == 1:
                return refused[0], tuple(refused[1:])

    def score_candidates(
        self, searched_candidates: Mapping[str, _SearchedCandidate]
    ) -> tuple[dict[str, dict[tuple[str, str], Floats]], dict[str, Floats]]:
        """Return the scores of every candidate by (predictor, scorer), and those without any column by scorer."""
        parts = self.splits.folds.splits
        sides = [(select_rows(self.source, part.train), select_rows(self.source, part.test)) for part in parts]
        # Candidates that choose the same columns in a fold share its fits.
        jobs = {
            (at, one.fold_sets[at].tobytes(), model): one.fold_sets[at]
            for model in self.models
            for one in searched_candidates.values()
            for at in range(len(parts))
        }

        def fit(item: tuple[tuple[int, bytes, str], NDArray[np.bool_]]) -> dict[str, float]:
            (at, _, model), support = item
            train, test = sides[at]
            with capture_warnings():
                learned = self.models[model].fit_support(train, support, self.seed)
                return score_fitted(self.scorer, learned, test)

        done = progress.track_progress("Models", parallel.map_blocks(fit, jobs.items()), len(jobs))
        known = dict(zip(jobs, done, strict=True))
        scores: dict[str, dict[tuple[str, str], Floats]] = {}
        for name, one in searched_candidates.items():
            values = {
                model: [known[at, one.fold_sets[at].tobytes(), model] for at in range(len(parts))]
                for model in self.models
            }
            scores[name] = {
                (model, scoring): np.array([fold[scoring] for fold in folds])
                for model, folds in values.items()
                for scoring in folds[0]
            }
        nothing = [score_fitted(self.scorer, BaselineModel().fit_columns(train, [], 0), test) for train, test in sides]
        baseline = {scoring: np.array([fold[scoring] for fold in nothing]) for scoring in nothing[0]}
        return scores, baseline

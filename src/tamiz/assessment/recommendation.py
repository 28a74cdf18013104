"""Recommended columns: nested cross-validation of several selections under several models, and the rule that recommends one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from tamiz.assessment.candidate_selections import (
    ALL_COLUMNS,
    CandidateComparison,
    CandidateSelection,
    SearchedCandidate,
    default_candidates,
)
from tamiz.assessment.fold_scores import FoldScores, ignore_known_warnings, resolve_scorings
from tamiz.assessment.selector_adapters import adapt_selector, metadata_readers
from tamiz.exceptions import DataError
from tamiz.models.estimators import check_metadata
from tamiz.models.folds import draw_folds, drop_zero_weights, sample_rows
from tamiz.models.named_models import resolve_models
from tamiz.runtime import parallel
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.user_warnings import quote_name, warn_user
from tamiz.runtime.validation import check_integer
from tamiz.sources.factory import as_source
from tamiz.sources.views import with_metadata

# A loss in AUC or R2 that counts as negligible even if the standard error is smaller.
NEGLIGIBLE_LOSS = 0.01
# The largest loss of any model on the recommended columns, whatever the standard error.
LARGEST_LOSS = 0.03


@dataclass(frozen=True)
class Recommendation:
    """Selections compared on the same folds, and the one to keep.

    Attributes
    ----------
    candidates : dict of CandidateSelection
        By id; "all_columns" is the selection of all columns.
    recommended : str
        The id of the recommended candidate.
    rejected : tuple of str
        Candidates that were not recommended because a model loses too much on the columns selected on all rows.
    models : dict of str
        The labels of the models by name.
    scorings : tuple of str
        scikit-learn's names of the scores; the first one decides.
    baseline : dict of FoldScores
        The baseline score (without any column) by scorer.
    folds_description : str
        How the folds were drawn.
    n_samples, n_columns : int
        Rows that are in some fold, and columns that are not excluded.
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
        """Return the score of a model on a candidate's columns minus its score on all columns, in every fold."""
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
            "largest_loss": LARGEST_LOSS,
            "negligible_loss": NEGLIGIBLE_LOSS,
            "notes": list(self.notes),
            "seed": self.seed,
        }

    def __repr__(self) -> str:
        scoring = self.scorings[0]
        baseline = self.baseline[scoring].mean
        head = f"{scoring} of {self.n_samples:,} rows, {self.folds_description}; without any column {baseline:.3f}"
        width = max(len(one.label) for one in self.candidates.values())
        lines = [f"  {'':{width}}  columns  " + "  ".join(f"{label:>19}" for label in self.models.values())]
        for name, one in self.candidates.items():
            mark = "*" if name == self.recommended else " "
            scores = "  ".join(f"{one.scores[model, scoring].mean:19.3f}" for model in self.models)
            lines.append(f"{mark} {one.label:{width}}  {one.mean_size:7.1f}  {scores}")
        return "\n".join(
            [head, *lines, f"* recommended: {', '.join(map(quote_name, self.columns)) or 'no column'}", *self.notes]
        )


def recommend_columns(
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    time: Any = None,
    sample_weight: Any = None,
    candidates: Mapping[str, Any] | None = None,
    models: Sequence[str] | None = None,
    scoring: Sequence[str] | None = None,
    n_splits: int = 5,
    max_rows: int | None = None,
    max_seconds: float | None = None,
    keep_all: bool = True,
    random_state: Seed = 0,
    n_jobs: int | None = None,
    params: Mapping[str, Any] | None = None,
) -> Recommendation:
    """Return the smallest selection whose nested cross-validated score is within one standard error of the best.

    Parameters
    ----------
    X, y, groups, time, sample_weight
        As in `selection_report`.
    candidates : dict of selectors by name, default=None
        The selections to compare with all columns; the name "all_columns" is reserved. None is CFS by best-first search, and
        forward searches by the cross-validated score of naive Bayes (ROC AUC; for more than two classes balanced accuracy), ridge
        regression and 5 nearest neighbours. Naive Bayes is omitted for a numeric target, and the last two if a row has more than
        1,000 numbers and indicators. Two more select in other ways: a forward search by MRMR, of which `SizeSearchCV` chooses 1 to
        24 columns with naive Bayes (ridge regression for a numeric target), less those without information gain about the classes;
        and `IndependenceTest` with a false discovery rate of 0.05, for independent rows.
    models : list of str, default=None
        Names of models, as in `CrossValidated`. None is logistic regression, naive Bayes, 5 nearest neighbours and a random forest
        for classes, and ridge regression, 5 nearest neighbours and a random forest for a numeric target.
    scoring : list of str, default=None
        Names of scikit-learn scorers; the first one decides. None is ROC AUC, balanced accuracy and accuracy for classes, and R2
        for a numeric target.
    n_splits : int, default=5
        Folds; every candidate is searched in each, and once on all rows.
    max_rows : int, default=None
        A larger table is sampled to this number of rows.
    max_seconds : float, default=None
        A default candidate is left out, with a note, if its search on all rows takes longer: a wrapper by the clock, MRMR by an
        estimate from the shape of the table.
    keep_all : bool, default=True
        Whether all columns may be recommended; they are always compared.
    random_state : int, default=0
        Seed of the sample, the folds, the searches and the models.
    n_jobs : int, default=None
        Threads; None uses all cores available to this process. The numbers do not depend on it.
    params : dict, default=None
        Further values of the rows by name, as in `selection_report`: for the estimators and scorers of the candidates.

    Returns
    -------
    Recommendation

    Raises
    ------
    DataError
        When there is no target, or when the rows do not allow folds. A candidate that fails is left out, with a note.

    Notes
    -----
    A candidate is not recommended if some model scores more than 0.03 less on its columns than on all columns, either on the
    columns selected in the folds or on those selected on all rows. The score of the remaining candidates in a fold is the mean over
    the models. Let d be the fold scores of the best candidate minus those of another one. The other one counts as good as the best
    if

    .. math:: \\bar d \\le \\max(s_d, 0.01)

    with :math:`s_d` the standard error of :math:`\\bar d`, corrected for the overlap of training sets. Of the candidates as good as
    the best, the one with the fewest columns is recommended. All columns are a candidate too, and are recommended if every
    selection loses more.

    The recommended candidate is the best of a few, so its own score in `candidates` is slightly optimistic. Cost: `n_splits` + 1
    searches and `n_splits` fits per model, for every candidate.

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
    >>> found = recommend_columns(X, y, models=["logistic", "naive_bayes"])
    >>> found.recommended, len(found.columns)
    ('knn', 7)
    """
    rng = make_rng(random_state)
    check_integer("n_splits", n_splits, low=2)
    if max_rows is not None:
        check_integer("max_rows", max_rows, low=2)
    if candidates is not None and ALL_COLUMNS in candidates:
        raise ValueError(f"candidates must not name {ALL_COLUMNS!r}: all columns are compared in any case.")
    params = params or {}
    readers = [reader for selector in (candidates or {}).values() for reader in metadata_readers(selector)]
    check_metadata("recommend_columns()", readers, params)
    with parallel.thread_session(n_jobs), ignore_known_warnings():
        table = with_metadata(as_source(X, y, sample_weight, groups=groups, time=time), params)
        whole, weight_notes = drop_zero_weights(table)
        if whole.schema.target is None:
            raise DataError("recommend_columns requires a target, but the target y is None.")
        source, sample_notes = sample_rows(whole, max_rows, n_splits, rng)
        schema = source.schema
        folds = draw_folds(source, n_splits, rng)
        named_models, model_notes = resolve_models(models, schema)
        for model in named_models.values():
            model.check(schema)
        scorings, scoring_notes = resolve_scorings(scoring, source, folds, named_models.values())
        selectors = default_candidates(schema, max_seconds=max_seconds) if candidates is None else candidates
        seed = int(random_state) % 2**31 if isinstance(random_state, Integral) else folds.table_seed
        comparison = CandidateComparison(source, folds, named_models, scorings, seed)
        adapters = {name: adapt_selector(one) for name, one in selectors.items()}
        found, failure_notes = comparison.search_candidates(adapters)
        scores, baseline, fit_notes = comparison.score_candidates(found)
        names = np.array(schema.names, dtype=object)
        made = {
            name: CandidateSelection(
                one.label,
                tuple(names[one.support].tolist()),
                one.fold_sets,
                scores[name],
            )
            for name, one in found.items()
        }
        recommended, rejected = _recommend(comparison, made, found, keep_all=keep_all)
    rejection_notes = [
        f"{made[name].label} is not recommended: the columns that it selects on all rows differ from those in the folds, and "
        f"a model loses more than {LARGEST_LOSS:g} on them."
        for name in rejected
    ]
    notes = (
        *table.schema.dropped_row_notes,
        *weight_notes,
        *sample_notes,
        *folds.fold_warnings,
        *model_notes,
        *scoring_notes,
        *failure_notes,
        *fit_notes,
        *rejection_notes,
    )
    warn_user(notes)
    return Recommendation(
        candidates=made,
        recommended=recommended,
        rejected=rejected,
        models={name: model.label for name, model in named_models.items()},
        scorings=tuple(one.name for one in scorings),
        baseline=baseline,
        folds_description=folds.description,
        n_samples=len(folds.used_rows),
        n_columns=len(schema.used),
        notes=notes,
        seed=seed,
    )


def choose_candidate(candidates: Mapping[str, CandidateSelection], scoring: str, *, keep_all: bool = True) -> str:
    """Return the id of the smallest candidate that is as good as the best, by the rule of `recommend_columns`.

    Parameters
    ----------
    candidates : dict of CandidateSelection
        Including "all_columns".
    scoring : str
        The deciding scorer.
    keep_all : bool, default=True
        Whether all columns may be recommended.
    """
    all_scores = candidates[ALL_COLUMNS].scores
    eligible = {name: one for name, one in candidates.items() if keep_all or name != ALL_COLUMNS} or candidates
    acceptable = [name for name, one in eligible.items() if _is_acceptable(one.scores, all_scores, scoring)]
    means = {name: candidates[name].mean_score(scoring) for name in acceptable or eligible}
    best = max(means, key=lambda name: means[name].mean)
    as_good = []
    for name, scores in means.items():
        loss = FoldScores(means[best].values - scores.values, scores.variance_factor)
        if loss.mean <= max(loss.standard_error, NEGLIGIBLE_LOSS):
            as_good.append((len(candidates[name].columns), -scores.mean, name))
    return min(as_good)[2]


def _is_acceptable(
    scores: Mapping[tuple[str, str], FoldScores], all_columns: Mapping[tuple[str, str], FoldScores], scoring: str
) -> bool:
    """Return whether no model loses more than `LARGEST_LOSS` compared with all columns."""
    return all(all_columns[key].mean - scores[key].mean <= LARGEST_LOSS for key in all_columns if key[1] == scoring)


def _recommend(
    comparison: CandidateComparison,
    candidates: Mapping[str, CandidateSelection],
    searched_candidates: Mapping[str, SearchedCandidate],
    *,
    keep_all: bool,
) -> tuple[str, tuple[str, ...]]:
    """Return the recommended candidate, and those rejected because of the columns that they select on all rows.

    A search may select other columns on all rows than in the folds: these columns are scored in the folds too.
    """
    scoring = comparison.scorings[0].name
    remaining = dict(candidates)
    rejected: list[str] = []
    while True:
        name = choose_candidate(remaining, scoring, keep_all=keep_all)
        support = searched_candidates[name].support
        fixed = SearchedCandidate("", support, np.tile(support, (len(comparison.folds), 1)))
        if name == ALL_COLUMNS or (fixed.fold_sets == searched_candidates[name].fold_sets).all():
            return name, tuple(rejected)
        scores = comparison.score_candidates({name: fixed})[0][name]
        if _is_acceptable(scores, candidates[ALL_COLUMNS].scores, scoring):
            return name, tuple(rejected)
        rejected.append(name)
        del remaining[name]
        if not keep_all and len(remaining) == 1:
            return rejected[0], tuple(rejected[1:])

"""Recommended columns: nested cross-validation of several selections under several models, and the rule that recommends one."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np

from tamiz.arrays import Floats, Indices, Masks
from tamiz.assessment.findings import FoldScores
from tamiz.assessment.score_report import ALL_COLUMNS, CandidateSelection, Recommendation, ScoredPath
from tamiz.assessment.trials import (
    ColumnSetAdapter,
    PathAdapter,
    SelectorAdapter,
    Trial,
    adapt_selector,
    ignore_known_warnings,
    metadata_readers,
    model_seed,
    number_items,
    open_rows,
    repeat_selections,
)
from tamiz.criteria.base import Merit, Relevance
from tamiz.criteria.cross_validated import CrossValidated, PermutationImportance
from tamiz.criteria.entropies import MissingRule
from tamiz.criteria.information_merits import MRMR
from tamiz.criteria.tree_importance import TreeImportance
from tamiz.exceptions import DataError
from tamiz.models.estimators import check_metadata
from tamiz.models.folds import draw_folds
from tamiz.runtime import parallel
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.user_warnings import list_names, warn_user
from tamiz.runtime.validation import check_choice, check_integer
from tamiz.runtime.verdicts import Verdict
from tamiz.search.base import SetSize, size_range
from tamiz.search.greedy import Forward
from tamiz.selection.equivalent_columns import describe_equivalents, leave_out_equivalents
from tamiz.selection.rank_selector import RankSelector
from tamiz.selection.subset_selector import SubsetSelector
from tamiz.table.factory import as_table
from tamiz.table.schema import Schema
from tamiz.table.views import as_training_table, positive_weight_rows, select_rows, with_metadata

# The labels of the default candidates, and of the default subset of a study.
_LABELS = {
    "cfs": "CFS",
    "mrmr": "MRMR",
    "wrapper": "Wrapper",
    "importance": "Importance",
    "distinct": "All but copies and recodings",
}
# The default candidates that a comparison uses if they suit the table.
_DEFAULTS = ("mrmr", "wrapper", "importance", "distinct")
# Default candidates whose searches spend most of their time in kernels; the others are mostly Python code.
_KERNEL_SEARCHES = ("wrapper",)
# With more coordinates the search by ridge regression is too slow for a default.
_MAX_COORDINATES = 1_000
# Above the first number of columns the importance is that of shallow trees, in place of permutation in gradient boosting; a table
# with more values than the second is sampled.
_MAX_PERMUTED, _MAX_TREE_VALUES, _MIN_TREE_ROWS = 100, 1_000_000, 100
# Folds of the wrapper inside each fold of the comparison.
_INNER_FOLDS = 5
# The work of a search, at most: rows times columns times steps of MRMR, and rows times sets of the wrapper, of which each
# costs as much as some more rows. Each is 2 to 3 s.
MAX_MRMR_WORK, MAX_WRAPPER_WORK, SET_ROWS = 100_000_000, 2_000_000, 1_000
# Numbers of columns that are compared: small ones differ most in their scores.
_SIZES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 48)


def default_candidates(
    schema: Schema,
    missing: MissingRule = "distribute",
    *,
    n_features: SetSize | None = None,
    column_options: Mapping[str, Any] | None = None,
    left_out: Collection[int] = (),
) -> dict[str, SelectorAdapter]:
    """Return the default candidates for a table: paths of sets with 1, 2, 3 and up to 48 columns, and all distinct columns.

    `column_options` are parameters of the searches that restrict the columns: `start`, `fixed`, `excluded`, `column_groups`. The
    ranking by importance has none, and is no candidate where one is set. `left_out` are columns that are not searched, because
    others are equivalent; if there are any, all other columns are a candidate.
    """
    column_options = column_options or {}
    searched = [j for j in schema.used.tolist() if j not in left_out]
    n_rows, n_columns = schema.n_rows, max(len(searched), 1)
    sizes = _compared_sizes(schema, searched, n_features)

    def add_path(name: str, merit: Merit, max_sets: int) -> None:
        """Add a forward search as far as it evaluates at most so many sets."""
        few = [size for size in sizes if size * (n_columns - size // 2) <= max_sets]
        if few:
            found[name] = PathAdapter(SubsetSelector(merit, Forward(**column_options), random_state=0), few, left_out)

    found: dict[str, SelectorAdapter] = {}
    add_path("mrmr", MRMR(missing=missing), MAX_MRMR_WORK // (n_rows + SET_ROWS))
    # For more than two classes ROC AUC needs a pass per class; balanced accuracy is not dominated by frequent classes either.
    scoring = None if not schema.has_classes else "balanced_accuracy" if schema.n_classes > 2 else "roc_auc"
    if schema.has_classes or schema.n_coordinates <= _MAX_COORDINATES:
        model = "naive_bayes" if schema.has_classes else "ridge"
        add_path(
            "wrapper", CrossValidated(model, cv=_INNER_FOLDS, scoring=scoring), MAX_WRAPPER_WORK // (n_rows + SET_ROWS)
        )
    if all(value is None for value in column_options.values()):
        importance: Relevance = TreeImportance(max_rows=max(_MIN_TREE_ROWS, _MAX_TREE_VALUES // n_columns))
        if n_columns <= _MAX_PERMUTED:
            importance = PermutationImportance("gradient_boosting", cv=3, scoring=scoring, n_repeats=1)
        found["importance"] = PathAdapter(RankSelector(importance), sizes, left_out)
        if left_out and n_features is None:
            found["distinct"] = ColumnSetAdapter(searched, _LABELS["distinct"])
    return {name: one for name, one in found.items() if name in _DEFAULTS}


def _compared_sizes(schema: Schema, searched: Sequence[int], n_features: SetSize | None) -> list[int]:
    """Return the numbers of columns to compare, fewer than there are unless `n_features` asks for all."""
    n_columns = len(searched)
    if n_features is None:
        # A column with few values may have none in a fold, which then has a column fewer to choose from.
        n_columns = sum(2 * schema.columns[j].n_missing < schema.n_rows for j in searched)
        return [size for size in _SIZES if size < n_columns] or [1]
    least, most = size_range(n_features, n_columns, n_columns)
    return sorted({max(least, 1), most, *(size for size in _SIZES if least <= size <= most)})


@dataclass(frozen=True)
class SearchedSets:
    """The column sets that a candidate selects on all rows and in every fold: one, or one for each size of a path."""

    label: str
    supports: Masks
    fold_sets: Masks


def _search_candidates(
    trial: Trial, selectors: Mapping[str, SelectorAdapter]
) -> tuple[dict[str, SearchedSets], list[Verdict]]:
    """Return the columns of every candidate on all rows and in every fold, and a note for each candidate that failed."""
    used = np.zeros((1, trial.table.schema.n_columns), dtype=bool)
    used[0, trial.table.schema.used] = True
    found = {ALL_COLUMNS: SearchedSets("All columns", used, np.tile(used, (1, len(trial.folds), 1)))}
    failure_notes = []
    for name, one in selectors.items():
        try:
            found[name] = _search_candidate(trial, one, _LABELS.get(name), side_by_side=name in _KERNEL_SEARCHES)
        except (DataError, MemoryError) as error:
            sentence = f"{_LABELS.get(name, one.label)} is left out of the comparison: {error}"
            failure_notes.append(Verdict("TZ503", sentence))
    return found, failure_notes


def _search_candidate(
    trial: Trial, selector: SelectorAdapter, label: str | None, *, side_by_side: bool
) -> SearchedSets:
    table, folds = trial.table, trial.folds
    selector.check(table.schema)

    def choose(at: int) -> dict[int, Masks]:
        rows = as_training_table(table if at < 0 else select_rows(table, folds[at].train))
        return selector.select_by_size(rows, folds.table_seed if at < 0 else folds.seeds[at])

    names = ["All rows", *number_items("Fold", len(folds))]
    on_all_rows, *in_folds = [
        sets
        for sets, _ in repeat_selections(
            f"Searches by {selector.label}",
            selector,
            table,
            choose,
            range(-1, len(folds)),
            names,
            side_by_side=side_by_side,
        )
    ]
    # A column with few values may have none in a fold, which then has fewer columns to choose from.
    sizes = [size for size in on_all_rows if all(size in sets for sets in in_folds)]
    if not sizes:
        raise DataError("the folds have no set of the same size.")
    return SearchedSets(
        label or selector.label,
        np.stack([on_all_rows[size] for size in sizes]),
        np.stack([[sets[size] for sets in in_folds] for size in sizes]),
    )


# The largest share of what the reference leaves unexplained (1 - score) that the recommended columns may leave in addition.
LARGEST_LOSS = 0.05
# A loss that counts as negligible, whatever is left unexplained.
NEGLIGIBLE_LOSS = 0.01
# After so many sets that are worse for certain, one after the other, the smaller sets of a path are not scored.
_FAILURES = 2


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
    keep_all: bool = True,
    recommend: str | None = None,
    random_state: Seed = 0,
    n_jobs: int | None = None,
    params: Mapping[str, Any] | None = None,
) -> Recommendation:
    """Return the fewest columns with which the best model is shown to be as good as with all columns.

    Parameters
    ----------
    X, y, groups, time, sample_weight
        As in `selection_report`.
    candidates : dict of selectors by name, default=None
        The selections to compare with all columns; the name "all_columns" is reserved. None is three paths of sets of 1 to 48
        columns, each repeated in every fold: a forward search by MRMR; a forward search by the cross-validated score of naive Bayes
        (ROC AUC; for more than two classes balanced accuracy), or of ridge regression for a numeric target of at most 1,000 numbers
        and indicators in a row; and the ranking by permutation importance in gradient boosting (above 100 columns by tree
        importance). Paths of wide or long tables end with fewer columns. Of equivalent columns (copies, one-to-one recodings) the
        one with the fewest missing values is then used; a note names the others.
    models : list of str, default=None
        Names of models, as in `CrossValidated`. None is logistic regression and naive Bayes for classes, ridge regression for a
        numeric target, and 5 nearest neighbours, a random forest and gradient boosting. The one with the best score on all columns
        decides.
    scoring : list of str, default=None
        Names of scikit-learn scorers; the first one decides. None is ROC AUC, balanced accuracy and accuracy for classes, and R2
        for a numeric target.
    n_splits : int, default=5
        Folds; every candidate is searched in each, and once on all rows.
    max_rows : int, default=None
        A larger table is sampled to this number of rows.
    keep_all : bool, default=True
        Whether all columns may be recommended; they are always compared.
    recommend : str, default=None
        The name of the candidate to recommend, whatever it loses; of a path, its smallest set within the rule, else its best. None
        is any candidate, by the rule.
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
        When there is no target, when the rows do not allow folds, or when the search of the candidate `recommend` fails. Any other
        candidate that fails is left out, with a note.

    Notes
    -----
    The model with the best mean score on all columns decides. Every other model whose score there is within one standard error of
    the best may lose the margin below on a set, on average. The reference is all columns, or the set with the best score of this
    model if it is better than all columns by more than the standard error of the difference. Let d be the fold scores on the
    reference minus those on a set, and e the share that the reference leaves unexplained: 1 minus its score (0 minus its score for
    scores such as "neg_mean_squared_error"). The set with the fewest columns is recommended for which

    .. math:: \\bar d + s_d \\le \\max(0.05 \\, e, 0.01)

    with :math:`s_d` the standard error of :math:`\\bar d`, corrected for the overlap of training sets. A large loss is thus ruled
    out, not merely unproven: where the standard error is large, more columns are kept. All columns are recommended if no smaller
    set qualifies. Sets whose columns, selected on all rows, do not qualify when they are scored in the folds are left out.

    The score of the recommended set in `paths` is slightly optimistic, because it is the best of many; `score` repeats the choice
    without each fold. Smaller sets of a path are not scored after two sets with a larger loss for certain. Cost: `n_splits` + 1
    searches for every candidate, and `n_splits` fits for each set.

    References
    ----------
    Nadeau and Bengio (2003), Inference for the generalization error, Machine Learning 52; Varma and Simon (2006), Bias in error
    estimation when using cross-validation for model selection, BMC Bioinformatics 7; Wellek (2010), Testing statistical hypotheses
    of equivalence and noninferiority, chapter 2.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tamiz.assessment import recommend_columns
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> found = recommend_columns(X, y, models=["naive_bayes"], n_splits=3)
    >>> found.recommended, len(found.columns)
    ('wrapper', 3)
    """
    rng = make_rng(random_state)
    check_integer("n_splits", n_splits, low=2)
    if max_rows is not None:
        check_integer("max_rows", max_rows, low=2)
    if candidates is not None and ALL_COLUMNS in candidates:
        raise ValueError(f"candidates must not name {ALL_COLUMNS!r}: all columns are compared in any case.")
    if recommend is not None and candidates is not None:
        check_choice("recommend", recommend, list(candidates))
    params = params or {}
    readers = [reader for selector in (candidates or {}).values() for reader in metadata_readers(selector)]
    check_metadata("recommend_columns()", readers, params)
    with parallel.thread_session(n_jobs), ignore_known_warnings():
        table = with_metadata(as_table(X, y, sample_weight, groups=groups, time=time), params)
        rows = opened, _ = open_rows("recommend_columns", table, max_rows, n_splits, rng)
        schema = opened.schema
        same, equivalence_notes = dict[int, int](), list[Verdict]()
        if candidates is None:
            same = leave_out_equivalents(positive_weight_rows(table))[1]
            equivalence_notes = describe_equivalents(same, schema.names)
        # The folds of a sample are those of a table of these rows.
        folds = draw_folds(opened, n_splits, make_rng(random_state) if isinstance(random_state, Integral) else rng)
        trial = Trial.open(rows, folds, models, scoring, model_seed(random_state, folds))
        selectors = default_candidates(schema, left_out=same) if candidates is None else candidates
        found, failure_notes = _search_candidates(trial, {name: adapt_selector(one) for name, one in selectors.items()})
        if recommend is not None and recommend not in found:
            raise DataError(" ".join(failure_notes) or f"No candidate is named {recommend!r}.")
        pool, baseline, fit_notes = _score_pool(trial, found)
        pool = pool.restrict(recommend, keep_all=keep_all)
        chosen, rejected, apparent = _choose(trial, pool)
        made = _score_candidates(trial, found, pool, chosen, list(rejected))
        sets = pool.chosen_without_each_fold(chosen, list(rejected))
    labels = {name: one.label for name, one in found.items()}
    notes = (
        *trial.row_notes, *trial.model_notes, *failure_notes, *fit_notes, *_rejection_notes(trial, pool, rejected, labels),
    )  # fmt: skip
    warn_user(notes)
    return Recommendation(
        candidates=made,
        recommended=pool.names[chosen],
        paths=_scored_paths(pool, schema.names),
        score=FoldScores(pool.scores[0, sets, range(len(folds))], folds.variance_factor),
        apparent=FoldScores(apparent, folds.variance_factor),
        fold_sets=pool.fold_sets[sets, range(len(folds))],
        names=tuple(schema.names),
        margin=pool.rate().margin,
        deciding_model=pool.model,
        models=trial.labels,
        scorings=tuple(one.name for one in trial.scorings),
        baseline=baseline,
        folds_description=folds.description,
        n_samples=len(folds.used_rows),
        n_columns=len(schema.used),
        notes=(*notes, *equivalence_notes),
        seed=trial.seed,
        requested=recommend is not None,
    )


def _rejection_notes(
    trial: Trial, pool: _Pool, rejected: Mapping[int, str], labels: Mapping[str, str]
) -> list[Verdict]:
    """Return why smaller selections are not recommended, each with the model that decided so; `labels` are those of candidates."""
    notes = [
        Verdict(
            "TZ304",
            f"{labels[pool.names[at]]} with {pool.sizes[at]} column{'s' * int(pool.sizes[at] != 1)} is not recommended: the "
            "columns that it selects on all rows differ from those in the folds, and are not shown to be as good.",
        )
        for at, model in rejected.items()
        if model == pool.model
    ]
    if others := list(dict.fromkeys(trial.models[model].label for model in rejected.values() if model != pool.model)):
        n = sum(model != pool.model for model in rejected.values())
        sentence = (
            f"{n} smaller selection{'s are' if n > 1 else ' is'} not recommended, because on them {list_names(others)} loses more, "
            "which may be the best model on all columns."
        )
        notes.append(Verdict("TZ303", sentence))
    return notes


@dataclass(frozen=True)
class RatedSets:
    """The sets of which a larger loss than `margin` is ruled out (`good`), and those with a larger loss for certain (`worse`)."""

    good: Masks
    worse: Masks
    margin: float


def loss_margin(score: float, perfect: float) -> float:
    """Return the loss that a reference with some score may have."""
    return max(LARGEST_LOSS * (perfect - score), NEGLIGIBLE_LOSS)


@dataclass(frozen=True)
class _Pool:
    """All compared sets, that of all columns first.

    Attributes
    ----------
    contenders : dict of ndarray of shape (n_folds,)
        The scores on all columns of models that are within a standard error of the best one, by name.
    names : list of str
        The candidate of each set.
    supports : ndarray of shape (n_sets, n_columns), bool
        The columns selected on all rows.
    fold_sets : ndarray of shape (n_sets, n_folds, n_columns), bool
    model : str
        The model that decides.
    scores : ndarray of shape (n_scorings, n_sets, n_folds)
    variance_factor, perfect : float
        As in `FoldScores`, and the largest possible score.
    allowed : ndarray of shape (n_sets,), bool
        The sets that may be recommended.
    """

    contenders: dict[str, Floats]
    names: list[str]
    supports: Masks
    fold_sets: Masks
    model: str
    scores: Floats
    variance_factor: float
    perfect: float
    allowed: Masks

    def restrict(self, candidate: str | None, *, keep_all: bool) -> _Pool:
        """Return the pool of which only the sets of a candidate, or any but all columns, may be recommended."""
        allowed = np.array([candidate in (None, name) for name in self.names])
        if candidate is None and len(allowed) > 1:
            allowed[0] = keep_all
        return replace(self, allowed=allowed)

    @property
    def sizes(self) -> Indices:
        return self.supports.sum(axis=1)

    def rate(self, folds: Sequence[int] | None = None) -> RatedSets:
        """Return which sets are as good as the reference, by the rule of `recommend_columns`, on some folds or on all."""
        scores = self.scores[0] if folds is None else self.scores[0][:, folds]
        # The variance of the mean over fewer folds is larger.
        factor = self.variance_factor + 1 / scores.shape[1] - 1 / self.scores.shape[2]
        means = scores.mean(axis=1)
        best = int(means.argmax())
        gain = FoldScores(scores[best] - scores[0], factor)
        reference = best if gain.mean > gain.standard_error else 0
        losses = scores[reference] - scores
        mean, errors = losses.mean(axis=1), np.sqrt(factor * losses.var(axis=1, ddof=1))
        margin = loss_margin(float(means[reference]), self.perfect)
        return RatedSets(mean + errors <= margin, mean - errors > margin, margin)

    def choose(self, rejected: Sequence[int], folds: Sequence[int] | None = None) -> int:
        """Return the smallest good set, of equally small ones the best; without any, all columns, or else the best set."""
        means = (self.scores[0] if folds is None else self.scores[0][:, folds]).mean(axis=1)
        eligible = self.allowed.copy()
        eligible[list(rejected)] = False
        good = self.rate(folds).good & eligible
        if not good.any():
            return 0 if eligible[0] else int(np.where(eligible, means, -np.inf).argmax())
        return int(min(np.flatnonzero(good), key=lambda at: (self.sizes[at], -means[at])))

    def chosen_without_each_fold(self, chosen: int, rejected: Sequence[int]) -> list[int]:
        """Return for each fold the set that the other folds choose; with two folds, the chosen set."""
        n_folds = self.scores.shape[2]
        if n_folds < 3:
            return [chosen] * n_folds
        return [self.choose(rejected, [k for k in range(n_folds) if k != fold]) for fold in range(n_folds)]


def _score_pool(
    trial: Trial, searched: Mapping[str, SearchedSets]
) -> tuple[_Pool, dict[str, FoldScores], list[Verdict]]:
    """Return all sets with their scores, the baseline scores by scorer, and the warnings of fits."""
    factor, models = trial.folds.variance_factor, list(trial.models)
    every = searched[ALL_COLUMNS]
    # All columns, and none.
    ends, notes = trial.score(np.concatenate([every.fold_sets, np.zeros_like(every.fold_sets)]))
    best = int(ends[:, 0, 0].mean(axis=1).argmax())
    name = trial.scorings[0].name
    scores = ends[:, 0, 0]
    behind = [FoldScores(scores[best] - one, factor) for one in scores]
    pool = _Pool(
        contenders={
            model: one
            for model, one, lag in zip(models, scores, behind, strict=True)
            if 0 < lag.mean <= lag.standard_error
        },
        names=[ALL_COLUMNS],
        supports=every.supports,
        fold_sets=every.fold_sets,
        model=models[best],
        scores=ends[best, :, :1],
        variance_factor=factor,
        perfect=0.0 if name.startswith("neg_") or name == "max_error" else 1.0,
        allowed=np.ones(1, dtype=bool),
    )
    left = {name: list(range(len(one.supports))) for name, one in searched.items() if name != ALL_COLUMNS}
    while left:
        # The largest set of every path that is left.
        at = {name: sets.pop() for name, sets in left.items()}
        fold_sets = np.stack([searched[name].fold_sets[k] for name, k in at.items()])
        more, more_notes = trial.score(fold_sets, [pool.model])
        notes += more_notes
        pool = replace(
            pool,
            names=[*pool.names, *at],
            supports=np.concatenate([pool.supports, [searched[name].supports[k] for name, k in at.items()]]),
            fold_sets=np.concatenate([pool.fold_sets, fold_sets]),
            scores=np.concatenate([pool.scores, more[0]], axis=1),
        )
        worse = pool.rate().worse
        own = {name: [bool(worse[k]) for k, of in enumerate(pool.names) if of == name] for name in left}
        left = {name: sets for name, sets in left.items() if sets and own[name][-_FAILURES:] != _FAILURES * [True]}
    baseline = {one.name: FoldScores(ends[0, k, 1], factor) for k, one in enumerate(trial.scorings)}
    return pool, baseline, list(dict.fromkeys(notes))


def _choose(trial: Trial, pool: _Pool) -> tuple[int, dict[int, str], Floats]:
    """Return the recommended set, the model under which each rejected set may lose more, and the scores on all rows' columns.

    A search may select other columns on all rows than in the folds: these columns are scored in the folds too.
    """
    rejected: dict[int, str] = {}
    apparent: dict[int, Floats] = {}
    while True:
        at = pool.choose(list(rejected))
        fixed = np.tile(pool.supports[at], (1, pool.fold_sets.shape[1], 1))
        scores = pool.scores
        if (fixed[0] != pool.fold_sets[at]).any():
            scores = np.concatenate([scores, trial.score(fixed, [pool.model])[0][0]], axis=1)
            apparent[at] = scores[0, -1]
        else:
            apparent[at] = scores[0, at]
        if at == 0:
            return at, rejected, apparent[at]
        fixed_is_good = scores is pool.scores or replace(pool, scores=scores).rate().good[-1]
        losing = _losing_contender(trial, pool, at) if fixed_is_good else pool.model
        if losing is None:
            return at, rejected, apparent[at]
        rejected[at] = losing
        if len(rejected) == pool.allowed.sum():
            first = next(iter(rejected))
            return first, {k: model for k, model in rejected.items() if k != first}, apparent[first]


def _losing_contender(trial: Trial, pool: _Pool, at: int) -> str | None:
    """Return a model that may be the best one on all columns and loses more than the margin on a set; None if there is none."""
    if not pool.contenders:
        return None
    found = trial.score(pool.fold_sets[[at]], list(pool.contenders))[0][:, 0, 0]
    for (model, every), one in zip(pool.contenders.items(), found, strict=True):
        if (every - one).mean() > loss_margin(float(every.mean()), pool.perfect):
            return model
    return None


def _score_candidates(
    trial: Trial,
    searched: Mapping[str, SearchedSets],
    pool: _Pool,
    chosen: int,
    rejected: Sequence[int],
) -> dict[str, CandidateSelection]:
    """Return one set of every candidate under all models: the recommended one, else the smallest good one, else the best."""
    means, good = pool.scores[0].mean(axis=1), pool.rate().good
    good[list(rejected)] = False
    shown = []
    for name in searched:
        own = [at for at, of in enumerate(pool.names) if of == name]
        best = min(own, key=lambda at: (not good[at], pool.sizes[at] if good[at] else -means[at]))
        shown.append(chosen if chosen in own else best)
    models = list(trial.models)
    scores = np.empty((len(models), len(trial.scorings), len(shown), len(trial.folds)))
    scores[models.index(pool.model)] = pool.scores[:, shown]
    if others := [name for name in models if name != pool.model]:
        scores[[models.index(name) for name in others]] = trial.score(pool.fold_sets[shown], others)[0]
    names = np.array(trial.table.schema.names, dtype=object)
    made = {}
    for k, (name, at) in enumerate(zip(searched, shown, strict=True)):
        made[name] = CandidateSelection(
            searched[name].label,
            tuple(names[pool.supports[at]].tolist()),
            pool.fold_sets[at],
            {
                (model, scoring.name): FoldScores(scores[m, q, k], pool.variance_factor)
                for m, model in enumerate(models)
                for q, scoring in enumerate(trial.scorings)
            },
        )
    return made


def _scored_paths(pool: _Pool, names: Sequence[str]) -> dict[str, ScoredPath]:
    """Return the scores of the sets of every candidate but all columns."""
    scores, columns = pool.scores[0], np.array(names, dtype=object)
    paths = {}
    for name in dict.fromkeys(pool.names[1:]):
        own = [at for at, of in enumerate(pool.names) if of == name][::-1]
        paths[name] = ScoredPath(
            tuple(tuple(columns[pool.supports[at]].tolist()) for at in own),
            tuple(FoldScores(scores[at], pool.variance_factor) for at in own),
            tuple(FoldScores(scores[at] - scores[0], pool.variance_factor) for at in own),
        )
    return paths

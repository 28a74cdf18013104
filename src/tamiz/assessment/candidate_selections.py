"""Candidate selections of a recommendation: the default ones, their searches on all rows and in every fold, and their scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.assessment.fold_scores import FoldScores, score_models
from tamiz.assessment.repeated_searches import run_with_progress
from tamiz.assessment.selector_adapters import (
    InformativeSelectorAdapter,
    LimitedSelectorAdapter,
    SampledSelectorAdapter,
    SelectorAdapter,
    adapt_selector,
)
from tamiz.criteria.cfs import CFS
from tamiz.criteria.cross_validated import CrossValidated
from tamiz.criteria.entropy_relevance import MissingRule
from tamiz.criteria.independence_test import IndependenceTest
from tamiz.criteria.mrmr import MRMR
from tamiz.exceptions import DataError
from tamiz.models.folds import Folds
from tamiz.models.named_models import Model
from tamiz.models.scoring import Scoring
from tamiz.search.base import SetSize
from tamiz.search.best_first import BestFirst
from tamiz.search.forward import Forward
from tamiz.search.stopping import Seconds
from tamiz.selection.rank_selector import RankSelector
from tamiz.selection.size_search import SizeSearchCV
from tamiz.selection.subset_selector import SubsetSelector
from tamiz.sources.base import Source
from tamiz.sources.schema import Schema
from tamiz.sources.views import as_training_source, select_rows

ALL_COLUMNS = "all_columns"
# The labels of the default candidates.
_LABELS = {
    "cfs": "CFS",
    "naive_bayes": "Naive Bayes wrapper",
    "ridge": "Ridge wrapper",
    "knn": "Nearest neighbours wrapper",
    "mrmr": "MRMR",
    "tests": "Independence tests",
}
# The default candidates that a comparison uses if they suit the table.
_DEFAULTS = tuple(_LABELS)
# Default candidates whose searches spend most of their time in kernels; the others are mostly Python code.
_KERNEL_SEARCHES = ("ridge", "knn")
# With more coordinates the searches by ridge regression and nearest neighbours are too slow for a default.
_MAX_COORDINATES = 1_000
# Folds of the wrappers inside each fold of the comparison.
_INNER_FOLDS = 5
# The cost of nearest neighbours is quadratic in the rows: the search uses at most this number of rows.
_MAX_NEIGHBOR_ROWS = 1_000
# Numbers of columns that MRMR is compared with: small ones differ most in their scores.
_SIZES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24)
# The largest false discovery rate of the independence tests.
_FDR = 0.05


@dataclass(frozen=True)
class CandidateSelection:
    """One of several compared selections.

    Attributes
    ----------
    label : str
    columns : tuple of str
        The columns selected on all rows.
    fold_sets : ndarray of shape (n_folds, n_table_columns), bool
        The columns selected on the training rows of every fold.
    scores : dict of FoldScores
        By (model, scorer).
    """

    label: str
    columns: tuple[str, ...]
    fold_sets: NDArray[np.bool_]
    scores: dict[tuple[str, str], FoldScores]

    @property
    def mean_size(self) -> float:
        """The mean number of columns selected in a fold."""
        return float(self.fold_sets.sum(axis=1).mean())

    def mean_score(self, scoring: str) -> FoldScores:
        """Return the mean of the models' scores in every fold."""
        found = [scores for (_, name), scores in self.scores.items() if name == scoring]
        return FoldScores(np.mean([scores.values for scores in found], axis=0), found[0].variance_factor)


def default_candidates(
    schema: Schema,
    missing: MissingRule = "distribute",
    *,
    max_seconds: float | None = None,
    n_features: SetSize | None = None,
    column_options: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the default candidates for a table.

    Parameters
    ----------
    schema : Schema
    missing : {"distribute", "category"}, default="distribute"
        How CFS and MRMR treat missing values.
    max_seconds : float, default=None
        Time limit of the search of a wrapper. MRMR is left out if the estimate of its time is longer.
    n_features : int, float or (least, most), default=None
        As in `SubsetSelector`.
    column_options : dict, default=None
        Parameters of the searches that restrict the columns: `start`, `fixed`, `excluded`, `column_groups`.

    Notes
    -----
    MRMR and the independence tests choose their number of columns themselves, among all columns: they are no candidates where
    `n_features` or a column option is set. The tests need independent rows: they are none for rows with groups or times.
    """
    column_options = column_options or {}
    stop = None if max_seconds is None else Seconds(max_seconds)

    def wrapper(model: str, scoring: str | None = None) -> SubsetSelector:
        merit = CrossValidated(model, cv=_INNER_FOLDS, scoring=scoring)
        return SubsetSelector(merit, Forward(**column_options), n_features=n_features, stop=stop, random_state=0)

    by_cfs = SubsetSelector(CFS(missing=missing), BestFirst(**column_options), n_features=n_features, random_state=0)
    # For more than two classes ROC AUC needs a pass per class; balanced accuracy is not dominated by frequent classes either.
    class_scoring = "balanced_accuracy" if schema.n_classes > 2 else "roc_auc"
    found: dict[str, Any] = {"cfs": by_cfs}
    if schema.has_classes:
        found["naive_bayes"] = wrapper("naive_bayes", class_scoring)
    if schema.n_coordinates <= _MAX_COORDINATES:
        found["ridge"] = wrapper("ridge")
        if schema.weight is None:
            by_neighbors = wrapper("knn", "balanced_accuracy" if schema.has_classes else "r2")
            found["knn"] = SampledSelectorAdapter(adapt_selector(by_neighbors), _MAX_NEIGHBOR_ROWS)
    if n_features is None and all(value is None for value in column_options.values()):
        by_mrmr: SelectorAdapter = adapt_selector(_size_search(schema, missing, class_scoring))
        if schema.has_classes:
            by_mrmr = InformativeSelectorAdapter(by_mrmr, missing)
        limit = np.inf if max_seconds is None else max_seconds
        found["mrmr"] = LimitedSelectorAdapter(by_mrmr, mrmr_seconds(schema, schema.n_rows), limit)
        if schema.groups is None and schema.time is None:
            found["tests"] = RankSelector(IndependenceTest(), fdr=_FDR)
    return {name: selector for name, selector in found.items() if name in _DEFAULTS}


def _size_search(schema: Schema, missing: MissingRule, class_scoring: str) -> SizeSearchCV:
    """Return the forward selection by MRMR, with the number of columns by cross-validation of naive Bayes or ridge regression."""
    # A column with few values may have none in a fold, which is then a column fewer to choose from.
    n_columns = sum(2 * schema.columns[j].n_missing < schema.n_rows for j in schema.used.tolist())
    sizes = [size for size in _SIZES if size <= n_columns] or [1]
    model, scoring = ("naive_bayes", class_scoring) if schema.has_classes else ("ridge", "r2")
    search = SubsetSelector(MRMR(missing=missing), Forward())
    return SizeSearchCV(search, model, sizes=sizes, cv=_INNER_FOLDS, scoring=scoring)


def mrmr_seconds(schema: Schema, n_rows: int) -> float:
    """Return the approximate seconds of the size search by MRMR on a number of rows.

    Fitted to tables of 60 to 3,000 rows and 3 to 1,000 columns. The number of columns that are selected is bounded, so that the
    cost is linear in the number of columns. For a numeric target, ridge regression is refitted for every size: a system with an
    unknown for each level, or for each row if there are fewer.
    """
    n_columns = len(schema.used)
    n_levels = sum(min(n, n_rows) for n in schema.n_levels.values())
    refits = 0.0 if schema.has_classes else 0.1 + 2e-9 * n_levels * min(n_levels, n_rows) * n_rows
    return 0.05 + refits + 3.3e-3 * n_columns + 6e-7 * n_rows * n_columns


@dataclass(frozen=True)
class SearchedCandidate:
    """The columns that a candidate selects on all rows (`support`), and in every fold."""

    label: str
    support: NDArray[np.bool_]
    fold_sets: NDArray[np.bool_]


@dataclass(frozen=True)
class CandidateComparison:
    """Searches and scores candidates on the same table, folds and models."""

    source: Source
    folds: Folds
    models: dict[str, Model]
    scorings: list[Scoring]
    seed: int

    def search_candidates(
        self, selectors: Mapping[str, SelectorAdapter]
    ) -> tuple[dict[str, SearchedCandidate], list[str]]:
        """Return the columns of every candidate on all rows and in every fold, and a note for each candidate that failed."""
        schema, parts = self.source.schema, self.folds.splits
        used = np.zeros(schema.n_columns, dtype=bool)
        used[schema.used] = True
        found = {ALL_COLUMNS: SearchedCandidate("All columns", used, np.tile(used, (len(parts), 1)))}
        failure_notes = []
        for name, one in selectors.items():
            try:
                found[name] = self._search_candidate(one, _LABELS.get(name), side_by_side=name in _KERNEL_SEARCHES)
            except (DataError, MemoryError) as error:
                failure_notes.append(f"{_LABELS.get(name, one.label)} is left out of the comparison: {error}")
        return found, failure_notes

    def _search_candidate(
        self, selector: SelectorAdapter, label: str | None, *, side_by_side: bool
    ) -> SearchedCandidate:
        selector.check(self.source.schema)
        parts, seeds = self.folds.splits, self.folds.seeds

        def choose(at: int) -> NDArray[np.bool_]:
            rows = as_training_source(self.source if at < 0 else select_rows(self.source, parts[at].train))
            choice = selector.select(rows, self.folds.table_seed if at < 0 else seeds[at])
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
            side_by_side=side_by_side,
        )
        return SearchedCandidate(label or selector.label, sets[0][0], np.stack([support for support, _ in sets[1:]]))

    def score_candidates(
        self, searched_candidates: Mapping[str, SearchedCandidate]
    ) -> tuple[dict[str, dict[tuple[str, str], FoldScores]], dict[str, FoldScores], list[str]]:
        """Return the scores of every candidate by (model, scorer), the baseline scores by scorer, and the warnings of fits."""
        none = np.zeros((len(self.folds), self.source.schema.n_columns), dtype=bool)
        sets = np.stack([*(one.fold_sets for one in searched_candidates.values()), none])
        values, notes = score_models(self.models, self.source, self.folds, self.scorings, sets, self.seed)

        def scores(which: int) -> dict[tuple[str, str], FoldScores]:
            return {
                (model, scoring.name): FoldScores(own[k, which], self.folds.variance_factor)
                for model, own in values.items()
                for k, scoring in enumerate(self.scorings)
            }

        first = next(iter(self.models))
        baseline = {scoring: one for (model, scoring), one in scores(len(sets) - 1).items() if model == first}
        return {name: scores(s) for s, name in enumerate(searched_candidates)}, baseline, notes

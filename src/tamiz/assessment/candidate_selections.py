"""Candidate selections of a recommendation: paths of column sets of growing size, searched in every fold, and their scores."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tamiz.arrays import Floats, Masks
from tamiz.assessment.fold_scores import score_models
from tamiz.assessment.repeated_searches import run_with_progress
from tamiz.assessment.score_report import ALL_COLUMNS
from tamiz.assessment.selector_adapters import ColumnSetAdapter, PathAdapter, SelectorAdapter
from tamiz.criteria.base import Merit, Relevance
from tamiz.criteria.cross_validated import CrossValidated
from tamiz.criteria.entropies import MissingRule
from tamiz.criteria.information_merits import MRMR
from tamiz.criteria.permutation_importance import PermutationImportance
from tamiz.criteria.tree_importance import TreeImportance
from tamiz.exceptions import DataError
from tamiz.models.folds import Folds
from tamiz.models.named_models import Model
from tamiz.models.scoring import Scoring
from tamiz.runtime.verdicts import Verdict
from tamiz.search.base import SetSize, size_range
from tamiz.search.greedy import Forward
from tamiz.selection.rank_selector import RankSelector
from tamiz.selection.subset_selector import SubsetSelector
from tamiz.table.base import Table
from tamiz.table.schema import Schema
from tamiz.table.views import as_training_table, select_rows

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

    Parameters
    ----------
    schema : Schema
    missing : {"distribute", "category"}, default="distribute"
        How MRMR treats missing values.
    n_features : int, float or (least, most), default=None
        As in `SubsetSelector`.
    column_options : dict, default=None
        Parameters of the searches that restrict the columns: `start`, `fixed`, `excluded`, `column_groups`. The ranking by
        importance has none, and is no candidate where one is set.
    left_out : collection of column numbers, default=()
        Columns that are not searched, because others are equivalent. If there are any, all other columns are a candidate.
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
    """The column sets that a candidate selects on all rows and in every fold: one, or one for each size of a path.

    Attributes
    ----------
    label : str
    supports : ndarray of shape (n_sets, n_columns), bool
    fold_sets : ndarray of shape (n_sets, n_folds, n_columns), bool
    """

    label: str
    supports: Masks
    fold_sets: Masks


@dataclass(frozen=True)
class CandidateComparison:
    """Searches and scores candidates on the same table, folds and models."""

    table: Table
    folds: Folds
    models: dict[str, Model]
    scorings: list[Scoring]
    seed: int

    def all_columns(self) -> SearchedSets:
        used = np.zeros((1, self.table.schema.n_columns), dtype=bool)
        used[0, self.table.schema.used] = True
        return SearchedSets("All columns", used, np.tile(used, (1, len(self.folds), 1)))

    def search_candidates(
        self, selectors: Mapping[str, SelectorAdapter]
    ) -> tuple[dict[str, SearchedSets], list[Verdict]]:
        """Return the columns of every candidate on all rows and in every fold, and a note for each candidate that failed."""
        found = {ALL_COLUMNS: self.all_columns()}
        failure_notes = []
        for name, one in selectors.items():
            try:
                found[name] = self._search_candidate(one, _LABELS.get(name), side_by_side=name in _KERNEL_SEARCHES)
            except (DataError, MemoryError) as error:
                sentence = f"{_LABELS.get(name, one.label)} is left out of the comparison: {error}"
                failure_notes.append(Verdict("TZ503", sentence))
        return found, failure_notes

    def _search_candidate(self, selector: SelectorAdapter, label: str | None, *, side_by_side: bool) -> SearchedSets:
        selector.check(self.table.schema)
        parts, seeds = self.folds.splits, self.folds.seeds

        def choose(at: int) -> dict[int, Masks]:
            rows = as_training_table(self.table if at < 0 else select_rows(self.table, parts[at].train))
            return selector.select_by_size(rows, self.folds.table_seed if at < 0 else seeds[at])

        results = run_with_progress(
            f"Searches by {selector.label}",
            self.table,
            choose,
            [-1, *range(len(parts))],
            lambda at: f"Fold {at} of {len(parts)}" if at else "All rows",
            evaluation_cost=selector.evaluation_cost,
            side_by_side=side_by_side,
        )
        on_all_rows, *in_folds = [sets for sets, _ in results]
        # A column with few values may have none in a fold, which then has fewer columns to choose from.
        sizes = [size for size in on_all_rows if all(size in sets for sets in in_folds)]
        if not sizes:
            raise DataError("the folds have no set of the same size.")
        return SearchedSets(
            label or selector.label,
            np.stack([on_all_rows[size] for size in sizes]),
            np.stack([[sets[size] for sets in in_folds] for size in sizes]),
        )

    def score_sets(self, models: Sequence[str], fold_sets: Masks) -> tuple[Floats, list[Verdict]]:
        """Return the scores of models on sets, of shape (n_models, n_scorings, n_sets, n_folds), and the warnings of fits."""
        values, notes = score_models(
            {name: self.models[name] for name in models}, self.table, self.folds, self.scorings, fold_sets, self.seed
        )
        return np.stack([values[name] for name in models]), notes

"""Noise experiment: scores of models as random columns, and copies of the best column, are added to a table.

`run_noise_experiment` is the experiment, and `NoiseTable` a table with the added columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats, Masks
from tamiz.assessment.fold_scores import ignore_known_warnings, resolve_scorings, score_models
from tamiz.assessment.repeated_searches import run_with_progress
from tamiz.assessment.score_report import NoiseExperiment
from tamiz.assessment.selector_adapters import SelectorAdapter, adapt_selector, metadata_readers
from tamiz.criteria.base import Merit
from tamiz.criteria.cfs import CFS
from tamiz.exceptions import DataError
from tamiz.models.estimators import check_metadata
from tamiz.models.folds import Folds, draw_folds, drop_zero_weights, sample_rows
from tamiz.models.named_models import resolve_models
from tamiz.runtime import parallel
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.user_warnings import capture_warnings, warn_user
from tamiz.runtime.validation import check_integer
from tamiz.runtime.verdicts import Verdict
from tamiz.search.best_first import BestFirst
from tamiz.selection.subset_selector import SubsetSelector
from tamiz.subsets.candidates import Candidates
from tamiz.table.base import Table
from tamiz.table.factory import as_table
from tamiz.table.schema import Column
from tamiz.table.views import (
    AppendedColumns,
    as_training_table,
    select_columns,
    select_rows,
    with_metadata,
)

N_ADDED = (0, 10, 25, 50)
_MIN_ROWS = 20
# Columns with more levels are not copied: most models have a coordinate for every level of every copy.
_MAX_LEVELS = 20


def run_noise_experiment(
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    time: Any = None,
    sample_weight: Any = None,
    merit: Merit | None = None,
    models: Sequence[str] | None = None,
    scoring: str | None = None,
    n_added: Sequence[int] = N_ADDED,
    selection_n_added: Sequence[int] | None = None,
    n_draws: int = 2,
    max_rows: int = 1000,
    n_splits: int = 10,
    random_state: Seed = 0,
    n_jobs: int | None = None,
    params: Mapping[str, Any] | None = None,
) -> NoiseExperiment:
    """Score models as random columns, and copies of the best column, are added to a table.

    Parameters
    ----------
    X, y, groups, time, sample_weight
        As in `selection_report`.
    merit : Merit, default=None
        The merit by which columns are selected in every fold, by best-first search among the original and added columns; None is
        CFS(). The column of at most 20 levels with the highest merit is copied. A merit that refits models raises DataError.
    models : list of str, default=None
        Names of models, as in `compare_columns`.
    scoring : str, default=None
        The name of a scikit-learn scorer; None is the first of `compare_columns`: ROC AUC for classes, R2 for a numeric target.
    n_added : list of int, default=(0, 10, 25, 50)
        Numbers of added columns; 0 is always included.
    selection_n_added : list of int, default=None
        The numbers, of those in `n_added`, for which columns are selected; None is 0 and the largest.
    n_draws : int, default=2
        The number of draws of random standard normal columns. The first 5 of a draw are the same among 5 and among 50.
    max_rows : int, default=1000
        A larger table is sampled to this number of rows, plus a few for rare classes: at least two rows per fold of every class.
    n_splits, random_state, n_jobs
        As in `selection_report`. The seed also draws the sample of rows and the random columns.
    params : dict, default=None
        Further values of the rows by name, as in `selection_report`: for the estimator and the scorer of the merit.

    Returns
    -------
    NoiseExperiment
        The score of every model on all columns, and on the selected columns, by the number of added columns.

    Raises
    ------
    DataError
        When there is no target, when there are fewer than 20 rows, or when the rows do not allow folds.

    Notes
    -----
    A random column adds noise to every distance, so that nearest neighbours are less similar, and offers spurious splits to a tree
    in small nodes. Naive Bayes gives it little weight, because its distributions hardly differ between classes. A copy is counted
    again in every distance and in naive Bayes, which assumes independent columns: the evidence of k copies counts k times. For a
    tree a copy changes only which of equally good splits it uses. A forest averages its trees, and a penalised regression divides a
    coefficient among copies.

    References
    ----------
    Langley and Sage (1994), Induction of selective Bayesian classifiers, UAI; Kohavi and John (1997), Wrappers for feature subset
    selection, Artificial Intelligence 97.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz.assessment import run_noise_experiment
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> models = ["naive_bayes", "knn", "tree"]
    >>> added = run_noise_experiment(X, y, models=models, scoring="accuracy", n_added=[0, 50])
    >>> for name in added.models:
    ...     random, copies = (added.score_changes(kind, name)[-1].mean for kind in ("random", "copies"))
    ...     print(f"{name:11} {random:+.2f} {copies:+.2f}")
    naive_bayes -0.02 +0.01
    knn         -0.26 +0.01
    tree        -0.01 -0.01
    """
    rng = make_rng(random_state)
    sizes = _check_n_added(n_added)
    selection_sizes = _check_selection_n_added(sizes, selection_n_added)
    for name, value, low in (("n_draws", n_draws, 1), ("max_rows", max_rows, _MIN_ROWS)):
        check_integer(name, value, low=low)
    # Copies must reach the merit, so duplicates are not removed before the search.
    merit, params = merit or CFS(), params or {}
    selector = SubsetSelector(merit, BestFirst(), allow_duplicates=True)
    check_metadata("run_noise_experiment()", metadata_readers(selector), params)
    with parallel.thread_session(n_jobs), ignore_known_warnings():
        original = with_metadata(as_table(X, y, sample_weight, groups=groups, time=time), params)
        whole, weight_notes = drop_zero_weights(original)
        messages = [*original.schema.dropped_row_notes, *weight_notes]
        if whole.schema.target is None:
            raise DataError("run_noise_experiment requires a target, but the target y is None.")
        if whole.schema.n_rows < _MIN_ROWS:
            raise DataError(f"A noise experiment needs at least {_MIN_ROWS} rows, and there are {whole.schema.n_rows}.")
        table, sample_notes = sample_rows(whole, max_rows, n_splits, rng)
        folds = draw_folds(table, n_splits, rng)
        messages += [*sample_notes, *folds.fold_warnings]
        seed = int(random_state) % 2**31 if isinstance(random_state, Integral) else folds.table_seed
        best = _best_column(merit, table)
        draws = [rng.standard_normal((table.schema.n_rows, sizes[-1])) for _ in range(n_draws)]
        noise_table = add_noise_columns(table, draws, best, sizes[-1])
        named_models, model_notes = resolve_models(models, table.schema)
        for name, model in named_models.items():
            model.check(table.schema)
            if model.encoding == "none" and not model.reads_table:
                # Added columns are not in the user's table, whose rows the model would get.
                named_models[name] = replace(model, encoding="standard")
        scorings, scoring_notes = resolve_scorings(
            None if scoring is None else [scoring], table, folds, named_models.values()
        )
        adapter, deciding = adapt_selector(selector), scorings[:1]
        # First, so that an unsupported merit raises before any model is fitted.
        chosen = _select_in_folds(adapter, noise_table, selection_sizes, folds)
        n_folds = len(folds)
        selected, selected_notes = score_models(named_models, noise_table.table, folds, deciding, chosen, seed)
        sets = noise_table.column_sets(sizes, n_draws)
        found, fit_notes = score_models(named_models, noise_table.table, folds, deciding, sets, seed)
    all_scores = {name: values[0].reshape(-1, len(sizes), n_folds) for name, values in found.items()}
    selected_scores = {name: values[0].reshape(-1, len(selection_sizes), n_folds) for name, values in selected.items()}
    n_added_selected = chosen[:, :, noise_table.n_own :].sum(axis=2).reshape(-1, len(selection_sizes), n_folds)
    messages += [*model_notes, *scoring_notes, *dict.fromkeys([*fit_notes, *selected_notes])]
    if best is None:
        sentence = f"No column of at most {_MAX_LEVELS} levels has a positive merit, so none was copied."
        messages.append(Verdict("TZ503", sentence))
    warn_user(messages)
    return NoiseExperiment(
        n_added=sizes,
        models={name: model.label for name, model in named_models.items()},
        scoring=deciding[0].name,
        folds_description=folds.description,
        n_samples=len(folds.used_rows),
        n_columns=len(table.schema.used),
        n_draws=n_draws,
        copied_column=None if best is None else table.schema.names[best],
        random_scores={name: scores[:n_draws] for name, scores in all_scores.items()},
        copies_scores={name: scores[n_draws:] for name, scores in all_scores.items() if best is not None},
        selector=f"{adapter.merit_name} (best-first search)",
        selection_n_added=selection_sizes,
        random_selected_scores={name: scores[:1] for name, scores in selected_scores.items()},
        copies_selected_scores={name: scores[1:] for name, scores in selected_scores.items() if best is not None},
        n_added_selected=dict(zip(("random", "copies"), n_added_selected, strict=False)),
        variance_factor=folds.variance_factor,
        notes=(*messages, *folds.fold_notes),
        seed=seed,
    )


def _select_in_folds(selector: SelectorAdapter, noise_table: NoiseTable, n_added: Sequence[int], folds: Folds) -> Masks:
    """Return the columns selected in every fold from each set, of shape (n_sets, n_folds, n_columns); random columns first."""
    table, sets = noise_table.table, noise_table.column_sets(n_added, 1)
    unique, back = np.unique(sets, axis=0, return_inverse=True)

    def select(at: int) -> Masks:
        train = as_training_table(select_rows(table, folds[at].train))
        views = (select_columns(train, np.flatnonzero(mask).tolist()) for mask in unique)
        return np.stack([selector.select(view, folds.seeds[at]).support for view in views])

    n_folds = len(folds)
    results = run_with_progress(
        "Selections in folds",
        table,
        select,
        range(n_folds),
        lambda at: f"Fold {at + 1} of {n_folds}",
        evaluation_cost=selector.evaluation_cost,
    )
    return np.stack([found for found, _ in results], axis=1)[back.ravel()]


def _check_n_added(n_added: Sequence[int]) -> tuple[int, ...]:
    for number in n_added:
        check_integer("n_added", number, low=0)
    found = tuple(sorted({0, *map(int, n_added)}))
    if len(found) == 1:
        raise ValueError(f"n_added must contain at least one positive number of columns, got {list(n_added)}.")
    return found


def _check_selection_n_added(n_added: tuple[int, ...], selection_n_added: Sequence[int] | None) -> tuple[int, ...]:
    if selection_n_added is None:
        return (0, n_added[-1])
    unknown = sorted(set(selection_n_added) - set(n_added))
    if unknown:
        raise ValueError(f"selection_n_added must be among n_added, {list(n_added)}, got {unknown[0]}.")
    return tuple(sorted({0, *map(int, selection_n_added)}))


def _best_column(merit: Merit, table: Table) -> int | None:
    """Return the column of few levels with the highest merit, of equals the first; None if no merit is positive."""
    schema = table.schema
    used = np.array([j for j in schema.used if len(schema.columns[j].levels) <= _MAX_LEVELS], dtype=np.intp)
    single_columns = np.zeros((len(used), schema.n_columns), dtype=bool)
    single_columns[np.arange(len(used)), used] = True
    with capture_warnings():
        evaluator = merit.bind(table, np.random.default_rng(0))
        merits = evaluator.evaluate(Candidates.from_masks(single_columns))
    return int(used[np.argmax(merits)]) if len(merits) and merits.max() > 0 else None


@dataclass(frozen=True)
class NoiseTable:
    """A table with noise columns and copies appended.

    Attributes
    ----------
    table : Table
        The original columns, the random columns of every draw, and the copies.
    n_own : int
        The number of original columns, including excluded ones.
    n_draws, n_random, n_copies : int
        The number of draws, of random columns per draw, and of copies.
    """

    table: Table
    n_own: int
    n_draws: int
    n_random: int
    n_copies: int

    def with_random(self, n: int, draw: int) -> Masks:
        """Return the set of the original columns and the first n random columns of a draw."""
        return self._mask(self.n_own + draw * self.n_random, n)

    def with_copies(self, n: int) -> Masks:
        """Return the set of the original columns and n copies."""
        return self._mask(self.n_own + self.n_draws * self.n_random, n)

    def column_sets(self, numbers: Sequence[int], n_draws: int) -> Masks:
        """Return the sets with n random columns of each draw, for every n in `numbers`, and then those with n copies."""
        found = [self.with_random(n, draw) for draw in range(n_draws) for n in numbers]
        return np.array(found + [self.with_copies(n) for n in numbers if self.n_copies])

    def _mask(self, first: int, n: int) -> Masks:
        mask = np.zeros(self.table.schema.n_columns, dtype=bool)
        mask[self.table.schema.used[self.table.schema.used < self.n_own]] = True
        mask[first : first + n] = True
        return mask


def add_noise_columns(table: Table, draws: Sequence[Floats], copied: int | None, n_copies: int) -> NoiseTable:
    """Return a table in memory with random columns and copies appended.

    Parameters
    ----------
    table : Table
    draws : list of ndarray of shape (n_rows, n_random)
        Random columns.
    copied : int or None
        The column to copy; None copies none.
    n_copies : int
    """
    schema = table.schema
    own = AppendedColumns(table, "use a merit that refits no model, such as CFS()")
    added: list[tuple[Column, NDArray[Any]]] = []
    for draw in draws:
        for k in range(draw.shape[1]):
            name = f"random {schema.n_columns + len(added)}"
            added.append((Column(name, "numeric"), np.ascontiguousarray(draw[:, k])))
    n_copies = 0 if copied is None else n_copies
    for _ in range(n_copies):
        assert copied is not None
        name = f"copy {schema.n_columns + len(added)}"
        added.append((replace(schema.columns[copied], name=name), own.values[copied]))
    n_random = draws[0].shape[1] if draws else 0
    return NoiseTable(own.table(added), schema.n_columns, len(draws), n_random, n_copies)

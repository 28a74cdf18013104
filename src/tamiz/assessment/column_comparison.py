"""Effect on models: scores on all columns and on the selected columns, with the selection repeated in every fold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from tamiz.arrays import Masks
from tamiz.assessment.fold_scores import FoldScores, ignore_known_warnings, resolve_scorings, score_models
from tamiz.assessment.repeated_searches import select_in_folds
from tamiz.assessment.score_report import SelectionReport
from tamiz.assessment.selector_adapters import adapt_selector, metadata_readers
from tamiz.exceptions import DataError
from tamiz.models.estimators import check_metadata
from tamiz.models.folds import Folds, draw_folds, drop_zero_weights, sample_rows
from tamiz.models.named_models import resolve_models
from tamiz.runtime import parallel
from tamiz.runtime.codec import JsonResult
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.user_warnings import warn_user
from tamiz.runtime.validation import check_integer
from tamiz.table.base import Table
from tamiz.table.factory import as_table
from tamiz.table.views import with_metadata


@dataclass(frozen=True, eq=False)
class ColumnComparison(JsonResult):
    """Scores of models on all columns and on the selected columns, fold by fold.

    Attributes
    ----------
    selector, folds_description : str
        The label of the selector, and how the folds were drawn.
    models : dict of str
        The labels of the models by name.
    scorings : tuple of str
        scikit-learn's names of the scores.
    n_samples, n_columns : int
        Rows that are in some fold, and columns that are not excluded.
    fold_sets : ndarray of shape (n_folds, n_table_columns), bool
        The columns selected from the training rows of every fold.
    baseline : dict of FoldScores
        The baseline score (without any column) by scorer.
    all_columns, selected : dict of FoldScores
        By (model, scorer).
    notes : tuple of str
    seed : int or None
        The random state of the models.
    """

    json_properties: ClassVar[tuple[str, ...]] = ("n_chosen", "differences")

    selector: str
    folds_description: str
    models: dict[str, str]
    scorings: tuple[str, ...]
    n_samples: int
    n_columns: int
    fold_sets: Masks
    baseline: dict[str, FoldScores]
    all_columns: dict[tuple[str, str], FoldScores]
    selected: dict[tuple[str, str], FoldScores]
    notes: tuple[str, ...]
    seed: int | None

    @property
    def n_chosen(self) -> tuple[int, ...]:
        """The number of columns selected in each fold."""
        return tuple(self.fold_sets.sum(axis=1).tolist())

    @property
    def differences(self) -> dict[tuple[str, str], FoldScores]:
        """The differences by (model, scorer)."""
        return {pair: self.difference(*pair) for pair in self.selected}

    def difference(self, model: str, scoring: str) -> FoldScores:
        """Return the score on the selected columns minus the score on all columns, in every fold."""
        one, other = self.selected[model, scoring], self.all_columns[model, scoring]
        return FoldScores(one.values - other.values, one.variance_factor)

    def __repr__(self) -> str:
        mean_size = self.fold_sets.sum(axis=1).mean()
        head = (
            f"{self.n_columns:,} columns against {mean_size:.1f} selected by {self.selector}; {self.folds_description}, "
            f"{self.n_samples:,} rows"
        )
        width = max(map(len, self.models.values()))
        names = max(map(len, self.scorings))
        lines = [f"{'':{width}}  {'':{names}}  {'all':>15}  {'selected':>15}  difference, 95% confidence interval"]
        for scoring in self.scorings:
            for name, label in self.models.items():
                pair = (self.all_columns[name, scoring], self.selected[name, scoring])
                scores = "  ".join(f"{one.mean:.3f} ± {one.standard_deviation:.3f}".rjust(15) for one in pair)
                change = self.difference(name, scoring)
                low, high = change.interval
                lines.append(
                    f"{label:{width}}  {scoring:{names}}  {scores}  {change.mean:+.3f} ({low:+.3f} to {high:+.3f})"
                )
        return "\n".join([head, *lines, *self.notes])


def compare_columns(
    selector: Any,
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    time: Any = None,
    sample_weight: Any = None,
    models: Sequence[str] | None = None,
    scoring: Sequence[str] | None = None,
    n_splits: int = 10,
    max_rows: int | None = None,
    report: SelectionReport | None = None,
    random_state: Seed = 0,
    n_jobs: int | None = None,
    params: Mapping[str, Any] | None = None,
) -> ColumnComparison:
    """Compare models on all columns and on the selected columns; the selection is repeated in every fold.

    Parameters
    ----------
    selector, X, y, groups, time, sample_weight
        As in `selection_report`.
    models : list of str, default=None
        Names of models, as in `CrossValidated`: "naive_bayes", "gaussian_nb", "knn", "linear", "ridge", "logistic", "tree" or
        "forest" or "gradient_boosting". None is logistic regression and naive Bayes for classes, ridge regression for a numeric
        target, and 5 nearest neighbours, a random forest and gradient boosting. Nearest neighbours accept no weights: None
        excludes them if rows have weights.
    scoring : list of str, default=None
        Names of scikit-learn scorers. None is ROC AUC (for more than two classes the weighted average of one against the rest),
        balanced accuracy and accuracy for classes, and R2 for a numeric target. ROC AUC is excluded, with a note, if a fold lacks
        a class.
    n_splits : int, default=10
        As in `selection_report`.
    max_rows : int, default=None
        A larger table is sampled to this number of rows, plus a few for rare classes: at least two rows per fold of every class.
    report : SelectionReport, default=None
        The report of the same selector, table, folds and seed: its selections are reused instead of searched again.
    random_state : int, default=0
        Seed of the folds, as in `selection_report`, of the searches and of the models.
    n_jobs : int, default=None
        Threads; None uses all cores available to this process. The numbers do not depend on it.
    params : dict, default=None
        As in `selection_report`, for the selector.

    Returns
    -------
    ColumnComparison

    Raises
    ------
    DataError
        When there is no target, when the rows do not allow folds, or when a search or a model fails in a fold; the
        message names the fold.

    Notes
    -----
    Every score equals that of scikit-learn's `cross_validate` for a pipeline of the selector and the model on the same folds.
    The 95 % confidence interval of a difference is Student's, corrected for the overlap of training sets.

    References
    ----------
    Nadeau and Bengio (2003), Inference for the generalization error, Machine Learning 52.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from tamiz import SubsetSelector
    >>> from tamiz.assessment import compare_columns
    >>> from tamiz.criteria import CFS
    >>> from tamiz.search import Forward
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> compared = compare_columns(SubsetSelector(CFS(), Forward(), n_features=3), X, y, scoring=["accuracy"])
    >>> for name in compared.models:
    ...     print(f"{name:11} {compared.difference(name, 'accuracy').mean:+.3f}")
    logistic    -0.062
    naive_bayes -0.045
    knn         -0.058
    forest      -0.068
    gradient_boosting -0.029
    """
    rng = make_rng(random_state)
    adapter = adapt_selector(selector)
    check_metadata("compare_columns()", metadata_readers(selector), params or {})
    if max_rows is not None:
        check_integer("max_rows", max_rows, low=2)
    with parallel.thread_session(n_jobs), ignore_known_warnings():
        table = with_metadata(as_table(X, y, sample_weight, groups=groups, time=time), params or {})
        whole, weight_notes = drop_zero_weights(table)
        if whole.schema.target is None:
            raise DataError("compare_columns requires a target, but the target y is None.")
        opened, sample_notes = sample_rows(whole, max_rows, n_splits, rng)
        messages, schema = [*table.schema.dropped_row_notes, *weight_notes, *sample_notes], opened.schema
        adapter.check(schema)
        folds = draw_folds(opened, n_splits, rng)
        messages += folds.fold_warnings
        named_models, model_notes = resolve_models(models, schema)
        for model in named_models.values():
            model.check(schema)
        scorings, scoring_notes = resolve_scorings(scoring, opened, folds, named_models.values())
        known_sets = None if report is None else _report_fold_sets(report, opened, folds, random_state)
        seed = int(random_state) % 2**31 if isinstance(random_state, Integral) else folds.table_seed
        fold_sets = select_in_folds(adapter, opened, folds)[0] if known_sets is None else known_sets
        every, none = np.ones_like(fold_sets), np.zeros_like(fold_sets)
        scores, fit_notes = score_models(
            named_models, opened, folds, scorings, np.stack([every, fold_sets, none]), seed
        )
    warn_user([*messages, *model_notes, *scoring_notes, *fit_notes])
    names = [scoring.name for scoring in scorings]

    def fold_scores(name: str, which: int) -> list[FoldScores]:
        return [FoldScores(values, folds.variance_factor) for values in scores[name][:, which]]

    return ColumnComparison(
        selector=adapter.label,
        folds_description=folds.description,
        models={name: model.label for name, model in named_models.items()},
        scorings=tuple(names),
        n_samples=len(folds.used_rows),
        n_columns=len(schema.used),
        fold_sets=fold_sets,
        baseline=dict(zip(names, fold_scores(next(iter(scores)), 2), strict=True)),
        all_columns={(name, key): one for name in scores for key, one in zip(names, fold_scores(name, 0), strict=True)},
        selected={(name, key): one for name in scores for key, one in zip(names, fold_scores(name, 1), strict=True)},
        notes=(*messages, *folds.fold_notes, *model_notes, *scoring_notes, *fit_notes, *adapter.notes),
        seed=seed,
    )


def _report_fold_sets(report: SelectionReport, table: Table, folds: Folds, random_state: Seed) -> Masks:
    """Return the column sets of the folds of a report; raise ValueError if it is of another table, folds or seed."""
    schema = table.schema
    of_report = report.names, report.n_samples, len(report.fold_sets), report.folds_description, report.seed
    n_rows = len(folds.used_rows)
    if of_report != (tuple(schema.names), n_rows, len(folds), folds.description, random_state):
        raise ValueError(
            f"The report has {report.n_samples:,} rows, {len(report.fold_sets)} folds and seed {report.seed}, but this call has "
            f"{n_rows:,} rows, {len(folds)} folds and seed {random_state}: its selections can be reused for the same "
            "table, folds and seed only. Leave it out."
        )
    return report.fold_sets

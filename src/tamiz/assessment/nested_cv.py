"""Nested cross-validation of a selection, its effect on models, and the effect of noise on both.

The selection is repeated on the training rows of every fold. Its nested CV score is compared with the apparent score of the columns
that were selected on all rows, with the baseline score, with the score on all columns, and with the permutation null distribution.
On request the selection is also repeated with semi-synthetic targets, whose true columns are known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats, Masks
from tamiz.assessment.findings import FoldScores
from tamiz.assessment.score_report import NoiseExperiment, RoleScores, SelectionReport
from tamiz.assessment.semi_synthetic import N_SIGNAL_SELECTIONS, report_error_rates
from tamiz.assessment.trials import (
    SelectedColumns,
    SelectorAdapter,
    Trial,
    adapt_selector,
    ignore_known_warnings,
    metadata_readers,
    model_seed,
    number_items,
    open_rows,
    repeat_selections,
    resolve_scorings,
    select_in_folds,
)
from tamiz.criteria.base import Merit
from tamiz.criteria.cfs import CFS
from tamiz.exceptions import DataError
from tamiz.models.estimators import check_metadata
from tamiz.models.fold_scorer import SetScores, score_folds
from tamiz.models.folds import Folds, draw_folds
from tamiz.models.named_models import Model, resolve_model
from tamiz.models.scoring import Scoring, check_scoring_target, resolve_scoring
from tamiz.runtime import parallel, progress
from tamiz.runtime.codec import JsonResult
from tamiz.runtime.random import Seed, integer_seed, make_rng
from tamiz.runtime.user_warnings import capture_warnings, warn_user
from tamiz.runtime.validation import check_integer
from tamiz.runtime.verdicts import Verdict
from tamiz.search.base import Candidates
from tamiz.search.best_first import BestFirst
from tamiz.selection.permutation_null import default_n_permutations, target_shuffle
from tamiz.selection.subset_record import PermutationNull
from tamiz.selection.subset_selector import SubsetSelector
from tamiz.table.base import Table
from tamiz.table.factory import as_table
from tamiz.table.schema import Column, Schema
from tamiz.table.views import (
    AppendedColumns,
    select_columns,
    with_metadata,
    with_target,
)

# The step that scores the model on the selected columns, then on all columns.
_SCORES_LABEL = "Model scores"
_DEFAULT_SPLITS = 10


def count_selections(table: Table, semi_synthetic: int = 0) -> int:
    """Return how often `selection_report` repeats a selection by default, with some number of semi-synthetic targets."""
    for_signal = N_SIGNAL_SELECTIONS if semi_synthetic else 0
    return 1 + _DEFAULT_SPLITS + default_n_permutations(table.schema) + semi_synthetic + for_signal


def selection_report(
    selector: Any,
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    time: Any = None,
    sample_weight: Any = None,
    model: Any = None,
    scoring: Any = None,
    n_splits: int = _DEFAULT_SPLITS,
    n_permutations: int | None = None,
    semi_synthetic: int = 0,
    random_state: Seed = 0,
    n_jobs: int | None = None,
    params: Mapping[str, Any] | None = None,
) -> SelectionReport:
    """Assess a selection by nested cross-validation and a permutation test.

    Parameters
    ----------
    selector : selector
        A `SubsetSelector`, `RankSelector` or other selector of this package, such as `RedundancyFilter` or `BorutaSelector`; a
        scikit-learn selector with `get_support`, or a pipeline that ends in one. It is cloned and not changed. Only the search on
        the whole table uses its journal.
    X : array, sparse matrix, data frame or Table
        Estimators and selectors of scikit-learn receive the rows in the type of X.
    y : array of shape (n_samples,), default=None
        The target; a table has its own.
    groups : array of shape (n_samples,), default=None
        Rows of one group, such as a patient, are never in both training and test rows.
    time : array of shape (n_samples,), default=None
        Numbers or dates: training rows come before test rows. Rows of one time stay together.
    sample_weight : array of shape (n_samples,), default=None
        A weight of 2 counts as the row twice, in fits and in scores.
    model : str or estimator, default=None
        The model that is scored on the selected columns: an estimator, or the name of a model, as in `CrossValidated`. None is the
        model of the selector's merit if the merit scores predictions, else naive Bayes for classes and 5 nearest neighbours for a
        numeric target. Models, scorers and selectors of scikit-learn receive the class labels of the user in their original type.
    scoring : str or callable, default=None
        The name of a scikit-learn scorer, or a scorer; larger is better. It may differ from that of the selector's merit. None
        is the scoring of the merit if the merit scores predictions and has one; else ROC AUC for classes (one against the rest if
        there are more than two), which stays informative for imbalanced classes, and R2 for a numeric target. For classes ROC AUC,
        balanced accuracy and accuracy are also computed.
    n_splits : int, default=10
        Folds; fewer if a class has fewer rows, if there are fewer groups or times, or if folds would have too few rows (2 for
        training, and 2 for testing if the target is numeric). Classes that are too rare are excluded from the folds. A note reports
        both.
    n_permutations : int, default=None
        Shuffled targets for which the search is repeated. None is 99 for a table of up to 200,000 values, and 19 for a larger one,
        the smallest number for which p can be 0.05.
    semi_synthetic : int, default=0
        Semi-synthetic targets, computed from known columns, for which the search is repeated, to estimate its true and false
        positive rates as `selection_error_rates` does with random true columns. At least 2; 0 leaves them out.
    random_state : int, default=0
        Seed of the folds and shuffles, and of searches that have no seed of their own.
    n_jobs : int, default=None
        Threads; None uses all cores available to this process. The numbers do not depend on it.
    params : dict, default=None
        Further values of the rows by name, such as {"price": prices}, for estimators and scorers that request them by
        `set_fit_request` and `set_score_request`; metadata routing of scikit-learn must be enabled.

    Returns
    -------
    SelectionReport

    Raises
    ------
    DataError
        When there is no target, when the rows do not allow folds, or when the search or the model fails in a fold. The message
        names the fold; means are over all folds.

    Notes
    -----
    The permutation test compares the merit of the selected set with the merits of the sets selected for shuffled targets. If the
    selector has no merit that reads the target, as for scikit-learn's selectors, it compares the apparent score; for classes, each
    shuffled target has folds that are stratified by it, as those of the real target are.

    Cost: 1 + n_splits + n_permutations searches; with semi-synthetic targets one for each, and 50 to determine their signal.

    References
    ----------
    Ambroise and McLachlan (2002), Selection bias in gene extraction on the basis of microarray gene-expression data, PNAS 99;
    Varma and Simon (2006), Bias in error estimation when using cross-validation for model selection, BMC Bioinformatics 7.

    Examples
    --------
    20 columns selected from a thousand columns of noise predict the target well on the rows that they were selected on:

    >>> import numpy as np
    >>> from tamiz import RankSelector, selection_report
    >>> from tamiz.criteria import FisherScore
    >>> noise, y = np.random.default_rng(0).normal(size=(100, 1000)), np.arange(100) % 2
    >>> report = selection_report(RankSelector(FisherScore(), n_features=20), noise, y, n_permutations=19)
    >>> print(f"apparent {report.apparent.mean:.2f}, nested CV {report.nested.mean:.2f}, p = {report.null.p_value:.2f}")
    apparent 0.90, nested CV 0.41, p = 0.50
    """
    rng = make_rng(random_state)
    adapter = adapt_selector(selector)
    check_metadata(
        "selection_report()", [*metadata_readers(selector), (model, "fit"), (scoring, "score")], params or {}
    )
    if n_permutations is not None:
        check_integer("n_permutations", n_permutations, low=0)
    if semi_synthetic != 0:
        check_integer("semi_synthetic", semi_synthetic, low=2)
    with parallel.thread_session(n_jobs), ignore_known_warnings():
        table = with_metadata(as_table(X, y, sample_weight, groups=groups, time=time), params or {})
        opened, row_notes = open_rows("selection_report", table, None, n_splits, rng)
        schema = opened.schema
        scored_model, scoring = _choose_model(adapter, schema, model, scoring)
        folds = draw_folds(opened, n_splits, rng)
        scorings, scoring_notes = _choose_scorings(opened, folds, scored_model, scoring)
        trial = Trial(opened, folds, {"": scored_model}, scorings, model_seed(random_state, folds))
        with capture_warnings() as search_warnings:
            choice = adapter.select(opened, folds.table_seed, journal=True)
        fold_sets, fold_messages = select_in_folds(adapter, opened, folds)
        scores, fit_notes = _score_roles(trial, choice.support, fold_sets)
        n_shuffles = default_n_permutations(opened.schema) if n_permutations is None else n_permutations
        null = _permutation_null(trial, adapter, choice, n_shuffles, rng) if n_shuffles else None
        error_rates = (
            report_error_rates(opened, adapter, choice.support, folds, fold_sets, semi_synthetic, rng)
            if semi_synthetic
            else None
        )
    messages = list(dict.fromkeys([*row_notes, *search_warnings, *folds.fold_warnings, *scoring_notes, *fit_notes]))
    warn_user(messages)
    notes: list[str] = [*messages, *folds.fold_notes, *adapter.notes, *_count_messages(fold_messages, set(messages))]
    if n_permutations is None:
        notes.append(
            f"{n_shuffles} shuffled targets, by the size of the table; n_permutations of selection_report sets another number."
        )
    if scores[scorings[0].name].all_columns is None:
        notes.append("The score on all columns was not computed: the rows do not fit in memory.")
    deciding, *beside = scores
    candidate_mask = np.zeros(schema.n_columns, dtype=bool)
    candidate_mask[schema.used] = True
    return SelectionReport(
        selector=adapter.label,
        model=scored_model.label,
        scoring=scorings[0].name,
        folds_description=folds.description,
        n_samples=len(folds.used_rows),
        n_columns=schema.n_columns,
        groups=schema.groups,
        time=schema.time,
        names=tuple(schema.names),
        support=choice.support,
        merit=choice.merit,
        merit_name=adapter.merit_name,
        unit=adapter.unit,
        **vars(scores[deciding]),
        other_scores={name: scores[name] for name in beside},
        fold_sets=fold_sets,
        candidate_mask=candidate_mask,
        null=null,
        error_rates=error_rates,
        notes=tuple(notes),
        seed=integer_seed(random_state),
    )


def _choose_model(adapter: SelectorAdapter, schema: Schema, model: Any, scoring: Any) -> tuple[Model, Any]:
    """Return the model that scores the columns, the one of the merit where none is requested, and the requested score, if any."""
    of_merit = adapter.model_and_scoring(schema) if model is None else None
    if of_merit is None:
        default = "naive_bayes" if schema.has_classes else "knn"
        chosen = resolve_model(default if model is None else model, schema, parameter="model")
    else:
        chosen = of_merit[0]
        scoring = of_merit[1] if scoring is None else scoring
    for part in (adapter, chosen):
        part.check(schema)
    return chosen, scoring


def _choose_scorings(table: Table, folds: Folds, model: Model, scoring: Any) -> tuple[list[Scoring], Sequence[Verdict]]:
    """Return the scores, the requested one first, and what is noted of the default ones."""
    schema = table.schema
    usual, notes = resolve_scorings(None, table, folds, [model])
    first = usual[0] if scoring is None else resolve_scoring(scoring, has_classes=schema.has_classes)
    first.check_weights(schema)
    check_scoring_target(first, schema, table.target_values()[folds.used_rows])
    return [first, *(one for one in usual if schema.has_classes and one.name != first.name)], notes


def _score_roles(trial: Trial, support: Masks, fold_sets: Masks) -> tuple[dict[str, RoleScores], list[Verdict]]:
    """Return the scores by scorer, and the warnings of the fits.

    Scored are the columns selected in each fold, those selected on all rows, none, and all, unless these do not fit in memory.
    """
    (model,), folds = trial.models.values(), trial.folds

    def score(sets: Masks | None) -> SetScores:
        return score_folds(model, trial.table, folds, trial.scorings, sets=sets, seed=trial.seed)

    progress.report_progress(_SCORES_LABEL, 0, 2)
    found = score(np.stack([fold_sets, np.broadcast_to(support, fold_sets.shape), np.zeros_like(fold_sets)]))
    notes = list(found.notes)
    progress.report_progress(_SCORES_LABEL, 1, 2)
    every: SetScores | None = None
    with suppress(MemoryError):
        every = score(None)
        notes += every.notes
    progress.report_progress(_SCORES_LABEL, 2, 2)
    scores = {}
    for k, scoring in enumerate(trial.scorings):
        all_columns = None if every is None else trial.fold_scores(every.values[k, 0])
        nested, apparent, baseline = map(trial.fold_scores, found.values[k])
        scores[scoring.name] = RoleScores(nested, apparent, baseline, all_columns)
    return scores, list(dict.fromkeys(notes))


def _permutation_null(
    trial: Trial, selector: SelectorAdapter, choice: SelectedColumns, n_shuffles: int, rng: np.random.Generator
) -> PermutationNull:
    """Return the permutation null distribution: the statistic of the search for shuffled targets."""
    table, by_merit = trial.table, selector.reads_target
    shuffle = target_shuffle(table, trial.folds.used_rows)
    (model,) = trial.models.values()

    def statistic(view: Table, folds: Folds, choice: SelectedColumns) -> float:
        if by_merit:
            assert choice.merit is not None
            return choice.merit
        scores = score_folds(model, view, folds, trial.scorings[0], sets=choice.support[None], seed=trial.seed)
        return float(scores.values.mean())

    def permuted_statistic(seed: int) -> float:
        shuffle_rng = np.random.default_rng(seed)
        view = with_target(table, shuffle.draw(shuffle_rng))
        choice = selector.select(view, int(shuffle_rng.integers(2**31)))
        folds = trial.folds
        if not by_merit and table.schema.has_classes and table.time is None:
            # The folds of the real target are stratified by it: of a shuffled one, some would have rows of one class only.
            folds = draw_folds(view, len(folds), shuffle_rng)
        return statistic(view, folds, choice)

    seeds, targets = rng.integers(0, 2**63, n_shuffles).tolist(), number_items("Shuffled target", n_shuffles)
    results = repeat_selections("Shuffled targets", selector, table, permuted_statistic, seeds, targets)
    null_values = np.array([value for value, _ in results])
    name = "merit" if by_merit else "apparent score"
    return PermutationNull(null_values, statistic(table, trial.folds, choice), name, shuffle.description)


def _count_messages(fold_messages: Sequence[Sequence[Verdict]], known_messages: set[Verdict]) -> list[Verdict]:
    """Return messages of the searches in folds that are not known from the whole table, each with the number of folds."""
    counts = Counter(
        message for messages in fold_messages for message in dict.fromkeys(messages) if message not in known_messages
    )
    return [one.with_sentence(f"In {n} of {len(fold_messages)} folds: {one}") for one, n in counts.items()]


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
        rows = opened, _ = open_rows("compare_columns", table, max_rows, n_splits, rng)
        adapter.check(opened.schema)
        folds = draw_folds(opened, n_splits, rng)
        trial = Trial.open(rows, folds, models, scoring, model_seed(random_state, folds))
        known_sets = None if report is None else _report_fold_sets(report, opened, folds, random_state)
        fold_sets = select_in_folds(adapter, opened, folds)[0] if known_sets is None else known_sets
        scores, fit_notes = trial.score(np.stack([np.ones_like(fold_sets), fold_sets, np.zeros_like(fold_sets)]))
    warn_user([*trial.row_notes, *trial.model_notes, *fit_notes])
    names = [one.name for one in trial.scorings]
    every, selected, baseline = (
        {
            (model, scoring): trial.fold_scores(scores[m, k, which])
            for m, model in enumerate(trial.models)
            for k, scoring in enumerate(names)
        }
        for which in range(3)
    )
    first = next(iter(trial.models))
    return ColumnComparison(
        selector=adapter.label,
        folds_description=folds.description,
        models=trial.labels,
        scorings=tuple(names),
        n_samples=len(folds.used_rows),
        n_columns=len(opened.schema.used),
        fold_sets=fold_sets,
        baseline={name: baseline[first, name] for name in names},
        all_columns=every,
        selected=selected,
        notes=(*trial.row_notes, *folds.fold_notes, *trial.model_notes, *fit_notes, *adapter.notes),
        seed=trial.seed,
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
        opened = with_metadata(as_table(X, y, sample_weight, groups=groups, time=time), params)
        rows = table, _ = open_rows("run_noise_experiment", opened, max_rows, n_splits, rng)
        # No fewer than there are, as `max_rows` is at least as large.
        if table.schema.n_rows < _MIN_ROWS:
            raise DataError(f"A noise experiment needs at least {_MIN_ROWS} rows, and there are {table.schema.n_rows}.")
        folds = draw_folds(table, n_splits, rng)
        best = _best_column(merit, table)
        draws = [rng.standard_normal((table.schema.n_rows, sizes[-1])) for _ in range(n_draws)]
        noise_table = _NoiseTable.build(table, draws, best)
        requested = None if scoring is None else [scoring]
        trial = Trial.open(rows, folds, models, requested, model_seed(random_state, folds))
        trial = _with_noise(trial, noise_table)
        adapter = adapt_selector(selector)
        # First, so that an unsupported merit raises before any model is fitted.
        chosen = _select_in_folds(adapter, noise_table, selection_sizes, folds)
        n_folds = len(folds)
        selected, selected_notes = trial.score(chosen)
        found, fit_notes = trial.score(noise_table.column_sets(sizes, n_draws))
    all_scores = {name: one[0].reshape(-1, len(sizes), n_folds) for name, one in zip(trial.models, found, strict=True)}
    selected_scores = {
        name: one[0].reshape(-1, len(selection_sizes), n_folds)
        for name, one in zip(trial.models, selected, strict=True)
    }
    n_added_selected = chosen[:, :, noise_table.n_own :].sum(axis=2).reshape(-1, len(selection_sizes), n_folds)
    messages = [*trial.row_notes, *trial.model_notes, *dict.fromkeys([*fit_notes, *selected_notes])]
    if best is None:
        sentence = f"No column of at most {_MAX_LEVELS} levels has a positive merit, so none was copied."
        messages.append(Verdict("TZ503", sentence))
    warn_user(messages)
    return NoiseExperiment(
        n_added=sizes,
        models=trial.labels,
        scoring=trial.scorings[0].name,
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
        seed=trial.seed,
    )


def _with_noise(trial: Trial, noise_table: _NoiseTable) -> Trial:
    """Return the trial on the table with added columns, by its first score."""
    # Added columns are not in the user's table, whose rows a model without encoding would get.
    models = {
        name: replace(one, encoding="standard") if one.encoding == "none" and not one.reads_table else one
        for name, one in trial.models.items()
    }
    return replace(trial, table=noise_table.table, models=models, scorings=trial.scorings[:1])


def _select_in_folds(
    selector: SelectorAdapter, noise_table: _NoiseTable, n_added: Sequence[int], folds: Folds
) -> Masks:
    """Return the columns selected in every fold from each set, of shape (n_sets, n_folds, n_columns); random columns first."""
    table, sets = noise_table.table, noise_table.column_sets(n_added, 1)
    unique, back = np.unique(sets, axis=0, return_inverse=True)

    def select(rows: Table, seed: int) -> Masks:
        views = (select_columns(rows, np.flatnonzero(mask).tolist()) for mask in unique)
        return np.stack([selector.select(view, seed).support for view in views])

    found, _ = select_in_folds(selector, table, folds, "Selections in folds", select)
    return found.swapaxes(0, 1)[back.ravel()]


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
class _NoiseTable:
    """A table in memory with the random columns of every draw appended, and after them copies of a column, if any is copied."""

    table: Table
    n_own: int
    n_draws: int
    n_added: int
    has_copies: bool

    @classmethod
    def build(cls, table: Table, draws: Sequence[Floats], copied: int | None) -> _NoiseTable:
        schema, n_added = table.schema, draws[0].shape[1]
        own = AppendedColumns(table, "use a merit that refits no model, such as CFS()")
        added: list[tuple[Column, NDArray[Any]]] = [
            (Column(f"random {schema.n_columns + k}", "numeric"), np.ascontiguousarray(values))
            for k, values in enumerate(values for draw in draws for values in draw.T)
        ]
        if copied is not None:
            names = [f"copy {schema.n_columns + at}" for at in range(len(added), len(added) + n_added)]
            added += [(replace(schema.columns[copied], name=name), own.values[copied]) for name in names]
        return cls(own.table(added), schema.n_columns, len(draws), n_added, copied is not None)

    def column_sets(self, numbers: Sequence[int], n_draws: int) -> Masks:
        """Return the sets with n random columns of each draw, for every n in `numbers`, and then those with n copies."""
        used = self.table.schema.used
        kinds = [*range(n_draws), *([self.n_draws] if self.has_copies else [])]
        masks = np.zeros((len(kinds), len(numbers), self.table.schema.n_columns), dtype=bool)
        masks[:, :, used[used < self.n_own]] = True
        for row, kind in zip(masks, kinds, strict=True):
            first = self.n_own + kind * self.n_added
            for mask, n in zip(row, numbers, strict=True):
                mask[first : first + n] = True
        return masks.reshape(-1, masks.shape[2])

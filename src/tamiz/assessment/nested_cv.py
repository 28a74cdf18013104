"""Nested cross-validation of a selection: `selection_report` and its parts.

The selection is repeated on the training rows of every fold. Its nested CV score is compared with the apparent score of the columns
that were selected on all rows, with the baseline score, with the score on all columns, and with the permutation null distribution.
On request the selection is also repeated with semi-synthetic targets, whose true columns are known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from tamiz.arrays import Masks
from tamiz.assessment.fold_scores import FoldScores, ignore_known_warnings, resolve_scorings
from tamiz.assessment.repeated_searches import run_with_progress, select_in_folds
from tamiz.assessment.score_report import RoleScores, SelectionReport
from tamiz.assessment.selector_adapters import SelectedColumns, SelectorAdapter, adapt_selector, metadata_readers
from tamiz.assessment.semi_synthetic import report_error_rates
from tamiz.assessment.signal_calibration import N_SIGNAL_SELECTIONS
from tamiz.exceptions import DataError
from tamiz.models.estimators import check_metadata
from tamiz.models.fold_scorer import SetScores, score_folds
from tamiz.models.folds import Folds, draw_folds, drop_zero_weights
from tamiz.models.named_models import Model, resolve_model
from tamiz.models.scoring import Scoring, check_scoring_target, resolve_scoring
from tamiz.runtime import parallel, progress
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.user_warnings import capture_warnings, warn_user
from tamiz.runtime.validation import check_integer
from tamiz.runtime.verdicts import Verdict
from tamiz.selection.permutation_null import PermutationNull, default_n_permutations, target_shuffle
from tamiz.table.base import Table
from tamiz.table.factory import as_table
from tamiz.table.views import with_metadata, with_target

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
        opened, weight_notes = drop_zero_weights(table)
        schema = opened.schema
        if schema.target is None:
            raise DataError("selection_report requires a target, but the target y is None.")
        of_merit = adapter.model_and_scoring(schema) if model is None else None
        if of_merit is None:
            default = "naive_bayes" if schema.has_classes else "knn"
            scored_model = resolve_model(default if model is None else model, schema, parameter="model")
        else:
            scored_model = of_merit[0]
            scoring = of_merit[1] if scoring is None else scoring
        for part in (adapter, scored_model):
            part.check(schema)
        folds = draw_folds(opened, n_splits, rng)
        default_scorings, scoring_notes = resolve_scorings(None, opened, folds, [scored_model])
        scorer = default_scorings[0] if scoring is None else resolve_scoring(scoring, has_classes=schema.has_classes)
        scorer.check_weights(schema)
        check_scoring_target(scorer, schema, opened.target_values()[folds.used_rows])
        others = [one for one in default_scorings if one.name != scorer.name] if schema.has_classes else []
        seed = int(random_state) % 2**31 if isinstance(random_state, Integral) else folds.table_seed
        assessment = _Assessment(opened, folds, adapter, scored_model, (scorer, *others), seed)
        with capture_warnings() as search_warnings:
            choice = adapter.select_full_table(opened, folds.table_seed)
        fold_sets, fold_messages = select_in_folds(adapter, opened, folds)
        scores, fit_notes = assessment.score_roles(choice.support, fold_sets)
        n_shuffles = default_n_permutations(opened.schema) if n_permutations is None else n_permutations
        null = assessment.permutation_null(choice, n_shuffles, rng) if n_shuffles else None
        error_rates = (
            report_error_rates(opened, adapter, choice.support, folds, fold_sets, semi_synthetic, rng)
            if semi_synthetic
            else None
        )
    input_notes = [*table.schema.dropped_row_notes, *weight_notes]
    messages = list(dict.fromkeys([*input_notes, *search_warnings, *folds.fold_warnings, *scoring_notes, *fit_notes]))
    warn_user(messages)
    notes: list[str] = [*messages, *folds.fold_notes, *adapter.notes, *_count_messages(fold_messages, set(messages))]
    if n_permutations is None:
        notes.append(
            f"{n_shuffles} shuffled targets, by the size of the table; n_permutations of selection_report sets another number."
        )
    if scores[scorer.name].all_columns is None:
        notes.append("The score on all columns was not computed: the rows do not fit in memory.")
    deciding, *beside = scores
    candidate_mask = np.zeros(schema.n_columns, dtype=bool)
    candidate_mask[schema.used] = True
    return SelectionReport(
        selector=adapter.label,
        model=scored_model.label,
        scoring=scorer.name,
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
        seed=int(random_state) if isinstance(random_state, Integral) else None,
    )


@dataclass(frozen=True)
class _Assessment:
    """A selector, and the model and scorings that assess its selections on the same folds.

    Attributes
    ----------
    table : Table
    folds : Folds
    selector : SelectorAdapter
    model : Model
    scorings : tuple of Scoring
        The deciding one first.
    seed : int
        Seed of the model.
    """

    table: Table
    folds: Folds
    selector: SelectorAdapter
    model: Model
    scorings: tuple[Scoring, ...]
    seed: int

    def score_roles(self, support: Masks, fold_sets: Masks) -> tuple[dict[str, RoleScores], list[Verdict]]:
        """Return the scores by scorer, and the warnings of the fits.

        Scored are the columns selected in each fold, those selected on all rows, none, and all, unless these do not fit in memory.
        """
        sets = np.stack([fold_sets, np.broadcast_to(support, fold_sets.shape), np.zeros_like(fold_sets)])
        progress.report_progress(_SCORES_LABEL, 0, 2)
        found = self._score(self.table, sets)
        notes = list(found.notes)
        progress.report_progress(_SCORES_LABEL, 1, 2)
        every: SetScores | None = None
        with suppress(MemoryError):
            every = self._score(self.table, None)
            notes += every.notes
        progress.report_progress(_SCORES_LABEL, 2, 2)
        scores = {}
        for k, scoring in enumerate(self.scorings):
            nested, apparent, baseline = (FoldScores(values, self.folds.variance_factor) for values in found.values[k])
            all_columns = None if every is None else FoldScores(every.values[k, 0], self.folds.variance_factor)
            scores[scoring.name] = RoleScores(nested, apparent, baseline, all_columns)
        return scores, list(dict.fromkeys(notes))

    def _score(self, table: Table, sets: Masks | None) -> SetScores:
        return score_folds(self.model, table, self.folds, self.scorings, sets=sets, seed=self.seed)

    def permutation_null(self, choice: SelectedColumns, n_shuffles: int, rng: np.random.Generator) -> PermutationNull:
        """Return the permutation null distribution: the statistic of the search for shuffled targets."""
        table, selector = self.table, self.selector
        shuffle = target_shuffle(table, self.folds.used_rows)
        by_merit = selector.reads_target

        def statistic(view: Table, folds: Folds, choice: SelectedColumns) -> float:
            if by_merit:
                assert choice.merit is not None
                return choice.merit
            scores = score_folds(self.model, view, folds, self.scorings[0], sets=choice.support[None], seed=self.seed)
            return float(scores.values.mean())

        def permuted_statistic(seed: int) -> float:
            shuffle_rng = np.random.default_rng(seed)
            view = with_target(table, shuffle.draw(shuffle_rng))
            choice = selector.select(view, int(shuffle_rng.integers(2**31)))
            folds = self.folds
            if not by_merit and table.schema.has_classes and table.time is None:
                # The folds of the real target are stratified by it: of a shuffled one, some would have rows of one class only.
                folds = draw_folds(view, len(folds), shuffle_rng)
            return statistic(view, folds, choice)

        results = run_with_progress(
            "Shuffled targets",
            table,
            permuted_statistic,
            rng.integers(0, 2**63, n_shuffles).tolist(),
            lambda at: f"Shuffled target {at + 1} of {n_shuffles}",
            evaluation_cost=selector.evaluation_cost,
        )
        null_values = np.array([value for value, _ in results])
        name = "merit" if by_merit else "apparent score"
        return PermutationNull(null_values, statistic(table, self.folds, choice), name, shuffle.description)


def _count_messages(fold_messages: Sequence[Sequence[Verdict]], known_messages: set[Verdict]) -> list[Verdict]:
    """Return messages of the searches in folds that are not known from the whole table, each with the number of folds."""
    counts = Counter(
        message for messages in fold_messages for message in dict.fromkeys(messages) if message not in known_messages
    )
    return [one.with_sentence(f"In {n} of {len(fold_messages)} folds: {one}") for one, n in counts.items()]

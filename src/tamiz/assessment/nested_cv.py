"""The search inside every fold, beside what a search on all rows would have promised."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from numbers import Integral
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import check_scoring

from tamiz.assessment.fold_scores import FoldScores, ignore_known_warnings, resolve_scorings, score_fitted
from tamiz.assessment.permutation_null import PermutationNull, default_n_permutations, target_shuffle
from tamiz.assessment.predictors import BaselineModel, FittedModel, TableModel, resolve_table_model, table_model
from tamiz.assessment.score_report import RoleScores, SelectionReport
from tamiz.assessment.selector_adapters import SelectedColumns, SelectorAdapter, adapt_selector
from tamiz.exceptions import DataError
from tamiz.models.folds import Fold, Folds, draw_folds, drop_zero_weights
from tamiz.models.scoring import Scoring, check_scoring_target, resolve_scoring
from tamiz.runtime import parallel, progress
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.user_warnings import capture_warnings, warn_user
from tamiz.runtime.validation import check_integer
from tamiz.sources.base import Source
from tamiz.sources.factory import as_source
from tamiz.sources.views import as_training_source, select_rows, weight_array, with_target


# MERGED: One call for honest numbers.
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
    n_splits: int = 10,
    n_permutations: int | None = None,
    random_state: Seed = 0,
    n_jobs: int | None = None,
) -> SelectionReport:
    """Return how far the score of a selection can be trusted: its score on rows that took no part in it, and what luck alone finds.

    Parameters
    ----------
    selector : selector
        A `SubsetSelector` or `RankSelector`, a selector of scikit-learn's with `get_support`, or a pipeline that ends in one. It is
        copied, and stays as it is. A journal is used by the search of the whole table alone.
    X : array, sparse matrix, data frame or Source
        What comes from scikit-learn is given the rows as they are in an array or a data frame.
    y : array of shape (n_samples,), default=None
        The target; of a source, its own.
    groups : array of shape (n_samples,), default=None
        Rows of one group, such as a patient, are learned from or tested, never both.
    time : array of shape (n_samples,), default=None
        Numbers or dates: what is learned from comes before what is tested. Rows of one time stay together.
    sample_weight : array of shape (n_samples,), default=None
        A weight of 2 counts as the row twice, in what is learned and in the score.
    model : {"naive_bayes", "ridge", "knn", "tree"} or estimator, default=None
        What predicts the target from the columns chosen. None is what the selector's merit predicts with, where it is the score of
        predictions, else naive Bayes for classes and the 5 nearest neighbours for a number.
        Classes have the labels and the type they were given, for it as for a scorer and for a selector of scikit-learn's.
    scoring : str or callable, default=None
        The name of a scorer of scikit-learn's, or one; larger is better. It need not be that of the selector's merit. None is the
        scoring that the merit was given, where it scores predictions and was given one; else the area under the ROC curve for
        classes (of each against the rest where there are more than two), which no imbalance hides, and R2 for a number. For
        classes the area, balanced accuracy and accuracy are computed beside it.
    n_splits : int, default=10
        Folds, fewer where a class has not as many rows, where there are not as many groups or times, or where folds would have too
        few rows: 2 to learn from, and 2 to test where the target is a number. Classes that are too rare for folds are left out of
        them. A note says so.
    n_permutations : int, default=None
        Shuffled targets that the search is repeated on. None is 99 on a table of up to 200,000 values, and on a larger one 19, the
        fewest with which p can be 0.05.
    random_state : int, default=0
        Draws folds and shuffles, and seeds searches that have no seed of their own.
    n_jobs : int, default=None
        Threads; None takes the cores that this process may use. The numbers do not depend on it.

    Returns
    -------
    SelectionReport

    Raises
    ------
    DataError
        When there is no target, when rows cannot be divided into such folds, or when the search or the predictor fails in a fold,
        which is then named: no fold is left out of a mean.

    Notes
    -----
    A merit that reads the target is compared with that of the best sets for shuffled targets; where there is none, as for
    scikit-learn's selectors, the optimistic score takes its place.

    The time is that of 1 + n_splits + n_permutations searches.

    References
    ----------
    Ambroise and McLachlan (2002), Selection bias in gene extraction on the basis of microarray gene-expression data, PNAS 99;
    Varma and Simon (2006), Bias in error estimation when using cross-validation for model selection, BMC Bioinformatics 7.

    Examples
    --------
    Of a thousand columns of noise, the 20 that go best with the target predict it well, as long as rows that chose them are asked:

    >>> import numpy as np
    >>> from tamiz import RankSelector, selection_report
    >>> from tamiz.criteria import FisherScore
    >>> noise, y = np.random.default_rng(0).normal(size=(100, 1000)), np.arange(100) % 2
    >>> report = selection_report(RankSelector(FisherScore(), n_features=20), noise, y, n_permutations=19)
    >>> print(f"optimistic {report.apparent.mean:.2f}, honest {report.nested.mean:.2f}, p = {report.null.p_value:.2f}")
    optimistic 0.90, honest 0.41, p = 0.50
    """
    rng = make_rng(random_state)
    chosen_by = adapt_selector(selector)
    if n_permutations is not None:
        check_integer("n_permutations", n_permutations, low=0)
    with parallel.thread_session(n_jobs), ignore_known_warnings():
        given = as_source(X, y, sample_weight, groups=groups, time=time)
        source, weightless = drop_zero_weights(given)
        schema = source.schema
        if schema.target is None:
            raise DataError("selection_report requires a target, but the target y is None.")
        own = chosen_by.model_and_scoring(schema) if model is None else None
        predicted_by = resolve_table_model(model, schema) if own is None else table_model(own[0])
        if own is not None and scoring is None:
            scoring = own[1]
        for part in (chosen_by, predicted_by):
            part.check(schema)
        splits = draw_folds(source, n_splits, rng)
        folds, fold_seeds = splits.folds, splits.fold_seeds
        usual, lacking = resolve_scorings(None, source, splits, [predicted_by])
        first = resolve_scoring(usual[0] if scoring is None else scoring, has_classes=schema.has_classes)
        first.check_weights(schema)
        check_scoring_target(first, schema, source.target_values()[folds.used_rows])
        others = [name for name in usual if name != first.name]
        assessor = FoldAssessor(
            chosen_by, predicted_by, first, check_scoring(scoring=others) if others and schema.has_classes else None
        )
        with capture_warnings() as told:
            choice = chosen_by.select_full_table(source, splits.table_seed)
        results = run_with_progress(
            "Folds",
            source,
            lambda item: assessor.assess_fold(source, item[0], choice.support, item[1]),
            list(zip(folds.splits, fold_seeds, strict=True)),
            lambda at: f"Fold {at + 1} of {len(folds)}",
            evaluation_cost=chosen_by.evaluation_cost,
        )
        n_shuffles = default_n_permutations(source) if n_permutations is None else n_permutations
        null = _permutation_null(assessor, source, choice, folds, fold_seeds, n_shuffles, rng) if n_shuffles else None
    told = list(dict.fromkeys([*given.schema.dropped_row_notes, *weightless, *told, *folds.fold_warnings, *lacking]))
    warn_user(told)
    notes = [*told, *folds.fold_notes, *chosen_by.notes, *_fold_messages(results, set(told))]
    if n_permutations is None:
        notes.append(f"{n_shuffles} shuffled targets, by the size of the table; n_permutations takes more or fewer.")
    return _build_report(assessor, source, choice, folds, [result for result, _ in results], null, notes, random_state)


def _permutation_null(
    assessor: FoldAssessor,
    source: Source,
    choice: SelectedColumns,
    folds: Folds,
    fold_seeds: Sequence[int],
    n_shuffles: int,
    rng: np.random.Generator,
) -> PermutationNull:
    """Search for shuffled targets."""
    way = target_shuffle(source, folds.used_rows)
    by_merit = assessor.selector.reads_target

    def found(view: Source, choice: SelectedColumns) -> float:
        if by_merit:
            assert choice.merit is not None
            return choice.merit
        return assessor.apparent_score(view, folds, choice.support, fold_seeds)

    def one(seed: int) -> float:
        own = np.random.default_rng(seed)
        view = with_target(source, way.draw(own))
        return found(view, assessor.selector.select(view, int(own.integers(2**31))))

    seeds = rng.integers(0, 2**63, n_shuffles).tolist()
    name, effort = (lambda at: f"Shuffled target {at + 1} of {n_shuffles}"), assessor.selector.evaluation_cost
    done = run_with_progress("Shuffled targets", source, one, seeds, name, evaluation_cost=effort)
    merits = np.array([merit for merit, _ in done])
    return PermutationNull(merits, found(source, choice), "merit" if by_merit else "optimistic score", way.description)


def _fold_messages(results: Sequence[tuple[FoldResult, list[str]]], known_messages: set[str]) -> list[str]:
    """Return what the searches of folds told and that of the whole table did not, each with the number of folds."""
    counts = Counter(
        sentence for _, told in results for sentence in dict.fromkeys(told) if sentence not in known_messages
    )
    return [f"In {n} of {len(results)} folds: {sentence}" for sentence, n in counts.items()]


def _build_report(
    assessor: FoldAssessor,
    source: Source,
    choice: SelectedColumns,
    folds: Folds,
    results: Sequence[FoldResult],
    null: PermutationNull | None,
    notes: Sequence[str],
    random_state: Seed,
) -> SelectionReport:
    schema = source.schema
    has_every = all(result.all_columns is not None for result in results)

    def of_score(scoring: str) -> RoleScores:
        def scores(role: str) -> FoldScores:
            return FoldScores(np.array([getattr(result, role)[scoring] for result in results]), folds.variance_factor)

        every = scores("all_columns") if has_every else None
        return RoleScores(scores("nested"), scores("apparent"), scores("baseline"), every)

    first, *others = results[0].nested
    if not has_every:
        notes = [*notes, "The score of all columns was not found: the rows do not fit in memory."]
    taking_part = np.zeros(schema.n_columns, dtype=bool)
    taking_part[schema.used] = True
    return SelectionReport(
        selector=assessor.selector.label,
        model=assessor.model.label,
        scoring=assessor.scoring.name,
        folds_description=folds.description,
        n_samples=len(folds.used_rows),
        n_columns=schema.n_columns,
        groups=schema.groups,
        time=schema.time,
        names=tuple(schema.names),
        support=choice.support,
        merit=choice.merit,
        merit_name=assessor.selector.merit_name,
        unit=assessor.selector.unit,
        **vars(of_score(first)),
        other_scores={name: of_score(name) for name in others},
        fold_sets=np.stack([result.support for result in results]),
        candidate_mask=taking_part,
        null=null,
        notes=tuple(notes),
        seed=int(random_state) if isinstance(random_state, Integral) else None,
    )


# By name, the one that decides first.
ScoresByName = dict[str, float]
ItemType = TypeVar("ItemType")
OutputType = TypeVar("OutputType")

# A table of up to so many bytes is searched on one thread. Much of what is done in it is Python's, of which one thread runs at a
# time, and two hinder each other, whether each has a search of its own or both share one: 1,000 x 20 take 1.4 s alone and 2.7 s on
# two threads, 2,600 x 500 take 4.2 and 5.7 s. A merit of so many microseconds a set, or more, is worth a thread whatever the table.
_SMALL_BYTES = 2**26
_HIGH_COST = 1000.0


@dataclass(frozen=True)
class FoldResult:
    """What one fold says.

    Attributes
    ----------
    support : ndarray of shape (n_columns,), bool
        The columns chosen by the rows that are not tested.
    nested, apparent, baseline : dict of float
        The scores, by name, with these columns, with those that all rows chose, and with none.
    all_columns : dict of float or None
        With every column, None where that does not fit in memory.
    """

    support: NDArray[np.bool_]
    nested: ScoresByName
    apparent: ScoresByName
    baseline: ScoresByName
    all_columns: ScoresByName | None


@dataclass(frozen=True)
class FoldAssessor:
    """A selector, a predictor and scores.

    Attributes
    ----------
    selector : SelectorAdapter
    model : TableModel
    scoring : Scoring
        The score that decides.
    extra_scorer : scorer or None
        scikit-learn's scorer of several more.
    """

    selector: SelectorAdapter
    model: TableModel
    scoring: Scoring
    extra_scorer: Any

    def assess_fold(self, source: Source, fold: Fold, full_support: NDArray[np.bool_], seed: int) -> FoldResult:
        """Choose and learn on the rows of a fold that are not tested, and score on those that are."""
        train, test = as_training_source(select_rows(source, fold.train)), select_rows(source, fold.test)
        support = self.selector.select(train, seed).support
        baseline = self._model_scores(BaselineModel().fit_columns(train, [], 0), test)
        nested = self._support_scores(train, test, support, seed)
        apparent = (
            nested if np.array_equal(full_support, support) else self._support_scores(train, test, full_support, seed)
        )
        try:
            every: ScoresByName | None = self._support_scores(train, test, np.ones_like(full_support), seed)
        except MemoryError:
            every = None
        return FoldResult(support, nested, apparent, baseline, every)

    def apparent_score(self, source: Source, folds: Folds, support: NDArray[np.bool_], seeds: Sequence[int]) -> float:
        """Return the mean score over the folds by columns that were chosen outside them."""
        scores = []
        for fold, seed in zip(folds.splits, seeds, strict=True):
            train, test = select_rows(source, fold.train), select_rows(source, fold.test)
            scores.append(self._model_score(self.model.fit_support(train, support, seed), test))
        return float(np.mean(scores))

    def _support_scores(self, train: Source, test: Source, support: NDArray[np.bool_], seed: int) -> ScoresByName:
        """Return the scores by some columns; without any that is of use, they are those of no column."""
        return self._model_scores(self.model.fit_support(train, support, seed), test)

    def _model_scores(self, fitted: FittedModel, test: Source) -> ScoresByName:
        found = {self.scoring.name: self._model_score(fitted, test)}
        return found if self.extra_scorer is None else found | score_fitted(self.extra_scorer, fitted, test)

    def _model_score(self, fitted: FittedModel, test: Source) -> float:
        return self.scoring.score(fitted.estimator, fitted.prepare_rows(test), test.target_values(), weight_array(test))


def run_with_progress(
    label: str,
    source: Source,
    work: Callable[[ItemType], OutputType],
    items: Sequence[ItemType],
    item_name: Callable[[int], str],
    *,
    evaluation_cost: float,
) -> list[tuple[OutputType, list[str]]]:
    """Return what the work makes of every item, with the sentences it told; an error says in which it was.

    `evaluation_cost` is how many microseconds or so the search needs for a set.
    """
    n_bytes = 8 * source.schema.n_rows * max(len(source.schema.used), 1)
    together = n_bytes > _SMALL_BYTES or evaluation_cost >= _HIGH_COST
    told: list[tuple[OutputType, list[str]]] = []
    for at, item in enumerate(progress.track_progress(label, items, total=len(items))):
        threads = nullcontext() if together else parallel.single_threaded()
        # Only how many are done is of interest.
        with (
            threads,
            progress.use_listener(_ignore_progress),
            capture_warnings() as sentences,
            _error_context(item_name(at)),
        ):
            told.append((work(item), sentences))
    return told


def _ignore_progress(label: str, done: int, total: int | None) -> None:
    pass


@contextmanager
def _error_context(where: str) -> Iterator[None]:
    """Say in an error where it was."""
    try:
        yield
    except MemoryError as error:
        raise MemoryError(f"{where}: {error}") from error
    except TypeError as error:
        raise TypeError(f"{where}: {error}") from error
    except ValueError as error:
        raise DataError(f"{where}: {error}") from error
    except Exception as error:
        raise RuntimeError(f"{where}: {type(error).__name__}: {error}") from error

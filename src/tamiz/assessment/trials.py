"""What assessments repeat on samples of the same rows: models that are scored on folds, and selections of any selector."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import singledispatch
from itertools import chain, islice
from numbers import Integral
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context, get_config
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline

from tamiz.arrays import Floats, Masks
from tamiz.assessment.findings import FoldScores
from tamiz.criteria.cross_validated import CrossValidated
from tamiz.exceptions import DataError
from tamiz.models.estimators import (
    check_accepts_weights,
    fit_weighted,
    native_rows,
    requested_metadata,
    set_random_state,
)
from tamiz.models.fold_scorer import score_folds
from tamiz.models.folds import Folds, drop_zero_weights, sample_rows
from tamiz.models.named_models import Model, resolve_models
from tamiz.models.scoring import Scoring, check_scoring_target, resolve_scoring
from tamiz.runtime import parallel, progress
from tamiz.runtime.random import Seed
from tamiz.runtime.user_warnings import capture_warnings
from tamiz.runtime.verdicts import Verdict
from tamiz.selection.defaults import choose_merit_and_search
from tamiz.selection.rank_selector import RankSelector
from tamiz.selection.selector import Selector
from tamiz.selection.size_search import SizeSearchCV
from tamiz.selection.subset_selector import SubsetSelector
from tamiz.table.base import Table, target_array, weight_array
from tamiz.table.schema import Schema
from tamiz.table.views import as_training_table, select_columns, select_rows

ItemType = TypeVar("ItemType")
OutputType = TypeVar("OutputType")

# For two classes, and for more.
ROC_AUC_SCORES = ("roc_auc", "roc_auc_ovr_weighted")


_KNOWN_WARNINGS = ("y_pred contains classes not in y_true", "`sklearn.utils.parallel.delayed` should be used")


@dataclass(frozen=True)
class Trial:
    """Models that are scored on column sets of the same rows, in the same folds.

    Attributes
    ----------
    table : Table
    folds : Folds
    models : dict of Model
    scorings : list of Scoring
        The deciding one first.
    seed : int
        Of the models.
    row_notes, model_notes : list
        Notes on the rows and folds, and on models and scores that are left out.
    """

    table: Table
    folds: Folds
    models: dict[str, Model]
    scorings: list[Scoring]
    seed: int
    row_notes: list[Verdict] = field(default_factory=list)
    model_notes: list[Verdict] = field(default_factory=list)

    @classmethod
    def open(
        cls,
        rows: tuple[Table, list[Verdict]],
        folds: Folds,
        models: Sequence[str] | None,
        scoring: Sequence[str] | None,
        seed: int,
    ) -> Trial:
        """Return the trial of named models, None for the default ones, on rows with notes (`open_rows`)."""
        table, row_notes = rows
        named, notes = resolve_models(models, table.schema)
        for model in named.values():
            model.check(table.schema)
        scorings, scoring_notes = resolve_scorings(scoring, table, folds, named.values())
        row_notes = [*row_notes, *folds.fold_warnings]
        return cls(table, folds, named, scorings, seed, row_notes, [*notes, *scoring_notes])

    def score(self, sets: Masks, models: Sequence[str] | None = None) -> tuple[Floats, list[Verdict]]:
        """Return the scores of models on sets, of shape (n_models, n_scorings, n_sets, n_folds), and the warnings of fits.

        The sets are those of `score_folds`; no models are all of them.
        """
        names = list(self.models) if models is None else models
        found = [
            score_folds(self.models[name], self.table, self.folds, self.scorings, sets=sets, seed=self.seed)
            for name in progress.track_progress("Models", names, len(names))
        ]
        return np.stack([one.values for one in found]), [note for one in found for note in one.notes]

    def fold_scores(self, values: Floats) -> FoldScores:
        return FoldScores(values, self.folds.variance_factor)

    @property
    def labels(self) -> dict[str, str]:
        """The labels of the models by name."""
        return {name: model.label for name, model in self.models.items()}


def open_rows(
    caller: str, table: Table, max_rows: int | None, n_splits: int, rng: np.random.Generator
) -> tuple[Table, list[Verdict]]:
    """Return the rows of positive weight of a table with a target, a sample of a long one, with notes on those left out."""
    whole, weight_notes = drop_zero_weights(table)
    if whole.schema.target is None:
        raise DataError(f"{caller} requires a target, but the target y is None.")
    rows, sample_notes = sample_rows(whole, max_rows, n_splits, rng)
    return rows, [*table.schema.dropped_row_notes, *weight_notes, *sample_notes]


def model_seed(random_state: Seed, folds: Folds) -> int:
    """Return the seed of models: the user's, or one that was drawn with the folds."""
    return int(random_state) % 2**31 if isinstance(random_state, Integral) else folds.table_seed


def resolve_scorings(
    requested: Sequence[str] | None, table: Table, folds: Folds, models: Iterable[Model]
) -> tuple[list[Scoring], list[Verdict]]:
    """Return the scorers, the deciding one first, and a note if ROC AUC cannot be computed.

    Accuracy is not the deciding score: if 5 of 100 rows are in a class, it may be .95 for informative columns and for none. ROC AUC
    depends on neither the class frequencies nor a threshold.
    """
    schema = table.schema
    if isinstance(requested, str) or (requested is not None and not len(requested)):
        raise ValueError(f"scoring must be a list of names such as ['roc_auc', 'f1_macro'], got {requested!r}.")
    names, notes = list(requested or ("r2",)), list[Verdict]()
    if requested is None and schema.has_classes:
        names = ["balanced_accuracy", "accuracy"]
        codes = target_array(table)
        # Rare classes may be in no fold.
        classes, lacking = np.unique(codes[folds.used_rows]), _first_missing_class(codes, folds)
        without = [model.label for model in models if not model.supports_roc_auc(len(classes))]
        if without:
            sentence = f"The area under the ROC curve is left out: {without[0]} provides no probabilities."
            notes = [Verdict("TZ503", sentence)]
        elif lacking is None:
            names.insert(0, ROC_AUC_SCORES[len(classes) > 2])
        else:
            number, code = lacking
            assert schema.target is not None
            notes = [
                Verdict(
                    "TZ202",
                    f"The area under the ROC curve is left out: fold {number} has no training rows, or no test rows, of class "
                    f"{schema.target.levels[code]!r}.",
                )
            ]
    scorings = []
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"scoring must contain names of scikit-learn scorers, got {name!r}.")
        scorings.append(scoring := resolve_scoring(name, has_classes=schema.has_classes))
        scoring.check_weights(schema)
        check_scoring_target(scoring, schema, table.target_values()[folds.used_rows])
    return scorings, notes


@contextmanager
def ignore_known_warnings() -> Iterator[None]:
    """Suppress two harmless warnings of scikit-learn; enter it around the work of all threads, which share the filters.

    A model may predict a class that the test rows lack, and a forest may be fitted inside a thread of this package.
    """
    show = warnings.showwarning

    def show_others(message: Warning | str, *context: Any, **options: Any) -> None:
        if not str(message).startswith(_KNOWN_WARNINGS):
            show(message, *context, **options)

    with warnings.catch_warnings():
        for message in _KNOWN_WARNINGS:
            warnings.filterwarnings("ignore", message, UserWarning)
        # scikit-learn empties the filters for a moment in each of its threads; a warning of another thread is then shown.
        warnings.showwarning = show_others
        yield


def _first_missing_class(codes: NDArray[Any], folds: Folds) -> tuple[int, int] | None:
    """Return the first fold (counted from 1) whose training or test rows lack a class, and the class; None if there is none."""
    every = np.unique(codes[folds.used_rows])
    for number, fold in enumerate(folds.splits, start=1):
        for rows in (fold.test, fold.train):
            missing = np.setdiff1d(every, codes[rows])
            if len(missing):
                return number, int(missing[0])
    return None


# Tables up to this size are searched on one thread. Much of such a search is Python code under the GIL, where threads slow each
# other down: 1,000 x 20 takes 1.4 s on one thread and 2.7 s on two, 2,600 x 500 takes 4.2 s and 5.7 s. A merit that needs at least
# `_HIGH_COST` microseconds per set uses several threads for any table.
_SMALL_BYTES = 2**26
_HIGH_COST = 1000.0


def select_in_folds(
    selector: SelectorAdapter,
    table: Table,
    folds: Folds,
    label: str = "Folds",
    select: Callable[[Table, int], Masks] | None = None,
) -> tuple[Masks, list[list[Verdict]]]:
    """Return what is selected on the training rows of every fold, stacked, and the messages of each.

    `select(rows, seed)` returns the columns; None is the selection of the selector.
    """

    def select_in_fold(at: int) -> Masks:
        rows = as_training_table(select_rows(table, folds[at].train))
        return selector.select(rows, folds.seeds[at]).support if select is None else select(rows, folds.seeds[at])

    n = len(folds)
    results = repeat_selections(label, selector, table, select_in_fold, range(n), number_items("Fold", n))
    return np.stack([support for support, _ in results]), [messages for _, messages in results]


def number_items(what: str, n: int) -> list[str]:
    return [f"{what} {at} of {n}" for at in range(1, n + 1)]


def repeat_selections(
    label: str,
    selector: SelectorAdapter,
    table: Table,
    work: Callable[[ItemType], OutputType],
    items: Iterable[ItemType],
    names: Sequence[str],
    *,
    side_by_side: bool = False,
) -> list[tuple[OutputType, list[Verdict]]]:
    """Return the result of the work for every item, with its warnings; errors begin with the item's name.

    Fewer items than names may come. `side_by_side` means that most of the work is in kernels, without the interpreter lock: items
    then run in the threads of the session, each on one thread.
    """
    n_bytes = 8 * table.schema.n_rows * max(len(table.schema.used), 1)
    use_threads = n_bytes > _SMALL_BYTES or selector.evaluation_cost >= _HIGH_COST
    # scikit-learn's configuration is local to this thread.
    config = get_config()

    def run(named: tuple[str, ItemType]) -> tuple[OutputType, list[Verdict]]:
        name, item = named
        # The progress of the work itself is not shown, only the number of finished items.
        with (
            nullcontext() if use_threads else parallel.single_threaded(),
            config_context(**config),
            progress.use_listener(None),
            capture_warnings() as messages,
            _error_context(name),
        ):
            return work(item), messages

    named = zip(names, items, strict=False)
    # Side by side, the first one still runs alone, so that the time limit of its search is not shared.
    results: Iterator[tuple[OutputType, list[Verdict]]] = map(run, named)
    if side_by_side and not use_threads:
        results = chain(map(run, islice(named, 1)), parallel.map_blocks(run, named))
    return list(progress.track_progress(label, results, total=len(names)))


@contextmanager
def _error_context(where: str) -> Iterator[None]:
    """Prefix an error with where it occurred."""
    try:
        yield
    except (MemoryError, TypeError, TimeoutError) as error:
        kind = next(kind for kind in (MemoryError, TypeError, TimeoutError) if isinstance(error, kind))
        raise kind(f"{where}: {error}") from error
    except ValueError as error:
        raise DataError(f"{where}: {error}") from error
    except Exception as error:
        raise RuntimeError(f"{where}: {type(error).__name__}: {error}") from error


@dataclass(frozen=True)
class SelectedColumns:
    """The columns that a selector selected."""

    support: Masks
    merit: float | None
    timed_out: bool = False


class SelectorAdapter(ABC):
    """Fits clones of a selector.

    `reads_target` states whether there is a merit that depends on the target, and `evaluation_cost` is the approximate number of
    microseconds per column set in the latest search.
    """

    label: str
    merit_name: str = ""
    unit: str = ""
    reads_target: bool = False
    notes: tuple[str, ...] = ()
    evaluation_cost: float = 0.0

    def model_and_scoring(self, schema: Schema) -> tuple[Model, Any] | None:  # noqa: ARG002 - most selectors have no model
        """Return the model and the scoring of the selector's merit; None if the merit scores no predictions."""
        return None

    def check(self, schema: Schema) -> None:  # noqa: B027 - most accept weights
        """Raise DataError for a table that the selector does not support."""

    @abstractmethod
    def select(self, table: Table, seed: int, *, journal: bool = False) -> SelectedColumns:
        """Return the columns selected on the rows of a table; only a search on the whole table may use its journal."""

    def select_by_size(self, table: Table, seed: int) -> dict[int, Masks]:
        """Return the sets that are compared by their size; 0 is the one set of a selector that chooses its size itself."""
        return {0: self.select(table, seed).support}


@singledispatch
def adapt_selector(selector: Any) -> SelectorAdapter:
    return _SklearnSelectorAdapter(selector)


def metadata_readers(selector: Any) -> list[tuple[Any, str]]:
    """Return what reads metadata of the rows in the fit of a selector, each with the method that reads them."""
    return selector._metadata_readers() if isinstance(selector, Selector) else [(selector, "fit")]


class _SubsetSelectorAdapter(SelectorAdapter):
    """A search."""

    def __init__(self, selector: SubsetSelector) -> None:
        self._selector = selector
        self.merit_name = _part_name(selector.merit)
        self.label = f"{self.merit_name} by {_part_name(selector.search)}"

    def model_and_scoring(self, schema: Schema) -> tuple[Model, Any] | None:
        chosen = choose_merit_and_search(self._selector.merit, self._selector.search, schema)[0]
        return chosen.model_and_scoring(schema) if isinstance(chosen, CrossValidated) else None

    def select(self, table: Table, seed: int, *, journal: bool = False) -> SelectedColumns:
        selector = clone(self._selector) if journal else clone(self._selector).set_params(journal=None)
        fitted = set_random_state(selector, seed).fit(table)
        self.unit, self.reads_target = fitted.criterion_.unit, fitted.criterion_.reads_target
        self.merit_name, self.evaluation_cost = fitted.merit_name_, fitted.merit_cost_
        self.label = f"{self.merit_name} by {type(fitted.search_).__name__}"
        timed = fitted.stop is not None and fitted.stop.time_limit() is not None
        if timed:
            self.notes = ("The search has a time limit: another run, or another machine, may select other columns.",)
        return SelectedColumns(fitted.support_, fitted.merit_, timed and fitted.archive_.stopped_early)


class _RankSelectorAdapter(SelectorAdapter):
    """A ranking with a cut-off. Its merit is the mean score of the selected columns, 0 if there is none."""

    def __init__(self, selector: RankSelector) -> None:
        self._selector = selector
        self._set_names(selector.relevance)

    def _set_names(self, relevance: Any) -> None:
        name = _part_name(relevance)
        self.label = f"ranking by {name}"
        self.merit_name = f"mean {name} of the selected columns"

    def select(self, table: Table, seed: int, *, journal: bool = False) -> SelectedColumns:  # noqa: ARG002
        fitted = set_random_state(clone(self._selector), seed).fit(table)
        self._set_names(fitted.relevance_)
        self.unit, self.reads_target = fitted.relevance_.unit, fitted.relevance_.needs_target
        support = fitted.get_support()
        return SelectedColumns(support, float(fitted.scores_[support].mean()) if support.any() else 0.0)


class _SizeSearchAdapter(SelectorAdapter):
    """A subset size selected by cross-validation. Its merit is the mean score of that size."""

    def __init__(self, search: SizeSearchCV) -> None:
        self._search = search
        self._selector = adapt_selector(search.selector)
        self.label = f"{self._selector.label}, its size by cross-validation"

    @property
    def _cross_validated(self) -> CrossValidated:
        return CrossValidated(self._search.estimator, scoring=self._search.scoring)

    def model_and_scoring(self, schema: Schema) -> tuple[Model, Any] | None:
        return self._cross_validated.model_and_scoring(schema)

    def select(self, table: Table, seed: int, *, journal: bool = False) -> SelectedColumns:
        search = clone(self._search)
        if isinstance(search.selector, SubsetSelector) and not journal:
            search.set_params(selector__journal=None)
        fitted = set_random_state(search, seed).fit(table)
        self.merit_name, self.reads_target = fitted.score_name_, self._cross_validated.reads_target
        results = fitted.cv_results_
        return SelectedColumns(
            fitted.get_support(), float(results["mean_test_score"][results["n_features"] == fitted.n_features_][0])
        )


class _OwnSelectorAdapter(SelectorAdapter):
    """Another selector of this package: it reads the table, with its categories and weights, and has no merit."""

    def __init__(self, selector: Selector) -> None:
        self._selector = selector
        self.label = type(selector).__name__

    def select(self, table: Table, seed: int, *, journal: bool = False) -> SelectedColumns:  # noqa: ARG002
        return SelectedColumns(set_random_state(clone(self._selector), seed).fit(table).get_support(), None)


def _part_name(part: Any) -> str:
    """Return the name of a part of a selector; None means that the default depends on the table."""
    return "the default score" if part is None else part if isinstance(part, str) else type(part).__name__


class ColumnSetAdapter(SelectorAdapter):
    def __init__(self, columns: Sequence[int], label: str) -> None:
        self._columns = columns
        self.label = label

    def select(self, table: Table, seed: int, *, journal: bool = False) -> SelectedColumns:  # noqa: ARG002
        del seed
        return SelectedColumns(np.isin(np.arange(table.schema.n_columns), self._columns), None)


class PathAdapter(SelectorAdapter):
    """A selector that gives a set of columns for each of some sizes, from one ranking or search."""

    def __init__(
        self, selector: RankSelector | SubsetSelector, sizes: Sequence[int], left_out: Collection[int] = ()
    ) -> None:
        self._selector = selector
        self._sizes = sizes
        self._left_out = left_out
        self.label = adapt_selector(selector).label

    def select(self, table: Table, seed: int, *, journal: bool = False) -> SelectedColumns:  # noqa: ARG002
        return SelectedColumns([*self.select_by_size(table, seed).values()][-1], None)

    def of_size(self, size: int) -> RankSelector | SubsetSelector:
        sized: RankSelector | SubsetSelector = clone(self._selector).set_params(n_features=size)
        return sized

    def select_by_size(self, table: Table, seed: int) -> dict[int, Masks]:
        if self._left_out:
            table = select_columns(table, [j for j in table.schema.used.tolist() if j not in self._left_out])
        sizes = [size for size in self._sizes if size <= len(table.schema.used)]
        return set_random_state(clone(self._selector), seed)._supports_by_size(table, sizes)


class _SklearnSelectorAdapter(SelectorAdapter):
    """A selector with scikit-learn's interface, or a pipeline that ends in one; it gets the rows in the user's type."""

    def __init__(self, selector: Any) -> None:
        last = selector[-1] if isinstance(selector, Pipeline) else selector
        if not isinstance(selector, BaseEstimator) or not callable(getattr(last, "get_support", None)):
            raise TypeError(
                "selector must be a selector such as SubsetSelector(CFS(), BestFirst()), a scikit-learn selector with get_support, "
                f"or a pipeline that ends in one, got {selector!r}."
            )
        self._selector = selector
        self.label = type(last).__name__

    def check(self, schema: Schema) -> None:
        check_accepts_weights(self._selector, schema)

    def select(self, table: Table, seed: int, *, journal: bool = False) -> SelectedColumns:  # noqa: ARG002
        selector = set_random_state(clone(self._selector), seed)
        rows, y, weight = native_rows(selector, table), table.target_values(), weight_array(table)
        fitted = fit_weighted(selector, rows, y, weight, requested_metadata(selector, "fit", table.metadata))
        names = table.schema.names
        steps = fitted[:-1] if isinstance(fitted, Pipeline) else None
        last = fitted if steps is None else fitted[-1]
        input_names = names if steps is None or not len(steps) else _pipeline_names(steps, last, table)
        support = np.zeros(len(names), dtype=bool)
        for name, is_selected in zip(input_names, last.get_support().tolist(), strict=True):
            support[names.index(name)] |= is_selected
        return SelectedColumns(support, None)


def _pipeline_names(steps: Pipeline, last: Any, table: Table) -> list[str]:
    """Return the table columns that are the input of the last step of a pipeline, in its order."""
    names = table.schema.names
    try:
        inputs = [str(name) for name in steps.get_feature_names_out(np.array(names, dtype=object))]
    except AttributeError:
        inputs = names if len(last.get_support()) == len(names) else []
    if not inputs or len(set(inputs)) != len(inputs) or not set(inputs) <= set(names):
        raise DataError(
            "The selector at the end of the pipeline does not select columns of the table, because earlier steps make other "
            "columns: select columns before these steps."
        )
    return inputs


adapt_selector.register(SelectorAdapter, lambda one: one)
adapt_selector.register(Selector, _OwnSelectorAdapter)
adapt_selector.register(SubsetSelector, _SubsetSelectorAdapter)
adapt_selector.register(RankSelector, _RankSelectorAdapter)
adapt_selector.register(SizeSearchCV, _SizeSearchAdapter)

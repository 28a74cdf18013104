"""Selectors of this package and of scikit-learn's kind, asked for columns in the same way."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline

from tamiz.criteria.cross_validated import CrossValidated
from tamiz.exceptions import DataError
from tamiz.method_lookup import choose_merit_and_search, resolve_merit, resolve_search
from tamiz.models.estimators import check_accepts_weights, fit_weighted, native_rows, set_random_state
from tamiz.models.folds import sample_rows
from tamiz.models.named_models import Model
from tamiz.selection import RankSelector, SubsetSelector
from tamiz.size_search import SizeSearchCV
from tamiz.sources.base import Source
from tamiz.sources.schema import Schema
from tamiz.sources.views import weight_array

# Rows of each class, by twos, that a sample has where the table has them.
_MIN_CLASS_FOLDS = 5


@dataclass(frozen=True)
class SelectedColumns:
    """What a selector chose.

    Attributes
    ----------
    support : ndarray of shape (n_columns,), bool
    merit : float or None
        What it found the columns worth, None where it says nothing of that.
    timed_out : bool
        Whether its search was stopped by the clock.
    """

    support: NDArray[np.bool_]
    merit: float | None
    timed_out: bool = False


class SelectorAdapter(ABC):
    """A selector that is asked again and again, each time as if it had never been fitted.

    Attributes
    ----------
    label : str
        What it is called.
    merit_name, unit : str
        What its merit is called, and the unit of that; "" where it has none.
    reads_target : bool
        Whether it has a merit, and that depends on the target.
    notes : tuple of str
        What a reader of its choices must know.
    evaluation_cost : float
        How many microseconds or so its last choice needed for a set.
    """

    label: str
    merit_name: str = ""
    unit: str = ""
    reads_target: bool = False
    notes: tuple[str, ...] = ()
    evaluation_cost: float = 0.0

    def model_and_scoring(self, schema: Schema) -> tuple[Model, Any] | None:  # noqa: ARG002 - most predict nothing
        """Return the model whose predictions the selector's merit scores, and the score; None where there is none."""
        return None

    def check(self, schema: Schema) -> None:  # noqa: B027 - most take weights
        """Refuse a table that the selector cannot take."""

    @abstractmethod
    def select(self, source: Source, seed: int) -> SelectedColumns:
        """Return the columns chosen by all rows of a source."""

    def select_full_table(self, source: Source, seed: int) -> SelectedColumns:
        """Return the columns chosen by the whole table, with whatever belongs to that search alone."""
        return self.select(source, seed)


@singledispatch
def adapt_selector(selector: Any) -> SelectorAdapter:
    """Return a selector in the form in which it is asked."""
    return _SklearnSelectorAdapter(selector)


class _SubsetSelectorAdapter(SelectorAdapter):
    """A search. Its journal belongs to the search of the whole table: what folds evaluate is not the same data."""

    def __init__(self, selector: SubsetSelector) -> None:
        self._selector = selector
        self.merit_name = _part_name(selector.merit)
        self.label = f"{self.merit_name} by {_part_name(selector.search)}"

    def model_and_scoring(self, schema: Schema) -> tuple[Model, Any] | None:
        merit, search = resolve_merit(self._selector.merit), resolve_search(self._selector.search)
        return choose_merit_and_search(merit, search, schema)[0].model_and_scoring(schema)

    def select(self, source: Source, seed: int) -> SelectedColumns:
        return self._fit_select(clone(self._selector).set_params(journal=None), source, seed)

    def select_full_table(self, source: Source, seed: int) -> SelectedColumns:
        return self._fit_select(clone(self._selector), source, seed)

    def _fit_select(self, selector: SubsetSelector, source: Source, seed: int) -> SelectedColumns:
        fitted = set_random_state(selector, seed).fit(source)
        self.unit, self.reads_target = fitted.criterion_.unit, fitted.criterion_.reads_target
        self.merit_name, self.evaluation_cost = fitted.merit_name_, fitted.merit_cost_
        self.label = f"{self.merit_name} by {type(fitted.search_).__name__}"
        timed = fitted.stop is not None and fitted.stop.time_limit() is not None
        if timed:
            self.notes = (
                "The search is stopped by the clock: another run, or another machine, may find other columns.",
            )
        return SelectedColumns(fitted.support_, fitted.merit_, timed and fitted.archive_.stopped_early)


class _RankSelectorAdapter(SelectorAdapter):
    """A ranking cut off. Its merit is the mean score of the columns kept, 0 where none is."""

    def __init__(self, selector: RankSelector) -> None:
        self._selector = selector
        self._set_names(selector.relevance)

    def _set_names(self, relevance: Any) -> None:
        name = _part_name(relevance)
        self.label = f"ranking by {name}"
        self.merit_name = f"mean {name} of the columns kept"

    def select(self, source: Source, seed: int) -> SelectedColumns:
        fitted = set_random_state(clone(self._selector), seed).fit(source)
        self._set_names(fitted.relevance_)
        self.unit, self.reads_target = fitted.relevance_.unit, fitted.relevance_.needs_target
        support = fitted.get_support()
        return SelectedColumns(support, float(fitted.scores_[support].mean()) if support.any() else 0.0)


class _SizeSearchAdapter(SelectorAdapter):
    """A size chosen by cross-validation. Its merit is the mean score of that size."""

    def __init__(self, search: SizeSearchCV) -> None:
        self._search = search
        self._selector = adapt_selector(search.selector)
        self.label = f"{self._selector.label}, its size by cross-validation"

    @property
    def _cross_validated(self) -> CrossValidated:
        return CrossValidated(self._search.estimator, scoring=self._search.scoring)

    def model_and_scoring(self, schema: Schema) -> tuple[Model, Any] | None:
        return self._cross_validated.model_and_scoring(schema)

    def select(self, source: Source, seed: int) -> SelectedColumns:
        search = clone(self._search)
        if isinstance(search.selector, SubsetSelector):
            search.set_params(selector__journal=None)
        return self._fit_select(search, source, seed)

    def select_full_table(self, source: Source, seed: int) -> SelectedColumns:
        return self._fit_select(clone(self._search), source, seed)

    def _fit_select(self, search: SizeSearchCV, source: Source, seed: int) -> SelectedColumns:
        fitted = set_random_state(search, seed).fit(source)
        self.merit_name, self.reads_target = fitted.score_name_, self._cross_validated.reads_target
        results = fitted.cv_results_
        return SelectedColumns(
            fitted.get_support(), float(results["mean_test_score"][results["n_features"] == fitted.n_features_][0])
        )


def _part_name(part: Any) -> str:
    """Return what a part of a selector is called before the table decides on those left to it."""
    return "the usual score" if part is None else part if isinstance(part, str) else type(part).__name__


class SampledSelectorAdapter(SelectorAdapter):
    """Another selector on a random sample of the rows, with all classes, where there are more than so many."""

    def __init__(self, selector: SelectorAdapter, max_rows: int) -> None:
        self._selector = selector
        self._max_rows = max_rows
        self.label = selector.label

    def check(self, schema: Schema) -> None:
        """Refuse what the other one refuses."""
        self._selector.check(schema)

    def select(self, source: Source, seed: int) -> SelectedColumns:
        """Return what the other one chooses with a sample of the rows."""
        rows, _ = sample_rows(source, self._max_rows, _MIN_CLASS_FOLDS, np.random.default_rng(seed))
        choice = self._selector.select(rows, seed)
        self.label, self.evaluation_cost = self._selector.label, self._selector.evaluation_cost
        return choice


class _SklearnSelectorAdapter(SelectorAdapter):
    """A selector of scikit-learn's kind, or a pipeline that ends in one: it is given the rows as the user gave them."""

    def __init__(self, selector: Any) -> None:
        last = selector[-1] if isinstance(selector, Pipeline) else selector
        if not isinstance(selector, BaseEstimator) or not callable(getattr(last, "get_support", None)):
            raise TypeError(
                "selector must be one such as SubsetSelector(CFS(), BestFirst()), one of scikit-learn's with get_support, or a "
                f"pipeline that ends in one, got {selector!r}."
            )
        self._selector = selector
        self.label = type(last).__name__

    def check(self, schema: Schema) -> None:
        check_accepts_weights(self._selector, schema)

    def select(self, source: Source, seed: int) -> SelectedColumns:
        selector = set_random_state(clone(self._selector), seed)
        fitted = fit_weighted(selector, native_rows(selector, source), source.target_values(), weight_array(source))
        names = source.schema.names
        steps = fitted[:-1] if isinstance(fitted, Pipeline) else None
        last = fitted if steps is None else fitted[-1]
        seen = names if steps is None or not len(steps) else _pipeline_names(steps, last, source)
        support = np.zeros(len(names), dtype=bool)
        for name, kept in zip(seen, last.get_support().tolist(), strict=True):
            support[names.index(name)] |= kept
        return SelectedColumns(support, None)


def _pipeline_names(steps: Pipeline, last: Any, source: Source) -> list[str]:
    """Return the columns of the table that the last step of a pipeline chooses from, in its order."""
    names = source.schema.names
    try:
        seen = [str(name) for name in steps.get_feature_names_out(np.array(names, dtype=object))]
    except AttributeError:
        seen = names if len(last.get_support()) == len(names) else []
    if not seen or len(set(seen)) != len(seen) or not set(seen) <= set(names):
        raise DataError(
            "The selector at the end of the pipeline does not choose among columns of the table: the steps before it make others. "
            "Choose before them."
        )
    return seen


adapt_selector.register(SelectorAdapter, lambda one: one)
adapt_selector.register(SubsetSelector, _SubsetSelectorAdapter)
adapt_selector.register(RankSelector, _RankSelectorAdapter)
adapt_selector.register(SizeSearchCV, _SizeSearchAdapter)

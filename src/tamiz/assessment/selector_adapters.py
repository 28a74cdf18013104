"""Adapters that give selectors of this package and of scikit-learn one interface: select columns of a table with a seed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline

from tamiz.arrays import Masks
from tamiz.criteria.cross_validated import CrossValidated
from tamiz.exceptions import DataError
from tamiz.method_lookup import choose_merit_and_search, resolve_merit, resolve_search
from tamiz.models.estimators import (
    check_accepts_weights,
    fit_weighted,
    native_rows,
    requested_metadata,
    set_random_state,
)
from tamiz.models.named_models import Model
from tamiz.selection.rank_selector import RankSelector
from tamiz.selection.selector import Selector
from tamiz.selection.size_search import SizeSearchCV
from tamiz.selection.subset_selector import SubsetSelector
from tamiz.table.base import Table
from tamiz.table.schema import Schema
from tamiz.table.views import select_columns, weight_array


@dataclass(frozen=True)
class SelectedColumns:
    """The columns that a selector selected.

    Attributes
    ----------
    support : ndarray of shape (n_columns,), bool
    merit : float or None
        The merit of the columns, None if the selector has no merit.
    timed_out : bool
        Whether the search was stopped by its time limit.
    """

    support: Masks
    merit: float | None
    timed_out: bool = False


class SelectorAdapter(ABC):
    """Fits clones of a selector.

    Attributes
    ----------
    label : str
        The readable name.
    merit_name, unit : str
        The name and the unit of the merit; "" without one.
    reads_target : bool
        Whether there is a merit that depends on the target.
    notes : tuple of str
        Notes for a reader of the results.
    evaluation_cost : float
        The approximate number of microseconds per column set in the latest search.
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
    def select(self, table: Table, seed: int) -> SelectedColumns:
        """Return the columns selected on the rows of a table."""

    def select_by_size(self, table: Table, seed: int) -> dict[int, Masks]:
        """Return the sets that are compared by their size; 0 is the one set of a selector that chooses its size itself."""
        return {0: self.select(table, seed).support}

    def select_full_table(self, table: Table, seed: int) -> SelectedColumns:
        """Return the columns selected on the whole table; only this search uses a journal."""
        return self.select(table, seed)


@singledispatch
def adapt_selector(selector: Any) -> SelectorAdapter:
    return _SklearnSelectorAdapter(selector)


def metadata_readers(selector: Any) -> list[tuple[Any, str]]:
    """Return what reads metadata of the rows in the fit of a selector, each with the method that reads them."""
    return selector._metadata_readers() if isinstance(selector, Selector) else [(selector, "fit")]


class _SubsetSelectorAdapter(SelectorAdapter):
    """A search. Only the search on the whole table uses its journal, because folds are other data."""

    def __init__(self, selector: SubsetSelector) -> None:
        self._selector = selector
        self.merit_name = _part_name(selector.merit)
        self.label = f"{self.merit_name} by {_part_name(selector.search)}"

    def model_and_scoring(self, schema: Schema) -> tuple[Model, Any] | None:
        merit, search = resolve_merit(self._selector.merit), resolve_search(self._selector.search)
        chosen = choose_merit_and_search(merit, search, schema)[0]
        return chosen.model_and_scoring(schema) if isinstance(chosen, CrossValidated) else None

    def select(self, table: Table, seed: int) -> SelectedColumns:
        return self._fit_select(clone(self._selector).set_params(journal=None), table, seed)

    def select_full_table(self, table: Table, seed: int) -> SelectedColumns:
        return self._fit_select(clone(self._selector), table, seed)

    def _fit_select(self, selector: SubsetSelector, table: Table, seed: int) -> SelectedColumns:
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

    def select(self, table: Table, seed: int) -> SelectedColumns:
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

    def select(self, table: Table, seed: int) -> SelectedColumns:
        search = clone(self._search)
        if isinstance(search.selector, SubsetSelector):
            search.set_params(selector__journal=None)
        return self._fit_select(search, table, seed)

    def select_full_table(self, table: Table, seed: int) -> SelectedColumns:
        return self._fit_select(clone(self._search), table, seed)

    def _fit_select(self, search: SizeSearchCV, table: Table, seed: int) -> SelectedColumns:
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

    def select(self, table: Table, seed: int) -> SelectedColumns:
        return SelectedColumns(set_random_state(clone(self._selector), seed).fit(table).get_support(), None)


def _part_name(part: Any) -> str:
    """Return the name of a part of a selector; None means that the default depends on the table."""
    return "the default score" if part is None else part if isinstance(part, str) else type(part).__name__


class ColumnSetAdapter(SelectorAdapter):
    def __init__(self, columns: Sequence[int], label: str) -> None:
        self._columns = columns
        self.label = label

    def select(self, table: Table, seed: int) -> SelectedColumns:
        del seed
        return SelectedColumns(np.isin(np.arange(table.schema.n_columns), self._columns), None)


class PathAdapter(SelectorAdapter):
    """A selector that gives a set of columns for each of some sizes, from one ranking or search.

    Parameters
    ----------
    selector : RankSelector or SubsetSelector
    sizes : sequence of int
    left_out : collection of column numbers, default=()
        Columns that are not searched.
    """

    def __init__(
        self, selector: RankSelector | SubsetSelector, sizes: Sequence[int], left_out: Collection[int] = ()
    ) -> None:
        self._selector = selector
        self._sizes = sizes
        self._left_out = left_out
        self.label = adapt_selector(selector).label

    def select(self, table: Table, seed: int) -> SelectedColumns:
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

    def select(self, table: Table, seed: int) -> SelectedColumns:
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

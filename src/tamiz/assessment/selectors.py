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

from tamiz.assessment.splits import sampled_rows
from tamiz.criteria.cross_validated import CrossValidated
from tamiz.exceptions import DataError
from tamiz.parts import merit_of, search_of, usual_parts
from tamiz.selection import RankSelector, SubsetSelector
from tamiz.size_search import SizeSearchCV
from tamiz.sources.base import Source
from tamiz.sources.schema import Schema
from tamiz.sources.views import weight_of
from tamiz.wrappers.estimators import check_takes_weights, fit_weighted, rows_for, seeded
from tamiz.wrappers.models import Model

# Rows of each class, by twos, that a sample has where the table has them.
_FEWEST_OF_CLASS = 5


@dataclass(frozen=True)
class Choice:
    """What a selector chose.

    Attributes
    ----------
    support : ndarray of shape (n_columns,), bool
    merit : float or None
        What it found the columns worth, None where it says nothing of that.
    out_of_time : bool
        Whether its search was stopped by the clock.
    """

    support: NDArray[np.bool_]
    merit: float | None
    out_of_time: bool = False


class Chooser(ABC):
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
    effort : float
        How many microseconds or so its last choice needed for a set.
    """

    label: str
    merit_name: str = ""
    unit: str = ""
    reads_target: bool = False
    notes: tuple[str, ...] = ()
    effort: float = 0.0

    def predictions(self, schema: Schema) -> tuple[Model, Any] | None:  # noqa: ARG002 - most predict nothing
        """Return the model whose predictions the selector's merit scores, and the score; None where there is none."""
        return None

    def check(self, schema: Schema) -> None:  # noqa: B027 - most take weights
        """Refuse a table that the selector cannot take."""

    @abstractmethod
    def choose(self, source: Source, seed: int) -> Choice:
        """Return the columns chosen by all rows of a source."""

    def choose_first(self, source: Source, seed: int) -> Choice:
        """Return the columns chosen by the whole table, with whatever belongs to that search alone."""
        return self.choose(source, seed)


@singledispatch
def chooser(selector: Any) -> Chooser:
    """Return a selector in the form in which it is asked."""
    return _Foreign(selector)


class _OfSubsets(Chooser):
    """A search. Its journal belongs to the search of the whole table: what folds evaluate is not the same data."""

    def __init__(self, selector: SubsetSelector) -> None:
        self._selector = selector
        self.merit_name = _called(selector.merit)
        self.label = f"{self.merit_name} by {_called(selector.search)}"

    def predictions(self, schema: Schema) -> tuple[Model, Any] | None:
        merit, search = merit_of(self._selector.merit), search_of(self._selector.search)
        return usual_parts(merit, search, schema)[0].predictions(schema)

    def choose(self, source: Source, seed: int) -> Choice:
        return self._chosen(clone(self._selector).set_params(journal=None), source, seed)

    def choose_first(self, source: Source, seed: int) -> Choice:
        return self._chosen(clone(self._selector), source, seed)

    def _chosen(self, selector: SubsetSelector, source: Source, seed: int) -> Choice:
        fitted = seeded(selector, seed).fit(source)
        self.unit, self.reads_target = fitted.criterion_.unit, fitted.criterion_.reads_target
        self.merit_name, self.effort = fitted.merit_name_, fitted.merit_effort_
        self.label = f"{self.merit_name} by {type(fitted.search_).__name__}"
        timed = fitted.stop is not None and fitted.stop.seconds() is not None
        if timed:
            self.notes = (
                "The search is stopped by the clock: another run, or another machine, may find other columns.",
            )
        return Choice(fitted.support_, fitted.merit_, timed and fitted.archive_.cut_off)


class _OfRanks(Chooser):
    """A ranking cut off. Its merit is the mean score of the columns kept, 0 where none is."""

    def __init__(self, selector: RankSelector) -> None:
        self._selector = selector
        self._name(selector.relevance)

    def _name(self, relevance: Any) -> None:
        name = _called(relevance)
        self.label = f"ranking by {name}"
        self.merit_name = f"mean {name} of the columns kept"

    def choose(self, source: Source, seed: int) -> Choice:
        fitted = seeded(clone(self._selector), seed).fit(source)
        self._name(fitted.relevance_)
        self.unit, self.reads_target = fitted.relevance_.unit, fitted.relevance_.needs_target
        support = fitted.get_support()
        return Choice(support, float(fitted.scores_[support].mean()) if support.any() else 0.0)


class _OfSizes(Chooser):
    """A size chosen by cross-validation. Its merit is the mean score of that size."""

    def __init__(self, search: SizeSearchCV) -> None:
        self._search = search
        self._selector = chooser(search.selector)
        self.label = f"{self._selector.label}, its size by cross-validation"

    @property
    def _wrapper(self) -> CrossValidated:
        return CrossValidated(self._search.estimator, scoring=self._search.scoring)

    def predictions(self, schema: Schema) -> tuple[Model, Any] | None:
        return self._wrapper.predictions(schema)

    def choose(self, source: Source, seed: int) -> Choice:
        search = clone(self._search)
        if isinstance(search.selector, SubsetSelector):
            search.set_params(selector__journal=None)
        return self._chosen(search, source, seed)

    def choose_first(self, source: Source, seed: int) -> Choice:
        return self._chosen(clone(self._search), source, seed)

    def _chosen(self, search: SizeSearchCV, source: Source, seed: int) -> Choice:
        fitted = seeded(search, seed).fit(source)
        self.merit_name, self.reads_target = fitted.score_name_, self._wrapper.reads_target
        results = fitted.cv_results_
        return Choice(
            fitted.get_support(), float(results["mean_test_score"][results["n_features"] == fitted.n_features_][0])
        )


def _called(part: Any) -> str:
    """Return what a part of a selector is called before the table decides on those left to it."""
    return "the usual score" if part is None else part if isinstance(part, str) else type(part).__name__


class OnFewerRows(Chooser):
    """Another selector on a random sample of the rows, with all classes, where there are more than so many."""

    def __init__(self, chooser: Chooser, most: int) -> None:
        self._chooser = chooser
        self._most = most
        self.label = chooser.label

    def check(self, schema: Schema) -> None:
        """Refuse what the other one refuses."""
        self._chooser.check(schema)

    def choose(self, source: Source, seed: int) -> Choice:
        """Return what the other one chooses with a sample of the rows."""
        rows, _ = sampled_rows(source, self._most, _FEWEST_OF_CLASS, np.random.default_rng(seed))
        choice = self._chooser.choose(rows, seed)
        self.label, self.effort = self._chooser.label, self._chooser.effort
        return choice


class _Foreign(Chooser):
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
        check_takes_weights(self._selector, schema)

    def choose(self, source: Source, seed: int) -> Choice:
        selector = seeded(clone(self._selector), seed)
        fitted = fit_weighted(selector, rows_for(selector, source), source.target_values(), weight_of(source))
        names = source.schema.names
        steps = fitted[:-1] if isinstance(fitted, Pipeline) else None
        last = fitted if steps is None else fitted[-1]
        seen = names if steps is None or not len(steps) else _names_after(steps, last, source)
        support = np.zeros(len(names), dtype=bool)
        for name, kept in zip(seen, last.get_support().tolist(), strict=True):
            support[names.index(name)] |= kept
        return Choice(support, None)


def _names_after(steps: Pipeline, last: Any, source: Source) -> list[str]:
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


chooser.register(Chooser, lambda one: one)
chooser.register(SubsetSelector, _OfSubsets)
chooser.register(RankSelector, _OfRanks)
chooser.register(SizeSearchCV, _OfSizes)

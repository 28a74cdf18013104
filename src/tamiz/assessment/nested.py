"""The search inside every fold, beside what a search on all rows would have promised."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tamiz import parallel, progress
from tamiz.assessment.predictors import BaselineModel, FittedModel, TableModel
from tamiz.assessment.scoring import score_fitted
from tamiz.assessment.selectors import SelectorAdapter
from tamiz.exceptions import DataError
from tamiz.sources.base import Source
from tamiz.sources.views import as_training_source, select_rows, weight_array
from tamiz.warn import capture_warnings
from tamiz.wrappers.folds import Fold, Folds
from tamiz.wrappers.scoring import Scoring

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

"""The search inside every fold, beside what a search on all rows would have promised."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tamiz import parallel, progress
from tamiz.assessment.predictors import Learned, Nothing, Predictor
from tamiz.assessment.scoring import score_learned
from tamiz.assessment.selectors import Chooser
from tamiz.exceptions import DataError
from tamiz.sources.base import Source
from tamiz.sources.views import learnable, rows_of, weight_of
from tamiz.warn import held
from tamiz.wrappers.folds import Fold, Folds
from tamiz.wrappers.scoring import Scoring

# By name, the one that decides first.
Scores = dict[str, float]
Item = TypeVar("Item")
Answer = TypeVar("Answer")

# A table of up to so many bytes is searched on one thread. Much of what is done in it is Python's, of which one thread runs at a
# time, and two hinder each other, whether each has a search of its own or both share one: 1,000 x 20 take 1.4 s alone and 2.7 s on
# two threads, 2,600 x 500 take 4.2 and 5.7 s. A merit of so many microseconds a set, or more, is worth a thread whatever the table.
_SMALL_BYTES = 2**26
_MUCH_EFFORT = 1000.0


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
    nested: Scores
    apparent: Scores
    baseline: Scores
    all_columns: Scores | None


@dataclass(frozen=True)
class Assessor:
    """A selector, a predictor and scores.

    Attributes
    ----------
    chooser : Chooser
    predictor : Predictor
    scoring : Scoring
        The score that decides.
    beside : scorer or None
        scikit-learn's scorer of several more.
    """

    chooser: Chooser
    predictor: Predictor
    scoring: Scoring
    beside: Any

    def fold(self, source: Source, fold: Fold, whole: NDArray[np.bool_], seed: int) -> FoldResult:
        """Choose and learn on the rows of a fold that are not tested, and score on those that are."""
        train, test = learnable(rows_of(source, fold.train)), rows_of(source, fold.test)
        support = self.chooser.choose(train, seed).support
        baseline = self._values(Nothing().learn(train, [], 0), test)
        nested = self._scores(train, test, support, seed)
        apparent = nested if np.array_equal(whole, support) else self._scores(train, test, whole, seed)
        try:
            every: Scores | None = self._scores(train, test, np.ones_like(whole), seed)
        except MemoryError:
            every = None
        return FoldResult(support, nested, apparent, baseline, every)

    def apparent(self, source: Source, folds: Folds, support: NDArray[np.bool_], seeds: Sequence[int]) -> float:
        """Return the mean score over the folds by columns that were chosen outside them."""
        scores = []
        for fold, seed in zip(folds.parts, seeds, strict=True):
            train, test = rows_of(source, fold.train), rows_of(source, fold.test)
            scores.append(self._value(self.predictor.learn_by(train, support, seed), test))
        return float(np.mean(scores))

    def _scores(self, train: Source, test: Source, support: NDArray[np.bool_], seed: int) -> Scores:
        """Return the scores by some columns; without any that is of use, they are those of no column."""
        return self._values(self.predictor.learn_by(train, support, seed), test)

    def _values(self, learned: Learned, test: Source) -> Scores:
        found = {self.scoring.name: self._value(learned, test)}
        return found if self.beside is None else found | score_learned(self.beside, learned, test)

    def _value(self, learned: Learned, test: Source) -> float:
        return self.scoring.value(learned.estimator, learned.rows(test), test.target_values(), weight_of(test))


def in_turn(
    label: str,
    source: Source,
    work: Callable[[Item], Answer],
    items: Sequence[Item],
    name: Callable[[int], str],
    *,
    effort: float,
) -> list[tuple[Answer, list[str]]]:
    """Return what the work makes of every item, with the sentences it told; an error says in which it was.

    `effort` is how many microseconds or so the search needs for a set.
    """
    n_bytes = 8 * source.schema.n_rows * max(len(source.schema.used), 1)
    together = n_bytes > _SMALL_BYTES or effort >= _MUCH_EFFORT
    told: list[tuple[Answer, list[str]]] = []
    for at, item in enumerate(progress.track(label, items, total=len(items))):
        threads = nullcontext() if together else parallel.alone()
        # Only how many are done is of interest.
        with threads, progress.listening(_unheard), held() as sentences, _named(name(at)):
            told.append((work(item), sentences))
    return told


def _unheard(label: str, done: int, total: int | None) -> None:
    pass


@contextmanager
def _named(where: str) -> Iterator[None]:
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

"""Selections from complementary halves of the rows, by a relevance or by a selector."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from tamiz.arrays import Floats, Indices, Masks
from tamiz.criteria.base import Relevance, StatisticRelevance, WeightedScorers, score_columns
from tamiz.exceptions import DataError
from tamiz.models.estimators import fit_weighted, native_rows, set_random_state
from tamiz.runtime import parallel, progress
from tamiz.runtime.user_warnings import capture_warnings
from tamiz.selection.selector import Selector
from tamiz.selection.subset_selector import SubsetSelector
from tamiz.table.base import Table
from tamiz.table.row_groups import weight_groups_equally
from tamiz.table.views import as_training_table, resampled_weights, select_rows, target_array

# A class of fewer rows may be missing from a half, so every class is halved.
_MIN_CLASS_ROWS = 20
# Row weights in a batch.
_BATCH_VALUES, _BATCH_PAIRS = 2**22, 25
# Scores that differ by less than this share of the largest are ties: iterative solvers stop at a tolerance.
_TIE_TOLERANCE = 1e-9


def draw_half_pairs(table: Table, n_pairs: int, rng: np.random.Generator) -> Iterator[Masks]:
    """Yield pairs of disjoint random halves of the rows, as masks of shape (2, n_rows); of an odd number, one row is in neither.

    Halves of a table with groups consist of whole groups. Where a class has fewer than 20 rows, each class is halved, up to a row.
    """
    n = table.schema.n_rows
    unit = np.arange(n) if table.groups is None else np.unique(table.groups, return_inverse=True)[1]
    n_units = int(unit.max()) + 1
    if n_units < 4:
        what, advice = ("rows", "more rows") if table.groups is None else ("groups", "more groups or none")
        raise DataError(
            f"Stability selection needs at least 4 {what}, and there are {n_units}. Pass {advice}, or rank the columns with "
            "RankSelector (tamiz rank)."
        )
    stratum = np.zeros(n_units, dtype=np.intp)
    if table.groups is None and table.schema.has_classes:
        stratum = class_strata(target_array(table))
    for halves in islice(halve_units(n_units, stratum, rng), n_pairs):
        # C order, as kernels require; indexing alone returns the transpose.
        yield np.ascontiguousarray(halves[:, unit])


def class_strata(classes: NDArray[Any]) -> Indices:
    """Return the class of each row where a class has fewer than 20 rows, so that each class is halved; otherwise 0."""
    found, codes, counts = np.unique(classes, return_inverse=True, return_counts=True)
    return codes if len(found) > 1 and counts.min() < _MIN_CLASS_ROWS else np.zeros(len(classes), dtype=np.intp)


def halve_units(n_units: int, stratum: Indices, rng: np.random.Generator) -> Iterator[Masks]:
    """Yield pairs of disjoint random halves of units, as masks of shape (2, n_units), without end; each stratum is halved."""
    n_strata = int(stratum.max()) + 1
    while True:
        order = rng.permutation(n_units)
        # A random order of the strata: the unit that is left out is of a random one.
        order = order[np.argsort(rng.permutation(n_strata)[stratum[order]], kind="stable")]
        halves = np.zeros((2, n_units), dtype=bool)
        for half in range(2):
            halves[half, order[half : n_units // 2 * 2 : 2]] = True
        yield halves


def select_highest(scores: Floats, n: int, rng: np.random.Generator) -> Masks:
    """Return a mask of the n highest scores; of equal scores in the last places, random ones."""
    if n >= len(scores):
        return np.ones(len(scores), dtype=bool)
    last = np.partition(scores, len(scores) - n)[len(scores) - n]
    tolerance = _TIE_TOLERANCE * np.abs(scores).max()
    selected = scores > last + tolerance
    tied = np.flatnonzero(np.abs(scores - last) <= tolerance)
    selected[rng.permutation(tied)[: n - int(selected.sum())]] = True
    return selected


class HalfSelection(ABC):
    """Selects columns from halves of the rows of one table.

    Attributes
    ----------
    rescores_halves : bool
        Whether a relevance scores the rows of every half anew, because it cannot be computed again under weights of the rows.
    """

    rescores_halves: bool = False

    @abstractmethod
    def select(self, pairs: Iterator[Masks], n_pairs: int, n_features: int | None, rng: np.random.Generator) -> Masks:
        """Return the selected columns of every half, of shape (2 n_pairs, n_columns), or fewer rows for fewer pairs."""


class RelevanceHalves(HalfSelection):
    """Selects the columns with the highest scores of a relevance; constant columns are never selected.

    The halves are weights 0 and 1 of the rows where the relevance can be computed again under weights, so that columns are coded
    once. Otherwise every half is scored by itself.
    """

    def __init__(self, relevance: Relevance, table: Table, n_halves: int) -> None:
        counts_rows = isinstance(relevance, StatisticRelevance)
        self._relevance = relevance
        self._table = weight_groups_equally(table) if counts_rows else table
        schema = table.schema
        self._candidates = np.array([j for j in schema.used.tolist() if not schema.columns[j].constant], dtype=np.intp)
        self._position = np.searchsorted(schema.used, self._candidates)
        self._scorers = WeightedScorers.from_relevances({"": relevance}, self._table, n_halves)
        self.rescores_halves = not self._scorers.names

    @property
    def n_candidates(self) -> int:
        return len(self._candidates)

    def select(self, pairs: Iterator[Masks], n_pairs: int, n_features: int | None, rng: np.random.Generator) -> Masks:
        assert n_features is not None
        size = int(np.clip(_BATCH_VALUES // (2 * self._table.schema.n_rows), 1, _BATCH_PAIRS))
        batches = iter(lambda: list(islice(pairs, size)), [])

        def score(batch: list[Masks]) -> Floats:
            weights = np.concatenate(batch).astype(np.float64)
            if self._scorers.names:
                with capture_warnings():
                    return self._scorers.scores(resampled_weights(self._table, weights))[:, 0, self._position]
            return np.array([self._score_rows(half) for half in weights])

        n_batches = -(-n_pairs // size)
        scored = progress.track_progress("Halves of the rows", parallel.map_blocks(score, batches), n_batches)
        chosen = [select_highest(scores, n_features, rng) for batch in scored for scores in batch]
        masks = np.zeros((len(chosen), self._table.schema.n_columns), dtype=bool)
        masks[:, self._candidates] = chosen
        return masks

    def _score_rows(self, half: Floats) -> Floats:
        with capture_warnings():
            rows = select_rows(self._table, np.flatnonzero(half))
            return score_columns(clone(self._relevance), rows).scores[self._candidates]


class SelectorHalves(HalfSelection):
    """Fits clones of a selector of this package, or of a scikit-learn selector, which gets the rows in the user's type."""

    def __init__(self, selector: Any, table: Table) -> None:
        self._selector, self._table = selector, table

    def select(self, pairs: Iterator[Masks], n_pairs: int, n_features: int | None, rng: np.random.Generator) -> Masks:
        halves = (np.flatnonzero(half) for pair in pairs for half in pair)
        found = []
        for rows in progress.track_progress("Halves of the rows", halves, 2 * n_pairs):
            selector = set_random_state(clone(self._selector), int(rng.integers(2**31)))
            if n_features is not None:
                selector.set_params(n_features=n_features)
            if isinstance(selector, SubsetSelector):
                # Halves are other data.
                selector.set_params(journal=None)
            half = select_rows(self._table, rows)
            with capture_warnings(), progress.use_listener(None):
                found.append(_fit_selector(selector, half))
        return np.array(found)


def _fit_selector(selector: Any, half: Table) -> Masks:
    if isinstance(selector, Selector):
        support: Masks = selector.fit(half if half.schema.target is None else as_training_table(half)).get_support()
        return support
    y = None if half.schema.target is None else half.target_values()
    fitted = fit_weighted(selector, native_rows(selector, half), y, None)
    return np.asarray(fitted.get_support(), dtype=bool)

"""Folds of a table, and the seeds that what is done in them begins with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tamiz.sources.base import Source
from tamiz.sources.views import select_rows, target_array, weight_array
from tamiz.wrappers.folds import Folds, make_folds


@dataclass(frozen=True)
class SeededFolds:
    """Folds and seeds: the same for whatever is asked of one table by one seed.

    Attributes
    ----------
    folds : Folds
    fold_seeds : tuple of int
        What a search in each fold begins with.
    table_seed : int
        What the search of the whole table begins with.
    """

    folds: Folds
    fold_seeds: tuple[int, ...]
    table_seed: int


def draw_folds(source: Source, n_splits: int, rng: np.random.Generator) -> SeededFolds:
    """Return the folds that a table allows, and the seeds."""
    first, whole = rng.integers(0, 2**31, 2).tolist()
    folds = make_folds(source, n_splits, first)
    return SeededFolds(folds, tuple(rng.integers(0, 2**31, len(folds)).tolist()), whole)


def drop_zero_weights(source: Source) -> tuple[Source, list[str]]:
    """Return the rows that weigh anything, and the sentence that tells of the others."""
    weight = weight_array(source)
    if weight is None or (weight > 0).all():
        return source, []
    n = int(np.count_nonzero(weight == 0))
    return select_rows(source, np.flatnonzero(weight)), [
        f"{n:,} row{'s' * (n > 1)} of weight 0 left out where models are scored."
    ]


def sample_rows(
    source: Source, max_rows: int | None, n_splits: int, rng: np.random.Generator
) -> tuple[Source, list[str]]:
    """Return at most n rows, drawn, and the sentence that tells of it; of every class at least two a fold, where it has them.

    Nothing is drawn from `rng` where no row is left out.
    """
    n_rows = source.schema.n_rows
    if max_rows is None or n_rows <= max_rows:
        return source, []
    rows = rng.permutation(n_rows)
    taken = np.zeros(n_rows, dtype=bool)
    taken[rows[:max_rows]] = True
    if source.schema.has_classes:
        codes = target_array(source)[rows]
        for code in np.unique(codes):
            taken[rows[np.flatnonzero(codes == code)[: 2 * n_splits]]] = True
    table = select_rows(source, np.flatnonzero(taken))
    return table, [f"{table.schema.n_rows:,} of {n_rows:,} rows, drawn at random."]

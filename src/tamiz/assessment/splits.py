"""Folds of a table, and the seeds that what is done in them begins with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tamiz.sources.base import Source
from tamiz.sources.views import rows_of, target_of, weight_of
from tamiz.wrappers.folds import Folds, make_folds


@dataclass(frozen=True)
class Splits:
    """Folds and seeds: the same for whatever is asked of one table by one seed.

    Attributes
    ----------
    folds : Folds
    fold_seeds : tuple of int
        What a search in each fold begins with.
    whole_seed : int
        What the search of the whole table begins with.
    """

    folds: Folds
    fold_seeds: tuple[int, ...]
    whole_seed: int


def draw_splits(source: Source, n_splits: int, rng: np.random.Generator) -> Splits:
    """Return the folds that a table allows, and the seeds."""
    first, whole = rng.integers(0, 2**31, 2).tolist()
    folds = make_folds(source, n_splits, first)
    return Splits(folds, tuple(rng.integers(0, 2**31, len(folds)).tolist()), whole)


def counted(source: Source) -> tuple[Source, list[str]]:
    """Return the rows that weigh anything, and the sentence that tells of the others."""
    weight = weight_of(source)
    if weight is None or (weight > 0).all():
        return source, []
    n = int(np.count_nonzero(weight == 0))
    return rows_of(source, np.flatnonzero(weight)), [
        f"{n:,} row{'s' * (n > 1)} of weight 0 left out where models are scored."
    ]


def sampled_rows(source: Source, n: int | None, n_splits: int, rng: np.random.Generator) -> tuple[Source, list[str]]:
    """Return at most n rows, drawn, and the sentence that tells of it; of every class at least two a fold, where it has them.

    Nothing is drawn from `rng` where no row is left out.
    """
    n_rows = source.schema.n_rows
    if n is None or n_rows <= n:
        return source, []
    rows = rng.permutation(n_rows)
    taken = np.zeros(n_rows, dtype=bool)
    taken[rows[:n]] = True
    if source.schema.has_classes:
        codes = target_of(source)[rows]
        for code in np.unique(codes):
            taken[rows[np.flatnonzero(codes == code)[: 2 * n_splits]]] = True
    table = rows_of(source, np.flatnonzero(taken))
    return table, [f"{table.schema.n_rows:,} of {n_rows:,} rows, drawn at random."]

"""The maps of a study: which they are, and the rows that each is fitted on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tamiz.reduction import registry
from tamiz.reduction.base import Reducer, Variant
from tamiz.registry import Entry, suggestion
from tamiz.sources.base import Source
from tamiz.sources.schema import Schema
from tamiz.sources.views import Rows, rows_of
from tamiz.statistics.base import Floats
from tamiz.steps.budget import USUAL, Budget
from tamiz.steps.sampling import rows_with
from tamiz.warn import held, tell

# Rows that a map is fitted on, however few seconds there are.
_FEWEST_FITTED = 200
# Distances of rows that a study can measure; others are no columns of a table.
DISSIMILARITIES = ("seuclidean", "euclidean", "cityblock", "cosine", "gower")


@dataclass(frozen=True)
class Wanted:
    """A map that a study is to draw.

    Attributes
    ----------
    id, label : str
    reducer : Reducer
    asked : bool
        Whether it was asked for: what nobody asked for may be left out.
    given : bool
        Whether the reducer itself was given.
    """

    id: str
    label: str
    reducer: Reducer
    asked: bool
    given: bool = False


@dataclass(frozen=True)
class Named:
    """A map by its name.

    Attributes
    ----------
    entry : Entry
        The method's line in the registry.
    variant : Variant
    """

    entry: Entry
    variant: Variant

    @property
    def id(self) -> str:
        """The name of the method, and after a colon that of the variant where there are several."""
        return ":".join(filter(None, [self.entry.name, self.variant.name]))

    @property
    def name(self) -> str:
        """The id as a user writes it."""
        return self.id.replace("_", "-")

    @property
    def label(self) -> str:
        """What a reader is told it is."""
        return self.variant.label or self.entry.label

    def check_dissimilarity(self, name: str) -> None:
        """Refuse distances that the method cannot measure rows by; one that takes none has a graph or axes in their place."""
        known = self.entry.load().dissimilarities
        if known and name not in known:
            raise ValueError(
                f"{self.label} measures rows by {', '.join(known)} and not by {name}: choose one of these, or the map mds."
            )

    def wanted(self, schema: Schema, dissimilarity: str, *, asked: bool) -> Wanted:
        """Return the map for a table."""
        reducer = self.entry.load().for_study(schema, self.variant.name, dissimilarity)
        return Wanted(self.id, self.label, reducer, asked)


def named_maps() -> list[Named]:
    """Return every map that has a name, those of one method side by side."""
    return [Named(entry, variant) for entry in registry.of_kind("map") for variant in entry.load().variants]


def find_map(name: str) -> Named:
    """Return the map of a name such as "pca" or "mds:ordinal"; a method's name alone is its first map.

    Raises
    ------
    ValueError
        When there is none; the sentence says which is closest.
    """
    method, colon, variant = name.lower().replace("-", "_").partition(":")
    # Methods that were not named are not imported.
    entries = [entry for entry in registry.of_kind("map") if entry.name == method]
    maps = [Named(entry, one) for entry in entries for one in entry.load().variants]
    found = [one for one in maps if not colon or one.variant.name == variant]
    if not found:
        known = [one.name for one in named_maps()]
        raise ValueError(f"{name!r} is no map{suggestion(name, known)}; there are: {', '.join(known)}.")
    return found[0]


def check_maps(given: Sequence[Reducer | str], dissimilarity: str) -> None:
    """Refuse what is neither the name of a map nor a reducer, and a map by name that is not made of these distances."""
    for part in given:
        if isinstance(part, str):
            find_map(part).check_dissimilarity(dissimilarity)
        elif not isinstance(part, Reducer):
            raise TypeError(f"maps takes names such as 'mds:ordinal' and reducers such as PCA(), got {part!r}.")


def wanted_maps(given: Sequence[Reducer | str] | None, schema: Schema, dissimilarity: str) -> list[Wanted]:
    """Return the maps of a study: those that were given by name or as reducers, or the usual ones."""
    if given is None:
        usual = [one for one in named_maps() if one.variant.usual]
        return [one.wanted(schema, dissimilarity, asked=False) for one in usual]
    wanted = [_given(part, schema, dissimilarity) for part in given]
    taken = [one.id for one in wanted]
    return [_told_apart(one, taken, k) for k, one in enumerate(wanted)]


def _given(part: Reducer | str, schema: Schema, dissimilarity: str) -> Wanted:
    if isinstance(part, str):
        return find_map(part).wanted(schema, dissimilarity, asked=True)
    name = type(part).__name__
    entry = next((entry for entry in registry if entry.attribute == name), None)
    return Wanted(entry.name if entry else name, entry.label if entry else name, part, asked=True, given=True)


def _told_apart(one: Wanted, taken: list[str], k: int) -> Wanted:
    """Return a map numbered, and named by what it was made with, where several have its name."""
    if taken.count(one.id) == 1:
        return one
    number = taken[: k + 1].count(one.id)
    return Wanted(f"{one.id}_{number}", repr(one.reducer), one.reducer, one.asked, one.given)


@dataclass(frozen=True)
class Mapped:
    """A fitted map and the rows that it has places of.

    Attributes
    ----------
    reducer : Reducer
    source : Source
    rows : ndarray of row numbers, ascending, or None
        Those of the source that have a place; None is all.
    embedding : ndarray of shape (n_placed, n_components)
    n_fitted : int
        Rows that it was fitted on.
    """

    reducer: Reducer
    source: Source
    rows: Rows | None
    embedding: Floats
    n_fitted: int

    def at(self, rows: Rows) -> Floats:
        """Return the places of some rows."""
        return self.embedding[rows if self.rows is None else np.searchsorted(self.rows, rows)]

    def told(self) -> list[str]:
        """Return which rows it was fitted on, where these are not all."""
        if self.rows is None:
            return []
        n, placed = self.source.schema.n_rows, len(self.rows) - self.n_fitted
        sentence = f"Fitted on {self.n_fitted:,} of the {n:,} rows, drawn at random"
        others = "the other one that is drawn was" if placed == 1 else f"the other {placed:,} that are drawn were"
        return [f"{sentence}; {others} placed by their distances to these." if placed else f"{sentence}."]


def fit_map(
    reducer: Reducer, source: Source, drawn: Rows, most: int | None, seed: int, budget: Budget = USUAL
) -> Mapped:
    """Fit a map on all rows, or one of n x n cost on a sample of them.

    Parameters
    ----------
    reducer : Reducer
    source : Source
        The rows that it reads.
    drawn : ndarray of row numbers, ascending
        Rows that are to have a place.
    most : int or None
        Rows that a map of n x n cost is fitted on at most; None is what the map says, fewer where the budget is small.
    seed : int
        Draws the sample, the same one for maps of as many rows.
    budget : Budget
    """
    n, size = source.schema.n_rows, reducer.study_rows
    if size is not None:
        size = max(budget.side(size, size), _FEWEST_FITTED) if most is None else most
    if size is None or n <= size:
        reducer.fit(source)
        return Mapped(reducer, source, None, reducer.embedding_, n)
    rows = rows_with(drawn, n, size, np.random.default_rng(seed))
    with held() as told:
        reducer.fit(rows_of(source, rows))
    # What takes no part in the table takes none in its sample either.
    tell([f"On a sample of {size:,} rows: {one}" for one in told if one not in source.schema.left_out])
    embedding = reducer.embedding_
    others = np.setdiff1d(drawn, rows, assume_unique=True)
    if len(others):
        # Of their gaps the fit has told.
        with held():
            placed = reducer.transform(rows_of(source, others))
        rows = np.concatenate([rows, others])
        order = np.argsort(rows)
        rows, embedding = rows[order], np.concatenate([embedding, placed])[order]
    return Mapped(reducer, source, rows, embedding, size)

"""What every map promises."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from tamiz.exceptions import DataError
from tamiz.neighbors.row_encoders import as_array
from tamiz.sources.feature_checks import float_dtype, mixed_table_tags
from tamiz.sources.schema import Schema
from tamiz.statistics.base import Floats
from tamiz.storage.invariants import FloatArray, Integer, Invariants, Nullable, Strings


# MERGED: The places that a user starts a search from.
def read_initial_embedding(init: Any, choices: Sequence[str], n_samples: int, n_components: int) -> Floats:
    """Return the places of n rows, of shape (n, n_components); what else `init` may be is told by its names."""
    named = ", ".join(repr(name) for name in choices)
    expected = f"init must be {named} or an array of {n_samples:,} rows and {n_components} columns"
    places = as_array(init, expected)
    if places.dtype.kind not in "fiub":
        raise TypeError(f"{expected}, got {places.dtype} in the place of numbers.")
    if places.shape != (n_samples, n_components):
        raise DataError(f"{expected}, got the shape {places.shape}.")
    places = places.astype(np.float64)
    if not np.isfinite(places).all():
        row = int(np.argmin(np.isfinite(places).all(axis=1)))
        raise DataError(f"init holds a NaN or an infinite value in row {row}.")
    check_distinct_points(places)
    return places


def check_distinct_points(points: Floats) -> None:
    """Refuse points, one a row, that are all equal."""
    if (points == points[0]).all():
        raise DataError("init has all its points at one place, from where nothing moves them apart.")


# Rows that a study fits a map of n x n cost on, where nobody said how many.
MAX_STUDY_ROWS = 2_000


@dataclass(frozen=True)
class Gallery:
    """Images of one shape that belong together.

    Attributes
    ----------
    title, note : str
        What they show, and how to read them.
    shape : tuple of two int
        Rows and columns of pixels.
    names : list of str
        One an image.
    images : list of list of float
        Pixels, row by row.
    signed : bool
        Whether 0 is the middle of the scale; else each image goes from its least to its largest value.
    shows_rows : bool
        Whether they show rows of the table.
    """

    title: str
    note: str
    shape: tuple[int, int]
    names: list[str]
    images: list[list[float]]
    signed: bool = False
    shows_rows: bool = False


@dataclass(frozen=True)
class MapDescription:
    """What a report says of a map beside its points.

    Attributes
    ----------
    axis_names : list of str
        A name for every coordinate.
    notes : list of str
        What was done to the columns, a sentence each.
    proximity_note : str
        What it means that two points lie near each other, a sentence.
    comparable_axes : bool
        Whether one unit means as much on every axis.
    stress : float or None
        Kruskal's stress-1 of the map, on a sample of the pairs where the method takes one; None where it has none.
    spectrum_label : str
        What the values of the spectrum are.
    spectrum : list of float
        One value an axis, first axis first.
    spectrum_note : str
        How to read them, a sentence.
    cumulative : list of float
        Their sums up to each, none where they are no shares of a whole.
    residuals : list of float
        How far each is from solving its equation, none where they were not found by steps.
    chance_spectrum : list of float
        What each would be by chance, in the unit of the spectrum, none where that is not known.
    chance_title, chance_note : str
        How many axes lie above it, without a stop, and what "by chance" means, a sentence.
    loading_names : list of str
    loadings : list of list of float
        One row a name, one value an axis.
    galleries : list of Gallery
        What the axes look like, where the columns are the pixels of an image.
    """

    axis_names: list[str]
    notes: list[str] = field(default_factory=list)
    proximity_note: str = "Points near each other are rows with like values."
    comparable_axes: bool = True
    stress: float | None = None
    spectrum_label: str = ""
    spectrum: list[float] = field(default_factory=list)
    spectrum_note: str = ""
    cumulative: list[float] = field(default_factory=list)
    residuals: list[float] = field(default_factory=list)
    chance_spectrum: list[float] = field(default_factory=list)
    chance_title: str = ""
    chance_note: str = ""
    loading_names: list[str] = field(default_factory=list)
    loadings: list[list[float]] = field(default_factory=list)
    galleries: list[Gallery] = field(default_factory=list)


@dataclass(frozen=True)
class MapVariant:
    """One of the maps that a method can draw of a table.

    Attributes
    ----------
    name : str
        What tells it from the method's others, in the words of its parameters; empty where the method has one.
    label : str
        What a reader is told it is; empty where that is the method's own.
    is_default : bool
        Whether a study draws it where nobody asked for maps by name.
    """

    name: str = ""
    label: str = ""
    is_default: bool = True


class Reducer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):
    """A map of rows to few coordinates.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        float32 where all numbers of the table are, else float64; new rows are mapped likewise.
    schema_ : Schema or None
        The columns as they were taken: what `open_source(like=)` reads new rows by.
    variants : tuple of MapVariant
        The maps that a study can draw by this method, the one by its name alone first.
    dissimilarities : tuple of str
        What the method's `dissimilarity` may be; empty where it has no such parameter.
    """

    embedding_: NDArray[Any]
    _row_encoder: Any
    invariants: ClassVar[Invariants] = {
        "n_features_in_": Nullable(Integer(low=1, size="p")),
        "feature_names_in_": Nullable(Strings("p")),
        "embedding_": FloatArray("n", "k", allow_float32=True),
    }
    variants: ClassVar[tuple[MapVariant, ...]] = (MapVariant(),)
    dissimilarities: ClassVar[tuple[str, ...]] = ()

    def __sklearn_tags__(self) -> Tags:
        tags = mixed_table_tags(super().__sklearn_tags__())
        if tags.transformer_tags is not None:
            tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @classmethod
    @abstractmethod
    def for_study(cls, schema: Schema, variant: str, dissimilarity: str) -> Self:
        """Return the map as a study of a table draws it; one that lives on a graph takes the study's.

        Parameters
        ----------
        schema : Schema
        variant : str
            A name in `variants`.
        dissimilarity : str
            What the study takes for the distances of rows.
        """

    @property
    def max_study_rows(self) -> int | None:
        """Rows that a study fits the map on at most, a sample of more; None is all.

        Where the cost grows with the square of the number of rows this is a number.
        """
        return None

    def describe(self) -> MapDescription:
        """Return what a report says of the fitted map."""
        check_is_fitted(self)
        return self._describe()

    @abstractmethod
    def _describe(self) -> MapDescription:
        """Return what a report says of the map, which is fitted."""

    @property
    def schema_(self) -> Schema | None:
        """The columns as they were taken; None of what is no table: distances, sparse rows, a covariance."""
        check_is_fitted(self)
        schema: Schema | None = self._row_encoder.table_schema()
        return schema

    def _match_dtype(self, embedding: NDArray[Any], X: Any) -> NDArray[Any]:
        """Return the places of rows in the type of their numbers; a row whose place is no number is refused."""
        with np.errstate(over="ignore"):
            given = embedding.astype(float_dtype(X), copy=False)
        check_finite_embedding(given)
        return given

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]


def check_finite_embedding(embedding: NDArray[Any]) -> None:
    """Refuse rows whose place is no number, naming the first."""
    # Numbers whose sum is one are numbers, and most are asked no more than that.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(embedding.sum()):
            return
    lost = ~np.isfinite(embedding).all(axis=1)
    if lost.any():
        raise DataError(
            f"Row {int(np.argmax(lost))} lies so far from the rows of fit that its place is beyond the largest number; leave the "
            "row out, or fit on rows like it."
        )

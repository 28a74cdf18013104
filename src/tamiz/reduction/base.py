"""The base class of all maps, the records that describe a map in a report, and checks of coordinates."""

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

# Default number of rows on which a study fits a map of O(n^2) cost.
MAX_STUDY_ROWS = 2_000


@dataclass(frozen=True)
class Gallery:
    """A group of images of one shape in a report.

    Attributes
    ----------
    title, note : str
        Heading, and an explanation for readers.
    shape : tuple of two int
        Height and width in pixels.
    names : list of str
        One name for each image.
    images : list of list of float
        Pixels, row by row.
    signed : bool
        Whether the colour scale is centred at 0; else it spans the values of each image.
    shows_rows : bool
        Whether the images show rows of the table.
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
    """The description of a map in a report.

    Attributes
    ----------
    axis_names : list of str
        A name for every coordinate.
    notes : list of str
        Preprocessing and results, one sentence each.
    proximity_note : str
        Meaning of a small distance on the map, one sentence.
    comparable_axes : bool
        Whether all axes have the same unit.
    stress : float or None
        Kruskal's stress-1 of the map, on a sample of pairs for sampling methods; None for methods without stress.
    spectrum_label : str
        Name of the values of the spectrum.
    spectrum : list of float
        One value an axis, first axis first.
    spectrum_note : str
        Explanation of the spectrum, one sentence.
    cumulative : list of float
        Cumulative sums of the spectrum; empty if its values are not shares of a total.
    residuals : list of float
        Residual norms of iterative eigensolvers; empty for direct solvers.
    chance_spectrum : list of float
        Expected spectrum under the null model of parallel analysis; empty if not computed.
    chance_title, chance_note : str
        Heading with the number of axes above the null model, and an explanation of the null model, one sentence.
    loading_names : list of str
    loadings : list of list of float
        One row for each name, one value for each axis.
    galleries : list of Gallery
        Axes shown as images, if the columns are pixels.
    """

    axis_names: list[str]
    notes: list[str] = field(default_factory=list)
    proximity_note: str = "Points near each other are rows with similar values."
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
    """A variant of a method that a study can compute.

    Attributes
    ----------
    name : str
        The parameter value that distinguishes the variant; empty for methods with one variant.
    label : str
        Label for readers; empty for the label of the method.
    is_default : bool
        Whether a study computes the variant by default.
    """

    name: str = ""
    label: str = ""
    is_default: bool = True


class Reducer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):
    """Base class of dimensionality reduction estimators.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The coordinates of the rows; float32 if all numeric columns are float32, else float64.
    schema_ : Schema or None
        The columns as read by fit; `open_source(like=)` uses it to read new rows.
    variants : tuple of MapVariant
        The variants that a study can compute.
    dissimilarities : tuple of str
        Choices of the parameter `dissimilarity`; empty for methods without it.
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
        """Return an unfitted estimator with the settings of a study; graph methods get the graph of the study later.

        Parameters
        ----------
        schema : Schema
        variant : str
            A name in `variants`.
        dissimilarity : str
            The dissimilarity of the study.
        """

    @property
    def max_study_rows(self) -> int | None:
        """Largest number of rows on which a study fits the map, a sample of the table; None is all rows.

        Methods of quadratic cost return a number.
        """
        return None

    def describe(self) -> MapDescription:
        """Return the description of the fitted map for a report."""
        check_is_fitted(self)
        return self._describe()

    @abstractmethod
    def _describe(self) -> MapDescription:
        """Return the description of the map, which is fitted."""

    @property
    def schema_(self) -> Schema | None:
        """The columns as read by fit; None if the input was not a table: distances, sparse rows, a covariance."""
        check_is_fitted(self)
        schema: Schema | None = self._row_encoder.table_schema()
        return schema

    def _match_dtype(self, embedding: NDArray[Any], X: Any) -> NDArray[Any]:
        """Convert coordinates to the float type of X; raise DataError for coordinates that are not finite."""
        with np.errstate(over="ignore"):
            converted = embedding.astype(float_dtype(X), copy=False)
        check_finite_embedding(converted)
        return converted

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]


def check_finite_embedding(embedding: NDArray[Any]) -> None:
    """Raise DataError for rows whose coordinates are not finite; the message names the first."""
    # A finite sum implies finite coordinates, which is the usual case.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(embedding.sum()):
            return
    overflowed = ~np.isfinite(embedding).all(axis=1)
    if overflowed.any():
        raise DataError(
            f"The coordinates of row {int(np.argmax(overflowed))} overflow, because it is extremely far from the rows of the fit. "
            "Remove the row, or fit on similar rows."
        )


def read_initial_embedding(init: Any, choices: Sequence[str], n_samples: int, n_components: int) -> Floats:
    """Check an `init` array and return it as float64; errors also list the named choices of `init`."""
    named = ", ".join(repr(name) for name in choices)
    expected = f"init must be {named} or an array of {n_samples:,} rows and {n_components} columns"
    points = as_array(init, expected)
    if points.dtype.kind not in "fiub":
        raise TypeError(f"{expected}, got {points.dtype} instead of numbers.")
    if points.shape != (n_samples, n_components):
        raise DataError(f"{expected}, got the shape {points.shape}.")
    points = points.astype(np.float64)
    if not np.isfinite(points).all():
        row = int(np.argmin(np.isfinite(points).all(axis=1)))
        raise DataError(f"init contains a NaN or an infinite value in row {row}.")
    check_distinct_points(points)
    return points


def check_distinct_points(points: Floats) -> None:
    """Raise DataError if all points (rows) are equal."""
    if (points == points[0]).all():
        raise DataError("All points of init coincide, and the optimisation cannot separate them. Use distinct points.")

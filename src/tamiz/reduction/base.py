"""The base class of all maps, images of their axes, and checks of coordinates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_array, check_is_fitted

from tamiz.arrays import Floats
from tamiz.exceptions import DataError
from tamiz.reduction.description import Loadings, MapDescription, MapSpectrum
from tamiz.runtime.notebook import PictureMixin
from tamiz.storage.invariants import FloatArray, Integer, Invariants, Nullable, Strings
from tamiz.table.factory import as_array, float_dtype, mixed_table_tags
from tamiz.table.in_memory import eager_frame, from_array_api, is_frame
from tamiz.table.schema import Schema

if TYPE_CHECKING:
    from tamiz.graphs.builders import GraphBuilder
    from tamiz.graphs.graph import Graph

# Largest number of rows on which a study fits a map of quadratic cost.
_MAX_QUADRATIC_ROWS = 2_000
# Coordinates of a spectral map in a study: the first two are drawn, and the spectrum shows how many more there are.
N_STUDY_COMPONENTS = 10


@dataclass(frozen=True)
class ImageSet:
    """Images of one shape.

    Attributes
    ----------
    title : str
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
    note : str
        What the images show, one sentence.
    """

    title: str
    shape: tuple[int, int]
    names: list[str]
    images: list[list[float]]
    signed: bool = False
    shows_rows: bool = False
    note: str = ""


class Reducer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, PictureMixin, ABC):
    """Base class of dimensionality reduction estimators.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The coordinates of the rows; float32 if all numeric columns are float32, else float64.
    schema_ : Schema or None
        The columns as read by fit; `open_table(schema=)` uses it to read new rows.
    axis_names_ : list of str
        A name for every coordinate.
    axis_label : str
        What a coordinate is called; `axis_names_` adds its number.
    quadratic_cost : bool
        Whether the cost of a fit grows with the square of the number of rows. A study then fits the map on a sample of
        a long table.
    dissimilarities : tuple of str
        Choices of the parameter `dissimilarity`; empty for methods without it.
    variants : mapping of str to str
        The variants that a study offers by name, as "mds:ordinal", with their labels; a label of "" is that of the method.
    max_study_rows : int or None
        The most rows that a study fits the map on, a sample of a longer table; None is all rows.
    """

    embedding_: NDArray[Any]
    _row_encoder: Any
    invariants: ClassVar[Invariants] = {
        "n_features_in_": Nullable(Integer(low=1, size="p")),
        "feature_names_in_": Nullable(Strings("p")),
        "embedding_": FloatArray("n", "k", allow_float32=True),
    }
    axis_label: ClassVar[str] = "Coordinate"
    dissimilarities: ClassVar[tuple[str, ...]] = ()
    variants: ClassVar[Mapping[str, str]] = {"": ""}

    def __sklearn_tags__(self) -> Tags:
        tags = mixed_table_tags(super().__sklearn_tags__())
        if tags.transformer_tags is not None:
            tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @abstractmethod
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the map to the rows of X."""

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> NDArray[Any]:
        """Fit and return the coordinates of the rows."""
        return self.fit(X, y, **fit_params).embedding_

    @property
    def quadratic_cost(self) -> bool:
        """Whether the cost of a fit grows with the square of the number of rows."""
        return False

    @property
    def max_study_rows(self) -> int | None:
        """The most rows that a study fits the map on, a sample of a longer table; None is all rows."""
        return _MAX_QUADRATIC_ROWS if self.quadratic_cost else None

    def study_settings(self, schema: Schema, variant: str) -> dict[str, Any]:  # noqa: ARG002
        """Return the parameters of the map in a study of a table, beyond those of every map."""
        return {}

    @property
    def axis_names_(self) -> list[str]:
        """A name for every coordinate, such as "Coordinate 1"."""
        check_is_fitted(self)
        return [f"{self.axis_label} {k + 1}" for k in range(self._n_features_out)]

    def graph_builder(self, n_samples: int) -> GraphBuilder | Graph | None:  # noqa: ARG002 - a map on a graph reads it
        """Return the builder of the graph that `fit` uses for a number of rows, or a built graph; None for maps without a graph."""
        return None

    def image_sets(self) -> list[ImageSet]:
        """Return images of the fitted map, if the columns are the pixels of an image; by default there are none."""
        check_is_fitted(self)
        return []

    def describe(self) -> MapDescription:
        """Describe the fitted map in sentences and numbers: what its distances mean, what to check, its spectrum and loadings.

        Returns
        -------
        MapDescription
            `axes`, `notes`, `proximity_note`, `comparable_axes`, `stress`, `spectrum` and `loadings`. A class that does not
            override this method is described by its attributes `stress_` or `sampled_stress_`, `eigenvalues_`, `residuals_`,
            and `loadings_` with `coordinate_names_`.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from tamiz.reduction import PCA
        >>> described = PCA(2, standardize=True).fit(load_wine().data).describe()
        >>> described.notes
        ('Numeric columns are divided by their standard deviation.',)
        >>> described.spectrum.label, [round(value, 3) for value in described.spectrum.values]
        ('Share of the total variance', [0.362, 0.192])
        """
        return self._describe()

    def _describe(
        self,
        notes: Sequence[str] | None = None,
        proximity_note: str = "Rows with similar values are near each other.",
        *,
        comparable_axes: bool = True,
        spectrum: MapSpectrum | None = None,
        spectrum_note: str = "",
    ) -> MapDescription:
        """Return the description with some texts; None of `notes` or `spectrum` is read from the fitted attributes."""
        axes, stress = self.axis_names_, getattr(self, "stress_", getattr(self, "sampled_stress_", None))
        names = getattr(self, "coordinate_names_", None)
        loadings = getattr(self, "loadings_", getattr(self, "mixing_", None))
        if names is None or loadings is None:
            names, loadings = (), np.empty((0, 0))
        if notes is None:
            notes = () if stress is None else (f"Stress {stress:.3g}.",)
        if spectrum is None:
            values, residuals = (self._spectrum_values(name) for name in ("eigenvalues_", "residuals_"))
            label = "Eigenvalue" if values else ""
            spectrum = MapSpectrum(label=label, values=values, note=spectrum_note, residuals=residuals)
        return MapDescription(
            axes=tuple(axes),
            notes=tuple(notes),
            proximity_note=proximity_note,
            comparable_axes=comparable_axes,
            stress=None if stress is None else float(stress),
            spectrum=spectrum,
            loadings=Loadings(columns=tuple(names), values=tuple(map(tuple, np.asarray(loadings).tolist()))),
        )

    def _spectrum_values(self, name: str) -> tuple[float, ...]:
        """Return the values of an attribute such as `eigenvalues_`, () without it."""
        return tuple(np.ravel(getattr(self, name, ())).tolist())

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

    def _read_coordinates(self, X: Any) -> NDArray[Any]:
        """Return coordinates that `inverse_transform` is passed; the columns of a frame are matched by name."""
        if is_frame(X):
            frame, names = eager_frame(X), self.get_feature_names_out().tolist()
            X = (frame.select(names) if sorted(map(str, frame.columns)) == sorted(names) else frame).to_numpy()
        points = check_array(from_array_api(X), dtype=[np.float64, np.float32])
        if points.shape[1] != self._n_features_out:
            raise ValueError(f"X has {points.shape[1]} columns, but {self._n_features_out} components were fitted.")
        return points

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
    if np.ndim(init) != 2:
        got = f"the shape {np.shape(init)}" if np.ndim(init) else repr(init)
        raise DataError(f"{expected}, got {got}.")
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

"""Plots of a map: rows as points with colours and biplot arrows, and images of its axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_array, check_is_fitted

from tamiz.arrays import Floats
from tamiz.display import figures
from tamiz.display.figures import PanelDisplay, check_one_each, escape_text, read_names
from tamiz.exceptions import DataError
from tamiz.reduction.base import Reducer
from tamiz.runtime.validation import check_integer
from tamiz.table.in_memory import to_raw_column
from tamiz.table.kinds import encode_target

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection

_POINTS_PER_INCH = 72.0
# Share of the panel that all markers may cover, and limits of the size of one marker in square points.
_COVERED_SHARE, _SIZE_LIMITS = 0.25, (2.0, 24.0)
_MAX_OPAQUE_POINTS, _MAX_VECTOR_POINTS = 1000, 5000
# More arrows and their names would overlap. The longest is as long as this quantile of the distances of the points from the origin.
MAX_ARROWS, _REACH = 8, 0.9
# Names of arrows: size of the font in points, width of a letter and height of a line in units of it.
_FONT_SIZE, _LETTER_WIDTH, _LINE_HEIGHT = 8.5, 0.58, 1.35
# Vertical offsets tried for a name, in half lines.
_LABEL_OFFSETS = np.array([0, *(step for k in range(1, 2 * MAX_ARROWS) for step in (k, -k))])
_ARROW = {"arrowstyle": "-|>", "color": figures.INK, "linewidth": 1.0, "shrinkA": 0, "shrinkB": 0}
_LABEL_BOX = {"facecolor": "white", "alpha": 0.7, "edgecolor": "none", "pad": 0.6}
_LABEL: dict[str, Any] = {
    "ha": "center", "va": "center", "fontsize": _FONT_SIZE, "color": figures.INK, "bbox": _LABEL_BOX
}  # fmt: skip
_IMAGES_PER_ROW = 8
_INCHES_PER_IMAGE, _INCHES_PER_NAME = 1.3, 0.25


@dataclass(eq=False, repr=False)
class EmbeddingDisplay(PanelDisplay):
    """The rows of a table as points in two coordinates.

    Parameters
    ----------
    embedding : array-like of shape (n_samples, n_components)
        A single coordinate is plotted against the row number.
    color : array-like of shape (n_samples,), default=None
        A number or a class for every row: text, categories, booleans and integers with at most 20 distinct values are classes.
        Missing values are grey.
    color_label : str, default=None
        Title of the legend; None is the name of the series.
    components : tuple of two int, default=(0, 1)
        Indices of the coordinates shown.
    names : list of str, default=None
        Names of the coordinates.
    loadings : array-like of shape (n_columns, n_components), default=None
        Loadings of the columns. The eight columns with the largest ones are drawn as arrows (a biplot): rows further along an
        arrow have larger values of its column.
    column_names : list of str, default=None
        Names of the rows of `loadings`.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    points_ : list of matplotlib PathCollection
        The points, one item per class where they are coloured by class.
    arrows_ : list of matplotlib Annotation
        The names of the arrows, the largest loadings first.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz.display import EmbeddingDisplay
    >>> from tamiz.reduction import PCA
    >>> X, species = load_iris(return_X_y=True)
    >>> display = EmbeddingDisplay.from_estimator(PCA().fit(X), color=species)
    >>> display.ax_.get_xlabel(), len(display.points_)
    ('PC 1', 3)
    >>> biplot = EmbeddingDisplay.from_estimator(PCA(standardize=True).fit(X), loadings=True)
    >>> [name.get_text() for name in biplot.arrows_]
    ['x1', 'x2', 'x3', 'x0']
    """

    embedding: ArrayLike
    _: KW_ONLY
    color: ArrayLike | None = None
    color_label: str | None = None
    components: tuple[int, int] = (0, 1)
    names: Sequence[str] | None = None
    loadings: ArrayLike | None = None
    column_names: Sequence[str] | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Reducer,
        *,
        color: ArrayLike | None = None,
        color_label: str | None = None,
        components: tuple[int, int] = (0, 1),
        loadings: bool = False,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the rows that a map of `tamiz.reduction` was fitted on.

        Parameters
        ----------
        estimator : Reducer
            A fitted map. Use `from_embedding` for maps of other libraries.
        color, color_label, components
            As in the class.
        loadings : bool, default=False
            Draw the columns with the largest loadings as arrows; the map must have loadings.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.

        Returns
        -------
        EmbeddingDisplay
        """
        if not isinstance(estimator, Reducer):
            raise TypeError(
                f"from_estimator requires a fitted map of tamiz.reduction, got {type(estimator).__name__}; use from_embedding "
                "for an array of points."
            )
        check_is_fitted(estimator)
        if not hasattr(estimator, "embedding_"):
            raise DataError(
                f"{type(estimator).__name__} was fitted on a covariance, so it has no rows to draw; pass transform(X) to "
                "from_embedding, which requires that the mean was passed to fit_covariance."
            )
        values = getattr(estimator, "loadings_", None)
        if loadings and values is None:
            raise TypeError(
                f"{type(estimator).__name__} has no loadings; tamiz.reduction.axis_correlations computes which columns explain its "
                "axes."
            )
        display = cls(
            estimator.embedding_,
            color=color,
            color_label=color_label,
            components=components,
            names=estimator.axis_names_,
            loadings=values if loadings else None,
            column_names=getattr(estimator, "coordinate_names_", None) if loadings else None,
        )
        return display.plot(ax)

    @classmethod
    def from_embedding(
        cls,
        embedding: ArrayLike,
        *,
        color: ArrayLike | None = None,
        color_label: str | None = None,
        components: tuple[int, int] = (0, 1),
        names: Sequence[str] | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw an array of points.

        Parameters
        ----------
        embedding, color, color_label, components, names
            As in the class.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.

        Returns
        -------
        EmbeddingDisplay
        """
        display = cls(embedding, color=color, color_label=color_label, components=components, names=names)
        return display.plot(ax)

    def plot(self, ax: Axes | None = None, *, legend: bool = True) -> Self:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.
        legend : bool, default=True
            Add a legend of the colours; `add_legend` adds one later, for several panels at once.
        """
        super().plot(ax)
        if legend:
            self.add_legend()
        self.arrows_ = [] if self.loadings is None else self._draw_arrows(self.ax_)
        return self

    def _draw(self, panel: Axes) -> None:
        embedding = check_array(self.embedding, dtype=np.float64)
        (x, x_name), (y, y_name) = self._coordinates(embedding)
        self._points = np.column_stack([x, y])
        self._coloring = make_coloring(self.color, len(x), self.color_label)
        self.points_ = self._coloring.draw(panel, x, y)
        panel.set(xlabel=x_name, ylabel=y_name)
        if embedding.shape[1] > 1 and figures.can_share_scale(self._points) and not _shares_axis(panel):
            panel.set_aspect("equal", adjustable="datalim")

    def _draw_arrows(self, panel: Axes) -> list[Any]:
        loadings = check_array(self.loadings, dtype=np.float64)
        m = np.shape(self.embedding)[1]
        if loadings.shape[1] != m or m == 1:
            raise DataError(
                f"The loadings have {loadings.shape[1]} coordinates and the embedding has {m}; arrows need the same number, at "
                "least two."
            )
        names = [f"x{j}" for j in range(len(loadings))] if self.column_names is None else list(self.column_names)
        check_one_each("column_names", names, len(loadings), "loading")
        pairs = loadings[:, list(self.components)]
        drawn = biplot_arrows(self._points, pairs, one_scale=panel.get_aspect() != "auto")
        return _annotate_arrows(panel, drawn, names)

    def add_legend(self, panels: Any = None) -> Self:
        """Add a legend of the colours.

        Parameters
        ----------
        panels : array of matplotlib Axes of shape (n_rows, n_columns), default=None
            Panels that share the colours; None is the panel of this display.
        """
        grid = np.array([[self.ax_]]) if panels is None else np.asarray(panels)
        self._coloring.add_legend(self.points_, grid)
        return self

    def _coordinates(self, embedding: Floats) -> list[tuple[Floats, str]]:
        m = embedding.shape[1]
        names = [f"Coordinate {k + 1}" for k in range(m)] if self.names is None else list(self.names)
        check_one_each("names", names, m, "coordinate")
        if m == 1:
            # Points on a line would overlap.
            return [(embedding[:, 0], names[0]), (np.arange(len(embedding), dtype=np.float64), "Row")]
        if len(self.components) != 2:
            raise DataError(f"components must be two coordinates, got {len(self.components)}.")
        chosen = [check_integer("components", k, low=0, high=m - 1) for k in self.components]
        return [(embedding[:, k], names[k]) for k in chosen]


def _shares_axis(ax: Axes) -> bool:
    """Return whether the panel shares an axis with another panel, whose limits must not change."""
    return any(len(group.get_siblings(ax)) > 1 for group in (ax.get_shared_x_axes(), ax.get_shared_y_axes()))


def _annotate_arrows(panel: Axes, arrows: Sequence[Arrow], names: Sequence[str]) -> list[Any]:
    """Draw arrows from the origin, each with its name beyond the tip, and return the annotations of the names.

    A name that would overlap another is moved up or down.
    """
    # Room for the names beyond the tips.
    panel.update_datalim([(1.12 * arrow.x, 1.12 * arrow.y) for arrow in arrows])
    panel.autoscale_view()
    panel.apply_aspect()
    points = 72.0 / panel.figure.dpi
    low, high = panel.get_window_extent().get_points() * points
    origin = panel.transData.transform((0.0, 0.0)) * points
    occupied: list[tuple[float, float, float]] = []
    annotations = []
    for arrow in arrows:
        name = escape_text(names[arrow.column])
        tip = panel.transData.transform((arrow.x, arrow.y)) * points
        along = (tip - origin) / (float(np.hypot(*(tip - origin))) or 1.0)
        half = np.array([0.5 * _LETTER_WIDTH * _FONT_SIZE * len(name) + 2, 0.5 * _LINE_HEIGHT * _FONT_SIZE])
        x, y = np.clip(tip + along * (half + 3), low + half, high - half)
        free_y = next((at for at in y + half[1] * _LABEL_OFFSETS if _is_free(float(x), at, half, occupied)), y)
        occupied.append((float(x), float(free_y), half[0]))
        panel.annotate("", (arrow.x, arrow.y), (0.0, 0.0), arrowprops=_ARROW)
        offset = (x - tip[0], free_y - tip[1])
        annotations.append(panel.annotate(name, (arrow.x, arrow.y), offset, textcoords="offset points", **_LABEL))
    return annotations


def _is_free(x: float, y: float, half: Floats, occupied: Sequence[tuple[float, float, float]]) -> bool:
    return all(abs(x - at) >= half[0] + half_x or abs(y - level) >= 2 * half[1] for at, level, half_x in occupied)


@dataclass(frozen=True)
class Arrow:
    """An arrow from the origin of a map to (x, y), for a row of the loadings."""

    column: int
    x: float
    y: float


def biplot_arrows(points: ArrayLike, loadings: ArrayLike, *, one_scale: bool) -> list[Arrow]:
    """Return the arrows of the columns with the largest loadings on two axes, the largest first.

    The coordinates of the rows, of shape (n_rows, 2), are centred at 0. A loading is the covariance of a column with an axis,
    divided by the standard deviation of the axis. Rows further along an arrow have larger values of its column. With equal units
    on both axes, an arrow points along the regression slopes of its column on the axes. With axes scaled by their own spread, it
    points along the loadings.
    """
    points, loadings = (np.reshape(pairs, (-1, 2)).astype(np.float64) for pairs in (points, loadings))
    spreads = np.sqrt(np.mean(points**2, axis=0))
    units = np.where(one_scale | (spreads == 0), 1.0, spreads)
    sizes = np.hypot(*loadings.T)
    # Loadings that are rounding errors have no direction.
    least = 1e-9 * sizes.max(initial=0.0)
    drawn = [j for j in np.argsort(-sizes, kind="stable")[:MAX_ARROWS].tolist() if sizes[j] > least]
    # The slope of a column along an axis is its loading divided by the spread of the axis; on the screen an axis is divided by
    # its unit.
    tips = loadings[drawn] * np.divide(units, spreads, out=np.zeros(2), where=spreads > 0)
    longest = np.hypot(*tips.T).max(initial=0.0)
    if longest == 0:
        return []
    distances = np.sort(np.hypot(*(points / units).T))
    scale = distances[int(_REACH * (len(distances) - 1))] / longest
    return [Arrow(j, x, y) for j, (x, y) in zip(drawn, (tips * scale * units).tolist(), strict=True)]


class Coloring:
    """Colours of the points of a plot: one for all points, without a legend."""

    def draw(self, ax: Axes, x: Floats, y: Floats) -> list[PathCollection]:
        """Draw the points, and return one artist for each colour."""
        return [ax.scatter(x, y, color=figures.STRONG, **_marker_style(ax, len(x)))]

    def add_legend(self, artists: list[PathCollection], panels: NDArray[Any]) -> None:
        """Add one legend or colour bar, if there is one, for panels of shape (n_rows, n_columns)."""


class NumericColors(Coloring):
    """Colours by a number; points with a missing value are grey and are drawn below the others."""

    def __init__(self, values: Floats, label: str) -> None:
        self.values = values
        self.label = label

    def draw(self, ax: Axes, x: Floats, y: Floats) -> list[PathCollection]:
        missing = np.isnan(self.values)
        known = ~missing
        ax.scatter(x[missing], y[missing], color=figures.FAINT, **_marker_style(ax, len(x)))
        return [
            ax.scatter(x[known], y[known], c=self.values[known], cmap=figures.colormap(), **_marker_style(ax, len(x)))
        ]

    def add_legend(self, artists: list[PathCollection], panels: NDArray[Any]) -> None:
        """Add a colour bar beside the panels."""
        n_missing = int(np.isnan(self.values).sum())
        label_parts = [self.label, f"({n_missing:,} missing, grey)" if n_missing else ""]
        bar = panels[0, 0].figure.colorbar(artists[0], ax=panels, pad=0.02, aspect=30)
        bar.solids.set_alpha(1.0)
        bar.outline.set_visible(False)
        bar.ax.tick_params(colors=figures.MUTED, labelsize="small", length=0)
        bar.set_label(" ".join(filter(None, label_parts)), color=figures.MUTED)


class ClassColors(Coloring):
    """Colours and marker shapes by a class; the rarest classes are merged, and points with a missing value are grey."""

    def __init__(self, codes: NDArray[np.integer], names: Sequence[str], label: str) -> None:
        counts = np.bincount(codes[codes >= 0], minlength=len(names))
        common = frequent_classes(dict(enumerate(counts.tolist())), len(figures.SHAPES))
        group = np.full(len(names) + 1, len(common))
        group[common] = np.arange(len(common))
        group[-1] = -1
        self.groups = group[codes]
        self.names = [escape_text(names[code]) for code in common]
        if len(common) < len(names):
            self.names.append(f"other ({len(names) - len(common):,} classes)")
        self.label = label

    def draw(self, ax: Axes, x: Floats, y: Floats) -> list[PathCollection]:
        missing = self.groups < 0
        styles = [(figures.FAINT, "o", missing)] if missing.any() else []
        styles += [(figures.CLASS_COLORS[g], figures.SHAPES[g], self.groups == g) for g in range(len(self.names))]
        return [ax.scatter(x[at], y[at], color=c, marker=shape, **_marker_style(ax, len(x))) for c, shape, at in styles]

    def add_legend(self, artists: list[PathCollection], panels: NDArray[Any]) -> None:
        names = ["missing", *self.names] if len(artists) > len(self.names) else self.names
        legend = figures.add_legend(
            panels[0, -1], artists, names, title=self.label or None, loc="upper left", bbox_to_anchor=(1.02, 1.0),
            borderaxespad=0.0, alignment="left",
        )  # fmt: skip
        legend.get_title().set_color(figures.MUTED)
        for handle in legend.legend_handles:
            handle.set(sizes=[28.0], alpha=1.0)


def frequent_classes(counts: Mapping[int, int], most: int) -> list[int]:
    """Return the classes that have a colour of their own; of more than `most`, the rarest share the last colour."""
    if len(counts) <= most:
        return sorted(counts)
    return sorted(sorted(counts, key=lambda code: (-counts[code], code))[: most - 1])


def make_coloring(color: ArrayLike | None, n_points: int, label: str | None) -> Coloring:
    """Return the colouring for values of the points.

    Text, categories, booleans and integers with few distinct values are classes; other numbers are numeric.
    """
    if color is None:
        return Coloring()
    raw = to_raw_column(color, "color")
    check_one_each("color", raw, n_points, "point")
    encoded = encode_target(raw, None, lambda at: f"value {at}")
    title = label if label is not None else "" if raw.name == "color" else raw.name
    values = np.full(n_points, -1) if encoded.values is None else encoded.values
    if values.dtype.kind == "f" and not np.isnan(values).all():
        return NumericColors(values, escape_text(title))
    codes = values if values.dtype.kind == "i" else np.full(n_points, -1)
    return ClassColors(codes.astype(np.intp), encoded.column.levels, escape_text(title))


def _marker_style(ax: Axes, n_points: int) -> dict[str, Any]:
    """Return the style of the markers; many points are smaller and more transparent, so that their density is visible."""
    extent = ax.get_window_extent()
    area = extent.width * extent.height * (_POINTS_PER_INCH / ax.figure.dpi) ** 2
    return {
        "s": float(np.clip(_COVERED_SHARE * area / max(n_points, 1), *_SIZE_LIMITS)),
        "alpha": 0.85 if n_points <= _MAX_OPAQUE_POINTS else 0.6,
        "linewidths": 0.0,
        # Vector files with many points are slow to open.
        "rasterized": n_points > _MAX_VECTOR_POINTS,
    }


@dataclass(eq=False, repr=False)
class ImageDisplay:
    """Images of one shape in a grid, in grey.

    Parameters
    ----------
    images : array-like of shape (n_images, n_pixels)
        Pixels, row by row.
    shape : tuple of two int
        Height and width in pixels.
    names : list of str, default=None
        Names of the images.
    signed : bool, default=False
        True maps 0 to the middle grey; False scales each image from its smallest to its largest value.
    title : str, default=""

    Attributes
    ----------
    figure_ : matplotlib Figure
    images_ : list of matplotlib AxesImage

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tamiz.display import ImageDisplay
    >>> from tamiz.reduction import PCA
    >>> pca = PCA(10).fit(load_digits().data)
    >>> display = ImageDisplay(pca.components_, (8, 8), signed=True).plot()
    >>> len(display.images_), display.images_[0].get_array().shape
    (10, (8, 8))
    """

    images: ArrayLike
    shape: tuple[int, int]
    _: KW_ONLY
    names: Sequence[str] | None = None
    signed: bool = False
    title: str = ""

    @classmethod
    def from_estimator(cls, estimator: Reducer, *, gallery: int | None = None) -> Self:
        """Draw images of a fitted map whose columns are pixels.

        Parameters
        ----------
        estimator : Reducer
            A fitted map that knows the shape of the images, such as a PCA with `image_shape`.
        gallery : int, default=None
            Index of a set of images in `estimator.image_sets()`. None is the first signed set, such as the components,
            or the first of all.

        Returns
        -------
        ImageDisplay
        """
        if not isinstance(estimator, Reducer):
            raise TypeError(f"from_estimator requires a fitted map of tamiz.reduction, got {type(estimator).__name__}.")
        check_is_fitted(estimator)
        image_sets = estimator.image_sets()
        if not image_sets:
            raise TypeError(
                f"{type(estimator).__name__} has no images, because it was fitted without image_shape. Use "
                "ImageDisplay(images, shape) for any rows of pixels."
            )
        if gallery is None:
            shown = next((one for one in image_sets if one.signed), image_sets[0])
        else:
            shown = image_sets[check_integer("gallery", gallery, low=0, high=len(image_sets) - 1)]
        return cls(shown.images, shown.shape, names=shown.names, signed=shown.signed, title=shown.title).plot()

    def plot(self) -> Self:
        """Draw in a new figure, eight images per row."""
        images = check_array(self.images, dtype=np.float64)
        height, width = (check_integer("shape", side, low=1) for side in self.shape)
        if images.shape[1] != height * width:
            raise DataError(
                f"An image of {height:,} x {width:,} has {height * width:,} pixels, but the rows have {images.shape[1]:,}."
            )
        names = [""] * len(images) if self.names is None else read_names(self.names, len(images), "image")
        n_columns = min(len(images), _IMAGES_PER_ROW)
        n_rows = -(-len(images) // n_columns)
        tall = _INCHES_PER_IMAGE * height / width + (0.0 if self.names is None else _INCHES_PER_NAME)
        self.figure_, panels = figures.make_panels(n_rows, n_columns, width=_INCHES_PER_IMAGE, height=tall)
        for panel in panels.flat:
            panel.set_axis_off()
        self.images_ = []
        for panel, pixels, name in zip(panels.flat, images, names, strict=False):
            self.images_.append(self._draw(panel, pixels.reshape(height, width)))
            panel.set_title(escape_text(name), fontsize="small", color=figures.MUTED)
        if self.title:
            self.figure_.suptitle(escape_text(self.title), x=0.01, ha="left", fontsize="medium", color=figures.INK)
        return self

    def _draw(self, panel: Any, pixels: Any) -> Any:
        limit = float(np.abs(pixels).max()) or 1.0
        limits = {"vmin": -limit, "vmax": limit} if self.signed else {}
        return panel.imshow(pixels, cmap="gray", interpolation="nearest", **limits)

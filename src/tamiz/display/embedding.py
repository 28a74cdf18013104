"""Scatter plot of an embedding, optionally with the loadings of columns as arrows (biplot)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_array, check_is_fitted

from tamiz.arrays import Floats
from tamiz.display import figures
from tamiz.display.arrows import MAX_ARROWS, Arrow, biplot_arrows
from tamiz.display.base import PanelDisplay, check_one_each
from tamiz.display.coloring import escape_text, make_coloring
from tamiz.exceptions import DataError
from tamiz.reduction.base import Reducer
from tamiz.runtime.validation import check_integer

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Both axes have the same unit unless one span is more than this many times the other: the points would look like a line.
_MAX_SPAN_RATIO = 4.0

# Names of arrows: size of the font in points, width of a letter and height of a line in units of it.
_FONT_SIZE = 8.5
_LETTER_WIDTH, _LINE_HEIGHT = 0.58, 1.35
# Vertical offsets tried for a name, in half lines.
_LABEL_OFFSETS = np.array([0, *(step for k in range(1, 2 * MAX_ARROWS) for step in (k, -k))])
_ARROW = {"arrowstyle": "-|>", "color": figures.INK, "linewidth": 1.0, "shrinkA": 0, "shrinkB": 0}
_LABEL_BOX = {"facecolor": "white", "alpha": 0.7, "edgecolor": "none", "pad": 0.6}
_LABEL: dict[str, Any] = {
    "ha": "center", "va": "center", "fontsize": _FONT_SIZE, "color": figures.INK, "bbox": _LABEL_BOX
}  # fmt: skip


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
        if embedding.shape[1] > 1 and _can_share_unit(x, y) and not _shares_axis(panel):
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


def _can_share_unit(x: Floats, y: Floats) -> bool:
    """Return whether one unit can have the same length on both axes without the points looking like a line."""
    spans = sorted([float(np.ptp(x)), float(np.ptp(y))])
    return 0 < spans[1] <= _MAX_SPAN_RATIO * spans[0]


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

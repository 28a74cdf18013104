"""A map of rows as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_array, check_is_fitted

from tamiz.display import figures
from tamiz.display.arrows import MAX_ARROWS, Arrow, biplot_arrows
from tamiz.display.coloring import escape_text, make_coloring
from tamiz.display.figures import get_panel
from tamiz.exceptions import DataError
from tamiz.reduction.base import Reducer
from tamiz.runtime.validation import check_integer
from tamiz.statistics.base import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# MERGED: Arrows of columns drawn over points by matplotlib, their names where there is room.
_FONT_SIZE = 8.5
# Of a letter and of a line, in parts of the size of the font.
_LETTER_WIDTH, _LINE_HEIGHT = 0.58, 1.35
# Half lines up and down, for as many names as there are arrows.
_LABEL_OFFSETS = np.array([0, *(step for k in range(1, 2 * MAX_ARROWS) for step in (k, -k))])
_LABEL_BOX = {"facecolor": "white", "alpha": 0.7, "edgecolor": "none", "pad": 0.6}


def draw_arrows(panel: Axes, drawn: Sequence[Arrow], names: Sequence[str]) -> list[Any]:
    """Draw arrows from 0, each with its name beyond the tip, and return what was drawn.

    A name that would cover another is moved up or down.
    """
    # Names stand beyond the tips.
    panel.update_datalim([(1.12 * arrow.x, 1.12 * arrow.y) for arrow in drawn])
    panel.autoscale_view()
    panel.apply_aspect()
    points = 72.0 / panel.figure.dpi
    low, high = panel.get_window_extent().get_points() * points
    origin = panel.transData.transform((0.0, 0.0)) * points
    taken: list[tuple[float, float, float]] = []
    made = []
    for arrow in drawn:
        name = escape_text(names[arrow.column])
        tip = panel.transData.transform((arrow.x, arrow.y)) * points
        along = (tip - origin) / (float(np.hypot(*(tip - origin))) or 1.0)
        half = np.array([0.5 * _LETTER_WIDTH * _FONT_SIZE * len(name) + 2, 0.5 * _LINE_HEIGHT * _FONT_SIZE])
        x, y = np.clip(tip + along * (half + 3), low + half, high - half)
        place = next((at for at in y + half[1] * _LABEL_OFFSETS if _is_free(float(x), at, half, taken)), y)
        taken.append((float(x), float(place), half[0]))
        panel.annotate(
            "", (arrow.x, arrow.y), (0.0, 0.0),
            arrowprops={"arrowstyle": "-|>", "color": figures.INK, "linewidth": 1.0, "shrinkA": 0, "shrinkB": 0},
        )  # fmt: skip
        made.append(
            panel.annotate(
                name,
                (arrow.x, arrow.y),
                (x - tip[0], place - tip[1]),
                textcoords="offset points",
                ha="center",
                va="center",
                fontsize=_FONT_SIZE,
                color=figures.INK,
                bbox=_LABEL_BOX,
            )
        )
    return made


def _is_free(x: float, y: float, half: Floats, taken: Sequence[tuple[float, float, float]]) -> bool:
    return all(abs(x - at) >= half[0] + half_x or abs(y - level) >= 2 * half[1] for at, level, half_x in taken)


# Beyond it, points in one unit for both axes would be a line.
_MAX_SPAN_RATIO = 4.0


class EmbeddingDisplay:
    """The rows of a table as points in two coordinates.

    Parameters
    ----------
    embedding : array-like of shape (n_samples, n_components)
        A single coordinate is drawn against the number of the row.
    color : array-like of shape (n_samples,), default=None
        A number or a class for every row: text, categories, booleans and whole numbers of up to 20 different values are classes.
        Missing values are grey.
    color_label : str, default=None
        What the colours are; None is the name of a series.
    components : tuple of two int, default=(0, 1)
        The coordinates drawn, counted from 0.
    names : list of str, default=None
        A name for every coordinate.
    loadings : array-like of shape (n_columns, n_components), default=None
        Of every column on every coordinate. The eight columns with the largest are drawn as arrows (a biplot): rows further along
        an arrow have larger values of its column.
    column_names : list of str, default=None
        A name for every column of the loadings.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    points_ : list of matplotlib PathCollection
        The points, one item a colour where they are coloured by class.
    arrows_ : list of matplotlib Annotation
        The names at the arrows, the largest loadings first.

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

    def __init__(
        self,
        embedding: ArrayLike,
        *,
        color: ArrayLike | None = None,
        color_label: str | None = None,
        components: tuple[int, int] = (0, 1),
        names: Sequence[str] | None = None,
        loadings: ArrayLike | None = None,
        column_names: Sequence[str] | None = None,
    ) -> None:
        self.embedding = embedding
        self.color = color
        self.color_label = color_label
        self.components = components
        self.names = names
        self.loadings = loadings
        self.column_names = column_names

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
        """Draw the rows that a map of tamiz was fitted on.

        Parameters
        ----------
        estimator : Reducer
            Fitted. The map of another library is drawn by `from_embedding`.
        color, color_label, components
            As in the class.
        loadings : bool, default=False
            Draw the columns with the largest loadings as arrows, where the map has loadings.
        ax : matplotlib Axes, default=None
            Where to draw; None is a new figure.

        Returns
        -------
        EmbeddingDisplay
        """
        if not isinstance(estimator, Reducer):
            raise TypeError(
                f"from_estimator draws a fitted map of tamiz.reduction, got {type(estimator).__name__}; "
                "from_embedding draws any array of points."
            )
        check_is_fitted(estimator)
        if "embedding_" not in vars(estimator):
            raise DataError(
                f"{type(estimator).__name__} was fitted on a covariance, which has no rows to draw; from_embedding draws "
                "transform(X), the places of rows, where fit_covariance was given the mean."
            )
        facts = estimator.describe()
        if loadings and not facts.loadings:
            raise TypeError(
                f"{type(estimator).__name__} has no loadings; tamiz.reduction.axis_correlations tells what explains its axes."
            )
        display = cls(
            estimator.embedding_,
            color=color,
            color_label=color_label,
            components=components,
            names=facts.axis_names,
            loadings=facts.loadings if loadings else None,
            column_names=facts.loading_names if loadings else None,
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
        """Draw points.

        Parameters
        ----------
        embedding, color, color_label, components, names
            As in the class.
        ax : matplotlib Axes, default=None
            Where to draw; None is a new figure.

        Returns
        -------
        EmbeddingDisplay
        """
        display = cls(embedding, color=color, color_label=color_label, components=components, names=names)
        return display.plot(ax)

    def plot(self, ax: Axes | None = None, *, legend: bool = True) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None is a new figure.
        legend : bool, default=True
            Say beside the panel what the colours mean; `add_legend` does so later, for several panels at once.
        """
        panel = get_panel(ax)
        embedding = check_array(self.embedding, dtype=np.float64)
        (x, x_name), (y, y_name) = self._coordinates(embedding)
        self._coloring = make_coloring(self.color, len(x), self.color_label)
        self.points_ = self._coloring.draw(panel, x, y)
        panel.set(xlabel=x_name, ylabel=y_name)
        if embedding.shape[1] > 1 and _can_share_unit(x, y) and not _shares_axis(panel):
            panel.set_aspect("equal", adjustable="datalim")
        self.ax_, self.figure_ = panel, panel.figure
        if legend:
            self.add_legend()
        self.arrows_ = self._draw_arrows(panel, x, y) if self.loadings is not None else []
        return self

    def _draw_arrows(self, panel: Axes, x: Floats, y: Floats) -> list[Any]:
        loadings = check_array(self.loadings, dtype=np.float64)
        m = np.shape(self.embedding)[1]
        if loadings.shape[1] != m or m == 1:
            raise DataError(
                f"The loadings are on {loadings.shape[1]} coordinates of {m}; arrows need two or more, the same."
            )
        names = [f"x{j}" for j in range(len(loadings))] if self.column_names is None else list(self.column_names)
        if len(names) != len(loadings):
            raise DataError(
                f"There are {len(names)} column names for {len(loadings)} rows of loadings; give one for each."
            )
        pairs = loadings[:, list(self.components)].tolist()
        drawn = biplot_arrows(np.column_stack([x, y]).tolist(), pairs, one_scale=panel.get_aspect() != "auto")
        return draw_arrows(panel, drawn, names)

    def add_legend(self, panels: Any = None) -> Self:
        """Say what the colours mean.

        Parameters
        ----------
        panels : array of matplotlib Axes of shape (n_rows, n_columns), default=None
            The panels of displays that are coloured alike; None is the display's own.
        """
        grid = np.array([[self.ax_]]) if panels is None else np.asarray(panels)
        self._coloring.add_legend(self.points_, grid)
        return self

    def _coordinates(self, embedding: Floats) -> list[tuple[Floats, str]]:
        m = embedding.shape[1]
        names = [f"Coordinate {k + 1}" for k in range(m)] if self.names is None else list(self.names)
        if len(names) != m:
            raise DataError(f"There are {len(names)} names for {m} coordinates; give one for each.")
        if m == 1:
            # A line of points would hide how many there are.
            return [(embedding[:, 0], names[0]), (np.arange(len(embedding), dtype=np.float64), "Row")]
        if len(self.components) != 2:
            raise DataError(f"components must be two coordinates, got {len(self.components)}.")
        chosen = [check_integer("components", k, low=0, high=m - 1) for k in self.components]
        return [(embedding[:, k], names[k]) for k in chosen]


def _can_share_unit(x: Floats, y: Floats) -> bool:
    """Return whether one unit can be as long on both axes without the points becoming a line."""
    spans = sorted([float(np.ptp(x)), float(np.ptp(y))])
    return 0 < spans[1] <= _MAX_SPAN_RATIO * spans[0]


def _shares_axis(ax: Axes) -> bool:
    """Return whether the panel shares an axis with another, whose limits are not ours to change."""
    return any(len(group.get_siblings(ax)) > 1 for group in (ax.get_shared_x_axes(), ax.get_shared_y_axes()))

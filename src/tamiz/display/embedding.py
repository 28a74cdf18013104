"""A map of rows as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_array, check_is_fitted

from tamiz.display.coloring import read_coloring
from tamiz.display.figures import one_panel
from tamiz.exceptions import DataError
from tamiz.reduction.base import Reducer
from tamiz.statistics.base import Floats
from tamiz.validation import check_integer

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Beyond it, points in one unit for both axes would be a line.
_MOST_UNEQUAL = 4.0


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

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    points_ : list of matplotlib PathCollection
        The points, one item a colour where they are coloured by class.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz.display import EmbeddingDisplay
    >>> from tamiz.reduction import PCA
    >>> X, species = load_iris(return_X_y=True)
    >>> display = EmbeddingDisplay.from_estimator(PCA().fit(X), color=species)
    >>> display.ax_.get_xlabel(), len(display.points_)
    ('PC 1', 3)
    """

    def __init__(
        self,
        embedding: ArrayLike,
        *,
        color: ArrayLike | None = None,
        color_label: str | None = None,
        components: tuple[int, int] = (0, 1),
        names: Sequence[str] | None = None,
    ) -> None:
        self.embedding = embedding
        self.color = color
        self.color_label = color_label
        self.components = components
        self.names = names

    @classmethod
    def from_estimator(
        cls,
        estimator: Reducer,
        *,
        color: ArrayLike | None = None,
        color_label: str | None = None,
        components: tuple[int, int] = (0, 1),
        ax: Axes | None = None,
    ) -> Self:
        """Draw the rows that a map of tamiz was fitted on.

        Parameters
        ----------
        estimator : Reducer
            Fitted. The map of another library is drawn by `from_embedding`.
        color, color_label, components
            As in the class.
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
        names = estimator.facts().axes
        display = cls(estimator.embedding_, color=color, color_label=color_label, components=components, names=names)
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
        panel = one_panel(ax)
        embedding = check_array(self.embedding, dtype=np.float64)
        (x, x_name), (y, y_name) = self._coordinates(embedding)
        self._coloring = read_coloring(self.color, len(x), self.color_label)
        self.points_ = self._coloring.draw(panel, x, y)
        panel.set(xlabel=x_name, ylabel=y_name)
        if embedding.shape[1] > 1 and _comparable(x, y) and not _tied(panel):
            panel.set_aspect("equal", adjustable="datalim")
        self.ax_, self.figure_ = panel, panel.figure
        if legend:
            self.add_legend()
        return self

    def add_legend(self, panels: Any = None) -> Self:
        """Say what the colours mean.

        Parameters
        ----------
        panels : array of matplotlib Axes of shape (n_rows, n_columns), default=None
            The panels of displays that are coloured alike; None is the display's own.
        """
        grid = np.array([[self.ax_]]) if panels is None else np.asarray(panels)
        self._coloring.explain(self.points_, grid)
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


def _comparable(x: Floats, y: Floats) -> bool:
    """Return whether one unit can be as long on both axes without the points becoming a line."""
    spans = sorted([float(np.ptp(x)), float(np.ptp(y))])
    return 0 < spans[1] <= _MOST_UNEQUAL * spans[0]


def _tied(ax: Axes) -> bool:
    """Return whether the panel shares an axis with another, whose limits are not ours to change."""
    return any(len(group.get_siblings(ax)) > 1 for group in (ax.get_shared_x_axes(), ax.get_shared_y_axes()))

"""Grid of Laplacian eigenmaps over numbers of neighbours and heat-kernel widths, as in Belkin and Niyogi (2003), figure 2."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from tamiz.display.embedding import EmbeddingDisplay
from tamiz.display.figures import INK, make_panels
from tamiz.exceptions import DataError
from tamiz.graphs.builder import read_points
from tamiz.graphs.components import Components
from tamiz.graphs.edges import NeighborRule, undirected_edges
from tamiz.graphs.graph import EdgeGraph
from tamiz.graphs.weights import Binary, HeatKernel
from tamiz.neighbors.base import NeighborSearch
from tamiz.neighbors.row_encoders import row_numbers
from tamiz.neighbors.search_choice import choose_search
from tamiz.reduction.laplacian_eigenmaps import DISCONNECTED_CHOICES, LaplacianEigenmaps
from tamiz.runtime import parallel
from tamiz.runtime.user_warnings import warn_user
from tamiz.runtime.validation import check_choice, check_integer, check_real
from tamiz.statistics.base import Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Number = TypeVar("Number", int, float)


@dataclass(frozen=True, eq=False, repr=False)
class EigenmapGrid:
    """Laplacian eigenmaps of one table for every combination of a number of neighbours and a kernel width.

    Attributes
    ----------
    n_neighbors : tuple of int
    t : tuple of float
    maps : dict
        The fitted `LaplacianEigenmaps` by (n_neighbors, t).
    """

    n_neighbors: tuple[int, ...]
    t: tuple[float, ...]
    maps: Mapping[tuple[int, float], LaplacianEigenmaps]

    def embedding(self, n_neighbors: int, t: float) -> Floats:
        """Return the coordinates of the rows in one map, of shape (n_samples, n_components)."""
        if (n_neighbors, t) not in self.maps:
            raise ValueError(
                f"The grid has no map of n_neighbors={n_neighbors}, t={t}; it has n_neighbors {_format_values(self.n_neighbors)} "
                f"and t {_format_values(self.t)}."
            )
        return self.maps[n_neighbors, t].embedding_

    def __repr__(self) -> str:
        n_samples, n_components = next(iter(self.maps.values())).embedding_.shape
        return (
            f"<EigenmapGrid of {n_samples:,} rows in {n_components} coordinates: "
            f"n_neighbors={_format_values(self.n_neighbors)}; t={_format_values(self.t)}>"
        )

    def plot(self, color: ArrayLike | None = None, *, color_label: str | None = None) -> Figure:
        """Plot the first two coordinates of every map: a column for each number of neighbours N, a row for each width t.

        Parameters
        ----------
        color : array-like of shape (n_samples,), default=None
            A number or a class for every row.
        color_label : str, default=None
            Label of the colours; None uses the name of a Series.

        Returns
        -------
        matplotlib Figure
            Every panel has its own scale, because the size of an eigenmap has no meaning.
        """
        figure, axes = make_panels(len(self.t), len(self.n_neighbors), width=2.25, height=2.25)
        for (n_neighbors, t), ax in zip(self._panel_order(), axes.flat, strict=True):
            display = EmbeddingDisplay(self.embedding(n_neighbors, t), color=color, color_label=color_label)
            display.plot(ax, legend=False)
            ax.set(xticks=[], yticks=[], xlabel="", ylabel="")
            width = "∞" if np.isinf(t) else f"{t:g}"
            ax.set_title(f"N = {n_neighbors},  t = {width}", fontsize="medium", color=INK)
        display.add_legend(axes)
        return figure

    def _panel_order(self) -> list[tuple[int, float]]:
        return [(n_neighbors, t) for t in self.t for n_neighbors in self.n_neighbors]


def eigenmap_grid(
    X: Any,
    n_neighbors: Iterable[int] = (5, 10, 15),
    t: Iterable[float] = (5.0, 25.0, np.inf),
    *,
    n_components: int = 2,
    disconnected: str = "error",
    metric: str = "euclidean",
    search: NeighborSearch | None = None,
) -> EigenmapGrid:
    """Fit Laplacian eigenmaps of a table for several numbers of neighbours and heat-kernel widths.

    Parameters
    ----------
    X : array, data frame, sparse matrix or Source
        As in `KNearest`.
    n_neighbors : list of int, default=(5, 10, 15)
    t : list of float, default=(5, 25, inf)
        Widths of the heat kernel, in squared units of distance; infinity sets every edge weight to 1.
    n_components : int, default=2
        Number of coordinates of every map.
    disconnected : {"error", "connect", "per_component"}, default="error"
        Handling of graphs with several components, as in `LaplacianEigenmaps`.
    metric, search
        As in `KNearest`.

    Returns
    -------
    EigenmapGrid

    Raises
    ------
    ValueError
        When a list is empty or contains a value twice, `n_neighbors` is not below the number of rows, or a width is not above 0 or
        so small that all edge weights vanish.
    DataError
        When a graph has several components and disconnected="error".

    Notes
    -----
    One neighbour search serves all graphs: it finds as many neighbours as the largest graph needs, and smaller graphs use the
    nearest of them. With an exact search every map equals a separate fit to the bit. With an approximate search the neighbours of
    smaller graphs are more accurate than in a separate fit.

    References
    ----------
    Belkin and Niyogi (2003), Laplacian eigenmaps for dimensionality reduction and data representation, Neural Computation 15,
    figure 2.

    Examples
    --------
    >>> from sklearn.datasets import make_swiss_roll
    >>> from tamiz.comparison import eigenmap_grid
    >>> X, along = make_swiss_roll(400, random_state=1)
    >>> grid = eigenmap_grid(X, n_neighbors=[5, 15], t=[5, 25])
    >>> grid
    <EigenmapGrid of 400 rows in 2 coordinates: n_neighbors=5, 15; t=5, 25>
    >>> grid.embedding(n_neighbors=5, t=25).shape
    (400, 2)
    """
    numbers = _check_list("n_neighbors", n_neighbors, lambda k: check_integer("n_neighbors", k, low=1))
    widths = _check_list("t", t, _check_width)
    check_integer("n_components", n_components, low=1)
    check_choice("disconnected", disconnected, DISCONNECTED_CHOICES)
    maps = {}
    with parallel.thread_session():
        points, encoder = read_points(X, metric, fill_missing=True)
        if max(numbers) >= points.n_samples:
            raise ValueError(
                f"n_neighbors must be below the number of rows = {points.n_samples:,}, got {max(numbers):,}. "
                "Remove this value, or pass more rows."
            )
        index = choose_search(search, points).fit(points)
        nearest = index.query(max(numbers))
        for k in numbers:
            edges = undirected_edges(nearest.nearest(k))
            rule = NeighborRule.from_index(index, encoder, n_neighbors=k)
            _check_connected(
                X, EdgeGraph.from_edge_lengths(edges, Binary(), neighbor_rule=rule).components, k, disconnected
            )
            for width in widths:
                graph = EdgeGraph.from_edge_lengths(edges, HeatKernel(width), neighbor_rule=rule)
                maps[k, width] = LaplacianEigenmaps(n_components, graph=graph, disconnected=disconnected).fit(X)
    return EigenmapGrid(numbers, widths, maps)


def _check_list(name: str, values: Iterable[Number], check: Callable[[Any], Number]) -> tuple[Number, ...]:
    """Return the checked values of a list; raise if it is empty or contains a value twice."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"{name} must be a list, got {values!r}. Put it in brackets: [{values}].")
    checked = tuple(check(value) for value in values)
    if not checked:
        raise ValueError(f"{name} is an empty list; a grid needs at least one value.")
    for at, value in enumerate(checked):
        if value in checked[:at]:
            raise ValueError(f"{name} contains {value:g} twice; pass each value once.")
    return checked


def _check_width(value: Any) -> float:
    width = check_real("t", value)
    if width <= 0:
        raise ValueError(f"t must be above 0, got {width:g}. Infinity sets every edge weight to 1.")
    return width


def _check_connected(X: Any, components: Components, n_neighbors: int, disconnected: str) -> None:
    """Raise DataError for a graph with several components if disconnected="error", else warn."""
    if len(components) == 1:
        return
    fact = f"With {n_neighbors} neighbours the graph falls into {components.describe(row_numbers(X))}"
    if disconnected == "error":
        raise DataError(f"{fact}. Use more neighbours, or set disconnected='connect' or 'per_component'.")
    warn_user([f"{fact}."])


def _format_values(values: Iterable[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)

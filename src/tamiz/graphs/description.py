"""The description of a graph in plain fields, which reports are read with: this module imports nothing heavy."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Range:
    """The smallest, the median and the largest of some numbers."""

    min: float
    median: float
    max: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Histogram:
    """The number of rows in each bin of equal whole width, from `start` on."""

    start: int
    width: int
    rows: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class NeighborCounts(Range):
    histogram: Histogram


@dataclass(frozen=True, kw_only=True, slots=True)
class ComponentSizes:
    """The number of components of a graph, and the sizes of the largest ones."""

    n: int
    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.sizes:
            raise ValueError("no components")


@dataclass(frozen=True, kw_only=True, slots=True)
class GraphDescription:
    """What `describe()` of a graph returns: numbers of rows, edges and neighbours, components, degrees, and how it was built.

    `components` has the `sizes` of the ten largest, and `neighbors` a `histogram` in at most 40 bins. `radius`, `t` and `recall`
    are None where the graph has none, and for an infinite `t`.

    Examples
    --------
    >>> from tamiz.graphs import Graph
    >>> described = Graph.from_edges([0, 1, 3], [1, 2, 4]).describe()
    >>> described.components
    ComponentSizes(n=2, sizes=(3, 2))
    >>> described.neighbors.histogram
    Histogram(start=1, width=1, rows=(4, 1))
    """

    n_rows: int
    n_edges: int
    components: ComponentSizes
    neighbors: NeighborCounts
    degrees: Range
    radius: float | None
    t: float | None
    unweighted: bool
    search: str | None
    recall: float | None

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

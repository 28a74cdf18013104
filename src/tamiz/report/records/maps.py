"""Records of the maps: the neighbour graph, the maps, their quality, and the values that colour their points."""

from collections.abc import Sized
from dataclasses import dataclass
from typing import Literal

from tamiz.graphs.description import GraphDescription
from tamiz.reduction.description import ClusterRule, MapDescription
from tamiz.runtime.codec import Named, check_lengths


@dataclass(frozen=True, kw_only=True, slots=True)
class GraphRecord(GraphDescription):
    """The neighbour graph of the rows.

    `description` is the builder in words, "" for a class from elsewhere. `n_joining_edges` connect its components, None if they
    cannot be connected.
    """

    id: str
    label: str
    parameters: str
    description: str
    by_class: bool
    n_joining_edges: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class AxisCorrelationsRecord:
    """The rank correlation of each column with each axis, over `n_rows` of the `n_mapped` rows, and its size by chance.

    A category has a correlation ratio, without a sign.
    """

    columns: tuple[str, ...]
    kinds: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]
    chance: tuple[float, ...]
    n_rows: int
    n_mapped: int

    def __post_init__(self) -> None:
        check_lengths(columns=self.columns, kinds=self.kinds, values=self.values, chance=self.chance)


@dataclass(frozen=True, kw_only=True, slots=True)
class MapClustersRecord:
    """The visible clusters of a map, the largest first, from `n_rows` of the `n_mapped` rows; `n_outside` are in none.

    `n_considered` of the `n_columns` columns were considered for conditions.
    """

    rules: tuple[ClusterRule, ...]
    n_rows: int
    n_mapped: int
    n_outside: int
    n_considered: int
    n_columns: int


@dataclass(frozen=True, kw_only=True, slots=True)
class GreyImage:
    """An image as one byte for each pixel, by rows: 0 is `low` and 255 is `high`."""

    name: str
    height: int
    width: int
    low: float
    high: float
    pixels: bytes

    def __post_init__(self) -> None:
        check_lengths(pixels=self.height * self.width, bytes=self.pixels)


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageSetRecord:
    """The first of `n_images` images, such as the components of a table of pixels."""

    title: str
    note: str
    n_images: int
    images: tuple[GreyImage, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class MapRecord(MapDescription):
    """A map: its description with the first axes, its points, correlations with the columns, and clusters.

    `points` are the first two coordinates of the shown `rows`, None if they were left out. `clusters` is None for a table without
    columns.
    """

    id: str
    label: str
    points: tuple[tuple[float, ...], ...] | None
    rows: tuple[int, ...]
    explanation: AxisCorrelationsRecord
    clusters: MapClustersRecord | None
    galleries: tuple[ImageSetRecord, ...]

    def __post_init__(self) -> None:
        if not self.axes:
            raise ValueError("no axes")
        if self.points is not None:
            check_lengths(rows=self.rows, points=self.points)
            for point in self.points:
                check_lengths(axes=self.axes[:2], coordinates=point)


@dataclass(frozen=True, kw_only=True, slots=True)
class MapMeasure:
    """A quality measure and its value for every map, None for a map that could not be evaluated."""

    name: str
    larger_is_better: bool
    values: tuple[float | None, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class AgreementCurves:
    """The curve R_NX of every map by neighbourhood size, empty for a map that could not be evaluated."""

    n_neighbors: tuple[int, ...]
    r_nx: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        for curve in filter(None, self.r_nx):
            check_lengths(sizes=self.n_neighbors, values=curve)


@dataclass(frozen=True, kw_only=True, slots=True)
class ShepardPairsRecord:
    """Pairs of rows: their distances in the table and, at the best scale, on every map."""

    all_pairs: bool
    in_table: tuple[float, ...]
    on_map: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        for distances in filter(None, self.on_map):
            check_lengths(pairs=self.in_table, distances=distances)


@dataclass(frozen=True, kw_only=True, slots=True)
class QualityRecord:
    """The quality of all maps, in their order, on the same rows; values per point are empty without points.

    `nearest` are, for every shown row, the positions of the ten that are nearest in the table among the evaluated rows.
    `chance_trust` is the trustworthiness that one row in twenty reaches on a map that is unrelated to the table, and
    `n_chance_rows` counts for each map the rows that have no more.

    `shape_distances` contains Gower's m^2 between the first two coordinates of every two maps, None for a map without extent.
    """

    metric: Named
    n_rows: int
    n_neighbors: int
    measures: tuple[MapMeasure, ...]
    shape_distances: tuple[tuple[float | None, ...], ...]
    agreement: AgreementCurves
    pairs: ShepardPairsRecord | None
    stress_per_point: tuple[tuple[float | None, ...] | None, ...]
    trust_per_point: tuple[tuple[float | None, ...] | None, ...] = ()
    nearest: tuple[tuple[int, ...] | None, ...] = ()
    chance_trust: float | None = None
    n_chance_rows: tuple[int | None, ...] = ()

    def values(self, name: str) -> tuple[float | None, ...]:
        """Return a measure of every map, () if it was not computed."""
        return next((one.values for one in self.measures if one.name == name), ())

    def check_maps(self, n_maps: int) -> None:
        """Raise ValueError unless every part is of so many maps."""
        parts: dict[str, list[Sized]] = {
            "values": [one.values for one in self.measures],
            "curves": [self.agreement.r_nx],
            "shape_distances": [self.shape_distances, *self.shape_distances],
            "diagrams": [] if self.pairs is None else [self.pairs.on_map],
            "rows": [one for one in (self.stress_per_point, self.trust_per_point, self.n_chance_rows) if one],
        }
        for name, sized in parts.items():
            for one in sized:
                lengths: dict[str, Sized | int] = {"maps": n_maps, name: one}
                check_lengths(**lengths)


@dataclass(frozen=True, kw_only=True, slots=True)
class ColorColumn:
    """The values of the target, a column or the clusters for the shown rows; a categorical value is the number of its level."""

    name: str
    role: Literal["target", "column", "cluster"]
    kind: Literal["numeric", "date", "categorical"]
    values: tuple[float | None, ...]
    levels: tuple[str, ...]
    silhouette: float | None

    def __post_init__(self) -> None:
        if self.kind == "categorical":
            outside = [code for code in self.values if code is not None and code not in range(len(self.levels))]
            if outside:
                raise ValueError(f"there is no level {outside[0]}")

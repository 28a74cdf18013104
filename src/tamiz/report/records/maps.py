"""Records of the maps: the neighbour graph, the maps, their quality, and the values that colour their points."""

from dataclasses import dataclass
from typing import Literal

from tamiz.graphs.description import GraphDescription
from tamiz.metrics.estimates import QualityMeasure
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
class MapQualityRecord:
    """The quality of a map: its measures, its curve R_NX, and the distances of pairs of rows at its best scale.

    Of every shown row it has the stress and the trustworthiness, None where it was not evaluated. `n_chance_rows` have no more
    trustworthiness than by chance; None among so few rows that all are such.
    """

    measures: tuple[QualityMeasure, ...]
    r_nx: tuple[float, ...]
    pairs: tuple[float, ...]
    stress: tuple[float | None, ...]
    trust: tuple[float | None, ...]
    n_chance_rows: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class QualityRecord:
    """The quality of all maps, in their order, on the same rows; None for a map that could not be evaluated.

    `sizes` are the neighbourhood sizes of the curves, and `pairs` the distances in the table of pairs of rows, all of them or drawn
    ones. `nearest` are, for every shown row, the positions of the ten that are nearest in the table among the evaluated rows.
    `chance_trust` is the trustworthiness that one row in twenty reaches on a map that is unrelated to the table. `shape_distances`
    contains Gower's m^2 between the first two coordinates of every two maps, None for a map without extent. Without points there
    are no values of single rows and pairs.
    """

    metric: Named
    n_rows: int
    n_neighbors: int
    maps: tuple[MapQualityRecord | None, ...]
    sizes: tuple[int, ...]
    pairs: tuple[float, ...]
    all_pairs: bool
    shape_distances: tuple[tuple[float | None, ...], ...]
    nearest: tuple[tuple[int, ...] | None, ...]
    chance_trust: float

    def __post_init__(self) -> None:
        for row in (self.shape_distances, *self.shape_distances):
            check_lengths(maps=self.maps, shape_distances=row)
        for one in filter(None, self.maps):
            check_lengths(sizes=self.sizes, curve=one.r_nx)
            check_lengths(pairs=self.pairs, distances=one.pairs)

    def values(self, name: str) -> tuple[float | None, ...]:
        """Return a measure of every map, None where it was not computed."""
        known = [{} if one is None else {measure.name: measure.value for measure in one.measures} for one in self.maps]
        return tuple(values.get(name) for values in known)


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

"""Records of the maps: the neighbour graph, the maps, their quality, and the values that colour their points."""

from dataclasses import dataclass
from typing import Literal

from tamiz.runtime.codec import Named, check_lengths


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
    """The numbers of neighbours of the rows."""

    histogram: Histogram


@dataclass(frozen=True, kw_only=True, slots=True)
class ComponentsRecord:
    """The number of components of a graph, and the sizes of the largest ones."""

    n: int
    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.sizes:
            raise ValueError("no components")


@dataclass(frozen=True, kw_only=True, slots=True)
class GraphRecord(Named):
    """The neighbour graph of the rows.

    `description` is the builder in words, "" for a class from elsewhere. `n_joining_edges` connect its components, None if they
    cannot be connected. `radius`, `t` (of heat-kernel weights), `search` and its `recall` are None where the builder has none.
    """

    parameters: str
    description: str
    by_class: bool
    n_rows: int
    n_edges: int
    components: ComponentsRecord
    n_joining_edges: int | None
    neighbors: NeighborCounts
    degrees: Range
    radius: float | None
    t: float | None
    unweighted: bool
    search: str | None
    recall: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class SpectrumRecord:
    """The eigenvalues of a map, or the shares of its components with their cumulative shares.

    `reference` are the shares by chance (parallel analysis), which `chance_title` and `chance_note` put into words.
    """

    label: str
    note: str
    values: tuple[float, ...]
    cumulative: tuple[float, ...]
    residuals: tuple[float, ...]
    reference: tuple[float, ...]
    chance_title: str
    chance_note: str

    def __post_init__(self) -> None:
        if self.cumulative:
            check_lengths(values=self.values, cumulative=self.cumulative)


@dataclass(frozen=True, kw_only=True, slots=True)
class Loadings:
    """The weight of each column, or of each level, in the axes."""

    columns: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        check_lengths(columns=self.columns, values=self.values)


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
class RuleConditionRecord:
    """A condition on a column: above, below or between thresholds, one or several levels, or missing. `text` has it in words."""

    column: str
    kind: Literal["above", "below", "between", "equals", "one of", "missing"]
    thresholds: tuple[float, ...]
    levels: tuple[str, ...]
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterRuleRecord:
    """A visible cluster of a map, its centre, and its rule; without conditions there is no simple rule.

    On rows that were not used to find the rule, `precision` is the share of the `n_fulfilling` rows that are in the cluster, and
    `coverage` the share of the `n_test` rows of the cluster that fulfil the rule.
    """

    n_rows: int
    center: tuple[float, ...]
    conditions: tuple[RuleConditionRecord, ...]
    precision: float | None
    coverage: float | None
    n_fulfilling: int
    n_test: int

    def __post_init__(self) -> None:
        if self.conditions and (self.precision is None or self.coverage is None):
            raise ValueError("a rule without precision or coverage")


@dataclass(frozen=True, kw_only=True, slots=True)
class MapClustersRecord:
    """The visible clusters of a map, the largest first, from `n_rows` of the `n_mapped` rows; `n_outside` are in none.

    `n_considered` of the `n_columns` columns were considered for conditions.
    """

    rules: tuple[ClusterRuleRecord, ...]
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
class MapRecord(Named):
    """A map: its axes, points, spectrum, loadings, correlations with the columns, and clusters.

    `points` are the first two coordinates of the shown `rows`, None if they were left out. `comparable_axes` is whether both axes
    have one unit. `clusters` is None for a table without columns.
    """

    axes: tuple[str, ...]
    notes: tuple[str, ...]
    proximity_note: str
    comparable_axes: bool
    points: tuple[tuple[float, ...], ...] | None
    rows: tuple[int, ...]
    spectrum: SpectrumRecord
    loadings: Loadings
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

    def check_maps(self, n_maps: int) -> None:
        """Raise ValueError unless every part is of so many maps."""
        for measure in self.measures:
            check_lengths(maps=n_maps, values=measure.values)
        check_lengths(maps=n_maps, curves=self.agreement.r_nx)
        for distances in (self.shape_distances, *self.shape_distances):
            check_lengths(maps=n_maps, shape_distances=distances)
        if self.pairs is not None:
            check_lengths(maps=n_maps, diagrams=self.pairs.on_map)
        if self.stress_per_point:
            check_lengths(maps=n_maps, stress=self.stress_per_point)
        if self.trust_per_point:
            check_lengths(maps=n_maps, trust=self.trust_per_point)
        if self.n_chance_rows:
            check_lengths(maps=n_maps, rows=self.n_chance_rows)


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

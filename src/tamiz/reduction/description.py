"""The description of a map in plain fields: the meaning of its distances, its spectrum and loadings, and rules of its clusters."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from tamiz.runtime.validation import check_lengths


@dataclass(frozen=True, kw_only=True, slots=True)
class MapSpectrum:
    """The eigenvalues of a map, or the shares of its components with their cumulative shares.

    Attributes
    ----------
    label : str
        Name of the values; "" for a map without any.
    values : tuple of float
        One value an axis, first axis first.
    note : str
        Explanation of the values, one sentence.
    cumulative : tuple of float
        Cumulative sums; empty if the values are not shares of a total.
    residuals : tuple of float
        Residual norms of iterative eigensolvers; empty for direct solvers.
    reference : tuple of float
        Expected values under the null model of parallel analysis; empty if not computed.
    chance_title, chance_note : str
        Heading with the number of axes above the null model, and an explanation of the null model, one sentence.
    """

    label: str
    values: tuple[float, ...]
    note: str = ""
    cumulative: tuple[float, ...] = ()
    residuals: tuple[float, ...] = ()
    reference: tuple[float, ...] = ()
    chance_title: str = ""
    chance_note: str = ""

    def __post_init__(self) -> None:
        if self.cumulative:
            check_lengths(values=self.values, cumulative=self.cumulative)


@dataclass(frozen=True, kw_only=True, slots=True)
class Loadings:
    """The weight of each column, or of each level, in each axis: one row for each name."""

    columns: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        check_lengths(columns=self.columns, values=self.values)


@dataclass(frozen=True, kw_only=True, slots=True)
class MapDescription:
    """What `describe()` of a fitted map returns.

    Attributes
    ----------
    axes : tuple of str
        A name for every coordinate.
    notes : tuple of str
        Preprocessing and results, one sentence each.
    proximity_note : str
        Meaning of a small distance on the map, one sentence.
    comparable_axes : bool
        Whether all axes have the same unit.
    stress : float or None
        Kruskal's stress-1 of the map, on a sample of pairs for sampling methods; None for methods without stress.
    spectrum : MapSpectrum
        Eigenvalues or shares of variance; without values for methods that have none.
    loadings : Loadings
        Empty for methods without loadings.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from tamiz.reduction import MDS
    >>> described = MDS(random_state=0).fit(load_wine().data).describe()
    >>> described.axes, round(described.stress, 3)
    (('Coordinate 1', 'Coordinate 2'), 0.001)
    >>> described.proximity_note
    'Rows that are similar in the table are near each other on the map, and dissimilar rows are far apart.'
    """

    axes: tuple[str, ...]
    notes: tuple[str, ...]
    proximity_note: str
    comparable_axes: bool
    stress: float | None
    spectrum: MapSpectrum
    loadings: Loadings

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, kw_only=True, slots=True)
class RuleCondition:
    """A condition on one column.

    Attributes
    ----------
    column : str
    kind : {"above", "below", "between", "equals", "one of", "missing"}
        "above" is > and "below" is <=; "between" is > the first threshold and <= the second. "equals" is of a level or of a
        number. A missing value fulfils only "missing".
    text : str
        The condition in words, such as "flipper_length > 206".
    thresholds : tuple of float
        Dates in seconds since 1970.
    levels : tuple of str
    """

    column: str
    kind: Literal["above", "below", "between", "equals", "one of", "missing"]
    text: str
    thresholds: tuple[float, ...] = ()
    levels: tuple[str, ...] = ()

    @property
    def values(self) -> tuple[float, ...] | tuple[str, ...]:
        """The thresholds, or the levels."""
        return self.thresholds or self.levels


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterRule:
    """The rule of a cluster, measured on held-out rows.

    Attributes
    ----------
    cluster : int
        The number of the cluster; 1 is the largest.
    label : str
        The label of a cluster that was passed, else its number.
    n_rows : int
        Number of rows of the cluster.
    center : tuple of float
        The medians of the coordinates of its rows.
    conditions : tuple of RuleCondition
        All of them must be fulfilled; empty if no simple rule describes the cluster.
    precision : float or None
        Share of the held-out rows that fulfil the rule which are in the cluster, weighted; None without a rule.
    coverage : float or None
        Share of the held-out rows of the cluster which fulfil the rule, weighted; None without a rule.
    n_fulfilling, n_test : int
        Number of held-out rows that fulfil the rule, and of held-out rows in the cluster.
    """

    cluster: int
    label: str
    n_rows: int
    center: tuple[float, ...]
    n_test: int
    conditions: tuple[RuleCondition, ...] = ()
    precision: float | None = None
    coverage: float | None = None
    n_fulfilling: int = 0

    def __post_init__(self) -> None:
        if self.conditions and (self.precision is None or self.coverage is None):
            raise ValueError("a rule without precision or coverage")

    @property
    def text(self) -> str:
        """The conditions, joined by "and"; "no simple rule" without any."""
        return " and ".join(condition.text for condition in self.conditions) or "no simple rule"

"""The result of a comparison of two tables: its names and numbers, its frame, printing it, and its page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from tamiz.assessment.findings import ColumnDistribution
from tamiz.drift.sentences import render_page, verdict_lines
from tamiz.runtime.codec import Interval, JsonResult
from tamiz.runtime.result_tables import frame_page, make_frame
from tamiz.runtime.verdicts import Verdict
from tamiz.storage.written_result import WrittenResult

Pair = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class ComparedTable:
    """The size of one of two tables: its rows, those that they count as by their weights, and its columns."""

    name: str
    n_rows: int
    n_effective: float
    n_columns: int


@dataclass(frozen=True, kw_only=True)
class ColumnDrift:
    """How a column differs between two tables; pairs are of the first and the second table.

    Attributes
    ----------
    name, kind : str
    is_target : bool
    change : {"large", "small", "none"}
        "small" and "large" from a stability index of .1 and .25 above its expected value on, where a test is significant; none of a
        date, because later rows have later dates.
    psi, expected_psi : float
        The population stability index, and its mean without change.
    distance : float
        The Kolmogorov-Smirnov distance of numbers; half the sum of the absolute differences of the rates of levels.
    p_value, adjusted : float
        Of the distance; and the smallest p-value of the column, adjusted over the tests of all columns.
    missing : tuple of float
        The shares of missing values, with `missing_p_value`.
    mean, deviation : tuple of float, or None
    level : tuple of (str, float) pairs, or None
        The most frequent level in each table, with its share of the present values.
    new_levels, lost_levels : tuple of str
        The first levels of one table alone, the most frequent first; `n_new_levels` and `n_lost_levels` are all.
    new_share : float
        The share of the present values of the second table that are new levels, with `new_p_value`.
    power : int
        k where the second table seems to have the values of the first times 10**k, otherwise 0.
    distribution : ColumnDistribution or None
        The counts of both tables.
    """

    name: str
    kind: str
    is_target: bool
    change: Literal["large", "small", "none"]
    psi: float
    expected_psi: float
    distance: float
    p_value: float
    adjusted: float
    missing: Pair
    missing_p_value: float
    mean: Pair | None = None
    deviation: Pair | None = None
    level: tuple[tuple[str, float], tuple[str, float]] | None = None
    new_levels: tuple[str, ...] = ()
    n_new_levels: int = 0
    lost_levels: tuple[str, ...] = ()
    n_lost_levels: int = 0
    new_share: float = 0.0
    new_p_value: float = 1.0
    power: int = 0
    distribution: ColumnDistribution | None = None


@dataclass(frozen=True, kw_only=True)
class Membership:
    """How well a model recognises the table of a row: the area under the ROC curve, and the loss by column when it is permuted."""

    auc: float
    interval: Interval
    n_folds: int
    columns: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class AssociationDrift:
    """The association of a column with the target in both tables, and its rank by tree importance; 1 is the best.

    The difference is the second value minus the first one, of odds ratios that of their logarithms.
    """

    column: str
    measure: str
    of: str
    values: Pair
    difference: float
    difference_interval: Interval
    adjusted: float
    ranks: tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class TargetDrift:
    """The score of a model of the first table in cross-validation on it and on the second table, and associations in both.

    Attributes
    ----------
    target, model, scorer : str
    columns : tuple of str
        The columns of the model.
    are_chosen : bool
        Whether the caller named them.
    scores : tuple of float
    intervals : tuple of tuple of float
        The 95 % intervals of both scores.
    difference, difference_interval
        The second score minus the first one.
    n_folds : int
    leaks : tuple of str
        Columns of possible target leakage, which the model does not use.
    associations : tuple of AssociationDrift
    """

    target: str
    model: str
    scorer: str
    columns: tuple[str, ...]
    are_chosen: bool
    scores: Pair
    intervals: tuple[Interval, Interval]
    difference: float
    difference_interval: Interval
    n_folds: int
    leaks: tuple[str, ...]
    associations: tuple[AssociationDrift, ...]


@dataclass(frozen=True, kw_only=True)
class OutsideRow:
    """A row of the second table, its distance to the first in units of the limit, and its most unusual number."""

    row: int
    distance: float
    column: str
    deviations: float


@dataclass(frozen=True, kw_only=True)
class NewRows:
    """The rows of the second table that are farther from the first than 99 % of its own rows are from each other, and a map.

    Attributes
    ----------
    columns : tuple of str
        The columns of distances and map.
    limit : float
        The distance of standardised columns.
    n_rows : tuple of int
        The rows of both tables whose distances were computed.
    share, p_value : float
        The share of rows outside, and Fisher's exact p-value of it against the first table's own rows.
    rows : tuple of OutsideRow
        The farthest ones.
    points : tuple of tuple of float
        Coordinates of rows of both tables on the first two principal components of the first one.
    groups : tuple of int
        Of each point: 0 the first table, 1 the second, 3 the second and outside.
    explained : tuple of float
        The share of the variance of each component.
    """

    columns: tuple[str, ...]
    limit: float
    n_rows: tuple[int, int]
    share: float
    p_value: float
    rows: tuple[OutsideRow, ...]
    points: tuple[Pair, ...]
    groups: tuple[int, ...]
    explained: Pair


@dataclass(frozen=True, kw_only=True, repr=False)
class TableComparison(JsonResult, WrittenResult):
    """What differs between two tables, and whether what was chosen on the first is valid on the second.

    Attributes
    ----------
    first, second : ComparedTable
    columns : tuple of ColumnDrift
        The columns of both tables, the largest change first.
    only_first, only_second : tuple of str
        The columns of one table alone.
    other_kinds : dict of str to (str, str)
        Columns that are of another kind in the second table.
    not_compared : dict of str to str
        Columns of both tables, such as ids and free text, with the reason why they are not compared.
    set_aside : dict of str to str
        Columns that neither the model of the tables, nor the distances and the map use, with the reason.
    membership : Membership or None
        None with no column in common that changes, or with fewer than 4 rows in a table.
    target : TargetDrift or None
        None where the target is not in both tables.
    new_rows : NewRows or None
    sample : tuple of int
        The rows of each table that models, distances and the map use.
    repeated : tuple of (int, float)
        How many rows of the second table equal a row of the first in all columns that are compared, and the share of rows of the
        first that equal another one of it.
    warnings : tuple of Verdict
        The most severe first.
    seed : int
    tamiz : str
        The version.
    """

    first: ComparedTable
    second: ComparedTable
    columns: tuple[ColumnDrift, ...]
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    other_kinds: dict[str, tuple[str, str]]
    not_compared: dict[str, str]
    set_aside: dict[str, str]
    membership: Membership | None
    target: TargetDrift | None
    new_rows: NewRows | None
    sample: tuple[int, int]
    repeated: tuple[int, float]
    warnings: tuple[Verdict, ...]
    seed: int
    tamiz: str

    @property
    def changed(self) -> list[str]:
        """The columns that have changed, the largest change first; dates are none of them."""
        return [one.name for one in self.columns if one.change != "none"]

    def to_frame(self, library: str | None = None) -> Any:
        """Return a frame with one row for each column, the largest change first.

        Pairs are two columns, such as `missing_first` and `missing_second`.

        Parameters
        ----------
        library : {"pandas", "polars", "pyarrow"}, default=None
            The library of the frame; None is pandas, or pyarrow where pandas is not installed.

        Returns
        -------
        DataFrame or Table
        """
        found: dict[str, list[Any]] = {}
        plain = ["kind", "change", "psi", "expected_psi", "distance", "p_value", "adjusted", "missing_p_value"]
        for name in ["name", *plain, "n_new_levels", "n_lost_levels", "new_share", "power"]:
            found["column" if name == "name" else name] = [getattr(one, name) for one in self.columns]
        for name in ("missing", "mean", "deviation"):
            pairs = [getattr(one, name) or (None, None) for one in self.columns]
            found |= {f"{name}_{end}": [pair[k] for pair in pairs] for k, end in enumerate(("first", "second"))}
        return make_frame(found, library)

    def page(self) -> str:
        """Return the comparison as an HTML page without scripts and requests."""
        return render_page(self)

    def __repr__(self) -> str:
        return "\n".join(verdict_lines(self))

    def _repr_html_(self) -> str:
        return frame_page(self.page(), f"{self.first.name} and {self.second.name}")

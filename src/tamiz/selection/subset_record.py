"""What is read of a saved selection without scikit-learn: its columns, the course of its search, and its permutation null."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from tamiz.arrays import Floats
from tamiz.runtime.codec import JsonResult, Named, check_lengths

# With fewer permutations p cannot be 0.05.
MIN_PERMUTATIONS = 19


@dataclass(frozen=True, eq=False)
class PermutationNull(JsonResult):
    """The permutation null distribution of a search.

    Attributes
    ----------
    null_values : ndarray of shape (n_permutations,)
        The statistic of the best set for every shuffled target.
    observed : float
        The statistic of the best set for the original target.
    statistic : {"merit", "apparent score"}
        The name of the statistic.
    description : str
        How the target was shuffled, such as "shuffled among all rows".
    """

    json_properties: ClassVar[tuple[str, ...]] = ("median", "p_value")

    null_values: Floats
    observed: float
    statistic: str
    description: str

    @property
    def median(self) -> float:
        return float(np.median(self.null_values))

    @property
    def count_text(self) -> str:
        """How many searches on shuffled targets reach the observed value."""
        n, reached = len(self.null_values), self._n_reached
        searches = f"{n:,} search{'es' * (n > 1)} on targets {self.description}"
        return f"{reached:,} of {searches} reach{'es' * (reached == 1)} the {self.statistic} {self.observed:.3g}"

    @property
    def _n_reached(self) -> int:
        return int(np.sum(self.null_values >= self.observed))

    @property
    def p_value(self) -> float:
        """(1 + number of null values >= observed) / (1 + n_permutations): the original target counts as one permutation.

        Phipson and Smyth (2010), Permutation p-values should never be zero, Statistical Applications in Genetics and Molecular
        Biology 9.
        """
        return (1 + self._n_reached) / (1 + len(self.null_values))

    @property
    def explained_by_chance(self) -> bool | None:
        """Whether p is above 0.05; None if there are too few permutations for a smaller p."""
        return self.p_value > 0.05 if len(self.null_values) >= MIN_PERMUTATIONS else None

    @property
    def sentence(self) -> str:
        """How the null values compare with the observed one, in a sentence."""
        if self._n_reached:
            return f"{self.count_text}."
        return (
            f"{self.count_text} (at most {self.null_values.max():.3g}), but too few select any column, or their values vary too "
            "much, to exclude chance."
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchStep:
    """A subset that was better than all before it; evaluations count from 1."""

    evaluation: int
    merit: float
    columns: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class SetPoints:
    """Evaluated subsets for the chart: their sizes and merits."""

    sizes: tuple[int, ...]
    merits: tuple[float, ...]

    def __post_init__(self) -> None:
        check_lengths(sizes=self.sizes, merits=self.merits)


@dataclass(frozen=True, kw_only=True, slots=True)
class BestOfSize:
    """The best subset of a size, with its first columns."""

    size: int
    merit: float
    columns: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class SimilarColumn:
    """A selected column, and its symmetric uncertainty with another one."""

    name: str
    uncertainty: float


@dataclass(frozen=True, kw_only=True, slots=True)
class ColumnReason:
    """Why a column is in the subset or out of it.

    `same_as` is the equivalent column that was searched in its place, and `group` the columns that are selected together with it.
    `alternative_merit` and `alternative_size` are those of the subset with this column and its group flipped. `relevance` is the
    symmetric uncertainty with the target, and `similar` the selected columns that are most similar.
    """

    name: str
    chosen: bool
    role: Literal["fixed", "excluded"] | None = None
    same_as: str | None = None
    group: tuple[str, ...] = ()
    alternative_merit: float | None = None
    alternative_size: int
    relevance: float | None = None
    similar: tuple[SimilarColumn, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Lattice:
    """The merits of all subsets of a few columns, by the number whose bit k is set if column k is in; `best` is such a number."""

    columns: tuple[str, ...]
    merits: tuple[float, ...]
    best: int

    def __post_init__(self) -> None:
        check_lengths(subsets=2 ** min(len(self.columns), 62), merits=self.merits)
        if not 0 <= self.best < len(self.merits):
            raise ValueError(f"the best of {len(self.merits):,} subsets is number {self.best:,}")


@dataclass(frozen=True, kw_only=True, slots=True)
class SubsetRecord(JsonResult):
    """The subset: its columns and merit, the course of the search, merits by size, and the reason for each column.

    `scoring_note` is how a merit of a model was computed, and `sizes` the smallest and the largest requested size. `n_recorded` of
    `n_evaluations` subsets were recorded. `bound` is that of an exact search on the merit of any permitted subset. `notes` are
    sentences on the subset.
    """

    merit: Named
    scoring_note: str
    search: Named
    sizes: tuple[int, int] | None
    min_gain: float
    columns: tuple[str, ...]
    value: float
    n_evaluations: int
    n_recorded: int
    bound: float | None = None
    stopped: str | None
    course: tuple[SearchStep, ...]
    points: SetPoints
    frontier: tuple[BestOfSize, ...]
    reasons: tuple[ColumnReason, ...] = ()
    lattice: Lattice | None = None
    notes: tuple[str, ...] = ()

    json_properties: ClassVar[tuple[str, ...]] = ("proven",)

    @property
    def proven(self) -> bool:
        """Whether the search has proven that no permitted subset has a higher merit."""
        return self.bound is not None and self.bound <= self.value

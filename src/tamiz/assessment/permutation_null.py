"""What a search finds where there is nothing to find: the same table with the target shuffled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.sources.base import Source
from tamiz.sources.views import select_columns, select_rows, target_array
from tamiz.statistics.base import Floats

RowIndices = NDArray[np.intp]
Target = NDArray[Any]

# Values of a table up to which many shuffles are searched; of a larger one as many as p = 0.05 needs.
_SMALL_TABLE_VALUES, _DEFAULT_PERMUTATIONS, _MIN_PERMUTATIONS = 200_000, 99, 19


@dataclass(frozen=True)
class PermutationNull:
    """The best that the search found for shuffled targets.

    Attributes
    ----------
    null_values : ndarray of shape (n_permutations,)
    observed : float
        The best that it found for the target as it is.
    statistic : {"merit", "optimistic score"}
        What these are.
    description : str
        What was done to the target, in words that follow "the target": "shuffled among all rows".
    """

    null_values: Floats
    observed: float
    statistic: str
    description: str

    @property
    def median(self) -> float:
        """What such a search finds where there is nothing."""
        return float(np.median(self.null_values))

    @property
    def p_value(self) -> float:
        """(1 + shuffled targets that did as well) / (1 + all): the target as it is counts as one of them.

        Phipson and Smyth (2010), Permutation p-values should never be zero, Statistical Applications in Genetics and Molecular
        Biology 9.
        """
        return (1 + int(np.sum(self.null_values >= self.observed))) / (1 + len(self.null_values))

    @property
    def explained_by_chance(self) -> bool | None:
        """Whether p is above 0.05; None where so few targets were shuffled that it could not be below."""
        return self.p_value > 0.05 if len(self.null_values) >= _MIN_PERMUTATIONS else None

    def to_dict(self) -> dict[str, Any]:
        """Return the null as JSON knows it."""
        return {
            "statistic": self.statistic,
            "observed": self.observed,
            "median": self.median,
            "p_value": self.p_value,
            "merits": self.null_values.tolist(),
            "how": self.description,
        }


@dataclass(frozen=True)
class TargetShuffle:
    """A way to exchange the values of the target that would change nothing if no column had to do with it.

    Attributes
    ----------
    description : str
        In words.
    draw : callable
        draw(rng) -> the target's values in another order.
    """

    description: str
    draw: Callable[[np.random.Generator], Target]


def default_n_permutations(source: Source) -> int:
    """Return how many shuffled targets are searched where nobody said: by the size of the table alone."""
    return (
        _DEFAULT_PERMUTATIONS
        if source.schema.n_rows * len(source.schema.used) <= _SMALL_TABLE_VALUES
        else _MIN_PERMUTATIONS
    )


def target_shuffle(source: Source, rows: RowIndices | None = None) -> TargetShuffle:
    """Return how the target of a table may be shuffled, among some rows where others are in no fold: these keep their values.

    Rows of a group are alike, and so are rows that follow each other in time: exchanged freely, they would lose what they have in
    common, and any column that has it too would look remarkable. Where more than half of the target's variation lies between
    groups, the groups exchange their values as wholes; otherwise rows exchange within their group: the exchangeability blocks of
    Winkler, Ridgway, Webster, Smith and Nichols (2014), Permutation inference for the general linear model, NeuroImage 92. In
    time, the target's whole course is moved on by a number of rows drawn, its end to the beginning: Lancaster, Iatsenko, Pidde,
    Ticcinelli and Stefanovska (2018), Surrogate data for hypothesis testing of physical systems, Physics Reports 748.
    """
    y = target_array(source)
    if rows is not None and len(rows) < len(y):
        return _shuffle_subset(target_shuffle(select_rows(select_columns(source, []), rows)), y, rows)
    if source.time is not None:
        return _shift_in_time(y, np.argsort(source.time, kind="stable"))
    if source.groups is None:
        return TargetShuffle("shuffled among all rows", lambda rng: rng.permutation(y))
    order = np.argsort(source.groups, kind="stable")
    members = np.split(order, np.flatnonzero(np.diff(source.groups[order])) + 1)
    if _between_group_share(y, members, has_classes=source.schema.has_classes) > 0.5:
        return _shuffle_groups(y, members)

    def within(rng: np.random.Generator) -> Target:
        shuffled = y.copy()
        for rows in members:
            shuffled[rows] = rng.permutation(y[rows])
        return shuffled

    return TargetShuffle("shuffled within groups", within)


def _shuffle_subset(shuffle: TargetShuffle, y: Target, rows: RowIndices) -> TargetShuffle:
    """Return the way of some rows as one of all rows."""

    def draw(rng: np.random.Generator) -> Target:
        shuffled = y.copy()
        shuffled[rows] = shuffle.draw(rng)
        return shuffled

    return TargetShuffle(shuffle.description, draw)


def _between_group_share(y: Target, members: list[RowIndices], *, has_classes: bool) -> float:
    """Return the share of the target's variation that lies between groups: of its variance, or of the Gini index of its classes."""

    def varies(values: Target) -> float:
        if has_classes:
            return len(values) - float((np.bincount(values) ** 2.0).sum()) / len(values)
        return float(((values - values.mean()) ** 2).sum())

    return 1 - sum(varies(y[rows]) for rows in members) / varies(y)


def _shuffle_groups(y: Target, members: list[RowIndices]) -> TargetShuffle:
    # A group of another size takes the course of values stretched or thinned to its own. Of 400 tables of noise in which groups
    # differ in columns and target, at most 7 % have p = 0.05 so, whether sizes are equal, spread or one group is most of the table;
    # where the courses are laid end to end, over the borders of groups, 14 to 39 % of those with groups of unequal size have.
    def exchanged(rng: np.random.Generator) -> Target:
        shuffled = np.empty_like(y)
        for rows, giver in zip(members, rng.permutation(len(members)).tolist(), strict=True):
            given = members[giver]
            shuffled[rows] = y[given[(2 * np.arange(len(rows)) + 1) * len(given) // (2 * len(rows))]]
        return shuffled

    def draw(rng: np.random.Generator) -> Target:
        shuffled = exchanged(rng)
        # What little differs within groups may have been thinned away, and of a constant target nothing can be learned.
        while (shuffled == shuffled[0]).all():
            shuffled = exchanged(rng)
        return shuffled

    return TargetShuffle("exchanged among whole groups", draw)


def _shift_in_time(y: Target, order: NDArray[np.intp]) -> TargetShuffle:
    # Of 120 tables of 300 rows of noise with a memory (autoregressive, 0.5 to 0.97), 5 to 6 % have p = 0.05 so; where blocks of
    # sqrt(n) rows are exchanged, 8 to 47 %, and where single rows are, all.
    course = y[order]

    def draw(rng: np.random.Generator) -> Target:
        shuffled = np.empty_like(y)
        shuffled[order] = np.roll(course, int(rng.integers(1, len(y))))
        return shuffled

    return TargetShuffle("moved on in time", draw)

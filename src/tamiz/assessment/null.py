"""What a search finds where there is nothing to find: the same table with the target shuffled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.sources.base import Source
from tamiz.sources.views import columns_of, rows_of, target_of
from tamiz.statistics.base import Floats

Rows = NDArray[np.intp]
Target = NDArray[Any]

# Values of a table up to which many shuffles are searched; of a larger one as many as p = 0.05 needs.
_SMALL, _MANY, _FEWEST = 200_000, 99, 19


@dataclass(frozen=True)
class Null:
    """The best that the search found for shuffled targets.

    Attributes
    ----------
    merits : ndarray of shape (n_permutations,)
    observed : float
        The best that it found for the target as it is.
    statistic : {"merit", "optimistic score"}
        What these are.
    how : str
        What was done to the target, in words that follow "the target": "shuffled among all rows".
    """

    merits: Floats
    observed: float
    statistic: str
    how: str

    @property
    def median(self) -> float:
        """What such a search finds where there is nothing."""
        return float(np.median(self.merits))

    @property
    def p_value(self) -> float:
        """(1 + shuffled targets that did as well) / (1 + all): the target as it is counts as one of them.

        Phipson and Smyth (2010), Permutation p-values should never be zero, Statistical Applications in Genetics and Molecular
        Biology 9.
        """
        return (1 + int(np.sum(self.merits >= self.observed))) / (1 + len(self.merits))

    @property
    def by_luck(self) -> bool | None:
        """Whether p is above 0.05; None where so few targets were shuffled that it could not be below."""
        return self.p_value > 0.05 if len(self.merits) >= _FEWEST else None

    def to_dict(self) -> dict[str, Any]:
        """Return the null as JSON knows it."""
        return {
            "statistic": self.statistic,
            "observed": self.observed,
            "median": self.median,
            "p_value": self.p_value,
            "merits": self.merits.tolist(),
            "how": self.how,
        }


@dataclass(frozen=True)
class Shuffling:
    """A way to exchange the values of the target that would change nothing if no column had to do with it.

    Attributes
    ----------
    how : str
        In words.
    draw : callable
        draw(rng) -> the target's values in another order.
    """

    how: str
    draw: Callable[[np.random.Generator], Target]


def usual_number(source: Source) -> int:
    """Return how many shuffled targets are searched where nobody said: by the size of the table alone."""
    return _MANY if source.schema.n_rows * len(source.schema.used) <= _SMALL else _FEWEST


def shuffling(source: Source, rows: Rows | None = None) -> Shuffling:
    """Return how the target of a table may be shuffled, among some rows where others are in no fold: these keep their values.

    Rows of a group are alike, and so are rows that follow each other in time: exchanged freely, they would lose what they have in
    common, and any column that has it too would look remarkable. Where more than half of the target's variation lies between
    groups, the groups exchange their values as wholes; otherwise rows exchange within their group: the exchangeability blocks of
    Winkler, Ridgway, Webster, Smith and Nichols (2014), Permutation inference for the general linear model, NeuroImage 92. In
    time, the target's whole course is moved on by a number of rows drawn, its end to the beginning: Lancaster, Iatsenko, Pidde,
    Ticcinelli and Stefanovska (2018), Surrogate data for hypothesis testing of physical systems, Physics Reports 748.
    """
    y = target_of(source)
    if rows is not None and len(rows) < len(y):
        return _among(shuffling(rows_of(columns_of(source, []), rows)), y, rows)
    if source.time is not None:
        return _shifted(y, np.argsort(source.time, kind="stable"))
    if source.groups is None:
        return Shuffling("shuffled among all rows", lambda rng: rng.permutation(y))
    order = np.argsort(source.groups, kind="stable")
    members = np.split(order, np.flatnonzero(np.diff(source.groups[order])) + 1)
    if _share_between(y, members, has_classes=source.schema.has_classes) > 0.5:
        return _wholes(y, members)

    def within(rng: np.random.Generator) -> Target:
        shuffled = y.copy()
        for rows in members:
            shuffled[rows] = rng.permutation(y[rows])
        return shuffled

    return Shuffling("shuffled within groups", within)


def _among(way: Shuffling, y: Target, rows: Rows) -> Shuffling:
    """Return the way of some rows as one of all rows."""

    def draw(rng: np.random.Generator) -> Target:
        shuffled = y.copy()
        shuffled[rows] = way.draw(rng)
        return shuffled

    return Shuffling(way.how, draw)


def _share_between(y: Target, members: list[Rows], *, has_classes: bool) -> float:
    """Return the share of the target's variation that lies between groups: of its variance, or of the Gini index of its classes."""

    def varies(values: Target) -> float:
        if has_classes:
            return len(values) - float((np.bincount(values) ** 2.0).sum()) / len(values)
        return float(((values - values.mean()) ** 2).sum())

    return 1 - sum(varies(y[rows]) for rows in members) / varies(y)


def _wholes(y: Target, members: list[Rows]) -> Shuffling:
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

    return Shuffling("exchanged among whole groups", draw)


def _shifted(y: Target, order: NDArray[np.intp]) -> Shuffling:
    # Of 120 tables of 300 rows of noise with a memory (autoregressive, 0.5 to 0.97), 5 to 6 % have p = 0.05 so; where blocks of
    # sqrt(n) rows are exchanged, 8 to 47 %, and where single rows are, all.
    course = y[order]

    def draw(rng: np.random.Generator) -> Target:
        shuffled = np.empty_like(y)
        shuffled[order] = np.roll(course, int(rng.integers(1, len(y))))
        return shuffled

    return Shuffling("moved on in time", draw)

"""Semi-synthetic targets: the values of the real target, reassigned to the rows by a score of known columns plus noise.

`SyntheticTargets` makes them, and `TrueColumns` draws the known columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats, Indices, Masks, is_missing
from tamiz.criteria.discretization import EqualFrequency
from tamiz.criteria.entropies import SymmetricUncertainty
from tamiz.exceptions import DataError
from tamiz.table.base import Table
from tamiz.table.views import select_columns, target_array, weight_array, without_target

# A column is a proxy of another from this association on.
PROXY_ASSOCIATION = 0.9


class SyntheticTargets:
    r"""Targets of one table that are computed from known columns.

    The latent variable of a row is

    .. math:: u = \sqrt{\rho}\, s + \sqrt{1 - \rho}\, e, \qquad s \propto \sum_{j \in T} \pm z_j

    with the true columns T, standard normal noise e, and a share of explained variance :math:`\rho`. s has mean 0 and variance 1.
    :math:`z_j` is a number, or a random normal effect of each level of a category, with mean 0 and variance 1 over the rows; it is
    0 where the value is missing. The sorted values of the real target are assigned to the rows in the order of u, ties at random;
    classes are sorted in a random order. So the distribution of the target remains, and without signal the target is a shuffled
    one. If the real target is constant in every group, so is u, and values are assigned to groups.

    Parameters
    ----------
    table : Table
        A table with a target.
    """

    def __init__(self, table: Table) -> None:
        self.table = table
        schema = table.schema
        self._y = target_array(table)
        weight = weight_array(table)
        self._weight = np.full(schema.n_rows, 1 / schema.n_rows) if weight is None else weight / weight.sum()
        self.usable = _varying_columns(table)
        if not len(self.usable):
            raise DataError("Every column is constant or excluded, so no target can be computed from a column.")
        # The unit of every row that has one value of the target: its group, or the row itself.
        self._unit = self._find_units()
        self._unit_weight = np.bincount(self._unit, self._weight).astype(np.float64)
        self._unit_y = np.empty(len(self._unit_weight), dtype=self._y.dtype)
        self._unit_y[self._unit] = self._y

    @property
    def by_group(self) -> bool:
        return len(self._unit_y) < len(self._y)

    def _find_units(self) -> Indices:
        groups, itself = self.table.groups, np.arange(len(self._y))
        if groups is None:
            return itself
        _, first, unit = np.unique(groups, return_index=True, return_inverse=True)
        constant = len(first) > 1 and (self._y == self._y[first][unit]).all()
        return unit if constant else itself

    def draw_columns(self, n: int, rng: np.random.Generator) -> Indices:
        """Return n columns, drawn at random and ascending, none a proxy of another; fewer if there are no more."""
        order = rng.permutation(self.usable)
        drawn, done = order[:0], 0
        while len(drawn) < n and done < len(order):
            pool = np.concatenate([drawn, order[done : done + n - len(drawn)]])
            done += len(pool) - len(drawn)
            proxies = self.proxies(pool, pool)
            kept: list[int] = []
            for k in range(len(pool)):
                if not proxies[k, kept].any():
                    kept.append(k)
            drawn = pool[kept]
        return np.sort(drawn)

    def draw_target(self, columns: Indices, signal: float, rng: np.random.Generator) -> NDArray[Any]:
        """Return a target of which some columns explain the share `signal` of the variance of the latent variable."""
        score = np.bincount(self._unit, self._weight * self._draw_score(columns, rng)) / self._unit_weight
        score = _standardize(score, self._unit_weight)
        latent = np.sqrt(signal) * score + np.sqrt(1 - signal) * rng.standard_normal(len(score))
        values = np.sort(self._unit_y)
        if self.table.schema.has_classes:
            order = rng.permutation(self.table.schema.n_classes)
            values = self._unit_y[np.argsort(order[self._unit_y], kind="stable")]
        drawn = np.empty_like(values)
        drawn[np.lexsort((rng.random(len(latent)), latent))] = values
        return drawn[self._unit]

    def _draw_score(self, columns: Indices, rng: np.random.Generator) -> Floats:
        """Return the sum of the effects of some columns with random signs."""
        effects = np.empty((len(self._y), len(columns)))
        for k, values in enumerate(self._read(columns)):
            effects[:, k] = self._effect(values, int(columns[k]), rng)
        # Effects of opposite signs may cancel, as those of two copies do. The variance of their sum is the number of columns in the
        # mean over all signs, so half of it is reached soon.
        while True:
            score: Floats = effects @ rng.choice([-1.0, 1.0], len(columns))
            if self._weight @ (score - self._weight @ score) ** 2 >= 0.5 * len(columns):
                return score

    def _effect(self, values: NDArray[Any], column: int, rng: np.random.Generator) -> Floats:
        if self.table.schema.columns[column].is_number:
            return _standardize(values, self._weight)
        # The last effect is that of a missing level, whose code is negative.
        effects = np.append(rng.standard_normal(len(self.table.schema.columns[column].levels)), np.nan)
        return _standardize(effects[values], self._weight)

    def proxies(self, a: Indices, b: Indices) -> Masks:
        """Return which columns of a are proxies of which columns of b, of shape (len(a), len(b)).

        Two numbers are if the absolute value of their correlation is at least 0.9; a missing value is the mean. Two other columns
        are if their symmetric uncertainty is at least 0.9, with numbers in up to ten intervals of equal frequency.
        """
        schema = self.table.schema
        is_number = np.array([column.is_number for column in schema.columns])
        associations = np.zeros((len(a), len(b)))
        both = is_number[a][:, None] & is_number[b]
        if both.any():
            first, second = (self._standardized(part[is_number[part]]) for part in (a, b))
            associations[both] = np.abs((first * self._weight[:, None]).T @ second).ravel()
        if not both.all():
            i, j = np.nonzero(~both)
            view = select_columns(without_target(self.table), np.union1d(a, b).tolist())
            measure = SymmetricUncertainty(discretization=EqualFrequency(10))
            associations[i, j] = measure.pairwise(view.reduce, view.schema).associations(a[i], b[j])
        return associations >= PROXY_ASSOCIATION

    def _standardized(self, columns: Indices) -> Floats:
        return np.column_stack([_standardize(values, self._weight) for values in self._read(columns)])

    def _read(self, columns: Indices) -> list[NDArray[Any]]:
        return [self.table.column(j) for j in columns.tolist()]


class TrueColumns:
    """The true columns of the draws: a fixed set, or as many columns drawn at random.

    Parameters
    ----------
    targets : SyntheticTargets
    support : ndarray of shape (n_columns,), bool, or None
        The columns selected for the real target.
    n_true : int or None
        The number of columns to draw; None is that of `support`, at least 1.
    fixed : bool
        Whether the columns of `support` that vary are the true ones of every draw.
    """

    def __init__(self, targets: SyntheticTargets, support: Masks | None, n_true: int | None, *, fixed: bool) -> None:
        self.fixed = fixed
        self._targets = targets
        selected = np.empty(0, dtype=np.intp) if support is None else np.flatnonzero(support)
        self._selected = np.intersect1d(selected, targets.usable)
        if fixed and not len(self._selected):
            raise DataError(
                "No column that varies is selected for the real target, so none can be true: use truth='random'."
            )
        self.n_columns = len(self._selected) if fixed else n_true if n_true is not None else max(1, len(self._selected))

    def draw(self, rng: np.random.Generator) -> Indices:
        """Return the numbers of the true columns of one draw, ascending."""
        return self._selected if self.fixed else self._targets.draw_columns(self.n_columns, rng)


def _standardize(values: NDArray[Any], weight: Floats) -> Floats:
    """Return values with mean 0 and variance 1, and 0 where they are missing; weights have the sum 1."""
    values = np.asarray(values, dtype=np.float64)
    present = ~np.isnan(values)
    # Scaled first, so that squares do not overflow.
    scaled = np.where(present, values, 0.0) / (np.abs(values[present]).max(initial=0.0) or 1.0)
    centred = np.where(present, scaled - weight @ scaled / max(float(weight @ present), 1e-300), 0.0)
    variance = float(weight @ centred**2)
    return centred / np.sqrt(variance) if variance > 0 else centred


def _varying_columns(table: Table) -> Indices:
    columns = table.schema.used
    varies = []
    for j in columns.tolist():
        values = table.column(j)
        present = values[~is_missing(values)]
        varies.append(len(present) > 0 and present.min() < present.max())
    return columns[np.array(varies, dtype=bool)]

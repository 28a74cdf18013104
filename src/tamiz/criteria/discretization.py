"""Discretization of numeric columns, for criteria that are computed from entropies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np

from tamiz.arrays import Floats
from tamiz.criteria.base import GatherFunction, StatisticsCache
from tamiz.exceptions import DataError
from tamiz.statistics.base import Statistic
from tamiz.statistics.contingency import Coding
from tamiz.statistics.cuts import MDL, CutPoints, Discretization, EqualFrequency, EqualWidth
from tamiz.table.base import Table
from tamiz.table.factory import as_table
from tamiz.table.in_memory import is_frame
from tamiz.table.schema import Schema

__all__ = ["MDL", "ColumnCoder", "Discretization", "EqualFrequency", "EqualWidth", "cut_points"]


class ColumnCoder:
    """Integer codes of all used columns, and of the target, with one rule for numeric columns.

    A numeric target is cut by the same rule, which must then be one that needs no classes.
    """

    def __init__(self, rule: Discretization, schema: Schema, *, with_target: bool, caller: str) -> None:
        if not isinstance(rule, Discretization):
            raise TypeError(f"{caller}: discretization must be one such as MDL() or EqualFrequency(10), got {rule!r}.")
        self._schema = schema
        self._with_target = with_target and schema.target is not None
        numbers = schema.numeric
        if self._with_target and not schema.has_classes:
            numbers = (*numbers, schema.n_columns)
        if rule.needs_classes and numbers and not schema.has_classes:
            problem = "there is no target" if schema.target is None else f"the target {schema.target.name!r} is numeric"
            raise DataError(
                f"{caller} cuts numeric columns by {type(rule).__name__}, which needs a target with classes, but {problem}. Pass "
                "discretization=EqualFrequency(10), or kinds={'<target>': 'categorical'}."
            )
        self._cuts = CutPoints(numbers, rule, schema.n_classes)

    def requires(self, cache: StatisticsCache) -> Sequence[Statistic]:
        """Return the cut points, where they are required and not in the cache."""
        return cache.pending([self._cuts]) if self._cuts.columns else ()

    def gather_coding(self, gather: GatherFunction) -> Coding:
        """Return the coding, after gathering the cut points."""
        cache = StatisticsCache()
        while wanted := self.requires(cache):
            cache.add(gather(*wanted))
        return self.coding(cache)

    def coding(self, cache: StatisticsCache) -> Coding:
        """Return the coding, once the cut points are in the cache."""
        schema = self._schema
        edges = cache[self._cuts].edges if self._cuts.columns else {}
        sizes = dict(schema.n_levels)
        if self._with_target:
            sizes[schema.n_columns] = schema.n_classes
        sizes.update((column, len(cuts) + 1) for column, cuts in edges.items())
        return Coding(sizes, edges)


def cut_points(
    X: Any, y: Any = None, *, discretization: Discretization | None = None, sample_weight: Any = None
) -> dict[str, Floats]:
    """Return the points at which a discretization cuts each numeric column.

    Parameters
    ----------
    X : array of shape (n_samples, n_columns) or (n_samples,), Series, data frame or Table
        A one-dimensional array or a Series is one column.
    y : array-like of shape (n_samples,), default=None
        Classes; MDL needs them.
    discretization : MDL, EqualFrequency or EqualWidth, default=None
        None is MDL().
    sample_weight : array-like of shape (n_samples,), default=None
        A weight of 2 counts as the row twice.

    Returns
    -------
    dict of str to ndarray
        The ascending cut points of each numeric column by name, in the unit of the column; empty where the column is not cut. A
        value that equals a cut point belongs to the interval below it. The columns of an array are x0, x1, ...

    Raises
    ------
    DataError
        When the discretization is MDL and there are no classes, or when the table cannot be used.

    Notes
    -----
    Cost O(n log n) for each column. Missing values are ignored. Categorical columns are not in the dict.

    References
    ----------
    Fayyad and Irani (1993), Multi-interval discretization of continuous-valued attributes, IJCAI.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz.criteria import EqualWidth, cut_points
    >>> iris = load_iris(as_frame=True)
    >>> cut_points(iris.data, iris.target)["petal width (cm)"]
    array([0.8 , 1.75])
    >>> cut_points([1.0, 2.0, 3.0, 5.0], discretization=EqualWidth(2))
    {'x0': array([3.])}
    """
    table = as_table(X if isinstance(X, Table) or is_frame(X) else _with_columns(X), y, sample_weight)
    rule = MDL() if discretization is None else discretization
    # The constructor checks the rule, and that there are classes where it needs them.
    ColumnCoder(rule, table.schema, with_target=False, caller="cut_points")
    cuts = CutPoints(table.schema.numeric, rule, table.schema.n_classes)
    edges = table.reduce(cuts)[0].edges if cuts.columns else {}
    return {table.schema.columns[j].name: values for j, values in edges.items()}


def _with_columns(X: Any) -> Any:
    """Return a single column as a table with one column, anything else unchanged."""
    series = nw.from_native(X, pass_through=True, allow_series=True)
    if isinstance(series, nw.Series):
        named = series if series.name not in (None, "") else series.rename("x0")
        return named.to_frame().to_native()
    values = np.asarray(X)
    return values[:, None] if values.ndim == 1 else X

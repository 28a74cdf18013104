"""From numbers to codes, for the criteria of the entropy family."""

from __future__ import annotations

from collections.abc import Sequence

from tamiz.criteria.base import Known
from tamiz.exceptions import DataError
from tamiz.sources.schema import Schema
from tamiz.statistics.base import Statistic
from tamiz.statistics.coding import Coding
from tamiz.statistics.cuts import MDL, CutPoints, Discretization, EqualFrequency, EqualWidth

__all__ = ["MDL", "Coder", "Discretization", "EqualFrequency", "EqualWidth"]


class Coder:
    """Codes for all columns that take part, and the target, under one rule for numbers.

    A numeric target is cut as well, by the same rule, which must then be one that needs no classes.
    """

    def __init__(self, rule: Discretization, schema: Schema, *, with_target: bool, owner: str) -> None:
        if not isinstance(rule, Discretization):
            raise TypeError(f"{owner} takes a discretization such as MDL() or EqualFrequency(10), got {rule!r}.")
        self._schema = schema
        self._with_target = with_target and schema.target is not None
        numbers = schema.numeric
        if self._with_target and not schema.has_classes:
            numbers = (*numbers, schema.n_columns)
        if rule.needs_classes and numbers and not schema.has_classes:
            what = "has none" if schema.target is None else f"{schema.target.name!r} is a number"
            raise DataError(
                f"{owner} cuts numeric columns by {type(rule).__name__}, which needs a target of classes, and the target "
                f"{what}. Pass discretization=EqualFrequency(10), or say kinds={{'<target>': 'categorical'}}."
            )
        self._cuts = CutPoints(numbers, rule, schema.n_classes)

    def requires(self, known: Known) -> Sequence[Statistic]:
        """Return the cut points, where they are not known."""
        return known.lacking([self._cuts]) if self._cuts.columns else ()

    def coding(self, known: Known) -> Coding:
        """Return the coding, when nothing more is required."""
        schema = self._schema
        edges = known[self._cuts].edges if self._cuts.columns else {}
        sizes = dict(schema.level_sizes)
        if self._with_target:
            sizes[schema.n_columns] = schema.n_classes
        sizes.update((column, len(cuts) + 1) for column, cuts in edges.items())
        return Coding(sizes, edges)

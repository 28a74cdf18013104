"""Search for a rule: the conjunction of a few conditions on columns that agrees best with a given set of rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import floor, inf
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats, Indices, Masks, is_missing
from tamiz.reduction.description import RuleCondition
from tamiz.table.schema import Column

Mask = Masks

# The F1 score that every value of a rule (a threshold, a level, "missing") must add.
MIN_GAIN = 0.02
_BEAM_WIDTH = 6
_MAX_LEVELS = 3
# Numeric columns of more distinct values are cut at so many quantiles of all rows, and of the rows to describe.
_N_QUANTILES = 64
# F1 scores that differ by less are equal.
_ROUNDING = 1e-12
_DATE_UNITS = ("Y", "M", "D", "h", "m", "s")


@dataclass(frozen=True)
class Condition:
    """A condition on the values of a column as a table stores them.

    Attributes
    ----------
    column : int
        The position of the column among those of the search.
    low, high : float
        A number fulfils the condition if low < number <= high, or if it equals both.
    levels : tuple of int
        The codes that fulfil the condition; empty for a number.
    missing : bool
        Whether only missing values fulfil the condition.
    """

    column: int
    low: float = -inf
    high: float = inf
    levels: tuple[int, ...] = ()
    missing: bool = False

    def select(self, values: NDArray[Any]) -> Mask:
        if self.missing:
            return is_missing(values)
        if self.levels:
            return np.isin(values, self.levels)
        if self.low == self.high:
            return np.asarray(values == self.low)
        return np.asarray((values > self.low) & (values <= self.high))

    def describe(self, column: Column) -> RuleCondition:
        name = column.name
        if self.missing:
            return RuleCondition(column=name, kind="missing", text=f"{name} is missing")
        if self.levels:
            levels = tuple(column.levels[code] for code in self.levels)
            listed = " or ".join(filter(None, [", ".join(levels[:-1]), levels[-1]]))
            kind: Literal["equals", "one of"] = "equals" if len(levels) == 1 else "one of"
            return RuleCondition(column=name, kind=kind, levels=levels, text=f"{name} = {listed}")
        written = partial(_threshold_text, is_date=column.kind == "date")
        if self.high == inf:
            return RuleCondition(
                column=name, kind="above", thresholds=(self.low,), text=f"{name} > {written(self.low)}"
            )
        high = written(self.high)
        if self.low == -inf:
            return RuleCondition(column=name, kind="below", thresholds=(self.high,), text=f"{name} ≤ {high}")
        if self.low == self.high:
            return RuleCondition(column=name, kind="equals", thresholds=(self.low,), text=f"{name} = {high}")
        both, text = (self.low, self.high), f"{written(self.low)} < {name} ≤ {high}"
        return RuleCondition(column=name, kind="between", thresholds=both, text=text)


def select_rows_of_rule(conditions: Sequence[Condition], columns: Sequence[NDArray[Any]], n_rows: int) -> Mask:
    selected = np.ones(n_rows, dtype=bool)
    for condition in conditions:
        selected &= condition.select(columns[condition.column])
    return selected


@dataclass(frozen=True)
class _Extension:
    """A condition that may be added to a rule: the bins of a column that it accepts, and the F1 score of the longer rule."""

    f1: float
    n_values: int
    column: int
    bins: range | tuple[int, ...]

    def select(self, bins: Indices) -> Mask:
        if isinstance(self.bins, range):
            return (bins >= self.bins.start) & (bins < self.bins.stop)
        return np.isin(bins, self.bins)


@dataclass(frozen=True)
class _Rule:
    """A rule during the search and the rows that fulfil it. `score` is its F1 score less MIN_GAIN for each of its values."""

    score: float
    n_values: int
    parts: tuple[_Extension, ...]
    rows: Mask


class RuleSearch:
    """Beam search for rules on some columns.

    Numbers are binned between thresholds, and categories by level; missing values have a bin of their own. For every rule of the
    beam, one pass over its rows counts the weights in all bins of all columns, and the best condition of each kind is derived from
    the counts.

    Parameters
    ----------
    columns : sequence of ndarray of shape (n_rows,)
        The values as a table stores them.
    schema_columns : sequence of Column
    weight : ndarray of shape (n_rows,)
    """

    def __init__(self, columns: Sequence[NDArray[Any]], schema_columns: Sequence[Column], weight: Floats) -> None:
        self._columns, self._schema, self._weight = columns, schema_columns, weight
        self._numbers = {j: _SortedNumbers(columns[j]) for j, column in enumerate(schema_columns) if column.is_number}

    def find_rule(self, inside: Mask, max_conditions: int) -> tuple[Condition, ...]:
        """Return the conditions of the rule with the best score for some rows; none if no rule is better than all rows.

        Of equal rules, the one with fewer conditions and earlier columns is returned.
        """
        cuts = {j: numbers.choose_cuts(inside) for j, numbers in self._numbers.items()}
        bins = self._bin_columns(cuts)
        inner = np.where(inside, self._weight, 0.0)
        total = float(inner.sum())
        best = _Rule(_f1(total, float(self._weight.sum()), total), 0, (), np.ones(len(inside), dtype=bool))
        beam = [best]
        for depth in range(1, max_conditions + 1):
            # No rule of this number of conditions has a larger score.
            if best.score >= 1 - MIN_GAIN * depth:
                break
            extended = [(rule, one) for rule in beam for one in self._extensions(rule, bins, inner, total)]
            beam = _select_beam(extended, bins)
            if not beam:
                break
            if beam[0].score > best.score + _ROUNDING:
                best = beam[0]
        return tuple(self._condition(part, cuts, bins) for part in best.parts)

    def _bin_columns(self, cuts: Mapping[int, Indices]) -> _Bins:
        sizes = [len(cuts[j]) + 1 if j in cuts else len(column.levels) for j, column in enumerate(self._schema)]
        missing_bin = max(sizes)
        of_rows = [
            self._numbers[j].bin_rows(cuts[j], missing_bin)
            if j in cuts
            else np.where(codes < 0, missing_bin, codes.astype(np.intp))
            for j, codes in enumerate(self._columns)
        ]
        return _Bins(np.array(of_rows), np.array(sizes), missing_bin, np.array(sorted(cuts), dtype=np.intp))

    def _extensions(self, rule: _Rule, bins: _Bins, inner: Floats, total: float) -> Iterator[_Extension]:
        """Yield the best condition of each kind on every column that the rule does not have."""
        covered = bins.count(np.flatnonzero(rule.rows), self._weight)
        hits = bins.count(np.flatnonzero(rule.rows & (inner > 0)), inner)
        present, missing = slice(None, bins.missing_bin), bins.missing_bin
        known = {part.column for part in rule.parts}
        numeric = bins.numeric
        found = _best_intervals(hits[numeric, present], covered[numeric, present], bins.sizes[numeric], total)
        for k, f1, n_values, interval in found:
            yield _Extension(f1, n_values, int(numeric[k]), interval)
        for j, size in enumerate(bins.sizes.tolist()):
            if j not in self._numbers:
                for f1, levels in _best_level_sets(hits[j, :size], covered[j, :size], total):
                    yield _Extension(f1, len(levels), j, levels)
            if hits[j, missing] > 0 and j not in known:
                yield _Extension(_f1(hits[j, missing], covered[j, missing], total), 1, j, (missing,))

    def _condition(self, part: _Extension, cuts: Mapping[int, Indices], bins: _Bins) -> Condition:
        j = part.column
        if part.bins == (bins.missing_bin,):
            return Condition(j, missing=True)
        if not isinstance(part.bins, range):
            return Condition(j, levels=part.bins)
        numbers, is_date, at = self._numbers[j], self._schema[j].kind == "date", cuts[j]
        first, stop = part.bins.start, part.bins.stop
        if first > 0 and stop <= len(at):
            only = numbers.only_value(at[first - 1], at[stop - 1])
            if only is not None:
                return Condition(j, only, only)
        low = numbers.threshold(at[first - 1], is_date=is_date) if first > 0 else -inf
        high = numbers.threshold(at[stop - 1], is_date=is_date) if stop <= len(at) else inf
        return Condition(j, low, high)


def _select_beam(extended: list[tuple[_Rule, _Extension]], bins: _Bins) -> list[_Rule]:
    """Return the best rules that differ in their rows; of equal scores the first."""
    scored = [(one.f1 - MIN_GAIN * (rule.n_values + one.n_values), rule, one) for rule, one in extended]
    beam: list[_Rule] = []
    found: set[bytes] = set()
    for score, rule, one in sorted(scored, key=lambda parts: -parts[0]):
        if one.column in {part.column for part in rule.parts}:
            continue
        rows = rule.rows & one.select(bins.of_rows[one.column])
        key = np.packbits(rows).tobytes()
        if key not in found:
            found.add(key)
            beam.append(_Rule(score, rule.n_values + one.n_values, (*rule.parts, one), rows))
        if len(beam) == _BEAM_WIDTH:
            break
    return beam


@dataclass(frozen=True)
class _Bins:
    """The bin of every row in every column.

    Attributes
    ----------
    of_rows : ndarray of shape (n_columns, n_rows)
    sizes : ndarray of shape (n_columns,)
        Numbers of bins.
    missing_bin : int
        The bin of missing values, after those of all columns.
    numeric : ndarray of int
        The numeric columns.
    """

    of_rows: Indices
    sizes: Indices
    missing_bin: int
    numeric: Indices

    @cached_property
    def _numbered(self) -> Indices:
        """The bins, numbered over all columns."""
        return self.of_rows + (self.missing_bin + 1) * np.arange(len(self.of_rows))[:, None]

    def count(self, rows: Indices, weight: Floats) -> Floats:
        shape = len(self.of_rows), self.missing_bin + 1
        weights = np.broadcast_to(weight[rows], (shape[0], len(rows))).ravel()
        counts = np.bincount(self._numbered[:, rows].ravel(), weights, shape[0] * shape[1])
        # Without rows numpy returns whole numbers.
        return counts.astype(np.float64, copy=False).reshape(shape)


class _SortedNumbers:
    """The numbers of a column that are not missing, in ascending order."""

    def __init__(self, values: NDArray[Any]) -> None:
        present = np.flatnonzero(~np.isnan(values))
        order = present[np.argsort(values[present], kind="stable")]
        self._order, self._values, self._n_rows = order, values[order].astype(np.float64), len(values)
        # A cut at position i is between the values i - 1 and i.
        self._boundaries = np.flatnonzero(self._values[1:] > self._values[:-1]) + 1

    def choose_cuts(self, inside: Mask) -> Indices:
        """Return the positions of the cuts: all of few distinct values, else around quantiles of all and of the inner rows."""
        boundaries = self._boundaries
        if len(boundaries) <= _N_QUANTILES:
            return boundaries
        inner = np.flatnonzero(inside[self._order])
        at = np.linspace(0, len(self._values) - 1, _N_QUANTILES).astype(np.intp)
        if len(inner):
            at = np.append(at, inner[np.linspace(0, len(inner) - 1, _N_QUANTILES).astype(np.intp)])
        after = np.searchsorted(boundaries, at, side="right")
        found = np.unique([after - 1, after])
        return boundaries[found[(found >= 0) & (found < len(boundaries))]]

    def bin_rows(self, cuts: Indices, missing_bin: int) -> Indices:
        bins = np.full(self._n_rows, missing_bin, dtype=np.intp)
        bins[self._order] = np.searchsorted(cuts, np.arange(len(self._order)), side="right")
        return bins

    def only_value(self, start: int, stop: int) -> float | None:
        """Return the value between two cuts, None if there are several."""
        low, high = float(self._values[start]), float(self._values[stop - 1])
        return low if low == high else None

    def threshold(self, cut: int, *, is_date: bool) -> float:
        """Return the shortest number that separates the values on the two sides of a cut."""
        low, high = float(self._values[cut - 1]), float(self._values[cut])
        return _round_date(low, high) if is_date else _round_number(low, high)


def _round_number(low: float, high: float) -> float:
    """Return a number t of the fewest significant digits with low <= t < high, near their middle if possible."""
    if low <= 0 < high:
        return 0.0
    middle = low / 2 + high / 2
    for digits in range(17):
        for value in (middle, low):
            rounded = float(f"{value:.{digits}e}")
            if low <= rounded < high:
                return rounded
    return low


def _round_date(low: float, high: float) -> float:
    """Return the date of the coarsest unit with low <= date < high, in seconds since 1970."""
    middle = np.datetime64(floor(low / 2 + high / 2), "s")
    for unit in _DATE_UNITS:
        seconds = float(middle.astype(f"datetime64[{unit}]").astype("datetime64[s]").astype(np.int64))
        if low <= seconds < high:
            return seconds
    return low


def _threshold_text(value: float, *, is_date: bool) -> str:
    if not is_date:
        return f"{value:.15g}" if float(f"{value:.15g}") == value else repr(value)
    text = str(np.datetime64(floor(value), "s"))
    return text.removesuffix("T00:00:00").removesuffix(":00").replace("T", " ")


def _f1(hits: float, covered: float, total: float) -> float:
    """Return the harmonic mean of precision (hits / covered) and coverage (hits / total)."""
    return float(2 * hits / (total + covered)) if hits > 0 else 0.0


def _best_intervals(
    hits: Floats, covered: Floats, sizes: Indices, total: float
) -> Iterator[tuple[int, float, int, range]]:
    """Yield the best conditions "below", "above" and "between" of each row of counts: row, F1, number of thresholds, and bins.

    A row has the counts of `size` bins, and zeros after them.
    """
    if hits.shape[1] < 2:
        return
    hits, covered = np.cumsum(hits, axis=1), np.cumsum(covered, axis=1)
    all_hits, all_covered = hits[:, -1:], covered[:, -1:]
    hits, covered = hits[:, :-1], covered[:, :-1]
    cuts, at = np.arange(hits.shape[1]), np.arange(len(hits))
    is_cut = cuts < sizes[:, None] - 1
    below = np.where(is_cut, 2 * hits / (total + covered), 0.0)
    above = np.where(is_cut, 2 * (all_hits - hits) / (total + all_covered - covered), 0.0)
    cut_below, cut_above = below.argmax(axis=1), above.argmax(axis=1)
    f1, start, stop = _best_inner_intervals(hits, covered, is_cut, total)
    for k in at[sizes > 1].tolist():
        yield k, float(below[k, cut_below[k]]), 1, range(int(cut_below[k]) + 1)
        yield k, float(above[k, cut_above[k]]), 1, range(int(cut_above[k]) + 1, int(sizes[k]))
        if f1[k] > 0:
            yield k, float(f1[k]), 2, range(int(start[k]) + 1, int(stop[k]) + 1)


def _best_inner_intervals(hits: Floats, covered: Floats, is_cut: Mask, total: float) -> tuple[Floats, Indices, Indices]:
    """Return the best F1 of the bins between two cuts and these cuts, for each row of cumulative counts; 0 without two cuts.

    Dinkelbach's iteration: F1 exceeds s for an interval whose sum of 2 hits - s (total + covered) is positive, and the largest sum
    is the largest rise of the cumulative sums.
    """
    at = np.arange(len(hits))
    best, first, last = np.zeros(len(hits)), np.zeros(len(hits), dtype=np.intp), np.zeros(len(hits), dtype=np.intp)
    if hits.shape[1] < 2:
        return best, first, last
    while True:
        sums = 2 * hits - best[:, None] * covered
        rises = np.where(is_cut[:, 1:], sums[:, 1:] - np.minimum.accumulate(sums, axis=1)[:, :-1], -inf)
        stop = rises.argmax(axis=1) + 1
        start = np.where(np.arange(hits.shape[1]) < stop[:, None], sums, inf).argmin(axis=1)
        f1 = 2 * (hits[at, stop] - hits[at, start]) / (total + covered[at, stop] - covered[at, start])
        better = is_cut[:, 1] & (f1 > best + _ROUNDING)
        if not better.any():
            return best, first, last
        best = np.where(better, f1, best)
        first, last = np.where(better, start, first), np.where(better, stop, last)


def _best_level_sets(hits: Floats, covered: Floats, total: float) -> Iterator[tuple[float, tuple[int, ...]]]:
    """Yield the best single level, and the best sets of two and three levels, with their F1."""
    if len(hits) < 2:
        return
    for size in range(1, min(_MAX_LEVELS, len(hits) - 1) + 1):
        best, found = 0.0, np.arange(0)
        while True:
            # Dinkelbach's iteration, as for intervals: levels do not depend on each other.
            chosen = np.argsort(best * covered - 2 * hits, kind="stable")[:size]
            f1 = _f1(float(hits[chosen].sum()), float(covered[chosen].sum()), total)
            if f1 <= best + _ROUNDING:
                break
            best, found = f1, chosen
        if best > 0:
            yield best, tuple(sorted(found.tolist()))

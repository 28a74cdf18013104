"""Rules of the clusters of a map: a few conditions on columns that describe the rows of each cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import floor, inf
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import cKDTree
from scipy.stats import hypergeom
from sklearn.cluster import HDBSCAN
from sklearn.utils.validation import check_array, column_or_1d

from tamiz.arrays import Floats, Indices, Masks, is_missing
from tamiz.exceptions import DataError
from tamiz.reduction.axes import correlate_columns, read_columns
from tamiz.reduction.description import ClusterRule, RuleCondition
from tamiz.runtime import parallel
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.user_warnings import warn_user
from tamiz.runtime.validation import check_integer
from tamiz.table.base import Table, weight_array
from tamiz.table.encode import check_has_features
from tamiz.table.factory import as_table
from tamiz.table.in_memory import from_array_api
from tamiz.table.schema import Column

ClusterNumbers = Indices

# Of wider tables, the columns with the largest correlations with the axes are considered, relative to the chance level.
MAX_COLUMNS = 30
# A rule is found and measured on at most so many rows.
_MAX_ROWS = 20_000
# A rule is reported if its F1 score on the held-out rows is at least this and larger than that of all rows, and if Fisher's exact
# test of "fulfils the rule" and "is in the cluster" has at most this p-value.
_MIN_F1, _MAX_P_VALUE = 0.5, 0.01
# The least share of the rows and the fewest rows of a cluster; fewer than twice as many rows are not clustered.
_MIN_SHARE, _MIN_ROWS = 0.02, 10
# The neighbours that estimate the density: as many as the smallest cluster has rows, within these limits. On one axis the distance
# to the k-th neighbour varies more: of normal values, 10 neighbours find clusters in 1 of 5 samples.
_MIN_NEIGHBORS, _MAX_NEIGHBORS, _MAX_NEIGHBORS_ON_A_LINE = 10, 20, 60
# HDBSCAN compares all pairs of these rows: 5,000 need half a second. Other rows are in the cluster of the nearest one.
_MAX_CLUSTERED_ROWS = 5_000
# Points are moved by at most this share of the widest axis, about a pixel of a chart: the density at equal points is infinite.
_JITTER = 1e-3
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
class ClusterRules:
    """The clusters of a map and their rules.

    Attributes
    ----------
    rules : tuple of ClusterRule
        One for each cluster, the largest first; empty if the map shows no separate clusters.
    numbers : ndarray of shape (n_rows,)
        The number of the cluster of each row; 0 for rows that belong to none.
    columns : list of str
        The columns that were considered.
    """

    rules: tuple[ClusterRule, ...]
    numbers: ClusterNumbers
    columns: list[str]


def cluster_rules(
    X: Any,
    embedding: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    max_conditions: int = 3,
    random_state: Seed = 0,
) -> ClusterRules:
    """Rules of the clusters of a map: for each, the few conditions on columns that describe its rows best.

    Parameters
    ----------
    X : array, data frame or Table
        The rows of the map, with any columns. The target, weights and groups of a Table are not used in conditions.
    embedding : array-like of shape (n_samples, n_axes)
        The coordinates of the rows on the map, from any method. All axes are used, in one unit.
    clusters : array-like of shape (n_samples,), default=None
        A label for every row, numbers or text; negative numbers and missing labels are rows of no cluster. None finds the visible
        clusters of the map.
    max_conditions : int, default=3
        Most conditions of a rule.
    random_state : int, Generator or None, default=0
        Draws the halves of the rows, and samples of many rows.

    Returns
    -------
    ClusterRules
        `rules`, a record for each cluster with its conditions, precision and coverage; `numbers`, the cluster of each row; and
        `columns`, those considered.

    Raises
    ------
    DataError
        When there is not one row of coordinates, or one label, for every row of the table.

    Notes
    -----
    Clusters are found by HDBSCAN with at least 2 % of the rows and 10 rows, 10 to 20 neighbours (up to 60 on one axis), and a
    single cluster allowed, on at most 5,000 rows; other rows are in the cluster of the nearest of them. One cloud has no separate
    clusters, nor has a map where most rows are in none. Of 344 rows of two independent lognormal columns, a strongly skewed cloud,
    clusters are found in 1 of 13 samples.

    A rule is a conjunction of conditions: a number is above, below or between thresholds, a category has one of at most three
    levels, or a value is missing. A missing value fulfils no other condition. Beam search maximises the F1 score, the harmonic mean
    of precision and coverage, less 0.02 for every threshold and level of the rule. It uses one half of the rows, drawn at random
    within each cluster (whole groups, if the table has groups); precision and coverage are those of the other half, of at most
    20,000 rows in all. On that half, a rule must have an F1 score of at least 0.5 that exceeds that of all rows, and Fisher's exact
    test must reject independence at 1 %; otherwise there is no simple rule. Thresholds have the fewest digits that do not change
    the rows of the rule. Of more than 30 columns, those with the largest correlations with the axes are considered. A cluster that
    was found on the map depends on the columns of the map: that a rule describes it is no evidence for separate groups of rows.

    Cost O(n p) for each of at most 13 rules that are extended, for each cluster, with n rows of the half and p columns.

    References
    ----------
    Campello, Moulavi and Sander (2013), Density-based clustering based on hierarchical density estimates, PAKDD; Herrera, Carmona,
    Gonzalez and del Jesus (2011), An overview on subgroup discovery, Knowledge and Information Systems 29.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz.reduction import PCA, cluster_rules
    >>> X = load_iris(as_frame=True).data
    >>> found = cluster_rules(X, PCA(2).fit_transform(X))
    >>> for rule in found.rules:
    ...     print(f"{rule.n_rows} rows: {rule.text} (precision {rule.precision:.2f}, coverage {rule.coverage:.2f})")
    100 rows: petal length (cm) > 2 (precision 1.00, coverage 1.00)
    50 rows: petal length (cm) ≤ 2 (precision 1.00, coverage 1.00)
    """
    max_conditions = check_integer("max_conditions", max_conditions, low=1)
    rng = make_rng(random_state)
    with parallel.thread_session():
        table = as_table(X)
        n = table.schema.n_rows
        points = check_array(from_array_api(embedding), dtype=np.float64)
        if len(points) != n:
            raise DataError(
                f"embedding has {len(points):,} rows and X has {n:,}; give the coordinates of the rows of X."
            )
        check_has_features(table.schema)
        if clusters is None:
            numbers, labels = find_clusters(points, rng), None
        else:
            numbers, labels = _number_labels(clusters, n)
        columns = table.schema.used
        if len(columns) > MAX_COLUMNS and numbers.any():
            correlations = correlate_columns(table, points)
            columns = columns[most_correlated_columns(correlations.values, correlations.chance_level)]
        found = describe_clusters(
            table, points, numbers, rng, columns=columns.tolist(), labels=labels, max_conditions=max_conditions
        )
    warn_user(table.schema.excluded_column_notes)
    return found


def _number_labels(clusters: ArrayLike, n_rows: int) -> tuple[ClusterNumbers, list[str]]:
    """Return the number of the cluster of each row, 0 for none, and the labels in the order of the numbers."""
    values = column_or_1d(np.asarray(clusters), warn=False)
    if len(values) != n_rows:
        raise DataError(f"clusters has {len(values):,} labels and X has {n_rows:,} rows; give one label for each row.")
    none = np.array([one is None or one != one or (not isinstance(one, str) and one < 0) for one in values.tolist()])
    codes = np.full(n_rows, -1)
    names, codes[~none] = np.unique(
        values[~none].astype(str if values.dtype.kind == "O" else values.dtype), return_inverse=True
    )
    numbers = number_by_size(codes)
    order = {int(number): str(names[code]) for number, code in zip(numbers, codes, strict=True) if code >= 0}
    return numbers, [order[k] for k in sorted(order)]


def find_clusters(embedding: Floats, rng: np.random.Generator) -> ClusterNumbers:
    """Return the number of the cluster of each row: 1 is the largest, 0 is none. All are 0 if no two clusters are separate.

    HDBSCAN with a single cluster allowed (`allow_single_cluster=True`) and selection by excess of mass: the map is split where the
    mean inverse distance inside the parts is at least twice that at which they join. Two normal clusters of one size are separate
    from a distance of five to six standard deviations on. Where most rows are in no cluster, no clusters are separate. The random
    draws are the sample of many rows, and moves of equal points apart.
    """
    n = len(embedding)
    spans = np.ptp(embedding, axis=0)
    if n < 2 * _MIN_ROWS or not spans.any():
        return np.zeros(n, dtype=np.intp)
    # Relative to the widest axis: distances near the largest or the smallest number would overflow or vanish when squared.
    points = (embedding - embedding.min(axis=0)) / spans.max()
    rows = np.sort(rng.choice(n, _MAX_CLUSTERED_ROWS, replace=False)) if n > _MAX_CLUSTERED_ROWS else np.arange(n)
    drawn = points[rows] + rng.uniform(-_JITTER, _JITTER, (len(rows), points.shape[1]))
    least = max(_MIN_ROWS, int(np.ceil(_MIN_SHARE * len(rows))))
    on_a_line = np.count_nonzero(spans > 2 * _JITTER * spans.max()) == 1
    n_neighbors = min(len(rows) // 5, 3 * least, _MAX_NEIGHBORS_ON_A_LINE) if on_a_line else min(least, _MAX_NEIGHBORS)
    model = HDBSCAN(
        min_cluster_size=least,
        min_samples=max(n_neighbors, _MIN_NEIGHBORS),
        allow_single_cluster=True,
        cluster_selection_method="eom",
        copy=True,
    )
    labels = model.fit(drawn).labels_
    if labels.max() < 1 or 2 * np.count_nonzero(labels >= 0) < len(labels):
        return np.zeros(n, dtype=np.intp)
    if len(rows) < n:
        labels = labels[cKDTree(drawn).query(points)[1]]
    return number_by_size(labels)


def number_by_size(labels: NDArray[np.integer]) -> ClusterNumbers:
    """Return labels of clusters as numbers from 1 on, the largest cluster first; negative labels are 0."""
    sizes = np.bincount(labels[labels >= 0])
    rank = np.empty(len(sizes) + 1, dtype=np.intp)
    rank[np.argsort(-sizes, kind="stable")] = np.arange(1, len(sizes) + 1)
    rank[-1] = 0
    return rank[labels]


def describe_clusters(
    table: Table,
    points: Floats,
    numbers: ClusterNumbers,
    rng: np.random.Generator,
    *,
    rows: Indices | None = None,
    columns: Sequence[int] | None = None,
    labels: Sequence[str] | None = None,
    max_conditions: int = 3,
) -> ClusterRules:
    """Return the rules of the clusters of some rows of a table, in ascending order (None is all).

    `points` and `numbers` have the coordinates and the cluster of each of these rows, from 1 on, and 0 for none. None of `columns`
    considers all that are used; None of `labels` names the clusters by their numbers.
    """
    schema = table.schema
    columns = schema.used.tolist() if columns is None else list(columns)
    described, names = [schema.columns[j] for j in columns], [schema.columns[j].name for j in columns]
    sizes = np.bincount(numbers)[1:].tolist()
    if not sizes:
        return ClusterRules((), numbers, names)
    all_rows, weight = np.arange(schema.n_rows) if rows is None else rows, weight_array(table)
    sample = np.arange(len(numbers))
    if len(numbers) > _MAX_ROWS:
        sample = np.sort(rng.choice(len(numbers), _MAX_ROWS, replace=False))
    weight = np.ones(len(sample)) if weight is None else weight[all_rows[sample]]
    # A row of weight 0 counts as no row. The largest weight is 1, so that sums do not overflow.
    sample, weight = sample[weight > 0], weight[weight > 0] / weight.max(initial=0.0)
    values = [column for _, column in read_columns(table, columns, all_rows[sample])]
    groups = None if table.groups is None else table.groups[all_rows[sample]]
    own = numbers[sample]
    half = _draw_half(own, groups, rng)
    search = RuleSearch([column[half] for column in values], described, weight[half])
    test_values, test_weight = [column[~half] for column in values], weight[~half]
    rules = []
    for k, size in enumerate(sizes, start=1):
        inside = own[~half] == k
        rule = ClusterRule(
            cluster=k,
            label=str(k) if labels is None else labels[k - 1],
            n_rows=size,
            center=tuple(np.median(points[numbers == k], axis=0).tolist()),
            n_test=int(np.count_nonzero(inside)),
        )
        conditions = search.find_rule(own[half] == k, max_conditions)
        fulfilling = select_rows_of_rule(conditions, test_values, len(inside))
        if conditions and _is_confirmed(fulfilling, inside, test_weight):
            hits = float(test_weight[inside & fulfilling].sum())
            rule = replace(
                rule,
                conditions=tuple(one.describe(described[one.column]) for one in conditions),
                precision=hits / float(test_weight[fulfilling].sum()),
                coverage=hits / float(test_weight[inside].sum()),
                n_fulfilling=int(fulfilling.sum()),
            )
        rules.append(rule)
    return ClusterRules(tuple(rules), numbers, names)


def most_correlated_columns(correlations: Floats, chance_level: Floats) -> Indices:
    """Return the positions of at most MAX_COLUMNS columns, ascending: those with the largest correlation with an axis.

    Correlations are relative to the chance level, because it is large for categories of many levels.
    """
    strength = np.abs(correlations).max(axis=1, initial=0.0) / chance_level
    return np.sort(np.argsort(-strength, kind="stable")[:MAX_COLUMNS])


def _draw_half(numbers: ClusterNumbers, groups: NDArray[Any] | None, rng: np.random.Generator) -> Masks:
    """Return the rows on which rules are found: half of every cluster, or half of the groups."""
    half = np.zeros(len(numbers), dtype=bool)
    if groups is not None:
        some = rng.permutation(np.unique(groups))
        return np.isin(groups, some[: (len(some) + 1) // 2])
    for number in np.unique(numbers):
        rows = rng.permutation(np.flatnonzero(numbers == number))
        half[rows[: (len(rows) + 1) // 2]] = True
    return half


def _is_confirmed(fulfilling: Masks, inside: Masks, weight: Floats) -> bool:
    """Whether the held-out rows that fulfil a rule are in the cluster more often than others, and agree with it."""
    total, covered = float(weight[inside].sum()), float(weight[fulfilling].sum())
    if covered == 0 or total == 0:
        return False
    f1 = 2 * float(weight[inside & fulfilling].sum()) / (total + covered)
    if f1 < _MIN_F1 or f1 <= 2 * total / (total + float(weight.sum())):
        return False
    hits, n = int((inside & fulfilling).sum()), len(inside)
    return bool(hypergeom.sf(hits - 1, n, int(inside.sum()), int(fulfilling.sum())) <= _MAX_P_VALUE)


@dataclass(frozen=True)
class Condition:
    """A condition on the values of a column, at a position among those of the search, as a table stores them.

    A number fulfils it if low < number <= high, or if it equals both; a code if it is one of the levels, which are empty for a
    number; with `missing`, only missing values fulfil it.
    """

    column: int
    low: float = -inf
    high: float = inf
    levels: tuple[int, ...] = ()
    missing: bool = False

    def select(self, values: NDArray[Any]) -> Masks:
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
        kind_of_number: Literal["above", "below", "equals"]
        if self.high == inf:
            kind_of_number, thresholds, text = "above", (self.low,), f"{name} > {written(self.low)}"
        elif self.low == -inf:
            kind_of_number, thresholds, text = "below", (self.high,), f"{name} ≤ {written(self.high)}"
        elif self.low == self.high:
            kind_of_number, thresholds, text = "equals", (self.low,), f"{name} = {written(self.low)}"
        else:
            low, high = written(self.low), written(self.high)
            both = (self.low, self.high)
            return RuleCondition(column=name, kind="between", thresholds=both, text=f"{low} < {name} ≤ {high}")
        return RuleCondition(column=name, kind=kind_of_number, thresholds=thresholds, text=text)


def select_rows_of_rule(conditions: Sequence[Condition], columns: Sequence[NDArray[Any]], n_rows: int) -> Masks:
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

    def select(self, bins: Indices) -> Masks:
        if isinstance(self.bins, range):
            return (bins >= self.bins.start) & (bins < self.bins.stop)
        return np.isin(bins, self.bins)


@dataclass(frozen=True)
class _Rule:
    """A rule during the search and the rows that fulfil it. `score` is its F1 score less MIN_GAIN for each of its values."""

    score: float
    n_values: int
    parts: tuple[_Extension, ...]
    rows: Masks


class RuleSearch:
    """Beam search for rules on some columns.

    Numbers are binned between thresholds, and categories by level; missing values have a bin of their own. For every rule of the
    beam, one pass over its rows counts the weights in all bins of all columns, and the best condition of each kind is derived from
    the counts.
    """

    def __init__(self, columns: Sequence[NDArray[Any]], schema_columns: Sequence[Column], weight: Floats) -> None:
        self._columns, self._schema, self._weight = columns, schema_columns, weight
        self._numbers = {j: _SortedNumbers(columns[j]) for j, column in enumerate(schema_columns) if column.is_number}

    def find_rule(self, inside: Masks, max_conditions: int) -> tuple[Condition, ...]:
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
    """The bin of every row in every column, of shape (n_columns, n_rows), and the number of bins of each column.

    The bin of missing values is after those of all columns. `numeric` are the positions of numeric columns.
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

    def choose_cuts(self, inside: Masks) -> Indices:
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


def _best_inner_intervals(
    hits: Floats, covered: Floats, is_cut: Masks, total: float
) -> tuple[Floats, Indices, Indices]:
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

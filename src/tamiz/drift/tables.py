"""Two tables as a whole: a model that recognises the table of a row, the target in both, and rows outside the first table."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

import tamiz
from tamiz._study.maps import choose_map_columns
from tamiz.arrays import Indices, Masks, is_missing
from tamiz.assessment.associations import describe_associations, describe_distributions
from tamiz.assessment.findings import FoldScores
from tamiz.assessment.leaks import find_leaks
from tamiz.assessment.trials import ignore_known_warnings, resolve_scorings
from tamiz.criteria.tree_importance import TreeImportance
from tamiz.drift.columns import SharedColumn, compare_columns, kinds_of_second, repeated_rows, share_columns
from tamiz.drift.result import (
    AssociationDrift,
    ColumnDrift,
    ComparedTable,
    Membership,
    NewRows,
    OutsideRow,
    TableComparison,
    TargetDrift,
    collect_warnings,
)
from tamiz.exceptions import DataError
from tamiz.models.backends import RefitBackend
from tamiz.models.evaluator import WrapperEvaluator
from tamiz.models.fold_scorer import score_folds
from tamiz.models.folds import Fold, Folds, make_folds
from tamiz.models.named_models import resolve_model
from tamiz.models.scoring import resolve_scoring
from tamiz.models.task import make_task
from tamiz.neighbors.exact_search import choose_exact_search
from tamiz.neighbors.points import EuclideanPoints
from tamiz.reduction.pca import PCA
from tamiz.runtime import parallel
from tamiz.runtime.memory import SizeLike
from tamiz.runtime.random import Seed, make_rng, sample_rows
from tamiz.runtime.registry import suggestion
from tamiz.runtime.user_warnings import capture_warnings, quote_name, warn
from tamiz.runtime.verdicts import Verdict
from tamiz.statistics.base import Block
from tamiz.statistics.independence import adjust_p_values
from tamiz.statistics.two_samples import share_p_value, t_p_value
from tamiz.table.base import EncodedTable, Table, weights_or_ones
from tamiz.table.encode import TableEncoder
from tamiz.table.factory import open_table, open_without_target
from tamiz.table.schema import Column, Kind, Schema, WeightKind
from tamiz.table.views import select_columns, select_rows

# Rows of each table that models and distances use, and that the map shows.
MAX_ROWS, _MAX_POINTS = 10_000, 1_000
_N_FOLDS, _MIN_ROWS = 5, 4
_MODEL, _MAX_LEVELS = "gradient_boosting", 50
# A column whose distributions are so far apart recognises the table of every row, whatever the others do.
_SEPARATE = 0.99
# The share of the rows of the first table that are inside.
_INSIDE = 0.99
_ROWS_NAMED, _COLUMNS_NAMED = 5, 5
# Columns whose values are permuted to find those by which a model recognises the tables: those of the largest changes.
_MAX_PERMUTED, _MIN_LOSS = 100, 0.005


def compare_tables(
    first: Any,
    second: Any,
    target: str | None = None,
    *,
    columns: Sequence[str] | None = None,
    kinds: Mapping[str, Kind] | None = None,
    weight: str | None = None,
    weights: WeightKind | None = None,
    header: bool | None = None,
    memory: SizeLike | None = None,
    random_state: Seed = 0,
    n_jobs: int | None = None,
) -> TableComparison:
    r"""Compare a new table with the one that a model was built on: what has changed, and is the selection valid on the new rows.

    Parameters
    ----------
    first, second : path, array or data frame
        The table of the model, and the new one. Columns are matched by name, in any order.
    target : str, default=None
        The column to predict. If the second table has its values too, a model of the first table is scored on both.
    columns : list of str, default=None
        The columns of that model, such as those of a selection; None is all but dates and possible leaks.
    kinds : mapping of name to kind, default=None
        As in `open_table`. Kinds are inferred from the first table.
    weight : str, default=None
        The column with the weight of each row, in both tables.
    weights : {"frequency", "sampling"}, default=None
        As in `open_table`.
    header : bool, default=None
        As in `open_table`.
    memory : str or int, default=None
        As in `open_table`.
    random_state : int, Generator or None, default=0
        Seed of folds, models and samples.
    n_jobs : int, default=None
        Number of threads, which changes no number; None is the available cores.

    Returns
    -------
    TableComparison
        Prints as a verdict of a few lines. `to_frame()` has a row for each column, `to_html(path)` writes a page.

    Raises
    ------
    DataError
        When a table cannot be used, or the tables have no column in common.
    ValueError
        When the target or a column is not in the first table.

    Warns
    -----
    TamizWarning
        When the models, the distances and the map use a sample of a long table (TZ502).

    Notes
    -----
    *Columns.* The population stability index has bins between the deciles of the first table, or its levels, and missing values
    are a bin. Its expected value without change is (K - 1) (1/n + 1/m). The tests are those of Kolmogorov and Smirnov for
    numbers, of chi-squared for levels, Fisher's for missing values, and a Poisson test for levels that only the second table has;
    p-values are adjusted over all of them (Benjamini and Hochberg). A column has changed where one is at most 5 %, and the index
    exceeds its expected value by .1 (large: .25), or the share of missing values differs by 5 points, or 1 % of the values are new
    levels. Without a change some column is reported in at most 5 % of the pairs of tables.

    *Tables.* Gradient boosting predicts in 5-fold cross-validation to which table a row belongs; columns are ordered by the loss of
    its score when their values are permuted. Dates, and columns whose distance is .99 or more, which would decide alone, are set
    aside.

    *Target.* The model of each of 5 folds of the first table is scored on its test rows and on a fifth of the second table. The
    interval of the difference accounts for the overlap of training rows (Nadeau and Bengio 2003).

    *New rows.* A row is outside if its distance to the first table is above the 99 % quantile of the distances of the first table's
    rows to their nearest other row, in numeric columns that are standardised on both tables (all columns where fewer than 3 are
    numeric).

    Cost O(p n log n) for the columns; models and distances use at most 10,000 rows of each table.

    References
    ----------
    Siddiqi (2006), Credit Risk Scorecards. Lopez-Paz and Oquab (2017), Revisiting classifier two-sample tests, ICLR.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from tamiz import compare_tables
    >>> wine = load_wine(as_frame=True).frame
    >>> new = wine[1::2].assign(alcohol=wine["alcohol"] + 1)
    >>> found = compare_tables(wine[::2], new, "target")
    >>> found.changed
    ['alcohol']
    """
    seed = random_state if isinstance(random_state, int) else int(make_rng(random_state).integers(2**31))
    if target is not None and not isinstance(target, str):
        raise TypeError(f"target must be the name of a column, got {type(target).__name__}.")
    if isinstance(first, Table) or isinstance(second, Table):
        raise TypeError(
            "Pass the files or data frames, not an opened Table: the second is read with the kinds of the first."
        )
    if isinstance(columns, str):
        raise TypeError(f"columns must be a list of names, got {columns!r}.")
    if columns is not None and target is None:
        raise ValueError("columns are those of a model of the target; pass target=.")
    with parallel.thread_session(n_jobs):
        options = {"weight": weight, "weights": weights, "memory": memory, "header": header}
        tables, inferred, notes = _open_pair(first, second, target, kinds, options)
        pair = _Pair(tables, inferred, seed)
        names = (_table_name(first, "first table"), _table_name(second, "second table"))
        if pair.sample != tuple(table.schema.n_rows for table in tables):
            warn("TZ502", pair.sample_sentence)
        with capture_warnings(), ignore_known_warnings():
            return pair.compare(names, columns, notes)


def _table_name(data: Any, default: str) -> str:
    return Path(data).name if isinstance(data, str | os.PathLike) else default


@contextmanager
def _named(table: str) -> Iterator[None]:
    """Begin the message of an error of a table with its name."""
    try:
        yield
    except (DataError, ValueError) as error:
        raise type(error)(f"{table}: {error}") from error


def _open_pair(
    first: Any, second: Any, target: str | None, kinds: Mapping[str, Kind] | None, options: dict[str, Any]
) -> tuple[tuple[Table, Table], dict[str, str], list[Verdict]]:
    """Return both tables, the second without a target; the kinds that were inferred from the second, with what is not a number in
    a column that is numeric in the first; and the notes on reading.
    """
    with _named(_table_name(first, "The first table")), capture_warnings() as notes:
        one = open_table(first, target, kinds=kinds, **options)
    notes += one.schema.dropped_row_notes
    # Weights of both tables are of one kind.
    options = {**options, "weights": one.schema.weight_kind}
    with _named(_table_name(second, "The second table")), capture_warnings():
        labels = one.schema.target
        # A large table is read once where the kinds are right at first; most have the target.
        expected: dict[str, Kind] = (
            {} if labels is None else {labels.name: "numeric" if labels.is_number else "categorical"}
        )
        try:
            two = open_without_target(second, one.column_names, kinds=expected, **options)
        except DataError:
            two = open_without_target(second, one.column_names, **options)
        inferred = {column.name: str(column.kind) for column in two.schema.columns}
        known = kinds_of_second(one.schema, two.schema, kinds or {})
        if any(inferred[name] != kind for name, kind in known.items()):
            two = open_without_target(second, one.column_names, kinds=known, **options)
        own = {column.name: column.kind for column in (*one.schema.columns, labels) if column is not None}
        for column in two.schema.columns:
            if own.get(column.name) == "numeric" and column.kind in ("categorical", "text", "id"):
                try:
                    open_without_target(second, one.column_names, kinds={**known, column.name: "numeric"}, **options)
                except DataError as error:
                    inferred[column.name] += f" ({str(error).rstrip('.')})"
    return (one, two), inferred, notes


class _Pair:
    def __init__(self, tables: tuple[Table, Table], inferred: Mapping[str, str], seed: int) -> None:
        self.tables, self.seed = tables, seed
        self.shared, self.other_kinds, self.not_compared = share_columns(*tables, inferred)
        if not self.shared:
            names = [table.schema.names for table in tables]
            raise DataError(
                "The tables have no column in common that can be compared: the first one has "
                f"{', '.join(map(quote_name, names[0][:5]))}, the second one {', '.join(map(quote_name, names[1][:5]))}. "
                "Columns are matched by name: rename them."
            )
        self.weight = (weights_or_ones(tables[0]), weights_or_ones(tables[1]))
        rng = np.random.default_rng(seed)
        self.rows = tuple(sample_rows(table.schema.n_rows, MAX_ROWS, rng) for table in tables)
        self.sample = cast("tuple[int, int]", tuple(map(len, self.rows)))

    @property
    def sample_sentence(self) -> str:
        """What of the tables models, distances and the map use."""
        parts = [
            f"{len(rows):,} of the {table.schema.n_rows:,} rows of the {which} table"
            for rows, table, which in zip(self.rows, self.tables, ("first", "second"), strict=True)
            if len(rows) < table.schema.n_rows
        ]
        return f"Models, distances and the map use {' and '.join(parts)}, drawn at random; all rows of columns are compared."

    def compare(self, names: tuple[str, str], chosen: Sequence[str] | None, notes: list[Verdict]) -> TableComparison:
        compared = compare_columns(self.shared, self.weight)
        by_name = {one.name: one for one in self.shared}
        features = [by_name[one.name] for one in compared if not one.is_target]
        set_aside = _separating(compared)
        usable = [one for one in features if one.name not in set_aside]
        stacked = self.stack([*usable, *(one for one in self.shared if one.name in set_aside or one.is_target)])
        shown = describe_distributions(stacked, range(stacked.schema.n_columns))
        pictures = {one.name: one for one in shown.columns}
        compared = [replace(one, distribution=pictures.get(one.name)) for one in compared]
        has_rows = min(self.sample) >= _MIN_ROWS and bool(usable)
        usable_rows = select_columns(stacked, range(len(usable)))
        found_target, left_out = self.compare_target(chosen)
        columns = [table.column_names for table in self.tables]
        first, second = map(_describe, names, self.tables)
        found = TableComparison(
            first=first,
            second=second,
            columns=tuple(compared),
            only_first=tuple(name for name in columns[0] if name not in columns[1]),
            only_second=tuple(name for name in columns[1] if name not in columns[0]),
            other_kinds=self.other_kinds,
            not_compared=self.not_compared,
            set_aside=set_aside,
            membership=self.recognise_tables(usable_rows) if has_rows else None,
            target=found_target,
            new_rows=self.find_new_rows(usable_rows) if has_rows else None,
            sample=self.sample,
            repeated=repeated_rows(self.shared),
            warnings=(),
            seed=self.seed,
            tamiz=tamiz.__version__,
        )
        if sum(self.sample) < first.n_rows + second.n_rows:
            left_out.append(Verdict("TZ502", self.sample_sentence))
        target = self.tables[0].schema.target
        return replace(found, warnings=collect_warnings(found, target, [*notes, *left_out]))

    def stack(
        self, columns: Sequence[SharedColumn], target: Column | None = None, y: NDArray[Any] | None = None
    ) -> EncodedTable:
        """Return the sampled rows of both tables as one; the target is the table of the row unless another is passed."""
        values = {k: self._sampled(one.values) for k, one in enumerate(columns)}
        if target is None:
            target, y = Column("table", "categorical", ("first", "second")), np.repeat([0, 1], self.sample)
        assert y is not None
        own = self.tables[0].schema
        weight = None if own.weight is None else self._sampled(self.weight)
        schema = Schema(
            tuple(one.describe(values[k]) for k, one in enumerate(columns)),
            sum(self.sample),
            target,
            own.weight,
            weight_kind=own.weight_kind,
            total_weight=None if weight is None else float(weight.sum()),
        )
        y = y.astype(np.float64 if target.is_number else np.int32)
        table = EncodedTable(schema, Block(range(schema.n_rows), values, y, weight), None, _no_frame)
        table.class_labels = None if target.is_number else np.array(target.levels)
        return table

    def _sampled(self, parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
        return np.concatenate([part[rows] for part, rows in zip(parts, self.rows, strict=True)])

    def recognise_tables(self, rows: Table) -> Membership | None:
        """Return how well a model recognises the table of a row, and by which columns; None where no column varies."""
        if all(rows.schema.columns[j].constant for j in rows.schema.used.tolist()):
            return None
        folds = make_folds(rows, _N_FOLDS, self.seed)
        scoring = resolve_scoring("roc_auc", has_classes=True)
        task = make_task(resolve_model(_MODEL, rows.schema), rows, cv=folds, scoring=scoring, seed=self.seed)
        # Only refits are needed, so no faster backend is set up.
        evaluator = WrapperEvaluator(task, RefitBackend(task), RefitBackend.method)
        used = np.zeros(rows.schema.n_columns, dtype=bool)
        used[rows.schema.used] = True
        units = [np.array([j]) for j in rows.schema.used[:_MAX_PERMUTED].tolist()]
        scores, losses = evaluator.permutation_losses(used, units, 1)
        found = FoldScores(scores, folds.variance_factor)
        importance = losses.mean(axis=(0, 2))
        best = [
            k for k in np.argsort(-importance, kind="stable")[:_COLUMNS_NAMED].tolist() if importance[k] >= _MIN_LOSS
        ]
        names = {rows.schema.names[int(units[k][0])]: float(importance[k]) for k in best}
        return Membership(auc=found.mean, interval=_within(found.interval), n_folds=len(folds), columns=names)

    def compare_target(self, chosen: Sequence[str] | None) -> tuple[TargetDrift | None, list[Verdict]]:
        """Return the score of a model and the associations in both tables, None with a note if they cannot be computed."""
        target = self.tables[0].schema.target
        shared = next((one for one in self.shared if one.is_target), None)
        missing = self._check_chosen(chosen)
        if target is None or shared is None:
            absent = target is not None and target.name not in self.other_kinds
            note = "No model is scored on the second table: it has no target."
            return None, [*missing, Verdict("TZ503", note)] if absent else missing
        wanted = [
            one
            for one in self.shared
            if not one.is_target and (one.kind != "date" if chosen is None else one.name in chosen)
        ]
        labels = self._sampled(shared.values)
        # A model knows only the classes of its own table.
        known = ~is_missing(labels) & (target.is_number | (labels < len(target.levels)))
        at = np.flatnonzero(known)
        n = int(np.count_nonzero(at < self.sample[0]))
        try:
            if not wanted:
                raise DataError("the tables share no column of the model.")
            if len(at) - n < _MIN_ROWS:
                raise DataError(f"the target is present in {len(at) - n:,} rows of the second table.")
            if np.ptp(labels[at[n:]]) == 0:
                raise DataError("all its rows have one value of the target.")
            rows = select_rows(self.stack(wanted, target, np.where(known, labels, 0)), at)
            parts = (select_rows(rows, np.arange(n)), select_rows(rows, np.arange(n, len(at))))
            leaks = () if chosen is not None else _leaks(parts[0])
            kept = [j for j in rows.schema.used.tolist() if rows.schema.names[j] not in leaks]
            return self._score_target(rows, parts, kept, leaks, are_chosen=chosen is not None), missing
        except DataError as error:
            return None, [*missing, Verdict("TZ503", f"No model is scored on the second table: {error}")]

    def _check_chosen(self, chosen: Sequence[str] | None) -> list[Verdict]:
        """Raise ValueError for a column of the model that the first table lacks, and return a note on those of the first alone."""
        names = self.tables[0].column_names
        for name in chosen or ():
            if name not in names:
                raise ValueError(
                    f"columns names {quote_name(name)}, which is not in the first table{suggestion(name, names)}."
                )
        shared = {one.name for one in self.shared}
        absent = [name for name in chosen or () if name not in shared]
        if not absent:
            return []
        listed = ", ".join(map(quote_name, absent))
        return [Verdict("TZ213", f"Columns of the model that cannot be read from the second table: {listed}.", absent)]

    def _score_target(
        self,
        rows: Table,
        parts: tuple[Table, Table],
        kept: list[int],
        leaks: tuple[str, ...],
        *,
        are_chosen: bool,
    ) -> TargetDrift:
        used = select_columns(rows, kept)
        n_splits = min(len(make_folds(part, _N_FOLDS, self.seed)) for part in parts)
        own, new = (make_folds(part, n_splits, self.seed) for part in parts)
        n = parts[0].schema.n_rows
        # Each model is scored on its own test rows, and on a part of the second table.
        pairs = [
            *(Fold(one.train, one.test) for one in own),
            *(Fold(one.train, n + other.test) for one, other in zip(own, new, strict=True)),
        ]
        folds = Folds(tuple(pairs), f"{n_splits} folds of each table")
        model = resolve_model(_MODEL, used.schema)
        scoring = resolve_scorings(None, used, folds, [model])[0][0]
        first, second = np.split(score_folds(model, used, folds, scoring, seed=self.seed).values[0, 0], 2)
        scores = [FoldScores(values, own.variance_factor) for values in (first, second, second - first)]
        own_interval, new_interval = (
            one.interval if scoring.name == "r2" else _within(one.interval) for one in scores[:2]
        )
        assert rows.schema.target is not None
        return TargetDrift(
            target=rows.schema.target.name,
            model=model.label,
            scorer=scoring.name,
            columns=tuple(rows.schema.names[j] for j in kept),
            are_chosen=are_chosen,
            scores=(scores[0].mean, scores[1].mean),
            intervals=(own_interval, new_interval),
            difference=scores[2].mean,
            difference_interval=scores[2].interval,
            n_folds=n_splits,
            leaks=leaks,
            associations=self._compare_associations(tuple(select_columns(part, kept) for part in parts)),
        )

    def _compare_associations(self, parts: tuple[Table, ...]) -> tuple[AssociationDrift, ...]:
        """Return the associations that have the same measure in both tables, the most different first."""
        described = [{one.column: one for one in describe_associations(part)} for part in parts]
        importance = [
            TreeImportance(missing="category", max_levels=_MAX_LEVELS, random_state=self.seed).score(part)
            for part in parts
        ]
        ranks = [np.argsort(np.argsort(-scores, kind="stable")) + 1 for scores in importance]
        found, p_values = [], []
        for name, one in described[0].items():
            other = described[1].get(name)
            if other is None or one.effect is None or other.effect is None:
                continue
            a, b = one.effect, other.effect
            signed = a.measure == "standard deviations"
            if a.measure != b.measure or (signed and a.of != b.of):
                continue
            # Ratios are compared on the scale on which they are normal.
            scale = np.log if a.measure == "odds ratio" else np.asarray
            ends = [scale([effect.interval[0], effect.value, effect.interval[1]]) for effect in (a, b)]
            difference = float(ends[1][1] - ends[0][1])
            # The half-lengths of the intervals on the sides that face the other value.
            low, high = ends if difference >= 0 else ends[::-1]
            half = float(np.hypot(low[2] - low[1], high[1] - high[0]))
            p_values.append(t_p_value(abs(difference) / (half / 1.96), np.inf) if half > 0 else 1.0)
            j = parts[0].schema.names.index(name)
            found.append(
                AssociationDrift(
                    column=name,
                    measure=a.measure,
                    of=a.of if signed else "",
                    values=(a.value, b.value),
                    difference=difference,
                    difference_interval=(difference - half, difference + half),
                    adjusted=1.0,
                    ranks=(int(ranks[0][j]), int(ranks[1][j])),
                )
            )
        adjusted = adjust_p_values(p_values) if found else ()
        evaluated = [replace(one, adjusted=float(p)) for one, p in zip(found, adjusted, strict=True)]
        return tuple(sorted(evaluated, key=lambda one: (one.adjusted, -abs(one.difference))))

    def find_new_rows(self, rows: Table) -> NewRows | None:
        """Return the rows of the second table that are far from all rows of the first; None where no column varies."""
        schema, n = rows.schema, self.sample[0]
        n_distinct = {
            schema.names[j]: len(np.unique(values[~np.isnan(values)]))
            for j, values in ((j, rows.column(j)) for j in schema.numeric)
        }
        own = choose_map_columns("numeric", schema, "seuclidean", n_distinct)
        view = rows if own is None else select_columns(rows, own)
        varied = [j for j in view.schema.used.tolist() if not view.schema.columns[j].constant]
        if not varied:
            return None
        view = select_columns(view, varied)
        # Standardised on both tables: on the first alone, its rows would be nearer to each other than to new ones.
        coordinates, _ = TableEncoder.fit(view, standardize=True, fill_missing=True)
        points, new = coordinates[:n], coordinates[n:]
        own_points = EuclideanPoints(points)
        index = choose_exact_search(own_points).fit(own_points)
        distances = [index.query(1, other).distances.ravel() for other in (None, own_points.new_points(new))]
        limit = float(np.quantile(distances[0], _INSIDE, method="higher"))
        outside = [own > limit * (1 + 1e-9) for own in distances]
        counts = [(float(np.count_nonzero(part)), float(len(part))) for part in outside]
        farthest = np.argsort(-distances[1], kind="stable")[:_ROWS_NAMED]
        numeric, row_numbers = view.schema.numeric, self.tables[1].row_numbers
        # Deviations of the numbers in units of the first table.
        numbers = (new - points.mean(axis=0))[:, : len(numeric)]
        numbers = numbers / np.maximum(points.std(axis=0), 1e-9)[: len(numeric)]
        named = []
        for row in farthest[outside[1][farthest]].tolist():
            most = int(np.argmax(np.abs(numbers[row]))) if numeric else -1
            named.append(
                OutsideRow(
                    row=int(row_numbers[self.rows[1][row]]),
                    distance=float(distances[1][row] / (limit or 1.0)),
                    column=view.schema.names[numeric[most]] if numeric else "",
                    deviations=float(numbers[row, most]) if numeric else 0.0,
                )
            )
        first, second = (select_rows(view, part) for part in (np.arange(n), np.arange(n, len(coordinates))))
        return NewRows(
            columns=tuple(view.schema.names[j] for j in varied),
            limit=limit,
            n_rows=self.sample,
            share=counts[1][0] / counts[1][1],
            p_value=share_p_value(*counts),
            rows=tuple(named),
            **self._map_rows(first, second, outside[1]),
        )

    def _map_rows(self, first: Table, second: Table, outside: Masks) -> dict[str, Any]:
        """Return points on the first two principal components of the first table, and the group of each."""
        pca = PCA(2, standardize=True)
        placed = [pca.fit(first).embedding_, pca.transform(second)] if first.schema.n_coordinates > 1 else []
        if not placed or placed[0].shape[1] < 2:
            return {"points": (), "groups": (), "explained": (0.0, 0.0)}
        rng = np.random.default_rng(self.seed)
        rows = [sample_rows(len(part), _MAX_POINTS, rng) for part in placed]
        points = np.concatenate([part[own] for part, own in zip(placed, rows, strict=True)])
        groups = np.concatenate([np.zeros(len(rows[0]), dtype=int), np.where(outside[rows[1]], 3, 1)])
        return {
            "points": tuple((float(f"{x:.4g}"), float(f"{y:.4g}")) for x, y in points.tolist()),
            "groups": tuple(groups.tolist()),
            "explained": tuple(pca.explained_variance_ratio_[:2].tolist()),
        }


def _describe(name: str, table: Table) -> ComparedTable:
    schema = table.schema
    return ComparedTable(
        name=name, n_rows=schema.n_rows, n_effective=schema.n_effective, n_columns=len(table.column_names)
    )


def _no_frame(names: Sequence[str], rows: Indices) -> Any:  # noqa: ARG001 - the signature of a frame function
    raise DataError("Rows of two tables have no frame.")


def _within(interval: tuple[float, float]) -> tuple[float, float]:
    """Return an interval of a score between 0 and 1."""
    return max(interval[0], 0.0), min(interval[1], 1.0)


def _separating(compared: Collection[ColumnDrift]) -> dict[str, str]:
    """Return the columns that alone recognise the table of a row, and dates, with the reason."""
    found = {}
    for one in compared:
        if one.is_target:
            continue
        if one.kind == "date":
            found[one.name] = "a date"
        elif one.distance >= _SEPARATE or abs(one.missing[1] - one.missing[0]) >= _SEPARATE:
            found[one.name] = "alone it separates the tables"
    return found


def _leaks(table: Table) -> tuple[str, ...]:
    """Return the columns of possible target leakage, unless these are all columns."""
    names = tuple(dict.fromkeys(name for leak in find_leaks(table) for name in leak.names))
    return names if len(names) < len(table.schema.used) else ()

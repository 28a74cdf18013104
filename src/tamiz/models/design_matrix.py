"""The design matrix: the rows of a table as numbers, and sums over the training and test rows of folds.

`EncodedMatrix` has the rows in memory. Where they do not fit, or where workers read them, backends compute with the statistics
`TrainingSums`, `FoldProductSums` and `PredictionCounts` instead, which passes over the table or its workers fill.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats, Indices, Masks, divide_or_zero
from tamiz.exceptions import DataError
from tamiz.models.estimators import MatrixEncoding
from tamiz.models.folds import Fold, Folds
from tamiz.runtime import parallel
from tamiz.runtime.user_warnings import ImputationNote
from tamiz.runtime.validation import check_memory
from tamiz.runtime.verdicts import Verdict
from tamiz.search.base import Candidates
from tamiz.statistics.base import Block, Statistic
from tamiz.statistics.contingency import Coding, LevelCounts
from tamiz.statistics.cross_products import design_matrix
from tamiz.statistics.moments import Moments
from tamiz.table.base import Table, weights_or_ones
from tamiz.table.encode import CoordinateMoments, Encoding, check_has_features, level_indicators
from tamiz.table.schema import Column, Schema
from tamiz.table.worker_tasks import store_rows

# What reads the values, in the notes on their imputation.
CROSS_VALIDATED_MODELS = "models in cross-validation"
# Matrices of one fold that exist at once beside the table's: training and test rows of two threads, and intermediate results.
N_FOLD_MATRICES = 4
_TRAIN, _TEST = 1, 2


def column_to_floats(column: Column, values: NDArray[Any]) -> Floats:
    """Return a column as float64: False and True as 0 and 1, text of digits as numbers, missing values as NaN."""
    if values.dtype.kind == "f":
        return values.astype(np.float64, copy=False)
    numbers = np.array([0.0, 1.0] if column.kind == "boolean" else [float(level) for level in column.levels])
    if column.kind == "boolean" and len(column.levels) == 1:
        numbers = numbers[[int(column.levels == ("True",))]]
    return np.append(numbers, np.nan)[values]


class DesignEncoder:
    """Encodes rows of a table as numbers; a column of the table has one or more coordinates (columns of the numbers).

    "none" has the numbers as they are: False and True become 0 and 1, and text of digits becomes the number. "codes" has these, and
    the number of the level of each other category, with missing values as NaN. "indicators" has the
    numbers, then an indicator for each level of each category, with missing values as NaN. "standard" standardises these numbers
    and divides an indicator by the square root of its share; a missing value is the mean, or stays NaN with `impute=False`.

    Attributes
    ----------
    coordinates : list of ndarray
        For every column of the table its coordinates, ascending; none for an excluded column.
    column_of : ndarray of shape (n_coordinates,)
        The column of the table that each coordinate belongs to.
    fitted : list of (Encoding, ndarray)
        For every fold its standard encoding, and which coordinates have no value among its training rows.
    """

    def __init__(self, schema: Schema, encoding: MatrixEncoding, *, impute: bool = True) -> None:
        self.schema, self.encoding, self.impute = schema, encoding, impute and encoding == "standard"
        self.has_indicators = encoding in ("indicators", "standard")
        self.coordinates: list[Indices] = [np.empty(0, dtype=np.intp) for _ in range(schema.n_columns)]
        self.fitted: list[tuple[Encoding, Masks]] = []
        self._coded = {j for j in schema.categorical if not schema.columns[j].is_number_like}
        if not self.has_indicators:
            for j in sorted(self._coded) if encoding == "none" else ():
                raise DataError(f"Column {schema.columns[j].name!r} contains categories; pass encode=True.")
            for k, j in enumerate(schema.used.tolist()):
                self.coordinates[j] = np.array([k], dtype=np.intp)
        else:
            check_has_features(schema)
            done = 0
            for j in (*schema.numeric, *schema.categorical):
                width = 1 if schema.columns[j].is_number else len(schema.columns[j].levels)
                self.coordinates[j] = np.arange(done, done + width, dtype=np.intp)
                done += width
        self.n_coordinates = sum(map(len, self.coordinates))
        self.column_of = np.empty(self.n_coordinates, dtype=np.intp)
        for j, own in enumerate(self.coordinates):
            self.column_of[own] = j

    def for_columns(self, columns: Indices) -> DesignEncoder:
        """Return the encoder of some of the columns."""
        wanted = set(columns.tolist())
        schema = replace(
            self.schema,
            columns=tuple(
                one if j in wanted or one.exclusion_reason else replace(one, exclusion_reason="it is not selected")
                for j, one in enumerate(self.schema.columns)
            ),
        )
        made, at = DesignEncoder(schema, self.encoding, impute=self.impute), self.coordinates_of(columns)
        for encoding, absent in self.fitted:
            parts = (encoding.centre[at], encoding.scale[at], encoding.fill[at])
            own = Encoding([], schema.numeric, level_indicators(schema), *parts, 0)
            made.fitted.append((own, absent[at]))
        return made

    def values(self, block: Block) -> Floats:
        """Return the rows of a block before they are standardised, of shape (n_rows, n_coordinates)."""
        schema = self.schema
        if self.has_indicators:
            return design_matrix(block, schema.numeric, level_indicators(schema), np.float64)
        values = np.empty((len(block.rows), self.n_coordinates))
        for k, j in enumerate(schema.used.tolist()):
            found = block.column(j)
            values[:, k] = (
                np.where(found < 0, np.nan, found) if j in self._coded else column_to_floats(schema.columns[j], found)
            )
        return values

    def encode(self, values: Floats, fold: int, coordinates: Indices | None = None) -> Floats:
        """Return rows in the encoding of a fold; they are changed in place where it standardises."""
        if self.encoding != "standard":
            return values
        encoding, absent = self.fitted[fold]
        at = slice(None) if coordinates is None else coordinates
        values -= encoding.centre[at]
        values /= encoding.scale[at]
        missing = np.isnan(values)
        if self.impute and missing.any():
            values[missing] = np.broadcast_to(encoding.fill[at], values.shape)[missing]
        values[:, absent[at]] = 0.0
        return values

    def fit_fold(self, total: Floats, mean: Floats, squares: Floats) -> tuple[Encoding, Masks]:
        """Return the standard encoding of a fold, and which coordinates are absent in it.

        They follow from the weight, mean and sum of squares of every coordinate in its training rows.
        """
        n_numeric = len(self.schema.numeric)
        std = np.sqrt(divide_or_zero(squares, total - 1))
        absent = total == 0
        absent[n_numeric:] |= mean[n_numeric:] == 0
        return Encoding.from_moments(self.schema, mean, std[:n_numeric]), absent

    def notes(self) -> list[Verdict]:
        """Return a note on the imputation of missing values."""
        schema = self.schema
        of_numbers, of_levels = (
            sum(schema.columns[j].n_missing for j in kind) for kind in (schema.numeric, schema.categorical)
        )
        n = schema.n_missing if self.impute else 0
        values = "1 missing value counts" if n == 1 else f"{n:,} missing values count"
        mean, shares = "as the mean of the column", "as every level in its share"
        how = shares if not of_numbers else f"{mean}, or {shares}," if of_levels else mean
        return [ImputationNote(f"{values} {how} in the training rows of a fold.", CROSS_VALIDATED_MODELS)] if n else []

    def to_coordinates(self, candidates: Candidates) -> Candidates:
        """Return sets of columns as sets of their coordinates."""
        widths = np.array([len(own) for own in self.coordinates], dtype=np.intp)
        if self.n_coordinates == len(widths) and (widths == 1).all():
            return candidates
        flipped_widths = widths[candidates.flipped]
        starts = np.concatenate([[0], np.cumsum(flipped_widths)])[candidates.starts].astype(np.intp)
        flipped = [self.coordinates[j] for j in candidates.flipped.tolist()]
        parents = candidates.parents[:, self.column_of]
        return Candidates(
            parents, candidates.parent_index, starts, np.concatenate(flipped) if flipped else candidates.flipped
        )

    def coordinates_of(self, columns: Indices) -> Indices:
        """Return the coordinates of some columns, ascending."""
        return np.sort(np.concatenate([self.coordinates[j] for j in columns.tolist()]))


class EncodedMatrix(DesignEncoder):
    """The rows of a table as numbers.

    All folds have the coordinates of the whole table. A standardised coordinate whose column or level does not occur in the
    training rows of a fold is 0 in that fold. Only the table's values and the encodings are stored; rows are encoded on request.
    """

    def __init__(
        self, table: Table, folds: Sequence[Fold], encoding: MatrixEncoding = "standard", *, impute: bool = True
    ) -> None:
        super().__init__(table.schema, encoding, impute=impute)
        # The ids of the folds are unique as long as the folds exist.
        self._folds = tuple(folds)
        self._fold_numbers = {id(fold): number for number, fold in enumerate(self._folds)}
        self._values = self._read_values(table)
        if encoding == "standard":
            weight = weights_or_ones(table)
            moments = parallel.map_blocks(lambda fold: self._fold_moments(fold.train, weight), self._folds)
            self.fitted = [self.fit_fold(*one) for one in moments]

    def _read_values(self, table: Table) -> Floats:
        n_rows, width = self.schema.n_rows, self.n_coordinates
        what = f"A matrix of {n_rows:,} rows and {width:,} columns for an estimator"
        advice = "Leave columns out with kinds, or rows."
        if self.has_indicators:
            what = f"An encoded matrix of {n_rows:,} rows and {width:,} coordinates"
            advice = "Use naive Bayes without encode=True, or fewer rows."
        check_memory((1 + N_FOLD_MATRICES) * 8.0 * n_rows * width, what, advice)
        values = np.empty((n_rows, width))
        for block in table.blocks(self.schema.used.tolist()):
            values[block.rows.start : block.rows.stop] = self.values(block)
        return values

    def train_rows(self, fold: Fold, coordinates: Indices | None = None) -> Floats:
        """Return the training rows of a fold, of shape (n_train, n_coordinates), or some of their coordinates, as a copy."""
        return self._encode_rows(fold, fold.train, coordinates)

    def test_rows(self, fold: Fold, coordinates: Indices | None = None) -> Floats:
        """Return likewise the test rows of a fold."""
        return self._encode_rows(fold, fold.test, coordinates)

    def transposed_values(self) -> Floats | None:
        """Return the whole table as a matrix with a row for every coordinate, None where the encoding differs between folds."""
        return None if self.encoding == "standard" else np.ascontiguousarray(self._values.T)

    def _encode_rows(self, fold: Fold, rows: Indices, coordinates: Indices | None) -> Floats:
        encoded = self._values[rows] if coordinates is None else self._values[np.ix_(rows, coordinates)]
        # Without a standard encoding, rows of any fold are the same numbers.
        return self.encode(encoded, self._fold_numbers.get(id(fold), 0), coordinates)

    def _fold_moments(self, rows: Indices, weights: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the weight, mean and sum of squares of every coordinate in some rows."""
        weight = weights[rows]
        total, mean, squares = np.zeros((3, self.n_coordinates))
        for k in range(self.n_coordinates):
            # Column by column: a copy of all values of the fold would be as large as the table.
            values = self._values[rows, k]
            present = ~np.isnan(values)
            here, values = weight[present], values[present]
            total[k] = here.sum()
            if not len(values):
                continue
            # The mean of equal values is exactly that value: a rounding error would be scaled to unit variance.
            mean[k] = values[0] if (values == values[0]).all() else here @ values / total[k]
            squares[k] = here @ (values - mean[k]) ** 2
        return total, mean, squares


@dataclass(frozen=True)
class ColumnProducts:
    """Means of columns in classes, and weighted products of the columns about these means: mergeable.

    Attributes
    ----------
    class_weight : ndarray of shape (n_classes,)
        Weight of the rows.
    mean : ndarray of shape (n_classes, n_columns)
        0 in a class without rows, and without centring.
    scatter : ndarray of shape (n_columns, n_columns)
        Weighted products of columns about the class means.
    lowest, highest : ndarray of shape (n_columns,)
        The extreme values.
    """

    class_weight: Floats
    mean: Floats
    scatter: Floats
    lowest: Floats
    highest: Floats

    @classmethod
    def empty(cls, n_classes: int, width: int) -> ColumnProducts:
        low, high = np.full(width, np.inf), np.full(width, -np.inf)
        return cls(np.zeros(n_classes), np.zeros((n_classes, width)), np.zeros((width, width)), low, high)

    @property
    def max_abs(self) -> Floats:
        return np.maximum(self.highest, -self.lowest)

    @classmethod
    def from_rows(
        cls, rows: Floats, codes: NDArray[np.int64], weights: Floats, n_classes: int, *, centred: bool
    ) -> ColumnProducts:
        total = np.bincount(codes, weights, n_classes).astype(np.float64)
        mean = np.zeros((n_classes, rows.shape[1]))
        deviations = rows
        if centred:
            for k in np.flatnonzero(total):
                mean[k] = weights[codes == k] @ rows[codes == k] / total[k]
            deviations = rows - mean[codes]
        scatter = deviations.T @ (deviations * weights[:, None])
        return cls(total, mean, scatter, rows.min(axis=0), rows.max(axis=0))

    def merge(self, other: ColumnProducts) -> ColumnProducts:
        """Return the products of both sets of rows; only squares are added, so nothing cancels."""
        total = self.class_weight + other.class_weight
        share = divide_or_zero(other.class_weight, total)
        between = np.where(
            (self.class_weight > 0)[:, None] & (other.class_weight > 0)[:, None], other.mean - self.mean, 0.0
        )
        mean = np.where((self.class_weight > 0)[:, None], self.mean + share[:, None] * between, other.mean)
        apart = between * np.sqrt(self.class_weight * share)[:, None]
        return ColumnProducts(
            total,
            mean,
            self.scatter + other.scatter + apart.T @ apart,
            np.minimum(self.lowest, other.lowest),
            np.maximum(self.highest, other.highest),
        )


def leave_one_out(parts: Sequence[ColumnProducts], outside: ColumnProducts | None) -> Iterator[ColumnProducts]:
    """Yield for each part the merged products of all other parts and of `outside`, by halving: each is merged log(n) times."""
    if len(parts) == 1:
        assert outside is not None
        yield outside
        return
    halves = parts[: len(parts) // 2], parts[len(parts) // 2 :]
    for mine, others in (halves, halves[::-1]):
        merged = merge_products(others)
        yield from leave_one_out(mine, merged if outside is None else outside.merge(merged))


def merge_products(parts: Sequence[ColumnProducts]) -> ColumnProducts:
    """Return the products of all rows of one or more parts, merged in a balanced tree."""
    if len(parts) == 1:
        return parts[0]
    return merge_products(parts[: len(parts) // 2]).merge(merge_products(parts[len(parts) // 2 :]))


@dataclass(frozen=True, eq=False)
class RowRoles:
    """In which folds each row is a training or test row, and further values of the rows, as tasks on workers read them.

    Attributes
    ----------
    roles : tuple
        For every fold a column.
    values : tuple
        Further columns.
    arrays : tuple
        What the columns are stored from; a stored column is deleted with its array.
    """

    roles: tuple[Any, ...]
    values: tuple[Any, ...] = ()
    arrays: tuple[NDArray[Any], ...] = ()

    @classmethod
    def of(cls, table: Table, folds: Folds) -> RowRoles:
        roles = np.zeros((len(folds), table.schema.n_rows), dtype=np.int8)
        for own, fold in zip(roles, folds, strict=True):
            own[fold.train] |= _TRAIN
            own[fold.test] |= _TEST
        return cls(tuple(store_rows(table.workers, own) for own in roles), (), tuple(roles))

    def with_values(self, table: Table, values: Iterable[NDArray[Any]]) -> RowRoles:
        arrays = tuple(values)
        stored = tuple(store_rows(table.workers, one) for one in arrays)
        return RowRoles(self.roles, stored, (*self.arrays, *arrays))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "arrays": ()}

    def rows(self, block: Block, fold: int, role: int) -> Indices:
        own = np.asarray(self.roles[fold][block.rows.start : block.rows.stop])
        return np.flatnonzero(own & role)

    def at(self, block: Block, value: int) -> NDArray[Any]:
        return np.asarray(self.values[value][block.rows.start : block.rows.stop])


def has_repeated_rows(folds: Folds) -> bool:
    """Return whether a row occurs more than once among the training or test rows of a fold."""
    return any((np.diff(rows) == 0).any() for fold in folds for rows in (fold.train, fold.test))


class _FoldStatistic(Statistic):
    """Base class of sums that know the roles of the rows; they leave them on the worker."""

    roles: RowRoles

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "roles": None if self.n_samples else self.roles}

    def update(self, block: Block) -> Self:
        values = {j: np.asarray(values) for j, values in block.values.items()}
        self._add_rows(replace(block, values=values, numeric_matrix=None), self.roles)
        self.n_samples += len(block.rows)
        return self

    def merge(self, other: Self) -> Self:
        self._add_sums(other)
        self.n_samples += other.n_samples
        return self

    @abstractmethod
    def _add_rows(self, block: Block, roles: RowRoles) -> None:
        """Add the rows of a block."""

    @abstractmethod
    def _add_sums(self, other: Self) -> None:
        """Add the sums of other rows."""


@dataclass(eq=False)
class TrainingSums(_FoldStatistic):
    """Copies of statistics, filled with the training rows of every fold (`folds`)."""

    statistics: tuple[Any, ...] = field(compare=False)
    roles: RowRoles

    def __post_init__(self) -> None:
        self.columns = tuple(sorted({j for one in self.statistics for j in one.columns}))
        self.folds = [[one.empty() for one in self.statistics] for _ in self.roles.roles]

    @property
    def key(self) -> Hashable:
        return super().key, *(one.key for one in self.statistics)

    def _add_rows(self, block: Block, roles: RowRoles) -> None:
        for fold, own in enumerate(self.folds):
            rows = roles.rows(block, fold, _TRAIN)
            y, weight = (None if one is None else one[rows] for one in (block.y, block.weight))
            part = Block(range(len(rows)), {j: values[rows] for j, values in block.values.items()}, y, weight)
            for statistic in own if len(rows) else ():
                statistic.update(part)

    def _add_sums(self, other: Self) -> None:
        for mine, theirs in zip(self.folds, other.folds, strict=True):
            for one, two in zip(mine, theirs, strict=True):
                one.merge(two)

    def finish(self) -> None:
        for own in self.folds:
            for statistic in own:
                statistic.finish()


@dataclass(eq=False)
class FoldProductSums(_FoldStatistic):
    """Products of the coordinates of the training and the test rows of every fold, about their means in classes.

    The first value of the roles is the class of each row; the others are targets, which become the last coordinates. `train` and
    `test` have the products of every fold.
    """

    encoder: DesignEncoder
    roles: RowRoles
    n_classes: int
    centred: bool

    def __post_init__(self) -> None:
        self.columns = tuple(self.encoder.schema.used.tolist())
        width = self.encoder.n_coordinates + len(self.roles.values) - 1
        self.train, self.test = (
            [ColumnProducts.empty(self.n_classes, width) for _ in self.roles.roles] for _ in range(2)
        )

    def _add_rows(self, block: Block, roles: RowRoles) -> None:
        values = self.encoder.values(block)
        codes, weights = roles.at(block, 0).astype(np.int64), block.weight_or_ones
        targets = [roles.at(block, k) for k in range(1, len(roles.values))]
        # A NaN, or a value that is too large to be squared, makes a sum NaN or infinite: a refit then reports it.
        with np.errstate(invalid="ignore", over="ignore"):
            for fold in range(len(roles.roles)):
                encoded = np.column_stack([self.encoder.encode(values.copy(), fold), *targets])
                for sums, role in ((self.train, _TRAIN), (self.test, _TEST)):
                    rows = roles.rows(block, fold, role)
                    if len(rows):
                        given = encoded[rows], codes[rows], weights[rows]
                        products = ColumnProducts.from_rows(*given, self.n_classes, centred=self.centred)
                        sums[fold] = sums[fold].merge(products)

    def _add_sums(self, other: Self) -> None:
        with np.errstate(invalid="ignore", over="ignore"):
            for mine, theirs in ((self.train, other.train), (self.test, other.test)):
                mine[:] = [one.merge(two) for one, two in zip(mine, theirs, strict=True)]


# predict(block, test_rows, codes, counts, doubtful) adds to the counts of every candidate and fold the weights of a block's test
# rows by class and predicted class, and fills in which of them rounding could change. On workers it must be a picklable object.
Predict = Callable[[Block, list[Indices], NDArray[np.int64], Floats, Masks], None]


@dataclass(eq=False)
class PredictionCounts(_FoldStatistic):
    """Confusion counts of candidates in every fold, and in which folds rounding could change them.

    `columns` are predicted from; the first value of the roles is the class of each row. `counts` has the shape (n_candidates,
    n_folds, n_classes, n_classes), `doubtful` the shape (n_candidates, n_folds).
    """

    columns: tuple[int, ...]
    roles: RowRoles
    predict: Predict = field(compare=False)
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        self.counts, self.doubtful = np.zeros(self.shape), np.zeros(self.shape[:2], dtype=bool)

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        return {**state, "predict": None} if self.n_samples else state

    def _add_rows(self, block: Block, roles: RowRoles) -> None:
        doubtful = np.zeros_like(self.doubtful)
        test_rows = [roles.rows(block, fold, _TEST) for fold in range(len(roles.roles))]
        self.predict(block, test_rows, roles.at(block, 0).astype(np.int64), self.counts, doubtful)
        self.doubtful |= doubtful

    def _add_sums(self, other: Self) -> None:
        self.counts += other.counts
        self.doubtful |= other.doubtful


def fit_encodings(encoder: DesignEncoder, table: Table, roles: RowRoles) -> None:
    """Fit the standard encoding of every fold in a pass over the table."""
    schema = table.schema
    (sums,) = table.reduce(
        TrainingSums((Moments(schema.numeric), LevelCounts(schema.categorical, Coding(schema.n_levels, {}))), roles)
    )
    for moments, counts in sums.folds:
        found = CoordinateMoments.of(moments, counts)
        encoder.fitted.append(encoder.fit_fold(found.present_weight, found.mean, found.squared_deviations))

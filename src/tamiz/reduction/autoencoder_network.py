"""The network of an autoencoder: encoding of a mixed table, dense layers, the loss of reconstructions, and training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Self

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats, Indices, Masks, divide_or_zero
from tamiz.exceptions import DataError
from tamiz.kernels.matrix_products import project_rows
from tamiz.runtime import parallel, progress
from tamiz.runtime.verdicts import Verdict
from tamiz.statistics.base import Block
from tamiz.storage.invariants import Condition, FloatArray, InstanceOf, Integer, IntegerArray, Invariants, ListOf
from tamiz.table.base import Table
from tamiz.table.encode import check_has_features, coordinate_moments
from tamiz.table.factory import align_to_schema
from tamiz.table.schema import Schema

# Most levels of a categorical column, and so most outputs of its softmax head: rarer levels are merged into one.
MAX_LEVELS = 64
# The level that replaces the rarer ones.
OTHER_LEVELS = "(other levels)"
# Largest number of columns named in a note.
_MAX_NAMED_COLUMNS = 5


@dataclass(frozen=True)
class EncodedRows:
    """Rows as numbers and codes.

    Attributes
    ----------
    numbers : ndarray of shape (n_rows, n_numeric)
        The scaled numeric columns; 0, which is the mean, for a missing value.
    present : ndarray of shape (n_rows, n_numeric), bool, or None
        Where a number is not missing; None if none is.
    codes : ndarray of shape (n_rows, n_categorical), int32
        Levels after merging; -1 for a missing value.
    """

    numbers: NDArray[Any]
    present: Masks | None
    codes: NDArray[np.int32]

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        if len(parts) == 1:
            return parts[0]
        present = [np.ones(part.numbers.shape, dtype=bool) if part.present is None else part.present for part in parts]
        return cls(
            np.concatenate([part.numbers for part in parts]),
            None if all(part.present is None for part in parts) else np.concatenate(present),
            np.concatenate([part.codes for part in parts]),
        )

    def __len__(self) -> int:
        return len(self.numbers)

    def take(self, rows: Indices | slice) -> EncodedRows:
        present = None if self.present is None else self.present[rows]
        return EncodedRows(self.numbers[rows], present, self.codes[rows])


@dataclass(frozen=True)
class LevelTable:
    """A categorical column.

    Attributes
    ----------
    merged : ndarray of shape (n_levels,), int32
        For each level of the table, its number after merging.
    shares : ndarray of shape (n_merged,)
        Share of each level among the present values.
    """

    merged: NDArray[np.int32]
    shares: Floats

    invariants: ClassVar[Invariants] = {
        "shares": FloatArray("k", low=0.0, high=1.0),
        "merged": (
            IntegerArray("l", dtypes=(np.int32,)),
            Condition(lambda it: len(it.merged) == 0 or it.merged.max() < len(it.shares), "has no share for a level"),
        ),
    }

    @classmethod
    def from_shares(cls, shares: Floats) -> Self:
        """Merge the rarest levels, the last of equal ones first, if there are more than `MAX_LEVELS`."""
        merged = np.arange(len(shares), dtype=np.int32)
        if len(shares) > MAX_LEVELS:
            frequent = np.sort(np.argsort(-shares, kind="stable")[: MAX_LEVELS - 1])
            merged = np.full(len(shares), MAX_LEVELS - 1, dtype=np.int32)
            merged[frequent] = np.arange(MAX_LEVELS - 1)
            shares = np.bincount(merged, weights=shares, minlength=MAX_LEVELS).astype(np.float64)
        return cls(merged, shares)

    @property
    def variance(self) -> float:
        return float(np.sum(self.shares * (1.0 - self.shares)))

    @property
    def entropy(self) -> float:
        present = self.shares[self.shares > 0]
        return -float(np.sum(present * np.log(present)))

    @cached_property
    def coordinates(self) -> Floats:
        """The centred indicators of each level, divided by the root of their total variance.

        The last row is that of a missing value, 0.
        """
        table = np.zeros((len(self.shares) + 1, len(self.shares)))
        if (variance := self.variance) > 0:
            table[:-1] = (np.eye(len(self.shares)) - self.shares) / np.sqrt(variance)
        return table

    def level_names(self, levels: tuple[str, ...]) -> list[str]:
        names = [OTHER_LEVELS] * len(self.shares)
        if len(self.shares) == len(levels):
            return list(levels)
        for level, code in zip(levels, self.merged.tolist(), strict=True):
            if code < len(names) - 1:
                names[code] = level
        return names


def _matches_schema(it: Any) -> bool:
    """Return whether the fields of an encoder have one entry for each column of its schema, and as many levels."""
    columns, levels = it.schema.columns, [len(table.merged) for table in it.levels]
    return (
        len(it.mean) == len(it.schema.numeric)
        and levels == [len(columns[j].levels) for j in it.schema.categorical]
        and len(it.variances) == len(it.mean) + len(levels)
    )


@dataclass(frozen=True)
class ColumnEncoder:
    """Encoder of the columns of a table: scaled numbers, and codes of levels.

    The columns of an encoded table are its numeric columns, then its categorical columns. The coordinates are the numbers, then an
    indicator for each level.

    Attributes
    ----------
    schema : Schema
    mean, scale : ndarray of shape (n_numeric,)
        A number is (x - mean) / scale, where the scale is a standard deviation with n. A scale of 0 marks a constant column, whose
        number is 0.
    variances : ndarray of shape (n_columns,)
        Variance of each encoded column, in total over the indicators of a categorical one; 0 for a constant column.
    levels : tuple of LevelTable
    """

    schema: Schema
    mean: Floats
    scale: Floats
    variances: Floats
    levels: tuple[LevelTable, ...]

    invariants: ClassVar[Invariants] = {
        "schema": InstanceOf(Schema),
        "mean": FloatArray("p"),
        "scale": FloatArray("p", low=0.0),
        "variances": FloatArray("q", low=0.0),
        "levels": (
            ListOf(InstanceOf(LevelTable)),
            Condition(_matches_schema, "does not fit the columns of the schema"),
        ),
    }

    @classmethod
    def fit(cls, table: Table, *, standardize: bool) -> Self:
        """Compute means, scales and shares in one pass over the data.

        Without `standardize`, all numeric columns are divided by the root of their mean variance, which keeps the ratios of their
        variances.
        """
        schema = table.schema
        check_has_features(schema)
        moments, p = coordinate_moments(table), len(schema.numeric)
        # With n, as the errors are means over the rows, so that predictions of the means lose 1.
        spread = np.sqrt(divide_or_zero(moments.squared_deviations, moments.present_weight)[:p])
        start, tables = p, []
        for j in schema.categorical:
            stop = start + len(schema.columns[j].levels)
            tables.append(LevelTable.from_shares(moments.mean[start:stop]))
            start = stop
        largest = spread.max(initial=0.0)
        common = largest * np.sqrt(np.mean((spread / largest) ** 2)) if largest > 0 else 0.0
        scale = spread if standardize else np.where(spread > 0, common, 0.0)
        numbers = np.divide(spread, scale, out=np.zeros(p), where=scale > 0) ** 2
        variances = np.concatenate([numbers, [float(one.variance > 0) for one in tables]])
        if not variances.any():
            raise DataError("All columns are constant, so that there is nothing to encode.")
        return cls(schema, moments.mean[:p], scale, variances, tuple(tables))

    def table_schema(self) -> Schema:
        return self.schema

    @property
    def columns(self) -> tuple[int, ...]:
        return self.schema.numeric + self.schema.categorical

    @cached_property
    def level_spans(self) -> list[slice]:
        ends = np.cumsum([len(self.mean), *(len(table.shares) for table in self.levels)]).tolist()
        return [slice(start, stop) for start, stop in pairwise(ends)]

    @property
    def n_coordinates(self) -> int:
        return self.level_spans[-1].stop if self.levels else len(self.mean)

    def merged_level_notes(self) -> list[Verdict]:
        """Return a note on columns whose rarest levels are merged; empty if there are none."""
        names = [self.schema.columns[j].name for j in self.schema.categorical]
        merged = {
            name: f"{len(table.merged) - MAX_LEVELS + 1:,} of {len(table.merged):,} levels of {name}"
            for name, table in zip(names, self.levels, strict=True)
            if len(table.merged) > len(table.shares)
        }
        if not merged:
            return []
        more = f", and of {len(merged) - _MAX_NAMED_COLUMNS:,} more columns" if len(merged) > _MAX_NAMED_COLUMNS else ""
        listed = ", ".join(list(merged.values())[:_MAX_NAMED_COLUMNS])
        return [Verdict("TZ505", f"Autoencoder: the rarest levels are merged: {listed}{more}.", merged)]

    def read(self, X: Any) -> Table:
        """Align new rows with the columns of the fit; unknown levels become missing, with a warning."""
        return align_to_schema(X, self.schema)

    def encode(self, block: Block, dtype: type[np.floating[Any]] = np.float64) -> EncodedRows:
        values = block.matrix(self.schema.numeric)
        present = ~np.isnan(values)
        with np.errstate(over="ignore", invalid="ignore"):
            values = np.divide(
                values - self.mean, self.scale, out=np.zeros_like(values), where=present & (self.scale > 0)
            )
            numbers = values.astype(dtype, copy=False)
        codes = np.empty((len(values), len(self.levels)), dtype=np.int32)
        for k, (j, table) in enumerate(zip(self.schema.categorical, self.levels, strict=True)):
            # The last entry is that of a missing value, -1.
            codes[:, k] = np.append(table.merged, np.int32(-1))[block.column(j)]
        return EncodedRows(numbers, None if present.all() else present, codes)

    def coordinates(self, rows: EncodedRows) -> NDArray[Any]:
        """Return the inputs of the network, of shape (n_rows, n_coordinates); a missing value is 0 in each coordinate."""
        if not self.levels:
            return np.ascontiguousarray(rows.numbers)
        points = np.empty((len(rows), self.n_coordinates), rows.numbers.dtype)
        points[:, : len(self.mean)] = rows.numbers
        for k, (table, span) in enumerate(zip(self.levels, self.level_spans, strict=True)):
            points[:, span] = table.coordinates[rows.codes[:, k]]
        return points

    def decode(self, outputs: Floats) -> dict[str, NDArray[Any]]:
        """Return reconstructed columns by name: numbers in the units of the table, and the most probable level of each category.
        The outputs are numbers, and for each level the logarithm of its probability up to a constant.
        """
        columns = self.schema.columns
        found: dict[str, NDArray[Any]] = {}
        for k, j in enumerate(self.schema.numeric):
            found[columns[j].name] = outputs[:, k] * self.scale[k] + self.mean[k]
        for j, table, span in zip(self.schema.categorical, self.levels, self.level_spans, strict=True):
            levels = table.level_names(columns[j].levels)
            is_boolean = columns[j].kind == "boolean" and set(levels) <= {"False", "True"}
            names = np.array([level == "True" for level in levels] if is_boolean else levels, dtype=object)
            found[columns[j].name] = names[outputs[:, span].argmax(axis=1)]
        return {columns[j].name: found[columns[j].name] for j in self.schema.used.tolist()}

    def to_frame(self, columns: dict[str, NDArray[Any]], like: nw.DataFrame[Any]) -> Any:
        """Return columns from `decode` as a data frame of the library of another frame; dates become dates again."""
        kinds = {column.name: column.kind for column in self.schema.columns}
        series = [
            nw.new_series(name, self._to_native(values, kinds[name]), backend=like.implementation)
            for name, values in columns.items()
        ]
        frame = nw.from_dict({one.name: one for one in series}).to_native()
        if like.implementation.is_pandas():
            frame.index = like.to_native().index
        return frame

    @staticmethod
    def _to_native(values: NDArray[Any], kind: str) -> Any:
        if kind == "date":
            return values.round().astype("datetime64[s]").astype("datetime64[us]")
        return values.tolist() if values.dtype == object else values


# The smallest share whose logarithm is an initial bias: a level that does not occur has none.
_MIN_SHARE = 1e-6


class ReconstructionLoss:
    """The loss of a row: squared errors of its numbers, plus the cross entropy of each category over the entropy of its shares.

    It is divided by the sum of the variances of the columns, where a categorical column counts as 1: means and shares in place of
    the values have the mean loss 1. A missing value adds nothing.
    """

    def __init__(self, encoder: ColumnEncoder) -> None:
        self._encoder, self._n_numbers = encoder, len(encoder.mean)
        self._total = float(encoder.variances.sum())
        self._level_weights = [1.0 / table.entropy if table.variance > 0 else 0.0 for table in encoder.levels]

    def initial_biases(self) -> Floats:
        """Return biases of the output layer for which the reconstructions are the means and the shares of the levels."""
        shares = [np.log(np.maximum(table.shares, _MIN_SHARE)) for table in self._encoder.levels]
        return np.concatenate([np.zeros(self._n_numbers), *shares])

    def differentiate(self, outputs: NDArray[Any], rows: EncodedRows, n_batch: int) -> float:
        """Return the sum of the losses of rows, and replace the outputs by the derivatives of this sum divided by n_batch."""
        unit = outputs.dtype.type(1.0 / (self._total * n_batch))
        residuals = outputs[:, : self._n_numbers]
        residuals -= rows.numbers
        if rows.present is not None:
            residuals *= rows.present
        loss = float(np.square(residuals).sum(dtype=np.float64))
        residuals *= 2 * unit
        for k, (weight, span) in enumerate(zip(self._level_weights, self._encoder.level_spans, strict=True)):
            present = np.flatnonzero(rows.codes[:, k] >= 0)
            codes = rows.codes[present, k]
            probabilities, entropies = _softmax(outputs[present, span], codes)
            loss += weight * float(entropies.sum(dtype=np.float64))
            probabilities[np.arange(len(present)), codes] -= 1
            probabilities *= unit * outputs.dtype.type(weight)
            outputs[:, span] = 0.0
            outputs[present, span] = probabilities
        return loss / self._total

    def squared_errors(self, outputs: Floats, rows: EncodedRows) -> Floats:
        """Return the squared error of each value, in units in which `variances` of the encoder are those of the columns.

        The error of a category is the sum over its levels of the squared differences between indicator and probability, divided by
        the total variance of the indicators.
        A missing value has NaN.
        """
        points = outputs.copy()
        for table, span in zip(self._encoder.levels, self._encoder.level_spans, strict=True):
            if table.variance > 0:
                probabilities, _ = _softmax(outputs[:, span].copy(), np.zeros(len(outputs), dtype=np.int32))
                points[:, span] = (probabilities - table.shares) / np.sqrt(table.variance)
        return self.coordinate_errors(points, rows)

    def coordinate_errors(self, points: Floats, rows: EncodedRows) -> Floats:
        """Return the squared error of each value, as `squared_errors` does, from reconstructed coordinates."""
        encoder = self._encoder
        errors = np.empty((len(points), len(encoder.variances)))
        numbers = points[:, : self._n_numbers] - rows.numbers
        errors[:, : self._n_numbers] = numbers**2
        if rows.present is not None:
            errors[:, : self._n_numbers][~rows.present] = np.nan
        for k, (table, span) in enumerate(zip(encoder.levels, encoder.level_spans, strict=True)):
            differences = points[:, span] - table.coordinates[rows.codes[:, k]]
            own = np.square(differences).sum(axis=1)
            own[rows.codes[:, k] < 0] = np.nan
            errors[:, self._n_numbers + k] = own
        errors[:, encoder.variances == 0] *= 0.0
        return errors


def _softmax(logits: NDArray[Any], codes: NDArray[np.int32]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Replace logits by probabilities; return these and the cross entropy of the level `codes` of each row."""
    logits -= logits.max(axis=1, keepdims=True)
    chosen = logits[np.arange(len(logits)), codes]
    np.exp(logits, out=logits)
    sums = logits.sum(axis=1)
    logits /= sums[:, None]
    return logits, np.log(sums) - chosen


# The output layer starts small, so that the first reconstructions are close to the means.
_INITIAL_OUTPUT_SCALE = 0.1


@dataclass(frozen=True)
class Network:
    """Dense layers y = W x + b, followed by the exponential linear unit except in the layer of the code and in the last one.

    Attributes
    ----------
    weights : tuple of ndarray of shape (n_outputs, n_inputs)
        One matrix for each layer.
    biases : tuple of ndarray of shape (n_outputs,)
    n_encoder_layers : int
        The outputs of this layer, counted from 1, are the code.

    References
    ----------
    Clevert, Unterthiner and Hochreiter (2016), Fast and accurate deep network learning by exponential linear units, ICLR.
    """

    weights: tuple[NDArray[Any], ...]
    biases: tuple[NDArray[Any], ...]
    n_encoder_layers: int

    invariants: ClassVar[Invariants] = {
        "n_encoder_layers": Integer(low=1),
        "weights": ListOf(InstanceOf(np.ndarray)),
        "biases": (
            ListOf(InstanceOf(np.ndarray)),
            Condition(lambda it: _are_layers(it.weights, it.biases), "does not fit the weights"),
            Condition(lambda it: it.n_encoder_layers < len(it.weights), "is shorter than the encoder"),
        ),
    }

    @classmethod
    def from_vector(cls, parameters: NDArray[Any], sizes: Sequence[int], n_encoder_layers: int) -> Self:
        """Return the network whose weights and biases are views of one vector, in the order of the layers."""
        weights, biases, start = [], [], 0
        for n_inputs, n_outputs in pairwise(sizes):
            stop = start + n_inputs * n_outputs
            weights.append(parameters[start:stop].reshape(n_outputs, n_inputs))
            biases.append(parameters[stop : stop + n_outputs])
            start = stop + n_outputs
        return cls(tuple(weights), tuple(biases), n_encoder_layers)

    @property
    def n_coordinates(self) -> int:
        return len(self.biases[self.n_encoder_layers - 1])

    def initialize(self, rng: np.random.Generator, output_biases: Floats) -> None:
        """Draw normal weights that keep the variance of the inputs (He et al., ICCV 2015), and set the biases of the last layer."""
        last = len(self.weights) - 1
        for k, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            gain = _INITIAL_OUTPUT_SCALE if k == last else np.sqrt(2.0) if self._is_curved(k) else 1.0
            weight[:] = gain / np.sqrt(weight.shape[1]) * rng.standard_normal(weight.shape)
            bias[:] = output_biases if k == last else 0.0

    def _is_curved(self, layer: int) -> bool:
        """Return whether a layer ends with the exponential linear unit."""
        return layer not in (self.n_encoder_layers - 1, len(self.weights) - 1)

    def forward(self, inputs: NDArray[Any]) -> list[NDArray[Any]]:
        """Return the inputs, then the outputs of every layer, as products of BLAS, whose bits depend on the rows together."""
        values = [inputs]
        for k, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            outputs = values[-1] @ weight.T
            outputs += bias
            if self._is_curved(k):
                _apply_elu(outputs)
            values.append(outputs)
        return values

    def backward(self, values: Sequence[NDArray[Any]], slopes: NDArray[Any], gradient: Network) -> None:
        """Fill a network with the derivatives of a loss in the parameters, by backpropagation.
        `values` are those of `forward`, and `slopes` the derivatives of the loss in the outputs of the last layer.
        """
        for k in reversed(range(len(self.weights))):
            if self._is_curved(k):
                # The slope of exp(x) - 1 is the value plus 1, and that of x is 1.
                slopes *= np.minimum(values[k + 1], 0.0) + slopes.dtype.type(1.0)
            np.matmul(slopes.T, values[k], out=gradient.weights[k])
            np.sum(slopes, axis=0, out=gradient.biases[k])
            if k:
                slopes = slopes @ self.weights[k]

    def encode(self, inputs: Floats) -> Floats:
        """Return the codes of rows, of shape (n_rows, n_coordinates); a row has the same bits in every batch."""
        return self._run(inputs, range(self.n_encoder_layers))

    def decode(self, codes: Floats) -> Floats:
        """Return the outputs for codes, of shape (n_rows, n_outputs); a row has the same bits in every batch."""
        return self._run(codes, range(self.n_encoder_layers, len(self.weights)))

    def _run(self, values: Floats, layers: range) -> Floats:
        for k in layers:
            outputs = np.empty((len(values), len(self.biases[k])))
            project_rows(np.ascontiguousarray(values), self.weights[k], outputs)
            outputs += self.biases[k]
            if self._is_curved(k):
                _apply_elu(outputs)
            values = outputs
        return values

    def with_code(self, directions: Floats, centre: Floats) -> Network:
        """Return the network with the codes (z - centre) R for orthogonal directions R, and the same reconstructions."""
        weights, biases, k = list(self.weights), list(self.biases), self.n_encoder_layers
        biases[k - 1] = (biases[k - 1] - centre) @ directions
        weights[k - 1] = directions.T @ weights[k - 1]
        biases[k] = biases[k] + weights[k] @ centre
        weights[k] = weights[k] @ directions
        return Network(
            tuple(np.ascontiguousarray(weight, dtype=np.float64) for weight in weights),
            tuple(np.ascontiguousarray(bias, dtype=np.float64) for bias in biases),
            k,
        )


def _apply_elu(values: NDArray[Any]) -> None:
    """Replace negative values x by exp(x) - 1."""
    negative = np.minimum(values, 0.0)
    np.exp(negative, out=negative)
    negative -= 1.0
    np.maximum(values, negative, out=values)


def _are_layers(weights: Sequence[NDArray[Any]], biases: Sequence[NDArray[Any]]) -> bool:
    """Return whether arrays are layers of finite float64, each of which accepts the outputs of the one before."""
    if len(weights) != len(biases) or not all(
        array.dtype == np.float64
        and array.flags.c_contiguous
        and array.ndim == n_dimensions
        and np.isfinite(array).all()
        for arrays, n_dimensions in ((weights, 2), (biases, 1))
        for array in arrays
    ):
        return False
    chained = all(after.shape[1] == len(before) for before, after in pairwise(weights))
    return chained and all(len(weight) == len(bias) for weight, bias in zip(weights, biases, strict=True))


# Decay of the running means of the gradient and of its square, and the addition to the divisor (Kingma and Ba 2015).
_MEAN_DECAY, _SQUARE_DECAY, _EPSILON = 0.9, 0.999, 1e-8
# An epoch is progress if it lowers the loss of the last progress by this share for each step, within limits. Without progress in so
# many steps, within limits in epochs, the learning rate is multiplied by the factor, and training continues from the best
# parameters; it ends below the share of the first rate. Half as many steps end some linear networks on a plateau, 3 % above PCA.
_STEP_PROGRESS, _MIN_PROGRESS, _MAX_PROGRESS = 5e-6, 1e-4, 5e-3
_PATIENCE_STEPS, _MIN_PATIENCE, _MAX_PATIENCE = 400, 3, 50
_DECAY_FACTOR, _MIN_RATE_SHARE = 0.25, 1 / 64
# The mean loss of an epoch above which training diverges; means in place of the values have the loss 1.
_DIVERGED_LOSS = 10.0
# Products of a weight and a row in a task: smaller tasks take less time than the switch to another thread.
_PRODUCTS_PER_TASK, _MIN_TASK_ROWS = 2**23, 32
# Rows whose loss is computed together.
_ROWS_PER_EVALUATION = 1024


@dataclass(frozen=True)
class TrainingSettings:
    max_epochs: int
    batch_size: int
    learning_rate: float
    swap_noise: float


@dataclass(frozen=True)
class Training:
    """The parameters of the lowest loss of the held-out rows, the curve (see `training_curve_`), and how the training ended."""

    parameters: NDArray[np.float32]
    curve: Floats
    converged: bool
    n_diverged: int
    interrupted: bool


class Trainer:
    """Adam on minibatches of encoded rows, in float32.

    A minibatch is split into blocks of rows, whose gradients are added in the order of the blocks: the bits do not depend on the
    number of threads.
    """

    def __init__(
        self,
        encoder: ColumnEncoder,
        sizes: list[int],
        train: EncodedRows,
        validation: EncodedRows,
        settings: TrainingSettings,
        rng: np.random.Generator,
    ) -> None:
        self._encoder, self._loss = encoder, ReconstructionLoss(encoder)
        self._train, self._validation, self._settings, self._rng = train, validation, settings, rng
        n_parameters = sum(a * b + b for a, b in pairwise(sizes))
        self._parameters = np.zeros(n_parameters, dtype=np.float32)
        n_encoder_layers = len(sizes) // 2
        self._network = Network.from_vector(self._parameters, sizes, n_encoder_layers)
        self._network.initialize(rng, self._loss.initial_biases())
        self._task_rows = max(_MIN_TASK_ROWS, _PRODUCTS_PER_TASK // n_parameters)
        n_tasks = len(parallel.block_ranges(min(settings.batch_size, len(train)), self._task_rows))
        vectors = [np.zeros_like(self._parameters) for _ in range(n_tasks)]
        self._gradients = [(vector, Network.from_vector(vector, sizes, n_encoder_layers)) for vector in vectors]
        self._adam = _Adam(self._parameters)

    def run(self) -> Training:
        """Train until the loss of the held-out rows no longer decreases, or Ctrl-C after an epoch; return the best parameters."""
        settings, n_steps = self._settings, -(-len(self._train) // self._settings.batch_size)
        patience = int(np.clip(-(-_PATIENCE_STEPS // n_steps), _MIN_PATIENCE, _MAX_PATIENCE))
        progress_share = float(np.clip(_STEP_PROGRESS * n_steps, _MIN_PROGRESS, _MAX_PROGRESS))
        best, best_parameters = self._evaluate(self._validation), self._parameters.copy()
        goal = best * (1 - progress_share)
        rate, since, n_diverged, converged = settings.learning_rate, 0, 0, False
        curve: list[tuple[float, float]] = []
        interrupted = False
        while len(curve) < settings.max_epochs:
            try:
                trained = self._run_epoch(rate)
                found = self._evaluate(self._validation)
                progress.report_progress("Training the autoencoder", len(curve) + 1, settings.max_epochs)
            except KeyboardInterrupt:
                if not curve:
                    raise
                interrupted = True
                break
            curve.append((trained, found))
            diverged = not (trained <= _DIVERGED_LOSS and found < np.inf)
            n_diverged += diverged
            since += 1
            if not diverged and found < best:
                best = found
                best_parameters[:] = self._parameters
            if best < goal:
                goal, since = best * (1 - progress_share), 0
            if diverged or since >= patience:
                rate, since = rate * _DECAY_FACTOR, 0
                self._parameters[:] = best_parameters
                if diverged:
                    self._adam.reset()
                if rate < settings.learning_rate * _MIN_RATE_SHARE:
                    converged = True
                    break
        return Training(best_parameters, np.array(curve), converged, n_diverged, interrupted)

    def _run_epoch(self, rate: float) -> float:
        """Take a step for each minibatch of a random order of the rows; return the mean loss."""
        n, total = len(self._train), 0.0
        order = self._rng.permutation(n)
        for start, stop in parallel.block_ranges(n, self._settings.batch_size):
            targets = self._train.take(order[start:stop])
            inputs = self._add_noise(targets)
            spans = parallel.block_ranges(len(targets), self._task_rows)
            work = [(slice(*span), gradient) for span, (_, gradient) in zip(spans, self._gradients, strict=False)]
            losses = list(parallel.map_blocks(lambda task: self._differentiate(inputs, targets, *task), work))  # noqa: B023
            total += sum(losses)
            if not np.isfinite(total):
                return np.inf
            gradient = self._gradients[0][0]
            for other, _ in self._gradients[1 : len(spans)]:
                gradient += other
            with np.errstate(over="ignore", invalid="ignore"):
                self._adam.step(gradient, rate)
        return total / n

    def _add_noise(self, rows: EncodedRows) -> EncodedRows:
        """Return rows in which a share of the cells has the value of the same column in a random row."""
        if not self._settings.swap_noise:
            return rows
        n, p = rows.numbers.shape
        swapped = self._rng.random((n, p + rows.codes.shape[1]), dtype=np.float32) < self._settings.swap_noise
        row, column = np.nonzero(swapped)
        other = self._rng.integers(len(self._train), size=len(row))
        numbers, codes, is_number = rows.numbers.copy(), rows.codes.copy(), column < p
        at = row[is_number], column[is_number]
        numbers[at] = self._train.numbers[other[is_number], at[1]]
        at = row[~is_number], column[~is_number] - p
        codes[at] = self._train.codes[other[~is_number], at[1]]
        return EncodedRows(numbers, None, codes)

    def _differentiate(self, inputs: EncodedRows, targets: EncodedRows, rows: slice, gradient: Network) -> float:
        """Fill the gradient of the loss of some rows of a minibatch, and return the sum of their losses."""
        with np.errstate(over="ignore", invalid="ignore"):
            values = self._network.forward(self._encoder.coordinates(inputs.take(rows)))
            loss = self._loss.differentiate(values[-1], targets.take(rows), len(targets))
            self._network.backward(values, values[-1], gradient)
        return loss

    def _evaluate(self, rows: EncodedRows) -> float:
        """Return the mean loss of rows without noise, infinity if it is not a number."""

        def loss_of(span: tuple[int, int]) -> float:
            part = rows.take(slice(*span))
            with np.errstate(over="ignore", invalid="ignore"):
                outputs = self._network.forward(self._encoder.coordinates(part))[-1]
                return self._loss.differentiate(outputs, part, len(part))

        spans = parallel.block_ranges(len(rows), _ROWS_PER_EVALUATION)
        total = sum(parallel.map_blocks(loss_of, spans))
        return total / len(rows) if np.isfinite(total) else np.inf


class _Adam:
    """Adam: steps along the running mean of the gradient, divided by the root of the running mean of its square."""

    def __init__(self, parameters: NDArray[Any]) -> None:
        self._parameters = parameters
        self._mean, self._square, self._work = (np.zeros_like(parameters) for _ in range(3))
        self._n_steps = 0

    def reset(self) -> None:
        self._mean[:] = self._square[:] = self._n_steps = 0

    def step(self, gradient: NDArray[Any], rate: float) -> None:
        """Change the parameters by one step; the gradient is overwritten."""
        self._n_steps += 1
        work, of = self._work, gradient.dtype.type
        np.subtract(gradient, self._mean, out=work)
        work *= of(1 - _MEAN_DECAY)
        self._mean += work
        np.square(gradient, out=gradient)
        gradient -= self._square
        gradient *= of(1 - _SQUARE_DECAY)
        self._square += gradient
        # The running means start at 0; dividing by these corrects their bias.
        mean_share, square_share = 1 - _MEAN_DECAY**self._n_steps, 1 - _SQUARE_DECAY**self._n_steps
        np.sqrt(self._square, out=work)
        work += of(_EPSILON * np.sqrt(square_share))
        np.divide(self._mean, work, out=work)
        work *= of(rate * np.sqrt(square_share) / mean_share)
        self._parameters -= work

"""Autoencoder: a map by a network that reconstructs the rows of a table from few coordinates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tamiz.arrays import Floats, eigenvector_signs
from tamiz.exceptions import DataError
from tamiz.reduction.autoencoder_network import (
    ColumnEncoder,
    EncodedRows,
    Network,
    ReconstructionLoss,
    Trainer,
    Training,
    TrainingSettings,
)
from tamiz.reduction.base import Reducer
from tamiz.reduction.description import MapDescription
from tamiz.reduction.pca import PCA
from tamiz.runtime import parallel
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.user_warnings import capture_warnings, list_names, quote_name, warn_user
from tamiz.runtime.validation import check_integer, check_memory, check_positive, check_real
from tamiz.runtime.verdicts import Verdict
from tamiz.statistics.base import Block
from tamiz.storage.invariants import Condition, FloatArray, InstanceOf, Integer, Invariants, ListOf, Number
from tamiz.table.base import Table
from tamiz.table.factory import as_table, check_features, record_features
from tamiz.table.in_memory import eager_frame, is_frame

# Most coordinates for which PCA is computed from the covariance, block by block; else the coordinates of all rows are stored.
MAX_COVARIANCE = 1_500
# Largest number of rows on which a study fits it.
_MAX_STUDY_ROWS = 20_000
# Values of the coordinates of a task.
_ERROR_TASK_VALUES = 2**20


def row_errors(errors: Floats, encoder: ColumnEncoder) -> Floats:
    """Return the squared errors of each row, divided by the sum of the variances of its present columns; NaN if there are none.

    `errors` are squared errors, of shape (n_rows, n_columns), NaN for missing values.
    """
    present = ~np.isnan(errors)
    variances = np.where(present, encoder.variances, 0.0).sum(axis=1)
    total = np.where(present, errors, 0.0).sum(axis=1)
    return np.divide(total, variances, out=np.full(len(errors), np.nan), where=variances > 0)


class ErrorSummary:
    """Shares of the variance of the columns that reconstructions lose.

    Attributes
    ----------
    total : float
        The share of all present values together.
    by_column : ndarray of shape (n_columns,)
        In the order of the encoded table; 0 for a constant column, NaN for one without a present value.
    """

    def __init__(self, encoder: ColumnEncoder, rows: EncodedRows, errors_of: Callable[[EncodedRows], Floats]) -> None:
        size = max(1, _ERROR_TASK_VALUES // encoder.n_coordinates)

        def add(span: tuple[int, int]) -> tuple[Floats, Floats]:
            errors = errors_of(rows.take(slice(*span)))
            present = ~np.isnan(errors)
            return np.where(present, errors, 0.0).sum(axis=0), present.sum(axis=0)

        sums, counts = np.zeros(len(encoder.variances)), np.zeros(len(encoder.variances))
        for part, n_present in parallel.map_blocks(add, parallel.block_ranges(len(rows), size)):
            sums += part
            counts += n_present
        variances = counts * encoder.variances
        self.total = float(sums.sum() / variances.sum()) if variances.any() else 0.0
        shares = np.where(counts > 0, 0.0, np.nan)
        self.by_column = np.divide(sums, variances, out=shares, where=variances > 0)


def network_errors(network: Network, encoder: ColumnEncoder, rows: EncodedRows) -> ErrorSummary:
    loss = ReconstructionLoss(encoder)

    def errors_of(part: EncodedRows) -> Floats:
        outputs = network.decode(network.encode(encoder.coordinates(part).astype(np.float64)))
        return loss.squared_errors(outputs, part)

    return ErrorSummary(encoder, rows, errors_of)


def pca_errors(encoder: ColumnEncoder, train: EncodedRows, rows: EncodedRows, n_components: int) -> ErrorSummary:
    """Return the errors of the reconstructions from principal components of the coordinates of training rows.

    Their number is that of the rows or coordinates where it is less than `n_components`.
    """
    k = min(n_components, len(train), encoder.n_coordinates)
    mean, directions = _principal_components(encoder, train, k)
    loss = ReconstructionLoss(encoder)

    def errors_of(part: EncodedRows) -> Floats:
        points = encoder.coordinates(part) - mean
        return loss.coordinate_errors(points @ directions.T @ directions + mean, part)

    return ErrorSummary(encoder, rows, errors_of)


def _principal_components(encoder: ColumnEncoder, rows: EncodedRows, k: int) -> tuple[Floats, Floats]:
    """Return the mean of the coordinates of rows, and the k directions of largest variance."""
    d = encoder.n_coordinates
    spans = parallel.block_ranges(len(rows), max(1, _ERROR_TASK_VALUES // d))

    with capture_warnings():
        if d > MAX_COVARIANCE:
            fitted = PCA(k).fit(encoder.coordinates(rows))
            return fitted.mean_, fitted.components_.astype(np.float64)

        def points_of(span: tuple[int, int]) -> Floats:
            return encoder.coordinates(rows.take(slice(*span))).astype(np.float64)

        mean = sum(parallel.map_blocks(lambda span: points_of(span).sum(axis=0), spans), np.zeros(d)) / len(rows)

        def products(span: tuple[int, int]) -> Floats:
            centred = points_of(span) - mean
            return np.asarray(centred.T @ centred)

        covariance = sum(parallel.map_blocks(products, spans), np.zeros((d, d))) / (len(rows) - 1)
        return mean, PCA(k).fit_covariance(covariance, mean=np.zeros(d)).components_


# Sizes of the first hidden layer from the data, between these limits; the second is half as large.
_MIN_HIDDEN, _MAX_HIDDEN, _HIDDEN_PER_COORDINATE = 32, 256, 2
# The noise of a network with hidden layers.
_SWAP_NOISE = 0.1
# Sizes of minibatches from the data, between these limits: an epoch has about so many.
_MIN_BATCH, _MAX_BATCH, _STEPS_PER_EPOCH = 32, 512, 20
# With fewer held-out rows, their loss is mostly chance.
_MIN_VALIDATION_ROWS = 5
# A linear autoencoder at the minimum loses as much as PCA: a difference of this share is not worth a warning.
_LINEAR_TOLERANCE = 0.02
# The share of its variance from which a column counts as lost.
_LOST_SHARE = 0.5
# Values of the widest layer in a task.
_VALUES_PER_TASK = 2**18


class Autoencoder(Reducer):
    """Autoencoder: the coordinates from which a network reconstructs the rows with the smallest errors.

    .. math:: \\min_{f, g} \\; \\frac{1}{n V} \\sum_i \\Big[ \\sum_{j \\text{ numeric}} (x_{ij} - g_j(z_i))^2
        - \\sum_{j \\text{ categorical}} \\frac{\\log g_{j, x_{ij}}(z_i)}{H_j} \\Big], \\qquad z_i = f(\\tilde x_i)

    The encoder f and the decoder g are dense networks with exponential linear units, and :math:`\\tilde x` is the row x with noise.
    Missing values are left out of the sums. Numbers are standardised, :math:`H_j` is the entropy of the shares of the levels, and V
    is the number of columns that vary: means and shares in place of the values have the loss 1.

    Parameters
    ----------
    n_components : int, default=2
        Number of coordinates, at most the number of numeric columns and levels.
    hidden_sizes : sequence of int, default=None
        Sizes of the hidden layers of the encoder; the decoder has them in reverse order. An empty sequence is a linear autoencoder.
        None is two layers: 2 units for each numeric column and level, rounded up to a power of 2 from 32 to 256, then half as many.
    standardize : bool, default=True
        Divide each numeric column by its standard deviation. False divides all by the root of their mean variance, which suits
        columns of one unit, such as pixels: columns then count by their variances, as in PCA without standardising.
    swap_noise : float, default=None
        Share of the cells of a minibatch that are replaced by the value of the same column in a random row, from 0, without noise,
        to below 1. The network reconstructs the rows without noise, which suits numbers and categories alike. None is 0.1, and 0
        for a linear autoencoder, whose reconstructions noise shrinks towards the means.
    max_epochs : int, default=1000
        Largest number of passes over the rows.
    batch_size : int, default=None
        Rows of a minibatch; None is a power of 2 from 32 to 512, for about 20 minibatches in an epoch of up to 10,000 rows.
    learning_rate : float, default=0.003
        The initial learning rate of Adam. It is divided by 4 when the loss of the held-out rows no longer decreases; below 1/64,
        training ends.
    validation_share : float, default=0.1
        Share of the rows that are held out of the training, from 0 to 0.5. The parameters with the smallest loss of these rows are
        kept. If they are fewer than 5, no row is held out, and the loss and the errors are those of all rows.
    random_state : int, Generator or None, default=None
        Seed of the held-out rows, of the initial parameters, of the order of the rows and of the noise. None is another seed in
        every fit.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The coordinates have mean 0, are uncorrelated, and are in the order of their variances.
    error_ : float
        Share of the variance of the columns that the reconstructions of the held-out rows lose. Predictions of the means and the
        shares of the levels lose 1. The variance of a categorical column is that of its indicators in total, and each column counts
        the same; with standardize=False a numeric column counts by its variance.
    pca_error_ : float
        The same error of PCA with as many components, fitted on the same rows and coordinates.
    column_errors_ : ndarray of shape (n_features,)
        Share of the variance of each column that the reconstructions of the held-out rows lose: the columns that the coordinates do
        not describe have errors near 1. A constant column has 0, a column that is not used NaN.
    training_curve_ : ndarray of shape (n_epochs, 2)
        The loss of the training rows, with noise and while the parameters change, and that of the held-out rows, after each epoch.
    n_epochs_ : int
    n_validation_ : int
        Number of held-out rows; 0 if errors are those of all rows.
    converged_ : bool
        Whether training ended because the loss of the held-out rows no longer decreased.
    hidden_sizes_ : tuple of int

    Raises
    ------
    DataError
        When there are fewer than 2 rows, or no column varies.
    MemoryError
        When the encoded rows do not fit in memory.
    ValueError
        When a parameter is out of range, or the training diverges.

    Warns
    -----
    ConvergenceWarning
        When training ends after `max_epochs`, or diverged at first.
    TamizWarning
        When the error is not below that of PCA, levels are merged, or columns are excluded.

    Notes
    -----
    A missing value is the mean of its column as an input, and adds nothing to the loss. No input marks missing values, so that the
    coordinates describe the values, not which of them are missing. A categorical column has at most 64 levels; rarer levels are
    merged. The held-out rows choose the end of the training, so `error_` is slightly too small; `reconstruction_error` of rows that
    were not in the fit has no such bias.

    Cost O(n w) for each epoch and n rows, for a network of w weights. The rows are stored as numbers of four bytes, one for each
    column, and are encoded minibatch by minibatch. Training is in float32, and coordinates are computed in float64 from the same
    parameters. The bits are the same for any number of threads. `transform` maps each row on its own, and a row of the fit to its
    coordinates.

    References
    ----------
    Hinton and Salakhutdinov (2006), Reducing the dimensionality of data with neural networks, Science 313; Vincent, Larochelle,
    Bengio and Manzagol (2008), Extracting and composing robust features with denoising autoencoders, ICML; Kingma and Ba (2015),
    Adam: a method for stochastic optimization, ICLR; Bourlard and Kamp (1988), Auto-association by multilayer perceptrons and
    singular value decomposition, Biological Cybernetics 59.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz.reduction import Autoencoder
    >>> mapped = Autoencoder(1, random_state=0).fit(load_iris().data)
    >>> mapped.embedding_.shape, mapped.error_ < mapped.pca_error_
    ((150, 1), True)
    """

    training_curve_: Floats
    invariants: ClassVar[Invariants] = {
        "_row_encoder": InstanceOf(ColumnEncoder),
        "_network": (
            InstanceOf(Network),
            Condition(lambda it: _fits(it._network, it._row_encoder), "does not fit the columns"),
            Condition(lambda it: it._network.n_coordinates == it.embedding_.shape[1], "does not fit the embedding"),
        ),
        "error_": Number(0.0),
        "pca_error_": Number(0.0),
        "column_errors_": FloatArray("p", low=0.0, allow_missing=True),
        "training_curve_": FloatArray("e", 2, low=0.0, high=np.inf),
        "n_epochs_": Integer(low=1, size="e"),
        "n_validation_": Integer(),
        "converged_": InstanceOf(bool),
        "hidden_sizes_": ListOf(Integer(low=1)),
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        hidden_sizes: Sequence[int] | None = None,
        standardize: bool = True,
        swap_noise: float | None = None,
        max_epochs: int = 1000,
        batch_size: int | None = None,
        learning_rate: float = 0.003,
        validation_share: float = 0.1,
        random_state: Seed = None,
    ) -> None:
        self.n_components = n_components
        self.hidden_sizes = hidden_sizes
        self.standardize = standardize
        self.swap_noise = swap_noise
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.validation_share = validation_share
        self.random_state = random_state

    @property
    def max_study_rows(self) -> int | None:
        """20,000 rows, on which it is trained in about a minute."""
        return _MAX_STUDY_ROWS

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Train the network; Ctrl-C ends the training, sets the attributes of the best parameters so far, and is raised again.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Table
        y : ignored
        """
        if not isinstance(self.standardize, bool | np.bool_):
            raise TypeError(f"standardize must be True or False, got {self.standardize!r}.")
        share = check_real("validation_share", self.validation_share, low=0.0, high=0.5)
        rng = make_rng(self.random_state)
        with parallel.thread_session():
            table = _open_rows(X)
            n = table.schema.n_rows
            encoder = ColumnEncoder.fit(table, standardize=bool(self.standardize))
            k = check_integer("n_components", self.n_components, low=1, high=encoder.n_coordinates)
            hidden = self._hidden_sizes(encoder.n_coordinates)
            settings = self._settings(n, hidden)
            sizes = [encoder.n_coordinates, *hidden, k, *hidden[::-1], encoder.n_coordinates]
            rows = _read_rows(table, encoder, sizes)
            n_validation = int(share * n) if int(share * n) >= _MIN_VALIDATION_ROWS else 0
            order = rng.permutation(n)
            train = rows.take(order[n_validation:])
            validation = rows.take(order[:n_validation]) if n_validation else train
            training = Trainer(encoder, sizes, train, validation, settings, rng).run()
            if training.n_diverged == len(training.curve):
                raise ValueError(
                    f"Training diverged in each of {len(training.curve)} epochs, with learning_rate = {settings.learning_rate:g} "
                    "and smaller ones. Lower learning_rate; the default is 0.003."
                )
            network = Network.from_vector(training.parameters, sizes, len(hidden) + 1)
            network = network.with_code(*_principal_axes(network, encoder, rows))
            errors, of_pca = network_errors(network, encoder, validation), pca_errors(encoder, train, validation, k)
            embedding = self._match_dtype(_encode_rows(table, encoder, network), X)
        record_features(self, X)
        self._row_encoder, self._network, self.embedding_ = encoder, network, embedding
        self.error_, self.pca_error_ = errors.total, of_pca.total
        self.column_errors_ = np.full(table.schema.n_columns, np.nan)
        self.column_errors_[list(encoder.columns)] = errors.by_column
        self.training_curve_, self.n_epochs_ = training.curve, len(training.curve)
        self.n_validation_, self.converged_, self.hidden_sizes_ = n_validation, training.converged, hidden
        if training.interrupted:
            raise KeyboardInterrupt
        warn_user([*table.schema.excluded_column_notes, *encoder.merged_level_notes(), *self._pca_warnings()])
        warn_user(_training_warnings(training, settings))
        return self

    def _settings(self, n: int, hidden: tuple[int, ...]) -> TrainingSettings:
        noise = (
            (_SWAP_NOISE if hidden else 0.0)
            if self.swap_noise is None
            else check_real("swap_noise", self.swap_noise, low=0.0)
        )
        if noise >= 1.0:
            raise ValueError(f"swap_noise must be below 1, got {noise:g}.")
        batch = 2 ** int(np.ceil(np.log2(n / _STEPS_PER_EPOCH)))
        batch = int(np.clip(batch, _MIN_BATCH, _MAX_BATCH))
        if self.batch_size is not None:
            batch = check_integer("batch_size", self.batch_size, low=1)
        rate = check_positive("learning_rate", self.learning_rate)
        return TrainingSettings(check_integer("max_epochs", self.max_epochs, low=1), batch, rate, noise)

    def _hidden_sizes(self, n_coordinates: int) -> tuple[int, ...]:
        if self.hidden_sizes is None:
            first = 2 ** int(np.ceil(np.log2(_HIDDEN_PER_COORDINATE * n_coordinates)))
            first = int(np.clip(first, _MIN_HIDDEN, _MAX_HIDDEN))
            return first, first // 2
        if isinstance(self.hidden_sizes, str) or not np.iterable(self.hidden_sizes):
            raise TypeError(f"hidden_sizes must be a sequence of whole numbers or None, got {self.hidden_sizes!r}.")
        return tuple(check_integer("a size in hidden_sizes", size, low=1) for size in self.hidden_sizes)

    def _pca_warnings(self) -> list[Verdict]:
        """Return a warning if the error is not below that of PCA; a linear autoencoder may exceed it a little."""
        limit = self.pca_error_ * (1.0 if self.hidden_sizes_ else 1.0 + _LINEAR_TOLERANCE)
        if self.error_ < limit or (not self.hidden_sizes_ and self.error_ == limit):
            return []
        rows = f"{self.n_validation_:,} held-out rows" if self.n_validation_ else "the rows of the fit"
        text = (
            f"Autoencoder: it loses {self.error_:.1%} of the variance of {rows}, and PCA with as many components "
            f"{self.pca_error_:.1%}. Prefer PCA, or pass more rows or other numbers of units per hidden layer (hidden_sizes)."
        )
        return [Verdict("TZ402", text)]

    def describe(self) -> MapDescription:
        """Describe the error beside that of PCA, the columns by their errors, and the training."""
        check_is_fitted(self)
        n, k, sizes = self.n_validation_, len(self.axis_names_), self.hidden_sizes_
        rows = f"{n:,} rows that it was not trained on" if n else "the rows that it was trained on"
        units = " and ".join(f"{size:,}" for size in sizes)
        layers = "one layer" if len(sizes) == 1 else f"{len(sizes)} layers"
        kind = f"{layers} of {units} units before the coordinates and as many after them" if sizes else "linear layers"
        components = "the first principal component" if k == 1 else f"the first {k:,} principal components"
        proximity = "Rows with similar reconstructions are near each other."
        if sizes:
            proximity = (
                "Rows that the network reconstructs alike are near each other. The network is not linear, so that equal distances "
                "in different parts of the map may mean different things."
            )
        notes = (
            f"A network with {kind} reconstructs the rows from the coordinates. The reconstructions lose {self.error_:.1%} of the "
            f"variance of {rows}, and those of PCA from {components} {self.pca_error_:.1%}.",
            *self._column_error_notes(),
            f"The training {'converged within' if self.converged_ else 'was still improving after'} {self.n_epochs_:,} epochs.",
        )
        return self._describe(notes, proximity, comparable_axes=False)

    def _column_error_notes(self) -> list[str]:
        """Return notes on the columns that the coordinates describe best, and on those of which they lose at least half."""
        columns = [] if self.schema_ is None else self.schema_.columns
        errors = {
            column.name: float(error)
            for column, error in zip(columns, self.column_errors_, strict=True)
            if not np.isnan(error) and not column.constant
        }
        ascending = sorted(errors, key=lambda name: errors[name])
        kept = [name for name in ascending if errors[name] < _LOST_SHARE]
        lost = [name for name in reversed(ascending) if errors[name] >= _LOST_SHARE]
        return [
            f"{sentence} {list_names(names, as_text=lambda name: f'{quote_name(name)} ({errors[name]:.0%})')}."
            for sentence, names in (
                ("Columns with the smallest loss of variance:", kept),
                ("Columns of which the coordinates lose at least half of the variance:", lost),
            )
            if names
        ]

    def transform(self, X: Any) -> NDArray[Any]:
        """Map new rows, each independently of the others.

        Missing values and levels unknown in fit count as the mean of their column.
        """
        check_is_fitted(self)
        check_features(self, X)
        with parallel.thread_session():
            found = _encode_rows(self._row_encoder.read(X), self._row_encoder, self._network)
        return self._match_dtype(found, X)

    def inverse_transform(self, X: Any) -> Any:
        """Return the reconstruction of points of the map, as rows of the table.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_components)
            Coordinates as `transform` returns them. The columns of a frame are matched by name.

        Returns
        -------
        ndarray or data frame of shape (n_samples, n_used_columns)
            The columns of the fit that are used, in the units of the table; for a category its most probable level. A frame for a
            frame, of the same library, where dates are dates; else an array, of objects if there are categories.
        """
        check_is_fitted(self)
        points = self._read_coordinates(X)
        with np.errstate(over="ignore", invalid="ignore"):
            columns = self._row_encoder.decode(self._network.decode(points.astype(np.float64)))
        if is_frame(X):
            return self._row_encoder.to_frame(columns, eager_frame(X))
        dtype = object if self._row_encoder.levels else points.dtype
        return np.stack([values.astype(dtype) for values in columns.values()], axis=1)

    def reconstruction_error(self, X: Any) -> Floats:
        """Return the error of the reconstruction of each row: rows with large errors are unlike those of the fit.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Table
            Rows like those of fit.

        Returns
        -------
        ndarray of shape (n_samples,)
            The squared errors of a row, divided by the sum of the variances of its present columns: the mean over complete rows has
            the definition of `error_`. NaN for a row without values.
        """
        check_is_fitted(self)
        check_features(self, X)
        encoder, network = self._row_encoder, self._network
        loss = ReconstructionLoss(encoder)

        def errors(rows: EncodedRows) -> Floats:
            outputs = network.decode(network.encode(encoder.coordinates(rows)))
            return row_errors(loss.squared_errors(outputs, rows), encoder)[:, None]

        with parallel.thread_session():
            return _for_blocks(encoder.read(X), encoder, network, errors, 1)[:, 0]

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]


def _open_rows(X: Any) -> Table:
    """Return the rows as a table; refuse weights and fewer than 2 rows."""
    table = as_table(X)
    if table.schema.weight is not None:
        raise DataError(
            f"Autoencoder does not support sample weights, and the table has the weights {table.schema.weight!r}; open it "
            "without weight, or use PCA, which supports weights."
        )
    if (n := table.schema.n_rows) < 2:
        raise DataError(f"X has {n} {'sample (row)' if n == 1 else 'samples (rows)'}; Autoencoder needs at least 2.")
    return table


def _read_rows(table: Table, encoder: ColumnEncoder, sizes: list[int]) -> EncodedRows:
    """Return all rows as numbers and codes in float32, after a check of the memory of a training."""
    n, p, c = table.schema.n_rows, len(encoder.mean), len(encoder.levels)
    # PCA of many coordinates stores those of all rows.
    of_pca = (
        4.0 * n * encoder.n_coordinates if encoder.n_coordinates > MAX_COVARIANCE else 8.0 * encoder.n_coordinates**2
    )
    check_memory(
        # The rows are copied to separate those of the training, and each number has a byte that marks missing values.
        2.0 * n * (5 * p + 4 * c) + 32.0 * sum(a * b for a, b in pairwise(sizes)) + of_pca,
        f"The training of {n:,} rows of {p + c:,} columns",
        "Keep fewer columns first, with RankSelector, or pass fewer rows.",
    )
    return EncodedRows.concatenate([encoder.encode(block, np.float32) for block in table.blocks()])


def _for_blocks(
    table: Table, encoder: ColumnEncoder, network: Network, function: Callable[[EncodedRows], Floats], width: int
) -> Floats:
    size = max(1, _VALUES_PER_TASK // max(encoder.n_coordinates, *map(len, network.biases)))
    out = np.empty((table.schema.n_rows, width))

    def fill(piece: Block) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            out[piece.rows.start : piece.rows.stop] = function(encoder.encode(piece))

    pieces = (piece for block in table.blocks() for piece in block.split_rows(size))
    parallel.run_blocks(fill, pieces)
    return out


def _encode_rows(table: Table, encoder: ColumnEncoder, network: Network) -> Floats:
    return _for_blocks(
        table, encoder, network, lambda rows: network.encode(encoder.coordinates(rows)), network.n_coordinates
    )


def _principal_axes(network: Network, encoder: ColumnEncoder, rows: EncodedRows) -> tuple[Floats, Floats]:
    """Return the axes of the codes of rows, in the order of their variances, and the mean of the codes."""
    size = max(1, _VALUES_PER_TASK // encoder.n_coordinates)

    def codes_of(span: tuple[int, int]) -> Floats:
        inputs = encoder.coordinates(rows.take(slice(*span)))
        return network.forward(inputs)[network.n_encoder_layers].astype(np.float64)

    codes = np.concatenate(list(parallel.map_blocks(codes_of, parallel.block_ranges(len(rows), size))))
    centre = codes.mean(axis=0)
    codes -= centre
    axes = np.linalg.eigh(codes.T @ codes)[1][:, ::-1]
    return axes * eigenvector_signs(axes), centre


def _fits(network: Network, encoder: ColumnEncoder) -> bool:
    """Return whether the inputs and outputs of a network are the coordinates of an encoder."""
    return network.weights[0].shape[1] == len(network.biases[-1]) == encoder.n_coordinates


def _training_warnings(training: Training, settings: TrainingSettings) -> list[Verdict]:
    """Return warnings of a training that did not converge, or diverged at first."""
    texts, n_epochs = [], len(training.curve)
    if training.n_diverged:
        texts.append(
            f"Autoencoder: training diverged in {training.n_diverged:,} of {n_epochs:,} epochs, and continued with a smaller "
            f"learning rate. Lower the learning rate {settings.learning_rate:g} (learning_rate)."
        )
    if not training.converged:
        texts.append(
            f"Autoencoder: not converged after {n_epochs:,} epochs: the loss of the held-out rows may decrease further. Raise "
            "the number of epochs (max_epochs)."
        )
    return [Verdict("TZ501", text) for text in texts]

"""Training of an autoencoder: Adam on minibatches with swap noise, early stopping, and decay of the learning rate."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats
from tamiz.reduction.autoencoding.losses import ReconstructionLoss
from tamiz.reduction.autoencoding.network import Network
from tamiz.reduction.autoencoding.table import EncodedRows, TableEncoder
from tamiz.runtime import parallel, progress

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
    """Settings of a training.

    Attributes
    ----------
    max_epochs, batch_size : int
    learning_rate, swap_noise : float
    """

    max_epochs: int
    batch_size: int
    learning_rate: float
    swap_noise: float


@dataclass(frozen=True)
class Training:
    """The outcome of a training.

    Attributes
    ----------
    parameters : ndarray of shape (n_parameters,), float32
        Those of the lowest loss of the held-out rows.
    curve : ndarray of shape (n_epochs, 2)
        The mean loss of the training rows, with noise and while the parameters change, and the loss of the held-out rows.
    converged : bool
        Whether it ended because the loss no longer decreased.
    n_diverged : int
        Number of epochs in which the training diverged.
    interrupted : bool
        Whether Ctrl-C ended it.
    """

    parameters: NDArray[np.float32]
    curve: Floats
    converged: bool
    n_diverged: int
    interrupted: bool


class Trainer:
    """Adam on minibatches of encoded rows, in float32.

    A minibatch is split into blocks of rows, whose gradients are added in the order of the blocks: the bits do not depend on the
    number of threads.

    Parameters
    ----------
    encoder : TableEncoder
    sizes : list of int
        Number of values before and after each layer.
    train, validation : EncodedRows
        In float32.
    settings : TrainingSettings
    rng : Generator

    References
    ----------
    Kingma and Ba (2015), Adam: a method for stochastic optimization, ICLR; Vincent, Larochelle, Bengio and Manzagol (2008),
    Extracting and composing robust features with denoising autoencoders, ICML.
    """

    def __init__(
        self,
        encoder: TableEncoder,
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

"""The network of an autoencoder: dense layers, their outputs for rows, and the gradient of a loss in their parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats
from tamiz.kernels.matrix_products import project_rows
from tamiz.storage.invariants import Condition, InstanceOf, Integer, Invariants, ListOf

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
        """Draw normal weights that keep the variance of the inputs (He et al. 2015), and set the biases of the last layer.

        References
        ----------
        He, Zhang, Ren and Sun (2015), Delving deep into rectifiers, ICCV.
        """
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

        Parameters
        ----------
        values : list of ndarray
            What `forward` returned.
        slopes : ndarray of shape (n_rows, n_outputs)
            Derivatives of the loss in the outputs of the last layer.
        gradient : Network
            A network of the same shape.
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
        """Return the network with the codes (z - centre) R for an orthogonal R, and the same reconstructions.

        Parameters
        ----------
        directions : ndarray of shape (n_coordinates, n_coordinates)
            R.
        centre : ndarray of shape (n_coordinates,)
        """
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

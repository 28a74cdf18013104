"""The loss of a network and its gradient: the reference in plain Python, differences, scikit-learn's network, and torch."""

import numpy as np
import pandas as pd
import pytest
from sklearn.neural_network import MLPRegressor, _multilayer_perceptron

from tamiz.reduction.autoencoder_network import ColumnEncoder, Network, ReconstructionLoss
from tamiz.table.factory import as_table

from ...reference import autoencoder as reference

RNG = np.random.default_rng(0)
NUMBERS = pd.DataFrame(RNG.normal(size=(40, 4)) * [1, 5, 0.1, 2], columns=list("abcd"))
MIXED = NUMBERS.assign(e=RNG.choice(["x", "y", "z"], 40, p=[0.5, 0.3, 0.2]), f=RNG.random(40) < 0.3, same="one").mask(
    RNG.random((40, 7)) < 0.1
)
MIXED["b"] = NUMBERS["b"]


class Case:
    """A network for a table, with random parameters in float64."""

    def __init__(self, table, hidden, k=2):
        opened = as_table(table)
        self.encoder = ColumnEncoder.fit(opened, standardize=True)
        (block,) = opened.blocks()
        self.rows = self.encoder.encode(block)
        d = self.encoder.n_coordinates
        self.sizes, self.depth = [d, *hidden, k, *hidden[::-1], d], len(hidden) + 1
        n = sum(a * b + b for a, b in zip(self.sizes, self.sizes[1:], strict=False))
        self.parameters = RNG.normal(size=n) / 2
        self.inputs = self.encoder.coordinates(self.rows)

    def network(self, parameters=None):
        return Network.from_vector(self.parameters if parameters is None else parameters, self.sizes, self.depth)

    def loss(self, parameters=None):
        outputs = self.network(parameters).forward(self.inputs)[-1]
        return ReconstructionLoss(self.encoder).differentiate(outputs, self.rows, len(self.rows)) / len(self.rows)

    def gradient(self):
        values = self.network().forward(self.inputs)
        ReconstructionLoss(self.encoder).differentiate(values[-1], self.rows, len(self.rows))
        found = np.zeros_like(self.parameters)
        self.network().backward(values, values[-1], self.network(found))
        return found


CASES = {
    "numbers": (NUMBERS, (5, 3)),
    "numbers, linear": (NUMBERS, ()),
    "mixed": (MIXED, (6, 3)),
    "mixed, linear": (MIXED, ()),
    "categories": (MIXED[["e", "f"]], (4,)),
}


@pytest.mark.parametrize("name", CASES)
def test_the_loss_is_that_of_the_reference(name):
    case = Case(*CASES[name])
    network, encoder = case.network(), case.encoder
    found = [reference.outputs_of(row, network.weights, network.biases, case.depth) for row in case.inputs]
    outputs, codes = (np.array(part) for part in zip(*found, strict=True))
    np.testing.assert_allclose(network.forward(case.inputs)[-1], outputs, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(network.encode(case.inputs), codes, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(network.decode(codes), outputs, rtol=1e-10, atol=1e-12)
    rows = case.rows
    present = np.ones(rows.numbers.shape, dtype=bool) if rows.present is None else rows.present
    numbers = [
        [x if there else None for x, there in zip(*pair, strict=True)]
        for pair in zip(rows.numbers, present, strict=True)
    ]
    # The constant column is not in the reference.
    varying = [k for k, table in enumerate(encoder.levels) if len(table.shares) > 1]
    wanted = reference.mean_loss(
        outputs.tolist(),
        numbers,
        rows.codes[:, varying].tolist(),
        [encoder.levels[k].shares.tolist() for k in varying],
        len(encoder.mean) + len(varying),
    )
    assert case.loss() == pytest.approx(wanted, rel=1e-10)


@pytest.mark.parametrize("name", CASES)
def test_the_gradient_is_that_of_differences(name):
    case = Case(*CASES[name])
    np.testing.assert_allclose(case.gradient(), reference.differences(case.loss, case.parameters), atol=1e-8)


@pytest.mark.parametrize("table", [NUMBERS, MIXED], ids=["numbers", "mixed"])
def test_means_and_shares_have_a_loss_of_1_for_each_complete_column(table):
    case = Case(table, ())
    loss, n = ReconstructionLoss(case.encoder), len(case.rows)
    found = loss.differentiate(np.tile(loss.initial_biases(), (n, 1)), case.rows, n) / n
    # A missing value has no loss, and the constant column does not count.
    present = table.drop(columns="same", errors="ignore").notna().sum()
    assert found == pytest.approx((present / n).mean(), rel=1e-10)


def test_the_gradient_is_that_of_the_network_of_scikit_learn(monkeypatch):
    # The code, which has another size than hidden layers, is linear.
    k, hidden = 2, (6, 3)

    def apply_elu(values):
        if values.shape[1] != k:
            values[:] = np.where(values > 0, values, np.expm1(values))

    def multiply_slope(values, delta):
        if values.shape[1] != k:
            delta *= np.where(values > 0, 1.0, values + 1.0)

    monkeypatch.setitem(_multilayer_perceptron.ACTIVATIONS, "elu", apply_elu)
    monkeypatch.setitem(_multilayer_perceptron.DERIVATIVES, "elu", multiply_slope)
    case = Case(NUMBERS, hidden, k)
    X, network, gradient = case.inputs, case.network(), case.network(case.gradient())
    peer = MLPRegressor(hidden_layer_sizes=case.sizes[1:-1], activation="relu", alpha=0.0).partial_fit(X, X)
    peer.activation = "elu"
    peer.coefs_ = [weight.T.copy() for weight in network.weights]
    peer.intercepts_ = [bias.copy() for bias in network.biases]
    activations = [X, *(np.empty((len(X), size)) for size in case.sizes[1:])]
    deltas = [np.empty_like(values) for values in activations[1:]]
    slots = [np.empty_like(part) for part in peer.coefs_], [np.empty_like(part) for part in peer.intercepts_]
    _, of_weights, of_biases = peer._backprop(X, X, None, activations, deltas, *slots)
    # The loss of scikit-learn is half the sum of squares, and that of tamiz is divided by the number of columns.
    for ours, theirs in zip(gradient.weights, of_weights, strict=True):
        np.testing.assert_allclose(ours, theirs.T * 2 / X.shape[1], rtol=1e-9, atol=1e-12)
    for ours, theirs in zip(gradient.biases, of_biases, strict=True):
        np.testing.assert_allclose(ours, theirs * 2 / X.shape[1], rtol=1e-9, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["numbers", "mixed"])
def test_the_gradient_is_that_of_torch(name):
    torch = pytest.importorskip("torch", reason="torch is not installed: its gradients are compared where it is")
    case = Case(*CASES[name])
    network, rows, encoder = case.network(), case.rows, case.encoder
    weights, biases = (
        [torch.tensor(part, dtype=torch.float64, requires_grad=True) for part in parts]
        for parts in (network.weights, network.biases)
    )
    values = torch.tensor(case.inputs)
    for k, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        values = torch.nn.functional.linear(values, weight, bias)
        if k not in (case.depth - 1, len(weights) - 1):
            values = torch.nn.functional.elu(values)
    p = len(encoder.mean)
    present = torch.ones(rows.numbers.shape) if rows.present is None else torch.tensor(rows.present)
    loss = (((values[:, :p] - torch.tensor(rows.numbers)) ** 2) * present).sum()
    for k, (table, span) in enumerate(zip(encoder.levels, encoder.level_spans, strict=True)):
        if table.variance > 0:
            codes = torch.tensor(rows.codes[:, k], dtype=torch.long)
            entropies = torch.nn.functional.cross_entropy(values[:, span], codes, ignore_index=-1, reduction="sum")
            loss = loss + entropies / table.entropy
    loss = loss / (encoder.variances.sum() * len(rows))
    loss.backward()
    assert case.loss() == pytest.approx(float(loss), rel=1e-10)
    gradient = case.network(case.gradient())
    for ours, theirs in zip([*gradient.weights, *gradient.biases], [*weights, *biases], strict=True):
        np.testing.assert_allclose(ours, theirs.grad.numpy(), rtol=1e-8, atol=1e-12)


def test_axes_of_the_code_change_no_reconstruction():
    case = Case(MIXED, (5, 3))
    network = case.network()
    directions = np.linalg.qr(RNG.normal(size=(2, 2)))[0]
    turned = network.with_code(directions, np.array([3.0, -1.0]))
    codes = network.encode(case.inputs)
    np.testing.assert_allclose(turned.encode(case.inputs), (codes - [3.0, -1.0]) @ directions, atol=1e-12)
    np.testing.assert_allclose(turned.decode(turned.encode(case.inputs)), network.decode(codes), atol=1e-11)

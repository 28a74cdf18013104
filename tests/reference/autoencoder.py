"""An autoencoder in plain numpy and Python: the reconstruction of one row, the loss of a table, and derivatives by differences."""

import math

import numpy as np


def outputs_of(row, weights, biases, n_encoder_layers):
    """Return the outputs for one row of inputs, and its code."""
    values, code = list(row), None
    for k, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        sums = [sum(w * v for w, v in zip(unit, values, strict=True)) + b for unit, b in zip(weight, bias, strict=True)]
        is_linear = k in (n_encoder_layers - 1, len(weights) - 1)
        values = sums if is_linear else [s if s > 0 else math.exp(s) - 1 for s in sums]
        code = values if k == n_encoder_layers - 1 else code
    return values, code


def mean_loss(outputs, numbers, codes, shares, n_varying):
    """Return the mean over rows of squared errors and cross entropies over entropies, divided by the number of columns that vary.

    `numbers` has None and `codes` has -1 for missing values. The outputs are the numbers, then the logits of each category, whose
    levels have the given shares.
    """
    total = 0.0
    for out, row, levels in zip(outputs, numbers, codes, strict=True):
        total += sum((o - x) ** 2 for o, x in zip(out, row, strict=False) if x is not None)
        start = len(row)
        for code, share in zip(levels, shares, strict=True):
            logits = out[start : start + len(share)]
            start += len(share)
            if code >= 0:
                normalizer = sum(math.exp(value) for value in logits)
                entropy = -sum(p * math.log(p) for p in share if p > 0)
                total -= math.log(math.exp(logits[code]) / normalizer) / entropy
    return total / len(outputs) / n_varying


def differences(function, x, step=1e-6):
    """Return the derivatives of a function of a vector by central differences."""
    slopes = np.empty(len(x))
    for k in range(len(x)):
        up, down = x.copy(), x.copy()
        up[k] += step
        down[k] -= step
        slopes[k] = (function(up) - function(down)) / (2 * step)
    return slopes

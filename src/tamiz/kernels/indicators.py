"""Rows of indicators times matrices, by the codes alone: an indicator is never written down."""

from __future__ import annotations

from numba.types import float32, float64, int32, int64, void

from tamiz.kernels import jit, ro, rw


@jit(
    [
        void(ro(int32, 2), ro(int64), ro(float64, 2), rw(float64, 2)),
        void(ro(int32, 2), ro(int64), ro(float32, 2), rw(float32, 2)),
    ]
)
def multiply_indicators(codes, starts, table, out):
    """Add to out[i] the row starts[c] + codes[i, c] of a table for every column c; a missing value, -1, adds nothing."""
    for i in range(codes.shape[0]):
        for c in range(codes.shape[1]):
            if codes[i, c] >= 0:
                level = starts[c] + codes[i, c]
                for k in range(out.shape[1]):
                    out[i, k] += table[level, k]


@jit(void(ro(int32, 2), ro(int64), ro(float64, 2), rw(float64, 2)))
def multiply_indicators_transposed(codes, starts, rows, out):
    """Add rows[i] to the row starts[c] + codes[i, c] of out for every column c; a missing value, -1, is nowhere."""
    for i in range(codes.shape[0]):
        for c in range(codes.shape[1]):
            if codes[i, c] >= 0:
                level = starts[c] + codes[i, c]
                for k in range(rows.shape[1]):
                    out[level, k] += rows[i, k]

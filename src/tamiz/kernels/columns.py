"""What there is in the columns of a matrix, read by rows as it lies in memory."""

from __future__ import annotations

from numba.types import float32, float64, void

from tamiz.kernels import jit, ro, rw


@jit(
    [
        void(ro(float64, 2), ro(float64), rw(float64)),
        void(ro(float32, 2), ro(float32), rw(float32)),
    ]
)
def add_deviations(values, reference, total):
    """Add to total how far each column's values lie from the first: 0 where they are all that, NaN where one is missing."""
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            total[j] += abs(values[i, j] - reference[j])

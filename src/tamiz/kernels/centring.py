"""Coordinates of rows about a centre."""

from __future__ import annotations

from numba.types import float32, float64, void

from tamiz.kernels import jit, ro, rw


@jit(
    [
        void(ro(float64, 2), ro(float64), ro(float64), ro(float64), ro(float64), rw(float64, 2)),
        void(ro(float32, 2), ro(float32), ro(float32), ro(float32), ro(float32), rw(float32, 2)),
    ]
)
def centre_rows(rows, centre, centre_residual, scale, fill, out):
    """Fill out[i, j] with (rows[i, j] - centre[j] - rest[j]) / scale[j], and with fill[j] where the value is missing; what is
    wider than the rows with 0.

    One pass: rows are mostly larger than the cache, and every pass of numpy's would read them again.
    """
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            value = (rows[i, j] - centre[j] - centre_residual[j]) / scale[j]
            # NaN alone differs from itself.
            out[i, j] = fill[j] if value != value else value
        for j in range(rows.shape[1], out.shape[1]):
            out[i, j] = 0.0

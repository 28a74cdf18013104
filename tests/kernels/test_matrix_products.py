"""Products with squared distances against explicit matrices."""

import numpy as np
import pytest

from tamiz.kernels.matrix_products import multiply_squares, project_squares


@pytest.mark.parametrize(("kernel", "width"), [(multiply_squares, 8), (project_squares, 4)])
@pytest.mark.parametrize("n_rows", [1, 6, 7])
def test_squares_are_made_as_they_are_read(kernel, width, n_rows):
    rng = np.random.default_rng(n_rows)
    D, X, out = rng.random((n_rows, 53)), rng.normal(size=(width, 53)), np.empty((width, n_rows))
    for square, linear in [(1.0, 0.0), (0.0, -2.0), (1.0, 3.5)]:
        kernel(D, square, linear, X, out)
        np.testing.assert_allclose(out, X @ (square * D**2 + linear * D).T, rtol=1e-12, atol=1e-12)


def test_a_row_has_the_same_bits_whatever_comes_with_it():
    rng = np.random.default_rng(0)
    D, X = rng.random((9, 1001)), rng.normal(size=(4, 1001))
    together, alone = np.empty((4, 9)), np.empty((4, 1))
    project_squares(D, 1.0, 0.3, X, together)
    for i in range(9):
        project_squares(D[i : i + 1], 1.0, 0.3, X, alone)
        assert alone.tobytes() == together[:, i : i + 1].copy().tobytes()

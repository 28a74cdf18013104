"""New rows of principal components have the bits of fit in any batch."""

import numpy as np
import pytest

from tamiz.reduction import PCA
from tamiz.runtime import parallel


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_new_rows_of_pca_have_the_bits_of_fit_in_any_batch_and_on_any_threads(dtype):
    X = (np.random.default_rng(1).normal(size=(9000, 60)) @ np.diag(np.geomspace(1, 50, 60)) + 7).astype(dtype)
    with parallel.thread_session(1):
        pca = PCA(20).fit(X)
        placed = pca.transform(X)
    assert pca.embedding_.dtype == dtype
    np.testing.assert_array_equal(placed, pca.embedding_)
    order = np.random.default_rng(0).permutation(len(X))
    with parallel.thread_session(3):
        np.testing.assert_array_equal(pca.transform(X[order]), placed[order])
        np.testing.assert_array_equal(pca.transform(np.asfortranarray(X)), placed)
    for row in (0, 4095, 4096, 8999):
        np.testing.assert_array_equal(pca.transform(X[row : row + 1]), placed[row : row + 1])

"""Values sorted class by class and merged, against numpy.argsort."""

import numpy as np
import pytest

from tamiz.kernels.cuts import merge_classes, split_classes


@pytest.mark.parametrize("n_classes", [1, 2, 7])
@pytest.mark.parametrize("n", [0, 1, 500])
def test_merged_values_are_the_different_pairs_of_value_and_class_with_their_rows(n, n_classes):
    rng = np.random.default_rng(n + n_classes)
    values = rng.normal(size=n).round(1)
    values[rng.random(n) < 0.1] = np.nan
    labels = rng.integers(0, n_classes, n, dtype=np.int32)
    sizes = np.bincount(labels, minlength=n_classes)
    starts = np.cumsum(sizes) - sizes
    parts, ends = np.empty(n), starts.copy()
    for piece in (slice(0, n // 3), slice(n // 3, n)):
        split_classes(values[piece], labels[piece], ends, parts)
    for start, end in zip(starts, ends, strict=True):
        parts[start:end].sort()
    n_present = int((ends - starts).sum())
    merged, classes, counts = np.empty(n_present), np.empty(n_present, dtype=np.int32), np.empty(n_present)
    m = merge_classes(parts, starts, ends, merged, classes, counts)
    present = ~np.isnan(values)
    pairs = np.stack([values[present], labels[present]], axis=1)
    wanted, n_rows = np.unique(pairs, axis=0, return_counts=True)
    assert np.stack([merged[:m], classes[:m]], axis=1).tolist() == wanted.tolist()
    assert counts[:m].tolist() == n_rows.tolist()
    assert n < 500 or m < n_present

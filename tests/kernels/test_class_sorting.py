"""Values sorted class by class and merged, against numpy.argsort."""

import numpy as np
import pytest

from tamiz.kernels.cuts import merge_classes, split_classes


@pytest.mark.parametrize("n_classes", [1, 2, 7])
@pytest.mark.parametrize("n", [0, 1, 500])
def test_the_merged_values_are_those_of_a_sort_and_keep_their_classes(n, n_classes):
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
    merged, classes = np.empty(n_present), np.empty(n_present, dtype=np.int32)
    merge_classes(parts, starts, ends, merged, classes)
    present = ~np.isnan(values)
    order = np.lexsort((labels[present], values[present]))
    assert merged.tolist() == values[present][order].tolist()
    assert classes.tolist() == labels[present][order].tolist()

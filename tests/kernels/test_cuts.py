"""The MDL kernel against the reference implementation."""

import numpy as np
import pytest

from tamiz.kernels.cuts import mdl_cuts, midpoint
from tamiz.statistics.base import Block
from tamiz.statistics.cuts import MDL, CutPoints

from ..reference.mdl import class_entropy
from ..reference.mdl import mdl_cuts as plain_cuts


def cuts(values, classes, weight=None):
    block = Block(range(len(values)), {0: values}, classes.astype(np.int32), weight)
    statistic = CutPoints((0,), MDL(), int(classes.max()) + 1).update(block)
    statistic.finish()
    return statistic.edges[0]


def random_column(seed):
    """Few distinct values, so that there are many ties; 2 to 6 classes that depend on the values to a varying degree."""
    rng = np.random.default_rng(seed)
    n, n_classes = int(rng.integers(2, 150)), int(rng.integers(2, 7))
    classes = rng.integers(0, n_classes, n)
    noise = rng.choice([0.1, 0.5, 2.0])
    values = (classes * rng.choice([-1.0, 1.0]) % 4 + noise * rng.normal(size=n)).round(int(rng.integers(0, 3)))
    return values, classes, rng


@pytest.mark.parametrize("batch", range(10))
def test_cuts_equal_the_plain_version(batch):
    n_cuts = 0
    for seed in range(40 * batch, 40 * batch + 40):
        values, classes, _ = random_column(seed)
        ours = cuts(values, classes)
        assert ours.tolist() == plain_cuts(values, classes), seed
        n_cuts += len(ours)
    assert n_cuts > 20


@pytest.mark.parametrize("batch", range(4))
def test_cuts_with_missing_values_and_weights_equal_the_plain_version(batch):
    for seed in range(1000 + 40 * batch, 1040 + 40 * batch):
        values, classes, rng = random_column(seed)
        values[rng.random(len(values)) < 0.2] = np.nan
        for weight in (rng.integers(1, 6, len(values)).astype(float), rng.random(len(values)) + 0.1):
            assert cuts(values, classes, weight).tolist() == plain_cuts(values, classes, weight), seed


def test_integer_weights_cut_as_repeated_rows_do():
    for seed in range(200):
        values, classes, rng = random_column(seed)
        weight = rng.integers(0, 5, len(values))
        if weight.sum() == 0:
            continue
        ours = cuts(values, classes, weight.astype(float))
        np.testing.assert_array_equal(ours, cuts(values.repeat(weight), classes.repeat(weight)))


def test_the_order_of_rows_does_not_matter():
    for seed in range(100):
        values, classes, rng = random_column(seed)
        order = rng.permutation(len(values))
        np.testing.assert_array_equal(cuts(values[order], classes[order]), cuts(values, classes))


def test_every_cut_of_a_clean_split_is_the_midpoint_of_neighbours():
    values = np.arange(40.0)
    assert cuts(values, (values >= 13).astype(int)).tolist() == [12.5]
    assert cuts(values, np.digitize(values, [13, 26])).tolist() == [12.5, 25.5]


def test_no_cut_pays_for_classes_that_do_not_go_with_the_values():
    rng = np.random.default_rng(0)
    found = [len(cuts(rng.normal(size=200), rng.integers(0, 2, 200))) for _ in range(50)]
    assert sum(n > 0 for n in found) <= 5


def test_of_equally_good_cuts_the_lowest_is_taken():
    # 0 | 1 ... 1 | 0 mirrors itself: both cuts leave the same entropy.
    values = np.arange(60.0)
    classes = ((values >= 20) & (values < 40)).astype(int)
    left = values < 20
    right = values >= 40
    assert class_entropy(classes[~left], np.ones(40)) == class_entropy(classes[~right], np.ones(40))
    assert cuts(values, classes).tolist() == [19.5, 39.5]


def test_a_single_value_or_class_is_never_cut():
    assert len(cuts(np.ones(50), np.arange(50) % 2)) == 0
    assert len(cuts(np.arange(50.0), np.zeros(50, dtype=int))) == 0
    assert len(cuts(np.full(50, np.nan), np.arange(50) % 2)) == 0
    assert len(cuts(np.array([1.0]), np.array([0]))) == 0


def test_the_midpoint_stays_below_the_upper_value_and_does_not_overflow():
    for low in (1.0, -1.0, 1e308, 5e-324):
        high = np.nextafter(low, np.inf)
        assert low <= midpoint(low, high) < high
    assert midpoint(1.7e308, 1.79e308) == pytest.approx(1.745e308)
    assert midpoint(2.0, 3.0) == 2.5


def test_huge_numbers_of_rows_keep_to_the_definition():
    rng = np.random.default_rng(5)
    values = rng.normal(size=20_000).round(2)
    classes = (values + rng.normal(size=20_000) > 0.3).astype(int)
    ours, plain = cuts(values, classes), plain_cuts(values, classes)
    assert ours.tolist() == plain


def test_the_kernel_reads_no_row_beyond_those_given():
    room = np.full(3, np.nan)
    n = mdl_cuts(np.empty(0), np.empty(0, dtype=np.int32), np.empty(0), np.empty(0), 2, room)
    assert n == 0
    assert np.isnan(room).all()

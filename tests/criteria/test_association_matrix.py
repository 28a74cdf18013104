"""Sums of associations: equal to the plain sums, and to the bit for every order of additions."""

import numpy as np
import pytest

from tamiz import SubsetSelector
from tamiz.criteria.base import PairwiseAssociations
from tamiz.criteria.cfs import CFS, AssociationMatrix
from tamiz.search import Exhaustive
from tamiz.search.base import Candidates
from tamiz.table.factory import as_table

from ..reference import cfs as plain
from ..statistics.mixed_tables import make_mixed


class Given(PairwiseAssociations):
    """Associations from a matrix; it counts the computed pairs."""

    def __init__(self, matrix):
        self.matrix = matrix
        self.asked = []

    def associations(self, i, j):
        self.asked += zip(i.tolist(), j.tolist(), strict=True)
        return self.matrix[i, j]

    def self_associations(self, columns):
        return np.diag(self.matrix)[columns]


def random_matrix(seed, p):
    matrix = np.random.default_rng(seed).random((p, p)) ** 3
    matrix = (matrix + matrix.T) / 2
    np.fill_diagonal(matrix, 1.0)
    return matrix


def rows_of(matrix, used=None):
    p = len(matrix)
    pairs = Given(matrix)
    return AssociationMatrix(pairs, p, np.arange(p) if used is None else used), pairs


@pytest.mark.parametrize("seed", range(4))
def test_totals_are_the_sums_over_all_pairs(seed):
    p = 12
    matrix, rng = random_matrix(seed, p), np.random.default_rng(seed)
    rows, _ = rows_of(matrix)
    masks = rng.random((30, p)) < rng.random((30, 1))
    plain = [matrix[np.ix_(mask, mask)].sum() for mask in masks]
    np.testing.assert_allclose(rows.totals(masks), plain, rtol=1e-14)
    np.testing.assert_allclose(rows.column_sums(masks[0]).value, matrix[masks[0]].sum(axis=0), rtol=1e-14)


@pytest.mark.parametrize("width", [1, 2, 4])
def test_a_total_is_the_same_to_the_bit_from_any_parent(width):
    p = 15
    matrix, rng = random_matrix(width, p), np.random.default_rng(width)
    rows, _ = rows_of(matrix)
    for _ in range(40):
        mask = rng.random(p) < 0.5
        columns = np.array([rng.permutation(p)[:width] for _ in range(6)])
        signs = np.where(mask[columns], -1.0, 1.0)
        children = np.array([mask ^ np.isin(np.arange(p), flipped) for flipped in columns])
        reached = rows.totals_after_flips(mask, rows.column_sums(mask), columns, signs)
        np.testing.assert_array_equal(reached, rows.totals(children))


def test_a_pair_is_counted_once_and_only_when_a_set_needs_it():
    rows, pairs = rows_of(random_matrix(0, 8), used=np.array([0, 1, 2, 4, 5, 6]))
    rows.column_sums(np.array([0, 0, 1, 0, 0, 0, 0, 0], dtype=bool))
    assert sorted(pairs.asked) == [(0, 2), (1, 2), (2, 4), (2, 5), (2, 6)]
    rows.totals(np.array([[0, 0, 1, 0, 1, 0, 0, 0]], dtype=bool))
    assert len(pairs.asked) == len(set(pairs.asked)) == 9
    whole = rows.to_dense()
    assert len(pairs.asked) == len(set(pairs.asked)) == 15
    expected = random_matrix(0, 8)
    expected[[3, 7]] = expected[:, [3, 7]] = 0
    np.testing.assert_allclose(whole, expected, atol=1e-15)
    np.testing.assert_array_equal(whole, whole.T)


def test_more_rows_than_fit_in_memory_are_refused_before_they_are_counted(monkeypatch):
    monkeypatch.setattr("tamiz.runtime.validation.free_memory", lambda: 10e6)
    p = 3000
    rows, pairs = rows_of(np.eye(p))
    with pytest.raises(MemoryError, match=r"3,000 rows of 3,000 associations.*Keep fewer columns first"):
        rows.totals(np.ones((1, p), dtype=bool))
    assert pairs.asked == []


def test_a_merit_of_cfs_is_the_same_to_the_bit_from_any_parent():
    table = make_mixed(3, n=80, n_numbers=5, n_codes=5)
    opened = as_table(table.frame(), table.target())
    evaluator = CFS().bind(opened, np.random.default_rng(0))
    p, rng = opened.schema.n_columns, np.random.default_rng(1)
    c, A = evaluator.quadratic_form()
    for _ in range(60):
        target, parent = rng.random((2, p)) < 0.5
        flips = rng.permutation(np.flatnonzero(target != parent))
        (reached,) = evaluator.evaluate(Candidates(parent[None], np.array([0]), np.array([0, len(flips)]), flips))
        (alone,) = evaluator.evaluate(Candidates.from_masks(target))
        assert reached == alone
        assert alone == pytest.approx(plain.merit(np.flatnonzero(target).tolist(), c, A), rel=1e-13)


@pytest.mark.parametrize("ratio", [1e2, 1e6, 1e12])
def test_columns_that_vary_by_powers_of_ten_keep_their_merits(ratio):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6)) * ratio ** np.linspace(0, 1, 6)
    y = X[:, 0] + 0.1 * rng.normal(size=200)
    table = as_table(X, y)
    evaluator = CFS(convention="weka").bind(table, np.random.default_rng(0))
    spread = X.std(axis=0)
    between = np.abs(np.corrcoef(X.T, y))
    masks = (np.arange(1, 64)[:, None] >> np.arange(6) & 1).astype(bool)
    for mask, merit in zip(masks, evaluator.evaluate(Candidates.from_masks(masks)), strict=True):
        total = (between[:6, :6] * np.outer(spread, spread))[np.ix_(mask, mask)].sum()
        assert merit == pytest.approx((between[6, :6] * spread)[mask].sum() / np.sqrt(total), rel=1e-6)
        # From any parent too.
        parent = rng.random(6) < 0.5
        flips = np.flatnonzero(parent != mask)
        (reached,) = evaluator.evaluate(Candidates(parent[None], np.array([0]), np.array([0, len(flips)]), flips))
        assert reached == pytest.approx(merit, rel=1e-12)
    best = SubsetSelector(CFS(convention="weka"), Exhaustive()).fit(X, y)
    assert best.merit_ == evaluator.evaluate(Candidates.from_masks(masks)).max()

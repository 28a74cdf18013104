"""Contingency tables of many columns, against additions row by row, and their tests of independence, against scipy."""

import numpy as np
import pytest
from scipy import stats

from tamiz.statistics.base import Block
from tamiz.statistics.contingency import Coding, ContingencyTables
from tamiz.statistics.independence import contingency_tests

# Tables of few and of many cells, and codes of one, two and four bytes.
SIZES = {0: 2, 1: 300, 2: 5, 3: 127, 4: 128, 5: 40_000, 6: 3}
TARGET, N_CLASSES = 7, 4


def random_block(rng, n_rows, *, weighted=False):
    values = {}
    for j, size in SIZES.items():
        codes = rng.integers(0, size, n_rows)
        codes[rng.random(n_rows) < 0.1] = -1
        values[j] = codes.astype(np.int8 if size <= 127 else np.int16 if size < 2**15 else np.int32)
    y = rng.integers(0, N_CLASSES, n_rows).astype(np.int32)
    return Block(range(n_rows), values, y, rng.random(n_rows) if weighted else None)


def plain_table(block, pair, sizes):
    a, b = (block.column(column) for column in pair)
    table = np.zeros([sizes[column] + 1 for column in pair])
    np.add.at(table, (a, b), 1.0 if block.weight is None else block.weight)
    return table


@pytest.mark.parametrize("weighted", [False, True])
def test_tables_of_pairs_in_any_order_equal_additions_row_by_row(weighted):
    rng = np.random.default_rng(0)
    sizes = {**SIZES, TARGET: N_CLASSES}
    pairs = [(0, TARGET), (0, 2), (1, TARGET), (2, TARGET), (5, TARGET), (3, 0), (4, TARGET), (6, 2), (6, 3), (3, 4)]
    empty = ContingencyTables(pairs, Coding(sizes, {}))
    blocks = [random_block(rng, n_rows, weighted=weighted) for n_rows in (700, 1, 64)]
    total = empty.empty()
    for block in blocks:
        total.merge(empty.empty().update(block))
    for table, pair in zip(total.tables, pairs, strict=True):
        expected = sum(plain_table(block, pair, sizes) for block in blocks)
        (np.testing.assert_allclose if weighted else np.testing.assert_array_equal)(table, expected)
    assert not any(table.any() for table in empty.tables)


@pytest.mark.parametrize("likelihood_ratio", [False, True])
def test_tests_of_many_tables_equal_scipys_of_each(likelihood_ratio):
    rng = np.random.default_rng(1)
    tables = [rng.integers(0, 30, (k, 3)) * 1.0 for k in (2, 7, 1, 40, 3, 2)]
    tables[1][2] = 0.0
    tables[3][:, 1] = 0.0
    tables[4][1:] = 0.0
    tables[5][:] = [[1, 0, 2], [2, 0, 1]]
    found = contingency_tests(tables, likelihood_ratio=likelihood_ratio)
    for t, table in enumerate(tables):
        used = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
        if min(used.shape) < 2:
            assert not found.is_tested[t]
            assert (found.log_p[t], found.n_rows[t], found.few_expected[t]) == (0.0, 0.0, False)
            continue
        name = "log-likelihood" if likelihood_ratio else "pearson"
        expected = stats.chi2_contingency(used, correction=False, lambda_=name)
        assert found.statistic[t] == pytest.approx(expected.statistic, rel=1e-12)
        assert np.exp(found.log_p[t]) == pytest.approx(expected.pvalue, rel=1e-9)
        assert found.df_between[t] == expected.dof
        assert found.n_rows[t] == table.sum()
        assert found.few_expected[t] == ((expected.expected_freq < 5).mean() > 0.2)
    assert found.few_expected.any()
    assert not found.few_expected.all()


def test_one_table_without_counts_is_not_tested():
    found = contingency_tests([np.zeros((3, 2)), np.array([[5.0, 1.0], [2.0, 9.0]])], likelihood_ratio=False)
    assert found.is_tested.tolist() == [False, True]

"""Columns whose values differ by so little that the squares of the differences underflow are named in one warning."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from tamiz import open_table
from tamiz.exceptions import DataError, TamizWarning
from tamiz.table.kinds import small_spread, small_spread_warnings

N = 30
NORMAL = np.random.default_rng(0).normal(size=(N, 3))
HALVES = np.arange(N) % 2
KINDS = {
    "array": np.asarray,
    "array by columns": np.asfortranarray,
    "sparse": sparse.csr_array,
    "frame": lambda X: pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]),
}


def read(X, y=HALVES):
    """Return the warnings of a table."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        open_table(X, y)
    return [one.message.args[0] for one in found]


@pytest.mark.parametrize("kind", KINDS)
def test_columns_of_small_differences_are_named_with_a_factor(kind):
    X = NORMAL * [1e-160, 1.0, 1e-320]
    for missing in (False, True):
        if missing:
            X[0, 0] = X[-1, 2] = np.nan
        (sentence,) = read(KINDS[kind](X))
        assert sentence.startswith("Columns 'x0', 'x2': the values differ by less than 1e-150, and")
        assert sentence.endswith("Multiply them by a power of ten, such as 1e160 for 'x0'.")


@pytest.mark.parametrize("kind", KINDS)
def test_columns_that_can_be_squared_or_are_equal_cause_no_warning(kind):
    missing = np.where(np.arange(N) == 0, np.nan, 1e-170)
    # Values that differ in the middle only, constants of any size, and a small number among large ones.
    middle = np.where(np.arange(N) == N // 2, 1.0, 0.0)
    one_small = np.where(np.arange(N) == 0, 1e-170, NORMAL[:, 0])
    X = np.column_stack([NORMAL * 1e-148, missing, np.full(N, 1e-170), np.zeros(N), middle, one_small])
    assert read(KINDS[kind](X)) == []
    assert read(KINDS[kind]((NORMAL * 1e-44).astype(np.float32))) == []


def test_the_warning_counts_further_columns_and_names_a_target():
    (sentence,) = read(np.tile(NORMAL, 3) * 1e-200)
    assert sentence.startswith("Columns 'x0', 'x1', 'x2', 'x3', 'x4' and 4 more: ")
    (sentence,) = read(NORMAL, NORMAL[:, 0] * 1e-155)
    assert sentence.startswith("Column 'target': ")
    assert sentence.endswith("Multiply the column by a power of ten, such as 1e155.")


def test_the_factor_does_not_overflow():
    (sentence,) = small_spread_warnings({"a": small_spread(np.array([0.0, 5e-324]))})
    assert sentence.endswith("such as 1e300.")


def test_the_first_row_of_a_column_in_pieces_is_compared_with_all_others():
    numbers = np.zeros(10_000)
    assert small_spread(numbers) is None
    numbers[5_000] = 1e-170
    assert small_spread(numbers) == 1e-170
    numbers[9_000] = -1.0
    assert small_spread(numbers) is None
    assert small_spread(np.full(3, np.nan)) is None
    assert small_spread(np.empty(0)) is None


def test_a_rescaled_column_has_the_scores_of_the_column_in_another_unit():
    from tamiz import RankSelector
    from tamiz.criteria import FisherScore

    expected = RankSelector(FisherScore()).fit(NORMAL, HALVES).scores_
    with pytest.warns(TamizWarning, match=r"such as 1e200"):
        wrong = RankSelector(FisherScore()).fit(NORMAL * 1e-200, HALVES).scores_
    np.testing.assert_array_equal(wrong, 0)
    np.testing.assert_allclose(
        RankSelector(FisherScore()).fit(NORMAL * 1e-200 * 1e200, HALVES).scores_, expected, rtol=1e-12
    )


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_whose_squares_overflow_are_an_error(kind):
    with pytest.raises(DataError, match=r"row \d+, column x\d: .* is too large to be squared; use another unit"):
        open_table(KINDS[kind](NORMAL * 1e152), HALVES)

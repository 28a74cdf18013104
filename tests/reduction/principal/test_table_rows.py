"""Products with the encoded rows of a mixed table, against products with explicit indicators."""

import numpy as np
import pandas as pd
import pytest

from tamiz import open_table
from tamiz.reduction.principal_components import CentredTable


def mixed(n=300, *, numbers=True):
    rng = np.random.default_rng(3)
    table = pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "b": rng.gamma(2.0, size=n) * 100,
            "place": rng.choice([f"p{k}" for k in range(40)], n),
            "colour": rng.choice(["red", "green"], n),
        }
    )
    table = table.mask(rng.random(table.shape) < 0.1)
    return (table if numbers else table[["place", "colour"]]), rng.integers(1, 4, n).astype(float)


@pytest.mark.parametrize("numbers", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("categories", ["balanced", "famd"])
def test_products_are_those_of_the_encoded_rows(categories, weighted, numbers):
    table, weight = mixed(numbers=numbers)
    opened = open_table(table, weight=weight if weighted else None)
    rows = CentredTable(opened, standardize=True, missing="mean", categories=categories)
    (block,) = opened.blocks()
    points = rows.encoding.transform(block)
    assert points.shape == (300, len(rows.encoding.names))
    directions = np.random.default_rng(0).normal(size=(3, points.shape[1]))
    covariance = (points * block.weight_or_ones[:, None]).T @ points / (block.weight_or_ones.sum() - 1)
    np.testing.assert_allclose(rows.times_covariance(directions), directions @ covariance, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(rows.project(directions), points @ directions.T, rtol=1e-11, atol=1e-11)


def test_a_row_has_the_same_bits_whatever_rows_come_with_it():
    table, _ = mixed()
    opened = open_table(table)
    rows = CentredTable(opened, standardize=True, missing="mean", categories="balanced")
    directions = np.random.default_rng(0).normal(size=(2, rows.n_coordinates))
    every = rows.project(directions)
    some = open_table(table.iloc[[7, 201]], schema=opened.schema)
    np.testing.assert_array_equal(rows.encoder.project(some, directions), every[[7, 201]])

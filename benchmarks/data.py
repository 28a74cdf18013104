"""Seeded tables with a planted structure: informative columns, noisy copies of them, and noise."""

from typing import NamedTuple

import numpy as np
import pandas as pd


class Codes(NamedTuple):
    """Categorical columns as codes from 0, with the number of values of each, and a binary target."""

    X: np.ndarray
    n_values: np.ndarray
    y: np.ndarray

    def frame(self) -> tuple[pd.DataFrame, pd.Series]:
        columns = {
            f"c{j}": pd.Categorical.from_codes(self.X[:, j], [f"v{v}" for v in range(k)])
            for j, k in enumerate(self.n_values)
        }
        return pd.DataFrame(columns), pd.Series(pd.Categorical.from_codes(self.y, ["no", "yes"]), name="target")

    def weka_table(self) -> tuple[np.ndarray, list[int]]:
        """The target last, and the number of values of every column."""
        return np.column_stack([self.X, self.y]), [*self.n_values.tolist(), 2]


class Numbers(NamedTuple):
    """Numeric columns and a binary target."""

    X: np.ndarray
    y: np.ndarray

    def frame(self) -> tuple[pd.DataFrame, pd.Series]:
        names = [f"c{j}" for j in range(self.X.shape[1])]
        return pd.DataFrame(self.X, columns=names), pd.Series(
            pd.Categorical.from_codes(self.y, ["no", "yes"]), name="target"
        )

    def weka_table(self) -> tuple[np.ndarray, list[int]]:
        return np.column_stack([self.X, self.y]), [0] * self.X.shape[1] + [2]


def categorical(
    n_rows: int, n_columns: int, *, n_informative: int, n_values: int | None = None, seed: int = 0
) -> Codes:
    """Two copies of every informative column; the strength falls from column to column, so that none stands for all.

    ``n_values=None`` draws 2 to 5 values a column.
    """
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    k = rng.integers(2, 6, n_columns) if n_values is None else np.full(n_columns, n_values)
    X = np.empty((n_rows, n_columns), dtype=np.uint8)
    place = rng.permutation(n_columns)
    for rank, j in enumerate(place):
        noise = rng.integers(0, k[j], n_rows)
        if rank < n_informative:
            told, kept = y * (k[j] - 1), 0.45 - 0.25 * rank / n_informative
        elif rank < 3 * n_informative:
            told, kept = X[:, place[rank % n_informative]] % k[j], 0.8
        else:
            told, kept = noise, 0.0
        X[:, j] = np.where(rng.random(n_rows) < kept, told, noise)
    return Codes(X, k, y)


def numeric(n_rows: int, n_columns: int, *, n_informative: int, seed: int = 0) -> Numbers:
    """Normal columns, the informative ones shifted by the class; no two values equal, the most that cuts can cost."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    X = rng.normal(size=(n_rows, n_columns))
    X[:, :n_informative] += y[:, None] * np.linspace(2.0, 0.1, n_informative)
    return Numbers(X, y)

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


def mixed(n_rows: int, seed: int = 0) -> pd.DataFrame:
    """20 columns as in a table of customers, and a binary target "outcome".

    8 numbers, of which 3 follow others; 7 categorical columns of 3 to 30 levels and one, "place", of about 2,000 levels at 100,000
    rows; a boolean column, two of dates, and an integer. Six columns have 2 to 20 % missing values.
    """
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=(n_rows, 3))
    outcome = (latent[:, 0] + 0.7 * latent[:, 1] + rng.normal(size=n_rows) > 0.3).astype(int)
    table: dict[str, object] = {}
    table["income"] = np.exp(10 + 0.5 * latent[:, 0] + 0.3 * rng.normal(size=n_rows)).round(2)
    table["spending"] = (0.3 * np.asarray(table["income"]) * np.exp(0.2 * rng.normal(size=n_rows))).round(2)
    table["savings"] = np.maximum(0.0, 1e4 * latent[:, 2] + 2e3 * rng.normal(size=n_rows)).round(0)
    table["distance"] = rng.gamma(2.0, 5.0, n_rows).round(3)
    table["height"] = rng.normal(170, 10, n_rows).round(1)
    table["weight"] = (np.asarray(table["height"]) - 100 + rng.normal(0, 8, n_rows)).round(1)
    table["score"] = latent[:, 1] + 0.5 * rng.normal(size=n_rows)
    table["noise"] = rng.normal(size=n_rows)
    table["visits"] = rng.poisson(np.exp(0.5 + 0.3 * latent[:, 1]))
    for at, n_levels in enumerate((3, 4, 6, 8, 12, 20, 30)):
        signal = latent[:, at % 3] * (0.8 - 0.1 * at)
        ranks = (signal + rng.normal(size=n_rows)).argsort().argsort()
        table[f"group_{n_levels}"] = [f"g{code:02d}" for code in ranks * n_levels // n_rows]
    n_places = max(5, min(2000, n_rows // 20))
    table["place"] = [f"place {code}" for code in rng.integers(0, n_places, n_rows)]
    table["member"] = latent[:, 0] + rng.normal(size=n_rows) > 0
    start = np.datetime64("2015-01-01T00:00")
    table["joined"] = start + rng.integers(0, 3650 * 24, n_rows).astype("timedelta64[h]")
    table["last_seen"] = table["joined"] + rng.integers(1, 400, n_rows).astype("timedelta64[D]")
    frame = pd.DataFrame(table)
    for name, share in zip(
        ("income", "savings", "score", "group_6", "group_20", "last_seen"),
        (0.02, 0.2, 0.05, 0.1, 0.04, 0.08),
        strict=True,
    ):
        frame.loc[rng.random(n_rows) < share, name] = None
    frame["outcome"] = np.where(outcome == 1, "yes", "no")
    return frame

"""Real tables with extra columns of no or little use, by the three generators of Cherepanova et al. (2023).

The extra columns are as many as the numeric columns of the table, half of the numbers then, and are made of these:

- *random*: independent standard normal numbers.
- *corrupted*: half of a column plus half of normal noise of its standard deviation.
- *second order*: the product of two columns.

Columns are drawn with replacement. Tables of `shared/data` are left out where that folder is absent.

Cherepanova, Levin, Somepalli, Geiping, Bruss, Wilson, Goldstein and Goldblum (2023), A performance-driven benchmark for feature
selection in tabular deep learning, NeurIPS Datasets and Benchmarks.
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine

DATA = Path(__file__).parents[2] / "shared" / "data"
NOISES = ("random", "corrupted", "second order")


class Table(NamedTuple):
    """Columns, a target (text for classes, numbers otherwise), and which columns are original ones."""

    X: pd.DataFrame
    y: np.ndarray
    is_original: np.ndarray

    @property
    def has_classes(self) -> bool:
        return self.y.dtype.kind == "U"


def from_scikit_learn(
    load: Callable[..., tuple[pd.DataFrame, pd.Series]],
) -> Callable[[], tuple[pd.DataFrame, np.ndarray]]:
    def read() -> tuple[pd.DataFrame, np.ndarray]:
        X, y = load(return_X_y=True, as_frame=True)
        return X.loc[:, X.nunique() > 1], y.to_numpy()

    return read


def from_csv(name: str, target: str) -> Callable[[], tuple[pd.DataFrame, np.ndarray]]:
    def read() -> tuple[pd.DataFrame, np.ndarray]:
        frame = pd.read_csv(DATA / name).drop(columns="rownames").dropna(subset=[target])
        return frame.drop(columns=target), frame[target].to_numpy()

    return read


def from_arff(name: str, target: str) -> Callable[[], tuple[pd.DataFrame, np.ndarray]]:
    def read() -> tuple[pd.DataFrame, np.ndarray]:
        from tamiz import open_table

        frame = open_table(DATA / name).frame()
        frame = frame if isinstance(frame, pd.DataFrame) else frame.to_pandas()
        return frame.drop(columns=target), frame[target].to_numpy()

    return read


TABLES: dict[str, Callable[[], tuple[pd.DataFrame, np.ndarray]]] = {
    "breast cancer": from_scikit_learn(load_breast_cancer),
    "wine": from_scikit_learn(load_wine),
    "digits": from_scikit_learn(load_digits),
    "diabetes progression": from_scikit_learn(load_diabetes),
    "credit-g": from_arff("credit-g.arff", "class"),
    "diabetes": from_arff("diabetes.arff", "class"),
    "cpu": from_arff("cpu.arff", "class"),
    "penguins": from_csv("penguins.csv", "species"),
    "College": from_csv("College.csv", "Private"),
    "Hitters": from_csv("Hitters.csv", "Salary"),
    "diamonds": from_csv("diamonds.csv", "price"),
}


def available() -> list[str]:
    """Return the names of the tables that are on this machine."""
    return list(TABLES) if DATA.exists() else list(TABLES)[:4]


def read_table(name: str, noise: str, seed: int, max_rows: int) -> Table:
    """Return at most `max_rows` random rows of a table, with extra columns of a kind, in random order.

    Classes are text; columns of text and categories are pandas categories.
    """
    rng = np.random.default_rng([crc32(name.encode()), NOISES.index(noise), seed])
    X, y = TABLES[name]()
    rows = rng.permutation(len(X))[:max_rows]
    X, y = X.iloc[rows].reset_index(drop=True), y[rows]
    is_number = [dtype.kind in "fiu" for dtype in X.dtypes]
    categories = {
        column: X[column].astype("category") for column, number in zip(X, is_number, strict=True) if not number
    }
    X = X.assign(**categories)
    extra = extra_columns(rng, X.loc[:, is_number].to_numpy(dtype=float), noise)
    names = [f"{noise} {k}" for k in range(extra.shape[1])]
    both = pd.concat([X, pd.DataFrame(extra, columns=names)], axis=1)
    order = rng.permutation(both.shape[1])
    classes = y.dtype.kind not in "f" and len(np.unique(y)) <= 20
    target = np.array([f"class {value}" for value in y]) if classes else y.astype(float)
    return Table(both.iloc[:, order], target, order < X.shape[1])


def extra_columns(rng: np.random.Generator, numbers: np.ndarray, noise: str) -> np.ndarray:
    """Return as many columns of a kind as there are columns of numbers."""
    p = numbers.shape[1]
    if noise == "random":
        return rng.standard_normal(numbers.shape)
    first = numbers[:, rng.choice(p, p)]
    if noise == "corrupted":
        return 0.5 * first + 0.5 * rng.standard_normal(numbers.shape) * np.nanstd(first, axis=0)
    return first * numbers[:, rng.choice(p, p)]

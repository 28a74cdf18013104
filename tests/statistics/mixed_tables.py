"""Random mixed tables with ties, missing values and weights, also as a table."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from tamiz import open_table


class Mixed(NamedTuple):
    numbers: np.ndarray  # (n, p1), NaN where missing
    codes: np.ndarray  # (n, p2), -1 where missing
    classes: np.ndarray  # (n,)
    weight: np.ndarray  # (n,), whole numbers from 1 on

    def frame(self):
        columns = {f"number {j}": self.numbers[:, j] for j in range(self.numbers.shape[1])}
        for j in range(self.codes.shape[1]):
            columns[f"level {j}"] = pd.Categorical.from_codes(self.codes[:, j], [*"abcdefghijklmnopqrstuvwxyz"])
        return pd.DataFrame(columns)

    def target(self):
        return np.array([*"uvwxyz"])[self.classes]

    def table(self, *, target=None, weighted=False):
        target = self.target() if target is None else target
        return open_table(self.frame(), target, weight=self.weight.astype(float) if weighted else None)

    def repeated(self):
        return Mixed(*(part.repeat(self.weight, axis=0) for part in self))

    def rows(self, order):
        return Mixed(*(part[order] for part in self))

    def columns(self):
        return [*self.numbers.T, *self.codes.T]


def make_mixed(seed, *, n=None, n_numbers=3, n_codes=3, missing=0.15):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(12, 90)) if n is None else n
    classes = rng.integers(0, rng.integers(2, 6), n)
    classes[:2] = 0, 1
    numbers = (rng.normal(size=(n, n_numbers)) + classes[:, None] * rng.random(n_numbers)).round(1)
    codes = (classes[:, None] * rng.integers(0, 3, n_codes) + rng.integers(0, 4, (n, n_codes))) % rng.integers(2, 7)
    # Two complete rows, so that no column is entirely missing.
    is_missing = rng.random((n, n_numbers)) < missing * rng.random()
    is_missing[:2] = False
    numbers[is_missing] = np.nan
    is_missing = rng.random((n, n_codes)) < missing * rng.random()
    is_missing[:2] = False
    codes[is_missing] = -1
    return Mixed(numbers, codes, classes, rng.integers(1, 5, n))

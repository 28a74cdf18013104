"""Sets of rows that are difficult for a neighbour search: ties, duplicates, and numbers that float32 cannot represent."""

import numpy as np


def lattice(n_columns, side):
    axes = np.meshgrid(*[np.arange(float(side))] * n_columns)
    return np.stack(axes, axis=-1).reshape(-1, n_columns)


def hard_sets(n=230):
    rng = np.random.default_rng(0)
    normal = rng.normal(size=(n, 5))
    few_repeats = normal.copy()
    few_repeats[::30] = few_repeats[7]
    outlier = normal.copy()
    outlier[3] = 1e9
    return {
        "normal": normal,
        "one column": rng.integers(0, 90, (n, 1)).astype(float),
        "clusters far apart": 0.01 * normal + 1e6 * rng.integers(0, 3, (n, 1)),
        "many repeats": rng.integers(0, 3, (n, 4)).astype(float),
        "few repeats": few_repeats,
        "all equal": np.full((n, 3), 0.1),
        "zeros of both signs": rng.choice([0.0, -0.0, 1.0], (n, 6)),
        "lattice": lattice(2, 15),
        "binary": rng.integers(0, 2, (n, 14)).astype(float),
        "offset": 1e6 + normal,
        "columns of many scales": normal * [1e-8, 1e8, 1.0, 1e-4, 1e4],
        "outlier": outlier,
        "huge": normal * 1e200,
        "denormal": np.round(normal * 100) * 5e-324,
        "vanishing squares": np.column_stack([rng.integers(0, 9, n), rng.integers(0, 2, (n, 2)) * 1e-170]),
        "two rows": np.array([[0.0, 1.0], [1.0, 1.0]]),
    }


HARD = hard_sets()

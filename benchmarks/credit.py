"""credit-g made wide: its 20 columns, copies of them with errors, and noise."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

CREDIT = Path(__file__).parents[2] / "shared" / "data" / "credit-g.arff"
needs_credit = pytest.mark.skipif(not CREDIT.exists(), reason=f"no {CREDIT.name} beside the project, in shared/data")


def credit(n_copies: int, n_noise: int, *, errors: float = 0.3, seed: int = 0) -> tuple[pd.DataFrame, pd.Series]:
    """A copy has the values of its column, but for a share that comes from other rows.

    Noise has 2 to 10 categories: numeric noise is cut to one interval, and would be no work.
    """
    from tamiz import open_table

    rng = np.random.default_rng(seed)
    table = open_table(CREDIT)
    frame = table.frame(range(len(table.schema.names))).to_pandas()
    target = frame.pop("class")
    names, n = list(frame.columns), len(frame)
    made = {}
    for k in range(n_copies):
        column = frame[names[k % len(names)]]
        rows = np.where(rng.random(n) < errors, rng.permutation(n), np.arange(n))
        made[f"copy {k} of {column.name}"] = column.iloc[rows].reset_index(drop=True)
    for k in range(n_noise):
        n_values = int(rng.integers(2, 11))
        made[f"noise {k}"] = pd.Categorical.from_codes(
            rng.integers(0, n_values, n), [f"v{value}" for value in range(n_values)]
        )
    return pd.concat([frame, pd.DataFrame(made)], axis=1), target

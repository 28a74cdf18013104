"""Rates of the verdicts of `compare_tables` on pairs of tables of known truth: `python -m benchmarks.compared_tables_rates`."""

from collections import Counter

import numpy as np
import pandas as pd

from tamiz import compare_tables

SIZES = ((50, 50, 150), (500, 50, 100), (500, 500, 120))
N_PLANTED, PLANTED_ROWS = 40, 200


def draw(rng, n, slope=1.0):
    X = rng.normal(size=(n, 6))
    X[:, 1] += 0.7 * X[:, 0]
    code = rng.integers(0, 4, n)
    y = slope * X[:, 0] + 0.5 * (code == 1) + rng.normal(size=n) > 0
    table = pd.DataFrame(X, columns=list("abcdef")).assign(city=np.array(["w", "x", "y", "z"])[code])
    return table.assign(y=np.where(y, "yes", "no"))


def planted(rng):
    """Return a second table with a shift, a new level, rows outside, and a reversed association."""
    table = draw(rng, PLANTED_ROWS, slope=-1.0)
    table["c"] += 0.8
    table.loc[:19, "city"] = "new"
    table.loc[20:39, "d"] += 6
    return table


def main():
    false = Counter()
    for n, m, n_pairs in SIZES:
        found = Counter()
        for seed in range(n_pairs):
            rng = np.random.default_rng(5000 + seed)
            found.update({one.code for one in compare_tables(draw(rng, n), draw(rng, m), "y").warnings})
        print(f"{n} and {m} rows, {n_pairs} pairs without change: {dict(found)}", flush=True)
        false += found
    print(f"False alarms in {sum(one[2] for one in SIZES)} pairs: {dict(false)}", flush=True)
    true = Counter()
    for seed in range(N_PLANTED):
        rng = np.random.default_rng(seed)
        true.update({one.code for one in compare_tables(draw(rng, PLANTED_ROWS), planted(rng), "y").warnings})
    print(f"Found in {N_PLANTED} pairs with changes: {dict(true)}")


if __name__ == "__main__":
    main()

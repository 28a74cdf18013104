"""How often intervals of associations cover the truth, and effects, shapes and interactions are found, in generated tables.

Run it from the root: `python -m benchmarks.association_rates [--tables 200] [--part WORD] [--write docs/associations.md]`. The
functions are called directly, without a study. The truth of an interval is a plain formula on 400,000 rows of the same kind.
"""

import argparse
import time
import warnings
from collections import defaultdict

import numpy as np
import pandas as pd
from scipy.stats import norm, rankdata
from sklearn.linear_model import LogisticRegression

from tamiz import open_source
from tamiz.assessment import describe_associations

N_TRUTH = 400_000
BEGIN, END = "<!-- rates -->", "<!-- end of rates -->"
SHAPES = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "skewed": lambda rng, shape: rng.exponential(size=shape),
    "heavy tails": lambda rng, shape: rng.standard_t(2, size=shape),
}


def two_classes(kind, share, effect):
    def draw(n, rng, p):
        y = np.zeros(n, dtype=int)
        y[rng.choice(n, round(share * n), replace=False)] = 1
        return SHAPES[kind](rng, (n, p)) + effect * y[:, None], np.array(["no", "yes"])[y]

    return draw


def three_classes(kind, share, effect):
    def draw(n, rng, p):
        y = rng.choice(3, n, p=[(1 - share) / 2, (1 - share) / 2, share])
        return SHAPES[kind](rng, (n, p)) + effect * y[:, None], np.array(["a", "b", "c"])[y]

    return draw


def two_numbers(kind, _, effect):
    def draw(n, rng, p):
        y = SHAPES[kind](rng, n)
        return SHAPES[kind](rng, (n, p)) + effect * y[:, None], y

    return draw


def levels_and_classes(kind, share, effect):
    def draw(n, rng, p):
        y = rng.random(n) < share
        y[:2] = False, True
        shift = np.where(y, min(effect, 0.9) * 0.3, 0.0)[:, None]
        codes = np.minimum((rng.random((n, p)) + shift) * (2 if kind == "normal" else 4), 3).astype(int)
        return np.array(["k", "l", "m", "n"], dtype=object)[codes], np.where(y, "yes", "no")

    return draw


def levels_and_numbers(kind, _, effect):
    def draw(n, rng, p):
        codes = rng.choice(4, (n, p), p=[0.35, 0.3, 0.3, 0.05])
        y = SHAPES[kind](rng, n)
        # The first column shifts the target; only it is described.
        y = y + effect * codes[:, 0] / 3
        return np.array(["k", "l", "m", "n"], dtype=object)[codes[:, :1]], y

    return draw


FAMILIES = {
    "number, two classes": two_classes,
    "number, three classes": three_classes,
    "two numbers": two_numbers,
    "levels, two classes": levels_and_classes,
    "levels, number": levels_and_numbers,
}


def truth_of(measure, of, x, y):
    """Return a measure by a plain formula on many rows."""
    if measure == "standard deviations":
        return np.sqrt(2) * norm.ppf(truth_of("share of pairs", of, x, y))
    if measure in ("Hedges' g", "share of pairs", "odds ratio") and x.dtype != object:
        second = y == of
        a, b = x[second], x[~second]
        if measure == "Hedges' g":
            return (a.mean() - b.mean()) / np.sqrt((len(a) * a.var() + len(b) * b.var()) / len(x))
        if measure == "share of pairs":
            return (rankdata(x)[second].sum() - len(a) * (len(a) + 1) / 2) / len(a) / len(b)
        z = (x - x.mean()) / x.std()
        return np.exp(LogisticRegression(C=np.inf).fit(z[:, None], second).coef_[0, 0])
    if measure == "eta":
        groups, values = (x, y) if x.dtype == object else (y, x)
        frame = pd.DataFrame({"x": values, "g": groups})
        return np.sqrt(frame.groupby("g")["x"].transform("mean").var() / frame["x"].var())
    if measure == "eta of ranks":
        return truth_of("eta", of, x, rankdata(y)) if x.dtype == object else truth_of("eta", of, rankdata(x), y)
    if measure == "correlation":
        return np.corrcoef(x, y)[0, 1]
    if measure == "rank correlation":
        return np.corrcoef(rankdata(x), rankdata(y))[0, 1]
    if measure == "slope":
        return np.cov(x, y)[0, 1] / x.std()
    if measure == "rate":
        return np.mean(y[x == of] == "yes")
    if measure == "mean":
        return y[x == of].mean()
    if measure == "median":
        return np.median(y[x == of])
    counts = pd.crosstab(x, y).to_numpy()
    expected = counts.sum(1, keepdims=True) * counts.sum(0) / counts.sum()
    if measure == "odds ratio":
        return counts[0, 0] * counts[1, 1] / counts[0, 1] / counts[1, 0]
    return np.sqrt(((counts - expected) ** 2 / expected).sum() / counts.sum() / (min(counts.shape) - 1))


def coverage(n_tables, only=""):
    """Yield rows of the share of intervals that contain the truth."""
    for family, make in FAMILIES.items():
        for kind in SHAPES:
            for n, share in ((60, 0.5), (60, 0.05), (1000, 0.5), (1000, 0.05)):
                if (family == "two numbers" or family == "levels, number") and share < 0.5:
                    continue
                if kind == "heavy tails" and family == "levels, two classes":
                    continue
                for effect in (0.0, 0.8):
                    label = f"{family}, {kind}, {n:,} rows, {share:.0%}, effect {effect}"
                    if only not in label:
                        continue
                    draw = make(kind, share, effect)
                    X, y = draw(N_TRUTH, np.random.default_rng(10**6), 2)
                    hits, truths = defaultdict(list), {}
                    for seed in range(n_tables):
                        columns, target = draw(n, np.random.default_rng(seed), 4)
                        table = open_source(pd.DataFrame(columns).add_prefix("x").infer_objects(), target)
                        for found in describe_associations(table):
                            for one in filter(None, (found.effect, *found.others)):
                                measure = one.measure
                                if measure == "eta":
                                    measure = "eta of ranks"
                                of = "" if measure.startswith(("eta", "Cramer")) else one.of
                                if (measure, of) not in truths:
                                    null = effect == 0 and measure.startswith(("eta", "Cramer"))
                                    truths[measure, of] = 0.0 if null else truth_of(measure, of, X[:, 0], y)
                                low, high = one.interval
                                hits[measure].append(low - 1e-9 <= truths[measure, of] <= high + 1e-9)
                    for measure, each in hits.items():
                        if len(each) >= n_tables / 2:
                            yield label, measure, 100 * np.mean(each), len(each)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--part", default="")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    begun = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for row in coverage(options.tables, options.only):
            print("{} | {} | {:.1f} | {}".format(*row), flush=True)
    print(f"{time.process_time() - begun:.0f} s of CPU")


if __name__ == "__main__":
    main()

"""How often intervals of associations cover the truth, and effects, shapes and interactions are found, in generated tables.

Run it from the root: `python -m benchmarks.association_rates [--tables 200] [--part WORD] [--write benchmarks/measured.md]`. The
functions are called directly, without a study. The truth of an interval is a plain formula on 400,000 rows of the same kind.
"""

import argparse
import time
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import norm, rankdata
from sklearn.linear_model import LogisticRegression

from tamiz import open_table
from tamiz.assessment import describe_associations, find_interactions, table_remarks

N_TRUTH = 400_000
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
                        table = open_table(pd.DataFrame(columns).add_prefix("x").infer_objects(), target)
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


def clustered(n_tables):
    """Yield the coverage of the intervals of dependent rows and of sampling weights."""
    designs = {
        "100 groups of 5 rows, intraclass correlation .5": {"groups": np.repeat(np.arange(100), 5)},
        "500 rows, sampling weights of a coefficient of variation 1": {"weights": "sampling"},
    }
    truths = {"standard deviations": 0.5, "rank correlation": 6 / np.pi * np.arcsin(0.4 / 2)}
    for label, options in designs.items():
        for target in ("two classes", "number"):
            hits = []
            for seed in range(n_tables):
                rng = np.random.default_rng(seed)
                groups = np.repeat(np.arange(100), 5)
                shared = "groups" in options
                noise = [
                    (np.sqrt(0.5) * rng.normal(size=100)[groups] + np.sqrt(0.5) * rng.normal(size=500))
                    if shared
                    else rng.normal(size=500)
                    for _ in range(2)
                ]
                if target == "number":
                    x, y = noise[0], 0.4 * noise[0] + np.sqrt(1 - 0.4**2) * noise[1]
                else:
                    second = rng.permutation(100)[groups] < 40 if shared else rng.random(500) < 0.4
                    x, y = noise[0] + 0.5 * second, np.where(second, "yes", "no")
                weight = {} if shared else {"weight": rng.exponential(size=500)}
                table = open_table(pd.DataFrame({"x": x}), y, **options, **weight)
                one = describe_associations(table)[0].effect
                hits.append(one.interval[0] <= truths[one.measure] <= one.interval[1])
            yield f"{label}, {target}", one.measure, 100 * np.mean(hits), len(hits)


def logistic(rng, score):
    return np.where(rng.random(len(score)) < 1 / (1 + np.exp(-score)), "yes", "no")


def associated(rng, kind):
    """Return a table of 20 columns of which the first is associated, and the name of what is planted in it."""
    n = 1000
    X = pd.DataFrame(rng.normal(size=(n, 20))).add_prefix("x")
    u, noise = X["x0"], rng.normal(size=n)
    if kind == "no association, two classes":
        return X, logistic(rng, 0 * u - 2.9)
    if kind == "no association, heavy tails":
        return pd.DataFrame(rng.standard_t(2, size=(n, 20))).add_prefix("x"), rng.standard_t(2, size=n)
    if kind == "no association, levels and missing values":
        levels = pd.DataFrame(rng.choice(list("abcd"), (n, 20))).add_prefix("x")
        return levels.where(rng.random((n, 20)) > 0.1), rng.choice(list("xyz"), n)
    if kind == "no association, groups of 5 rows":
        groups = np.repeat(np.arange(200), 5)
        return pd.DataFrame(rng.normal(size=(200, 20))[groups]).add_prefix("x"), rng.normal(size=200)[groups]
    if kind == "difference of .35 standard deviations":
        y = rng.random(n) < 0.5
        return X.assign(x0=u + 0.35 * y), np.where(y, "yes", "no")
    if kind == "difference of .8 standard deviations, class of 5 %":
        y = rng.random(n) < 0.05
        return X.assign(x0=u + 0.8 * y), np.where(y, "yes", "no")
    if kind == "correlation of .2":
        return X, 0.2 * u + noise
    if kind == "rates of 30 and 45 %":
        level = rng.random(n) < 0.5
        return X.assign(x0=np.where(level, "a", "b")), np.where(rng.random(n) < 0.3 + 0.15 * level, "yes", "no")
    if kind == "missing values: 30 against 50 %":
        missing = rng.random(n) < 0.2
        return X.assign(x0=u.mask(missing)), np.where(rng.random(n) < 0.3 + 0.2 * missing, "yes", "no")
    if kind == "U-shaped, R2 .15":
        return X, 0.3 * u**2 + noise
    if kind == "inverted U, two classes":
        return X, logistic(rng, 1.2 * (1 - u**2))
    if kind == "threshold of 1 standard deviation":
        return X, 1.0 * (u > 0.3) + noise
    if kind == "increasing, R2 .2":
        return X, 0.5 * u + noise
    return X, np.exp(0.5 * u) + noise  # convex and increasing: neither U-shaped nor a threshold


GROUPED = "no association, groups of 5 rows"
ASSOCIATED = {
    "no association, two classes": None,
    "no association, heavy tails": None,
    "no association, levels and missing values": None,
    GROUPED: None,
    "difference of .35 standard deviations": "",
    "difference of .8 standard deviations, class of 5 %": "",
    "correlation of .2": "",
    "rates of 30 and 45 %": "",
    "missing values: 30 against 50 %": "missing",
    "U-shaped, R2 .15": "U-shaped",
    "inverted U, two classes": "inverted U",
    "threshold of 1 standard deviation": "threshold",
    "increasing, R2 .2": "increasing",
    "convex and increasing, exp(x / 2)": "",
}


def association_rates(n_tables):
    """Yield the share of tables in which the planted association is found, and false claims.

    Without an association a table with any claim is false; beside a planted one a shape of another kind, as a false discovery rate
    permits false columns.
    """
    for kind, planted in ASSOCIATED.items():
        n_found = n_false = 0
        for seed in range(n_tables):
            X, y = associated(np.random.default_rng(seed), kind)
            options = {"groups": np.repeat(np.arange(200), 5)} if kind == GROUPED else {}
            found = describe_associations(open_table(X, y, **options))
            missing = [one.missing is not None and one.missing.is_significant for one in found]
            if planted is None:
                n_false += any(one.is_significant for one in found) or any(missing)
                continue
            first = found[0]
            if planted == "missing":
                n_found += missing[0]
            else:
                n_found += first.shape == planted if planted else first.adjusted <= 0.05
            n_false += first.shape not in ("", planted, "increasing", "decreasing")
        yield (
            "associations",
            kind,
            "" if planted is None else f"{100 * n_found / n_tables:.1f}",
            f"{100 * n_false / n_tables:.1f}",
        )


def interaction_table(rng, kind):
    n, p = 1000, 20
    X = rng.normal(size=(n, p))
    sums = X @ np.full(p, 0.8)
    if kind == "XOR, 20 % of the classes wrong":
        return X, np.where((X[:, 3] * X[:, 7] > 0) ^ (rng.random(n) < 0.2), "yes", "no")
    if kind == "XOR of booleans, 30 % wrong":
        return X > 0, np.where((X[:, 3] * X[:, 7] > 0) ^ (rng.random(n) < 0.3), "yes", "no")
    if kind == "product of uniform columns, the stated smallest share":
        X = rng.uniform(-np.sqrt(3), np.sqrt(3), (n, p))
        return X, X @ np.full(p, 0.8) + 0.1755 * X[:, 3] * X[:, 7] + rng.normal(size=n)
    if kind == "product, twice the stated smallest share":
        return X, sums + 0.232 * X[:, 3] * X[:, 7] + rng.normal(size=n)
    if kind == "sum, log-odds":
        return X, logistic(rng, sums)
    if kind == "sum, rare class":
        return X, logistic(rng, 0.6 * sums - 4.2)
    if kind == "sum, linear":
        return X, sums + rng.normal(size=n)
    if kind == "sum, heavy tails":
        return X, sums + rng.standard_t(2, size=n)
    if kind == "sum of bends and steps, skewed columns":
        X = rng.exponential(size=(n, p))
        return X, (np.sqrt(X) + (X > 1)).sum(axis=1) + rng.normal(size=n)
    if kind == "sum of levels, log-odds":
        levels = rng.choice(list("abcde"), (n, p))
        return pd.DataFrame(levels), logistic(rng, (levels == "a").sum(axis=1) - p / 5)
    if kind == "three classes, log-odds":
        return X[:, :10], np.array(list("abc"))[np.argmax(X[:, :3] + rng.gumbel(size=(n, 3)), axis=1)]
    if kind == "correlated columns, log-odds":
        X = rng.normal(size=(n, 1)) + 0.5 * X
        return X, logistic(rng, 2 * X[:, 0] + X[:, 1])
    X = rng.normal(size=(300, 100))
    return X, X @ np.full(100, 0.5) + rng.normal(size=300)


INTERACTIONS = {
    "XOR, 20 % of the classes wrong": True,
    "XOR of booleans, 30 % wrong": True,
    "product of uniform columns, the stated smallest share": True,
    "product, twice the stated smallest share": True,
    "sum, log-odds": False,
    "sum, rare class": False,
    "sum, linear": False,
    "sum, heavy tails": False,
    "sum of bends and steps, skewed columns": False,
    "sum of levels, log-odds": False,
    "three classes, log-odds": False,
    "correlated columns, log-odds": False,
    "300 rows, 100 columns, linear": False,
}


def interaction_rates(n_tables):
    for kind, planted in INTERACTIONS.items():
        n_found = n_false = 0
        for seed in range(n_tables):
            X, y = interaction_table(np.random.default_rng(seed), kind)
            found = find_interactions(open_table(pd.DataFrame(X).add_prefix("x"), y))
            named = [one.columns for one in found.pairs]
            n_found += ("x3", "x7") in named
            # The mean share of false pairs where a true one is planted, as it is what the adjustment controls.
            n_wrong = sum(one != ("x3", "x7") or not planted for one in named)
            n_false += n_wrong / max(len(named), 1)
        yield (
            "interactions",
            kind,
            f"{100 * n_found / n_tables:.1f}" if planted else "",
            f"{100 * n_false / n_tables:.1f}",
        )


def remark_table(rng, kind):
    n = 600
    X = pd.DataFrame(rng.normal(size=(n, 10))).add_prefix("x")
    y = logistic(rng, X["x1"])
    t = np.linspace(0, 1, n)
    if kind == "heavy tails: lognormal, sd of the log 2":
        return X.assign(x0=np.exp(2 * X["x0"])), y
    if kind == "heavy tails: t, 1 degree of freedom, signed":
        return X.assign(x0=rng.standard_t(1, size=n)), y
    if kind == "drift of the mean by .8 standard deviations":
        return X.assign(x0=X["x0"] + 0.8 * np.sqrt(12) / 2 * t), y
    if kind == "drift of the target, 30 to 70 %":
        return X, np.where(rng.random(n) < 0.3 + 0.4 * t, "yes", "no")
    if kind == "sorted by a column that goes with the target":
        order = np.argsort(X["x1"].to_numpy())
        return X.iloc[order].reset_index(drop=True), y[order]
    if kind == "exponential columns":
        return pd.DataFrame(rng.exponential(size=(n, 10))).add_prefix("x"), y
    return X, y


REMARKS = {
    "heavy tails: lognormal, sd of the log 2": ("heavy tails", "x0"),
    "heavy tails: t, 1 degree of freedom, signed": ("heavy tails", "x0"),
    "drift of the mean by .8 standard deviations": ("drift", "x0"),
    "drift of the target, 30 to 70 %": ("drift", "target"),
    "sorted by a column that goes with the target": None,
    "exponential columns": None,
    "normal columns": None,
}


def remark_rates(n_tables):
    for kind, planted in REMARKS.items():
        n_found = n_false = 0
        for seed in range(n_tables):
            found = table_remarks(open_table(*remark_table(np.random.default_rng(seed), kind)))
            named = {(one.kind, name) for one in found for name in one.columns}
            n_found += planted in named
            # As for interactions.
            n_false += len(named - {planted}) / max(len(named), 1)
        yield "remarks", kind, f"{100 * n_found / n_tables:.1f}" if planted else "", f"{100 * n_false / n_tables:.1f}"


def summarize(rows):
    """Return the coverage by family, measure and number of rows: the lowest and the highest over distributions and effects."""
    found = defaultdict(list)
    for label, measure, share, _ in rows:
        family, _, n, rare, _ = label.rsplit(", ", 4) if label.count(", ") > 4 else label.split(", ", 4)
        found[family, f"{n}{', rare class 5 %' if rare == '5%' else ''}", measure].append(share)
    return [(*key, f"{min(each):.1f}", f"{np.mean(each):.1f}", f"{max(each):.1f}") for key, each in found.items()]


def markdown(head, rows):
    return "\n".join(
        [
            "| " + " | ".join(head) + " |",
            "|" + " --- |" * len(head),
            *("| " + " | ".join(map(str, row)) + " |" for row in rows),
        ]
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--part", choices=["coverage", "rates"], default=None)
    parser.add_argument("--only", default="")
    parser.add_argument("--write", type=Path, default=None, help="page whose tables are replaced")
    options = parser.parse_args()
    begun = time.process_time()
    covered, rates, dependent = [], [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if options.part != "rates":
            for row in coverage(max(options.tables // 4, 50), options.only):
                covered.append(row)
                print("{} | {} | {:.1f} | {}".format(*row), flush=True)
            dependent = list(clustered(2 * options.tables)) if not options.only else []
            for row in dependent:
                print("{} | {} | {:.1f} | {}".format(*row), flush=True)
        if options.part != "coverage":
            for part in (association_rates, interaction_rates, remark_rates):
                for row in part(options.tables):
                    rates.append(row)
                    print(" | ".join(row), flush=True)
    print(f"{time.process_time() - begun:.0f} s of CPU")
    if options.write is None:
        return
    heads = (
        ["What", "Table", "Found, %", "False, %"],
        ["Association", "Rows", "Measure", "Lowest, %", "Mean, %", "Highest, %"],
    )
    dependent_rows = [
        ("dependent rows", label, measure, *([f"{share:.1f}"] * 3)) for label, measure, share, _ in dependent
    ]
    tables = {"rates": (heads[0], rates), "coverage": (heads[1], [*summarize(covered), *dependent_rows])}
    text = options.write.read_text(encoding="utf-8")
    for name, (head, rows) in tables.items():
        if rows:
            begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
            text = f"{text.split(begin)[0]}{begin}\n\n{markdown(head, rows)}\n\n{end}{text.split(end)[1]}"
    options.write.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

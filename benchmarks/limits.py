"""Time and memory of every method by rows and by columns, and from them where it stops; on Linux.

    python -m benchmarks.limits run records.jsonl [--methods WORD ...]
    python -m benchmarks.limits docs records.jsonl

`run` fits each method on growing tables in a process of its own, until a fit takes 8 seconds or 1 GB, and appends a line
for each; methods that the file has are not repeated. `docs` writes the table of `measured.md`. Numbers are normal, each column
is one of four hidden ones plus noise, and the target is two classes.
"""

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import time
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np

PAGE = Path(__file__).parent / "measured.md"
START = "<!-- written by benchmarks/limits.py -->"
END = "<!-- end of what benchmarks/limits.py writes -->"
ROWS, COLUMNS = [1000 * 4**k for k in range(6)], [20 * 4**k for k in range(4)]
FEW_COLUMNS, FEW_ROWS = 20, 2000
MAX_SECONDS, MAX_BYTES, SECONDS_OF_METHOD = 8.0, 1e9, 900
# What a table may need on the machine that the page speaks of.
STOP_SECONDS, STOP_BYTES = 600.0, 16e9
# Sizes of which an exponent is fitted: those of at least so many seconds, or bytes.
MIN_SECONDS, MIN_BYTES = 0.05, 2e7


def methods():
    """Return every method, by name."""
    from sklearn.naive_bayes import GaussianNB

    from tamiz import RankSelector, SubsetSelector, criteria, reduction
    from tamiz.criteria import CrossValidated
    from tamiz.graphs import KNearest
    from tamiz.search import BestFirst, Forward

    found = {}
    for entry in criteria.registry.of_kind("relevance"):
        found[entry.label] = RankSelector(entry.load()())
    for entry in criteria.registry.of_kind("merit"):
        search, size = (BestFirst(), None) if entry.name == "cfs" else (Forward(), 5)
        found[entry.label] = SubsetSelector(entry.load()(), search, n_features=size, random_state=0)
    wrapper = CrossValidated(GaussianNB(), cv=5)
    found["Wrapper of naive Bayes"] = SubsetSelector(wrapper, Forward(), n_features=5, random_state=0)
    found["Graph of 15 neighbours"] = KNearest(15)
    for entry in reduction.registry.of_kind("map"):
        found[entry.label] = entry.load()()
    return found


def fit_method(method, X, y):
    """Fit a method, or build a graph."""
    if hasattr(method, "build"):
        return method.build(X)
    return method.fit(X, y) if hasattr(method, "get_support") else method.fit(X)


def make_table(n_rows, n_columns):
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(n_rows, 4))
    X = rng.normal(size=(n_rows, n_columns))
    for j in range(n_columns):
        X[:, j] += hidden[:, j % 4]
    return X, (hidden[:, 0] + rng.normal(size=n_rows) > 0).astype(int)


def fit_series(method):
    """Print the seconds and the additional memory of a fit of each size, after one of a small table that loads the kernels."""
    warnings.simplefilter("ignore")
    fitted = methods()[method]
    fit_method(fitted, *make_table(300, 5))
    for sizes in ([(n, FEW_COLUMNS) for n in ROWS], [(FEW_ROWS, p) for p in COLUMNS]):
        for n_rows, n_columns in sizes:
            X, y = make_table(n_rows, n_columns)
            # The peak from here on.
            Path("/proc/self/clear_refs").write_text("5")
            before = peak_bytes()
            begun = time.perf_counter()
            fit_method(fitted, X, y)
            one = {"n_rows": n_rows, "n_columns": n_columns, "seconds": time.perf_counter() - begun}
            one["bytes"] = peak_bytes() - before
            print(json.dumps({"method": method, **one}), flush=True)
            if one["seconds"] > MAX_SECONDS or one["bytes"] > MAX_BYTES:
                break


def peak_bytes():
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.partition("VmHWM:")[2].split()[0])


def run(path, words):
    done = {one["method"] for one in read(path)} if path.exists() else set()
    names = [name for name in methods() if not words or any(word.lower() in name.lower() for word in words)]
    with path.open("a") as file:
        for name in names:
            if name not in done:
                command = [sys.executable, "-m", "benchmarks.limits", "fit", name]
                found = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_OF_METHOD, check=False)
                file.write(found.stdout)
                file.flush()
                print(name, found.stderr.strip().splitlines()[-1:] if found.returncode else "", flush=True)


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def exponent(sizes, values, least):
    """Return the slope of the logarithms of the last three values of at least `least`, None for fewer than two."""
    pairs = [(math.log(size), math.log(value)) for size, value in zip(sizes, values, strict=True) if value >= least][
        -3:
    ]
    if len(pairs) < 2:
        return None
    return float(np.polyfit(*zip(*pairs, strict=True), 1)[0])


def rows_at(sizes, values, limit, slope):
    """Return the number of rows at which a value reaches a limit: from the last one on it grows by the slope, at least linearly."""
    return sizes[-1] * (limit / values[-1]) ** (1 / max(slope or 1.0, 1.0))


def write_docs(path):
    by_method = defaultdict(list)
    for one in read(path):
        by_method[one["method"]].append(one)
    lines = [
        START,
        "",
        f"Measured with {os.cpu_count()} cores of a {platform.machine()} machine, Python {platform.python_version()}.",
        "",
        "| method | 16,000 x 20 | largest measured | time by rows | time by columns | memory by rows | stops at |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for method, records in by_method.items():
        rows = [one for one in records if one["n_rows"] in ROWS]
        columns = [one for one in records if one["n_rows"] == FEW_ROWS]
        n, seconds, size = ([one[field] for one in rows] for field in ("n_rows", "seconds", "bytes"))
        by_rows = exponent(n, seconds, MIN_SECONDS)
        by_columns = exponent([one["n_columns"] for one in columns], [one["seconds"] for one in columns], MIN_SECONDS)
        memory = exponent(n, size, MIN_BYTES)
        # With the table itself.
        whole = [more + 8.0 * rows * FEW_COLUMNS for more, rows in zip(size, n, strict=True)]
        by_time, by_memory = rows_at(n, seconds, STOP_SECONDS, by_rows), rows_at(n, whole, STOP_BYTES, memory)
        cells = [
            method,
            next((f"{one['seconds']:.2g} s" for one in rows if one["n_rows"] == 16000), ""),
            f"{n[-1]:,} rows: {seconds[-1]:.2g} s, {size[-1] / 1e9:.1f} GB",
            *(f"{one:.1f}" if one is not None else "" for one in (by_rows, by_columns, memory)),
            describe_stop(by_time, by_memory),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    text = PAGE.read_text()
    before, after = text.partition(START)[0], text.partition(END)[2]
    PAGE.write_text(before + "\n".join([*lines, "", END]) + after)


def describe_stop(by_time, by_memory):
    least = min(by_time, by_memory)
    digits = 10 ** (math.floor(math.log10(least)) - 1)
    return f"{round(least / digits) * digits:,.0f} rows, {'time' if by_time <= by_memory else 'memory'}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("action", choices=["run", "docs", "fit"])
    parser.add_argument("path")
    parser.add_argument("--methods", nargs="*", default=[])
    options = parser.parse_args()
    if options.action == "fit":
        fit_series(options.path)
    elif options.action == "run":
        run(Path(options.path), options.methods)
    else:
        write_docs(Path(options.path))

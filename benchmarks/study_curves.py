"""Time and memory of a study against the rows and the columns of its table, as curves, beside what the study says before it starts.

Run it by itself: `python benchmarks/study_curves.py curves.svg`. Every study is a process of its own, on a table of normal
numbers, of which three say something of the target, and of two columns of 4,000 levels and of 10 (`--levels` takes others).
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from matplotlib import pyplot

ROWS = [(n, 15) for n in (300, 3_000, 30_000, 300_000, 3_000_000)]
COLUMNS = [(1_000, p) for p in (10, 100, 1_000, 10_000)]
STUDY = """
import json, resource, sys, time, warnings
import numpy as np
import pandas as pd

n_rows, n_columns, target, *levels = (int(word) if word.isdigit() else word for word in sys.argv[1:])
rng = np.random.default_rng(0)
hidden = rng.normal(size=n_rows)
values = rng.normal(size=(n_rows, n_columns - len(levels))).round(4)
values[:, :3] += hidden[:, None]
table = pd.DataFrame(values).add_prefix("x")
for j, n in enumerate(levels):
    table[f"c{j}"] = np.array([f"L{k}" for k in range(n)])[rng.zipf(1.3, n_rows) % n]
noisy = hidden + rng.normal(size=n_rows)
table["y"] = np.where(noisy > 1, "yes", "no") if target == "classes" else noisy
del values

from tamiz import study
from tamiz.runtime.codec import to_json

warnings.simplefilter("ignore")
begun = time.perf_counter()
result = study(table, "y")
print(json.dumps({
    "seconds": time.perf_counter() - begun,
    "bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
    "steps": [to_json(step) for step in result.timings],
}))
"""


def measured(n_rows, n_columns, target, levels):
    """Study a table of some size, and return what it took and what each step was estimated to take."""
    sizes = [str(n) for n in (n_rows, n_columns, target, *levels)]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-c", STUDY, *sizes], check=True, capture_output=True, text=True, cwd=folder
        )
    found = json.loads(done.stdout)
    found["estimated"] = sum(
        step["seconds"] if step["estimated_seconds"] is None else step["estimated_seconds"] for step in found["steps"]
    )
    return found


def shown(label, found):
    """Write one study as lines of text."""
    print(
        f"{label}: {found['seconds']:.1f} s (estimated {found['estimated']:.1f} s), {found['bytes'] / 1e9:.2f} GB at most"
    )
    for step in found["steps"]:
        estimated = " " * 8 if step["estimated_seconds"] is None else f"{step['estimated_seconds']:8.2f}"
        print(f"    {step['step']:16}{step['seconds']:8.2f}{estimated}")
    sys.stdout.flush()


def main():
    """Measure the curves and draw them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("picture", type=Path, help="where the curves are drawn, such as curves.svg")
    parser.add_argument("--levels", type=int, nargs="*", default=[4000, 10], help="levels of each column of text")
    parser.add_argument("--target", choices=["classes", "number"], default="classes")
    parser.add_argument("--most", type=float, default=float("inf"), help="the largest table, in rows times columns")
    asked = parser.parse_args()
    figure, panels = pyplot.subplots(2, 2, sharex="col", sharey="row", figsize=(10, 7), layout="constrained")
    for side, (axis, sizes) in enumerate([("rows (15 columns)", ROWS), ("columns (1,000 rows)", COLUMNS)]):
        run = [size for size in sizes if size[0] * size[1] <= asked.most]
        found = []
        for n_rows, n_columns in run:
            found.append(measured(n_rows, n_columns, asked.target, asked.levels))
            shown(f"{n_rows:,} x {n_columns:,}", found[-1])
        at = [size[side] for size in run]
        for key in ("seconds", "estimated"):
            panels[0, side].loglog(at, [one[key] for one in found], "o-", label=key)
        panels[1, side].loglog(at, [1e-9 * one["bytes"] for one in found], "o-")
        panels[1, side].set_xlabel(axis)
    panels[0, 0].set_ylabel("seconds")
    panels[1, 0].set_ylabel("GB")
    panels[0, 0].legend(frameon=False)
    figure.suptitle("A study on two cores")
    figure.savefig(asked.picture)
    print(f"Written: {asked.picture}")


if __name__ == "__main__":
    main()

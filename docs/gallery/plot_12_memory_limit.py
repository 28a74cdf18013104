"""
A table larger than memory
==========================

``--memory`` limits the memory of the process, Python and its libraries included. A larger table is converted column by
column to a temporary file on disk, and read from there in passes.
"""

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

rng = np.random.default_rng(0)
ill = rng.integers(0, 2, 800_000)
table = pd.DataFrame(
    {f"c{j}": rng.normal(size=len(ill)) + ill * 0.7**j for j in range(20)}
)
table["state"] = np.where(ill, "ill", "well")


def rank(path, *options):
    command = [
        sys.executable,
        "-m",
        "tamiz",
        "rank",
        path,
        "--target",
        "state",
        "--relevance",
        "fisher-score",
        "--json",
        *options,
    ]
    return subprocess.run(command, check=True, capture_output=True, text=True)


with TemporaryDirectory() as folder:
    path = Path(folder) / "large.parquet"
    table.to_parquet(path, index=False, row_group_size=50_000)
    limited, free = rank(path, "--memory", "500MB"), rank(path)

# %%
# The command prints a plan before the work begins:

print(limited.stderr.splitlines()[0].replace(folder, "."))

# %%
# The scores are identical to those of the same table in memory:

print(limited.stdout == free.stdout)

# %%
# Each column depends on the state a little less than the one before.

ranked = json.loads(limited.stdout)["columns"]
figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
ax.bar(
    [column["column"] for column in ranked],
    [column["score"] for column in ranked],
    color="#3f7f9f",
)
label = ax.set_ylabel("Fisher score")

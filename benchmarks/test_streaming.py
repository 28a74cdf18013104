"""A CSV of 2 GB ranked and its PCA computed in the memory that is stated, against reading the file once with DuckDB.

Every run is a process of its own, its peak told by the system from outside. The file and what it is parsed into take 8 GB of
disk; the seconds are those of whole processes, from the start of Python to its end.
"""

import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

FILE_BYTES = 2_000_000_000
N_NUMBERS = 20
RANK = "information gain of a CSV of 2 GB"
MOMENTS = "Fisher score of a CSV of 2 GB"
MAP = "PCA of a CSV of 2 GB, 2 components"

# A process is told the peak of the one that it was split from as its own: this one is small.
OUTSIDE = """
import json, resource, subprocess, sys, time
begun = time.perf_counter()
run = subprocess.run(sys.argv[1:], capture_output=True, text=True)
told = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({"status": run.returncode, "peak": 1024 * told.ru_maxrss, "seconds": time.perf_counter() - begun,
                  "out": run.stdout, "err": run.stderr}))
"""

READ = """
import sys, duckdb
connection = duckdb.connect()
connection.execute("SET enable_progress_bar = false")
read = f"read_csv('{sys.argv[1]}')"
types = {row[0]: row[1] for row in connection.execute(f"DESCRIBE SELECT * FROM {read}").fetchall()}
words = [f"sum({name})" if kind in ("BIGINT", "DOUBLE") else f"count({name})" for name, kind in types.items()]
print(*connection.execute(f"SELECT count(*), {', '.join(words)} FROM {read}").fetchone())
"""

PCA_OF = """
import sys, warnings
from tamiz import open_table
from tamiz.reduction import PCA
warnings.simplefilter("ignore")
print(*PCA(2).fit(open_table(sys.argv[1], "y", memory=sys.argv[2])).explained_variance_ratio_)
"""


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Numbers of four decimals or none, in part with gaps; three categories; a target of three classes."""
    rng = np.random.default_rng(0)
    mix = rng.normal(size=(4, N_NUMBERS))
    path = tmp_path_factory.mktemp("streaming") / "large.csv"
    options = pa.csv.WriteOptions(quoting_style="none")
    with path.open("wb") as file:
        writer = None
        while file.tell() < FILE_BYTES:
            rows = piece(rng, 200_000, mix)
            writer = writer or pa.csv.CSVWriter(file, rows.schema, write_options=options)
            writer.write_table(rows)
        writer.close()
    yield path
    path.unlink()


def piece(rng, n, mix):
    y = rng.integers(0, 3, n)
    X = rng.normal(size=(n, 4)) @ mix + rng.normal(size=(n, N_NUMBERS))
    X[:, :6] += y[:, None] * np.linspace(2.0, 0.1, 6)
    columns = {}
    for j in range(N_NUMBERS):
        values = np.round(X[:, j] * 10.0 ** (j % 4), 4) if j % 5 else np.round(X[:, j] * 100).astype(np.int64)
        columns[f"n{j}"] = pa.array(values, mask=rng.random(n) < 0.02 if j % 3 == 0 else None)
    columns["colour"] = np.array(["red", "green", "blue", "dark blue"])[(y + rng.integers(0, 2, n)) % 4]
    towns = np.array([f"town {k}" for k in range(200)])[rng.integers(0, 200, n)]
    columns["town"] = pa.array(towns, mask=rng.random(n) < 0.01)
    columns["flag"] = rng.random(n) < 0.2 + 0.2 * y
    columns["y"] = np.array(["low", "mid", "high"])[y]
    return pa.table(columns)


def timed(benchmark, system, *command):
    """Run a process and return what it printed, its peak told beside its seconds."""
    found = {}

    def run():
        ran = subprocess.run(
            [sys.executable, "-c", OUTSIDE, *map(str, command)], check=True, capture_output=True, text=True
        )
        found.update(json.loads(ran.stdout))

    benchmark.pedantic(run, rounds=1)
    assert found["status"] == 0, found["err"]
    benchmark.extra_info.update(system=system, seconds=found["seconds"], form=f"peak {found['peak'] / 1e6:.0f} MB")
    return found


@pytest.mark.parametrize("group", [RANK, MOMENTS, MAP])
def test_duckdb_reads_the_file_once_and_sums_every_column(benchmark, table, group):
    benchmark.group = group
    timed(benchmark, "DuckDB, reading it once", sys.executable, "-c", READ, table)


@pytest.mark.benchmark(group=RANK)
@pytest.mark.parametrize("memory", [1.5e9, 1e9])
def test_information_gain_within_the_memory_that_is_stated(benchmark, table, memory):
    ranked = ["-m", "tamiz", "rank", table, "--target", "y", "--memory", f"{memory / 1e6:.0f}MB"]
    assert timed(benchmark, "tamiz", sys.executable, *ranked)["peak"] < memory


@pytest.mark.benchmark(group=MOMENTS)
def test_fisher_score_within_a_gigabyte(benchmark, table):
    ranked = ["-m", "tamiz", "rank", table, "--target", "y", "-r", "fisher-score", "--memory", "1GB"]
    assert timed(benchmark, "tamiz", sys.executable, *ranked)["peak"] < 1e9


@pytest.mark.benchmark(group=MAP)
def test_pca_within_a_gigabyte_and_a_half(benchmark, table):
    assert timed(benchmark, "tamiz", sys.executable, "-c", PCA_OF, table, "1.5GB")["peak"] < 1.5e9

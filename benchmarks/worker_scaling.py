"""Ranking, CFS and PCA of a folder of Parquet files in processes: seconds and memory, and what the work needs at least.

    python -m benchmarks.worker_scaling generate FOLDER [--rows 2e7] [--columns 50]
    python -m benchmarks.worker_scaling run FOLDER [--workers 1 2] [--dask]
    python -m benchmarks.worker_scaling round FOLDER [--rows 2e7] [--columns 200] [--workers 1 2]

`run` prints a line for the floor and one for each number of workers, 0 for none. The floor is that of one core: to read the folder
column by column, to sort every number, and to multiply the columns with each other. Memory is measured from outside. `round` prints
for each number of workers the seconds in which one column is compared with all others, which is what a step of CFS or mRMR needs,
and those of reading the codes of all columns once.
"""

import argparse
import json
import subprocess
import sys
import threading
import time
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

ROWS_OF_FILE = 500_000
N_EMPTY_TASKS = 500
# Values of a coded column.
N_CODES = 8


def generate(folder, n_rows, n_columns):
    """Write numbers with four decimals and a fifth of categories; eight numbers and three categories tell of the target."""
    folder.mkdir(exist_ok=True)
    n_numbers = n_columns * 4 // 5
    for k, start in enumerate(range(0, n_rows, ROWS_OF_FILE)):
        rng, n = np.random.default_rng([0, k]), min(ROWS_OF_FILE, n_rows - start)
        hidden = rng.normal(size=(n, 4))
        columns = {}
        for j in range(n_numbers):
            values = (hidden[:, j % 4] * (0.9 if j < 8 else 0.2) + rng.normal(size=n)).round(4)
            if j % 5 == 4:
                values[rng.random(n) < 0.05] = np.nan
            columns[f"n{j}"] = values
        for j in range(n_columns - n_numbers):
            codes = (rng.integers(0, 3 + 2 * j, n) + (hidden[:, 0] > 0) * (j < 3)) % (3 + 2 * j)
            columns[f"k{j}"] = pa.array([f"level {i}" for i in range(3 + 2 * j)]).take(pa.array(codes))
        noisy = hidden[:, 0] + hidden[:, 1] / 2 + rng.normal(size=n)
        columns["y"] = pa.array(["no", "yes"]).take(pa.array((noisy > 0).astype(np.int8)))
        pq.write_table(pa.table(columns), folder / f"part-{k:05d}.parquet")


def measure_floor(folder):
    """Print the seconds of reading, sorting and multiplying on one core."""
    data = ds.dataset(folder, format="parquet")
    numbers = [field.name for field in data.schema if pa.types.is_floating(field.type)]
    seconds = {"read": 0.0, "sort": 0.0, "multiply": 0.0}
    for field in data.schema:
        begun = time.perf_counter()
        column = data.to_table([field.name], use_threads=False).column(0)
        values = column.to_numpy() if field.name in numbers else column.combine_chunks().dictionary_encode()
        seconds["read"] += time.perf_counter() - begun
        if field.name in numbers:
            begun = time.perf_counter()
            np.sort(values)
            seconds["sort"] += time.perf_counter() - begun
    rows = np.random.default_rng(0).normal(size=(2**16, len(numbers)))
    begun = time.perf_counter()
    for _ in range(-(-data.count_rows() // len(rows))):
        rows.T @ rows
    seconds["multiply"] = time.perf_counter() - begun
    print(json.dumps(seconds))


@contextmanager
def make_executor(n_workers, *, dask):
    from tamiz.runtime.executors import open_executor

    if not dask:
        with open_executor(n_workers or None, None) as executor:
            yield executor
        return
    from dask.distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client.get_executor(pure=False)


def analyse(folder, n_workers, *, dask):
    """Print the seconds of every step."""
    from tamiz import RankSelector, SubsetSelector, open_table
    from tamiz.criteria import CFS, InformationGain
    from tamiz.reduction import PCA
    from tamiz.runtime import parallel

    warnings.simplefilter("ignore")
    # As many threads here as there are workers there.
    with make_executor(n_workers, dask=dask) as executor, parallel.thread_session(max(n_workers, 1)):
        seconds = {}
        begun = time.perf_counter()
        table = open_table(folder, "y", executor=executor)
        seconds["open"] = time.perf_counter() - begun
        steps = {"rank": RankSelector(InformationGain()), "cfs": SubsetSelector(CFS()), "pca": PCA(2)}
        for name, step in steps.items():
            begun = time.perf_counter()
            step.fit(table)
            seconds[name] = time.perf_counter() - begun
        facts = {"seconds": seconds, "n_rows": table.schema.n_rows, "chosen": steps["cfs"].get_support(True).tolist()}
        if table.workers is not None:
            facts["moved"] = vars(table.workers.moved)
            begun = time.perf_counter()
            for _ in table.workers.map(abs, range(N_EMPTY_TASKS), "Measuring tasks"):
                pass
            facts["milliseconds_of_a_task"] = 1000 * (time.perf_counter() - begun) / N_EMPTY_TASKS
    print(json.dumps(facts))


def measure_round(folder, n_rows, n_columns, workers):
    """Print the seconds of comparing one coded column with all others, and of reading the codes."""
    from tamiz.criteria.entropies import _PairwiseUncertainties
    from tamiz.kernels import contingency as kernels
    from tamiz.runtime.executors import Workers
    from tamiz.statistics.contingency import CodedRows, Coding
    from tamiz.table.worker_tasks import _StoredCodes

    folder.mkdir(exist_ok=True)
    rows = CodedRows(range(n_columns), Coding(dict.fromkeys(range(n_columns), N_CODES), {}))
    rows.codes, rows.n_samples, rows.weight = _StoredCodes.allocate(folder, rows, n_rows), n_rows, np.empty(0)
    rng, path = np.random.default_rng(0), Path(rows.codes.path)
    with path.open("r+b") as file:
        for _ in range(n_columns):
            file.write(rng.integers(0, N_CODES, n_rows, dtype=np.uint8).data)
    first, second = np.zeros(n_columns - 1, dtype=np.intp), np.arange(1, n_columns)
    for n in workers:
        seconds = {}
        with make_executor(n, dask=False) as executor:
            rows.workers = Workers(executor, folder)
            # The first round starts the workers; the second finds the file in the same cache as the reader below.
            for name in ("first_round", "round"):
                begun = time.perf_counter()
                _PairwiseUncertainties(rows, kernels.LEFT_OUT).associations(first, second)
                seconds[name] = time.perf_counter() - begun
        begun = time.perf_counter()
        with path.open("rb", buffering=0) as file:
            while file.readinto(memoryview(bytearray(2**24))):
                pass
        seconds["read"] = time.perf_counter() - begun
        print(json.dumps({"workers": n, "bytes": n_rows * n_columns, "seconds": seconds}), flush=True)
    path.unlink()


def run(folder, workers, *, dask):
    print(json.dumps({"floor": watched(["floor", str(folder)])}), flush=True)
    for n in workers:
        arguments = ["analyse", str(folder), "--workers", str(n), *(["--dask"] if dask and n else [])]
        print(json.dumps({"workers": n, "dask": dask and n > 0, **watched(arguments)}), flush=True)


def watched(arguments):
    """Return what a process prints, and the largest memory of it and of each of its children, in megabytes."""
    command = [sys.executable, "-m", "benchmarks.worker_scaling", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        peaks = {}

        def watch():
            while process.poll() is None:
                try:
                    for one in [parent := psutil.Process(process.pid), *parent.children(recursive=True)]:
                        peaks[one.pid] = max(peaks.get(one.pid, 0), one.memory_info().rss)
                except psutil.NoSuchProcess:
                    pass
                time.sleep(0.05)

        thread = threading.Thread(target=watch)
        thread.start()
        lines = process.stdout.read().splitlines()
        thread.join()
    return {**json.loads(lines[-1]), "megabytes": sorted((round(one / 1e6) for one in peaks.values()), reverse=True)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("action", choices=["generate", "run", "round", "floor", "analyse"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=float, default=2e7)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--workers", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--dask", action="store_true")
    options = parser.parse_args()
    if options.action == "generate":
        generate(options.folder, int(options.rows), options.columns)
    elif options.action == "round":
        measure_round(options.folder, int(options.rows), options.columns, [n for n in options.workers if n])
    elif options.action == "floor":
        measure_floor(options.folder)
    elif options.action == "analyse":
        analyse(options.folder, options.workers[0], dask=options.dask)
    else:
        run(options.folder, options.workers, dask=options.dask)

"""`--workers` and `--scheduler`: commands print what they print without them, and state what workers cannot do."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import distributed
import numpy as np
import pandas as pd
import pytest
from click.testing import Result

from tamiz.runtime import executors
from tamiz.table import worker_tasks


@pytest.fixture
def parts(folder: Path) -> Path:
    """A folder of two Parquet files."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.normal(size=(300, 3)), columns=["a", "b", "c"])
    frame["y"] = np.where(frame["a"] + rng.normal(size=300) > 0, "p", "q")
    (folder / "parts").mkdir()
    for k in range(2):
        frame.iloc[k::2].to_parquet(folder / "parts" / f"part-{k}.parquet", index=False)
    return folder / "parts"


@pytest.fixture(autouse=True)
def _small_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_tasks, "MIN_WORKER_VALUES", 0)


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """The address of a Dask cluster of one thread of this process."""
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None, worker_dashboard_address=None
    ) as cluster:
        yield cluster.scheduler_address


@pytest.mark.parametrize(
    "command", [pytest.param("rank", marks=pytest.mark.slow), "select", pytest.param("reduce", marks=pytest.mark.slow)]
)
def test_a_command_prints_the_same_with_workers(tamiz: Callable[..., Result], parts: Path, command: str) -> None:
    done = [tamiz(command, parts, "-t", "y", *workers) for workers in ((), ("--workers", 2))]
    assert [one.exit_code for one in done] == [0, 0]
    assert done[0].stdout == done[1].stdout
    assert done[0].stdout


@pytest.mark.slow
def test_a_study_finds_the_same_with_workers(tamiz: Callable[..., Result], parts: Path, folder: Path) -> None:
    found = []
    for name, workers in (("without", ()), ("with", ("--workers", 2))):
        options = ("-t", "y", "--reduce", "pca", "-o", f"{name}.html", "--json", f"{name}.json")
        assert tamiz("study", parts, *options, *workers).exit_code == 0
        found.append(json.loads((folder / f"{name}.json").read_text()))
    times = {"step_seconds", "max_seconds", "reproduction"}
    facts = [{name: value for name, value in one.items() if name not in times} for one in found]
    assert facts[0] == facts[1]
    assert facts[0]["ranking"]["criteria"]


def test_the_workers_of_a_scheduler_print_the_same(tamiz: Callable[..., Result], parts: Path, scheduler: str) -> None:
    done = [tamiz("rank", parts, "-t", "y", *workers) for workers in ((), ("--scheduler", scheduler))]
    assert done[0].stdout == done[1].stdout


def test_what_workers_cannot_do_is_stated(
    tamiz: Callable[..., Result], parts: Path, iris: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = tamiz("rank", parts, "-t", "y", "--workers", 2, "--scheduler", "tcp://127.0.0.1:1")
    assert done.exit_code == 2
    assert "--workers are processes of this machine, and --scheduler has its own: use one of them." in done.stderr
    done = tamiz("rank", iris, "-t", "species", "--workers", 2)
    assert done.exit_code == 1
    assert done.stderr.startswith(f"tamiz: Workers read Parquet files only, and {iris} is none. Convert it: pyarrow.")
    monkeypatch.setattr(executors, "_SCHEDULER_SECONDS", 0.2)
    done = tamiz("rank", parts, "-t", "y", "--scheduler", "tcp://127.0.0.1:1")
    assert done.exit_code == 1
    assert done.stderr.startswith("tamiz: There is no Dask scheduler at 'tcp://127.0.0.1:1': ")

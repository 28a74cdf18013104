"""Workers that are killed, and workers that start late: the numbers are those of the table in memory."""

import os
import signal
import threading
import time
from concurrent.futures import Executor

import distributed
import numpy as np
import pandas as pd
import pytest

from tamiz import RankSelector, open_table
from tamiz.criteria import InformationGain
from tamiz.runtime.executors import open_executor
from tamiz.table import worker_tasks

pytestmark = pytest.mark.slow

N_ROWS, N_FILES = 600_000, 6


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(N_ROWS, 6)), columns=list("abcdef"))
    frame["y"] = np.where(frame["a"] + frame["b"] / 2 + rng.normal(size=N_ROWS) > 0, "p", "q")
    return frame


@pytest.fixture(scope="module")
def folder(frame, tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts")
    for k, rows in enumerate(np.array_split(np.arange(N_ROWS), N_FILES)):
        frame.iloc[rows].to_parquet(folder / f"part-{k}.parquet", index=False)
    return folder


@pytest.fixture(scope="module")
def expected(frame):
    return RankSelector(InformationGain()).fit(frame.drop(columns="y"), frame["y"]).scores_


def rank_while(table, disturb):
    """Rank the columns again and again until `disturb` ends, which runs beside it, and return all scores."""
    thread = threading.Thread(target=disturb)
    found = [RankSelector(InformationGain()).fit(table).scores_]
    thread.start()
    while thread.is_alive():
        found.append(RankSelector(InformationGain()).fit(table).scores_)
    thread.join()
    return [*found, RankSelector(InformationGain()).fit(table).scores_]


@pytest.fixture(autouse=True)
def _small_tasks(monkeypatch):
    monkeypatch.setattr(worker_tasks, "MIN_WORKER_VALUES", 0)
    monkeypatch.setattr(worker_tasks, "GROUP_PIECES", 1)


def test_processes_that_are_killed_are_replaced(folder, expected):
    with open_executor(2, None) as executor:
        table = open_table(folder, "y", executor=executor)

        def kill_two():
            for _ in range(2):
                time.sleep(0.3)
                os.kill(executor.process_ids()[0], signal.SIGKILL)

        for scores in rank_while(table, kill_two):
            np.testing.assert_array_equal(scores, expected)
        assert len(executor.process_ids()) == 2


def test_a_worker_of_ray_is_killed(folder, expected):
    ray = pytest.importorskip("ray", reason="Ray is not installed: its workers are not tested")

    class RayExecutor(Executor):
        """The adapter of docs/large-tables.md."""

        def submit(self, fn, /, *args, **kwargs):
            return ray.remote(max_retries=0)(fn).remote(*args, **kwargs).future()

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        executor = RayExecutor()
        table = open_table(folder, "y", executor=executor)

        def own_process():
            return os.getpid()

        def kill_one():
            time.sleep(0.3)
            os.kill(executor.submit(own_process).result(), signal.SIGKILL)

        for scores in rank_while(table, kill_one):
            np.testing.assert_array_equal(scores, expected)
    finally:
        ray.shutdown()


def test_a_cluster_loses_a_worker_and_gets_another(folder, expected):
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=None, worker_dashboard_address=None
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        table = open_table(folder, "y", executor=client.get_executor(pure=False))
        (pid,) = client.run(os.getpid).values()

        def kill_and_add():
            time.sleep(0.3)
            os.kill(pid, signal.SIGKILL)
            cluster.scale(2)
            client.wait_for_workers(2, timeout=60)

        for scores in rank_while(table, kill_and_add):
            np.testing.assert_array_equal(scores, expected)
        assert len(client.run(os.getpid)) == 2

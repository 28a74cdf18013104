"""Tasks on executors: results in order, lost workers, closed executors, other versions, memory, and what tables reject."""

import signal
import subprocess
import sys
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone
from tests.worker_functions import (
    die,
    die_once,
    divide,
    later_first,
    n_threads,
    size_of_shared,
    unpicklable_error,
    warn,
)

from tamiz import RankSelector, RedundancyFilter, SubsetSelector, open_table
from tamiz.criteria import CFS, JMI, FisherScore, IndependenceTest, InformationGain
from tamiz.exceptions import DataError, TamizWarning
from tamiz.reduction import PCA
from tamiz.runtime import executors
from tamiz.runtime.executors import Workers, open_executor
from tamiz.search import Forward
from tamiz.table import parquet, worker_tasks
from tamiz.table.base import target_array
from tamiz.table.views import with_target


@pytest.fixture(scope="module", autouse=True)
def _importable(request):
    """Let workers import the functions of tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(request.config.rootpath)
        yield


@pytest.fixture(scope="module")
def processes(_importable):
    with open_executor(2, None) as executor:
        yield executor


@pytest.fixture
def workers(processes, tmp_path):
    return Workers(processes, tmp_path)


class InThisThread(Executor):
    """Runs tasks when they are submitted, and raises what `failures` contains in place of their results."""

    def __init__(self, *failures):
        self.failures = list(failures)
        self.n_submitted = 0

    def submit(self, fn, /, *args, **kwargs):
        self.n_submitted += 1
        future = Future()
        if self.failures:
            future.set_exception(self.failures.pop(0))
        else:
            future.set_result(fn(*args, **kwargs))
        return future


def test_results_come_in_the_order_of_the_tasks_and_few_are_under_way(workers):
    submitted = []
    tasks = (submitted.append(k) or k for k in range(40))
    found = []
    for k in workers.map(later_first, tasks, "Testing"):
        found.append(k)
        assert len(submitted) - k <= 2 * workers.n_workers + 2
    assert found == list(range(40))
    assert workers.moved.n_tasks == 40


def test_a_task_of_a_killed_process_is_run_again_by_another(workers, tmp_path):
    tasks = [str(tmp_path / "first"), str(tmp_path / "second")]
    assert list(workers.map(die_once, tasks, "Testing")) == ["again", "again"]


def test_a_task_that_ends_its_process_three_times_is_an_error_that_states_the_reason(workers):
    with pytest.raises(
        DataError, match=r"^Testing: the worker of a task was lost 3 times \(WorkerError: .*\)\. It may"
    ):
        list(workers.map(die, [0], "Testing"))
    assert list(workers.map(divide, [2], "Testing")) == [0.5]


def test_an_error_of_a_task_is_raised_here_and_is_no_lost_worker(workers):
    with pytest.raises(ZeroDivisionError):
        list(workers.map(divide, [1, 0, 2], "Testing"))
    with pytest.raises(RuntimeError, match="broken"):
        list(workers.map(unpicklable_error, [0], "Testing"))


def test_a_task_has_one_thread_and_its_warnings_are_issued_here(workers):
    assert list(workers.map(n_threads, [0], "Testing")) == [1]
    with pytest.warns(TamizWarning, match="TZ205: Task 1"):
        assert list(workers.map(warn, [1], "Testing")) == [1]


def test_what_tasks_share_is_in_a_file(workers):
    with workers.share(np.zeros(10**6)) as shared:
        assert list(workers.map(size_of_shared, [(shared, 1), (shared, 2)], "Testing")) == [10**6 + 1, 10**6 + 2]
    assert workers.moved.sent < 1000
    assert not list(workers.folder.iterdir())


def test_a_pool_that_does_not_replace_lost_workers_is_named_as_the_cause(tmp_path):
    with (
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool,
        pytest.raises(
            DataError, match=r"a worker was lost, and the executor takes no further tasks .*BrokenProcessPool"
        ),
    ):
        list(Workers(pool, tmp_path).map(die, [0], "Testing"))


def test_lost_workers_of_any_executor_are_counted_for_each_task(tmp_path):
    lost = [BrokenProcessPool("gone") for _ in range(2)]
    executor = InThisThread(*lost)
    assert list(Workers(executor, tmp_path).map(divide, [4], "Testing")) == [0.25]
    assert executor.n_submitted == 3


def test_a_closed_executor_and_one_without_tamiz_are_named(tmp_path):
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    with pytest.raises(DataError, match=r"takes no tasks .*If it was closed, open the table with a new one"):
        list(Workers(executor, tmp_path).map(divide, [1], "Testing"))
    cancelled = Future()
    cancelled.cancel()
    cancelled.set_running_or_notify_cancel()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(InThisThread, "submit", lambda *_: cancelled)
        with pytest.raises(DataError, match="was closed before all tasks were done"):
            list(Workers(InThisThread(), tmp_path).map(divide, [1], "Testing"))
    absent = ModuleNotFoundError("No module named 'tamiz'", name="tamiz")
    with pytest.raises(DataError, match=r"a worker has no tamiz\. Install"):
        list(Workers(InThisThread(absent), tmp_path).map(divide, [1], "Testing"))


def test_a_worker_with_another_version_is_refused(workers, monkeypatch):
    monkeypatch.setattr(executors, "_versions", lambda: {"numpy": "1.0"})
    with pytest.raises(DataError, match=rf"^Worker .* has numpy {np.__version__}, and this process 1\.0\. Install"):
        list(workers.map(divide, [1], "Testing"))


def test_the_memory_limit_of_a_table_is_that_of_its_workers(processes, tmp_path):
    with pytest.raises(MemoryError, match="1 MB of memory are too little"):
        list(Workers(processes, tmp_path, 1e6).map(divide, [1], "Testing"))


def test_an_interrupt_ends_processes_within_two_seconds(tmp_path):
    program = f"""
import time, sys
from pathlib import Path
from tamiz.runtime.executors import Workers, open_executor
try:
    with open_executor(2, None) as executor:
        list(Workers(executor, Path({str(tmp_path)!r})).map(time.sleep, [0, 0], "Testing"))
        print("ready", flush=True)
        list(Workers(executor, Path({str(tmp_path)!r})).map(time.sleep, [60] * 8, "Testing"))
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout.readline() == "ready\n"
        time.sleep(0.2)
        start = time.monotonic()
        run.send_signal(signal.SIGINT)
        assert run.stdout.readline() == "interrupted\n"
        run.wait(10)
    assert time.monotonic() - start < 2


# Tables


@pytest.fixture
def folder(tmp_path):
    """A folder of three Parquet files."""
    rng = np.random.default_rng(0)
    (tmp_path / "parts").mkdir()
    for k in range(3):
        frame = pd.DataFrame(
            {"a": rng.normal(size=50), "b": rng.choice(list("uvw"), 50), "y": rng.choice(["p", "q"], 50)}
        )
        frame.to_parquet(tmp_path / "parts" / f"part-{k}.parquet", index=False)
    return tmp_path / "parts"


def test_files_of_the_workers_are_deleted_with_the_table(folder, processes, monkeypatch, tmp_path):
    monkeypatch.setattr(worker_tasks, "MIN_WORKER_VALUES", 0)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(parquet.tempfile, "tempdir", str(temporary))
    table = open_table(folder, "y", executor=processes)
    RankSelector(InformationGain()).fit(table)
    assert list(temporary.iterdir())
    del table
    assert not list(temporary.iterdir())
    with pytest.raises(DataError, match="no column 'z'"):
        open_table(folder, "z", executor=processes)
    assert not list(temporary.iterdir())


@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
@pytest.mark.parametrize(
    "fitted",
    [
        RankSelector(InformationGain()),
        RankSelector(IndependenceTest(test="rank")),
        SubsetSelector(CFS()),
        SubsetSelector(JMI(), Forward(), n_features=2),
        RedundancyFilter(),
        PCA(2),
    ],
    ids=str,
)
def test_numbers_are_those_of_the_table_in_memory(fitted, folder, processes, monkeypatch):
    monkeypatch.setattr(worker_tasks, "MIN_WORKER_VALUES", 0)
    table = open_table(folder, "y", executor=processes)
    n_opened = table.workers.moved.n_tasks
    found, expected = (clone(fitted).fit(one) for one in (table, open_table(folder, "y")))
    for name in ("scores_", "support_", "merit_", "components_", "embedding_"):
        if hasattr(expected, name):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert table.workers.moved.n_tasks > n_opened


@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
def test_a_target_that_is_changed_in_place_is_sent_again(folder, processes, monkeypatch):
    monkeypatch.setattr(worker_tasks, "MIN_WORKER_VALUES", 0)
    monkeypatch.setattr(worker_tasks, "_MAX_SENT_ROWS", 0)
    table, in_memory = open_table(folder, "y", executor=processes), open_table(folder, "y")
    # A column of a matrix, whose values do not lie beside each other.
    y = np.stack([target_array(table)] * 2, axis=1)[:, 0]
    for _ in range(3):
        scores = [RankSelector(FisherScore()).fit(with_target(one, y)).scores_ for one in (table, in_memory)]
        np.testing.assert_array_equal(*scores)
        y[:] = np.random.default_rng(int(y.sum())).permutation(y)


def test_columns_lie_beside_the_table_if_workers_have_other_temporary_files(folder, processes, monkeypatch):
    seen = executors.check_folder
    monkeypatch.setattr(parquet, "check_folder", lambda one, path: folder in path.parents and seen(one, path))
    table = open_table(folder, "y", executor=processes)
    assert table.workers.folder.parent == folder
    assert len(open_table(folder).schema.columns) == 3
    np.testing.assert_array_equal(
        RankSelector(FisherScore()).fit(table).scores_, RankSelector(FisherScore()).fit(open_table(folder, "y")).scores_
    )
    monkeypatch.setattr(parquet, "check_folder", lambda *_: False)
    with pytest.raises(DataError, match="see no common folder"):
        open_table(folder, "y", executor=processes)


def test_only_parquet_is_read_by_workers(folder, processes, tmp_path):
    (tmp_path / "table.csv").write_text("a,y\n1,p\n2,q\n")
    with pytest.raises(
        DataError, match=r"Workers read Parquet files only, and .*table\.csv is none\. Convert it: pyarrow"
    ):
        open_table(tmp_path / "table.csv", "y", executor=processes)
    with pytest.raises(TypeError, match="Parquet files and folders only, got a DataFrame"):
        open_table(pd.DataFrame({"a": [1.0, 2.0]}), executor=processes)
    with pytest.raises(TypeError, match="executor must be a concurrent"):
        open_table(folder, "y", executor=2)


def test_a_part_with_other_columns_or_that_cannot_be_read_is_named(folder, processes):
    pq.write_table(pa.table({"a": [1.0], "y": ["p"]}), folder / "part-1.parquet")
    with pytest.raises(DataError, match=r"part-1\.parquet has no column 'b', which .*part-0\.parquet has; all"):
        open_table(folder, "y", executor=processes)
    pq.write_table(pa.table({"a": [1.0], "b": ["u"], "y": ["p"], "c": [1]}), folder / "part-1.parquet")
    with pytest.raises(DataError, match=r"part-1\.parquet has the column 'c', which .*part-0\.parquet has not"):
        open_table(folder, "y", executor=processes)
    pq.write_table(pa.table({"a": ["much"], "b": ["u"], "y": ["p"]}), folder / "part-1.parquet")
    with pytest.raises(DataError, match=r"part-1\.parquet has string values in column 'a', where .* double values"):
        open_table(folder, "y", executor=processes)
    (folder / "part-1.parquet").write_bytes(b"")
    with pytest.raises(DataError, match=r"part-1\.parquet cannot be read as Parquet"):
        open_table(folder, "y")


def test_numbers_of_several_types_are_read_without_loss(folder):
    pq.write_table(pa.table({"a": pa.array([2, 3]), "b": ["u", "v"], "y": ["p", "q"]}), folder / "part-0.parquet")
    frame = pd.concat([pd.read_parquet(folder / f"part-{k}.parquet") for k in range(3)], ignore_index=True)
    np.testing.assert_array_equal(open_table(folder, "y").column(0), frame["a"])


@pytest.mark.slow
def test_a_file_that_changes_between_two_passes_is_named(folder, processes, monkeypatch):
    encode = parquet.build_table

    def change_and_encode(*arguments, **options):
        pd.read_parquet(folder / "part-2.parquet").iloc[::-1].to_parquet(folder / "part-2.parquet")
        return encode(*arguments, **options)

    monkeypatch.setattr(parquet, "build_table", change_and_encode)
    with pytest.raises(DataError, match=r"part-2\.parquet was modified after it was opened"):
        open_table(folder, "y", executor=processes)

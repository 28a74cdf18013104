"""First calls in new processes beside other systems: what is imported, loaded or compiled is part of them."""

import pytest
from sklearn.datasets import load_digits

from . import first_call_work, processes
from .data import categorical


def table(task):
    if task == "CFS of codes":
        codes = categorical(2_000, 100, n_informative=10)
        return codes.X, codes.y
    return load_digits(return_X_y=True)


@pytest.mark.parametrize(
    ("task", "system"), [(task, system) for task, calls in first_call_work.CALLS.items() for system in calls]
)
def test_first_call(benchmark, tmp_path, task, system):
    X, y = table(task)
    benchmark.group = f"first call, {task}, {len(X):,} x {X.shape[1]}"
    processes.timed(benchmark, tmp_path, "first_call_work.py", system, processes=5, X=X, y=y, task=task)

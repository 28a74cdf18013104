"""The command line as people meet it: whole processes, from the start of Python to its end."""

import subprocess
import sys

import pytest
from sklearn.datasets import load_breast_cancer


def timed_process(benchmark, rounds, *arguments, cwd):
    benchmark.extra_info["system"] = "tamiz"
    command = [sys.executable, "-m", "tamiz", *arguments]
    options = {"check": True, "capture_output": True, "cwd": cwd}
    benchmark.pedantic(subprocess.run, args=(command,), kwargs=options, rounds=rounds, warmup_rounds=1)


@pytest.mark.benchmark(group="tamiz --help, a new process")
def test_help_in_a_new_process(benchmark, tmp_path):
    benchmark.extra_info["target_seconds"] = 0.3
    timed_process(benchmark, 10, "--help", cwd=tmp_path)


@pytest.mark.benchmark(group="tamiz study 569 x 30, second run, a new process")
def test_second_study_of_569_x_30_in_a_new_process(benchmark, tmp_path):
    benchmark.extra_info["target_seconds"] = 10
    load_breast_cancer(as_frame=True).frame.to_csv(tmp_path / "cells.csv", index=False)
    timed_process(benchmark, 2, "study", "cells.csv", "--target", "target", "-o", "report.html", cwd=tmp_path)
    assert (tmp_path / "report.html").stat().st_size > 0

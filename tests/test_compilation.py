"""Compilation ahead of time: on all cores, into the cache, once; and SLP vectorisation of single kernels."""

import importlib.util
import json
import os
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import numba
import pytest
from numba.core.base import BaseContext
from numba.types import float64

from tamiz import kernels
from tamiz.kernels import _compilation, jit, sparse_graphs
from tamiz.kernels._compilation import all_kernels, default_kernels

PROGRAM = """
import json, sys
from tamiz.runtime import progress
from tamiz.kernels._compilation import compile_ahead

reports = []
names = json.loads(sys.argv[1])
with progress.use_listener(lambda *report: reports.append(report)):
    compile_ahead(names, 2)
    first = len(reports)
    compile_ahead(names, 2)
print(json.dumps({"reports": reports, "second": len(reports) - first}))
"""
SMALL = [
    "hashing.hash_codes", "hashing.hash_numbers", "sparse_graphs.class_squared_deviations", "sparse_graphs.project_out_null",
    "nearest_neighbors.hash_rows", "nearest_neighbors.sort_heaps", "sparse_graphs.class_sums_and_extremes",
    "subset_neighbors.add_squared_errors",
]  # fmt: skip


def compile_in_new_process(names, cache):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(names)],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
    )
    return json.loads(done.stdout)


@pytest.mark.slow
def test_kernels_that_are_not_on_disk_are_compiled_once_and_state_how_many(tmp_path):
    found = compile_in_new_process(SMALL, tmp_path)
    label = "Compiling, once per installation"
    assert found["reports"][0] == [label, 0, len(SMALL)]
    assert found["reports"][-1] == [label, len(SMALL), len(SMALL)]
    assert found["second"] == 0
    entries = [path.name for path in tmp_path.rglob("*.nbi")]
    assert all(any(entry.startswith(f"{name}-") for entry in entries) for name in SMALL)


def test_a_few_kernels_are_left_to_their_first_call(tmp_path):
    assert compile_in_new_process(SMALL[:3], tmp_path)["reports"] == []
    assert not list(tmp_path.rglob("*.nbi"))


@pytest.mark.parametrize("answers", ["for line in sys.stdin: print('done', flush=True)", "sys.stdin.readline()", ""])
def test_pipes_to_the_processes_that_compile_are_closed(monkeypatch, answers):
    started = []

    def start_worker():
        program = [sys.executable, "-c", f"import sys\n{answers}"]
        started.append(subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        return started[-1]

    names = dict.fromkeys("abcdefgh", sparse_graphs.project_out_null)
    monkeypatch.setattr(_compilation, "_uncached_kernels", lambda names: {"first": names, "second": names})
    monkeypatch.setattr(_compilation, "_start_worker", start_worker)
    _compilation.compile_ahead(names, 2)
    assert [worker.stdin.closed and worker.stdout.closed and worker.returncode is not None for worker in started] == [
        True
    ] * 2


@pytest.mark.parametrize("target", ["classes", "number", "none"])
def test_the_kernels_of_a_usual_study_are_there(target):
    names, of_large_tables = default_kernels(target), default_kernels(target, include_float32=True)
    assert len(names) >= 8
    assert set(names) < set(of_large_tables) <= set(all_kernels())
    assert not any(name.endswith("_float32") for name in names)


def test_every_listed_kernel_exists_and_has_known_targets():
    lines = (files("tamiz.kernels") / "usual.txt").read_text(encoding="utf-8").splitlines()
    listed = [line.split() for line in lines if not line.startswith("#")]
    names = [name for name, *_ in listed]
    assert names == sorted(set(names))
    assert set(names) <= set(all_kernels())
    assert all(targets and set(targets) <= {"classes", "number", "none"} for _, *targets in listed)


def half(x):
    return 0.5 * x


@pytest.mark.parametrize("reads_machine_code", [True, False])
def test_a_kernel_on_disk_is_loaded_without_registering_what_only_compilation_needs(
    monkeypatch, tmp_path, reads_machine_code
):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(kernels, "_READS_MACHINE_CODE", reads_machine_code)
    assert jit(float64(float64))(half)(3.0) == 1.5
    n_refreshes, refresh = 0, BaseContext.refresh

    def counted_refresh(context):
        nonlocal n_refreshes
        n_refreshes += 1
        refresh(context)

    monkeypatch.setattr(BaseContext, "refresh", counted_refresh)
    kernel = jit(float64(float64))(half)
    assert kernel(5.0) == 2.5
    assert sum(kernel.compiled.stats.cache_hits.values()) == 1
    assert (n_refreshes == 0) == reads_machine_code
    with pytest.raises(TypeError):
        kernel("5")


def test_the_tested_versions_of_numba_include_the_installed_one():
    assert kernels._READS_MACHINE_CODE


@pytest.mark.parametrize("fails", [False, True])
def test_slp_vectorisation_is_on_while_the_kernel_is_compiled_and_only_then(monkeypatch, fails):
    settings = []

    def njit(*arguments, **options):
        settings.append(numba.config.SLP_VECTORIZE)
        if fails:
            raise ValueError("no compiler")
        return lambda function: function

    monkeypatch.setattr(kernels, "_READS_MACHINE_CODE", False)
    monkeypatch.setattr(numba.config, "SLP_VECTORIZE", 0)
    monkeypatch.setattr(numba, "njit", njit)
    for slp in (True, False):
        kernel = jit(float64(float64), slp=slp)(lambda x: x)
        assert numba.config.SLP_VECTORIZE == 0
        if fails:
            with pytest.raises(ValueError, match="no compiler"):
                _ = kernel.compiled
        else:
            assert kernel(2.0) == 2.0
        assert numba.config.SLP_VECTORIZE == 0
    assert settings == [1, 0]


def test_the_laplacian_products_are_compiled_with_slp_vectorisation():
    steps = (sparse_graphs.laplacian_step_1, sparse_graphs.laplacian_step_4, sparse_graphs.laplacian_step_8)
    assert all(step.uses_slp for step in steps)
    assert not sparse_graphs.edge_variation.uses_slp


@pytest.mark.slow
@pytest.mark.parametrize("target", ["classes", "number", "none"])
def test_a_usual_study_calls_what_is_compiled_before_it_and_nothing_else(target):
    tool = Path(__file__).parents[1] / "tools" / "usual_kernels.py"
    spec = importlib.util.spec_from_file_location("usual_kernels", tool)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert sorted(module.kernels_of_study(target)) == sorted(default_kernels(target))

"""Kernels compiled ahead: on all cores, into the cache, once."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tamiz.kernels._compilation import all_kernels, default_kernels

COMPILED = """
import json, sys
from tamiz import progress
from tamiz.kernels._compilation import compile_ahead

told = []
names = json.loads(sys.argv[1])
with progress.listening(lambda *what: told.append(what)):
    compile_ahead(names, 2)
    first = len(told)
    compile_ahead(names, 2)
print(json.dumps({"told": told, "second": len(told) - first}))
"""
SMALL = [
    "fingerprints.hash_codes", "fingerprints.hash_numbers", "edges.transpose", "edges.merge", "equal_rows.mix",
    "equal_rows.repeats", "variation.class_sums_and_extremes", "votes.vote_confusion",
]  # fmt: skip


def compiled(names, cache):
    done = subprocess.run(
        [sys.executable, "-c", COMPILED, json.dumps(names)],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
    )
    return json.loads(done.stdout)


def test_kernels_that_are_not_on_disk_are_compiled_once_and_say_how_many(tmp_path):
    found = compiled(SMALL, tmp_path)
    label = "Compiling, once per installation"
    assert found["told"][0] == [label, 0, len(SMALL)]
    assert found["told"][-1] == [label, len(SMALL), len(SMALL)]
    assert found["second"] == 0
    entries = [path.name for path in tmp_path.rglob("*.nbi")]
    assert all(any(entry.startswith(f"{name}-") for entry in entries) for name in SMALL)


def test_a_few_kernels_are_left_to_their_first_call(tmp_path):
    assert compiled(SMALL[:3], tmp_path)["told"] == []
    assert not list(tmp_path.rglob("*.nbi"))


@pytest.mark.parametrize("target", ["classes", "number", "none"])
def test_the_kernels_of_a_usual_study_are_there(target):
    names, of_large_tables = default_kernels(target), default_kernels(target, include_float32=True)
    assert len(names) >= 8
    assert set(names) < set(of_large_tables) <= set(all_kernels())
    assert not any(name.endswith("_float32") for name in names)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["classes", "number", "none"])
def test_a_usual_study_calls_what_is_compiled_before_it_and_nothing_else(target):
    tool = Path(__file__).parents[1] / "tools" / "usual_kernels.py"
    spec = importlib.util.spec_from_file_location("usual_kernels", tool)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert sorted(module.called_by_a_study(target)) == sorted(default_kernels(target))

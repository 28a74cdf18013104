"""The package as it is distributed: lowest versions, and a source distribution whose tests run."""

import fnmatch
import os
import re
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
# What hatchling adds by itself, and what stays in the repository.
ADDED = {"LICENSE", "pyproject.toml", "PKG-INFO", ".gitignore", ".git"}


def test_the_lowest_versions_are_those_that_are_declared():
    declared = dict(
        requirement.split(">=")
        for group in (PROJECT["project"]["dependencies"], *PROJECT["project"]["optional-dependencies"].values())
        for requirement in group
        if ">=" in requirement
    )
    lines = (ROOT / "constraints-lowest.txt").read_text(encoding="utf-8").splitlines()
    lowest = dict(line.lower().split("==") for line in lines if not line.startswith("#"))
    for name, version in lowest.items():
        assert re.sub(r"(\.0)+$", "", version) == re.sub(r"(\.0)+$", "", declared[name]), name
    required = {re.split(">=", requirement)[0] for requirement in PROJECT["project"]["dependencies"]}
    assert required - set(lowest) == set()


def test_the_source_distribution_contains_everything_beside_the_tests():
    included = [
        pattern.removeprefix("/") for pattern in PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    ]
    ignored = [line.strip("/") for line in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()]
    missing = [
        path.name
        for path in ROOT.iterdir()
        if path.name not in ADDED and not any(fnmatch.fnmatch(path.name, pattern) for pattern in [*included, *ignored])
    ]
    assert missing == []


@pytest.mark.slow
def test_tests_run_from_the_unpacked_source_distribution(tmp_path):
    pytest.importorskip("hatchling", reason="hatchling is not installed")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", tmp_path], cwd=ROOT, check=True)
    (archive,) = tmp_path.glob("tamiz-*.tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(tmp_path, filter="data")
    folder = tmp_path / archive.name.removesuffix(".tar.gz")
    tests = [
        "tests/test_distribution.py",
        "tests/test_documented_calls.py",
        "tests/contracts/test_structure.py",
        "tests/guide",
    ]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow", *tests]
    environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
    run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr

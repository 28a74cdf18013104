"""Modules that an import loads: listing the methods on the command line must not load numpy."""

import json
import subprocess
import sys

import pytest

HEAVY = [
    "numpy", "scipy", "sklearn", "numba", "pandas", "polars", "pyarrow", "duckdb", "narwhals", "jinja2", "rich", "click",
    "matplotlib",
]  # fmt: skip

# scikit-learn loads pandas if it is installed.
NOT_FOR_CRITERIA = {"matplotlib", "duckdb", "jinja2", "polars"}


def loaded_by(lines):
    """The heavy packages that a program loads, run in a new process."""
    program = f"{lines}\nimport json, sys\nprint(json.dumps([name for name in {HEAVY} if name in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


PACKAGES = [
    "assessment",
    "criteria",
    "search",
    "graphs",
    "neighbors",
    "reduction",
    "metrics",
    "cluster",
    "comparison",
    "display",
    "error_control",
    "table",
]


def test_importing_the_packages_and_listing_their_methods_loads_nothing_heavy():
    lines = f"""
import importlib
import sys
for name in {["tamiz", *(f"tamiz.{package}" for package in PACKAGES)]}:
    registry = importlib.import_module(name).registry
    assert [entry.label for entry in registry]
    assert not (loaded := set({HEAVY}) & set(sys.modules)), (name, loaded)
"""
    assert loaded_by(lines) == set()


@pytest.mark.slow
def test_a_ranking_of_an_array_loads_numba_and_nothing_else_that_scikit_learn_does_not_load():
    lines = """
from tamiz import RankSelector
RankSelector(n_features=1).fit([[0.0, 1.0], [1.0, 1.5], [0.0, 2.0], [1.0, 3.0]], [0, 1, 0, 1])
"""
    assert loaded_by(lines) - loaded_by("import sklearn.feature_selection") == {"numba"}


def test_the_help_of_the_command_line_loads_nothing_heavy():
    lines = """
from click.testing import CliRunner
from tamiz.cli import main
assert CliRunner().invoke(main, ["--help"]).exit_code == 0
"""
    assert loaded_by(lines) == {"click"}


def test_every_criterion_and_a_selection_from_an_array_load_neither_the_report_nor_a_reader_of_files():
    lines = """
from tamiz import SubsetSelector, criteria
from tamiz.criteria import CFS
from tamiz.search import Forward
[entry.load() for entry in criteria.registry]
SubsetSelector(CFS(), Forward()).fit([[0.0, 1.0], [1.0, 1.0], [0.0, 2.0], [1.0, 3.0]], [0, 1, 0, 1])
"""
    assert loaded_by(lines).isdisjoint(NOT_FOR_CRITERIA)


def test_reading_a_report_again_computes_nothing():
    assert loaded_by("from tamiz.report import Result").isdisjoint({"sklearn", "numba", "pandas", "polars", "duckdb"})

"""Modules that an import loads: listing the methods on the command line must not load numpy."""

import json
import subprocess
import sys

import pytest

HEAVY = ["numpy", "scipy", "sklearn", "numba", "pandas", "polars", "pyarrow", "duckdb", "narwhals", "plotly", "jinja2"]

# scikit-learn loads pandas if it is installed.
NOT_FOR_CRITERIA = {"plotly", "duckdb", "jinja2", "polars"}


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
    "sources",
]


@pytest.mark.parametrize("module", ["tamiz", *(f"tamiz.{package}" for package in PACKAGES)])
def test_importing_a_package_loads_nothing_heavy(module):
    assert loaded_by(f"import {module}") == set()


def test_listing_the_methods_loads_nothing_heavy():
    lines = "from tamiz import criteria, search\n[entry.label for package in (criteria, search) for entry in package.registry]"
    assert loaded_by(lines) == set()


def test_the_help_of_the_command_line_loads_nothing_heavy():
    lines = """
from click.testing import CliRunner
from tamiz.cli import main
assert CliRunner().invoke(main, ["--help"]).exit_code == 0
"""
    assert loaded_by(lines) == set()


def test_every_criterion_loads_without_the_readers_of_files_and_the_report():
    lines = "from tamiz import criteria\n[entry.load() for entry in criteria.registry]"
    assert loaded_by(lines).isdisjoint(NOT_FOR_CRITERIA)


def test_selecting_columns_of_an_array_loads_neither_the_report_nor_a_reader_of_files():
    lines = """
from tamiz import SubsetSelector
from tamiz.criteria import CFS
from tamiz.search import Forward
SubsetSelector(CFS(), Forward()).fit([[0.0, 1.0], [1.0, 1.0], [0.0, 2.0], [1.0, 3.0]], [0, 1, 0, 1])
"""
    assert loaded_by(lines).isdisjoint(NOT_FOR_CRITERIA)


def test_reading_a_report_again_computes_nothing():
    assert loaded_by("from tamiz.report import Result").isdisjoint(
        {"numpy", "sklearn", "numba", "pandas", "polars", "duckdb"}
    )

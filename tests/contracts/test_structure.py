"""The structure of the package, as `tools/structure.py` reads it from the files."""

from pathlib import Path
from runpy import run_path

import pytest

STRUCTURE = run_path(str(Path(__file__).parents[2] / "tools" / "structure.py"))


@pytest.mark.slow
def test_no_two_files_import_each_other():
    assert STRUCTURE["circles"](STRUCTURE["import_graph"](STRUCTURE["parse_package"]())) == []


def test_a_circle_is_found_through_any_number_of_files():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set(), "e": {"f"}, "f": {"e"}}
    assert STRUCTURE["circles"](graph) == [["a", "b", "c"], ["e", "f"]]

"""The structure of the package, as `tools/structure.py` reads it from the files."""

import ast
from pathlib import Path
from runpy import run_path

import pytest

STRUCTURE = run_path(str(Path(__file__).parents[2] / "tools" / "structure.py"))


@pytest.mark.slow
def test_no_two_files_import_each_other():
    assert STRUCTURE["find_circles"](STRUCTURE["import_graph"](STRUCTURE["parse_package"]())) == []


def test_a_circle_is_found_through_any_number_of_files():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set(), "e": {"f"}, "f": {"e"}}
    assert STRUCTURE["find_circles"](graph) == [["a", "b", "c"], ["e", "f"]]


def test_floors_are_the_modules_of_the_longest_chain_of_imports():
    assert STRUCTURE["count_floors"]({"a": {"b", "d"}, "b": {"c"}, "c": set(), "d": set()}) == 3


def test_docstrings_comments_and_blank_lines_are_no_code(tmp_path):
    path = tmp_path / "one.py"
    path.write_text(
        '"""A module."""\n\n# A comment.\nx = (\n    1,\n)\n\n\ndef f():\n    """Return 1."""\n    return 1\n'
    )
    assert STRUCTURE["count_code"](path, ast.parse(path.read_text())) == 5

import json
import subprocess
import sys
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from runpy import run_path

import pytest
from click.testing import Result

from tamiz.cli.methods import METHODS_FILE
from tamiz.criteria import registry as criteria
from tamiz.reduction import registry as reduction
from tamiz.search import registry as searches

list_methods = run_path(str(Path(__file__).parents[2] / "tools" / "stubs.py"))["list_methods"]


def test_the_list_is_that_of_the_code() -> None:
    written = json.loads((files("tamiz.cli") / METHODS_FILE).read_text(encoding="utf-8"))
    assert written == list_methods(), "run `make stubs`"


def test_the_list_fits_a_terminal_of_120_columns() -> None:
    assert max(len(f"{m['kind']:14}  {m['name']:24}  {m['label']}") for m in list_methods()) <= 120


@pytest.mark.parametrize(
    "command", ["methods", "study -h", "rank -h", "select -h", "reduce -h", "apply -h", "demo -h", "-h"]
)
def test_commands_that_only_list_methods_import_nothing_heavy(command: str) -> None:
    script = f"import sys\nfrom tamiz.cli import main\nsys.argv = ['tamiz', *{command.split()}]\ntry:\n    main()\nfinally:\n"
    script += "    print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout
    heavy = {"numba", "scipy", "sklearn", "pandas", "pyarrow", "duckdb", "matplotlib", "jinja2"}
    assert not heavy & set(done.stderr.split())


def test_every_method_is_listed_with_a_label_and_a_summary(tamiz: Callable[..., Result]) -> None:
    listed = json.loads(tamiz("methods", "--json").stdout)
    found = {(method["kind"], method["name"].partition(":")[0].replace("-", "_")) for method in listed}
    kinds = ("relevance", "merit", "search")
    wanted = {(e.kind, e.name) for r in (criteria, searches) for e in r if e.kind in kinds}
    assert len(wanted) >= 10
    assert wanted <= found
    assert all(method["label"] and method["summary"].endswith((".", "]")) for method in listed)


@pytest.mark.slow
def test_every_map_is_listed_by_the_name_that_reduce_takes(tamiz: Callable[..., Result], iris: Path) -> None:
    maps = {m["name"]: m["label"] for m in json.loads(tamiz("methods", "--json").stdout) if m["kind"] == "map"}
    assert {name.partition(":")[0].replace("-", "_") for name in maps} == {e.name for e in reduction.of_kind("map")}
    assert maps["mds:ordinal"] == "Ordinal MDS"
    asked = [part for name in maps for part in ("--reduce", name)]
    numbers = json.loads(tamiz("study", iris, "--relevance", "variance", *asked, "--json", "-", "-q").stdout)
    assert [drawn["label"] for drawn in numbers["maps"]] == list(maps.values())


@pytest.mark.slow
def test_every_search_is_listed_by_a_name_that_search_takes(tamiz: Callable[..., Result], iris: Path) -> None:
    names = [m["name"] for m in json.loads(tamiz("methods", "--json").stdout) if m["kind"] == "search"]
    assert {"forward", "best-first:backward", "beam:5", "random-subsets:1000"} <= set(names)
    assert len(names) == len(set(names))
    for name in names:
        # What columns are worth to a set, models tell, and CFS does not.
        merit = ["--merit", "wrapper:gaussian_nb", "-k", 2] if name.startswith("recursive-elimination") else []
        done = tamiz("select", iris, "-t", "species", "--search", name, *merit)
        assert (done.exit_code, done.stdout.splitlines()) == (0, ["petal_length", "petal_width"]), name


def test_functions_are_no_methods(tamiz: Callable[..., Result]) -> None:
    assert "function" not in {method["kind"] for method in json.loads(tamiz("methods", "--json").stdout)}


def test_a_pipe_gets_tab_separated_lines(tamiz: Callable[..., Result]) -> None:
    lines = tamiz("methods").stdout.splitlines()
    assert lines[0] == "kind\tname\tlabel\tsummary"
    assert {line.count("\t") for line in lines} == {3}

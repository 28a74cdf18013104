"""Every method of this folder is one file and one line: in a copy of the package it passes what every method passes."""

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tamiz

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
# The files of each method, the folder that they belong to, and the line of its registry.
METHODS = {
    "presence": (("presence.py",), "criteria", "presence  presence:Presence  relevance  Presence"),
    "consistency": (("consistency.py",), "criteria", "consistency  consistency:Consistency  merit  Consistency"),
    "random_mutation": (
        ("random_mutation.py",), "search", "random_mutation  random_mutation:RandomMutation  search  Random mutations",
    ),
    "random_projection": (
        ("random_projection.py",), "reduction",
        "random_projection  random_projection:RandomProjection  map  Random projection",
    ),
    "missing_values": (
        ("missing_values.py", "templates/missing_values.html"), "report",
        "missing_values  missing_values:collect_missing_values  section  Missing values",
    ),
    "orc_file": (("orc_file.py",), "table", "orc  orc_file:open_orc  file  ORC"),
}  # fmt: skip
USED = """
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from tamiz import SubsetSelector, load, save, study
from tamiz.reduction import RandomProjection

rng = np.random.default_rng(0)
X = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
X.loc[:14, "b"] = np.nan
y = (X["a"] > 0).astype(str)
X.assign(y=y).to_orc("rows.orc", index=False)

selector = SubsetSelector("consistency", "random-mutation:40", random_state=0).fit(X, y)
assert load(save(selector, "selector.tamiz")).get_support().tolist() == selector.get_support().tolist()
assert SubsetSelector("consistency", "branch-and-bound").fit(X, y).merit_ >= 0
projection = RandomProjection(random_state=0).fit(X)
assert (load(save(projection, "map.tamiz")).transform(X) == projection.embedding_).all()

result = study("rows.orc", "y", selector=selector, maps=["random-projection"], assess=False, keep_leaks=True)
assert result.to_dict()["ranking"]["scores"]["presence"] == [1.0, 0.75, 1.0]
(shown,) = result.to_dict()["maps"]
assert (shown["label"], shown["notes"][0]) == ("Random projection", "Random weights of the standardised columns.")
subset = result.to_dict()["subset"]
assert (subset["merit"]["label"], subset["search"]["label"]) == ("Consistency", "Random mutations")
page = result.to_html("report.html").read_text()
assert "1 column of 3 with missing values." in page.split('<div id="details">')[1]
"""
COMMANDS = """
rank rows.orc --target y --relevance presence --top 1
select rows.orc --target y --merit consistency --search random-mutation:40
reduce rows.orc --target y --method random-projection --model projection.tamiz
apply projection.tamiz rows.orc
"""
guide = pytest.mark.skipif(not (ROOT / "CONTRIBUTING.md").exists(), reason="CONTRIBUTING.md is not beside the tests")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A copy of the package with the methods in it, as a contributor would have it."""
    folder = tmp_path_factory.mktemp("package")
    shutil.copytree(Path(tamiz.__file__).parent, folder / "tamiz")
    for files, package, line in METHODS.values():
        home = folder / "tamiz" / package
        for name in files:
            shutil.copy(HERE / Path(name).name, home / name)
        add_line(home / "__init__.py", line)
    ran(folder, str(ROOT / "tools" / "stubs.py"))
    return folder


def add_line(init, line):
    """Add a line to the text of a registry, after the last one of its kind."""
    lines, kind = init.read_text(encoding="utf-8").split("\n"), line.split()[2]
    last = max(k for k, other in enumerate(lines) if other.startswith("    ") and other.split()[2:3] == [kind])
    init.write_text("\n".join([*lines[: last + 1], f"    {line}", *lines[last + 1 :]]), encoding="utf-8")


def ran(folder, *arguments, cwd=ROOT):
    environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=cwd, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_methods_pass_the_contract_tests_and_the_checks_of_scikit_learn(folder):
    names = "presence or consistency or mutation or projection or missing_values or orc"
    options = ["-p", "no:cacheprovider", "-k", names]
    out = ran(folder, "-m", "pytest", *options, str(ROOT / "tests" / "contracts"))
    assert int(re.search(r"(\d+) passed", out)[1]) >= 200
    files = [str(folder / "tamiz" / package / files[0]) for files, package, _ in METHODS.values()]
    out = ran(folder, "-m", "pytest", "-p", "no:cacheprovider", "--doctest-modules", *files, cwd=folder)
    assert "4 passed" in out


@pytest.mark.slow
def test_the_methods_are_used_in_python_in_a_study_and_on_the_command_line(folder, tmp_path):
    ran(folder, "-W", "ignore", "-c", USED, cwd=tmp_path)
    listed = json.loads(ran(folder, "-m", "tamiz", "methods", "--json"))
    names = {"presence", "consistency", "random-mutation:1000", "random-projection", "orc"}
    assert names <= {one["name"] for one in listed}
    outputs = [ran(folder, "-m", "tamiz", *line.split(), cwd=tmp_path) for line in COMMANDS.strip().split("\n")]
    assert outputs[0].split() == ["column", "score", "a", "1.0"]
    # The new rows are those of the fit.
    assert outputs[2] == outputs[3]


def test_every_line_names_what_its_file_contains():
    for files, _, line in METHODS.values():
        module, _, attribute = line.split()[1].partition(":")
        assert f"{module}.py" == files[0]
        assert re.search(rf"^(class|def) {attribute}\(", (HERE / files[0]).read_text(encoding="utf-8"), re.MULTILINE)


@guide
def test_the_guide_shows_a_relevance_names_the_others_and_has_the_layers():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert (HERE / "presence.py").read_text(encoding="utf-8") in text
    assert METHODS["presence"][2] in text
    assert all(f"`{Path(name).name}`" in text for files, *_ in METHODS.values() for name in files[:1])
    assert runpy.run_path(str(ROOT / "tools" / "house.py"))["guide_with_diagram"](text) == text

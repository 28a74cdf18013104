"""The example of CONTRIBUTING.md passes the tests of every criterion, and the guide shows its code."""

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
EXAMPLE = HERE / "presence.py"
LINE = "    presence  presence:Presence  relevance  Presence\n"
STUDY = """
import numpy as np, pandas as pd
from tamiz import study

rng = np.random.default_rng(0)
X = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
X.loc[:14, "b"] = np.nan
result = study(X, (X["a"] > 0).astype(str), maps=[], assess=False, keep_leaks=True).to_dict()
print(result["ranking"]["scores"]["presence"])
"""
guide = pytest.mark.skipif(not (ROOT / "CONTRIBUTING.md").exists(), reason="CONTRIBUTING.md is not beside the tests")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A copy of the package with the example in it, as a contributor would have it."""
    folder = tmp_path_factory.mktemp("package")
    shutil.copytree(Path(tamiz.__file__).parent, folder / "tamiz")
    shutil.copy(EXAMPLE, folder / "tamiz" / "criteria")
    init = folder / "tamiz" / "criteria" / "__init__.py"
    text = init.read_text(encoding="utf-8")
    marked = text.index('"""\n', text.index("Registry(")) + 4
    init.write_text(text[:marked] + LINE + text[marked:], encoding="utf-8")
    ran(folder, str(ROOT / "tools" / "stubs.py"))
    return folder


def ran(folder, *arguments):
    environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@guide
@pytest.mark.slow
def test_the_example_passes_the_contract_tests(folder):
    options = ["-p", "no:cacheprovider", "-k", "presence or Presence"]
    out = ran(folder, "-m", "pytest", *options, str(ROOT / "tests" / "contracts"))
    assert int(re.search(r"(\d+) passed", out)[1]) >= 50


@pytest.mark.slow
def test_a_study_ranks_by_the_example(folder):
    assert ran(folder, "-W", "ignore", "-c", STUDY).split() == ["[1.0,", "0.75,", "1.0]"]


@guide
def test_the_guide_shows_the_example_and_the_layers():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert EXAMPLE.read_text(encoding="utf-8") in text
    assert LINE.strip() in text
    assert runpy.run_path(str(ROOT / "tools" / "house.py"))["guide_with_diagram"](text) == text

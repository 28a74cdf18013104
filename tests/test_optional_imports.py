"""Optional packages: the errors for a missing or outdated one."""

import subprocess
import sys

import numpy as np
import pytest

from tamiz.runtime import optional_imports
from tamiz.runtime.optional_imports import import_optional

ABSENT = {"feature": "Drawing", "package": "no-such-package", "min_version": "2.5", "extra": "plot"}
NUMPY = {"feature": "Drawing", "package": "numpy", "extra": "plot"}


def test_a_missing_package_is_named_with_the_feature_the_least_version_and_the_install_line():
    with pytest.raises(
        ImportError,
        match=r'^Drawing needs no-such-package 2\.5 or later, which is not installed\. Install it: pip install "tamiz\[plot\]"$',
    ):
        import_optional("no_such_package", **ABSENT)


def test_an_old_package_is_named_with_its_version():
    with pytest.raises(
        ImportError, match=rf"^Drawing needs numpy 999\.1 or later, and {np.__version__} is installed\. Install it: pip"
    ):
        import_optional("numpy.linalg", min_version="999.1", **NUMPY)


def test_a_package_that_is_there_is_imported():
    assert import_optional("numpy.linalg", min_version="2.0", **NUMPY) is np.linalg


@pytest.mark.parametrize(
    ("installed", "min_version", "enough"),
    [
        ("3.8.4", "3.8.4", True),
        ("3.10.0", "3.8.4", True),
        ("3.8.3", "3.8.4", False),
        ("3.9.0rc1", "3.9", True),
        ("3.8", "3.8.4", False),
        ("4.0.dev0+g1a2b", "3.8.4", True),
    ],
)
def test_versions_are_compared_number_by_number(monkeypatch, installed, min_version, enough):
    monkeypatch.setattr(optional_imports, "version", lambda package: installed)
    if enough:
        assert import_optional("numpy", min_version=min_version, **NUMPY) is np
    else:
        with pytest.raises(ImportError, match=f"{min_version} or later, and {installed} is installed"):
            import_optional("numpy", min_version=min_version, **NUMPY)


def test_the_import_error_of_a_present_package_is_raised_unchanged(monkeypatch, tmp_path):
    (tmp_path / "half_there.py").write_text("import something_else_that_is_missing\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(optional_imports, "version", lambda package: "3.0")
    with pytest.raises(ModuleNotFoundError, match="something_else_that_is_missing"):
        import_optional("half_there", **ABSENT)


@pytest.mark.slow
def test_displays_are_imported_without_matplotlib():
    program = (
        "import sys, tamiz.display, tamiz.comparison\n"
        "from tamiz.display import EmbeddingDisplay, EigenvalueDisplay\n"
        "from tamiz.comparison import compare_maps\n"
        "assert 'matplotlib' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tamiz.cli import main


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, in which commands run."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def tamiz(folder: Path) -> Callable[..., Result]:
    """Run a command in the folder."""

    def run(*words: str, given: bytes | None = None) -> Result:
        stdin = None if given is None else io.BytesIO(given)
        return CliRunner(env={"COLUMNS": "200", "NO_COLOR": "1", **os.environ}).invoke(main, list(words), input=stdin)

    return run

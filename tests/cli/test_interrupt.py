"""Ctrl-C sent to the real program while a long search runs."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result

N_COLUMNS = 80


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table on which models are refitted for a quarter of a minute."""
    rng = np.random.default_rng(0)
    columns = rng.integers(0, 3, size=(200, N_COLUMNS))
    y = (columns[:, :5].sum(axis=1) > 5).astype(int)
    path = tmp_path_factory.mktemp("wide") / "wide.csv"
    header = ",".join([*(f"x{j}" for j in range(N_COLUMNS)), "y"])
    np.savetxt(path, np.column_stack([columns, y]), fmt="%d", delimiter=",", header=header, comments="")
    return path


def _interrupted(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a command with a journal and send SIGINT when that holds some sets."""
    journal = folder / "search.journal"
    command = [sys.executable, "-m", "tamiz", *map(str, arguments), "--journal", str(journal)]
    with subprocess.Popen(command, cwd=folder, stdout=-1, stderr=-1, text=True) as program:
        patience = time.monotonic() + 120
        while program.poll() is None and not (journal.exists() and journal.read_bytes().count(b"\n") > 20):
            if time.monotonic() > patience:
                program.kill()
                pytest.fail("the journal did not grow")
            time.sleep(0.01)
        program.send_signal(signal.SIGINT)
        stdout, stderr = program.communicate(timeout=60)
    return subprocess.CompletedProcess(command, program.returncode, stdout, stderr)


SLOWLY = ["-t", "y", "--search", "forward", "--n-features", f"1-{N_COLUMNS}", "--merit", "wrapper:tree"]


@pytest.mark.slow
def test_an_interrupted_selection_prints_and_writes_the_best_so_far(folder: Path, wide: Path) -> None:
    done = _interrupted(folder, "select", wide, *SLOWLY, "--json", "-o", "best.csv")
    assert done.returncode == 130, done.stderr
    shown = json.loads(done.stdout)
    assert shown["stopped"] == "interrupted"
    assert len(shown["columns"]) >= 1
    assert "note: Interrupted after" in done.stderr
    assert "Traceback" not in done.stderr
    assert (folder / "best.csv").read_text().splitlines()[0].replace('"', "").split(",") == [*shown["columns"], "y"]


@pytest.mark.slow
def test_an_interrupted_study_writes_the_report_of_what_was_found(folder: Path, wide: Path) -> None:
    done = _interrupted(folder, "study", wide, *SLOWLY, "-r", "information-gain", "-o", "r.html", "--json", "r.json")
    assert done.returncode == 130, done.stderr
    assert done.stdout == "r.html\n"
    assert "Interrupted" in done.stderr
    assert "Traceback" not in done.stderr
    numbers = json.loads((folder / "r.json").read_text())
    assert numbers["interruption"]
    assert len(numbers["subset"]["columns"]) >= 1
    assert len(numbers["ranking"]["scores"]["information_gain"]) == N_COLUMNS
    assert (folder / "r.html").read_text().rstrip().endswith("</html>")
    assert sorted(path.name for path in folder.iterdir()) == ["r.html", "r.json", "search.journal"]


def test_an_interruption_before_anything_was_found_writes_nothing(
    tamiz: Callable[..., Result], folder: Path, wide: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tamiz.table.factory.open_file", interrupt)
    done = tamiz("study", wide, "-t", "y")
    assert done.exit_code == 130
    assert done.stderr.strip() == "tamiz: interrupted."
    assert list(folder.iterdir()) == []

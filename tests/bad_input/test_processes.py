"""Processes that are limited, interrupted or killed: one sentence, no file half-written, none left behind."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from .files import GOOD

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="limits and signals are those of Linux"),
]
TAMIZ = [sys.executable, "-m", "tamiz"]
STUDY = [*TAMIZ, "study", "t.csv", "-t", "y", "--no-assess", "-o"]


@pytest.fixture
def here(folder: Path) -> Path:
    (folder / "t.csv").write_text(GOOD, encoding="utf-8")
    return folder


def run(*words: str, limit: Callable[[], None] | None = None, **settings: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, timeout=200, preexec_fn=limit, **settings)  # type: ignore[call-overload, no-any-return]


def at_most(kind: int, size: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(kind, (size, size))


def said(done: subprocess.CompletedProcess[str]) -> str:
    """Return the sentence of a command that failed."""
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("tamiz: ")]
    return line


def test_little_memory_is_named(here: Path) -> None:
    assert "memory" in said(run(*TAMIZ, "rank", "t.csv", "-t", "y", limit=at_most(resource.RLIMIT_AS, 500_000_000)))


@pytest.mark.parametrize("command", ["study t.csv -t y --no-assess -o r.html", "select t.csv -t y --model m.tamiz"])
def test_a_full_disk_leaves_no_file(here: Path, command: str) -> None:
    sentence = said(run(*TAMIZ, *command.split(), limit=at_most(resource.RLIMIT_FSIZE, 1200)))
    assert "cannot be written: file too large" in sentence.lower()
    assert [path.name for path in here.iterdir()] == ["t.csv"]


def test_a_full_disk_names_standard_output(here: Path) -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            [*TAMIZ, "rank", "t.csv", "-t", "y"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=200
        )
    assert "Standard output" in said(done)


JOURNAL = """
import numpy as np, resource
from tamiz import SubsetSelector
X = np.random.default_rng(0).normal(size=(100, 12))
y = (X[:, 0] + X[:, 3] > 0).astype(int)
search = lambda: SubsetSelector("cfs", "genetic", journal="j", random_state=0).fit(X, y)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))
try:
    search()
except OSError as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
assert (search().get_support() == SubsetSelector("cfs", "genetic", random_state=0).fit(X, y).get_support()).all()
"""


def test_a_search_goes_on_from_a_journal_on_a_disk_that_was_full(here: Path) -> None:
    done = run(sys.executable, "-W", "ignore", "-c", JOURNAL)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("The journal j cannot be written: File too large.")


@pytest.mark.parametrize("home", [None, "", "/nonexistent", "/proc"])
def test_no_home_is_needed(here: Path, home: str | None) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in ("HOME", "XDG_CACHE_HOME")}
    done = run(*STUDY, "r.html", env=environment if home is None else environment | {"HOME": home})
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(path.name for path in here.iterdir()) == ["r.html", "t.csv"]


def test_a_stream_that_is_closed_stops_nothing(here: Path) -> None:
    done = run(
        "/bin/sh", "-c", f"{sys.executable} -m tamiz methods >&- && {sys.executable} -m tamiz rank t.csv -t y 2>&-"
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("seconds", [0.5, 1.0, 1.5, 2.0, 2.5])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_killed_study_leaves_the_old_report_or_the_new_one(
    here: Path, number: signal.Signals, seconds: float
) -> None:
    old = here / "r.html"
    old.write_text("old", encoding="utf-8")
    with subprocess.Popen([*STUDY, "r.html"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as study:
        time.sleep(seconds)
        study.send_signal(number)
        _, errors = study.communicate(timeout=60)
    assert "Traceback" not in errors
    page = old.read_text(encoding="utf-8")
    assert page == "old" or page.rstrip().endswith("</html>")
    # What a killed process could not remove, the next one does.
    assert run(*STUDY, "r.html").returncode == 0
    assert sorted(path.name for path in here.iterdir()) == ["r.html", "t.csv"]


def test_two_studies_into_one_report_leave_one_of_them(here: Path) -> None:
    both = [
        subprocess.Popen([*STUDY, "r.html"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(2)
    ]
    assert [study.wait(timeout=200) for study in both] == [0, 0]
    assert (here / "r.html").read_text(encoding="utf-8").rstrip().endswith("</html>")
    assert sorted(path.name for path in here.iterdir()) == ["r.html", "t.csv"]


def test_a_device_and_a_pipe_are_written_to_and_stay(here: Path) -> None:
    assert run(*STUDY, "/dev/null").returncode == 0
    assert Path("/dev/null").is_char_device()
    os.mkfifo(here / "pipe")
    with subprocess.Popen([*STUDY, "pipe"], stdout=subprocess.DEVNULL) as study:
        page = (here / "pipe").read_text(encoding="utf-8")
        assert study.wait(timeout=60) == 0
    assert page.rstrip().endswith("</html>")
    assert (here / "pipe").is_fifo()


def test_the_file_that_a_link_points_to_is_replaced(here: Path) -> None:
    (here / "there").mkdir()
    (here / "r.html").symlink_to(here / "there" / "real.html")
    assert run(*STUDY, "r.html").returncode == 0
    assert (here / "r.html").is_symlink()
    assert (here / "there" / "real.html").read_text(encoding="utf-8").rstrip().endswith("</html>")

"""What differs between a terminal and a pipe."""

import io
import os
import pty
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tamiz import progress
from tamiz.cli.terminal import Voice, _left, _progressed, printable


def _on_a_terminal(*arguments: object, **settings: str) -> tuple[str, str, int]:
    """Run the program with stderr and stdout on terminals of their own."""
    terminals = [pty.openpty(), pty.openpty()]
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "60"} | settings
    with subprocess.Popen(
        [sys.executable, "-m", "tamiz", *map(str, arguments)],
        stdout=terminals[0][1], stderr=terminals[1][1], env=environment,
    ) as program:  # fmt: skip
        for _, inner in terminals:
            os.close(inner)
        shown = [_read(outer) for outer, _ in terminals]
    return shown[0], shown[1], program.returncode


def _read(terminal: int) -> str:
    parts = []
    try:
        while part := os.read(terminal, 65536):
            parts.append(part)
    except OSError:
        # Linux ends a terminal whose program has left with an error.
        pass
    finally:
        os.close(terminal)
    return b"".join(parts).decode()


def test_a_terminal_gets_an_aligned_table_and_progress(iris: Path) -> None:
    stdout, stderr, status = _on_a_terminal("rank", iris, "-t", "species")
    assert status == 0
    lines = stdout.splitlines()
    assert len({len(line) for line in lines}) == 1
    assert len(lines) == 5
    assert "\t" not in stdout
    assert "\x1b[" in stderr
    assert "note: The target 'species' is taken as 3 classes" in stderr


def test_progress_tells_merit_and_columns_how_far_the_stage_has_come_and_the_time_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("COLUMNS", "150")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("tamiz.cli.terminal._left", lambda seconds: "about 0:00:07 left")
    with Voice(quiet=False).at_work():
        progress.tell("Reading rows", 40, 50)
        progress.tell("Searching, best merit 0.31 of 4 columns", 1200, None)
        time.sleep(0.25)
        progress.tell("Searching, best merit 0.32 of 5 columns", 1300, 5000)
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.getvalue())
    assert re.search(r"Searching, best merit 0\.31 of 4 columns \S* *1,200 ", shown)
    assert re.search(r"best merit 0\.32 of 5 columns .* 1,300 of 5,000 .* about 0:00:07 left", shown)


@pytest.mark.parametrize(
    ("done", "total", "told"),
    [(1234, None, "1,234"), (10, 2000, "10 of 2,000"), (10**9, 2**100, "1,000,000,000 of 1.3e+30")],
)
def test_how_far_work_has_come_is_told_in_numbers(done: int, total: int | None, told: str) -> None:
    assert _progressed(done, total) == told


def test_the_time_left_is_told_where_it_is_known() -> None:
    assert (_left(None), _left(0.0), _left(3725.4)) == ("", "", "about 1:02:05 left")


@pytest.mark.slow
def test_no_color_and_quiet_are_heeded_on_a_terminal(iris: Path) -> None:
    _, stderr, _ = _on_a_terminal("rank", iris, "-t", "species", NO_COLOR="1")
    # "Select graphic rendition" sequences end in m; those that move the cursor are no colours.
    assert "\x1b[3" not in stderr
    _, quiet, _ = _on_a_terminal("rank", iris, "-t", "species", "--quiet")
    assert quiet == ""


def test_a_pipe_gets_no_control_sequences(iris: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tamiz", "rank", str(iris), "-t", "species"], capture_output=True, text=True, check=True
    )
    assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("text", "shown"), [("plain é 表", "plain é 表"), ("a\nb\tc", "a\\nb\\tc"), ("\x1b[31m", "\\x1b[31m")]
)
def test_signs_that_cannot_be_printed_are_shown_as_escapes(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_a_log_gets_a_line_of_progress_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter([0.0, 1.0, 6.0, 6.0, 7.0, 12.0, 12.0])
    monkeypatch.setattr("tamiz.cli.terminal.time.monotonic", lambda: next(clock))
    with Voice(quiet=False).at_work():
        for label, done, total in (
            ("read", 0, None),
            ("Step: graph, about 6 s", 0, None),
            ("rows", 1, 3),
            ("rows", 2, 3),
        ):
            progress.tell(label, done, total)
    assert capsys.readouterr().err.splitlines() == ["Step: graph, about 6 s", "rows: 2 of 3"]
    with Voice(quiet=True).at_work():
        progress.tell("rows", 1, 3)
    assert capsys.readouterr().err == ""

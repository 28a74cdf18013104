"""Differences between the output to a terminal and to a pipe."""

import io
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tamiz.cli.terminal import Messenger, escape_nonprintable
from tamiz.runtime import progress


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


@pytest.mark.slow
def test_a_terminal_gets_an_aligned_table_and_progress(iris: Path) -> None:
    stdout, stderr, status = _on_a_terminal("rank", iris, "-t", "species")
    assert status == 0
    lines = stdout.splitlines()
    assert len({len(line) for line in lines}) == 1
    assert len(lines) == 5
    assert "\t" not in stdout
    assert "\x1b[" in stderr


@pytest.mark.slow
def test_no_color_and_quiet_are_heeded_on_a_terminal(iris: Path) -> None:
    _, stderr, _ = _on_a_terminal("rank", iris, "-t", "species", NO_COLOR="1")
    # "Select graphic rendition" sequences end in m; those that move the cursor are no colours.
    assert "\x1b[3" not in stderr
    _, quiet, _ = _on_a_terminal("rank", iris, "-t", "species", "--quiet")
    assert quiet == ""


@pytest.mark.slow
def test_a_pipe_gets_no_control_sequences(iris: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tamiz", "rank", str(iris), "-t", "species"], capture_output=True, text=True, check=True
    )
    assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("text", "shown"), [("plain é 表", "plain é 表"), ("a\nb\tc", "a\\nb\\tc"), ("\x1b[31m", "\\x1b[31m")]
)
def test_signs_that_cannot_be_printed_are_shown_as_escapes(text: str, shown: str) -> None:
    assert escape_nonprintable(text) == shown


def test_quiet_commands_show_no_progress(capsys: pytest.CaptureFixture[str]) -> None:
    with Messenger(quiet=True).capture_messages():
        progress.report_progress("rows", 1, 3)
    assert capsys.readouterr().err == ""


class Screen(io.StringIO):
    """What is written to a terminal."""

    def isatty(self) -> bool:
        return True


VERDICT = [
    "data.csv   60 rows, 3 columns -> y (a 40%)   2 s",
    "",
    "  Keep 2 of 3 columns: the first and the second",
    "  ! order of rows: number (TZ204)",
    "  first   keep  ████  1.0",
    "  third         ██    2.0  adds nothing measurable",
]


def test_a_verdict_on_a_terminal_is_wrapped_between_words_and_coloured(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.delenv("NO_COLOR", raising=False)
    Messenger(quiet=False).write_verdict(VERDICT)
    lines = screen.getvalue().splitlines()
    plain = [re.sub("\x1b\\[[0-9;]*m", "", line) for line in lines]
    assert all(len(line) <= 30 for line in plain)
    assert " ".join(" ".join(plain).split()) == " ".join(" ".join(VERDICT).split())
    assert {line for line in lines if "\x1b[1m" in line} == {
        line for line in lines if "Keep" in line or "second" in line
    }
    assert [line for line in lines if "\x1b[33m" in line]
    assert len([line for line in lines if "\x1b[32m  keep  \x1b" in line]) == 1


def test_without_colours_or_in_a_log_a_verdict_is_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    for screen, no_color in ((Screen(), "1"), (io.StringIO(), "")):
        monkeypatch.setattr(sys, "stderr", screen)
        monkeypatch.setenv("COLUMNS", "200")
        monkeypatch.setenv("NO_COLOR", no_color)
        Messenger(quiet=False).write_verdict(VERDICT)
        assert screen.getvalue().splitlines() == VERDICT
    monkeypatch.setattr(sys, "stderr", silent := Screen())
    Messenger(quiet=True).write_verdict(VERDICT)
    assert silent.getvalue() == ""

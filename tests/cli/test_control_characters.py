"""Control characters in names and values of a table do not reach a terminal, and files contain them unchanged."""

import csv
import html
import io
import json
import re
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tamiz.cli import main
from tamiz.cli.terminal import Messenger, show_lines

SIGNS = "\x1b[2J\r\x07\x9b\u202e"
WITHIN = SIGNS.replace("\r", "")
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
NUMBER, KIND, TARGET = (f"{name}{SIGNS}" for name in ("number", "kind", "target"))
NAME = f"table{SIGNS}.csv"
Run = Callable[..., Result]


@pytest.fixture
def table(folder: Path) -> str:
    """A file of 30 rows whose name, columns and levels hold such signs."""
    with (folder / NAME).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
        writer.writerow([NUMBER, "plain", KIND, TARGET, f"constant{SIGNS}"])
        writer.writerows(
            [[k % 3 + k / 50, -k * k % 7, f"{'lh'[k % 2]}{WITHIN}", f"{'abc'[k % 3]}{WITHIN}", 1] for k in range(30)]
        )
    return NAME


ANSWERS = [
    ("rank", NAME, "-t", TARGET),
    ("rank", NAME, "-t", TARGET, "--json"),
    ("select", NAME, "-t", TARGET),
    ("select", NAME, "-t", TARGET, "--json"),
    ("select", NAME, "-t", TARGET, "--dry-run"),
    ("study", NAME, "-t", TARGET, "--dry-run"),
    ("reduce", NAME, "-t", TARGET, "--keep", KIND),
    ("methods",),
]
SHOWS_NO_NAME = (*((one, NAME, "-t", TARGET, "--dry-run") for one in ("select", "study")), ("methods",))
REFUSALS = [
    ("rank", NAME, "-t", f"other{SIGNS}"),
    ("rank", f"other{SIGNS}.csv"),
    ("rank", NAME, "-t", NUMBER, "--kinds", f"{KIND}=numeric"),
    ("rank", NAME, "-t", NUMBER, "--kinds", f"{KIND}=numeric", "--debug"),
    ("rank", NAME, "--kinds", f"{KIND}=number{SIGNS}"),
    ("rank", NAME, "-t", TARGET, "--weight", KIND),
    ("rank", NAME, f"--{SIGNS}"),
    ("select", NAME, "-t", TARGET, "--fixed", f"other{SIGNS}"),
    ("select", NAME, "-t", TARGET, "-o", f"chosen{SIGNS}"),
    ("select", NAME, "-t", TARGET, "-o", f"nowhere{SIGNS}/chosen.csv"),
    ("study", NAME, "-t", TARGET, "-o", f"nowhere{SIGNS}/report.html"),
    ("apply", NAME, NAME),
    (f"rank{SIGNS}",),
]


@pytest.mark.parametrize("arguments", [*ANSWERS, *REFUSALS], ids=lambda given: given[0][:6])
def test_nothing_that_steers_a_terminal_is_written_to_it(arguments: tuple[str, ...], table: str, tamiz: Run) -> None:
    done = tamiz(*arguments)
    assert (done.exit_code == 0) == (arguments in ANSWERS), done.output
    assert not STEERING.search(done.stdout + done.stderr)
    if arguments not in SHOWS_NO_NAME:
        assert "x07" in done.stdout + done.stderr or "u0007" in done.stdout


def test_names_in_json_are_themselves_again_when_it_is_read(table: str, tamiz: Run) -> None:
    told = json.loads(tamiz("rank", table, "-t", TARGET, "--json").stdout)
    assert {column["column"] for column in told["columns"]} == {NUMBER, "plain", KIND, f"constant{SIGNS}"}
    assert told["table"] == table


def test_files_keep_names_and_values_as_they_are(table: str, tamiz: Run, folder: Path) -> None:
    assert tamiz("select", table, "-t", TARGET, "-o", f"chosen{SIGNS}.csv").exit_code == 0
    with (folder / f"chosen{SIGNS}.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert rows[0][TARGET] == f"a{WITHIN}"
    assert NUMBER in rows[0]


def test_a_page_on_standard_output_shows_the_names_without_holding_the_signs(table: str, tamiz: Run) -> None:
    page = tamiz("study", table, "-t", TARGET, "-o", "-", "--max-seconds", "1").stdout
    assert not STEERING.search(page)
    title = re.search(r"<title>(.*?)</title>", page)
    assert title is not None
    assert "&#27;[2J&#13;&#7;&#155;&#8238;.csv" in title[1]
    assert "\u202e" in html.unescape(title[1])


def test_names_one_a_line_are_escaped_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Terminal()
    monkeypatch.setattr("sys.stdout", screen)
    show_lines(["plain", f"a\tb\n{SIGNS}"])
    assert screen.getvalue() == "plain\na\\tb\\n\\x1b[2J\\r\\x07\\x9b\\u202e\n"


def test_warnings_of_other_libraries_are_escaped_too(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        shown: list[str] = []
        patch.setattr(warnings, "showwarning", lambda message, *_, **__: shown.append(str(message)))
        with Messenger(quiet=True).capture_messages():
            warnings.warn(f"column {SIGNS}", UserWarning, stacklevel=1)
    assert shown == ["column \\x1b[2J\\r\\x07\\x9b\\u202e"]


def test_a_defect_keeps_its_traceback_without_the_signs(
    table: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise KeyError(f"column {SIGNS}")

    def fail_in_words(*_: object, **__: object) -> None:
        raise RuntimeError(f"column {SIGNS}")

    for failure in (fail, fail_in_words):
        monkeypatch.setattr("tamiz.open_table", failure)
        done = CliRunner().invoke(main, ["rank", table])
        assert done.exit_code == 1
        assert "Traceback" in done.stderr
        assert "column \\x1b[2J" in done.stderr
        assert not STEERING.search(done.stderr)

"""Help, versions, streams and exit statuses of the command line as a whole."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from tamiz import __version__
from tamiz.cli import main
from tamiz.criteria import registry as criteria
from tamiz.search import registry as searches

HEAVY = ("numpy", "scipy", "sklearn", "numba", "pyarrow", "duckdb", "pandas", "matplotlib", "rich", "narwhals")
COMMANDS = sorted(main.commands)


def _tamiz(*arguments: object, **settings: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tamiz", *map(str, arguments)], capture_output=True, text=True, check=False, **settings
    )


@pytest.mark.parametrize(
    "arguments", [["--help"], *([name, "--help"] for name in ("study", "select", "reduce", "apply"))], ids=" ".join
)
def test_help_imports_none_of_the_heavy_packages(arguments: list[str]) -> None:
    script = (
        "import sys\nfrom tamiz.cli import main\n"
        f"try:\n    main({arguments})\nfinally:\n    print([m for m in {HEAVY} if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stderr.strip() == "[]"
    assert "Usage: tamiz" in done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_every_option_and_begins_with_an_example(
    tamiz: Callable[..., Result], command: str
) -> None:
    done = tamiz(command, "-h")
    assert done.exit_code == 0
    lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    assert lines[1].startswith("tamiz ")
    for parameter in main.commands[command].params:
        if parameter.param_type_name == "option":
            assert parameter.help, f"{command} {parameter.opts} has no help"


def test_help_of_study_lists_every_method_with_dashes(tamiz: Callable[..., Result]) -> None:
    shown = " ".join(tamiz("study", "--help").stdout.split()).replace("- ", "-")
    names = [e.name for e in (*criteria.of_kind("relevance"), *criteria.of_kind("merit"), *searches.of_kind("search"))]
    assert len(names) >= 10
    assert [name for name in names if name.replace("_", "-") not in shown] == []


def test_help_of_kinds_lists_every_kind(tamiz: Callable[..., Result]) -> None:
    from tamiz.table.schema import KINDS

    shown = tamiz("study", "--help").stdout
    assert [kind for kind in KINDS if kind not in shown] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_the_whole_help_has_every_option_once_and_the_short_one_a_few(
    tamiz: Callable[..., Result], command: str
) -> None:
    whole, short = (
        re.findall(r"^  (-[^ ].*?)(?:  |$)", tamiz(command, flag).stdout, re.M) for flag in ("--help", "-h")
    )
    options = [one for one in main.commands[command].params if one.param_type_name == "option"]
    named = [one for one in options if any(set(one.opts) & set(re.findall(r"--?[a-z-]+", line)) for line in whole)]
    assert named == options
    assert {line.split(" ")[0] for line in short} <= {line.split(" ")[0] for line in whole}
    assert len(short) <= 13


def test_the_short_help_of_a_study_has_four_headings_and_names_the_whole_one(tamiz: Callable[..., Result]) -> None:
    lines = tamiz("study", "-h").stdout.splitlines()
    assert [line for line in lines if re.fullmatch(r"[A-Z][a-z]+:", line)] == [
        "Table:",
        "Choose:",
        "Search:",
        "Output:",
    ]
    assert lines[-1].strip().startswith("tamiz study --help shows all ")
    assert len(lines) <= 50
    headings = [line for line in tamiz("study", "--help").stdout.splitlines() if re.fullmatch(r"[A-Z][a-z]+:", line)]
    assert headings == ["Table:", "Choose:", "Search:", "Assess:", "Maps:", "Output:", "Run:", "Help:"]


def test_no_arguments_show_the_help(tamiz: Callable[..., Result]) -> None:
    assert tamiz().stdout == tamiz("--help").stdout


def test_version_is_reported(tamiz: Callable[..., Result]) -> None:
    assert tamiz("--version").stdout == f"tamiz {__version__}\n"


def test_a_misspelt_command_is_refused_with_the_closest(tamiz: Callable[..., Result]) -> None:
    done = tamiz("stduy")
    assert done.exit_code == 2
    assert "no command 'stduy' (did you mean 'study'?)" in done.stderr


def test_a_missing_table_is_a_wrong_command_line(tamiz: Callable[..., Result]) -> None:
    done = tamiz("rank")
    assert done.exit_code == 2
    assert done.stderr.startswith("tamiz: Missing argument 'TABLE'.")


def test_a_failure_is_one_sentence_on_stderr_of_the_real_program(folder: Path) -> None:
    done = _tamiz("rank", "absent.csv", "--target", "y")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "tamiz: There is no file absent.csv.\n"


@pytest.mark.parametrize(
    ("option", "setting"),
    [(["--debug"], None), ([], "1")],
    ids=["--debug", "TAMIZ_DEBUG"],
)
@pytest.mark.slow
def test_debug_shows_the_traceback(folder: Path, option: list[str], setting: str | None) -> None:
    environment = os.environ | ({} if setting is None else {"TAMIZ_DEBUG": setting})
    done = _tamiz("rank", "absent.csv", *option, env=environment)
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "FileNotFoundError: There is no file absent.csv." in done.stderr


@pytest.mark.slow
def test_a_reader_that_stops_early_is_no_failure_with_a_traceback(iris: Path) -> None:
    command = f"{sys.executable} -m tamiz rank {iris} --target species 2>err | true"
    folder = iris.parent
    subprocess.run(["bash", "-c", command], check=True, cwd=folder)
    assert "Traceback" not in (folder / "err").read_text()


def test_an_error_without_a_message_states_that_memory_is_short(
    tamiz: Callable[..., Result], iris: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("tamiz.table.factory.open_file", fail)
    done = tamiz("rank", iris)
    assert done.exit_code == 1
    assert done.stderr.startswith("tamiz: The memory of the process does not suffice; ")


def test_a_system_error_names_its_file(
    tamiz: Callable[..., Result], iris: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", "table.csv")

    monkeypatch.setattr("tamiz.table.factory.open_file", fail)
    assert tamiz("rank", iris).stderr == "tamiz: table.csv: permission denied.\n"


@pytest.mark.parametrize("target", [None, "2021"])
def test_a_header_of_numbers_is_found_by_the_target_or_a_note_states_the_assumption(
    tamiz: Callable[..., Result], folder: Path, write: Callable[..., Path], target: str | None
) -> None:
    rows = [(k % 5, k * 7 % 11, k % 2) for k in range(40)]
    path = write("2017,2019,2021\n" + "".join(",".join(map(str, row)) + "\n" for row in rows))
    said = ["--header"] if target is None else ["--target", target]
    chosen = ["--target", "2021", *said[:1]] if target is None else said
    for command in (
        ("rank", path, *said),
        ("select", path, *chosen, "-o", "out.csv", "--model", "m.tamiz"),
        ("reduce", path, *said, "-o", "map.csv", "--keep", "2017"),
        ("apply", "m.tamiz", path, "-o", "out.csv"),
        ("study", path, *chosen, "--no-points", "--reduce", "pca", "-o", "report.html"),
    ):
        done = tamiz(*command)
        assert done.exit_code == 0, done.stderr
        assert "x0" not in done.stdout + done.stderr
    written = (folder / "out.csv").read_text().splitlines()
    assert len(written) == 41
    assert "2021" in written[0]
    assert (folder / "map.csv").read_text().splitlines()[0].startswith('"2017",')
    assert "(2017, 2019, 2021) was read as a row of values" in tamiz("reduce", path).stderr

"""Bad input on the command line: a one-sentence error, the right exit status, and no output file."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

ROWS = "".join(f"{i % 5},{i % 3},{'pq'[i % 2]}\n" for i in range(12))
GOOD = f"a,b,y\n{ROWS}"

# What the file holds (None: there is none), further arguments, and what the sentence says.
DATA = {
    "a missing file": (None, [], r"There is no file data.csv."),
    "an empty file": ("", [], r"empty"),
    "a file with a header only": ("a,b,y\n", [], r"has a header and no rows"),
    "an unreadable file": (bytes(range(256)) * 20, [], r"data.csv"),
    "a target that is absent": (GOOD, ["--target", "yy"], r"no column 'yy' for the target \(did you mean 'y'\?\)"),
    "a constant target": ("a,b,y\n1,2,p\n2,3,p\n3,1,p\n", [], r"Target 'y' is constant: 1 class, 'p' in all 3 rows"),
    "a target missing in every row": ("a,b,y\n1,2,\n2,3,\n", [], r"Target 'y' is missing in every row"),
    "column names that occur twice": (f"a,a,y\n{ROWS}", [], r"'a' occurs twice"),
    "a ragged row": (GOOD + "1,2\n", [], r"line 14 has 2 fields, but the header has 3"),
    "a bad number": (GOOD + "x1,2,p\n", ["--kinds", "a=numeric"], r"line 14, column a: 'x1' is not a number"),
    "an infinity": (GOOD + "1,inf,p\n", [], r"line 14, column b: inf is infinite"),
    "one row": ("a,b,y\n1,2,p\n", [], r"1 sample is too few"),
    "a column for kinds that is absent": (GOOD, ["--kinds", "aa=id"], r"kinds contains 'aa', which is not a column"),
    "a weight that is absent": (GOOD, ["--weight", "w"], r"no column 'w' for the weight"),
    "a kind of no weights": (GOOD, ["--weights", "sampling"], r"the rows have none: pass weight= \(--weight\)"),
}
COMMANDS = {
    "study": ["study", "data.csv", "-o", "out.html", "--json", "out.json"],
    "rank": ["rank", "data.csv"],
    "select": ["select", "data.csv", "-o", "out.csv", "--journal", "out.journal"],
}


def _left(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name != "data.csv"]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("case", DATA)
def test_bad_data_end_in_one_sentence_and_no_file(
    tamiz: Callable[..., Result], folder: Path, write: Callable[..., Path], command: str, case: str
) -> None:
    text, arguments, sentence = DATA[case]
    if text is not None:
        write(text)
    done = tamiz(*COMMANDS[command], "--target", "y", *arguments)
    assert done.exit_code == 1, done.stderr
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert re.search(sentence, line)
    assert line.startswith("tamiz: ")
    assert line.endswith(".")
    assert _left(folder) == []


@pytest.mark.parametrize("command", COMMANDS)
def test_rows_without_a_target_are_dropped_and_reported(
    tamiz: Callable[..., Result], write: Callable[..., Path], command: str
) -> None:
    write(GOOD + "1,2,\n3,1,\n")
    done = tamiz(*COMMANDS[command], "--target", "y")
    assert done.exit_code == 0, done.stderr
    assert done.stderr.count("2 rows without a target were left out.") == 1


@pytest.mark.parametrize("command", ["study", "select"])
def test_more_columns_than_there_are_is_refused(
    tamiz: Callable[..., Result], folder: Path, write: Callable[..., Path], command: str
) -> None:
    write(GOOD)
    done = tamiz(command, "data.csv", "--target", "y", "--n-features", 9)
    assert done.exit_code == 1
    assert done.stderr == "tamiz: n_features=9 exceeds the 2 columns of the table; ask for at most 2.\n"
    assert _left(folder) == []


@pytest.mark.parametrize(
    ("command", "option", "kind"),
    [
        ("study", "--relevance", "relevance"),
        ("rank", "--relevance", "relevance"),
        ("study", "--merit", "merit"),
        ("select", "--search", "search"),
    ],
)
def test_an_unknown_method_is_refused_with_the_list(
    tamiz: Callable[..., Result], folder: Path, write: Callable[..., Path], command: str, option: str, kind: str
) -> None:
    write(GOOD)
    done = tamiz(command, "data.csv", "--target", "y", option, "nonsense")
    assert done.exit_code == 2
    assert f"'nonsense' is no {kind}; there are: " in done.stderr
    assert _left(folder) == []


def test_a_misspelt_method_is_answered_with_the_closest(
    tamiz: Callable[..., Result], write: Callable[..., Path]
) -> None:
    done = tamiz("rank", write(GOOD), "--target", "y", "--relevance", "information-gian")
    assert "(did you mean 'information-gain'?)" in done.stderr


@pytest.mark.parametrize("pair", ["a", "=id", "a=nmeric"])
def test_an_unknown_kind_is_refused_with_the_list(
    tamiz: Callable[..., Result], write: Callable[..., Path], pair: str
) -> None:
    done = tamiz("rank", write(GOOD), "--target", "y", "--kinds", pair)
    assert done.exit_code == 2
    assert f"{pair!r} is not of the form column=kind" in done.stderr
    assert "kinds: numeric, categorical, boolean, date, text, id." in done.stderr


OUTPUTS = {
    "study -o": ("study", "-o", "{}/out.html"),
    "study --json": ("study", "--json", "{}/out.json"),
    "study --journal": ("study", "--journal", "{}/out.journal"),
    "select -o": ("select", "-o", "{}/out.csv"),
    "select --journal": ("select", "--journal", "{}/out.journal"),
    "demo -o": ("demo", "-o", "{}/out.html"),
}


@pytest.fixture
def no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail when a table is opened: outputs are to be looked at before."""

    def refuse(*_: object) -> None:
        pytest.fail("the table was opened before the output was looked at")

    monkeypatch.setattr("tamiz.table.factory.open_file", refuse)


def _with_output(output: str, place: str) -> list[str]:
    command, option, name = OUTPUTS[output]
    table = [] if command == "demo" else ["data.csv", "--target", "y"]
    return [command, *table, option, name.format(place)]


@pytest.mark.parametrize("output", OUTPUTS)
def test_a_folder_that_is_missing_is_reported_before_the_work(
    tamiz: Callable[..., Result], write: Callable[..., Path], no_work: None, output: str
) -> None:
    write(GOOD)
    done = tamiz(*_with_output(output, "absent"))
    assert done.exit_code == 1
    assert done.stderr.startswith("tamiz: There is no folder absent; create it, or write out.")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("output", OUTPUTS)
def test_a_folder_that_is_a_file_is_reported_before_the_work(
    tamiz: Callable[..., Result], folder: Path, write: Callable[..., Path], no_work: None, output: str
) -> None:
    write(GOOD)
    done = tamiz(*_with_output(output, "data.csv"))
    assert done.exit_code == 1
    assert done.stderr.startswith("tamiz: data.csv is a file, not a folder; write out.")
    assert _left(folder) == []


def test_a_folder_without_permission_is_reported_before_the_work(
    tamiz: Callable[..., Result],
    folder: Path,
    write: Callable[..., Path],
    no_work: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write(GOOD)
    # The superuser may write anywhere, so the answer of the system is given here.
    monkeypatch.setattr("os.access", lambda path, mode: False)
    done = tamiz("study", "data.csv", "--target", "y", "-o", "out.html")
    assert done.exit_code == 1
    assert done.stderr == "tamiz: The folder . cannot be written to; write out.html elsewhere.\n"


def test_an_output_that_is_a_folder_is_refused(
    tamiz: Callable[..., Result], folder: Path, write: Callable[..., Path], no_work: None
) -> None:
    write(GOOD)
    (folder / "out.html").mkdir()
    done = tamiz("study", "data.csv", "-o", "out.html")
    assert done.exit_code == 1
    assert done.stderr == "tamiz: out.html is a folder; name a file in it.\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["study", "data.csv", "-o", "data.csv"],
        ["select", "data.csv", "-t", "y", "-o", "./data.csv"],
        ["report", "data.csv", "-o", "data.csv"],
    ],
    ids=["study", "select", "report"],
)
def test_the_input_is_never_written_over(
    tamiz: Callable[..., Result], folder: Path, write: Callable[..., Path], arguments: list[str]
) -> None:
    write(GOOD)
    done = tamiz(*arguments)
    assert done.exit_code == 1
    assert "data.csv is the table itself; write to a file of another name." in done.stderr
    assert (folder / "data.csv").read_text() == GOOD


def test_two_outputs_of_one_name_are_refused(tamiz: Callable[..., Result], write: Callable[..., Path]) -> None:
    done = tamiz("study", write(GOOD), "-o", "out", "--json", "out")
    assert done.exit_code == 1
    assert "out is already the name of another output" in done.stderr


def test_an_output_that_fails_on_the_way_leaves_nothing(
    tamiz: Callable[..., Result], folder: Path, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill_the_disk(table: object, path: str, options: object) -> None:
        Path(path).write_text("half")
        raise OSError(28, "No space left on device", path)

    write(GOOD)
    monkeypatch.setattr("pyarrow.csv.write_csv", fill_the_disk)
    done = tamiz("select", "data.csv", "-t", "y", "-o", "out.csv")
    assert done.exit_code == 1
    assert "out.csv cannot be written: No space left on device." in done.stderr
    assert _left(folder) == []

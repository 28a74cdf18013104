"""`tamiz study --config study.toml`: options of a study in a file."""

import contextlib
import json
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from tamiz.cli import main
from tamiz.cli.config import _convert_value, _option_name
from tamiz.cli.study import study

Tamiz = Callable[..., Result]
Write = Callable[..., Path]

QUICK = 'reduce = ["pca"]\nrelevance = ["variance"]\nassess = false\n'


@pytest.fixture
def config(write: Write, iris: Path) -> Callable[..., Path]:
    """Write a config file of a study of the flowers."""

    def write_config(text: str, name: str = "study.toml") -> Path:
        return write(f"table = '{iris}'\n{text}", name)

    return write_config


def test_a_config_file_alone_carries_a_study(tamiz: Tamiz, config: Callable[..., Path], folder: Path) -> None:
    done = tamiz("study", "--config", config(f'target = "species"\nn-features = 3\n{QUICK}'), "--json", "r.json")
    assert done.exit_code == 0, done.stderr
    assert done.stdout == "iris-report.html\n"
    numbers = json.loads((folder / "r.json").read_text())
    assert len(numbers["subset"]["columns"]) == 3
    assert [criterion["id"] for criterion in numbers["ranking"]["criteria"]] == ["variance"]


def test_options_on_the_command_line_override_the_file(tamiz: Tamiz, config: Callable[..., Path]) -> None:
    path = config(f'target = "species"\nn-features = 3\nseed = 5\n{QUICK}')
    done = tamiz("study", "--config", path, "-k", "1", "-r", "entropy", "-r", "gain-ratio", "--json", "-")
    numbers = json.loads(done.stdout)
    assert len(numbers["subset"]["columns"]) == 1
    assert [criterion["id"] for criterion in numbers["ranking"]["criteria"]] == ["entropy", "gain_ratio"]
    assert numbers["seed"] == 5


def test_another_table_can_be_named_on_the_command_line(
    tamiz: Tamiz, config: Callable[..., Path], write: Write
) -> None:
    other = write("a,b\n" + "".join(f"{i % 3},{i % 4}\n" for i in range(20)), "other.csv")
    assert tamiz("study", other, "--config", config(QUICK)).stdout == "other-report.html\n"


def test_files_are_named_from_the_folder_of_the_config_file(tamiz: Tamiz, folder: Path) -> None:
    (folder / "deep").mkdir()
    rows = "".join(f"{i % 3},{i % 4}\n" for i in range(20))
    (folder / "deep" / "t.csv").write_text(f"a,b\n{rows}")
    (folder / "deep" / "study.toml").write_text(f'table = "t.csv"\noutput = "r.html"\njson = "r.json"\n{QUICK}')
    done = tamiz("study", "--config", "deep/study.toml")
    assert done.exit_code == 0, done.stderr
    assert done.stdout == "deep/r.html\n"
    assert (folder / "deep" / "r.json").exists()


def test_standard_output_is_no_file_of_a_folder(tamiz: Tamiz, folder: Path, config: Callable[..., Path]) -> None:
    done = tamiz("study", "--config", config(f'json = "-"\n{QUICK}'))
    assert json.loads(done.stdout)["title"] == "iris.csv"


def test_kinds_lists_and_groups_are_as_toml_has_them(tamiz: Tamiz, folder: Path, write: Write) -> None:
    rows = "".join(f"{i % 5},{i % 3},{i * 7 % 11},{i % 4},{'ab'[i % 2]}\n" for i in range(60))
    write(f'zip,"a, b","say ""x""",d=e,y\n{rows}')
    text = (
        f'{QUICK}table = "data.csv"\ntarget = "y"\nseed = 3\nsearch = "forward"\n'
        'column-group = [["a, b", "say \\"x\\""]]\nfixed = ["zip"]\n'
        '[kinds]\nzip = "categorical"\n"d=e" = "id"\n'
    )
    done = tamiz("study", "--config", write(text, "study.toml"), "--json", "r.json")
    assert done.exit_code == 0, done.stderr
    numbers = json.loads((folder / "r.json").read_text())
    assert {column["name"]: column["kind"] for column in numbers["table"]["columns"]} == {
        "zip": "categorical", "a, b": "numeric", 'say "x"': "numeric", "d=e": "id",
    }  # fmt: skip
    reasons = {reason["name"]: reason for reason in numbers["subset"]["reasons"]}
    assert reasons["a, b"]["group"] == ['say "x"']
    assert reasons["zip"]["role"] == "fixed"
    assert numbers["seed"] == 3


def test_names_that_are_numbers_are_taken_as_they_are_written(tamiz: Tamiz, write: Write) -> None:
    write('"a","b","2"\n' + "".join(f"{i % 5},x{i % 3},{'ab'[i % 2]}\n" for i in range(20)))
    done = tamiz("study", "--config", write(f'table = "data.csv"\ntarget = 2\n{QUICK}', "study.toml"), "--json", "-")
    assert json.loads(done.stdout)["table"]["target"] == "2"


def test_a_byte_order_mark_is_passed_over(tamiz: Tamiz, config: Callable[..., Path], iris: Path, write: Write) -> None:
    path = write(f"\ufefftable = '{iris}'\r\n{QUICK}", "study.toml")
    assert tamiz("study", "--config", path, "-q").exit_code == 0


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('serach = "beam"', "study.toml, line 3, serach: there is no such key (did you mean 'search'?)."),
        ("n_features = 3", "study.toml, line 3, n_features: there is no such key (did you mean 'n-features'?)."),
        ("zzzzzz = 1", "study.toml, line 3, zzzzzz: there is no such key; there are table, target, kinds, weight,"),
        ('config = "a.toml"', "line 3, config: there is no such key"),
        ('seed = "seven"', "study.toml, line 3, seed: 'seven' is not a valid integer"),
        ("seed = 1.5", "study.toml, line 3, seed: '1.5' is not a valid integer"),
        ("seed = -1", "study.toml, line 3, seed: -1 is not in the range x>=0."),
        ("seed = true", "study.toml, line 3, seed: it must be text or a number, got True."),
        (
            "target = 1979-05-27",
            "study.toml, line 3, target: it must be text or a number, got datetime.date(1979, 5, 27).",
        ),
        ('target = ["a", "b"]', "study.toml, line 3, target: it must be text or a number, got ['a', 'b']."),
        ('relevance = "variance"', "study.toml, line 3, relevance: it must be a list, got 'variance'."),
        (
            'relevance = ["varance"]',
            "study.toml, line 3, relevance: 'varance' is no relevance (did you mean 'variance'?)",
        ),
        ('kinds = ["a"]', "study.toml, line 3, kinds: 'a' is not of the form column=kind"),
        ('kinds = "a"', "study.toml, line 3, kinds: it must be a table of names and values, got 'a'."),
        (
            'kinds = {a = "nmeric"}',
            "line 3, kinds: 'a=nmeric' is not of the form column=kind (did you mean 'numeric'?)",
        ),
        ('kinds.a = "nmeric"', "study.toml, line 3, kinds: 'a=nmeric'"),
        ('[kinds]\na = "nmeric"', "study.toml, line 3, kinds: 'a=nmeric'"),
        ('assess = "yes"', "study.toml, line 3, assess: it must be true or false, got 'yes'."),
        ('search = "bset-first"', "study.toml, line 3, search: 'bset-first' is no search (did you mean 'best-first'?)"),
        ('n-features = "8-3"', "line 3, n-features: '8-3' is not a number of columns such as 3, a share"),
        ('column-group = ["a"]', "study.toml, line 3, column-group: 'a' is not a column group"),
        ("fixed = [[1]]", "study.toml, line 3, fixed: it must be text or a number, got [1]."),
        ('graph = "knm:3"', "study.toml, line 3, graph: 'knm' is no graph (did you mean 'knn'?)"),
        ("search = ", "study.toml is not TOML: invalid value (at line 3, column 10)."),
        ("seed = 1\nseed = 2", "study.toml is not TOML: cannot overwrite a value (at line 4, column 9)."),
    ],
)
def test_a_wrong_entry_is_an_error_of_one_sentence_with_its_line(
    tamiz: Tamiz, config: Callable[..., Path], line: str, told: str
) -> None:
    config(f"# A study.\n{line}\n")
    done = tamiz("study", "--config", "study.toml")
    assert done.exit_code == 2
    first, *rest = done.stderr.splitlines()
    assert first.startswith("tamiz: study.toml")
    assert told in first
    assert rest == ["Try 'tamiz study -h' for help."]


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (lambda path: None, "study.toml cannot be read: no such file or directory."),
        (lambda path: path.mkdir(), "study.toml cannot be read: is a directory."),
        (lambda path: path.write_bytes(b"\xff\xfe"), "study.toml is not TOML: it is not text in UTF-8."),
    ],
)
def test_a_file_that_cannot_be_read_is_reported(
    tamiz: Tamiz, folder: Path, made: Callable[[Path], None], told: str
) -> None:
    made(folder / "study.toml")
    done = tamiz("study", "--config", "study.toml")
    assert (done.exit_code, done.stderr.splitlines()[0]) == (2, f"tamiz: {told}")


def test_a_table_must_be_named_somewhere(tamiz: Tamiz, write: Write) -> None:
    done = tamiz("study", "--config", write("seed = 1\n", "study.toml"))
    assert done.exit_code == 2
    assert "Missing argument 'TABLE'" in done.stderr


def test_every_option_of_the_command_is_a_key() -> None:
    # Whatever the command takes, the file takes, without a list that has to be kept.
    context = click.Context(study)
    options = [param for param in study.params if param.expose_value]
    assert {"table", "kinds", "n-features", "output", "json", "seed", "assess", "no-points"} <= set(
        map(_option_name, options)
    )
    for param in options:
        flag = isinstance(param, click.Option) and param.is_flag
        many = isinstance(param, click.Option) and param.multiple
        # A word that an option does not take is refused by its own type.
        with contextlib.suppress(click.BadParameter):
            param.process_value(context, _convert_value(param, True if flag else ["?"] if many else "?", Path()))


def test_the_help_names_it() -> None:
    assert "--config FILE" in CliRunner().invoke(main, ["study", "--help"]).stdout

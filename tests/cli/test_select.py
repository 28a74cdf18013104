import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from click.testing import Result
from sklearn.datasets import load_iris

from tamiz import SubsetSelector
from tamiz.criteria import CFS
from tamiz.search import BestFirst

CHOSEN = ["petal_length", "petal_width"]


def test_chosen_columns_are_printed_one_a_line(tamiz: Callable[..., Result], iris: Path) -> None:
    done = tamiz("select", iris, "--target", "species")
    assert done.exit_code == 0
    assert done.stdout.splitlines() == CHOSEN
    assert "CFS" in done.stderr


def test_json_holds_columns_merit_evaluations_and_why_it_stopped(tamiz: Callable[..., Result], iris: Path) -> None:
    selector = SubsetSelector(CFS(), BestFirst()).fit(*load_iris(return_X_y=True))
    assert json.loads(tamiz("select", iris, "-t", "species", "--json", "-q").stdout) == {
        "columns": CHOSEN,
        "merit": selector.merit_,
        "n_evaluations": selector.n_evaluations_,
        "stopped": selector.archive_.stopped,
    }


@pytest.mark.parametrize(("size", "least", "most"), [("1", 1, 1), ("3", 3, 3), ("3-4", 3, 4)])
def test_n_features_is_a_number_or_a_range(
    tamiz: Callable[..., Result], iris: Path, size: str, least: int, most: int
) -> None:
    chosen = tamiz("select", iris, "-t", "species", "--n-features", size, "--search", "forward").stdout.splitlines()
    assert least <= len(chosen) <= most


@pytest.mark.parametrize("size", ["0", "x", "4-3", "-1", "2-", "1.5"])
def test_a_size_that_is_none_is_a_wrong_command_line(tamiz: Callable[..., Result], iris: Path, size: str) -> None:
    done = tamiz("select", iris, "-t", "species", f"--n-features={size}")
    assert done.exit_code == 2
    assert "neither a number of columns such as 3 nor a range such as 3-8." in done.stderr


def test_max_evaluations_stops_the_search(tamiz: Callable[..., Result], iris: Path) -> None:
    shown = json.loads(tamiz("select", iris, "-t", "species", "--max-evaluations", 3, "--json").stdout)
    assert shown["n_evaluations"] == 3


def test_max_seconds_stops_the_search(tamiz: Callable[..., Result], iris: Path) -> None:
    arguments = ["select", iris, "-t", "species", "--search", "backward", "--json", "--max-evaluations", 100]
    shown = json.loads(tamiz(*arguments, "--max-seconds", 1e-9).stdout)
    assert shown["stopped"] == "1e-09 seconds have passed"


def test_a_journal_is_written_and_gone_on_from(tamiz: Callable[..., Result], folder: Path, iris: Path) -> None:
    arguments = ["select", iris, "-t", "species", "--journal", "search.journal", "--json"]
    first = tamiz(*arguments, "--max-evaluations", 4)
    cut = (folder / "search.journal").read_bytes()
    whole = tamiz(*arguments)
    assert json.loads(first.stdout)["n_evaluations"] == 4
    assert (folder / "search.journal").read_bytes().startswith(cut)
    assert whole.stdout == tamiz("select", iris, "-t", "species", "--json").stdout


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("s.csv", pd.read_csv),
        ("s.tsv", lambda path: pd.read_csv(path, sep="\t")),
        ("s.parquet", pd.read_parquet),
        ("s.feather", pd.read_feather),
    ],
)
def test_output_holds_every_row_with_the_chosen_columns_and_the_target(
    tamiz: Callable[..., Result], folder: Path, iris: Path, name: str, read: Callable[[Path], pd.DataFrame]
) -> None:
    done = tamiz("select", iris, "-t", "species", "-o", name)
    assert done.exit_code == 0, done.stderr
    pd.testing.assert_frame_equal(read(folder / name), pd.read_csv(iris)[[*CHOSEN, "species"]], check_dtype=False)
    assert [path.name for path in folder.iterdir()] == [name]


def test_output_keeps_rows_without_a_target_and_the_weights(
    tamiz: Callable[..., Result], folder: Path, write: Callable[..., Path]
) -> None:
    rows = "".join(f"{i % 2},{i % 7},{1 + i % 3},{'ab'[i % 2] if i else ''}\n" for i in range(30))
    done = tamiz("select", write(f"x,z,w,y\n{rows}"), "-t", "y", "--weight", "w", "-o", "s.csv")
    written = pd.read_csv(folder / "s.csv")
    assert done.stdout.splitlines() == ["x"]
    assert "note: 1 row without a target left out." in done.stderr
    assert list(written.columns) == ["x", "w", "y"]
    assert len(written) == 30
    assert written["y"].isna().tolist() == [True] + [False] * 29


def test_categories_of_an_arff_file_are_written_as_text(
    tamiz: Callable[..., Result], folder: Path, write: Callable[..., Path]
) -> None:
    rows = "".join(f"{'uv'[i % 2]},{i},{'ab'[i % 2]}\n" for i in range(12))
    text = f"@relation r\n@attribute x {{u,v}}\n@attribute n numeric\n@attribute y {{a,b}}\n@data\n{rows}"
    done = tamiz("select", write(text, "r.arff"), "-t", "y", "-o", "s.csv")
    assert done.exit_code == 0, done.stderr
    assert pd.read_csv(folder / "s.csv").iloc[:2].to_numpy().tolist() == [["u", "a"], ["v", "b"]]


def test_an_ending_that_says_no_format_is_refused_before_the_work(
    tamiz: Callable[..., Result], folder: Path, iris: Path
) -> None:
    done = tamiz("select", iris, "-t", "species", "-o", "s.xlsx")
    assert done.exit_code == 2
    assert "s.xlsx: a table is written as csv, tsv" in done.stderr
    assert list(folder.iterdir()) == []


def test_without_a_target_the_option_is_named(tamiz: Callable[..., Result], iris: Path) -> None:
    done = tamiz("select", iris)
    assert done.exit_code == 2
    assert done.stderr.startswith("tamiz: CFS needs a target: name its column with --target.")


def test_no_column_worth_keeping_is_noted_once(tamiz: Callable[..., Result], write: Callable[..., Path]) -> None:
    rows = "".join(f"{i // 2 % 2},{'ab'[i % 2]}\n" for i in range(40))
    done = tamiz("select", write(f"x,y\n{rows}"), "-t", "y")
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr.count("note: CFS finds no column worth keeping") == 1

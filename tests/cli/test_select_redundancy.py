"""`tamiz select --method redundancy`: the columns that kept ones determine, on awkward tables."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import Result

from tamiz import RedundancyFilter, open_table
from tamiz.cli.select import MEASURES
from tamiz.selection.redundancy_filter import _MEASURES
from tamiz.table import split_dates

REDUNDANCY = ("--method", "redundancy")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """120 rows: numbers and their sum, a copy, a category under two names, a date, text, a constant, missing values, a class."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(120, 2)).round(6), columns=["a", "número b"])
    frame["total"] = frame["a"] + frame["número b"]
    frame["copy, of a"] = frame["a"]
    frame["noisy"] = frame["número b"] + 0.1 * rng.normal(size=120)
    frame["level"] = rng.choice(["u", "v", "w"], 120)
    frame["level name"] = frame["level"].map({"u": "north", "v": "south", "w": "west"})
    frame["when"] = pd.date_range("2021-01-01", periods=120, freq="36h").strftime("%Y-%m-%d")
    frame["note"] = [f"The remark number {k} has a good many words of its own" for k in range(120)]
    frame["constant"] = 7
    frame["incomplete"] = np.where(rng.random(120) < 0.2, np.nan, rng.normal(size=120))
    frame["empty"] = np.nan
    frame["class"] = np.where(frame["noisy"] > 0, "yes", "no")
    path = tmp_path_factory.mktemp("tables") / "table.csv"
    frame.to_csv(path, index=False)
    return path


def sentences(done: Result) -> list[str]:
    """Return the lines on stderr that name dropped columns."""
    assert done.exit_code == 0, done.stderr
    return [line for line in done.stderr.splitlines() if line.startswith("Dropped: ")]


@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
@pytest.mark.parametrize("measure", _MEASURES)
def test_numbers_are_those_of_the_selector(tamiz: Callable[..., Result], table: Path, measure: str) -> None:
    fitted = RedundancyFilter(measure, threshold=0.9).fit(split_dates(open_table(table, "class")))
    options = ["--measure", measure.replace("_", "-"), "--threshold", 0.9]
    found = json.loads(tamiz("select", table, "-t", "class", *REDUNDANCY, *options, "--json").stdout)
    assert (found["method"], found["measure"], found["threshold"], found["relevance"]) == (
        "redundancy",
        measure,
        0.9,
        None,
    )
    assert found["columns"] == fitted.get_feature_names_out().tolist()
    records = found["all_columns"]
    assert [one["column"] for one in records if one["kept"]] == found["columns"]
    dropped = {one["column"]: tuple(one["determined_by"]) for one in records if not one["kept"]}
    assert dropped == fitted.determined_by_
    assert len(dropped) >= 3
    assert [one["association"] for one in records] == fitted.associations_[fitted.schema_.used].tolist()


def test_measures_are_those_of_the_selector() -> None:
    assert [name.replace("-", "_") for name in MEASURES] == list(_MEASURES)


def test_each_dropped_column_is_named_with_the_columns_that_determine_it(
    tamiz: Callable[..., Result], table: Path
) -> None:
    done = tamiz("select", table, *REDUNDANCY, "--measure", "linear")
    dropped = sentences(done)
    assert dropped[0] == "Dropped: total (determined by a, número b, R2 1)."
    assert dropped[1] == "Dropped: copy, of a (determined by a, R2 1)."
    assert dropped[2].startswith("Dropped: noisy (determined by número b, R2 0.99")
    assert dropped[3:] == [
        "Dropped: level name (determined by level, symmetric uncertainty 1).",
        "Dropped: constant (constant).",
    ]
    assert "Redundancy filter with measure linear, threshold 0.95: " in done.stderr
    kept = ["a", "número b", "level", "incomplete", "class", "when (month)", "when (weekday)"]
    assert done.stdout.splitlines() == kept
    # A sum is not correlated with one of its parts.
    by_pearson = sentences(tamiz("select", table, *REDUNDANCY, "--measure", "pearson"))
    assert by_pearson[0] == "Dropped: copy, of a (determined by a, correlation 1)."
    assert by_pearson[1].startswith("Dropped: noisy (determined by número b, correlation 0.99")
    assert by_pearson[2:] == dropped[3:]


def test_the_kept_columns_are_written_saved_and_applied(
    tamiz: Callable[..., Result], table: Path, folder: Path
) -> None:
    done = tamiz("select", table, "-t", "class", *REDUNDANCY, "-o", "kept.csv", "--model", "m.tamiz", "-q")
    names = done.stdout.splitlines()
    assert (names[:3], done.stderr) == (["a", "total", "noisy"], "")
    written = pd.read_csv(folder / "kept.csv")
    assert set(written.columns) == {*names, "class"}
    applied = tamiz("apply", "m.tamiz", table, "-o", "applied.csv")
    assert applied.exit_code == 0, applied.stderr
    pd.testing.assert_frame_equal(pd.read_csv(folder / "applied.csv"), written[[*names, "class"]])
    # Nothing determines the columns of the written table.
    again = tamiz("select", "kept.csv", "-t", "class", *REDUNDANCY)
    assert sorted(again.stdout.splitlines()) == sorted(names)
    assert sentences(again) == []


def test_the_more_relevant_column_is_kept(tamiz: Callable[..., Result], table: Path) -> None:
    done = tamiz("select", table, "-t", "class", *REDUNDANCY, "-r", "information-gain", "--json")
    found = json.loads(done.stdout)
    assert found["relevance"] == "Information gain"
    determined = {one["column"]: one["determined_by"] for one in found["all_columns"] if not one["kept"]}
    assert determined["número b"] == ["noisy"]


@pytest.mark.parametrize(
    ("text", "kept", "dropped"),
    [
        ("x\n1\n2\n3\n5\n", ["x"], []),
        ("x,y\n1,7\n2,7\n3,7\n5,7\n", ["x"], ["Dropped: y (constant)."]),
        # One value and missing ones are not constant.
        ("x,y\n1,7\n2,\n3,7\n5,\n", ["x", "y"], []),
        ("x,y\n7,u\n7,u\n7,u\n", [], ["Dropped: x (constant).", "Dropped: y (constant)."]),
        ("x,x.1,y\n1,1,a\n2,2,b\n2,2,b\n1,1,a\n", ["x", "y"], ["Dropped: x.1 ("]),
    ],
    ids=["one column", "a constant", "one value", "constants only", "copies"],
)
def test_awkward_tables(
    tamiz: Callable[..., Result], write: Callable[..., Path], text: str, kept: list[str], dropped: list[str]
) -> None:
    done = tamiz("select", write(text), *REDUNDANCY)
    assert done.stdout.splitlines() == kept
    found = sentences(done)
    assert len(found) == len(dropped)
    assert all(line.startswith(beginning) for line, beginning in zip(found, dropped, strict=True)), found


def test_nothing_is_written_where_all_columns_are_constant(
    tamiz: Callable[..., Result], write: Callable[..., Path], folder: Path
) -> None:
    done = tamiz("select", write("x,y\n7,u\n7,u\n7,u\n"), *REDUNDANCY, "-o", "kept.csv")
    assert done.exit_code == 0
    assert "No column is selected and the table has no target, so kept.csv is not written." in done.stderr
    assert not (folder / "kept.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([*REDUNDANCY, "-r", "fisher-score"], "Fisher score needs a target: name its column with --target."),
        ([*REDUNDANCY, "--missing", "category"], "--missing category applies to the relevance of --method redundancy"),
        ([*REDUNDANCY, "--assess"], "--assess needs a target"),
        ([*REDUNDANCY, "-k", 3], "--n-features does not apply to --method redundancy"),
        ([*REDUNDANCY, "--threshold", 0], "is not in the range 0<x<=1"),
        (
            [*REDUNDANCY, "--measure", "spearman"],
            "'spearman' is not one of 'kinds', 'pearson', 'linear', 'symmetric-uncertainty'.",
        ),
        (["--method", "stability", "--measure", "linear"], "leave it out, or use --method redundancy."),
        (
            ["--threshold", 0.5],
            "--threshold does not apply to --method search: leave it out, or use --method stability or redundancy.",
        ),
    ],
)
def test_options_that_do_not_apply_are_refused(
    tamiz: Callable[..., Result], table: Path, arguments: list[object], sentence: str
) -> None:
    done = tamiz("select", table, *arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert sentence in done.stderr


@pytest.mark.slow
def test_an_assessment_selects_in_every_fold(tamiz: Callable[..., Result], table: Path) -> None:
    done = tamiz("select", table, "-t", "class", *REDUNDANCY, "--assess", "--semi-synthetic", 2, "--json")
    assert done.exit_code == 0, done.stderr
    assessment = json.loads(done.stdout)["assessment"]
    assert assessment["selector"] == "RedundancyFilter"
    assert assessment["merit"] is None
    assert assessment["null"]["p_value"] < 0.05


def test_two_rows_determine_every_number_and_the_command_warns_of_it(
    tamiz: Callable[..., Result], tmp_path: Path
) -> None:
    (tmp_path / "t.csv").write_text("a,b,c\n1.5,2,7\n2.5,9,3\n")
    done = tamiz("select", tmp_path / "t.csv", *REDUNDANCY, "--measure", "pearson")
    assert done.exit_code == 0
    assert done.stdout.split() == ["a"]
    (warning,) = [line for line in done.stderr.splitlines() if "A column of noise" in line]
    assert "because there are 2 rows; 2 dropped columns are determined by one kept column. Use more rows." in warning


def test_a_name_with_a_comma_is_quoted_among_those_that_determine_a_column(
    tamiz: Callable[..., Result], tmp_path: Path
) -> None:
    a, b = np.random.default_rng(0).normal(size=(2, 50))
    pd.DataFrame({"a, b": a, "c": b, "sum": a + b}).to_csv(tmp_path / "t.csv", index=False)
    (dropped,) = sentences(tamiz("select", tmp_path / "t.csv", *REDUNDANCY, "--measure", "linear"))
    assert dropped == "Dropped: sum (determined by 'a, b', c, R2 1)."

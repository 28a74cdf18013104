import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import Result
from sklearn.datasets import load_iris

from tamiz import SubsetSelector, open_table, selection_report
from tamiz.criteria import CFS
from tamiz.search import Beam, BestFirst, Evaluations, Exhaustive, RandomSubsets
from tamiz.search.base import Search

CHOSEN = ["petal_length", "petal_width"]


def test_chosen_columns_are_printed_one_a_line(tamiz: Callable[..., Result], iris: Path) -> None:
    done = tamiz("select", iris, "--target", "species")
    assert done.exit_code == 0
    assert done.stdout.splitlines() == CHOSEN
    assert "CFS" in done.stderr


def test_json_contains_columns_merit_evaluations_and_why_it_stopped(tamiz: Callable[..., Result], iris: Path) -> None:
    selector = SubsetSelector(CFS(), BestFirst()).fit(*load_iris(return_X_y=True))
    assert json.loads(tamiz("select", iris, "-t", "species", "--json", "-q").stdout) == {
        "method": "search",
        "columns": CHOSEN,
        "merit": selector.merit_,
        "merit_name": "CFS",
        "n_evaluations": selector.n_evaluations_,
        "stopped": selector.archive_.stop_reason,
    }


@pytest.mark.parametrize(("size", "least", "most"), [("1", 1, 1), ("3", 3, 3), ("3-4", 3, 4)])
def test_n_features_is_a_number_or_a_range(
    tamiz: Callable[..., Result], iris: Path, size: str, least: int, most: int
) -> None:
    chosen = tamiz("select", iris, "-t", "species", "--n-features", size, "--search", "forward").stdout.splitlines()
    assert least <= len(chosen) <= most


@pytest.mark.parametrize("size", ["0", "x", "4-3", "-1", "2-", "1.5"])
def test_an_invalid_size_is_a_wrong_command_line(tamiz: Callable[..., Result], iris: Path, size: str) -> None:
    done = tamiz("select", iris, "-t", "species", f"--n-features={size}")
    assert done.exit_code == 2
    assert "not a number of columns such as 3, a share such as 0.5 or a range such as 3-8." in done.stderr


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
def test_output_contains_every_row_with_the_chosen_columns_and_the_target(
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
    assert "note TZ206: 1 row without a target was left out." in done.stderr
    assert list(written.columns) == ["x", "w", "y"]
    assert len(written) == 30
    assert written["y"].isna().tolist() == [True] + [False] * 29


@pytest.mark.parametrize(
    ("options", "note"),
    [
        ([], "30 rows count as 5,970. If they correct a sampling design, pass"),
        (["--weights", "frequency"], "The weights are numbers of equal rows: 30 rows count as 5,970."),
        (["--weights", "sampling"], "The weights are sampling weights: 30 rows have an effective sample size of"),
    ],
)
def test_a_note_states_what_the_weights_count(
    tamiz: Callable[..., Result], write: Callable[..., Path], options: list[str], note: str
) -> None:
    rows = "".join(f"{i % 2},{i % 7},{100 + 99 * (i % 3)},{'ab'[i % 2]}\n" for i in range(30))
    done = tamiz("select", write(f"x,z,w,y\n{rows}"), "-t", "y", "--weight", "w", *options)
    assert note in done.stderr
    assert done.stdout.splitlines() == ["x"]


def test_categories_of_an_arff_file_are_written_as_text(
    tamiz: Callable[..., Result], folder: Path, write: Callable[..., Path]
) -> None:
    rows = "".join(f"{'uv'[i % 2]},{i},{'ab'[i % 2]}\n" for i in range(12))
    text = f"@relation r\n@attribute x {{u,v}}\n@attribute n numeric\n@attribute y {{a,b}}\n@data\n{rows}"
    done = tamiz("select", write(text, "r.arff"), "-t", "y", "-o", "s.csv")
    assert done.exit_code == 0, done.stderr
    assert pd.read_csv(folder / "s.csv").iloc[:2].to_numpy().tolist() == [["u", "a"], ["v", "b"]]


def test_an_unknown_file_extension_is_refused_before_the_work(
    tamiz: Callable[..., Result], folder: Path, iris: Path
) -> None:
    done = tamiz("select", iris, "-t", "species", "-o", "s.xlsx")
    assert done.exit_code == 2
    assert "s.xlsx: the extension of a table must be one of csv, tsv" in done.stderr
    assert list(folder.iterdir()) == []


def test_without_a_target_the_option_is_named(tamiz: Callable[..., Result], iris: Path) -> None:
    done = tamiz("select", iris)
    assert done.exit_code == 2
    assert done.stderr.startswith("tamiz: CFS needs a target: name its column with --target.")


def test_no_column_worth_keeping_is_noted_once(tamiz: Callable[..., Result], write: Callable[..., Path]) -> None:
    rows = "".join(f"{i // 2 % 2},{'ab'[i % 2]}\n" for i in range(40))
    done = tamiz("select", write(f"x,y\n{rows}"), "-t", "y")
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr.count("to check TZ305: CFS finds no column worth keeping") == 1


def shown(done: Result) -> dict[str, Any]:
    assert done.exit_code == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    ("name", "search"),
    [
        ("beam:2", Beam(2)),
        ("best-first:backward", BestFirst(direction="backward")),
        ("Random_Subsets:7", RandomSubsets(7)),
        ("random:7", RandomSubsets(7)),
    ],
)
def test_a_search_is_named_with_what_it_takes(
    tamiz: Callable[..., Result], iris: Path, name: str, search: Search
) -> None:
    selector = SubsetSelector(CFS(), search, random_state=3).fit(*load_iris(return_X_y=True))
    found = shown(tamiz("select", iris, "-t", "species", "--search", name, "--seed", 3, "--json"))
    assert (found["merit"], found["n_evaluations"]) == (selector.merit_, selector.n_evaluations_)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--search", "beem"], "'beem' is no search (did you mean 'beam'?); there are: forward, "),
        (["--search", "beam:0"], "--search beam: width must be a whole number of at least 1, got '0'."),
        (["--search", "beam:wide"], "--search beam: width must be a whole number of at least 1, got 'wide'."),
        (["--search", "best-first:backwards"], "got 'backwards' (did you mean 'backward'?)."),
        (["--search", "forward:3"], "--search forward: Forward accepts nothing after a colon, got '3'."),
        (
            ["--column-group", "petal_length"],
            "'petal_length' is not a column group: name two or more columns, such as a,b.",
        ),
        (["--column-group", "a,,b"], "'a,,b' is not a column group"),
        (["--patience", "0"], "0 is not in the range x>=1"),
    ],
)
def test_an_invalid_search_is_a_wrong_command_line(
    tamiz: Callable[..., Result], iris: Path, arguments: list[str], sentence: str
) -> None:
    done = tamiz("select", iris, "-t", "species", *arguments)
    assert done.exit_code == 2
    assert sentence in done.stderr


def test_columns_are_fixed_excluded_started_with_and_moved_together(tamiz: Callable[..., Result], iris: Path) -> None:
    command = ["select", iris, "-t", "species", "-q"]
    assert "sepal_width" in tamiz(*command, "--fixed", "sepal_width").stdout.split()
    without = tamiz(*command, "--exclude", "petal_width", "--exclude", "sepal_length").stdout.split()
    assert without == ["petal_length"]
    joined = tamiz(*command, "--column-group", "petal_length, sepal_width").stdout.split()
    assert joined.count("petal_length") == joined.count("sepal_width")
    begun = tamiz(*command, "--start", "sepal_width", "--start", "sepal_length", "--max-evaluations", 1).stdout.split()
    assert begun == ["sepal_length", "sepal_width"]
    done = tamiz(*command, "--fixed", "petals")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "fixed contains 'petals', which is not a column" in done.stderr


@pytest.mark.parametrize(
    ("rule", "stopped"),
    [
        (["--target-merit", "0.5"], "a merit of 0.5 is reached"),
        (["--patience", "1"], "1 step without a better set"),
        (["--min-gain", "10"], "a step gained less than 10"),
        (["--min-gain", "10", "--max-evaluations", "1"], "1 evaluation made"),
    ],
)
def test_a_search_is_stopped_by_the_first_rule_that_is_met(
    tamiz: Callable[..., Result], iris: Path, rule: list[str], stopped: str
) -> None:
    assert shown(tamiz("select", iris, "-t", "species", "--json", *rule))["stopped"] == stopped


def test_a_dry_run_prints_the_cost_of_the_search_and_writes_nothing(
    tamiz: Callable[..., Result], folder: Path, iris: Path
) -> None:
    command = [
        "select",
        iris,
        "-t",
        "species",
        "--search",
        "beam:3",
        "--journal",
        "search.journal",
        "-o",
        "s.csv",
        "--dry-run",
    ]
    done = tamiz(*command)
    assert (done.exit_code, done.stdout.count("\n")) == (0, 1)
    assert done.stdout.startswith("Plan: at most ")
    plan = shown(tamiz(*command, "--json", "--max-evaluations", 5))
    assert plan["max_evaluations"] == 5
    assert list(folder.iterdir()) == []


@pytest.mark.slow
def test_the_nested_cv_scores_are_those_of_the_selection_report(tamiz: Callable[..., Result], iris: Path) -> None:
    rule = ["select", iris, "-t", "species", "--max-evaluations", 6, "--assess"]
    selector = SubsetSelector(CFS(), BestFirst(), stop=Evaluations(6), random_state=0)
    report = selection_report(selector, open_table(iris, "species"))
    assert shown(tamiz(*rule, "--json", "-q"))["assessment"] == json.loads(json.dumps(report.to_dict()))


@pytest.mark.slow
def test_error_rates_are_part_of_an_assessment(tamiz: Callable[..., Result], iris: Path) -> None:
    rule = ["select", iris, "-t", "species", "--max-evaluations", 6, "--semi-synthetic"]
    printed = shown(tamiz(*rule, 2, "--assess", "--json", "-q"))
    found = printed["assessment"]["error_rates"]
    assert (found["n_draws"], found["n_true"], found["selector"]) == (2, len(printed["columns"]), "CFS by BestFirst")
    assert "semi-synthetic targets of 150 rows." in tamiz(*rule, 2, "--assess").stderr
    for options, message in (
        ((2,), "--semi-synthetic is part of an assessment: add --assess."),
        ((1, "--assess"), "at least 2 targets are needed, or 0 for none."),
    ):
        done = tamiz(*rule, *options)
        assert done.exit_code == 2
        assert message in " ".join(done.stderr.split())


@pytest.mark.slow
def test_the_score_of_an_assessment_need_not_be_that_of_the_merit(tamiz: Callable[..., Result], iris: Path) -> None:
    rule = ["select", iris, "-t", "species", "--max-evaluations", 6, "--assess", "--json", "-q"]
    usual = shown(tamiz(*rule))
    asked = shown(tamiz(*rule, "--scoring", "f1_macro"))
    assert usual["merit_name"] == asked["merit_name"] == "CFS"
    assert usual["columns"] == asked["columns"]
    assert usual["assessment"]["scoring"] == "roc_auc_ovr_weighted"
    assert (asked["assessment"]["scoring"], asked["assessment"]["deciding_score"]) == ("f1_macro", "f1_macro")


def test_an_interrupted_assessment_leaves_the_columns_chosen(
    tamiz: Callable[..., Result], iris: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tamiz.assessment.nested_cv.selection_report", interrupt)
    done = tamiz("select", iris, "-t", "species", "--assess")
    assert (done.exit_code, done.stdout.splitlines()) == (130, CHOSEN)
    assert "note: Interrupted after the columns were selected and before their score was assessed." in done.stderr


def test_groups_and_times_are_no_features_and_reach_the_folds(
    tamiz: Callable[..., Result], write: Callable[..., Path]
) -> None:
    rows = "".join(f"{i % 2},{i % 7},p{i // 4},{1990 + i},{'ab'[i % 2]}\n" for i in range(60))
    table = write(f"x,z,patient,year,y\n{rows}")
    found = shown(tamiz("select", table, "-t", "y", "--group", "patient", "--assess", "--json", "--exclude", "year"))
    assert (found["columns"], found["assessment"]["groups"]) == (["x"], "patient")
    assert "whole groups" in found["assessment"]["folds_description"]
    fixed = tamiz("select", table, "-t", "y", "--time", "year", "--fixed", "year")
    assert "fixed contains 'year', which is not a column" in fixed.stderr
    done = tamiz("select", table, "-t", "y", "--group", "patients")
    assert done.exit_code == 1
    assert "patients" in done.stderr


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("no journal at all\n", "is the journal of another search, table or merit"),
        (None, "cannot be written to; write search.journal elsewhere."),
    ],
)
def test_a_journal_that_cannot_be_used_is_reported_in_a_sentence(
    tamiz: Callable[..., Result],
    folder: Path,
    iris: Path,
    text: str | None,
    sentence: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if text is None:
        # Root may write anywhere.
        monkeypatch.setattr("os.access", lambda *_: False)
    else:
        (folder / "search.journal").write_text(text)
    done = tamiz("select", iris, "-t", "species", "--journal", "search.journal")
    assert (done.exit_code, done.stdout) == (1, "")
    assert sentence in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_journal_of_other_data_and_a_damaged_one_are_refused(
    tamiz: Callable[..., Result], folder: Path, iris: Path
) -> None:
    command = ["select", iris, "-t", "species", "--journal", "search.journal"]
    assert tamiz(*command).exit_code == 0
    done = tamiz(*command, "--missing", "category")
    assert done.exit_code == 1
    assert "it differs in merit" in done.stderr
    path = folder / "search.journal"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:3], "17 nonsense", *lines[3:]]) + "\n")
    done = tamiz(*command)
    assert done.exit_code == 1
    assert re.search(r"search\.journal, line 4: the checksum of '17 nonsense' differs", done.stderr)


def test_days_are_written_as_days_and_moments_no_longer_than_they_are(
    tamiz: Callable[..., Result], folder: Path, write: Callable[..., Path]
) -> None:
    days = pd.date_range("2020-01-01", periods=20)
    rows = "".join(f"{day:%Y-%m-%d},{day:%Y-%m-%d} 03:0{i % 7}:00,{'ab'[i < 9]}\n" for i, day in enumerate(days))
    whole = ["--kinds", "day=numeric", "--kinds", "at=numeric", "--fixed", "day", "--fixed", "at"]
    done = tamiz("select", write(f"day,at,y\n{rows}"), "-t", "y", *whole, "-o", "s.csv", "-q")
    assert done.exit_code == 0, done.stderr
    assert (folder / "s.csv").read_text().splitlines()[1] == '2020-01-01,2020-01-01 03:00:00,"b"'


def busy_hours() -> pd.DataFrame:
    """A moment and noise; the target is decided by the hour. The moments are sorted."""
    rng = np.random.default_rng(0)
    when = pd.Timestamp("2023-01-05") + pd.to_timedelta(np.sort(rng.integers(0, 24 * 700, 300)), unit="h")
    frame = pd.DataFrame({"when": pd.Series(when), "noise": rng.normal(size=300).round(4)})
    return frame.assign(busy=np.where(frame["when"].dt.hour.between(7, 16), "yes", "no"))


def test_dates_take_part_by_their_calendar_parts_on_the_command_line(
    tamiz: Callable[..., Result], folder: Path, write: Callable[..., Path]
) -> None:
    frame = busy_hours()
    path = write(frame.to_csv(index=False))
    done = tamiz("select", path, "-t", "busy", "-o", "chosen.csv", "--model", "m.tamiz")
    assert done.stdout.split("\n")[:-1] == ["when (hour)"]
    assert "The date 'when' is replaced by its year, month, weekday and hour" in done.stderr
    assert "The rows are sorted by 'when'" in done.stderr
    written = pd.read_csv(folder / "chosen.csv")
    assert written["when (hour)"].tolist() == frame["when"].dt.hour.tolist()
    applied = tamiz("apply", "m.tamiz", write(frame.drop(columns="busy").to_csv(index=False), "new.csv"))
    assert applied.stdout.split("\n")[:-1] == ["when (hour)", *map(str, frame["when"].dt.hour)]
    ranked = tamiz("rank", path, "-t", "busy", "--top", 1)
    assert ranked.stdout.split("\n")[1].startswith("when (hour)\t")
    raw = tamiz("rank", path, "-t", "busy", "--kinds", "when=numeric", "--json")
    assert [one["column"] for one in json.loads(raw.stdout)["columns"]] == ["when", "noise"]


def test_a_patient_number_is_selected_with_a_note_and_not_with_the_correction(
    tamiz: Callable[..., Result], folder: Path
) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    useful = np.where(rng.random(300) < 0.5, y, rng.integers(0, 3, 300))
    table = pd.DataFrame(
        {"patient": rng.integers(0, 100, 300), "useful": useful, "noise": rng.integers(0, 3, 300), "y": y}
    )
    table.apply(lambda column: column.name + column.astype(str)).to_csv(folder / "table.csv", index=False)
    arguments = ["select", "table.csv", "-t", "y", "--merit", "jmi", "--search", "forward", "--n-features", 1]
    plain = tamiz(*arguments)
    note = " ".join(plain.stderr.split())
    assert note.count("JMI: the information about the target of 'patient'") == 1
    assert "or use correction='chance' (--correction chance)" in note
    assert plain.stdout.splitlines() == ["patient"]
    corrected = tamiz(*arguments, "--correction", "chance")
    assert corrected.stdout.splitlines() == ["useful"]
    assert "not above chance" not in corrected.stderr
    of_information, of_wrappers = "merits of mutual information", "--folds applies to wrappers only"
    for refused, reason in (
        ([*arguments[:4], "--merit", "cfs"], of_information),
        (arguments[:4], of_information),
        ([*arguments, "--folds", 3], of_wrappers),
    ):
        done = tamiz(*refused, "--correction", "chance")
        assert done.exit_code == 2
        assert reason in done.stderr


@pytest.mark.filterwarnings("ignore:.*1 of 4 columns is excluded")
def test_the_convention_of_cfs_is_that_of_python(tamiz: Callable[..., Result], iris: Path) -> None:
    shown = {}
    for convention in ("hall", "weka"):
        arguments = [
            "-t",
            "sepal_length",
            "--kinds",
            "species=id",
            "--convention",
            convention,
            "--search",
            "exhaustive",
        ]
        shown[convention] = json.loads(tamiz("select", iris, *arguments, "--json").stdout)
        selector = SubsetSelector(CFS(convention=convention), Exhaustive())
        selector.fit(open_table(iris, "sepal_length", kinds={"species": "id"}))
        assert shown[convention]["merit"] == selector.merit_
    assert shown["hall"]["merit"] != shown["weka"]["merit"]
    refused = tamiz("select", iris, "-t", "species", "--merit", "wrapper:knn", "--convention", "weka")
    assert refused.exit_code == 2
    assert "--convention applies to CFS only" in refused.stderr


def test_an_empty_set_of_highest_accuracy_is_explained_by_a_rare_class(
    tamiz: Callable[..., Result], folder: Path
) -> None:
    rng = np.random.default_rng(0)
    x, noise = rng.normal(size=(2, 2000))
    rare = np.where(x + 2 * noise > 4.5, "rare", "usual")
    pd.DataFrame({"x": x, "z": rng.normal(size=2000), "y": rare}).to_csv(folder / "rare.csv", index=False)
    command = ("select", "rare.csv", "-t", "y", "--merit", "wrapper:gaussian-nb")
    done = tamiz(*command)
    assert done.stdout == ""
    assert "to check TZ305: The accuracy of a constant prediction is 0.97" in done.stderr
    assert "--scoring roc_auc" in done.stderr
    done = tamiz(*command, "--scoring", "roc_auc")
    assert done.stdout == "x\n"
    assert "constant prediction" not in done.stderr

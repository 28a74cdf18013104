import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import Result


@pytest.fixture(scope="module")
def studied(tmp_path_factory: pytest.TempPathFactory, iris: Path, few_models: None) -> tuple[Path, Result]:
    """A study of the flowers: its folder, and what was said."""
    from click.testing import CliRunner

    from tamiz.cli import main

    folder = tmp_path_factory.mktemp("studied")
    done = CliRunner().invoke(
        main, ["study", str(iris), "-t", "species", "-o", f"{folder}/r.html", "--json", f"{folder}/r.json", "-v"]
    )
    return folder, done


def test_a_study_writes_the_report_and_prints_its_name_alone(studied: tuple[Path, Result]) -> None:
    folder, done = studied
    assert done.exit_code == 0, done.stderr
    assert done.stdout == f"{folder}/r.html\n"
    assert sorted(path.name for path in folder.iterdir()) == ["r.html", "r.json"]


def test_the_summary_on_stderr_names_the_recommended_columns(studied: tuple[Path, Result]) -> None:
    columns = json.loads((studied[0] / "r.json").read_text())["recommendation"]["columns"]
    assert (
        f"Recommended: Keep {len(columns)} of 4 columns: {', '.join(columns[:-1])} and {columns[-1]} ("
        in studied[1].stderr
    )
    assert "Subset: " not in studied[1].stderr


def test_without_verbose_a_study_prints_its_verdict_in_a_few_lines(
    tamiz: Callable[..., Result], write: Callable[..., Path]
) -> None:
    rows = "".join(f"{k * k % 17},{k % 5},{'ab'[k % 5 > 1]},{k}\n" for k in range(60))
    done = tamiz("study", write(f"x,z,y,row_id\n{rows}"), "-t", "y", "--keep-leaks", "--brief")
    lines = [line for line in done.stderr.splitlines() if not re.search(r": [\d,]+ of [\d,]+$", line)]
    assert len(lines) <= 18
    assert lines[0].startswith("data.csv   60 rows, 3 columns -> y (a 40%)")
    assert re.search(r"   \d+ s$", lines[0])
    assert any(line.startswith("  Keep ") for line in lines)
    # Warnings are named, with their codes; their sentences are in the report.
    assert [line for line in lines if line.startswith("  ! ") and line.endswith(")")]
    assert not [line for line in lines if re.match(r"(problem|to check|note) TZ", line)]
    assert done.stdout == "data-report.html\n"


def test_every_note_is_reported_once(tamiz: Callable[..., Result], write: Callable[..., Path]) -> None:
    rows = "".join(f"{k * k % 17},{'' if k % 9 == 0 else k % 5},{'ab'[k % 3 > 1]},{k}\n" for k in range(60))
    lines = tamiz("study", write(f"x,z,y,row_id\n{rows}"), "-t", "y").stderr.splitlines()
    notes = [line for line in lines if re.match(r"(problem|to check|note) TZ\d+: ", line)]
    assert len(notes) == len(set(notes)) >= 2
    assert not any("Warning" in line for line in lines)


@pytest.mark.slow
def test_a_report_rendered_again_is_the_same_to_the_byte(
    tamiz: Callable[..., Result], folder: Path, studied: tuple[Path, Result]
) -> None:
    done = tamiz("report", studied[0] / "r.json", "-o", "again.html")
    assert (done.exit_code, done.stdout) == (0, "again.html\n")
    assert (folder / "again.html").read_bytes() == (studied[0] / "r.html").read_bytes()


@pytest.mark.slow
def test_the_same_table_and_seed_give_the_same_bytes_and_times_are_only_printed(
    tamiz: Callable[..., Result], folder: Path, iris: Path
) -> None:
    written = []
    for run in (1, 2):
        done = tamiz("study", iris, "-t", "species", "-o", f"{run}.html", "--json", f"{run}.json", "--jobs", run)
        assert re.search(r"Seconds: read [0-9.]+, table [0-9.]+, graph", done.stderr)
        written.append([(folder / f"{run}.{ending}").read_bytes() for ending in ("html", "json")])
    assert written[0] == written[1]


def test_a_report_on_standard_output_is_the_page(tamiz: Callable[..., Result], studied: tuple[Path, Result]) -> None:
    assert tamiz("report", studied[0] / "r.json", "-o", "-").stdout == (studied[0] / "r.html").read_text()


def test_the_report_has_the_tables_name_by_default(tamiz: Callable[..., Result], folder: Path, iris: Path) -> None:
    done = tamiz("study", iris, "-t", "species", "--quiet")
    assert done.stdout == "iris-report.html\n"
    assert done.stderr == ""
    assert [path.name for path in folder.iterdir()] == ["iris-report.html"]


def test_options_reach_the_study(tamiz: Callable[..., Result], folder: Path, iris: Path) -> None:
    done = tamiz(
        "study", iris, "-t", "species", "--json", "-", "-r", "variance", "-r", "gain-ratio", "--search", "forward",
        "-k", "3", "--no-points", "--kinds", "sepal_width=id", "--seed", "7", "--max-evaluations", "50", "--jobs", "1",
    )  # fmt: skip
    numbers = json.loads(done.stdout)
    assert [criterion["id"] for criterion in numbers["ranking"]["criteria"]] == ["variance", "gain_ratio"]
    assert numbers["subset"]["search"]["id"] == "forward"
    assert sorted(numbers["subset"]["columns"]) == ["petal_length", "petal_width", "sepal_length"]
    assert numbers["maps"][0]["points"] is None
    assert numbers["seed"] == 7
    assert {c["name"]: c["kind"] for c in numbers["table"]["columns"]}["sepal_width"] == "id"
    assert (folder / "iris-report.html").exists()


def test_a_table_without_a_target_is_studied_too(tamiz: Callable[..., Result], iris: Path) -> None:
    numbers = json.loads(tamiz("study", iris, "--json", "-").stdout)
    assert numbers["subset"] is None
    assert len(numbers["maps"]) >= 1


def test_only_one_thing_goes_to_standard_output(tamiz: Callable[..., Result], iris: Path) -> None:
    done = tamiz("study", iris, "-o", "-", "--json", "-")
    assert done.exit_code == 2
    assert "Only one of --output and --json can go to standard output." in done.stderr


@pytest.mark.usefixtures("few_models")
@pytest.mark.slow
def test_the_demo_studies_the_embedded_penguins(tamiz: Callable[..., Result], folder: Path) -> None:
    done = tamiz("demo", "--json", "demo.json")
    assert done.exit_code == 0, done.stderr
    assert done.stdout == "penguins-report.html\n"
    table = json.loads((folder / "demo.json").read_text())["table"]
    assert (table["n_rows"], table["target"], len(table["columns"])) == (344, "species", 7)


def test_names_and_values_with_markup_are_escaped_in_the_report(
    tamiz: Callable[..., Result], folder: Path, write: Callable[..., Path]
) -> None:
    hostile = "<script>alert(1)</script>"
    rows = "".join(f'{i % 5},"<img src=x onerror=alert({i % 2})>","{"ab"[i % 2]}</script>"\n' for i in range(40))
    path = write(f'"{hostile}","say ""hi""\n& \'bye\'","{hostile}\ty"\n{rows}')
    done = tamiz("study", path, "-t", f"{hostile}\ty")
    assert done.exit_code == 0, done.stderr
    page = (folder / "data-report.html").read_text()
    assert hostile not in page
    assert "<img src=x" not in page
    assert "&lt;script&gt;" in page


def test_signs_that_move_the_cursor_do_not_reach_the_terminal(
    tamiz: Callable[..., Result], write: Callable[..., Path]
) -> None:
    rows = "".join(f"{i % 5},{i % 3},{'ab'[i % 2]}\n" for i in range(40))
    done = tamiz("study", write(f"x\x1b[2J,z,y\n{rows}"), "-t", "y")
    assert done.exit_code == 0, done.stderr
    assert "\x1b" not in done.stderr
    assert "x\\x1b[2J" in done.stderr


def test_a_result_without_its_table_is_refused_with_the_way_out(
    tamiz: Callable[..., Result], folder: Path, studied: tuple[Path, Result]
) -> None:
    numbers = json.loads((studied[0] / "r.json").read_text())
    del numbers["table"]
    (folder / "old.json").write_text(json.dumps(numbers))
    done = tamiz("report", "old.json")
    assert done.exit_code == 1
    assert done.stderr == "tamiz: old.json is not a whole tamiz result: table is missing; run the study again.\n"


def test_the_nested_cv_score_is_in_the_summary_and_in_the_report(studied: tuple[Path, Result]) -> None:
    folder, done = studied
    (told,) = [line for line in done.stderr.splitlines() if line.startswith("  Reliability: ")]
    stated = re.search(r" The selected columns predict better than none: (?:weighted )?AUC ([\d.]+) \(", told)
    assert stated is not None
    assert float(stated[1]) > 0.9
    assert any(line.startswith("  Recommended: Keep ") for line in done.stderr.splitlines())
    assert 'id="assessment"' in (folder / "r.html").read_text()


def test_a_dry_run_prints_the_cost_of_the_search_of_a_study(
    tamiz: Callable[..., Result], folder: Path, iris: Path
) -> None:
    done = tamiz("study", iris, "-t", "species", "--search", "beam:2", "--dry-run")
    assert done.exit_code == 0
    *steps, plan = done.stdout.splitlines()
    assert plan.startswith("Plan: at most ")
    header, *lines = [line.split("\t") for line in steps]
    assert header == ["step", "rows", "seconds", "memory"]
    assert {"graph", "ranking", "subset", "maps", "reasons"} <= {line[0] for line in lines}
    assert float(lines[-1][2]) == pytest.approx(sum(float(line[2]) for line in lines[:-1]), abs=0.5)
    assert list(folder.iterdir()) == []


def test_a_dry_run_without_a_target_prints_the_cost_of_the_steps(tamiz: Callable[..., Result], iris: Path) -> None:
    done = tamiz("study", iris, "--reduce", "pca", "--dry-run")
    assert done.exit_code == 0
    assert "subset" not in done.stdout
    assert "Plan: at most" not in done.stdout


def test_the_seconds_of_a_study_leave_out_steps_and_are_in_the_command_that_repeats_it(
    tamiz: Callable[..., Result], folder: Path, iris: Path
) -> None:
    done = tamiz("study", iris, "-t", "species", "--max-seconds", "0.001", "--json", "r.json")
    assert done.exit_code == 0
    assert "note TZ503: Left out, because the 0.001 seconds of max_seconds (--max-seconds) are over" in done.stderr
    found = json.loads((folder / "r.json").read_text(encoding="utf-8"))
    assert found["maps"] == []
    assert "--max-seconds 0.001" in found["reproduction"]["command"]


def test_a_study_and_a_selection_select_the_same_columns(tamiz: Callable[..., Result], iris: Path) -> None:
    way = [
        "--search",
        "random:5",
        "--fixed",
        "sepal_width",
        "--exclude",
        "petal_length",
        "--seed",
        "9",
        "--time",
        "sepal_length",
    ]
    studied = tamiz("study", iris, "-t", "species", *way, "-r", "variance", "--reduce", "pca", "--json", "-").stdout
    chosen = tamiz("select", iris, "-t", "species", *way).stdout
    assert json.loads(studied)["subset"]["columns"] == chosen.splitlines()
    assert [column["name"] for column in json.loads(studied)["table"]["columns"]] == [
        "sepal_width",
        "petal_length",
        "petal_width",
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--assess",), "--assess needs a target: name its column with --target."),
        (("--semi-synthetic", 20), "--semi-synthetic needs a target: name its column with --target."),
        (("-t", "species", "--semi-synthetic", 1), "at least 2 targets are needed, or 0 for none."),
        (
            ("-t", "species", "--semi-synthetic", 20, "--no-assess"),
            "--semi-synthetic is part of an assessment: add --assess.",
        ),
    ],
)
def test_what_cannot_be_assessed_is_a_wrong_command_line(
    tamiz: Callable[..., Result], iris: Path, options: tuple[object, ...], message: str
) -> None:
    done = tamiz("study", iris, *options)
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.split())


def test_a_dry_run_counts_the_searches_on_semi_synthetic_targets(tamiz: Callable[..., Result], iris: Path) -> None:
    def seconds(*options: object) -> dict[str, str]:
        lines = tamiz("study", iris, "-t", "species", "--assess", "--dry-run", *options).stdout.splitlines()
        return {line.split("\t")[0]: line.split("\t")[2] for line in lines if "\t" in line}

    assert "error rates" not in seconds()
    assert float(seconds("--semi-synthetic", 2000)["error rates"]) > 10


@pytest.mark.slow
def test_the_error_rates_of_a_study_are_printed_and_in_the_report(
    tamiz: Callable[..., Result], folder: Path, iris: Path
) -> None:
    done = tamiz(
        "study", iris, "-t", "species", "--reduce", "pca", "--assess", "--semi-synthetic", 2, "--json", "r.json"
    )
    rates = json.loads((folder / "r.json").read_text(encoding="utf-8"))["error_rates"]
    assert (rates["n_draws"], rates["n_samples"]) == (2, 150)
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("  Error rates: ")]
    finding = line.removeprefix("  Error rates: ").partition(" Each target is ")[0]
    assert finding.startswith("On 2 semi-synthetic targets of 150 rows, the search finds ")
    assert finding in (folder / "iris-report.html").read_text(encoding="utf-8").replace("\u00a0", " ")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "bad.json is not a tamiz result: it is not JSON"),
        ("{}", "bad.json is not a tamiz result; `tamiz study --json` writes one."),
        ('{"format": "tamiz result 6"}', "bad.json is not a whole tamiz result"),
    ],
)
def test_a_file_that_is_no_result_is_refused(
    tamiz: Callable[..., Result], folder: Path, write: Callable[..., Path], text: str, sentence: str
) -> None:
    done = tamiz("report", write(text, "bad.json").name)
    assert done.exit_code == 1
    assert done.stderr.startswith(f"tamiz: {sentence}")
    assert [path.name for path in folder.iterdir()] == ["bad.json"]


def test_maps_are_asked_for_by_name_and_by_what_they_are_made_of(tamiz: Callable[..., Result], iris: Path) -> None:
    done = tamiz(
        "study", iris, "-t", "species", "-r", "variance", "--reduce", "MDS:ordinal", "--reduce", "laplacian_eigenmaps",
        "--dissimilarity", "gower", "--map-rows", "40", "--json", "-",
    )  # fmt: skip
    numbers = json.loads(done.stdout)
    assert [drawn["id"] for drawn in numbers["maps"]] == ["mds:ordinal", "laplacian_eigenmaps"]
    assert numbers["quality"]["metric"]["id"] == "gower"
    assert numbers["maps"][0]["notes"][-1].startswith("Fitted on 40 of the 150 rows, drawn at random; the other 110 ")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--reduce", "mdss"], "'mdss' is no map (did you mean 'mds'?); there are: pca, "),
        (
            ["--reduce", "mds:ordnal"],
            "--reduce: 'mds:ordnal' is no map (did you mean 'mds:ordinal'?); there are: pca, ",
        ),
        (["--reduce", "pca:metric"], "--reduce: 'pca:metric' is no map"),
        (["--dissimilarity", "gowr"], "'gowr' is no dissimilarity (did you mean 'gower'?); there are: euclidean, "),
        (["--dissimilarity", "precomputed"], "'precomputed' is no dissimilarity; there are: euclidean, "),
        (["--map-rows", "1"], "1 is not in the range x>=2"),
    ],
)
def test_a_map_that_is_not_there_is_a_wrong_command_line(
    tamiz: Callable[..., Result], folder: Path, iris: Path, arguments: list[str], sentence: str
) -> None:
    done = tamiz("study", iris, *arguments)
    assert done.exit_code == 2
    assert sentence in done.stderr
    assert list(folder.iterdir()) == []


def test_a_map_that_was_asked_for_and_cannot_be_drawn_ends_the_study(
    tamiz: Callable[..., Result], write: Callable[..., Path]
) -> None:
    table = write("a,b\n" + "1,2\n" * 20)
    done = tamiz("study", table, "--reduce", "mds")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "All dissimilarities are 0" in done.stderr


@pytest.mark.slow
def test_columns_that_repeat_each_other_are_left_out_unless_they_are_allowed(
    tamiz: Callable[..., Result], tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=80)
    path = tmp_path / "twice.csv"
    table = pd.DataFrame({"x": x, "again": x, "noise": rng.normal(size=80), "near": x + 0.02 * rng.normal(size=80)})
    table.assign(y=np.where(x + rng.normal(size=80) > 0, "a", "b")).to_csv(path, index=False)
    arguments = [path, "-t", "y", "--search", "forward", "-k", 3]
    done = tamiz("select", *arguments)
    assert "again" not in done.stdout.split()
    assert "'again' duplicates 'x' exactly and is not searched" in done.stderr
    allowed = tamiz("select", path, "-t", "y", "--search", "forward", "-k", 4, "--allow-duplicates")
    assert set(allowed.stdout.split()) == {"x", "again", "noise", "near"}
    options = ["--reduce", "pca", "--no-assess", "-o", tmp_path / "a.html", "--json", tmp_path / "a.json"]
    tamiz("study", *arguments, *options)
    found = json.loads((tmp_path / "a.json").read_text())["subset"]
    (reason,) = [one for one in found["reasons"] if one["name"] == "again"]
    assert (reason["chosen"], reason["same_as"]) == (False, "x")
    assert found["lattice"]["columns"] == ["x", "noise", "near"]
    (note,) = found["notes"]
    assert "'x' and 'near' (|r| 1.00)" in note
    tamiz("study", *arguments, "--allow-duplicates", *options)
    again = json.loads((tmp_path / "a.json").read_text())
    assert "--allow-duplicates" in json.dumps(again["reproduction"])
    assert [one["same_as"] for one in again["subset"]["reasons"]] == [None] * 4


def test_an_existing_file_at_the_default_path_that_is_no_report_is_not_overwritten(
    tamiz: Callable[..., Result], folder: Path, iris: Path
) -> None:
    place = folder / "iris-report.html"
    place.write_text("mine")
    command = ["study", iris, "--max-seconds", "0.001"]
    done = tamiz(*command)
    assert (done.exit_code, place.read_text()) == (1, "mine")
    assert done.stderr == (
        "tamiz: iris-report.html exists and is not a report of tamiz: name another file with --output.\n"
    )
    assert tamiz(*command, "-o", place).exit_code == 0
    # A report takes the place of an older one.
    assert tamiz(*command).exit_code == 0

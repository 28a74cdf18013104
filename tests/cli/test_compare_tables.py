"""`tamiz compare-tables`: verdict, files, JSON, saved selections and exit statuses."""

import json

import pytest
from sklearn.datasets import load_iris


@pytest.fixture
def tables(folder):
    data = load_iris(as_frame=True)
    table = data.data.rename(columns=lambda name: name.removesuffix(" (cm)").replace(" ", "_"))
    table = table.assign(species=data.target_names[data.target])
    table[::2].to_csv(folder / "old.csv", index=False)
    table[1::2].assign(sepal_width=table["sepal_width"] * 10).to_csv(folder / "new.csv", index=False)
    return "old.csv", "new.csv"


def test_the_verdict_is_on_stderr_and_a_line_for_each_column_on_stdout(tamiz, tables):
    done = tamiz("compare-tables", *tables, "-t", "species")
    assert done.exit_code == 0
    lines = done.stderr.splitlines()
    assert "old.csv 75 rows x 5 columns   ->   new.csv 75 rows x 5 columns" in lines[-13]
    assert "  1 of 5 columns has changed: sepal_width" in lines
    assert any("unit or scale: sepal_width (TZ211)" in line for line in lines)
    header, *rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert header[:3] == ["column", "kind", "change"]
    assert len(rows) == 5
    assert rows[0][:3] == ["sepal_width", "numeric", "large"]
    assert len(lines) <= 18


def test_a_page_and_json_are_written(tamiz, tables, folder):
    done = tamiz("compare-tables", *tables, "--json", "-o", "page.html", "--quiet")
    assert done.exit_code == 0
    assert (folder / "page.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    found = json.loads(done.stdout.partition("\n")[2])
    assert found["columns"][0]["power"] == 1
    assert {one["code"] for one in found["warnings"]} >= {"TZ211", "TZ212"}
    assert done.stderr == ""


def test_the_columns_of_a_saved_selection_are_scored(tamiz, tables):
    assert tamiz("rank", "old.csv", "-t", "species", "--top", "2", "--model", "best.tamiz").exit_code == 0
    done = tamiz("compare-tables", *tables, "-t", "species", "--model", "best.tamiz", "--json", "--mute", "TZ211")
    found = json.loads(done.stdout)
    assert set(found["target"]["columns"]) == {"petal_length", "petal_width"}
    assert found["target"]["are_chosen"]
    assert "TZ211" not in {one["code"] for one in found["warnings"]}


def test_a_wrong_command_line_is_status_2_and_a_bad_table_status_1(tamiz, tables, write):
    assert tamiz("compare-tables", "old.csv").exit_code == 2
    assert tamiz("compare-tables", *tables, "--columns", "petal_width").exit_code == 2
    assert tamiz("compare-tables", *tables, "-o", "new.csv").exit_code == 1
    write("a\n1\n", "one.csv")
    done = tamiz("compare-tables", "old.csv", "one.csv")
    assert done.exit_code == 1
    assert done.stderr.startswith("tamiz: one.csv: ")

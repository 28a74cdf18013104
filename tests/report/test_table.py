from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tamiz import study
from tamiz.criteria import SymmetricUncertainty
from tamiz.report.subset import collect_subset
from tamiz.report.table import collect_table, values_text

from . import sample
from .reading import record_of, render, summary

NONE: dict[str, Any] = {"n": 0, "example": []}
LEAK = {
    "name": "ash", "predictor": "values", "score": 0.9964, "score_name": "balanced accuracy", "baseline": 1 / 3,
    "n_rows": 178, "by_groups": False, "coverage": None,
}  # fmt: skip


def collected(result: dict[str, Any]) -> dict[str, Any]:
    shown = collect_table(record_of(result))
    assert shown is not None
    return shown


def facts(result: dict[str, Any]) -> dict[str, str]:
    return dict(collected(result)["facts"])


def test_repeated_rows_are_counted_and_named_by_their_numbers_from_one(wine: dict[str, Any]) -> None:
    repeated = {"n": 1203, "example": [9, 34, 1000]}
    wine["table"]["duplicate_rows"] = {**repeated, "contradictions": {"n": 2, "example": [4, 7]}}
    told = facts(wine)
    assert told["Duplicate rows"] == "1,203 rows equal to an earlier row, such as rows 10, 35 and 1,001"
    assert told["Contradicting rows"] == "2 rows equal to a row of another class, such as rows 5 and 8"
    wine["table"]["duplicate_rows"] = {"n": 1, "example": [0, 1], "contradictions": NONE}
    assert facts(wine)["Duplicate rows"] == "1 row equal to an earlier row, such as rows 1 and 2"


def test_rows_that_were_not_compared_are_reported_as_such(wine: dict[str, Any]) -> None:
    wine["table"]["duplicate_rows"] = None
    assert facts(wine)["Duplicate rows"].startswith("not checked")


def test_a_repeated_column_is_named_with_the_one_it_repeats(wine: dict[str, Any]) -> None:
    wine["table"]["columns"][2]["same_as"] = "alcohol"
    assert facts(wine)["Duplicate columns"] == "ash equals alcohol"
    assert "\nEqual column: alcohol\n" in render(wine)


def test_possible_leakage_comes_with_lines_that_exclude_the_column(wine: dict[str, Any]) -> None:
    wine["table"]["leakage"] = [LEAK]
    (box,) = collected(wine)["boxes"]
    assert box["text"].startswith("Possible target leakage: ")
    assert box["rows"] == [
        (
            "ash",
            "alone predicts class with a balanced accuracy of 99.6% (33% by guessing) in 5-fold cross-validation on 178 rows",
        )
    ]
    assert (box["command"], box["python"]) == ("--kinds ash=id", "kinds={'ash': 'id'}")


def test_several_columns_of_possible_leakage_are_excluded_by_one_line(wine: dict[str, Any]) -> None:
    wine["table"]["leakage"] = [LEAK, {**LEAK, "name": "hue", "predictor": "missing", "score_name": "R2", "score": 1.0}]
    (box,) = collected(wine)["boxes"]
    assert box["rows"][1][1].startswith("by its missing values alone predicts class with an R² of 1")
    assert box["command"] == "--kinds ash=id --kinds hue=id"


def test_a_prediction_of_some_classes_names_their_number_and_rows(wine: dict[str, Any]) -> None:
    wine["table"]["leakage"] = [
        {**LEAK, "n_rows": 160, "coverage": {"min_rows": 5, "n_classes": 30, "of_classes": 37, "of_rows": 178}}
    ]
    ((name, evidence),) = collected(wine)["boxes"][0]["rows"]
    assert name == "ash"
    assert evidence.endswith("on 160 rows: the 30 of 37 classes with at least 5 rows, which contain 160 of 178 rows")
    assert "the 30 of 37 classes with at least 5 rows" in render(wine)


@pytest.mark.parametrize(("score", "told"), [(0.99997, "99.9%"), (1.0, "100%")])
def test_no_score_is_rounded_up_to_a_perfect_one(wine: dict[str, Any], score: float, told: str) -> None:
    wine["table"]["leakage"] = [{**LEAK, "score": score}]
    assert f"accuracy of {told} (" in collected(wine)["boxes"][0]["rows"][0][1]


def test_a_recoding_is_described_by_its_adjusted_mutual_information(wine: dict[str, Any]) -> None:
    leak = {**LEAK, "score_name": "adjusted mutual information", "score": 0.9578, "baseline": 0.0}
    wine["table"]["leakage"] = [leak, {**leak, "score": 1.0}, {**leak, "n_rows": 50, "by_groups": True}]
    almost, exact, of_groups = (evidence for _, evidence in collected(wine)["boxes"][0]["rows"])
    assert almost.startswith("is almost a recoding of class: adjusted mutual information 0.957 on 178 rows, where 1 is")
    assert exact.startswith("is a recoding of class: adjusted mutual information 1 on 178 rows")
    assert "on 50 rows (one of each group)" in of_groups


def test_an_excluded_id_is_noted_without_a_warning(wine: dict[str, Any]) -> None:
    wine["table"]["leakage"] = [{**LEAK, "name": "bottle"}]
    told = collected(wine)
    assert "leak" not in told["lead"]
    assert not told["boxes"]
    assert [name for name, _ in told["harmless"]] == ["bottle"]
    sentence = render(wine).split('<p class="hint">The rows are in the order of the target')[1].split("</p>")[0]
    for fact in ("bottle", "excluded id", "alone predicts class", "99.6%"):
        assert fact in sentence


def test_an_excluded_id_of_sorted_rows_does_not_repeat_that_they_are_sorted(wine: dict[str, Any]) -> None:
    wine["table"] |= {
        "leakage": [{**LEAK, "name": "bottle"}],
        "row_order": "The rows are sorted by the target 'class'.",
    }
    page = render(wine)
    assert "The rows are in the order of the target" not in page
    assert page.index("The rows are sorted by") < page.index("Because the rows have this order, the excluded id")


def test_doubtful_kinds_come_with_lines_to_copy(wine: dict[str, Any]) -> None:
    wine["table"]["columns"][4]["kind_suggestion"] = {"kind": "categorical", "reason": "few whole numbers"}
    wine["table"]["columns"][15]["kind_suggestion"] = {"kind": "numeric", "reason": "numbers"}
    (doubts,) = collected(wine)["boxes"]
    assert doubts["rows"] == [
        ("magnesium", "is numeric, and could be categorical: few whole numbers"),
        ("bottle", "is id, excluded, and could be numeric: numbers"),
    ]
    assert doubts["command"] == "--kinds magnesium=categorical --kinds bottle=numeric"
    assert doubts["python"] == "kinds={'magnesium': 'categorical', 'bottle': 'numeric'}"


def test_many_doubts_are_counted_beyond_eight(wine: dict[str, Any]) -> None:
    for column in wine["table"]["columns"]:
        column["kind_suggestion"] = {"kind": "text", "reason": "why"}
    (doubts,) = collected(wine)["boxes"]
    assert (len(doubts["rows"]), doubts["n_more"], doubts["command"].count("--kinds")) == (8, 8, 8)


def test_values_are_counted_while_they_are_few(wine: dict[str, Any]) -> None:
    columns = wine["table"]["columns"]
    columns[0]["n_distinct"], columns[1]["n_distinct"] = 1000, None
    texts = [values_text(column) for column in record_of(wine).table.columns]
    assert texts[0].startswith("1,000 distinct: smallest ")
    assert texts[1].startswith("many distinct: smallest ")


@pytest.mark.parametrize("name", ["wine", "hostile", "bare"])
def test_the_section_is_drawn_of_every_sample(name: str) -> None:
    page = render(getattr(sample, name)())
    section = page[page.index('<section id="table"') :]
    section = section[: section.index("</section>")]
    assert "<script>alert" not in section
    assert "built-in method" not in section


def test_parts_of_dates_are_no_columns_of_the_table() -> None:
    rng = np.random.default_rng(0)
    sold = pd.Timestamp("2023-01-30") + pd.to_timedelta(rng.integers(0, 600, 80), unit="D")
    frame = pd.DataFrame({"sold": sold, "x": rng.normal(size=80), "z": rng.normal(size=80)})
    asked: dict[str, Any] = {"maps": [], "relevances": [SymmetricUncertainty()], "assess": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y = np.where(frame["x"] + rng.normal(size=80) > 0, "up", "down")
        result = study(frame, y, **asked)
    table = result.record.table
    assert [column.date for column in table.columns] == [None, None, None, "sold", "sold", "sold"]
    assert (table.n_own_used_columns, table.n_used_columns) == (3, 5)
    assert "\n  Table: 80 rows, 3 columns, target " in "\n" + summary(result)
    lead = collect_table(result.record)["lead"]
    assert lead.startswith("80 rows, 3 columns, target target (2 classes)")
    assert "used" not in lead
    assert "of 5 columns (parts of dates included)" in collect_subset(result.record)["lead"]

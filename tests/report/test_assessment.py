"""The section on the reliability of a score."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tamiz.report.assessment import collect_assessment

from . import sample_model_effect
from .reading import mark_places, panel_of, record_of


def collected(result: dict[str, Any]) -> dict[str, Any]:
    shown = collect_assessment(record_of(result))
    assert shown is not None
    return shown


def test_every_score_is_shown_with_its_meaning_and_a_share_is_not_rounded_up_to_all(wine: dict[str, Any]) -> None:
    told = {name: value for name, value, *_ in collected(wine)["facts"]}
    assert told == {
        "Apparent score": "92.0%",
        "Nested CV score": "84.0% (80.0% to 88.0%)",
        "All columns": "87.0%",
        "Baseline": "40.0%",
    }
    wine["assessment"]["nested"] = sample_model_effect.scores(wine["assessment"]["nested"]["values"], 0.9)
    assert collected(wine)["facts"][1][1] == "84.0% (0.0% to 100.0%)"
    wine["assessment"]["all_columns"] = None
    assert [name for name, *_ in collected(wine)["facts"]][-1] == "Baseline"
    assert len(collected(wine)["facts"]) == 3


def test_the_marks_of_the_scores_share_one_scale_and_the_nested_cv_score_has_its_interval(wine: dict[str, Any]) -> None:
    means = [np.mean(wine["assessment"][name]["values"]) for name in ("apparent", "nested", "all_columns", "baseline")]
    places = [mark_places(mark) for *_, mark in collected(wine)["facts"]]
    dots = [dot for dot, _ in places]
    slope = (dots[0] - dots[3]) / (means[0] - means[3])
    assert dots == pytest.approx([dots[3] + slope * (mean - means[3]) for mean in means], abs=0.2)
    assert [line is None for _, line in places] == [True, False, True, True]
    ends = [dots[3] + slope * (end - means[3]) for end in (means[1] - 0.04, means[1] + 0.04)]
    assert places[1][1] == pytest.approx(ends, abs=0.2)


def test_the_title_states_the_score_the_model_the_rows_and_the_folds(wine: dict[str, Any]) -> None:
    assert collected(wine)["design"] == "Accuracy of naive Bayes, 178 rows, 10 stratified folds"


def test_the_permutation_null_is_drawn_as_a_histogram_and_stated_in_words(wine: dict[str, Any]) -> None:
    null = collected(wine)["null"]
    panel = panel_of(null["chart"])
    assert sum(bar.get_height() for bar in panel.patches) == 99
    assert panel.lines[0].get_xdata()[0] == pytest.approx(wine["subset"]["value"], rel=1e-5)
    assert null["title"].startswith("0 of 99 searches on targets shuffled among all rows reach the ")
    assert null["note"].endswith(" p\u00a0=\u00a00.01, significant at 0.05.")
    assert panel.get_xlabel().startswith("Best ")
    # As where no column has a cut: every merit is 0.
    wine["assessment"]["null"] |= {"null_values": [0.0] * 19, "observed": 0.0}
    null = collected(wine)["null"]
    assert max(bar.get_height() for bar in panel_of(null["chart"]).patches) == 19
    assert null["title"].startswith("19 of 19 searches on targets ")
    assert null["note"].endswith("p\u00a0=\u00a01, not significant at 0.05.")
    # Of five searches, none can show anything.
    wine["assessment"]["null"] |= {"null_values": [0.0] * 5, "observed": 1.0}
    assert collected(wine)["null"]["note"].endswith(", too few searches for a p-value of 0.05.")
    wine["assessment"]["null"] = None
    assert collected(wine)["null"] is None


def test_a_note_shown_above_is_not_repeated(wine: dict[str, Any]) -> None:
    wine["assessment"]["notes"] = [wine["warnings"][0]["sentence"], "5 folds in place of 10."]
    assert collected(wine)["notes"] == ["5 folds in place of 10."]


def test_a_study_without_assessment_has_no_section_on_it(bare: dict[str, Any]) -> None:
    assert collect_assessment(record_of(bare)) is None


def test_a_score_much_worse_than_the_mean_is_drawn_at_the_edge_and_stated(wine: dict[str, Any]) -> None:
    wine["assessment"]["scoring"] = "r2"
    wine["assessment"]["nested"] = sample_model_effect.scores([-5e9, *[0.5] * 9], 1.5e9)
    shown = collect_assessment(record_of(wine))
    assert shown is not None
    _, text, _, mark = shown["facts"][1]
    dot, line = mark_places(mark)
    assert text.startswith("−500,000,000")
    assert line is not None
    assert dot == line[0] < 10
    assert line[1] > 90
    assert shown["clipped_note"].endswith("drawn at −1: nested CV score.")

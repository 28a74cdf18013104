"""The section of the recommended columns: each of its sentences agrees with the numbers of the comparison."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy import stats

from tamiz.assessment.score_report import Recommendation
from tamiz.report.recommendation import (
    collect_recommendation,
    decision_sentence,
    initial_selection,
    recommendation_cost,
    recommendation_text,
)
from tamiz.report.records import ColumnDecision, TableRecord
from tamiz.runtime.codec import from_json

from . import sample, sample_model_effect
from .reading import record_of, render, result_of, summary

NAMES = ["ash", "hue", "proline", "alcohol", "malic", "color"]


def found(**more: Any) -> dict[str, Any]:
    """Return a recommendation of two of six columns by CFS."""
    return {**sample_model_effect.recommendation(NAMES, NAMES[:2]), **more}


def collected(result: dict[str, Any]) -> dict[str, Any]:
    shown = collect_recommendation(record_of(result))
    assert shown is not None
    return shown


def collected_with(recommendation: dict[str, Any]) -> dict[str, Any]:
    """What is shown of wine with another recommendation."""
    return collected(sample.wine() | {"recommendation": recommendation, "warnings": []})


def decided(decisions: list[dict[str, Any]], **changed: Any) -> dict[str, str]:
    """Why each column is kept or dropped, by name."""
    recommendation = from_json(Recommendation, found(**changed))
    return {one["name"]: decision_sentence(from_json(ColumnDecision, one), recommendation) for one in decisions}


def text_of(recommendation: dict[str, Any]) -> str:
    return recommendation_text(
        from_json(Recommendation, recommendation), from_json(TableRecord, sample.wine()["table"])
    )


def cost_of(recommendation: dict[str, Any]) -> str:
    return recommendation_cost(from_json(Recommendation, recommendation))


def numbers(text: str) -> list[float]:
    return [float(one.replace("−", "-").replace("+", "")) for one in re.findall(r"[−+]?\d+\.\d+", text)]


def test_the_lead_names_the_columns_with_the_scores_the_rows_and_the_baseline() -> None:
    one = found()
    text = text_of(one)
    for fact in (
        "Keep 2 of 6 columns: ash and hue (CFS). ",
        "nested cross-validation of 178 rows (the choice among 2 included), the weighted AUC of nearest neighbours",
    ):
        assert fact in text
    assert numbers(text) == pytest.approx([0.925, 0.905, 0.945, 0.93, 0.5])


def test_the_label_of_a_selection_is_small_inside_a_sentence_unless_it_is_an_abbreviation() -> None:
    one = found(recommended="knn")
    assert text_of(one).startswith("Keep 3 of 6 columns: ash, hue and proline (nearest neighbours wrapper). ")
    every = found(recommended="all_columns")
    assert "of each model on the nearest selection, nearest neighbours wrapper (3 columns), and" in cost_of(every)


def test_the_cost_is_the_change_of_every_model_with_its_interval_the_largest_loss_first() -> None:
    one = found()
    assert cost_of(one).endswith(
        ": nearest neighbours 0.910, −0.020 (−0.050 to +0.010); decision tree 0.890, +0.010 (−0.050 to +0.070); naive Bayes 0.931, "
        "+0.031 (+0.011 to +0.051)."
    )
    # Student's interval of the fold by fold differences, with the corrected variance.
    values = {name: candidate["scores"] for name, candidate in one["candidates"].items()}
    told = []
    for model in ("knn", "tree", "naive_bayes"):
        chosen, every = (values[name][model]["roc_auc_ovr_weighted"] for name in ("cfs", "all_columns"))
        change = np.subtract(chosen["values"], every["values"])
        half = stats.t.ppf(0.975, 9) * (chosen["variance_factor"] * np.var(change, ddof=1)) ** 0.5
        told += [np.mean(chosen["values"]), change.mean(), change.mean() - half, change.mean() + half]
    assert numbers(cost_of(one)) == pytest.approx(told, abs=5e-4)


def test_changes_of_shares_are_stated_in_percentage_points_and_r2_by_its_name() -> None:
    one = found()
    del one["baseline"]["balanced_accuracy"]
    one["scorings"].remove("balanced_accuracy")
    for candidate in one["candidates"].values():
        for cells in candidate["scores"].values():
            del cells["balanced_accuracy"]
    sample_model_effect.rename_scoring(one, "balanced_accuracy")
    assert "the balanced accuracy of nearest neighbours is 92.5% (90.5% to 94.5%); all columns: 93.0%" in text_of(one)
    assert ": nearest neighbours 91.0%, −2.0 points (−5.0 to +1.0);" in cost_of(one)
    sample_model_effect.rename_scoring(one, "r2")
    assert "the R² of nearest neighbours is 0.925 (0.905 to 0.945); all columns: 0.930" in text_of(one)


def test_if_every_smaller_selection_loses_all_columns_are_kept_and_the_nearest_selection_is_stated() -> None:
    every = found(recommended="all_columns")
    text = text_of(every)
    assert text.startswith(
        "Keep all 6 columns: 3 score 0.920 (nearest neighbours wrapper) and all 6 score 0.930: a loss of more than "
        "0.005. In nested "
    )
    assert numbers(text)[-5:] == pytest.approx([0.925, 0.905, 0.945, 0.93, 0.5])
    # Nearest neighbours, which decide, lose .02 with CFS, and .01 with the other selection.
    assert "of each model on the nearest selection, nearest neighbours wrapper (3 columns), and" in cost_of(every)
    assert "nearest neighbours 0.920, −0.010 (−0.040 to +0.020)" in cost_of(every)
    alone = {**every, "candidates": {"all_columns": every["candidates"]["all_columns"]}, "paths": {}}
    assert cost_of(alone) == ""
    assert text_of(alone).startswith("Keep all 6 columns: no smaller selection could be compared. ")


def test_the_rule_names_the_model_that_decides_and_the_margin() -> None:
    rule = collected_with(found(margin=0.0123))["rule"]
    assert rule.startswith("Nearest neighbours decides, because it has the best weighted AUC on all columns. ")
    assert "that loses at most 0.012, with one standard error added" in rule
    # The interval of the loss is 0.06 wide.
    detectable = 0.03 * (1 + stats.t.ppf(0.8, 9) / stats.t.ppf(0.975, 9))
    assert f"On 178 rows, a loss of {detectable:.2g} is found with a power of 80%" in rule


def test_of_very_many_columns_a_few_are_named_in_the_sentence() -> None:
    names = [f"probe {j}" for j in range(40)]
    one = sample_model_effect.recommendation([*names, "last"], names)
    assert "probe 10 and 29 more (CFS). " in text_of(one)


def drawn(recommendation: dict[str, Any]) -> list[str]:
    """The texts of the picture of a recommendation."""
    svg = collected_with(recommendation)["chart"].svg()
    return [text.text or "" for text in ElementTree.fromstring(svg).iter("text")]


def test_the_picture_has_the_scores_by_number_of_columns_with_the_recommended_one_all_columns_and_the_baseline() -> (
    None
):
    texts = drawn(found())
    assert {"CFS", "recommended: 2 columns", "all 6 columns", "without columns", "Number of columns"} <= set(texts)
    assert "Weighted AUC of nearest neighbours" in texts
    section = collected_with(found())
    assert f"{section['kept']} {section['measured']}" == text_of(found())
    assert "recommended: 2 columns" not in drawn(found(chance="By chance."))


def test_a_date_is_one_column_of_the_picture_and_the_recommended_set_is_that_of_its_size() -> None:
    one, wine = found(), sample.wine()
    names = [column["name"] for column in wine["table"]["columns"]][:3]
    for column in wine["table"]["columns"][:2]:
        column["date"] = "day"
    scores = [sample_model_effect.folded(mean, 0.02) for mean in (0.6, 0.9, 0.8)]
    one["paths"] = {"cfs": {"columns": [names[:1], names[:2], names], "scores": scores, "changes": scores}}
    one["candidates"]["cfs"]["columns"] = names[:1]
    shown = collected(wine | {"recommendation": one, "warnings": []})
    display = shown["chart"].draw.__self__
    assert display.recommended == ("CFS", 1)
    assert [(n, round(mean, 9)) for n, mean, *_ in display.paths["CFS"]] == [(1, 0.6), (2, 0.8)]


def test_without_paths_of_several_sets_there_is_no_picture() -> None:
    one = found(paths={"cfs": {part: values[-1:] for part, values in found()["paths"]["cfs"].items()}})
    assert collected_with(one)["chart"] is None
    assert "In nested cross-validation of 178 rows, the weighted" in render(sample.wine() | {"recommendation": one})


def test_the_table_has_a_group_for_each_score_with_a_row_for_each_selection_and_the_recommended_one_marked() -> None:
    shown = collected_with(found())
    assert shown["models"] == ["naive Bayes", "5 nearest neighbours", "decision tree"]
    assert [(group["name"], group["baseline"]) for group in shown["groups"]] == [
        ("Weighted AUC (each class against the rest, weighted by its rows)", "0.500"),
        ("Balanced accuracy", "33.3%"),
    ]
    rows = shown["groups"][0]["rows"]
    assert [(row["label"], row["kept"], row["size"]) for row in rows] == [
        ("All columns", False, "6"),
        ("CFS", True, "2"),
        ("Nearest neighbours wrapper", False, "3"),
    ]
    assert [cell["score"] for cell in rows[0]["cells"]] == ["0.900", "0.930", "0.880"]
    assert [tuple(cell.values()) for cell in rows[1]["cells"]] == [
        ("0.931", "+0.031", "+0.011 to +0.051", "up"),
        ("0.910", "−0.020", "−0.050 to +0.010", "unknown"),
        ("0.890", "+0.010", "−0.050 to +0.070", "unknown"),
    ]
    assert (rows[2]["cells"][0]["change"], rows[2]["cells"][0]["direction"]) == ("−0.060", "down")
    assert shown["groups"][1]["rows"][1]["cells"][0]["change"] == "+3.1 points"


def test_the_reason_of_each_column_follows_from_its_numbers() -> None:
    one = sample_model_effect.decisions(NAMES, NAMES[:2])
    assert decided(one)["ash"] == "Belongs to the smallest set that loses nothing measurable."
    assert decided(one)[NAMES[-2]] == "Redundant with ash, which is kept."
    assert decided(one)[NAMES[-1]] == "Equivalent to ash (an association of at least 0.99), so not searched."
    # Similarity below the limit of redundancy is no reason.
    assert decided(one)["proline"] == "Adds nothing measurable to the other columns."
    one[2] |= {"p_value": 0.05}
    assert decided(one)["proline"] == "Adds less than the margin to the kept columns."
    one[0] |= {"p_value": 0.5}
    assert decided(one)["ash"] == "Belongs to the smallest set that loses nothing measurable."
    assert decided(one, recommended="all_columns")["ash"].endswith("but the rows are too few to drop it.")


def test_the_page_marks_the_recommended_row_and_a_loss_that_the_folds_are_sure_of(wine: dict[str, Any]) -> None:

    page = render(wine)
    section = page[page.index('<section id="recommendation"') :]
    section = section[: section.index("</section>")]
    kept = re.findall(r'<tr class="kept">.*?</tr>', section, re.S)
    assert len(kept) == 2
    assert all("CFS" in row and 'title="Recommended"' in row for row in kept)
    assert section.count('class="change loss"') == 4
    assert '<span class="change loss">−0.060</span>' in section


def test_a_requested_search_is_recommended_with_what_it_costs() -> None:
    one = found(requested=True)
    assert "Keep 2 of 6 columns: ash and hue (CFS, as requested). " in text_of(one)
    assert collected_with(one)["rule"].startswith("It is the result of the search that was requested")
    assert cost_of(one) == cost_of(found())


def test_folds_and_notes_are_shown_without_those_shown_above(wine: dict[str, Any]) -> None:
    assert collected(wine)["design"].startswith("178 rows, 10 stratified folds. Every selection is")
    wine["recommendation"]["notes"] = [wine["warnings"][0]["sentence"], "CFS is left out of the comparison: it failed."]
    assert collected(wine)["notes"] == ["CFS is left out of the comparison: it failed."]


def test_a_study_without_comparison_has_neither_section_nor_line_on_it(
    wine: dict[str, Any], bare: dict[str, Any]
) -> None:
    assert collect_recommendation(record_of(bare)) is None
    every = {"all_columns": wine["recommendation"]["candidates"]["all_columns"]}
    wine["recommendation"] |= {"recommended": "all_columns", "paths": {}, "candidates": every}
    lines = summary(result_of(wine)).splitlines()
    assert any(line.startswith("  Recommended: Keep all 13 columns") for line in lines)
    assert not any(line.startswith("  Difference") for line in lines)


def test_names_that_are_html_are_text(hostile: dict[str, Any]) -> None:

    page = render(hostile)
    section = page[page.index('<section id="recommendation"') :]
    section = section[: section.index("</section>")]
    assert "<img" not in section
    assert "<b>bold" not in section
    assert "&lt;img" in section


def test_where_the_selection_may_be_chance_nothing_is_recommended(wine: dict[str, Any]) -> None:
    withheld = found(chance="By chance.")
    assert from_json(Recommendation, withheld).columns == ()
    assert text_of(withheld).startswith(
        "No columns are recommended, because the selection may be chance. By chance. In nested"
    )
    assert cost_of(withheld) == ""
    wine |= {"recommendation": withheld, "decisions": []}
    assert list(initial_selection(record_of(wine))) == []
    assert "No columns are recommended" in render(wine)

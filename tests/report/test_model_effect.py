"""The section on the effect of the selected columns, of noise columns and of copies on models."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from tamiz.report import score_text
from tamiz.report.model_effect import collect_model_effect, separate_labels
from tamiz.report.records.codec import from_json
from tamiz.report.records.models import ModelEffectRecord, NoiseExperimentRecord

from . import sample, sample_model_effect
from .reading import panel_of, record_of, result_of, summary


def effect_text(data: dict[str, Any]) -> str:
    return score_text.model_effect_text(from_json(ModelEffectRecord, data), "CFS")


def cost(data: dict[str, Any], k: int) -> str:
    """What the columns cost that one panel adds."""
    experiment = from_json(NoiseExperimentRecord, data)
    return score_text.added_columns_cost(experiment.panels[k], experiment)


def reselection(data: dict[str, Any], k: int) -> str:
    experiment = from_json(NoiseExperimentRecord, data)
    return score_text.reselection_text(experiment.panels[k], experiment)


def collected(result: dict[str, Any]) -> dict[str, Any]:
    shown = collect_model_effect(record_of(result))
    assert shown is not None
    return shown


def compared(*changes: tuple[float, float]) -> dict[str, Any]:
    """A comparison by accuracy of three models whose changes and half intervals are given."""
    found = sample_model_effect.model_effect()
    found["scores"][0]["models"] = [sample_model_effect.cell(0.9, *change) for change in changes]
    return found


def test_the_lead_states_the_score_of_each_model_on_selected_and_on_all_columns_with_its_uncertainty() -> None:
    text = effect_text(sample_model_effect.model_effect())
    for fact in (
        "With the 4 to 6 columns that CFS selects in each fold",
        ", naive Bayes gains; nearest neighbours lose; no significant difference for decision tree. ",
        "nested cross-validation of 178 rows",
        "93.1% for naive Bayes (90.0% with all columns), 88.0% for nearest neighbours (93.0%) and 89.0% for decision tree (88.0%)",
        "the baseline is 40.0%",
    ):
        assert fact in text


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        (
            [(0.0, 0.01), (-0.01, 0.009), (0.005, 0.01)],
            "the accuracy of no model differs by more than 0.02 from that with all columns",
        ),
        ([(0.0, 0.05), (-0.01, 0.05), (0.03, 0.09)], "the folds show no significant difference for any model"),
        ([(0.03, 0.01), (0.03, 0.01), (-0.03, 0.01)], "naive Bayes and nearest neighbours gain; decision tree loses"),
        (
            [(0.0, 0.01), (0.0, 0.01), (0.0, 0.05)],
            "naive Bayes and nearest neighbours stay the same; no significant difference for decision tree",
        ),
        (
            [(0.0, 0.05), (0.0, 0.01), (0.0, 0.05)],
            "nearest neighbours stay the same; no significant difference for naive Bayes and decision tree",
        ),
        (
            [(0.0, 0.05), (0.0, 0.05), (0.0, 0.01)],
            "decision tree stays the same; no significant difference for naive Bayes and nearest neighbours",
        ),
    ],
)
def test_a_gain_or_loss_is_stated_only_if_the_interval_of_the_difference_excludes_0(changes, verdict) -> None:
    assert f", {verdict}. In nested" in effect_text(compared(*changes))


def test_folds_without_selected_columns_are_reported() -> None:
    found = sample_model_effect.model_effect() | {"n_chosen": [0] * 10}
    assert effect_text(found) == (
        "No column is selected in any of 10 folds of 178 rows, so there is nothing to compare with all columns."
    )


def test_the_titles_of_the_figure_follow_from_its_numbers() -> None:
    argument = sample_model_effect.noise_experiment()
    random = argument["panels"][0]
    assert cost(argument, 0) == (
        "50 random columns lower the accuracy of nearest neighbours by 18.0 points and of decision tree by 4.0 points; "
        "that of naive Bayes does not change significantly"
    )
    assert cost(argument, 1) == (
        "50 copies of flavanoids lower the accuracy of naive Bayes by 12.0 points; that of decision tree changes by at most "
        "0.02; that of nearest neighbours does not change significantly"
    )
    # Were it the other way round, so would be the title.
    random["lines"][1] = sample_model_effect.line(0.93, 0.05, 0.02, argument["n_added"])
    random["lines"][2] = sample_model_effect.line(0.88, 0.0, 0.01, argument["n_added"])
    assert cost(argument, 0) == (
        "50 random columns raise the accuracy of nearest neighbours by 5.0 points; that of decision tree changes by at most "
        "0.02; that of naive Bayes does not change significantly"
    )
    random["lines"][0] = sample_model_effect.line(0.9, 0.0, 0.01, argument["n_added"])
    assert cost(argument, 0) == (
        "50 random columns raise the accuracy of nearest neighbours by 5.0 points; that of the other models changes by at "
        "most 0.02"
    )
    for k in range(3):
        random["lines"][k] = sample_model_effect.line(0.9, 0.0, 0.01, argument["n_added"])
    assert cost(argument, 0) == "50 random columns change the accuracy of no model by more than 0.02"
    for k in range(3):
        random["lines"][k] = sample_model_effect.line(0.9, 0.0, 0.1, argument["n_added"])
    assert cost(argument, 0) == "50 random columns change the accuracy of no model significantly"


def test_the_effect_on_a_numeric_target_is_stated_in_r2_without_percentage_points() -> None:
    argument = sample_model_effect.noise_experiment() | {"scoring": "r2"}
    assert cost(argument, 0).startswith(
        "50 random columns lower the R² of nearest neighbours by 0.180 and of decision tree by 0.040;"
    )
    found = sample_model_effect.model_effect()
    found["scores"] = [found["scores"][0] | {"id": "r2"}]
    assert "the R² is 0.931 for naive Bayes (0.900 with all columns)" in effect_text(found)


def test_a_loss_of_the_selected_columns_is_reported() -> None:
    argument = sample_model_effect.noise_experiment()
    panel = argument["panels"][0]
    assert reselection(argument, 0) == (
        "keeps 0.3 a fold of the 50 random columns, and no score falls by more than 0.02."
    )
    panel["kept"] = [0.0, 0.0]
    panel["chosen"][1] = sample_model_effect.line(0.88, -0.06, 0.1, [0, 50])
    assert reselection(argument, 0) == (
        "keeps none of the 50 random columns; scores fall by 6.0 points for nearest neighbours, which is not significant."
    )
    panel["chosen"][2] = sample_model_effect.line(0.88, -0.05, 0.01, [0, 50])
    assert reselection(argument, 0).endswith("; scores still fall by 5.0 points for decision tree.")


def test_differences_have_their_sign_and_nothing_has_none() -> None:
    told, number = score_text.score_format_for("accuracy"), score_text.score_format_for("r2")
    assert score_text.format_difference(0.012, told) == "+1.2 points"
    assert score_text.format_difference(-0.01, told) == "−1.0 point"
    assert score_text.format_difference(0.0002, told) == "0.0 points"
    assert score_text.format_difference(-0.0001, number) == "0.000"
    assert score_text.format_interval((-0.0312, 0.004), number) == "−0.031 to +0.004"
    assert score_text.format_interval((-2.968e16, 123_456.7), number) == "−3 × 10¹⁶ to +123,457"


def test_the_marks_of_a_score_share_one_scale_and_show_both_means(wine: dict[str, Any]) -> None:
    group = collected(wine)["compared"]["groups"][0]
    assert [one["name"] for one in collected(wine)["compared"]["groups"]] == [
        "Accuracy",
        "F1, mean over the classes",
        "AUC, each class against the rest, weighted by its rows",
    ]
    places = [re.findall(r'<circle class="(\w+)" cx="([\d.]+)%"', row["mark"]) for row in group["rows"]]
    assert [[kind for kind, _ in pair] for pair in places] == [["ring", "dot"]] * 3
    every, chosen = ([float(pair[k][1]) for pair in places] for k in (0, 1))
    means = [0.9, 0.93, 0.88, 0.931, 0.88, 0.89]
    slope, first = np.polyfit(means, [*every, *chosen], 1)
    assert slope > 0
    assert [*every, *chosen] == pytest.approx([first + slope * mean for mean in means], abs=0.1)


def test_theory_is_stated_with_the_models_that_deviate_from_it(wine: dict[str, Any]) -> None:
    panel = wine["noise_experiment"]["panels"][0]
    panel["lines"][0] = sample_model_effect.line(0.9, -0.031, 0.01, wine["noise_experiment"]["n_added"])
    shown = collected(wine)["noise_experiment"]["panels"][0]
    assert shown["why"].startswith("Expected: random columns add noise to the distances of nearest neighbours")
    assert shown["why"].endswith(" The result differs for naive Bayes (−3.1 points).")
    panel["lines"][0] = sample_model_effect.line(0.9, -0.031, 0.1, wine["noise_experiment"]["n_added"])
    assert "differs" not in collected(wine)["noise_experiment"]["panels"][0]["why"]


def test_one_chosen_column_is_the_chosen_one() -> None:
    assert score_text.chosen_columns_text([1] * 10) == "the selected one"
    assert score_text.chosen_columns_text([4, 6]) == "the 4 to 6 selected"


def test_no_bar_goes_beyond_what_a_score_can_be(wine: dict[str, Any]) -> None:
    cell = wine["model_effect"]["scores"][2]["models"][0]
    cell["chosen"] = sample_model_effect.folded(0.99, 0.05)
    lines = [
        re.findall(r'x2="([\d.]+)%" y1="15"', row["mark"]) for row in collected(wine)["compared"]["groups"][2]["rows"]
    ]
    # The line of the scale, and that of the interval, which ends at an AUC of 1: the largest of all ends.
    assert float(lines[0][1]) == max(float(end) for pair in lines for end in pair[1:]) < 98
    assert score_text.score_interval((-0.4, 0.2), "r2") == (-0.4, 0.2)
    assert score_text.score_interval((-0.4, 1.2), "accuracy") == (0.0, 1.0)


def test_a_model_much_worse_than_the_mean_is_drawn_at_the_edge_and_reported(wine: dict[str, Any]) -> None:
    score, argument = wine["model_effect"]["scores"][0], wine["noise_experiment"]
    score["id"] = argument["scoring"] = "r2"
    score["models"][1]["all_columns"] = sample_model_effect.folded(-3e16, 6e16, 1e16)
    argument["panels"][0]["lines"][1] = sample_model_effect.line(-2e16, -1e16, 4e16, argument["n_added"])
    shown = collected(wine)
    group = shown["compared"]["groups"][0]
    assert group["rows"][1]["all_columns"].startswith("−3 × 10¹⁶")
    ring = re.search(
        r'<line class="range" x1="([\d.]+)%" x2="([\d.]+)%".*?<circle class="ring" cx="([\d.]+)%"',
        group["rows"][1]["mark"],
    )
    assert ring is not None
    low, high, dot = map(float, ring.groups())
    assert low == dot < 10
    assert high > 90
    assert group["clipped_note"] == (
        "Below −1, much worse than predicting the mean, and drawn at −1: nearest neighbours on all columns."
    )
    panels = shown["noise_experiment"]["panels"]
    panel = panel_of(panels[0]["chart"])
    assert set(panel.lines[2].get_ydata()) == {-1}
    assert panels[0]["clipped_note"].endswith("drawn at −1: nearest neighbours.")
    assert panels[1]["clipped_note"] == ""
    low, high = panel.get_ylim()
    assert -1.2 < low < -1
    assert 1 < high < 1.2


def test_no_two_ticks_of_an_axis_of_shares_read_the_same(wine: dict[str, Any]) -> None:
    for panel in wine["noise_experiment"]["panels"]:
        panel["lines"] = [sample_model_effect.line(0.99, -0.001, 0.002, wine["noise_experiment"]["n_added"])] * 3
        panel["chosen"] = [
            sample_model_effect.line(0.99, -0.001, 0.002, wine["noise_experiment"]["selection_n_added"])
        ] * 3
    for panel in collected(wine)["noise_experiment"]["panels"]:
        drawn = panel_of(panel["chart"])
        drawn.figure.draw_without_rendering()
        ticks = [label.get_text() for label in drawn.get_yticklabels()]
        assert len(set(ticks)) == len(ticks) > 2
        assert all(tick.endswith("%") for tick in ticks)


def test_the_table_contains_every_number_of_the_charts(wine: dict[str, Any]) -> None:
    groups = collected(wine)["compared"]["groups"]
    assert [group["baseline"] for group in groups] == ["40.0%", "0.190", "0.500"]
    first = {key: value for key, value in groups[0]["rows"][0].items() if key != "mark"}
    assert first == {
        "name": "naive Bayes",
        "all_columns": "90.0% ± 3.0",
        "chosen": "93.1% ± 3.0",
        "difference": "+3.1 points",
        "between": "+1.1 to +5.1",
    }
    assert groups[1]["rows"][1]["chosen"] == "0.880 ± 0.030"


def test_both_panels_share_a_range_and_each_line_has_its_name_beside_its_end(wine: dict[str, Any]) -> None:
    shown = collected(wine)["noise_experiment"]
    charts = [panel["chart"] for panel in shown["panels"]]
    panels = [panel_of(chart) for chart in charts]
    assert panels[0].get_ylim() == panels[1].get_ylim()
    for panel, record in zip(panels, wine["noise_experiment"]["panels"], strict=True):
        lines, dashed, bands = panel.lines[::2], panel.lines[1::2], panel.collections
        assert [line.get_ydata()[-1] for line in lines] == pytest.approx(
            [line["means"][-1] for line in record["lines"]]
        )
        assert all(line.get_linestyle() == "--" and list(line.get_xdata()) == [0, 50] for line in dashed)
        assert len(bands) == 3
        assert [text.get_text() for text in panel.texts] == ["Naive Bayes", "Neighbours", "Tree"]
        # A model has one colour, which its name has too.
        for parts in zip(lines, dashed, panel.texts, strict=True):
            assert len({part.get_color() for part in parts}) == 1
    low, high = panels[0].get_ylim()
    assert low < 0.93 - 0.18 - 0.05
    assert high <= 1.04


def test_bands_of_shares_end_at_0_and_1(wine: dict[str, Any]) -> None:
    experiment = wine["noise_experiment"]
    experiment["panels"][0]["lines"] = [
        sample_model_effect.line(first, 0.0, 0.3, experiment["n_added"]) for first in (0.9, 0.5, 0.1)
    ]
    bands = panel_of(collected(wine)["noise_experiment"]["panels"][0]["chart"]).collections
    heights = [band.get_paths()[0].vertices[:, 1] for band in bands]
    np.testing.assert_allclose([(y.min(), y.max()) for y in heights], [(0.6, 1.0), (0.2, 0.8), (0.0, 0.4)])


def test_a_search_that_is_repeated_for_some_numbers_of_added_columns_is_reported(wine: dict[str, Any]) -> None:
    experiment = wine["noise_experiment"]
    stated = " The search is repeated only for 0 and 50 added columns."
    assert collected(wine)["noise_experiment"]["searched"] == stated
    experiment["n_added"] = experiment["selection_n_added"]
    for panel in experiment["panels"]:
        panel["lines"] = panel["chosen"]
    assert collected(wine)["noise_experiment"]["searched"] == ""


def test_names_beside_lines_with_near_ends_do_not_overlap() -> None:
    assert separate_labels([0.5, 0.9], 0.1) == [0.5, 0.9]
    assert separate_labels([0.5, 0.5], 0.1) == pytest.approx([0.45, 0.55])
    assert separate_labels([0.52, 0.5, 0.9], 0.1) == pytest.approx([0.56, 0.46, 0.9])
    assert separate_labels([0.5, 0.5, 0.62], 0.1) == pytest.approx([0.44, 0.54, 0.64])


def test_the_numbers_of_the_lines_are_a_table(wine: dict[str, Any]) -> None:
    shown = collected(wine)["noise_experiment"]
    assert list(shown["n_added"]) == [0, 5, 10, 20, 30, 40, 50]
    random, copies = shown["tables"]
    assert copies["name"] == "Copies of alcohol"
    assert random["rows"][2][0] == "Neighbours"
    assert random["rows"][2][1][-1] == "75.0%"
    assert random["rows"][3] == ("Neighbours, selected", ["88.0%", "", "", "", "", "", "88.0%"])


def test_without_a_column_to_copy_there_is_one_panel(wine: dict[str, Any]) -> None:
    wine["noise_experiment"]["panels"].pop()
    wine["noise_experiment"]["copied"] = None
    assert [panel["chart"].name for panel in collected(wine)["noise_experiment"]["panels"]] == ["added-random"]


def test_either_half_is_shown_without_the_other(wine: dict[str, Any], bare: dict[str, Any]) -> None:
    assert collect_model_effect(record_of(bare)) is None
    without = collected(wine | {"noise_experiment": None})
    assert without["noise_experiment"] is None
    alone = collected(wine | {"model_effect": None})
    assert alone["compared"] is None
    assert alone["lead"].startswith("50 random columns lower the accuracy of nearest neighbours by 18.0 points")
    assert alone["lead"].endswith(".")


def test_a_note_shown_above_is_not_repeated(wine: dict[str, Any]) -> None:
    wine["model_effect"]["notes"] = [wine["warnings"][0]["sentence"], "5 folds in place of 10."]
    wine["noise_experiment"]["notes"] = ["5 folds in place of 10.", "100 of 900 rows, drawn at random."]
    shown = collected(wine)
    assert shown["notes"] == ["5 folds in place of 10."]
    assert shown["noise_experiment_notes"] == ["100 of 900 rows, drawn at random."]


def test_the_summary_states_the_effect_on_models(wine: dict[str, Any], bare: dict[str, Any]) -> None:
    assert "naive Bayes gains; nearest neighbours lose; " in summary(result_of(wine))
    assert "Effect on models:" not in summary(result_of(bare))


def test_names_that_are_html_are_text_in_every_chart() -> None:
    for panel in collected(sample.hostile())["noise_experiment"]["panels"]:
        page = ElementTree.fromstring(f"<page>{panel['chart'].svg()}</page>")
        assert {part.tag for part in page.iter()} <= {"page", "svg", "path", "text", "clipPath", "rect"}

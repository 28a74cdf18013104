"""The section on the effect of the selected columns, of noise columns and of copies on models."""

from __future__ import annotations

import itertools
import re
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from tamiz.assessment.score_report import NoiseExperiment, Recommendation
from tamiz.report import score_text
from tamiz.report.model_effect import collect_model_effect, separate_labels
from tamiz.runtime.codec import from_json

from . import sample, sample_model_effect
from .reading import panel_of, record_of, result_of, summary

NAMES = ["ash", "hue", "proline", "alcohol", "malic", "color"]


def effect_text(data: dict[str, Any]) -> str:
    return score_text.model_effect_text(from_json(Recommendation, data))


def cost(data: dict[str, Any], added: Any) -> str:
    """What the columns of one panel cost."""
    return score_text.added_columns_cost(added, from_json(NoiseExperiment, data))


def reselection(data: dict[str, Any], added: Any) -> str:
    return score_text.reselection_text(added, from_json(NoiseExperiment, data))


def collected(result: dict[str, Any]) -> dict[str, Any]:
    shown = collect_model_effect(record_of(result))
    assert shown is not None
    return shown


def compared(*changes: tuple[float, float]) -> dict[str, Any]:
    """A comparison by accuracy of three models whose changes and half intervals are given."""
    found = sample_model_effect.recommendation(NAMES, NAMES[:4])
    by_scores = list(zip(sample_model_effect.MODELS, (0.9, 0.93, 0.88), changes, strict=True))
    found["scorings"] = ["accuracy"]
    found["baseline"] = {"accuracy": sample_model_effect.baseline(0.4)}
    for name, one in found["candidates"].items():
        one["scores"] = {
            model: {
                "accuracy": sample_model_effect.folded(first, 0.03)
                if name == "all_columns"
                else sample_model_effect.changed(first, *change)
            }
            for model, first, change in by_scores
        }
    return found


def lost(size: float) -> dict[str, Any]:
    """A comparison in which naive Bayes gains, neighbours lose, and nothing is known of the tree."""
    return compared((0.031, 0.02), (-size, 0.03), (0.01, 0.06))


def test_the_lead_states_the_score_of_each_model_on_selected_and_on_all_columns_with_its_uncertainty() -> None:
    found = lost(0.05)
    first = found["candidates"]["cfs"]["fold_sets"]
    first[0] = "1" * 6
    text = effect_text(found)
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
    found = lost(0.05)
    found["candidates"]["cfs"]["fold_sets"] = ["000000"] * 10
    assert effect_text(found) == (
        "No column is selected in any of 10 folds of 178 rows, so there is nothing to compare with all columns."
    )


def test_the_titles_of_the_figure_follow_from_its_numbers() -> None:
    argument = sample_model_effect.noise_experiment()
    random, numbers = argument["random_scores"], argument["n_added"]

    def added(*line: float) -> Any:
        return [sample_model_effect.line(*line, numbers)]

    assert cost(argument, "random") == (
        "50 random columns lower the accuracy of nearest neighbours by 18.0 points and of decision tree by 4.0 points; "
        "that of naive Bayes does not change significantly"
    )
    assert cost(argument, "copies") == (
        "50 copies of flavanoids lower the accuracy of naive Bayes by 12.0 points; that of decision tree changes by at most "
        "0.02; that of nearest neighbours does not change significantly"
    )
    # Were it the other way round, so would be the title.
    random |= {"knn": added(0.93, 0.05, 0.02), "tree": added(0.88, 0.0, 0.01)}
    assert cost(argument, "random") == (
        "50 random columns raise the accuracy of nearest neighbours by 5.0 points; that of decision tree changes by at most "
        "0.02; that of naive Bayes does not change significantly"
    )
    random["naive_bayes"] = added(0.9, 0.0, 0.01)
    assert cost(argument, "random") == (
        "50 random columns raise the accuracy of nearest neighbours by 5.0 points; that of the other models changes by at "
        "most 0.02"
    )
    random |= dict.fromkeys(random, added(0.9, 0.0, 0.01))
    assert cost(argument, "random") == "50 random columns change the accuracy of no model by more than 0.02"
    random |= dict.fromkeys(random, added(0.9, 0.0, 0.1))
    assert cost(argument, "random") == "50 random columns change the accuracy of no model significantly"


def test_the_effect_on_a_numeric_target_is_stated_in_r2_without_percentage_points() -> None:
    argument = sample_model_effect.noise_experiment() | {"scoring": "r2"}
    assert cost(argument, "random").startswith(
        "50 random columns lower the R² of nearest neighbours by 0.180 and of decision tree by 0.040;"
    )
    found = lost(0.05)
    sample_model_effect.rename_scoring(found, "r2")
    assert "the R² is 0.931 for naive Bayes (0.900 with all columns)" in effect_text(found)


def test_a_loss_of_the_selected_columns_is_reported() -> None:
    argument = sample_model_effect.noise_experiment()
    selected = argument["random_selected_scores"]
    assert reselection(argument, "random") == (
        "keeps 0.3 a fold of the 50 random columns, and no score falls by more than 0.02."
    )
    argument["n_added_selected"] = argument["n_added_selected"] | {"random": [[0] * 10] * 2}
    selected["knn"] = [sample_model_effect.line(0.88, -0.06, 0.1, [0, 50])]
    assert reselection(argument, "random") == (
        "keeps none of the 50 random columns; scores fall by 6.0 points for nearest neighbours, which is not significant."
    )
    selected["tree"] = [sample_model_effect.line(0.88, -0.05, 0.01, [0, 50])]
    assert reselection(argument, "random").endswith("; scores still fall by 5.0 points for decision tree.")


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
        "AUC, each class against the rest, weighted by its rows",
        "Balanced accuracy",
    ]
    places = [re.findall(r'<circle class="(\w+)" cx="([\d.]+)%"', row["mark"]) for row in group["rows"]]
    assert [[kind for kind, _ in pair] for pair in places] == [["ring", "dot"]] * 3
    every, chosen = ([float(pair[k][1]) for pair in places] for k in (0, 1))
    means = [0.9, 0.93, 0.88, 0.931, 0.91, 0.89]
    slope, first = np.polyfit(means, [*every, *chosen], 1)
    assert slope > 0
    assert [*every, *chosen] == pytest.approx([first + slope * mean for mean in means], abs=0.1)


def test_theory_is_stated_with_the_models_that_deviate_from_it(wine: dict[str, Any]) -> None:
    random, numbers = wine["noise_experiment"]["random_scores"], wine["noise_experiment"]["n_added"]
    random["naive_bayes"] = [sample_model_effect.line(0.9, -0.031, 0.01, numbers)]
    shown = collected(wine)["noise_experiment"]["panels"][0]
    assert shown["why"].startswith("Expected: random columns add noise to the distances of nearest neighbours")
    assert shown["why"].endswith(" The result differs for naive Bayes (−3.1 points).")
    random["naive_bayes"] = [sample_model_effect.line(0.9, -0.031, 0.1, numbers)]
    assert "differs" not in collected(wine)["noise_experiment"]["panels"][0]["why"]


def test_one_chosen_column_is_the_chosen_one() -> None:
    assert score_text.chosen_columns_text([1] * 10) == "the selected one"
    assert score_text.chosen_columns_text([4, 6]) == "the 4 to 6 selected"


def test_no_bar_goes_beyond_what_a_score_can_be(wine: dict[str, Any]) -> None:
    cells = wine["recommendation"]["candidates"]["cfs"]["scores"]["naive_bayes"]
    cells["roc_auc_ovr_weighted"] = sample_model_effect.folded(0.99, 0.05)
    lines = [
        re.findall(r'x2="([\d.]+)%" y1="15"', row["mark"]) for row in collected(wine)["compared"]["groups"][0]["rows"]
    ]
    # The line of the scale, and that of the interval, which ends at an AUC of 1: the largest of all ends.
    assert float(lines[0][1]) == max(float(end) for pair in lines for end in pair[1:]) < 98
    assert score_text.score_interval((-0.4, 0.2), "r2") == (-0.4, 0.2)
    assert score_text.score_interval((-0.4, 1.2), "accuracy") == (0.0, 1.0)


def test_a_model_much_worse_than_the_mean_is_drawn_at_the_edge_and_reported(wine: dict[str, Any]) -> None:
    found, argument = wine["recommendation"], wine["noise_experiment"]
    argument["scoring"] = "r2"
    sample_model_effect.rename_scoring(found, "r2")
    found["candidates"]["all_columns"]["scores"]["knn"]["r2"] = sample_model_effect.folded(-3e16, 6e16, 1e16)
    argument["random_scores"]["knn"] = [sample_model_effect.line(-2e16, -1e16, 4e16, argument["n_added"])]
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
    experiment = wine["noise_experiment"]
    for added, numbers in itertools.product(("random", "copies"), ("n_added", "selection_n_added")):
        scores = experiment[f"{added}_scores" if numbers == "n_added" else f"{added}_selected_scores"]
        scores |= {key: [sample_model_effect.line(0.99, -0.001, 0.002, experiment[numbers])] for key in scores}
    for panel in collected(wine)["noise_experiment"]["panels"]:
        drawn = panel_of(panel["chart"])
        drawn.figure.draw_without_rendering()
        ticks = [label.get_text() for label in drawn.get_yticklabels()]
        assert len(set(ticks)) == len(ticks) > 2
        assert all(tick.endswith("%") for tick in ticks)


def test_the_table_contains_every_number_of_the_charts(wine: dict[str, Any]) -> None:
    groups = collected(wine)["compared"]["groups"]
    assert [group["baseline"] for group in groups] == ["0.500", "33.3%"]
    first = {key: value for key, value in groups[1]["rows"][0].items() if key != "mark"}
    assert first == {
        "name": "naive Bayes",
        "all_columns": "90.0% ± 3.0",
        "chosen": "93.1% ± 3.2",
        "difference": "+3.1 points",
        "between": "+1.1 to +5.1",
    }
    assert groups[0]["rows"][1]["chosen"] == "0.910 ± 0.032"


def test_both_panels_share_a_range_and_each_line_has_its_name_beside_its_end(wine: dict[str, Any]) -> None:
    shown = collected(wine)["noise_experiment"]
    charts = [panel["chart"] for panel in shown["panels"]]
    panels = [panel_of(chart) for chart in charts]
    assert panels[0].get_ylim() == panels[1].get_ylim()
    for panel, added in zip(panels, ("random", "copies"), strict=True):
        lines, dashed, bands = panel.lines[::2], panel.lines[1::2], panel.collections
        means = [np.mean(values, axis=(0, 2))[-1] for values in wine["noise_experiment"][f"{added}_scores"].values()]
        assert [line.get_ydata()[-1] for line in lines] == pytest.approx(means)
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
    experiment["random_scores"] = {
        model: [sample_model_effect.line(first, 0.0, 0.3, experiment["n_added"])]
        for model, first in zip(experiment["models"], (0.9, 0.5, 0.1), strict=True)
    }
    bands = panel_of(collected(wine)["noise_experiment"]["panels"][0]["chart"]).collections
    heights = [band.get_paths()[0].vertices[:, 1] for band in bands]
    np.testing.assert_allclose([(y.min(), y.max()) for y in heights], [(0.6, 1.0), (0.2, 0.8), (0.0, 0.4)])


def test_a_search_that_is_repeated_for_some_numbers_of_added_columns_is_reported(wine: dict[str, Any]) -> None:
    experiment = wine["noise_experiment"]
    stated = " The search is repeated only for 0 and 50 added columns."
    assert collected(wine)["noise_experiment"]["searched"] == stated
    experiment["n_added"] = experiment["selection_n_added"]
    for added in ("random", "copies"):
        experiment[f"{added}_scores"] = experiment[f"{added}_selected_scores"]
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
    experiment = wine["noise_experiment"]
    experiment |= {"copied_column": None, "copies_scores": {}, "copies_selected_scores": {}}
    experiment["n_added_selected"].pop("copies")
    assert [panel["chart"].name for panel in collected(wine)["noise_experiment"]["panels"]] == ["added-random"]


def test_either_half_is_shown_without_the_other(wine: dict[str, Any], bare: dict[str, Any]) -> None:
    assert collect_model_effect(record_of(bare)) is None
    without = collected(wine | {"noise_experiment": None})
    assert without["noise_experiment"] is None
    wine["recommendation"]["recommended"] = "all_columns"
    alone = collected(wine)
    assert alone["compared"] is None
    assert alone["lead"].startswith("50 random columns lower the accuracy of nearest neighbours by 18.0 points")
    assert alone["lead"].endswith(".")


def test_a_note_shown_above_is_not_repeated(wine: dict[str, Any]) -> None:
    wine["recommendation"]["notes"] = [wine["warnings"][0]["sentence"], "5 folds in place of 10."]
    wine["noise_experiment"]["notes"] = ["5 folds in place of 10.", "100 of 900 rows, drawn at random."]
    shown = collected(wine)
    assert shown["notes"] == ["5 folds in place of 10."]
    assert shown["noise_experiment_notes"] == ["100 of 900 rows, drawn at random."]


def test_the_summary_states_the_effect_on_models(wine: dict[str, Any], bare: dict[str, Any]) -> None:
    assert "naive Bayes gains; no significant difference for nearest neighbours and decision tree. " in summary(
        result_of(wine)
    )
    assert "Effect on models:" not in summary(result_of(bare))


def test_names_that_are_html_are_text_in_every_chart() -> None:
    for panel in collected(sample.hostile())["noise_experiment"]["panels"]:
        page = ElementTree.fromstring(f"<page>{panel['chart'].svg()}</page>")
        assert {part.tag for part in page.iter()} <= {"page", "svg", "path", "text", "clipPath", "rect"}

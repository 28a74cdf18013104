"""The section on the effect of random columns and of copies on models."""

from __future__ import annotations

import itertools
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from tamiz.assessment.score_report import NoiseExperiment
from tamiz.report import score_text
from tamiz.report.noise_experiment import collect_noise_experiment
from tamiz.runtime.codec import from_json

from . import sample, sample_model_effect
from .reading import panel_of, record_of


def cost(data: dict[str, Any], added: Any) -> str:
    """What the columns of one panel cost."""
    return score_text.added_columns_cost(added, from_json(NoiseExperiment, data))


def reselection(data: dict[str, Any], added: Any) -> str:
    return score_text.reselection_text(added, from_json(NoiseExperiment, data))


def collected(result: dict[str, Any]) -> dict[str, Any]:
    shown = collect_noise_experiment(record_of(result))
    assert shown is not None
    return shown


def test_the_titles_of_the_figure_follow_from_its_numbers() -> None:
    argument = sample_model_effect.noise_experiment()
    random, numbers = argument["random_scores"], argument["n_added"]

    def added(*line: float) -> Any:
        return [sample_model_effect.line(*line, numbers)]

    assert cost(argument, "random") == (
        "With 50 random columns, the accuracy changes for nearest neighbours (−18.0 points) and decision tree (−4.0 points); "
        "it changes within the error of the folds for naive Bayes (−1.0 point)"
    )
    assert cost(argument, "copies") == (
        "With 50 copies of flavanoids, the accuracy changes for naive Bayes (−12.0 points); it changes by at most 0.02 for "
        "decision tree; it changes within the error of the folds for nearest neighbours (−1.0 point)"
    )
    # Were it the other way round, so would be the title.
    random |= {"knn": added(0.93, 0.05, 0.02), "tree": added(0.88, 0.0, 0.01)}
    assert cost(argument, "random") == (
        "With 50 random columns, the accuracy changes for nearest neighbours (+5.0 points); it changes by at most 0.02 for "
        "decision tree; it changes within the error of the folds for naive Bayes (−1.0 point)"
    )
    random |= dict.fromkeys(random, added(0.9, 0.0, 0.01))
    assert cost(argument, "random") == (
        "With 50 random columns, the accuracy changes by at most 0.02 for naive Bayes, nearest neighbours and decision tree"
    )


def test_the_effect_on_a_numeric_target_is_stated_in_r2_without_percentage_points() -> None:
    argument = sample_model_effect.noise_experiment() | {"scoring": "r2"}
    assert cost(argument, "random").startswith(
        "With 50 random columns, the R² changes for nearest neighbours (−0.180) and decision tree (−0.040);"
    )


def test_the_lowest_change_of_a_score_with_selected_columns_is_stated_with_its_interval() -> None:
    argument = sample_model_effect.noise_experiment()
    selected = argument["random_selected_scores"]
    assert reselection(argument, "random").startswith("keeps 0.3 a fold of the 50 random columns; the lowest change ")
    argument["n_added_selected"] = argument["n_added_selected"] | {"random": [[0] * 10] * 2}
    selected["knn"] = [sample_model_effect.line(0.88, -0.06, 0.1, [0, 50])]
    assert reselection(argument, "random") == (
        "keeps 0.0 a fold of the 50 random columns; the lowest change of a score is that of nearest neighbours −6.0 points "
        "(−16.0 to +4.0)."
    )
    selected["tree"] = [sample_model_effect.line(0.88, -0.07, 0.01, [0, 50])]
    assert reselection(argument, "random").endswith("is that of decision tree −7.0 points (−8.0 to −6.0).")


def test_differences_have_their_sign_and_nothing_has_none() -> None:
    told, number = score_text.ScoreFormat("accuracy"), score_text.ScoreFormat("r2")
    assert score_text.format_difference(0.012, told) == "+1.2 points"
    assert score_text.format_difference(-0.01, told) == "−1.0 point"
    assert score_text.format_difference(0.0002, told) == "0.0 points"
    assert score_text.format_difference(-0.0001, number) == "0.000"
    assert score_text.format_interval((-0.0312, 0.004), number) == "−0.031 to +0.004"
    assert score_text.format_interval((-2.968e16, 123_456.7), number) == "−3 × 10¹⁶ to +123,457"


def test_an_interval_ends_at_what_a_score_can_be() -> None:
    assert score_text.ScoreFormat("r2").format_interval((-0.4, 1.2)) == "−0.400 to 1.000"
    assert score_text.ScoreFormat("accuracy").format_interval((-0.4, 1.2)) == "0.0% to 100.0%"


def test_a_model_much_worse_than_the_mean_is_drawn_at_the_edge_and_reported(wine: dict[str, Any]) -> None:
    argument = wine["noise_experiment"]
    argument["scoring"] = "r2"
    argument["random_scores"]["knn"] = [sample_model_effect.line(-2e16, -1e16, 4e16, argument["n_added"])]
    panels = collected(wine)["panels"]
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
    for panel in collected(wine)["panels"]:
        drawn = panel_of(panel["chart"])
        drawn.figure.draw_without_rendering()
        ticks = [label.get_text() for label in drawn.get_yticklabels()]
        assert len(set(ticks)) == len(ticks) > 2
        assert all(tick.endswith("%") for tick in ticks)


def test_both_panels_share_a_range_and_each_line_has_its_name(wine: dict[str, Any]) -> None:
    shown = collected(wine)
    charts = [panel["chart"] for panel in shown["panels"]]
    panels = [panel_of(chart) for chart in charts]
    assert panels[0].get_ylim() == panels[1].get_ylim()
    for panel, added in zip(panels, ("random", "copies"), strict=True):
        lines, dashed, bands = panel.lines[::2], panel.lines[1::2], panel.collections
        means = [np.mean(values, axis=(0, 2))[-1] for values in wine["noise_experiment"][f"{added}_scores"].values()]
        assert [line.get_ydata()[-1] for line in lines] == pytest.approx(means)
        assert all(line.get_linestyle() == "--" and list(line.get_xdata()) == [0, 50] for line in dashed)
        assert len(bands) == 3
        (legend,) = panel.figure.legends
        assert [text.get_text() for text in legend.get_texts()] == list(wine["noise_experiment"]["models"].values())
        # A model has one colour, which its line in the legend has too.
        for parts in zip(lines, dashed, legend.get_lines(), strict=True):
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
    bands = panel_of(collected(wine)["panels"][0]["chart"]).collections
    heights = [band.get_paths()[0].vertices[:, 1] for band in bands]
    np.testing.assert_allclose([(y.min(), y.max()) for y in heights], [(0.6, 1.0), (0.2, 0.8), (0.0, 0.4)])


def test_a_search_that_is_repeated_for_some_numbers_of_added_columns_is_reported(wine: dict[str, Any]) -> None:
    experiment = wine["noise_experiment"]
    stated = " The search is repeated only for 0 and 50 added columns."
    assert collected(wine)["searched"] == stated
    experiment["n_added"] = experiment["selection_n_added"]
    for added in ("random", "copies"):
        experiment[f"{added}_scores"] = experiment[f"{added}_selected_scores"]
    assert collected(wine)["searched"] == ""


def test_the_numbers_of_the_lines_are_a_table(wine: dict[str, Any]) -> None:
    shown = collected(wine)
    assert list(shown["experiment"].n_added) == [0, 5, 10, 20, 30, 40, 50]
    random, copies = shown["panels"]
    assert copies["name"] == "Copies of alcohol"
    assert random["rows"][2][0] == "5 nearest neighbours"
    assert random["rows"][2][1][-1] == "75.0%"
    assert random["rows"][3] == ("5 nearest neighbours, selected", ["88.0%", "", "", "", "", "", "88.0%"])


def test_without_a_column_to_copy_there_is_one_panel(wine: dict[str, Any]) -> None:
    experiment = wine["noise_experiment"]
    experiment |= {"copied_column": None, "copies_scores": {}, "copies_selected_scores": {}}
    experiment["n_added_selected"].pop("copies")
    assert [panel["chart"].name for panel in collected(wine)["panels"]] == ["added-random"]


def test_without_an_experiment_there_is_no_section(bare: dict[str, Any]) -> None:
    assert collect_noise_experiment(record_of(bare)) is None


def test_a_note_shown_above_is_not_repeated(wine: dict[str, Any]) -> None:
    wine["recommendation"]["notes"] = ["5 folds in place of 10."]
    wine["noise_experiment"]["notes"] = [
        wine["warnings"][0]["sentence"],
        "5 folds in place of 10.",
        "100 of 900 rows, drawn at random.",
    ]
    assert collected(wine)["notes"] == ["100 of 900 rows, drawn at random."]


def test_names_that_are_html_are_text_in_every_chart() -> None:
    for panel in collected(sample.hostile())["panels"]:
        page = ElementTree.fromstring(f"<page>{panel['chart'].svg()}</page>")
        assert {part.tag for part in page.iter()} <= {"page", "svg", "path", "text", "clipPath", "rect"}

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tamiz.report import charts
from tamiz.report.maps import collect_maps
from tamiz.report.ranking import collect_ranking
from tamiz.report.subset import collect_subset
from tamiz.report.table import collect_table


def collected(section: Any, result: dict[str, Any]) -> dict[str, Any]:
    shown: dict[str, Any] | None = section(result)
    assert shown is not None
    return shown


def test_the_table_tells_rows_without_a_target(wine: dict[str, Any]) -> None:
    told = collected(collect_table, wine)
    assert told["lead"] == "180 rows and 16 columns beside the target class; 2 rows without a target are not used."
    assert dict(told["facts"]) == {
        "Kinds": "13 numeric, 2 categorical and 1 id",
        "Missing values": "in 2 columns, most 12 gaps in cellar",
        "Constant columns": "country",
    }


def test_the_largest_class_stands_first_with_its_share(wine: dict[str, Any]) -> None:
    balance = collected(collect_table, wine)["balance"]
    assert balance["title"] == "Grignolino is the largest of 3 classes: 40% of the rows"
    assert balance["chart"]["data"][0]["x"] == [71.0, 59.0, 48.0]
    assert balance["chart"]["data"][0]["text"][0] == "71 (40%)"


def test_many_classes_are_put_together(wine: dict[str, Any]) -> None:
    wine["table"]["classes"] = [{"name": f"c{i}", "weight": float(100 - i)} for i in range(30)]
    chart = collected(collect_table, wine)["balance"]["chart"]
    assert chart["layout"]["yaxis"]["ticktext"][-1] == "19 more classes together"
    assert sum(chart["data"][0]["x"]) == sum(100 - i for i in range(30))


def test_a_left_out_column_keeps_its_reason(wine: dict[str, Any]) -> None:
    told = collected(collect_table, wine)
    assert [column["name"] for column in told["left_out"]] == ["country", "bottle"]
    assert [row["note"] for row in told["columns"][-3:]] == ["", "left out", "left out"]


def test_the_ranking_is_sorted_by_the_first_criterion_with_the_unscored_last(wine: dict[str, Any]) -> None:
    told = collected(collect_ranking, wine)
    first = [row["scores"][0]["value"] for row in told["rows"]]
    assert first[:-2] == sorted((v for v in first if v is not None), reverse=True)
    assert [row["name"] for row in told["rows"][-2:]] == ["country", "bottle"]
    assert (
        told["lead"] == "flavanoids says most about class: information gain 0.8718 bits; 1 column says nothing at all."
    )


def test_ties_keep_the_order_of_the_table(wine: dict[str, Any]) -> None:
    wine["ranking"]["scores"]["information_gain"] = [0.5] * 16
    assert [row["name"] for row in collected(collect_ranking, wine)["rows"]] == wine["ranking"]["columns"]


def test_the_bar_of_the_best_is_full_and_a_score_below_zero_has_none(wine: dict[str, Any]) -> None:
    wine["ranking"]["scores"]["information_gain"] = [-0.5, 1.0, 0.25, *[0.00001] * 13]
    scores = {row["name"]: row["scores"][0] for row in collected(collect_ranking, wine)["rows"]}
    assert [(scores[n]["text"], scores[n]["percent"]) for n in ("malic_acid", "ash", "alcohol", "hue")] == [
        ("1.000", "100.0"),
        ("0.250", "25.0"),
        ("−0.500", "0.0"),
        ("<0.001", "0.0"),
    ]


def test_no_cut_is_told_apart_from_a_column_that_is_not_cut(wine: dict[str, Any]) -> None:
    cuts = {row["name"]: row["cuts"] for row in collected(collect_ranking, wine)["rows"]}
    assert (cuts["ash"], cuts["cellar"]) == ("no cut", "")
    assert cuts["magnesium"] == "88, 98, 107"


def test_nothing_scored_is_told(wine: dict[str, Any]) -> None:
    wine["ranking"]["scores"]["information_gain"] = [None] * 16
    assert collected(collect_ranking, wine)["lead"] == "No column could be scored by information gain."


def test_the_steps_add_up_to_the_subset(wine: dict[str, Any]) -> None:
    told = collected(collect_subset, wine)
    kept: set[str] = set()
    for step in told["steps"]:
        kept = (kept | set(step["added"])) - set(step["removed"])
    assert kept == set(wine["subset"]["columns"]) == set(told["columns"])
    assert told["steps"][0] | {"merit": "0", "gain": "", "size": 0} == told["steps"][0]


def test_the_line_of_the_best_runs_to_the_last_evaluation_and_never_falls(wine: dict[str, Any]) -> None:
    dots, line = collected(collect_subset, wine)["chart"]["data"]
    assert line["x"][-1] == wine["subset"]["n_evaluations"] == max(dots["x"])
    assert line["y"] == sorted(line["y"])
    assert line["y"][-1] == pytest.approx(max(dots["y"]))


def test_an_empty_subset_is_told(wine: dict[str, Any]) -> None:
    wine["subset"] |= {"columns": [], "value": 0.0, "course": wine["subset"]["course"][:1]}
    assert collected(collect_subset, wine)["lead"].startswith("CFS keeps none of the 16 columns")


def test_no_search_and_no_map_are_no_section(bare: dict[str, Any]) -> None:
    bare["maps"] = []
    assert collect_subset(bare) is None
    assert collect_maps(bare) is None


def test_more_than_ten_levels_put_the_rarest_together(wine: dict[str, Any]) -> None:
    codes = np.repeat(np.arange(14), np.arange(6, 20))[:178]
    wine["colors"][-1] |= {"values": codes.tolist(), "levels": [f"cellar {i}" for i in range(14)]}
    spec = collected(collect_maps, wine)["colors"][-1]["spec"]
    assert spec["groups"] == [*(f"cellar {i}" for i in range(5, 14)), "other (5 levels)"]
    assert spec["group"] == [9, 9, 9, 9, 9, 0, 1, 2, 3, 4, 5, 6, 7, 8]


def test_a_level_that_no_point_has_takes_no_colour(wine: dict[str, Any]) -> None:
    wine["colors"][0]["levels"] = ["Barolo", "Grignolino", "Barbera", "Nebbiolo"]
    spec = collected(collect_maps, wine)["colors"][0]["spec"]
    assert spec["groups"] == ["Barolo", "Grignolino", "Barbera"]
    assert spec["group"] == [0, 1, 2, -1]


def test_the_loadings_are_the_ten_largest_by_size_with_their_sign(wine: dict[str, Any]) -> None:
    first, second = collected(collect_maps, wine)["maps"][0]["loadings"]
    values = np.array(wine["maps"][0]["loadings"]["values"])
    order = np.argsort(-np.abs(values[:, 1]), kind="stable")[:10]
    assert [row["name"] for row in second["rows"]] == [wine["maps"][0]["loadings"]["columns"][j] for j in order]
    assert [row["negative"] for row in second["rows"]] == (values[order, 1] < 0).tolist()
    assert first["rows"][0]["percent"] == "50.0"


def test_the_curve_tells_how_many_components_hold_four_fifths(wine: dict[str, Any]) -> None:
    shown = collected(collect_maps, wine)["maps"][0]
    assert shown["scree"]["title"] == "5 components of 13 hold 80% of the total variance"
    assert shown["lead"] == "PC 1 and PC 2 hold 55% of the total variance."


def test_drawn_points_are_told_apart_from_all_rows(wine: dict[str, Any]) -> None:
    wine["table"]["n_rows_used"] = 50_000
    assert "178 of the 50,000" in collected(collect_maps, wine)["maps"][0]["title"]


def test_a_map_that_holds_little_is_not_read_as_the_whole(wine: dict[str, Any]) -> None:
    assert "Points near each other are rows with like values." in collected(collect_maps, wine)["maps"][0]["near"]
    wine["maps"][0]["spectrum"]["cumulative"][1] = 0.2
    near = collected(collect_maps, wine)["maps"][0]["near"]
    assert near.startswith("Both axes together hold only 20% of the total variance: rows that look near may be far")


def test_axes_of_like_length_share_one_scale() -> None:
    assert charts.equal_scales([[0, 0], [3, 1]])
    assert not charts.equal_scales([[0, 0], [5, 1]])
    assert not charts.equal_scales([[0, 0], [5, 0]])


def _seen(color: str, matrix: Any) -> np.ndarray[Any, Any]:
    rgb = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    x, y, z = np.cbrt(to_xyz @ np.clip(np.array(matrix) @ linear, 1e-9, 1) / [0.9505, 1, 1.089])
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


# Machado, Oliveira and Fernandes (2009), at full severity.
EYES = {
    "normal": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}


@pytest.mark.parametrize("eye", EYES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_colours_of_levels_are_told_apart_by_every_eye(scheme: str, eye: str) -> None:
    seen = [_seen(color, EYES[eye]) for color in charts.themes()[scheme]["levels"]]
    distances = [np.linalg.norm(a - b) for i, a in enumerate(seen) for b in seen[:i]]
    # Two is what a trained eye just sees; ten is another colour.
    assert min(distances) > 10


def test_there_is_a_shape_for_every_colour() -> None:
    themes = charts.themes()
    assert len(set(themes["shapes"])) == len(themes["light"]["levels"]) == len(themes["dark"]["levels"]) == 10

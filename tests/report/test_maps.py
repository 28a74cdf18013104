"""Maps and graphs without information are reported as such."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tamiz.report.maps import collect_graph, collect_maps

from .reading import record_of, result_of


def first_map(result: dict[str, Any]) -> dict[str, Any]:
    shown = collect_maps(record_of(result))
    assert shown is not None
    first: dict[str, Any] = shown["maps"][0]
    return first


def test_components_that_were_not_computed_are_not_counted(wine: dict[str, Any]) -> None:
    spectrum = wine["maps"][0]["spectrum"]
    for part in ("values", "cumulative", "reference"):
        spectrum[part] = spectrum[part][:6]
    spectrum["chance_title"] = (
        "The first 3 components explain more variance than expected by chance; component 4 does not"
    )
    shown = first_map(wine)["spectrum"]
    assert shown["title"] == spectrum["chance_title"]
    assert "The first 5 components account for 80% of the total variance." in shown["note"]


def test_rows_at_a_single_point_are_reported_and_not_drawn(wine: dict[str, Any], tmp_path: Path) -> None:
    flat = wine["maps"][0]
    flat["points"] = [[0.0, 0.0]] * len(flat["points"])
    for part in ("values", "cumulative"):
        flat["spectrum"][part] = [0.0] * 10
    wine["maps"], wine["quality"] = [flat], None
    shown = first_map(wine)
    assert shown["lead"] == "All rows have the same coordinates: no column of this map varies."
    assert not any((shown["drawn"], shown["picture"], shown["spectrum"], shown["axes"], shown["left_out"]))
    result_of(wine).to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Each point is one of" not in page
    assert "left out on request" not in page


def test_equal_eigenvalues_are_reported_as_without_information(wine: dict[str, Any]) -> None:
    wine["maps"][0]["spectrum"] |= {"values": [14 / 13, 14 / 13 + 1e-15, 14 / 13], "cumulative": [], "residuals": []}
    shown = first_map(wine)
    assert shown["lead"].startswith("All eigenvalues are equal, as for a complete graph:")
    assert shown["axes"] is None


def test_a_complete_graph_is_reported_as_without_information(wine: dict[str, Any]) -> None:
    wine["graph"] |= {"n_rows": 14, "n_edges": 91, "unweighted": True, "components": {"n": 1, "sizes": [14]}}
    told = collect_graph(record_of(wine))
    assert told is not None
    assert (
        told["lead"]
        == "91 edges join 14 rows, in one component; it is complete, so it has no information on neighbours."
    )
    assert told["cautions"][0].startswith("Every row is joined to every other")
    wine["graph"]["n_edges"] = 90
    told = collect_graph(record_of(wine))
    assert told is not None
    assert not told["cautions"]


def test_a_map_with_a_few_far_rows_shows_the_others_and_says_so(wine: dict[str, Any]) -> None:
    first = wine["maps"][0]
    assert first_map(wine)["drawn"]["beyond"] == ""
    points = np.array(first["points"])
    assert first_map(wine)["drawn"]["extent"] == [
        (low, high) for low, high in zip(points.min(0), points.max(0), strict=True)
    ]
    first["points"][7] = [500.0, 0.0]
    drawn = first_map(wine)["drawn"]
    assert drawn["beyond"] == "1 row far from the others is beyond the edges; − shows all."
    (left, right), _ = drawn["extent"]
    others = np.delete(points, 7, axis=0)
    assert left <= others[:, 0].min()
    assert others[:, 0].max() <= right < 20
    assert first_map(wine)["picture"].count("h0") == len(points) - 1


def test_many_far_rows_are_not_left_out(wine: dict[str, Any]) -> None:
    for k in range(9):
        wine["maps"][0]["points"][k] = [500.0 + k, 0.0]
    assert first_map(wine)["drawn"]["beyond"] == ""

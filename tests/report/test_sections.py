from __future__ import annotations

import re
from importlib.resources import files
from typing import Any

import numpy as np
import pytest

from tamiz.display import figures
from tamiz.display.embedding import biplot_arrows
from tamiz.report import drawing
from tamiz.report.columns import ranking_notes
from tamiz.report.maps import collect_graph, collect_maps
from tamiz.report.quality import _shapes, collect_quality
from tamiz.report.subset import collect_subset
from tamiz.report.table import collect_table, values_text

from . import sample
from .reading import collected, panel_of, record_of, render


def test_the_table_states_what_is_used(wine: dict[str, Any]) -> None:
    told = collected(collect_table, wine)
    facts = ("180 rows", "16 columns", "target class", "used are 178 rows and 14 columns")
    assert all(fact in told["lead"] for fact in facts)
    told_facts = dict(told["facts"])
    missing = told_facts.pop("Missing values")
    assert missing.startswith("cellar (12) and ")
    assert told_facts == {
        "Kinds": "13 numeric, 2 categorical and 1 id",
        "Constant columns": "country",
        "Duplicate rows": "none",
        "Duplicate columns": "none",
    }


def test_columns_with_roles_are_listed_among_the_facts(wine: dict[str, Any]) -> None:
    wine["table"] |= {"weight_column": "w", "group_column": "patient", "time_column": "day"}
    told = dict(collected(collect_table, wine)["facts"])
    assert [told[name] for name in ("Row weights", "Groups of rows", "Time of rows")] == [
        "from the column w",
        "from the column patient",
        "from the column day",
    ]


def test_the_largest_class_is_shown_first_with_its_share(wine: dict[str, Any]) -> None:
    balance = collected(collect_table, wine)["balance"]
    assert [(row["rows"], row["share"]) for row in balance] == [("71", "40%"), ("59", "33%"), ("48", "27%")]
    assert "The largest of 3 classes has 40% of the rows" in render(wine)
    assert [row["percent"] for row in balance] == [f"{100 * n / 178:.1f}" for n in (71, 59, 48)]


def test_many_classes_are_put_together(wine: dict[str, Any]) -> None:
    wine["table"]["classes"] = [{"name": f"c{i}", "weight": float(100 - i)} for i in range(30)]
    rows = collected(collect_table, wine)["balance"]
    assert rows[-1]["name"] == "19 others"
    assert sum(float(row["percent"]) for row in rows) == pytest.approx(100, abs=0.5)


def test_the_order_of_the_rows_is_no_fact_of_the_table(wine: dict[str, Any]) -> None:
    wine["table"]["row_order"] = "The rows are sorted by class."
    assert "The rows are sorted by class." not in dict(collected(collect_table, wine)["facts"]).values()
    assert "The rows are sorted by class." in render(wine)


def test_years_have_no_separator_of_thousands(wine: dict[str, Any]) -> None:
    numbers = wine["table"]["columns"][0]["numbers"]
    numbers |= {"min": 1900.0, "mean": 1987.25, "max": 2024.0}
    assert "smallest 1900, mean 1987, largest 2024" in values_text(record_of(wine).table.columns[0])
    # Numbers of anything else have one.
    numbers["max"] = 20_240.0
    assert "smallest 1,900" in values_text(record_of(wine).table.columns[0])


def test_a_score_named_after_a_person_keeps_its_capital(wine: dict[str, Any]) -> None:
    wine["ranking"]["criteria"][0] |= {"label": "Laplacian score", "unit": ""}
    wine["ranking"]["mean_rank"] = None
    assert ": Laplacian score 0.8718; the Laplacian score of " in collected(ranking_notes, wine)["lead"]


def test_a_ranking_without_scores_is_reported(wine: dict[str, Any]) -> None:
    wine["ranking"]["scores"]["information_gain"] = [None] * 16
    assert collected(ranking_notes, wine)["lead"] == "No column could be scored by information gain."


def test_the_steps_add_up_to_the_subset(wine: dict[str, Any]) -> None:
    told = collected(collect_subset, wine)
    kept: set[str] = set()
    for step in told["steps"]:
        kept = (kept | set(step["added"])) - set(step["removed"])
    assert kept == set(wine["subset"]["columns"])
    assert told["steps"][0] | {"merit": "0.0000", "gain": ""} == told["steps"][0]


def test_every_subset_is_a_point_under_the_line_of_the_best_of_each_size_and_the_kept_one_has_a_ring(
    wine: dict[str, Any],
) -> None:
    subset = wine["subset"]
    told = collected(collect_subset, wine)
    dots, line, ring = panel_of(told["chart"]).lines
    points = [*zip(subset["points"]["sizes"], subset["points"]["merits"], strict=True)]
    assert subset["n_evaluations"] == len(points) > 50
    assert {(float(x), float(y)) for x, y in dots.get_xydata()} == {(float(x), y) for x, y in points}
    best = {size: max(y for x, y in points if x == size) for size in {x for x, _ in points}}
    assert dict(zip(line.get_xdata(), line.get_ydata(), strict=True)) == best
    assert ring.get_xydata().tolist() == [[len(subset["columns"]), max(best.values())]]
    # All of them are drawn, so none is counted.
    assert told["drawn"].startswith("Each dot is an evaluated subset. ")
    assert told["best"][1] == {
        "size": 2, "merit": f"{subset['frontier'][2]['merit']:.4f}", "columns": "flavanoids and proline"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("frontier", "title"),
    [
        ([0, 0.5, 0.9, 1.0], "The merit is highest with 3 columns"),
        ([0, 0.96, 0.99, 1.0], "The merit is highest with 3 columns; 96% of it with 1"),
        ([0, 0.5, 0.96, 1.0], "The merit is highest with 3 columns; 96% of it with 2"),
        ([0, 0.5, 0.9, 1.0, 1.2], "The merit is highest with 4 columns, and of the requested sizes with 3"),
        # By a hair, which a search that asks for a gain may leave.
        ([0, 0.5, 0.9, 1.0, 1.00001], "The merit is highest with 3 columns"),
        ([-3, -2, -1.9, -1], "The merit is highest with 3 columns"),
    ],
)
def test_the_title_states_how_many_columns_are_best_and_how_few_nearly(
    frontier: list[float], title: str, wine: dict[str, Any]
) -> None:
    wine["subset"] |= {
        "columns": ["ash", "hue", "proline"],
        "value": frontier[3],
        "frontier": [{"size": k, "merit": m, "columns": []} for k, m in enumerate(frontier)],
    }
    assert collected(collect_subset, wine)["title"] == title


def test_a_certificate_is_stated_in_plain_words(wine: dict[str, Any]) -> None:
    assert [term for term, _ in collected(collect_subset, wine)["facts"]][-1] == "Reason for stopping"
    wine["subset"] |= {"value": 0.29, "bound": 0.31}
    told = collected(collect_subset, wine)["facts"][-1]
    assert told == ("Proven", "no permitted subset has a merit above 0.31, which is 0.02 more")
    wine["subset"] |= {"bound": 0.29}
    told = collected(collect_subset, wine)["facts"][-1]
    assert told == ("Proven best", "no permitted subset is better")


def test_subsets_that_were_counted_and_not_written_down_or_not_drawn_are_reported(wine: dict[str, Any]) -> None:
    drawn = len(wine["subset"]["points"]["sizes"])
    wine["subset"] |= {"n_evaluations": 2**28, "n_recorded": drawn}
    told = collected(collect_subset, wine)
    assert dict(told["facts"])["Subsets evaluated"] == "268,435,456; only improvements were recorded"
    assert f"({drawn} of 268,435,456 are drawn)" in told["drawn"]
    wine["subset"] |= {"n_evaluations": 50_000, "n_recorded": 50_000}
    told = collected(collect_subset, wine)
    assert f"({drawn} of 50,000 are drawn)" in told["drawn"]


def test_two_sizes_are_no_picture(wine: dict[str, Any]) -> None:
    wine["subset"]["frontier"] = wine["subset"]["frontier"][:2]
    assert collected(collect_subset, wine)["chart"] is None


def test_an_empty_subset_is_reported(wine: dict[str, Any]) -> None:
    wine["subset"] |= {"columns": [], "value": 0.0, "course": wine["subset"]["course"][:1]}
    assert collected(collect_subset, wine)["lead"].startswith("CFS selects none of the 14 columns")


def test_a_subset_is_counted_among_the_columns_that_take_part(wine: dict[str, Any]) -> None:
    assert len(wine["table"]["columns"]) == 16
    assert f" {len(wine['subset']['columns'])} of 14 columns:" in collected(collect_subset, wine)["lead"]


def test_the_merit_and_the_search_are_stated(wine: dict[str, Any]) -> None:
    wine["subset"]["merit"]["label"] = "accuracy of Gaussian naive Bayes"
    wine["subset"]["scoring_note"] = "GaussianNB is not refitted."
    shown = collected(collect_subset, wine)
    assert shown["lead"].startswith("By accuracy of Gaussian naive Bayes, the search ")
    assert ("Scored", "GaussianNB is not refitted.") in shown["facts"]
    wine["subset"]["scoring_note"] = ""
    assert "Scored" not in dict(collected(collect_subset, wine)["facts"])


def test_no_search_and_no_map_are_no_section(bare: dict[str, Any]) -> None:
    bare |= {"maps": [], "quality": None}
    assert collect_subset(record_of(bare)) is None
    assert collect_maps(record_of(bare)) is None


def colourings(result: dict[str, Any]) -> list[dict[str, Any]]:
    offered: list[dict[str, Any]] = collected(collect_maps, result)["about"]["colors"]
    return offered


def test_more_than_ten_levels_put_the_rarest_together(wine: dict[str, Any]) -> None:
    codes = np.repeat(np.arange(14), [*range(6, 19), 22])
    wine["colors"][-2] |= {"values": codes.tolist(), "levels": [f"cellar {i}" for i in range(14)]}
    spec = colourings(wine)[-4]
    assert spec["groups"] == [*(f"cellar {i}" for i in range(5, 14)), "other (5 levels)"]
    assert spec["group"] == [9, 9, 9, 9, 9, 0, 1, 2, 3, 4, 5, 6, 7, 8]


def test_a_level_that_no_point_has_takes_no_colour(wine: dict[str, Any]) -> None:
    wine["colors"][0]["levels"] = ["Barolo", "Grignolino", "Barbera", "Nebbiolo"]
    spec = colourings(wine)[0]
    assert spec["groups"] == ["Barolo", "Grignolino", "Barbera"]
    assert spec["group"] == [0, 1, 2, -1]


def explained(result: dict[str, Any], k: int = 0) -> list[dict[str, Any]]:
    sides: list[dict[str, Any]] = collected(collect_maps, result)["maps"][k]["axes"]["sides"]
    return sides


def test_the_columns_that_explain_an_axis_are_the_four_largest_by_size_with_their_sign(wine: dict[str, Any]) -> None:
    told = wine["maps"][0]["explanation"]
    values, chance = np.array(told["values"]), np.array(told["chance"])
    for axis, side in enumerate(explained(wine)):
        sizes = np.abs(values[:, axis])
        # What chance would give as well explains nothing.
        explaining = [j for j in np.argsort(-sizes, kind="stable") if sizes[j] >= max(0.3, 1.5 * chance[j])]
        texts = [f"{values[j, axis]:.2f}".replace("-", "−") for j in explaining[:4]]
        assert [(column["name"], column["text"].removeprefix("η ")) for column in side["columns"]] == [
            (told["columns"][j], text) for j, text in zip(explaining, texts, strict=False)
        ]
        assert side["more"] == max(len(explaining) - 4, 0)
    assert explained(wine)[0]["title"] == "PC 1 falls as flavanoids rises"


@pytest.mark.parametrize(
    ("values", "chance", "title", "note"),
    [
        ([0.7, -0.9], 0.1, "PC 1 falls as ash rises", ""),
        ([0.7, -0.5], 0.1, "PC 1 rises with alcohol", ""),
        ([0.2, -0.29], 0.1, "No column reaches a correlation of 0.3 with PC 1", ""),
        (
            [0.5, -0.2], 0.4, "No column reaches a correlation of 0.3 with PC 1 beyond chance",
            "The correlation of alcohol is near the chance level.",
        ),
    ],
)  # fmt: skip
def test_the_title_states_which_column_explains_an_axis_or_that_none_does(
    values: list[float], chance: float, title: str, note: str, wine: dict[str, Any]
) -> None:
    wine["maps"][0]["explanation"] |= {
        "columns": ["alcohol", "ash"],
        "kinds": ["numeric"] * 2,
        "values": [[v, 0.0] for v in values],
        "chance": [chance] * 2,
    }
    table = explained(wine)[0]
    assert (table["title"], table["note"]) == (title, note)


def test_a_category_has_a_correlation_ratio_without_a_sign(wine: dict[str, Any]) -> None:
    told = wine["maps"][0]["explanation"]
    told["values"][-1][0] = 0.97
    assert explained(wine)[0]["title"] == "PC 1 separates the levels of cellar"
    assert explained(wine)[0]["columns"][0] == {"name": "cellar", "text": "η 0.97"}


def test_a_category_of_many_levels_must_beat_what_chance_gives(wine: dict[str, Any]) -> None:
    told = wine["maps"][0]["explanation"]
    told["values"][-1][0], told["chance"][-1] = 0.95, 0.9
    table = explained(wine)[0]
    assert table["title"] == "PC 1 falls as flavanoids rises"
    assert "cellar" not in [column["name"] for column in table["columns"]]
    told |= {part: told[part][-2:] for part in ("values", "columns", "kinds", "chance")}
    table = explained(wine)[0]
    assert [column["name"] for column in table["columns"]] == ["proline"]
    assert table["note"] == "The correlation of cellar is near the chance level."


def test_a_map_of_one_axis_has_one_table_and_no_arrows(wine: dict[str, Any]) -> None:
    reduced = wine["maps"][0]
    reduced["axes"] = ["PC 1"]
    reduced["points"] = [[x] for x, _ in reduced["points"]]
    for part in ("loadings", "explanation"):
        reduced[part]["values"] = [row[:1] for row in reduced[part]["values"]]
    reduced["spectrum"] |= {"values": [1.0], "cumulative": [1.0], "reference": [1.0]}
    shown = collected(collect_maps, wine)["maps"][0]
    assert len(shown["axes"]["sides"]) == 1
    assert (shown["arrows"], shown["drawn"]["arrows"]) == ("", [])
    assert shown["spectrum"]["title"] == wine["maps"][0]["spectrum"]["chance_title"]


def test_the_arrows_of_one_scale_lead_along_the_slopes_and_else_along_the_loadings(wine: dict[str, Any]) -> None:
    reduced = wine["maps"][0]
    points = np.array(reduced["points"])
    loadings = np.array(reduced["loadings"]["values"])[:, :2]
    drawn = biplot_arrows(points.tolist(), loadings.tolist(), one_scale=True)
    assert [arrow.column for arrow in drawn] == np.argsort(-np.hypot(*loadings.T), kind="stable")[:8].tolist()
    tips = np.array([[arrow.x, arrow.y] for arrow in drawn])
    spread = np.sqrt((points**2).mean(0))
    slopes = (loadings / spread)[[arrow.column for arrow in drawn]]
    np.testing.assert_allclose(tips / np.hypot(*tips.T).max(), slopes / np.hypot(*slopes.T).max(), atol=1e-12)
    # One in ten points lies farther than the longest arrow.
    assert (np.hypot(*points.T) > np.hypot(*tips.T).max() + 1e-9).mean() == pytest.approx(0.1, abs=0.01)
    far = biplot_arrows((points * [100, 1]).tolist(), loadings.tolist(), one_scale=False)
    tips = np.array([[arrow.x, arrow.y] for arrow in far]) / (spread * [100, 1])
    longest = loadings[[arrow.column for arrow in far]]
    np.testing.assert_allclose(tips / np.hypot(*tips.T).max(), longest / np.hypot(*longest.T).max(), atol=1e-12)


def test_axes_without_a_direction_have_no_arrow() -> None:
    points = [[1.0, 0.0], [-1.0, 0.0]]
    assert biplot_arrows(points, [[0.0, 0.0], [0.0, 1.0]], one_scale=True) == []
    (arrow,) = biplot_arrows(points, [[1.0, 0.0], [1e-12, 0.0]], one_scale=True)
    assert (arrow.x, arrow.y) == (1.0, 0.0)
    assert biplot_arrows(points, [], one_scale=False) == []


def test_a_map_without_points_has_no_arrows_and_is_explained_all_the_same(bare: dict[str, Any]) -> None:
    shown = collected(collect_maps, bare)
    assert not shown["has_arrows"]
    assert len(shown["maps"][0]["axes"]["sides"]) == 2


def test_the_curve_states_how_many_components_explain_four_fifths(wine: dict[str, Any]) -> None:
    wine["maps"][0]["spectrum"]["reference"] = []
    shown = collected(collect_maps, wine)["maps"][0]
    assert shown["spectrum"]["title"] == "The first 5 components of 13 account for 80% of the total variance"
    assert shown["lead"] == "PC 1 and PC 2 account for 55% of the total variance."
    assert len(panel_of(shown["spectrum"]["chart"]).lines) == 1
    spectrum = wine["maps"][0]["spectrum"]
    for part in ("values", "cumulative"):
        spectrum[part] = spectrum[part][:3]
    title = collected(collect_maps, wine)["maps"][0]["spectrum"]["title"]
    assert title == "The first 3 components account for 67% of the total variance"


def test_shares_are_drawn_beside_those_by_chance_and_the_title_counts_those_above(wine: dict[str, Any]) -> None:
    spectrum = wine["maps"][0]["spectrum"]
    shown = collected(collect_maps, wine)["maps"][0]["spectrum"]
    assert shown["title"] == spectrum["chance_title"]
    assert shown["note"].startswith(
        "By chance is the mean of 20 tables of independent columns. The first 5 components of 13 account for"
    )
    shares, chance = panel_of(shown["chart"]).lines
    assert shares.get_ydata() == pytest.approx(spectrum["values"])
    assert chance.get_ydata() == pytest.approx(spectrum["reference"])
    assert (chance.get_label(), chance.get_linestyle()) == ("by chance (parallel analysis)", "--")


def test_the_number_of_components_above_chance_is_read_from_the_map(wine: dict[str, Any]) -> None:
    spectrum = wine["maps"][0]["spectrum"]
    spectrum["chance_title"] = "2 of 13 components are above chance"
    spectrum["reference"] = [0.5] * 13
    assert collected(collect_maps, wine)["maps"][0]["spectrum"]["title"] == "2 of 13 components are above chance"


def test_images_beyond_those_drawn_are_counted() -> None:
    result = sample.digits()
    result["maps"][0]["galleries"][1]["n_images"] = 40
    notes = re.findall(r'<p class="hint">(What they show.*?)</p>', render(result))
    assert notes == ["What they show.", "What they show. The first 10 of 40 are shown.", "What they show."]


def test_drawn_points_are_distinguished_from_all_rows(wine: dict[str, Any]) -> None:
    wine["table"]["n_rows_used"] = 50_000
    assert "each of the 178 rows" in collected(collect_maps, sample.wine())["points"]
    assert collected(collect_maps, wine)["points"].startswith("A map shows 178 of the 50,000 rows as a point")


def test_a_map_with_little_explained_variance_has_a_caution(wine: dict[str, Any]) -> None:
    assert "Points near each other are rows with similar values." in collected(collect_maps, wine)["maps"][0]["near"]
    wine["maps"][0]["spectrum"]["cumulative"][1] = 0.2
    near = collected(collect_maps, wine)["maps"][0]["near"]
    assert near.startswith("The two axes account for only 20% of the total variance: rows that look near may be far")


def test_eigenvalues_are_shown_with_their_residuals_and_without_shares(wine: dict[str, Any]) -> None:
    shown = collected(collect_maps, wine)["maps"][1]
    values = wine["maps"][1]["spectrum"]["values"]
    assert values[:2] == pytest.approx([0.0359, 0.1061], abs=1e-4)
    assert shown["spectrum"]["title"] == "The first two eigenvalues are 0.036 and 0.11"
    assert shown["spectrum"]["note"].endswith("The residuals of the eigenvalues are below 10⁻¹⁴.")
    (line,) = panel_of(shown["spectrum"]["chart"]).lines
    assert line.get_ydata() == pytest.approx(values)
    assert "%" not in shown["spectrum"]["title"] + shown["lead"] + shown["drawn"]["axes"][0]
    assert shown["lead"] == "Points near each other are rows that few steps along the graph join."


@pytest.mark.parametrize(
    ("values", "residuals", "title", "note"),
    [
        ([0.25], [2e-7], "The eigenvalue is 0.25", "The residuals of the eigenvalues are below 10⁻⁶."),
        (
            [0.25, 0.5],
            [0.0, 0.0],
            "The first two eigenvalues are 0.25 and 0.5",
            "The residuals of the eigenvalues are 0.",
        ),
        ([0.25, 0.5], [], "The first two eigenvalues are 0.25 and 0.5", ""),
        (
            [1e-7, 0.5],
            [0.03, 0.001],
            "The first two eigenvalues are 1\u00a0×\u00a010⁻⁷ and 0.5",
            "The residuals of the eigenvalues are below 0.1.",
        ),
    ],
)
def test_the_title_of_eigenvalues_states_how_many_there_are_and_how_good(
    values: list[float], residuals: list[float], title: str, note: str, wine: dict[str, Any]
) -> None:
    wine["maps"][1]["spectrum"] |= {"values": values, "residuals": residuals, "note": ""}
    shown = collected(collect_maps, wine)["maps"][1]["spectrum"]
    assert (shown["title"], shown["note"]) == (title, note)


def test_coordinates_without_a_common_unit_are_not_drawn_to_one_scale(wine: dict[str, Any]) -> None:
    pca, eigenmap = collected(collect_maps, wine)["maps"]
    assert pca["drawn"]["one_scale"]
    assert "Both axes have the same scale." in pca["near"]
    assert figures.can_share_scale(wine["maps"][1]["points"])
    assert not eigenmap["drawn"]["one_scale"]
    assert "One unit" not in eigenmap["near"]


def test_a_connected_graph_is_described_in_a_sentence_and_facts(wine: dict[str, Any]) -> None:
    told = collected(collect_graph, wine)
    assert told["lead"] == "1,802 edges join 178 rows, in one component."
    assert told["cautions"] == []
    assert told["components"] == []
    assert dict(told["facts"]) == {
        "Built by": "15 nearest neighbours, Euclidean distance of standardised columns, unweighted edges",
        "Neighbours of a row": "15 to 39, median 19",
        "Weight of an edge": "1",
        "Search for neighbours": "exact, by matrix products",
    }
    assert told["title"] == "The median number of neighbours is 19, the maximum 39"
    assert sum(bar.get_height() for bar in panel_of(told["chart"]).patches) == 178


def test_a_builder_without_a_description_is_shown_by_its_name_and_parameters(wine: dict[str, Any]) -> None:
    wine["graph"] |= {"label": "Delaunay", "parameters": "dimensions=2", "description": ""}
    assert dict(collected(collect_graph, wine)["facts"])["Built by"] == "Delaunay (dimensions=2)"
    wine["graph"]["parameters"] = ""
    assert dict(collected(collect_graph, wine)["facts"])["Built by"] == "Delaunay"


def test_a_weighted_graph_of_a_sample_is_described_by_t_radius_and_its_number_of_rows(wine: dict[str, Any]) -> None:
    wine["graph"] |= {"unweighted": False, "t": 0.5, "radius": 1.25, "degrees": {"min": 0.5, "median": 2, "max": 3.5}}
    wine["table"]["n_rows_used"] = 300_000
    facts = dict(collected(collect_graph, wine)["facts"])
    assert facts["Weight of an edge"] == "exp(−d² / t) at the distance d, t = 0.5"
    assert facts["Weights of a row, summed"] == "0.5 to 3.5, median 2"
    assert facts["Radius"] == "1.25"
    assert facts["Rows joined"] == "178 of 300,000, drawn at random"


@pytest.mark.parametrize(
    ("components", "lead"),
    [
        ({"n": 2, "sizes": [170, 8]}, "1,802 edges join 178 rows, in 2 components, the largest of 170 rows."),
        ({"n": 60, "sizes": [100, *[2] * 9]}, "1,802 edges join 178 rows, in 60 components, the largest of 100 rows."),
    ],
)
def test_a_graph_in_pieces_names_them_and_cautions(components: dict[str, Any], lead: str, wine: dict[str, Any]) -> None:
    wine["graph"] |= {"components": components, "n_joining_edges": components["n"] - 1}
    told = collected(collect_graph, wine)
    assert told["lead"] == lead
    assert told["cautions"][0].startswith(f"The graph has {components['n']} components.")
    # The way out.
    assert "more neighbours" in told["cautions"][-1].lower()
    assert "--graph connected-radius" in told["cautions"][-1]
    assert [size for _, size, _ in told["components"]] == [str(size) for size in components["sizes"]]
    assert told["more"] == components["n"] - len(components["sizes"])


def test_a_graph_of_classes_is_meant_to_fall_into_them(wine: dict[str, Any]) -> None:
    wine["graph"] |= {
        "components": {"n": 3, "sizes": [71, 59, 48]},
        "n_joining_edges": None,
        "by_class": True,
        "recall": None,
    }
    assert collected(collect_graph, wine)["cautions"] == []
    wine["graph"]["components"]["n"] = 4
    assert "no map uses the graph" in collected(collect_graph, wine)["cautions"][0]


@pytest.mark.parametrize(("recall", "told"), [(0.96, None), (0.9499, "94.9%"), (0.5, "50.0%")])
def test_a_recall_below_nineteen_of_twenty_is_cautioned_of(
    recall: float, told: str | None, wine: dict[str, Any]
) -> None:
    wine["graph"]["recall"] = recall
    shown = collected(collect_graph, wine)
    assert [f"Only {told} of the true neighbours" in sentence for sentence in shown["cautions"]] == [True] * bool(told)
    assert dict(shown["facts"])["Search for neighbours"].endswith("% of the true ones")


def test_a_share_found_never_rounds_up_to_all_of_them(wine: dict[str, Any]) -> None:
    wine["graph"]["recall"] = 0.99996
    found = dict(collected(collect_graph, wine)["facts"])["Search for neighbours"]
    assert found.endswith(": 99.9% of the true ones")


def test_rows_that_all_have_as_many_neighbours_need_no_chart(wine: dict[str, Any]) -> None:
    wine["graph"]["neighbors"] |= {"min": 2.0, "median": 2.0, "max": 2.0}
    shown = collected(collect_graph, wine)
    assert shown["chart"] is None
    assert dict(shown["facts"])["Neighbours of a row"] == "2"


def test_wide_bins_cover_their_range(wine: dict[str, Any]) -> None:
    wine["graph"]["neighbors"]["histogram"] = {"start": 3, "width": 5, "rows": [4, 1]}
    bars = panel_of(collected(collect_graph, wine)["chart"]).patches
    assert [(bar.get_x(), bar.get_height()) for bar in bars] == [(2.5, 4), (7.5, 1)]
    assert bars[0].get_x() + bars[0].get_width() == pytest.approx(7.5, abs=0.5)


def test_axes_of_like_length_share_one_scale() -> None:
    assert figures.can_share_scale([[0, 0], [3, 1]])
    assert not figures.can_share_scale([[0, 0], [5, 1]])
    assert not figures.can_share_scale([[0, 0], [5, 0]])


def palette(scheme: str, letter: str, n: int) -> list[str]:
    """Return the colours of a style sheet's theme."""
    sheet = (files("tamiz.report") / "templates" / "page.css").read_text(encoding="utf-8")
    found = re.findall(rf"--({letter}\d): (#[0-9a-f]{{6}})", sheet)
    assert [name for name, _ in found] == [f"{letter}{k}" for k in range(n)] * 2
    return [color for _, color in found][n * ("light", "dark").index(scheme) :][:n]


def _linear(color: str) -> np.ndarray[Any, Any]:
    rgb = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def _seen(color: str, matrix: Any) -> np.ndarray[Any, Any]:
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    x, y, z = np.cbrt(to_xyz @ np.clip(np.array(matrix) @ _linear(color), 1e-9, 1) / [0.9505, 1, 1.089])
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
def test_the_colours_of_levels_are_distinguished_by_every_eye(scheme: str, eye: str) -> None:
    seen = [_seen(color, EYES[eye]) for color in palette(scheme, "c", 10)]
    distances = [np.linalg.norm(a - b) for i, a in enumerate(seen) for b in seen[:i]]
    # Two is what a trained eye just sees; ten is another colour.
    assert min(distances) > 10


@pytest.mark.parametrize(("scheme", "papers"), [("light", ["#fcfcfb", "#ffffff"]), ("dark", ["#14181b", "#1b2024"])])
def test_the_colours_of_marks_have_a_contrast_of_3_to_the_page(scheme: str, papers: list[str]) -> None:
    for color in [*palette(scheme, "c", 10), *palette(scheme, "s", 6)]:
        for paper in papers:
            pair = sorted(float(np.array([0.2126, 0.7152, 0.0722]) @ _linear(one)) + 0.05 for one in (color, paper))
            assert pair[1] / pair[0] >= 3, color


def test_a_display_and_the_light_page_have_the_same_colours_and_each_has_a_shape() -> None:
    assert palette("light", "c", 10) == figures.CLASS_COLORS
    assert palette("light", "s", 6) == figures.GRADIENT
    assert len(set(figures.SHAPES)) == drawing.N_COLORS == 10


def test_the_maps_are_shown_side_by_side_with_the_best_of_each_number_marked(wine: dict[str, Any]) -> None:
    shown = collected(collect_quality, wine)
    values = values_of(wine)
    assert shown["names"] == ["PCA", "Laplacian eigenmaps"]
    assert [row["label"] for row in shown["rows"]] == [
        "Kruskal’s stress-1", "Shepard correlation", "Trustworthiness", "Continuity", "Neighbourhood recall",
        "Area under R_NX", "Accuracy of kNN on the map",
    ]  # fmt: skip
    for row, name in zip(shown["rows"], sample.MEASURES, strict=True):
        assert [cell["text"] for cell in row["cells"]] == [f"{value:.3f}" for value in values[name]]
        smaller = name == "kruskal_stress"
        assert row["better"] == f"{'smaller' if smaller else 'larger'} is better"
        best = (min if smaller else max)(values[name])
        assert [cell["best"] for cell in row["cells"]] == [value == best for value in values[name]]
    assert shown["rows"][2]["meaning"].startswith("Whether the 15 nearest rows on the map are near in the table")
    # The baseline in the form of the accuracies beside it.
    assert f"largest class gives {71 / 178:.3f}" in shown["rows"][-1]["meaning"]
    assert shown["compared"] == "Evaluated on all 178 rows. Distances in the table: Euclidean, of standardised columns."


def values_of(result: dict[str, Any]) -> dict[str, list[float]]:
    """The values of each measure, by map."""
    found: dict[str, list[float]] = {}
    for one in result["quality"]["maps"]:
        for measure in one["measures"]:
            found.setdefault(measure["name"], []).append(measure["value"])
    return found


def set_values(result: dict[str, Any], **values: list[float | None]) -> None:
    """Set the values of measures by map; without a value a map lacks the measure."""
    for k, one in enumerate(result["quality"]["maps"]):
        for measure in one["measures"]:
            measure["value"] = values.get(measure["name"], {k: measure["value"]})[k]
        one["measures"] = [measure for measure in one["measures"] if measure["value"] is not None]


PCA, EIGENMAPS, EQUAL = "PCA", "Laplacian eigenmaps", "All maps"


def best_maps(lead: str) -> dict[str, str]:
    """What a lead says is preserved, with the maps that preserve it best and by how many measures, if it says so."""
    best = {}
    for clause in lead.split(";"):
        maps = [name for name in (PCA, EIGENMAPS, EQUAL) if name in clause]
        verb = "preserve" if len(maps) > 1 or maps == [EQUAL] else "preserves"
        assert f" {verb} " in clause
        measures = re.search(r"(?:each )?by \d of \d", clause)
        for what in ("distances", "order", "neighbours"):
            if what in clause:
                best[what] = ", ".join([*maps, *([measures[0]] if measures else [])])
    return best


@pytest.mark.parametrize(
    ("stress", "kept", "best"),
    [
        ([0.1, 0.2], [0.3, 0.5], {"distances": PCA, "neighbours": EIGENMAPS}),
        ([0.1, 0.2], [0.5, 0.3], {"distances": PCA, "neighbours": PCA}),
        ([0.2, 0.20001], [0.3, 0.5], {"neighbours": EIGENMAPS}),
        ([0.2, 0.2], [0.3, 0.3], {"distances": EQUAL, "neighbours": EQUAL}),
        ([None, 0.2], [None, 0.3], {"distances": EQUAL, "neighbours": EQUAL}),
    ],
)
def test_the_lead_names_the_maps_that_keep_most(
    wine: dict[str, Any], stress: list[float | None], kept: list[float | None], best: dict[str, str]
) -> None:
    neighbors = dict.fromkeys(("trustworthiness", "continuity", "neighborhood_recall", "rank_agreement"), kept)
    set_values(wine, kruskal_stress=stress, rank_correlation=[0.5, 0.5], **neighbors)
    assert best_maps(collected(collect_quality, wine)["lead"]) == best


@pytest.mark.parametrize(
    ("order", "recall", "area", "best"),
    [
        ([0.9, 0.8], [0.4, 0.5], [0.5, 0.3], {"distances": PCA, "neighbours": f"{EIGENMAPS}, by 3 of 4"}),
        ([0.8, 0.9], [0.4, 0.5], [0.3, 0.5], {"distances": PCA, "order": EIGENMAPS, "neighbours": EIGENMAPS}),
        ([0.9, 0.8], [0.5, 0.4], [0.5, 0.3], {"distances": PCA, "neighbours": f"{PCA}, {EIGENMAPS}, each by 2 of 4"}),
        ([0.9, 0.8], [0.4, 0.5], [0.3, 0.3], {"distances": PCA, "neighbours": EIGENMAPS}),
    ],
)
def test_where_measures_disagree_the_map_that_is_best_by_most_is_named(
    wine: dict[str, Any], order: list[float], recall: list[float], area: list[float], best: dict[str, str]
) -> None:
    set_values(
        wine, kruskal_stress=[0.1, 0.2], rank_correlation=order, trustworthiness=[0.9, 0.95], continuity=[0.9, 0.95],
        neighborhood_recall=recall, rank_agreement=area,
    )  # fmt: skip
    assert best_maps(collected(collect_quality, wine)["lead"]) == best


def test_one_map_has_nothing_to_be_better_than(bare: dict[str, Any]) -> None:
    shown = collected(collect_quality, bare)
    stress, area = (shown["rows"][place]["cells"][0]["text"] for place in (0, 5))
    assert shown["lead"] == f"PCA has a stress of {stress} and an area under R_NX of {area}."
    assert not any(cell["best"] for row in shown["rows"] for cell in row["cells"])
    assert (len(shown["rows"]), shown["pairs"]) == (6, [])
    assert shown["curves"]["title"] == "Preserved neighbours by neighbourhood size"


def test_a_map_without_quality_has_a_dash(wine: dict[str, Any]) -> None:
    set_values(wine, **{name: [0.5, 0.5] for name in sample.MEASURES})
    wine["quality"]["maps"][0] = None
    shown = collected(collect_quality, wine)
    assert [cell["text"] for cell in shown["rows"][0]["cells"]] == ["–", "0.500"]
    assert [pairs["label"] for pairs in shown["pairs"]] == ["Laplacian eigenmaps"]
    labels = [line.get_label() for line in panel_of(shown["curves"]["chart"]).lines]
    assert labels == ["Laplacian eigenmaps (0.50)"]
    assert colourings(wine)[-1]["title"] == "stress of the row"


def test_the_maps_of_the_most_similar_shapes_are_named(wine: dict[str, Any]) -> None:
    assert collected(collect_quality, wine)["shapes"] is None
    names = ["PCA", "Laplacian eigenmaps", "UMAP"]
    distances = [[0.0, 0.4, 0.2], [0.4, 0.0, None], [0.2, None, 0.0]]
    shown = _shapes(distances, names)
    assert shown["title"] == "PCA and UMAP have the most similar shapes"
    assert [[cell["text"] for cell in row["cells"]] for row in shown["rows"]] == [
        ["–", "0.40", "0.20"], ["0.40", "–", "–"], ["0.20", "–", "–"],
    ]  # fmt: skip
    marked = [(i, j) for i, row in enumerate(shown["rows"]) for j, cell in enumerate(row["cells"]) if cell["best"]]
    assert marked == [(0, 2), (2, 0)]


def test_the_rows_that_were_drawn_are_counted(wine: dict[str, Any]) -> None:
    wine["table"]["n_rows_used"] = 50_000
    assert collected(collect_quality, wine)["compared"].startswith("Evaluated on a sample of 178 rows.")


def test_the_title_of_the_curves_names_the_best_maps_for_near_and_wide_neighbourhoods(wine: dict[str, Any]) -> None:
    curves = [[0.1, 0.2, 0.6, 0.5], [0.1, 0.4, 0.3, 0.2]]
    wine["quality"]["sizes"] = [1, 15, 45, 176]
    for one, curve in zip(wine["quality"]["maps"], curves, strict=True):
        one["r_nx"] = curve
    shown = collected(collect_quality, wine)["curves"]
    near, wide = shown["title"].split("; ")
    assert ("Laplacian eigenmaps" in near, "the 15 nearest" in near) == (True, True)
    assert ("PCA" in wide, "the 45 nearest" in wide) == (True, True)
    panel = panel_of(shown["chart"])
    assert [list(line.get_ydata()) for line in panel.lines] == curves
    assert panel.get_xscale() == "log"
    curves[1][2] = 0.9
    title = collected(collect_quality, wine)["curves"]["title"]
    assert "PCA" not in title
    assert all(fact in title for fact in ("Laplacian eigenmaps", "the 15 nearest", "the 45 nearest"))


def test_a_shepard_diagram_contains_the_pairs_and_the_line_of_equal_distances(wine: dict[str, Any]) -> None:
    one, other = wine["quality"]["maps"]
    wine["quality"]["pairs"], one["pairs"], other["pairs"] = [1.0, 2.0, 4.0], [1.5, 2.0, 3.0], [0.0, 9.0, 1.0]
    first, second = (panel_of(shown["chart"]) for shown in collected(collect_quality, wine)["pairs"])
    assert first.collections[0].get_offsets().tolist() == [[1.0, 1.5], [2.0, 2.0], [4.0, 3.0]]
    assert second.collections[0].get_offsets().tolist() == [[1.0, 0.0], [2.0, 9.0], [4.0, 1.0]]
    for panel in (first, second):
        (line,) = panel.lines
        assert line.get_xdata() == pytest.approx(line.get_ydata())


def test_maps_are_coloured_by_how_badly_each_row_is_placed_on_one_scale(wine: dict[str, Any]) -> None:
    one, other = wine["quality"]["maps"]
    one["stress"], other["stress"] = [7.0, *(0.01 * (row % 50) for row in range(1, 178))], [1.0] * 178
    last = colourings(wine)[-1]
    assert last["option"] == "error of each row (stress)"
    # One row far out does not take the colours of all others; what was not evaluated has none.
    assert last["range"] == [0, 1.0]
    one |= {"stress": [None] * 178, "trust": [None] * 178}
    wine["quality"]["maps"][1] = None
    assert colourings(wine)[-1]["option"] == "k-means cluster (K = 3, mean silhouette 0.28)"


def test_colours_that_are_years_are_written_as_years(wine: dict[str, Any]) -> None:
    name = wine["colors"][1]["name"]
    column = next(one for one in wine["table"]["columns"] if one["name"] == name)
    column["numbers"] |= {"min": 1951.0, "max": 2009.0}
    assert [color["option"] for color in colourings(wine) if color.get("years")] == [name]


def test_rows_that_are_placed_no_better_than_by_chance_are_counted_at_their_map(wine: dict[str, Any]) -> None:
    one, other = wine["quality"]["maps"]
    one["n_chance_rows"], other["n_chance_rows"], wine["quality"]["chance_trust"] = 0, 3, 0.617
    texts = [one["chance_rows"] for one in collected(collect_maps, wine)["maps"]]
    assert texts == [
        "", "3 of 178 rows have neighbours on the map that are no better than by chance (trustworthiness at most 0.62)."
    ]  # fmt: skip
    one["n_chance_rows"] = other["n_chance_rows"] = None
    assert not any(one["chance_rows"] for one in collected(collect_maps, wine)["maps"])


def test_the_target_and_the_clusters_are_named_as_such_and_at_a_point_by_their_column(wine: dict[str, Any]) -> None:
    first, *columns, clusters, trust, stress = colourings(wine)
    assert (trust["source"], stress["source"]) == ("trust", "stress")
    assert first["option"] == "class (target)"
    assert [color["option"] for color in columns] == [color["name"] for color in wine["colors"][1:-1]]
    assert clusters["groups"] == ["cluster 1", "cluster 2", "cluster 3"]
    assert [color["column"] for color in (first, *columns, clusters, trust)] == [*range(len(wine["colors"])), None]

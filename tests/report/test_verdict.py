"""The first screen: its numbers and words are those of the records, whatever was computed."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tamiz.assessment.score_report import Recommendation
from tamiz.report import drawing
from tamiz.report.recommendation import column_reasons, decision_code, decision_sentence
from tamiz.report.verdict import collect_verdict
from tamiz.runtime.codec import from_json

from . import sample
from .reading import collected, mark_places, record_of, render


def shown(result: dict[str, Any]) -> dict[str, Any]:
    return collected(collect_verdict, result)


def test_the_scores_are_those_of_the_record_on_one_scale(wine: dict[str, Any]) -> None:
    found, scores = wine["recommendation"], shown(wine)["scores"]
    deciding = from_json(Recommendation, found)
    every = deciding.all_columns.scores[deciding.deciding]
    kept, whole, nothing = scores["rows"]
    for row, score in ((kept, deciding.score), (whole, every)):
        unit = 100 if "%" in row["text"] else 1
        assert float(row["text"].rstrip("%")) == pytest.approx(unit * score.mean, abs=0.06)
        dot, (low, high) = mark_places(row["mark"])
        assert low <= dot <= high
    assert mark_places(nothing["mark"])[1] is None
    dots = [mark_places(row["mark"])[0] for row in scores["rows"]]
    means = [deciding.score.mean, every.mean, 0.5]
    low, high = (float(end.rstrip("%")) for end in scores["ends"])
    assert 0 <= low < high <= (100 if "%" in scores["ends"][0] else 1)
    # Positions are a linear function of the scores.
    slope = (dots[0] - dots[2]) / (means[0] - means[2])
    assert dots[1] == pytest.approx(dots[2] + slope * (means[1] - means[2]), abs=0.2)


def test_the_headline_names_how_many_columns_are_kept(wine: dict[str, Any]) -> None:
    kept = wine["recommendation"]["candidates"]["cfs"]["columns"]
    verdict = shown(wine)
    every = wine["recommendation"]["candidates"]["all_columns"]
    assert verdict["headline"] == f"Keep {len(kept)} of {len(every['columns'])} columns"
    # The section counts the same columns.
    assert f"Keep {len(kept)} of {len(every['columns'])} columns: " in render(wine)
    assert verdict["kept"] == kept
    wine["recommendation"] = None
    assert "not evaluated" in shown(wine)["why"]
    assert shown(wine)["kept"] == wine["subset"]["columns"][:12]
    wine["subset"] = None
    n_used = record_of(wine).table.n_own_used_columns
    assert (shown(wine)["headline"], shown(wine)["kept"]) == (f"{n_used} columns", [])


def test_where_the_selection_may_be_chance_nothing_is_kept(wine: dict[str, Any]) -> None:
    wine["recommendation"] |= {"chance": "3 of 19 searches reach as much."}
    verdict = shown(wine)
    assert (verdict["headline"], verdict["kept"]) == ("Keep nothing yet", [])
    assert "Stability" not in verdict["reliability"]
    assert verdict["why"] == "3 of 19 searches reach as much."
    assert not any(row["kept"] for row in verdict["rows"])
    assert [row["label"] for row in verdict["scores"]["rows"]][-1] == "without columns"


def test_all_columns_are_one_selection(wine: dict[str, Any]) -> None:
    wine["recommendation"]["recommended"] = "all_columns"
    verdict = shown(wine)
    assert verdict["headline"].startswith("Keep all ")
    assert "Stability" not in verdict["reliability"]
    assert len(verdict["scores"]["rows"]) == 2


def test_reasons_are_those_of_the_selection(wine: dict[str, Any]) -> None:
    record = record_of(wine)
    reasons = {name: why for name, (_, why) in column_reasons(record).items()}
    decisions = record.decisions
    assert decisions
    assert record.recommendation is not None
    beginnings = {"kept": "kept", "same": "redundant with", "nothing": "adds nothing measurable", "less": "adds less"}
    for one in decisions:
        if not one.kept or one.name not in {c.name for c in record.table.columns if c.exclusion or c.same_as}:
            assert reasons[one.name].startswith(beginnings[decision_code(one, record.recommendation)])
    by_name = {one.name: decision_sentence(one, record.recommendation) for one in decisions}
    for one in decisions:
        code = decision_code(one, record.recommendation)
        assert ("nothing measurable to the other" in by_name[one.name]) == (code == "nothing")
        assert by_name[one.name].startswith(("Redundant", "Equivalent")) == (code == "same")


def test_the_counts_of_the_first_screen_are_those_of_all_columns(wine: dict[str, Any]) -> None:
    verdict = shown(wine)
    counted = [int(line.split()[0]) for line in verdict["asides"]]
    assert counted
    assert len(verdict["kept"]) + sum(counted) == len(wine["table"]["columns"])
    wine["recommendation"]["recommended"] = "all_columns"
    assert "a loss of more than" in shown(wine)["why"]
    wine["recommendation"]["margin"] = 0.2
    assert "178 rows cannot exclude a loss of more than 0.2" in shown(wine)["why"]


def test_columns_stand_in_the_order_of_their_mean_rank(wine: dict[str, Any]) -> None:
    rows = shown(wine)["rows"]
    assert len(rows) == 10
    ranks = [row["rank"]["value"] for row in rows]
    assert ranks == sorted(ranks)
    dots = [mark_places(row["rank"]["mark"])[0] for row in rows]
    assert dots == sorted(dots)
    # The sections have the same order.
    names = re.findall(r'<th scope="row" class="name" title="([^"]*)"', render(wine).split('id="columns-table"')[1])
    assert [row["name"] for row in rows] == names[:10]


def test_the_map_is_the_one_whose_neighbours_and_distances_may_be_trusted_most(wine: dict[str, Any]) -> None:
    def set_values(*values: list[Any]) -> None:
        for one, *own in zip(wine["quality"]["maps"], *values, strict=True):
            by_name = dict(zip(("trustworthiness", "rank_correlation"), own, strict=True))
            one["measures"] = [
                {"name": name, "value": value, "error": 0.0, "larger_is_better": True, "meaning": ""}
                for name, value in by_name.items()
                if value is not None
            ]

    for neighbours, distances, best in (
        ([0.6, 0.9], [0.5, 0.5], 1),
        ([0.9, 0.6], [0.5, 0.5], 0),
        # Islands keep neighbours, and their distances mean nothing.
        ([0.9, 1.0], [0.85, 0.3], 0),
        ([0.9, None], [-0.2, None], 0),
    ):
        set_values(neighbours, distances)
        found = shown(wine)["map"]
        assert found["label"] == wine["maps"][best]["label"]
    set_values([0.9, 0.8], [0.85, 0.3])
    assert (
        shown(wine)["map"]["trust"]
        == "To trust: Neighbours yes (trustworthiness 0.90), order of distances roughly (rank correlation 0.85)."
    )
    wine["quality"] = None
    assert shown(wine)["map"]["trust"] == ""
    for one in wine["maps"]:
        one["points"] = [[1.0, 2.0] for _ in one["rows"]]
    assert shown(wine)["map"] is None


def test_every_row_of_a_map_is_a_point_of_its_colour() -> None:
    points = [(0.0, 0.0), (1.0, 0.0), (2.0, 1.0), (4.0, 0.5)]
    picture = drawing.point_picture(points, [0, 1, None, 0], 2, one_scale=False)
    paths = dict(re.findall(r'<path class="(\w+)" d="([^"]*)"', picture))
    assert {name: len(re.findall("h0", path)) for name, path in paths.items()} == {"c0": 2, "c1": 1, "none": 1}
    # The first row is at the lower left, and the fourth at the right, in the middle.
    places = [tuple(map(int, place)) for place in re.findall(r"M(\d+) (\d+)h0", paths["c0"])]
    assert places == [(14, 586), (986, 300)]
    shared = drawing.point_picture(points, None, 0, one_scale=True)
    (x0, y0), (x1, y1), *_ = [tuple(map(int, place)) for place in re.findall(r"M(\d+) (\d+)h0", shared)]
    assert (x1 - x0, y1 - y0) == (243, 0)


def test_numbers_are_shades_of_equal_numbers_of_rows() -> None:
    points = [(float(k), 0.0) for k in range(60)]
    picture = drawing.point_picture(points, [*range(59), 1e9], 0, one_scale=False)
    counts = {name: path.count("h0") for name, path in re.findall(r'<path class="(s\d)" d="([^"]*)"', picture)}
    assert counts == {f"s{k}": 10 for k in range(6)}


def test_a_map_of_one_coordinate_is_a_readable_histogram_of_dots(wine: dict[str, Any]) -> None:
    k = next(k for k, one in enumerate(wine["maps"]) if one["label"] == shown(wine)["map"]["label"])
    xs = [x for x, _ in wine["maps"][k]["points"]]
    wine["maps"][k] |= {"axes": wine["maps"][k]["axes"][:1], "points": [[x] for x in xs], "comparable_axes": True}
    places = [tuple(map(int, place)) for place in re.findall(r"M(\d+) (\d+)h0", shown(wine)["map"]["picture"])]
    assert len(places) == len(xs)
    across, down = zip(*places, strict=True)
    # Of 1,000 by 600 pixels.
    assert max(across) - min(across) > 950
    assert max(down) - min(down) > 550
    # A row is at its coordinate, and a stack is as high as it has rows.
    scale = (max(across) - min(across)) / (max(xs) - min(xs))
    assert sorted(across) == pytest.approx([min(across) + scale * (x - min(xs)) for x in sorted(xs)], abs=1)
    stacks = [int(59 * (x - min(xs)) / (max(xs) - min(xs))) for x in xs]
    tallest = max(map(stacks.count, stacks))
    assert len(set(down)) == tallest
    assert down.count(max(down)) == len(set(stacks))


def test_a_large_map_is_thinned() -> None:
    points = [(float(k), float(k % 7)) for k in range(10_001)]
    assert drawing.point_picture(points, None, 0, one_scale=False).count("h0") <= 2_000


@pytest.mark.parametrize("make", [sample.wine, sample.hostile, sample.bare, sample.digits])
def test_every_sample_has_a_first_screen(make: Any) -> None:
    page = render(make())
    first = page[page.index('<div class="verdict">') : page.index("<nav")]
    assert "<script>alert" not in first
    assert "None" not in re.sub(r"<[^>]+>", " ", first)


def test_classes_are_divided_by_their_shares(wine: dict[str, Any]) -> None:
    wine["table"]["classes"] = [{"name": f"class {k}", "weight": k + 1.0} for k in range(7)]
    bar = shown(wine)["balance"]["bar"]
    widths = [float(one) for one in re.findall(r'width="([\d.]+)%"', bar)]
    assert sum(widths) == pytest.approx(100, abs=0.1)
    assert widths[0] == pytest.approx(100 * 7 / 28, abs=0.01)
    classes = shown(wine)["balance"]["classes"]
    assert [name for name, *_ in classes][-1] == "3 others"
    # A class has the colour that its rows have on the map.
    assert [color for *_, color in classes] == ["c6", "c5", "c4", "c3", "none"]


def test_a_numeric_target_is_a_dot_between_its_ends(wine: dict[str, Any]) -> None:
    wine["table"] |= {"classes": [], "target_summary": {"mean": 2.0, "sd": 1.0, "min": 0.0, "max": 8.0}}
    found = shown(wine)
    assert found["balance"] is None
    assert mark_places(found["range"]["mark"]) == (26.0, (14.0, 38.0))
    assert found["range"]["text"] == "0 to 8, mean 2"
    wine["table"]["target_summary"] = {"mean": 2.0, "sd": None, "min": 2.0, "max": 2.0}
    assert shown(wine)["range"] is None


def test_parts_of_a_date_count_as_one_column(wine: dict[str, Any]) -> None:
    decided = [dict(one) for one in wine["decisions"] if not one["kept"] and one["same_as"] is None]
    for one in decided:
        one |= {"p_value": 0.9, "similar": [], "relevance": 0.1}
    wine["decisions"] = decided
    first, second = (one["name"] for one in decided[:2])
    for column in wine["table"]["columns"]:
        if column["name"] in (first, second):
            column["date"] = "sold"
    assert f"{len(decided) - 1} adding nothing measurable" in shown(wine)["asides"]


def test_without_criteria_columns_are_listed_in_their_order(wine: dict[str, Any]) -> None:
    wine["ranking"] |= {"criteria": [], "scores": {}, "mean_rank": None, "cut_points": {}}
    names = [column["name"] for column in wine["table"]["columns"]]
    assert [row["name"] for row in shown(wine)["rows"]] == names[:10]
    assert "Columns, best first" not in render(wine)

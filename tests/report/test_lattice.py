"""The lattice of all subsets as a chart and as a table."""

from __future__ import annotations

from typing import Any

import pytest

from tamiz.report.subset_lattice import collect_lattice

from . import sample
from .reading import render, subset_of
from .test_html import section, words


def drawn(n: int, *, kept: list[int] | None = None, **more: Any) -> dict[str, Any]:
    names = [f"column {j}" for j in range(n)]
    columns = [names[j] for j in (kept if kept is not None else [0, 1])]
    course = [{"evaluation": k + 1, "merit": 0.1 * k, "columns": columns[:k]} for k in range(3)]
    changed = {"lattice": sample.lattice(names), "columns": columns, "course": course, "reasons": [], "min_gain": 0.0}
    shown = collect_lattice(subset_of({**sample.wine()["subset"], **changed, **more}))
    assert shown is not None
    return shown


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_every_set_is_a_point_and_every_pair_of_neighbours_an_edge(n: int) -> None:
    edges, _, _, nodes = drawn(n)["chart"]["data"]
    assert len(set(zip(nodes["x"], nodes["y"], strict=True))) == 2**n
    ends = list(zip(edges["x"], edges["y"], strict=True))
    assert len(ends) == 3 * n * 2 ** (n - 1)
    place = dict(zip(drawn(n)["chart"]["nodes"], zip(nodes["x"], nodes["y"], strict=True), strict=True))
    joined = {frozenset(ends[k : k + 2]) for k in range(0, len(ends), 3)}
    assert joined == {frozenset((place[k], place[k | 1 << j])) for k in place for j in range(n) if not k >> j & 1}


def test_sets_of_one_size_are_shown_at_one_height_no_column_at_the_foot() -> None:
    chart = drawn(5)["chart"]
    nodes = chart["data"][3]
    heights = {k.bit_count(): y for k, y in zip(chart["nodes"], nodes["y"], strict=True)}
    assert (
        [heights[size] for size in range(6)] == sorted(heights.values()) == list(chart["layout"]["yaxis"]["tickvals"])
    )
    assert all(y == heights[k.bit_count()] for k, y in zip(chart["nodes"], nodes["y"], strict=True))
    assert chart["layout"]["yaxis"]["ticktext"][:2] == ["0 columns", "1 column"]


def test_the_course_of_the_search_goes_through_its_sets_and_the_kept_one_has_a_ring() -> None:
    chart = drawn(4)["chart"]
    _, course, ring, nodes = chart["data"]
    place = dict(zip(chart["nodes"], zip(nodes["x"], nodes["y"], strict=True), strict=True))
    assert list(zip(course["x"], course["y"], strict=True)) == [place[0], place[1], place[3]]
    assert (ring["x"][0], ring["y"][0]) == place[3]
    assert chart["nodes"][chart["start"]] == 3


@pytest.mark.parametrize(
    ("more", "title"),
    [
        ({}, "None of all 16 subsets is better than the selected one"),
        ({"kept": [2]}, "column 0 and column 1 would be better (0.9): the search did not evaluate it"),
        ({"kept": [2], "sizes": [1, 1]}, "column 0 and column 1 would be better (0.9): its size was not requested"),
        (
            {"kept": [2], "min_gain": 1.0},
            "column 0 and column 1 would be better (0.9): the gain is below the minimum gain of the search",
        ),
        (
            {"kept": [2], "reasons": [{**sample.wine()["subset"]["reasons"][0], "role": "excluded"}]},
            "column 0 and column 1 would be better (0.9): not every subset was permitted",
        ),
    ],
)
def test_the_title_states_whether_a_better_set_was_missed_and_why(more: dict[str, Any], title: str) -> None:
    assert drawn(4, **more)["title"] == title


def test_of_six_columns_sets_are_named_by_numbers_and_a_key_states_which() -> None:
    shown = drawn(6)
    assert list(shown["key"]) == [f"column {j}" for j in range(6)]
    texts = [one["text"] for one in shown["chart"]["layout"]["annotations"]]
    assert "1 2 6<br><b>0.300</b>" in texts
    assert drawn(5)["key"] == []


def test_names_that_look_the_same_when_they_are_short_are_numbered() -> None:
    names = [f"the very long name of column {j} with the same end" for j in range(4)]
    changed = {"lattice": sample.lattice(names), "columns": names[:2], "course": []}
    shown = collect_lattice(subset_of({**sample.wine()["subset"], **changed}))
    assert shown is not None
    text = shown["chart"]["layout"]["annotations"][-1]["text"]
    assert [line.split()[0] for line in text.split("<br>")[:4]] == ["1", "2", "3", "4"]


def test_names_of_markup_are_inert_in_the_chart(hostile: dict[str, Any]) -> None:
    shown = collect_lattice(subset_of(hostile["subset"]))
    assert shown is not None
    for told in (
        *(set_of[0] for set_of in shown["chart"]["data"][3]["customdata"]),
        *(a["text"] for a in shown["chart"]["layout"]["annotations"]),
    ):
        assert "<" not in told.replace("<br>", "").replace("<b>", "").replace("</b>", "")


def test_every_set_is_in_the_table_the_best_first(wine: dict[str, Any]) -> None:
    names = [column["name"] for column in wine["table"]["columns"]][:4]
    wine["subset"] |= {"lattice": sample.lattice(names), "columns": names[:2]}
    page = section(render(wine), "subset")
    table = page.split('id="sets"')[1].split("</table>")[0]
    assert table.count("<tr") == 17
    first = words(table.split("<tbody>")[1].split("</tr>")[0])
    assert first.replace("&nbsp;", "") == f"{names[0]} and {names[1]} selected 2 0.9"


def test_many_columns_have_no_lattice(wine: dict[str, Any]) -> None:
    assert collect_lattice(subset_of(wine["subset"])) is None
    assert 'id="lattice"' not in render(wine)

"""The lattice of all subsets as a chart and as a table."""

from __future__ import annotations

from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import pytest

from tamiz.report.subset import collect_lattice

from . import sample
from .reading import panel_of, render, subset_of
from .test_html import section, words


def drawn(n: int, *, kept: list[int] | None = None, **more: Any) -> dict[str, Any]:
    names = [f"column {j}" for j in range(n)]
    columns = [names[j] for j in (kept if kept is not None else [0, 1])]
    course = [{"evaluation": k + 1, "merit": 0.1 * k, "columns": columns[:k]} for k in range(3)]
    changed = {"lattice": sample.lattice(names), "columns": columns, "course": course, "reasons": [], "min_gain": 0.0}
    shown = collect_lattice(subset_of({**sample.wine()["subset"], **changed, **more}))
    assert shown is not None
    return shown


def lines(n: int, **more: Any) -> dict[str, list[list[tuple[float, float]]]]:
    """Return the ends of the edges, the course, the points and the ring of a lattice."""
    found: dict[str, list[list[tuple[float, float]]]] = {"edge": [], "course": [], "point": [], "ring": []}
    for line in panel_of(drawn(n, **more)["chart"]).lines:
        kind = {9.0: "point", 14.0: "ring"}.get(line.get_markersize(), "")
        kind = kind or ("course" if line.get_linewidth() == 3 else "edge")
        found[kind].append([(float(x), float(y)) for x, y in line.get_xydata()])
    return found


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_every_set_is_a_point_and_every_pair_of_neighbours_an_edge(n: int) -> None:
    found = lines(n)
    points = {point for (point,) in found["point"]}
    assert len(points) == 2**n
    assert len({frozenset(edge) for edge in found["edge"]}) == len(found["edge"]) == n * 2 ** (n - 1)
    assert all(points.issuperset(edge) and abs(edge[0][1] - edge[1][1]) == 1 for edge in found["edge"])
    # Every set of a size stands at one height, and has a neighbour for each of its columns below it and each other above it.
    for x, y in points:
        assert sum((x, y) in edge for edge in found["edge"]) == n
    assert sorted(y for _, y in points) == sorted(k.bit_count() for k in range(2**n))


def test_the_course_of_the_search_goes_through_its_sets_and_the_kept_one_has_a_ring() -> None:
    found = lines(4)
    (course,) = found["course"]
    assert [y for _, y in course] == [0, 1, 2]
    assert all(list(edge) in found["edge"] for edge in pairwise(course))
    assert found["ring"] == [course[-1:]]


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
    texts = [text.get_text() for text in panel_of(shown["chart"]).texts]
    assert texts[texts.index("1 2 6") + 1] == "0.3"
    assert drawn(5)["key"] == []


def test_names_that_look_the_same_when_they_are_short_are_numbered() -> None:
    names = [f"the very long name of column {j} with the same end" for j in range(4)]
    changed = {"lattice": sample.lattice(names), "columns": names[:2], "course": []}
    shown = collect_lattice(subset_of({**sample.wine()["subset"], **changed}))
    assert shown is not None
    texts = [text.get_text() for text in panel_of(shown["chart"]).texts]
    assert [line.split()[0] for line in texts[-5:-1]] == ["1", "2", "3", "4"]


def test_names_of_markup_are_inert_in_the_chart(hostile: dict[str, Any]) -> None:
    shown = collect_lattice(subset_of(hostile["subset"]))
    assert shown is not None
    ElementTree.fromstring(f"<page>{shown['chart'].svg()}</page>")


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

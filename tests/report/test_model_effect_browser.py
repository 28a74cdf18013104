"""The section on the effect on models in Chromium: charts are drawn, named, and fit a narrow page."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CHARTS = ["comparison-0", "comparison-1", "comparison-2", "added-random", "added-copies"]


def test_every_chart_is_drawn_and_states_what_it_shows(read: Any) -> None:
    reader = read("wine")
    for name in CHARTS:
        reader.show(name)
        assert len(reader.page.locator(f"#{name}").get_attribute("aria-label")) > 40
    shown = reader.page.locator("#model_effect")
    assert "nearest neighbours lose" in shown.locator(".lead").inner_text()
    assert shown.locator("#comparison tbody").count() == 3


@pytest.mark.slow
def test_band_line_and_dashes_of_a_model_have_one_colour_in_light_and_dark(read: Any) -> None:
    seen = []
    for scheme in ("light", "dark"):
        reader = read("wine", scheme=scheme)
        reader.show("added-random")
        colours = reader.page.evaluate("document.getElementById('added-random').data.map((trace) => trace.line.color)")
        assert colours[:3] == colours[3:6] == colours[6:]
        assert len(set(colours)) == 3
        seen.append(colours[0])
    assert seen[0] != seen[1]


@pytest.mark.slow
def test_names_beside_the_lines_are_within_the_chart(read: Any) -> None:
    for width in (1400, 390):
        reader = read("wine", width=width)
        reader.show("added-copies")
        chart = reader.page.locator("#added-copies").bounding_box()
        for text in reader.page.locator("#added-copies .annotation").all():
            box = text.bounding_box()
            assert box["x"] >= chart["x"] - 1
            assert box["x"] + box["width"] <= chart["x"] + chart["width"] + 1


def test_the_numbers_of_the_lines_open_by_keyboard(read: Any) -> None:
    page = read("wine").page
    summary = page.locator("#model_effect details summary")
    summary.focus()
    page.keyboard.press("Enter")
    assert page.locator(".added-numbers").first.is_visible()

"""The noise experiment in Chromium: charts are drawn, named, and fit a narrow page."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.mark.parametrize("width", [1400, 390])
def test_the_charts_state_what_they_show_and_their_names_are_within_them(read: Any, width: int) -> None:
    page = read("wine", width=width).page
    for name in ("added-random", "added-copies"):
        chart = page.locator(f"#{name} svg")
        assert len(chart.get_attribute("aria-label")) > 40
        box = chart.bounding_box()
        for text in chart.locator("text").all():
            inner = text.bounding_box()
            assert box["x"] - 1 <= inner["x"]
            assert inner["x"] + inner["width"] <= box["x"] + box["width"] + 1


def test_the_lines_of_a_model_have_another_colour_in_the_dark(read: Any) -> None:
    script = "() => getComputedStyle(document.querySelectorAll('#added-random text')[0]).fill"
    light, dark = (read("wine", scheme=scheme).page.evaluate(script) for scheme in ("light", "dark"))
    assert light != dark


def test_the_numbers_of_the_lines_open_by_keyboard(read: Any) -> None:
    page = read("wine").page
    summary = page.locator("#noise_experiment details summary")
    summary.focus()
    page.keyboard.press("Enter")
    assert page.locator(".added-numbers").first.is_visible()

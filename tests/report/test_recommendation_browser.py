"""The picture of the recommended columns in Chromium."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("width", [390, 1400])
def test_the_texts_of_the_picture_are_readable_and_apart_beside_the_table_or_above_it(read: Any, width: int) -> None:
    page = read("wine", width=width).page
    figure, table = page.locator("#scores-by-size svg").bounding_box(), page.locator("#selections").bounding_box()
    if width == 390:
        assert figure["y"] + figure["height"] <= table["y"]
    else:
        assert figure["y"] < table["y"] < figure["y"] + figure["height"]
        assert table["x"] + table["width"] <= figure["x"]
    boxes = page.locator("#scores-by-size text").evaluate_all(
        "(all) => all.map((one) => { const { x, y, width, height } = one.getBoundingClientRect(); return [x, y, width, height]; })"
    )
    assert all(figure["x"] - 1 <= x and x + w <= figure["x"] + figure["width"] + 1 for x, _, w, _ in boxes)
    assert min(h for *_, h in boxes) >= 11
    for k, (x, y, w, h) in enumerate(boxes):
        for left, top, wide, tall in boxes[:k]:
            # Two points of the line height are empty.
            assert not (x < left + wide and left < x + w and y + 2 < top + tall and top + 2 < y + h)

"""The lattice of subsets in Chromium."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from . import sample
from .browsing import Reader
from .reading import result_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture
def few(browser: Any, tmp_path: Path) -> Iterator[Any]:
    """Open a report with a lattice of some columns."""
    readers: list[Reader] = []

    def opened(n: int, *, width: int = 1400, scheme: str = "light") -> Reader:
        result = sample.wine()
        names = [column["name"] for column in result["table"]["columns"]][:n]
        course = [{"evaluation": k + 1, "merit": 0.1 * k, "columns": names[:k]} for k in range(3)]
        result["subset"] |= {"lattice": sample.lattice(names), "columns": names[:2], "course": course}
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        readers.append(Reader(page, result_of(result).to_html(tmp_path / f"{n}-{width}.html")))
        return readers[-1]

    yield opened
    for reader in readers:
        reader.page.close()
        assert reader.complaints == []


@pytest.mark.parametrize("n", [*(pytest.param(n, marks=pytest.mark.slow) for n in (2, 4, 5)), 6])
@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (390, "dark")])
def test_names_do_not_overlap_and_the_lattice_scrolls_in_its_own_box(few: Any, n: int, width: int, scheme: str) -> None:
    reader = few(n, width=width, scheme=scheme)
    assert reader.page.evaluate("document.documentElement.scrollWidth") <= width
    boxes = reader.page.locator("#lattice text").evaluate_all(
        "(texts) => texts.map((text) => { const { left, right, top, bottom } = text.getBoundingClientRect();"
        " return [left, right, top, bottom]; })"
    )
    # Of up to five columns a subset has a line for each of its columns, or one that says there is none; and one for its merit.
    assert len(boxes) == (n * 2 ** (n - 1) + 1 + 2**n if n < 6 else 2 * 2**n)
    apart = [
        one[1] <= other[0] + 1 or other[1] <= one[0] + 1 or one[3] <= other[2] + 1 or other[3] <= one[2] + 1
        for i, one in enumerate(boxes) for other in boxes[:i]
    ]  # fmt: skip
    assert all(apart)


def test_all_subsets_are_in_a_table_that_opens_and_sorts(few: Any) -> None:
    reader = few(5)
    reader.page.locator("summary", has_text="All 32 subsets as a table").click()
    rows = reader.page.locator("#sets tbody tr:visible")
    assert rows.count() == 32
    reader.page.locator("#sets th", has_text="Columns").locator("button").click()
    assert "5" in rows.first.inner_text()


def test_hostile_names_are_shown_in_the_lattice_unchanged(read: Any) -> None:
    page = read("hostile", width=390).page
    assert any("<" in text for text in page.locator("#subset .key .name").all_text_contents())
    assert page.locator("#subset :is(img, b)").count() == 0

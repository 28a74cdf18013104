"""The page in Chromium is short: words, screens and elements that a reader meets before anything is unfolded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from .browsing import Reader

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.browser

# The height of a screen of each width.
HEIGHTS = {1400: 900, 390: 844}


@pytest.fixture
def folded(browser: Any, reports: dict[str, Path]) -> Any:
    """Open a report as it is, without or with scripts."""
    pages = []

    def opened(name: str, width: int, *, scripts: bool = True) -> Any:
        context = browser.new_context(
            viewport={"width": width, "height": HEIGHTS[width]}, color_scheme="dark", java_script_enabled=scripts
        )
        reader = Reader(context.new_page(), reports[name], unfolded=False)
        pages.append((context, reader))
        return reader.page

    yield opened
    for context, reader in pages:
        assert reader.complaints == []
        context.close()


def counts(page: Any, width: int) -> tuple[float, int, int]:
    """Return the screens, the visible words and the elements of a page."""
    height, words, elements = page.evaluate(
        """() => [document.documentElement.scrollHeight, document.body.innerText.trim().split(/\\s+/).length,
                  document.querySelectorAll("*").length]"""
    )
    return height / HEIGHTS[width], words, elements


@pytest.mark.parametrize(
    ("name", "width", "screens"),
    [("wine", 1400, 4.5), ("wine", 390, 9), pytest.param("hostile", 390, 16, marks=pytest.mark.slow)],
)
def test_an_unfolded_page_is_a_few_screens(folded: Any, name: str, width: int, screens: float) -> None:
    tall, words, elements = counts(folded(name, width), width)
    assert tall <= screens
    assert words <= 1300
    assert elements <= 4000


def test_the_first_screen_is_complete_without_scripts(folded: Any) -> None:
    page = folded("wine", 1400, scripts=False)
    first = page.locator(".verdict")
    box = first.bounding_box()
    assert box["y"] + box["height"] <= HEIGHTS[1400]
    assert len(page.locator("header.top").inner_text().split()) <= 200
    assert first.locator(".headline").is_visible()
    for mark in ("svg.balance", ".scores svg.mark", ".best svg.mark", "svg.points"):
        assert page.locator(mark).first.is_visible()


def test_the_first_picture_comes_after_a_few_words(folded: Any) -> None:
    page = folded("wine", 390)
    before = page.evaluate(
        """() => { const range = document.createRange();
            range.setStart(document.querySelector("header"), 0);
            range.setEndBefore(document.querySelector("svg"));
            return range.toString().trim().split(/\\s+/).length; }"""
    )
    assert before <= 30


def test_a_link_into_a_folded_section_opens_it(folded: Any) -> None:
    page = folded("wine", 1400)
    assert page.locator("#quality").is_hidden()
    page.evaluate("() => { location.hash = '#quality'; }")
    page.locator("#quality").wait_for()
    assert page.locator("#graph").is_hidden()


def test_one_map_is_open_at_a_time(folded: Any) -> None:
    page = folded("wine", 1400)
    first, second = (page.locator(f"#map-{k}") for k in (1, 2))
    opened = [one.get_attribute("open") is not None for one in (first, second)]
    assert sorted(opened) == [False, True]
    (first if opened[1] else second).locator("summary").first.click()
    assert [one.get_attribute("open") is not None for one in (first, second)] == opened[::-1]


@pytest.mark.parametrize("width", [1400, 390])
def test_nothing_moves_when_the_page_is_drawn_and_its_maps_are_reached(folded: Any, width: int) -> None:
    page = folded("wine", width)
    page.add_init_script(
        """window.shifts = []; new PerformanceObserver((list) => shifts.push(...list.getEntries().map((one) => one.value)))
            .observe({ type: "layout-shift", buffered: true });"""
    )
    page.reload()
    page.wait_for_timeout(300)
    page.evaluate(
        "document.querySelector('#maps details[open] .plot').scrollIntoView({ behavior: 'instant', block: 'center' })"
    )
    page.locator("#legend button[aria-pressed]").first.wait_for()
    page.wait_for_timeout(300)
    assert page.evaluate("shifts") == []
    # The test would see a shift.
    page.evaluate("document.querySelector('#maps details[open] .plot').style.marginTop = '90px'")
    page.wait_for_function("() => shifts.length > 0", timeout=5000)


def test_the_page_keeps_its_height_when_the_maps_are_drawn(folded: Any) -> None:
    page = folded("wine", 1400)
    page.locator("#maps details[open] summary").first.scroll_into_view_if_needed()
    page.locator("#maps canvas").first.wait_for()
    page.locator("#legend button[aria-pressed]").first.wait_for()
    height = page.evaluate("() => document.documentElement.scrollHeight")
    page.add_init_script("window.IntersectionObserver = class { observe() {} }; window.requestIdleCallback = () => {};")
    page.reload()
    assert page.locator("#maps canvas, #legend button[aria-pressed]").count() == 0
    assert page.evaluate("() => document.documentElement.scrollHeight") == height

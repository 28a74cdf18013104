"""The choice of one column of each group, in Chromium."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from . import sample
from .browsing import Reader
from .reading import result_of

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.browser, pytest.mark.slow]

KEEP = "#keep-one button"


def status(page: Any) -> str:
    return str(page.locator("#keep-one .status").text_content())


def groups(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = getattr(sample, name)()["redundancy"]["groups"]
    return found


def others(name: str) -> int:
    result = getattr(sample, name)()
    grouped = {column for group in groups(name) for column in group["columns"]}
    return sum(column["name"] not in grouped and not column["exclusion"] for column in result["table"]["columns"])


def test_one_click_keeps_one_of_each(read: Any) -> None:
    page = read("wine").page
    page.locator(KEEP).click()
    n = len(groups("wine")) + others("wine")
    assert status(page) == f"Chosen now: {n} columns, at most one of each group."
    assert f"{n} of" in page.locator(KEEP).text_content()


def test_another_member_can_be_kept_by_the_keyboard(read: Any) -> None:
    page = read("wine").page
    page.locator(KEEP).click()
    before = status(page)
    first = page.locator("#same fieldset").first.locator("input")
    marked = first.evaluate_all("inputs => inputs.findIndex((input) => input.checked)")
    first.nth(marked).focus()
    page.keyboard.press("ArrowDown")
    after = first.evaluate_all("inputs => inputs.findIndex((input) => input.checked)")
    assert after != marked
    # One for one.
    assert status(page) == before


def test_the_subset_is_chosen_at_first(read: Any) -> None:
    n = len(sample.wine()["subset"]["columns"])
    assert status(read("wine").page).startswith(f"Chosen now: {n} columns")


def test_the_matrix_is_drawn_in_the_colour_of_the_theme(read: Any) -> None:
    page = read("wine").page
    assert page.locator("#shared image").bounding_box()["width"] > 200
    assert len(page.locator("#shared text").all_text_contents()) == len(sample.wine()["redundancy"]["columns"])


def test_the_text_on_a_choice_fits_a_phone(read: Any) -> None:
    reader = read("hostile", width=390, scheme="dark")
    reader.page.locator(KEEP).click()
    assert "Chosen now" in status(reader.page)
    assert reader.page.evaluate("document.documentElement.scrollWidth") <= 390


def test_many_groups_are_folded_and_can_be_shown(browser: Any, tmp_path: Path) -> None:
    result = sample.wide(120, 200)
    names = result["redundancy"]["columns"]
    result["redundancy"]["groups"] = [
        {"columns": names[k : k + 2], "keep": names[k + 1], "min_value": 0.9, "measure": "|r|"} for k in range(0, 60, 2)
    ]
    reader = Reader(browser.new_page(), result_of(result).to_html(tmp_path / "many.html"))
    page = reader.page
    shown = page.locator("#same li:visible")
    assert shown.count() == 20
    page.locator("#more-same button").click()
    assert shown.count() == 30
    assert page.locator("#more-same button").get_attribute("aria-expanded") == "true"
    page.close()
    assert reader.complaints == []

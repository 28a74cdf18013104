"""The section of the columns in Chromium: sorted, filtered, ranked by a criterion, opened and ticked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from . import sample
from .browsing import Reader
from .reading import result_of

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.browser, pytest.mark.slow]

TABLE = "columns-table"


def head(reader: Reader, text: str) -> Any:
    return reader.page.locator(f"#{TABLE} thead th", has_text=text)


def names(reader: Reader) -> list[str]:
    script = "(bodies) => bodies.filter((body) => !body.hidden).map((body) => body.querySelector('th').title)"
    found: list[str] = reader.page.locator(f"#{TABLE} tbody").evaluate_all(script)
    return found


def test_the_first_columns_are_those_of_the_least_mean_rank(read: Any) -> None:
    reader = read("wine")
    ranking = sample.wine()["ranking"]
    ranks = dict(zip(ranking["columns"], ranking["mean_rank"]["ranks"], strict=True))
    shown = [ranks[name] for name in names(reader)[:14]]
    assert shown == sorted(shown)


def test_headings_sort_by_mouse_and_by_keyboard_and_show_the_order(read: Any) -> None:
    reader = read("wine")
    first = names(reader)
    head(reader, "Column").locator("button").click()
    assert head(reader, "Column").get_attribute("aria-sort") == "ascending"
    assert names(reader) == sorted(first)
    head(reader, "Column").locator("button").press("Enter")
    assert head(reader, "Column").get_attribute("aria-sort") == "descending"
    assert names(reader) == sorted(first, reverse=True)
    head(reader, "Mean rank").locator("button").click()
    assert head(reader, "Mean rank").get_attribute("aria-sort") == "ascending"
    assert names(reader) == first
    head(reader, "Mean rank").locator("button").click()
    # Columns without a rank stay last.
    assert names(reader)[-2:] == first[-2:]
    ranking = sample.wine()["ranking"]
    ranks = dict(zip(ranking["columns"], ranking["mean_rank"]["ranks"], strict=True))
    shown = [ranks[name] for name in names(reader)[:14]]
    assert shown == sorted(shown, reverse=True)


def test_columns_are_ranked_by_any_criterion(read: Any) -> None:
    reader = read("wine")
    first = names(reader)
    ranking = sample.wine()["ranking"]
    scores = dict(zip(ranking["columns"], ranking["scores"]["fisher_score"], strict=True))
    reader.page.locator("#column-scores").select_option(label="Fisher score")
    head(reader, "Fisher score").wait_for()
    known = [name for name in names(reader) if scores[name] is not None]
    assert known == sorted(known, key=lambda name: -scores[name])
    cells = reader.page.locator(f"#{TABLE} td.rank").all_inner_texts()
    assert float(cells[0]) == pytest.approx(scores[known[0]], rel=1e-3)
    reader.page.locator("#column-scores").select_option(value="")
    head(reader, "Mean rank").wait_for()
    assert names(reader) == first


def test_boxes_are_the_readers_choice_and_follow_it(read: Any) -> None:
    reader = read("wine")
    kept = set(sample.wine()["subset"]["columns"])
    ash = reader.page.get_by_role("checkbox", name="Keep ash", exact=True)
    assert reader.page.locator(f"#{TABLE} .keep input").count() == 16
    assert reader.page.locator(f"#{TABLE} .keep input:checked").count() == len(kept)
    for name in ("country", "bottle"):
        assert reader.page.get_by_role("checkbox", name=f"Keep {name}", exact=True).is_disabled()
    ash.focus()
    ash.press("Space")
    assert ash.is_checked()
    assert "ash" not in kept
    # The choice stays when the table is sorted another way.
    head(reader, "Column").locator("button").click()
    assert reader.page.locator(f"#{TABLE} .keep input:checked").count() == len(kept) + 1


def test_a_choice_of_hostile_names_is_kept(read: Any) -> None:
    reader = read("hostile")
    for box in reader.page.locator(f"#{TABLE} .keep input").all():
        box.check()
    assert reader.page.locator(f"#{TABLE} .keep input:checked").count() == len(sample.HOSTILE)


def test_a_press_on_a_name_shows_the_evidence_of_the_column(read: Any) -> None:
    reader = read("wine")
    body = reader.page.locator(f"#{TABLE} tbody").first
    name, facts = body.locator("th"), body.locator(".facts")
    assert facts.is_hidden()
    name.click()
    assert name.get_attribute("aria-expanded") == "true"
    assert "Scores" in facts.inner_text()
    name.press("Enter")
    assert facts.is_hidden()


def test_columns_are_found_by_a_part_of_their_name_and_by_what_became_of_them(read: Any) -> None:
    reader = read("wine")
    search, states = reader.page.locator("#columns-tools input"), reader.page.locator("#column-states")
    search.fill("PHENOL")
    reader.page.wait_for_timeout(100)
    assert sorted(names(reader)) == ["nonflavanoid_phenols", "total_phenols"]
    search.fill("")
    states.select_option(value="excluded")
    reader.page.wait_for_timeout(100)
    assert sorted(names(reader)) == ["bottle", "country"]
    states.select_option(value="")
    reader.page.wait_for_timeout(100)
    assert len(names(reader)) == 16


def test_many_columns_are_folded_until_asked_for_and_a_search_reaches_all(read: Any) -> None:
    reader = read("wide")
    assert len(names(reader)) == 25
    button = reader.page.locator("#columns-more button")
    assert button.inner_text() == "Show all 120 columns"
    button.click()
    reader.page.wait_for_function(f"() => document.querySelectorAll('#{TABLE} tbody:not([hidden])').length === 120")
    assert button.get_attribute("aria-expanded") == "true"
    button.click()
    reader.page.wait_for_timeout(100)
    assert len(names(reader)) == 25
    reader.page.locator("#columns-tools input").fill("0119")
    reader.page.wait_for_timeout(100)
    assert names(reader) == ["probe_0119_channel_0"]


def test_very_many_columns_are_shown_some_at_a_time(browser: Any, tmp_path: Path) -> None:
    page = browser.new_page()
    reader = Reader(page, result_of(sample.wide(500, 50)).to_html(tmp_path / "a.html"))
    assert page.evaluate("document.querySelectorAll('*').length") < 4000
    button = page.locator("#columns-more button")
    for shown, told in ((325, "Show all 500 columns"), (500, "Show the first 25 only"), (25, "Show 300 more columns")):
        button.click()
        page.wait_for_timeout(300)
        assert (len(names(reader)), button.inner_text()) == (shown, told)
    assert reader.complaints == []
    page.close()


def test_the_rank_and_the_distribution_are_seen_on_a_narrow_screen_without_scrolling(read: Any) -> None:
    reader = read("wine", width=390, scheme="dark")
    for name in ("rank", "picture"):
        cell = reader.page.locator(f"#{TABLE} td.{name}").first
        cell.scroll_into_view_if_needed()
        box = cell.bounding_box()
        assert box["x"] + box["width"] <= 391


def test_without_scripts_the_evidence_is_there_and_no_boxes_that_do_nothing(read: Any) -> None:
    page = read("wine", java_script_enabled=False).page
    assert page.locator(f"#{TABLE} .keep").first.is_hidden()
    assert page.locator("#columns-tools").is_hidden()
    assert page.locator(f"#{TABLE} .facts").first.is_visible()


def test_on_paper_nothing_is_wider_than_the_paper(read: Any) -> None:
    page = read("wine", width=673).page
    page.emulate_media(media="print")
    box = page.locator(f"#{TABLE}").bounding_box()
    assert box["x"] + box["width"] <= 674

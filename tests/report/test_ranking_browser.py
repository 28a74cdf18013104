"""The section of the ranking in Chromium: selecting, hiding, keyboard, narrow screens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from . import sample
from .browsing import Reader
from .reading import result_of

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_the_first_columns_are_those_of_the_least_mean_rank(read: Any) -> None:
    reader = read("wine")
    ranking = sample.wine()["ranking"]
    ranks = dict(zip(ranking["columns"], ranking["mean_rank"]["ranks"], strict=True))
    shown = [ranks[name] for name in reader.names("scores")[:14]]
    assert shown == sorted(shown)
    assert reader.page.locator("#scores tbody td.rank").all_text_contents()[:3] == ["1", "2", "3"]


def test_boxes_are_the_readers_choice_and_follow_it(read: Any) -> None:
    reader = read("wine")
    kept = set(sample.wine()["subset"]["columns"])
    ash = reader.page.get_by_role("checkbox", name="Keep ash", exact=True)
    boxes = reader.page.locator("#scores .keep input")
    assert boxes.count() == 16
    assert reader.page.locator("#scores .keep input:checked").count() == len(kept)
    for name in ("country", "bottle"):
        assert reader.page.get_by_role("checkbox", name=f"Keep {name}", exact=True).is_disabled()
    assert not ash.is_checked()
    ash.focus()
    ash.press("Space")
    assert ash.is_checked()
    assert "ash" not in kept
    # The choice stays when the table is sorted another way.
    reader.page.locator("#scores th", has_text="Fisher score").locator("button").click()
    assert ash.is_checked()
    assert reader.page.locator("#scores .keep input:checked").count() == len(kept) + 1


def test_a_choice_of_hostile_names_is_kept(read: Any) -> None:
    reader = read("hostile")
    for box in reader.page.locator("#scores .keep input").all():
        box.check()
    assert reader.page.locator("#scores .keep input:checked").count() == len(sample.HOSTILE)


def test_uninformative_columns_can_be_hidden_and_shown_again(read: Any) -> None:
    reader = read("wine")
    box = reader.page.get_by_role("checkbox", name="Hide 1 column with a score of 0 by information gain")
    box.check()
    assert set(sample.wine()["ranking"]["columns"]) - set(reader.names("scores")) == {"cellar"}
    # A search goes on among the others.
    reader.page.locator('.tools[data-table="scores"] input').fill("c")
    assert "cellar" not in reader.names("scores")
    box.uncheck()
    assert "cellar" in reader.names("scores")


def test_a_criterion_is_hidden_and_shown_again_by_keyboard(read: Any) -> None:
    reader = read("wine")
    reader.page.locator("#scores-shows summary").press("Enter")
    box = reader.page.get_by_role("group", name="Criteria shown").get_by_role("checkbox", name="Symmetric uncertainty")
    head = reader.page.locator("#scores th", has_text="Symmetric uncertainty")
    box.press("Space")
    assert head.is_hidden()
    row = reader.page.locator("#scores tbody tr").first
    assert row.locator("td.score:visible").count() == 2
    box.press("Space")
    assert head.is_visible()
    assert row.locator("td.score:visible").count() == 3


def test_the_rank_and_its_interval_are_seen_on_a_narrow_screen_without_scrolling(read: Any) -> None:
    reader = read("wine", width=390, scheme="dark")
    cell = reader.page.locator("#scores td.combined").first
    cell.scroll_into_view_if_needed()
    box = cell.bounding_box()
    assert box["x"] + box["width"] <= 390
    bar, track = (cell.locator(one).bounding_box() for one in (".ranks i", ".ranks"))
    assert track["x"] <= bar["x"]
    assert bar["x"] + bar["width"] <= track["x"] + track["width"] + 1


def test_a_long_table_folds_what_is_left_after_hiding(read: Any) -> None:
    reader = read("wide")
    assert len(reader.names("scores")) == 25
    assert reader.page.locator("#scores .keep input").count() == 120


def test_without_scripts_there_are_no_boxes_that_do_nothing(read: Any) -> None:
    reader = read("wine", java_script_enabled=False)
    assert reader.page.locator("#scores .keep").first.is_hidden()
    assert reader.page.locator("#scores-shows").is_hidden()
    assert reader.page.locator("#scores td.combined").first.is_visible()


def test_on_paper_every_criterion_is_there_and_nothing_is_wider_than_the_paper(browser: Any, tmp_path: Path) -> None:
    result = sample.wine()
    ranking = result["ranking"]
    labels = ["Gain ratio", "Tree importance", "Linear coefficient", "Laplacian score", "Entropy", "Variance"]
    for label in labels:
        key = label.lower().replace(" ", "_")
        ranking["criteria"].append({"id": key, "label": label, "unit": "bits", "summary": "S.", "needs_target": True})
        ranking["scores"][key] = ranking["scores"]["information_gain"]
    reader = Reader(
        browser.new_page(viewport={"width": 673, "height": 1000}), result_of(result).to_html(tmp_path / "paper.html")
    )
    reader.page.emulate_media(media="print")
    table = reader.page.locator("#scores")
    assert table.locator("th.criterion:visible").count() == 9
    assert table.locator("th.cut, td.cuts").first.is_hidden()
    # A4 less its margins.
    box = table.bounding_box()
    assert box["x"] + box["width"] <= 673
    reader.page.close()

"""The report in Chromium, opened from disk as a reader opens it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tamiz.report import Result

from . import sample
from .browsing import Reader
from .reading import result_of

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.browser


@pytest.mark.parametrize(
    ("name", "width", "scheme"),
    [
        ("wine", 1400, "light"),
        ("hostile", 390, "dark"),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in [
                ("wine", 390, "dark"),
                ("hostile", 1400, "light"),
                ("bare", 1400, "light"),
                ("bare", 390, "dark"),
                ("wide", 1400, "light"),
                ("wide", 390, "dark"),
            ]
        ),
    ],
)
def test_every_section_is_drawn_without_a_complaint_and_without_scrolling_sideways(
    read: Any, name: str, width: int, scheme: str
) -> None:
    reader = read(name, width=width, scheme=scheme)
    reader.visit_all()
    assert reader.page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.slow
def test_on_a_narrow_page_the_bar_shows_the_section_on_screen(read: Any) -> None:
    page = read("wine", width=390).page
    for name in ("maps", "columns"):
        page.evaluate("(name) => document.getElementById(name).scrollIntoView({ behavior: 'instant' })", name)
        tab = page.locator(f'.bar a[href="#{name}"][aria-current]')
        tab.wait_for()
        box = tab.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390


@pytest.mark.slow
def test_a_hostile_name_is_shown_as_it_is_written(read: Any) -> None:
    reader = read("hostile")
    reader.visit_all()
    assert reader.page.locator("h1").inner_text() == sample.HOSTILE[0]
    assert sample.HOSTILE[2] in reader.page.locator("#maps select option").all_text_contents()[0]
    assert reader.page.locator(".plot a, main img, main b:text-is('bold')").count() == 0
    assert reader.page.locator(".map-axes").first.inner_text().startswith(f"{sample.HOSTILE[0]} (34%)")
    assert sample.HOSTILE[0] in "".join(reader.legend())
    names = reader.page.locator("#balance th").evaluate_all("(cells) => cells.map((cell) => cell.title)")
    assert sample.HOSTILE[0] in names


@pytest.mark.slow
@pytest.mark.parametrize("table", ["#selections", pytest.param(".quality", marks=pytest.mark.slow)])
def test_a_phone_shows_names_and_numbers_of_a_wide_table_which_fades_where_it_continues(read: Any, table: str) -> None:
    reader = read("wine", width=390)
    box = reader.page.locator(".scroll").filter(has=reader.page.locator(table))
    box.scroll_into_view_if_needed()
    script = """(box) => {
        const row = [...box.querySelectorAll("tbody tr")].find((row) => row.querySelector("td"));
        const number = [...row.querySelectorAll("td.num")].find((cell) => /[.]/.test(cell.textContent));
        return [number, row.querySelector("th")].map((cell) => {
            const { left, right } = cell.getBoundingClientRect();
            return [left, right];
        });
    }"""
    (number_left, number_right), (name_left, name_right) = box.evaluate(script)
    assert name_left < name_right <= number_left < number_right <= 390
    classes = "(box) => ['scrolled', 'continued'].map((name) => box.classList.contains(name))"
    assert box.evaluate(classes) == [False, True]
    assert box.evaluate("(box) => getComputedStyle(box).maskImage").startswith("linear-gradient")
    box.evaluate("(box) => { box.scrollLeft = box.scrollWidth; }")
    reader.page.wait_for_timeout(100)
    assert box.evaluate(classes) == [True, False]
    _, (name_left, name_right) = box.evaluate(script)
    assert 0 <= name_left < name_right < 195


@pytest.mark.slow
def test_an_option_to_copy_is_not_broken_across_lines(browser: Any, tmp_path: Path) -> None:
    wine = sample.wine()
    for j in (4, 5):
        wine["table"]["columns"][j]["kind_suggestion"] = {"kind": "categorical", "reason": "few whole numbers"}
    page = browser.new_page(viewport={"width": 390, "height": 900})
    page.goto(result_of(wine).to_html(tmp_path / "wine.html").as_uri())
    command = page.locator("#table .copy").first
    heights = command.evaluate("(chip) => [...chip.children].map((one) => one.getBoundingClientRect().height)")
    assert len(heights) == 2
    assert max(heights) < 30 < command.bounding_box()["height"]
    first, second = (wine["table"]["columns"][j]["name"] for j in (4, 5))
    assert command.text_content() == f"--kinds {first}=categorical --kinds {second}=categorical"
    page.close()


@pytest.mark.slow
def test_images_are_drawn_in_steps_of_grey(read: Any) -> None:
    reader = read("digits", width=390, scheme="dark")
    reader.visit_all()
    assert reader.page.evaluate("document.documentElement.scrollWidth") <= 390
    script = """() => [...document.querySelectorAll("canvas[data-pixels]")].map((canvas) => [
        [...canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data],
        getComputedStyle(canvas).imageRendering, canvas.getBoundingClientRect().right])"""
    drawn = reader.page.evaluate(script)
    assert len(drawn) == 13
    for pixels, rendering, right in drawn:
        assert pixels[::4] == pixels[1::4] == pixels[2::4] == list(range(0, 240, 10))
        assert set(pixels[3::4]) == {255}
        assert (rendering, right <= 390) == ("pixelated", True)


@pytest.mark.slow
def test_the_numbers_can_be_saved_and_rendered_again(read: Any, reports: dict[str, Path], tmp_path: Path) -> None:
    reader = read("wine")
    with reader.page.expect_download() as download:
        reader.page.locator("#save").click()
    saved = tmp_path / "saved.json"
    download.value.save_as(saved)
    assert json.loads(saved.read_text()) == json.loads(json.dumps(result_of(sample.wine()).to_dict()))
    again = Result.from_json(saved).to_html(tmp_path / "again.html")
    assert again.read_bytes() == reports["wine"].read_bytes()


def test_without_scripts_a_note_is_shown_and_every_number_is_visible(read: Any) -> None:
    reader = read("wine", java_script_enabled=False)
    assert reader.page.locator("noscript p").is_visible()
    assert reader.page.locator("#columns-table tbody").count() == 16
    assert reader.page.locator("#columns-table tbody tr").last.is_visible()


@pytest.mark.slow
def test_a_browser_without_decompression_shows_maps_as_pictures_and_still_sorts(
    browser: Any, reports: dict[str, Path]
) -> None:
    page = browser.new_page()
    page.add_init_script("delete window.DecompressionStream")
    reader = Reader(page, reports["wine"])
    assert page.locator("#map-1-points svg").is_visible()
    page.locator("#columns-table th", has_text="Column").locator("button").click()
    assert page.locator("#columns-table tbody th").first.get_attribute("title") == "alcalinity_of_ash"
    assert reader.complaints == []
    page.close()


@pytest.mark.slow
def test_no_task_blocks_the_page_while_a_map_is_drawn(browser: Any, reports: dict[str, Path]) -> None:
    page = browser.new_page()
    browser.start_tracing(page=page, categories=["toplevel", "disabled-by-default-devtools.timeline"])
    Reader(page, reports["wine"]).visit_all()
    trace = json.loads(browser.stop_tracing())
    page.close()
    # Time of the thread: what else runs on the machine, the other tests for one, does not count.
    tasks = [event["tdur"] for event in trace["traceEvents"] if event["name"] == "RunTask" and "tdur" in event]
    assert len(tasks) > 10
    assert max(tasks) < 500_000

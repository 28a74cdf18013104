"""The maps in Chromium: rows selected on one map are selected on all, and very many points are drawn as an image."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from . import sample
from .browsing import Reader
from .reading import result_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.browser, pytest.mark.slow]

N_MANY = 5000
PICKED = """(id) => { const plot = document.getElementById(id);
    return plot.data.filter((trace) => trace.mode === "markers")
        .reduce((sum, trace) => sum + (trace.selectedpoints ? trace.selectedpoints.length : trace.x.length), 0); }"""


def many() -> dict[str, Any]:
    """Return a result with more points than a page can hold as shapes: two clouds that no map mixes."""
    result = sample.wine()
    rng = np.random.default_rng(0)
    cloud = np.arange(N_MANY) % 2
    for reduced in result["maps"]:
        places = rng.normal(size=(N_MANY, 2)) + 8.0 * cloud[:, None]
        reduced |= {"points": places.round(3).tolist(), "rows": list(range(0, 3 * N_MANY, 3))}
    result["colors"] = [
        sample.color("class", cloud.tolist(), ["left", "right"]) | {"role": "target"},
        sample.color("height", (cloud * 100.0).tolist(), []),
    ]
    result["table"]["n_rows_used"] = 3 * N_MANY
    result["quality"] = None
    return result


@pytest.fixture
def crowd(browser: Any, tmp_path: Path) -> Iterator[Reader]:
    page = browser.new_page(viewport={"width": 1400, "height": 900}, accept_downloads=True)
    reader = Reader(page, result_of(many()).to_html(tmp_path / "many.html"))
    reader.show("map-1-points")
    reader.show("map-2-points")
    yield reader
    page.close()
    assert reader.complaints == []


def lasso(reader: Reader, plot: str) -> None:
    """Draw a lasso around the left half of a map."""
    button = reader.page.locator("#lasso")
    if button.get_attribute("aria-pressed") == "false":
        button.click()
    reader.page.locator(f"#{plot} .nsewdrag").scroll_into_view_if_needed()
    reader.page.wait_for_timeout(300)
    box = reader.page.locator(f"#{plot} .nsewdrag").bounding_box()
    left, top, width, height = (box[side] for side in ("x", "y", "width", "height"))
    corners = [(0.02, 0.02), (0.5, 0.02), (0.5, 0.98), (0.02, 0.98), (0.02, 0.05)]
    for k, (across, down) in enumerate(corners):
        reader.page.mouse.move(left + across * width, top + down * height, steps=4)
        if k == 0:
            reader.page.mouse.down()
    reader.page.mouse.up()
    reader.page.locator("#picked").wait_for()


def rows_shown(reader: Reader) -> int:
    return int(reader.page.locator("#picked .status").inner_text().split()[0].replace(",", ""))


def test_rows_within_a_lasso_are_picked_on_every_map_and_let_go_together(read: Any) -> None:
    reader = read("wine")
    for name in ("map-1-points", "map-2-points"):
        reader.show(name)
    lasso(reader, "map-1-points")
    n = rows_shown(reader)
    assert 0 < n < 178
    reader.page.wait_for_function(f"() => ({PICKED})('map-2-points') === {n}")
    assert reader.page.evaluate(PICKED, "map-1-points") == n
    reader.page.locator("#picked-clear").click()
    assert reader.page.locator("#picked").is_hidden()
    reader.page.wait_for_function(f"() => ({PICKED})('map-2-points') === 178")
    assert reader.page.evaluate("document.getElementById('map-1-points').layout.selections.length") == 0


def test_picked_rows_stay_picked_in_other_colours_and_after_a_map_comes_back(read: Any) -> None:
    reader = read("wine")
    reader.show("map-1-points")
    reader.page.locator("#pick input").fill("1, 100-103")
    reader.page.locator("#pick input").press("Enter")
    reader.page.locator("#picked").wait_for()
    assert rows_shown(reader) == 5
    reader.page.locator("#colours select").select_option(label="alcohol")
    reader.page.wait_for_function("() => document.getElementById('map-1-points').data[0].name === 'alcohol'")
    assert reader.page.evaluate(PICKED, "map-1-points") == 5
    reader.page.locator("#table").scroll_into_view_if_needed()
    reader.page.evaluate("scrollTo(0, 0)")
    reader.page.wait_for_function("() => !document.querySelector('#map-1-points .main-svg')")
    reader.show("map-1-points")
    assert reader.page.evaluate(PICKED, "map-1-points") == 5


def test_picked_rows_are_compared_with_all_and_saved(read: Any, tmp_path: Path) -> None:
    reader = read("wine", accept_downloads=True)
    reader.show("map-1-points")
    reader.page.locator("#pick input").fill("1-59")
    reader.page.locator("#pick input").press("Enter")
    reader.page.locator("#picked summary").click()
    lines = reader.page.locator("#picked tbody tr")
    assert lines.first.locator("th, td").all_inner_texts() == ["class (target)", "Barolo (100%)", "Grignolino (40%)"]
    alcohol = sample.wine()["colors"][1]["values"]
    _, picked, everything = lines.nth(1).locator("th, td").all_inner_texts()
    assert float(picked) == pytest.approx(np.mean(alcohol[:59]), rel=1e-4)
    assert float(everything) == pytest.approx(np.mean(alcohol), rel=1e-4)
    with reader.page.expect_download() as download:
        reader.page.locator("#picked-save").click()
    download.value.save_as(tmp_path / "picked.csv")
    head, *rows = csv.reader((tmp_path / "picked.csv").open(encoding="utf-8", newline=""))
    assert head[:3] == ["row", "PCA: PC 1", "PCA: PC 2"]
    assert [int(row[0]) for row in rows] == list(range(1, 60))
    places = sample.wine()["maps"][0]["points"][:59]
    assert [[float(value) for value in row[1:3]] for row in rows] == places


def test_points_that_are_no_rows_select_nothing(read: Any) -> None:
    reader = read("wine")
    reader.show("map-1-points")
    for text in ("x", "-", "5000", "9-3", "<b>"):
        reader.page.locator("#pick input").fill(text)
        reader.page.locator("#pick input").press("Enter")
        assert reader.page.locator("#picked").is_hidden()


def test_very_many_points_are_an_image_with_rows_that_can_be_shown_and_selected(crowd: Reader) -> None:
    script = (
        "(id) => { const plot = document.getElementById(id); return [plot.layout.images.length, plot.data.length]; }"
    )
    assert crowd.page.evaluate(script, "map-1-points") == [1, 2 + 2]
    assert crowd.page.locator("#map-1-points .scatterlayer .point").count() <= 2 + 8 * 3
    point = """() => { const plot = document.getElementById("map-1-points"), { xaxis, yaxis } = plot._fullLayout;
        const box = plot.getBoundingClientRect(), [x, y] = %s;
        return [box.x + xaxis._offset + xaxis.d2p(x), box.y + yaxis._offset + yaxis.d2p(y)]; }"""
    places = many()["maps"][0]["points"]
    farthest = max(range(N_MANY), key=lambda row: places[row][0])
    crowd.page.locator("#map-1-points").scroll_into_view_if_needed()
    x, y = crowd.page.evaluate(point % places[farthest])
    crowd.page.mouse.move(x, y)
    pointed = crowd.page.locator("#pointed")
    pointed.wait_for()
    assert pointed.inner_text() == f"Row {3 * farthest + 1:,}\nclass: right\nheight: 100"
    lasso(crowd, "map-1-points")
    assert N_MANY / 4 < rows_shown(crowd) < 3 * N_MANY / 4


def test_the_picture_of_a_map_follows_the_colour_the_zoom_and_what_is_picked(crowd: Reader) -> None:
    source = "document.getElementById('map-1-points').layout.images[0].source"
    seen = {crowd.page.evaluate(source)}
    for change in (
        "(() => { const s = document.querySelector('#colours select'); s.value = '1'; s.dispatchEvent(new Event('change')); })()",
        "Plotly.relayout('map-1-points', { 'xaxis.range': [0, 4], 'yaxis.range': [0, 4] })",
        "(() => { const i = document.querySelector('#pick input'); i.value = '1-900'; i.dispatchEvent(new Event('change')); })()",
    ):
        crowd.page.evaluate(change)
        crowd.page.wait_for_function(f"() => ({list(seen)!r}).every((source) => source !== {source})")
        seen.add(crowd.page.evaluate(source))
    assert len(seen) == 4
    assert crowd.page.locator("#map-1-points .colorbar").count() == 1


def test_very_many_points_are_printed(crowd: Reader) -> None:
    crowd.page.evaluate("scrollTo(0, 0)")
    crowd.page.wait_for_function("() => !document.querySelector('#map-1-points .main-svg')")
    crowd.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert crowd.page.locator("#maps .plot[data-painter] image").count() == 2
    crowd.page.evaluate("dispatchEvent(new Event('afterprint'))")


@pytest.mark.parametrize("width", [1400, 390])
def test_maps_far_away_are_given_back_and_keep_their_room(read: Any, width: int) -> None:
    reader = read("wine", width=width)
    reader.show("map-1-points")
    tall = reader.page.evaluate("document.documentElement.scrollHeight")
    reader.page.evaluate("scrollTo(0, 0)")
    reader.page.wait_for_function("() => !document.querySelector('#map-1-points .main-svg')")
    assert reader.page.evaluate("document.documentElement.scrollHeight") == tall
    reader.show("map-1-points")


def view(reader: Reader) -> list[float]:
    script = """() => { const { xaxis, yaxis } = document.getElementById("map-1-points")._fullLayout;
        return [...xaxis.range, ...yaxis.range]; }"""
    shown: list[float] = reader.page.evaluate(script)
    return shown


def come_back(reader: Reader) -> None:
    reader.page.evaluate("scrollTo(0, 0)")
    reader.page.wait_for_function("() => !document.querySelector('#map-1-points .main-svg')")
    reader.show("map-1-points")
    reader.page.wait_for_timeout(500)


def centred(shown: list[float]) -> list[float]:
    """Return the middle of the horizontal axis, and the ends of the vertical one."""
    return [(shown[0] + shown[1]) / 2, *shown[2:]]


def test_a_zoom_outlives_another_colour_and_a_map_that_comes_back_and_can_be_reset(read: Any) -> None:
    reader = read("wine")
    reader.show("map-1-points")
    reader.page.wait_for_timeout(500)
    whole = view(reader)
    reader.page.evaluate("() => Plotly.relayout('map-1-points', { 'xaxis.range': [-1, 1], 'yaxis.range': [-1, 1] })")
    zoomed = view(reader)
    reader.page.locator("#colours select").select_option(label="alcohol")
    reader.page.wait_for_timeout(500)
    # One unit stays as long on both axes: the room that the legend leaves changes the width of the view, not its middle.
    assert centred(view(reader)) == pytest.approx(centred(zoomed), abs=0.2)
    for _ in range(2):
        come_back(reader)
        assert centred(view(reader)) == pytest.approx(centred(zoomed), abs=0.2)
    reader.page.locator("#map-1-points").hover()
    reader.page.locator('#map-1-points [data-title="Reset axes"]').click()
    assert centred(view(reader)) == pytest.approx(centred(whole), abs=0.3)
    come_back(reader)
    assert centred(view(reader)) == pytest.approx(centred(whole), abs=0.3)


def test_a_zoom_into_very_many_points_comes_back(crowd: Reader) -> None:
    whole = view(crowd)
    crowd.page.evaluate("() => Plotly.relayout('map-1-points', { 'xaxis.range': [0, 4], 'yaxis.range': [0, 4] })")
    zoomed = view(crowd)
    assert zoomed != pytest.approx(whole)
    come_back(crowd)
    assert view(crowd) == pytest.approx(zoomed, abs=0.1)


def test_rows_that_are_not_drawn_are_reported(crowd: Reader) -> None:
    field, status = crowd.page.locator("#pick input"), crowd.page.locator("#pick-status")
    for text, n, told in (
        ("abc", 0, "No shown row has such a number."),
        ("2", 0, "No shown row has such a number."),
        ("1-7", 3, "Not all of these rows are shown."),
        ("1, 4", 2, ""),
        ("", 0, ""),
    ):
        field.fill(text)
        field.press("Enter")
        crowd.page.wait_for_timeout(200)
        assert (status.inner_text(), crowd.page.locator("#picked").is_hidden()) == (told, n == 0)
        assert n == 0 or rows_shown(crowd) == n


def test_dates_are_shown_as_days(browser: Any, tmp_path: Path) -> None:
    result = sample.wine()
    result["colors"][1] |= {"kind": "date", "values": [1577836800.0 + 86400 * row for row in range(178)]}
    page = browser.new_page(accept_downloads=True)
    reader = Reader(page, result_of(result).to_html(tmp_path / "a.html"))
    reader.show("map-1-points")
    reader.page.locator("#colours select").select_option(label="alcohol")
    reader.page.wait_for_function("() => document.getElementById('map-1-points').data[0].name === 'alcohol'")
    assert page.evaluate("() => document.getElementById('map-1-points').data[0].text[1]").startswith(
        "Row 2<br><b>alcohol: 2020-01-02</b>"
    )
    assert page.locator("#map-1-points .colorbar text").all_text_contents()[:3] == [
        "2020-01-01",
        "2020-03-29",
        "2020-06-26",
    ]
    with page.expect_download() as download:
        page.locator("#save-coordinates").click()
    download.value.save_as(tmp_path / "a.csv")
    head, first, *_ = csv.reader((tmp_path / "a.csv").open(encoding="utf-8", newline=""))
    assert first[head.index("alcohol")] == "2020-01-01"
    assert reader.complaints == []
    page.close()


def test_the_numbers_of_the_clusters_are_drawn_at_their_centres_and_arrows_avoid_them(
    browser: Any, tmp_path: Path
) -> None:
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    wine = sample.wine()
    reader = Reader(page, result_of(wine).to_html(tmp_path / "wine.html"))
    reader.show("map-1-points")
    drawn = page.evaluate(
        """() => document.getElementById("map-1-points").data.filter((trace) => trace.mode === "text")
            .map(({ x, y, text }) => ({ x, y, text }))"""
    )
    centers = np.array([rule["center"] for rule in wine["maps"][0]["clusters"]["rules"]])
    assert [trace["text"] for trace in drawn] == [["<b>1</b>", "<b>2</b>"]]
    np.testing.assert_allclose(np.column_stack([drawn[0]["x"], drawn[0]["y"]]), centers, rtol=1e-5)
    overlaps = page.evaluate(
        """() => { const all = (selector) => [...document.querySelectorAll("#map-1-points " + selector)];
            const boxes = (selector) => all(selector).map((element) => element.getBoundingClientRect());
            const numbers = boxes(".textpoint text"), names = boxes(".annotation rect.bg");
            return [numbers.length, names.length, numbers.flatMap((a) => names.filter((b) =>
                a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)).length]; }"""
    )
    assert overlaps[0] == 2
    assert overlaps[1] > 0
    assert overlaps[2] == 0
    assert reader.complaints == []
    page.close()

"""The maps in Chromium: points on a canvas, in colours that a reader chooses, pointed at, walked through, picked and saved."""

from __future__ import annotations

import csv
import re
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from matplotlib.image import imread

from tamiz.report import Result

from . import sample
from .browsing import Reader
from .reading import result_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.browser, pytest.mark.slow]

N_MANY = 5000
# The empty border around the points, in pixels.
MARGIN = 22


def many(n: int = N_MANY) -> dict[str, Any]:
    """Return a result with more points than are drawn in shapes: two clouds that no map mixes."""
    result = sample.wine()
    rng = np.random.default_rng(0)
    cloud = np.arange(n) % 2
    for reduced in result["maps"]:
        places = rng.normal(size=(n, 2)) + 8.0 * cloud[:, None]
        reduced |= {"points": places.round(3).tolist(), "rows": list(range(0, 3 * n, 3))}
    result["colors"] = [
        sample.color("class", cloud.tolist(), ["left", "right"]) | {"role": "target"},
        sample.color("height", (cloud * 100.0).tolist(), []),
    ]
    result["table"]["n_rows_used"] = 3 * n
    result["quality"] = None
    return result


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Any]:
    """Open the report of a result that a test changed."""
    readers: list[Reader] = []

    def open_(result: dict[str, Any], **more: Any) -> Reader:
        page = browser.new_page(**({"viewport": {"width": 1400, "height": 900}} | more))
        readers.append(Reader(page, result_of(result).to_html(tmp_path / f"{len(readers)}.html")))
        readers[-1].show("map-1-points")
        return readers[-1]

    yield open_
    for reader in readers:
        reader.page.close()
        assert reader.complaints == []


def places(reader: Reader, reduced: dict[str, Any], *, one_scale: bool, plot: str = "map-1-points") -> Any:
    """Return where the rows of a map stand, in pixels of the page."""
    reader.page.locator(f"#{plot}").scroll_into_view_if_needed()
    box = reader.page.locator(f"#{plot} canvas").bounding_box()
    points = np.array(reduced["points"])
    low, high = points.min(axis=0), points.max(axis=0)
    unit = (np.array([box["width"], box["height"]]) - 2 * MARGIN) / (high - low)
    if one_scale:
        unit[:] = unit.min()
    middle = np.array([box["x"] + box["width"] / 2, box["y"] + box["height"] / 2])
    return middle + (points - (low + high) / 2) * unit * [1, -1]


def rows_shown(reader: Reader) -> int:
    return int(reader.page.locator("#picked .status").inner_text().split()[0].replace(",", ""))


def pick(reader: Reader, text: str) -> None:
    reader.page.locator("#pick input").fill(text)
    reader.page.locator("#pick input").press("Enter")
    reader.page.wait_for_timeout(150)


def lasso(reader: Reader, plot: str = "map-1-points") -> float:
    """Draw a lasso around the left half of a map, and return where it ends."""
    button = reader.page.locator("#lasso")
    if button.get_attribute("aria-pressed") == "false":
        button.click()
    reader.page.locator(f"#{plot}").scroll_into_view_if_needed()
    box = reader.page.locator(f"#{plot} canvas").bounding_box()
    corners = [(0.01, 0.01), (0.5, 0.01), (0.5, 0.99), (0.01, 0.99), (0.01, 0.05)]
    for k, (across, down) in enumerate(corners):
        reader.page.mouse.move(box["x"] + across * box["width"], box["y"] + down * box["height"], steps=4)
        if k == 0:
            reader.page.mouse.down()
    reader.page.mouse.up()
    reader.page.locator("#picked").wait_for()
    return float(box["x"] + 0.5 * box["width"])


def test_the_maps_open_in_the_colours_of_the_target_with_one_legend(read: Any) -> None:
    reader = read("wine")
    for name in ("map-1-points", "map-2-points"):
        reader.show(name)
    assert reader.legend() == ["Barolo (59)", "Grignolino (71)", "Barbera (48)"]
    assert reader.page.locator("#maps select").count() == 1
    marks = "(marks) => marks.map((mark) => getComputedStyle(mark).backgroundColor)"
    colors = reader.page.locator("#legend i").evaluate_all(marks)
    assert len(set(colors)) == 3
    # A pixel within a row has the colour of its class.
    wine = sample.wine()
    codes = wine["colors"][0]["values"]
    at = places(reader, wine["maps"][0], one_scale=True)
    box = reader.page.locator("#map-1-points canvas").bounding_box()
    pixels = np.array(reader.drawn()).reshape(round(box["height"]), -1, 4)
    wanted = np.array([[int(part) for part in re.findall(r"\d+", color)] for color in colors])
    across, down = (at - [box["x"], box["y"]]).round().astype(int).T
    reader.page.locator("#arrows input").uncheck()
    pixels = np.array(reader.drawn()).reshape(round(box["height"]), -1, 4)
    found = np.abs(pixels[down, across, None, :3] - wanted).sum(axis=2).argmin(axis=1)
    assert (found == codes).mean() > 0.9


def test_a_numeric_column_has_a_histogram_as_its_legend_and_leaves_the_missing_grey(read: Any) -> None:
    reader = read("wine")
    reader.show("map-1-points")
    before = reader.drawn()
    reader.recolour("alcalinity_of_ash")
    assert reader.drawn() != before
    values = np.array([value for value in sample.wine()["colors"][4]["values"] if value is not None])
    first, *bars, last, missing = reader.page.locator("#legend li").all()
    assert (first.inner_text(), last.inner_text()) == (f"{values.min():g}", f"{values.max():g}")
    assert missing.inner_text() == "missing (4)"
    counts, _ = np.histogram(values, bins=12)
    labels = [bar.locator("button").get_attribute("aria-label") for bar in bars]
    assert [int(label.split()[1]) for label in labels] == counts.tolist()
    # A bar picks its rows, and lets them go.
    bars[3].locator("button").click()
    assert rows_shown(reader) == counts[3]
    bars[3].locator("button").click()
    assert reader.page.locator("#picked").is_hidden()


def test_a_level_of_the_legend_picks_its_rows(read: Any) -> None:
    reader = read("wine")
    reader.show("map-1-points")
    reader.page.locator("#legend button").nth(2).click()
    assert rows_shown(reader) == 48


def test_the_colours_follow_the_scheme_of_the_reader(read: Any) -> None:
    reader = read("wine", scheme="light")
    reader.show("map-1-points")
    light = reader.page.locator("#legend i").first.evaluate("(mark) => getComputedStyle(mark).backgroundColor")
    before = reader.drawn()
    reader.page.emulate_media(color_scheme="dark")
    reader.page.wait_for_timeout(300)
    assert reader.page.locator("#legend i").first.evaluate("(m) => getComputedStyle(m).backgroundColor") != light
    assert reader.drawn() != before


def test_pointing_at_a_row_shows_its_number_and_values(read: Any) -> None:
    reader = read("wine")
    reader.show("map-1-points")
    reader.recolour("alcohol")
    at = places(reader, sample.wine()["maps"][0], one_scale=True)
    reader.page.mouse.move(*at[3])
    told = reader.page.locator("#pointed")
    told.wait_for()
    lines = told.inner_text().splitlines()
    assert lines[:5] == ["Row 4", "alcohol: 14.37", "class: Barolo", "malic_acid: 1.95", "ash: 2.5"]
    # Once and no more than nine values.
    assert len(lines) == 10
    assert sum(line.startswith("alcohol:") for line in lines) == 1


def test_arrow_keys_walk_from_row_to_row_and_enter_picks(read: Any) -> None:
    reader = read("wine")
    reader.show("map-1-points")
    plot, status = reader.page.locator("#map-1-points"), reader.page.locator("#map-status")
    plot.focus()
    reader.page.keyboard.press("ArrowRight")
    first = status.text_content()
    assert first.startswith("Row ")
    at = places(reader, sample.wine()["maps"][0], one_scale=True)
    row = int(re.findall(r"\d+", first)[0]) - 1
    reader.page.keyboard.press("ArrowRight")
    other = int(re.findall(r"\d+", status.text_content())[0]) - 1
    assert at[other][0] > at[row][0]
    reader.page.keyboard.press("Enter")
    assert rows_shown(reader) == 1
    assert reader.page.locator("#pointed").inner_text().startswith(f"Row {other + 1}\n")


def test_zoom_by_buttons_and_keys_moves_the_points_and_goes_back(read: Any) -> None:
    reader = read("wine")
    reader.show("map-1-points")
    whole = reader.drawn()
    tools = reader.page.locator("#map-1 .map-tools button")
    tools.nth(0).click()
    zoomed = reader.drawn()
    assert zoomed != whole
    # A zoom outlives another colour, and a colour that comes back.
    reader.recolour("alcohol")
    reader.recolour("class (target)")
    assert reader.drawn() == zoomed
    tools.nth(2).click()
    assert reader.drawn() == whole
    reader.page.locator("#map-1-points").focus()
    reader.page.keyboard.press("+")
    assert reader.drawn() == zoomed
    reader.page.keyboard.press("0")
    assert reader.drawn() == whole


def test_rows_far_from_the_others_are_shown_by_zooming_out(opened: Any) -> None:
    result = sample.wine()
    result["maps"][0]["points"][7] = [500.0, 0.0]
    reader = opened(result)
    whole = reader.drawn()
    pick(reader, "8")
    assert rows_shown(reader) == 1
    reader.page.locator("#picked-clear").click()
    minus = reader.page.locator("#map-1 .map-tools button").nth(1)
    for _ in range(12):
        minus.click()
    far = reader.drawn()
    assert far != whole
    minus.click()
    assert reader.drawn() == far
    reader.page.locator("#map-1 .map-tools button").nth(2).click()
    assert reader.drawn() == whole


def test_a_map_is_saved_as_a_picture(read: Any, tmp_path: Path) -> None:
    reader = read("wine", accept_downloads=True)
    reader.show("map-1-points")
    for kind in ("PNG", "SVG"):
        reader.page.locator("#map-1 .figure-more").first.click()
        with reader.page.expect_download() as download:
            reader.page.locator(".figure-menu button", has_text=f"Save as {kind}").click()
        download.value.save_as(tmp_path / f"map.{kind}")
        assert download.value.suggested_filename == f"map-1-points.{kind.lower()}"
    assert (tmp_path / "map.PNG").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    # The vector picture has the same pixels, but for the edges of its shapes.
    box = reader.page.locator("#map-1-points canvas").bounding_box()
    shown = np.array(reader.drawn()).reshape(-1, 4)
    size = {"width": round(box["width"]), "height": round(box["height"])}
    other = reader.page.context.browser.new_page(viewport=size)
    other.goto((tmp_path / "map.SVG").as_uri())
    image = imread(BytesIO(other.screenshot()))[:, :, :3].reshape(-1, 3)
    other.close()
    is_drawn = np.abs(image - image[0]).sum(axis=1) > 0.3
    agrees = is_drawn == (shown[:, 3] > 100)
    assert is_drawn.mean() > 0.01
    assert agrees.mean() > 0.98


def test_arrows_are_drawn_until_the_switch_hides_them(read: Any) -> None:
    reader = read("wine")
    reader.show("map-1-points")
    with_arrows = reader.drawn()
    reader.page.locator("#arrows input").uncheck()
    without = reader.drawn()
    assert without != with_arrows
    reader.page.locator("#arrows input").press("Space")
    assert reader.drawn() == with_arrows


def test_rows_within_a_lasso_are_picked_on_every_map_and_let_go_together(read: Any) -> None:
    reader = read("wine")
    reader.show("map-2-points")
    second = reader.drawn("map-2-points")
    reader.show("map-1-points")
    at = places(reader, sample.wine()["maps"][0], one_scale=True)
    edge = lasso(reader)
    assert rows_shown(reader) == int((at[:, 0] < edge).sum())
    reader.show("map-2-points")
    reader.page.wait_for_timeout(200)
    assert reader.drawn("map-2-points") != second
    reader.page.locator("#picked-clear").click()
    assert reader.page.locator("#picked").is_hidden()
    assert reader.drawn("map-2-points") == second


def test_a_single_row_is_shown_with_its_nearest_rows_and_compared_with_its_class(read: Any) -> None:
    reader = read("wine")
    reader.show("map-1-points")
    found = sample.wine()
    pick(reader, "63")
    near = found["quality"]["nearest"][62]
    told = reader.page.locator("#picked-near span").inner_text()
    assert told.startswith(f"The 10 nearest rows in the table: {', '.join(str(i + 1) for i in near)}.")
    at = np.array(found["maps"][0]["points"])
    on_map = [i for i in np.argsort(np.hypot(*(at - at[62]).T), kind="stable").tolist() if i != 62][:10]
    assert f"PCA shows {len({*near} & {*on_map})} of them among its 10 nearest." in told
    reader.page.locator("#picked summary").click()
    label = found["colors"][0]["levels"][found["colors"][0]["values"][62]]
    assert reader.page.locator("#picked-others").inner_text() == f"Rows of {label}"
    assert reader.page.locator("#picked tbody tr").first.locator("td").last.inner_text() == f"{label} (100%)"
    reader.page.locator("#picked-near button").click()
    assert rows_shown(reader) == 11
    assert reader.page.locator("#picked-near").is_hidden()


def test_picked_rows_stay_picked_in_other_colours(read: Any) -> None:
    reader = read("wine")
    reader.show("map-1-points")
    pick(reader, "1, 100-103")
    assert rows_shown(reader) == 5
    reader.recolour("alcohol")
    assert rows_shown(reader) == 5
    reader.recolour("class (target)")
    assert rows_shown(reader) == 5


def test_picked_rows_are_compared_with_all_and_saved(read: Any, tmp_path: Path) -> None:
    reader = read("wine", accept_downloads=True)
    reader.show("map-1-points")
    pick(reader, "1-59")
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
    points = sample.wine()["maps"][0]["points"][:59]
    assert [[float(value) for value in row[1:3]] for row in rows] == points


def test_rows_are_found_by_a_value_of_any_column_or_of_one(read: Any) -> None:
    reader = read("wine")
    reader.show("map-1-points")
    status = reader.page.locator("#pick-status")
    colors = {color["name"]: color for color in sample.wine()["colors"]}
    target, alcohol = np.array(colors["class"]["values"]), np.array(colors["alcohol"]["values"])
    for text, n in (
        ("barolo", int((target == 0).sum())),
        ("BAR", int((target != 1).sum())),
        ("class: Barbera", int((target == 2).sum())),
        ("alcohol: 13.05", int((alcohol == 13.05).sum())),
        ("alcohol: Barolo", 0),
        ("alcalinity_of_ash: missing", 4),
    ):
        pick(reader, text)
        assert status.inner_text() == (f"{n} rows found." if n else "No shown row has this number or value.")
        assert n == 0 or rows_shown(reader) == n


def test_bars_of_one_column_unite_and_columns_intersect(read: Any) -> None:
    reader = read("wine")
    reader.show("map-1-points")
    target, alcohol = (np.array(sample.wine()["colors"][k]["values"]) for k in (0, 1))
    bins = np.clip(np.digitize(alcohol, np.linspace(alcohol.min(), alcohol.max(), 13)) - 1, 0, 11)
    legend = reader.page.locator("#legend button")
    reader.recolour("alcohol")
    for k in (9, 10):
        legend.nth(k).click()
    wide = (bins == 9) | (bins == 10)
    assert rows_shown(reader) == wide.sum()
    reader.recolour("class (target)")
    legend.nth(0).click()
    assert rows_shown(reader) == (wide & (target == 0)).sum()
    status = reader.page.locator("#picked .status").inner_text()
    assert ": alcohol " in status
    assert " or " in status
    assert status.endswith(", and class Barolo.")
    legend.nth(1).click()
    assert rows_shown(reader) == (wide & (target < 2)).sum()
    assert [legend.nth(k).get_attribute("aria-pressed") for k in range(3)] == ["true", "true", "false"]
    for k in (0, 1):
        legend.nth(k).click()
    assert rows_shown(reader) == wide.sum()
    # What no row has stays visible as a choice.
    legend.nth(2).click()
    reader.recolour("alcohol")
    assert [legend.nth(k).get_attribute("aria-pressed") for k in (8, 9, 10)] == ["false", "true", "true"]
    reader.page.locator("#picked-clear").click()
    assert reader.page.locator("#picked").is_hidden()
    assert reader.page.locator("#legend [aria-pressed=true]").count() == 0


def test_an_opened_column_shows_its_rows_on_the_map_and_its_bars_pick_them(read: Any) -> None:
    reader = read("wine")
    names = {color["name"] for color in sample.wine()["colors"]}
    other = next(column["name"] for column in sample.wine()["table"]["columns"] if column["name"] not in names)
    for name in ("alcohol", other):
        reader.page.locator(f"#columns-table tbody th[title='{name}']").click()
    opened = reader.page.locator("#columns-table tbody.open")
    # Only the values of some columns are in the file.
    assert opened.locator("button", has_text="Show its rows on the map").count() == 1
    body = opened.filter(has=reader.page.locator("th[title='alcohol']"))
    bars = body.locator(".parts button")
    alcohol = np.array(sample.wine()["colors"][1]["values"])
    counts, _ = np.histogram(alcohol, bins=12)
    assert bars.count() == 12
    bars.nth(4).click()
    assert rows_shown(reader) == counts[4]
    body.locator("button", has_text="Show its rows on the map").click()
    reader.show("map-1-points")
    select = reader.page.locator("#colours select")
    assert select.evaluate("(one) => one.selectedOptions[0].textContent") == "alcohol"
    assert reader.page.locator("#legend button").nth(4).get_attribute("aria-pressed") == "true"
    assert rows_shown(reader) == counts[4]
    choices = reader.page.locator("#choices").bounding_box()
    assert -200 < choices["y"] < 900


def test_points_that_are_no_rows_select_nothing(read: Any) -> None:
    reader = read("wine")
    reader.show("map-1-points")
    for text in ("x", "-", "5000", "9-3", "<b>"):
        pick(reader, text)
        assert reader.page.locator("#picked").is_hidden()


def test_rows_of_very_many_can_be_shown_and_picked(opened: Any) -> None:
    result = many()
    reader = opened(result)
    points = result["maps"][0]["points"]
    farthest = max(range(N_MANY), key=lambda row: points[row][0])
    at = places(reader, result["maps"][0], one_scale=True)
    reader.page.mouse.move(*at[farthest])
    pointed = reader.page.locator("#pointed")
    pointed.wait_for()
    assert pointed.inner_text() == f"Row {3 * farthest + 1:,}\nclass: right\nheight: 100"
    edge = lasso(reader)
    assert rows_shown(reader) == int((at[:, 0] < edge).sum())


def test_rows_that_are_not_drawn_are_reported(opened: Any) -> None:
    reader = opened(many())
    status = reader.page.locator("#pick-status")
    for text, n, told in (
        ("abc", 0, "No shown row has this number or value."),
        ("2", 0, "No shown row has this number or value."),
        ("1-7", 3, "3 rows found. Not all of these rows are shown."),
        ("1, 4", 2, "2 rows found."),
        ("1", 1, "1 row found."),
        ("", 0, ""),
    ):
        pick(reader, text)
        assert (status.inner_text(), reader.page.locator("#picked").is_hidden()) == (told, n == 0)
        assert n == 0 or rows_shown(reader) == n


def test_a_hundred_thousand_points_are_drawn_at_once_again(opened: Any) -> None:
    reader = opened(many(100_000))
    script = """() => { const start = performance.now();
        document.querySelector("#colours select").dispatchEvent(new Event("change"));
        return new Promise((done) => setTimeout(() => requestAnimationFrame(() => done(performance.now() - start)))); }"""
    # Two maps are open, and each may take 0.2 s.
    assert min(reader.page.evaluate(script) for _ in range(5)) < 400
    assert reader.page.evaluate("document.querySelectorAll('*').length") < 4000


def test_of_very_many_rows_five_maps_are_a_small_file_with_every_value_and_place(opened: Any, tmp_path: Path) -> None:
    result = many(100_000)
    result["maps"] = [result["maps"][k % 2] | {"id": str(k)} for k in range(5)]
    rng = np.random.default_rng(1)
    result["colors"].append(sample.color("weight", rng.normal(70, 10, 100_000).round(1).tolist(), []))
    reader = opened(result, accept_downloads=True)
    page = tmp_path / "0.html"
    assert page.stat().st_size < 4e6
    with reader.page.expect_download() as download:
        reader.page.locator("#save").click()
    download.value.save_as(tmp_path / "saved.json")
    saved = Result.from_json(tmp_path / "saved.json").to_dict()
    assert saved["colors"] == result["colors"]
    for before, after in zip(result["maps"], saved["maps"], strict=True):
        assert after["rows"] == before["rows"]
        points = np.array(before["points"])
        error = np.abs(np.array(after["points"]) - points).max(axis=0)
        assert (error <= np.ptp(points, axis=0) / 65535).all()


def test_printed_and_without_scripts_a_map_is_a_picture(read: Any) -> None:
    reader = read("wine")
    reader.show("map-1-points")
    picture, canvas = (reader.page.locator(f"#map-1-points {part}") for part in ("svg", "canvas"))
    assert (picture.is_visible(), canvas.is_visible()) == (False, True)
    reader.page.emulate_media(media="print")
    assert (picture.is_visible(), canvas.is_visible()) == (True, False)
    bare = read("wine", java_script_enabled=False).page
    assert bare.locator("#map-1-points svg path").count() == 3


def test_dates_are_shown_as_days(opened: Any, tmp_path: Path) -> None:
    result = sample.wine()
    result["colors"][1] |= {"kind": "date", "values": [1577836800.0 + 86400 * row for row in range(178)]}
    reader = opened(result, accept_downloads=True)
    reader.recolour("alcohol")
    at = places(reader, result["maps"][0], one_scale=True)
    reader.page.mouse.move(*at[1])
    reader.page.locator("#pointed").wait_for()
    assert reader.page.locator("#pointed").inner_text().startswith("Row 2\nalcohol: 2020-01-02\n")
    assert [reader.legend()[0], reader.legend()[-1]] == ["2020-01-01", "2020-06-26"]
    with reader.page.expect_download() as download:
        reader.page.locator("#save-coordinates").click()
    download.value.save_as(tmp_path / "a.csv")
    head, first, *_ = csv.reader((tmp_path / "a.csv").open(encoding="utf-8", newline=""))
    assert first[head.index("alcohol")] == "2020-01-01"


def test_each_map_takes_its_own_colours_for_how_badly_its_rows_are_placed(read: Any) -> None:
    reader = read("wine")
    for name in ("map-1-points", "map-2-points"):
        reader.show(name)
    reader.recolour("error of each row (stress)")
    stress = [one["stress"] for one in sample.wine()["quality"]["maps"]]
    # One scale for both, up to the 98th percentile of all.
    highest = sorted(stress[0] + stress[1])[int(0.98 * 355)]
    assert (reader.legend()[0], float(reader.legend()[-1])) == ("0", pytest.approx(highest, rel=0.01))
    at = places(reader, sample.wine()["maps"][0], one_scale=True)
    reader.page.mouse.move(*at[0])
    reader.page.locator("#pointed").wait_for()
    first, second, *_ = reader.page.locator("#pointed").inner_text().splitlines()
    assert (first, float(second.removeprefix("stress of the row: "))) == (
        "Row 1",
        pytest.approx(stress[0][0], rel=1e-4),
    )

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
    assert reader.page.locator("#no-charts").is_hidden()


def test_a_heading_sorts_by_mouse_and_by_keyboard_and_shows_the_order(read: Any) -> None:
    reader = read("wine")
    header = reader.page.locator("#scores th", has_text="Fisher score")
    first = reader.names("scores")
    scores = sample.wine()["ranking"]
    by_fisher = sorted(
        (pair for pair in zip(scores["columns"], scores["scores"]["fisher_score"], strict=True) if pair[1] is not None),
        key=lambda pair: -pair[1],
    )
    header.locator("button").click()
    assert header.get_attribute("aria-sort") == "descending"
    assert reader.names("scores")[: len(by_fisher)] == [name for name, _ in by_fisher]
    header.locator("button").press("Enter")
    assert header.get_attribute("aria-sort") == "ascending"
    assert reader.names("scores")[: len(by_fisher)] == [name for name, _ in reversed(by_fisher)]
    assert reader.names("scores")[-2:] == ["country", "bottle"]
    mean_rank = reader.page.locator("#scores th", has_text="Mean rank")
    mean_rank.locator("button").click()
    assert mean_rank.get_attribute("aria-sort") == "ascending"
    assert reader.names("scores") == first


@pytest.mark.slow
def test_on_a_narrow_page_the_bar_shows_the_section_on_screen(read: Any) -> None:
    page = read("wine", width=390).page
    for name in ("maps", "ranking"):
        page.evaluate("(name) => document.getElementById(name).scrollIntoView({ behavior: 'instant' })", name)
        tab = page.locator(f'.bar a[href="#{name}"][aria-current]')
        tab.wait_for()
        box = tab.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390


@pytest.mark.slow
def test_ranks_follow_the_sorting(read: Any) -> None:
    reader = read("wine")
    reader.page.locator("#scores th", has_text="Fisher score").locator("button").click()
    ranks = reader.page.locator("#scores tbody td.rank").all_text_contents()
    assert ranks == [str(i) if i <= 13 else "" for i in range(1, 17)]


@pytest.mark.slow
def test_a_search_finds_columns_by_a_part_of_their_name(read: Any) -> None:
    reader = read("wine")
    reader.page.locator('.tools[data-table="scores"] input').fill("PHENOL")
    assert sorted(reader.names("scores")) == ["nonflavanoid_phenols", "total_phenols"]
    # A note beside a name is no part of it.
    reader.page.locator('.tools[data-table="scores"] input').fill("excluded")
    assert reader.names("scores") == []


@pytest.mark.slow
def test_many_columns_are_folded_until_asked_for(read: Any) -> None:
    reader = read("wide")
    assert len(reader.names("scores")) == 25
    button = reader.page.locator('.more[data-table="scores"] button')
    assert button.inner_text() == "Show all 120 columns"
    button.click()
    assert len(reader.names("scores")) == 120
    assert button.get_attribute("aria-expanded") == "true"
    button.click()
    assert len(reader.names("scores")) == 25


@pytest.mark.slow
def test_very_many_columns_are_shown_some_at_a_time(browser: Any, tmp_path: Path) -> None:
    page = browser.new_page()
    reader = Reader(page, result_of(sample.wide(500, 50)).to_html(tmp_path / "a.html"))
    button = page.locator('.more[data-table="scores"] button')
    assert button.inner_text() == "Show 300 more columns"
    button.click()
    assert (len(reader.names("scores")), button.inner_text()) == (325, "Show all 500 columns")
    button.click()
    assert (len(reader.names("scores")), button.inner_text()) == (500, "Show the first 25 only")
    button.click()
    assert len(reader.names("scores")) == 25
    assert reader.complaints == []
    page.close()


@pytest.mark.slow
def test_a_search_reaches_folded_columns(read: Any) -> None:
    reader = read("wide")
    assert "probe_0119_channel_0" not in reader.names("columns")
    reader.page.locator('.tools[data-table="columns"] input').fill("0119")
    assert reader.names("columns") == ["probe_0119_channel_0"]


def recoloured(reader: Reader, option: str, plot: str = "map-1-points") -> list[dict[str, Any]]:
    select = reader.page.locator("#colours select")
    for drawn in reader.page.locator("[data-painter=points]").all():
        drawn.scroll_into_view_if_needed()
        drawn.locator(".main-svg").first.wait_for()
    select.select_option(label=option)
    script = """(id) => document.getElementById(id).data.filter((trace) => trace.mode === "markers").map((trace) => ({
        name: trace.name, n: trace.x.length, color: trace.marker.color, symbol: trace.marker.symbol }))"""
    reader.page.wait_for_timeout(300)
    traces: list[dict[str, Any]] = reader.page.evaluate(script, plot)
    return traces


@pytest.mark.slow
def test_the_map_opens_coloured_by_the_target(read: Any) -> None:
    reader = read("wine")
    traces = recoloured(reader, "class (target)")
    assert [trace["name"] for trace in traces] == ["Barolo (59)", "Grignolino (71)", "Barbera (48)"]
    assert len({trace["color"] for trace in traces}) == len({trace["symbol"] for trace in traces}) == 3


@pytest.mark.slow
def test_a_numeric_column_colours_by_its_values_and_leaves_the_missing_grey(read: Any) -> None:
    reader = read("wine")
    missing, shades = recoloured(reader, "alcalinity_of_ash")
    assert (missing["name"], missing["n"], shades["n"]) == ("missing (4)", 4, 174)
    values = [value for value in sample.wine()["colors"][4]["values"] if value is not None]
    assert shades["color"] == pytest.approx(values, rel=1e-5)
    assert reader.page.locator("#map-1-points .colorbar").count() == 1


@pytest.mark.slow
def test_one_choice_recolours_every_map_alike(read: Any) -> None:
    reader = read("wine")
    for option in ("flavanoids", "class (target)", "cellar"):
        first = recoloured(reader, option)
        second = recoloured(reader, option, "map-2-points")
        assert first == second
        assert sum(trace["n"] for trace in second) == 178
    assert reader.page.locator("#maps select").count() == 1


@pytest.mark.slow
def test_a_map_that_is_first_seen_after_the_choice_has_its_colours(read: Any) -> None:
    reader = read("wine", width=390)
    reader.page.locator("#colours select").select_option(label="alcohol")
    reader.page.locator("#map-2-points").scroll_into_view_if_needed()
    reader.page.locator("#map-2-points .main-svg").first.wait_for()
    reader.page.wait_for_timeout(300)
    assert reader.page.evaluate("document.getElementById('map-2-points').data.map((t) => t.name)") == ["alcohol"]


@pytest.mark.slow
def test_the_colours_follow_the_scheme_of_the_reader(read: Any) -> None:
    reader = read("wine", scheme="light")
    light = recoloured(reader, "class (target)")
    reader.page.emulate_media(color_scheme="dark")
    reader.page.wait_for_timeout(300)
    dark = recoloured(reader, "class (target)")
    assert {trace["color"] for trace in light}.isdisjoint({trace["color"] for trace in dark})
    ink = "getComputedStyle(document.querySelector('#map-1-points .xtick text')).fill"
    assert reader.page.evaluate(ink) == "rgb(227, 232, 234)"


@pytest.mark.slow
def test_hovering_shows_the_row_and_its_value(read: Any) -> None:
    reader = read("wine")
    recoloured(reader, "alcohol")
    point = reader.page.locator("#map-1-points .scatterlayer .point").nth(3)
    point.scroll_into_view_if_needed()
    point.hover(force=True)
    hover = reader.page.locator("#map-1-points .hovertext")
    hover.wait_for()
    text = hover.text_content()
    assert text.startswith("Row 4alcohol: 14.37class: Barolomalic_acid: 1.95ash: 2.5")
    # Once and no more than nine values.
    assert text.count("alcohol:") == 1
    assert text.count(": ") == 9


@pytest.mark.slow
def test_a_hostile_name_is_shown_as_it_is_written(read: Any) -> None:
    reader = read("hostile")
    reader.visit_all()
    assert reader.page.locator("h1").inner_text() == sample.HOSTILE[0]
    assert sample.HOSTILE[2] in reader.page.locator("#maps select option").all_text_contents()[0]
    assert reader.page.locator(".plot a, main img, main b:text-is('bold')").count() == 0
    reader.show("map-1-points")
    assert reader.page.locator("#map-1-points .xtitle").text_content() == f"{sample.HOSTILE[0]} (34%)"
    assert "</script><scrip…" in "".join(reader.page.locator("#map-1-points .annotation").all_text_contents())
    bars = reader.page.locator("#balance .ytick").all_text_contents()
    assert "</script><scrip…/script>" in bars


def arrows(reader: Reader, plot: str = "map-1-points") -> dict[str, Any]:
    """Return the arrows drawn over a map, once their names stand."""
    drawn = reader.page.locator(f"#{plot}")
    drawn.scroll_into_view_if_needed()
    drawn.locator(".main-svg").first.wait_for()
    reader.page.wait_for_timeout(500)
    script = """(id) => {
        const plot = document.getElementById(id), panel = plot.querySelector(".nsewdrag").getBoundingClientRect();
        const trace = plot.data.find((trace) => trace.mode === "lines+markers");
        const boxes = [...plot.querySelectorAll(".annotation")].map((name) => name.getBoundingClientRect());
        return { tips: trace ? trace.x.filter((_, i) => i % 3 === 1) : [], color: trace?.line.color,
                 names: [...plot.querySelectorAll(".annotation text")].map((text) => text.textContent),
                 panel: [panel.left, panel.top, panel.right, panel.bottom],
                 boxes: boxes.map((box) => [box.left, box.top, box.right, box.bottom]) };
    }"""
    found: dict[str, Any] = reader.page.evaluate(script, plot)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (390, "dark")])
def test_arrows_name_the_columns_and_no_name_covers_another(read: Any, width: int, scheme: str) -> None:
    reader = read("wine", width=width, scheme=scheme)
    found = arrows(reader)
    loadings = sample.wine()["maps"][0]["loadings"]
    sizes = sorted(
        zip(loadings["values"], loadings["columns"], strict=True), key=lambda pair: -sum(w * w for w in pair[0][:2])
    )
    assert [name[:8] for name in found["names"]] == [name[:8] for _, name in sizes[:8]]
    assert len(found["tips"]) == 8
    assert found["color"] == ("#20272c" if scheme == "light" else "#e3e8ea")
    left, top, right, bottom = found["panel"]
    for i, box in enumerate(found["boxes"]):
        assert left - 2 <= box[0] < box[2] <= right + 2
        assert top - 2 <= box[1] < box[3] <= bottom + 2
        for other in found["boxes"][:i]:
            assert box[2] <= other[0] or other[2] <= box[0] or box[3] <= other[1] + 4 or other[3] <= box[1] + 4


@pytest.mark.slow
def test_arrows_show_their_loadings_and_stay_with_a_colour_until_the_switch_hides_them(read: Any) -> None:
    reader = read("wine")
    recoloured(reader, "alcohol")
    assert len(arrows(reader)["names"]) == 8
    assert arrows(reader, "map-2-points")["names"] == []
    reader.page.locator("#map-1-points .annotation").first.hover(force=True)
    hover = reader.page.locator("#map-1-points .hovertext")
    hover.wait_for()
    assert hover.text_content() == "color_intensity: loadings 0.08862 and −0.53"
    reader.page.locator("#arrows input").uncheck()
    found = arrows(reader)
    assert (found["tips"], found["names"]) == ([], [])
    recoloured(reader, "class (target)")
    assert arrows(reader)["tips"] == []
    reader.page.locator("#arrows input").press("Space")
    assert len(arrows(reader)["tips"]) == 8


@pytest.mark.slow
@pytest.mark.parametrize(
    "table", ["#scores", *(pytest.param(t, marks=pytest.mark.slow) for t in ("#selections", "#comparison", ".quality"))]
)
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
    command = page.locator(".copies .copy").first
    heights = command.evaluate("(chip) => [...chip.children].map((one) => one.getBoundingClientRect().height)")
    assert len(heights) == 2
    assert max(heights) < 30 < command.bounding_box()["height"]
    first, second = (wine["table"]["columns"][j]["name"] for j in (4, 5))
    assert command.text_content() == f"--kinds {first}=categorical --kinds {second}=categorical"
    page.close()


@pytest.mark.slow
def test_images_are_drawn_in_steps_of_grey_and_tables_fit_a_phone(read: Any) -> None:
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
    script = "[...document.querySelectorAll('table.axes')].map((t) => [t.scrollWidth, t.parentElement.clientWidth])"
    widths = reader.page.evaluate(script)
    assert len(widths) == 4
    assert all(table <= room for table, room in widths)


@pytest.mark.slow
def test_no_button_offers_to_send_a_chart_anywhere(read: Any) -> None:
    reader = read("wine")
    for name in ("map-1-points", "map-2-points"):
        reader.show(name)
    titles = reader.page.evaluate("[...document.querySelectorAll('#maps .modebar-btn')].map((b) => b.dataset.title)")
    assert titles == ["Download plot as a PNG", "Zoom", "Pan", "Reset axes"] * 2


@pytest.mark.slow
def test_charts_that_were_never_scrolled_to_are_printed(read: Any) -> None:
    reader = read("wine")
    for _ in range(300):
        if reader.page.evaluate("window.Plotly !== undefined"):
            break
        reader.page.wait_for_timeout(100)
    reader.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    plots = reader.page.locator(".plot")
    assert plots.count() == reader.page.locator(".plot:has(.main-svg)").count() > 12
    assert reader.page.evaluate("document.getElementById('map-1-points')._fullLayout.width") <= 640
    reader.page.evaluate("dispatchEvent(new Event('afterprint'))")
    reader.page.wait_for_timeout(500)
    assert reader.page.evaluate("document.getElementById('sizes')._fullLayout.width") > 900


@pytest.mark.slow
def test_the_numbers_can_be_saved_and_rendered_again(read: Any, reports: dict[str, Path], tmp_path: Path) -> None:
    reader = read("wine")
    with reader.page.expect_download() as download:
        reader.page.locator("#save").click()
    saved = tmp_path / "saved.json"
    download.value.save_as(saved)
    assert json.loads(saved.read_text()) == sample.wine()
    again = Result.from_json(saved).to_html(tmp_path / "again.html")
    assert again.read_bytes() == reports["wine"].read_bytes()


def test_without_scripts_a_note_is_shown_and_every_number_is_visible(read: Any) -> None:
    reader = read("wine", java_script_enabled=False)
    assert reader.page.locator("noscript p").is_visible()
    assert reader.page.locator("#scores tbody tr").count() == 16
    assert reader.page.locator("#scores tbody tr").last.is_visible()


@pytest.mark.slow
def test_a_browser_without_decompression_shows_a_note_and_still_sorts(browser: Any, reports: dict[str, Path]) -> None:
    page = browser.new_page()
    page.add_init_script("delete window.DecompressionStream")
    reader = Reader(page, reports["wine"])
    assert page.locator("#no-charts").is_visible()
    page.locator("#scores th", has_text="Column").locator("button").click()
    assert reader.names("scores")[0] == "alcalinity_of_ash"
    assert reader.complaints == []
    page.close()


@pytest.mark.slow
def test_no_task_blocks_the_page_while_a_chart_is_drawn(browser: Any, reports: dict[str, Path]) -> None:
    page = browser.new_page()
    browser.start_tracing(page=page, categories=["toplevel", "disabled-by-default-devtools.timeline"])
    Reader(page, reports["wine"]).visit_all()
    trace = json.loads(browser.stop_tracing())
    page.close()
    # Time of the thread: what else runs on the machine, the other tests for one, does not count.
    tasks = [event["tdur"] for event in trace["traceEvents"] if event["name"] == "RunTask" and "tdur" in event]
    *charts, library = sorted(task for task in tasks if task > 10_000)
    assert len(charts) > 10
    # The charts' library is one script of 5 MB to parse.
    assert library < 5_000_000
    assert charts[-1] < 1_000_000


@pytest.mark.slow
def test_each_map_takes_its_own_colours_for_how_badly_its_rows_are_placed(read: Any) -> None:
    reader = read("wine")
    for name in ("map-1-points", "map-2-points"):
        reader.show(name)
    reader.page.locator("#colours select").select_option(label="error of each row (stress)")
    script = "(id) => document.getElementById(id).data[0].marker.cmax !== undefined"
    for name in ("map-1-points", "map-2-points"):
        reader.page.wait_for_function(script, arg=name)
    script = """(id) => { const { marker, text } = document.getElementById(id).data[0];
                 return [marker.color.map(Number), marker.cmin, marker.cmax, text[0]]; }"""
    stress = sample.wine()["quality"]["stress_per_point"]
    drawn = [reader.page.evaluate(script, f"map-{k}-points") for k in (1, 2)]
    for (colors, low, high, first), expected in zip(drawn, stress, strict=True):
        assert colors == pytest.approx(expected, rel=1e-5)
        assert (low, high) == (0, pytest.approx(sorted(stress[0] + stress[1])[int(0.98 * 355)], rel=1e-5))
        assert first.startswith("Row 1<br><b>stress of the row: ")


@pytest.mark.slow
def test_the_curves_of_the_maps_have_the_colours_of_the_theme(read: Any) -> None:
    reader = read("wine", scheme="dark")
    reader.show("agreement")
    colors = reader.page.evaluate("document.getElementById('agreement').data.map((line) => line.line.color)")
    themes = json.loads(reader.page.locator("#themes").text_content())
    assert colors == themes["dark"]["levels"][:2]


@pytest.mark.slow
def test_the_best_subset_of_a_size_names_its_columns_when_it_is_pointed_at(read: Any) -> None:
    reader = read("wine")
    reader.show("sizes")
    x, y = reader.page.evaluate(
        """() => {
            const plot = document.getElementById("sizes"), { xaxis, yaxis } = plot._fullLayout;
            const box = plot.getBoundingClientRect(), { x, y } = plot.data[1];
            return [box.x + xaxis._offset + xaxis.d2p(x[2]), box.y + yaxis._offset + yaxis.d2p(y[2])];
        }"""
    )
    reader.page.mouse.move(x, y)
    told = reader.page.locator("#sizes .hoverlayer text").first
    told.wait_for()
    assert told.text_content().replace("\xa0", " ") == "Best of 2 columns: merit 0.5834flavanoids, proline"

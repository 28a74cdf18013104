from __future__ import annotations

import base64
import gzip
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tamiz.report import Result, registry
from tamiz.runtime.codec import to_json

from . import sample
from .reading import record_of, render, result_of

if TYPE_CHECKING:
    from pathlib import Path


class Elements(HTMLParser):
    """Which elements a page has, what is in its scripts, and every address in it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.addresses: list[str] = []
        self.handlers: list[str] = []
        self.data: dict[str, str] = {}
        self.scripts: list[str] = []
        self._script = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        named = dict(attrs)
        self.ids += [named["id"] or ""] if "id" in named else []
        self.addresses += [named[name] or "" for name in ("href", "src", "action") if name in named]
        self.handlers += [name for name, _ in attrs if name.startswith("on")]
        self.scripts += [named.get("type") or ""] if tag == "script" else []
        self._script = (named.get("id") or "") if tag == "script" else ""

    def handle_data(self, data: str) -> None:
        if self._script:
            self.data[self._script] = self.data.get(self._script, "") + data


def section(page: str, name: str) -> str:
    found = re.search(rf'<section id="{name}".*?</section>', page, re.DOTALL)
    return found[0] if found else ""


def words(page: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)).split())


@pytest.mark.slow
@pytest.mark.usefixtures("_drawn_anew")
def test_the_same_result_gives_the_same_bytes(wine: dict[str, Any]) -> None:
    assert render(wine) == render(sample.wine())


@pytest.mark.usefixtures("_drawn_anew")
def test_drawing_changes_nothing_in_the_result(wine: dict[str, Any]) -> None:
    render(wine)
    assert wine == sample.wine()


def test_a_few_sections_are_open_and_the_others_are_folded_in_the_order_of_the_registry(wine: dict[str, Any]) -> None:
    page = render(wine)
    opened, folded = (re.findall(r'<section id="(\w+)"', part) for part in page.split('<div id="details">'))
    assert opened == ["columns", "recommendation", "maps", "reproduction"]
    assert folded == [entry.name for entry in registry.of_kind("section") if entry.name in folded]
    assert {*opened, *folded} == {entry.name for entry in registry.of_kind("section")}


@pytest.mark.parametrize("made", [sample.wine, sample.hostile, sample.bare, sample.digits])
def test_a_page_asks_for_nothing_outside_itself(made: Any) -> None:
    page = Elements(render(made()))
    assert all(address.startswith(("#", "data:image/png;base64,")) or address == "data:," for address in page.addresses)
    assert not {"img", "iframe", "object", "embed", "base", "form"} & set(page.tags)
    assert page.tags.count("link") == 1


@pytest.mark.parametrize("made", [sample.wine, sample.hostile, sample.bare, sample.digits])
def test_every_id_is_there_once(made: Any) -> None:
    ids = Elements(render(made())).ids
    assert len(ids) == len(set(ids))


def test_hostile_names_add_no_element_and_no_handler(wine: dict[str, Any], hostile: dict[str, Any]) -> None:
    page = Elements(render(hostile))
    assert set(page.tags) == {*Elements(render(wine)).tags, *Elements(render(sample.digits())).tags}
    assert page.handlers == []
    # One script runs, the page's own, which has no type; all others are data.
    assert sorted(set(page.scripts)) == ["", "application/json", "text/plain"]
    assert page.scripts.count("") == 1


def test_hostile_names_are_whole_in_the_text(hostile: dict[str, Any]) -> None:
    page = render(hostile)
    assert "<h1>&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;</h1>" in page
    assert "{{ 7 * 7 }}" in page
    assert "alert(1)</script>" not in page


def test_every_script_of_data_is_json_or_packed_json(hostile: dict[str, Any]) -> None:
    page = Elements(render(hostile))
    numbers = page.data.pop("numbers")
    for text in page.data.values():
        json.loads(text)
    assert json.loads(gzip.decompress(base64.b64decode(numbers))) == to_json(record_of(hostile))


def test_only_the_script_of_the_page_may_run(wine: dict[str, Any]) -> None:
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', render(wine))
    assert policy is not None
    assert re.search(r"default-src 'none'; script-src 'sha256-[\w+/=]{44}';", policy[1])


def test_a_section_without_anything_to_show_is_absent(bare: dict[str, Any]) -> None:
    bare |= {"ranking": None, "redundancy": None, "maps": [], "quality": None}
    assert bare["subset"] is None
    assert bare["assessment"] is None
    assert bare["graph"] is None
    page = render(bare)
    assert re.findall(r'<section id="(\w+)"', page) == ["columns", "reproduction", "table"]
    assert 'href="#maps"' not in page


def test_rows_beyond_the_fold_are_not_laid_out_but_for_a_reader_without_scripts() -> None:
    page = render(sample.wide(50, 200))
    bodies = re.findall(r"<tbody[^>]*>", section(page, "columns").split('id="columns-table"')[1].split("</table>")[0])
    assert [" hidden" in body for body in bodies] == [False] * 25 + [True] * 25
    assert "<noscript><style>tbody[hidden] { display: table-row-group !important; }</style></noscript>" in page


def test_points_that_were_left_out_are_reported(bare: dict[str, Any]) -> None:
    page = render(bare)
    assert "this file contains no row of the table" in words(section(page, "maps"))
    assert 'id="choices"' not in page
    assert 'id="map-1-spectrum"' in page


def test_a_graph_that_falls_apart_is_boxed_and_one_that_does_not_is_not(wine: dict[str, Any]) -> None:
    assert 'class="box warn"' not in section(render(wine), "graph")
    wine["graph"] |= {"components": {"n": 3, "sizes": [130, 40, 8]}, "n_joining_edges": 2}
    shown = section(render(wine), "graph")
    assert "the shortest possible 2 edges" in words(shown.split('class="box warn"')[1].split("</div>")[0])
    assert "1 130 73% 2 40 22% 3 8 4.5%" in words(shown)


def test_one_choice_of_colour_is_shown_above_all_maps(wine: dict[str, Any]) -> None:
    assert Elements(section(render(wine), "maps")).tags.count("select") == 1
    assert section(render(wine), "maps").count('class="plot"') == 2


def test_one_switch_shows_the_arrows_of_all_maps_where_there_are_any(wine: dict[str, Any]) -> None:
    page = section(render(wine), "maps")
    assert page.count('type="checkbox"') == 1
    told = words(page)
    assert "Each arrow is a numeric column or a level of a category: rows further along it have larger values" in told
    assert "Of 16 arrows, the 8 with the largest loadings" in told
    for reduced in wine["maps"]:
        reduced["loadings"] = {"columns": [], "values": []}
    page = section(render(wine), "maps")
    assert 'type="checkbox"' not in page
    assert "arrow" not in words(page)
    wine |= {"colors": [], "quality": None}
    assert 'id="colours"' not in section(render(wine), "maps")


def test_the_meaning_of_the_axes_is_shown_for_every_map(wine: dict[str, Any]) -> None:
    told = words(section(render(wine), "maps"))
    assert "PC 1 falls as flavanoids rises flavanoids −0.93, total_phenols −0.85" in told
    assert told.count("rises with") + told.count("falls as") + told.count("separates the levels of") == 4


def test_columns_compared_by_a_sample_are_reported(wine: dict[str, Any]) -> None:
    assert "drawn at random" not in words(section(render(wine), "maps"))
    wine["maps"][1]["explanation"] |= {"n_rows": 20_000, "n_mapped": 53_940}
    assert "Computed on 20,000 of the 53,940 rows, drawn at random." in words(section(render(wine), "maps"))


def test_clusters_have_a_line_with_their_rule_or_a_map_has_none(wine: dict[str, Any]) -> None:
    page = section(render(wine), "maps")
    told = words(page)
    assert "Cluster 1 (89 rows): alcohol &gt; 12.5 and cellar = a or b ." in told
    assert "Covers 96% of the cluster; 98% of the rows with these values are in it." in told
    assert "Cluster 2 (12 rows): no simple rule." in told
    assert "The map shows no separate clusters." in told
    (about,) = re.findall(r'id="maps-about">(.*?)</script>', page)
    centers = [rule["center"] for rule in wine["maps"][0]["clusters"]["rules"]]
    np.testing.assert_allclose(json.loads(about)["maps"][0]["clusters"], centers)
    for reduced in wine["maps"]:
        reduced["clusters"] = None
    assert "clusters have in common" not in words(section(render(wine), "maps"))


def test_images_are_bytes_on_canvases_with_alternative_text() -> None:
    page = section(render(sample.digits()), "maps")
    drawn = re.findall(r'<canvas width="4" height="6" data-pixels="([^"]+)" role="img" aria-label="([^"]+)"', page)
    assert len(drawn) == 13
    assert list(base64.b64decode(drawn[0][0])) == list(range(0, 240, 10))
    assert [words for _, words in drawn[:2]] == ["mean: 6 by 4 pixels, 0 to 1.5", "PC 1: 6 by 4 pixels, −1.5 to 1.5"]
    # Pixels are no columns to draw as arrows.
    assert "arrow" not in words(page)


def test_a_name_on_an_image_and_an_arrow_is_shown_as_it_is_written(hostile: dict[str, Any]) -> None:
    page = section(render(hostile), "maps")
    assert '<figcaption class="name">&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;</figcaption>' in page
    (about,) = re.findall(r'id="maps-about">(.*?)</script>', page)
    arrows = json.loads(about)["maps"][0]["arrows"]
    assert len(arrows) == 8
    assert any("<" in arrow["name"] for arrow in arrows)
    assert "<" not in about


def test_warnings_and_an_interruption_are_shown_above_the_sections(wine: dict[str, Any]) -> None:
    wine["interruption"] = "Interrupted after 12 evaluations."
    above = words(render(wine).split("<main")[0])
    assert "Interrupted after 12 evaluations." in above
    assert "2 rows without a target were left out." in above


def test_warnings_of_a_severity_are_counted_in_words(wine: dict[str, Any]) -> None:
    wine["warnings"] = [sample.warning(code, "Said.") for code in ("TZ101", "TZ302", "TZ206")]
    read = re.sub(r"<[^>]+>", "", render(wine))
    assert "2 problems: possible leak, may be chance" in read
    assert "1 note" in read
    assert "1 notes" not in read


def test_a_result_with_nothing_to_warn_of_has_no_box(bare: dict[str, Any]) -> None:
    assert 'role="note"' not in render(bare)


def test_the_footer_shows_the_version_and_the_seed(wine: dict[str, Any]) -> None:
    assert "tamiz 0.1.0 with the seed 0" in words(render(wine).split("<footer")[1])


def test_a_run_without_a_seed_is_reported(wine: dict[str, Any]) -> None:
    wine["seed"] = None
    assert "tamiz 0.1.0 without a seed" in words(render(wine).split("<footer")[1])


def test_a_numeric_target_is_summed_up(wine: dict[str, Any]) -> None:
    wine["table"] |= {
        "classes": [],
        "target_summary": {"mean": 2.5, "sd": 1.0, "min": 0, "max": 9},
    }
    shown = words(section(render(wine), "table"))
    assert "Mean of the target 2.5" in shown
    assert "Largest of the target 9" in shown


def test_a_report_that_cannot_be_made_leaves_no_file(wine: dict[str, Any], tmp_path: Path) -> None:
    result = result_of(wine)
    first, *others = result.record.maps
    spoilt = replace(first, points=((float("nan"), 0.0), *first.points[1:]))
    with pytest.raises(ValueError, match=r"NaN|not JSON compliant"):
        Result(replace(result.record, maps=(spoilt, *others))).to_html(tmp_path / "a.html")
    assert list(tmp_path.iterdir()) == []

"""Files that a reader saves from the report contain what the page shows."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

import pytest

from . import sample
from .browsing import Reader
from .reading import result_of

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def saved(reader: Reader, button: str, path: Path) -> list[list[str]]:
    with reader.page.expect_download() as download:
        reader.page.locator(f"#{button}").click()
    download.value.save_as(path)
    return list(csv.reader(path.open(encoding="utf-8", newline="")))


def test_the_chosen_columns_are_saved_as_they_are_now(read: Any, tmp_path: Path) -> None:
    reader = read("wine")
    subset = sample.wine()["subset"]["columns"]
    in_order = [column["name"] for column in sample.wine()["table"]["columns"] if column["name"] in subset]
    button = reader.page.locator("#save-columns")
    assert button.inner_text() == f"Save the {len(subset)} ticked columns as CSV"
    assert saved(reader, "save-columns", tmp_path / "a.csv") == [["column"], *([name] for name in in_order)]


def test_the_ranking_is_saved_with_every_score(read: Any, tmp_path: Path) -> None:
    head, *rows = saved(read("wine"), "save-ranking", tmp_path / "a.csv")
    ranking = sample.wine()["ranking"]
    labels = [criterion["label"] for criterion in ranking["criteria"]]
    assert [head[0], *head[-len(labels) :]] == ["column", *labels]
    assert sorted(row[0] for row in rows) == sorted(ranking["columns"])
    for row in rows:
        scores = [
            ranking["scores"][criterion["id"]][ranking["columns"].index(row[0])] for criterion in ranking["criteria"]
        ]
        assert [float(value) if value else None for value in row[-len(labels) :]] == scores


def test_the_coordinates_are_saved_with_the_colours(read: Any, tmp_path: Path) -> None:
    head, *rows = saved(read("wine"), "save-coordinates", tmp_path / "a.csv")
    wine = sample.wine()
    assert head == [
        "row", "PCA: PC 1", "PCA: PC 2", "Laplacian eigenmaps: Eigenvector 1", "Laplacian eigenmaps: Eigenvector 2",
        *(color["name"] for color in wine["colors"]),
    ]  # fmt: skip
    assert len(rows) == 178
    for k, reduced in enumerate(wine["maps"]):
        assert [[float(value) for value in row[1 + 2 * k : 3 + 2 * k]] for row in rows] == reduced["points"]
    assert {row[5] for row in rows} == {"Barolo", "Grignolino", "Barbera"}
    assert sum(not row[head.index("alcalinity_of_ash")] for row in rows) == 4


def test_a_spreadsheet_runs_no_formula_in_a_name(browser: Any, tmp_path: Path) -> None:
    result = sample.wine()
    for column in result["table"]["columns"]:
        if column["name"] == "alcohol":
            column["name"] = '=HYPERLINK("https://evil.example","a,b")'
    result["recommendation"] = result["ranking"] = None
    result["subset"]["columns"] = ['=HYPERLINK("https://evil.example","a,b")']
    page = browser.new_page(accept_downloads=True)
    reader = Reader(page, result_of(result).to_html(tmp_path / "a.html"))
    assert saved(reader, "save-columns", tmp_path / "a.csv")[1] == ['\'=HYPERLINK("https://evil.example","a,b")']
    assert reader.complaints == []
    page.close()


def test_downloads_of_absent_results_are_not_offered(read: Any) -> None:
    reader = read("bare")
    assert reader.page.locator("#takeaway button").all_inner_texts() == [
        "Save the 0 ticked columns as CSV", "Save the ranking as CSV", "Save all numbers as JSON", "Copy a link to this view",
    ]  # fmt: skip
    assert reader.page.locator("#save-columns").is_disabled()


def test_a_link_to_a_view_restores_it(read: Any, browser: Any) -> None:
    reader = read("wine")
    page = reader.page
    page.locator("#columns-table .keep input:checked").first.uncheck()
    chosen = page.locator("#save-columns").inner_text()
    page.locator("#column-scores").select_option(label="Fisher score")
    page.locator("#columns-tools input").fill("al")
    page.locator("#colours select").select_option(label="alcohol")
    page.locator("#pick input").fill("1-9")
    page.locator("#pick input").press("Enter")
    page.locator("#copy-link").click()
    page.wait_for_function("() => location.hash.includes('&')")
    other = browser.new_page(viewport={"width": 1400, "height": 900})
    other.goto(page.url)
    other.locator("#picked").wait_for()
    assert other.locator("#picked .status").inner_text().startswith("9 of 178 rows")
    assert other.locator("#colours select").evaluate("(one) => one.selectedOptions[0].textContent") == "alcohol"
    assert other.locator("#save-columns").inner_text() == chosen
    assert other.locator("#columns-tools input").input_value() == "al"
    other.wait_for_function("() => document.querySelector('th[data-key=rank]').textContent.includes('Fisher score')")
    other.close()


@pytest.mark.parametrize(
    "hash_", ["%E0%A4%A", "columns&keep=%5B1", "columns&map=x&rank=nothing&colour=99", "&&&", "<b>"]
)
def test_an_address_that_is_no_view_harms_nothing(read: Any, hash_: str) -> None:
    reader = read("wine")
    reader.page.goto(f"{reader.page.url.split('#')[0]}#{hash_}")
    reader.page.reload()
    reader.page.wait_for_timeout(300)
    assert reader.page.locator("#columns-table tbody").count() == 16

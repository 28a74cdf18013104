"""The menu of a figure in Chromium: a file of the figure as it is shown, and code that draws it."""

from __future__ import annotations

import runpy
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.image import imread
from sklearn.datasets import load_iris

import tamiz

from .browsing import Reader

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.browser


def choose(reader: Reader, name: str, item: str) -> None:
    """Open the menu of a figure, and choose an item."""
    reader.page.locator(f"#{name} .figure-more").click()
    reader.page.locator(".figure-menu button", has_text=item).click()


def saved(reader: Reader, name: str, kind: str, folder: Path) -> Path:
    with reader.page.expect_download() as download:
        choose(reader, name, f"Save as {kind.upper()}")
    assert download.value.suggested_filename == f"{name}.{kind}"
    download.value.save_as(folder / f"{name}.{kind}")
    return folder / f"{name}.{kind}"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_chart_is_saved_as_it_is_shown(read: Any, tmp_path: Path, scheme: str) -> None:
    reader = read("wine", scheme=scheme, accept_downloads=True)
    chart = reader.page.locator("#scores-by-size svg")
    svg = saved(reader, "scores-by-size", "svg", tmp_path).read_text(encoding="utf-8")
    root = ElementTree.fromstring(svg)
    assert "var(" not in svg
    texts = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts == chart.locator("text").all_text_contents()
    paper, muted = (
        reader.page.evaluate(f"getComputedStyle(document.documentElement).getPropertyValue('--{name}')")
        for name in ("paper", "muted")
    )
    assert f"fill: {paper}" in svg
    assert f'fill="{muted}"' in svg
    image = imread(saved(reader, "scores-by-size", "png", tmp_path))
    width, height = (float(root.get(side) or 0) for side in ("width", "height"))
    assert image.shape[:2] == pytest.approx((3 * height, 3 * width), abs=3)
    red, green, blue = (int(paper[k : k + 2], 16) / 255 for k in (1, 3, 5))
    np.testing.assert_allclose(image[1, 1, :3], (red, green, blue), atol=0.01)
    # Some pixels are ink.
    assert (np.abs(image[:, :, :3] - image[1, 1, :3]).sum(axis=2) > 0.5).mean() > 0.005


def test_a_menu_moves_nothing_and_closes_by_escape_where_it_was_opened(read: Any) -> None:
    page = read("wine", reduced_motion="reduce").page
    height = page.evaluate("document.documentElement.scrollHeight")
    button, menu = page.locator("#scores-by-size .figure-more"), page.locator(".figure-menu")
    assert page.locator(".drawing").count() == page.locator(".drawing .figure-more").count() > 5
    button.focus()
    page.keyboard.press("Enter")
    assert menu.is_visible()
    at, below = menu.bounding_box(), button.bounding_box()
    assert 0 <= at["y"] - below["y"] - below["height"] < 10
    assert page.evaluate("document.documentElement.scrollHeight") == height
    page.keyboard.press("Escape")
    assert menu.is_hidden()
    assert page.evaluate("document.activeElement.className") == button.get_attribute("class")
    page.emulate_media(media="print")
    assert not button.is_visible()


def test_the_copied_code_draws_the_figure(browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    X, y = load_iris(return_X_y=True, as_frame=True)
    X.assign(species=y.map(dict(enumerate("abc")))).to_csv("iris.csv", index=False)
    result = tamiz.study("iris.csv", target="species", maps=["pca"], assess=False)
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    reader = Reader(context.new_page(), result.to_html(tmp_path / "page.html"))
    for name, item in (("map-1-points", "#map-1"), ("map-1-spectrum", "#map-1-spectrum")):
        reader.page.locator(f"{item} .figure-more").first.click()
        reader.page.locator(".figure-menu button", has_text="Copy Python code").click()
        reader.page.locator(".figure-menu button", has_text="Copied").wait_for()
        code = reader.page.evaluate("navigator.clipboard.readText()")
        assert code.splitlines() == [
            "from tamiz import study",
            "",
            "result = study('iris.csv', target='species', maps=['pca'], assess=False)",
            f'result.figure("{name}").savefig("{name}.png")',
        ]
        reader.page.keyboard.press("Escape")
    context.close()
    assert reader.complaints == []
    (tmp_path / "code.py").write_text(code)
    runpy.run_path(str(tmp_path / "code.py"))
    result.figure("map-1-spectrum").savefig("same.png")
    np.testing.assert_array_equal(imread("map-1-spectrum.png"), imread("same.png"))

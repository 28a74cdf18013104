"""Charts of matplotlib as elements of the page."""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import numpy as np
import pytest

from tamiz.display import EigenvalueDisplay, QualityDisplay, ShepardDisplay
from tamiz.display.figures import escape_text
from tamiz.report.drawing import Chart

from . import sample

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def parts(chart: Chart) -> ElementTree.Element:
    """Return a chart as a document."""
    return ElementTree.fromstring(chart.svg())


def spectrum(label: str = "Eigenvalue", name: str = "a") -> Chart:
    return Chart(
        name, EigenvalueDisplay([3.0, 2.0, 1.0], reference=[1.5, 1.2, 1.1], value_label=label).plot, "Three values."
    )


def test_a_chart_has_a_description_and_its_text_is_text() -> None:
    svg = parts(spectrum())
    assert (svg.get("role"), svg.get("aria-label")) == ("img", "Three values.")
    texts = [text.text for text in svg.iter("text")]
    assert {"Eigenvector", "Eigenvalue", "1", "2", "3", "by chance (parallel analysis)"} <= set(texts)
    # The label of the vertical axis stands above it, and is not turned.
    assert not any("rotate" in (text.get("transform") or "") for text in svg.iter("text"))


def test_colours_are_those_of_the_page() -> None:
    text = spectrum().svg()
    assert "var(--chart)" in text
    assert re.findall(r"#[0-9a-f]{6}", text) == []


@pytest.mark.usefixtures("_drawn_anew")
def test_the_same_chart_gives_the_same_bytes_and_its_ids_are_its_own() -> None:
    assert spectrum().svg() == spectrum().svg()
    ids = [{part.get("id") for part in parts(spectrum(name=name)).iter() if part.get("id")} for name in ("a", "b")]
    assert ids[0]
    assert ids[0].isdisjoint(ids[1])
    for reference in re.findall(r"url\(#(\w+)\)", spectrum().svg()):
        assert reference in ids[0]


def test_thousands_of_points_are_one_path_at_their_places() -> None:
    rng = np.random.default_rng(0)
    d, e = rng.uniform(1, 4, 1000), rng.uniform(1, 4, 1000)
    svg = parts(Chart("a", ShepardDisplay(d, e, scale=1.0).plot, "Pairs."))
    (path,) = [path for path in svg.iter("path") if path.get("d", "").count("h0") == 1000]
    assert len(list(svg.iter())) < 40
    places = np.array(re.findall(r"M([\d.]+) ([\d.]+)h0", path.get("d", "")), dtype=float)
    # The pixels are a scale of the values, upwards; they are written to a tenth.
    for pixels, values, sign in ((places[:, 0], d, 1), (places[:, 1], e, -1)):
        slope, start = np.polyfit(values, pixels, 1)
        assert sign * slope > 0
        np.testing.assert_allclose(pixels, start + slope * values, atol=0.06)


def test_markers_of_other_shapes_are_drawn_at_their_places() -> None:
    def draw(axes: Axes) -> None:
        axes.plot([0, 1], [0, 1], "s", markersize=6)

    path = next(path for path in parts(Chart("a", draw, "Squares.")).iter("path") if "z" in path.get("d", ""))
    corners = np.array(re.findall(r"[ML] ([\d.]+) ([\d.]+)", path.get("d", "")), dtype=float)
    assert len(corners) in (8, 10)
    first, second = np.split(corners, 2)
    assert np.ptp(first, axis=0) == pytest.approx([6, 6], abs=0.2)
    assert second[:, 0].min() > first[:, 0].max()
    assert second[:, 1].max() < first[:, 1].min()


def test_a_legend_of_many_lines_stands_below_the_chart() -> None:
    from tamiz.metrics.neighborhoods import RankAgreement

    k = np.arange(1, 50)
    found = {f"map {j}": RankAgreement(k, k / 50, k / 50, np.full(49, j / 10), j / 10) for j in range(6)}
    svg = parts(Chart("a", QualityDisplay(found).plot, "Curves."))
    heights = {text.text: float(text.get("y", 0)) for text in svg.iter("text")}
    names = [name for name in heights if name and name.startswith("map ")]
    assert len(names) == 6
    assert min(heights[name] for name in names) > heights["Size of the neighbourhood, K"]
    height = float(svg.get("viewBox", "").split()[3])
    assert max(heights[name] for name in names) < height


@pytest.mark.parametrize("name", [*sample.HOSTILE, "漢字 🦉", "$x^2$ and $", "_hidden"])
def test_any_name_is_a_text_of_a_well_formed_chart(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        svg = parts(spectrum(escape_text(name)))
    shown = [text.text or "" for text in svg.iter("text")]
    wanted = escape_text(name).replace(r"\$", "$").strip()
    assert any(text.strip() == wanted for text in shown) or not wanted

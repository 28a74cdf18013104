from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cloudpickle
import pytest

from tamiz.report.drawing import Chart

from . import sample
from .browsing import Reader
from .reading import result_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


# How a chart is drawn for users.
DRAW = Chart.svg


@pytest.fixture
def wine() -> dict[str, Any]:
    return sample.wine()


@pytest.fixture
def hostile() -> dict[str, Any]:
    return sample.hostile()


@pytest.fixture
def bare() -> dict[str, Any]:
    return sample.bare()


@pytest.fixture(autouse=True, scope="session")
def _equal_charts_are_drawn_once() -> Iterator[None]:
    """Draw a chart when its content is new: most tests change one part of a sample, and drawing is most of the time of a page."""
    drawn: dict[bytes, Any] = {}

    def drawn_once(chart: Chart) -> Any:
        content = cloudpickle.dumps((chart.name, chart.draw, chart.described, chart.width, chart.height))
        if content not in drawn:
            drawn[content] = DRAW(chart)
        return drawn[content]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Chart, "svg", drawn_once)
        yield


@pytest.fixture
def _drawn_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw every chart, as users do."""
    monkeypatch.setattr(Chart, "svg", DRAW)


@pytest.fixture(scope="session")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("reports")
    made = {
        "wine": sample.wine(),
        "hostile": sample.hostile(),
        "bare": sample.bare(),
        "wide": sample.wide(120, 200),
        "digits": sample.digits(),
    }
    return {name: result_of(result).to_html(folder / f"{name}.html") for name, result in made.items()}


@pytest.fixture
def read(browser: Any, reports: dict[str, Path]) -> Iterator[Any]:
    """Open a report; whatever it does that a report must not do fails the test."""
    readers: list[Reader] = []

    def opened(name: str, *, width: int = 1400, scheme: str = "light", **more: Any) -> Reader:
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme, **more)
        readers.append(Reader(page, reports[name]))
        return readers[-1]

    yield opened
    for reader in readers:
        reader.page.close()
        assert reader.complaints == []

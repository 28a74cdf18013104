"""Samples as JSON types, as records, as results and as pages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tamiz.report import Result, html
from tamiz.report.records import StudyRecord
from tamiz.runtime.codec import from_json
from tamiz.selection.subset_record import SubsetRecord

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes

    from tamiz.report.drawing import Chart


def record_of(data: Any) -> StudyRecord:
    """Return the record of a result in JSON types."""
    return from_json(StudyRecord, data)


def subset_of(data: Any) -> SubsetRecord:
    """Return the record of a subset in JSON types."""
    return from_json(SubsetRecord, data)


def result_of(data: Any) -> Result:
    """Return the result in JSON types."""
    return Result(record_of(data))


def summary(result: Result) -> str:
    """Return the lines of every section, as `tamiz study --verbose` prints them."""
    return "\n".join(f"  {term}: {text}" for term, text in result.summary_lines())


def render(data: Any) -> str:
    """Return the page of a result in JSON types."""
    return html.render(record_of(data))


def panel_of(chart: Chart) -> Axes:
    """Return the panel on which a chart is drawn."""
    return chart.figure().axes[0]


def mark_places(mark: str) -> tuple[float, tuple[float, float] | None]:
    """Return where a mark has its dot and its interval, in percent."""
    (dot,) = re.findall(r'<circle class="dot" cx="([\d.]+)%"', mark)
    line = re.findall(r'class="range" x1="([\d.]+)%" x2="([\d.]+)%"', mark)
    return float(dot), (float(line[0][0]), float(line[0][1])) if line else None


def collected(section: Callable[[StudyRecord], dict[str, Any] | None], data: Any) -> dict[str, Any]:
    """Return what a section shows of a result in JSON types."""
    shown = section(record_of(data))
    assert shown is not None
    return shown

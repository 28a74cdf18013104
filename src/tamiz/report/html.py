"""The report as one self-contained HTML file: text, charts, scripts, and the numbers."""

from __future__ import annotations

import base64
import gzip
import hashlib
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tamiz.arrays import Floats
from tamiz.report import drawing, registry, text
from tamiz.report.drawing import Chart
from tamiz.report.recommendation import initial_selection
from tamiz.report.records import MAX_EXACT_ROWS
from tamiz.report.verdict import collect_verdict
from tamiz.runtime.codec import to_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tamiz.report.records import StudyRecord
    from tamiz.runtime.registry import Entry


_STEPS = 2**16 - 1
# Coordinates have 16 bits on the whole of an axis unless the map shows less than this share of it.
_LEAST_SHOWN = 0.25


def pack_rows(data: dict[str, Any]) -> bytes:
    """Replace the lists of a value for every row in the JSON of a result, and return their bytes; none of few rows.

    Coordinates are rounded to 1 / 65,535 of their axis; every other number is restored as it was.
    """
    shown = [one for one in data["maps"] if one["points"] is not None]
    if not shown or len(shown[0]["rows"]) <= MAX_EXACT_ROWS:
        return b""
    packed = _Bytes()
    for one in shown:
        x, y = np.array(one["points"]).T[:2] if len(one["axes"]) > 1 else (np.ravel(one["points"]), None)
        ends = drawing.map_extent(one["points"]) if y is not None else [(x.min(), x.max())]
        axes = [axis for axis in (x, y) if axis is not None]
        one["points"] = {"packed": [packed.add_axis(axis, *end) for axis, end in zip(axes, ends, strict=True)]}
        # The steps from row to row have few values.
        one["rows"] = packed.add([one["rows"][0], *np.diff(one["rows"]).tolist()]) | {"steps": True}
    for color in data["colors"]:
        color["values"] = packed.add(color["values"])
    for one in filter(None, data["quality"]["maps"] if data["quality"] else ()):
        one |= {name: packed.add(one[name]) for name in ("trust", "stress")}
    return bytes(packed.found)


class _Bytes:
    """The bytes of packed lists, one after the other."""

    def __init__(self) -> None:
        self.found = bytearray()

    def _append(self, values: np.ndarray[Any, Any]) -> dict[str, Any]:
        start = len(self.found)
        parts = np.ascontiguousarray(values).view(np.uint8).reshape(len(values), -1)
        self.found += parts.T.tobytes()
        return {"packed": values.dtype.str[1:], "at": start, "n": len(values)}

    def add_axis(self, values: Floats, first: float, last: float) -> dict[str, Any]:
        """Add the coordinates on an axis that the map shows from `first` to `last`."""
        low, high = float(values.min()), float(values.max())
        if last - first < _LEAST_SHOWN * (high - low):
            return self._append(values.astype("<f4"))
        width = (high - low) or 1.0
        steps = np.rint((values - low) / width * _STEPS)
        return self._append(steps.astype("<u2")) | {"low": low, "width": width}

    def add(self, values: Sequence[float | None]) -> dict[str, Any]:
        """Add numbers, None where missing, in the smallest type that restores them."""
        table = sorted({value for value in values if value is not None})
        if len(table) <= _STEPS:
            at = {value: k for k, value in enumerate(table)} | {None: len(table)}
            kind = "u1" if len(table) < 2**8 else "<u2"
            return self._append(np.array([at[value] for value in values], kind)) | {"table": table}
        numbers = np.array([np.nan if value is None else value for value in values])
        # A number of six digits is restored from 32 bits.
        short = [float(f"{value:.6g}") for value in table] == table
        return self._append(numbers.astype("<f4" if short else "<f8"))


def render(record: StudyRecord) -> str:
    """Return a result as one HTML page without network requests; the same result gives the same bytes."""
    found = [
        {"id": entry.name, "label": entry.label, "shown": shown}
        for entry in registry.of_kind("section")
        if (shown := _collect_section(entry, record))
    ]
    sections = [entry.name for entry in registry.of_kind("section")]
    assets = ("page", "figures", "verdict", "tables", "takeaway", *sections, "state")
    # All scripts share one function scope.
    script = f'"use strict";\n(() => {{\n{_read_assets("js", assets)}}})();\n'
    data = to_json(record)
    packed = pack_rows(data)
    return (
        make_environment()
        .get_template("page.html")
        .render(
            record=record,
            verdict=collect_verdict(record),
            sections=[one for one in found if not one["shown"].get("folded")],
            details=[one for one in found if one["shown"].get("folded")],
            style=read_styles(*assets),
            script=Markup(script),  # our own files, without user input
            script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
            numbers=_compress(text.script_json(data)),
            packed=_compress(packed) if packed else "",
            chosen={"columns": [column.name for column in record.table.columns], "kept": initial_selection(record)},
        )
    )


def collect_charts(record: StudyRecord) -> dict[str, Chart]:
    """Return the charts of the sections, and the maps as charts, by their names on the page."""
    found: dict[str, Chart] = {}
    waiting = [_collect_section(entry, record) for entry in registry.of_kind("section")]
    while waiting:
        one = waiting.pop(0)
        if isinstance(one, Chart):
            found[one.name] = one
        elif isinstance(one, dict | list):
            waiting += one.values() if isinstance(one, dict) else one
    return found


def render_verdict(record: StudyRecord) -> str:
    """Return the first screen as a page of its own, without scripts."""
    return (
        make_environment()
        .get_template("verdict_page.html")
        .render(record=record, verdict=collect_verdict(record), style=read_styles("page", "verdict"))
    )


def read_styles(*names: str) -> Markup:
    return Markup(_read_assets("css", names))  # our own files, without user input


def _read_assets(extension: str, names: Iterable[str]) -> str:
    """Return the CSS or JavaScript files of these names as one; not every section has one."""
    found = (files("tamiz.report") / "templates" / f"{name}.{extension}" for name in names)
    return "".join(file.read_text(encoding="utf-8") for file in found if file.is_file())


def _collect_section(entry: Entry, record: StudyRecord) -> Any:
    """Return the context of a section; an exception gets a note that names the section."""
    try:
        return entry.load()(record)
    except Exception as error:
        error.add_note(f" in the section {entry.label!r}")
        raise


@cache
def make_environment(**filters: Callable[..., Any]) -> Environment:
    """Return the environment of the templates, with the filters of all and those of some; a template is compiled once."""
    environment = Environment(
        loader=PackageLoader("tamiz.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": text.format_number,
        "count": text.format_count,
        "counted": text.count_with_noun,
        "named": text.visible_name,
        "shortened": text.shorten,
        "script_json": text.script_json,
        "packed": _compress,
        "base64": lambda content: base64.b64encode(content).decode("ascii"),
        "breakable": text.breakable_name,
        "unbroken": text.unbroken_options,
        "prose": text.unbroken_option_names,
        **filters,
    }
    return environment


def _compress(table: str | bytes) -> str:
    """Return text or bytes as base64 of gzip, without a timestamp, for reproducible bytes."""
    # Level 9 takes 1.4 times as long for 0.2 % less.
    content = table if isinstance(table, bytes) else table.encode("utf-8", errors="replace")
    packed = gzip.compress(content, compresslevel=6, mtime=0)
    return base64.b64encode(packed).decode("ascii")

"""The report as one self-contained HTML file: text, charts, scripts, and the numbers."""

from __future__ import annotations

import base64
import gzip
import hashlib
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tamiz.report import registry, text
from tamiz.report.drawing import Chart
from tamiz.report.packing import pack_rows
from tamiz.report.recommendation import initial_selection
from tamiz.report.verdict import collect_verdict
from tamiz.runtime.codec import to_json

# Assets of the page itself, before and after those of its sections.
_PAGE_ASSETS = ("page", "figures", "verdict", "tables", "takeaway")
_LAST_ASSETS = ("state",)
# The sections that are open, in their order; one that is there in place of another is folded where there is the other.
_OPEN_SECTIONS = ("columns", "recommendation", "subset", "redundancy", "maps", "reproduction")
_IN_PLACE_OF = {"subset": "recommendation", "redundancy": "recommendation"}

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tamiz.report.records.study import StudyRecord
    from tamiz.runtime.registry import Entry


def render(result: StudyRecord) -> str:
    """Return a result as one HTML page without network requests; the same result gives the same bytes."""
    collected = [(entry, _collect_section(entry, result)) for entry in registry.of_kind("section")]
    found = {
        entry.name: {"id": entry.name, "label": entry.label, "shown": shown} for entry, shown in collected if shown
    }
    main = [found[name] for name in _OPEN_SECTIONS if name in found and _IN_PLACE_OF.get(name) not in found]
    assets = (*_PAGE_ASSETS, *(entry.name for entry in registry.of_kind("section")), *_LAST_ASSETS)
    # All scripts share one function scope.
    script = f'"use strict";\n(() => {{\n{_read_assets("js", assets)}}})();\n'
    data = to_json(result)
    packed = pack_rows(data)
    return (
        make_environment()
        .get_template("page.html")
        .render(
            result=result,
            verdict=collect_verdict(result),
            sections=main,
            details=[one for one in found.values() if one not in main],
            style=read_styles(*assets),
            script=Markup(script),  # our own files, without user input
            script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
            numbers=_compress(text.script_json(data)),
            packed=_compress(packed) if packed else "",
            chosen={"columns": [column.name for column in result.table.columns], "kept": initial_selection(result)},
        )
    )


def collect_charts(result: StudyRecord) -> dict[str, Chart]:
    """Return the charts of the sections, and the maps as charts, by their names on the page."""
    found: dict[str, Chart] = {}
    waiting = [_collect_section(entry, result) for entry in registry.of_kind("section")]
    while waiting:
        one = waiting.pop(0)
        if isinstance(one, Chart):
            found[one.name] = one
        elif isinstance(one, dict | list):
            waiting += one.values() if isinstance(one, dict) else one
    return found


def render_verdict(result: StudyRecord) -> str:
    """Return the first screen as a page of its own, without scripts."""
    return (
        make_environment()
        .get_template("verdict_page.html")
        .render(result=result, verdict=collect_verdict(result), style=read_styles("page", "verdict"))
    )


def read_styles(*names: str) -> Markup:
    return Markup(_read_assets("css", names))  # our own files, without user input


def _read_assets(extension: str, names: Iterable[str]) -> str:
    """Return the CSS or JavaScript files of these names as one; not every section has one."""
    found = (files("tamiz.report") / "templates" / f"{name}.{extension}" for name in names)
    return "".join(file.read_text(encoding="utf-8") for file in found if file.is_file())


def _collect_section(entry: Entry, result: StudyRecord) -> Any:
    """Return the context of a section; an exception gets a note that names the section."""
    try:
        return entry.load()(result)
    except Exception as error:
        error.add_note(f" in the section {entry.label!r}")
        raise


def make_environment() -> Environment:
    """Return the environment of the templates, with their filters."""
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
    }
    return environment


def _compress(table: str | bytes) -> str:
    """Return text or bytes as base64 of gzip, without a timestamp, for reproducible bytes."""
    # Level 9 takes 1.4 times as long for 0.2 % less.
    content = table if isinstance(table, bytes) else table.encode("utf-8", errors="replace")
    packed = gzip.compress(content, compresslevel=6, mtime=0)
    return base64.b64encode(packed).decode("ascii")

"""Reproduce this report: the study as a command line and in Python, with its seed and versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tamiz.report.text import join_names, visible_name

if TYPE_CHECKING:
    from tamiz.report.records.study import StudyRecord


def collect_reproduction(result: StudyRecord) -> dict[str, Any]:
    """Return what the code repeats, how to run it, and the versions."""
    name, placeholders = visible_name(result.title), result.reproduction.placeholders
    lead = f"The code below repeats this study of {name} with other random draws, because it had no seed."
    if result.seed is not None:
        limited = "max_seconds=" in result.reproduction.python
        unless = ", unless steps are left out because another machine is slower" if limited else ""
        lead = f"The code below reproduces this report of {name}: the same table, seed and settings give the same numbers{unless}."
    hint = "Run it in the folder of the table."
    if placeholders:
        hint = f"Replace {join_names(placeholders)} by the objects that were passed to the study."
    return {"lead": lead, "python_hint": hint, "versions": sorted({"tamiz": result.tamiz, **result.versions}.items())}

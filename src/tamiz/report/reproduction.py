"""Reproduce this report: the study as a command line and in Python, with its seed and versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tamiz.report.text import join_names, visible_name

if TYPE_CHECKING:
    from tamiz.report.records.study import ReproductionRecord, StudyRecord


def collect_reproduction(result: StudyRecord) -> dict[str, Any]:
    """Return the context of the section: code blocks, seed and versions.

    Parameters
    ----------
    result : StudyRecord
        The record of a study.

    Returns
    -------
    dict
        The variables of the template.
    """
    reproduction = result.reproduction
    return {
        "lead": _lead(result),
        "blocks": [
            block
            for block in (
                {
                    "id": "command",
                    "title": "On the command line",
                    "text": "Run it in the folder of the table.",
                    "code": reproduction.command,
                },
                {
                    "id": "python",
                    "title": "In Python",
                    "text": _python_hint(reproduction),
                    "code": reproduction.python,
                },
            )
            if block["code"] is not None
        ],
        "facts": [
            ("Seed", "none" if result.seed is None else str(result.seed)),
            *([("Warnings and notes", f"{len(result.warnings):,} at the top of this page")] if result.warnings else []),
        ],
        "versions": sorted({"tamiz": result.tamiz, **result.versions}.items()),
    }


def _lead(result: StudyRecord) -> str:
    name = visible_name(result.title)
    if result.seed is None:
        return f"The code below repeats this study of {name} with other random draws, because it had no seed."
    unless = ""
    if "max_seconds=" in result.reproduction.python:
        unless = ", unless steps are left out because another machine is slower"
    return f"The code below reproduces this report of {name}: the same table, seed and settings give the same numbers{unless}."


def _python_hint(reproduction: ReproductionRecord) -> str:
    if reproduction.placeholders:
        return f"Replace {join_names(reproduction.placeholders)} by the objects that were passed to the study."
    return "Run it in the folder of the table."

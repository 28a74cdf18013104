"""How to repeat it: the same study as a command line, in Python and as a config file, and what the numbers depend on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tamiz.report.text import count_with_noun, join_names, visible_name

if TYPE_CHECKING:
    from collections.abc import Mapping


def collect_reproduction(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the section shows: the blocks to copy, the seed and the versions.

    Parameters
    ----------
    result : mapping
        A result as `Result.to_dict` gives it.

    Returns
    -------
    dict
        The template's names.
    """
    repeat = result["reproduction"]
    return {
        "lead": _lead(result),
        "blocks": [
            block
            for block in (
                {
                    "id": "command",
                    "title": "On the command line",
                    "text": "Run it in the folder that holds the table.",
                    "code": repeat["command"],
                },
                {"id": "python", "title": "In Python", "text": _python_hint(repeat), "code": repeat["python"]},
                {
                    "id": "config",
                    "title": "As a config file",
                    "text": "Save it as study.toml beside the table, and run: tamiz study --config study.toml",
                    "code": repeat["config"],
                },
            )
            if block["code"] is not None
        ],
        "no_command": repeat["no_command"],
        "facts": [
            ("Seed", "none" if result["seed"] is None else str(result["seed"])),
            *(
                [("Notes", f"{count_with_noun(len(result['warnings']), 'sentence')} at the top of this page")]
                if result["warnings"]
                else []
            ),
        ],
        "versions": sorted({"tamiz": result["tamiz"], **result["versions"]}.items()),
    }


def _lead(result: Mapping[str, Any]) -> str:
    name = visible_name(result["title"])
    if result["reproduction"]["command"] is None:
        return "The Python below repeats this study; no command line does."
    if result["seed"] is None:
        return f"The lines below repeat this study of {name}, but for what it drew by lot."
    return f"The lines below give this report of {name} again: the same table, seed and settings give the same numbers."


def _python_hint(repeat: Mapping[str, Any]) -> str:
    if repeat["given"]:
        return f"Put in place of {join_names(repeat['given'])} what the study was given."
    return "Run it in the folder that holds the table. No other folder is named here."

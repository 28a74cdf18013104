"""`tamiz explain`: what the codes of warnings mean."""

from __future__ import annotations

import click

from tamiz.cli.command import DataCommand
from tamiz.cli.options import json_flag
from tamiz.cli.terminal import show_json, show_table, show_text
from tamiz.runtime.verdicts import CODES, explain_code


@click.command(cls=DataCommand, short_help="Explain the code of a warning, or list all codes.")
@click.argument("code", required=False)
@json_flag
def explain(code: str | None, as_json: bool) -> None:
    """\b
    tamiz explain TZ101
    tamiz explain

    Explain the code of a warning: how it is found, why it matters, what to do, and how often it is wrong. Without a code, list
    all codes with their severity.
    """
    if code is None:
        listed = [{"code": name, "severity": one.severity, "label": one.label} for name, one in CODES.items()]
        if as_json:
            show_json(listed)
        else:
            show_table(tuple(listed[0]), [tuple(one.values()) for one in listed])
        return
    text = explain_code(code)
    if as_json:
        name = text[:5]
        show_json({"code": name, **CODES[name]._asdict(), "text": text})
    else:
        show_text(text)

"""`tamiz explain`: what the codes of warnings mean."""

from __future__ import annotations

from tamiz.cli.command import argument, command
from tamiz.cli.options import JSON
from tamiz.cli.terminal import Messenger, show_json, show_records, show_text
from tamiz.runtime.verdicts import CODES, explain_code


@command("Explain the code of a warning, or list all codes.")
def explain(_: Messenger, *, code: str | None = argument(str, required=False), as_json: bool = JSON) -> None:
    """\b
    tamiz explain TZ101
    tamiz explain

    Explain the code of a warning: how it is found, why it matters, what to do, and how often it is wrong. Without a code, list
    all codes with their severity.
    """
    if code is None:
        listed = [{"code": name, "severity": one.severity, "label": one.label} for name, one in CODES.items()]
        show_records(listed, as_json=as_json)
        return
    text = explain_code(code)
    if as_json:
        name = text[:5]
        show_json({"code": name, **CODES[name]._asdict(), "text": text})
    else:
        show_text(text)

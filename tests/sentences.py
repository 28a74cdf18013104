"""The sentences of the warnings of a result, and those of one code."""

from typing import Any


def sentences(found: dict[str, Any], code: str | None = None) -> list[str]:
    return [one["sentence"] for one in found["warnings"] if code in (None, one["code"])]

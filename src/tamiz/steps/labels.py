"""What the parts of a study are called: as their registry lists them."""

from __future__ import annotations

from typing import Any

from tamiz.registry import Entry, Registry


def method_label(registry: Registry, method: Any) -> dict[str, str]:
    """Return the name and label of a part; its class is its name where nothing lists it."""
    name = type(method).__name__
    entry = next((entry for entry in registry if entry.attribute == name), None)
    return entry_label(entry) if entry else {"id": name, "label": name}


def entry_label(entry: Entry) -> dict[str, str]:
    """Return the name and label of what a registry lists."""
    return {"id": entry.name, "label": entry.label}

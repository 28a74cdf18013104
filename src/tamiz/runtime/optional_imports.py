"""Imports of optional packages, with an error that names the missing package and the install command."""

from __future__ import annotations

import re
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any


def import_optional(module: str, *, feature: str, package: str, min_version: str, extra: str) -> Any:
    """Return a module of an optional package; ImportError, which names the feature and the extra, if it is missing or too old."""
    way_out = f'Install it: pip install "tamiz[{extra}]"'
    try:
        found = version(package)
    except PackageNotFoundError:
        raise ImportError(
            f"{feature} needs {package} {min_version} or later, which is not installed. {way_out}"
        ) from None
    # Checked before the import, which may fail with another error in an old version.
    if _version_numbers(found) < _version_numbers(min_version):
        raise ImportError(f"{feature} needs {package} {min_version} or later, and {found} is installed. {way_out}")
    return import_module(module)


def _version_numbers(text: str) -> tuple[int, ...]:
    """Return the leading numbers of a version, such as (3, 9) of "3.9rc1"."""
    found = re.match(r"\d+(\.\d+)*", text)
    return tuple(map(int, found.group().split("."))) if found else ()

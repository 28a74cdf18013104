"""Packages that tamiz can do without: imported where they are needed, and asked for in one sentence where they are not there."""

from __future__ import annotations

import re
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any


def import_optional(module: str, *, feature: str, package: str, min_version: str, extra: str) -> Any:
    """Return a module of an optional package.

    Parameters
    ----------
    module : str
        What to import, such as "matplotlib.pyplot".
    feature : str
        What needs it, as the user calls it.
    package : str
        The package's name where it is installed from.
    min_version : str
        The least version.
    extra : str
        The extra of tamiz that installs it.

    Raises
    ------
    ImportError
        When the package is not installed, or older.
    """
    way_out = f'Install it: pip install "tamiz[{extra}]"'
    try:
        found = version(package)
    except PackageNotFoundError:
        raise ImportError(
            f"{feature} needs {package} {min_version} or later, which is not installed. {way_out}"
        ) from None
    # Told before it is imported: an old package may fail there in words of its own.
    if _version_numbers(found) < _version_numbers(min_version):
        raise ImportError(f"{feature} needs {package} {min_version} or later, and {found} is installed. {way_out}")
    return import_module(module)


def _version_numbers(text: str) -> tuple[int, ...]:
    """Return the numbers that a version begins with."""
    found = re.match(r"\d+(\.\d+)*", text)
    return tuple(map(int, found.group().split("."))) if found else ()

"""A result that is written as JSON and as an HTML page."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from tamiz.storage.atomic_write import write_text_atomically

if TYPE_CHECKING:
    import os
    from pathlib import Path


class WrittenResult(ABC):
    """A result whose names and numbers are written as JSON, and which has a page."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the names and numbers as JSON types: dictionaries, lists, text and numbers."""

    @abstractmethod
    def page(self) -> str:
        """Return the result as HTML."""

    def to_json(self, path: str | os.PathLike[str]) -> Path:
        """Write the names and numbers as JSON, atomically.

        Parameters
        ----------
        path : str or path
            The file; its folder must exist.

        Returns
        -------
        Path
            The file written.
        """
        return write_text_atomically(path, json.dumps(self.to_dict(), allow_nan=False, ensure_ascii=False) + "\n")

    def to_html(self, path: str | os.PathLike[str]) -> Path:
        """Write the result as one HTML file, atomically.

        Parameters
        ----------
        path : str or path
            The file; its folder must exist.

        Returns
        -------
        Path
            The file written.
        """
        return write_text_atomically(path, self.page())

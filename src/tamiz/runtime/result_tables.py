"""Results for a reader: aligned text, HTML, and data frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from importlib.util import find_spec
from typing import Any

from tamiz.runtime.validation import check_choice


def align_columns(lines: Sequence[Sequence[str]]) -> list[str]:
    """Return lines of cells as text: the first column aligned at the left, the others at the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return ["  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]).rstrip() for line in lines]


def html_table(caption: str, lines: Sequence[Sequence[str]], header: Sequence[str] = ()) -> str:
    head = f"<thead><tr>{_cells(header, 'th')}</tr></thead>" if header else ""
    rows = "".join(f"<tr>{_cells(line, 'td')}</tr>" for line in lines)
    return f"<table><caption>{escape(caption)}</caption>{head}<tbody>{rows}</tbody></table>"


def _cells(line: Sequence[str], tag: str) -> str:
    return "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in line)


class PrintedResult:
    """A result that prints as a heading, lines of a name, a value and its meaning, and sentences."""

    def _heading(self) -> str:
        raise NotImplementedError

    def lines(self) -> list[tuple[str, str, str]]:
        raise NotImplementedError

    def _sentences(self) -> list[str]:
        raise NotImplementedError

    def __repr__(self) -> str:
        lines = self.lines()
        widths = [max(len(line[k]) for line in lines if len(line[k]) <= 40) for k in range(2)]
        table = [f"{name:{widths[0]}}  {value:{widths[1]}}  {meaning}".rstrip() for name, value, meaning in lines]
        return "\n".join([self._heading(), *table, *self._sentences()])

    def _repr_html_(self) -> str:
        paragraphs = "".join(f"<p>{escape(sentence)}</p>" for sentence in self._sentences())
        return html_table(self._heading(), self.lines()) + paragraphs


def frame_page(page: str, title: str) -> str:
    """Return a page for a notebook, in a frame of its own, so that neither style reaches the other."""
    named = f'title="{escape(title)}" style="width: 100%; height: 47rem; border: 0"'
    return f'<iframe srcdoc="{escape(page)}" {named}></iframe>'


def make_frame(columns: Mapping[str, Sequence[Any]], library: str | None = None) -> Any:
    """Return a frame of pandas, polars or pyarrow; None is pandas, or pyarrow where pandas is not installed."""
    if library is None:
        library = "pandas" if find_spec("pandas") is not None else "pyarrow"
    backend: Any = check_choice("library", library, ("pandas", "polars", "pyarrow"))
    # Imported late: reading a result needs none.
    import narwhals as nw

    return nw.from_dict(dict(columns), backend=backend).to_native()

"""Words and numbers as a reader sees them.

Templates escape what they print; the functions here that end in a chart label are the exception, because plotly
reads a little HTML of its own in every label.
"""

from __future__ import annotations

import html
import json
import math
import re
import unicodedata
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# Columns that a section lists: a page of 100,000 is 200 MB, and nobody scrolls so far.
MOST_LISTED = 5_000
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_PEOPLE = ("Fisher", "Laplacian")
_SIZES_NAMED = 5
_RIGHT_TO_LEFT = {"R", "AL", "RLE", "RLO", "RLI", "LRE", "LRO", "LRI", "FSI"}
# `</script>` and `<!--` end or bend a script element; U+2028 and U+2029 end a line in older JavaScript.
_IN_SCRIPT = str.maketrans({c: f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"})


def unlisted(n: int) -> str:
    """Return the sentence on columns that a section does not list, empty where it lists all."""
    if n <= MOST_LISTED:
        return ""
    return f"The first {MOST_LISTED:,} of {n:,} columns are listed; the files to be saved at the end of the report hold all."


def number(value: float | None, *, digits: int = 4) -> str:
    """Return a number with four significant digits, whole above 1,000, in powers of ten when very large or small.

    Examples
    --------
    >>> number(0.123456), number(42.0), number(3750.4), number(1.5e-7), number(138.2, digits=2), number(None)
    ('0.1235', '42', '3,750', '1.5 × 10⁻⁷', '138', '–')
    """
    if value is None:
        return "–"
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 1e9 or size < 1e-4:
        mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
        return f"{_trimmed(mantissa)} × 10{str(int(exponent)).translate(_SUPERSCRIPT)}".replace("-", "−")
    if size >= 1000:
        return f"{value:,.0f}".replace("-", "−")
    return _trimmed(f"{value:.{max(digits - 1 - math.floor(math.log10(size)), 0)}f}").replace("-", "−")


def _trimmed(digits: str) -> str:
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def count(n: float) -> str:
    """Return a count with thousands marked; a weight keeps its fraction."""
    return f"{int(n):,}" if float(n).is_integer() else number(n)


def counted(n: float, noun: str, nouns: str | None = None) -> str:
    """Return "1 row", "2 rows", "1,000 rows"."""
    return f"{count(n)} {noun if n == 1 else nouns or noun + 's'}"


def percent(share: float) -> str:
    """Return a share as a percentage with no more digits than can be read.

    Examples
    --------
    >>> percent(0.4444), percent(0.0444), percent(0.0004), percent(1.0)
    ('44%', '4.4%', '<0.1%', '100%')
    """
    if 0 < share < 0.001:
        return "<0.1%"
    hundredths = 100 * share
    return f"{hundredths:.0f}%" if hundredths >= 10 or hundredths == 0 else f"{_trimmed(f'{hundredths:.1f}')}%"


def named(name: Any) -> str:
    """Return a name that can be seen: an empty one is told."""
    return str(name) if str(name).strip() else "(empty)"


def shortened(name: Any, limit: int) -> str:
    """Return a name of at most `limit` characters, its middle left out where it is longer."""
    text = named(name)
    if len(text) > limit:
        head = (limit - 1) * 2 // 3
        text = f"{text[:head]}…{text[len(text) - (limit - 1 - head) :]}"
    # A name that runs from right to left would turn the rest of its sentence round.
    return f"\u2068{text}\u2069" if any(map(_turns, text)) else text


def _turns(character: str) -> bool:
    return unicodedata.bidirectional(character) in _RIGHT_TO_LEFT


def breakable(name: Any, limit: int = 48) -> Markup:
    """Return a name for a narrow cell: shortened, escaped, and broken after its underscores, dots and slashes."""
    return Markup("<wbr>").join(re.split(r"(?<=[_./:=-])(?=\w)", shortened(name, limit)))


def listed(names: Iterable[Any], *, limit: int = 6, width: int = 40) -> str:
    """Return "a, b and c", with the rest counted beyond `limit` names."""
    words = [shortened(name, width) for name in names]
    if len(words) > limit:
        words = [*words[: limit - 1], f"{len(words) - limit + 1:,} more"]
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def midway(words: str) -> str:
    """Return a label as it stands inside a sentence: what is named after a person keeps its capital."""
    return words if words.startswith(_PEOPLE) else words.lower()


def edges_told(graph: Mapping[str, Any]) -> str:
    """Return how many edges of a result's graph join how many rows, and in how many pieces."""
    edges, rows = counted(graph["n_edges"], "edge"), counted(graph["n_rows"], "row")
    words = f"{edges} {'joins' if graph['n_edges'] == 1 else 'join'} {rows}"
    n, sizes = graph["components"]["n"], graph["components"]["sizes"]
    if n == 1:
        return f"{words}, all in one piece"
    if n <= _SIZES_NAMED:
        return f"{words}, in {n:,} components of {listed(count(size) for size in sizes)} rows"
    return f"{words}, in {n:,} components, the largest of {counted(sizes[0], 'row')}"


def label(name: Any, limit: int = 24) -> str:
    """Return a name for a chart: short, on one line, and with plotly's pseudo-HTML made inert.

    plotly reads tags such as `<a href>` in labels and decodes entities after it has looked for tags, so an escaped
    name is shown as it was written.

    Examples
    --------
    >>> label("<b>price</b>")
    '&lt;b&gt;price&lt;/b&gt;'
    """
    text = html.escape(shortened(" ".join(named(name).split()), limit), quote=False)
    # A pair of dollar signs would ask for MathJax, which is not here.
    return text.replace("$", "&#36;")


def script_json(value: Any) -> Markup:
    """Return JSON that is safe inside a script element, whatever the strings in it hold."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    # Nothing in it can end the element any more.
    return Markup(text.translate(_IN_SCRIPT))


def rounded(value: float) -> float:
    """Return a coordinate with six significant digits: finer than a screen, and half the file."""
    return float(f"{value:.6g}")

"""Formatting of names, numbers and options for the report; templates escape what they print."""

from __future__ import annotations

import json
import math
import re
import shlex
import unicodedata
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from tamiz.runtime.user_warnings import quote_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tamiz.report.records import GraphRecord


def kinds_option(kinds: Mapping[str, str]) -> str:
    """Return the command-line options that set the kinds of columns, quoted for a shell.

    >>> kinds_option({"zip": "categorical", "date of birth": "date"})
    "--kinds zip=categorical --kinds 'date of birth=date'"
    """
    return " ".join(_option(f"{name}={kind}") for name, kind in kinds.items())


def kinds_argument(kinds: Mapping[str, str]) -> str:
    """Return the Python argument that sets the kinds of columns.

    >>> kinds_argument({"zip": "categorical"})
    "kinds={'zip': 'categorical'}"
    """
    return f"kinds={dict(kinds)!r}"


def _option(pair: str) -> str:
    # A value that begins with a dash would be read as another option.
    return _shell_quote(f"--kinds={pair}") if pair.startswith("-") else f"--kinds {_shell_quote(pair)}"


def _shell_quote(word: str) -> str:
    """Return a word quoted for a shell; invisible characters and those that change the text direction are escaped."""
    if word.isprintable():
        return shlex.quote(word)
    spelled = (c if c.isprintable() else f"\\U{ord(c):08x}" for c in word.replace("\\", "\\\\").replace("'", "\\'"))
    return f"$'{''.join(spelled)}'"


_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_PROPER_NAMES = ("Fisher", "Laplacian")
_RIGHT_TO_LEFT = {"R", "AL", "RLE", "RLO", "RLI", "LRE", "LRO", "LRI", "FSI"}
# `</script>` and `<!--` end or bend a script element; U+2028 and U+2029 end a line in older JavaScript.
_SCRIPT_ESCAPES = {c: f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def format_number(value: float | None, *, digits: int = 4) -> str:
    """Return a number with four significant digits, whole above 1,000, in powers of ten when very large or small.

    >>> format_number(0.123456), format_number(42.0), format_number(3750.4), format_number(1.5e-7)
    ('0.1235', '42', '3,750', '1.5 × 10⁻⁷')
    >>> format_number(138.2, digits=2), format_number(None)
    ('138', '–')
    """
    if value is None:
        return "–"
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 1e9 or size < 1e-4:
        mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
        return f"{_strip_zeros(mantissa)} × 10{str(int(exponent)).translate(_SUPERSCRIPT)}".replace("-", "−")
    if size >= 1000:
        return f"{value:,.0f}".replace("-", "−")
    return _strip_zeros(f"{value:.{max(digits - 1 - math.floor(math.log10(size)), 0)}f}").replace("-", "−")


def _strip_zeros(digits: str) -> str:
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def format_count(n: float) -> str:
    """Return a count with thousands separators; a weight keeps its fraction."""
    return f"{int(n):,}" if float(n).is_integer() else format_number(n)


def count_with_noun(n: float, noun: str, plural: str | None = None) -> str:
    """Return "1 row", "2 rows", "1,000 rows"."""
    return f"{format_count(n)} {noun if n == 1 else plural or noun + 's'}"


# Smaller p-values are not written out.
_MIN_P_VALUE = 1e-300


def format_p_value(p: float) -> str:
    """Return a p-value with three decimals, a small one with one digit and an exponent."""
    if p < _MIN_P_VALUE:
        return f"<{_MIN_P_VALUE:.0e}".replace("-", "−")
    return f"{p:.3f}" if p >= 0.001 else f"{p:.0e}".replace("-0", "-").replace("-", "−")


def format_percent(share: float) -> str:
    """Return a share as a percentage with two significant digits.

    >>> format_percent(0.4444), format_percent(0.0444), format_percent(0.0004), format_percent(1.0)
    ('44%', '4.4%', '<0.1%', '100%')
    """
    if 0 < share < 0.001:
        return "<0.1%"
    hundredths = 100 * share
    return f"{hundredths:.0f}%" if hundredths >= 10 or hundredths == 0 else f"{_strip_zeros(f'{hundredths:.1f}')}%"


def visible_name(name: Any) -> str:
    """Return a name, or "(empty)" for a blank one."""
    return str(name) if str(name).strip() else "(empty)"


def shorten(name: Any, limit: int) -> str:
    """Return a name in one line of at most `limit` characters; the middle of a longer name is replaced by an ellipsis."""
    text = " ".join(visible_name(name).splitlines())
    if len(text) > limit:
        head = (limit - 1) * 2 // 3
        text = f"{text[:head]}…{text[len(text) - (limit - 1 - head) :]}"
    # Isolated, so that a right-to-left name does not reverse the rest of its sentence.
    return text if _RIGHT_TO_LEFT.isdisjoint(map(unicodedata.bidirectional, text)) else f"\u2068{text}\u2069"


def breakable_name(name: Any, limit: int = 48) -> Markup:
    """Return a name for a narrow cell: shortened, escaped, with line breaks allowed after underscores, dots and slashes."""
    return Markup("<wbr>").join(re.split(r"(?<=[_./:=-])(?=\w)", shorten(name, limit)))


def unbroken_options(code: str) -> Markup:
    """Return code for a chip, escaped: every option of a command and every item of a Python call is an element of its own.

    >>> str(unbroken_options("--kinds a=date --kinds b=id"))
    '<span>--kinds a=date</span> <span>--kinds b=id</span>'
    """
    parts = re.split(r" (?=--|'--)|(?<=,) ", code)
    return Markup(" ").join(Markup("<span>{}</span>").format(part) for part in parts)


def unbroken_option_names(sentence: str) -> Markup:
    """Return a sentence, escaped, in which an option of a command and its value are not broken at their hyphens.

    >>> str(unbroken_option_names("Pass groups= (--group)."))
    'Pass groups= (<span class="option">--group</span>).'
    """
    parts = re.split(r"(--[a-z][a-z-]*(?: [a-z]+-[a-z-]+)?)", sentence)
    return Markup("").join(
        Markup('<span class="option">{}</span>').format(part) if k % 2 else Markup.escape(part)
        for k, part in enumerate(parts)
    )


def join_names(names: Iterable[Any], *, limit: int = 6, width: int = 40) -> str:
    """Return "a, b and c"; beyond `limit` names, the rest are counted."""
    words = [shorten(name, width) for name in names]
    if len(words) > limit:
        words = [*words[: limit - 1], f"{len(words) - limit + 1:,} more"]
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def join_column_names(names: Iterable[Any], *, limit: int = 6, width: int = 40) -> str:
    """Return the names of columns as `join_names` does, with those in quotes that contain a comma, quotes or a line break."""
    return join_names([quote_name(name) if str(name).strip() else name for name in names], limit=limit, width=width)


def capitalize(words: str) -> str:
    """Return words with a capital first letter; unlike `str.capitalize`, other capitals stay."""
    return words[:1].upper() + words[1:]


def label_in_sentence(label: str) -> str:
    """Return a label for use inside a sentence: without a capital first letter, unless it begins with a name or an abbreviation.

    >>> label_in_sentence("Information gain"), label_in_sentence("Laplacian score"), label_in_sentence("CFS")
    ('information gain', 'Laplacian score', 'CFS')
    """
    first = label.partition(" ")[0]
    is_name = first in _PROPER_NAMES or first[1:] != first[1:].lower()
    return label if is_name else label[:1].lower() + label[1:]


def edges_text(graph: GraphRecord) -> str:
    """Return the numbers of edges, rows and components of the graph of a result."""
    edges, rows = count_with_noun(graph.n_edges, "edge"), count_with_noun(graph.n_rows, "row")
    words = f"{edges} {'joins' if graph.n_edges == 1 else 'join'} {rows}"
    n, largest = graph.components.n, count_with_noun(graph.components.sizes[0], "row")
    return f"{words}, in {'one component' if n == 1 else f'{n:,} components, the largest of {largest}'}"


def script_json(value: Any) -> Markup:
    """Return JSON that is safe inside a script element, whatever strings it contains."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    # Escaped, so that no string can end the element; `replace` takes a hundredth of the time of `translate`.
    for character, escape in _SCRIPT_ESCAPES.items():
        text = text.replace(character, escape)
    return Markup(text)

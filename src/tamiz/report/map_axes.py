"""What the axes of a map mean: the columns that are most correlated with each axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tamiz.report.text import format_count, join_column_names, shorten

if TYPE_CHECKING:
    from tamiz.report.records.maps import AxisCorrelationsRecord, MapRecord

_COLUMNS_SHOWN = 4
# A column explains an axis from this correlation on, if it is also this many times the chance level.
MIN_CORRELATION = 0.3
_MIN_CHANCE_RATIO = 1.5


def collect_axes(fitted_map: MapRecord) -> dict[str, Any] | None:
    """Return for each of the two axes a title and the columns that explain it, best first.

    Parameters
    ----------
    fitted_map : MapRecord

    Returns
    -------
    dict or None
        The variables of the template; None if no column was compared.
    """
    explanation = fitted_map.explanation
    if not explanation.columns:
        return None
    n, of = explanation.n_rows, explanation.n_mapped
    return {
        "sides": [_axis(explanation, axis, name) for axis, name in enumerate(fitted_map.axes[:2])],
        "sample": f"Computed on {format_count(n)} of the {format_count(of)} rows, drawn at random." if n < of else None,
    }


def _axis(explanation: AxisCorrelationsRecord, axis: int, name: str) -> dict[str, Any]:
    names, kinds = explanation.columns, explanation.kinds
    values = [row[axis] for row in explanation.values]
    by_chance = [abs(v) < _MIN_CHANCE_RATIO * chance for v, chance in zip(values, explanation.chance, strict=True)]
    explains = [abs(v) >= MIN_CORRELATION and not chance for v, chance in zip(values, by_chance, strict=True)]
    order = sorted(range(len(names)), key=lambda j: (not explains[j], by_chance[j], -abs(values[j])))
    found = [j for j in order if explains[j]]
    large = [names[j] for j in order if by_chance[j] and abs(values[j]) >= MIN_CORRELATION]
    return {
        "axis": name,
        "title": _title(names[order[0]], kinds[order[0]], values[order[0]], name, explains[order[0]]),
        "columns": [
            {"name": names[j], "text": f"{'η ' if _is_category(kinds[j]) else ''}{_decimals(values[j])}"}
            for j in found[:_COLUMNS_SHOWN]
        ],
        "more": max(len(found) - _COLUMNS_SHOWN, 0),
        "note": f"The correlation of {join_column_names(large)} is near the chance level." if large else "",
    }


def _title(best: str, kind: str, value: float, axis: str, explains: bool) -> str:
    axis, best = shorten(axis, 40), shorten(best, 40)
    if not explains:
        beyond = " beyond chance" if abs(value) >= MIN_CORRELATION else ""
        return f"No column reaches a correlation of {MIN_CORRELATION} with {axis}{beyond}"
    if _is_category(kind):
        return f"{axis} separates the levels of {best}"
    return f"{axis} rises with {best}" if value > 0 else f"{axis} falls as {best} rises"


def _is_category(kind: str) -> bool:
    return kind not in ("numeric", "date")


def _decimals(value: float) -> str:
    return f"{value:.2f}".replace("-", "−").replace("−0.00", "0.00")
